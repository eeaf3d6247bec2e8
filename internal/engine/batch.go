package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgerrcode"
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
	// Deferred: nobody waits for it, since it was asked for by a transaction with edits
	// of its own, and took effect with that.
	Deferred bool `json:"deferred"`
}

// Kind implements river.JobArgs: databases of an earlier version queued deferred
// commits themselves, not as requests. River fails a job whose kind no worker has
// (River v0.51.1, error.go, UnknownJobKindError).
func (commitArgs) Kind() string { return "commit" }

// workCommit carries out such a commit.
func (e *Engine) workCommit(ctx context.Context, job *river.Job[commitArgs]) error {
	if _, err := e.commit(ctx, job.Args); err != nil {
		return e.logFailure(ctx, job.Args.Batch, err)
	}
	return nil
}

// logFailure puts on record that a commit failed that nobody waited for.
func (e *Engine) logFailure(ctx context.Context, batch int64, failure error) error {
	e.log.ErrorContext(ctx, "deferred commit failed", withCycle(failure, "batch", batch)...)
	_, err := e.pool.Exec(context.WithoutCancel(ctx), `
		INSERT INTO public.iasql_audit_log ("user", change_type, change, message, transaction_id, settled, settled_at)
		VALUES (current_user, 'ERROR', '{}', $2, $1, true, clock_timestamp())`, batch, failure.Error())
	return err
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

// The phases in which the engine has a batch.
const (
	committing = "committing"
	reverting  = "reverting"
)

// commit applies a batch and closes it, or undoes it. One that was cut off goes on from
// where it was.
func (e *Engine) commit(ctx context.Context, args commitArgs) (*committed, error) {
	begun, result, err := e.begun(ctx, args.Batch)
	if err != nil || result != nil {
		return result, err
	}
	if !begun {
		if err := e.closeToEdits(ctx, args); err != nil {
			return nil, err
		}
	}
	reviewed, err := e.startCommit(ctx, args, begun)
	if err != nil {
		if begun || transient(err) {
			return nil, err
		}
		return nil, errors.Join(err, e.openToEdits(ctx, args.Batch))
	}
	result, stopped, err := e.carryOut(ctx, args.Batch, committing, reviewed, !begun && args.OnError != "keep")
	var refused *refusedError
	switch {
	case errors.As(err, &refused):
		if err := e.openToEdits(ctx, args.Batch); err != nil {
			return nil, err
		}
		return nil, &platform.UserError{Code: "IA029",
			Message: fmt.Sprintf("batch %d was not begun, since this will certainly not be done: %s", args.Batch,
				strings.Join(refused.what, "; ")),
			Hint: "Nothing was changed, and the batch is open. Insert again what is deleted in vain, or CALL " +
				"iasql_rollback(); CALL iasql_commit(on_error => 'keep') does the rest."}
	case err != nil:
		return nil, err
	}
	if stopped != "" {
		if err := e.openToEdits(ctx, args.Batch); err != nil {
			return nil, err
		}
		return nil, &platform.UserError{Code: "IA025",
			Message: fmt.Sprintf("batch %d %s; it was not begun", args.Batch, stopped),
			Hint: "Look at SELECT * FROM iasql_preview(); if it is meant, CALL iasql_commit(preview_hash => " +
				"iasql_preview_hash()), or raise the setting."}
	}
	if len(result.Failed) > 0 && args.OnError != "keep" {
		var reasons []string
		for _, f := range result.Failed {
			reasons = append(reasons, fmt.Sprintf("%s %d: %s", f.Table, f.Record, f.Message))
		}
		return nil, e.undo(ctx, args.Batch, strings.Join(reasons, "; "))
	}
	return result, e.closeBatch(ctx, args.Batch, committing, "committed")
}

// begun finds out how far a commit is: whether it has passed what has to be so before
// it may begin. If it has ended, or has begun to undo the batch, it finishes that, and
// returns what became of it.
func (e *Engine) begun(ctx context.Context, batch int64) (begun bool, result *committed, err error) {
	var phase, outcome, failure string
	var records int
	err = e.pool.QueryRow(ctx, `
		SELECT b.phase, coalesce(b.outcome, ''), coalesce(b.failure, ''), b.begun_at IS NOT NULL AND b.phase = 'committing',
		       CASE WHEN b.outcome = 'committed' THEN (SELECT count(DISTINCT (l.table_name, l.record_id)) FROM public.iasql_audit_log l
		                                               WHERE l.transaction_id = b.id AND l.origin = 'user' AND l.change_type IN ('INSERT', 'UPDATE', 'DELETE')) ELSE 0 END
		FROM iasql_internal.batch b WHERE b.id = $1`, batch).Scan(&phase, &outcome, &failure, &begun, &records)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return false, nil, e.lost(ctx, batch)
	case err != nil:
		return false, nil, fmt.Errorf("look how far the commit of batch %d is: %w", batch, err)
	case outcome == "committed":
		return true, &committed{Pushed: records, Failed: []failedRecord{}}, nil
	case outcome == "rolled back" && failure != "":
		return true, nil, undone(batch, failure)
	case phase == reverting && failure != "":
		return true, nil, e.undo(ctx, batch, failure)
	case phase != "open" && phase != committing:
		return true, nil, e.lost(ctx, batch)
	}
	return begun, nil, nil
}

