package simulate

import (
	"context"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"iasql/internal/decide"
	"iasql/internal/modules"
)

// False premises: a cloud that does not tell the truth (R27, R28), and a database that goes back in time (R30). In a
// world in which there was any of these, what the other rules promise does not hold: they are about what the cloud
// says. There only those rules are checked that are about the premises.

// Lie is what is wrong about what the cloud answers in a cycle.
type Lie string

// The lies.
const (
	LieEmpty   Lie = "LieEmpty"   // it shows nothing
	LiePartial Lie = "LiePartial" // it shows every second object
	LieOlder   Lie = "LieOlder"   // it shows nothing that is younger than a while
	LieForeign Lie = "LieForeign" // it is another account
	LieNobody  Lie = "LieNobody"  // it does not say who it is
)

// premises are the rules that hold whatever is told.
var premises = map[string]bool{"R7": true, "R9": true, "R15": true, "R27": true, "R28": true, "R30": true,
	"contract": true}

// falsify puts false premises into a schedule. The choices are made by themselves, so that the others stay what they
// are.
func (s *Schedule) falsify() {
	rng := rand.New(rand.NewPCG(s.Seed, 2))
	if rng.IntN(5) > 0 {
		return
	}
	s.Rows += rng.IntN(10)
	s.Ratio = min(s.Ratio, pick(rng, 0.5, 0.5, 1))
	back := -1
	for i := range s.Actions {
		switch a := &s.Actions[i]; {
		case a.Do == Cycle && rng.IntN(3) == 0:
			a.Lie = pick(rng, LieEmpty, LieEmpty, LiePartial, LieOlder, LieForeign, LieNobody)
		case back < 0 && rng.IntN(6) == 0:
			back = i
		}
	}
	if back >= 0 && rng.IntN(2) == 0 {
		s.Actions = slices.Insert(s.Actions, back, Action{Do: Backup})
		at := back + 1 + rng.IntN(len(s.Actions)-back)
		s.Actions = slices.Insert(s.Actions, at, Action{Do: GoBack},
			Action{Do: Cycle, Seed: rng.Uint64(), Push: rng.IntN(2) == 0}, Action{Do: Cycle, Seed: rng.Uint64()})
	}
}

// hides reports whether the cloud says in this cycle that there is no such object.
func (r *run) hides(o *object) bool {
	switch r.spec.Lie {
	case LieEmpty, LieForeign:
		return true
	case LiePartial:
		h := fnv.New64a()
		_, _ = h.Write([]byte(o.table.Name + o.key))
		return (h.Sum64()^r.spec.Seed)%2 == 0
	case LieOlder:
		return o.asOf(r.w.now-5*time.Minute) == nil
	}
	return false
}

// What the account says it is, and what another says.
const self, stranger = "sim:account", "sim:stranger"

// simulated is the world of the simulated account; it finds its run in the context.
type simulated struct{}

// Identify implements [modules.World].
func (simulated) Identify(ctx context.Context, _ modules.Scope, fresh bool) (modules.Identity, error) {
	run := runOf(ctx)
	if fresh {
		if err := run.call("Identify"); err != nil {
			return modules.Identity{Vouched: true}, err
		}
	}
	switch {
	case run.spec.Lie == LieForeign:
		return modules.Identity{Said: stranger, Vouched: true}, nil
	case run.spec.Lie == LieNobody:
		return modules.Identity{Vouched: run.spec.Seed%2 == 0}, failure(modules.Transient, "NoIdentity")
	case fresh && run.chance(run.spec.Faults):
		return modules.Identity{Vouched: true}, failure(modules.Throttled, "Throttling")
	}
	return modules.Identity{Said: self, Vouched: true}, nil
}

// census counts the records of each table and scope.
func (w *world) census() map[decide.GonePlace]int {
	there := map[decide.GonePlace]int{}
	for _, t := range tables {
		for _, r := range w.db.rows[t.Name] {
			scope := modules.Scope{Account: account}
			if t.Reach == modules.PerRegion {
				scope.Region = r.vals[modules.ColumnRegion].String()
			}
			there[decide.GonePlace{Table: t.Name, Scope: scope}]++
		}
	}
	return there
}

// believed checks R28 of a cycle: what it deleted for no better reason than that it was not shown is not more than
// the limits allow, and not all that there was in a place.
func (c *checker) believed(r *run) {
	limits, all, had := c.w.db.limits, 0, 0
	for at, n := range r.gone {
		all += n
		before := max(r.before[at], c.w.census()[at]+n)
		had += before
		if n == before && n > 2 && limits.Ratio < 1 {
			c.w.violate("R28", "a cycle deleted all %d records of %s since their objects were not shown", n, at)
		}
		if n >= limits.Floor && float64(n) > limits.Ratio*float64(before) {
			c.w.violate("R28", "a cycle deleted %d of %d records of %s since their objects were not shown", n,
				before, at)
		}
	}
	if all > limits.Max {
		c.w.violate("R28", "a cycle deleted %d records since their objects were not shown, max_deletes is %d", all,
			limits.Max)
	}
	if all >= limits.Floor && float64(all) > limits.Ratio*float64(had) {
		c.w.violate("R28", "a cycle deleted %d of %d records since their objects were not shown", all, had)
	}
}

