package decide

import (
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
		object["node_id"], object["peer"] = modules.Text("n-1"), Outgoing(1)
		s.Presence, s.Object, s.Dangling = Present, object, map[string]bool{"peer": true}
		s.Cloud = object.Clone()
		s.Cloud["peer"] = modules.Text(peer.names)
		s.Change = &auditlog.Change{AuditIDs: []int64{7, 8}, Again: true, Base: object}
		d := Decide(s, mode(modes.Normal))
		if (d.Action == Update) != peer.push || d.Pull["node_id"].String() != "n-1" {
			t.Errorf("it names %s: %+v", what, d)
		}
	}
}
