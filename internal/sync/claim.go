package sync

import (
	"context"
	"fmt"

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
	for i, s := range subjects {
		if found[i].Batch != c.lease.Batch { // it may be undone
			s.Claim.Batch = found[i].Batch
		}
		if s.Record == nil && s.Change != nil && s.Change.Insert && !s.Deposed {
			if err := c.adopted(ctx, s, found[i], identities[i]); err != nil {
				return err
			}
		}
		if found[i].Record == nil || found[i].Record.ID == s.RecordID && !s.Deposed {
			continue
		}
		// Its row may not say yet what has become of it: a successor, or a name
		// that it only asks for.
		claim, err := c.claimOf(ctx, t, found[i], identities[i])
		if err != nil {
			return err
		}
		s.Claim = claim
		if s.Lost() {
			if s.State != nil {
				s.State.Identity = nil
			}
			c.complete(s)
		}
	}
	return nil
}

// adopted finds out whose the object is that a record has named which was deleted before
// it was settled: that of the record it was made for, by its state. To delete it was
// never the deleted one's to ask.
func (c *cycle) adopted(ctx context.Context, s *decide.Subject, found store.Match, identity modules.Row) error {
	for _, id := range found.RememberedBy {
		if id == s.RecordID {
			continue
		}
		claim, err := c.claimBy(ctx, s.Table, id, identity)
		if err != nil {
			return err
		}
		if claim.By != 0 {
			s.Claim.By = claim.By
			return nil
		}
	}
	return nil
}

// claimOf returns the claim of a record, found by its row, to the object of that
// identity; none if it does not stand for the object.
func (c *cycle) claimOf(ctx context.Context, t *modules.Table, found store.Match,
	identity modules.Row) (decide.Claim, error) {
	id := found.Record.ID
	if !found.Pending && !found.Remembered {
		return decide.Claim{By: id}, nil
	}
	return c.claimBy(ctx, t, id, identity)
}

// claimBy returns the claim of a record to the object of that identity; none if it does
// not stand for the object.
func (c *cycle) claimBy(ctx context.Context, t *modules.Table, id int64, identity modules.Row) (decide.Claim, error) {
	loaded, err := c.Store.Load(ctx, t, []int64{id})
	if err != nil {
		return decide.Claim{}, fmt.Errorf("load %s %d: %w", t.Name, id, err)
	}
	want, _ := t.Key(identity)
	for _, s := range loaded {
		has, _ := s.Identity()
		if key, named := t.Key(has); s.Record != nil && named && key == want && t.Scope(has) == t.Scope(identity) {
			return decide.Claim{By: id, Pending: s.Change != nil}, nil
		}
	}
	return decide.Claim{}, nil
}
