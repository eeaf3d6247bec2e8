package engine

import (
	"context"
	"sync"
	"time"
)

// A notification of another engine or of a trigger is only a reason to look: anybody may send one,
// and any number of them. The debouncer keeps what they are about, in memory that does not grow, and
// has it looked into at most once an interval.

// pushInterval is the least time between two looks at which accounts other engines want to have
// pushed. A listing is interrupted no more often.
const pushInterval = 250 * time.Millisecond

// settingsInterval is the least time between two readings of the settings.
const settingsInterval = time.Second

// debouncer holds the notifications that have not been looked into yet.
type debouncer struct {
	lock     sync.Mutex
	settings bool
	push     map[string]bool // accounts that are listing here
	news     chan struct{}   // of capacity 1
}

func newDebouncer() *debouncer {
	return &debouncer{push: map[string]bool{}, news: make(chan struct{}, 1)}
}

// add adds that an account is to be pushed, or with "" that the settings have changed.
func (h *debouncer) add(account string) {
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

func (h *debouncer) take() (settings bool, push map[string]bool) {
	h.lock.Lock()
	defer h.lock.Unlock()
	settings, push = h.settings, h.push
	h.settings, h.push = false, map[string]bool{}
	return settings, push
}

// debounce looks into the notifications until ctx ends.
func (e *Engine) debounce(ctx context.Context, h *debouncer) {
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
				e.coalescer.ask(account)
			}
		}
		switch {
		case changed && due == nil && time.Since(read) >= settingsInterval, settings:
			read = time.Now()
			if err := e.reschedule(ctx); err != nil {
				e.log.Warn("settings could not be put in force", "error", err)
				due = time.After(5 * time.Second)
			}
		case changed && due == nil:
			due = time.After(settingsInterval - time.Since(read))
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pushInterval):
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

// notified adds a notification, unless it cannot concern this engine: an account that is not
// listing here has no cycle that could be asked.
func (e *Engine) notified(h *debouncer, account string) {
	if account == "" || e.coalescer.lists(account) {
		h.add(account)
	}
}
