package modules

import (
	"context"
	"sync"
)

// Memo remembers answers of one listing for the next: several tables of a cycle may be made
// from the same call. It keeps small answers only, so that its memory is bounded. A nil memo
// remembers nothing.
type Memo struct {
	lock    sync.Mutex
	answers map[any]any
	items   int
	calling map[any]chan struct{} // calls under way
}

// The limits of a memo, in objects.
const (
	mostInAnswer = 200
	mostInMemo   = 20000
)

// Get returns the remembered answer to a call. The caller identifies the call by any value that can be compared.
func (m *Memo) Get(call any) (answer any, ok bool) {
	if m == nil {
		return nil, false
	}
	m.lock.Lock()
	defer m.lock.Unlock()
	answer, ok = m.answers[call]
	return answer, ok
}

// Claim returns the answer that a call was given, as Get does. If it is being made, it waits
// for that. If there is no answer, the caller makes the call, and then says so by done: after
// Put if there is something to remember.
func (m *Memo) Claim(ctx context.Context, call any) (answer any, known bool, done func()) {
	none := func() {}
	if m == nil {
		return nil, false, none
	}
	m.lock.Lock()
	if answer, known = m.answers[call]; known {
		m.lock.Unlock()
		return answer, true, none
	}
	made, underway := m.calling[call]
	if !underway {
		made = make(chan struct{})
		if m.calling == nil {
			m.calling = map[any]chan struct{}{}
		}
		m.calling[call] = made
	}
	m.lock.Unlock()
	if !underway {
		return nil, false, func() {
			m.lock.Lock()
			delete(m.calling, call)
			m.lock.Unlock()
			close(made)
		}
	}
	select {
	case <-made:
	case <-ctx.Done():
	}
	answer, known = m.Get(call)
	return answer, known, none
}

// Put remembers the answer to a call, which has that many objects, and reports whether it
// does: it does not if that is too large. The answer must not be changed any more.
func (m *Memo) Put(call, answer any, objects int) bool {
	if m == nil || objects > mostInAnswer {
		return false
	}
	m.lock.Lock()
	defer m.lock.Unlock()
	if m.items += 1 + objects; m.items > mostInMemo {
		m.items -= 1 + objects
		return false
	}
	if m.answers == nil {
		m.answers = map[any]any{}
	}
	m.answers[call] = answer
	return true
}

// Empty forgets everything: the cloud has been changed since.
func (m *Memo) Empty() {
	m.lock.Lock()
	defer m.lock.Unlock()
	m.answers, m.items = nil, 0
}
