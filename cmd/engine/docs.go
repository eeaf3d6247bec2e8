package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"iasql/internal/modules"
)

//go:generate go run . docs ../../docs/modules ../../examples/modules

func docsCommand() *cobra.Command {
	return &cobra.Command{
		Use: "docs DIR EXAMPLES", Short: "Write the modules' pages of the documentation.", Hidden: true,
		Args: cobra.ExactArgs(2),
		RunE: func(_ *cobra.Command, args []string) error { return docs(args[0], args[1]) },
	}
}

// docs writes a page for each module to dir; examples has one file a module.
func docs(dir, examples string) error {
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
