package sync

import (
	"fmt"
	"slices"

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
