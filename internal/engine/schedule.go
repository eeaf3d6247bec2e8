package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// The schedule of full cycles. pg_cron ticks where it can count in sync_interval. Elsewhere every engine looks whether
// a tick is due, and the database lets one of them make it: nobody has to be elected first, and by the clock of the
// database alone. Where pg_cron ticks, they look whether it is late.

const (
	// lookAtSchedule is how long an engine leaves the schedule alone at the most: somebody may have changed the
	// database's clock.
	lookAtSchedule = 15 * time.Second
	// cronSlack is by which share of sync_interval pg_cron may be late.
	cronSlack = 0.25
)

// keepSchedule ticks whenever a tick is due, until ctx ends.
func (e *Engine) keepSchedule(ctx context.Context) {
	for {
		wait, err := e.tickIfDue(ctx)
		if err != nil {
			// That the database is away is said elsewhere (keepPresence).
			e.log.Debug("could not look whether full cycles are due", "error", err)
			wait = time.Second
		}
		select {
		case <-ctx.Done():
			return
		case <-e.rescheduled:
		case <-time.After(min(max(wait, 50*time.Millisecond), lookAtSchedule)):
		}
	}
}

// tickIfDue ticks if that is due, and returns how long from now it is due again.
func (e *Engine) tickIfDue(ctx context.Context) (next time.Duration, err error) {
	slack, cron := 0.0, e.cron.Load()
	if cron {
		slack = cronSlack
	}
	var ticked bool
	err = e.pool.QueryRow(ctx, `SELECT ticked, next FROM iasql_internal.tick_if_due($1)`, slack).Scan(&ticked, &next)
	if err != nil || !ticked || !cron {
		return next, err
	}
	e.log.Warn("pg_cron is late; full cycles were queued in its stead, and its job written anew", "it says",
		e.cronFailure(ctx))
	return next, e.schedule(ctx, true)
}

// schedule puts sync_interval in force: by pg_cron where it can, else by the
// engines. renew has pg_cron read its job anew.
func (e *Engine) schedule(ctx context.Context, renew bool) error {
	by, err := e.scheduleByCron(ctx, renew)
	if err != nil {
		e.log.Warn("pg_cron cannot keep the schedule; the engines do", "error", err)
		by = "engines"
	}
	e.cron.Store(by == "pg_cron")
	if renew {
		return nil
	}
	select {
	case e.rescheduled <- struct{}{}:
	default:
	}
	e.log.Info("full cycles are scheduled", "by", by)
	return nil
}

// scheduleByCron has pg_cron keep the schedule where it can, and returns who
// does. Its job belongs to the login role: it runs as a role that may log in.
func (e *Engine) scheduleByCron(ctx context.Context, renew bool) (by string, err error) {
	err = e.asLogin(ctx, func(tx pgx.Tx) error {
		return tx.QueryRow(ctx, `SELECT iasql_internal.schedule_sync($1)`, renew).Scan(&by)
	})
	return by, err
}

// cronFailure returns what pg_cron says of the last time its job failed, "" if it
// says nothing. Only the owner of the job sees that.
func (e *Engine) cronFailure(ctx context.Context) (said string) {
	err := e.asLogin(ctx, func(tx pgx.Tx) error {
		return tx.QueryRow(ctx, `
			SELECT coalesce((
				SELECT d.return_message FROM cron.job j JOIN cron.job_run_details d ON d.jobid = j.jobid
				WHERE j.jobname = 'iasql-sync' AND j.username = current_user AND d.status = 'failed' ORDER BY d.runid DESC LIMIT 1), '')`).Scan(&said)
	})
	if err != nil {
		return err.Error()
	}
	return said
}

// asLogin runs a transaction as the role that the engine has logged in as.
func (e *Engine) asLogin(ctx context.Context, run func(pgx.Tx) error) error {
	return pgx.BeginFunc(ctx, e.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SET LOCAL ROLE NONE; SET LOCAL row_security = on`); err != nil {
			return err
		}
		return run(tx)
	})
}

// reschedule puts sync_interval in force if it has changed.
func (e *Engine) reschedule(ctx context.Context) error {
	var interval string
	if err := e.pool.QueryRow(ctx, `SELECT iasql_internal.setting('sync_interval')`).Scan(&interval); err != nil {
		return fmt.Errorf("schedule full cycles: %w", err)
	}
	if e.interval == interval {
		return nil
	}
	if err := e.schedule(ctx, false); err != nil {
		return err
	}
	e.interval = interval
	return nil
}
