package aws

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"iasql/internal/modules"
)

// The rate starts near what AWS grants at most ("Request throttling for the
// Amazon EC2 API": buckets of 50 to 200, refilled by 5 to 20 a second) and
// finds the account's real rate from the throttling answers.
const (
	startRate    = 50.0 // calls a second
	startBurst   = 100
	leastRate    = 0.5
	recovery     = 0.5              // calls a second, gained each second
	cutInterval  = time.Second      // throttling answers this close together are one event
	longestPause = 30 * time.Second // longer waits are the engine's to schedule
	idleLimits   = 10 * time.Minute // after which a limit at full rate is forgotten
)

// codePaused is the code of calls that are not made because AWS has asked not
// to be called for longer than a call should wait.
const codePaused = "Paused"

// codeLate is the code of calls that are not made because too much time has passed
// since they were journaled. They are journaled again when they are tried again.
const codeLate = "Late"

// limitKey is what AWS counts calls by.
type limitKey struct{ account, region, service, action string }

func (k limitKey) String() string {
	return fmt.Sprintf("%s:%s in %s/%s", k.service, k.action, k.account, k.region)
}

// limits are the rates of all actions that have been called lately.
type limits struct {
	logger *slog.Logger

	mu   sync.Mutex
	all  map[limitKey]*limit
	next time.Time // when idle ones are next looked for
}

func newLimits(logger *slog.Logger) *limits {
	return &limits{logger: logger, all: map[limitKey]*limit{}}
}

func (ls *limits) of(key limitKey) *limit {
	now := time.Now()
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if now.After(ls.next) {
		for k, l := range ls.all {
			if l.idle(now) {
				delete(ls.all, k)
			}
		}
		ls.next = now.Add(idleLimits)
	}
	l := ls.all[key]
	if l == nil {
		l = &limit{key: key, logger: ls.logger, rate: startRate, bucket: rate.NewLimiter(startRate, startBurst), at: now}
		ls.all[key] = l
	}
	return l
}

// limit is the rate of one action: halved when AWS throttles, regained
// additively, which is what shares a limit fairly among engines that do not
// know of each other.
type limit struct {
	key    limitKey
	logger *slog.Logger
	bucket *rate.Limiter

	mu    sync.Mutex
	rate  float64
	at    time.Time // when rate was last brought up to date
	cut   time.Time // when it was last halved
	pause time.Time // no call before
}

func (l *limit) idle(now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return now.Sub(l.at) > idleLimits
}

// wait returns when the call may be made.
func (l *limit) wait(ctx context.Context) error {
	for {
		now := time.Now()
		l.mu.Lock()
		l.recover(now)
		pause := l.pause.Sub(now)
		l.mu.Unlock()
		if pause <= 0 {
			return l.bucket.Wait(ctx)
		}
		if pause > longestPause {
			return &modules.Error{Class: modules.Throttled, Code: codePaused, RetryAfter: pause,
				Message: fmt.Sprintf("not called: aws asked for no calls of %s for %s", l.key, pause.Round(time.Second))}
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
	}
}

// throttled halves the rate, and stops calls for as long as AWS asked.
func (l *limit) throttled(after time.Duration) {
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if until := now.Add(after); after > 0 && until.After(l.pause) {
		l.pause = until
	}
	if now.Sub(l.cut) < cutInterval {
		return
	}
	l.recover(now)
	l.cut = now
	l.set(now, max(leastRate, l.rate/2))
	l.logger.Info("aws throttles", "calls", l.key.String(), "rate", l.rate, "retry_after", after)
}

func (l *limit) recover(now time.Time) {
	if l.rate < startRate {
		l.set(now, min(startRate, l.rate+recovery*now.Sub(l.at).Seconds()))
	}
	l.at = now
}

func (l *limit) set(now time.Time, r float64) {
	l.rate = r
	l.bucket.SetLimitAt(now, rate.Limit(r))
	// Tokens saved up under the old rate must not be spent under the new one.
	l.bucket.SetBurstAt(now, max(1, int(startBurst*r/startRate)))
}
