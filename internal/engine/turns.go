package engine

import (
	"errors"
	"sync"
)

// errAsked: another cycle of the account sees to what is to be pushed.
var errAsked = errors.New("the cycle that is running, or one that waits, has been asked")

// turns keeps push cycles from standing in line for an account's lease, each in
// a place that another account could have: a full cycle that is listing here is
// asked to push, and for one that runs elsewhere only one waits.
type turns struct {
	lock    sync.Mutex
	listing map[string]*listing
	waiting map[string]bool
}

type listing struct {
	wanted chan struct{}
	asked  bool
}

// list notes that a full cycle of the account begins, which reads the channel.
// At its end it has to call the function, which tells whether anybody asked it
// to push: the last may have done so after it had looked for the last time.
func (t *turns) list(account string) (<-chan struct{}, func() bool) {
	l := &listing{wanted: make(chan struct{}, 1)}
	t.lock.Lock()
	defer t.lock.Unlock()
	if t.listing == nil {
		t.listing = map[string]*listing{}
	}
	t.listing[account] = l
	return l.wanted, func() bool {
		t.lock.Lock()
		defer t.lock.Unlock()
		delete(t.listing, account)
		return l.asked
	}
}

// ask asks a full cycle of the account to push, and reports whether there is one
// here.
func (t *turns) ask(account string) bool {
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

// lists reports whether a full cycle of the account is listing here.
func (t *turns) lists(account string) bool {
	t.lock.Lock()
	defer t.lock.Unlock()
	return t.listing[account] != nil
}

// wait reports whether a push cycle of the account is to wait for the lease. If
// not, one waits already, and has not looked at anything yet.
func (t *turns) wait(account string) bool {
	t.lock.Lock()
	defer t.lock.Unlock()
	if t.waiting[account] {
		return false
	}
	if t.waiting == nil {
		t.waiting = map[string]bool{}
	}
	t.waiting[account] = true
	return true
}

// came ends the waiting: from now on the cycle looks at things.
func (t *turns) came(account string) {
	t.lock.Lock()
	defer t.lock.Unlock()
	delete(t.waiting, account)
}
