package decide

import (
	"testing"

	"iasql/internal/auditlog"
	"iasql/internal/modes"
	"iasql/internal/modules"
)

// A route leads to one of several targets: a user sets one and clears another,
// which the cloud gives up as soon as it has the one.
func TestDecideChosenIsPulledLast(t *testing.T) {
	route := &modules.Table{
		Name: "route", Doc: "Routes.", Creation: modules.ByName,
		Columns: []modules.Column{
			{Name: "account", Type: modules.TypeText, Doc: "a", Required: true, CreateOnly: true},
			{Name: "name", Type: modules.TypeText, Doc: "n", Required: true, Identity: true, CreateOnly: true},
			{Name: "gateway", Type: modules.TypeText, Doc: "g", OptionalComputed: true},
			{Name: "nat", Type: modules.TypeText, Doc: "n", OptionalComputed: true},
		},
	}
	if err := route.Validate(); err != nil {
		t.Fatal(err)
	}
	row := func(gateway, nat modules.Value) modules.Row {
		return modules.Row{"account": modules.Text("acct"), "name": modules.Text("r"), "gateway": gateway, "nat": nat}
	}
	igw, nat := modules.Text("igw-1"), modules.Text("nat-1")
	s := &Subject{
		Table: route, RecordID: 1, Can: modules.Abilities{Create: true, Update: true, Delete: true},
		Record:      &Record{ID: 1, Version: "1", Row: row(modules.Null, nat)},
		Observation: Observation{Presence: Present, Object: row(igw, modules.Null), Cloud: row(igw, modules.Null)},
		Change:      &auditlog.Change{AuditIDs: []int64{7}, Base: modules.Row{"gateway": igw, "nat": modules.Null}},
	}
	if d := Decide(s, mode(modes.Normal)); d.Action != Update || len(d.Push) != 1 || d.Push[0] != "nat" ||
		len(d.Pull) > 0 {
		t.Errorf("both targets differ: %s, push %v, pull %v", d.Action, d.Push, d.Pull)
	}
	s.Object = row(modules.Null, nat)
	if d := Decide(s, mode(modes.Normal)); d.Action != Nothing || !d.Settle {
		t.Errorf("the new target is there: %s, settle %t", d.Action, d.Settle)
	}
	s.Object = row(igw, nat) // what a user leaves to the cloud may stay
	if d := Decide(s, mode(modes.Normal)); d.Action != UpdateRecord || !d.Settle || d.Pull["gateway"] != igw {
		t.Errorf("the cloud has chosen: %s, pull %v", d.Action, d.Pull)
	}
	// Somebody has set the other target, and the database wins.
	s.Change, s.Object, s.Cloud = nil, row(igw, modules.Null), row(igw, modules.Null)
	if d := Decide(s, mode(modes.Enforce)); d.Action != Update || len(d.Push) != 1 || d.Push[0] != "nat" ||
		len(d.Pull) > 0 {
		t.Errorf("the other target is set: %s, push %v, pull %v", d.Action, d.Push, d.Pull)
	}
	s.Object, s.Cloud = row(igw, nat), row(igw, nat)
	if d := Decide(s, mode(modes.Enforce)); d.Action != UpdateRecord || d.Pull["gateway"] != igw {
		t.Errorf("the cloud has chosen in ENFORCE: %s, pull %v", d.Action, d.Pull)
	}
}

// A user leaves a reference to the cloud, and the cloud chooses what has no record.
func TestDecideChosenWithoutRecord(t *testing.T) {
	parent := &modules.Table{
		Name: "settings", Doc: "Settings.", Creation: modules.ByName,
		Columns: []modules.Column{
			{Name: "account", Type: modules.TypeText, Doc: "a", Required: true, CreateOnly: true},
			{Name: "name", Type: modules.TypeText, Doc: "n", Required: true, Identity: true, CreateOnly: true},
		},
	}
	server := &modules.Table{
		Name: "server", Doc: "Servers.", Creation: modules.ByName,
		Columns: []modules.Column{
			{Name: "account", Type: modules.TypeText, Doc: "a", Required: true, CreateOnly: true},
			{Name: "name", Type: modules.TypeText, Doc: "n", Required: true, Identity: true, CreateOnly: true},
			{Name: "settings_id", Type: modules.TypeBigint, Doc: "s", OptionalComputed: true,
				References: &modules.Reference{Table: "settings", Key: "name"}},
		},
	}
	for _, table := range []*modules.Table{parent, server} {
		if err := table.Validate(); err != nil {
			t.Fatal(err)
		}
	}
	row := modules.Row{"account": modules.Text("acct"), "name": modules.Text("s"), "settings_id": modules.Null}
	object := row.Clone()
	delete(object, "settings_id")
	cloud := row.Clone()
	cloud["settings_id"] = modules.Text("default")
	s := &Subject{
		Table: server, RecordID: 1, Can: modules.Abilities{Create: true, Update: true, Delete: true},
		Record:      &Record{ID: 1, Version: "1", Row: row},
		Observation: Observation{Presence: Present, Object: object, Cloud: cloud},
		Change:      &auditlog.Change{AuditIDs: []int64{7}, Base: modules.Row{"settings_id": modules.Int(3)}},
	}
	for _, m := range []modes.Mode{modes.Normal, modes.Enforce, modes.Track} {
		if d := Decide(s, mode(m)); d.Action != Nothing || !d.Settle || len(d.Pull) > 0 {
			t.Errorf("%s: %s, settle %t, pull %v, push %v", m, d.Action, d.Settle, d.Pull, d.Push)
		}
	}
}
