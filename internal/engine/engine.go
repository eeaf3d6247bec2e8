// Package engine runs the cycles: it works the job queue (River), takes the
// lease of an account before each cycle, answers the requests of blocking SQL
// functions, and keeps the schedule.
//
// Any number of engines may run on one database: River hands each job to one
// of them, and the lease keeps two cycles of one account apart (R15).
package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"regexp"
	gosync "sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"go.opentelemetry.io/otel/trace"

	"iasql/internal/modules"
	"iasql/internal/platform"
	"iasql/internal/postgres"
	"iasql/internal/store"
)

// Options configure an engine.
type Options struct {
	DatabaseURL string
	// Registry builds the modules, given the pool that modules may read their
	// settings tables with.
	Registry func(pool *pgxpool.Pool) (*modules.Registry, error)
	// Types finds the resource types that become modules when they are installed; nil:
	// there are none.
	Types func(pool *pgxpool.Pool) modules.Source
	// Watch returns what reads the sources of events, given the engine's id; nil: nobody
	// does.
	Watch func(pool *pgxpool.Pool, registry *modules.Registry, id string, log *slog.Logger) []Watcher
	// Worlds returns what accounts are asked by who they are (R27), once the registry is made; nil: nobody asks.
	Worlds  func() modules.Worlds
	Version string
	Log     *slog.Logger
	// PullOnly: the engine pulls, and changes nothing in the cloud.
	PullOnly bool
	// Accounts bounds the accounts whose cycles run at once in this engine; 0
	// means 16.
	Accounts int
	// Concurrency bounds the operations of one cycle under way at once; 0
	// means 16.
	Concurrency int
	// Tracer is told of cycles, their steps and operations, and of calls of modules'
	// functions; nil is not.
	Tracer trace.Tracer
	// Observe is told of every cycle that has ended; nil is not.
	Observe func(Observation)
}

// Watcher reads what the cloud tells of changes, and leaves it in the database.
type Watcher interface {
	// Run does so until ctx ends.
	Run(ctx context.Context)
}

// Observation is a cycle that has ended.
type Observation struct {
	Account string
	Kind    string
	Took    time.Duration
	Report  store.Report
	Err     error // of the cycle as a whole
}

// Engine is a running engine.
type Engine struct {
	options     Options
	id          string
	log         *slog.Logger
	pool        *pgxpool.Pool
	registry    *modules.Registry
	worlds      modules.Worlds
	stops       gosync.Map   // by account: why its cycles are stopped, as was logged last
	restored    atomic.Value // why nothing is pushed since the database may have gone back, as was logged last
	database    *postgres.Database
	queue       *river.Client[pgx.Tx]
	interval    string        // the sync_interval in force
	cron        atomic.Bool   // pg_cron ticks
	rescheduled chan struct{} // of capacity 1: the schedule has changed
	presence    *postgres.Presence
	coalescer   coalescer
	said        obstacles
	pulse       pulse
	away        outage // of the database
	requests    requests
	types       modules.Source
	learning    gosync.Mutex
	learnt      int64         // what is known of the database's resource types
	looking     gosync.Map    // accounts that are about to be looked at again (see lookForLock)
	waited      chan struct{} // bounds the cycles that requests wait for
}

// Queues of the job queue. Requests have their own, so that somebody who waits
// never waits behind cycles.
const (
	queueCycles   = "iasql"
	queueRequests = "iasql_requests"
	queueCalls    = "iasql_calls" // of functions of modules, which may take long
)

// maxRequests bounds the requests at once, and the cycles that they wait for, all together.
const maxRequests = 8

// fetchCooldown is the least time between two looks into a queue: an edit should
// be in the cloud in well under a second.
const fetchCooldown = 5 * time.Millisecond

// defaultAccounts is [Options.Accounts] where it is not set.
const defaultAccounts = 16

