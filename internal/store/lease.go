package store

import (
	"iasql/internal/decide"
	"iasql/internal/modules"
)

// Lease is the right to run cycles of an account.
type Lease struct {
	Account string
	// Fence is the fencing token: it is greater than that of every earlier lease of
	// the account, and a write under an older one fails.
	Fence int64
	Cycle int64 // row of iasql_cycles
	// Batch is the batch being committed or undone under the lease, 0 for none: the
	// cycle deals with what the batch has staged, and with what has to follow that.
	Batch int64
	// Rules is the version of the rules that the cycle decides by
	// ([Settings.Version]), "" while it has not read them.
	Rules string
	// Events: events of the cloud are read, so that what was found in the cloud is
	// attributed to whom they tell ([Settings.Events]).
	Events bool
	// Reviewed: a person has seen the plan, so that R7 does not stop it.
	Reviewed bool
}

// Kind is how much a cycle looks at.
type Kind string

// The kinds of cycles.
const (
	Full Kind = "full" // everything: finds what changed in the cloud
	Push Kind = "push" // only records with pending changes or a state
)

// Report is what a cycle did.
type Report struct {
	Passes  int
	Listed  int // objects listed
	Read    int // objects read directly
	Calls   int // mutating calls in the intent log
	Pushed  int // operations that succeeded
	Pulled  int // record writes
	Settled int
	Failed  int
	Errors  []RecordError // capped at MaxErrors
	Steps   []decide.Step // of a read-only cycle
	// what will certainly not be done of what a strict cycle was to do, and why; it has done nothing then
	Refused []string
	Stopped string // why R7, R27 or R28 stopped the cycle, "" if none did
	Held    bool   // nothing was done about the account (R27)
	More    bool   // there may be more to do at once, by another cycle
	List    bool   // events hint at what a full cycle has to list
	Locked  bool   // something is to be done with tables that are locked
	// Restored says why nothing is pushed: the database may have gone back in time (R30). "" if it has not.
	Restored string
	// Denied are the places that the cloud has begun to deny, and Permitted those that it no longer does.
	Denied, Permitted []string
}

// MaxErrors bounds the errors a report carries.
const MaxErrors = 1000

// RecordError is an error and where it happened; ID is 0 when it was a whole
// listing (Scope says which) or an object without record.
type RecordError struct {
	Record decide.RecordRef
	Scope  modules.Scope
	Err    error
	// Operation is the entry of the intent log that failed, the last one if there are
	// several; 0 if no call was made.
	Operation int64
}
