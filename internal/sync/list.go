package sync

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	gosync "sync"
	"time"

	"golang.org/x/sync/errgroup"

	"iasql/internal/decide"
	"iasql/internal/modules"
)

// mostGenerations is how often a cycle goes on to list what new objects name.
const mostGenerations = 3

// list lists every table in every scope, pulls what changed in the cloud, and
// returns the steps that push. Records with pending changes or states are left
// to the snapshot, which reads them directly.
func (c *cycle) list(ctx context.Context) (_ []decide.Step, err error) {
	ctx, end := c.span(ctx, "list", &err)
	defer end()
	if err := c.readListings(ctx); err != nil {
		return nil, err
	}
	attended, stop := c.attend(ctx)
	found, err := c.listTables(attended)
	for range mostGenerations {
		lacking := c.resync.further()
		if err != nil || lacking == nil {
			break
		}
		var others *findings
		if others, err = c.listTables(attended); err == nil {
			found.replace(lacking, others)
		}
	}
	if failure := stop(); failure != nil {
		return nil, failure
	}
	if err != nil {
		return nil, err
	}
	pushes, err := c.standing(ctx, found.pushes)
	if err != nil {
		return nil, err
	}
	deletes, err := c.standing(ctx, found.deletes)
	if err != nil {
		return nil, err
	}
	if err := c.believe(ctx, deletes); err != nil {
		return nil, err
	}
	if c.ReadOnly {
		return append(pushes, deletes...), nil
	}
	deletes, left := c.catalog.withoutFollowers(deletes)
	if left {
		c.report.locked()
	}
	if _, err := c.pull(ctx, deletes); err != nil {
		return nil, err
	}
	c.tellDenied()
	if ended := slices.Concat(c.resync.failed, c.resync.ended); len(ended)+len(c.resync.gone) > 0 {
		if err := c.Store.Listed(ctx, c.lease, ended, c.resync.gone); err != nil {
			return nil, fmt.Errorf("remember what was listed: %w", err)
		}
	}
	if len(found.imported) > 0 {
		if err := c.Store.Imported(ctx, c.lease, found.imported); err != nil {
			return nil, err
		}
	}
	return pushes, nil
}

// findings are what a listing of all tables has found, besides what it has pulled
// page by page.
type findings struct {
	lock     gosync.Mutex
	pushes   []decide.Step
	deletes  []decide.Step // of records: after all inserts, children first
	imported []string      // tables that were listed completely for the first time
}

// replace exchanges what was found in these places for what the others found there.
func (f *findings) replace(places map[place]bool, others *findings) {
	theirs := func(step decide.Step) bool { return places[place{step.Subject.Table.Name, step.Subject.Scope}] }
	f.pushes = append(slices.DeleteFunc(f.pushes, theirs), others.pushes...)
	f.deletes = append(slices.DeleteFunc(f.deletes, theirs), others.deletes...)
}

// completed notes that a table was listed completely for the first time.
func (f *findings) completed(table string) {
	f.lock.Lock()
	defer f.lock.Unlock()
	f.imported = append(f.imported, table)
}

func (f *findings) add(steps []decide.Step) {
	f.lock.Lock()
	defer f.lock.Unlock()
	for _, step := range steps {
		if step.Decision.Action == decide.DeleteRecord {
			f.deletes = append(f.deletes, step)
		} else {
			f.pushes = append(f.pushes, step)
		}
	}
}

