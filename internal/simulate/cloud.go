package simulate

import (
	"context"
	"fmt"
	"time"

	"iasql/internal/decide"
	"iasql/internal/modules"
)

// window is the consistency window; lag, by which reads may be late, is less.
const (
	window = 60 * time.Second
	lag    = 20 * time.Second
	// staleness is max_staleness of the simulated world.
	staleness = 5 * time.Minute
)

// version is what an object was from an instant on; nil row: it was not there.
type version struct {
	at  time.Duration
	row modules.Row // cloud terms, secrets included
}

// object is everything that ever had one identity.
type object struct {
	table *modules.Table
	scope modules.Scope
	key   string
	token string
	hist  []version
	// by is the record whose creation made it, the zero value for others.
	by decide.RecordRef
	// mine holds the columns that the engine wrote last, and when.
	mine map[string]time.Duration
	// over holds what these columns were before, and took all that the engine
	// ever wrote to the object.
	over modules.Row
	took []taken
	// removed is what the engine knew of the object when it deleted it.
	removed modules.Row
	reborn  bool // over is what the engine knew of a predecessor
	w       *world
}

type taken struct {
	at     time.Duration
	column string
	value  modules.Value
}

// lag is by how much a read of the object may be late for an engine that keeps
// its own writes in mind.
func (o *object) lag() time.Duration {
	if o.by.ID != 0 {
		return 0
	}
	return lag
}

func (o *object) now() modules.Row { return o.asOf(o.w.now) }

// going reports whether an object is being deleted.
func going(row modules.Row) bool { return row["status"].String() == "deleting" }

func (o *object) asOf(at time.Duration) modules.Row {
	for i := len(o.hist) - 1; i >= 0; i-- {
		if o.hist[i].at <= at {
			return o.hist[i].row
		}
	}
	return nil
}

// held reports whether at some instant since then the object was as is says.
func (o *object) held(since time.Duration, is func(modules.Row) bool) bool {
	for i := len(o.hist) - 1; i >= 0; i-- {
		if o.hist[i].at > o.w.now {
			continue // when it will have gone
		}
		if is(o.hist[i].row) {
			return true
		}
		if o.hist[i].at <= since {
			return false
		}
	}
	return is(nil) // before it was first made
}

type objectKey struct {
	table *modules.Table
	scope modules.Scope
	key   string
}

type cloud struct {
	w        *world
	objects  []*object // in order of creation
	byKey    map[objectKey]*object
	serial   int
	calls    int                 // mutating
	deleted  int                 // of these, deletions that succeeded
	requests map[string]*request // by name
}

func newCloud(w *world) *cloud {
	return &cloud{w: w, byKey: map[objectKey]*object{}, requests: map[string]*request{}}
}

func (c *cloud) find(t *modules.Table, scope modules.Scope, key string) *object {
	return c.byKey[objectKey{t, scope, key}]
}

// live returns an object that is there now.
func (c *cloud) live(t *modules.Table, scope modules.Scope, key string) *object {
	if o := c.find(t, scope, key); o != nil && o.now() != nil {
		return o
	}
	return nil
}

func (c *cloud) all(t *modules.Table) []*object {
	var list []*object
	for _, o := range c.objects {
		if o.table == t && o.now() != nil {
			list = append(list, o)
		}
	}
	return list
}

func failure(class modules.Class, code string) error { return &modules.Error{Class: class, Code: code} }

// check validates what is to be so.
func (c *cloud) check(t *modules.Table, scope modules.Scope, row modules.Row) error {
	for i := range t.Columns {
		col := &t.Columns[i]
		v := row[col.Name]
		if v.String() == "bad" {
			return failure(modules.Invalid, "InvalidParameter")
		}
		if col.Required && v.IsNull() {
			return failure(modules.Invalid, "MissingParameter")
		}
		if ref := col.References; ref != nil && !v.IsNull() {
			switch target := c.live(registry.Table(ref.Table), scope, v.String()); {
			case target == nil:
				return failure(modules.NotFound, "Invalid"+ref.Table+".NotFound")
			case going(target.now()):
				return failure(modules.Dependency, "Invalid"+ref.Table+".State")
			}
		}
	}
	return nil
}