// undone is the error of a commit that failed and has been undone.
func undone(batch int64, why string) error {
	return &platform.UserError{Code: "IA026", Message: fmt.Sprintf("batch %d failed and was undone: %s", batch, why),
		Hint: "Nothing of the batch is left, here or in the cloud. Begin anew with the cause removed, or commit with " +
			"on_error => 'keep'."}
}

// undo undoes a batch whose commit has failed, and returns the error that tells so.
func (e *Engine) undo(ctx context.Context, batch int64, why string) error {
	_, err := e.revert(ctx, batch, &why)
	switch {
	case err == nil:
		return undone(batch, why)
	case transient(err):
		return err
	}
	return &platform.UserError{Code: "IA026",
		Message: fmt.Sprintf("batch %d failed: %s; undoing it failed too: %v", batch, why, err),
		Hint:    "SELECT * FROM iasql_status WHERE review shows what is left."}
}

// transient reports whether an error is one that passes: the database is away, has no
// room or somebody in the way (manual, appendix A), or another engine has the account.
// What was begun goes on then.
func transient(err error) bool {
	var user *platform.UserError
	var pg *pgconn.PgError
	switch {
	case err == nil, errors.As(err, &user):
		return false
	case errors.As(err, &pg):
		switch pg.Code[:2] {
		case "08", "40", "53", "55", "57", "58":
			return true
		}
		return false
	}
	return true
}

// closeBatch gives a batch its outcome, unless somebody else has given it another
// meanwhile.
func (e *Engine) closeBatch(ctx context.Context, batch int64, phase, outcome string) error {
	event := map[string]string{committing: "END_COMMIT", reverting: "END_REVERT"}[phase]
	_, err := e.pool.Exec(ctx, `SELECT iasql_internal.log_event($4, $1), iasql_internal.close_batch($1, $2, $3)`, batch,
		phase, outcome, event)
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.Code == errorLost {
		var same bool
		if err := e.pool.QueryRow(ctx, `SELECT outcome IS NOT DISTINCT FROM $2 FROM iasql_internal.batch WHERE id = $1`,
			batch, outcome).Scan(&same); err == nil && same {
			return nil // the other one is an engine that took this one for dead
		}
		return &platform.UserError{Code: errorLost, Message: pg.Message, Hint: pg.Hint}
	}
	return err
}

