package engine

import (
	"context"
	"sync"
	"time"
)

// What other engines and the database's triggers say on channels is only a
// reason to look: anybody may say it, in any number. Each is noted, in memory
// that does not grow, and looked into at most every so often.

// lookAgain is how often it is looked into that other engines want an account to
// be pushed; a listing is interrupted no more often.
const lookAgain = 250 * time.Millisecond

// settingsAgain is how often the settings are read again.
const settingsAgain = time.Second

// heard is what was said and has not been looked into yet.
type heard struct {
	lock     sync.Mutex
	settings bool
	push     map[string]bool // accounts that are listing here
	news     chan struct{}   // of capacity 1
}

func newHeard() *heard { return &heard{push: map[string]bool{}, news: make(chan struct{}, 1)} }

// note notes that an account wants to be pushed, or with "" that the settings
// have changed.
func (h *heard) note(account string) {
	h.lock.Lock()
	if account == "" {
		h.settings = true
	} else {
		h.push[account] = true
	}
	h.lock.Unlock()
	select {
	case h.news <- struct{}{}:
	default:
	}
}

func (h *heard) take() (settings bool, push map[string]bool) {
	h.lock.Lock()
	defer h.lock.Unlock()
	settings, push = h.settings, h.push
	h.settings, h.push = false, map[string]bool{}
	return settings, push
}

// heed looks into what was heard until ctx ends.
func (e *Engine) heed(ctx context.Context, h *heard) {
	var read time.Time       // when the settings were
	var due <-chan time.Time // when they are to be again
	for {
		settings := false
		select {
		case <-ctx.Done():
			return
		case <-due:
			settings, due = true, nil
		case <-h.news:
		}
		changed, push := h.take()
		for account := range push {
			wanted, err := e.wantsPush(ctx, account)
			if err != nil {
				e.log.Debug("could not look whether an account is to be pushed", "account", account, "error", err)
			}
			if wanted {
				e.turns.ask(account)
			}
		}
		switch {
		case changed && due == nil && time.Since(read) >= settingsAgain, settings:
			read = time.Now()
			if err := e.reschedule(ctx); err != nil {
				e.log.Warn("settings could not be put in force", "error", err)
				due = time.After(5 * time.Second)
			}
		case changed && due == nil:
			due = time.After(settingsAgain - time.Since(read))
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(lookAgain):
		}
	}
}

// wantsPush reports whether something of an account really waits to be pushed:
// a job that another engine works on or that nobody has taken yet. It looks into River's
// table: one statement has to see the jobs and the audit log in one snapshot. The states
// are River's (River v0.51.1, docs/state_machine.md).
func (e *Engine) wantsPush(ctx context.Context, account string) (wants bool, err error) {
	err = e.pool.QueryRow(ctx, `
		SELECT EXISTS (SELECT FROM iasql_river.river_job j
		               WHERE j.kind = 'push' AND j.queue = 'iasql' AND j.state IN ('available', 'running') AND j.args ->> 'account' = $1)
		   AND (EXISTS (SELECT FROM public.iasql_audit_log l WHERE NOT l.settled AND l.account = $1)
		        OR EXISTS (SELECT FROM iasql_internal.record_state s WHERE s.account = $1)
		        OR EXISTS (SELECT FROM iasql_internal.hint h WHERE h.account = $1 AND h.due <= clock_timestamp()))`,
		account).Scan(&wants)
	return wants, err
}

// hear notes what was said on a channel, unless it cannot concern this engine:
// an account that is not listing here has nobody to be asked.
func (e *Engine) hear(h *heard, account string) {
	if account == "" || e.turns.lists(account) {
		h.note(account)
	}
}
