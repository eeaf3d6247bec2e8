package decide

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"iasql/internal/modules"
)

// Jitter returns a number in [0,1) by which waiting times differ.
type Jitter func() float64

// The limits of a record's backoff.
const (
	backoffBase = time.Second
	backoffCap  = 5 * time.Minute
	// goingBackoff bounds the time between two looks at an object that is being
	// made or deleted: a database takes minutes, and something waits for it.
	goingBackoff = 30 * time.Second
	// LongestBackoff is longer than any, also of what an API asks for. An attempt
	// that is further away was planned before the clock was put back.
	LongestBackoff = 20 * time.Minute
)

// backoff returns how long to wait after the n-th failure: exponential with
// full jitter on its upper half, capped, and never less than the API asked for.
func (jitter Jitter) backoff(n int, err error) time.Duration {
	d := backoffCap
	if n < 10 {
		d = min(backoffBase<<(n-1), backoffCap)
	}
	d = d/2 + time.Duration(jitter()*float64(d/2))
	var e *modules.Error
	if errors.As(err, &e) && e.RetryAfter > d {
		d = e.RetryAfter
	}
	return d
}

// State returns the state of a record while the operation is under way.
func (op *Op) State() StateName {
	switch {
	case op.Replaces:
		return StateReplacing
	case op.Kind == OpCreate:
		return StateCreating
	case op.Kind == OpUpdate:
		return StateUpdating
	}
	return StateRemoving
}

// Succeeded returns what to remember of a record whose operation was answered with
// success, until both sides have been seen to agree. What a creation has made is
// bound to the record when it has been described.
func (op *Op) Succeeded() *State {
	st := op.Subject.Remember(State{Name: op.State(), Due: true})
	switch op.Kind {
	case OpCreate:
		st.Replacing, st.SeenGoing = false, false
		if op.Replaces { // a successor that is no more as it should be must not be replaced without end
			st.Unconfirmed++
		}
	case OpUpdate:
		st.Unconfirmed++
	case OpDelete:
		if op.Replaces {
			st.Identity, st.Replacing = nil, true
		}
	}
	return st
}

// InDoubt reports whether a failed operation may have had its effect: its answer
// was lost, or it asked for a name that exists, which may be the work of its own
// first delivery.
func (op *Op) InDoubt(err error) bool {
	switch modules.ClassOf(err) {
	case modules.MayHaveHappened:
		return true
	case modules.Exists:
		return op.Kind == OpCreate && !op.Replaces && op.Subject.Table.Creation == modules.ByName
	}
	return false
}

// maxNotFound is how often a creation or a change is tried that names something
// that is not there. The pauses between add up to three to four minutes: what has
// just been made is seen by then (Amazon EC2 API Reference, "Eventual
// consistency"), and what is still missing was mistyped, or is gone.
const maxNotFound = 9

// shortestName is of how many characters a value has to be for its occurrence in an
// error's message to say that the error is about it.
const shortestName = 4

// Misnames reports whether an error says that what the record names is not there, and
// nobody can have made it just now: the message says a value of a column that names no
// record, and no creation within the consistency window was of something of such a name.
func (s *Subject) Misnames(err error, recent Intents) bool {
	var e *modules.Error
	if s.Record == nil || !errors.As(err, &e) || e.Class != modules.NotFound || s.refersTo(e.Message) {
		return false
	}
	for i := range s.Table.Columns {
		c := &s.Table.Columns[i]
		v := s.Record.Row[c.Name]
		if c.References != nil || c.Computed || c.Identity || c.Local || c.WriteOnly || len(c.Enum) > 0 ||
			c.Type != modules.TypeText || v.IsNull() {
			continue
		}
		if name := v.String(); len(name) >= shortestName && strings.Contains(e.Message, name) {
			return !recent.names(name)
		}
	}
	return false
}

// refersTo reports whether a message has the name of something that the record refers to: it may be about that,
// whatever else has the same name.
func (s *Subject) refersTo(message string) bool {
	has := func(name modules.Value) bool { return !name.IsNull() && strings.Contains(message, name.String()) }
	for i := range s.Table.Columns {
		switch c := &s.Table.Columns[i]; {
		case c.Records != nil:
			if slices.ContainsFunc(s.RefKeys[c.Name].Elements(), has) {
				return true
			}
		case c.Name == modules.ColumnAccount, c.Name == modules.ColumnRegion, c.References == nil:
		case c.References.ByKey && has(s.Record.Row[c.Name]), !c.References.ByKey && has(s.RefKeys[c.Name]):
			return true
		}
	}
	return false
}

