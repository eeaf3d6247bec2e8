package modules

import (
	"context"
	"strings"
)

type withinKey struct{}

// WithLooks returns a context under which a listing may ask within which parents it is to
// look.
func WithLooks(ctx context.Context, looks func(parent string) bool) context.Context {
	return context.WithValue(ctx, withinKey{}, looks)
}

// Looks reports whether a listing is to look for the objects within a parent, by the
// parent's key: of tables that have [Reference.ListedIf] it asks for each that there is.
// What is within one that it does not look into is unknown (R5). Outside of the engine's
// cycles nobody has named any.
func Looks(ctx context.Context, parent string) bool {
	looks, ok := ctx.Value(withinKey{}).(func(string) bool)
	return ok && looks(parent)
}

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
