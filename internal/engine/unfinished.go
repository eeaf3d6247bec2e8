package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	gosync "sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"iasql/internal/store"
)

// requests are those that this engine works on, and since when those fail that it goes
// on with.
type requests struct {
	lock    gosync.Mutex
	working map[int64]bool
	failing map[int64]time.Time
}

// begin notes that a request is worked on; it is false if it is already.
func (r *requests) begin(id int64) bool {
	r.lock.Lock()
	defer r.lock.Unlock()
	if r.working[id] {
		return false
	}
	if r.working == nil {
		r.working, r.failing = map[int64]bool{}, map[int64]time.Time{}
	}
	r.working[id] = true
	return true
}

func (r *requests) end(id int64) {
	r.lock.Lock()
	defer r.lock.Unlock()
	delete(r.working, id)
}

// fails notes that a request has failed, and returns since when it does.
func (r *requests) fails(id int64) time.Duration {
	r.lock.Lock()
	defer r.lock.Unlock()
	if r.failing[id].IsZero() {
		r.failing[id] = time.Now()
	}
	return time.Since(r.failing[id])
}

// forget forgets since when a request fails: it has ended.
func (r *requests) forget(id int64) {
	r.lock.Lock()
	defer r.lock.Unlock()
	delete(r.failing, id)
}

// patienceForOthers is how long an error is put up with of which nobody knows that it
// passes, such as credentials that are not there: who waits is to hear of it.
const patienceForOthers = 30 * time.Second

// goesOn reports whether a commit or a revert that has failed is gone on with later, by
// this engine or, since it ends, by another: what is begun of a batch is finished or
// undone. It gives up what fails for as long as the setting progress_timeout.
func (e *Engine) goesOn(ctx context.Context, request int64, failure error) bool {
	switch {
	case ctx.Err() != nil:
		return true
	case !transient(failure):
		return false
	case !databaseAway(failure):
		return e.requests.fails(request) < patienceForOthers
	}
	var patience float64
	err := e.pool.QueryRow(ctx, `SELECT extract(epoch FROM iasql_internal.setting('progress_timeout')::interval)::double precision`).Scan(&patience)
	return err != nil || e.requests.fails(request).Seconds() < patience
}

// databaseAway reports whether an error comes from the database, its connection, or the
// lease, which was lost with it.
func databaseAway(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) || databaseGone(err)
}

// databaseGone reports whether an error comes from a connection to the database that has broken or could not be made,
// or from the lease, which was lost with it.
func databaseGone(err error) bool {
	var network net.Error
	return errors.As(err, &network) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, store.ErrLeaseLost) || pgconn.SafeToRetry(err)
}

// maxUnfinished is how many commits and reverts that were cut off an engine goes on with
// at a time.
const maxUnfinished = 8

// lookForUnfinished is how often an engine looks for them.
const lookForUnfinished = 2 * time.Second

// finishOthers goes on, until ctx ends, with commits and reverts whose engine has gone
// away or which failed by something that passes. It returns when those have ended, too.
func (e *Engine) finishOthers(ctx context.Context) {
	var all gosync.WaitGroup
	defer all.Wait()
	places := make(chan struct{}, maxUnfinished)
	for {
		if err := e.takeUnfinished(ctx, func(request int64, kind string, args json.RawMessage) bool {
			select {
			case places <- struct{}{}:
			default:
				return false
			}
			all.Go(func() {
				defer func() { <-places }()
				defer e.requests.end(request)
				e.log.InfoContext(ctx, "goes on with a batch", "request", request, "kind", kind)
				if err := e.work(ctx, request, kind, args); err != nil {
					e.log.WarnContext(ctx, "could not answer a request", "request", request, "error", err)
				}
			})
			return true
		}); err != nil && ctx.Err() == nil {
			e.log.Debug("could not look for what other engines have left", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(lookForUnfinished):
		}
	}
}

// takeUnfinished takes over the commits and reverts that nobody works on, and calls
// take for each, which reports whether it begins with it. What waits in the queue is
// not among them.
//
// River leaves the jobs of a dead engine alone until RescueStuckJobsAfter, which is a
// day here (see Engine.start). Until then such a job is in the state running, and the
// last of attempted_by is the client that fetched it (River v0.51.1, riverpgxv5,
// JobGetAvailable). That is the engine's id: the engine is the client's ID.
func (e *Engine) takeUnfinished(ctx context.Context,
	take func(request int64, kind string, args json.RawMessage) bool) error {
	rows, err := e.pool.Query(ctx, `
		SELECT r.id, r.kind, r.args FROM iasql_internal.request r
		WHERE r.ended IS NULL AND r.kind IN ('commit', 'revert')
		  AND CASE WHEN r.started IS NULL THEN NOT EXISTS (SELECT FROM iasql_river.river_job j
		                WHERE j.kind = 'request' AND j.args @> jsonb_build_object('request', r.id)
		                  AND (j.state = 'available' OR j.state = 'running' AND EXISTS (SELECT FROM iasql_internal.engine n WHERE n.id = j.attempted_by[cardinality(j.attempted_by)] AND iasql_internal.engine_alive(n))))
		           ELSE r.engine = $1 OR NOT EXISTS (SELECT FROM iasql_internal.engine n WHERE n.id = r.engine AND iasql_internal.engine_alive(n)) END
		ORDER BY r.id`, e.id)
	if err != nil {
		return err
	}
	type left struct {
		ID   int64
		Kind string
		Args json.RawMessage
	}
	found, err := pgx.CollectRows(rows, pgx.RowToStructByPos[left])
	if err != nil {
		return err
	}
	for _, r := range found {
		if !e.requests.begin(r.ID) {
			continue
		}
		// Two engines may have found it.
		tag, err := e.pool.Exec(ctx, `
			UPDATE iasql_internal.request r SET engine = $2, started = coalesce(started, clock_timestamp())
			WHERE r.id = $1 AND r.ended IS NULL
			  AND (r.engine IS NULL OR r.engine = $2 OR NOT EXISTS (SELECT FROM iasql_internal.engine n WHERE n.id = r.engine AND iasql_internal.engine_alive(n)))`, r.ID, e.id)
		if err != nil {
			e.requests.end(r.ID)
			return fmt.Errorf("take request %d over: %w", r.ID, err)
		}
		if tag.RowsAffected() == 0 || !take(r.ID, r.Kind, r.Args) {
			e.requests.end(r.ID)
		}
	}
	return nil
}
