package decide

import (
	"strings"
	"testing"

	"iasql/internal/auditlog"
	"iasql/internal/modes"
	"iasql/internal/modules"
)

// crate names nodes in a list that has their records beside it, and in one that is fixed at creation.
var crate = &modules.Table{
	Name: "crate", Doc: "Crates.", Reach: modules.PerRegion,
	Columns: []modules.Column{
		{Name: "account", Type: modules.TypeText, Doc: "a"}, {Name: "region", Type: modules.TypeText, Doc: "r"},
		{Name: "name", Type: modules.TypeText, Doc: "n", Identity: true},
		{Name: "nodes", Type: modules.TypeTexts, Doc: "l", Unordered: true},
		{Name: "nodes_records", Type: modules.TypeIDs, Doc: "r", Local: true,
			Records: &modules.Reference{Table: "node", Key: "node_id", NameColumn: "nodes"}},
		{Name: "fixed", Type: modules.TypeTexts, Doc: "f", Unordered: true, CreateOnly: true},
		{Name: "fixed_records", Type: modules.TypeIDs, Doc: "r", Local: true,
			Records: &modules.Reference{Table: "node", Key: "node_id", NameColumn: "fixed"}},
	},
}

// texts is a list of names in which "" stands for NULL; nil is NULL.
func texts(names ...string) modules.Value {
	if names == nil {
		return modules.Null
	}
	list := make([]modules.Value, len(names))
	for i, name := range names {
		if name != "" {
			list[i] = modules.Text(name)
		}
	}
	return modules.Elements(list)
}

func crateRow(nodes, records, fixed, fixedRecords modules.Value) modules.Row {
	return modules.Row{"account": modules.Text("acct"), "region": modules.Text("r1"), "name": modules.Text("c"),
		"nodes": nodes, "nodes_records": records, "fixed": fixed, "fixed_records": fixedRecords}
}

// What a list of names and its records come to: a pull, a push, or nothing.
func TestListColumns(t *testing.T) {
	if err := crate.Validate(); err != nil {
		t.Fatal(err)
	}
	ids := func(list ...int64) modules.Value { return modules.IDs(list) }
	for name, c := range map[string]struct {
		have, now     modules.Value // the row's names, and those that its records have now
		records       modules.Value
		cloud, shown  modules.Value // what the cloud has, and the records of that
		base          modules.Value // with pending: what the names were
		pending       bool
		mode          modes.Mode
		fixed         bool // the list that is fixed at creation
		push          bool
		pull, recPull modules.Value
	}{
		"same": {have: texts("a", "b"), now: texts("a", "b"), records: ids(1, 2), cloud: texts("b", "a"), shown: ids(2, 1)},
		"changed in the cloud": {have: texts("a", "b"), now: texts("a", "b"), records: ids(1, 2), cloud: texts("b", "c"), shown: ids(2, 0),
			pull: texts("b", "c"), recPull: ids(2, 0)},
		"a record came later": {have: texts("a", "c"), now: texts("a", ""), records: ids(1, 0), cloud: texts("c", "a"), shown: ids(3, 1),
			recPull: ids(1, 3)},
		"a name came": {have: texts("a", ""), now: texts("a", "b"), records: ids(1, 2), cloud: texts("a", "b"), shown: ids(1, 2),
			pull: texts("a", "b")},
		"asked for": {have: texts("a", ""), now: texts("a", "b"), records: ids(1, 2), cloud: texts("a"), shown: ids(1), base: texts("a"),
			pending: true, push: true},
		"asked for, no name": {have: texts("a", ""), now: texts("a", ""), records: ids(1, 2), cloud: texts("a"), shown: ids(1), base: texts("a"),
			pending: true, push: true},
		"replaced": {have: texts("a", "b"), now: texts("a", "b2"), records: ids(1, 2), cloud: texts("a", "b"), shown: ids(1, 0),
			push: true},
		"replaced, told": {have: texts("a", "b"), now: texts("a", "b2"), records: ids(1, 2), cloud: texts("a", "b2"), shown: ids(1, 2),
			pull: texts("a", "b2")},
		"replaced, tracked": {have: texts("a", "b"), now: texts("a", "b2"), records: ids(1, 2), cloud: texts("a", "b"), shown: ids(1, 0),
			mode: modes.Track},
		"replaced, fixed": {have: texts("a", "b"), now: texts("a", "b2"), records: ids(1, 2), cloud: texts("a", "b"), shown: ids(1, 0),
			fixed: true},
		"replaced, and changed in the cloud": {have: texts("a", "b"), now: texts("a", "b2"), records: ids(1, 2), cloud: texts("c"), shown: ids(0),
			pull: texts("c"), recPull: ids(0)},
		"changed, enforced": {have: texts("a", "b"), now: texts("a", "b"), records: ids(1, 2), cloud: texts("c"), shown: ids(0),
			mode: modes.Enforce, push: true},
	} {
		column, other := "nodes", "fixed"
		if c.fixed {
			column, other = other, column
		}
		row, object := modules.Row{}, modules.Row{}
		for name, v := range crateRow(modules.Null, modules.Null, modules.Null, modules.Null) {
			row[name], object[name] = v, v
		}
		row[column], row[column+"_records"] = c.have, c.records
		object[column], object[column+"_records"] = c.cloud, c.shown
		s := &Subject{Table: crate, RecordID: 7, Scope: modules.Scope{Account: "acct", Region: "r1"},
			Record: &Record{ID: 7, Row: row}, RefKeys: modules.Row{column + "_records": c.now},
			Observation: Observation{Presence: Present, Object: object, Cloud: object},
			Can:         modules.Abilities{Create: true, Update: true, Delete: true}}
		if c.pending {
			s.Change = &auditlog.Change{Base: modules.Row{column: c.base}, AuditIDs: []int64{5}}
		}
		p := Policy{Imported: true}
		if c.mode != modes.Normal {
			p.Rules = modes.New([]modes.Rule{{Mode: c.mode}})
		}
		d := Decide(s, p)
		if got := strings.Join(d.Push, ","); got != map[bool]string{true: column}[c.push] {
			t.Errorf("%s: pushes %q", name, got)
		}
		if d.Pull[column] != c.pull || d.Pull[column+"_records"] != c.recPull || !d.Pull[other].IsNull() {
			t.Errorf("%s: pulls %v", name, d.Pull)
		}
	}
}

