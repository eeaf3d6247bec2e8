package sync

import (
	"fmt"
	"maps"
	"slices"
	"sort"

	"iasql/internal/modes"
	"iasql/internal/modules"
)

// Action is what a decision does to a record or an object.
type Action int

// The actions. The first group changes the cloud, the second the database.
const (
	Nothing Action = iota
	Create
	Update
	Replace
	Delete

	InsertRecord
	UpdateRecord
	DeleteRecord
)

var actionNames = [...]string{"nothing", "create", "update", "replace", "delete", "insert record", "update record", "delete record"}

// String returns the action in words.
func (a Action) String() string { return actionNames[a] }

// Pushes reports whether the action changes the cloud.
func (a Action) Pushes() bool { return a >= Create && a <= Delete }

// Conflict is a column that moved on both sides. Nothing is lost: it keeps the
// value that did not win.
type Conflict struct {
	Column   string // "" for the record as a whole
	Database modules.Value
	Cloud    modules.Value
	Base     modules.Value
	// Open: neither side is written until a person resolves it.
	Open bool
	// PulledAnyway: the cloud's value won (adoption of an object whose column
	// is fixed at creation).
	PulledAnyway bool
}

// Decision is what to do about one subject.
type Decision struct {
	Action Action
	Push   []string    // the columns an Update or Replace pushes, sorted
	Pull   modules.Row // the columns to write to the record (database terms)
	// Settle: the subject's pending change is dealt with once this decision's
	// database part is done.
	Settle    bool
	Conflicts []Conflict
	// State and Reason: what to show of a record that is not settled. Review:
	// a person is needed.
	State  StateName
	Review bool
	Reason string
	// Wait: nothing can be decided from this observation; look again later.
	Wait bool
	// Deleting by the engine's own account (ENFORCE, garbage) rather than by a
	// user's pending DELETE.
	OwnAccount bool
}

// MaxUnconfirmed is how often a value is pushed that the cloud accepts and
// does not keep, before a person is asked.
const MaxUnconfirmed = 3

// Decide says what to do about a subject: the tables of design.md §3. It is
// pure.
func Decide(s *Subject, p Policy) Decision {
	mode := p.Rules.Of(s.Table.Name, s.RecordID, "")
	if s.Garbage {
		return decideGarbage(s, mode)
	}
	switch {
	case s.Record == nil && s.Change != nil && !s.Change.Delete:
		return Decision{Settle: true, Reason: "the record is gone"}
	case s.Record == nil && s.Change != nil:
		return decideDeleted(s, mode)
	case s.Record == nil && s.RecordID != 0: // of which there is only a state left
		return Decision{Settle: true, Reason: "the record is gone"}
	case s.Record == nil:
		return decideUnrecorded(s, p, mode)
	case s.Presence == Present && s.deletedLast():
		// A read that still shows what this engine deleted a moment ago (R13). It
		// is no proof that the cloud has nothing of that name, if the cloud wins.
		if mode == modes.Track {
			return Decision{Wait: true, State: StateReplacing, Reason: "deleted a moment ago"}
		}
		return decideAbsent(s, mode)
	case s.Presence == Unknown:
		return Decision{Wait: true, State: StateCheckPresentFailed, Reason: "the cloud could not be read"}
	case s.Presence == Absent:
		return decideAbsent(s, mode)
	case s.wholeGoing() != "":
		return Decision{Wait: true, Reason: "goes along with its " + s.wholeGoing()}
	case s.showsPredecessor():
		return Decision{Wait: true, State: StateReplacing, Reason: "replaced, not visible yet"}
	}
	return decideColumns(s, p)
}

// createdLast reports whether the newest thing this engine did to the object's
// existence, within the consistency window, was to create it.
func (s *Subject) createdLast() bool {
	return slices.ContainsFunc(s.Own, func(w OwnWrite) bool { return w.Kind == OpCreate }) && !s.deletedLast()
}

// showsPredecessor reports whether the object was read as it was before this
// engine replaced it by another of the same name: it looks in every column like
// the one that was deleted, and not like the record (R13).
func (s *Subject) showsPredecessor() bool {
	deleted := -1
	for i := range s.Own {
		switch s.Own[i].Kind {
		case OpDelete:
			deleted = i
		case OpCreate:
			if deleted >= 0 && s.looksLike(s.Own[deleted].Columns) {
				return true
			}
		}
	}
	return false
}

