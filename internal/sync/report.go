package sync

import (
	"fmt"
	gosync "sync"

	"iasql/internal/decide"
	"iasql/internal/modules"
	"iasql/internal/store"
)

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

// StrayError is the error of an object without a record that ENFORCE could not delete.
type StrayError struct {
	Object string // its identity
	Err    error
}

// Error names the object.
func (e *StrayError) Error() string {
	return fmt.Sprintf("object %s has no record, and ENFORCE could not delete it: %v", e.Object, e.Err)
}

// Unwrap returns the cause.
func (e *StrayError) Unwrap() error { return e.Err }

// spelled returns the identity of an object, for people.
func spelled(s *decide.Subject) string {
	key, _ := s.Table.Key(s.Object)
	return modules.SpellKey(key)
}

// report is the report of a cycle under way. Several parts of the cycle may add to
// it at once.
type report struct {
	lock gosync.Mutex
	store.Report
}

// count changes the report.
func (r *report) count(change func(*store.Report)) {
	r.lock.Lock()
	defer r.lock.Unlock()
	change(&r.Report)
}

// pass counts a pass, and returns which one it is.
func (r *report) pass() (n int) {
	r.count(func(r *store.Report) {
		r.Passes++
		n = r.Passes
	})
	return n
}

// fail notes an error that belongs to one record or one listing.
func (r *report) fail(ref decide.RecordRef, scope modules.Scope, err error) {
	r.failed(store.RecordError{Record: ref, Scope: scope, Err: err})
}

// failIn notes an error of an operation, with the entries of the intent log that it has.
func (r *report) failIn(ids []int64, ref decide.RecordRef, scope modules.Scope, err error) {
	problem := store.RecordError{Record: ref, Scope: scope, Err: err}
	if len(ids) > 0 {
		problem.Operation = ids[len(ids)-1]
	}
	r.failed(problem)
}

func (r *report) failed(problem store.RecordError) {
	r.count(func(r *store.Report) {
		r.Failed++
		if len(r.Errors) < store.MaxErrors {
			r.Errors = append(r.Errors, problem)
		}
	})
}

// locked notes that something is to be done with tables that are locked.
func (r *report) locked() { r.count(func(r *store.Report) { r.Locked = true }) }

// add adds what a cycle has done that ran within this one.
func (r *report) add(other *store.Report) {
	r.count(func(to *store.Report) {
		to.Read += other.Read
		to.Calls += other.Calls
		to.Pushed += other.Pushed
		to.Pulled += other.Pulled
		to.Settled += other.Settled
		to.Failed += other.Failed
		to.Errors = append(to.Errors, other.Errors[:min(len(other.Errors), store.MaxErrors-len(to.Errors))]...)
		to.Locked, to.List = to.Locked || other.Locked, to.List || other.List
		if to.Stopped == "" {
			to.Stopped = other.Stopped
		}
	})
}
