package simulate

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"iasql/internal/decide"
	"iasql/internal/modes"
	"iasql/internal/modules"
	"iasql/internal/store"
	"iasql/internal/sync"
)

var (
	// errDead is what everything answers an engine that was killed: nothing it
	// does reaches anyone.
	errDead = errors.New("killed")
	// errHiccup is a database connection that broke.
	errHiccup = errors.New("connection reset")
	// errLocked is what a table that somebody has locked says.
	errLocked = errors.New("the table is locked")
)

// run is one cycle of one engine.
type run struct {
	w       *world
	spec    *Action
	rng     *rand.Rand
	lease   store.Lease
	started time.Duration
	calls   int
	dead    bool
	depth   int
	rules   modes.Rules // as the cycle read them
	begun   *decide.Intent
	made    bool // the object of that call was the record's own, not yet seen to agree, when it began
	// What this cycle saw, for the checker.
	listing int                       // its number among all
	listed  map[objectKey]bool        // complete listings, by table and scope
	failed  map[objectKey]bool        // failed ones
	told    map[decide.RecordRef]bool // records that events have named: a direct read decides about them
	missing map[objectKey]bool        // objects a direct read did not find
	deletes int
	gone    map[decide.GonePlace]int // records deleted since their objects were not shown
	before  map[decide.GonePlace]int // the records when it began
	wanted  chan struct{}
	locked  *string // the table that somebody has locked, "" for none; nil: not asked yet
}

// quietCalls are left out of histories.
var quietCalls = map[string]bool{"Tables": true, "Settings": true, "Intents": true, "intents in doubt": true,
	"Regions": true, "List": true, "Match": true,
	"ToDatabase": true, "ToCloud": true, "Keys": true, "deposed objects": true, "Due": true, "Creations": true}

type runKey struct{}

func runOf(ctx context.Context) *run { return ctx.Value(runKey{}).(*run) }

// cycle runs one cycle to its end, or to the engine's.
func (w *world) cycle(spec *Action, depth int) error {
	w.db.fence++
	r := &run{
		w: w, spec: spec, rng: rand.New(rand.NewPCG(spec.Seed, 7)), depth: depth, started: w.now,
		lease: store.Lease{Account: account, Fence: w.db.fence, Cycle: w.db.fence, Batch: spec.batch,
			Reviewed: spec.reviewed},
		listed: map[objectKey]bool{}, failed: map[objectKey]bool{}, told: map[decide.RecordRef]bool{},
		missing: map[objectKey]bool{}, wanted: make(chan struct{}, 1),
	}
	r.gone, r.before = map[decide.GonePlace]int{}, w.census()
	w.lied = w.lied || spec.Lie != ""
	w.runs = append(w.runs, r)
	e := &sync.Reconciler{Store: r, Registry: registry, Serial: true, Random: r.rng.Float64,
		ReadOnly: spec.Do == Preview, Preempt: r.wanted, Worlds: modules.Worlds{tables[0].Provider: simulated{}}}
	// Cycles of a fixpoint, whose seeds are small, list everything.
	e.Sparing = spec.Do == Cycle && spec.Seed > 1<<20 && spec.Seed%2 == 1
	kind := store.Full
	if spec.Push {
		kind = store.Push
	}
	calls, writes := w.cloud.calls, w.db.writes
	ctx := context.WithValue(context.Background(), runKey{}, r)
	report, err := e.Cycle(ctx, r.lease, kind)
	w.runs = w.runs[:len(w.runs)-1]
	if spec.Do == Preview && len(spec.Inject) == 0 && (calls != w.cloud.calls || writes != w.db.writes) {
		w.violate("R9", "a preview wrote (%s)", w.db.lastWrite)
	}
	if r.deletes > w.db.limits.Max && depth == 0 && !spec.reviewed {
		w.violate("R7", "a cycle deleted %d objects, max_deletes is %d", r.deletes, w.db.limits.Max)
	}
	if depth == 0 {
		w.check.believed(r)
	}
	w.report = report
	w.trace("cycle %s fence %d: passes %d pushed %d pulled %d settled %d failed %d stopped %q err %v", kind,
		r.lease.Fence, report.Passes, report.Pushed, report.Pulled, report.Settled, report.Failed, report.Stopped, err)
	for _, e := range report.Errors {
		w.trace("   error %v: %v", e.Record, e.Err)
	}
	return err
}

func (r *run) chance(p float64) bool { return p > 0 && r.rng.Float64() < p }