// errorLost is the SQLSTATE of a batch that is not open, or not any more.
const errorLost = "IA022"

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
	case errors.As(err, &pg) && pg.Code == pgerrcode.LockNotAvailable:
		return &platform.UserError{Code: "IA020",
			Message: fmt.Sprintf("batch %d is still being edited in a transaction that is open", args.Batch),
			Hint:    "Commit or roll back that transaction first. Nothing was changed."}
	case err != nil:
		return fmt.Errorf("begin to commit batch %d: %w", args.Batch, err)
	case closed == 0:
		return e.lost(ctx, args.Batch)
	}
	return nil
}

// openToEdits takes that back, for a commit that was not begun.
func (e *Engine) openToEdits(ctx context.Context, batch int64) error {
	_, err := e.pool.Exec(context.WithoutCancel(ctx),
		`UPDATE iasql_internal.batch SET phase = 'open', commit_asked = NULL, begun_at = NULL WHERE id = $1 AND phase = 'committing'`, batch)
	return err
}

// lost says what has become of a batch that somebody else has closed, or is undoing.
func (e *Engine) lost(ctx context.Context, batch int64) error {
	what := "being rolled back"
	err := e.pool.QueryRow(ctx, `SELECT coalesce(outcome, 'being rolled back') FROM iasql_internal.batch WHERE id = $1`,
		batch).Scan(&what)
	if errors.Is(err, pgx.ErrNoRows) {
		what, err = "gone", nil
	}
	if err != nil {
		return fmt.Errorf("look what has become of batch %d: %w", batch, err)
	}
	return &platform.UserError{Code: errorLost,
		Message: fmt.Sprintf("batch %d is no longer this commit's: it is %s", batch, what),
		Hint:    "SELECT * FROM iasql_batches shows what has become of it."}
}

// startCommit compares the batch with what was reviewed and approved, and puts on
// record that it is being committed, unless that has begun. It reports whether anybody
// has reviewed it.
func (e *Engine) startCommit(ctx context.Context, args commitArgs, begun bool) (reviewed bool, err error) {
	var required int
	if err := e.pool.QueryRow(ctx, `SELECT iasql_internal.setting('required_approvals')::integer`).Scan(&required); err != nil {
		return false, fmt.Errorf("read the setting required_approvals: %w", err)
	}
	reviewed = args.PreviewHash != nil || required > 0
	if begun {
		return reviewed, nil
	}
	if reviewed {
		now, err := e.preview(ctx, nil, args.Batch)
		if err != nil {
			return false, err
		}
		if err := e.approved(ctx, args.Batch, now.Hash, required); err != nil {
			return false, err
		}
		if args.PreviewHash != nil && now.Hash != *args.PreviewHash {
			return false, &platform.UserError{Code: "IA023",
				Message: fmt.Sprintf("batch %d is not what was previewed: the database or the cloud has changed since",
					args.Batch),
				Hint: "Nothing was changed. Look at SELECT * FROM iasql_preview() again."}
		}
	}
	_, err = e.pool.Exec(ctx, `
		WITH told AS (
			UPDATE public.iasql_audit_log SET message = $2 WHERE transaction_id = $1 AND $2::text IS NOT NULL
		), begun AS (
			UPDATE iasql_internal.batch SET begun_at = clock_timestamp() WHERE id = $1
		)
		INSERT INTO public.iasql_audit_log ("user", change_type, change, message, transaction_id, settled, settled_at)
		VALUES (current_user, 'START_COMMIT', '{}', $2, $1, true, clock_timestamp())`, args.Batch, args.Message)
	if err != nil {
		return false, fmt.Errorf("begin to commit batch %d: %w", args.Batch, err)
	}
	return reviewed, nil
}

