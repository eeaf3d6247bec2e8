package sync

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"iasql/internal/decide"
	"iasql/internal/modules"
	"iasql/internal/store"
)

// observe reads the subjects' objects directly, all of one table and scope in
// one call of Get. A subject that names no object has none; one whose read
// fails stays Unknown (R5).
func (c *cycle) observe(ctx context.Context, subjects []*decide.Subject) error {
	return c.observeExtent(ctx, modules.Everything, subjects)
}

// observeExtent is observe of an extent of the objects.
func (c *cycle) observeExtent(ctx context.Context, portion modules.Extent, subjects []*decide.Subject) (err error) {
	ctx, end := c.span(ctx, "observe", &err)
	defer end()
	index := map[place][]*decide.Subject{}
	var order []place
	for _, s := range subjects {
		if _, named := s.Identity(); !named || s.Lost() {
			s.Presence = decide.Absent
			continue
		}
		at := place{s.Table.Name, s.Scope}
		if index[at] == nil {
			order = append(order, at)
		}
		index[at] = append(index[at], s)
	}
	looked := c.count(StepLook, ofAll(index))
	defer looked.end()
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(c.concurrency())
	for _, at := range order {
		g.Go(func() error {
			rest := 2 * int64(len(index[at])) // of what the resource does not tell itself
			asked := modules.GetRequest{Scope: at.scope, Waited: c.waited, Extent: portion,
				Progress: func(halves int) {
					if atomic.AddInt64(&rest, -int64(halves)) >= 0 {
						looked.add(halves)
					}
				}}
			err := c.read(ctx, asked, index[at])
			looked.add(int(max(0, atomic.LoadInt64(&rest))))
			return err
		})
	}
	return g.Wait()
}

// read fills in the observations of subjects of one table and scope.
// Only an error of the database is returned.
func (c *cycle) read(ctx context.Context, asked modules.GetRequest, subjects []*decide.Subject) error {
	t, scope := subjects[0].Table, asked.Scope
	identities := make([]modules.Row, len(subjects))
	for i, s := range subjects {
		identities[i], _ = s.Identity()
	}
	if err := c.Store.ToCloud(ctx, t, identities); err != nil {
		return fmt.Errorf("translate identities of %s: %w", t.Name, err)
	}
	asked.Identities, asked.Created = c.untaken(ctx, scope, subjects, identities), created(scope, subjects, identities)
	objects, err := c.Registry.Resource(t.Name).Get(ctx, asked)
	var unread *modules.Unread
	if errors.As(err, &unread) {
		if subjects, identities = permitted(t, scope, subjects, identities, unread); len(subjects) == 0 {
			return nil
		}
	} else if err != nil {
		return c.unread(ctx, asked, subjects, err)
	}
	c.report.count(func(r *store.Report) { r.Read += len(objects) })
	byKey := make(map[string]*modules.Observation, len(objects))
	for i := range objects {
		fillScope(t, scope, objects[i].Row)
		if key, ok := t.Key(objects[i].Row); ok {
			byKey[key] = &objects[i]
		}
	}
	return c.observed(ctx, scope, subjects, identities, byKey)
}

// permitted leaves out the subjects whose objects may not be read: of those nothing is
// known. Where it is not said which, that may be all.
func permitted(t *modules.Table, scope modules.Scope, subjects []*decide.Subject, identities []modules.Row,
	unread *modules.Unread) ([]*decide.Subject, []modules.Row) {
	faults, all := map[string]error{}, error(nil)
	for _, o := range unread.Objects {
		identity := o.Identity.Clone()
		fillScope(t, scope, identity)
		switch key, named := t.Key(identity); {
		case len(o.Parts) > 0:
		case named:
			faults[key] = o.Err
		default:
			all = o.Err
		}
	}
	var rest []*decide.Subject
	var theirs []modules.Row
	for i, s := range subjects {
		key, _ := t.Key(identities[i])
		if fault := cmp.Or(faults[key], all); fault != nil {
			s.Presence, s.Fault = decide.Unknown, fault
		} else {
			rest, theirs = append(rest, s), append(theirs, identities[i])
		}
	}
	return rest, theirs
}

// unread deals with a read that failed. One identity the API cannot even parse must
// not hide the others: they are read one by one.
func (c *cycle) unread(ctx context.Context, asked modules.GetRequest, subjects []*decide.Subject, err error) error {
	if len(subjects) > 1 && modules.ClassOf(err) == modules.Invalid {
		for i := range subjects {
			if err := c.read(ctx, asked, subjects[i:i+1]); err != nil {
				return err
			}
		}
		return nil
	}
	for _, s := range subjects {
		s.Presence, s.Fault = decide.Unknown, err
	}
	return nil
}

