package batches

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"iasql/internal/aws/compositions"
	"iasql/internal/modules"
	"iasql/internal/test/harness"
)

// shape is what a table is: columns, constraints and comments, whatever their order.
const shape = `SELECT E'shape\n' || string_agg(line, E'\n' ORDER BY line COLLATE "C") FROM (
	SELECT concat_ws(' ', a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, pg_get_expr(d.adbin, d.adrelid), col_description(a.attrelid, a.attnum)) AS line
	FROM pg_attribute a LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
	WHERE a.attrelid = 'public.%[1]s'::regclass AND a.attnum > 0 AND NOT a.attisdropped
	UNION ALL SELECT pg_get_constraintdef(c.oid) FROM pg_constraint c WHERE c.conrelid = 'public.%[1]s'::regclass) s`

// Whoever has an earlier version of a composition that the engine brings gets the table that whoever begins with
// the latest gets. The interfaces that were released are in testdata/interfaces.
func TestUpgradedInterfaces(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, east)
	all, err := compositions.All()
	if err != nil {
		t.Fatal(err)
	}
	made := func(of *modules.Composition, statements ...string) string {
		text := "BEGIN;"
		for _, s := range statements {
			text += s + ";"
		}
		_, is, _ := strings.Cut(w.Admin(text+fmt.Sprintf(shape, of.Name)+"; ROLLBACK"), "shape\n")
		return is
	}
	for _, c := range all {
		want := made(c, c.Interface)
		for v := 1; v < c.Version; v++ {
			first, err := os.ReadFile(filepath.Join("testdata", "interfaces", fmt.Sprintf("%s_%d.sql", c.Name, v)))
			if err != nil {
				t.Fatal(err)
			}
			statements := []string{string(first)}
			for next := v + 1; next <= c.Version; next++ {
				statements = append(statements, c.Upgrades[next])
			}
			if got := made(c, statements...); got != want {
				t.Errorf("%s, from version %d:\n%s\nwant\n%s", c.Name, v, got, want)
			}
		}
	}
}
