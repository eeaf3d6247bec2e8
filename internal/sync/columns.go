package sync

import (
	"maps"
	"slices"
	"sort"

	"iasql/internal/modes"
	"iasql/internal/modules"
)

// The decision about a record whose object is there, column by column: the second
// half of [Decide].

// decideColumns: record and object are both there; the decision falls column
// by column.
func decideColumns(s *Subject, p Policy) Decision {
	var (
		d       = Decision{Pull: modules.Row{}}
		replace bool
		stale   bool
		held    bool
		unnamed string // a column that is to be pulled, and names an object without a record
		rules   = p.Rules.Any()
		given   = modules.Row{} // what the cloud has in columns that a user has left to it
	)
	for i := range s.Table.Columns {
		c := &s.Table.Columns[i]
		if c.Local || c.Name == modules.ColumnAccount {
			continue
		}
		m := modes.Normal
		if rules {
			m = p.Rules.Of(s.Table.Name, s.RecordID, c.Name)
		}
		if m == modes.Enforce && !p.Imported { // the record may have been made without what it names, which came later
			m = modes.Normal
		}
		have := s.Record.Row[c.Name] // D
		if c.WriteOnly {
			switch {
			case have.IsNull():
			case secretPushed(s, c): // blank it (R16)
				d.Pull[c.Name] = modules.Null
			case m != modes.Track:
				d.Push = append(d.Push, c.Name)
			}
			continue
		}
		cloud, known := s.Object[c.Name] // C
		unrecorded := false
		if !known && !s.Cloud[c.Name].IsNull() {
			// It names an object without a record. That cannot be pulled, but it
			// is not what a user asks for either.
			if _, pending := pendingBase(s, c, have); m == modes.Normal && !pending {
				continue
			}
			cloud, known, unrecorded = modules.Text("object:"+s.Cloud[c.Name].String()), m != modes.Track, true
		}
		if !known || s.Stranded[c.Name] && m == modes.Track {
			continue
		}
		if _, pending := pendingBase(s, c, have); s.Stranded[c.Name] && m == modes.Normal && !pending &&
			!c.Same(have, cloud) && cloud.String() != Outgoing+have.String() {
			continue // it names what a user has deleted; nobody asked for anything else
		}
		v, base := compare(s, c, m, have, cloud, p.HoldConflicts)
		if unrecorded && v == verdictPull {
			continue // the cloud may choose it, and the row has no word for it
		}
		if (v == verdictPush || v == verdictPushConflict) && !s.Follows && s.sameName(c) {
			v = verdictStale // somebody has adopted what it names since the record was read
		}
		switch v {
		case verdictPull:
			if m == modes.Normal && s.leftToCloud(c, have) {
				given[c.Name] = cloud
			} else {
				d.Pull[c.Name] = cloud
			}
		case verdictPush:
			d.Push = append(d.Push, c.Name)
			replace = replace || c.CreateOnly
		case verdictPushConflict:
			d.Conflicts = append(d.Conflicts, Conflict{Column: c.Name, Database: have, Cloud: cloud, Base: base})
			d.Push = append(d.Push, c.Name)
			replace = replace || c.CreateOnly
		case verdictPullConflict:
			if unrecorded { // it may have one before long
				unnamed = c.Name
				continue
			}
			d.Conflicts = append(d.Conflicts, Conflict{Column: c.Name, Database: have, Cloud: cloud, Base: base, PulledAnyway: true})
			d.Pull[c.Name] = cloud
		case verdictHold:
			d.Conflicts = append(d.Conflicts, Conflict{Column: c.Name, Database: have, Cloud: cloud, Base: base, Open: true})
			held = true
		case verdictStale:
			stale = true
		}
	}
	sort.Strings(d.Push)
	if len(d.Push) == 0 && !stale && !held {
		// Not before the rest is there, for the cloud may then choose anew: a
		// route that is given a NAT gateway gives up its internet gateway.
		maps.Copy(d.Pull, given)
	}
	switch {
	case len(d.Push) > 0 && s.State != nil && s.State.Unconfirmed >= MaxUnconfirmed && s.Change.Latest() <= s.State.FailedAt:
		return d.refuse(StateUpdatingFailed, "the cloud accepts "+d.Push[0]+" but does not keep it")
	case len(d.Push) > 0 && replace && !(s.CanCreate && s.CanDelete), len(d.Push) > 0 && !replace && !s.CanUpdate:
		return d.refuse(StateUpdatingFailed, "column "+d.Push[0]+" of "+s.Table.Name+" cannot be changed from here")
	case len(d.Push) > 0 && replace && p.Rules.Of(s.Table.Name, s.RecordID, "") == modes.Track:
		return d.refuse(StateUpdatingFailed, "changing "+d.Push[0]+" replaces the object, and the record is tracked")
	case len(d.Push) > 0 && replace:
		d.Action, d.State, d.Reason = Replace, StateReplacing, "a column that is fixed at creation changed"
	case len(d.Push) > 0:
		d.Action, d.State, d.Reason = Update, StateUpdating, "changed here"
		if s.Change == nil {
			d.Reason = "ENFORCE: changed in the cloud"
		}
	case held:
		d.State, d.Review, d.Reason, d.Wait = StateConflict, true, "changed on both sides", true
	case stale:
		d.State, d.Reason, d.Wait = StateUpdating, "pushed, not visible yet", true
	case unnamed != "":
		d.State, d.Reason, d.Wait = StateWaiting, "its object's "+unnamed+" is fixed, and is "+s.Cloud[unnamed].String()+", which has no record", true
	case len(d.Pull) > 0:
		d.Action, d.Reason, d.Settle = UpdateRecord, "changed in the cloud", true
	default:
		d.Settle = true
	}
	return d
}

