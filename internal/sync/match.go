package sync

import (
	"context"
	"fmt"
	"hash/maphash"

	"iasql/internal/decide"
	"iasql/internal/modules"
	"iasql/internal/store"
)

// match pairs a page of listed objects with their records, decides, and
// pulls what is to be pulled. It adds what it saw to seen, and returns the steps
// that push.
func (c *cycle) match(ctx context.Context, t *modules.Table, scope modules.Scope, listed []modules.Observation,
	seen *sighting) ([]decide.Step, error) {
	subjects, keys, err := c.pair(ctx, t, scope, listed, seen)
	if err != nil {
		return nil, err
	}
	var pulls, pushes, held []decide.Step
	steps := make([]decide.Step, len(subjects))
	for i, s := range subjects {
		steps[i] = c.decide(s)
	}
	if err := c.confirm(ctx, steps, c.knows(place{t.Name, scope})); err != nil {
		return nil, err
	}
	for i, step := range steps {
		switch d := step.Decision; {
		case d.Action == decide.InsertRecord:
			seen.insert(keys[i])
			pulls = append(pulls, step)
		case d.Action.Pushes():
			pushes = append(pushes, step)
			if len(d.Pull) > 0 {
				pulls = append(pulls, step)
			}
		case d.Held != nil && d.State == "": // there is no record that could say so
			if c.ReadOnly {
				held = append(held, step)
			}
		case d.Action != decide.Nothing, d.Wait && d.State != "":
			pulls = append(pulls, step)
		case d.Wait:
			seen.news = true // there will be
		}
	}
	seen.news = seen.news || len(pulls)+len(pushes) > 0
	if c.ReadOnly {
		for _, step := range pulls {
			if !step.Decision.Action.Pushes() {
				pushes = append(pushes, step)
			}
		}
		return append(pushes, held...), nil
	}
	if err := c.refKeys(ctx, t, pushes); err != nil {
		return nil, err
	}
	_, err = c.pull(ctx, pulls)
	return pushes, err
}

// confirm reads directly what has changed according to a listing, and decides anew:
// listings may be older than reads by minutes (ListSecrets of AWS Secrets Manager), and
// would revert rows, and bring back what is deleted (R13). Where everything is known, what
// is new is read, too. What is not there any more, or cannot be read, is left to the next
// listing.
func (c *cycle) confirm(ctx context.Context, steps []decide.Step, known bool) error {
	var drifted []*decide.Subject
	var at []int
	for i, step := range steps {
		s := *step.Subject
		switch {
		case changes(step):
			s.Observation = decide.Observation{}
		case known && step.Decision.Action == decide.InsertRecord:
			s.Observation = decide.Observation{Object: s.Object} // by which it is named
		default:
			continue
		}
		drifted, at = append(drifted, &s), append(at, i)
	}
	if len(drifted) == 0 {
		return nil
	}
	if err := c.observe(ctx, drifted); err != nil {
		return err
	}
	for n, s := range drifted {
		steps[at[n]] = decide.Step{Subject: s, Decision: decide.Decision{Wait: s.Record == nil}}
		if s.Presence == decide.Present || s.Presence == decide.Going {
			steps[at[n]] = c.decide(s)
		}
	}
	return nil
}

// changes reports whether a step pulls what users may write into a record, or says that
// it is not pulled.
func changes(step decide.Step) bool {
	if step.Decision.Held != nil && step.Subject.Record != nil {
		return true
	}
	if step.Decision.Action != decide.UpdateRecord {
		return false
	}
	for name := range step.Decision.Pull {
		if !step.Subject.Table.Column(name).Computed {
			return true
		}
	}
	return false
}

// pair returns the subjects of a page that are decided by what is listed, and the
// keys of their objects. Others are the snapshot's, or nobody's yet.
func (c *cycle) pair(ctx context.Context, t *modules.Table, scope modules.Scope, listed []modules.Observation,
	seen *sighting) (subjects []*decide.Subject, keys []string, err error) {
	cloud := modules.Rows(listed)
	for i := range cloud {
		fillScope(t, scope, cloud[i])
	}
	objects := cloud
	if translated(t) {
		objects = make([]modules.Row, len(cloud))
		for i := range cloud {
			objects[i] = cloud[i].Clone()
		}
	}
	if err := c.Store.ToDatabase(ctx, t, scope, objects); err != nil {
		return nil, nil, fmt.Errorf("translate objects of %s: %w", t.Name, err)
	}
	matches, err := c.Store.Match(ctx, t, scope, objects)
	if err != nil {
		return nil, nil, fmt.Errorf("match objects of %s in %s: %w", t.Name, scope, err)
	}
	c.report.count(func(r *store.Report) { r.Listed += len(objects) })
	seen.objects += len(objects)
	for i, m := range matches {
		s := &decide.Subject{Table: t, Scope: scope, Record: m.Record, RefKeys: m.RefKeys}
		if m.Record != nil {
			s.RecordID = m.Record.ID
			seen.record(s.RecordID)
		}
		if m.Attended() || c.doubts.about(s.Ref()) {
			continue // the snapshot's
		}
		if s.Record == nil {
			c.misses(t, scope, cloud[i], objects[i])
		}
		key, named := t.Key(objects[i])
		if !named {
			seen.news = true
			continue // its identity names a parent that has no record yet
		}
		if s.Record == nil && c.doubts.holds(t.Name, scope) {
			seen.news = true
			continue // it may be what a creation in doubt made
		}
		s.Observation = decide.Observation{Object: objects[i], Cloud: cloud[i]}
		c.shows(s, &listed[i])
		c.complete(s)
		if s.Record == nil {
			c.ignores(s, key)
		}
		subjects, keys = append(subjects, s), append(keys, key)
	}
	return subjects, keys, nil
}

// refKeys fills in RefKeys of records that are pushed: matching leaves it out but for lists.
func (c *cycle) refKeys(ctx context.Context, t *modules.Table, pushes []decide.Step) error {
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
	if err := c.Store.ToCloud(ctx, t, rows); err != nil {
		return fmt.Errorf("translate references of %s: %w", t.Name, err)
	}
	return nil
}

// translated reports whether the table has references that differ between the
// two vocabularies, or may be in the cloud's alone.
func translated(t *modules.Table) bool {
	for i := range t.Columns {
		if c := &t.Columns[i]; c.Loose() || c.Target() != "" {
			return true
		}
	}
	return false
}

// sighting is what a listing has shown: the records of objects that have one,
// and the keys of those that are given one, as hashes, which take less memory.
type sighting struct {
	records map[int64]struct{}
	keys    map[uint64]struct{}
	seed    maphash.Seed
	objects int
	news    bool // not everything was as it was known to be
}

func newSighting() *sighting {
	return &sighting{records: map[int64]struct{}{}, keys: map[uint64]struct{}{}, seed: maphash.MakeSeed()}
}

func (s *sighting) record(id int64) { s.records[id] = struct{}{} }

func (s *sighting) insert(key string) { s.keys[maphash.String(s.seed, key)] = struct{}{} }

func (s *sighting) has(id int64, key string) bool {
	if _, ok := s.records[id]; ok {
		return true
	}
	_, ok := s.keys[maphash.String(s.seed, key)]
	return ok
}
