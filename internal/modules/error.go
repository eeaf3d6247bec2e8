package modules

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Class says what an error means for the record it happened to: whether
// waiting heals it, and whether the call may have had its effect.
type Class int

// The classes of errors.
const (
	// Transient: a fault of the moment (5xx, a refused connection before the
	// request was sent). Heals by itself.
	Transient Class = iota
	// MayHaveHappened: the request was sent and the answer was lost (a cut
	// connection, a timeout). The effect must be looked for, not assumed.
	MayHaveHappened
	// Throttled: the API asks to be called less. Nothing happened. Heals.
	Throttled
	// NotFound: the object is not there; or, where one is made or changed,
	// something that it names is not, which heals while AWS's reads may still lag
	// behind its writes, and then is the user's mistake.
	NotFound
	// Exists: an object with that name is there already.
	Exists
	// Dependency: something else has to come or go first. Heals.
	Dependency
	// Invalid: the cloud refuses the values. A person must change them.
	Invalid
	// Denied: the credentials may not do it. A person is needed.
	Denied
	// Quota: a limit of the account is reached. A person is needed.
	Quota
	// ReadOnly: the engine itself refused a mutating call. A defect or a
	// deliberate stop, never sent to the cloud.
	ReadOnly
)

var classNames = [...]string{
	"transient", "may have happened", "throttled", "not found", "already exists",
	"dependency", "invalid", "denied", "quota", "read only",
}

// String returns the class in words.
func (c Class) String() string { return classNames[c] }

// Heals reports whether trying again later, unchanged, can succeed.
func (c Class) Heals() bool {
	switch c {
	case Transient, MayHaveHappened, Throttled, Dependency, NotFound:
		return true
	}
	return false
}

// Error is a failed call to the cloud.
type Error struct {
	Class      Class
	Code       string        // the API's own code, such as "InvalidVpcID.NotFound"
	Message    string        // the API's own message, for people
	RetryAfter time.Duration // what the API asked for, 0 if it did not say
	// Permission: what is denied is the permission of a caller that the cloud knows, not
	// its credentials, which may be renewed at any time.
	Permission bool
	// Ended: the cloud says how a request ended that may have been made by an earlier
	// call. It has failed, and made nothing.
	Ended bool
	Err   error // the cause, if any
}

// Error returns the code and the message.
func (e *Error) Error() string {
	switch {
	case e.Code != "" && e.Message != "":
		return e.Code + ": " + e.Message
	case e.Message != "":
		return e.Message
	case e.Err != nil:
		return e.Err.Error()
	}
	return fmt.Sprintf("%s error", e.Class)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// ClassOf returns the class of err: that of the [*Error] it is or wraps,
// MayHaveHappened for an ended context, Transient for anything else.
func ClassOf(err error) Class {
	var e *Error
	if errors.As(err, &e) {
		return e.Class
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return MayHaveHappened
	}
	return Transient
}

// NotPermitted reports whether the error says that the caller, whom the cloud knows, lacks
// a permission.
func NotPermitted(err error) bool {
	for e := (*Error)(nil); errors.As(err, &e); err = e.Err {
		if e.Class == Denied && e.Permission {
			return true
		}
	}
	return false
}

// HasEnded reports whether the error says of an earlier call, too, that it has failed.
func HasEnded(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Ended
}

// Unread is the error of a reading that the cloud did not permit for some objects, or
// parts of them: all else was read. Nothing is known of them (R5).
type Unread struct{ Objects []UnreadObject }

// UnreadObject is an object that could not be read.
type UnreadObject struct {
	// Identity has the columns by which it is known: of a whole group of objects only
	// those that they share.
	Identity Row
	// Parts are what could not be read of an object that was read otherwise; none: it
	// was not read at all.
	Parts []string
	Err   error
}

// Error names the first of them.
func (e *Unread) Error() string {
	const most = 3
	var texts []string
	for _, o := range e.Objects[:min(most, len(e.Objects))] {
		texts = append(texts, o.String())
	}
	if len(e.Objects) > most {
		texts = append(texts, fmt.Sprintf("and %d more", len(e.Objects)-most))
	}
	return "could not be read: " + strings.Join(texts, "; ")
}

// Unwrap returns the error of the first.
func (e *Unread) Unwrap() error { return e.Objects[0].Err }

// Whole reports whether there are objects of which nothing was read.
func (e *Unread) Whole() bool {
	return slices.ContainsFunc(e.Objects, func(o UnreadObject) bool { return len(o.Parts) == 0 })
}

// String names the object and the cause.
func (o UnreadObject) String() string {
	var names []string
	for _, column := range slices.Sorted(maps.Keys(o.Identity)) {
		if v := o.Identity[column]; column != ColumnAccount && !v.IsNull() {
			names = append(names, v.String())
		}
	}
	text := strings.Join(names, " ")
	if len(o.Parts) > 0 {
		text += " (" + strings.Join(o.Parts, ", ") + ")"
	}
	return fmt.Sprintf("%s: %v", text, o.Err)
}
