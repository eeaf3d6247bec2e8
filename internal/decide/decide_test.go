package decide

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"iasql/internal/auditlog"
	"iasql/internal/modes"
	"iasql/internal/modules"
)

// widget has one column of every kind the decisions tell apart.
var widget = &modules.Table{
	Name: "widget", Doc: "Widgets.", Reach: modules.PerRegion, Creation: modules.ByTag,
	Columns: []modules.Column{
		{Name: "account", Type: modules.TypeText, Doc: "a", Required: true, CreateOnly: true},
		{Name: "region", Type: modules.TypeText, Doc: "r", Required: true, CreateOnly: true},
		{Name: "widget_id", Type: modules.TypeText, Doc: "i", Identity: true, Computed: true},
		{Name: "shape", Type: modules.TypeText, Doc: "s", CreateOnly: true},
		{Name: "size", Type: modules.TypeText, Doc: "z"},
		{Name: "label", Type: modules.TypeText, Doc: "l", Equal: strings.EqualFold},
		{Name: "status", Type: modules.TypeText, Doc: "t", Computed: true},
		{Name: "note", Type: modules.TypeText, Doc: "n", Local: true},
	},
}

// bucket has an identity that users choose.
var bucket = &modules.Table{
	Name: "bucket", Doc: "Buckets.", Creation: modules.ByName,
	Columns: []modules.Column{
		{Name: "account", Type: modules.TypeText, Doc: "a", Required: true, CreateOnly: true},
		{Name: "name", Type: modules.TypeText, Doc: "n", Required: true, Identity: true, CreateOnly: true},
		{Name: "kind", Type: modules.TypeText, Doc: "k", CreateOnly: true},
		{Name: "size", Type: modules.TypeText, Doc: "z"},
	},
}

func init() {
	for _, t := range []*modules.Table{widget, bucket} {
		if err := t.Validate(); err != nil {
			panic(err)
		}
	}
}

func mode(m modes.Mode) Policy {
	return Policy{Rules: modes.New([]modes.Rule{{Mode: m}}), Imported: true}
}

func row(pairs ...string) modules.Row {
	r := modules.Row{"account": modules.Text("acct"), "region": modules.Text("r1"), "widget_id": modules.Text("w-1"),
		"shape": modules.Null, "size": modules.Null, "label": modules.Null, "status": modules.Null,
		"note": modules.Null}
	for i := 0; i < len(pairs); i += 2 {
		r[pairs[i]] = modules.Text(pairs[i+1])
	}
	return r
}

// subject is a record and its object, with a pending update of the columns of
// base.
func subject(d, c, base modules.Row) *Subject {
	s := &Subject{Table: widget, RecordID: 1, Observation: Observation{Presence: Absent},
		Can: modules.Abilities{Create: true, Update: true, Delete: true}}
	if d != nil {
		s.Record = &Record{ID: 1, Version: "1", Row: d}
	}
	if c != nil {
		s.Presence, s.Object, s.Cloud = Present, c, c.Clone()
	}
	if base != nil {
		s.Change = &auditlog.Change{AuditIDs: []int64{7}, Base: base}
	}
	return s
}

func changed(s *Subject, how string) *Subject {
	s.Change = &auditlog.Change{AuditIDs: []int64{7}, Base: modules.Row{}}
	switch how {
	case "insert":
		s.Change.Insert = true
	case "delete":
		s.Change.Delete, s.Change.Last = true, row()
	}
	return s
}