// boundary is passed before every call to the database or the cloud: there
// time goes on, others act, and the engine may be killed.
func (r *run) boundary(what string) error {
	if r.dead {
		return errDead
	}
	r.calls++
	r.w.now += 10 * time.Millisecond
	if name, _, _ := strings.Cut(what, " "); !quietCalls[name] {
		r.w.trace("   %d.%d %s", r.lease.Fence, r.calls, what)
	}
	for i := range r.spec.Inject {
		in := &r.spec.Inject[i]
		if in.At != r.calls {
			continue
		}
		switch in.Do {
		case Kill:
			r.w.trace("   killed")
			r.dead = true
			return errDead
		case Hiccup:
			r.w.trace("   hiccup")
			return errHiccup
		case Wake:
			select {
			case r.wanted <- struct{}{}:
			default:
			}
		case Cycle:
			if r.depth == 0 { // another engine takes over; this one is a zombie from now on
				_ = r.w.cycle(in, r.depth+1)
			}
		default:
			r.w.do(in)
		}
	}
	return nil
}

// after is passed after every write to the database: it is done, and the
// engine may not live to know.
func (r *run) after() error {
	for i := range r.spec.Inject {
		if in := &r.spec.Inject[i]; in.At == r.calls {
			switch in.Do {
			case KillAfter:
				r.w.trace("   killed after")
				r.dead = true
				return errDead
			case HiccupAfter:
				r.w.trace("   hiccup after")
				return errHiccup
			}
		}
	}
	return nil
}

// call is the boundary of a call to the cloud; a database's hiccup is none of
// its business.
func (r *run) call(what string) error {
	if err := r.boundary(what); err != nil && !errors.Is(err, errHiccup) {
		return err
	}
	return nil
}

func (r *run) readFault(scope modules.Scope) error {
	if scope.Region != "" && scope.Region == r.spec.Region {
		return failure(modules.Denied, "OptInRequired")
	}
	if r.chance(r.spec.Faults) {
		return failure([]modules.Class{modules.Transient, modules.Throttled, modules.Denied}[r.rng.IntN(3)],
			"ReadFault")
	}
	return nil
}

func (r *run) failedListing(t *modules.Table, scope modules.Scope) {
	r.failed[objectKey{t, scope, ""}] = true
}

// look reads an object, perhaps as it was a while ago.
func (r *run) look(o *object) modules.Row {
	if r.hides(o) {
		return nil
	}
	if r.chance(r.spec.Stale) {
		return o.asOf(r.w.now - time.Duration(r.rng.Float64()*float64(lag)))
	}
	return o.now()
}

// mutate is a call of the transport: by the mutation's permit, with faults
// before and after the effect.
func (r *run) mutate(ctx context.Context, m *modules.Mutation, action string, t *modules.Table,
	effect func(*decide.Intent) error) error {
	return m.Permit.Do(ctx, modules.Call{Service: "Sim", Action: action + t.Name}, func(modules.Entry) error {
		began := r.w.now
		if err := r.call(action + " " + t.Name); err != nil {
			return err
		}
		if r.w.now-began > window/2 { // as [modules.Entry.Late] has it, in the time of this world
			r.begun = nil
			return failure(modules.Throttled, "Late")
		}
		if r.begun == nil {
			r.w.violate("R6", "%s of %s without an intent", action, t.Name)
			return errDead
		}
		call := r.begun
		r.begun = nil
		if r.chance(r.spec.Faults) {
			switch r.rng.IntN(4) {
			case 0:
				return failure(modules.Throttled, "Throttling")
			case 1:
				return failure(modules.Transient, "ServiceUnavailable")
			case 2:
				return failure(modules.MayHaveHappened, "RequestTimeout")
			}
			return failure(modules.Denied, "AccessDenied")
		}
		if r.spec.Lie == LieForeign && r.w.db.identity != stranger {
			r.w.violate("R27", "%s of %s in another account", action, t.Name)
		}
		if r.w.db.restored != "" {
			r.w.violate("R30", "%s of %s although nobody has looked at what is pending", action, t.Name)
		}
		r.w.cloud.calls++
		r.w.check.calling(r, call)
		err := effect(call)
		if err == nil && call.Kind == decide.OpDelete {
			r.w.cloud.deleted++
		}
		r.w.trace("      %s %v: %v", action, call.Record, err)
		if aerr := r.after(); errors.Is(aerr, errDead) {
			return aerr
		}
		if err == nil && r.chance(r.spec.Faults) {
			return failure(modules.MayHaveHappened, "ConnectionReset")
		}
		return err
	})
}

// The methods of store.Store: boundaries around those of database.

