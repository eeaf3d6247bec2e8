package decide

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"iasql/internal/modes"
	"iasql/internal/modules"
)

// TestGuardOfPulls: which records may go because their objects are gone, without a person (R28).
func TestGuardOfPulls(t *testing.T) {
	east, west := modules.Scope{Account: "a", Region: "east"}, modules.Scope{Account: "a", Region: "west"}
	limits := DeleteLimits{Max: 100, Ratio: 0.5, Floor: 5}
	at := func(table string, scope modules.Scope) GonePlace { return GonePlace{table, scope} }
	for what, c := range map[string]struct {
		gone, left Gone
		has        map[GonePlace]int
		asks       string // "" if nobody is asked
	}{
		"nothing":      {Gone{}, nil, nil, ""},
		"the only one": {Gone{at("q", east): 1}, nil, map[GonePlace]int{at("q", east): 1}, ""},
		"all of two":   {Gone{at("q", east): 2}, nil, map[GonePlace]int{at("q", east): 2}, ""},
		"all of three": {Gone{at("q", east): 3}, nil, map[GonePlace]int{at("q", east): 3},
			"all 3 records of q in a/east"},
		"two of three": {Gone{at("q", east): 2}, nil, map[GonePlace]int{at("q", east): 3}, ""},
		"four of five": {Gone{at("q", east): 4}, nil, map[GonePlace]int{at("q", east): 5}, ""},
		"six of ten": {Gone{at("q", east): 6}, nil, map[GonePlace]int{at("q", east): 10},
			"6 of 10 records of q in a/east"},
		"five of ten": {Gone{at("q", east): 5}, nil, map[GonePlace]int{at("q", east): 10}, ""},
		"many of very many": {Gone{at("q", east): 101}, nil, map[GonePlace]int{at("q", east): 100000},
			"101 records"},
		"all of a region among others": {Gone{at("q", east): 3}, nil,
			map[GonePlace]int{at("q", east): 3, at("q", west): 300}, "all 3 records of q in a/east"},
		"one of each of five tables": {Gone{at("p", east): 1, at("q", east): 1, at("r", east): 1, at("s", east): 1,
			at("t", west): 1}, nil, map[GonePlace]int{at("p", east): 1, at("q", east): 1, at("r", east): 1,
			at("s", east): 1, at("t", west): 1}, "5 of 5 records of 5 places"},
		"one of many, in five tables": {Gone{at("p", east): 1, at("q", east): 1, at("r", east): 1, at("s", east): 1,
			at("t", west): 1}, nil, map[GonePlace]int{at("p", east): 9, at("q", east): 9, at("r", east): 9,
			at("s", east): 9, at("t", west): 9}, ""},
		"the rest of what went just now": {Gone{at("q", east): 6}, Gone{at("q", east): 5},
			map[GonePlace]int{at("q", east): 5}, "6 of 10 records of q in a/east"},
	} {
		got := c.gone.Guard(limits, c.left, func(p GonePlace) int { return c.has[p] })
		if (got == "") != (c.asks == "") || !strings.Contains(got, c.asks) {
			t.Errorf("%s: %q, wanted %q", what, got, c.asks)
		}
	}
}

// TestDecideVanished: a record about which a person is asked stays until its object is seen, or the person has
// answered.
func TestDecideVanished(t *testing.T) {
	for _, m := range []modes.Mode{modes.Normal, modes.Track} {
		vanished := func(resolution string) *Subject {
			s := subject(row(), row(), nil)
			s.Presence, s.Object, s.Cloud = Absent, nil, nil
			step := Step{s, Decide(s, mode(m))}
			if step.Decision.Action != DeleteRecord || !step.Unasked() {
				t.Fatalf("%s: gone: %+v", m, step.Decision)
			}
			d := step.Decision.AsksVanished("all 9 records are gone")
			s.State = s.Waiting(d, func() float64 { return 1 })
			s.State.Due, s.State.Resolution = true, resolution
			return s
		}
		s := vanished("")
		if d := Decide(s, mode(m)); d.Action != Nothing || d.Code != CodeVanished ||
			d.Reason != "all 9 records are gone" {
			t.Errorf("%s: nobody has answered: %+v", m, d)
		}
		s = vanished("cloud")
		if step := (Step{s, Decide(s, mode(m))}); step.Decision.Action != DeleteRecord || step.Unasked() {
			t.Errorf("%s: it is so: %+v", m, step.Decision)
		}
		s = vanished("database")
		if d := Decide(s, mode(m)); d.Action != map[modes.Mode]Action{modes.Normal: Create, modes.Track: Nothing}[m] {
			t.Errorf("%s: it is wanted: %+v", m, d)
		}
		s = vanished("")
		s.Presence, s.Object, s.Cloud = Present, row(), row()
		if d := Decide(s, mode(m)); !d.Settle {
			t.Errorf("%s: it is there: %+v", m, d)
		}
		s = vanished("")
		s.Presence = Unknown
		if d := Decide(s, mode(m)); d.Action != Nothing {
			t.Errorf("%s: it cannot be read: %+v", m, d)
		}
	}
}

