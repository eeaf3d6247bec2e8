package doctor

import (
	"testing"

	"iasql/internal/aws"
	"iasql/internal/modules"
	"iasql/internal/modules/all"
	"iasql/internal/test/testdb"
)

// Every constraint that rows are held against can be evaluated away from its table,
// and takes a row of NULLs unless it asks for something.
func TestConstraintsCanBeEvaluated(t *testing.T) {
	t.Parallel()
	registry, err := modules.NewRegistry(all.Modules(aws.New(aws.Options{}))...)
	if err != nil {
		t.Fatal(err)
	}
	db, err := openDatabase(t.Context(), testdb.New(t))
	if err != nil {
		t.Fatal(err)
	}
	defer db.close(t.Context())
	n := 0
	for _, m := range registry.Modules() {
		for _, table := range m.Tables() {
			empty := modules.Row{}
			for i := range table.Columns {
				empty[table.Columns[i].Name] = modules.Null
			}
			for _, k := range constraintsOf(table) {
				text, ok := k.of(empty)
				if !ok {
					t.Errorf("%s: CHECK (%s) speaks of a column that is not there", table.Name, k.expression)
					continue
				}
				if _, err := db.refused(t.Context(), k, []string{text}); err != nil {
					t.Errorf("%s: CHECK (%s) cannot be evaluated: %v", table.Name, k.expression, err)
				}
				n++
			}
		}
	}
	if n < 100 {
		t.Errorf("only %d constraints", n)
	}
}
