package sync

import (
	"context"
	"time"

	"iasql/internal/modes"
	"iasql/internal/modules"
)

// Database is the database side of the cycle. PostgreSQL implements it in
// package iasql/internal/postgres, and the simulated world in memory.
//
// Reads that return subjects are consistent: a subject's record, its pending
// change and its state come from one snapshot. Writes belong to a lease and
// fail with [ErrLeaseLost] once another engine has taken the account over
// (R15).
type Database interface {
	// Tables returns the installed synchronized tables, and which of them cannot
	// be read or written now. Its error is that nothing can.
	Tables(ctx context.Context) ([]InstalledTable, error)
	// Regions returns the account's regions that are to be looked at.
	Regions(ctx context.Context, provider, account string) ([]string, error)
	// Policy returns the rules and settings that hold now, and by table
	// whether a full import has completed.
	Policy(ctx context.Context, account string) (Settings, error)

	// Match returns, for each of the identities (database terms) of objects
	// just listed, the subject the database has for it: one without Record,
	// Change and State where it has none. Change and State are markers here, not
	// what they say; they are also set where no record has the identity and one
	// had it before a pending change, or has it by its state. The result is
	// parallel to identities.
	Match(ctx context.Context, table *modules.Table, scope modules.Scope, identities []modules.Row) ([]*Subject, error)
	// Records streams the ids of the scope's records that name an object, and
	// their keys, in any order.
	Records(ctx context.Context, table *modules.Table, scope modules.Scope, each func(id int64, key string) error) error
	// Due returns the records of the account that have a pending change or a
	// state. Those that back off are among them, with State.Due false.
	Due(ctx context.Context, account string) ([]RecordRef, error)
	// Load returns the subjects of records, without their objects. A record
	// that neither exists nor has anything pending is left out.
	Load(ctx context.Context, table *modules.Table, ids []int64) ([]*Subject, error)
	// Garbage returns what is left of replaced objects, as subjects without
	// record.
	Garbage(ctx context.Context, account string) ([]*Subject, error)
	// Dependents returns the records that reference one of the records.
	Dependents(ctx context.Context, table string, ids []int64) ([]RecordRef, error)
	// Count returns the number of the account's records in a table.
	Count(ctx context.Context, table, account string) (int, error)

	// ToDatabase translates the references of objects of one table and scope
	// into database terms, in place. A reference whose target has no record is
	// left out of its row; the columns by which a row names a replaced object,
	// or one whose record a user has deleted, are returned for it; such a column
	// has [Outgoing] and the id of the record.
	ToDatabase(ctx context.Context, table *modules.Table, scope modules.Scope, rows []modules.Row) (stranded []map[string]bool, err error)
	// ToCloud translates the references of rows of one table into cloud terms,
	// in place. A reference whose target has no name in the cloud is NULL.
	ToCloud(ctx context.Context, table *modules.Table, rows []modules.Row) error

	// OwnWrites returns what this and other engines wrote to the account's
	// objects within the consistency window, and writes to objects of a known
	// key that they may have made.
	OwnWrites(ctx context.Context, account string) ([]LoggedWrite, error)
	// Unfinished returns the operations whose end is not known. Calls of one kind
	// for one record are one operation if they have the same token or, where they
	// create nothing, if they are about the same key.
	Unfinished(ctx context.Context, account string) ([]LoggedOp, error)

	// Begin journals a call that is about to be made. It returns
	// [ErrRefused] when the mode of the record, or for an update that of one of
	// its columns, is TRACK, or a batch is open that the lease does not belong
	// to, and [ErrLeaseLost] when the lease was lost.
	Begin(ctx context.Context, lease Lease, call LoggedCall) (id int64, err error)
	// Finish records how operations ended, with all that follows from it for
	// their records, in one transaction.
	Finish(ctx context.Context, lease Lease, outcomes []Outcome) error
	// Resolve ends journal rows that recovery has found the end of.
	Resolve(ctx context.Context, lease Lease, found []Outcome) error

	// Pull writes to records what was found in the cloud, and settles. Each
	// write is applied only to the version it was decided on; a skipped one is
	// not an error. The result is parallel to pulls.
	Pull(ctx context.Context, lease Lease, pulls []Pull) ([]PullResult, error)
	// Settle marks changes as dealt with, records conflicts, and remembers or
	// forgets states. It writes nothing that is so already.
	Settle(ctx context.Context, lease Lease, settlements []Settlement) error
	// Imported notes that a table's full listing was complete.
	Imported(ctx context.Context, lease Lease, tables []string) error
}

