package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"
	gosync "sync"
	"time"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"iasql/internal/postgres"
	"iasql/internal/store"
	"iasql/internal/sync"
)

type pushArgs struct {
	Account string `json:"account"`
}

// Kind implements river.JobArgs; iasql_internal.enqueue inserts these jobs.
func (pushArgs) Kind() string { return "push" }

type syncArgs struct {
	Account string `json:"account"`
}

// Kind implements river.JobArgs; iasql_internal.enqueue inserts these jobs.
func (syncArgs) Kind() string { return "sync" }

// soon is how long a worker itself waits for a record's next attempt; later
// ones are queued.
const soon = 5 * time.Second

// lookForLock is after how long it is looked whether a table that records wait for
// is still locked.
const lookForLock = 2 * time.Second

// lookForLock queues a push cycle of an account in a moment, once however many
// ask. A job that was queued for later is there, too, in case this engine ends. River
// may be late with that one: its leader looks for such jobs every 5 s only (River
// v0.51.1, internal/maintenance/job_scheduler.go), and where there is no leader, the
// next has to be elected first.
func (e *Engine) lookForLock(account string) {
	if _, waits := e.looking.LoadOrStore(account, true); waits {
		return
	}
	time.AfterFunc(lookForLock, func() {
		e.looking.Delete(account)
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if _, err := e.pool.Exec(ctx, `SELECT iasql_internal.enqueue('push', $1)`, account); err != nil {
			e.log.Debug("could not queue another cycle", "account", account, "error", err) // the other job does
		}
	})
}

// minRest is the least time between a worker's cycles; while they do nothing it
// doubles.
const minRest = 50 * time.Millisecond

// patience is for how long a cycle that nobody waits for keeps its place while another
// cycle of the account runs, if that one has not run for long. After that the place is
// another account's, so that those that hang do not take them all, and it tries again
// after comeBack, or when that cycle ends. So does one after a failure.
const (
	patience = 2 * time.Second
	comeBack = 5 * time.Second
)

// queueLater queues another job of an account for later. The one that has to be done soonest counts.
func (e *Engine) queueLater(ctx context.Context, job, account string, after time.Duration) {
	if _, err := e.pool.Exec(ctx, `SELECT iasql_internal.enqueue($1, $2, make_interval(secs => $3))`, job, account,
		after.Seconds()); err != nil {
		e.log.Error("could not queue another cycle", "account", account, "error", err)
	}
}

// letOthers has those who gave way to a cycle that took that long come back at once.
func (e *Engine) letOthers(ctx context.Context, account string, took time.Duration) {
	if took < patience {
		return
	}
	if _, err := e.pool.Exec(context.WithoutCancel(ctx), `SELECT iasql_internal.hasten($1, make_interval(secs => $2))`,
		account, comeBack.Seconds()); err != nil {
		// They come by themselves.
		e.log.Debug("could not have waiting cycles run at once", "account", account, "error", err)
	}
}

// workCycle runs cycles of an account until nothing is left that should be
// done soon. It never returns an error to the queue. River would try the job again
// (River v0.51.1, Config.RetryPolicy), and that would collide with newer jobs of the
// same account. It queues another job instead.
func (e *Engine) workCycle(ctx context.Context, account string, kind store.Kind) error {
	again := false
	options := postgres.CycleOptions{}
	for rest := minRest; ; {
		report, err := e.runCycle(ctx, account, kind, options, nil)
		switch {
		case ctx.Err() != nil:
			return nil // the engine stops; the next one looks at everything
		case errors.Is(err, errAsked), errors.Is(err, postgres.ErrNoAccount),
			errors.As(err, new(*postgres.MovingError)): // whoever lets go of the account queues another
			return nil
		case errors.Is(err, postgres.ErrLeaseHeld):
			job := pushArgs{}.Kind()
			if kind == store.Full && !options.Hinted {
				job = syncArgs{}.Kind()
			}
			e.queueLater(ctx, job, account, comeBack)
			return nil
		case err != nil:
			level := slog.LevelError
			if e.away.now() { // which is said once
				level = slog.LevelDebug
			}
			e.log.Log(ctx, level, "cycle failed", withCycle(err, "account", account, "kind", kind)...)
			if lockTimedOut(err) && !again { // the next finds out who has the lock, and does without the table
				again = true
				continue
			}
			e.queueLater(ctx, pushArgs{}.Kind(), account, comeBack)
			return nil
		}
		again = false
		if report.List && !options.Hinted {
			// It counts as a push cycle: what it does not look at is as it was.
			kind, options = store.Full, postgres.CycleOptions{Kind: string(store.Push), Hinted: true}
			continue
		}
		options = postgres.CycleOptions{}
		pause, waits, err := e.database.NextAttempt(ctx, account)
		if err != nil {
			e.log.Error("could not read what is due next", "account", account, "error", err)
			return nil
		}
		if report.Locked { // by another job: there is one such however many edits meet the lock
			e.queueLater(ctx, pushArgs{}.Kind(), account, comeBack)
			e.lookForLock(account)
		}
		if !waits {
			return nil
		}
		if pause > soon {
			e.queueLater(ctx, pushArgs{}.Kind(), account, pause)
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(max(pause, rest)):
		}
		if report.Calls+report.Pulled+report.Settled > 0 {
			rest = minRest
		} else { // what is due may be a creation that is still being looked for
			rest = min(2*rest, soon)
		}
		kind = store.Push
	}
}

