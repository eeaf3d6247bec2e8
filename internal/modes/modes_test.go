package modes

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestSpecificity(t *testing.T) {
	// From the widest to the most specific; each wins over all before it.
	ladder := []Rule{
		{Mode: Track},
		{Table: "t", Mode: Enforce},
		{Table: "t", Column: "c", Mode: Normal},
		{Table: "t", RecordID: 1, Mode: Track},
		{Table: "t", RecordID: 1, Column: "c", Mode: Enforce},
	}
	for i := range ladder {
		if got := New(ladder[:i+1]).Of("t", 1, "c"); got != ladder[i].Mode {
			t.Errorf("with %+v: %s", ladder[i], got)
		}
	}
	r := New(ladder)
	for _, c := range []struct {
		table  string
		record int64
		column string
		want   Mode
	}{
		{"u", 1, "c", Track}, {"t", 2, "x", Enforce}, {"t", 2, "c", Normal}, {"t", 1, "x", Track}, {"t", 1, "", Track},
		{"t", 0, "", Enforce},
	} {
		if got := r.Of(c.table, c.record, c.column); got != c.want {
			t.Errorf("%s %d %s: %s, want %s", c.table, c.record, c.column, got, c.want)
		}
	}
	if got := New(nil).Of("t", 1, "c"); got != Normal {
		t.Errorf("no rule: %s", got)
	}
}

// TestTies: of rules with the same target TRACK beats NORMAL beats ENFORCE, in
// whatever order they come.
func TestTies(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		drawn := rapid.SliceOfN(rapid.SampledFrom([]Mode{Normal, Enforce, Track}), 1, 4).Draw(t, "modes")
		var rules []Rule
		for _, m := range drawn {
			rules = append(rules, Rule{Table: "t", Mode: m})
		}
		want := Enforce
		if slices.Contains(drawn, Normal) {
			want = Normal
		}
		if slices.Contains(drawn, Track) {
			want = Track
		}
		if got := New(rules).Of("t", 3, "c"); got != want {
			t.Fatalf("%v: %s", drawn, got)
		}
	})
}
