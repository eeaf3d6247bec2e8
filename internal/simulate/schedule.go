package simulate

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// Do is what an action does.
type Do string

// The actions. The first group is what people do, the second what engines do,
// and the third what happens to an engine in the middle of a cycle.
const (
	Insert      Do = "Insert"   // a record, in the transaction of Slot
	Edit        Do = "Edit"     // columns of a record
	Remove      Do = "Remove"   // a record
	Reinsert    Do = "Reinsert" // a record that was deleted, under its old id
	Adopt       Do = "Adopt"    // an object, by inserting a record with its identity
	Commit      Do = "Commit"
	Rollback    Do = "Rollback"
	CloudCreate Do = "CloudCreate"
	CloudEdit   Do = "CloudEdit"
	CloudRemove Do = "CloudRemove"
	Forge       Do = "Forge" // an event of what has not happened
	Rule        Do = "Rule"  // puts a rule of iasql_mode in force
	Unrule      Do = "Unrule"
	Policy      Do = "Policy"  // of conflicts
	Protect     Do = "Protect" // a record or a table, or lifts that
	Resolve     Do = "Resolve" // an open conflict
	Retry       Do = "Retry"
	Wait        Do = "Wait"

	BatchBegin    Do = "BatchBegin"    // by the session of Slot
	BatchCommit   Do = "BatchCommit"   // of that session's batch; goes on where an earlier one was cut off
	BatchRollback Do = "BatchRollback" // likewise
	BatchJoin     Do = "BatchJoin"     // the session of Slot works in a batch that is open
	Vanish        Do = "Vanish"        // the session of Slot ends, with its transaction

	Declare  Do = "Declare"  // a configuration, by the session of Slot
	Mention  Do = "Mention"  // a record in that
	Declared Do = "Declared" // ends that
	Expire   Do = "Expire"   // a record is to go by itself
	Tick     Do = "Tick"     // what is to go by itself goes

	Cycle   Do = "Cycle"
	Preview Do = "Preview"

	Backup Do = "Backup" // of the database
	GoBack Do = "GoBack" // the database is what it was at the last backup

	Kill        Do = "Kill"        // before the call
	KillAfter   Do = "KillAfter"   // after its effect
	Hiccup      Do = "Hiccup"      // the database's connection breaks before the call
	HiccupAfter Do = "HiccupAfter" // or after it
	Wake        Do = "Wake"        // a full cycle is asked to push between two pages
)

// Action is one step of a schedule. What it acts on is chosen by A, B, C and D
// among what there is when it is played, so that a schedule still means
// something when parts of it are left out.
type Action struct {
	Do         Do
	Slot       int  // of the user's transaction
	Open       bool // it stays open
	A, B, C, D int
	For        time.Duration

	// Of a cycle: what it looks at, what its random choices are made from, how
	// often calls fail and reads are late, a region that cannot be read, and
	// what happens in the middle of it, At its n-th call.
	Push          bool
	Seed          uint64
	Faults, Stale float64
	Region        string
	Lie           Lie
	Inject        []Action
	At            int

	batch    int64 // that the cycle is of, 0 for none
	reviewed bool
}

// Schedule is a world's settings and all that happens in it.
type Schedule struct {
	Seed        uint64
	Constrained bool // a user's constraint refuses a value
	Slow        bool // deletions take time
	MaxDeletes  int
	Ratio       float64
	Rows        int  // objects there from the start
	Events      bool // of what others change in the cloud some come, late or twice, and some that are forged
	Actions     []Action
}

// NewSchedule makes the schedule of a seed.
func NewSchedule(seed uint64) *Schedule {
	rng := rand.New(rand.NewPCG(seed, 1))
	s := &Schedule{Seed: seed, Slow: seed%2 == 0, MaxDeletes: 100, Ratio: 1, Rows: rng.IntN(6)}
	g := generator{rng: rng}
	// Swarm testing: every schedule leaves most kinds of trouble out, so that
	// the rest meets often.
	g.faults = pick(rng, 0, 0, 0.05, 0.15, 0.3)
	g.stale = pick(rng, 0, 0, 0.1, 0.5)
	g.kills = pick(rng, 0, 0, 0.15, 0.4)
	g.inside = pick(rng, 0, 0.2, 0.6)
	g.rules = pick(rng, 0, 0, 0.05, 0.15)
	g.open = pick(rng, 0, 0.1, 0.4)
	g.only = rng.IntN(len(tables) * 2)
	if rng.IntN(3) == 0 {
		g.batches = pick(rng, 0.1, 0.25)
	}
	if g.declares = pick(rng, 0, 0, 0, 0.1, 0.3); g.declares > 0 {
		g.batches = max(g.batches, 0.2)
	}
	g.expires = pick(rng, 0, 0, 0, 0.1)
	s.Constrained = rng.IntN(6) == 0
	if rng.IntN(6) == 0 {
		s.MaxDeletes = 1 + rng.IntN(3)
		if rng.IntN(2) == 0 { // many deletions, some of them inside a cycle
			g.removes, g.inside, s.Rows = 0.3, 0.6, 6
		}
	}
	if rng.IntN(6) == 0 {
		s.Ratio = 0.4
	}
	if s.Events = rng.IntN(3) > 0; s.Events {
		g.forged = pick(rng, 0, 0.05, 0.2)
	}
	if rng.IntN(5) > 0 {
		s.Actions = append(s.Actions, Action{Do: Cycle, Seed: rng.Uint64()})
	}
	for n := 4 + rng.IntN(24); len(s.Actions) < n; {
		if rng.Float64() < g.batches {
			s.Actions = append(s.Actions, g.batch()...)
			continue
		}
		s.Actions = append(s.Actions, g.next(0))
	}
	s.falsify()
	return s
}

