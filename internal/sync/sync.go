// Package sync is the cycle: it makes a cloud account and its tables equal.
//
//	snapshot ─► observe ─► match ─► decide ─► plan ─► apply ─► settle ─► again
//
// There is one file per step, in that order. [Decide] and [NewPlan] are pure:
// values in, values out. Everything else talks to the database through
// [Database] and to the cloud through the resources of package
// iasql/internal/modules, so that a simulated world can stand in for both.
//
// # Promises
//
// The comments name the rules of the design (R1…R16) where they are kept:
//
//   - A user's change is settled when the cycle has seen both sides agree on
//     it, and only the very audit rows the cycle had read are marked (R2).
//   - A record is written only if it is still the version the cycle read (R3).
//   - Absence is a complete listing and a direct read, never a guess (R5).
//   - A mutating call is journaled before it is made (R6).
//   - What this engine wrote a moment ago is not undone by a stale read (R13).
package sync

import (
	"time"

	"iasql/internal/auditlog"
	"iasql/internal/modes"
	"iasql/internal/modules"
)

// RecordRef names a record.
type RecordRef struct {
	Table string
	ID    int64
}

// Record is a row of a managed table as the cycle read it.
type Record struct {
	ID int64
	// Version changes with every write to the row; a pull is applied only to
	// the version it was decided on.
	Version string
	Row     modules.Row // database terms
}

// Change is what users did to a record that is not yet settled.
type Change = auditlog.Change

// Presence is what is known of an object's existence.
type Presence int

// The presences. Unknown causes neither delete nor insert (R5).
const (
	Unknown Presence = iota
	Present
	Absent // proven: a direct read said not found
)

// OwnWrite is a write to the cloud that this engine made within the
// consistency window, from the journal (R13).
type OwnWrite struct {
	Kind OpKind
	// Unsure: the answer was lost, and the write may not have been made.
	Unsure  bool
	Other   bool // it was made for another record, which stood for the object
	Columns map[string]ValueChange
	UpTo    int64 // the newest audit row of the record when the write was made
}

// ValueChange is a column's value before and after.
type ValueChange struct {
	From, To modules.Value
	// Named is the cloud's name for what a reference led to before, where that had
	// no record, or one that a user had deleted: From cannot say it.
	Named modules.Value
}

// State is what is remembered of a record between cycles, beyond its audit
// rows: a row of iasql_internal.record_state, which exists only while there is
// something to remember.
type State struct {
	Name     StateName
	Message  string
	Code     string
	Review   bool // a person is needed
	Attempts int
	// Backoff is how long to leave the record alone; it is written, never read.
	// 0 with Review means until a user changes something.
	Backoff time.Duration
	// Due is false while the record backs off.
	Due bool
	// FailedAt is the newest audit row there was when the record failed for
	// good; a newer one makes it due again.
	FailedAt int64
	// Identity overrides the row's identity columns: the object that stands
	// for the record in the cloud, where the row does not say so (yet).
	Identity modules.Row
	// Replacing: the old object is gone and the new one not yet there.
	Replacing bool
	// Resolution is a person's word on the record's open conflicts:
	// "database" or "cloud", "" for none yet.
	Resolution string
	// Unconfirmed counts pushes the cloud accepted without keeping them.
	Unconfirmed int
}

// StateName is a state of design.md §5, as iasql_status shows it.
type StateName string

// The states.
const (
	StatePresent            StateName = "Present"
	StateCreating           StateName = "Creating"
	StateCreatingFailed     StateName = "CreatingFailed"
	StateUpdating           StateName = "Updating"
	StateUpdatingFailed     StateName = "UpdatingFailed"
	StateReplacing          StateName = "Replacing"
	StateRemoving           StateName = "Removing"
	StateRemovingFailed     StateName = "RemovingFailed"
	StateCheckPresentFailed StateName = "CheckPresentFailed"
	StateCheckAbsentFailed  StateName = "CheckAbsentFailed"
	StateWaiting            StateName = "WaitingForDependencies"
	StateConflict           StateName = "Conflict"
)

