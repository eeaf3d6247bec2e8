package decide

import (
	"errors"
	"testing"
	"time"

	"iasql/internal/auditlog"
	"iasql/internal/modes"
	"iasql/internal/modules"
)

// TestDecideGoing: what the cloud is deleting is neither present nor absent, in every
// mode and whatever is asked for (R17).
func TestDecideGoing(t *testing.T) {
	going := func(s *Subject) *Subject { s.Presence = Going; return s }
	a, b := row("size", "a"), row("size", "b")
	name := modules.Row{"account": modules.Text("acct"), "name": modules.Text("x"), "kind": modules.Text("k"),
		"size": modules.Null}
	replacing := func() *Subject {
		s := &Subject{Table: bucket, RecordID: 1, Record: &Record{ID: 1, Row: name},
			State:       &State{Name: StateReplacing, Due: true, Binding: Binding{Replacing: true}},
			Change:      &auditlog.Change{AuditIDs: []int64{7}, Base: modules.Row{"kind": modules.Text("old")}},
			Observation: Observation{Presence: Going, Object: name, Cloud: name},
			Can:         modules.Abilities{Create: true, Update: true, Delete: true}}
		return s
	}
	inserted := func() *Subject { s := replacing(); s.State, s.Change.Insert = nil, true; return s }
	for what, c := range map[string]struct {
		s     func() *Subject
		state StateName
	}{
		"its record is as it was": {func() *Subject { return going(subject(a, a.Clone(), nil)) }, ""},
		"its record differs":      {func() *Subject { return going(subject(a, b, nil)) }, ""},
		"its record was updated": {func() *Subject {
			return going(subject(a, b, modules.Row{"size": modules.Text("b")}))
		}, StateUpdating},
		"its record was deleted": {func() *Subject {
			return going(changed(subject(nil, a, nil), "delete"))
		}, StateRemoving},
		"it makes room for a successor": {replacing, StateReplacing},
		"an INSERT asks for its name":   {inserted, StateCreating},
		"it has been replaced": {func() *Subject {
			s := going(subject(nil, a, nil))
			s.Deposed = true
			return s
		}, StateReplacing},
		"it has been replaced, and another asks for its name": {func() *Subject {
			s := going(subject(nil, a, nil))
			s.Deposed, s.Claim = true, Claim{By: 2, Pending: true}
			return s
		}, StateReplacing},
		"it has no record": {func() *Subject { s := going(subject(nil, a, nil)); s.RecordID = 0; return s }, ""},
	} {
		for _, m := range []modes.Mode{modes.Normal, modes.Enforce, modes.Track} {
			d := Decide(c.s(), mode(m))
			if d.Action != Nothing || d.Settle || d.State != c.state || d.Review {
				t.Errorf("%s, %s: %+v, want to wait in state %q", what, m, d, c.state)
			}
		}
	}
	// What it says of itself is shown meanwhile.
	s := going(subject(row("status", "available"), row("status", "deleting", "size", "z"), nil))
	if d := Decide(s, mode(modes.Normal)); d.Action != UpdateRecord || len(d.Pull) != 1 ||
		d.Pull["status"].String() != "deleting" || d.Settle {
		t.Errorf("the state of what is going: %+v", d)
	}
	if st := s.Waiting(Decision{Wait: true, State: StateReplacing}, func() float64 {
		return 1
	}); st.Backoff > goingBackoff {
		t.Errorf("it is looked at after %s, want at most %s", st.Backoff, goingBackoff)
	}
}

// TestDecideRoomInDoubt: an object that was asked to go so that another takes its place, and that does not show, is
// neither made again nor said to be gone before it is known whose doing that was; not of a record that follows another
// either, of which nothing was changed.
func TestDecideRoomInDoubt(t *testing.T) {
	for what, base := range map[string]modules.Row{"it was changed": row("size", "b"), "it follows another": nil} {
		for _, m := range []modes.Mode{modes.Normal, modes.Enforce} {
			s := subject(row("size", "a"), row("size", "b"), base)
			s.State = &State{Name: StateReplacing, Due: true, Attempts: 1}
			s.Presence, s.Object, s.Cloud, s.RoomInDoubt = Absent, nil, nil, true
			if d := Decide(s, mode(m)); d.Action != Nothing || d.Settle || d.State != StateReplacing || d.Review ||
				len(d.Conflicts) > 0 {
				t.Errorf("%s, %s: %+v, want to wait", what, m, d)
			}
		}
	}
}