// looksLike reports whether the object looks like the old one rather than like
// the record: a column that is fixed at creation tells, and without one all
// columns together.
func (s *Subject) looksLike(old map[string]ValueChange) bool {
	alike, differs := true, false
	for name, was := range old {
		c := s.Table.Column(name)
		if c == nil {
			continue
		}
		same, changed := c.Same(s.Object[name], was.From), !c.Same(s.Record.Row[name], was.From)
		if c.CreateOnly && same && changed {
			return true
		}
		alike, differs = alike && same, differs || changed
	}
	return alike && differs
}

// deletedLast reports whether the newest thing this engine did to the object's
// existence, within the consistency window, was to delete it.
func (s *Subject) deletedLast() bool {
	for i := len(s.Own) - 1; i >= 0; i-- {
		switch {
		case s.Own[i].Kind == OpDelete && s.Own[i].Unsure: // deleting again does no harm
		case s.Own[i].Kind == OpDelete:
			return true
		case s.Own[i].Kind == OpCreate:
			return false
		}
	}
	return false
}

// decideGarbage: the old object of a replacement.
func decideGarbage(s *Subject, mode modes.Mode) Decision {
	if s.ClaimedBy != 0 {
		return Decision{Settle: true, Reason: "a user wants to keep it"}
	}
	switch s.Presence {
	case Present:
		if s.deletedLast() {
			return Decision{Wait: true, State: StateReplacing, Reason: "deletion under way"}
		}
		if mode == modes.Track {
			return Decision{Wait: true, State: StateReplacing, Reason: "replaced, and left in the cloud while its record is tracked"}
		}
		return Decision{Action: Delete, State: StateReplacing, Reason: "replaced by a new object", OwnAccount: true}
	case Absent:
		if s.createdLast() { // not visible yet (R13)
			return Decision{Wait: true, State: StateReplacing, Reason: "created a moment ago, not visible yet"}
		}
		return Decision{Settle: true}
	}
	return Decision{Wait: true, State: StateReplacing, Reason: "the cloud could not be read"}
}

// decideDeleted: a user deleted the record, and that is not settled.
func decideDeleted(s *Subject, mode modes.Mode) Decision {
	if _, named := s.Identity(); !named {
		return Decision{Settle: true, Reason: "was never created"}
	}
	if s.Change.Insert && !s.everStood() {
		// An object of that name is somebody else's.
		return Decision{Settle: true, Reason: "was inserted and deleted before anything was done about it"}
	}
	if s.ClaimedBy != 0 && s.ClaimPending {
		return Decision{Wait: true, State: StateRemoving, Reason: fmt.Sprintf("record %d is taking its object over", s.ClaimedBy)}
	}
	if s.ClaimedBy != 0 {
		return Decision{Settle: true, Reason: fmt.Sprintf("record %d has taken its object over", s.ClaimedBy)}
	}
	switch s.Presence {
	case Unknown:
		return Decision{Wait: true, State: StateCheckAbsentFailed, Reason: "the cloud could not be read"}
	case Absent:
		if s.createdLast() && !s.Orphan && !s.WholeGone { // not visible yet (R13)
			return Decision{Wait: true, State: StateRemoving, Reason: "created a moment ago, not visible yet"}
		}
		return Decision{Settle: true, Reason: "is gone"}
	}
	if mode == modes.Track {
		if s.deletedLast() {
			return Decision{Wait: true, State: StateRemoving, Reason: "deletion under way"}
		}
		if s.parentless() {
			return Decision{Wait: true, State: StateWaiting, Reason: "what its object belongs to has no record"}
		}
		return Decision{Action: InsertRecord, Pull: s.pullable(), Settle: true, Reason: "TRACK: the cloud wins"}
	}
	if s.deletedLast() {
		return Decision{Wait: true, State: StateRemoving, Reason: "deletion under way"}
	}
	if d, part := decidePart(s); part {
		return d
	}
	if !s.CanDelete {
		return Decision{Wait: true, State: StateRemovingFailed, Review: true,
			Reason: "objects of " + s.Table.Name + " cannot be deleted from here"}
	}
	return Decision{Action: Delete, State: StateRemoving, Reason: "deleted here"}
}

// everStood reports whether the inserted record has been seen to stand for an
// object, or says by an assigned identity which one it is about.
func (s *Subject) everStood() bool {
	if s.Table.AssignedIdentity() || len(s.Own) > 0 {
		return true
	}
	return s.State != nil && s.State.Identity != nil
}

