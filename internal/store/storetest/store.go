package storetest

import (
	"context"
	"time"

	"iasql/internal/decide"
	"iasql/internal/modes"
	"iasql/internal/modules"
	"iasql/internal/simulate"
	"iasql/internal/store"
)

// Store is a store under test. It is empty at first: it has the tables of
// [simulate.Module] without records, the account [simulate.Account] with the
// regions [simulate.Regions], the consistency window [simulate.Window], and no
// rule of iasql_mode. Nobody has a lease.
type Store interface {
	store.Store
	User
	// Take takes the account's lease over from whoever has it.
	Take(ctx context.Context) (store.Lease, error)
	// Close ends the store. Open transactions are rolled back.
	Close()
}

// User is what people do to a store, and what they see of it.
//
// A statement is refused, which is no error, when a constraint, a trigger or a
// mode does not allow it, or when it would have to wait for another transaction.
// It then has no effect, and a transaction that it is part of goes on. An error
// says that the statement could not be tried.
//
// A slot is a transaction: the first statement begins it. Slot 0 commits after
// each statement.
type User interface {
	// Insert inserts a record and returns its id; id 0 lets the table choose.
	Insert(ctx context.Context, slot int, table string, id int64, row modules.Row) (newID int64, ok bool, err error)
	// Update sets columns of a record. It returns whether anything changed.
	Update(ctx context.Context, slot int, table string, id int64, set modules.Row) (ok bool, err error)
	// Delete deletes a record. It returns whether there was one to delete.
	Delete(ctx context.Context, slot int, table string, id int64) (ok bool, err error)
	// Commit commits the transaction of a slot. It returns whether that was not
	// rolled back instead, for a constraint that is checked in the end.
	Commit(ctx context.Context, slot int) (ok bool, err error)
	Rollback(ctx context.Context, slot int) error

	// Constrain adds a constraint to table net of the simulated cloud: its column
	// note must not be [simulate.RefusedNote]. It comes before all else.
	Constrain(ctx context.Context) error
	// AddRule inserts a rule into iasql_mode; its ID is ignored.
	AddRule(ctx context.Context, rule modes.Rule) (ok bool, err error)
	// DropRule deletes the rule of the same target.
	DropRule(ctx context.Context, rule modes.Rule) (ok bool, err error)
	// Protect calls iasql_protect or iasql_unprotect; id 0 is the whole table. It
	// returns whether the rule has changed.
	Protect(ctx context.Context, table string, id int64, protected bool) (ok bool, err error)
	// Set changes a row of iasql_settings.
	Set(ctx context.Context, name, value string) (ok bool, err error)
	// OpenBatch opens a batch of the slot's session, which has no transaction open;
	// the id is 0 if the session works in one already. A slot has one session.
	OpenBatch(ctx context.Context, slot int) (id int64, err error)
	// CloseBatch closes the session's batch without undoing it.
	CloseBatch(ctx context.Context, slot int) (ok bool, err error)
	// RollbackBatch undoes the session's batch. It is refused where it would have
	// to wait for another transaction, or another's record refers to the batch's.
	RollbackBatch(ctx context.Context, slot int) (ok bool, err error)
	// BeginCommit closes the session's batch to edits.
	BeginCommit(ctx context.Context, slot int) (ok bool, err error)
	// RevertBatch writes back the records of the session's batch, whose commit was
	// begun, for the engine to undo the rest. It is refused as RollbackBatch is.
	RevertBatch(ctx context.Context, slot int) (ok bool, err error)
	// Decide resolves the n-th row of iasql_conflicts, counted from 0, as
	// "database" or "cloud".
	Decide(ctx context.Context, n int, how string) (ok bool, err error)
	// Retry calls iasql_retry.
	Retry(ctx context.Context, table string, id int64) (ok bool, err error)
	// Tell has an event of the cloud come that hints at a place, from so long ago.
	Tell(ctx context.Context, hint store.Hint, ago time.Duration) error
	// Pass lets time pass.
	Pass(ctx context.Context, d time.Duration) error

	// Rows returns what SELECT shows of a table, by id.
	Rows(ctx context.Context, table string) ([]*decide.Record, error)
	// Conflicts returns iasql_conflicts, oldest first.
	Conflicts(ctx context.Context) ([]simulate.ConflictRow, error)
}

var _ Store = (*simulate.Store)(nil)

// Model returns a store that others are compared with: the simulated one.
func Model() Store { return simulate.NewStore() }