// create makes an object; who is the zero value for other people.
func (c *cloud) create(t *modules.Table, scope modules.Scope, want modules.Row, token string,
	who decide.RecordRef) (*object, error) {
	if token != "" && t.Creation == modules.ByToken {
		for _, o := range c.objects {
			if o.table == t && o.token == token {
				return o, nil // idempotent, as EC2's client tokens are, even when it is gone since
			}
		}
	}
	if err := c.check(t, scope, want); err != nil {
		return nil, err
	}
	row := modules.Row{}
	for i := range t.Columns {
		row[t.Columns[i].Name] = want[t.Columns[i].Name]
	}
	row[modules.ColumnAccount] = modules.Text(scope.Account)
	if t.Reach == modules.PerRegion {
		row[modules.ColumnRegion] = modules.Text(scope.Region)
	}
	switch t {
	case net:
		row["status"] = modules.Text("available")
		if who.ID != 0 {
			row["note"] = modules.Null // this API sets it afterwards only
		}
	case name:
		row["status"] = modules.Null
	case host:
		if row["size"].IsNull() {
			row["size"] = modules.Text("s")
		}
	}
	keep(row, nil)
	var key string
	if t.ComputedIdentity() {
		c.serial++
		key = fmt.Sprintf("%s-%d", t.Name, c.serial)
		row[t.Identity()[0]] = modules.Text(key)
	} else {
		key, _ = t.Key(row)
		if c.live(t, scope, key) != nil {
			return nil, failure(modules.Exists, "AlreadyExists")
		}
	}
	o := c.find(t, scope, key)
	if o == nil {
		o = &object{table: t, scope: scope, key: key, w: c.w}
		c.objects = append(c.objects, o)
		c.byKey[objectKey{t, scope, key}] = o
	}
	o.by, o.token, o.mine, o.over = who, token, map[string]time.Duration{}, modules.Row{}
	o.reborn = o.removed != nil
	if who.ID != 0 {
		for n := range row {
			o.mine[n] = c.w.now
			if v, known := o.removed[n]; known {
				o.over[n] = v
			}
		}
	}
	o.hist = append(o.hist, version{c.w.now, row})
	c.w.check.born(o)
	return o, nil
}

// keep gives columns that do not keep what they are given their old value.
func keep(row, old modules.Row) {
	for n, v := range row {
		if v.String() == "lost" {
			row[n] = old[n]
		}
	}
}

// update changes an object; have is what the engine read of it, nil for others.
func (c *cloud) update(o *object, set, have modules.Row) error {
	old := o.now()
	if going(old) {
		return failure(modules.Dependency, "InvalidState")
	}
	row := old.Clone()
	for n, v := range set {
		row[n] = v
	}
	if err := c.check(o.table, o.scope, row); err != nil {
		return err
	}
	for n, v := range set {
		if have != nil {
			o.mine[n], o.over[n] = c.w.now, have[n]
			o.took = append(o.took, taken{c.w.now, n, v})
		} else {
			delete(o.mine, n)
		}
	}
	keep(row, old)
	o.hist = append(o.hist, version{c.w.now, row})
	return nil
}

// remove deletes an object, which may take a while.
func (c *cloud) remove(o *object) error {
	if going(o.now()) {
		return nil
	}
	if o.table == net {
		for _, h := range c.all(host) {
			if h.scope == o.scope && h.now()["net_id"].String() == o.key {
				return failure(modules.Dependency, "DependencyViolation")
			}
		}
	}
	at := c.w.now
	if d := c.w.deletion(o); d > 0 {
		row := o.now().Clone()
		row["status"] = modules.Text("deleting")
		o.hist = append(o.hist, version{at, row})
		at += d
	}
	o.hist = append(o.hist, version{at, nil})
	o.removed = nil
	if o.table == host {
		for _, h := range c.all(host) {
			if h.scope == o.scope && h.now()["peer_id"].String() == o.key {
				row := h.now().Clone()
				row["peer_id"] = modules.Null
				delete(h.mine, "peer_id")
				h.hist = append(h.hist, version{c.w.now, row})
			}
		}
	}
	return nil
}

// resource is a table's resource; it finds its run, and by it the world, in
// the context.
type resource struct{ table *modules.Table }

type tagged struct{ resource }

func (r resource) Table() *modules.Table { return r.table }

// Phase implements [modules.Phaser].
func (r resource) Phase(row modules.Row) (modules.Phase, string) {
	if going(row) {
		return modules.Going, ""
	}
	return modules.There, ""
}

// observations returns rows with what they show of their objects.
func (r resource) observations(rows []modules.Row) []modules.Observation {
	all := modules.Observe(rows...)
	for i, row := range rows {
		all[i].Phase, all[i].Reason = r.Phase(row)
	}
	return all
}

func public(t *modules.Table, row modules.Row) modules.Row {
	out := make(modules.Row, len(row))
	for i := range t.Columns {
		if c := &t.Columns[i]; !c.WriteOnly {
			out[c.Name] = row[c.Name]
		}
	}
	return out
}

