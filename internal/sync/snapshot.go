package sync

import (
	"context"
	"fmt"
	"slices"

	"iasql/internal/decide"
)

// snapshot loads the subjects that have something to be done about: pending
// changes, states, deposed objects, and what the pass before has postponed. With all
// false those that back off are left out, and those always about which nothing can be
// decided in this cycle.
func (c *cycle) snapshot(ctx context.Context, all bool) (_ []*decide.Subject, err error) {
	ctx, end := c.span(ctx, "snapshot", &err)
	defer end()
	refs, deposed, err := c.Store.Due(ctx, c.lease.Account, c.lease.Batch)
	if err != nil {
		return nil, fmt.Errorf("read pending changes and deposed objects: %w", err)
	}
	for _, w := range c.postponed {
		refs = append(refs, w.Subject.Ref())
	}
	byTable, seen := map[string][]int64{}, make(map[decide.RecordRef]bool, len(refs))
	for _, ref := range refs {
		if seen[ref] {
			continue // what was postponed was changed meanwhile
		}
		seen[ref] = true
		if c.catalog.has(ref.Table) {
			byTable[ref.Table] = append(byTable[ref.Table], ref.ID)
		} else if err := c.leftFor(ref.Table); err != nil {
			return nil, err
		}
	}
	c.postponed = nil
	var loaded []*decide.Subject
	for _, t := range tablesWith(&c.catalog, byTable) {
		for ids := range slices.Chunk(byTable[t.Name], 1000) {
			found, err := c.Store.Load(ctx, t, ids)
			if err != nil {
				return nil, fmt.Errorf("load records of %s: %w", t.Name, err)
			}
			loaded = append(loaded, found...)
		}
	}
	for _, s := range deposed {
		if c.catalog.locked[s.Table.Name] != nil {
			c.report.locked()
		} else {
			loaded = append(loaded, s)
		}
	}
	var subjects []*decide.Subject
	again := insertedAgain(loaded)
	for _, s := range loaded {
		if (all || s.Due() || again(s)) && !c.held(s) && !c.doubts.undecidable(s) {
			c.complete(s)
			subjects = append(subjects, s)
		}
	}
	return subjects, nil
}

// insertedAgain tells which deleted records that back off are of what another has inserted since: their object is its
// now, and nothing is left to be done about them.
func insertedAgain(loaded []*decide.Subject) func(*decide.Subject) bool {
	type named struct {
		place
		key string
	}
	nameOf := func(s *decide.Subject) (named, bool) {
		identity, _ := s.Identity()
		key, ok := s.Table.Key(identity)
		return named{place{s.Table.Name, s.Table.Scope(identity)}, key}, ok
	}
	inserted := map[named]bool{}
	for _, s := range loaded {
		if s.Record != nil && s.Change != nil && s.Change.Insert && s.Due() {
			if name, ok := nameOf(s); ok {
				inserted[name] = true
			}
		}
	}
	return func(s *decide.Subject) bool {
		if len(inserted) == 0 || s.Record != nil || s.Deposed {
			return false
		}
		name, ok := nameOf(s)
		return ok && inserted[name]
	}
}

// held reports whether a batch that this cycle is not about has the record staged:
// nothing is done about it then, in either direction (R21).
func (c *cycle) held(s *decide.Subject) bool { return s.Batch != 0 && s.Batch != c.lease.Batch }

// leftFor notes that something is to be done with a table that is left out. A
// batch is committed as a whole or not at all.
func (c *cycle) leftFor(table string) error {
	err := c.catalog.locked[table]
	if err == nil {
		return nil
	}
	if c.lease.Batch != 0 {
		return fmt.Errorf("there are changes of %s to be committed: %w", table, err)
	}
	c.report.locked()
	return nil
}
