package decide

import (
	"slices"

	"iasql/internal/modes"
	"iasql/internal/modules"
)

// verdict is what is to be done about one column.
type verdict int

const (
	verdictSame verdict = iota
	verdictPull
	verdictPush
	verdictPushConflict
	verdictPullConflict
	verdictHold
	verdictStale // the read is older than our own write: look again
)

// compare is the table of docs/design.md, §3, for one column. It returns the
// column's base with the verdict.
func compare(s *Subject, c *modules.Column, m modes.Mode, have, cloud modules.Value, hold bool) (verdict, modules.Value) {
	base, pending := s.pendingBase(c, have)
	if s.dangles(c) && !m.CloudWins() {
		if !s.Follows && s.sameName(c) {
			return verdictSame, base // deleted since the record was read, or inserted again
		}
		return verdictPush, base // it still names an object that was replaced
	}
	var beside *modules.Column
	if !c.Same(have, cloud) {
		beside = s.recordBeside(c)
	}
	if beside != nil && !s.Cloud[c.Name].IsNull() && s.RefKeys[beside.Name] == s.Cloud[c.Name] {
		return verdictPull, base // a name follows the record, which says what it is to be
	}
	written, wrote, stale := s.lastWrite(c, cloud)
	// Before our write it was what both sides had agreed on, even if the read we
	// wrote by did not show it.
	stale = stale || wrote && pending && !s.inserted() && !s.bound() && c.Same(cloud, base) && !c.Same(cloud, written.to)
	if stale { // the cloud holds what we wrote, or will (R13)
		return compareStale(c, m, have, cloud, base, pending, written)
	}
	switch {
	case c.Same(have, cloud):
		return verdictSame, base
	case c.Assigns(have, cloud), m.CloudWins(), c.Chosen && have.IsNull():
		return verdictPull, base
	case !pending && c.Lacks(have):
		return verdictPull, base
	case !pending && c.HasPassed(have, cloud):
		return verdictPull, base // there is no way back
	case c.Replaces(cloud, have) && !c.Identity && s.adopting():
		return compareAdopted(s, c, have, cloud), base // whoever wins: adopting never replaces
	case m.DatabaseWins() && !pending && beside != nil:
		return verdictSame, base // the record's column is pushed
	case m.DatabaseWins():
		return verdictPush, base
	case !pending:
		return verdictPull, base
	case wrote && !written.unsure && c.Same(written.to, have):
		return verdictPull, base // our value arrived, and the cloud moved on
	case wrote && c.Same(written.to, cloud):
		return verdictPush, written.to // our value arrived, and the user moved on
	case s.withdrawn(c, have, base):
		return verdictPull, base
	case s.adopting():
		return compareAdopted(s, c, have, cloud), base
	case s.inserted(), s.bound(), c.Same(cloud, base):
		return verdictPush, base
	case s.resolution() == "database":
		return verdictPush, base
	case s.resolution() == "cloud":
		return verdictPull, base
	case hold:
		return verdictHold, base
	}
	return verdictPushConflict, base
}

// compareStale: the value read is older than what this engine last wrote.
func compareStale(c *modules.Column, m modes.Mode, have, cloud, base modules.Value, pending bool, last written) (verdict, modules.Value) {
	switch {
	case last.unsure && pending && !m.CloudWins() && !c.Same(have, cloud):
		return verdictPush, base // our write may not have been made: writing it again does no harm
	case pending && !m.CloudWins() && !c.Same(have, last.to) && !c.Same(have, cloud):
		// The user has moved on. If that is back to what was read, it may be so
		// or our write may yet show: only a later read tells (R1).
		return verdictPush, last.to
	case c.Assigned || m.CloudWins() && c.Same(have, cloud):
		return verdictSame, base
	}
	return verdictStale, base
}

// compareAdopted: the INSERT met an object that was there already. What it did
// not say is taken from the cloud; what it said wins, short of destroying what is
// there.
func compareAdopted(s *Subject, c *modules.Column, have, cloud modules.Value) verdict {
	_, said := s.Change.Base[c.Name]
	switch {
	case c.Identity: // renamed since it met the object
		return verdictPush
	case c.IsDefault(have) && !said:
		return verdictPull
	case c.Replaces(cloud, have):
		return verdictPullConflict
	}
	return verdictPushConflict
}

// adopting reports whether a pending INSERT met an object this engine did not
// create for it, be it that it has created the object for another record.
func (s *Subject) adopting() bool {
	if !s.inserted() || s.replacing() || s.bound() && s.Table.AssignedIdentity() {
		return false
	}
	return !slices.ContainsFunc(s.Own, func(i *Intent) bool { return i.Kind == OpCreate && i.Record == s.Ref() && !i.Unsure() })
}

// written is what this engine last wrote to a column, perhaps.
type written struct {
	to     modules.Value
	unsure bool
}

// lastWrite looks the column up among this engine's updates within the
// consistency window: what it last wrote, and whether the value read is older
// than that. A creation begins anew: an object may be created without a column's
// value and be given it afterwards, and what was written before was written to
// its predecessor of that name. (Where the cloud assigns the identity there is
// none, and a creation that comes later is an earlier one, made again with its
// token to find out what it made.)
func (s *Subject) lastWrite(c *modules.Column, cloud modules.Value) (last written, wrote, stale bool) {
	for _, i := range s.Own {
		if i.Kind == OpCreate && !i.Unsure() && !s.Table.AssignedIdentity() {
			last, wrote = written{}, false
		}
		if w, ok := i.Columns[c.Name]; ok && i.Kind == OpUpdate {
			last, wrote = written{w.To, i.Unsure()}, true
		}
	}
	if !wrote || c.Same(last.to, cloud) {
		return last, wrote, false
	}
	for _, i := range s.Own {
		if w, ok := i.Columns[c.Name]; ok && i.Kind == OpUpdate && (c.Same(w.From, cloud) || c.Same(w.To, cloud) || !w.Named.IsNull() && w.Named == s.Cloud[c.Name]) {
			return last, true, true
		}
	}
	return last, true, false
}
