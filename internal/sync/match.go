package sync

import (
	"context"
	"fmt"

	"iasql/internal/modules"
)

// matchPage pairs a page of listed objects with their records, decides, and
// pulls what is to be pulled. It adds what it saw to seen, and returns the steps
// that push.
func (c *cycle) matchPage(ctx context.Context, t *modules.Table, scope modules.Scope, cloud []modules.Row, seen *sighting) ([]Step, error) {
	objects := cloud
	if translated(t) {
		objects = make([]modules.Row, len(cloud))
		for i := range cloud {
			fillScope(t, scope, cloud[i])
			objects[i] = cloud[i].Clone()
		}
	} else {
		for i := range cloud {
			fillScope(t, scope, cloud[i])
		}
	}
	stranded, err := c.Database.ToDatabase(ctx, t, scope, objects)
	if err != nil {
		return nil, fmt.Errorf("translate objects of %s: %w", t.Name, err)
	}
	subjects, err := c.Database.Match(ctx, t, scope, objects)
	if err != nil {
		return nil, fmt.Errorf("match objects of %s in %s: %w", t.Name, scope, err)
	}
	c.report.count(func(r *Report) { r.Listed += len(objects) })
	protector, _ := c.Registry.Resource(t.Name).(modules.Protector)
	var pulls, pushes []Step
	for i, s := range subjects {
		if s.Record != nil {
			seen.records[s.RecordID] = struct{}{}
		}
		if s.Change != nil || s.State != nil || s.Garbage || c.undecided[s.Ref()] {
			continue // the snapshot's, or nobody's yet
		}
		key, named := t.Key(objects[i])
		if !named {
			continue // its identity names a parent that has no record yet
		}
		if s.Record == nil && c.hold[objectRef{table: t.Name, scope: scope}] {
			continue // it may be what a creation made whose answer was lost
		}
		s.Presence, s.Object, s.Cloud, s.Stranded = Present, objects[i], cloud[i], stranded[i]
		s.Scope = scope
		c.complete(s)
		if protector != nil {
			s.Protected = protector.Protected(cloud[i])
		}
		step := Step{s, Decide(s, c.policy(s))}
		switch {
		case step.Decision.Action == InsertRecord:
			seen.insert(key)
			pulls = append(pulls, step)
		case step.Decision.Action.Pushes():
			pushes = append(pushes, step)
			if len(step.Decision.Pull) > 0 {
				pulls = append(pulls, step)
			}
		case step.Decision.Action != Nothing, step.Decision.Wait && step.Decision.State != "":
			pulls = append(pulls, step)
		}
	}
	if c.ReadOnly {
		for _, step := range pulls {
			if !step.Decision.Action.Pushes() {
				pushes = append(pushes, step)
			}
		}
		return pushes, nil
	}
	if err := c.refKeys(ctx, t, pushes); err != nil {
		return nil, err
	}
	_, err = c.pullAndSettle(ctx, pulls)
	return pushes, err
}

// refKeys fills in RefKeys of records that are pushed: [Database.Match] leaves
// it out.
func (c *cycle) refKeys(ctx context.Context, t *modules.Table, pushes []Step) error {
	if !translated(t) {
		return nil
	}
	var rows []modules.Row
	for _, step := range pushes {
		if step.Subject.Record != nil {
			step.Subject.RefKeys = step.Subject.Record.Row.Clone()
			rows = append(rows, step.Subject.RefKeys)
		}
	}
	if len(rows) == 0 {
		return nil
	}
	if err := c.Database.ToCloud(ctx, t, rows); err != nil {
		return fmt.Errorf("translate references of %s: %w", t.Name, err)
	}
	return nil
}

// claims finds out which of the subjects name an object that another record
// stands for: those that are gone, and those whose row does not say what
// identity they have, or are to be renamed. The latter lose the object: a user
// has adopted with another record what was created for this one, or has given
// another record the name this one is to give up.
func (c *cycle) claims(ctx context.Context, subjects []*Subject) error {
	type group struct {
		table *modules.Table
		scope modules.Scope
	}
	named := map[group][]*Subject{}
	var order []group
	for _, s := range subjects {
		identity, ok := s.Identity()
		if !ok {
			continue
		}
		if s.Record != nil && !s.Garbage {
			want, _ := s.Table.Key(identity)
			if key, has := s.Table.Key(s.Record.Row); has && key == want {
				continue
			}
		}
		g := group{s.Table, s.Scope}
		if named[g] == nil {
			order = append(order, g)
		}
		named[g] = append(named[g], s)
	}
	for _, g := range order {
		identities := make([]modules.Row, len(named[g]))
		for i, s := range named[g] {
			identities[i], _ = s.Identity()
		}
		found, err := c.Database.Match(ctx, g.table, g.scope, identities)
		if err != nil {
			return fmt.Errorf("match identities of %s in %s: %w", g.table.Name, g.scope, err)
		}
		for i, s := range named[g] {
			if found[i].Record == nil || found[i].RecordID == s.RecordID && !s.Garbage {
				continue
			}
			// Its row may not say yet what has become of it: a successor, or a name
			// that it only asks for.
			stands, pending, err := c.standsFor(ctx, found[i], identities[i])
			switch {
			case err != nil:
				return err
			case !stands:
			case s.Record == nil:
				s.ClaimedBy, s.ClaimPending = found[i].RecordID, pending
			default:
				s.Robbed = true
				if s.State != nil {
					s.State.Identity = nil
				}
				c.complete(s)
			}
		}
	}
	return nil
}