// TestDecideTable is the table of docs/design.md, §3, every row in every mode.
func TestDecideTable(t *testing.T) {
	a, b := row("size", "a"), row("size", "b")
	base := func(v string) modules.Row { return modules.Row{"size": modules.Text(v)} }
	inserted := func() *Subject {
		d := row("size", "a")
		d["widget_id"] = modules.Null
		return changed(subject(d, nil, nil), "insert")
	}
	object := func() *Subject { s := subject(nil, a, nil); s.RecordID = 0; return s }
	type want struct {
		action   Action
		settle   bool
		conflict bool
		state    StateName
	}
	cases := []struct {
		name                   string
		subject                func() *Subject
		normal, enforce, track want
	}{
		{"D = C", func() *Subject { return subject(a, a.Clone(), base("z")) },
			want{Nothing, true, false, ""}, want{Nothing, true, false, ""}, want{Nothing, true, false, ""}},
		{"D ≠ C, not P", func() *Subject { return subject(a, b, nil) },
			want{UpdateRecord, true, false, ""}, want{Update, false, false, StateUpdating},
			want{UpdateRecord, true, false, ""}},
		{"D ≠ C, P, C = B", func() *Subject { return subject(a, b, base("b")) },
			want{Update, false, false, StateUpdating}, want{Update, false, false, StateUpdating},
			want{UpdateRecord, true, false, ""}},
		{"both moved", func() *Subject { return subject(a, b, base("z")) },
			want{Update, false, true, StateUpdating}, want{Update, false, false, StateUpdating},
			want{UpdateRecord, true, false, ""}},
		{"record only, pending INSERT", inserted,
			want{Create, false, false, StateCreating}, want{Create, false, false, StateCreating},
			want{DeleteRecord, true, false, ""}},
		{"record only, gone", func() *Subject { return subject(a, nil, nil) },
			want{DeleteRecord, true, false, ""}, want{Create, false, false, StateCreating},
			want{DeleteRecord, true, false, ""}},
		{"record only, gone, pending UPDATE", func() *Subject { return subject(a, nil, base("z")) },
			want{Nothing, false, true, StateConflict}, want{Create, false, false, StateCreating},
			want{DeleteRecord, true, false, ""}},
		{"object only, pending DELETE", func() *Subject { return changed(subject(nil, a, nil), "delete") },
			want{Delete, false, false, StateRemoving}, want{Delete, false, false, StateRemoving},
			want{InsertRecord, true, false, ""}},
		{"object only, nothing pending", object,
			want{InsertRecord, false, false, ""}, want{Delete, false, false, StateRemoving},
			want{InsertRecord, false, false, ""}},
		{"create-only column changed", func() *Subject {
			return subject(row("shape", "a"), row("shape", "b"), modules.Row{"shape": modules.Text("b")})
		},
			want{Replace, false, false, StateReplacing}, want{Replace, false, false, StateReplacing},
			want{UpdateRecord, true, false, ""}},
		{"assigned column", func() *Subject { return subject(row("status", "a"), row("status", "b"), nil) },
			want{UpdateRecord, true, false, ""}, want{UpdateRecord, true, false, ""},
			want{UpdateRecord, true, false, ""}},
	}
	for _, c := range cases {
		for m, w := range map[modes.Mode]want{modes.Normal: c.normal, modes.Enforce: c.enforce, modes.Track: c.track} {
			t.Run(c.name+"/"+string(m), func(t *testing.T) {
				d := Decide(c.subject(), mode(m))
				if got := (want{d.Action, d.Settle, len(d.Conflicts) > 0, d.State}); got != w {
					t.Errorf("got %+v, want %+v (%s)", got, w, d.Reason)
				}
			})
		}
	}
}

func TestDecideHold(t *testing.T) {
	p := mode(modes.Normal)
	p.HoldConflicts = true
	s := subject(row("size", "a"), row("size", "b"), modules.Row{"size": modules.Text("z")})
	d := Decide(s, p)
	if d.Action != Nothing || d.Settle || !d.Wait || len(d.Conflicts) != 1 || !d.Conflicts[0].Open ||
		d.State != StateConflict || !d.Review {
		t.Errorf("a held conflict: %+v", d)
	}
	for how, want := range map[string]Action{"database": Update, "cloud": UpdateRecord} {
		s.State = &State{Name: StateConflict, Resolution: how, Due: true}
		if d := Decide(s, p); d.Action != want {
			t.Errorf("resolved %s: %s, want %s", how, d.Action, want)
		}
	}
}

