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

// A rate starts at what AWS documents ([Rate]), reads at a share of it, so that the
// account's other programs have the rest. Where nothing is documented it starts near what
// AWS grants at most ("Request throttling for the Amazon EC2 API": buckets of 50 to 200,
// refilled by 5 to 20 a second). The account's real rate is found from the throttling
// answers.
const (
	startRate    = 50.0 // calls a second
	startBurst   = 100
	leastRate    = 0.5
	recovery     = 0.5              // calls a second, gained each second
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
type limitKey struct {
	account, region, service, action string
	share                            float64 // of reads, which have this of the rate; 0: everything
}

func (k limitKey) String() string {
	return fmt.Sprintf("%s:%s in %s/%s", k.service, k.action, k.account, k.region)
}

// limits are the rates of all actions that have been called lately.
type limits struct {
	logger *slog.Logger

	mu    sync.Mutex
	known map[limitKey]*limit
	next  time.Time // when idle ones are next looked for
}

func newLimits(logger *slog.Logger) *limits {
	return &limits{logger: logger, known: map[limitKey]*limit{}}
}

// all returns the limits that a call has to keep. Reads that nobody waits for keep a smaller
// one besides that of all reads.
func (ls *limits) all(account string, op *operation, shares ReadShares) []*limit {
	key := limitKey{account: account, region: op.region, service: op.service, action: op.action}
	documented := DocumentedRate(packageOf(op.service), op.action)
	if documented == nil {
		return []*limit{ls.of(key, startRate, startBurst)}
	}
	key.action = documented.Counts(op.action)
	var keep []*limit
	if !op.mutates {
		most := []float64{shares.Waited}
		if !op.waited && shares.Patient < shares.Waited {
			most = []float64{shares.Patient, shares.Waited}
		}
		for _, share := range most {
			part := key
			part.share = share
			keep = append(keep, ls.of(part, share*documented.PerSecond, share*documented.burst()))
		}
	}
	if op.mutates || documented.Shared {
		keep = append(keep, ls.of(key, documented.PerSecond, documented.burst()))
	}
	return keep
}

func (ls *limits) of(key limitKey, most, burst float64) *limit {
	now := time.Now()
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if now.After(ls.next) {
		for k, l := range ls.known {
			if l.idle(now) {
				delete(ls.known, k)
			}
		}
		ls.next = now.Add(idleLimits)
	}
	l := ls.known[key]
	if l == nil {
		l = &limit{key: key, logger: ls.logger, most: most, burst: burst, rate: most,
			bucket: rate.NewLimiter(rate.Limit(most), max(1, int(burst))), at: now}
		ls.known[key] = l
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
	most   float64 // calls a second, at full rate
	burst  float64

	mu    sync.Mutex
	rate  float64
	at    time.Time // when rate was last brought up to date
	cut   time.Time // when it was last halved
	pause time.Time // no call before
}

// idle reports whether nobody has asked for so long that it is forgotten, at full rate by then.
func (l *limit) idle(now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	idle := now.Sub(l.at) > idleLimits
	if idle {
		l.recover(now)
	}
	return idle
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
				Message: fmt.Sprintf("not called: aws asked for no calls of %s for %s", l.key,
					pause.Round(time.Second))}
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

// throttled halves the rate, and stops calls for as long as AWS asked. Calls that went out
// before the rate was last halved say nothing of the new one.
func (l *limit) throttled(sent time.Time, after time.Duration) {
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if until := now.Add(after); after > 0 && until.After(l.pause) {
		l.pause = until
	}
	if sent.Before(l.cut) {
		return
	}
	l.recover(now)
	l.cut = now
	l.bucket.SetBurstAt(now, 0) // what was saved up here AWS does not have
	begins := l.rate == l.most
	l.set(now, max(min(leastRate, l.most), l.rate/2))
	if begins && l.rate < l.most {
		l.tell(slog.LevelInfo, "aws throttles", "rate", l.rate, "retry_after", after)
	} else {
		l.tell(slog.LevelDebug, "aws throttles still", "rate", l.rate, "retry_after", after)
	}
}

// recover regains what the time since allows.
func (l *limit) recover(now time.Time) {
	if l.rate < l.most {
		l.set(now, min(l.most, l.rate+recovery*now.Sub(l.at).Seconds()))
		if l.rate == l.most {
			l.tell(slog.LevelInfo, "aws no longer throttles", "rate", l.rate)
		}
	}
	l.at = now
}

// tell logs something of the limit.
func (l *limit) tell(level slog.Level, text string, fields ...any) {
	l.logger.Log(context.Background(), level, text, append([]any{"account", l.key.account, "region", l.key.region,
		"service", l.key.service, "action", l.key.action}, fields...)...)
}

func (l *limit) set(now time.Time, r float64) {
	l.rate = r
	l.bucket.SetLimitAt(now, rate.Limit(r))
	// Tokens saved up under the old rate must not be spent under the new one.
	l.bucket.SetBurstAt(now, max(1, int(l.burst*r/l.most)))
}
