package sync

import (
	"testing"

	"iasql/internal/modules"
)

// A listing looks into what is named, and what it was asked about and has left out is not
// known. What it was not asked about is not there.
func TestWithin(t *testing.T) {
	t.Parallel()
	table := &modules.Table{Name: "file"}
	p := &parents{named: []string{"a", "c"}, leftOut: map[string]bool{}}
	selected := p.selected()
	for parent, want := range map[string]bool{"a": true, "b": false, "c": true, "": false} {
		if got := selected(parent); got != want {
			t.Errorf("%q: %t", parent, got)
		}
	}
	for key, want := range map[string]bool{"a\x1fk": false, "b\x1fk": true, "b\x1fk\x1fk": true, "gone\x1fk": false} {
		if got := p.hides(table, key); got != want {
			t.Errorf("%q: %t", key, got)
		}
	}
	var none *parents
	if none.hides(table, "b\x1fk") || none.digest() != "" || none.selected() != nil {
		t.Error("a table that is listed within all hides something")
	}
	other := &parents{named: []string{"a"}}
	if p.digest() == other.digest() || p.digest() == "" || (&parents{}).digest() == "" {
		t.Errorf("digests: %q, %q", p.digest(), other.digest())
	}
}
