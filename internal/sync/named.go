package sync

import (
	"context"
	"fmt"
	"slices"
	"time"

	"iasql/internal/decide"
	"iasql/internal/modules"
	"iasql/internal/store"
)

// What hints name is read directly: the objects of records, objects that have none, and
// first what those refer to that has no record yet.

// objects reads directly what hints name of a table.
func (l *looking) objects(ctx context.Context, t *modules.Table, looks []*hint) error {
	if len(looks) == 0 {
		return nil
	}
	of := map[*decide.Subject][]*hint{}
	subjects, err := l.subjects(ctx, t, looks, of)
	if err != nil {
		return err
	}
	if err := l.observe(ctx, subjects, of); err != nil {
		return err
	}
	if err := l.parents(ctx, t, subjects); err != nil {
		return err
	}
	var pulls []decide.Step
	for _, s := range subjects {
		step, after := l.decide(s)
		if after > 0 {
			for _, look := range of[s] {
				again(look, after)
			}
		}
		switch d := step.Decision; {
		case d.Action == decide.DeleteRecord, d.Action.Pushes():
			l.found.add([]decide.Step{step})
			if d.Action.Pushes() && len(d.Pull) > 0 {
				pulls = append(pulls, step)
			}
		case d.Action != decide.Nothing, d.Wait && d.State != "":
			pulls = append(pulls, step)
		}
	}
	l.c.preempt.mapping(pulls)
	_, err = l.c.pull(ctx, pulls)
	return err
}

// observe reads subjects. Of records whose tags alone have changed no more has to be read, and
// of those of which all but the tags may have, no tags; where nothing else tells what is left
// alone.
func (l *looking) observe(ctx context.Context, subjects []*decide.Subject, of map[*decide.Subject][]*hint) error {
	portions := map[modules.Extent][]*decide.Subject{}
	for _, s := range subjects {
		p := modules.Everything
		if looks := of[s]; s.Record != nil && len(l.c.settings.Exclusions.Rules) == 0 && len(looks) > 0 {
			p = looks[0].Extent
			if slices.ContainsFunc(looks, func(look *hint) bool { return look.Extent != p }) {
				p = modules.Everything
			}
		}
		portions[p] = append(portions[p], s)
	}
	for p, some := range portions {
		if err := l.c.observeExtent(ctx, p, some); err != nil {
			return err
		}
	}
	return nil
}

// subjects returns what hints name of a table: records, and objects that have none. What
// is pending or remembered of is the snapshot's, and what a batch has staged nobody's.
func (l *looking) subjects(ctx context.Context, t *modules.Table, looks []*hint,
	of map[*decide.Subject][]*hint) ([]*decide.Subject, error) {
	var ids []int64
	byID, byName := map[int64][]*hint{}, map[named][]*hint{}
	var names []named
	for _, look := range looks {
		for _, id := range look.Records {
			if byID[id] == nil {
				ids = append(ids, id)
			}
			byID[id] = append(byID[id], look)
		}
		if len(look.Records) == 0 {
			n := named{place{t.Name, look.Scope}, look.Column, look.Value}
			if byName[n] == nil {
				names = append(names, n)
			}
			byName[n] = append(byName[n], look)
		}
	}
	subjects, err := l.withRecords(ctx, t, ids, byID, of)
	if err != nil {
		return nil, err
	}
	unknown, err := l.withoutRecords(ctx, t, names)
	if err != nil {
		return nil, err
	}
	for _, n := range names {
		s, free := unknown[n]
		if !free {
			continue // the snapshot's
		}
		if s == nil { // it may be what a creation in doubt made
			for _, look := range byName[n] {
				again(look, lookUntilEnd)
			}
			continue
		}
		of[s] = byName[n]
		subjects = append(subjects, s)
	}
	return subjects, nil
}