// Connections returns how many connections to the database the pool of an engine
// opens at most that runs the cycles of so many accounts at once. Each cycle holds
// one for its lease and uses a few more.
func Connections(accounts int) int {
	if accounts == 0 {
		accounts = defaultAccounts
	}
	return min(4*accounts+8, 1<<16)
}

// Start connects an engine to a migrated database and lets it work until ctx
// ends; then Wait returns. It refuses a login that has more rights than an engine
// should have (see [platform.CheckLogin]).
func Start(ctx context.Context, options Options) (*Engine, error) {
	e := &Engine{options: options, id: "engine-" + uuid.NewString()[:8], log: options.Log,
		rescheduled: make(chan struct{}, 1), waited: make(chan struct{}, maxRequests)}
	if e.log == nil {
		e.log = slog.Default()
	}
	e.log = e.log.With("engine", e.id)
	accounts := options.Accounts
	if accounts == 0 {
		accounts = defaultAccounts
	}
	if err := platform.CheckLogin(ctx, options.DatabaseURL); err != nil {
		return nil, err
	}
	var err error
	// #nosec G115 -- bounded
	if e.pool, err = postgres.ConnectEngine(ctx, options.DatabaseURL, e.id, int32(Connections(accounts))); err != nil {
		return nil, err
	}
	if err := e.start(ctx, accounts); err != nil {
		e.pool.Close()
		return nil, err
	}
	return e, nil
}

func (e *Engine) start(ctx context.Context, accounts int) error {
	var err error
	if e.registry, err = e.options.Registry(e.pool); err != nil {
		return err
	}
	if e.options.Worlds != nil {
		e.worlds = e.options.Worlds()
	}
	if e.options.Types != nil {
		e.types = e.options.Types(e.pool)
	}
	if err := e.learnTypes(ctx); err != nil {
		return err
	}
	e.database = &postgres.Database{Pool: e.pool, Registry: e.registry, Log: e.log}
	if err := platform.EnsureLoopback(ctx, e.pool); err != nil {
		return err
	}
	host, _ := os.Hostname()
	if e.presence, err = postgres.Announce(ctx, e.pool, e.id, e.options.Version, host); err != nil {
		return err
	}
	workers := river.NewWorkers()
	river.AddWorker(workers, river.WorkFunc(func(ctx context.Context, job *river.Job[pushArgs]) error {
		return e.workCycle(ctx, job.Args.Account, store.Push)
	}))
	river.AddWorker(workers, river.WorkFunc(func(ctx context.Context, job *river.Job[syncArgs]) error {
		return e.workCycle(ctx, job.Args.Account, store.Full)
	}))
	river.AddWorker(workers, river.WorkFunc(e.workRequest))
	river.AddWorker(workers, river.WorkFunc(e.workCommit))
	queues := map[string]river.QueueConfig{
		queueCycles:   {MaxWorkers: accounts},
		queueRequests: {MaxWorkers: maxRequests},
		queueCalls:    {MaxWorkers: 32},
	}
	heard := map[string]bool{}
	for name := range queues {
		heard[name] = true
	}
	e.queue, err = river.NewClient(driver{riverpgxv5.New(e.pool), heard}, &river.Config{
		ID:            e.id,
		Schema:        platform.RiverSchema,
		Logger:        slog.New(quiet{e.log.Handler(), &e.away}),
		Queues:        queues,
		Workers:       workers,
		FetchCooldown: fetchCooldown,
		// For jobs that nobody tells of. Every 5 s River's leader makes available what comes due until it
		// looks again, and tells only of what is due already (River v0.51.1,
		// internal/maintenance/job_scheduler.go, runOnce).
		FetchPollInterval: 2 * time.Second,
		// River cancels a job's context after a minute; with -1 it does not (client.go, Config.JobTimeout).
		// A cycle may take long: its lease tells whether its engine lives.
		JobTimeout: -1,
		// River gives a job to another worker when it has run for so long, even if its worker is still at it
		// (client.go, Config.RescueStuckJobsAfter). So this only tidies up: takeUnfinished and the lease see
		// much sooner that an engine is dead.
		RescueStuckJobsAfter: 24 * time.Hour,
		// River keeps ended jobs for 24 h, in the index by which it fetches (its migration 002,
		// river_job_prioritized_fetching_index). Here every transaction with edits makes one.
		CompletedJobRetentionPeriod: 10 * time.Minute,
	})
	if err != nil {
		return fmt.Errorf("job queue: %w", err)
	}
	if err := e.reschedule(ctx); err != nil {
		return err
	}
	ended, _ := e.queue.Subscribe(river.EventKindJobCompleted)
	// If the context given to Start ends, River cancels the running jobs at once (client.go, Start). Wait stops
	// the queue instead, so that cycles can end first.
	if err := e.queue.Start(context.WithoutCancel(ctx)); err != nil {
		return fmt.Errorf("start the job queue: %w", err)
	}
	go e.takeWaiting(ended)
	// What happened while no engine was there.
	if _, err := e.pool.Exec(ctx, `SELECT iasql_internal.tick()`); err != nil {
		return err
	}
	return nil
}