func TestDecideEnforceDeletes(t *testing.T) {
	for name, change := range map[string]func(*Subject, *Policy){
		"not imported":     func(_ *Subject, p *Policy) { p.Imported = false },
		"protected":        func(s *Subject, _ *Policy) { s.Protected = "default" },
		"cannot be":        func(s *Subject, _ *Policy) { s.Can.Delete = false },
		"created just now": func(s *Subject, _ *Policy) { s.Own = []*Intent{{Kind: OpCreate}} },
		"deleted just now": func(s *Subject, _ *Policy) { s.Own = []*Intent{{Kind: OpDelete}} },
	} {
		s, p := subject(nil, row(), nil), mode(modes.Enforce)
		s.RecordID = 0
		change(s, &p)
		if d := Decide(s, p); d.Action == Delete {
			t.Errorf("%s: deleted", name)
		}
	}
}

// What was made here a moment ago is not imported, since its record is about to learn what it
// is called; unless its record was let go of, and a user asks for the object (iasql_adopt).
func TestDecideAdoptsAtOnce(t *testing.T) {
	for _, asked := range []bool{false, true} {
		s, p := subject(nil, row(), nil), mode(modes.Normal)
		s.RecordID, s.Own, p.Adopted = 0, []*Intent{{Kind: OpCreate, Result: ResultOK}}, asked
		if d := Decide(s, p); (d.Action == InsertRecord) != asked || d.Wait == asked {
			t.Errorf("asked for: %t: %+v", asked, d)
		}
	}
	s, p := subject(nil, row(), nil), mode(modes.Normal)
	s.RecordID, s.Own, p.Adopted = 0, []*Intent{{Kind: OpCreate, Result: ResultOK}, {Kind: OpDelete}}, true
	if d := Decide(s, p); d.Action != Nothing {
		t.Errorf("what was deleted a moment ago is imported: %+v", d)
	}
}

// TestDecideOwnWrites is R13: what a read shows is weighed against what the
// engine wrote within the consistency window.
func TestDecideOwnWrites(t *testing.T) {
	wrote := func(from, to string) *Intent {
		return &Intent{Kind: OpUpdate, UpTo: 7,
			Columns: map[string]ValueChange{"size": {From: modules.Text(from), To: modules.Text(to)}}}
	}
	pending := modules.Row{"size": modules.Text("a")}
	for _, c := range []struct {
		name    string
		d, c    string
		pending bool
		own     []*Intent
		want    Action
		wait    bool
	}{
		{"settled, stale read", "b", "a", false, []*Intent{wrote("a", "b")}, Nothing, true},
		{"pending, stale read", "b", "a", true, []*Intent{wrote("a", "b")}, Nothing, true},
		{"stale by two writes", "c", "a", false, []*Intent{wrote("a", "b"), wrote("b", "c")}, Nothing, true},
		{"arrived, cloud moved on", "b", "z", true, []*Intent{wrote("a", "b")}, UpdateRecord, false},
		{"arrived, user moved on", "c", "b", true, []*Intent{wrote("a", "b")}, Update, false},
		{"not visible, user moved on", "c", "a", true, []*Intent{wrote("a", "b")}, Update, false},
		{"not visible, user went back", "a", "a", true, []*Intent{wrote("a", "b")}, Nothing, true},
	} {
		s := subject(row("size", c.d), row("size", c.c), nil)
		if c.pending {
			s.Change = &auditlog.Change{AuditIDs: []int64{7}, Base: pending}
		}
		s.Own = c.own
		if d := Decide(s, mode(modes.Normal)); d.Action != c.want || d.Wait != c.wait {
			t.Errorf("%s: %s, wait %t (%s)", c.name, d.Action, d.Wait, d.Reason)
		}
	}
	unsure := wrote("a", "b")
	unsure.Result = ResultUnknown
	s := subject(row("size", "b"), row("size", "a"), pending)
	s.Own = []*Intent{unsure}
	if d := Decide(s, mode(modes.Normal)); d.Action != Update {
		t.Errorf("a write whose answer was lost is made again: %s (%s)", d.Action, d.Reason)
	}
	s.Change = nil
	if d := Decide(s, mode(modes.Normal)); d.Action != Nothing || !d.Wait {
		t.Errorf("nor is it reverted: %s (%s)", d.Action, d.Reason)
	}
}