// sameName reports whether a reference would be pushed as the very name that the
// object has in it.
func (s *Subject) sameName(c *modules.Column) bool {
	return c.References != nil && !c.References.ByKey && !s.Cloud[c.Name].IsNull() && s.RefKeys[c.Name] == s.Cloud[c.Name]
}

// refuse turns the decision into one that a person has to look at; what was to
// be pulled is kept, with the conflicts that remember what it overwrites.
func (d Decision) refuse(state StateName, reason string) Decision {
	pulled, _ := d.splitConflicts()
	return Decision{Pull: d.Pull, Conflicts: pulled, Wait: true, State: state, Review: true, Reason: reason}
}

// leftToCloud reports whether a user has set the column to NULL, so that the
// cloud chooses. What it has now, pulled while other changes of the record are
// pending, would pass for what the user asks for (R4).
func (s *Subject) leftToCloud(c *modules.Column, have modules.Value) bool {
	if !c.Chosen || !have.IsNull() || s.Change == nil || s.Change.Insert {
		return false
	}
	_, pending := s.Change.Base[c.Name]
	return pending
}

// secretPushed reports whether the journal shows that the newest secret of the
// record has gone out.
func secretPushed(s *Subject, c *modules.Column) bool {
	for _, w := range s.Own {
		if _, ok := w.Columns[c.Name]; ok && !w.Unsure && !w.Other && w.UpTo >= s.Change.Latest() {
			return true
		}
	}
	return false
}

// pendingBase returns the base of a column and whether a user's change of it is
// pending. A column left NULL by an INSERT was not asked for: the cloud's
// default is pulled. All that is true of an INSERT is true of a record whose
// object has been made anew: the new one may lack what cannot be said when it is
// created. (What the cloud has chosen among its own objects it chooses anew: the
// old choice may have gone along with the old object.)
func pendingBase(s *Subject, c *modules.Column, have modules.Value) (base modules.Value, pending bool) {
	if s.Change != nil {
		base, pending = s.Change.Base[c.Name]
	}
	if !pending && (s.inserted() || s.made() && !(c.Chosen && c.References != nil)) {
		return modules.Null, !have.IsNull()
	}
	return base, pending
}

// inserted reports whether the record is new and its INSERT pending.
func (s *Subject) inserted() bool { return s.Change != nil && s.Change.Insert }

// made reports whether it is remembered which object stands for the record, since
// this engine has created it, or the INSERT has met it, and the two have not yet
// been seen to agree.
func (s *Subject) made() bool { return s.State != nil && s.State.Identity != nil }

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

