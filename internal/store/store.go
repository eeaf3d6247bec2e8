package store

import (
	"context"
	"errors"
	"time"

	"iasql/internal/decide"
	"iasql/internal/modules"
)

// Store is the database side of the cycle.
//
// Reads that return subjects are consistent: a subject's record, its pending
// change and its state come from one snapshot. Writes belong to a lease and
// fail with [ErrLeaseLost] once another engine has taken the account over
// (R15).
type Store interface {
	Catalog
	Subjects
	References
	IntentLog
	Records
	Hints
}

// Catalog says what there is to be looked at, and by which rules.
type Catalog interface {
	// Regions returns the account's regions that are to be looked at.
	Regions(ctx context.Context, provider, account string) ([]string, error)
	// Settings returns the installed synchronized tables, and which of them cannot be
	// read or written now, and the rules and settings that hold now. It is an error if
	// nothing can be read or written.
	Settings(ctx context.Context, account string) (Settings, error)
	// Listings returns what is remembered of the listings of the account's tables.
	Listings(ctx context.Context, account string) ([]Listing, error)
}

// Subjects reads what the database has.
type Subjects interface {
	// Match returns, for each of the identities (database terms) of objects
	// just listed, what the database has for it. The result is parallel to
	// identities.
	Match(ctx context.Context, table *modules.Table, scope modules.Scope, identities []modules.Row) ([]Match, error)
	// Keys streams the ids of the scope's records that name an object, and
	// their keys, in any order.
	Keys(ctx context.Context, table *modules.Table, scope modules.Scope, each func(id int64, key string) error) error
	// Within returns the keys of the account's records within which the objects of a
	// table are listed ([modules.Reference.ListedIf]), in any order.
	Within(ctx context.Context, table *modules.Table, account string) ([]string, error)
	// Due returns the records of the account that have a pending change or a state, and
	// the objects that replacements have left to be deleted, as subjects without
	// record: those of the records that the batch has staged or, for batch 0, of those
	// that none has (R21). What backs off is among them, with State.Due false.
	Due(ctx context.Context, account string, batch int64) (records []decide.RecordRef,
		deposed []*decide.Subject, err error)
	// Load returns the subjects of records, without their objects. A record
	// that neither exists nor has anything pending is left out.
	Load(ctx context.Context, table *modules.Table, ids []int64) ([]*decide.Subject, error)
	// Found returns those of the records of which an INSERT was settled within the
	// window, which is the consistency window of their account: engines had found their
	// objects in the cloud. What an engine inserts itself is settled at once.
	Found(ctx context.Context, table *modules.Table, ids []int64, window time.Duration) ([]int64, error)
	// Creations returns how many calls to create objects the intent log has for each of the records, of those that the
	// cloud took, and whose end is known, well or not: a call that it refused at once leaves the token for the
	// next. Records without any are left out.
	Creations(ctx context.Context, table string, ids []int64) (map[int64]int64, error)
	// Dependents returns the records that reference one of the records.
	Dependents(ctx context.Context, table string, ids []int64) ([]decide.RecordRef, error)
	// Count returns the number of a table's records in a scope; without a region, of all of the account's.
	Count(ctx context.Context, table string, scope modules.Scope) (int, error)
}

// References translates between the two vocabularies: a row of the database
// references a record by its id, the cloud an object by its name.
type References interface {
	// ToDatabase translates the references of objects of one table and scope
	// into database terms, in place. A reference whose target has no record is
	// left out of its row; one whose target's record is on its way out becomes
	// [modules.Outgoing].
	// Of several records that an object may be known by, one by its row comes before
	// one by its state, and of one kind the one with the lowest id counts.
	ToDatabase(ctx context.Context, table *modules.Table, scope modules.Scope, rows []modules.Row) error
	// ToCloud translates the references of rows of one table into cloud terms,
	// in place. A reference whose target has no name in the cloud is NULL. One to a
	// record that is on its way out has the name that the record has or had last.
	ToCloud(ctx context.Context, table *modules.Table, rows []modules.Row) error
}

// IntentLog is where a mutating call is committed before it is made (R6).
type IntentLog interface {
	// Intents returns two things of the log.
	//
	// The recent ones are the calls by which this and other engines have changed the
	// account's objects within the window, which is the consistency window of its
	// [Settings], or may have, of objects of a known key; each entry of the log by
	// itself, oldest first.
	//
	// Those in doubt are the intents whose end is not known: the engine died, or the
	// answer was lost. Calls of one kind for one record are one operation if they
	// have the same token or, where they create nothing, if they are about the same
	// key.
	Intents(ctx context.Context, account string, window time.Duration) (recent []*decide.Intent,
		inDoubt []decide.Intent, err error)
	// Begin writes the entry of a call that is about to be made. It returns
	// [ErrRefused] when the mode of the record, or for an update that of one of
	// its columns, is TRACK, or another batch than the lease's has the record staged
	// or, of an object without a record, its identity, or the lease's batch is
	// closed, or the rules are not those that were decided by. It returns
	// [ErrLeaseLost] when the lease was lost. Any other error leaves open whether
	// the entry is there.
	Begin(ctx context.Context, lease Lease, intent decide.Intent) (id int64, err error)
	// Finish records how operations ended, with all that follows from it for
	// their records, in one transaction.
	Finish(ctx context.Context, lease Lease, outcomes []Outcome) error
}

// Records writes records and what is remembered of them.
type Records interface {
	// Pull and Settle fail with [ErrOutdated] if the rules that hold are not those
	// that were decided by. They write nothing then (R19).
	//
	// Pull writes to records what was found in the cloud, and settles. Each
	// write is applied only to the version it was decided on; a skipped one is
	// not an error. The result is parallel to pulls.
	Pull(ctx context.Context, lease Lease, pulls []Pull) ([]PullResult, error)
	// Settle marks changes as dealt with, records conflicts, and remembers or
	// forgets states. It writes nothing that is so already.
	Settle(ctx context.Context, lease Lease, settlements []Settlement) error
	// Listed remembers how listings ended that were complete or denied, and forgets
	// those of places that are not looked at any more.
	Listed(ctx context.Context, lease Lease, ended, gone []Listing) error
	// Identified remembers who an account says it is.
	Identified(ctx context.Context, lease Lease, verdict decide.Verdict) error
	// Imported notes that a table's full listing was complete.
	Imported(ctx context.Context, lease Lease, tables []string) error
}

var (
	// ErrLeaseLost is returned by writes of a cycle whose account another
	// engine has taken over. The cycle ends; nothing is lost.
	ErrLeaseLost = errors.New("another engine has taken the account over")
	// ErrOutdated is returned by writes that carry out what was decided by rules
	// that do not hold any more. The account is looked at anew.
	ErrOutdated = errors.New("the rules have changed since this was decided")
	// ErrRefused is returned when the operation must not be made now:
	// the record became TRACK, or was staged in a batch.
	ErrRefused = errors.New("the operation is not permitted now")
)

// Noter is a [Store] that remembers requests that go on after the call that made them was
// answered (see [modules.Noter]).
type Noter interface {
	// Note adds the request to the entry of the intent log.
	Note(ctx context.Context, lease Lease, id int64, request string) error
}