// approved fails unless as many people as are required have approved of this plan of
// a batch, and might still do so (R33).
func (e *Engine) approved(ctx context.Context, batch int64, hash string, required int) error {
	var have int
	if err := e.pool.QueryRow(ctx, `SELECT iasql_internal.approvals($1, $2)`, batch, hash).Scan(&have); err != nil {
		return fmt.Errorf("read approvals of batch %d: %w", batch, err)
	}
	if have >= required {
		return nil
	}
	return &platform.UserError{Code: "IA027",
		Message: fmt.Sprintf("batch %d has %d of %d approvals of its present plan", batch, have, required),
		Hint: fmt.Sprintf("Nothing was changed. Let somebody who has changed nothing in it call SELECT "+
			"iasql_approve(%d, '%s').", batch, hash)}
}

// carryOut runs cycles of the batch until nothing of it is left to be done: every
// change is settled, has failed for good, or waits for one that has. Each cycle
// ends after a time slice, so that others of its accounts get their turn. It fails
// once the batch is in another phase: somebody else has decided otherwise.
//
// A strict one fails with a [refusedError] before it has changed anything if something will certainly not be done.
func (e *Engine) carryOut(ctx context.Context, batch int64, phase string, reviewed, strict bool) (result *committed,
	stopped string, err error) {
	result = &committed{Failed: []failedRecord{}}
	var patience float64
	if err := e.pool.QueryRow(ctx,
		`SELECT extract(epoch FROM iasql_internal.setting('progress_timeout')::interval)::double precision`).Scan(
		&patience); err != nil {
		return nil, "", fmt.Errorf("read the setting progress_timeout: %w", err)
	}
	progress, end := e.telling(ctx, batch)
	defer end()
	moved, left := time.Now(), -1
	kind := map[string]string{committing: "commit", reverting: "revert"}[phase]
	for calls := 0; ; {
		accounts, err := e.staged(ctx, batch)
		if err != nil {
			return nil, "", err
		}
		more, pushed := false, result.Pushed
		for _, account := range accounts {
			report, err := e.runCycle(ctx, account, store.Push,
				postgres.CycleOptions{Kind: kind, Batch: batch, Phase: phase, Reviewed: reviewed, Strict: strict &&
					calls == 0}, progress)
			switch {
			case errors.Is(err, errPhase):
				return nil, "", e.lost(ctx, batch)
			case errors.Is(err, postgres.ErrNoAccount):
				continue
			case err != nil:
				return nil, "", fmt.Errorf("cycle of account %s: %w", account, err)
			}
			calls += report.Calls
			if len(report.Refused) > 0 {
				return nil, "", &refusedError{report.Refused}
			}
			if report.Held && calls > 0 { // to be gone on with once a person has said whose the account is
				return nil, "", heldError(account, report.Stopped)
			}
			if report.Stopped != "" && calls == 0 { // later on it is a failure like any other
				return result, report.Stopped, nil
			}
			result.Pushed += report.Pushed
			result.Pulled += report.Pulled
			more = more || report.More
		}
		at, err := e.progress(ctx, batch)
		if err != nil {
			return nil, "", err
		}
		if len(at.working) == 0 {
			result.Failed = append(result.Failed, at.failed...)
			return result, "", nil
		}
		if n := len(at.failed) + len(at.working); n != left || !at.stuck || result.Pushed > pushed {
			moved, left = time.Now(), n
		}
		if waited := time.Since(moved); waited.Seconds() > patience {
			for i := range at.working {
				at.working[i].Message = fmt.Sprintf("given up after %s without progress: %s", waited.Round(time.Second),
					at.working[i].Message)
			}
			result.Failed = append(append(result.Failed, at.failed...), at.working...)
			return result, "", nil
		}
		if more {
			at.pause = 0
		}
		select {
		case <-ctx.Done():
			return nil, "", ctx.Err()
		case <-time.After(at.pause):
		}
	}
}

// refusedError says what of a batch will certainly not be done, before anything was.
type refusedError struct{ what []string }

func (e *refusedError) Error() string { return "will not be done: " + strings.Join(e.what, "; ") }

