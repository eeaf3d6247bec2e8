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
	for _, s := range loaded {
		if (all || s.Due()) && !c.held(s) && !c.doubts.undecidable(s) {
			c.complete(s)
			subjects = append(subjects, s)
		}
	}
	return subjects, nil
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
