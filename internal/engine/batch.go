package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/riverqueue/river"

	"iasql/internal/platform"
	"iasql/internal/postgres"
	"iasql/internal/store"
)

// commitArgs are the arguments of a commit, asked for by iasql_commit or, when
// that was called in a transaction with edits of its own, queued by it.
type commitArgs struct {
	Batch       int64   `json:"batch"`
	PreviewHash *string `json:"preview_hash"`
	OnError     string  `json:"on_error"`
	Message     *string `json:"message"`
}

// Kind implements river.JobArgs.
func (commitArgs) Kind() string { return "commit" }

// workCommit carries out a deferred commit.
func (e *Engine) workCommit(ctx context.Context, job *river.Job[commitArgs]) error {
	if _, err := e.commit(ctx, job.Args); err != nil {
		e.log.ErrorContext(ctx, "deferred commit failed", withCycle(err, "batch", job.Args.Batch)...)
		_, logErr := e.pool.Exec(context.WithoutCancel(ctx), `
			INSERT INTO public.iasql_audit_log ("user", change_type, change, message, transaction_id, settled, settled_at)
			VALUES (current_user, 'ERROR', '{}', $2, $1, true, clock_timestamp())`, job.Args.Batch, err.Error())
		return logErr
	}
	return nil
}

// failedRecord is a record of a batch that could not be applied.
type failedRecord struct {
	Table   string `json:"table_name"`
	Record  int64  `json:"record_id"`
	Message string `json:"message"`
}

type committed struct {
	Pushed int            `json:"pushed"`
	Pulled int            `json:"pulled"`
	Failed []failedRecord `json:"failed"`
}

// commit applies a batch and closes it, or undoes it.
func (e *Engine) commit(ctx context.Context, args commitArgs) (*committed, error) {
	if err := e.closeToEdits(ctx, args); err != nil {
		return nil, err
	}
	if err := e.startCommit(ctx, args); err != nil {
		return nil, errors.Join(err, e.openToEdits(ctx, args.Batch))
	}
	result, stopped, err := e.carryOut(ctx, args.Batch, "commit", args.PreviewHash != nil)
	if err != nil {
		return nil, err
	}
	if stopped != "" {
		if err := e.openToEdits(ctx, args.Batch); err != nil {
			return nil, err
		}
		return nil, &platform.UserError{Code: "IA025", Message: fmt.Sprintf("batch %d %s; it was not begun", args.Batch, stopped),
			Hint: "Look at SELECT * FROM iasql_preview(); if it is meant, CALL iasql_commit(preview_hash => iasql_preview_hash()), or raise the setting."}
	}
	if len(result.Failed) > 0 && args.OnError != "keep" {
		var reasons []string
		for _, f := range result.Failed {
			reasons = append(reasons, fmt.Sprintf("%s %d: %s", f.Table, f.Record, f.Message))
		}
		failure := &platform.UserError{Code: "IA026",
			Message: fmt.Sprintf("batch %d failed and was undone: %s", args.Batch, strings.Join(reasons, "; ")),
			Hint:    "Nothing of the batch is left, here or in the cloud. Begin anew with the cause removed, or commit with on_error => 'keep'."}
		if _, err := e.revert(ctx, args.Batch); err != nil {
			failure.Message = fmt.Sprintf("batch %d failed: %s; undoing it failed too: %v", args.Batch, strings.Join(reasons, "; "), err)
			failure.Hint = "SELECT * FROM iasql_status WHERE review shows what is left."
		}
		return nil, failure
	}
	_, err = e.pool.Exec(ctx, `SELECT iasql_internal.log_event('END_COMMIT', $1), iasql_internal.close_batch($1, 'committed')`, args.Batch)
	return result, err
}