// withoutRecords returns, by what names them, the subjects of objects of which nothing but
// their identity speaks; nil for those that are to be looked at later.
func (l *looking) withoutRecords(ctx context.Context, t *modules.Table, names []named) (map[named]*decide.Subject,
	error) {
	found := map[named]*decide.Subject{}
	objects := map[modules.Scope][]modules.Row{}
	of := map[modules.Scope][]named{}
	var scopes []modules.Scope
	for _, n := range names {
		if l.c.doubts.holds(t.Name, n.scope) {
			found[n] = nil
			continue
		}
		object, ok := objectNamed(t, n)
		if !ok {
			continue
		}
		if of[n.scope] == nil {
			scopes = append(scopes, n.scope)
		}
		fillScope(t, n.scope, object)
		of[n.scope], objects[n.scope] = append(of[n.scope], n), append(objects[n.scope], object)
	}
	for _, scope := range scopes {
		if err := l.translate(ctx, t, scope, objects[scope]); err != nil {
			return nil, err
		}
		matches, err := l.c.Store.Match(ctx, t, scope, objects[scope])
		if err != nil {
			return nil, fmt.Errorf("match objects of %s in %s: %w", t.Name, scope, err)
		}
		for i, m := range matches {
			if _, named := t.Key(objects[scope][i]); !named {
				found[of[scope][i]] = nil // its parent has no record yet
			} else if m.Free() {
				found[of[scope][i]] = &decide.Subject{Table: t, Scope: scope,
					Observation: decide.Observation{Object: objects[scope][i]}}
			}
		}
	}
	return found, nil
}

// objectNamed returns the identity that a name tells, in cloud terms.
func objectNamed(t *modules.Table, n named) (modules.Row, bool) {
	if n.column == modules.ColumnIdentity {
		return t.ParseIdentity(n.value)
	}
	return modules.Row{n.column: modules.Text(n.value)}, true
}

// translate translates the identities of objects that have no record: those of several
// columns name parents, which get theirs first.
func (l *looking) translate(ctx context.Context, t *modules.Table, scope modules.Scope, objects []modules.Row) error {
	if len(t.Identity()) == 1 {
		return nil
	}
	subjects := make([]*decide.Subject, len(objects))
	for i, o := range objects {
		subjects[i] = &decide.Subject{Table: t, Scope: scope,
			Observation: decide.Observation{Presence: decide.Present, Cloud: o.Clone(), Object: o}}
	}
	if err := l.c.Store.ToDatabase(ctx, t, scope, objects); err != nil {
		return fmt.Errorf("translate identities of %s: %w", t.Name, err)
	}
	if err := l.parents(ctx, t, subjects); err != nil {
		return err
	}
	for i, s := range subjects {
		objects[i] = s.Object
	}
	return nil
}

// withRecords returns the subjects of records.
func (l *looking) withRecords(ctx context.Context, t *modules.Table, ids []int64, byID map[int64][]*hint,
	of map[*decide.Subject][]*hint) ([]*decide.Subject, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	loaded, err := l.c.Store.Load(ctx, t, ids)
	if err != nil {
		return nil, fmt.Errorf("load records of %s: %w", t.Name, err)
	}
	var subjects []*decide.Subject
	for _, s := range loaded {
		switch {
		case s.Change != nil || s.State != nil && s.Due():
		case s.State != nil: // which the snapshot looks at when its time has come
			for _, look := range byID[s.RecordID] {
				again(look, lookUntilEnd)
			}
		case l.c.held(s) || l.c.doubts.about(s.Ref()):
			for _, look := range byID[s.RecordID] {
				again(look, time.Minute)
			}
		default:
			l.c.complete(s)
			of[s] = byID[s.RecordID]
			subjects = append(subjects, s)
		}
	}
	return subjects, nil
}