// lockedTables returns the tables that somebody keeps this cycle from: one at most.
func (r *run) lockedTables() map[string]error {
	if r.locked == nil {
		r.locked = new(string)
		rng := rand.New(rand.NewPCG(r.spec.Seed, 11)) // its own: a lock does not change what else happens
		if rng.Float64() < r.spec.Faults {
			*r.locked = tables[rng.IntN(len(tables))].Name
			r.w.trace("   %s is locked", *r.locked)
		}
	}
	if *r.locked == "" {
		return nil
	}
	return map[string]error{*r.locked: errLocked}
}

// touches notes that a cycle reads or writes a table, together with those that it
// refers to: it would wait for whoever has locked one of them.
func (r *run) mappings(t *modules.Table) {
	if r.locked == nil || *r.locked == "" {
		return
	}
	if t.Name == *r.locked || slices.Contains(t.Parents(), *r.locked) {
		r.w.violate("R8", "a cycle touches %s while %s is locked", t.Name, *r.locked)
	}
}

// Regions implements store.Store.
func (r *run) Regions(context.Context, string, string) ([]string, error) {
	return regions, r.boundary("Regions")
}

// Settings implements store.Store.
func (r *run) Settings(context.Context, string) (store.Settings, error) {
	locked := r.lockedTables()
	if err := r.boundary("Tables"); err != nil {
		return store.Settings{}, err
	}
	err := r.boundary("Settings") // read by a statement of its own
	s := r.w.db.settings()
	s.Provider, s.Tables, s.Locked = tables[0].Provider, tableNames(), locked
	r.rules = s.Rules
	return s, err
}

// Match implements store.Store.
func (r *run) Match(_ context.Context, t *modules.Table, scope modules.Scope,
	identities []modules.Row) ([]store.Match, error) {
	r.mappings(t)
	if err := r.boundary("Match " + t.Name); err != nil {
		return nil, err
	}
	return r.w.db.match(t, scope, identities), nil
}

// Keys implements store.Store.
func (r *run) Keys(_ context.Context, t *modules.Table, scope modules.Scope, each func(int64, string) error) error {
	r.mappings(t)
	if err := r.boundary("Keys " + t.Name); err != nil {
		return err
	}
	return r.w.db.records(t, scope, each)
}

// Within implements store.Store.
func (r *run) Within(_ context.Context, t *modules.Table, account string) ([]string, error) {
	r.mappings(t)
	if err := r.boundary("Within " + t.Name); err != nil {
		return nil, err
	}
	return r.w.db.within(t, account), nil
}

// Due implements store.Store.
func (r *run) Due(_ context.Context, _ string, batch int64) ([]decide.RecordRef, []*decide.Subject, error) {
	if err := r.boundary("Due"); err != nil {
		return nil, nil, err
	}
	records := r.w.db.due(batch)
	err := r.boundary("deposed objects") // read by a statement of its own
	return records, r.w.db.deposedSubjects(batch), err
}

// Load implements store.Store.
func (r *run) Load(_ context.Context, t *modules.Table, ids []int64) ([]*decide.Subject, error) {
	r.mappings(t)
	if err := r.boundary("Load " + t.Name); err != nil {
		return nil, err
	}
	return r.w.db.load(t, ids), nil
}

// Found implements store.Store.
func (r *run) Found(_ context.Context, t *modules.Table, ids []int64, _ time.Duration) ([]int64, error) {
	err := r.boundary("Found " + t.Name)
	return r.w.db.foundLately(t, ids), err
}

// Creations implements store.Store.
func (r *run) Creations(_ context.Context, table string, ids []int64) (map[int64]int64, error) {
	err := r.boundary("Creations")
	return r.w.db.creations(table, ids), err
}

// Dependents implements store.Store.
func (r *run) Dependents(_ context.Context, table string, ids []int64) ([]decide.RecordRef, error) {
	err := r.boundary("Dependents")
	return r.w.db.dependents(table, ids), err
}

// Count implements store.Store.
func (r *run) Count(_ context.Context, table string, scope modules.Scope) (int, error) {
	err := r.boundary("Count")
	return r.w.db.count(table, scope), err
}

// ToDatabase implements store.Store.
func (r *run) ToDatabase(_ context.Context, t *modules.Table, scope modules.Scope, rows []modules.Row) error {
	r.mappings(t)
	if err := r.boundary("ToDatabase " + t.Name); err != nil {
		return err
	}
	r.w.db.toDatabase(t, scope, rows)
	return nil
}

// ToCloud implements store.Store.
func (r *run) ToCloud(_ context.Context, t *modules.Table, rows []modules.Row) error {
	r.mappings(t)
	if err := r.boundary("ToCloud " + t.Name); err != nil {
		return err
	}
	r.w.db.toCloud(t, rows)
	return nil
}