// TestUnasked: what the cloud was seen to delete, and what went with its owner, needs nobody's word.
func TestUnasked(t *testing.T) {
	gone := func(change func(*Subject)) bool {
		s := subject(row(), row(), nil)
		s.Presence = Absent
		change(s)
		step := Step{s, Decision{Action: DeleteRecord}}
		return step.Unasked()
	}
	if !gone(func(*Subject) {}) || gone(func(s *Subject) {
		s.WentAway = true
	}) || gone(func(s *Subject) { s.Cascaded = true }) {
		t.Error("what is asked about is not what only is not shown")
	}
}

// TestJudge: who an account says it is, and what follows (R27).
func TestJudge(t *testing.T) {
	refused := &modules.Error{Class: modules.Denied, Code: "InvalidClientTokenId",
		Message: "The security token is invalid"}
	for what, c := range map[string]struct {
		was, said      string
		vouched        bool
		err            error
		pin, held, ask bool
		unproven       bool
	}{
		"asked for the first time, unproven":     {said: "host:1", unproven: true, held: true, ask: true},
		"the same, unproven":                     {was: "host:1", said: "host:1", unproven: true},
		"another, unproven":                      {was: "host:1", said: "host:2", unproven: true, held: true, ask: true},
		"asked for the first time":               {said: "aws:1", pin: true},
		"the same":                               {was: "aws:1", said: "aws:1"},
		"another account":                        {was: "aws:1", said: "aws:2", held: true, ask: true},
		"another partition":                      {was: "aws:1", said: "aws-cn:1", held: true, ask: true},
		"no answer, never answered":              {was: "aws:1", err: errors.New("timeout"), held: true},
		"no answer, answered before":             {was: "aws:1", vouched: true, err: errors.New("timeout")},
		"refused":                                {was: "aws:1", vouched: true, err: refused, held: true},
		"no answer when asked for the first one": {err: errors.New("timeout"), held: true},
	} {
		v := Judge(c.was, modules.Identity{Said: c.said, Vouched: c.vouched, Unproven: c.unproven}, c.err)
		if v.Pin != c.pin || (v.Held != "") != c.held || v.Ask != c.ask {
			t.Errorf("%s: %+v", what, v)
		}
	}
}

// TestDecideIncarnation: a change of an object that was made anew meanwhile is not carried out on the new one (R30).
func TestDecideIncarnation(t *testing.T) {
	queue := *widget
	queue.Columns = append(slices.Clone(widget.Columns),
		modules.Column{Name: "made", Type: modules.TypeText, Computed: true, Incarnation: true})
	pending := func(how, made, resolution string) *Subject {
		record, object := row("size", "a", "made", "monday"), row("size", "b", "made", made)
		s := subject(record, object, modules.Row{"size": modules.Text("b")})
		if how == "DELETE" {
			s = changed(subject(nil, object, nil), "delete")
			s.Change.Last = record
		}
		s.Table = &queue
		if resolution != "" {
			s.State = &State{Name: StateConflict, Due: true, Resolution: resolution}
		}
		return s
	}
	for what, c := range map[string]struct {
		how, made, resolution string
		mode                  modes.Mode
		action                Action
		state                 StateName
	}{
		"an update of the same":                {"UPDATE", "monday", "", modes.Normal, Update, StateUpdating},
		"an update of another":                 {"UPDATE", "friday", "", modes.Normal, Nothing, StateConflict},
		"an update of another, enforced":       {"UPDATE", "friday", "", modes.Enforce, Nothing, StateConflict},
		"an update of another, tracked":        {"UPDATE", "friday", "", modes.Track, UpdateRecord, ""},
		"an update of another that is meant":   {"UPDATE", "friday", "database", modes.Normal, Update, StateUpdating},
		"an update of another that is not":     {"UPDATE", "friday", "cloud", modes.Normal, UpdateRecord, ""},
		"a deletion of the same":               {"DELETE", "monday", "", modes.Normal, Delete, StateRemoving},
		"a deletion of another":                {"DELETE", "friday", "", modes.Normal, Nothing, StateConflict},
		"a deletion of another that is meant":  {"DELETE", "friday", "database", modes.Normal, Delete, StateRemoving},
		"a deletion of another that is not":    {"DELETE", "friday", "cloud", modes.Normal, InsertRecord, ""},
		"a deletion where nobody says when":    {"DELETE", "", "", modes.Normal, Delete, StateRemoving},
		"a deletion of another under TRACK":    {"DELETE", "friday", "", modes.Track, InsertRecord, ""},
		"a deletion of another where ENFORCED": {"DELETE", "friday", "", modes.Enforce, Nothing, StateConflict},
	} {
		s := pending(c.how, c.made, c.resolution)
		if c.made == "" {
			s.Object["made"] = modules.Null
		}
		if d := Decide(s, mode(c.mode)); d.Action != c.action || d.State != c.state {
			t.Errorf("%s: %s %q (%s), wanted %s %q", what, d.Action, d.State, d.Reason, c.action, c.state)
		}
	}
	// What this engine has made for the record itself is what the change is about, unless the database has gone back
	// since.
	for what, c := range map[string]struct {
		back     Moment
		conflict bool
	}{
		"its own": {Moment{}, false}, "its own of before": {Moment{Audit: 9, Operation: 1}, true},
		"its own since": {Moment{Audit: 9}, false}, "of a change since": {Moment{Operation: 1}, false},
	} {
		s := pending("UPDATE", "friday", "")
		s.Change.AuditIDs = []int64{9}
		s.Own, s.WentBack = []*Intent{{IDs: []int64{1}, Kind: OpCreate, Result: ResultOK}}, c.back
		if d := Decide(s, mode(modes.Normal)); (d.State == StateConflict) != c.conflict {
			t.Errorf("%s: %+v", what, d)
		}
	}
}