// observed fills in what a read has shown: of each subject, by the identity it was
// asked for, or that it is not there.
func (c *cycle) observed(ctx context.Context, scope modules.Scope, subjects []*decide.Subject, identities []modules.Row,
	byKey map[string]*modules.Observation) error {
	t := subjects[0].Table
	var absent []*decide.Subject
	var rows []modules.Row
	for i, s := range subjects {
		key, ok := t.Key(identities[i])
		o := byKey[key]
		if !ok || o == nil {
			s.Presence, s.Unnameable = decide.Absent, !ok
			s.Cascaded = decide.OwnerDeleted(s, scope, identities[i], c.recent, c.Registry.Table)
			s.WentAway = c.wentAway(s)
			absent = append(absent, s)
			continue
		}
		s.Cloud, s.Object = o.Row, o.Row.Clone()
		c.shows(s, o)
		rows = append(rows, s.Object)
	}
	if err := c.Store.ToDatabase(ctx, t, scope, rows); err != nil {
		return fmt.Errorf("translate objects of %s: %w", t.Name, err)
	}
	return c.foundLately(ctx, t, absent)
}

// foundLately says of records whose objects were not found which had them found a
// moment ago. Where the cloud chooses the identity, a creation would make another; and
// a deletion would be taken for done, of what is there.
func (c *cycle) foundLately(ctx context.Context, t *modules.Table, absent []*decide.Subject) error {
	var asked []*decide.Subject
	var ids []int64
	for _, s := range absent {
		deleted := s.Record == nil && s.Change != nil && s.Change.Delete
		if !s.Deposed && (deleted || s.Record != nil && t.ComputedIdentity()) {
			asked, ids = append(asked, s), append(ids, s.RecordID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	found, err := c.Store.Found(ctx, t, ids, c.settings.ConsistencyWindow)
	if err != nil {
		return fmt.Errorf("read which records of %s were found lately: %w", t.Name, err)
	}
	var deleted []*decide.Subject
	for _, s := range asked {
		if _, s.Found = slices.BinarySearch(found, s.RecordID); s.Found && s.Record == nil {
			deleted = append(deleted, s)
		}
	}
	return c.wentAlong(ctx, t, deleted)
}

// wentAlong looks at deleted records whose objects were there a moment ago and are not any more. An object that was a
// part of what is being deleted, or of what this engine has deleted, has gone with that: nobody looks for it again.
func (c *cycle) wentAlong(ctx context.Context, t *modules.Table, deleted []*decide.Subject) error {
	parts := map[string][]decide.Part{}
	for _, s := range deleted {
		for _, part := range decide.Parts(s) {
			parts[part.Of.Table] = append(parts[part.Of.Table], part)
		}
	}
	for table, list := range parts {
		if !c.catalog.has(table) {
			continue
		}
		ids := make([]int64, len(list))
		for i, part := range list {
			ids[i] = part.Of.ID
		}
		slices.Sort(ids)
		wholes, err := c.Store.Load(ctx, c.Registry.Table(table), slices.Compact(ids))
		if err != nil {
			return fmt.Errorf("load what records of %s were parts of: %w", t.Name, err)
		}
		there := map[int64]bool{}
		for _, s := range wholes {
			there[s.RecordID] = s.Record != nil
		}
		for _, part := range list {
			if !there[part.Of.ID] || decide.DeletedLast(part.Of, c.recent) {
				part.Subject.Found = false
			}
		}
	}
	return nil
}

// wentAway reports whether a record says that the cloud was deleting its object when it was read last.
func (c *cycle) wentAway(s *decide.Subject) bool {
	if s.State != nil && s.State.SeenGoing {
		return true
	}
	r, ok := c.Registry.Resource(s.Table.Name).(modules.Phaser)
	if !ok || s.Record == nil {
		return false
	}
	phase, _ := r.Phase(s.Record.Row)
	return phase == modules.Going
}

// shows fills in what an object that was read shows of itself.
func (c *cycle) shows(s *decide.Subject, o *modules.Observation) {
	s.Presence = decide.Present
	if o.Phase == modules.Going {
		s.Presence = decide.Going
	}
	s.Forming, s.Failure = o.Phase == modules.Forming, ""
	if o.Phase == modules.Failed {
		s.Failure = cmp.Or(o.Reason, "the cloud does not say why")
	}
	s.Protected, s.Manager = o.Protected, o.Manager
	if excluded := &c.settings.Exclusions; len(excluded.Rules) > 0 {
		key, _ := s.Table.Key(s.Cloud)
		s.Ignored = excluded.Ignores(s.Table, s.Scope, key, s.Cloud)
	}
}
