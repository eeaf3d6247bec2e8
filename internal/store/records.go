package store

import (
	"time"

	"iasql/internal/decide"
	"iasql/internal/modes"
	"iasql/internal/modules"
)

// Settings are what the cycle needs of the module tables, iasql_settings and iasql_mode.
// Several cycles may have the same slices and maps: nobody changes them.
type Settings struct {
	// Provider is whose account it is; "" if there is no such account.
	Provider string
	// Tables are the names of the installed tables of all providers, in order.
	Tables []string
	// Locked says, by table, who keeps the engine from it; nobody does from the others.
	Locked map[string]error
	Rules  modes.Rules
	// Version changes whenever the rules do.
	Version           string
	HoldConflicts     bool
	AskDrift          bool
	Protection        decide.Protection
	Exclusions        decide.Exclusions
	Deletes           decide.DeleteLimits
	ConsistencyWindow time.Duration
	// MaxStaleness is how old the newest listing of what does not change may become;
	// 0: it is listed by every full cycle.
	MaxStaleness time.Duration
	// Watched are the regions of whose changes events of the cloud tell now, "" for what an
	// account has once; WatchedStaleness is their MaxStaleness. Events: some are read, be it
	// of other regions, or not reliably.
	Watched          map[string]bool
	WatchedStaleness time.Duration
	Events           bool
	Imported         map[string]bool // by table
	// Identity is who the account is, as a world spells it; "" while nobody has asked it. Held says why it was last
	// left alone, "" if it was not (R27).
	Identity, Held string
	// Installation is the identity of this installation.
	Installation string
	// Restored says why nothing is pushed: the database may have gone back in time (R30). "" if it has not.
	Restored string
	// WentBack is how far the logs went when the database last was found to have gone back in time, be that confirmed
	// or not, as long as something is pending from before; WentBackAge is the time since.
	WentBack    decide.Moment
	WentBackAge time.Duration
}

// Listing is what is remembered of the listings of a table in a scope.
type Listing struct {
	Table string
	Scope modules.Scope
	// Age is the time since the last one began, complete or denied; it is negative if
	// the clock was put back.
	Age time.Duration
	// Complete: one was complete. Objects is how many objects the last such showed.
	Complete bool
	Objects  int
	// Quiet is the time since the last one began that showed something new, and
	// negative if none has. It is read, never written.
	Quiet time.Duration
	// News: the last one showed something new. It is written, never read.
	News bool
	// Rules is the version of the rules that the last one was decided by.
	Rules string
	// Within says within which records the last one looked, "" for tables that are listed
	// within all.
	Within string
	// Denied says why the last one was not permitted, "" if it was. Partly: all but what
	// it names was listed.
	Denied string
	Partly bool
	// Failed says why the last one failed otherwise. It is written, never read; all else that is known stays.
	Failed string
	// Expected says that there is something to be found that no listing has shown yet, "" if nothing is known of. Once
	// it is written, that has been looked at: but only if nothing else has come up since it was read.
	Expected string
}

// Match is what the database has for the identity of an object.
type Match struct {
	// Record has the identity; nil if none has.
	Record *decide.Record
	// RefKeys has, for every list of records of the record's, the cloud's names for them (see
	// [decide.Subject.RefKeys]).
	RefKeys modules.Row
	// Pending and Remembered: the record has a pending change or is staged in a batch,
	// or has a state. Without a record: one had the identity before a pending change,
	// or has it by its state.
	Pending, Remembered bool
	// RememberedBy are, without a record, those that have the identity by their states.
	RememberedBy []int64
	// Batch is, without a record, the open batch that has staged one which had the
	// identity, 0 for none.
	Batch int64
	// Deposed: a replacement has put another object in this one's place.
	Deposed bool
}

// Attended reports whether more than the record's row speaks of the identity: what
// is to be done about it is decided by what is loaded, not by what is listed.
func (m Match) Attended() bool { return m.Pending || m.Remembered || m.Deposed }

// Free reports whether nothing speaks of the identity.
func (m Match) Free() bool { return m.Record == nil && !m.Attended() }

// Outcome is how an operation ended, and what follows from it.
type Outcome struct {
	// Intent is the operation as the intent log has it, with its result.
	decide.Intent
	Subject *decide.Subject
	Err     error
	// Object is what a creation made: at least its identity (database terms).
	Object modules.Row
	// ByName: the object was found by its name alone and need not be the one that
	// the creation was to make. The log then no longer says that the creation has
	// sent secrets.
	ByName bool
	State  *decide.State // what to remember of the record; nil leaves it
	// Requests are what the cloud calls the requests of the operation, where events of the
	// cloud are read: those of these tell nothing new.
	Requests []string
}

// Pull is a write to a record.
type Pull struct {
	Subject *decide.Subject
	Action  decide.Action // InsertRecord, UpdateRecord or DeleteRecord
	Row     modules.Row   // database terms
	Settle  bool
	// Conflicts are recorded with it.
	Conflicts []decide.Conflict
}

// PullResult is what became of a pull.
type PullResult struct {
	Applied bool  // false: the record had changed, or is locked; look again
	Err     error // the database refused it: a constraint of the user's
}

// Settlement is what a decision leaves behind besides operations and pulls.
type Settlement struct {
	Subject   *decide.Subject
	Settle    bool
	Conflicts []decide.Conflict
	// State replaces what is remembered of the record, and Forget forgets it; with
	// neither it is left as it is. With both, Forget wins.
	State  *decide.State
	Forget bool
	// Limits are those by which the guard has stopped the record's operation (R7);
	// nil if it has not. State waits for a person only while they hold: if they
	// have been changed since, the record is due.
	Limits *decide.DeleteLimits
}
