package schemas

import (
	"maps"
	"slices"
	"testing"

	"iasql/internal/aws/facts"
)

// TestCoverage: of each resource type that a table is of, every property that one may write is a column, or has a
// reason; and of all together 95 in 100 are.
func TestCoverage(t *testing.T) {
	t.Parallel()
	where := map[string]map[string]string{} // by type and property: "" for a column or table, else the reason
	of := map[string]bool{}
	for _, table := range tables() {
		for _, name := range types[table.Name] {
			of[name] = true
		}
		for _, p := range table.Properties {
			if where[p.Type] == nil {
				where[p.Type] = map[string]string{}
			}
			if reason, told := where[p.Type][p.Name]; !told || reason != "" {
				where[p.Type][p.Name] = p.Reason
			}
			if table.Column(p.Column) == nil && p.Column != "" && p.Table == table.Name {
				t.Errorf("%s of %s is said to be the column %s of %s, which has none", p.Name, p.Type, p.Column, p.Table)
			}
		}
	}
	all, columns := 0, 0
	for _, name := range slices.Sorted(maps.Keys(of)) {
		said := where[name]
		if said == nil {
			t.Logf("no table says where the properties of %s are", name)
		}
		n, has := 0, 0
		for _, p := range facts.Of(name).Properties {
			if p.ReadOnly {
				continue
			}
			n++
			switch reason, told := said[p.Name]; {
			case !told && said != nil:
				t.Errorf("%s of %s is no column and has no reason", p.Name, name)
			case told && reason == "":
				has++
			case told:
				t.Logf("%s of %s: %s", p.Name, name, reason)
			}
		}
		t.Logf("%-45s %d of %d", name, has, n)
		all, columns = all+n, columns+has
	}
	t.Logf("all: %d of %d (%.1f %%)", columns, all, 100*float64(columns)/float64(all))
}