// TestDecideFoundLately: what was found in the cloud a moment ago and does not show now
// is not made again, whoever wins (R13).
func TestDecideFoundLately(t *testing.T) {
	for what, c := range map[string]struct {
		mode   modes.Mode
		state  *State
		again  Action // what is done once the consistency window has passed
		settle bool
	}{
		"ENFORCE": {modes.Enforce, nil, Create, false},
		"a conflict resolved for the database": {modes.Normal,
			&State{Name: StateConflict, Due: true, Resolution: "database"}, Create, false},
		"a conflict resolved for the cloud": {modes.Normal,
			&State{Name: StateConflict, Due: true, Resolution: "cloud"}, DeleteRecord, true},
		"TRACK, where the record follows the cloud": {modes.Track, nil, DeleteRecord, true},
	} {
		s := subject(row("size", "b"), nil, modules.Row{"size": modules.Text("a")})
		s.Presence, s.State = Absent, c.state
		if d := Decide(s, mode(c.mode)); d.Action != c.again || d.Settle != c.settle {
			t.Errorf("%s, after the window: %+v", what, d)
		}
		s.Found = true
		d := Decide(s, mode(c.mode))
		if c.again == Create && (d.Action != Nothing || !d.Wait || d.Settle || d.State == "") || c.again != Create &&
			d.Action != c.again {
			t.Errorf("%s, within the window: %+v", what, d)
		}
	}
}

// TestDecideFoundLatelyDeleted: a user has deleted what was found in the cloud a moment ago.
// That a read does not show it ends nothing, also if a user has inserted it again (R13).
func TestDecideFoundLatelyDeleted(t *testing.T) {
	deleted := func() *Subject { return changed(subject(nil, nil, nil), "delete") }
	again := func() *Subject {
		s := changed(subject(row(), nil, nil), "")
		s.Change.Again, s.Change.Base = true, row()
		return s
	}
	for what, c := range map[string]struct {
		subject func() *Subject
		want    Decision // once the consistency window has passed
	}{
		"deleted":                    {deleted, Decision{Settle: true}},
		"deleted and inserted again": {again, Decision{Action: Create}},
	} {
		s := c.subject()
		s.Presence = Absent
		if d := Decide(s, mode(modes.Normal)); d.Action != c.want.Action || d.Settle != c.want.Settle {
			t.Errorf("%s, after the window: %+v", what, d)
		}
		s.Found = true
		if d := Decide(s, mode(modes.Normal)); d.Action != Nothing || d.Settle || !d.Wait || d.State == "" {
			t.Errorf("%s, within the window: %+v", what, d)
		}
	}
	for why, gone := range map[string]func(*Subject){
		"this engine has deleted it":        func(s *Subject) { s.Own = []*Intent{{Kind: OpDelete, Result: ResultOK}} },
		"it went along with its whole":      func(s *Subject) { s.Cascaded = true },
		"what its name was made of is gone": func(s *Subject) { s.Unnameable = true },
	} {
		s := deleted()
		s.Presence, s.Found = Absent, true
		gone(s)
		if d := Decide(s, mode(modes.Normal)); !d.Settle {
			t.Errorf("%s: %+v", why, d)
		}
	}
}

// TestDecideWasGoing: what a read has shown as going is not gone because the next, which may
// be from before it was made or found, does not find it (R17).
func TestDecideWasGoing(t *testing.T) {
	deleted := func() *Subject { return changed(subject(nil, row(), nil), "delete") }
	deposed := func() *Subject {
		s := subject(nil, row(), nil)
		s.Deposed, s.State = true, &State{Name: StateReplacing, Due: true, Binding: Binding{Identity: row()}}
		return s
	}
	created, removed := &Intent{IDs: []int64{1}, Kind: OpCreate, Result: ResultOK},
		&Intent{IDs: []int64{2}, Kind: OpDelete, Result: ResultOK}
	for what, c := range map[string]struct {
		subject func() *Subject
		own     []*Intent
		found   bool
		waits   bool
	}{
		"deleted, made a moment ago":      {deleted, []*Intent{created, removed}, false, true},
		"deleted, found a moment ago":     {deleted, []*Intent{removed}, true, true},
		"deleted, there for long":         {deleted, []*Intent{removed}, false, false},
		"replaced, made a moment ago":     {deposed, []*Intent{created, removed}, false, true},
		"replaced, there for long":        {deposed, []*Intent{removed}, false, false},
		"deleted, nothing of it is known": {deleted, nil, false, false},
	} {
		s := c.subject()
		s.Presence, s.Own, s.Found = Going, c.own, c.found
		unseen := *s
		unseen.Presence, unseen.Object, unseen.Cloud = Absent, nil, nil
		if fresh := Decide(&unseen, mode(modes.Normal)); !fresh.Settle {
			t.Errorf("%s, of which no read has shown that it is going: %+v", what, fresh)
		}
		look := func(p Presence, fault error) Decision {
			s.Presence, s.Fault, s.Object, s.Cloud = p, fault, nil, nil
			d := Decide(s, mode(modes.Normal))
			if d.Wait {
				s.State = s.Waiting(d, func() float64 { return 1 })
				s.State.Due = true
			}
			return d
		}
		look(Going, nil)
		// Reads that fail tell nothing, and wipe out nothing.
		look(Unknown, &modules.Error{Class: modules.Throttled, Code: "Throttling"})
		look(Unknown, &modules.Error{Class: modules.Denied, Code: "AccessDenied"})
		d := look(Absent, nil)
		if d.Settle == c.waits || d.Wait != c.waits || d.Action != Nothing {
			t.Errorf("%s: %+v", what, d)
		}
		if c.waits && s.Waiting(d, func() float64 { return 1 }).Backoff > goingBackoff {
			t.Errorf("%s: it is looked at too late", what)
		}
	}
}

