package declare_test

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules/all"
)

// TestRichest checks what calls the richest object of each declared table is made and changed by. The API's own shapes
// stand for AWS: no emulator has all of what AWS lets one set. What a call does with it is for the tests of the
// modules.
func TestRichest(t *testing.T) {
	t.Parallel()
	tables, columns := 0, 0
	for _, m := range all.Modules(aws.New(aws.Options{})) {
		for _, r := range m.Resources {
			declared, ok := r.(*declare.Resource)
			if !ok || len(declared.Made()) == 0 {
				continue
			}
			tables++
			t.Run(declared.Table().Name, func(t *testing.T) { columns += declared.Rehearse(t) })
		}
	}
	t.Logf("%d tables, %d columns changed alone", tables, columns)
}

// TestLife takes the richest object of every table through its life in an account made of the API's shapes: it is
// imported, read again, each column that can be changed is changed alone, with nothing else of the object another one
// afterwards (R35), and the same object is made from its row. What cannot be taken through it is in elsewhere, with a
// reason and the test that does; a table, or a column, that is in neither fails.
func TestLife(t *testing.T) {
	t.Parallel()
	shapes, clients := declare.NewShapes()
	tables, columns, others := 0, 0, 0
	unknown := slices.Collect(maps.Keys(elsewhere))
	written := maps.Clone(handWritten)
	for _, m := range all.Modules(clients) {
		for _, r := range m.Resources {
			name := r.Table().Name
			declared, ok := r.(*declare.Resource)
			if !ok {
				if test := written[name]; test == "" && m.Name != "aws_account" && strings.HasPrefix(m.Name, "aws_") {
					t.Errorf("table %s is not declared, and it is not said which test takes it through its life", name)
				} else if test != "" {
					exists(t, test)
				}
				delete(written, name)
				continue
			}
			unknown = slices.DeleteFunc(unknown, func(table string) bool { return table == name })
			tables++
			t.Run(name, func(t *testing.T) {
				changed, wrong := shapes.Live(t, declared)
				columns += len(changed)
				others += lived(t, name, wrong)
			})
		}
	}
	for _, table := range append(unknown, slices.Collect(maps.Keys(written))...) {
		t.Errorf("table %s: there is no such one", table)
	}
	t.Logf("%d tables and %d columns changed alone; %d columns by other tests, and %d tables that are written by hand",
		tables, columns, others, len(handWritten))
}

// lived compares what is wrong with a table in an account of shapes with what is said of it, and returns how many
// columns other tests change.
func lived(t *testing.T, table string, wrong map[string][]string) (others int) {
	t.Helper()
	for _, some := range elsewhere[table] {
		for _, test := range some.tests {
			exists(t, test)
		}
		for _, column := range some.columns {
			others++
			if len(wrong[column]) == 0 {
				t.Errorf("column %q: it needs no other test", column)
			}
			delete(wrong, column)
		}
	}
	for _, column := range slices.Sorted(maps.Keys(wrong)) {
		t.Errorf("column %q: %s", column, strings.Join(wrong[column], "\n"))
	}
	return others
}

// exists checks that a module has a test.
func exists(t *testing.T, test string) {
	t.Helper()
	module, name, _ := strings.Cut(test, ".")
	files, err := filepath.Glob("../../modules/" + module + "/*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	is := regexp.MustCompile(`(?m)^func ` + name + `\(`)
	for _, file := range files {
		if text, err := os.ReadFile(file); err == nil && is.Match(text) {
			return
		}
	}
	t.Errorf("module %s has no test %s", module, name)
}