func pick[T any](rng *rand.Rand, list ...T) T { return list[rng.IntN(len(list))] }

type generator struct {
	rng                                                                 *rand.Rand
	faults, stale, kills, inside, rules, open, removes, batches, forged float64
	declares, expires                                                   float64
	only                                                                int
}

func (g *generator) next(depth int) Action {
	rng := g.rng
	a := Action{A: rng.IntN(64), B: rng.IntN(64), C: rng.IntN(64), D: rng.IntN(64), Slot: rng.IntN(3)}
	if g.only < len(tables) && rng.IntN(4) > 0 {
		a.A = g.only // most happens to one table
	}
	a.Open = rng.Float64() < g.open
	switch n := rng.IntN(100); {
	case rng.Float64() < g.rules:
		a.Do = pick(rng, Rule, Rule, Rule, Unrule, Protect, Protect)
	case g.batches > 0 && rng.Float64() < g.batches:
		a.Do = pick(rng, BatchBegin, BatchBegin, BatchBegin, BatchCommit, BatchCommit, BatchCommit, BatchRollback,
			BatchJoin, Vanish)
		a.Seed, a.Faults, a.Stale = rng.Uint64(), g.faults, g.stale
	case g.declares > 0 && rng.Float64() < g.declares:
		a.Do = pick(rng, Declare, Mention, Mention, Declared, BatchCommit)
		a.Seed, a.Faults, a.Stale = rng.Uint64(), g.faults, g.stale
	case g.expires > 0 && rng.Float64() < g.expires:
		a.Do = pick(rng, Expire, Tick, Tick)
		a.For = pick(rng, 0, time.Second, 25*time.Second, 10*time.Minute)
	case rng.Float64() < g.removes:
		a.Do = Remove
	case g.forged > 0 && rng.Float64() < g.forged:
		a.Do = Forge
	case n < 14:
		a.Do = Insert
	case n < 30:
		a.Do = Edit
	case n < 38:
		a.Do = Remove
	case n < 41:
		a.Do = Reinsert
	case n < 43:
		a.Do = Adopt
	case n < 49:
		a.Do = Commit
	case n < 51:
		a.Do = Rollback
	case n < 54:
		a.Do = CloudCreate
	case n < 63:
		a.Do = CloudEdit
	case n < 67:
		a.Do = CloudRemove
	case n < 69:
		a.Do = Policy
	case n < 71:
		a.Do = Resolve
	case n < 73:
		a.Do = Retry
	case n < 78:
		a.Do, a.For = Wait, pick(rng, time.Second, 5*time.Second, 25*time.Second, 61*time.Second, 10*time.Minute)
	case depth > 0:
		return g.next(depth)
	case n < 80:
		a.Do, a.Seed = Preview, rng.Uint64()
	default:
		a = g.cycle(depth)
	}
	return a
}