var (
	genText  = rapid.SampledFrom([]string{"", "a", "A", "b", "c"})
	genModes = rapid.SampledFrom([]modes.Mode{modes.Normal, modes.Enforce, modes.Track})
)

func genValue(t *rapid.T, label string) modules.Value {
	if s := genText.Draw(t, label); s != "" {
		return modules.Text(s)
	}
	return modules.Null
}

func genRow(t *rapid.T, label string) modules.Row {
	r := row()
	for _, name := range []string{"shape", "size", "label"} {
		r[name] = genValue(t, label+name)
	}
	return r
}

// genSubject draws a record and its object with any pending change.
func genSubject(t *rapid.T) *Subject {
	s := subject(genRow(t, "D "), genRow(t, "C "), nil)
	switch rapid.SampledFrom([]string{"", "update", "insert"}).Draw(t, "change") {
	case "update":
		s.Change = &auditlog.Change{AuditIDs: []int64{7}, Base: modules.Row{}}
		for _, name := range []string{"shape", "size", "label"} {
			if rapid.Bool().Draw(t, "changed "+name) {
				s.Change.Base[name] = genValue(t, "B "+name)
			}
		}
	case "insert":
		changed(s, "insert")
	}
	return s
}

// TestDecideEqual is R1: what is equal is written on neither side.
func TestDecideEqual(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := genSubject(t)
		for n, v := range s.Record.Row {
			s.Object[n] = v
		}
		if v := s.Object["label"]; !v.IsNull() && rapid.Bool().Draw(t, "another spelling") {
			s.Object["label"] = modules.Text(strings.ToUpper(v.String()))
		}
		p := mode(genModes.Draw(t, "mode"))
		p.HoldConflicts = rapid.Bool().Draw(t, "hold")
		d := Decide(s, p)
		if d.Action != Nothing || len(d.Push) > 0 || len(d.Pull) > 0 || len(d.Conflicts) > 0 || !d.Settle {
			t.Fatalf("equal, and decided %s push %v pull %v conflicts %v settle %t", d.Action, d.Push, d.Pull,
				d.Conflicts, d.Settle)
		}
	})
}

// TestDecideConverges: in a quiet world whatever is decided ends in equality,
// in every mode, and TRACK pushes nothing.
func TestDecideConverges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := genSubject(t)
		m := genModes.Draw(t, "mode")
		for range 4 {
			d := Decide(s, mode(m))
			if m == modes.Track && d.Action.Pushes() {
				t.Fatalf("TRACK pushed: %s %v", d.Action, d.Push)
			}
			for n, v := range d.Pull {
				s.Record.Row[n] = v
			}
			for _, n := range d.Push {
				s.Object[n] = s.Record.Row[n]
			}
			if d.Settle {
				s.Change = nil
			}
		}
		for _, name := range []string{"shape", "size", "label"} {
			if c := widget.Column(name); !c.Same(s.Record.Row[name], s.Object[name]) {
				t.Fatalf("%s: database %q, cloud %q", name, s.Record.Row[name], s.Object[name])
			}
		}
		if s.Change != nil {
			t.Fatal("nothing settled the change")
		}
	})
}

// TestDecideConflicts: a conflict is recorded only for a column that moved on
// both sides to different values, and keeps what it overwrites.
func TestDecideConflicts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := genSubject(t)
		d := Decide(s, mode(modes.Normal))
		for _, c := range d.Conflicts {
			col := widget.Column(c.Column)
			if col.Same(s.Record.Row[c.Column], s.Object[c.Column]) {
				t.Fatalf("%s: two equal edits are no conflict", c.Column)
			}
			if c.Database != s.Record.Row[c.Column] || c.Cloud != s.Object[c.Column] {
				t.Fatalf("%s: the conflict keeps %q and %q", c.Column, c.Database, c.Cloud)
			}
		}
		for n := range d.Pull {
			if s.Change == nil || s.Change.Insert {
				continue
			}
			if _, pending := s.Change.Base[n]; pending {
				t.Fatalf("%s: a user's pending change was pulled over", n)
			}
		}
	})
}

