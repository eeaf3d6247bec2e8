package main

import (
	"os"
	"path/filepath"
	"testing"
)

// The pages in docs/modules say what the descriptions say, and every module has
// a worked example.
func TestDocsAreUpToDate(t *testing.T) {
	t.Parallel()
	registry, err := descriptions()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range registry.Modules() {
		want, err := page(m, "../../examples/modules")
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join("../../docs/modules", m.Name+".md"))
		if err != nil || string(got) != want {
			t.Errorf("docs/modules/%s.md is not what its descriptions say (%v): make generate", m.Name, err)
		}
		if _, err := os.Stat(filepath.Join("../../examples/modules", m.Name+".sql")); err != nil {
			t.Errorf("module %s has no worked example: %v", m.Name, err)
		}
	}
}
