package sync

import (
	"fmt"
	gosync "sync"

	"iasql/internal/modules"
)

// Report is what a cycle did.
type Report struct {
	Passes  int
	Listed  int // objects listed
	Read    int // objects read directly
	Calls   int // mutating calls journaled
	Pushed  int // operations that succeeded
	Pulled  int // record writes
	Settled int
	Failed  int
	Errors  []RecordError // capped at MaxErrors
	Steps   []Step        // with ReadOnly only
	Stopped string        // why R7 stopped the cycle, "" if it did not
	More    bool          // there may be more to do at once, by another cycle
	Locked  bool          // something is to be done with tables that are locked
}

// MaxErrors bounds the errors a report carries.
const MaxErrors = 1000

// RecordError is an error and where it happened; ID is 0 when it was a whole
// listing (Scope says which) or an object without record.
type RecordError struct {
	Record RecordRef
	Scope  modules.Scope
	Err    error
}

// ObjectError is the error of an object that could not be given a record.
type ObjectError struct {
	Object string // its identity
	Err    error
}

// Error names the object.
func (e *ObjectError) Error() string {
	return fmt.Sprintf("object %s does not fit the table and has no record: %v", e.Object, e.Err)
}

// Unwrap returns the cause.
func (e *ObjectError) Unwrap() error { return e.Err }

// report is the report of a cycle under way. Several parts of the cycle may add to
// it at once.
type report struct {
	lock gosync.Mutex
	Report
}

// count changes the report.
func (r *report) count(change func(*Report)) {
	r.lock.Lock()
	defer r.lock.Unlock()
	change(&r.Report)
}

// fail notes an error that belongs to one record or one listing.
func (r *report) fail(ref RecordRef, scope modules.Scope, err error) {
	r.count(func(r *Report) {
		r.Failed++
		if len(r.Errors) < MaxErrors {
			r.Errors = append(r.Errors, RecordError{ref, scope, err})
		}
	})
}
