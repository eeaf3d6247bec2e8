package decide

import (
	"strings"
	"testing"

	"iasql/internal/auditlog"
	"iasql/internal/modes"
	"iasql/internal/modules"
)

// TestDecideAdoptsWithin: what is fixed at creation within a JSON column is the object's,
// too, when an INSERT meets it.
func TestDecideAdoptsWithin(t *testing.T) {
	box := &modules.Table{Name: "box", Doc: "Boxes.", Creation: modules.ByTag, Columns: []modules.Column{
		{Name: "account", Type: modules.TypeText, Doc: "a", Required: true, CreateOnly: true},
		{Name: "box_id", Type: modules.TypeText, Doc: "i", Identity: true, Computed: true},
		{Name: "form", Type: modules.TypeJSON, Doc: "f", RequiresReplacement: func(string, string) bool {
			return true
		}},
	}}
	values := func(form string) modules.Row {
		return modules.Row{"account": modules.Text("acct"), "box_id": modules.Text("b-1"), "form": modules.Text(form)}
	}
	for _, m := range []modes.Mode{modes.Normal, modes.Enforce} {
		s := &Subject{Table: box, RecordID: 1, Record: &Record{ID: 1, Version: "1", Row: values(`{"a":1}`)},
			Can:         modules.Abilities{Create: true, Update: true, Delete: true},
			Observation: Observation{Presence: Present, Object: values(`{"a":2}`), Cloud: values(`{"a":2}`)},
			Change:      &auditlog.Change{AuditIDs: []int64{7}, Insert: true, Base: modules.Row{"form": modules.Null}}}
		d := Decide(s, mode(m))
		if d.Action != UpdateRecord || d.Pull["form"] != modules.Text(`{"a":2}`) || len(d.Conflicts) != 1 ||
			!d.Conflicts[0].PulledAnyway {
			t.Errorf("%s: decided %s, pull %v, conflicts %v", m, d.Action, d.Pull, d.Conflicts)
		}
	}
}

// TestDecideUnsettledAdoption: a record that has named the object of another, and is
// deleted before it is settled, takes nothing along; nor does it where nobody knows yet
// whose the object is.
func TestDecideUnsettledAdoption(t *testing.T) {
	gone := func(c Claim) *Subject {
		s := subject(nil, row(), nil)
		s.Change = &auditlog.Change{AuditIDs: []int64{7, 8}, Insert: true, Delete: true, Last: row()}
		s.Claim = c
		return s
	}
	for _, m := range []modes.Mode{modes.Normal, modes.Enforce, modes.Pause} {
		if d := Decide(gone(Claim{By: 2}), mode(m)); d.Action != Nothing || !d.Settle {
			t.Errorf("%s, another's: decided %s, settle %t", m, d.Action, d.Settle)
		}
		doubted := gone(Claim{})
		doubted.Doubt = true
		if d := Decide(doubted, mode(m)); d.Action != Nothing || d.Settle || d.State != StateWaiting {
			t.Errorf("%s, in doubt: decided %s, settle %t, %s", m, d.Action, d.Settle, d.State)
		}
	}
	if d := Decide(gone(Claim{}), mode(modes.Normal)); d.Action != Delete {
		t.Errorf("nobody else's: decided %s", d.Action)
	}
}

// TestDecideDeposedClaimed: what a replacement has left to be deleted stays so until the
// record that takes it over is settled, which may be deleted before.
func TestDecideDeposedClaimed(t *testing.T) {
	deposed := func(p Presence, c Claim) *Subject {
		s := subject(nil, row(), nil)
		s.Deposed, s.Presence, s.Claim, s.State = true, p, c,
			&State{Name: StateReplacing, Due: true, Binding: Binding{Identity: row()}}
		return s
	}
	if d := Decide(deposed(Present, Claim{By: 2, Pending: true}), mode(modes.Normal)); d.Action != Nothing ||
		d.Settle || !d.Wait {
		t.Errorf("about to be taken over: decided %s, settle %t", d.Action, d.Settle)
	}
	if d := Decide(deposed(Absent, Claim{By: 2, Pending: true}), mode(modes.Normal)); !d.Settle {
		t.Errorf("gone, and asked for: decided %s, settle %t", d.Action, d.Settle)
	}
	if d := Decide(deposed(Present, Claim{By: 2}), mode(modes.Normal)); d.Action != Nothing || !d.Settle {
		t.Errorf("taken over: decided %s, settle %t", d.Action, d.Settle)
	}
}

