// Package comingfrom writes docs/coming-from-iasql.md: what has become of every name that
// users of IaSQL know, from its columns (testdata/iasql-columns.csv), the differences that a
// person has explained (testdata/differences.csv), and the tables and functions that there are.
// To write it: go test ./test/comingfrom -args -update
package comingfrom

import (
	"encoding/csv"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"iasql/internal/test/everytable"
	"iasql/internal/test/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }

var update = flag.Bool("update", false, "write docs/coming-from-iasql.md")

const (
	page  = "../../docs/coming-from-iasql.md"
	begin = "<!-- What follows is made by go test ./test/comingfrom -args -update -->\n"
)

func table(t *testing.T, file string) [][]string {
	t.Helper()
	f, err := os.Open("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return rows[1:]
}

// difference is what somebody has said of a name.
type difference struct{ is, here, note string }

// row is the difference as a row of the page.
func (d difference) row(name string) string {
	here := ""
	if d.here != "" {
		here = "`" + d.here + "`"
	}
	return fmt.Sprintf("| `%s` | %s | %s | %s |\n", name, d.is, here, d.note)
}

// kinds are types that hold the same values.
var kinds = map[string]string{"character varying": "text", "varchar": "text", "enum": "text", "json": "jsonb",
	"integer": "number", "bigint": "number",
	"timestamp without time zone": "timestamp with time zone", "ARRAY": "text[]", "varchar[]": "text[]"}

func kind(of string) string {
	of, _, _ = strings.Cut(of, "(")
	if k, ok := kinds[of]; ok {
		return k
	}
	return of
}

func TestComingFromIaSQL(t *testing.T) {
	t.Parallel()
	w := everytable.NewWorld(t)
	there := map[string]string{} // what there is: a type of a column, "" of others
	for line := range strings.Lines(w.Admin(`
		SELECT c.relname || '|' FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'v')
		UNION ALL
		SELECT c.relname || '.' || a.attname || '|' || format_type(a.atttypid, NULL)
		FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
		WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'v')
		UNION ALL
		SELECT p.proname || '()|' || p.prokind::text FROM pg_proc p WHERE p.pronamespace = 'public'::regnamespace`)) {
		name, kind, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "|")
		there[name] = kind
	}
	said, used := map[string]difference{}, map[string]bool{}
	for _, row := range table(t, "differences.csv") {
		d := difference{row[1], row[2], row[3]}
		said[row[0]] = d
		_, here := there[d.here]
		switch _, old := there[row[0]]; {
		case !slices.Contains([]string{"same", "renamed", "different", "gone"}, d.is):
			t.Errorf("%s is %q", row[0], d.is)
		case d.is == "gone" && (old || d.here != ""):
			t.Errorf("%s is said to be gone, and is there", row[0])
		case d.is != "gone" && !here:
			t.Errorf("%s is said to be %s here, which is not there", row[0], d.here)
		case (d.is == "same" || d.is == "different") && row[0] != d.here, d.is == "renamed" && row[0] == d.here:
			t.Errorf("%s is said to be %s as %s", row[0], d.is, d.here)
		}
	}
	look := func(name string) (difference, bool) {
		d, ok := said[name]
		used[name] = true
		return d, ok
	}

	var b strings.Builder
	b.WriteString(begin)
	module, last := "", ""
	var same []string
	flush := func() {
		if len(same) > 0 {
			fmt.Fprintf(&b, "| `%s` | same | `%s` | %s |\n", last, last, strings.Join(same, ", "))
		}
		same = nil
	}
	rows := table(t, "iasql-columns.csv")
	for i, row := range rows {
		if row[1] != last || row[0] != module {
			flush()
			if row[0] != module {
				fmt.Fprintf(&b, "\n### %s\n\n| IaSQL | is | here | |\n|---|---|---|---|\n", row[0])
			}
			module, last = row[0], row[1]
			if d, ok := look(row[1]); ok {
				b.WriteString(d.row(row[1]))
			}
		}
		name := row[1] + "." + row[2]
		type_, ok := there[name]
		d, explained := look(name)
		switch {
		case explained:
			b.WriteString(d.row(name))
		case ok && kind(row[3]) != kind(type_):
			b.WriteString(difference{"different", name, fmt.Sprintf("Type `%s`, was `%s`.", type_, row[3])}.row(name))
		case ok:
			same = append(same, "`"+row[2]+"`")
		case said[row[1]].is == "" || said[row[1]].is == "same":
			t.Errorf("%s is neither there nor explained", name)
		}
		if i == len(rows)-1 {
			flush()
		}
	}
	b.WriteString("\n## Functions\n\n| IaSQL | is | here | |\n|---|---|---|---|\n")
	for _, row := range table(t, "differences.csv") {
		if strings.HasSuffix(row[0], "()") {
			used[row[0]] = true
			b.WriteString(said[row[0]].row(row[0]))
		}
	}
	for name := range said {
		if !used[name] {
			t.Errorf("%s is explained, and IaSQL has no such name", name)
		}
	}

	old, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	top, _, ok := strings.Cut(string(old), begin)
	if !ok {
		t.Fatalf("%s has no line %s", page, begin)
	}
	if now := top + b.String(); now != string(old) {
		if !*update {
			t.Fatalf("%s is not what there is: go test ./test/comingfrom -args -update", page)
		}
		if err := os.WriteFile(page, []byte(now), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// Who types IaSQL's SELECT is told to CALL.
func TestSelectOfProcedures(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t)
	for _, name := range []string{"iasql_begin", "iasql_commit", "iasql_rollback"} {
		for _, statement := range []string{"SELECT " + name + "()", "SELECT * FROM " + name + "()"} {
			if _, err := w.TryPSQL(w.UserURL, statement); err == nil ||
				!strings.Contains(err.Error(), "To call a procedure, use CALL") {
				t.Errorf("%s: %v", statement, err)
			}
		}
	}
}
