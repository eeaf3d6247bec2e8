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
// does, which users need not wait for. What is read is decided about and pulled as anything
// else is: a hint itself is believed in nothing (R26), so that one that is late, doubled or
// forged costs a read and makes nothing wrong.
//
// Reads may be late as well. Where one shows no change, the hint is looked into once more.

// burst is how many objects of a table in a scope are worth a listing, if they are half of
// what there is.
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

// idle reports whether the hint needs no look: the engine knows the change already, or it concerns another table.
func (h *hint) idle() bool { return h.Known || h.Existing && len(h.Records) == 0 }

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
		scopes, err := l.c.scopes(ctx, t)
		if err != nil {
			return err
		}
		if slices.Contains(scopes, h.Scope) &&
			(h.Column == "" || h.Column == modules.ColumnIdentity || t.Column(h.Column) != nil) {
			at := place{h.Table, h.Scope}
			l.places[at] = append(l.places[at], look)
		}
	}
	return nil
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
			case look.idle():
			case l.direct(t, look, ids):
				some = append(some, look)
			default:
				whole = true
			}
		}
		// Of more than are looked into at once nobody looks into each.
		flood := len(some) > 0 && looks[0].Due > len(looks)
		if whole || flood || len(some) > burst && l.c.resync.known[at].Objects <= 2*len(some) {
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
func (l *looking) records(ctx context.Context, t *modules.Table, scope modules.Scope,
	looks []*hint) (map[named]bool, error) {
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

// list leaves a place to the listing of this cycle or, in a push cycle, of the next full
// one. What was listed a moment ago waits: whoever may forge events must not have a place
// listed all the time.
func (l *looking) list(at place, looks []*hint) {
	known, listed := l.c.resync.known[at]
	wait := listAgain - known.Age
	for _, look := range looks {
		switch {
		case look.idle():
		case listed && known.Age >= 0 && wait > 0 && known.Within == l.c.resync.within[at.table].digest():
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
	var listed []store.ListedPlace
	for at, looks := range c.hinted {
		ended := slices.ContainsFunc(c.resync.ended, func(e store.Listing) bool {
			return e.Table == at.table && e.Scope == at.scope
		})
		for _, look := range looks {
			if !ended {
				again(look, lookUntilEnd)
			}
			looked = append(looked, look.Look)
		}
		if ended && looks[0].Due > len(looks) {
			listed = append(listed, store.ListedPlace{Table: at.table, Scope: at.scope, UpTo: looks[0].Newest})
		}
	}
	if len(looked) == 0 {
		return nil
	}
	if err := c.Store.Looked(ctx, c.lease, looked, listed); err != nil {
		return fmt.Errorf("note what was looked into: %w", err)
	}
	return nil
}

// end carries out what comes last, and ends the hints. What was decided about a record
// that a push has dealt with meanwhile, the version of the record keeps from being pulled.
func (l *looking) end(ctx context.Context) error {
	c := l.c
	deletes, left := c.catalog.withoutFollowers(l.found.deletes)
	if left {
		c.report.locked()
	}
	c.preempt.mapping(deletes)
	c.preempt.mapping(l.found.pushes)
	if err := c.believe(ctx, deletes); err != nil {
		return err
	}
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
	if err := c.Store.Looked(ctx, c.lease, looked, nil); err != nil {
		return fmt.Errorf("note what was looked into: %w", err)
	}
	return nil
}
