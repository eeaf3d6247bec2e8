package sync

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"slices"
	gosync "sync"

	"golang.org/x/sync/errgroup"

	"iasql/internal/modules"
)

// observe reads the subjects' objects directly, all of one table and scope in
// one call of Get. A subject that names no object has none; one whose read
// fails stays Unknown (R5).
func (c *cycle) observe(ctx context.Context, subjects []*Subject) error {
	type group struct {
		table    *modules.Table
		scope    modules.Scope
		subjects []*Subject
	}
	var groups []*group
	index := map[objectRef]*group{}
	for _, s := range subjects {
		if _, named := s.Identity(); !named || s.Robbed {
			s.Presence = Absent
			continue
		}
		at := objectRef{table: s.Table.Name, scope: s.Scope}
		if index[at] == nil {
			index[at] = &group{table: s.Table, scope: s.Scope}
			groups = append(groups, index[at])
		}
		index[at].subjects = append(index[at].subjects, s)
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(c.concurrency())
	for _, gr := range groups {
		g.Go(func() error { return c.read(ctx, gr.table, gr.scope, gr.subjects) })
	}
	return g.Wait()
}

// read fills in Presence, Object and Cloud of subjects of one table and scope.
// Only an error of the database is returned.
func (c *cycle) read(ctx context.Context, t *modules.Table, scope modules.Scope, subjects []*Subject) error {
	identities := make([]modules.Row, len(subjects))
	for i, s := range subjects {
		identities[i], _ = s.Identity()
	}
	if err := c.Database.ToCloud(ctx, t, identities); err != nil {
		return fmt.Errorf("translate identities of %s: %w", t.Name, err)
	}
	res := c.Registry.Resource(t.Name)
	objects, err := res.Get(ctx, scope, identities)
	if err != nil {
		if len(subjects) > 1 && modules.ClassOf(err) == modules.Invalid {
			// One identity the API cannot even parse must not hide the others.
			for _, s := range subjects {
				if err := c.read(ctx, t, scope, []*Subject{s}); err != nil {
					return err
				}
			}
			return nil
		}
		for _, s := range subjects {
			s.Presence, s.Fault = Unknown, err
		}
		return nil
	}
	c.report.count(func(r *Report) { r.Read += len(objects) })
	byKey := make(map[string]modules.Row, len(objects))
	for _, o := range objects {
		fillScope(t, scope, o)
		if key, ok := t.Key(o); ok {
			byKey[key] = o
		}
	}
	var found []*Subject
	var rows []modules.Row
	for i, s := range subjects {
		key, ok := t.Key(identities[i])
		o := byKey[key]
		if !ok || o == nil {
			s.Presence, s.Orphan = Absent, !ok
			s.WholeGone = c.wholeGone(s, scope, identities[i])
			continue
		}
		s.Presence, s.Cloud, s.Object = Present, o, o.Clone()
		if p, ok := res.(modules.Protector); ok {
			s.Protected = p.Protected(o)
		}
		found, rows = append(found, s), append(rows, s.Object)
	}
	stranded, err := c.Database.ToDatabase(ctx, t, scope, rows)
	if err != nil {
		return fmt.Errorf("translate objects of %s: %w", t.Name, err)
	}
	for i, s := range found {
		s.Stranded = stranded[i]
	}
	return nil
}

func fillScope(t *modules.Table, scope modules.Scope, row modules.Row) {
	if _, ok := row[modules.ColumnAccount]; !ok {
		row[modules.ColumnAccount] = modules.Text(scope.Account)
	}
	if t.Reach == modules.PerRegion {
		if _, ok := row[modules.ColumnRegion]; !ok {
			row[modules.ColumnRegion] = modules.Text(scope.Region)
		}
	}
}

// scan lists every table in every scope, pulls what changed in the cloud, and
// returns the steps that push. Records with pending changes or states are left
// to the snapshot, which reads them directly.
func (c *cycle) scan(ctx context.Context) ([]Step, error) {
	attended, stop := c.attend(ctx)
	pushes, deletes, imported, err := c.list(attended)
	if failure := stop(); failure != nil {
		return nil, failure
	}
	if err != nil {
		return nil, err
	}
	if pushes, err = c.standing(ctx, pushes); err != nil {
		return nil, err
	}
	if deletes, err = c.standing(ctx, deletes); err != nil {
		return nil, err
	}
	if c.ReadOnly {
		return append(pushes, deletes...), nil
	}
	if _, err := c.pullAndSettle(ctx, c.withoutFollowers(deletes)); err != nil {
		return nil, err
	}
	if len(imported) > 0 {
		if err := c.Database.Imported(ctx, c.lease, imported); err != nil {
			return nil, err
		}
	}
	return pushes, nil
}

// list is the listing: it pulls what it can page by page, and returns the steps
// that push, those that delete records (after all inserts, children first), and
// the tables that were listed completely for the first time.
func (c *cycle) list(ctx context.Context) (pushes, deletes []Step, imported []string, err error) {
	var lock gosync.Mutex
	collect := func(steps []Step) {
		lock.Lock()
		defer lock.Unlock()
		for _, step := range steps {
			if step.Decision.Action == DeleteRecord {
				deletes = append(deletes, step)
			} else {
				pushes = append(pushes, step)
			}
		}
	}
	for _, t := range c.tables { // parents first: children need their ids
		scopes, err := c.scopes(ctx, t)
		if err != nil {
			return nil, nil, nil, err
		}
		incomplete := false
		g, ctx := errgroup.WithContext(ctx)
		g.SetLimit(c.concurrency())
		for _, scope := range scopes {
			g.Go(func() error {
				steps, err := c.scanScope(ctx, t, scope)
				collect(steps)
				var listing *listingError
				if errors.As(err, &listing) {
					lock.Lock()
					defer lock.Unlock()
					incomplete = true
					c.report.fail(RecordRef{Table: t.Name}, scope, listing.err)
					return nil
				}
				return err
			})
		}
		if err := g.Wait(); err != nil {
			return nil, nil, nil, err
		}
		c.gate.RLock()
		if !incomplete && !c.settings.Imported[t.Name] {
			imported = append(imported, t.Name)
		}
		c.gate.RUnlock()
	}
	return pushes, deletes, imported, nil
}

// scopes returns where the table has to be listed for the lease's account.
func (c *cycle) scopes(ctx context.Context, t *modules.Table) ([]modules.Scope, error) {
	account := modules.Scope{Account: c.lease.Account}
	if t.Reach == modules.PerAccount {
		return []modules.Scope{account}, nil
	}
	regions, err := c.Database.Regions(ctx, t.Provider, c.lease.Account)
	if err != nil {
		return nil, fmt.Errorf("read regions: %w", err)
	}
	scopes := make([]modules.Scope, len(regions))
	for i, region := range regions {
		scopes[i] = account
		scopes[i].Region = region
	}
	return scopes, nil
}

// listingError is a listing that was not complete. It is no error of the cycle.
type listingError struct{ err error }

func (e *listingError) Error() string { return e.err.Error() }

// scanScope lists one table in one scope. It returns what cannot be done page
// by page: pushes and deletions of records.
func (c *cycle) scanScope(ctx context.Context, t *modules.Table, scope modules.Scope) ([]Step, error) {
	l := &listing{c: c, table: t, scope: scope, seen: newSighting()}
	c.gate.Lock()
	c.listings[l] = true
	c.gate.Unlock()
	defer func() {
		c.gate.Lock()
		delete(c.listings, l)
		c.gate.Unlock()
	}()
	err := c.Registry.Resource(t.Name).List(ctx, scope, func(rows []modules.Row) error { return l.add(ctx, rows, 1000) })
	if err == nil {
		err = l.add(ctx, nil, 1)
	}
	switch {
	case l.fatal != nil:
		return nil, l.fatal
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return l.steps, &listingError{err}
	}
	gone, err := c.unseen(ctx, t, scope, l.seen)
	return append(l.steps, gone...), err
}

// listing is one under way. It gathers small pages into large ones.
type listing struct {
	c     *cycle
	table *modules.Table
	scope modules.Scope
	seen  *sighting
	rows  []modules.Row // not looked at yet
	steps []Step
	fatal error // no error of the listing
}

// add takes a page, and looks at what there is once it is so much.
func (l *listing) add(ctx context.Context, rows []modules.Row, enough int) error {
	leave, err := l.c.enter(ctx)
	if err != nil {
		l.fatal = err
		return err
	}
	defer leave()
	l.rows = append(l.rows, rows...)
	if len(l.rows) < enough {
		return nil
	}
	return l.match(ctx)
}

// match looks at what there is.
func (l *listing) match(ctx context.Context) error {
	rows := l.rows
	l.rows = nil
	if len(rows) == 0 {
		return nil
	}
	steps, err := l.c.matchPage(ctx, l.table, l.scope, rows, l.seen)
	l.steps = append(l.steps, steps...)
	l.fatal = err
	return err
}

// sighting is what a listing has shown: the records of objects that have one,
// and the keys of those that are given one, as hashes, which take less memory.
type sighting struct {
	records map[int64]struct{}
	keys    map[uint64]struct{}
	seed    maphash.Seed
}

func newSighting() *sighting {
	return &sighting{map[int64]struct{}{}, map[uint64]struct{}{}, maphash.MakeSeed()}
}

func (s *sighting) insert(key string) { s.keys[maphash.String(s.seed, key)] = struct{}{} }

func (s *sighting) has(id int64, key string) bool {
	if _, ok := s.records[id]; ok {
		return true
	}
	_, ok := s.keys[maphash.String(s.seed, key)]
	return ok
}

// unseen looks at the scope's records that a complete listing did not show:
// each is read directly before it is taken for gone (R5).
func (c *cycle) unseen(ctx context.Context, t *modules.Table, scope modules.Scope, seen *sighting) ([]Step, error) {
	var missing []int64
	err := c.Database.Records(ctx, t, scope, func(id int64, key string) error {
		if !seen.has(id, key) {
			missing = append(missing, id)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read records of %s in %s: %w", t.Name, scope, err)
	}
	var steps []Step
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
func (c *cycle) unseenOf(ctx context.Context, t *modules.Table, missing []int64) (steps []Step, err error) {
	leave, err := c.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	loaded, err := c.Database.Load(ctx, t, missing)
	if err != nil {
		return nil, fmt.Errorf("load records of %s: %w", t.Name, err)
	}
	var clean []*Subject
	for _, s := range loaded {
		// Others are the snapshot's.
		if s.Change == nil && s.State == nil && !c.undecided[s.Ref()] {
			c.complete(s)
			clean = append(clean, s)
		}
	}
	if err := c.observe(ctx, clean); err != nil {
		return nil, err
	}
	var pulls []Step
	for _, s := range clean {
		step := Step{s, Decide(s, c.policy(s))}
		switch step.Decision.Action {
		case UpdateRecord: // listed late
			pulls = append(pulls, step)
		case Nothing:
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
	_, err = c.pullAndSettle(ctx, pulls)
	return steps, err
}
