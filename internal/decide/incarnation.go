package decide

import (
	"fmt"
	"slices"

	"iasql/internal/modes"
	"iasql/internal/modules"
)

// A change is about an object, and names it by what may become another's: a queue that is deleted and made anew has the
// old one's name. Where a change has waited for long, as one that a restored database asks for again, the cloud's word
// on when the object was made, or its unique id, tells that it is not the one that was meant (R30).

// Moment is how far the audit log and the log of operations went at a time, by their newest rows; 0 for none.
type Moment struct{ Audit, Operation int64 }

// replayed reports whether the pending change began before the database went back in time: it may have been carried out
// in what came then, and is not there any more.
func (s *Subject) replayed() bool { return s.Change.Began(s.WentBack.Audit) }

// Replays reports whether the record's pending change may have made an object in a time that the database has gone back
// from, which is then in the cloud under a name that only the cloud knows: an INSERT its first, or a change that
// replaces it another.
func (s *Subject) Replays() (yes, replaces bool) {
	if !s.replayed() || s.Record == nil || !s.Table.ComputedIdentity() {
		return false, false
	}
	if s.inserted() {
		return !s.bound() && !s.replacing(), false
	}
	for name, base := range s.Change.Base {
		if c := s.Table.Column(name); c != nil && !c.Computed && c.Replaces(base, s.Record.Row[name]) &&
			!c.Same(base, s.Record.Row[name]) {
			return true, true
		}
	}
	return s.replacing(), true
}

// own reports whether this engine has changed the object since, so that it may differ from what the change was about.
func (s *Subject) own() bool {
	return slices.ContainsFunc(s.Own, func(i *Intent) bool { return !s.replayed() || i.ID() > s.WentBack.Operation })
}

// withdrawn reports whether somebody has given a column its old value back after the database had gone back: what was
// pending is not meant, and nothing of it has been carried out here.
func (s *Subject) withdrawn(c *modules.Column, have, base modules.Value) bool {
	return s.replayed() && !s.inserted() && !s.bound() && c.Same(have, base)
}

// otherwise returns why the object that was found is not the one that the pending change is about, "" if it is, as far
// as anybody can tell. What this engine has made for the record is its own.
func (s *Subject) otherwise() string {
	if s.Change == nil || s.inserted() || s.bound() || s.replacing() || s.own() || s.Object == nil {
		return ""
	}
	row := s.Change.Last
	if s.Record != nil {
		row = s.Record.Row
	}
	for i := range s.Table.Columns {
		c := &s.Table.Columns[i]
		have, cloud := row[c.Name], s.Object[c.Name]
		if base, changed := s.Change.Base[c.Name]; changed && !c.Same(have, cloud) {
			have = base // what the change was about
		}
		if c.Incarnation && !have.IsNull() && !cloud.IsNull() && !c.Same(have, cloud) {
			return fmt.Sprintf("the object was made anew in the cloud since (%s was %s, and is %s), and the change "+
				"is about the one before", c.Name, have, cloud)
		}
	}
	return ""
}

// askOtherwise asks a person about a change of an object that is not there any more.
func askOtherwise(why string) Decision {
	return Decision{Wait: true, State: StateConflict, Review: true, Conflicts: []Conflict{{Open: true}}, Reason: why}
}

// tracking returns the policy by which the cloud wins.
func (p Policy) tracking() Policy {
	p.Rules = modes.New([]modes.Rule{{Mode: modes.Track}})
	return p
}
