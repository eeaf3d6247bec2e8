package decide

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"iasql/internal/modules"
)

// node references another node that it cannot do without, and one that it can.
var node = &modules.Table{
	Name: "node", Doc: "Nodes.", Reach: modules.PerRegion,
	Columns: []modules.Column{
		{Name: "account", Type: modules.TypeText, Doc: "a"}, {Name: "region", Type: modules.TypeText, Doc: "r"},
		{Name: "node_id", Type: modules.TypeText, Doc: "i", Identity: true, Computed: true},
		{Name: "parent", Type: modules.TypeBigint, Doc: "p", CreateOnly: true,
			References: &modules.Reference{Table: "node", Key: "node_id"}},
		{Name: "peer", Type: modules.TypeBigint, Doc: "e",
			References: &modules.Reference{Table: "node", Key: "node_id"}},
	},
}

func nodeSubject(id int64, parent, peer int64) *Subject {
	r := modules.Row{"account": modules.Text("acct"), "region": modules.Text("r1"), "node_id": modules.Null,
		"parent": modules.Null, "peer": modules.Null}
	if parent > 0 {
		r["parent"] = modules.Int(parent)
	}
	if peer > 0 {
		r["peer"] = modules.Int(peer)
	}
	return &Subject{Table: node, RecordID: id, Scope: modules.Scope{Account: "acct", Region: "r1"},
		Record: &Record{ID: id, Row: r}, RefKeys: modules.Row{},
		Can: modules.Abilities{Create: true, Update: true, Delete: true}}
}

func cloudOf(id, parent int64) modules.Row {
	r := modules.Row{"node_id": modules.Text("n-" + strconv.FormatInt(id, 10))}
	if parent > 0 {
		r["parent"] = modules.Text("n-" + strconv.FormatInt(parent, 10))
	}
	return r
}

func spell(p Plan) string {
	var b strings.Builder
	for _, op := range p.Ops {
		fmt.Fprintf(&b, "%s %d omit %v after", op.Kind, op.Subject.RecordID, op.Omit)
		for _, a := range op.After {
			fmt.Fprintf(&b, " %d", a.Subject.RecordID)
		}
		b.WriteString("\n")
	}
	for _, w := range p.Waiting {
		fmt.Fprintf(&b, "%d waits on %d\n", w.Subject.RecordID, w.On.ID)
	}
	return b.String()
}