// runCycle takes the account's lease and runs one cycle under it. If somebody waits for the
// cycle, it waits for one that is running to end, else as long as [patience] lasts. The cycle
// says by progress, if that is not nil, how far it is.
func (e *Engine) runCycle(ctx context.Context, account string, kind store.Kind,
	options postgres.CycleOptions, progress *headway) (store.Report, error) {
	if options.Kind == "" {
		options.Kind = string(kind)
	}
	if options.Batch != 0 {
		if report, ran, err := e.runErrand(ctx, account, kind, options, progress); ran || err != nil {
			return report, err
		}
	}
	if options.Batch == 0 && !options.Waited {
		options.Patience = patience
	}
	lease, err := e.acquire(ctx, account, kind, options)
	if err != nil {
		return store.Report{}, err
	}
	err = e.learnTypesUpTo(ctx, lease.Types)
	var cycle *sync.Reconciler
	if err == nil {
		cycle, err = e.newCycle(ctx, account, kind, options)
	}
	if err != nil {
		return store.Report{}, errors.Join(err, lease.Release(store.Report{}, err))
	}
	asked := func() bool { return false }
	if kind == store.Full && options.Batch == 0 {
		var listing *listing
		listing, asked = e.coalescer.list(account)
		cycle.Preempt, cycle.Errands = listing.wanted, listing.errands
	}
	log := e.log.With("account", account, "cycle", lease.Cycle)
	ctx, end := e.cycleSpan(ctx, lease.Lease, options.Kind)
	began := time.Now()
	report, failure := e.underLease(ctx, lease, cycle, kind, progress)
	defer func() { end(failure) }()
	e.letOthers(ctx, account, time.Since(began))
	seen := Observation{Account: account, Kind: options.Kind, Took: time.Since(began), Report: report, Err: failure}
	if e.options.Observe != nil {
		e.options.Observe(seen)
	}
	if asked() || report.More || report.List && kind == store.Full { // who asked may have come too late for this cycle
		if _, err := e.pool.Exec(context.WithoutCancel(ctx), `SELECT iasql_internal.enqueue('push', $1)`, account); err != nil {
			log.Error("could not queue another cycle", "error", err)
		}
	}
	e.tell(ctx, log, seen, options.Batch)
	if failure != nil {
		failure = &cycleError{failure, lease.Cycle}
	}
	return report, failure
}

// runErrand has a full cycle of the account that is listing here run a cycle of a batch
// between two pages, and reports whether there was one.
func (e *Engine) runErrand(ctx context.Context, account string, kind store.Kind,
	options postgres.CycleOptions, progress *headway) (store.Report, bool, error) {
	began := time.Now()
	errand := &sync.Errand{Kind: kind, Batch: options.Batch, Reviewed: options.Reviewed,
		Prepare: func(ctx context.Context) (*sync.Reconciler, error) {
			began = time.Now()
			if err := e.learnTypes(ctx); err != nil {
				return nil, err
			}
			cycle, err := e.newCycle(ctx, account, kind, options)
			if err == nil && progress != nil {
				cycle.Tell = progress.tell
			}
			return cycle, err
		}}
	ran, err := e.coalescer.errand(ctx, account, errand)
	if !ran || err != nil {
		return store.Report{}, false, err
	}
	seen := Observation{Account: account, Kind: options.Kind, Took: time.Since(began), Report: errand.Report,
		Err: errand.Err}
	if e.options.Observe != nil {
		e.options.Observe(seen)
	}
	e.tell(ctx, e.log.With("account", account), seen, options.Batch)
	return errand.Report, true, errand.Err
}