// TestDecideAdopts: an INSERT that meets an object takes it over and never
// destroys or doubles it.
func TestDecideAdopts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := changed(subject(genRow(t, "D "), genRow(t, "C "), nil), "insert")
		m := rapid.SampledFrom([]modes.Mode{modes.Normal, modes.Track, modes.Enforce}).Draw(t, "mode")
		if rapid.Bool().Draw(t, "made for another record") {
			s.Own = []*Intent{{IDs: []int64{1}, Kind: OpCreate, Record: RecordRef{"widget", 2}, Key: "w-1",
				Result: ResultOK}}
		}
		if d := Decide(s, mode(m)); d.Action == Create || d.Action == Replace || d.Action == Delete ||
			d.Action == DeleteRecord {
			t.Fatalf("adoption decided %s", d.Action)
		}
	})
}

// TestDecideRenamed: a record that was given another name while its creation
// was in doubt is renamed, not taken for the object of its first name.
func TestDecideRenamed(t *testing.T) {
	named := func(name string) modules.Row {
		return modules.Row{"account": modules.Text("acct"), "name": modules.Text(name), "kind": modules.Null,
			"size": modules.Text("s")}
	}
	s := &Subject{Table: bucket, RecordID: 1, Record: &Record{ID: 1, Version: "1", Row: named("second")},
		Observation: Observation{Presence: Present, Object: named("first"), Cloud: named("first")},
		Can:         modules.Abilities{Create: true, Update: true, Delete: true},
		Change: &auditlog.Change{AuditIDs: []int64{7, 8}, Insert: true,
			Base: modules.Row{"name": modules.Text("first")}},
		State: &State{Name: StateCreating, Binding: Binding{Identity: named("first")}, Due: true}}
	if d := Decide(s, mode(modes.Normal)); d.Action != Replace || len(d.Pull) > 0 || len(d.Conflicts) > 0 {
		t.Errorf("decided %s, pull %v, conflicts %v", d.Action, d.Pull, d.Conflicts)
	}
}

// TestDecideMade: an object made anew becomes as its record is, though nothing
// is pending; one that has been like its record is pulled.
func TestDecideMade(t *testing.T) {
	s := subject(row("size", "a", "shape", "x"), row("shape", "x"), nil)
	s.State = &State{Name: StateReplacing, Binding: Binding{Identity: row()}, Due: true}
	if d := Decide(s, mode(modes.Normal)); d.Action != Update || !slices.Equal(d.Push, []string{"size"}) {
		t.Errorf("made anew: %s, push %v, pull %v", d.Action, d.Push, d.Pull)
	}
	s.State = nil
	if d := Decide(s, mode(modes.Normal)); d.Action != UpdateRecord || !d.Pull["size"].IsNull() {
		t.Errorf("agreed before: %s, push %v, pull %v", d.Action, d.Push, d.Pull)
	}
}

// TestDecideLeftover: a state whose record is gone, with nothing pending, goes.
func TestDecideLeftover(t *testing.T) {
	s := &Subject{Table: bucket, RecordID: 1, Observation: Observation{Presence: Absent},
		State: &State{Name: StateCheckPresentFailed, Due: true}}
	if d := Decide(s, mode(modes.Normal)); d.Action != Nothing || !d.Settle {
		t.Errorf("decided %s, settle %t", d.Action, d.Settle)
	}
}

// TestDecideReplacedInVain: what is not kept by the successors either is a
// person's to look at.
func TestDecideReplacedInVain(t *testing.T) {
	s := subject(row("shape", "x"), row("shape", "y"), row("shape", "y"))
	s.State = &State{Name: StateReplacing, Binding: Binding{Identity: row(), Unconfirmed: MaxUnconfirmed}, Due: true,
		FailedAt: 7}
	if d := Decide(s, mode(modes.Normal)); d.Action != Nothing || !d.Review || d.State != StateUpdatingFailed {
		t.Errorf("decided %s, %s", d.Action, d.State)
	}
}

