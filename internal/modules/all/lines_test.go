package all_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"iasql/internal/aws"
	"iasql/internal/modules/all"
)

// manyLines is from where a module is named that is long for the tables it has.
const manyLines = 160

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
		of := 0
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasSuffix(file, "_test.go") {
				of += bytes.Count(text, []byte("\n"))
			}
		}
		lines, tables = lines+of, tables+len(m.Resources)
		note := ""
		if of > manyLines*len(m.Resources) {
			note = ", more than 160"
		}
		t.Logf("%-20s %5d lines, %2d tables: %d a table%s", m.Name, of, len(m.Resources), of/len(m.Resources), note)
	}
	t.Logf("%d lines, %d tables: %d a table", lines, tables, lines/max(1, tables))
}
