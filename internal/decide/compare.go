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

// asker is who asked for that in which record and object differ, as the audit log and this
// engine's own writes tell.
type asker int

const (
	// byCloud: somebody changed the object, and nobody the record since.
	byCloud asker = iota
	// byUser: somebody changed the record, and the object has what both had agreed on.
	byUser
	// byInsert: somebody inserted a record for an object that was there already.
	byInsert
	// byBoth: both were changed since they agreed.
	byBoth
)

// compare is the table of docs/design.md, §3, for one column: first who asked for the
// difference, then what that comes to in the column's mode. It returns the column's base
// with the verdict.
func compare(s *Subject, c *modules.Column, m modes.Mode, have, cloud modules.Value, hold bool) (verdict,
	modules.Value) {
	base, pending := s.pendingBase(c, have)
	if s.dangles(c) && !m.CloudWins() {
		if s.Follows == nil && s.sameName(c) {
			return verdictSame, base // deleted since the record was read, or inserted again
		}
		return verdictPush, base // it still names an object that was replaced
	}
	var beside *modules.Column
	if !c.Same(have, cloud) {
		beside = s.companionOf(c)
	}
	if beside != nil && !s.Cloud[c.Name].IsNull() && s.RefKeys[beside.Name] == s.Cloud[c.Name] {
		return verdictPull, base // a name follows the record, which says what it is to be
	}
	written, wrote, stale := s.lastWrite(c, cloud)
	// Before our write it was what both sides had agreed on, even if the read we
	// wrote by did not show it.
	stale = stale || wrote && pending && !s.inserted() && !s.bound() && c.Same(cloud, base) &&
		!c.Same(cloud, written.to)
	if stale { // the cloud holds what we wrote, or will (R13)
		return compareStale(c, m, have, cloud, base, pending, written)
	}
	switch {
	case c.Same(have, cloud):
		return verdictSame, base
	case m.CloudWins(), cloudSays(c, have, cloud, pending),
		!pending && c.Observed != nil && c.Observed(s.Record.Row):
		return verdictPull, base
	case c.Replaces(cloud, have) && !c.Identity && s.adopting(): // whoever wins: adopting never replaces
		return compareAdopted(s, c, have, cloud), base
	case m.DatabaseWins() && !pending && beside != nil: // the record's column is pushed
		return verdictSame, base
	case m.DatabaseWins():
		return verdictPush, base
	}
	who, base := s.asker(c, have, cloud, base, pending, written, wrote)
	switch who {
	case byCloud:
		return verdictPull, base
	case byUser:
		return verdictPush, base
	case byInsert:
		return compareAdopted(s, c, have, cloud), base
	}
	return s.compareBoth(hold), base
}

// cloudSays reports whether a column has what only the cloud can say: what it assigns or
// chooses, what a record without a value lacks, and what there is no way back from.
func cloudSays(c *modules.Column, have, cloud modules.Value, pending bool) bool {
	return c.Assigns(have, cloud) || c.OptionalComputed && have.IsNull() || !pending &&
		(c.Lacks(have) || c.HasPassed(have, cloud))
}

// asker returns who asked for that in which D and C differ, where no value of the cloud's is
// older than what this engine has written, and the column's base, which is what this engine
// has written where that has arrived.
func (s *Subject) asker(c *modules.Column, have, cloud, base modules.Value, pending bool, last written,
	wrote bool) (asker, modules.Value) {
	switch {
	case !pending:
		return byCloud, base
	case wrote && !last.unsure && c.Same(last.to, have): // our value arrived, and the cloud moved on
		return byCloud, base
	case wrote && c.Same(last.to, cloud): // our value arrived, and the user moved on
		return byUser, last.to
	case s.withdrawn(c, have, base): // asked for before the database went back, and taken back
		return byCloud, base
	case s.adopting():
		return byInsert, base
	case s.inserted(), s.bound(), c.Same(cloud, base):
		return byUser, base
	}
	return byBoth, base
}

// compareBoth: both sides were changed. A person's word decides, the setting conflict_policy
// or else the person who wrote the row.
func (s *Subject) compareBoth(hold bool) verdict {
	switch {
	case s.resolution() == "database":
		return verdictPush
	case s.resolution() == "cloud":
		return verdictPull
	case hold:
		return verdictHold
	}
	return verdictPushConflict
}

// compareStale: the value read is older than what this engine last wrote.
func compareStale(c *modules.Column, m modes.Mode, have, cloud, base modules.Value, pending bool,
	last written) (verdict, modules.Value) {
	switch {
	case last.unsure && pending && !m.CloudWins() && !c.Same(have, cloud):
		return verdictPush, base // our write may not have been made: writing it again does no harm
	case pending && !m.CloudWins() && !c.Same(have, last.to) && !c.Same(have, cloud):
		// The user has moved on. If that is back to what was read, it may be so
		// or our write may yet show: only a later read tells (R1).
		return verdictPush, last.to
	case c.Computed || m.CloudWins() && c.Same(have, cloud):
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
	if !s.inserted() || s.replacing() || s.bound() && s.Table.ComputedIdentity() {
		return false
	}
	return !slices.ContainsFunc(s.Own, func(i *Intent) bool {
		return i.Kind == OpCreate && i.Record == s.Ref() && !i.Unsure()
	})
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
		if i.Kind == OpCreate && !i.Unsure() && !s.Table.ComputedIdentity() {
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
		if w, ok := i.Columns[c.Name]; ok && i.Kind == OpUpdate &&
			(c.Same(w.From, cloud) || c.Same(w.To, cloud) || !w.Named.IsNull() && w.Named == s.Cloud[c.Name]) {
			return last, true, true
		}
	}
	return last, true, false
}