// takeWaiting has the queue look for further cycles when one has ended, and returns when the queue stops. River
// promises to fill a free place "as soon as we have open slots" (River v0.51.1, producer.go, innerFetchLoop). But it
// forgets a place that becomes free while it fetches for another: that place stays empty until the next job comes or
// ends, or until the next poll. River drops events that are not read in time (client.go, Subscribe); then, too, the
// poll helps.
func (e *Engine) takeWaiting(ended <-chan *river.Event) {
	for event := range ended {
		if event.Job.Queue != queueCycles {
			continue
		}
		// Not of the engine's context: whoever else is there may take them, too.
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		if _, err := e.pool.Exec(ctx, `SELECT iasql_internal.wake_for_waiting()`); err != nil {
			e.log.Debug("could not look for cycles that wait", "error", err) // the poll finds them
		}
		cancel()
	}
}

// ID returns the engine's name, as iasql_engines() shows it.
func (e *Engine) ID() string { return e.id }

// Ready fails while the database does not answer, or does not take the engine for
// connected.
func (e *Engine) Ready(ctx context.Context) error {
	var connected bool
	if err := e.pool.QueryRow(ctx,
		`SELECT EXISTS (SELECT FROM iasql_internal.engine n WHERE n.id = $1 AND iasql_internal.engine_alive(n))`,
		e.id).Scan(&connected); err != nil {
		return fmt.Errorf("the database does not answer: %w", err)
	}
	if !connected {
		return errors.New("the engine is not connected")
	}
	return nil
}

// Pool returns the engine's connections.
func (e *Engine) Pool() *pgxpool.Pool { return e.pool }

// Wait works until ctx ends, then lets running cycles finish for a moment and
// disconnects. A cycle that is cut off is finished by the next one.
func (e *Engine) Wait(ctx context.Context) {
	watch, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var watching, others gosync.WaitGroup
	watching.Go(func() { e.keepPresence(watch) })
	watching.Go(func() { e.database.ShowLife(watch, e.id, e.pulse.stuck) })
	watching.Go(func() { e.lookForNewer(watch) })
	watching.Go(func() { e.keepSchedule(watch) })
	watching.Go(func() { e.keepSearch(watch) })
	watching.Go(func() { e.releaseMemory(watch) })
	finish, leave := context.WithCancel(context.WithoutCancel(ctx))
	others.Go(func() { e.finishOthers(finish) })
	if e.options.Watch != nil {
		for _, watcher := range e.options.Watch(e.pool, e.registry, e.id, e.log) {
			others.Go(func() { watcher.Run(finish) })
		}
	}
	<-ctx.Done()
	cancel()
	leave()
	// Stop waits for the running jobs, and StopAndCancel cancels them first (River v0.51.1, client.go).
	// Neither waits longer than its context.
	stop, done := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer done()
	if err := e.queue.Stop(stop); err != nil {
		cut, done := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer done()
		if err := e.queue.StopAndCancel(cut); err != nil {
			e.log.Warn("some cycles did not end in time; the next engine finishes them", "error", err)
		}
	}
	others.Wait()
	watching.Wait()
	e.presence.Close()
	e.pool.Close()
}

