package modules

import (
	"context"
	"sync"
)

// Memo remembers answers of one listing for the next: several tables of a cycle may be made
// from the same call. It keeps small answers only, so that its memory is bounded.
type Memo struct {
	lock    sync.Mutex
	answers map[string]any
	items   int
}

// The limits of a memo, in objects.
const (
	mostInAnswer = 200
	mostInMemo   = 20000
)

type memoKey struct{}

// WithMemo returns a context under which listings may be answered by an earlier answer, as
// long as the memo is not emptied.
func WithMemo(ctx context.Context, m *Memo) context.Context {
	return context.WithValue(ctx, memoKey{}, m)
}

// MemoOf returns the memo of a context, nil if there is none. A nil memo remembers nothing.
func MemoOf(ctx context.Context) *Memo {
	m, _ := ctx.Value(memoKey{}).(*Memo)
	return m
}

// Get returns the answer that a call was given.
func (m *Memo) Get(call string) (answer any, ok bool) {
	if m == nil {
		return nil, false
	}
	m.lock.Lock()
	defer m.lock.Unlock()
	answer, ok = m.answers[call]
	return answer, ok
}

// Put remembers the answer to a call, which has that many objects, unless it is too large.
// It must not be changed any more.
func (m *Memo) Put(call string, answer any, objects int) {
	if m == nil || objects > mostInAnswer {
		return
	}
	m.lock.Lock()
	defer m.lock.Unlock()
	if m.items += 1 + objects; m.items > mostInMemo {
		m.items -= 1 + objects
		return
	}
	if m.answers == nil {
		m.answers = map[string]any{}
	}
	m.answers[call] = answer
}

// Empty forgets everything: the cloud has been changed since.
func (m *Memo) Empty() {
	m.lock.Lock()
	defer m.lock.Unlock()
	m.answers, m.items = nil, 0
}