// acquire takes the account's lease for a cycle. Push cycles that no batch needs do
// not stand in line for it: errAsked says that another one sees to what is to be
// pushed.
func (e *Engine) acquire(ctx context.Context, account string, kind store.Kind,
	options postgres.CycleOptions) (*postgres.Lease, error) {
	alone := kind == store.Push && options.Batch == 0
	if alone {
		if e.coalescer.ask(account) {
			return nil, errAsked
		}
		if !e.coalescer.wait(account, kind) {
			return nil, errors.Join(errAsked, e.database.AskToPush(ctx, account))
		}
	}
	scheduled := kind == store.Full && options.Batch == 0 && !options.Waited && !options.Hinted
	if scheduled && !e.coalescer.wait(account, kind) {
		return nil, errAsked
	}
	lease, err := e.database.Acquire(ctx, account, e.id, options)
	if alone || scheduled {
		e.coalescer.started(account, kind)
	}
	if err != nil || !alone {
		return lease, err
	}
	// Every waiting push job of the account is answered by this cycle, whose
	// snapshot is yet to be taken. River's own deletion takes 100 jobs a call (River
	// v0.51.1, client.go, JobDeleteMany). Here one statement takes them all; it skips
	// those that another engine is just fetching, as River's does. The condition on the
	// queue is there for River's index by which jobs are fetched
	// (river_job_prioritized_fetching_index): those that are done are kept for a while.
	// An array is made once; of IN a plan may look for each job of the table anew.
	if _, err := e.pool.Exec(ctx, `
		DELETE FROM iasql_river.river_job WHERE id = ANY (ARRAY(
			SELECT id FROM iasql_river.river_job
			WHERE state = 'available' AND queue = 'iasql' AND kind = 'push' AND args ->> 'account' = $1
			FOR UPDATE SKIP LOCKED))`, account); err != nil {
		return nil, errors.Join(err, lease.Release(store.Report{}, err))
	}
	return lease, nil
}

// newCycle prepares a cycle under the account's lease. It fails with errPhase if the
// batch that the cycle is for is in another phase by now.
func (e *Engine) newCycle(ctx context.Context, account string, kind store.Kind,
	options postgres.CycleOptions) (*sync.Reconciler, error) {
	cycle := &sync.Reconciler{Store: e.database, Registry: e.registry, Concurrency: e.options.Concurrency,
		Tracer: e.options.Tracer}
	cycle.Strict = options.Strict
	cycle.Worlds, cycle.Hinted, cycle.PullOnly = e.worlds, options.Hinted, e.options.PullOnly
	cycle.Sparing, cycle.Only = options.Batch == 0 && (!options.Waited || options.Sparing), options.Only
	if kind == store.Full && cycle.Sparing && !options.Waited {
		cycle.Patient = true
		var err error
		if cycle.Rest, err = e.database.Rest(ctx, account); err != nil {
			return nil, err
		}
	}
	if options.Waited {
		cycle.TimeSlice = -1
	}
	if options.Phase != "" {
		// Asked under the lease: whoever changes the phase waits for this cycle, and
		// knows that no other comes.
		var so bool
		if err := e.pool.QueryRow(ctx, `SELECT EXISTS (SELECT FROM iasql_internal.batch WHERE id = $1 AND phase = $2)`,
			options.Batch, options.Phase).Scan(&so); err != nil {
			return nil, err
		}
		if !so {
			return nil, errPhase
		}
	}
	return cycle, nil
}

// tell logs what went wrong in a cycle, and what it did.
func (e *Engine) tell(ctx context.Context, log *slog.Logger, seen Observation, batch int64) {
	report := seen.Report
	for _, problem := range report.Errors {
		var locked *sync.LockedError
		if errors.As(problem.Err, &locked) && !e.said.news(seen.Account+" "+locked.Table) {
			continue
		}
		about := []any{"table", problem.Record.Table}
		if problem.Record.ID != 0 {
			about = append(about, "record", problem.Record.ID)
		}
		if problem.Scope.Region != "" {
			about = append(about, "region", problem.Scope.Region)
		}
		if problem.Operation != 0 {
			about = append(about, "operation", problem.Operation)
		}
		log.WarnContext(ctx, "failed", append(about, "error", problem.Err)...)
	}
	tellDenied(ctx, log, report)
	if batch == 0 { // who waits for a batch is told what stops it
		e.tellStop(ctx, log, seen)
	}
	level := slog.LevelInfo
	if seen.Err == nil && report.Calls+report.Pulled+report.Settled == 0 { // as most do
		level = slog.LevelDebug
	}
	log.Log(ctx, level, "cycle ended", "kind", seen.Kind, "took", seen.Took.Round(time.Millisecond), "batch", batch,
		"calls", report.Calls, "pushed", report.Pushed, "pulled", report.Pulled, "settled", report.Settled, "failed",
		report.Failed)
}

// stop is why cycles of an account are stopped.
type stop struct {
	why  string
	held bool // nothing at all is done about the account
}