// standsFor reports whether a record found by its row stands for the object of
// that identity, and whether changes of it are pending.
func (c *cycle) standsFor(ctx context.Context, found *Subject, identity modules.Row) (stands, pending bool, err error) {
	t := found.Table
	if found.Change == nil && found.State == nil {
		return true, false, nil
	}
	loaded, err := c.Database.Load(ctx, t, []int64{found.RecordID})
	if err != nil {
		return false, false, fmt.Errorf("load %s %d: %w", t.Name, found.RecordID, err)
	}
	want, _ := t.Key(identity)
	for _, s := range loaded {
		has, _ := s.Identity()
		if key, named := t.Key(has); named && key == want {
			return true, s.Change != nil, nil
		}
	}
	return false, false, nil
}

// translated reports whether the table has references that differ between the
// two vocabularies.
func translated(t *modules.Table) bool {
	for i := range t.Columns {
		if ref := t.Columns[i].References; ref != nil && !ref.ByKey {
			return true
		}
	}
	return false
}

// expandReplacements adds to steps the records that have to follow a record
// that is replaced, because they name its object by a column that is fixed at
// creation (they are replaced too) or not (they are updated), until no more
// are found.
func (c *cycle) expandReplacements(ctx context.Context, steps []Step) ([]Step, error) {
	steps = c.withoutFollowers(steps)
	have := map[RecordRef]int{}
	for i, step := range steps {
		have[step.Subject.Ref()] = i
	}
	done := map[RecordRef]bool{}
	fetched := map[RecordRef]bool{} // only here, in this or an earlier round
	for {
		replaced := map[string][]int64{}
		for _, step := range steps {
			// Nothing has to follow a record that is not going to move in this cycle.
			if step.Decision.Action == Replace && c.pushable(step.Subject) && !done[step.Subject.Ref()] {
				done[step.Subject.Ref()] = true
				replaced[step.Subject.Table.Name] = append(replaced[step.Subject.Table.Name], step.Subject.RecordID)
			}
		}
		if len(replaced) == 0 {
			return steps, nil
		}
		var fresh []*Subject
		strand := map[RecordRef][]string{}
		for table, ids := range replaced {
			refs, err := c.Database.Dependents(ctx, table, ids)
			if err != nil {
				return nil, fmt.Errorf("read what depends on %s: %w", table, err)
			}
			byTable := map[string][]int64{}
			for _, ref := range refs {
				res := c.Registry.Resource(ref.Table)
				if res == nil {
					continue
				}
				for _, col := range res.Table().Columns {
					if col.References != nil && col.References.Table == table && !col.References.ByKey {
						strand[ref] = append(strand[ref], col.Name)
					}
				}
				if _, known := have[ref]; !known {
					byTable[ref.Table] = append(byTable[ref.Table], ref.ID)
				}
			}
			for name, ids := range byTable {
				loaded, err := c.Database.Load(ctx, c.Registry.Table(name), ids)
				if err != nil {
					return nil, fmt.Errorf("load records of %s: %w", name, err)
				}
				for _, s := range loaded {
					c.complete(s)
				}
				fresh = append(fresh, loaded...)
			}
		}
		if err := c.observe(ctx, fresh); err != nil {
			return nil, err
		}
		for _, s := range fresh {
			fetched[s.Ref()] = true
			have[s.Ref()] = len(steps)
			steps = append(steps, Step{Subject: s})
		}
		for ref, columns := range strand {
			i, ok := have[ref]
			if !ok {
				continue
			}
			s := steps[i].Subject
			s.Follows = true
			if s.Stranded == nil {
				s.Stranded = map[string]bool{}
			}
			for _, name := range columns {
				if v := s.Record; v != nil && containsID(replaced[s.Table.Column(name).References.Table], v.Row[name].Int()) {
					s.Stranded[name] = true
				}
			}
			steps[i].Decision = Decide(s, c.policy(s))
			if fetched[ref] && !steps[i].Decision.Action.Pushes() {
				steps[i].Decision = Decision{} // the scan's: it knows whether its listing was complete (R5)
			}
		}
	}
}

func containsID(ids []int64, id int64) bool {
	for _, x := range ids {
		if x == id {
			return true
		}
	}
	return false
}
