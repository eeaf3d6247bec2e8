package engine

import (
	"context"
	"errors"
	gosync "sync"

	"iasql/internal/store"
	"iasql/internal/sync"
)

// errAsked: another cycle of the account sees to what is to be pushed.
var errAsked = errors.New("the cycle that is running, or one that waits, has been asked")

// coalescer keeps cycles of one account from waiting for its lease in places that other accounts could have. A
// full cycle that is listing here is asked to push; for one that runs elsewhere, one push waits. Of the scheduled full
// cycles one waits, too.
type coalescer struct {
	lock    gosync.Mutex
	listing map[string]*listing
	waiting map[waiter]bool
}

// waiter is a kind of cycle of an account.
type waiter struct {
	account string
	kind    store.Kind
}

type listing struct {
	wanted  chan struct{}
	asked   bool
	errands chan *sync.Errand
	over    chan struct{} // closed when the cycle has ended
}

// list notes that a full cycle of the account begins, which reads the channel.
// At its end it has to call the function, which tells whether anybody asked it
// to push: the last may have done so after it had looked for the last time.
func (t *coalescer) list(account string) (*listing, func() bool) {
	l := &listing{wanted: make(chan struct{}, 1), errands: make(chan *sync.Errand), over: make(chan struct{})}
	t.lock.Lock()
	defer t.lock.Unlock()
	if t.listing == nil {
		t.listing = map[string]*listing{}
	}
	t.listing[account] = l
	return l, func() bool {
		t.lock.Lock()
		defer t.lock.Unlock()
		delete(t.listing, account)
		close(l.over)
		return l.asked
	}
}

// ask asks a full cycle of the account to push, and reports whether there is one
// here.
func (t *coalescer) ask(account string) bool {
	t.lock.Lock()
	defer t.lock.Unlock()
	l := t.listing[account]
	if l == nil {
		return false
	}
	l.asked = true
	select {
	case l.wanted <- struct{}{}:
	default: // it has not looked since it was asked last
	}
	return true
}

// errand has a full cycle of the account that is listing here run an errand, and reports
// whether one has. If none is listing any more, the errand is to be run under a lease of its
// own.
func (t *coalescer) errand(ctx context.Context, account string, errand *sync.Errand) (bool, error) {
	t.lock.Lock()
	l := t.listing[account]
	t.lock.Unlock()
	if l == nil {
		return false, nil
	}
	errand.Begin(ctx)
	select {
	case l.errands <- errand:
		<-errand.Ended()
		return true, nil
	case <-l.over:
		return false, nil
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

// lists reports whether a full cycle of the account is listing here.
func (t *coalescer) lists(account string) bool {
	t.lock.Lock()
	defer t.lock.Unlock()
	return t.listing[account] != nil
}

// wait reports whether a cycle of the account that nobody waits for is to wait for the lease. If
// not, one of its kind waits already, and has not looked at anything yet.
func (t *coalescer) wait(account string, kind store.Kind) bool {
	t.lock.Lock()
	defer t.lock.Unlock()
	at := waiter{account, kind}
	if t.waiting[at] {
		return false
	}
	if t.waiting == nil {
		t.waiting = map[waiter]bool{}
	}
	t.waiting[at] = true
	return true
}

// started ends the waiting: from now on the cycle looks at things.
func (t *coalescer) started(account string, kind store.Kind) {
	t.lock.Lock()
	defer t.lock.Unlock()
	delete(t.waiting, waiter{account, kind})
}