// Intents implements store.Store.
func (r *run) Intents(context.Context, string, time.Duration) ([]*decide.Intent, []decide.Intent, error) {
	if err := r.boundary("Intents"); err != nil {
		return nil, nil, err
	}
	recent := r.w.db.recent()
	err := r.boundary("intents in doubt") // read by a statement of its own
	return recent, r.w.db.inDoubt(), err
}

// Begin implements store.Store.
func (r *run) Begin(_ context.Context, lease store.Lease, call decide.Intent) (int64, error) {
	if err := r.boundary("Begin"); err != nil {
		return 0, err
	}
	id, err := r.w.db.begin(lease, call)
	if err != nil {
		return 0, err
	}
	r.w.check.begun(r, &call)
	t := registry.Table(call.Record.Table)
	o := r.w.cloud.live(t, call.Scope, call.Key)
	r.made = o != nil && r.w.check.made(call.Record, o)
	if err := r.after(); err != nil {
		return 0, err
	}
	r.begun = &call
	return id, nil
}

// Finish implements store.Store.
func (r *run) Finish(_ context.Context, lease store.Lease, outcomes []store.Outcome) error {
	return r.write("Finish", func() error { return r.w.db.finish(lease, outcomes) })
}

// Pull implements store.Store.
func (r *run) Pull(_ context.Context, lease store.Lease, pulls []store.Pull) (results []store.PullResult, err error) {
	if r.spec.Lie == LieForeign && r.w.db.identity != stranger {
		r.w.violate("R27", "%d records were pulled of another account", len(pulls))
	}
	for _, p := range pulls {
		r.mappings(p.Subject.Table)
		if r.locked != nil && p.Action == decide.DeleteRecord && *r.locked != "" &&
			slices.Contains(registry.Table(*r.locked).Parents(), p.Subject.Table.Name) {
			r.w.violate("R8", "a cycle deletes a record of %s while %s is locked", p.Subject.Table.Name, *r.locked)
		}
	}
	err = r.write("Pull", func() error {
		results, err = r.w.db.pull(lease, pulls, func() error { return r.boundary("Pull next") })
		return err
	})
	return results, err
}

// Settle implements store.Store.
func (r *run) Settle(_ context.Context, lease store.Lease, settlements []store.Settlement) error {
	return r.write("Settle", func() error { return r.w.db.settleFor(lease, settlements) })
}

// Listings implements store.Store.
func (r *run) Listings(context.Context, string) ([]store.Listing, error) {
	err := r.boundary("Listings")
	r.w.listings++
	r.listing = r.w.listings
	return r.w.db.remembered(), err
}

// Listed implements store.Store.
func (r *run) Listed(_ context.Context, lease store.Lease, ended, gone []store.Listing) error {
	return r.write("Listed", func() error {
		if lease.Fence == r.w.db.fence {
			r.w.check.listings(r, ended)
		}
		return r.w.db.listed(lease, ended, gone)
	})
}

// Identified implements store.Store.
func (r *run) Identified(_ context.Context, lease store.Lease, v decide.Verdict) error {
	return r.write("Identified", func() error { return r.w.db.identified(lease, v) })
}

// Imported implements store.Store.
func (r *run) Imported(_ context.Context, lease store.Lease, names []string) error {
	return r.write("Imported", func() error {
		if lease.Fence == r.w.db.fence {
			for _, n := range names {
				r.w.check.imported(r, registry.Table(n))
			}
		}
		return r.w.db.importedFor(lease, names)
	})
}

func (r *run) write(what string, f func() error) error {
	if err := r.boundary(what); err != nil {
		return err
	}
	if err := f(); err != nil {
		return err
	}
	return r.after()
}

// Hints implements store.Store.
func (r *run) Hints(context.Context, string) ([]store.Hint, error) {
	err := r.boundary("Hints")
	list := r.w.db.hintsDue()
	for _, h := range list {
		if h.Column == "" {
			continue
		}
		for _, n := range r.w.db.having(registry.Table(h.Table), h.Scope, h.Column, []string{h.Value}) {
			r.told[decide.RecordRef{Table: h.Table, ID: n.Record}] = true
		}
	}
	return list, err
}

// Looked implements store.Store.
func (r *run) Looked(_ context.Context, lease store.Lease, looked []store.Look, listed []store.ListedPlace) error {
	return r.write("Looked", func() error { return r.w.db.looked(lease, looked, listed) })
}

// Named implements store.Store.
func (r *run) Named(_ context.Context, t *modules.Table, scope modules.Scope, column string,
	values []string) ([]store.Named, error) {
	r.mappings(t)
	if err := r.boundary("Named " + t.Name); err != nil {
		return nil, err
	}
	return r.w.db.having(t, scope, column, values), nil
}
