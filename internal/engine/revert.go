package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5"

	"iasql/internal/platform"
	"iasql/internal/postgres"
	"iasql/internal/store"
	"iasql/internal/sync"
)

// revert undoes a batch that has reached the cloud in part: its records are put
// back by changes that the batch's own cycles then carry out. No guard stops them:
// they take back what the batch itself has done. A revert that was cut off goes on.
// Why is what the commit failed by, if it is that which undoes the batch.
func (e *Engine) revert(ctx context.Context, batch int64, why *string) (int64, error) {
	tag, err := e.pool.Exec(ctx, `UPDATE iasql_internal.batch SET phase = 'reverting', failure = coalesce($2, failure) WHERE id = $1 AND closed_at IS NULL`, batch, why)
	switch {
	case err != nil:
		return 0, fmt.Errorf("begin to undo batch %d: %w", batch, err)
	case tag.RowsAffected() == 0:
		return 0, e.lost(ctx, batch)
	}
	// A cycle of the commit that is under way ends first, and no other begins: none
	// decides about what is put back here.
	accounts, err := e.staged(ctx, batch)
	if err != nil {
		return 0, err
	}
	for _, account := range accounts {
		none := &sync.Errand{Prepare: func(context.Context) (*sync.Reconciler, error) { return nil, nil }}
		if ran, err := e.coalescer.errand(ctx, account, none); err != nil {
			return 0, err
		} else if ran {
			continue
		}
		lease, err := e.database.Acquire(ctx, account, e.id, postgres.CycleOptions{Kind: "revert", Batch: batch})
		if errors.Is(err, postgres.ErrNoAccount) {
			continue
		}
		if err == nil {
			err = lease.Release(store.Report{}, nil)
		}
		if err != nil {
			return 0, err
		}
	}
	n, err := e.restore(ctx, batch)
	if err != nil {
		return 0, err
	}
	result, _, err := e.carryOut(ctx, batch, reverting, true, false)
	if err != nil {
		return n, err
	}
	outcome := "rolled back"
	if len(result.Failed) > 0 {
		outcome = "rolled back in part"
		err = &platform.UserError{Code: "IA013",
			Message: fmt.Sprintf("%d records of batch %d could not be undone, the first %s %d: %s", len(result.Failed),
				batch, result.Failed[0].Table, result.Failed[0].Record, result.Failed[0].Message),
			Hint: "SELECT * FROM iasql_status WHERE review shows what is left."}
	}
	if closeErr := e.closeBatch(ctx, batch, reverting, outcome); closeErr != nil {
		return n, closeErr
	}
	return n, err
}

// restore puts the records of a batch back, once, in the tables.
func (e *Engine) restore(ctx context.Context, batch int64) (n int64, err error) {
	err = pgx.BeginFunc(ctx, e.pool, func(tx pgx.Tx) error {
		var restored bool
		var referred *string
		err := tx.QueryRow(ctx, `SELECT restored_at IS NOT NULL FROM iasql_internal.batch WHERE id = $1 AND phase = 'reverting' FOR UPDATE`, batch).Scan(&restored)
		if errors.Is(err, pgx.ErrNoRows) {
			return e.lost(ctx, batch)
		}
		if err != nil || restored {
			return err
		}
		if err := tx.QueryRow(ctx, `SELECT iasql_internal.referred_from($1)`, batch).Scan(&referred); err != nil {
			return err
		}
		if referred != nil {
			return &platform.UserError{Code: pgerrcode.ForeignKeyViolation,
				Message: fmt.Sprintf("batch %d cannot be rolled back: %s", batch, *referred),
				Hint:    "Change or roll that back first, and roll this batch back again."}
		}
		// These writes are wanted, not found, and belong to the batch.
		if _, err := tx.Exec(ctx, `SELECT set_config('iasql.origin', 'batch', true), set_config('iasql.reverts', $1::bigint::text, true), iasql_internal.log_event('START_REVERT', $1::bigint)`, batch); err != nil {
			return err
		}
		if err := tx.QueryRow(ctx, `SELECT iasql_internal.revert_batch($1, false)`, batch).Scan(&n); err != nil {
			return fmt.Errorf("restore the records of batch %d: %w", batch, err)
		}
		// What had failed is tried anew.
		_, err = tx.Exec(ctx, `
			WITH anew AS (
				UPDATE iasql_internal.record_state r SET next_attempt_at = now(), attempts = 0, unconfirmed = 0
				FROM iasql_internal.staged s WHERE s.batch = $1 AND r.table_name = s.table_name AND r.record_id = s.record_id
			)
			UPDATE iasql_internal.batch SET restored_at = clock_timestamp() WHERE id = $1`, batch)
		return err
	})
	return n, err
}

// staged returns the accounts of the records that a batch has staged.
func (e *Engine) staged(ctx context.Context, batch int64) ([]string, error) {
	rows, err := e.pool.Query(ctx, `
		SELECT a.name FROM iasql_internal.account a
		WHERE EXISTS (SELECT FROM iasql_internal.staged s WHERE s.batch = $1 AND s.account = a.name) ORDER BY a.name`,
		batch)
	if err != nil {
		return nil, fmt.Errorf("read accounts of batch %d: %w", batch, err)
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}