// compare is the table of design.md §3 for one column.
func compare(s *Subject, c *modules.Column, m modes.Mode, have, cloud modules.Value, hold bool) (verdict, modules.Value) {
	base, pending := pendingBase(s, c, have)
	if s.Stranded[c.Name] && m != modes.Track {
		if !s.Follows && s.RefKeys[c.Name] == s.Cloud[c.Name] {
			return verdictSame, base // deleted since the record was read
		}
		return verdictPush, base // it still names an object that was replaced
	}
	written, wrote, stale := lastWrite(s, c, cloud)
	// Before our write it was what both sides had agreed on, even if the read we
	// wrote by did not show it.
	stale = stale || wrote && pending && !s.inserted() && !s.made() && c.Same(cloud, base) && !c.Same(cloud, written.to)
	if stale { // the cloud holds what we wrote, or will (R13)
		if written.unsure && pending && m != modes.Track && !c.Same(have, cloud) {
			return verdictPush, base // or will not: writing it again does no harm
		}
		// The user has moved on. If that is back to what was read, it may be so
		// or our write may yet show: only a later read tells (R1).
		if pending && m != modes.Track && !c.Same(have, written.to) && !c.Same(have, cloud) {
			return verdictPush, written.to
		}
		if c.Assigned || m == modes.Track && c.Same(have, cloud) {
			return verdictSame, base
		}
		return verdictStale, base
	}
	switch {
	case c.Same(have, cloud):
		return verdictSame, base
	case c.Assigned, m == modes.Track, c.Chosen && have.IsNull():
		return verdictPull, base
	case m == modes.Enforce:
		return verdictPush, base
	case !pending:
		return verdictPull, base
	case wrote && !written.unsure && c.Same(written.to, have):
		return verdictPull, base // our value arrived, and the cloud moved on
	case wrote && c.Same(written.to, cloud):
		return verdictPush, written.to // our value arrived, and the user moved on
	case s.adopting():
		// The INSERT met an object that was there already. What it did not say
		// is taken from the cloud; what it said wins, short of destroying what
		// is there.
		_, said := s.Change.Base[c.Name]
		switch {
		case c.Identity: // renamed since it met the object
			return verdictPush, base
		case c.IsDefault(have) && !said:
			return verdictPull, base
		case c.CreateOnly:
			return verdictPullConflict, base
		}
		return verdictPushConflict, base
	case s.inserted(), s.made(), c.Same(cloud, base):
		return verdictPush, base
	case resolution(s) == "database":
		return verdictPush, base
	case resolution(s) == "cloud":
		return verdictPull, base
	case hold:
		return verdictHold, base
	}
	return verdictPushConflict, base
}

// adopting reports whether a pending INSERT met an object this engine did not
// create for it.
func (s *Subject) adopting() bool {
	if s.Change == nil || !s.Change.Insert || s.State != nil && (s.State.Replacing || s.State.Identity != nil && s.Table.AssignedIdentity()) {
		return false
	}
	return !slices.ContainsFunc(s.Own, func(w OwnWrite) bool { return w.Kind == OpCreate && !w.Unsure })
}

// lastWrite looks the column up among this engine's updates within the
// consistency window: what it last wrote, and whether the value read is older
// than that. A creation begins anew: an object may be created without a column's
// value and be given it afterwards, and what was written before was written to
// its predecessor of that name. (Where the cloud assigns the identity there is
// none, and a creation that comes later is an earlier one, made again with its
// token to find out what it made.)
func lastWrite(s *Subject, c *modules.Column, cloud modules.Value) (last written, wrote, stale bool) {
	for i := range s.Own {
		if s.Own[i].Kind == OpCreate && !s.Own[i].Unsure && !s.Table.AssignedIdentity() {
			last, wrote = written{}, false
		}
		if w, ok := s.Own[i].Columns[c.Name]; ok && s.Own[i].Kind == OpUpdate {
			last, wrote = written{w.To, s.Own[i].Unsure}, true
		}
	}
	if !wrote || c.Same(last.to, cloud) {
		return last, wrote, false
	}
	for i := range s.Own {
		if w, ok := s.Own[i].Columns[c.Name]; ok && s.Own[i].Kind == OpUpdate && (c.Same(w.From, cloud) || c.Same(w.To, cloud) || !w.Named.IsNull() && w.Named == s.Cloud[c.Name]) {
			return last, true, true
		}
	}
	return last, true, false
}

// written is what this engine last wrote to a column, perhaps.
type written struct {
	to     modules.Value
	unsure bool
}
