package decide

import (
	"iasql/internal/auditlog"
	"iasql/internal/modules"
)

// Step is one subject and what was decided about it.
type Step struct {
	Subject  *Subject
	Decision Decision
}

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

var actionNames = [...]string{"nothing", "create", "update", "replace", "delete", "insert record", "update record",
	"delete record"}

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
	// Drift: nobody has changed anything here; the setting drift asks a person.
	Drift bool
	// PulledAnyway: the cloud's value won (adoption of an object whose column
	// is fixed at creation).
	PulledAnyway bool
}

// Audit returns the audit row that the conflict is about: the newest of the pending
// change, 0 if there is none or the conflict is not about it.
func (c *Conflict) Audit(change *auditlog.Change) int64 {
	if c.Drift {
		return 0
	}
	return change.Latest()
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
	// Held is what the decision leaves as it is although the two sides differ, nil
	// for nothing: a preview shows it.
	Held *Held
	// State and Reason: what to show of a record that is not settled. Review:
	// a person is needed.
	State  StateName
	Review bool
	Reason string
	// Refused: what a user asks for will certainly not be done, and Reason says why. A preview shows it, and a commit
	// that is to undo what fails does not begin.
	Refused bool
	// Code goes with State: CodeRule if the rules that hold are why it waits, CodeAlong if its object goes with
	// another.
	Code string
	// Wait: nothing can be decided from this observation; look again later.
	Wait bool
	// Going: it waits for the end of a deletion that the cloud has under way.
	Going bool
}

// SplitConflicts separates the conflicts whose value in the database is
// overwritten from the others.
func (d *Decision) SplitConflicts() (pulled, others []Conflict) {
	for _, c := range d.Conflicts {
		if c.PulledAnyway {
			pulled = append(pulled, c)
		} else {
			others = append(others, c)
		}
	}
	return pulled, others
}
