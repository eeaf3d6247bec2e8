package sync

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"iasql/internal/decide"
	"iasql/internal/modules"
	"iasql/internal/store"
)

// claim finds out which of the subjects name an object that another record
// stands for: those that are gone, and those whose row does not say what
// identity they have, or are to be renamed. The latter lose the object: a user
// has adopted with another record what was created for this one, or has given
// another record the name this one is to give up.
func (c *cycle) claim(ctx context.Context, subjects []*decide.Subject) (err error) {
	ctx, end := c.span(ctx, "claim", &err)
	defer end()
	named := map[place][]*decide.Subject{}
	var order []place
	for _, s := range subjects {
		identity, ok := s.Identity()
		if !ok {
			continue
		}
		if s.Record != nil && !s.Deposed {
			want, _ := s.Table.Key(identity)
			if key, has := s.Table.Key(s.Record.Row); has && key == want && s.Table.Scope(s.Record.Row) == s.Scope {
				continue
			}
		}
		at := place{s.Table.Name, s.Scope}
		if named[at] == nil {
			order = append(order, at)
		}
		named[at] = append(named[at], s)
	}
	for _, at := range order {
		if err := c.claimIn(ctx, at.scope, named[at]); err != nil {
			return err
		}
	}
	return nil
}

// claimIn does so with subjects of one table and scope.
func (c *cycle) claimIn(ctx context.Context, scope modules.Scope, subjects []*decide.Subject) error {
	t := subjects[0].Table
	identities := make([]modules.Row, len(subjects))
	for i, s := range subjects {
		identities[i], _ = s.Identity()
	}
	found, err := c.Store.Match(ctx, t, scope, identities)
	if err != nil {
		return fmt.Errorf("match identities of %s in %s: %w", t.Name, scope, err)
	}
	claimants, err := c.claimants(ctx, t, subjects, found)
	if err != nil {
		return err
	}
	for i, s := range subjects {
		if found[i].Batch != c.lease.Batch { // it may be undone
			s.Claim.Batch = found[i].Batch
		}
		if asksWhose(s) {
			s.Claim.By = claimants.adopter(s, found[i], identities[i])
		}
		if found[i].Record == nil || found[i].Record.ID == s.RecordID && !s.Deposed {
			continue
		}
		// Its row may not say yet what has become of it: a successor, or a name
		// that it only asks for.
		s.Claim = claimants.of(t, found[i], identities[i])
		if s.Lost() {
			if s.State != nil {
				s.State.Identity = nil
			}
			c.complete(s)
		}
	}
	return nil
}

// asksWhose reports whether a subject has named an object which was deleted before it was
// settled: the object may be another's.
func asksWhose(s *decide.Subject) bool {
	return s.Record == nil && s.Change != nil && s.Change.Insert && !s.Deposed
}

// claimants are records that may stand for objects, by id.
type claimants map[int64]*decide.Subject

// claimants loads the records whose rows do not say whether they stand for what was found.
func (c *cycle) claimants(ctx context.Context, t *modules.Table, subjects []*decide.Subject,
	found []store.Match) (claimants, error) {
	asked := map[int64]bool{}
	for i, s := range subjects {
		if asksWhose(s) {
			for _, id := range found[i].RememberedBy {
				asked[id] = true
			}
		}
		if r := found[i].Record; r != nil && (found[i].Pending || found[i].Remembered) {
			asked[r.ID] = true
		}
	}
	if len(asked) == 0 {
		return nil, nil
	}
	ids := slices.Sorted(maps.Keys(asked))
	loaded, err := c.Store.Load(ctx, t, ids)
	if err != nil {
		return nil, fmt.Errorf("load %s %v: %w", t.Name, ids, err)
	}
	all := claimants{}
	for _, s := range loaded {
		all[s.RecordID] = s
	}
	return all, nil
}

// adopter returns whose the object is that a record has named which was deleted before it was
// settled: that of the record it was made for, by its state; 0 for nobody's. To delete it was never
// the deleted one's to ask.
func (l claimants) adopter(s *decide.Subject, found store.Match, identity modules.Row) int64 {
	for _, id := range found.RememberedBy {
		if id == s.RecordID {
			continue
		}
		if claim := l.by(s.Table, id, identity); claim.By != 0 {
			return claim.By
		}
	}
	return s.Claim.By
}

// of returns the claim of a record, found by its row, to the object of that identity; none if
// it does not stand for the object.
func (l claimants) of(t *modules.Table, found store.Match, identity modules.Row) decide.Claim {
	id := found.Record.ID
	if !found.Pending && !found.Remembered {
		return decide.Claim{By: id}
	}
	return l.by(t, id, identity)
}

// by returns the claim of a record to the object of that identity; none if it does not stand
// for the object.
func (l claimants) by(t *modules.Table, id int64, identity modules.Row) decide.Claim {
	s := l[id]
	if s == nil || s.Record == nil {
		return decide.Claim{}
	}
	want, _ := t.Key(identity)
	has, _ := s.Identity()
	if key, named := t.Key(has); named && key == want && t.Scope(has) == t.Scope(identity) {
		return decide.Claim{By: id, Pending: s.Change != nil}
	}
	return decide.Claim{}
}