// closeToEdits ends the time in which changes belong to the batch: from now on it
// is what was committed until now. It waits a moment for transactions that are
// still editing in it.
func (e *Engine) closeToEdits(ctx context.Context, args commitArgs) error {
	var closed int64
	err := pgx.BeginFunc(ctx, e.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SET LOCAL lock_timeout = '5s'`); err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, `
			UPDATE iasql_internal.batch SET phase = 'committing', on_error = $2, message = coalesce($3, message)
			WHERE id = $1 AND phase IN ('open', 'committing')`, args.Batch, args.OnError, args.Message)
		closed = tag.RowsAffected()
		return err
	})
	var pg *pgconn.PgError
	switch {
	case errors.As(err, &pg) && pg.Code == "55P03":
		return &platform.UserError{Code: "IA020", Message: fmt.Sprintf("batch %d is still being edited in a transaction that is open", args.Batch),
			Hint: "Commit or roll back that transaction first. Nothing was changed."}
	case err != nil:
		return fmt.Errorf("begin to commit batch %d: %w", args.Batch, err)
	case closed == 0:
		return &platform.UserError{Code: "IA022", Message: fmt.Sprintf("batch %d is no longer open", args.Batch), Hint: "SELECT * FROM iasql_engines() shows what is going on."}
	}
	// After the commit of the above, so that all that was done in the batch is in it.
	if _, err := e.pool.Exec(ctx, `UPDATE iasql_internal.batch SET bound = pg_current_snapshot() WHERE id = $1 AND bound IS NULL`, args.Batch); err != nil {
		return fmt.Errorf("begin to commit batch %d: %w", args.Batch, err)
	}
	return nil
}

// openToEdits takes that back, for a commit that was not begun.
func (e *Engine) openToEdits(ctx context.Context, batch int64) error {
	_, err := e.pool.Exec(context.WithoutCancel(ctx), `UPDATE iasql_internal.batch SET phase = 'open', bound = NULL WHERE id = $1`, batch)
	return err
}

// startCommit compares the batch with what was reviewed, and puts on record that
// it is being committed.
func (e *Engine) startCommit(ctx context.Context, args commitArgs) error {
	if args.PreviewHash != nil {
		now, err := e.preview(ctx, nil, args.Batch)
		if err != nil {
			return err
		}
		if now.Hash != *args.PreviewHash {
			return &platform.UserError{Code: "IA023",
				Message: fmt.Sprintf("batch %d is not what was previewed: the database or the cloud has changed since", args.Batch),
				Hint:    "Nothing was changed. Look at SELECT * FROM iasql_preview() again."}
		}
	}
	_, err := e.pool.Exec(ctx, `
		WITH told AS (
			UPDATE public.iasql_audit_log SET message = $2 WHERE transaction_id = $1 AND $2::text IS NOT NULL
		)
		INSERT INTO public.iasql_audit_log ("user", change_type, change, message, transaction_id, settled, settled_at)
		VALUES (current_user, 'START_COMMIT', '{}', $2, $1, true, clock_timestamp())`, args.Batch, args.Message)
	if err != nil {
		return fmt.Errorf("begin to commit batch %d: %w", args.Batch, err)
	}
	return nil
}

// revert undoes a batch that has reached the cloud in part: its records are put
// back by changes that the engine then carries out like any others.
func (e *Engine) revert(ctx context.Context, batch int64) (int64, error) {
	var n int64
	err := pgx.BeginFunc(ctx, e.pool, func(tx pgx.Tx) error {
		var phase string
		err := tx.QueryRow(ctx, `SELECT phase FROM iasql_internal.batch WHERE id = $1 AND closed_at IS NULL FOR UPDATE`, batch).Scan(&phase)
		if errors.Is(err, pgx.ErrNoRows) {
			return &platform.UserError{Code: "IA022", Message: fmt.Sprintf("batch %d is closed already", batch), Hint: "Committed batches are undone by CALL iasql_undo(transaction_id)."}
		}
		if err != nil || phase == "reverting" {
			return err // a revert that was cut off goes on
		}
		if _, err := tx.Exec(ctx, `SET LOCAL iasql.origin = 'batch'`); err != nil { // these writes are wanted, not found
			return err
		}
		if err := tx.QueryRow(ctx, `SELECT iasql_internal.revert_batch($1, false)`, batch).Scan(&n); err != nil {
			return fmt.Errorf("restore the records of batch %d: %w", batch, err)
		}
		_, err = tx.Exec(ctx, `UPDATE iasql_internal.batch SET phase = 'reverting' WHERE id = $1`, batch)
		return err
	})
	if err != nil {
		return 0, err
	}
	result, _, err := e.carryOut(ctx, batch, "revert", true)
	if err != nil {
		return n, err
	}
	outcome := "rolled back"
	if len(result.Failed) > 0 {
		outcome = "rolled back in part"
		err = fmt.Errorf("%d records could not be undone, the first %s %d: %s", len(result.Failed), result.Failed[0].Table, result.Failed[0].Record, result.Failed[0].Message)
	}
	_, closeErr := e.pool.Exec(ctx, `SELECT iasql_internal.log_event('END_REVERT', $1), iasql_internal.close_batch($1, $2)`, batch, outcome)
	return n, errors.Join(err, closeErr)
}

// carryOut runs cycles until nothing of the batch is left to be done: every
// change is settled, has failed for good, or waits for one that has.
func (e *Engine) carryOut(ctx context.Context, batch int64, kind string, reviewed bool) (*committed, string, error) {
	result := &committed{Failed: []failedRecord{}}
	cycle := store.Full
	for {
		accounts, err := e.accounts(ctx)
		if err != nil {
			return nil, "", err
		}
		for _, account := range accounts {
			report, err := e.runCycle(ctx, account, cycle, postgres.CycleOptions{Kind: kind, Batch: batch, Reviewed: reviewed})
			if err != nil {
				return nil, "", fmt.Errorf("cycle of account %s: %w", account, err)
			}
			if report.Stopped != "" {
				return result, report.Stopped, nil
			}
			result.Pushed += report.Pushed
			result.Pulled += report.Pulled
		}
		cycle = store.Push
		failed, working, pause, err := e.progress(ctx, batch)
		if err != nil {
			return nil, "", err
		}
		if working == 0 {
			result.Failed = append(result.Failed, failed...)
			return result, "", nil
		}
		select {
		case <-ctx.Done():
			return nil, "", ctx.Err()
		case <-time.After(pause):
		}
	}
}

// progress returns what of a batch has failed, how many records are still being
// worked on, and when to look again.
func (e *Engine) progress(ctx context.Context, batch int64) (failed []failedRecord, working int, pause time.Duration, err error) {
	rows, err := e.pool.Query(ctx, `
		SELECT l.table_name, l.record_id, s.state = 'WaitingForDependencies', coalesce(iasql_internal.failure(l.table_name, l.record_id), ''), coalesce(s.message, ''),
		       greatest(extract(epoch FROM least(s.next_attempt_at, clock_timestamp() + interval '1 hour') - clock_timestamp()), 0)::double precision
		FROM (SELECT DISTINCT table_name, record_id FROM public.iasql_audit_log
		      WHERE transaction_id = $1 AND NOT settled AND change_type IN ('INSERT', 'UPDATE', 'DELETE')) l
		LEFT JOIN iasql_internal.record_state s ON s.table_name = l.table_name AND s.record_id = l.record_id
		ORDER BY l.table_name, l.record_id`, batch)
	if err != nil {
		return nil, 0, 0, err
	}
	var (
		f       failedRecord
		waits   *bool
		failure string
		message string
		seconds *float64
		waiting []failedRecord
		soonest = time.Second
	)
	_, err = pgx.ForEachRow(rows, []any{&f.Table, &f.Record, &waits, &failure, &message, &seconds}, func() error {
		switch {
		case failure != "":
			f.Message = failure
			failed = append(failed, f)
		case waits != nil && *waits:
			f.Message = message
			waiting = append(waiting, f)
		default:
			working++
			if seconds != nil {
				soonest = min(soonest, time.Duration(*seconds*float64(time.Second)))
			}
		}
		return nil
	})
	if len(failed) > 0 && working == 0 {
		return append(failed, waiting...), 0, 0, err // they wait for what has failed
	}
	return failed, working + len(waiting), max(soonest, 20*time.Millisecond), err
}

func (e *Engine) answerBatch(ctx context.Context, kind string, args json.RawMessage) (any, error) {
	switch kind {
	case "preview":
		var asked struct {
			Own *postgres.OwnEdits `json:"own"`
		}
		if err := json.Unmarshal(args, &asked); err != nil {
			return nil, err
		}
		return e.preview(ctx, asked.Own, 0)
	case "commit":
		var asked commitArgs
		if err := json.Unmarshal(args, &asked); err != nil {
			return nil, err
		}
		return e.commit(ctx, asked)
	default: // revert
		var asked commitArgs
		if err := json.Unmarshal(args, &asked); err != nil {
			return nil, err
		}
		n, err := e.revert(ctx, asked.Batch)
		return map[string]int64{"records": n}, err
	}
}