// decideUnrecorded: an object without a record, and nobody deleted one.
func decideUnrecorded(s *Subject, p Policy, mode modes.Mode) Decision {
	if s.Presence != Present {
		return Decision{}
	}
	for _, w := range s.Own {
		switch w.Kind {
		case OpDelete: // a stale listing still shows what was just deleted (R13)
			return Decision{Wait: true, Reason: "deleted a moment ago"}
		case OpCreate: // its record is about to learn its identity
			return Decision{Wait: true, Reason: "created a moment ago"}
		}
	}
	if mode == modes.Enforce && p.Imported && s.CanDelete && s.Protected == "" {
		return Decision{Action: Delete, State: StateRemoving, Reason: "ENFORCE: no record asks for it", OwnAccount: true}
	}
	if s.parentless() {
		return Decision{Wait: true, Reason: "what it belongs to has no record yet"}
	}
	return Decision{Action: InsertRecord, Pull: s.pullable(), Reason: "found in the cloud"}
}

// parentless reports whether the object cannot have a record yet, because one
// it cannot do without has none.
func (s *Subject) parentless() bool {
	for i := range s.Table.Columns {
		c := &s.Table.Columns[i]
		if _, known := s.Object[c.Name]; c.Required && c.References != nil && (!known || s.Stranded[c.Name]) {
			return true
		}
	}
	return false
}

// pullable returns the object without the columns by which it names what has no
// record (any more).
func (s *Subject) pullable() modules.Row {
	if len(s.Stranded) == 0 {
		return s.Object
	}
	row := s.Object.Clone()
	for name := range s.Stranded {
		if s.Table.Column(name).References != nil {
			delete(row, name)
		}
	}
	return row
}

// decideAbsent: a record whose object is proven not to exist.
func decideAbsent(s *Subject, mode modes.Mode) Decision {
	if s.createdLast() { // not visible yet (R13)
		return Decision{Wait: true, State: StateCreating, Reason: "created, not visible yet"}
	}
	inserted := s.Change != nil && s.Change.Insert
	wasCreated := s.State != nil && s.State.Identity != nil && s.Table.AssignedIdentity()
	replacing := s.State != nil && s.State.Replacing
	switch {
	case mode == modes.Track:
		return Decision{Action: DeleteRecord, Settle: true, Reason: "TRACK: the cloud has no such object"}
	case replacing:
		return createOrRefuse(s, StateReplacing, "replacing")
	case inserted && !wasCreated:
		if _, named := s.Identity(); named && s.Table.AssignedIdentity() {
			return Decision{Wait: true, State: StateCreatingFailed, Review: true,
				Reason: "the cloud has no object with the identity given by the INSERT; delete the row, or insert it without " + s.Table.Identity()[0]}
		}
		return createOrRefuse(s, StateCreating, "inserted here")
	case mode == modes.Enforce:
		return createOrRefuse(s, StateCreating, "ENFORCE: gone from the cloud")
	case inserted, s.Change != nil && len(s.Change.Base) > 0:
		// Here inserted means created and gone again before both sides were
		// seen to agree: that is as little settled as an update.
		switch resolution(s) {
		case "database":
			return createOrRefuse(s, StateCreating, "conflict resolved in favour of the database")
		case "cloud":
			return Decision{Action: DeleteRecord, Settle: true, Reason: "conflict resolved in favour of the cloud"}
		}
		return Decision{Wait: true, State: StateConflict, Review: true, Conflicts: []Conflict{{Open: true}},
			Reason: "deleted in the cloud while it was changed here"}
	}
	return Decision{Action: DeleteRecord, Settle: true, Reason: "gone from the cloud"}
}

func resolution(s *Subject) string {
	if s.State == nil {
		return ""
	}
	return s.State.Resolution
}

func createOrRefuse(s *Subject, state StateName, reason string) Decision {
	if !s.CanCreate {
		return Decision{Wait: true, State: StateCreatingFailed, Review: true,
			Reason: "objects of " + s.Table.Name + " cannot be created from here"}
	}
	return Decision{Action: Create, State: state, Reason: reason}
}

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
			!c.Same(have, cloud) && cloud.String() != "replaced:"+have.String() {
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

// made reports whether this engine created the object for the record and has not
// yet seen the two agree.
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