// TestNameStillTaken: the answer that the predecessor's name is taken heals, and asks
// nobody (R17).
func TestNameStillTaken(t *testing.T) {
	s := subject(row(), nil, nil)
	s.State = &State{Name: StateReplacing, Attempts: 30, Binding: Binding{Replacing: true}}
	st := s.Failed(StateReplacing, &modules.Error{Class: modules.Exists, Err: errors.New("DBInstanceAlreadyExists")},
		func() float64 { return 1 })
	if st.Review || st.Name != StateReplacing || !st.Replacing || st.Backoff == 0 || st.Backoff > 30*time.Second {
		t.Errorf("%+v", st)
	}
	if st := s.Failed(StateCreating, &modules.Error{Class: modules.Exists, Err: errors.New("exists")}, func() float64 {
		return 1
	}); !st.Review {
		t.Errorf("a name that somebody else has: %+v", st)
	}
}

// TestDecideHoldsData: what holds data goes only by a user's own change of it, and
// what the cloud may choose is never a reason to replace (R18).
func TestDecideHoldsData(t *testing.T) {
	data, choice := *widget, *widget
	data.HoldsData = true
	choice.Columns = append([]modules.Column(nil), widget.Columns...)
	choice.Column("shape").OptionalComputed = true
	enforce := mode(modes.Enforce)
	of := func(table *modules.Table, s *Subject) *Subject { s.Table = table; return s }
	round, square := row("shape", "round"), row("shape", "square")
	if d := Decide(subject(round, square, nil), enforce); d.Action != Replace {
		t.Errorf("what can be made again: %+v", d)
	}
	if d := Decide(of(&choice, subject(round, square, nil)), enforce); d.Action != UpdateRecord ||
		d.Pull["shape"].String() != "square" {
		t.Errorf("the cloud has chosen anew: %+v", d)
	}
	if d := Decide(of(&choice, subject(round, square, modules.Row{"shape": modules.Text("square")})), enforce); d.Action != Replace {
		t.Errorf("a user has chosen: %+v", d)
	}
	d := Decide(of(&data, subject(round, square, nil)), enforce)
	if d.Action != Nothing || d.State != StateConflict || !d.Review || len(d.Conflicts) != 1 || !d.Conflicts[0].Open {
		t.Errorf("data that differs in a fixed column: %+v", d)
	}
	for resolution, action := range map[string]Action{"database": Replace, "cloud": UpdateRecord} {
		s := of(&data, subject(round, square, nil))
		s.State = &State{Name: StateConflict, Due: true, Resolution: resolution}
		if d := Decide(s, enforce); d.Action != action {
			t.Errorf("resolved in favour of the %s: %+v", resolution, d)
		}
	}
	if d := Decide(of(&data, subject(round, square, modules.Row{"shape": modules.Text("square")})), enforce); d.Action != Replace {
		t.Errorf("a user's change of data: %+v", d)
	}
	stray := of(&data, subject(nil, round, nil))
	stray.RecordID = 0
	if d := Decide(stray, enforce); d.Action != InsertRecord {
		t.Errorf("data without a record: %+v", d)
	}
	if d := Decide(of(&data, changed(subject(nil, round, nil), "delete")), enforce); d.Action != Delete {
		t.Errorf("data that a user has deleted: %+v", d)
	}
	followed := of(&data, subject(row("shape", "4"), row(), nil))
	followed.Object["shape"], followed.Follows = modules.Outgoing(4), map[string]bool{"shape": true}
	if d := Decide(followed, mode(modes.Normal)); d.Action != Nothing || d.State != StateUpdatingFailed || !d.Review {
		t.Errorf("data in what is replaced: %+v", d)
	}
}

