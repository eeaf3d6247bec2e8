package decide

import (
	"slices"
	"testing"

	"iasql/internal/auditlog"
	"iasql/internal/modes"
	"iasql/internal/modules"
)

// TestDecideNamesItself: a record was deleted and inserted again, and its row does not say
// yet what it is called. Its object names itself, as the record does: nothing is pushed (R1).
func TestDecideNamesItself(t *testing.T) {
	t.Parallel()
	for what, peer := range map[string]struct {
		names string
		push  bool
	}{"itself": {"n-1", false}, "another that was deleted": {"n-2", true}} {
		s := nodeSubject(1, 0, 1)
		object := s.Record.Row.Clone()
		object["node_id"], object["peer"] = modules.Text("n-1"), modules.Outgoing(1)
		s.Presence, s.Object = Present, object
		s.Cloud = object.Clone()
		s.Cloud["peer"] = modules.Text(peer.names)
		s.Change = &auditlog.Change{AuditIDs: []int64{7, 8}, Again: true, Base: object}
		d := Decide(s, mode(modes.Normal))
		if (d.Action == Update) != peer.push || d.Pull["node_id"].String() != "n-1" {
			t.Errorf("it names %s: %+v", what, d)
		}
	}
}

// TestDecideDangling: what an object names that has no record, or one on its way out, is pulled
// by nobody. It is pushed over where a user asks for that, and where the record's own target was
// replaced.
func TestDecideDangling(t *testing.T) {
	t.Parallel()
	asked := &auditlog.Change{AuditIDs: []int64{7}, Base: modules.Row{"peer": modules.Int(3)}}
	unrecorded := modules.Null // the column is not in the object
	for what, c := range map[string]struct {
		names  modules.Value
		mode   modes.Mode
		change *auditlog.Change
		push   bool
	}{
		"no record":                                    {unrecorded, modes.Normal, nil, false},
		"no record, and a user asks for another":       {unrecorded, modes.Normal, asked, true},
		"no record, ENFORCE":                           {unrecorded, modes.Enforce, nil, true},
		"no record, TRACK":                             {unrecorded, modes.Track, asked, false},
		"its own target's old object":                  {modules.Outgoing(2), modes.Normal, nil, true},
		"its own target's old object, TRACK":           {modules.Outgoing(2), modes.Track, nil, false},
		"a record on its way out":                      {modules.Outgoing(3), modes.Normal, nil, false},
		"a record on its way out, and a user's change": {modules.Outgoing(3), modes.Normal, asked, true},
		"a record on its way out, ENFORCE":             {modules.Outgoing(3), modes.Enforce, nil, true},
	} {
		s := nodeSubject(1, 0, 2)
		s.Record.Row["node_id"] = modules.Text("n-1")
		s.RefKeys["peer"] = modules.Text("n-2")
		s.Presence, s.Object, s.Change = Present, s.Record.Row.Clone(), c.change
		s.Cloud = s.Object.Clone()
		s.Cloud["peer"] = modules.Text("n-9")
		if s.Object["peer"] = c.names; c.names == unrecorded {
			delete(s.Object, "peer")
		}
		d := Decide(s, mode(c.mode))
		if v, pulled := d.Pull["peer"]; pulled || slices.Contains(d.Push, "peer") != c.push {
			t.Errorf("%s: push %v, pull %s, wanted push: %v", what, d.Push, v, c.push)
		}
	}
}

// TestDecideUnrecordedConflict: a conflict says by its name what has no record.
func TestDecideUnrecordedConflict(t *testing.T) {
	t.Parallel()
	s := nodeSubject(1, 0, 2)
	s.Record.Row["node_id"] = modules.Text("n-1")
	s.Change = &auditlog.Change{AuditIDs: []int64{7}, Base: modules.Row{"peer": modules.Int(3)}}
	s.Presence, s.Object = Present, s.Record.Row.Clone()
	s.Cloud = s.Object.Clone()
	s.Cloud["peer"] = modules.Text("n-9")
	delete(s.Object, "peer")
	policy := mode(modes.Normal)
	policy.HoldConflicts = true
	d := Decide(s, policy)
	if len(d.Conflicts) != 1 || !d.Conflicts[0].Open || d.Conflicts[0].Cloud != modules.Unrecorded("n-9") ||
		d.Conflicts[0].Database != modules.Int(2) {
		t.Errorf("decided %+v", d)
	}
}

// TestFollowerNames: what follows a record that is replaced names it until then, by its id.
func TestFollowerNames(t *testing.T) {
	t.Parallel()
	s := nodeSubject(1, 0, 2)
	s.Record.Row["node_id"] = modules.Text("n-1")
	s.RefKeys["peer"] = modules.Text("n-2")
	s.Presence, s.Object = Present, s.Record.Row.Clone()
	s.Cloud = s.Object.Clone()
	s.Cloud["peer"] = modules.Text("n-2")
	if d := Decide(s, mode(modes.Normal)); d.Action != Nothing {
		t.Errorf("nothing is replaced: %+v", d)
	}
	s.Follows = map[string]bool{"peer": true}
	if d := Decide(s, mode(modes.Normal)); d.Action != Update || !slices.Equal(d.Push, []string{"peer"}) {
		t.Errorf("it follows: %+v", d)
	}
}
