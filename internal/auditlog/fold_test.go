package auditlog

import (
	"testing"

	"pgregory.net/rapid"

	"iasql/internal/modules"
)

var things = &modules.Table{Name: "thing", Doc: "Things.", Columns: []modules.Column{
	{Name: "a", Type: modules.TypeText, Doc: "a"}, {Name: "b", Type: modules.TypeText, Doc: "b"},
	{Name: "local", Type: modules.TypeText, Doc: "l", Local: true},
}}

// TestFold plays any history of a record and checks the folded change against
// what the record was before and is now.
func TestFold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := func(l string) modules.Value {
			return modules.Text(rapid.SampledFrom([]string{"1", "2", "3"}).Draw(t, l))
		}
		var (
			row    modules.Row
			change *Change
			before modules.Row
		)
		if rapid.Bool().Draw(t, "existed") {
			row = modules.Row{"a": modules.Text("0"), "b": modules.Text("0"), "local": modules.Text("0")}
			before = row.Clone()
		}
		n := rapid.IntRange(1, 6).Draw(t, "entries")
		for id := int64(1); id <= int64(n); id++ {
			switch {
			case row == nil:
				row = modules.Row{"a": value("a"), "b": value("b"), "local": modules.Null}
				change = change.Fold(things, Entry{ID: id, Type: "INSERT"})
			case rapid.IntRange(0, 3).Draw(t, "delete") == 0:
				change = change.Fold(things, Entry{ID: id, Type: "DELETE", Original: row})
				row = nil
			default:
				name := rapid.SampledFrom([]string{"a", "b", "local"}).Draw(t, "column")
				old := row[name]
				row = row.Clone()
				row[name] = value("to")
				change = change.Fold(things, Entry{ID: id, Type: "UPDATE", Original: modules.Row{name: old}})
			}
		}
		if len(change.AuditIDs) != n || change.Latest() != int64(n) {
			t.Fatalf("%d entries, folded %v", n, change.AuditIDs)
		}
		if change.Delete != (row == nil) {
			t.Fatalf("Delete %t, row %v", change.Delete, row)
		}
		if change.Delete && change.Last == nil {
			t.Fatal("the deleted row is not kept")
		}
		if change.Insert != (before == nil) {
			t.Fatalf("Insert %t, and the record existed: %t", change.Insert, before != nil)
		}
		for name, base := range change.Base {
			if name == "local" {
				t.Fatal("a local column is nobody's business")
			}
			if before != nil && base != before[name] {
				t.Fatalf("base of %s is %q, was %q", name, base, before[name])
			}
		}
		for name := range before {
			if _, ok := change.Base[name]; name != "local" && row != nil && row[name] != before[name] && !ok {
				t.Fatalf("%s changed and has no base", name)
			}
		}
	})
}