// standing is how far a batch is.
type standing struct {
	failed  []failedRecord // for good, and what waits for those
	working []failedRecord // what is still being worked on, and what each says
	stuck   bool           // of these every one has failed, and is tried again, or waits for another
	pause   time.Duration  // until it is worth looking again
}

// progress finds out how far a batch is.
func (e *Engine) progress(ctx context.Context, batch int64) (at standing, err error) {
	rows, err := e.pool.Query(ctx, `
		SELECT l.table_name, l.record_id, coalesce(s.state = 'WaitingForDependencies' OR s.code = 'along', false), coalesce(iasql_internal.failure(l.table_name, l.record_id), ''),
		       concat_ws(': ', s.state, nullif(s.message, '')), coalesce(s.attempts > 0, false),
		       greatest(extract(epoch FROM least(s.next_attempt_at, clock_timestamp() + interval '1 hour') - clock_timestamp()), 0)::double precision
		FROM (SELECT DISTINCT table_name, record_id FROM public.iasql_audit_log
		      WHERE transaction_id = $1 AND NOT settled AND change_type IN ('INSERT', 'UPDATE', 'DELETE')) l
		LEFT JOIN iasql_internal.record_state s ON s.table_name = l.table_name AND s.record_id = l.record_id
		ORDER BY l.table_name, l.record_id`, batch)
	if err != nil {
		return at, err
	}
	var (
		f              failedRecord
		waits, retried bool
		failure, says  string
		seconds        *float64
		waiting        []failedRecord
	)
	at.stuck, at.pause = true, time.Second
	_, err = pgx.ForEachRow(rows, []any{&f.Table, &f.Record, &waits, &failure, &says, &retried, &seconds},
		func() error {
			f.Message = says
			switch {
			case failure != "":
				f.Message = failure
				at.failed = append(at.failed, f)
			case waits:
				waiting = append(waiting, f)
			default:
				at.working = append(at.working, f)
				at.stuck = at.stuck && retried
				if seconds != nil {
					at.pause = min(at.pause, time.Duration(*seconds*float64(time.Second)))
				}
			}
			return nil
		})
	at.pause = max(at.pause, 20*time.Millisecond)
	if len(at.failed) > 0 && len(at.working) == 0 {
		at.failed = append(at.failed, waiting...) // for what has failed
	} else {
		at.working = append(at.working, waiting...)
	}
	return at, err
}

// rolledBack reports whether a batch is closed, and was rolled back.
func (e *Engine) rolledBack(ctx context.Context, batch int64) (is bool) {
	err := e.pool.QueryRow(ctx, `SELECT outcome = 'rolled back' FROM iasql_internal.batch WHERE id = $1`,
		batch).Scan(&is)
	return err == nil && is
}

func (e *Engine) answerBatch(ctx context.Context, request int64, kind string, args json.RawMessage) (any, error) {
	switch kind {
	case "preview":
		var asked struct {
			Own   *postgres.OwnEdits `json:"own"`
			Batch int64              `json:"batch"`
		}
		if err := json.Unmarshal(args, &asked); err != nil {
			return nil, err
		}
		return e.preview(ctx, asked.Own, asked.Batch)
	case "commit":
		var asked commitArgs
		if err := json.Unmarshal(args, &asked); err != nil {
			return nil, err
		}
		result, err := e.commit(ctx, asked)
		if err != nil && asked.Deferred && !e.goesOn(ctx, request, err) {
			err = errors.Join(err, e.logFailure(ctx, asked.Batch, err))
		}
		return result, err
	default: // revert
		var asked commitArgs
		if err := json.Unmarshal(args, &asked); err != nil {
			return nil, err
		}
		n, err := e.revert(ctx, asked.Batch, nil)
		var user *platform.UserError
		if errors.As(err, &user) && user.Code == errorLost && e.rolledBack(ctx, asked.Batch) {
			err = nil // by this request, whose engine ended before it could say so
		}
		return map[string]int64{"records": n}, err
	}
}
