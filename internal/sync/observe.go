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
	c.count(func(r *Report) { r.Read += len(objects) })
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

var reportLock gosync.Mutex

// count changes the report from concurrent parts of the cycle.
func (c *cycle) count(change func(*Report)) {
	reportLock.Lock()
	defer reportLock.Unlock()
	change(&c.report)
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
	if _, err := c.pullAndSettle(ctx, deletes); err != nil {
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
					c.count(func(*Report) { c.fail(RecordRef{Table: t.Name}, scope, listing.err) })
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
	var (
		steps []Step
		seen  = newSighting()
		fatal error
	)
	res := c.Registry.Resource(t.Name)
	page := func(objects []modules.Row) error {
		leave, err := c.enter(ctx)
		if err != nil {
			fatal = err
			return err
		}
		defer leave()
		found, err := c.matchPage(ctx, t, scope, objects, seen)
		if err != nil {
			fatal = err
			return err
		}
		steps = append(steps, found...)
		return nil
	}
	pages := pageBuffer{size: 1000, page: page}
	err := res.List(ctx, scope, pages.add)
	if err == nil {
		err = pages.flush()
	}
	switch {
	case fatal != nil:
		return nil, fatal
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return steps, &listingError{err}
	}
	gone, err := c.unseen(ctx, t, scope, seen)
	return append(steps, gone...), err
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

// pageBuffer gathers small pages of a listing into large ones.
type pageBuffer struct {
	size int
	rows []modules.Row
	page func([]modules.Row) error
}

func (b *pageBuffer) add(rows []modules.Row) error {
	b.rows = append(b.rows, rows...)
	if len(b.rows) < b.size {
		return nil
	}
	return b.flush()
}

func (b *pageBuffer) flush() error {
	if len(b.rows) == 0 {
		return nil
	}
	rows := b.rows
	b.rows = nil
	return b.page(rows)
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
