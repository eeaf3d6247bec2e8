package docs

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestFirstChanges follows the pages docs/first-change to the letter: what a page says to type works where the page has
// come to by then, or fails where the page says that it fails.
func TestFirstChanges(t *testing.T) {
	if testing.Short() {
		t.Skip("it compiles a copy of the project: make test-all runs it")
	}
	t.Parallel()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob(filepath.Join(root, "docs/first-change/*.md"))
	if err != nil || len(pages) != 4 {
		t.Fatal(pages, err)
	}
	for _, path := range pages {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".md"), func(t *testing.T) {
			t.Parallel()
			followCommands(t, root, path)
		})
	}
}

func followCommands(t *testing.T, root, path string) {
	path, err := filepath.Rel(root, path)
	if err != nil {
		t.Fatal(err)
	}
	text := read(t, filepath.Join(root, path))
	typed := commands.FindAllStringSubmatchIndex(text, -1)
	if len(typed) == 0 {
		t.Fatalf("%s says nothing to type", path)
	}
	for _, at := range typed {
		overlay := readPage(t, root, path, at[0]).overlay(t, root)
		broken := ""
		if at[2] >= 0 {
			broken = text[at[2]:at[3]]
		}
		for line := range strings.Lines(text[at[4]:at[5]]) {
			line = strings.TrimSpace(line)
			words := strings.Fields(line)
			if words[0] != "go" {
				t.Fatalf("%s: %s is not followed", path, line)
			}
			// Vet goes into the folders of packages, and the overlay's are none.
			out, err := tryRun(t, root, []string{"-overlay=" + overlay, "-vet=off", "-v"}, words[0], words[1:]...)
			switch {
			case broken != "" && (err == nil || !strings.Contains(out, "VIOLATION "+broken+":")):
				t.Errorf("%s: %s does not find %s broken: %v\n%s", path, line, broken, err, out)
			case broken == "" && err != nil:
				t.Errorf("%s: %s: %v\n%s", path, line, err, out)
			case strings.Contains(out, "--- SKIP") || strings.Contains(out, "no tests to run") ||
				strings.Contains(out, "no test files"):
				t.Errorf("%s: %s tests nothing:\n%s", path, line, out)
			}
		}
	}
	// What follows the last command is applied, too.
	readPage(t, root, path, -1).overlay(t, root)
}
