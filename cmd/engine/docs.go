package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"iasql/internal/modules"
)

//go:generate go run . docs ../../docs/modules ../../examples/modules

type docsCmd struct {
	Dir      string `arg:"" help:"Where the pages go."`
	Examples string `arg:"" help:"Where the worked examples are, one file a module."`
}

// Run writes a page for each module.
func (c *docsCmd) Run() error {
	registry, err := descriptions()
	if err != nil {
		return err
	}
	// #nosec G301 -- pages for everybody to read
	if err := os.MkdirAll(c.Dir, 0o755); err != nil {
		return err
	}
	for _, m := range registry.Modules() {
		text, err := page(m, c.Examples)
		if err != nil {
			return err
		}
		// #nosec G306 -- pages for everybody to read
		if err := os.WriteFile(filepath.Join(c.Dir, m.Name+".md"), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

func page(m *modules.Module, examples string) (string, error) {
	example, err := os.ReadFile(filepath.Join(examples, m.Name+".sql")) // #nosec G304 -- where the caller says
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	return m.Markdown(string(example)), nil
}
