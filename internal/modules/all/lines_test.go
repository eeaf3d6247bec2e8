package all_test

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"iasql/internal/aws"
	"iasql/internal/modules/all"
)

// manyLines is from where a module is long for the tables it has, and says why in its package's comment.
const manyLines = 160

var why = regexp.MustCompile(`(?m)^// It is long because .+`)

// TestLinesATable tells how many lines of Go there are to a table of each module of AWS, tests not counted: go test -v.
func TestLinesATable(t *testing.T) {
	t.Parallel()
	lines, tables := 0, 0
	for _, m := range all.Modules(aws.New(aws.Options{})) {
		folder := strings.ReplaceAll(m.Name, "_", "")
		if !strings.HasPrefix(folder, "aws") || len(m.Resources) == 0 {
			continue
		}
		files, err := filepath.Glob(filepath.Join("..", folder, "*.go"))
		if err != nil || len(files) == 0 {
			t.Errorf("module %s has no files in %s: %v", m.Name, folder, err)
			continue
		}
		of, reason := 0, false
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasSuffix(file, "_test.go") {
				of += bytes.Count(text, []byte("\n"))
				reason = reason || why.Match(text)
			}
		}
		lines, tables = lines+of, tables+len(m.Resources)
		note := ""
		switch long := of > manyLines*len(m.Resources); {
		case long && reason:
			note = ", and says why"
		case long:
			t.Errorf("module %s has more than %d lines a table, and no line that says: It is long because ...", m.Name, manyLines)
		case reason:
			t.Errorf("module %s says why it is long, and is not", m.Name)
		}
		t.Logf("%-20s %5d lines, %2d tables: %d a table%s", m.Name, of, len(m.Resources), of/len(m.Resources), note)
	}
	t.Logf("%d lines, %d tables: %d a table", lines, tables, lines/max(1, tables))
}
