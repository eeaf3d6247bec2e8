package sync

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"iasql/internal/modules"
)

// snapshot loads the subjects that have something to be done about: pending
// changes, states, garbage. With all false those that back off are left out.
func (c *cycle) snapshot(ctx context.Context, all bool) ([]*Subject, error) {
	refs, err := c.Database.Due(ctx, c.lease.Account)
	if err != nil {
		return nil, fmt.Errorf("read pending changes: %w", err)
	}
	byTable := map[string][]int64{}
	for _, ref := range refs {
		if _, installed := c.rank[ref.Table]; installed {
			byTable[ref.Table] = append(byTable[ref.Table], ref.ID)
		} else if err := c.leftFor(ref.Table); err != nil {
			return nil, err
		}
	}
	var subjects []*Subject
	for _, t := range c.tables {
		for ids := range slices.Chunk(byTable[t.Name], 1000) {
			loaded, err := c.Database.Load(ctx, t, ids)
			if err != nil {
				return nil, fmt.Errorf("load records of %s: %w", t.Name, err)
			}
			for _, s := range loaded {
				if all || s.due() {
					c.complete(s)
					subjects = append(subjects, s)
				}
			}
		}
	}
	garbage, err := c.Database.Garbage(ctx, c.lease.Account)
	if err != nil {
		return nil, fmt.Errorf("read garbage: %w", err)
	}
	for _, s := range garbage {
		if c.locked[s.Table.Name] != nil {
			c.report.count(func(r *Report) { r.Locked = true })
		} else if all || s.due() {
			c.complete(s)
			subjects = append(subjects, s)
		}
	}
	return subjects, nil
}

// complete fills in what a subject has from the registry and from this
// engine's own writes.
func (c *cycle) complete(s *Subject) {
	res := c.Registry.Resource(s.Table.Name)
	_, s.CanCreate = res.(modules.Creator)
	_, s.CanUpdate = res.(modules.Updater)
	_, s.CanDelete = res.(modules.Deleter)
	identity, named := s.Identity()
	if named {
		s.Scope = s.Table.Scope(identity)
	} else if s.Record != nil {
		s.Scope = s.Table.Scope(s.Record.Row)
	} else if s.Change != nil && s.Change.Last != nil {
		s.Scope = s.Table.Scope(s.Change.Last)
	}
	s.Own = c.own.of(s, identity)
}

// ownIndex finds own writes by record and by object.
type ownIndex struct {
	byRecord map[RecordRef][]LoggedWrite
	byObject map[objectRef][]LoggedWrite
}

func indexOwn(writes []LoggedWrite) ownIndex {
	ix := ownIndex{map[RecordRef][]LoggedWrite{}, map[objectRef][]LoggedWrite{}}
	for _, w := range writes {
		if w.Record.ID != 0 {
			ix.byRecord[w.Record] = append(ix.byRecord[w.Record], w)
		}
		if w.Key != "" {
			ref := objectRef{w.Record.Table, w.Scope, w.Key}
			ix.byObject[ref] = append(ix.byObject[ref], w)
		}
	}
	return ix
}

// add adds the writes of another index that are not in this one.
func (ix ownIndex) add(other ownIndex) {
	for ref, writes := range other.byRecord {
		ix.byRecord[ref] = addWrites(ix.byRecord[ref], writes)
	}
	for ref, writes := range other.byObject {
		ix.byObject[ref] = addWrites(ix.byObject[ref], writes)
	}
}

func addWrites(have, more []LoggedWrite) []LoggedWrite {
	for _, w := range more {
		if !slices.ContainsFunc(have, func(h LoggedWrite) bool { return h.ID == w.ID }) {
			have = append(have, w)
		}
	}
	return have
}

// of returns the own writes to the subject's object, oldest first. Writes to
// another object of the same record (the predecessor in a replacement) do not
// count.
func (ix ownIndex) of(s *Subject, identity modules.Row) []OwnWrite {
	if len(ix.byRecord) == 0 && len(ix.byObject) == 0 {
		return nil
	}
	var found []LoggedWrite
	key, named := s.Table.Key(identity)
	if named {
		found = append(found, ix.byObject[objectRef{s.Table.Name, s.Scope, key}]...)
	}
	if s.RecordID != 0 && !s.Garbage {
		for _, w := range ix.byRecord[s.Ref()] {
			if !named && w.Kind != OpDelete && w.Key == "" || named && w.Key == key && w.Scope != s.Scope {
				found = append(found, w)
			}
		}
	}
	slices.SortFunc(found, func(a, b LoggedWrite) int { return cmp.Compare(a.ID, b.ID) })
	own := make([]OwnWrite, len(found))
	for i := range found {
		own[i] = found[i].OwnWrite
		own[i].Other = found[i].Record != s.Ref()
	}
	return own
}
