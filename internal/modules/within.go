package modules

import "strings"

// ListedWithin returns the column that names what an object is within, of tables whose
// objects are listed within some parents only ([Reference.ListedIf]); nil for all others.
func (t *Table) ListedWithin() *Column {
	for i := range t.Columns {
		if ref := t.Columns[i].References; ref != nil && ref.ListedIf != "" {
			return &t.Columns[i]
		}
	}
	return nil
}

// WithinOf returns the key of what an object is within, by its own key.
func (t *Table) WithinOf(key string) string {
	parent, _, _ := strings.Cut(key, "\x1f")
	return parent
}