// TestDecideForming: what the cloud is still making is not settled, and not replaced
// for what it does not say yet.
func TestDecideForming(t *testing.T) {
	made := func(d, c modules.Row) *Subject {
		s := changed(subject(d, c, nil), "insert")
		s.State = &State{Name: StateCreating, Due: true, Binding: Binding{Identity: IdentityOf(widget, row())}}
		s.Own = []*Intent{{Kind: OpCreate, Record: s.Ref(), Key: "w-1", Result: ResultOK}}
		s.Forming = true
		return s
	}
	round := row("shape", "round")
	if d := Decide(made(round, round.Clone()), mode(modes.Normal)); d.Settle || d.State != StateCreating || d.Review {
		t.Errorf("as it should be, so far: %+v", d)
	}
	if d := Decide(made(round, row()), mode(modes.Normal)); d.Action != Nothing || d.State != StateCreating {
		t.Errorf("it does not say its shape yet: %+v", d)
	}
	ready := made(round, round.Clone())
	ready.Forming = false
	if d := Decide(ready, mode(modes.Normal)); !d.Settle {
		t.Errorf("it is there: %+v", d)
	}
}

// TestDecideFailedCreation: what the cloud could not make is made anew a few times,
// and then a person is asked; its record is not taken for settled.
func TestDecideFailedCreation(t *testing.T) {
	failed := func(st State) *Subject {
		st.Identity = IdentityOf(widget, row())
		s := changed(subject(row(), row(), nil), "insert")
		s.State, s.Failure = &st, "the network has no Internet gateway"
		s.Own = []*Intent{{Kind: OpCreate, Record: s.Ref(), Key: "w-1", Result: ResultOK}}
		return s
	}
	for what, c := range map[string]struct {
		state  State
		action Action
		review bool
	}{
		"seen for the first time": {State{Name: StateCreating, Due: true}, Nothing, false},
		"while it backs off":      {State{Name: StateCreating, Attempts: 2}, Nothing, false},
		"when it is due":          {State{Name: StateCreating, Attempts: 2, Due: true}, Replace, false},
		"after it was made in vain": {State{Name: StateCreating, Attempts: 2, Due: true, FailedAt: 7,
			Binding: Binding{Unconfirmed: MaxUnconfirmed}}, Nothing, true},
		"after a change of the user's": {State{Name: StateCreating, Attempts: 2, Due: true, FailedAt: 6,
			Binding: Binding{Unconfirmed: MaxUnconfirmed}}, Replace, false},
	} {
		d := Decide(failed(c.state), mode(modes.Normal))
		if d.Action != c.action || d.Review != c.review || d.Settle {
			t.Errorf("%s: %+v", what, d)
		}
	}
	s := failed(State{Name: StateCreating, Attempts: 2, Due: true})
	if plan := NewPlan([]Step{{s, Decide(s, mode(modes.Normal))}}); len(plan.Ops) != 1 ||
		plan.Ops[0].Kind != OpDelete || !plan.Ops[0].Replaces {
		t.Errorf("what failed goes first: %s", spell(plan))
	}
	s = failed(State{Name: StateCreating, Attempts: 2, Due: true})
	s.Change, s.State = nil, nil
	if d := Decide(s, mode(modes.Normal)); d.Action != Nothing {
		t.Errorf("what failed long after it was made: %+v", d)
	}
}