// tellStop logs why cycles of an account are stopped when that begins, and that it has ended.
func (e *Engine) tellStop(ctx context.Context, log *slog.Logger, seen Observation) {
	report := seen.Report
	if seen.Err != nil {
		return
	}
	e.tellRestored(ctx, report.Restored)
	if report.Stopped == "" && seen.Kind != string(store.Full) || report.Restored != "" && !report.Held {
		return // what stops full cycles need not stop others
	}
	now := stop{report.Stopped, report.Held}
	last, _ := e.stops.Swap(seen.Account, now)
	before, _ := last.(stop)
	if before.held && !now.held {
		log.InfoContext(ctx, "the account is no longer held", "why_before", before.why)
		before = stop{}
	}
	const digits = "0123456789" // how many operations wait is no news
	switch {
	case now.held == before.held && strings.TrimLeft(now.why, digits) == strings.TrimLeft(before.why, digits):
	case now.held:
		log.WarnContext(ctx, "the account is held", "why", now.why)
	case now.why != "":
		log.WarnContext(ctx, "cycle stopped for review", "why", now.why)
	case before.why != "":
		log.InfoContext(ctx, "cycles are no longer stopped for review", "why_before", before.why)
	}
}

// tellRestored logs that nothing is pushed since the database may have gone back in time (R30), and when that has
// ended.
func (e *Engine) tellRestored(ctx context.Context, why string) {
	switch before, _ := e.restored.Swap(why).(string); {
	case why == before:
	case why != "":
		e.log.WarnContext(ctx, "nothing is pushed: the database may have gone back in time", "why", why)
	default:
		e.log.InfoContext(ctx, "it is confirmed that the database has gone back in time; what is pending is pushed",
			"why_before", before)
	}
}

// named is how many places a message names.
const named = 5

// tellDenied logs which listings the cloud has begun to deny, and which it permits again.
func tellDenied(ctx context.Context, log *slog.Logger, report store.Report) {
	if n := len(report.Denied); n > 0 {
		log.WarnContext(ctx, "the cloud denies listings", "count", n, "such_as",
			strings.Join(report.Denied[:min(n, named)], ", "))
	}
	if n := len(report.Permitted); n > 0 {
		log.InfoContext(ctx, "the cloud permits listings again", "count", n, "such_as",
			strings.Join(report.Permitted[:min(n, named)], ", "))
	}
}

// cycleError is the error of a cycle as a whole, which knows which one it was.
type cycleError struct {
	error
	cycle int64
}

func (e *cycleError) Unwrap() error { return e.error }

// withCycle adds to the fields of a message the cycle that an error is of, if it came
// to one.
func withCycle(err error, fields ...any) []any {
	var of *cycleError
	if errors.As(err, &of) {
		fields = append(fields, "cycle", of.cycle)
	}
	return append(fields, "error", err)
}

// underLease runs a cycle and gives the lease back, come what may: a panic ends
// the cycle with an error, and no account waits for it for ever.
func (e *Engine) underLease(ctx context.Context, lease *postgres.Lease, cycle *sync.Reconciler,
	kind store.Kind, progress *headway) (report store.Report, failure error) {
	defer func() {
		if p := recover(); p != nil {
			failure = fmt.Errorf("the engine has a defect: %v", p)
			e.log.Error("cycle panicked", "account", lease.Account, "cycle", lease.Cycle, "panic", p, "stack",
				string(debug.Stack()))
		}
		if err := lease.Release(report, failure); err != nil {
			e.log.Warn("cycle could not be closed", "account", lease.Account, "cycle", lease.Cycle, "kind", kind,
				"error", err)
		}
	}()
	return e.watched(ctx, lease, cycle, kind, progress)
}

// accounts returns the names of all accounts.
func (e *Engine) accounts(ctx context.Context) ([]string, error) {
	rows, err := e.pool.Query(ctx, `SELECT name FROM iasql_internal.account ORDER BY name`)
	if err != nil {
		return nil, fmt.Errorf("read accounts: %w", err)
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

// lockTimedOut reports whether a cycle failed because somebody holds a lock
// that it needed (lock_timeout; manual, appendix A).
func lockTimedOut(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == pgerrcode.LockNotAvailable
}

// obstacles are what has been said to be in the way, and when: once a minute is
// enough.
type obstacles struct {
	lock gosync.Mutex
	said map[string]time.Time
}

func (o *obstacles) news(what string) bool {
	o.lock.Lock()
	defer o.lock.Unlock()
	for old, at := range o.said {
		if time.Since(at) > time.Minute {
			delete(o.said, old)
		}
	}
	if _, said := o.said[what]; said {
		return false
	}
	if o.said == nil {
		o.said = map[string]time.Time{}
	}
	o.said[what] = time.Now()
	return true
}
