package sync

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"iasql/internal/decide"
	"iasql/internal/modules"
	"iasql/internal/store"
)

// Events of the cloud say where something has changed, seconds after it has. A cycle that
// finds such hints looks there first: it reads an object directly whose identity a hint
// tells. Where one tells no more than a table and a scope, or names what the object is a
// part of, and where there are many, the table is listed in the scope; that a full cycle
// does, which users need not wait for. What is read is decided about and pulled as anything else is: a hint itself is believed in nothing (R26), so that one that is late, doubled or
// forged costs a read and makes nothing wrong.
//
// Reads may be late as well. Where one shows no change, the hint is looked into once more.

// burst is how many objects of a table in a scope are worth a listing.
const burst = 50

// After how long a hint is looked into again: once, if it shows no effect yet; and up to
// mostLooks times, if it could not be read or is about what the cloud is still making or
// deleting, which no event tells the end of.
const (
	lookOnceMore = 15 * time.Second
	lookUntilEnd = 10 * time.Second
	mostLooks    = 40
)

// listAgain is how long hints leave a place alone that was listed.
const listAgain = 3 * time.Second

// looking is what a cycle does about hints.
type looking struct {
	c      *cycle
	looks  []*hint
	places map[place][]*hint
	read   map[named]bool // what was looked at for the sake of what refers to it
	found  findings
}

// hint is a hint, and what comes of it. open: it is left as it is, for another cycle.
type hint struct {
	store.Look
	open bool
}

// named is a value of a column in a place.
type named struct {
	place
	column, value string
}

// look looks where hints say. It pulls what has changed, and returns the steps that push.
func (c *cycle) look(ctx context.Context) (_ []decide.Step, err error) {
	if c.ReadOnly || c.lease.Batch != 0 || !c.settings.Events {
		return nil, nil
	}
	hints, err := c.Store.Hints(ctx, c.lease.Account)
	if err != nil {
		return nil, fmt.Errorf("read what events tell: %w", err)
	}
	if len(hints) == 0 {
		return nil, nil
	}
	ctx, end := c.span(ctx, "look", &err)
	defer end()
	if err := c.readKnown(ctx); err != nil {
		return nil, err
	}
	l := &looking{c: c, places: map[place][]*hint{}, read: map[named]bool{}}
	if err := l.sort(ctx, hints); err != nil {
		return nil, err
	}
	for _, t := range c.catalog.tables {
		if err := l.table(ctx, t); err != nil {
			return nil, err
		}
	}
	if err := l.end(ctx); err != nil {
		return nil, err
	}
	if len(hints) == store.MaxHints {
		c.report.count(func(r *store.Report) { r.More = true })
	}
	return l.found.pushes, nil
}

// sort puts hints where they belong. Those about what is not looked at here end; those
// about a locked table wait.
func (l *looking) sort(ctx context.Context, hints []store.Hint) error {
	regions := map[string][]string{}
	for _, h := range hints {
		look := &hint{Look: store.Look{Hint: h}}
		l.looks = append(l.looks, look)
		t := l.c.Registry.Table(h.Table)
		switch {
		case l.c.catalog.locked[h.Table] != nil:
			again(look, lookOnceMore)
			continue
		case t == nil || !l.c.catalog.has(h.Table):
			continue
		}
		if _, read := regions[t.Provider]; !read {
			list, err := l.c.Store.Regions(ctx, t.Provider, l.c.lease.Account)
			if err != nil {
				return fmt.Errorf("read regions: %w", err)
			}
			regions[t.Provider] = list
		}
		if slices.Contains(l.c.scopesIn(t, regions[t.Provider]), h.Scope) && (h.Column == "" || t.Column(h.Column) != nil) {
			at := place{h.Table, h.Scope}
			l.places[at] = append(l.places[at], look)
		}
	}
	return nil
}