// Failed returns what to remember of a record whose operation failed: healing
// errors back off, others wait for a person (docs/design.md, §6). name is the state
// of the record while the operation was under way.
func (s *Subject) Failed(name StateName, err error, jitter Jitter) *State {
	class := modules.ClassOf(err)
	st := State{Name: name, Message: message(err), Code: class.String(), Attempts: s.attempts()}
	if class == modules.Exists && name == StateReplacing {
		// The predecessor is still there, whatever a read has shown (R17).
		st.Backoff = min(jitter.backoff(st.Attempts, err), goingBackoff)
		return s.Remember(st)
	}
	if class.Heals() && !(class == modules.NotFound && name != StateRemoving &&
		(s.Mistyped || st.Attempts >= maxNotFound)) {
		st.Backoff = jitter.backoff(st.Attempts, err)
		return s.Remember(st)
	}
	st.Review = true
	if class == modules.Exists && name == StateCreating {
		// Once it can be read it is adopted.
		st.Backoff = jitter.backoff(st.Attempts, err)
	}
	switch name {
	case StateCreating:
		st.Name = StateCreatingFailed
	case StateUpdating:
		st.Name = StateUpdatingFailed
	case StateRemoving:
		st.Name = StateRemovingFailed
	}
	return s.Remember(st)
}

// codeDatabase is the code of a state that says that the database refused what
// the cloud has.
const codeDatabase = "database"

// PullRefused returns what to remember of a record that the database does not let
// be as the cloud has it.
func (s *Subject) PullRefused(action Action, err error, jitter Jitter) *State {
	st := State{Name: StateUpdatingFailed, Review: true, Code: codeDatabase, Attempts: s.attempts(),
		Message: "the cloud's value does not fit the table: " + message(err)}
	if action == DeleteRecord {
		st.Message = "the object is gone from the cloud, and its record cannot be deleted: " + message(err)
	}
	if modules.ClassOf(err) == modules.Dependency {
		st.Name, st.Review, st.Message = StateWaiting, false, "waits to be deleted: "+message(err)
		st.Backoff = jitter.backoff(st.Attempts, nil)
		return s.Remember(st)
	}
	st.Message += fmt.Sprintf("; then SELECT iasql_retry('%s', %d)", s.Table.Name, s.RecordID)
	// A constraint may be dropped at any time, and nobody would tell us.
	st.Backoff = max(jitter.backoff(st.Attempts, err), time.Minute/2)
	return s.Remember(st)
}

// besides is between the reason why a record waits and what the database has refused.
const besides = "; and "

// Says reports whether the state gives the reason, be it among others.
func (st *State) Says(reason string) bool {
	return st.Message == reason || strings.HasPrefix(st.Message, reason+besides)
}

// PullRefusedToo returns what to remember of a record that waits for a reason of its own,
// and that the database does not let be as the cloud has it besides. It may not even name
// its object then, and whoever looks has to know.
func (s *Subject) PullRefusedToo(waits *State, err error, jitter Jitter) *State {
	st := *waits
	refused := s.PullRefused(UpdateRecord, err, jitter)
	st.Message = message(errors.New(st.Message + besides + refused.Message))
	if st.Review && st.Code == "" {
		st.Code = codeDatabase
	}
	if st.Backoff == 0 && st.Review {
		st.Backoff = refused.Backoff
	}
	return &st
}

// NotInserted returns what to remember of a deleted record that could not be
// brought back: another record has its identity, or a change of one that had it is
// not settled yet.
func (s *Subject) NotInserted(jitter Jitter) *State {
	return s.Blocked("waits for changes of another record with the same identity", jitter)
}

// Blocked returns what to remember of a record that waits for another.
func (s *Subject) Blocked(reason string, jitter Jitter) *State {
	n := s.attempts()
	return s.Remember(State{Name: StateWaiting, Message: reason, Attempts: n, Backoff: jitter.backoff(n, nil)})
}

// Waiting returns what to remember of a record that cannot be dealt with now.
func (s *Subject) Waiting(d Decision, jitter Jitter) *State {
	st := State{Name: d.State, Message: d.Reason, Code: d.Code, Review: d.Review, Attempts: s.attempts()}
	if s.Fault != nil {
		st.Message, st.Review = message(s.Fault), true
	}
	if !d.Review {
		st.Backoff = jitter.backoff(st.Attempts, s.Fault)
	}
	if s.Presence == Going || s.Forming || d.Going {
		st.Backoff = min(st.Backoff, goingBackoff)
	}
	return s.Remember(st)
}

// Stopped returns what to remember of a record whose operation the guard has
// stopped.
func (op *Op) Stopped(why string) *State {
	name := StateRemoving
	if op.Replaces {
		name = StateUpdatingFailed
	}
	return op.Subject.Remember(State{
		Name: name, Review: true, Code: "delete_guard",
		Message: "this cycle " + why +
			"; nothing was done. If that is meant, raise the setting or commit the change in a batch after looking " +
			"at its preview",
	})
}

// maxMessage bounds the error texts that are kept, in bytes.
const maxMessage = 2000

// message returns an error's text, fit for a column.
func message(err error) string {
	text := strings.ToValidUTF8(strings.ReplaceAll(err.Error(), "\x00", "\uFFFD"), "\uFFFD")
	if len(text) > maxMessage {
		text = strings.ToValidUTF8(text[:maxMessage], "") + " … (cut)"
	}
	return text
}
