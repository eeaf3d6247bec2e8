package main

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"iasql/internal/modules"
)

//go:generate go run . docs ../../docs/modules ../../examples/modules

type docsCmd struct {
	args []string // where the pages go, and where the worked examples are, one file a module
}

func (c *docsCmd) flags(f *flagSet) {
	f.args, f.argument, f.least = &c.args, "<dir> <examples>", 2
}

// run writes a page for each module.
func (c *docsCmd) run(context.Context, *slog.Logger) error {
	dir, examples := c.args[0], c.args[1]
	registry, err := descriptions()
	if err != nil {
		return err
	}
	// #nosec G301 -- pages for everybody to read
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, m := range registry.Modules() {
		text, err := page(m, examples)
		if err != nil {
			return err
		}
		// #nosec G306 -- pages for everybody to read
		if err := os.WriteFile(filepath.Join(dir, m.Name+".md"), []byte(text), 0o644); err != nil {
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