// TestPlan: whatever the steps, an operation comes after those it depends on,
// nothing is lost, circles are broken where they can be, and the order of the
// steps does not matter.
func TestPlan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := int64(rapid.IntRange(1, 8).Draw(t, "nodes"))
		circles := rapid.Bool().Draw(t, "circles of parents")
		parents, kind := map[int64]int64{}, map[int64]Action{}
		type edge struct{ parent, peer int64 }
		edges := map[int64]edge{}
		for id := int64(1); id <= n; id++ {
			most := id - 1
			if circles {
				most = n
			}
			e := edge{int64(rapid.IntRange(0, int(most)).Draw(t, "parent")),
				int64(rapid.IntRange(0, int(n)).Draw(t, "peer"))}
			edges[id] = e
			kind[id] = rapid.SampledFrom([]Action{Create, Create, Delete}).Draw(t, "kind")
			parents[id] = e.parent
		}
		build := func(order []int64) []Step {
			var steps []Step
			for _, id := range order {
				e := edges[id]
				s := nodeSubject(id, e.parent, e.peer)
				if kind[id] == Delete {
					s.Cloud = cloudOf(id, e.parent)
					s.Object, s.Record = s.Cloud, nil
				} else {
					// What is deleted is not there for others to name.
					for name, ref := range map[string]int64{"parent": e.parent, "peer": e.peer} {
						if ref > 0 && kind[ref] == Delete {
							s.RefKeys[name] = modules.Text("n-" + strconv.FormatInt(ref, 10))
						}
					}
				}
				steps = append(steps, Step{s, Decision{Action: kind[id]}})
			}
			return steps
		}
		order := make([]int64, n)
		for i := range order {
			order[i] = int64(i + 1)
		}
		plan := NewPlan(build(order))
		shuffled := rapid.Permutation(order).Draw(t, "order")
		if a, b := spell(plan), spell(NewPlan(build(shuffled))); a != b {
			t.Fatalf("the plan depends on the order of the steps:\n%s\n%s", a, b)
		}
		at := map[int64]int{}
		for i, op := range plan.Ops {
			at[op.Subject.RecordID] = i
			for _, before := range op.After {
				if j, ok := at[before.Subject.RecordID]; !ok || j >= i {
					t.Fatalf("%d comes before %d:\n%s", op.Subject.RecordID, before.Subject.RecordID, spell(plan))
				}
			}
		}
		waiting := map[int64]bool{}
		for _, w := range plan.Waiting {
			waiting[w.Subject.RecordID] = true
		}
		for id := int64(1); id <= n; id++ {
			i, planned := at[id]
			if planned == waiting[id] {
				t.Fatalf("%d is planned %t and waiting %t:\n%s", id, planned, waiting[id], spell(plan))
			}
			if !circles && waiting[id] {
				t.Fatalf("%d waits, and peers can be left out:\n%s", id, spell(plan))
			}
			p := parents[id]
			if !planned || p == 0 || p == id || kind[p] != kind[id] {
				continue
			}
			j, ok := at[p]
			switch {
			case !ok && kind[id] == Delete: // it may go before what has to wait
			case !ok:
				t.Fatalf("%d is planned without %d:\n%s", id, p, spell(plan))
			case kind[id] == Create && j > i, kind[id] == Delete && j < i:
				t.Fatalf("%s of %d and %d in the wrong order:\n%s", kind[id], id, p, spell(plan))
			}
		}
		for _, op := range plan.Ops {
			if slices.Contains(op.Omit, "parent") {
				t.Fatalf("%d was to be created without what it cannot do without", op.Subject.RecordID)
			}
		}
	})
}

func TestPlanWaitsForParent(t *testing.T) {
	plan := NewPlan([]Step{{nodeSubject(2, 1, 0), Decision{Action: Create}},
		{nodeSubject(3, 2, 0), Decision{Action: Create}}})
	if len(plan.Ops) != 0 || len(plan.Waiting) != 2 {
		t.Errorf("a parent that is not there:\n%s", spell(plan))
	}
}

// TestPlanDeletesCircle: two objects that name each other by a column that can
// be changed are both deleted; the cloud says so if it minds.
func TestPlanDeletesCircle(t *testing.T) {
	var steps []Step
	for id, peer := range map[int64]int64{1: 2, 2: 1} {
		s := nodeSubject(id, 0, 0)
		s.Cloud = cloudOf(id, 0)
		s.Cloud["peer"] = modules.Text("n-" + strconv.FormatInt(peer, 10))
		s.Object, s.Record = s.Cloud, nil
		steps = append(steps, Step{s, Decision{Action: Delete}})
	}
	if plan := NewPlan(steps); len(plan.Ops) != 2 || len(plan.Waiting) != 0 {
		t.Errorf("a circle of deletions:\n%s", spell(plan))
	}
}