// TestDecideReplacedWithoutSecret: an object is not given up for one that cannot be made.
func TestDecideReplacedWithoutSecret(t *testing.T) {
	box := &modules.Table{Name: "box", Doc: "Boxes.", Creation: modules.ByName, DestroyBeforeCreate: true,
		Columns: []modules.Column{
			{Name: "account", Type: modules.TypeText, Doc: "a", Required: true, CreateOnly: true},
			{Name: "name", Type: modules.TypeText, Doc: "n", Required: true, Identity: true, CreateOnly: true},
			{Name: "form", Type: modules.TypeText, Doc: "f", CreateOnly: true},
			{Name: "key", Type: modules.TypeText, Doc: "k", WriteOnly: true, Needed: true},
		}}
	values := func(form string, key modules.Value) modules.Row {
		return modules.Row{"account": modules.Text("acct"), "name": modules.Text("b"), "form": modules.Text(form),
			"key": key}
	}
	for _, m := range []modes.Mode{modes.Normal, modes.Enforce} {
		s := &Subject{Table: box, RecordID: 1, Record: &Record{ID: 1, Version: "1", Row: values("new", modules.Null)},
			Can: modules.Abilities{Create: true, Update: true, Delete: true},
			Observation: Observation{Presence: Present, Object: values("old", modules.Null),
				Cloud: values("old", modules.Null)},
			Change: &auditlog.Change{AuditIDs: []int64{7}, Base: modules.Row{"form": modules.Text("old")}}}
		if d := Decide(s, mode(m)); d.Action != Nothing || d.State != StateUpdatingFailed || !d.Review ||
			!strings.Contains(d.Reason, "needs key") {
			t.Errorf("%s: decided %s, %s: %s", m, d.Action, d.State, d.Reason)
		}
		s.Record.Row["key"] = modules.Text("secret")
		if d := Decide(s, mode(m)); d.Action != Replace {
			t.Errorf("%s, with the secret: decided %s, %s", m, d.Action, d.Reason)
		}
	}
}

// TestPullRefusedToo: a state that waits says as well what the database refuses, and comes
// back to it.
func TestPullRefusedToo(t *testing.T) {
	s := subject(row(), row(), nil)
	waits := s.Waiting(Decision{State: StateUpdatingFailed, Review: true, Reason: "not kept"}, func() float64 {
		return 0
	})
	err := &modules.Error{Class: modules.Invalid, Message: "duplicate"}
	st := s.PullRefusedToo(waits, err, func() float64 { return 0 })
	if !strings.HasPrefix(st.Message, "not kept; and the cloud's value does not fit the table: ") ||
		!st.Says("not kept") || st.Says("not") || st.Code != codeDatabase || st.Backoff == 0 {
		t.Errorf("%+v", st)
	}
	if waits.Code != "" || waits.Message != "not kept" {
		t.Errorf("the first was changed: %+v", waits)
	}
}

// TestDecideDoubtfulAbsence: what somebody has named by its id is not made again, nor
// said to be missing, while it may be what a creation in doubt has made.
func TestDecideDoubtfulAbsence(t *testing.T) {
	again := subject(row(), nil, nil)
	again.Change = &auditlog.Change{AuditIDs: []int64{7, 8}, Again: true, Base: modules.Row{}}
	named := subject(row(), nil, nil)
	named.Change = &auditlog.Change{AuditIDs: []int64{7}, Insert: true, Base: modules.Row{}}
	for what, s := range map[string]*Subject{"inserted again": again, "adopting": named} {
		sure := Decide(s, mode(modes.Normal))
		if sure.Action != Create && sure.State != StateCreatingFailed {
			t.Errorf("%s: decided %s, %s", what, sure.Action, sure.State)
		}
		s.Doubt = true
		if d := Decide(s, mode(modes.Normal)); d.Action != Nothing || d.State != StateWaiting || d.Review {
			t.Errorf("%s, in doubt: decided %s, %s", what, d.Action, d.State)
		}
	}
}

// TestDecideNameBesideRecord: a name follows the record beside it in every mode, whatever
// the row was given when it was inserted; else the name of what was replaced would be pushed
// for ever.
func TestDecideNameBesideRecord(t *testing.T) {
	child := &modules.Table{Name: "child", Doc: "Children.", Creation: modules.ByTag, Columns: []modules.Column{
		{Name: "account", Type: modules.TypeText, Doc: "a", Required: true, CreateOnly: true},
		{Name: "child_id", Type: modules.TypeText, Doc: "i", Identity: true, Computed: true},
		{Name: "parent", Type: modules.TypeText, Doc: "p"},
		{Name: "parent_record", Type: modules.TypeBigint, Doc: "r",
			References: &modules.Reference{Table: "parent", Key: "name", NameColumn: "parent"}},
	}}
	values := func(parent string) modules.Row {
		return modules.Row{"account": modules.Text("acct"), "child_id": modules.Text("c-1"),
			"parent": modules.Text(parent), "parent_record": modules.Int(5)}
	}
	for what, base := range map[string]*auditlog.Change{
		"nothing pending": nil,
		"inserted": {AuditIDs: []int64{7}, Insert: true,
			Base: modules.Row{"parent": modules.Null, "parent_record": modules.Null}},
		"changed": {AuditIDs: []int64{7},
			Base: modules.Row{"parent": modules.Text("older"), "parent_record": modules.Int(4)}},
	} {
		for _, m := range []modes.Mode{modes.Normal, modes.Enforce, modes.Track} {
			s := &Subject{Table: child, RecordID: 1, Record: &Record{ID: 1, Version: "1", Row: values("old")},
				Can:     modules.Abilities{Create: true, Update: true, Delete: true},
				RefKeys: modules.Row{"parent_record": modules.Text("new")}, Change: base,
				State: &State{Name: StateCreating, Due: true,
					Binding: Binding{Identity: modules.Row{"account": modules.Text("acct"),
						"child_id": modules.Text("c-1")}}},
				Observation: Observation{Presence: Present, Object: values("new"),
					Cloud: modules.Row{"account": modules.Text("acct"), "child_id": modules.Text("c-1"),
						"parent": modules.Text("new")}}}
			if d := Decide(s, mode(m)); len(d.Push) > 0 || d.Pull["parent"] != modules.Text("new") {
				t.Errorf("%s, %s: push %v, pull %v", what, m, d.Push, d.Pull)
			}
		}
	}
}