// TestPlanPartial: what depends on an object that was created comes after the update
// that completes it.
func TestPlanPartial(t *testing.T) {
	deferring := *node
	deferring.Columns = append(append([]modules.Column(nil), node.Columns...),
		modules.Column{Name: "attached", Type: modules.TypeText, Doc: "a", Deferred: true})
	parent, child := nodeSubject(1, 0, 0), nodeSubject(2, 1, 0)
	parent.Table, child.Table = &deferring, &deferring
	parent.Record.Row["attached"], child.Record.Row["attached"] = modules.Text("yes"), modules.Null
	plan := NewPlan([]Step{{parent, Decision{Action: Create}}, {child, Decision{Action: Create}}})
	if len(plan.Ops) != 2 || !plan.Ops[0].Partial() || plan.Ops[1].Partial() {
		t.Errorf("partial creations: %s", spell(plan))
	}
	parent.State = &State{Name: StateCreating, Due: true, Binding: Binding{Identity: cloudOf(1, 0)}}
	parent.Object, parent.Cloud, child.RefKeys["parent"] = cloudOf(1, 0), cloudOf(1, 0), modules.Text("n-1")
	update := Step{parent, Decision{Action: Update, Push: []string{"attached"}}}
	if plan := NewPlan([]Step{{child, Decision{Action: Create}}, update}); len(plan.Ops) != 2 ||
		plan.Ops[1].Subject != child || len(plan.Ops[1].After) != 1 {
		t.Errorf("a creation in what is being completed: %s", spell(plan))
	}
	if !parent.Incomplete() {
		t.Error("what was created and not seen to be as it should be counts as complete")
	}
	parent.State.Name = StateWaiting // for the child, perhaps
	if parent.Incomplete() {
		t.Error("two records may wait for each other")
	}
}

// TestDecidePassed: what the cloud has moved on by itself, with no way back, is pulled
// under ENFORCE too; a user's change of it is pushed (R18).
func TestDecidePassed(t *testing.T) {
	moved := *widget
	moved.Columns = append([]modules.Column(nil), widget.Columns...)
	moved.Column("size").Passed = func(from, to string) bool { return from < to }
	enforce := mode(modes.Enforce)
	of := func(s *Subject) *Subject { s.Table = &moved; return s }
	small, large := row("size", "1"), row("size", "2")
	if d := Decide(of(subject(small, large, nil)), enforce); d.Action != UpdateRecord ||
		d.Pull["size"].String() != "2" {
		t.Errorf("it has grown: %+v", d)
	}
	if d := Decide(of(subject(large, small, nil)), enforce); d.Action != Update {
		t.Errorf("it is smaller than it should be: %+v", d)
	}
	if d := Decide(of(subject(small, large, modules.Row{"size": modules.Text("2")})), enforce); d.Action != Update {
		t.Errorf("a user wants it smaller: %+v", d)
	}
}

// TestDecideObserved: a value that the record could not bring back is pulled under ENFORCE too, and the others are pushed;
// one that a user asks for is pushed.
func TestDecideObserved(t *testing.T) {
	observed := *widget
	observed.Columns = append([]modules.Column(nil), widget.Columns...)
	observed.Column("size").Observed = func(r modules.Row) bool { return r["shape"].String() != "known" }
	enforce := mode(modes.Enforce)
	of := func(s *Subject) *Subject { s.Table = &observed; return s }
	old, now := row("size", "1", "label", "a"), row("size", "2", "label", "b")
	if d := Decide(of(subject(old, now, nil)), enforce); d.Action != Update || len(d.Push) != 1 || d.Push[0] != "label" ||
		d.Pull["size"].String() != "2" {
		t.Errorf("nobody has the old value: %+v", d)
	}
	if d := Decide(of(subject(old, now, modules.Row{"size": modules.Text("2")})), enforce); len(d.Push) != 2 {
		t.Errorf("a user asks for it: %+v", d)
	}
	known := row("size", "1", "shape", "known")
	if d := Decide(of(subject(known, row("size", "2", "shape", "known"), nil)), enforce); len(d.Push) != 1 {
		t.Errorf("the record has it: %+v", d)
	}
}

// What somebody else's machinery looks after is neither deleted nor replaced on the engine's own
// account, and by a user's statement as anything else.
func TestDecideManaged(t *testing.T) {
	enforce := mode(modes.Enforce)
	managed := func(s *Subject) *Subject { s.Manager = "the CloudFormation stack shop"; return s }
	stray := managed(subject(nil, row(), nil))
	stray.RecordID = 0
	if d := Decide(stray, enforce); d.Action != InsertRecord {
		t.Errorf("without a record: %+v", d)
	}
	round, square := row("shape", "round"), row("shape", "square")
	if d := Decide(managed(subject(round, square, nil)), enforce); d.Action != Nothing || d.State != StateConflict ||
		!d.Review {
		t.Errorf("it differs in a fixed column: %+v", d)
	}
	if d := Decide(managed(subject(round, square, modules.Row{"shape": modules.Text("square")})), enforce); d.Action != Replace {
		t.Errorf("a user has changed it: %+v", d)
	}
	deleted := managed(subject(nil, row(), nil))
	deleted.Change = &auditlog.Change{Delete: true, Last: row()}
	if d := Decide(deleted, enforce); d.Action != Delete {
		t.Errorf("a user has deleted it: %+v", d)
	}
}
