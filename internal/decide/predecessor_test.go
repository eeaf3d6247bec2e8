package decide

import (
	"testing"

	"iasql/internal/modes"
	"iasql/internal/modules"
)

// TestDecidePredecessor is R13 for what was replaced by another object of its name: a read
// that shows the old one is too early, also where the record has moved back to it since.
func TestDecidePredecessor(t *testing.T) {
	bucketRow := func(kind, size string) modules.Row {
		return modules.Row{"account": modules.Text("acct"), "name": modules.Text("b"), "kind": modules.Text(kind),
			"size": modules.Text(size)}
	}
	deleted := func(kind, size string) *Intent {
		return &Intent{Kind: OpDelete, Result: ResultOK,
			Columns: map[string]ValueChange{"kind": {From: modules.Text(kind)}, "size": {From: modules.Text(size)}}}
	}
	created := func(kind, size string) *Intent {
		return &Intent{Kind: OpCreate, Result: ResultOK,
			Columns: map[string]ValueChange{"kind": {To: modules.Text(kind)}, "size": {To: modules.Text(size)}}}
	}
	updated := &Intent{Kind: OpUpdate, Result: ResultOK,
		Columns: map[string]ValueChange{"size": {From: modules.Text("2"), To: modules.Text("1")}}}
	for what, c := range map[string]struct {
		record, shown modules.Row
		own           []*Intent
		early         bool
	}{
		"the record asks for another kind": {bucketRow("x", "1"), bucketRow("y", "1"),
			[]*Intent{deleted("y", "1"), created("x", "1")}, true},
		"the record has gone back": {bucketRow("y", "1"), bucketRow("y", "1"),
			[]*Intent{deleted("y", "1"), created("x", "1")}, true},
		"it has gone back, and another column on": {bucketRow("y", "3"), bucketRow("y", "1"),
			[]*Intent{deleted("y", "1"), created("x", "1")}, true},
		"the new one is shown": {bucketRow("y", "1"), bucketRow("x", "1"),
			[]*Intent{deleted("y", "1"), created("x", "1")}, false},
		"back to what can be changed": {bucketRow("y", "1"), bucketRow("y", "1"),
			[]*Intent{deleted("y", "1"), created("y", "2")}, true},
		"the same was made again": {bucketRow("y", "1"), bucketRow("y", "1"),
			[]*Intent{deleted("y", "1"), created("y", "1")}, false},
		"it has been changed back itself": {bucketRow("y", "1"), bucketRow("y", "1"),
			[]*Intent{deleted("y", "1"), created("y", "2"), updated}, false},
		"the first of two that were replaced": {bucketRow("y", "1"), bucketRow("y", "1"),
			[]*Intent{deleted("y", "1"), created("x", "1"), deleted("x", "1"), created("z", "1")}, true},
		"nothing was deleted": {bucketRow("y", "1"), bucketRow("y", "1"),
			[]*Intent{created("x", "1")}, false},
		"what was made does not say what it is like": {bucketRow("y", "1"), bucketRow("y", "1"),
			[]*Intent{deleted("y", "1"), {Kind: OpCreate, Result: ResultOK}}, false},
	} {
		s := subject(c.record, c.shown, nil)
		s.Table, s.Own = bucket, c.own
		if d := Decide(s, mode(modes.Normal)); (d.Reason == "replaced, not visible yet") != c.early || c.early &&
			(!d.Wait || d.Settle || d.Action != Nothing) {
			t.Errorf("%s: %s, wait %t, settle %t (%s)", what, d.Action, d.Wait, d.Settle, d.Reason)
		}
	}
}