func (r resource) List(ctx context.Context, asked modules.ListRequest, page func([]modules.Observation) error) error {
	run, scope := runOf(ctx), asked.Scope
	if err := run.call("List " + r.table.Name); err != nil {
		return err
	}
	if err := run.readFault(scope); err != nil {
		run.failedListing(r.table, scope)
		return err
	}
	var rows []modules.Row
	for _, o := range run.w.cloud.objects {
		if o.table == r.table && o.scope == scope {
			if row := run.look(o); row != nil {
				rows = append(rows, public(r.table, row))
			}
		}
	}
	half := len(rows) / 2
	if err := page(r.observations(rows[:half])); err != nil {
		return err
	}
	if err := run.call("List next " + r.table.Name); err != nil {
		return err
	}
	if run.chance(run.spec.Faults / 2) {
		run.failedListing(r.table, scope)
		return failure(modules.Transient, "InternalError")
	}
	if err := page(r.observations(rows[half:])); err != nil {
		return err
	}
	run.listed[objectKey{r.table, scope, ""}] = true
	delete(run.failed, objectKey{r.table, scope, ""}) // by the same cycle, before it began anew
	return nil
}

func (r resource) Get(ctx context.Context, asked modules.GetRequest) ([]modules.Observation, error) {
	run, scope := runOf(ctx), asked.Scope
	if err := run.call("Get " + r.table.Name); err != nil {
		return nil, err
	}
	if err := run.readFault(scope); err != nil {
		return nil, err
	}
	var rows []modules.Row
	for _, id := range asked.Identities {
		key, _ := r.table.Key(id)
		o := run.w.cloud.find(r.table, scope, key)
		if o != nil {
			if row := run.look(o); row != nil {
				rows = append(rows, public(r.table, row))
				continue
			}
		}
		run.missing[objectKey{r.table, scope, key}] = true
	}
	return r.observations(rows), nil
}

func (r tagged) FindCreated(ctx context.Context, scope modules.Scope, tokens []string) (map[string]modules.Row, error) {
	run := runOf(ctx)
	if err := run.call("FindCreated " + r.table.Name); err != nil {
		return nil, err
	}
	if err := run.readFault(scope); err != nil {
		return nil, err
	}
	found := map[string]modules.Row{}
	for _, token := range tokens {
		for _, o := range run.w.cloud.objects {
			if o.table == r.table && o.scope == scope && o.token == token {
				if row := run.look(o); row != nil {
					found[token] = public(r.table, row)
				}
			}
		}
	}
	return found, nil
}

func (r resource) Create(ctx context.Context, m modules.Mutation) (row modules.Row, err error) {
	if r.table == job {
		return r.createRequested(ctx, m)
	}
	run, scope, want, token := runOf(ctx), m.Scope, m.Want, m.Token
	err = run.mutate(ctx, &m, "Create", r.table, func(call *decide.Intent) error {
		destroys := run.w.check.creating(run, call, want)
		who := call.Record
		o, err := run.w.cloud.create(r.table, scope, want, token, who)
		if err == nil && destroys {
			run.deletes++
		}
		// The transport sends it twice. (Not where a chosen name changes: such an
		// answer cannot be told from a name that is taken, and is left to a person.)
		if err == nil && !call.Replaces && run.chance(run.spec.Faults/4) {
			o, err = run.w.cloud.again(r.table, scope, want, token, o)
		}
		if err != nil {
			return err
		}
		row = o.now()
		if row == nil {
			row = modules.Row{r.table.Identity()[0]: modules.Text(o.key)}
		}
		if run.chance(0.5) {
			row = decide.IdentityOf(r.table, row)
		}
		row = public(r.table, row)
		for n, v := range row {
			if v.IsNull() {
				delete(row, n)
			}
		}
		return nil
	})
	return row, err
}

// again delivers a creation a second time.
func (c *cloud) again(t *modules.Table, scope modules.Scope, want modules.Row, token string,
	o *object) (*object, error) {
	switch t.Creation {
	case modules.ByToken:
		return c.create(t, scope, want, token, o.by)
	case modules.ByName:
		return nil, failure(modules.Exists, "AlreadyExists")
	}
	return o, nil // such a transport does not repeat what it must not
}

func (r resource) Update(ctx context.Context, m modules.Mutation) error {
	run, have := runOf(ctx), m.Have
	return run.mutate(ctx, &m, "Update", r.table, func(call *decide.Intent) error {
		key, _ := r.table.Key(have)
		o := run.w.cloud.live(r.table, m.Scope, key)
		if o == nil {
			return failure(modules.NotFound, "NotFound")
		}
		set := modules.Row{}
		for _, n := range m.Columns {
			set[n] = m.Want[n]
		}
		run.w.check.updating(run, call, o, have, set)
		return run.w.cloud.update(o, set, have)
	})
}

func (r resource) Delete(ctx context.Context, m modules.Mutation) error {
	run, have := runOf(ctx), m.Have
	return run.mutate(ctx, &m, "Delete", r.table, func(call *decide.Intent) error {
		key, _ := r.table.Key(have)
		o := run.w.cloud.live(r.table, m.Scope, key)
		if o == nil || going(o.now()) {
			return nil
		}
		if err := run.w.cloud.remove(o); err != nil {
			return err
		}
		o.removed = have
		run.w.check.removed(run, call, o)
		return nil
	})
}