// listTables lists the tables, each after those that it refers to: children need their
// parents' ids. What does not depend on each other goes side by side, since each service
// has a rate of its own.
func (c *cycle) listTables(ctx context.Context) (*findings, error) {
	found := &findings{}
	listed := make(map[string]chan struct{}, len(c.catalog.tables))
	for _, t := range c.catalog.tables {
		listed[t.Name] = make(chan struct{})
	}
	slots := make(chan struct{}, c.concurrency())
	g, ctx := errgroup.WithContext(ctx)
	if c.Serial {
		g.SetLimit(1)
	}
	for _, t := range c.catalog.tables {
		g.Go(func() error {
			for _, name := range c.before(t) {
				select {
				case <-listed[name]:
				case <-ctx.Done():
					return ctx.Err()
				}
			}
			complete, err := c.listTable(ctx, t, found, slots)
			if err != nil {
				return err
			}
			if complete && !c.imported(t) {
				found.completed(t.Name)
			}
			close(listed[t.Name])
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	return found, nil
}

// before returns the tables of the cycle that have to be listed before a table: those that it
// refers to, and where it is listed by region those that say which regions there are.
func (c *cycle) before(t *modules.Table) []string {
	rank := c.catalog.rank[t.Name]
	earlier := func(name string) bool {
		of, ok := c.catalog.rank[name]
		return ok && of < rank
	}
	var names []string
	for _, name := range t.Parents() {
		if earlier(name) {
			names = append(names, name)
		}
	}
	if t.Reach == modules.PerRegion {
		for _, other := range c.catalog.tables[:rank] {
			if other.DefinesRegions && other.Provider == t.Provider {
				names = append(names, other.Name)
			}
		}
	}
	return names
}

// imported reports whether a full import of the table has completed once.
func (c *cycle) imported(t *modules.Table) bool {
	c.preempt.gate.RLock()
	defer c.preempt.gate.RUnlock()
	return c.settings.Imported[t.Name]
}

// listTable lists a table in each scope where that is due. complete reports whether every scope of the table has been
// listed completely at some time. slots bounds how many listings of all tables run at once.
func (c *cycle) listTable(ctx context.Context, t *modules.Table, found *findings, slots chan struct{}) (complete bool,
	err error) {
	scopes, err := c.scopes(ctx, t)
	if err != nil {
		return false, err
	}
	complete = true
	var listed []modules.Scope
	for _, scope := range scopes {
		if c.lists(place{t.Name, scope}) {
			listed = append(listed, scope)
		} else {
			complete = complete && c.knows(place{t.Name, scope})
		}
	}
	var lock gosync.Mutex
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(c.concurrency())
	for _, scope := range listed {
		g.Go(func() error {
			select {
			case slots <- struct{}{}:
				defer func() { <-slots }()
			case <-ctx.Done():
				return ctx.Err()
			}
			steps, err := c.listScope(ctx, t, scope)
			found.add(steps)
			var listing *listingError
			if errors.As(err, &listing) {
				lock.Lock()
				defer lock.Unlock()
				complete = complete && listing.denied
				if !listing.denied {
					c.resync.fail(place{t.Name, scope}, listing.err)
				}
				if !listing.known {
					c.report.fail(decide.RecordRef{Table: t.Name}, scope, listing.err)
				}
				return nil
			}
			return err
		})
	}
	err = g.Wait()
	if t.DefinesRegions {
		c.regions.forget(t.Provider)
	}
	return complete, err
}

// scopes returns where the table has to be listed for the lease's account.
func (c *cycle) scopes(ctx context.Context, t *modules.Table) ([]modules.Scope, error) {
	var regions []string
	if t.Reach == modules.PerRegion {
		var err error
		if regions, err = c.regionsOf(ctx, t.Provider); err != nil {
			return nil, err
		}
	}
	return c.scopesIn(t, regions), nil
}

// regionsOf returns the regions of a provider that are enabled, as they were read last:
// they are read anew when the table that has them has been listed.
func (c *cycle) regionsOf(ctx context.Context, provider string) ([]string, error) {
	c.regions.lock.Lock()
	defer c.regions.lock.Unlock()
	if list, read := c.regions.enabled[provider]; read {
		return list, nil
	}
	list, err := c.Store.Regions(ctx, provider, c.lease.Account)
	if err != nil {
		return nil, fmt.Errorf("read regions: %w", err)
	}
	if c.regions.enabled == nil {
		c.regions.enabled = map[string][]string{}
	}
	c.regions.enabled[provider] = list
	return list, nil
}

// regions are the enabled ones, by provider, as they were read last.
type regions struct {
	lock    gosync.Mutex
	enabled map[string][]string
}

// forget has a provider's regions be read anew.
func (r *regions) forget(provider string) {
	r.lock.Lock()
	defer r.lock.Unlock()
	delete(r.enabled, provider)
}

// scopesIn returns the scopes of a table in an account that has these regions.
func (c *cycle) scopesIn(t *modules.Table, regions []string) []modules.Scope {
	account := modules.Scope{Account: c.lease.Account}
	if t.Reach == modules.PerAccount {
		return []modules.Scope{account}
	}
	scopes := make([]modules.Scope, len(regions))
	for i, region := range regions {
		scopes[i] = account
		scopes[i].Region = region
	}
	return scopes
}

// listingError is a listing that was not complete. It is no error of the cycle.
type listingError struct {
	err    error
	denied bool // the cloud does not permit it
	known  bool // and did not the last time, for the same reason
}

func (e *listingError) Error() string { return e.err.Error() }

// listScope lists one table in one scope. It returns what cannot be done page
// by page: pushes and deletions of records.
func (c *cycle) listScope(ctx context.Context, t *modules.Table, scope modules.Scope) (_ []decide.Step, err error) {
	ctx, end := c.span(ctx, "list table", &err, ofPlace(t.Name, scope)...)
	defer end()
	l, begun := &listing{c: c, table: t, scope: scope, seen: newSighting(), later: c.newLater(t, scope)}, time.Now()
	c.preempt.begin(l)
	defer c.preempt.end(l)
	within := c.resync.within[t.Name]
	known := c.known(ctx, t, scope)
	asked := modules.ListRequest{Scope: scope, Waited: c.waited, Memo: &c.memo, Recorded: known,
		Selected: within.selected()}
	// A new object is read as a whole.
	of := func(turn func(key string) bool) func(modules.Row) bool {
		return func(object modules.Row) bool {
			key, named := keyOf(t, scope, object)
			return !named || turn(key) || !known(object)
		}
	}
	due, rarelyDue := c.turns(t, scope, begun)
	if due != nil {
		asked.Due, asked.Postponed = of(due), l.later.unless(ctx, due)
	}
	if rarelyDue != nil {
		asked.RarelyDue = of(rarelyDue)
	}
	err = c.Registry.Resource(t.Name).List(ctx, asked, func(page []modules.Observation) error {
		return l.add(ctx, page, 1000)
	})
	var unread *modules.Unread
	if errors.As(err, &unread) {
		err = nil
	}
	switch {
	case l.fatal != nil:
	case modules.NotPermitted(err):
		l.discard()
	default: // what an interrupted listing has shown is there
		err = cmp.Or(err, l.add(ctx, nil, 1))
	}
	switch {
	case l.fatal != nil:
		return nil, l.fatal
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case modules.NotPermitted(err):
		return l.steps, &listingError{err, true, !c.denied(l, begun, err)}
	case err != nil:
		return l.steps, &listingError{err: err}
	}
	gone, err := c.unseen(ctx, l)
	if err != nil {
		return l.steps, err
	}
	l.seen.news = l.seen.news || len(gone) > 0
	if c.listed(l, begun, unread) {
		c.report.fail(decide.RecordRef{Table: t.Name}, scope, unread)
	}
	return append(l.steps, gone...), nil
}

// known returns a function that tells whether there was a record of an object when it was
// first called; false where that cannot be read.
func (c *cycle) known(ctx context.Context, t *modules.Table, scope modules.Scope) func(modules.Row) bool {
	keys := gosync.OnceValue(func() *sighting {
		seen := newSighting()
		if err := c.Store.Keys(ctx, t, scope, func(_ int64, key string) error {
			seen.insert(key)
			return nil
		}); err != nil {
			return newSighting()
		}
		return seen
	})
	return func(object modules.Row) bool {
		key, named := keyOf(t, scope, object)
		return named && keys().has(0, key)
	}
}

// keyOf returns the key of an object that a listing of a scope shows; false if it has none.
func keyOf(t *modules.Table, scope modules.Scope, object modules.Row) (string, bool) {
	row := object.Clone()
	fillScope(t, scope, row)
	return t.Key(row)
}

// listing is one under way. It gathers small pages into large ones.
type listing struct {
	c     *cycle
	table *modules.Table
	scope modules.Scope
	later *later
	fatal error // no error of the listing

	// What follows is touched with the gate of the preemption held: what is pushed meanwhile has the rows matched
	// first.
	seen  *sighting
	rows  []modules.Observation // not looked at yet
	steps []decide.Step
}

// add takes a page, and looks at what there is once it is so much.
func (l *listing) add(ctx context.Context, rows []modules.Observation, enough int) error {
	leave, err := l.c.enter(ctx)
	if err != nil {
		l.fatal = err
		return err
	}
	defer leave()
	l.c.progress()
	l.rows = append(l.rows, rows...)
	if len(l.rows) < enough {
		return nil
	}
	l.fatal = l.match(ctx)
	return l.fatal
}

// discard forgets what has not been looked at.
func (l *listing) discard() {
	l.c.preempt.gate.RLock()
	defer l.c.preempt.gate.RUnlock()
	l.rows = nil
}

// match looks at what there is. Once the listing has ended, and nothing is left, it touches nothing that whoever listed
// reads then.
func (l *listing) match(ctx context.Context) error {
	rows := l.rows
	l.rows = nil
	if len(rows) == 0 {
		return nil
	}
	steps, err := l.c.match(ctx, l.table, l.scope, rows, l.seen)
	l.steps = append(l.steps, steps...)
	return err
}

// unseen looks at the scope's records that a complete listing did not show:
// each is read directly before it is taken for gone (R5).
func (c *cycle) unseen(ctx context.Context, l *listing) ([]decide.Step, error) {
	t, scope := l.table, l.scope
	var missing []int64
	err := c.Store.Keys(ctx, t, scope, func(id int64, key string) error {
		switch {
		case l.later.hides(t, key):
			l.seen.objects++ // as the last listing showed it
		case !l.seen.has(id, key) && !c.resync.within[t.Name].hides(t, key):
			missing = append(missing, id)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read records of %s in %s: %w", t.Name, scope, err)
	}
	var steps []decide.Step
	for chunk := range slices.Chunk(missing, 200) {
		found, err := c.unseenOf(ctx, t, chunk)
		if err != nil {
			return nil, err
		}
		steps = append(steps, found...)
	}
	return steps, nil
}

// unseenOf does so with some records.
func (c *cycle) unseenOf(ctx context.Context, t *modules.Table, missing []int64) (steps []decide.Step, err error) {
	leave, err := c.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	loaded, err := c.Store.Load(ctx, t, missing)
	if err != nil {
		return nil, fmt.Errorf("load records of %s: %w", t.Name, err)
	}
	var clean []*decide.Subject
	for _, s := range loaded {
		// Others are the snapshot's.
		if s.Change == nil && s.State == nil && !c.held(s) && !c.doubts.about(s.Ref()) {
			c.complete(s)
			clean = append(clean, s)
		}
	}
	if err := c.observe(ctx, clean); err != nil {
		return nil, err
	}
	var pulls []decide.Step
	for _, s := range clean {
		step := c.decide(s)
		switch step.Decision.Action {
		case decide.UpdateRecord: // listed late
			pulls = append(pulls, step)
		case decide.Nothing:
			if step.Decision.Wait {
				pulls = append(pulls, step)
			}
		default:
			steps = append(steps, step)
		}
	}
	if c.ReadOnly {
		return append(steps, pulls...), nil
	}
	_, err = c.pull(ctx, pulls)
	return steps, err
}
