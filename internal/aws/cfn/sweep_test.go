package cfn

import (
	"bufio"
	"compress/gzip"
	"os"
	"sort"
	"strings"
	"testing"
)

// published is where the schemas are that AWS has published; tests that need them are
// skipped where it is not there.
const published = "../../../../shared/cfn-schemas/all.jsonl.gz"

// eachPublished calls f with every published schema.
func eachPublished(t testing.TB, f func(text []byte)) {
	t.Helper()
	if !eachPublishedIfThere(t, f) {
		t.Skipf("%s is not there", published)
	}
}

// eachPublishedIfThere does so, and returns false where there are none.
func eachPublishedIfThere(t testing.TB, f func(text []byte)) bool {
	t.Helper()
	file, err := os.Open(published)
	if os.IsNotExist(err) {
		return false
	}
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(unzipped)
	lines.Buffer(nil, 8<<20)
	for lines.Scan() {
		f(lines.Bytes())
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return true
}

// TestEveryPublishedSchemaIsATable makes a table of every published schema, and counts what
// the tables have.
func TestEveryPublishedSchemaIsATable(t *testing.T) {
	var types, columns, checks, patterns, left int
	tables, refused := map[string]string{}, map[string]int{}
	var untouched []string
	eachPublished(t, func(text []byte) {
		types++
		s, err := Parse(text)
		if err != nil {
			refused[err.Error()]++
			return
		}
		l, err := Lay(s, Layout{}, 1, Around{Taken: func(name string) bool { _, ok := tables[name]; return ok }})
		if err != nil {
			t.Errorf("%s: %v", s.Name, err)
			return
		}
		tables[l.Table] = s.Name
		made, err := New(s, l, nil)
		if err != nil {
			t.Errorf("%s: %v", s.Name, err)
			return
		}
		if len(made.Table.EventMappings) == 0 && (s.Can("create") || s.Can("update") || s.Can("delete")) {
			untouched = append(untouched, s.Name)
		}
		if l.Table != TableName(s.Name) {
			t.Logf("%s is %s", s.Name, l.Table)
		}
		for _, c := range made.columns {
			columns++
			if c.Check != "" {
				checks++
			}
			if strings.Contains(c.Check, " ~ ") {
				patterns++
			} else if p, _ := s.resolve(s.properties()[c.property])["pattern"].(string); p != "" && c.Type == "text" &&
				!c.Computed && !c.WriteOnly {
				left++
			}
			if strings.HasSuffix(c.Name, "_2") {
				t.Logf("%s: %s is %s", s.Name, c.property, c.Name)
			}
		}
	})
	t.Logf("%d schemas, %d tables, %d columns, %d with a check, %d with a pattern; %d patterns are left out", types,
		len(tables), columns, checks, patterns, left)
	if len(untouched) > types/100 {
		t.Errorf("no call touches the tables of %v", untouched)
	}
	var reasons []string
	for reason, n := range refused {
		reasons = append(reasons, reason)
		t.Logf("%d: %s", n, reason)
	}
	sort.Strings(reasons)
	if len(tables) < types*99/100 {
		t.Errorf("of %d schemas %d have a table", types, len(tables))
	}
}