// stands reports whether a record of that state stands for an object.
func (n StateName) stands() bool {
	switch n {
	case StateUpdating, StateUpdatingFailed, StateReplacing, StateConflict, StateRemoving, StateRemovingFailed:
		return true
	}
	return false
}

// Subject is the unit of deciding: everything both sides know about one
// identity.
type Subject struct {
	Table    *modules.Table
	Scope    modules.Scope
	RecordID int64 // 0 for an object nobody has a record of
	Record   *Record
	Change   *Change
	State    *State

	Presence Presence
	Fault    error       // why Presence is Unknown
	Object   modules.Row // database terms; nil unless Present
	Cloud    modules.Row // the same object in cloud terms
	// RefKeys holds, for every column that references a record by id, the
	// cloud's name for the record it references now; NULL while that has none.
	RefKeys modules.Row
	// Stranded are the reference columns by which the object still names an
	// object that has been, or is about to be, replaced, or whose record a user
	// has deleted.
	Stranded map[string]bool
	// Own are this engine's recent writes to the object, oldest first.
	Own []OwnWrite
	// ClaimedBy is another record that stands for the object of this deleted
	// one, or of this garbage, by the identity in its row: a user deleted this
	// and inserted that.
	ClaimedBy int64
	// ClaimPending: that record has changes that are not settled yet.
	ClaimPending bool
	// Robbed: another record stands for the object this one named; it has none.
	Robbed bool
	// Follows: the subject is looked at because a record it references is to be
	// replaced.
	Follows bool
	// Garbage: the object is the remainder of a replacement and has to go.
	Garbage bool
	// Capability of the resource.
	CanCreate, CanUpdate, CanDelete bool
	// Orphan: the identity names a record that is gone, so that there is no name
	// by which the object could be read.
	Orphan bool
	// WholeGone: the object is a part of one that this engine has deleted, and
	// went along with it.
	WholeGone bool
	// Protected says why the object must not be deleted, or "".
	Protected string
}

// Policy is what the decisions depend on besides the subject.
type Policy struct {
	Rules modes.Rules
	// HoldConflicts: conflict_policy is hold.
	HoldConflicts bool
	// Imported: a full import of the table has completed once, so that ENFORCE
	// may delete what has no record (R7).
	Imported bool
}

// Ref returns the record's name.
func (s *Subject) Ref() RecordRef { return RecordRef{s.Table.Name, s.RecordID} }

// OpKind is what an operation of the journal does.
type OpKind string

// The kinds of operations.
const (
	OpCreate OpKind = "create"
	OpUpdate OpKind = "update"
	OpDelete OpKind = "delete"
)

// Identity returns the columns that name the subject's object in the cloud
// (database terms, with account and region): the override of its state, the
// identity before an unsettled change of it, or the row's. It is false while
// the subject names no object. A user-chosen name of a record that was never
// created names the object it asks for, which may be there already.
func (s *Subject) Identity() (modules.Row, bool) {
	var source modules.Row
	switch {
	case s.State != nil && s.State.Identity != nil:
		source = s.State.Identity
	case s.Record != nil:
		source = s.Record.Row
	case s.Change != nil && s.Change.Last != nil:
		source = s.Change.Last
	case s.Object != nil:
		source = s.Object
	default:
		return nil, false
	}
	replacing := s.State != nil && s.State.Replacing
	if replacing && s.Table.AssignedIdentity() {
		return nil, false // the old object is gone, the new one has no name yet
	}
	row := modules.Row{}
	for i := range s.Table.Columns {
		c := &s.Table.Columns[i]
		if !c.Identity && c.Name != modules.ColumnAccount && c.Name != modules.ColumnRegion {
			continue
		}
		v := source[c.Name]
		if s.Change != nil && !s.Change.Insert && !replacing && (s.State == nil || s.State.Identity == nil) {
			if base, changed := s.Change.Base[c.Name]; changed {
				v = base
			}
		}
		if v.IsNull() && c.Identity {
			return nil, false
		}
		row[c.Name] = v
	}
	return row, true
}