// TestGuard is R7.
func TestGuard(t *testing.T) {
	deletes := func(n int, garbage bool) Plan {
		var steps []Step
		for id := int64(1); id <= int64(n); id++ {
			s := nodeSubject(id, 0, 0)
			s.Cloud, s.Record, s.Deposed = cloudOf(id, 0), nil, garbage
			s.Object = s.Cloud
			steps = append(steps, Step{s, Decision{Action: Delete}})
		}
		return NewPlan(steps)
	}
	replaces := func(n int, first bool) Plan {
		table := *node
		table.DestroyBeforeCreate = first
		var steps []Step
		for id := int64(1); id <= int64(n); id++ {
			s := nodeSubject(id, 0, 0)
			s.Table, s.Cloud = &table, cloudOf(id, 0)
			s.Object = s.Cloud
			steps = append(steps, Step{s, Decision{Action: Replace}})
		}
		return NewPlan(steps)
	}
	limits := DeleteLimits{Max: 10, Ratio: 0.5, Floor: 5}
	left := func(n int) func(string) int { return func(string) int { return n } }
	for _, c := range []struct {
		name    string
		plan    Plan
		done    int // replaced before, where the plan replaces; otherwise deleted
		left    int
		stopped bool
	}{
		{"ten of many", deletes(10, false), 0, 100, false},
		{"eleven of many", deletes(11, false), 0, 100, true},
		{"ten and one before", deletes(10, false), 1, 100, true},
		{"garbage is none", deletes(11, true), 0, 100, false},
		{"four of four, below the floor", deletes(4, false), 0, 0, false},
		{"five of ten", deletes(5, false), 0, 5, false},
		{"five of nine", deletes(5, false), 0, 4, true},
		{"one, after too many", deletes(1, false), 10, 100, true},
		{"none, after too many", deletes(0, false), 50, 0, false},
		{"ten replaced of many", replaces(10, false), 0, 100, false},
		{"eleven replaced of many", replaces(11, false), 0, 100, true},
		{"eleven replaced of many, destroyed first", replaces(11, true), 0, 100, true},
		{"ten replaced and one before", replaces(10, true), 1, 100, true},
		{"five replaced of ten", replaces(5, true), 0, 10, false},
		{"six replaced of ten", replaces(6, true), 0, 10, true},
	} {
		done := Destroyed{Deleted: c.done}
		if len(c.plan.Ops) > 0 && c.plan.Ops[0].Replaces {
			done = Destroyed{Replaced: c.done}
		}
		why := c.plan.Guard(limits, Tally{"node": done}, left(c.left))
		if (why != "") != c.stopped {
			t.Errorf("%s: %q", c.name, why)
		}
	}
}

// What is one object's alone its successor gets when the old object is gone; one that gives
// it up comes first.
func TestPlanExclusive(t *testing.T) {
	table := *node
	table.Columns = append(slices.Clone(node.Columns),
		modules.Column{Name: "aliases", Type: modules.TypeTexts, Doc: "a", Exclusive: true})
	for _, c := range []struct {
		wants, has []string
		first      OpKind
	}{
		{[]string{"a", "b"}, []string{"b"}, OpDelete},
		{[]string{"a"}, []string{"b"}, OpCreate},
		{nil, nil, OpCreate},
	} {
		s := nodeSubject(1, 0, 0)
		s.Table, s.Cloud = &table, cloudOf(1, 0)
		s.Object = s.Cloud.Clone()
		s.Object["aliases"], s.Record.Row["aliases"] = modules.Strings(c.has), modules.Strings(c.wants)
		if plan := NewPlan([]Step{{s, Decision{Action: Replace}}}); len(plan.Ops) == 0 || plan.Ops[0].Kind != c.first {
			t.Errorf("%v after %v:\n%s", c.wants, c.has, spell(plan))
		}
	}
}

// What is in an object that is destroyed before its successor is created is
// destroyed first, and not created again in the old one.
func TestPlanFollowersOfDestroyedFirst(t *testing.T) {
	table := *node
	table.DestroyBeforeCreate = true
	parent, child := nodeSubject(1, 0, 0), nodeSubject(2, 1, 0)
	parent.Table = &table
	parent.Cloud, child.Cloud = cloudOf(1, 0), cloudOf(2, 1)
	parent.Object, child.Object = parent.Cloud, child.Cloud
	child.RefKeys["parent"] = modules.Text("n-1")
	for _, steps := range [][]Step{
		{{parent, Decision{Action: Replace}}, {child, Decision{Action: Replace}}},
		{{child, Decision{Action: Replace}}, {parent, Decision{Action: Replace}}},
	} {
		if got, want := spell(NewPlan(steps)), "delete 2 omit [] after\ndelete 1 omit [] after 2\n"; got != want {
			t.Errorf("got\n%swant\n%s", got, want)
		}
	}
}
