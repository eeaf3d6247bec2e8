// Package docs follows the documentation to the letter.
package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// What docs/add-a-module.md says, done in this repository by way of an overlay,
// makes a resource that works: it conforms, and it is short.
func TestAddAModule(t *testing.T) {
	if testing.Short() {
		t.Skip("it compiles modules: make test-all runs it")
	}
	t.Parallel()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	p := readPage(t, root, "docs/add-a-module.md", -1)
	if p.lines >= mostLines {
		t.Errorf("the module has %d lines, and should have fewer than %d", p.lines, mostLines)
	}
	if len(p.content) < 5 {
		t.Fatalf("the document has only %d files", len(p.content))
	}
	overlay := p.overlay(t, root)

	// What the page adds to go.mod is added to a copy.
	modfile := filepath.Join(t.TempDir(), "go.mod")
	for name, to := range map[string]string{"go.mod": modfile, "go.sum": strings.TrimSuffix(modfile, ".mod") + ".sum"} {
		content, err := os.ReadFile(filepath.Join(root, name))
		if err == nil {
			err = os.WriteFile(to, content, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	flags := []string{"-overlay=" + overlay, "-modfile=" + modfile}
	get := regexp.MustCompile("(?m)^```sh\ngo (get .*)\n```$").FindStringSubmatch(p.text)
	if get == nil {
		t.Fatal("the page does not say which package to get")
	}
	run(t, root, flags[1:], "go", strings.Fields(get[1])...)
	// Vet goes into the folders of packages, and the overlay's are none.
	out := run(t, root, flags, "go", "test", "-vet=off", "-count=1", "-v", "./test/conformance", "-run",
		"TestConformance/aws_resource_groups$")
	if !strings.Contains(out, "--- PASS: TestConformance/aws_resource_groups/") || strings.Contains(out, "--- SKIP") {
		t.Errorf("the new table was not put through the conformance suite:\n%s", out)
	}
}

// What the page adds, the test included, is as little as it says.
const mostLines = 80