// backup keeps the database as it is, unless a batch is open: those are not what is looked at here.
func (w *world) backup() {
	if len(w.db.batches) == 0 {
		w.kept = w.db.copy()
	}
}

// goBack restores the backup. What engines knew of the database is gone with them.
func (w *world) goBack() {
	if w.kept == nil || len(w.db.batches) > 0 {
		return
	}
	fence := w.db.fence
	w.db = w.kept.copy()
	w.db.fence = fence
	w.db.restored, w.db.wentBackAt = "the database has gone back", w.now
	w.db.wentBack = decide.Moment{Audit: w.db.nextAudit}
	for _, op := range w.db.ops {
		w.db.wentBack.Operation = max(w.db.wentBack.Operation, op.ID())
	}
	w.lied = true
	w.trace("   the database has gone back")
}

// confirm is a person who has looked at what waits for a word.
func (w *world) confirm() { w.db.restored, w.db.identity, w.db.heldFor = "", self, "" }

// copy returns the database as a backup of it would be: what is committed.
func (db *database) copy() *database {
	c := *db
	c.nextID, c.deleted, c.protection, c.imported, c.found = maps.Clone(db.nextID), maps.Clone(db.deleted),
		maps.Clone(db.protection), maps.Clone(db.imported), maps.Clone(db.found)
	c.txs, c.rules, c.hints = map[int]*tx{}, slices.Clone(db.rules), nil
	c.configurations, c.declarations, c.expiries = maps.Clone(db.configurations), map[int64][]*declaration{},
		map[decide.RecordRef]*expiry{}
	for at, e := range db.expiries {
		o := *e
		c.expiries[at] = &o
	}
	c.batches, c.sessions, c.staged = map[int64]*batchRow{}, map[int]int64{}, map[decide.RecordRef]stagedRow{}
	c.stagedKeys, c.needed = map[uniqueKey]map[int64]int64{}, map[decide.RecordRef]map[int64]bool{}
	c.rows = map[string]map[int64]*row{}
	for name, rows := range db.rows {
		c.rows[name] = map[int64]*row{}
		for id, r := range rows {
			o := *r
			o.vals = r.vals.Clone()
			c.rows[name][id] = &o
		}
	}
	audit := map[*auditRow]*auditRow{}
	same := func(list []*auditRow) []*auditRow {
		out := make([]*auditRow, len(list))
		for i, a := range list {
			if audit[a] == nil {
				o := *a
				audit[a] = &o
			}
			out[i] = audit[a]
		}
		return out
	}
	c.log, c.pending = map[decide.RecordRef][]*auditRow{}, map[decide.RecordRef][]*auditRow{}
	for at, list := range db.log {
		c.log[at] = same(list)
	}
	for at, list := range db.pending {
		c.pending[at] = same(list)
	}
	c.states, c.listings = map[decide.RecordRef]*stateRow{}, map[listingKey]*listingRow{}
	for at, st := range db.states {
		o := *st
		c.states[at] = &o
	}
	for at, l := range db.listings {
		o := *l
		c.listings[at] = &o
	}
	c.deposed, c.conflicts, c.ops = copies(db.deposed), copies(db.conflicts), copies(db.ops)
	return &c
}

func copies[T any](list []*T) []*T {
	out := make([]*T, len(list))
	for i, p := range list {
		o := *p
		out[i] = &o
	}
	return out
}

// asked is a change by a user, whichever database it is in.
type asked struct {
	record decide.RecordRef
	audit  int64
	at     time.Duration
}

// madeOnce checks of what has a token of the cloud's that a database that has gone back does not make it again (R30).
func (c *checker) madeOnce(call *decide.Intent, o *object) {
	for _, a := range c.w.db.log[call.Record] {
		if a.ID != call.UpTo || call.Replaces {
			continue
		}
		by := asked{call.Record, a.ID, a.at}
		c.tries[by]++
		if before := c.once[by]; before != nil && o != nil && before != o && before.now() != nil && c.w.kept != nil &&
			!c.claimed(before, call.Record) {
			c.w.violate("R30", "%v: %s was made for what %s had been made for", call.Record, o.key, before.key)
		}
		if c.tries[by] == 1 { // by the first token
			c.once[by] = o
		}
	}
}