// TestDecideUnknown is R5: what could not be read is left alone.
func TestDecideUnknown(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := genSubject(t)
		s.Presence, s.Object, s.Cloud, s.Fault = Unknown, nil, nil, errors.New("denied")
		if rapid.Bool().Draw(t, "deleted") {
			s.Record = nil
			changed(s, "delete")
		}
		d := Decide(s, mode(genModes.Draw(t, "mode")))
		if d.Action != Nothing || d.Settle || !d.Wait {
			t.Fatalf("decided %s, settle %t", d.Action, d.Settle)
		}
	})
}

func TestDecideDeletedNames(t *testing.T) {
	gone := func() *Subject {
		last := modules.Row{"account": modules.Text("acct"), "name": modules.Text("b"), "kind": modules.Null,
			"size": modules.Null}
		return &Subject{Table: bucket, RecordID: 1,
			Observation: Observation{Presence: Present, Object: last.Clone(), Cloud: last.Clone()},
			Can:         modules.Abilities{Delete: true},
			Change:      &auditlog.Change{AuditIDs: []int64{7}, Delete: true, Last: last, Base: modules.Row{}}}
	}
	never := gone()
	never.Change.Insert = true
	if d := Decide(never, mode(modes.Normal)); d.Action != Nothing || !d.Settle {
		t.Errorf("inserted and deleted: %s; an object of that name is somebody else's", d.Action)
	}
	taken := gone()
	taken.Claim.By = 2
	if d := Decide(taken, mode(modes.Normal)); d.Action != Nothing || !d.Settle {
		t.Errorf("deleted, and inserted anew under another id: %s", d.Action)
	}
	taken.Claim.Pending = true
	if d := Decide(taken, mode(modes.Normal)); d.Action != Nothing || d.Settle {
		t.Errorf("deleted, and about to be taken over: %s, settle %t", d.Action, d.Settle)
	}
	unseen := gone()
	unseen.Presence, unseen.Object, unseen.Own = Absent, nil, []*Intent{{Kind: OpCreate}}
	if d := Decide(unseen, mode(modes.Normal)); d.Settle {
		t.Error("deleted before the creation could be seen: settled")
	}
}

// What a read does not say is unknown: what a user asks for is pushed once all the same, and
// what nobody asks for is left alone.
func TestDecideUnread(t *testing.T) {
	silent := row("size", "a")
	delete(silent, "size")
	asked := func() *Subject {
		return subject(row("size", "a"), silent.Clone(), modules.Row{"size": modules.Text("b")})
	}
	forming, made, pushed := asked(), asked(), asked()
	forming.Forming = true
	made.Own = []*Intent{{Kind: OpCreate, Record: made.Ref(), Result: ResultOK, UpTo: 7,
		Columns: map[string]ValueChange{"size": {}}}}
	pushed.Own = []*Intent{{Kind: OpUpdate, Record: pushed.Ref(), Result: ResultOK, UpTo: 7,
		Columns: map[string]ValueChange{"size": {}}}}
	for name, c := range map[string]struct {
		subject *Subject
		mode    modes.Mode
		want    Action
	}{
		"asked for":              {asked(), modes.Normal, Update},
		"tracked":                {asked(), modes.Track, Nothing},
		"nobody asks":            {subject(row("size", "a"), silent.Clone(), nil), modes.Normal, Nothing},
		"ENFORCE, nobody asks":   {subject(row("size", "a"), silent.Clone(), nil), modes.Enforce, Nothing},
		"being made":             {forming, modes.Normal, Nothing},
		"the creation took it":   {made, modes.Normal, Nothing},
		"an update has taken it": {pushed, modes.Normal, Nothing},
	} {
		if d := Decide(c.subject, mode(c.mode)); d.Action != c.want || len(d.Pull) > 0 {
			t.Errorf("%s: %s, push %v, pull %v, want %s", name, d.Action, d.Push, d.Pull, c.want)
		}
	}
}