// again has a hint looked into once more, unless it was often enough.
func again(look *hint, after time.Duration) {
	if look.Tries < mostLooks {
		look.Again = max(look.Again, after)
	}
}

// table looks at what hints say of a table, in all scopes.
func (l *looking) table(ctx context.Context, t *modules.Table) error {
	var direct []*hint
	for _, at := range l.of(t) {
		looks := l.places[at]
		ids, err := l.records(ctx, t, at.scope, looks)
		if err != nil {
			return err
		}
		var some []*hint
		whole := false
		for _, look := range looks {
			switch {
			case look.Known, look.Existing && len(look.Records) == 0:
			case l.direct(t, look, ids):
				some = append(some, look)
			default:
				whole = true
			}
		}
		if whole || len(some) > burst {
			l.list(at, looks)
			continue
		}
		direct = append(direct, some...)
	}
	return l.objects(ctx, t, direct)
}

// of returns the places of a table that there are hints about, in order.
func (l *looking) of(t *modules.Table) []place {
	var list []place
	for at := range l.places {
		if at.table == t.Name {
			list = append(list, at)
		}
	}
	slices.SortFunc(list, func(a, b place) int { return cmp.Compare(a.scope.Region, b.scope.Region) })
	return list
}

// records finds the records that hints name.
func (l *looking) records(ctx context.Context, t *modules.Table, scope modules.Scope, looks []*hint) (map[named]bool, error) {
	values := map[string][]string{}
	for _, look := range looks {
		if look.Column != "" {
			values[look.Column] = append(values[look.Column], look.Value)
		}
	}
	known := map[named]bool{}
	for column, list := range values {
		found, err := l.c.Store.Named(ctx, t, scope, column, list)
		if err != nil {
			return nil, fmt.Errorf("find the records of %s that events name: %w", t.Name, err)
		}
		ids := map[string][]int64{}
		for _, n := range found {
			ids[n.Value] = append(ids[n.Value], n.Record)
			known[named{place{t.Name, scope}, column, n.Value}] = true
		}
		for _, look := range looks {
			if look.Column == column {
				look.Records = ids[look.Value]
			}
		}
	}
	return known, nil
}

// direct reports whether what a hint names can be read directly: a record's object, where
// nothing else can have the same value, or an object by its identity.
func (l *looking) direct(t *modules.Table, look *hint, known map[named]bool) bool {
	c := t.Column(look.Column)
	if look.Column == "" || c.References != nil && !c.Identity {
		return false
	}
	if identity := t.Identity(); len(identity) == 1 && identity[0] == look.Column && (c.References == nil || c.References.ByKey) {
		return true
	} else if slices.Contains(identity, look.Column) {
		return false // one of several parts of an identity
	}
	return known[named{place{t.Name, look.Scope}, look.Column, look.Value}]
}

// list leaves a place to the listing of this cycle or, in a push cycle, of the next full
// one. What was listed a moment ago waits: whoever may forge events must not have a place
// listed all the time.
func (l *looking) list(at place, looks []*hint) {
	known, listed := l.c.cadence.known[at]
	wait := listAgain - known.Age
	for _, look := range looks {
		switch {
		case look.Known, look.Existing && len(look.Records) == 0:
		case listed && known.Age >= 0 && wait > 0 && known.Within == l.c.cadence.within[at.table].digest():
			again(look, wait)
		case l.c.kind == store.Full:
			l.c.hinted[at] = append(l.c.hinted[at], look)
		default:
			look.open = true
			l.c.report.count(func(r *store.Report) { r.List = true })
		}
	}
}

