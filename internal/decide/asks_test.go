package decide

import (
	"slices"
	"testing"

	"iasql/internal/modes"
	"iasql/internal/modules"
)

// service says by the column due that it has to be started anew.
var service = &modules.Table{
	Name: "service", Doc: "Services.", Reach: modules.PerAccount, Creation: modules.ByName,
	Columns: []modules.Column{
		{Name: "account", Type: modules.TypeText, Doc: "a"},
		{Name: "name", Type: modules.TypeText, Doc: "n", Identity: true, CreateOnly: true, Required: true},
		{Name: "text", Type: modules.TypeText, Doc: "t"},
		{Name: "due", Type: modules.TypeText, Doc: "d", Computed: true, Asks: true},
	},
	After: func(_ modules.Row, table string, other modules.Row) bool {
		return table == "node" && other["peer"].IsNull()
	},
}

func serviceSubject(due string) *Subject {
	have := modules.Row{"account": modules.Text("acct"), "name": modules.Text("app"), "text": modules.Null,
		"due": modules.Null}
	cloud := have.Clone()
	cloud["due"] = modules.NonEmpty(due)
	return &Subject{Table: service, RecordID: 9, Scope: modules.Scope{Account: "acct"},
		Record: &Record{ID: 9, Version: "1", Row: have}, RefKeys: modules.Row{},
		Observation: Observation{Presence: Present, Object: cloud, Cloud: cloud.Clone()},
		Can:         modules.Abilities{Create: true, Update: true, Delete: true}}
}

// TestDecideAsks: what an object asks for by a column is done whoever wins, and shown meanwhile; not while its record is
// tracked or paused.
func TestDecideAsks(t *testing.T) {
	for _, m := range []modes.Mode{modes.Normal, modes.Enforce} {
		d := Decide(serviceSubject("a file"), mode(m))
		if d.Action != Update || !slices.Equal(d.Push, []string{"due"}) || d.Pull["due"].String() != "a file" {
			t.Errorf("%s: %+v", m, d)
		}
	}
	for _, m := range []modes.Mode{modes.Track, modes.Pause} {
		if d := Decide(serviceSubject("a file"), mode(m)); len(d.Push) > 0 {
			t.Errorf("%s: %+v", m, d)
		}
	}
	if d := Decide(serviceSubject(""), mode(modes.Normal)); d.Action != Nothing || !d.Settle {
		t.Errorf("nothing is asked for: %+v", d)
	}
	// It has been shown, and is asked for as long as the object does.
	s := serviceSubject("a file")
	s.Record.Row["due"] = modules.Text("a file")
	if d := Decide(s, mode(modes.Normal)); d.Action != Update || !slices.Equal(d.Push, []string{"due"}) {
		t.Errorf("%+v", d)
	}
}

// TestPlanAfter: what comes after others by its table's word is done after them, and waits with them.
func TestPlanAfter(t *testing.T) {
	s := serviceSubject("a file")
	steps := []Step{{Subject: s, Decision: Decision{Action: Update, Push: []string{"due"}}},
		{Subject: nodeSubject(1, 0, 0), Decision: Decision{Action: Create}},
		{Subject: nodeSubject(2, 0, 1), Decision: Decision{Action: Create}}}
	got := spell(NewPlan(steps))
	want := "create 1 omit [] after\ncreate 2 omit [] after 1\nupdate 9 omit [] after 1\n"
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if got := spell(NewPlan(steps, Waiting{Subject: steps[1].Subject, On: RecordRef{"node", 7}})); got !=
		"1 waits on 7\n2 waits on 1\n9 waits on 1\n" {
		t.Errorf("got\n%s", got)
	}
}
