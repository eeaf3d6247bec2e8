package modes

import (
	"slices"
	"testing"
)

// The order of rules does not matter, and a rule that says more wins.
func FuzzRules(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 4, 5})
	f.Add([]byte{255, 254, 17, 17, 99})
	f.Fuzz(func(t *testing.T, seeds []byte) {
		var rules []Rule
		for i, b := range seeds {
			r := Rule{ID: int64(i), Mode: []Mode{Normal, Enforce, Track}[int(b)%3]}
			if b&4 != 0 {
				r.Table = "vpc"
				r.RecordID = int64(b >> 3 & 1)
				r.Column = []string{"", "tags"}[b>>4&1]
			}
			rules = append(rules, r)
		}
		one := New(rules)
		slices.Reverse(rules)
		two := New(rules)
		for _, record := range []int64{1, 2} {
			for _, column := range []string{"", "tags", "id"} {
				if one.Of("vpc", record, column) != two.Of("vpc", record, column) {
					t.Errorf("%v: the order matters", rules)
				}
				rule, ok := one.Explain("vpc", record, column)
				for _, r := range rules {
					applies := (r.Table == "" || r.Table == "vpc") && (r.RecordID == 0 || r.RecordID == record) &&
						(r.Column == "" || r.Column == column)
					if applies && (!ok || weight(r) > weight(rule) || weight(r) == weight(rule) &&
						rank(r.Mode) > rank(rule.Mode)) {
						t.Errorf("%v: for record %d column %q %v was chosen over %v", rules, record, column, rule, r)
					}
				}
			}
		}
	})
}

// weight is how much a rule says: record and column, record, table and column,
// table, nothing.
func weight(r Rule) int {
	w := 0
	if r.Table != "" {
		w = 1
	}
	if r.Column != "" {
		w++
	}
	if r.RecordID != 0 {
		w += 2
	}
	return w
}