// A creation comes after those of what its list names, waits for what has no name, and a deletion comes before.
func TestListPlan(t *testing.T) {
	subject := func(records ...int64) *Subject {
		names := make([]string, len(records))
		return &Subject{Table: crate, RecordID: 50, Scope: modules.Scope{Account: "acct", Region: "r1"},
			Record:  &Record{ID: 50, Row: crateRow(texts(names...), modules.IDs(records), modules.Null, modules.Null)},
			RefKeys: modules.Row{"nodes_records": texts(names...)},
			Can:     modules.Abilities{Create: true, Update: true, Delete: true}}
	}
	create := func(s *Subject) Step { return Step{Subject: s, Decision: Decision{Action: Create}} }
	plan := NewPlan([]Step{create(subject(1, 2)), create(nodeSubject(1, 0, 0)), create(nodeSubject(2, 0, 0))})
	if got, want := spell(plan), "create 1 omit [] after\ncreate 2 omit [] after\ncreate 50 omit [] after 1 2\n"; got != want {
		t.Errorf("with both: %s", got)
	}
	plan = NewPlan([]Step{create(subject(1, 2)), create(nodeSubject(1, 0, 0))})
	if got, want := spell(plan), "create 1 omit [] after\n50 waits on 2\n"; got != want {
		t.Errorf("without one: %s", got)
	}
	plan = NewPlan([]Step{create(subject(1, 0)), create(nodeSubject(1, 0, 0))})
	if got := spell(plan); !strings.Contains(got, "50 waits on 50") ||
		!strings.Contains(plan.Waiting[0].Reason, "names a record that is gone") {
		t.Errorf("with one that is gone: %s", got)
	}
	holder := subject()
	holder.Record, holder.Presence = nil, Present
	holder.Cloud = modules.Row{"nodes": texts("n-1")}
	node := nodeSubject(1, 0, 0)
	node.Record, node.Cloud = nil, modules.Row{"node_id": modules.Text("n-1")}
	plan = NewPlan([]Step{{Subject: node, Decision: Decision{Action: Delete}}, {Subject: holder, Decision: Decision{Action: Delete}}})
	if got, want := spell(plan), "delete 50 omit [] after\ndelete 1 omit [] after 50\n"; got != want {
		t.Errorf("deletions: %s", got)
	}
}

// What is known to wait has whatever depends on it wait along, also if the name that it is to have is known already.
func TestPlanWaiting(t *testing.T) {
	create := func(s *Subject) Step { return Step{Subject: s, Decision: Decision{Action: Create}} }
	parent, child := nodeSubject(1, 0, 0), nodeSubject(2, 1, 0)
	child.RefKeys["parent"] = modules.Text("n-1")
	plan := NewPlan([]Step{create(child), create(parent)}, Waiting{Subject: parent, On: RecordRef{"node", 9}, Reason: "waits for node 9"})
	if got, want := spell(plan), "1 waits on 9\n2 waits on 1\n"; got != want {
		t.Errorf("%s", got)
	}
}
