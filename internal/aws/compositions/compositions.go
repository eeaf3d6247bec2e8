// Package compositions holds the compositions that the engine brings, a folder each. They are
// SQL alone; docs/compositions.md says what the files of a folder are.
package compositions

import (
	"embed"
	"io/fs"

	"iasql/internal/modules"
)

//go:embed database network static_site web_service
var folders embed.FS

// All reads the compositions. An error is a defect of one.
func All() ([]*modules.Composition, error) {
	entries, err := folders.ReadDir(".")
	if err != nil {
		return nil, err
	}
	var all []*modules.Composition
	for _, entry := range entries {
		folder, err := fs.Sub(folders, entry.Name())
		if err != nil {
			return nil, err
		}
		c, err := modules.ReadComposition(folder)
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}
