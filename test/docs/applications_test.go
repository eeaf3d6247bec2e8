package docs

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// length is how many lines that say something a text has, and how many characters those have without the blanks at either end.
func length(text, comment string) (lines, characters int) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, comment) {
			lines, characters = lines+1, characters+len([]rune(line))
		}
	}
	return lines, characters
}

// The page of the applications says how long each is, and how long the same is in Terraform's language.
func TestApplicationsLengths(t *testing.T) {
	const folder = "../../examples/applications"
	page, err := os.ReadFile(filepath.Join(folder, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(folder, "*.sql"))
	if err != nil || len(files) < 6 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".sql")
		sql, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		other, err := os.ReadFile(filepath.Join(folder, name+".tf"))
		if err != nil {
			t.Fatal(err)
		}
		up, _, _ := strings.Cut(string(sql), "COMMIT;")
		lines, characters := length(up, "--")
		theirs, more := length(string(other), "#")
		row := fmt.Sprintf("| [%[1]s](%[1]s.sql) | %[2]d | %[3]d | [%[4]d](%[1]s.tf) | %[5]d |", name, lines+1, characters+len("COMMIT;"), theirs, more)
		if !strings.Contains(string(page), row+"\n") {
			t.Errorf("the page does not say\n%s", row)
		}
	}
}