// keepPresence renews the engine's presence when its connection breaks, and
// hears what is said on its channels.
func (e *Engine) keepPresence(ctx context.Context) {
	said := newDebouncer()
	said.add("") // settings that changed while the engine started
	var debouncing gosync.WaitGroup
	debouncing.Go(func() { e.debounce(ctx, said) })
	defer debouncing.Wait()
	for {
		wanted, err := e.presence.Wait(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			e.notified(said, wanted)
			continue
		}
		e.away.begin()
		e.log.Warn("connection to the database lost; connecting again", "error", err)
		e.presence.Close()
		// The others lead to the server that was, too. One that is idle does not know yet: the first statement that it
		// is given fails, such as the one that queues a cycle.
		e.pool.Reset()
		for pause := 100 * time.Millisecond; ; pause = min(2*pause, 5*time.Second) {
			host, _ := os.Hostname()
			presence, err := postgres.Announce(ctx, e.pool, e.id, e.options.Version, host)
			if err == nil {
				e.presence = presence
				break
			}
			select {
			case <-ctx.Done():
				return
			case <-time.After(pause):
			}
		}
		e.log.Info("connected to the database again", "after", e.away.end().Round(time.Millisecond))
		said.add("") // what was said meanwhile is lost
		if _, err := e.pool.Exec(ctx, `SELECT iasql_internal.tick()`); err != nil {
			e.log.Warn("could not queue a cycle after connecting again", "error", err)
		}
	}
}

// quiet hands on what the queue has to say from warnings upwards, but not that the database is away: the engine says so
// itself, when that begins and when it ends. While it is away, River logs an error for every fetch, election and
// listener that fails (River v0.51.1, producer.go, internal/leadership, internal/notifier).
type quiet struct {
	slog.Handler
	away *outage
}

func (q quiet) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn && q.Handler.Enabled(ctx, level) && !q.away.now()
}

// Handle drops what an error of the connection makes the queue say before the engine knows that the database is away.
func (q quiet) Handle(ctx context.Context, record slog.Record) error {
	connection := false
	record.Attrs(func(a slog.Attr) bool {
		text := a.Value.String()
		if err, ok := a.Value.Any().(error); ok {
			connection = connection || databaseGone(err)
			text = err.Error()
		}
		connection = connection || connectionTrouble.MatchString(text)
		return !connection
	})
	if connection {
		return nil
	}
	return q.Handler.Handle(ctx, record)
}

// connectionTrouble matches what errors say of a connection that has broken or cannot be made, where the queue tells
// the text alone.
var connectionTrouble = regexp.MustCompile(
	`failed to connect|connection refused|conn closed|connection reset|unexpected EOF|SQLSTATE 57P0[123]|broken pipe|closed pool`)

// outage is whether the database is away, and since when.
type outage struct{ since atomic.Int64 }

func (o *outage) now() bool { return o.since.Load() != 0 }

// begin notes that the database is away; it is false if that is known.
func (o *outage) begin() bool { return o.since.CompareAndSwap(0, time.Now().UnixNano()) }

// end notes that it is back, and returns for how long it was away.
func (o *outage) end() time.Duration { return time.Since(time.Unix(0, o.since.Swap(0))) }
func (q quiet) WithAttrs(attrs []slog.Attr) slog.Handler {
	return quiet{q.Handler.WithAttrs(attrs), q.away}
}
func (q quiet) WithGroup(name string) slog.Handler { return quiet{q.Handler.WithGroup(name), q.away} }

// errPhase: the batch of a cycle is in another phase than it was begun for.
var errPhase = errors.New("the batch is in another phase")