// TestDecideIncarnationWritten: a user who writes such a column, as the kind of a file, means the object that had the
// old value, also once it has the new one.
func TestDecideIncarnationWritten(t *testing.T) {
	file := *widget
	file.Columns = append(slices.Clone(widget.Columns),
		modules.Column{Name: "kind", Type: modules.TypeText, CreateOnly: true, Incarnation: true})
	for found, conflict := range map[string]bool{"file": false, "link": false, "directory": true} {
		s := subject(row("kind", "link"), row("kind", found), modules.Row{"kind": modules.Text("file")})
		s.Table = &file
		if d := Decide(s, mode(modes.Normal)); (d.State == StateConflict) != conflict {
			t.Errorf("where it is a %s: %+v", found, d)
		}
	}
}

// TestDecideWithdrawn: a change that is taken back by the old value after the database has gone back is not pushed over
// what the cloud has by then (R30).
func TestDecideWithdrawn(t *testing.T) {
	for what, c := range map[string]struct {
		back   Moment
		have   string
		wrote  bool
		action Action
	}{
		"withdrawn":                        {Moment{Audit: 9}, "old", false, UpdateRecord},
		"meant":                            {Moment{Audit: 9}, "new", false, Update},
		"changed again":                    {Moment{Audit: 9}, "newest", false, Update},
		"of a change since":                {Moment{Audit: 8}, "old", false, Update},
		"the database has never gone back": {Moment{}, "old", false, Update},
		"withdrawn, and this engine has pushed it": {Moment{Audit: 9}, "old", true, Update},
	} {
		s := subject(row("size", c.have), row("size", "theirs"), modules.Row{"size": modules.Text("old")})
		s.Change.AuditIDs, s.WentBack = []int64{9, 10}, c.back
		if c.wrote {
			s.Own = []*Intent{{IDs: []int64{1}, Kind: OpUpdate, Result: ResultOK,
				Columns: map[string]ValueChange{"size": {From: modules.Text("old"), To: modules.Text("theirs")}}}}
		}
		if d := Decide(s, mode(modes.Normal)); d.Action != c.action {
			t.Errorf("%s: %s (%s), wanted %s", what, d.Action, d.Reason, c.action)
		}
	}
}

// TestReplays: which pending INSERTs may have been carried out in a time that the database has gone back from.
func TestReplays(t *testing.T) {
	for what, c := range map[string]struct {
		edit func(*Subject)
		want bool
	}{
		"inserted before":               {func(*Subject) {}, true},
		"inserted before, edited since": {func(s *Subject) { s.Change.AuditIDs = []int64{9, 12} }, true},
		"inserted since":                {func(s *Subject) { s.Change.AuditIDs = []int64{10} }, false},
		"its object is known": {func(s *Subject) {
			s.State = &State{Binding: Binding{Identity: row()}}
		}, false},
		"users name it": {func(s *Subject) { s.Table = bucket }, false},
		"updated":       {func(s *Subject) { s.Change.Insert = false }, false},
		"gone":          {func(s *Subject) { s.Record = nil }, false},
	} {
		s := changed(subject(row(), nil, nil), "insert")
		s.Change.AuditIDs, s.WentBack = []int64{9}, Moment{Audit: 9}
		c.edit(s)
		if got, replaces := s.Replays(); got != c.want || got && replaces {
			t.Errorf("%s: %t, %t", what, got, replaces)
		}
	}
	for what, c := range map[string]struct {
		base, have string
		want       bool
	}{"replaced": {"a", "b", true}, "taken back": {"a", "a", false}} {
		s := subject(row("shape", c.have), nil, modules.Row{"shape": modules.Text(c.base)})
		s.Change.AuditIDs, s.WentBack = []int64{9}, Moment{Audit: 9}
		if got, replaces := s.Replays(); got != c.want || got && !replaces {
			t.Errorf("%s: %t, %t", what, got, replaces)
		}
	}
}