// endHinted ends the hints that the listing of this cycle was to look into.
func (c *cycle) endHinted(ctx context.Context) error {
	var looked []store.Look
	for at, looks := range c.hinted {
		ended := slices.ContainsFunc(c.cadence.ended, func(e store.Listing) bool { return e.Table == at.table && e.Scope == at.scope })
		for _, look := range looks {
			if !ended {
				again(look, lookUntilEnd)
			}
			looked = append(looked, look.Look)
		}
	}
	if len(looked) == 0 {
		return nil
	}
	if err := c.Store.Looked(ctx, c.lease, looked); err != nil {
		return fmt.Errorf("note what was looked into: %w", err)
	}
	return nil
}

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
	if err := l.c.observe(ctx, subjects); err != nil {
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
	l.c.preempt.touch(pulls)
	_, err = l.c.pull(ctx, pulls)
	return err
}

// subjects returns what hints name of a table: records, and objects that have none. What
// is pending or remembered of is the snapshot's, and what a batch has staged nobody's.
func (l *looking) subjects(ctx context.Context, t *modules.Table, looks []*hint, of map[*decide.Subject][]*hint) ([]*decide.Subject, error) {
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
func (l *looking) withoutRecords(ctx context.Context, t *modules.Table, names []named) (map[named]*decide.Subject, error) {
	found := map[named]*decide.Subject{}
	objects := map[modules.Scope][]modules.Row{}
	of := map[modules.Scope][]named{}
	var scopes []modules.Scope
	for _, n := range names {
		if l.c.doubts.holds(t.Name, n.scope) {
			found[n] = nil
			continue
		}
		if of[n.scope] == nil {
			scopes = append(scopes, n.scope)
		}
		object := modules.Row{n.column: modules.Text(n.value)}
		fillScope(t, n.scope, object)
		of[n.scope], objects[n.scope] = append(of[n.scope], n), append(objects[n.scope], object)
	}
	for _, scope := range scopes {
		matches, err := l.c.Store.Match(ctx, t, scope, objects[scope])
		if err != nil {
			return nil, fmt.Errorf("match objects of %s in %s: %w", t.Name, scope, err)
		}
		for i, m := range matches {
			if m.Free() {
				found[of[scope][i]] = &decide.Subject{Table: t, Scope: scope, Observation: decide.Observation{Object: objects[scope][i]}}
			}
		}
	}
	return found, nil
}

// withRecords returns the subjects of records.
func (l *looking) withRecords(ctx context.Context, t *modules.Table, ids []int64, byID map[int64][]*hint, of map[*decide.Subject][]*hint) ([]*decide.Subject, error) {
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
		case s.Change != nil || s.State != nil:
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
	case s.Presence == decide.Unknown && modules.NotPermitted(s.Fault), s.Presence == decide.Unknown && modules.ClassOf(s.Fault) == modules.Invalid:
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

// end carries out what comes last, and ends the hints. What was decided about a record
// that a push has dealt with meanwhile, the version of the record keeps from being pulled.
func (l *looking) end(ctx context.Context) error {
	c := l.c
	deletes, left := c.catalog.withoutFollowers(l.found.deletes)
	if left {
		c.report.locked()
	}
	c.preempt.touch(deletes)
	c.preempt.touch(l.found.pushes)
	if _, err := c.pull(ctx, deletes); err != nil {
		return err
	}
	hinted := map[*hint]bool{}
	for _, looks := range c.hinted {
		for _, look := range looks {
			hinted[look] = true
		}
	}
	var looked []store.Look
	for _, look := range l.looks {
		if look.open || hinted[look] {
			continue
		}
		// Once more is enough for what may just not show yet.
		if look.Again == lookOnceMore && look.Tries > 0 {
			look.Again = 0
		}
		looked = append(looked, look.Look)
	}
	if len(looked) == 0 {
		return nil
	}
	if err := c.Store.Looked(ctx, c.lease, looked); err != nil {
		return fmt.Errorf("note what was looked into: %w", err)
	}
	return nil
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
		dangling, err := l.c.Store.ToDatabase(ctx, t, s.Scope, []modules.Row{s.Object})
		if err != nil {
			return fmt.Errorf("translate objects of %s: %w", t.Name, err)
		}
		s.Dangling = dangling[0]
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
