package decide

import (
	"fmt"
	"time"

	"iasql/internal/auditlog"
	"iasql/internal/modes"
	"iasql/internal/modules"
)

// Subject is the unit of deciding: everything both sides know about one
// identity.
type Subject struct {
	Table    *modules.Table
	Scope    modules.Scope
	RecordID int64 // 0 for an object nobody has a record of

	// What the database has.
	Record *Record          // nil: there is none
	Change *auditlog.Change // nil: nothing is pending
	State  *State           // nil: nothing is remembered
	// Batch is the open batch that has the record staged, 0 for none: cycles that
	// are not the batch's leave the record alone (R21).
	Batch int64
	// RefKeys holds, for every column that references a record by id, the
	// cloud's name for the record it references now; NULL while that has none.
	// Of a list of records it is the list of their names.
	RefKeys modules.Row

	// What the cloud has, and the calls by which this engine has changed it within
	// the consistency window, oldest first.
	Observation
	Own []*Intent
	Can modules.Abilities

	// WentBack is when the database last went back in time.
	WentBack Moment

	// What else bears on the subject.
	Claim Claim
	// Deposed: a replacement has put another object in this one's place, and it
	// has to go.
	Deposed bool
	// Doubt: where the object is, nobody knows yet what a creation of another record has
	// made: the object may be that, and not be visible yet (R6).
	Doubt bool
	// RoomInDoubt: the object was asked to go so that another takes its place, and nobody knows yet whether that
	// has been done (R6).
	RoomInDoubt bool
	// Mistyped: the call has failed for what the record names, which is not there and
	// cannot have been made just now ([Subject.Misnames]).
	Mistyped bool
	// Follows are the columns by which the record names records that are to be replaced,
	// for which the subject is looked at; nil if it is not looked at for that.
	Follows map[string]bool
}

// RecordRef names a record.
type RecordRef struct {
	Table string
	ID    int64
}

// Ref returns the record's name.
func (s *Subject) Ref() RecordRef { return RecordRef{s.Table.Name, s.RecordID} }

// Record is a row of a managed table as the cycle read it.
type Record struct {
	ID int64
	// Version changes with every write to the row; a pull is applied only to
	// the version it was decided on (R3).
	Version string
	Row     modules.Row // database terms
}

// Presence is what is known of an object's existence.
type Presence int

// The presences. Unknown causes neither delete nor insert (R5), and nor does Going.
const (
	Unknown Presence = iota
	Present
	Absent // proven: a direct read said not found
	// Going: the cloud is deleting the object, and it still has its name. It is
	// neither present nor absent, however long that takes (R17).
	Going
)

// Observation is what a read of the cloud has shown.
type Observation struct {
	Presence Presence
	Fault    error       // why Presence is Unknown
	Object   modules.Row // database terms (see dangling.go); nil unless Present or Going
	Cloud    modules.Row // the same object in cloud terms
	// Manager says whose machinery looks after the object, or "". The engine does not destroy
	// it on its own account.
	Manager string
	// Protected says why the object must not be deleted, or "".
	Protected string
	// Ignored says by which word of a user's the object is left to others, or "": it
	// is not imported, and ENFORCE does not touch it.
	Ignored string
	// Forming: the cloud is still making the object.
	Forming bool
	// Failure says why the cloud could not make the object, or "".
	Failure string
	// Found: within the consistency window the record was made for an object that was
	// found in the cloud, or its INSERT was settled, whose object had been read then. That
	// a read does not find it proves nothing (R13).
	Found bool
	// WentAway: when the object was read last the cloud was deleting it, as the record says.
	WentAway bool
	// Unnameable: the identity names a record that is gone, so that there is no
	// name by which the object could be read.
	Unnameable bool
	// Cascaded: this engine has deleted the owner of the object, which went along
	// with it.
	Cascaded bool
}

// Claim is another record's ownership claim: By its row stands for the object that
// the subject names. Either a user has deleted the subject's record, or the
// replacement has deposed its object, and a user has inserted the other record; or
// the subject's record names the object beside its row, and has lost it.
type Claim struct {
	By      int64 // the record that claims the object, 0 for none
	Pending bool  // that record has changes that are not settled yet
	// Batch is another batch, which has staged a record that stood for the object, 0
	// for none: whether it does so again is known when the batch has ended (R21).
	Batch int64
}

// open reports whether it is not certain yet that the other record has the object.
func (c Claim) open() bool { return c.By != 0 && c.Pending || c.Batch != 0 }

// reason says what the subject's record waits for.
func (c Claim) reason() string {
	if c.Batch != 0 {
		return fmt.Sprintf("batch %d has staged a record that stands for its object", c.Batch)
	}
	return fmt.Sprintf("record %d is taking its object over", c.By)
}

// Lost reports whether the subject's record has lost its object to another record.
func (s *Subject) Lost() bool { return s.Record != nil && s.Claim.By != 0 && !s.yields() }

// yields reports whether another record is about to take over the object that is
// remembered to be the subject's, or may do so when a batch has ended. Until it has, the
// object stays the subject's: the other record may be deleted before anything is done
// about it, and nobody would know of the object.
func (s *Subject) yields() bool {
	return s.Record != nil && !s.Deposed && s.bound() && s.Claim.open()
}

// Policy is what the decisions depend on besides the subject.
type Policy struct {
	Rules modes.Rules
	// HoldConflicts: conflict_policy is hold.
	HoldConflicts bool
	// Imported: a full import of the table has completed once, so that ENFORCE
	// may delete what has no record (R7).
	Imported bool
	// Protection says what must not be destroyed (R25).
	Protection Protection
	// AskDrift: the setting drift is ask. What the cloud has changed is pulled only
	// after a person has said so.
	AskDrift bool
	// Adopted: a user has asked for the object, so that it is imported whatever the
	// settings say.
	Adopted bool
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
	// Due is false while the record backs off; it is read, never written.
	Due bool
	// FailedAt is the newest audit row there was when the record failed for
	// good; a newer one makes it due again.
	FailedAt int64
	// Resolution is a person's word on the record's open conflicts:
	// "database" or "cloud", "" for none yet. It is read, never written.
	Resolution string
	Binding
}

// Due reports whether the subject may be acted upon now: it does not back off.
func (s *Subject) Due() bool { return s.State == nil || s.State.Due }

// attempts returns how often the subject has been tried, this time included.
func (s *Subject) attempts() int {
	if s.State == nil {
		return 1
	}
	return s.State.Attempts + 1
}

// resolution returns a person's word on the subject's open conflicts.
func (s *Subject) resolution() string {
	if s.State == nil {
		return ""
	}
	return s.State.Resolution
}

// Closes returns how the conflicts of the subject that are still open end when it is settled; "" if they do not. A
// person's word on one of them has decided about all.
func (s *Subject) Closes() string {
	switch {
	case s.resolution() == "database":
		return "pushed"
	case s.State != nil && (s.State.Name == StateConflict || s.resolution() == "cloud"):
		return "pulled"
	}
	return ""
}

// StateName is a state of docs/design.md, §5, as iasql_status shows it.
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
	StatePaused             StateName = "Paused"
)

// stands reports whether a record of that state stands for an object.
func (n StateName) stands() bool {
	switch n {
	case StateUpdating, StateUpdatingFailed, StateReplacing, StateConflict, StateRemoving, StateRemovingFailed:
		return true
	}
	return false
}