// decide says what to do about a subject that was read, and after how long it is to be
// read again.
func (l *looking) decide(s *decide.Subject) (step decide.Step, after time.Duration) {
	nothing := decide.Step{Subject: s}
	switch {
	case s.Presence == decide.Unknown && modules.NotPermitted(s.Fault), s.Presence == decide.Unknown &&
		modules.ClassOf(s.Fault) == modules.Invalid:
		return nothing, 0
	case s.Presence == decide.Unknown:
		return nothing, lookUntilEnd
	case s.Presence == decide.Absent && s.Record == nil:
		return nothing, lookOnceMore
	}
	if s.Record == nil {
		l.c.complete(s)
		key, named := s.Table.Key(s.Object)
		if !named {
			return nothing, lookOnceMore // its identity names a parent that has no record yet
		}
		l.c.ignores(s, key)
	}
	step = l.c.decide(s)
	switch {
	case s.Presence == decide.Going || s.Forming:
		after = lookUntilEnd
	case step.Decision.Action == decide.Nothing:
		after = lookOnceMore
	}
	return step, after
}

// parents looks at what the objects name that has no record yet, so that it gets one
// first: the row of an object has no value for a reference whose target has none.
func (l *looking) parents(ctx context.Context, t *modules.Table, subjects []*decide.Subject) error {
	wanted := map[*modules.Table][]*hint{}
	var tables []*modules.Table
	var again []*decide.Subject
	for _, s := range subjects {
		fresh := false
		for i := range t.Columns {
			parent, look := l.parent(s, &t.Columns[i])
			if look == nil {
				continue
			}
			if wanted[parent] == nil {
				tables = append(tables, parent)
			}
			wanted[parent] = append(wanted[parent], look)
			fresh = true
		}
		if fresh {
			again = append(again, s)
		}
	}
	for _, parent := range tables {
		if err := l.objects(ctx, parent, wanted[parent]); err != nil {
			return err
		}
	}
	for _, s := range again {
		s.Object = s.Cloud.Clone()
		if err := l.c.Store.ToDatabase(ctx, t, s.Scope, []modules.Row{s.Object}); err != nil {
			return fmt.Errorf("translate objects of %s: %w", t.Name, err)
		}
	}
	return nil
}

// parent returns a table and how to look for the object that a subject's object names by a
// column, if that has no record and was not looked for yet.
func (l *looking) parent(s *decide.Subject, col *modules.Column) (*modules.Table, *hint) {
	ref := col.References
	if s.Presence != decide.Present || ref == nil || ref.ByKey || ref.AnyScope || s.Cloud[col.Name].IsNull() {
		return nil, nil
	}
	if _, has := s.Object[col.Name]; has {
		return nil, nil
	}
	parent, ranks := l.c.Registry.Table(ref.Table), l.c.catalog.rank
	if parent == nil || !l.c.catalog.has(parent.Name) || ranks[parent.Name] >= ranks[s.Table.Name] {
		return nil, nil
	}
	scope := within(parent, s.Scope)
	n := named{place{parent.Name, scope}, ref.Key, s.Cloud[col.Name].String()}
	look := &hint{Look: store.Look{Hint: store.Hint{Table: parent.Name, Scope: scope, Column: ref.Key, Value: n.value}}}
	if l.read[n] || !l.direct(parent, look, nil) {
		return nil, nil
	}
	l.read[n] = true
	return parent, look
}

// direct reports whether what a hint names can be read directly: a record's object, where
// nothing else can have the same value, or an object by its identity.
func (l *looking) direct(t *modules.Table, look *hint, known map[named]bool) bool {
	if look.Column == modules.ColumnIdentity {
		return true
	}
	c := t.Column(look.Column)
	if look.Column == "" || c.References != nil && !c.Identity {
		return false
	}
	if identity := t.Identity(); len(identity) == 1 && identity[0] == look.Column &&
		(c.References == nil || c.References.ByKey) {
		return true
	} else if slices.Contains(identity, look.Column) {
		return false // one of several parts of an identity
	}
	return known[named{place{t.Name, look.Scope}, look.Column, look.Value}]
}

// again has a hint looked into once more, unless it was often enough.
func again(look *hint, after time.Duration) {
	if look.Tries < mostLooks {
		look.Again = max(look.Again, after)
	}
}