// InstalledTable is a table as the database has it.
type InstalledTable struct {
	Name string
	// Locked says who keeps the engine from it; nil if nobody does.
	Locked error
}

// Settings are what the cycle needs of iasql_settings and iasql_mode.
type Settings struct {
	Rules             modes.Rules
	HoldConflicts     bool
	Deletes           DeleteLimits
	ConsistencyWindow time.Duration
	Imported          map[string]bool // by table
}

// Lease is the right to run cycles of an account.
type Lease struct {
	Account string
	// Fence is greater than that of every earlier lease of the account.
	Fence int64
	Cycle int64 // row of iasql_cycles
	// Batch is the batch being committed under the lease, 0 for none.
	Batch int64
	// Reviewed: a person has seen the plan, so that R7 does not stop it.
	Reviewed bool
}

// Outgoing is before the id of a record in a reference to an object that is on
// its way out, see [Database.ToDatabase]. It is no value of the column: nothing
// has such an identity.
const Outgoing = "replaced:"

// LoggedWrite is an own write and what it was made to.
type LoggedWrite struct {
	OwnWrite
	ID     int64
	Record RecordRef
	Scope  modules.Scope
	Key    string // of the object; "" if the creation did not answer
}

// LoggedCall is a mutating call that is about to be made.
type LoggedCall struct {
	Call    modules.Call
	Record  RecordRef
	Kind    OpKind
	Scope   modules.Scope
	Key     string
	Token   string
	Columns map[string]ValueChange // without the values of secrets
	UpTo    int64
	// Replaces: see [Op.Replaces].
	Replaces bool
}

// LoggedOp is an operation whose end is not known: the engine died, or the
// answer was lost.
type LoggedOp struct {
	LoggedCall
	IDs []int64 // its calls
	// Settled: twice the consistency window has passed since its last sign of life
	// (it began, or its answer was lost), once for the call to take effect and once
	// for that to be seen, so that not finding its effect means that it had none.
	Settled bool
}

// Outcome is how an operation ended.
type Outcome struct {
	Calls   []int64 // journal rows
	Subject *Subject
	Kind    OpKind
	Result  Result
	Err     error
	// Object is what a creation made: at least its identity (database terms).
	Object modules.Row
	// Replaces: the creation's record had another object before (now garbage),
	// or the deletion made room for one.
	Replaces bool
	// ByName: the object was found by its name alone and need not be the one that
	// the creation was to make. The journal then no longer says that the creation
	// has sent secrets.
	ByName bool
	State  *State // what to remember of the record; nil leaves it
}

// Result of an operation.
type Result string

// The results a journal row can have.
const (
	ResultOK        Result = "ok"
	ResultFailed    Result = "failed"
	ResultUnknown   Result = "unknown"   // the answer was lost; not ended
	ResultAbandoned Result = "abandoned" // recovery proved that it had no effect
)

// Pull is a write to a record.
type Pull struct {
	Subject *Subject
	Action  Action      // InsertRecord, UpdateRecord or DeleteRecord
	Row     modules.Row // database terms
	Settle  bool
	// Conflicts are recorded with it.
	Conflicts []Conflict
}

// PullResult is what became of a pull.
type PullResult struct {
	Applied bool  // false: the record had changed, or is locked; look again
	Err     error // the database refused it: a constraint of the user's
}

// Settlement is what a decision leaves behind besides operations and pulls.
type Settlement struct {
	Subject   *Subject
	Settle    bool
	Conflicts []Conflict
	// State replaces what is remembered of the record; nil forgets it.
	State *State
	// Keep leaves what is remembered as it is, whatever State says.
	Keep bool
}