// batch makes what a person does with a batch from its beginning to its end, others
// acting meanwhile.
func (g *generator) batch() []Action {
	rng := g.rng
	slot := rng.IntN(3)
	list := []Action{{Do: BatchBegin, Slot: slot}}
	declares := g.declares > 0 && rng.IntN(4) > 0
	if declares {
		list[0] = Action{Do: Declare, Slot: slot, A: rng.IntN(64)}
		for range rng.IntN(3) {
			list = append(list, Action{Do: Mention, Slot: slot, B: rng.IntN(64), C: rng.IntN(64), D: rng.IntN(64)})
		}
	}
	for range 1 + rng.IntN(6) {
		a := g.next(0)
		switch a.Do {
		case Insert, Edit, Remove, Reinsert, Adopt:
			if rng.IntN(4) > 0 {
				a.Slot = slot
			}
		}
		list = append(list, a)
	}
	end := func(do Do) Action {
		a := Action{Do: do, Slot: slot, A: rng.IntN(64), Seed: rng.Uint64(), Faults: g.faults, Stale: g.stale}
		if rng.IntN(2) == 0 { // it is cut off
			a.Inject = []Action{{Do: pick(rng, Kill, KillAfter), At: 1 + rng.IntN(pick(rng, 12, 30, 60))}}
		}
		return a
	}
	if declares && rng.IntN(8) > 0 {
		list = append(list, Action{Do: Declared, Slot: slot})
	}
	switch rng.IntN(6) {
	case 0:
		list = append(list, Action{Do: Vanish, Slot: slot})
	case 1:
		list = append(list, end(BatchRollback))
	case 2:
		list = append(list, end(BatchCommit))
	default: // whose commit is rolled back, unless it is over
		list = append(list, end(BatchCommit), end(BatchRollback))
	}
	return list
}

func (g *generator) cycle(depth int) Action {
	rng := g.rng
	a := Action{Do: Cycle, Push: rng.IntN(3) == 0, Seed: rng.Uint64(), Faults: g.faults, Stale: g.stale}
	if g.faults > 0 && rng.IntN(8) == 0 {
		a.Region = pick(rng, regions...)
	}
	inject := func(in Action) {
		in.At = 1 + rng.IntN(pick(rng, 12, 30, 60))
		a.Inject = append(a.Inject, in)
	}
	for rng.Float64() < g.inside && len(a.Inject) < 5 {
		inject(g.next(depth + 1))
		if !a.Push && rng.IntN(2) == 0 { // mostly of what was just done
			a.Inject = append(a.Inject, Action{Do: Wake, At: a.Inject[len(a.Inject)-1].At})
		}
	}
	if !a.Push && g.inside > 0 && rng.IntN(3) == 0 {
		inject(Action{Do: Wake})
	}
	if rng.Float64() < g.kills {
		inject(Action{Do: pick(rng, Kill, KillAfter, KillAfter, Hiccup, HiccupAfter)})
	}
	if g.rules > 0 && rng.IntN(3) == 0 { // what was decided just before must not be done
		inject(Action{Do: pick(rng, Protect, Protect, Rule), A: rng.IntN(64), B: rng.IntN(64), C: rng.IntN(64),
			D: rng.IntN(64)})
	}
	if depth == 0 && g.kills > 0 && rng.IntN(10) == 0 {
		inject(g.cycle(depth + 1))
	}
	return a
}

// String spells the schedule as Go, to be pasted into a test.
func (s *Schedule) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "&Schedule{Seed: %d, Constrained: %t, Slow: %t, MaxDeletes: %d, Ratio: %g, Rows: %d, Events: %t, "+
		"Actions: []Action{\n", s.Seed, s.Constrained, s.Slow, s.MaxDeletes, s.Ratio, s.Rows, s.Events)
	for i := range s.Actions {
		fmt.Fprintf(&b, "\t%s,\n", s.Actions[i].spell("\t"))
	}
	b.WriteString("}}")
	return b.String()
}

func (a *Action) spell(indent string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "{Do: %s", a.Do)
	num := func(name string, v int) {
		if v != 0 {
			fmt.Fprintf(&b, ", %s: %d", name, v)
		}
	}
	num("At", a.At)
	num("Slot", a.Slot)
	if a.Open {
		b.WriteString(", Open: true")
	}
	num("A", a.A)
	num("B", a.B)
	num("C", a.C)
	num("D", a.D)
	num("For", int(a.For))
	if a.Push {
		b.WriteString(", Push: true")
	}
	if a.Seed != 0 {
		fmt.Fprintf(&b, ", Seed: %d", a.Seed)
	}
	if a.Faults != 0 {
		fmt.Fprintf(&b, ", Faults: %g", a.Faults)
	}
	if a.Stale != 0 {
		fmt.Fprintf(&b, ", Stale: %g", a.Stale)
	}
	if a.Region != "" {
		fmt.Fprintf(&b, ", Region: %q", a.Region)
	}
	if a.Lie != "" {
		fmt.Fprintf(&b, ", Lie: %s", a.Lie)
	}
	if len(a.Inject) > 0 {
		b.WriteString(", Inject: []Action{")
		for i := range a.Inject {
			fmt.Fprintf(&b, "\n%s\t%s,", indent, a.Inject[i].spell(indent+"\t"))
		}
		fmt.Fprintf(&b, "\n%s}", indent)
	}
	b.WriteString("}")
	return b.String()
}
