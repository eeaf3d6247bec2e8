package sync

import (
	"context"
	"strconv"
	gosync "sync"

	"iasql/internal/modules"
)

// later are the parents that a listing leaves to a later one (see [modules.ListRequest]). They are known by what keys
// of records begin with: the parent's key, or its record's id where the table refers to that.
type later struct {
	known func(ctx context.Context) *laterKnown

	lock gosync.Mutex
	left map[string]bool
}

// laterKnown is what is known of parents.
type laterKnown struct {
	within  map[string]bool   // parents within which there are records
	records map[string]string // by the parent's key what keys of records within it begin with; nil: that
}

// newLater returns those of a listing of a table in a scope: none yet.
func (c *cycle) newLater(t *modules.Table, scope modules.Scope) *later {
	var once gosync.Once
	var known *laterKnown
	return &later{left: map[string]bool{}, known: func(ctx context.Context) *laterKnown {
		once.Do(func() {
			var err error
			if known, err = c.parentsKnown(ctx, t, scope); err != nil {
				known = &laterKnown{} // nothing is left to a later listing
			}
		})
		return known
	}}
}

// parentsKnown reads what is known of the parents of a table.
func (c *cycle) parentsKnown(ctx context.Context, t *modules.Table, scope modules.Scope) (*laterKnown, error) {
	known := &laterKnown{within: map[string]bool{}}
	err := c.Store.Keys(ctx, t, scope, func(_ int64, key string) error {
		known.within[t.WithinOf(key)] = true
		return nil
	})
	if err != nil {
		return nil, err
	}
	ref := t.Column(t.Identity()[0]).References
	if ref == nil || ref.ByKey {
		return known, nil
	}
	known.records = map[string]string{}
	parent := c.Registry.Table(ref.Table)
	return known, c.Store.Keys(ctx, parent, within(parent, scope), func(id int64, key string) error {
		known.records[key] = strconv.FormatInt(id, 10)
		return nil
	})
}

// of returns what keys of records within a parent begin with, and whether there are any.
func (k *laterKnown) of(parent string) (begins string, any bool) {
	if begins = parent; k.records != nil {
		begins = k.records[parent]
	}
	return begins, k.within[begins]
}

// unless returns a function that leaves parents whose turn it is not. One within which nothing is known is new, and not
// left.
func (l *later) unless(ctx context.Context, turn func(parent string) bool) func(parent string) bool {
	return func(parent string) bool {
		begins, any := l.known(ctx).of(parent)
		if !any || turn(parent) {
			return false
		}
		l.lock.Lock()
		defer l.lock.Unlock()
		l.left[begins] = true
		return true
	}
}

// hides reports whether the object of a key is within a parent that was left.
func (l *later) hides(t *modules.Table, key string) bool {
	l.lock.Lock()
	defer l.lock.Unlock()
	return l.left[t.WithinOf(key)]
}
