package postgres

import (
	"context"
	"errors"
	"fmt"
	gosync "sync"
	"time"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"iasql/internal/store"
)

// lockLease is the first half of the key of the advisory lock of an account's
// lease; "IASQ" and its successor. The second half is the hash of the account's
// name.
const lockLease = 1229017938

// Lease is a held lease. It is granted by the account's row of
// iasql_internal.lease, which names the holder's backend, and lasts until that
// has ended or gives it back; its fence keeps a holder that does not know of
// that from writing (R15).
//
// The holder has the account's advisory lock, too, if it can get it: those who
// wait for it need not poll. It proves nothing, because PostgreSQL lets
// everybody take any advisory lock (manual, section 13.3.5).
type Lease struct {
	store.Lease
	database *Database
	engine   string
	conn     *pgxpool.Conn
	locked   bool // conn has the advisory lock
	// Types is the newest change of a resource type that is a table, 0 if there is none.
	Types int64
}

// CycleOptions say what the lease is for.
type CycleOptions struct {
	Kind     string // of the cycle, as iasql_cycles shows it
	Batch    int64  // the batch being committed or undone, 0 for none
	Phase    string // the one that the batch has to be in, "" for any
	Reviewed bool   // see [store.Lease]
	Waited   bool   // a user waits for its end: it does all there is to do
	// Strict: the cycle changes nothing if something will certainly not be done.
	Strict bool
	// Sparing: though somebody waits, what is not due is not listed.
	Sparing bool
	// Hinted: a full cycle lists nothing but what events hint at.
	Hinted bool
	// Only, if not empty, are the tables that a full cycle lists, besides those that
	// they refer to.
	Only []string
	// Patience, if not 0, is for how long the lease is waited for while another cycle has it; one that has had it for
	// longer than longHeld is not waited for.
	Patience time.Duration
}

// longHeld is after how long it is not likely that a cycle ends within a moment.
const longHeld = 10 * time.Second

// ErrLeaseHeld is returned by Acquire when the lease is not worth the patience.
var ErrLeaseHeld = errors.New("another cycle of the account has not ended yet")

// ErrNoAccount is returned by Acquire for an account that does not exist (any
// more).
var ErrNoAccount = errors.New("no such account")

// MovingError is returned by Acquire for an account that moves to another cell or from one (engine cells move): no
// cycle of it runs in this database meanwhile.
type MovingError struct{ Account, Cell string }

// Error says what to wait for.
func (e *MovingError) Error() string {
	return fmt.Sprintf("account %s is moving to or from cell %s: nothing is done about it here until "+
		"engine cells move has ended", e.Account, e.Cell)
}

// Acquire takes the lease of an account for one cycle; it waits while another
// cycle of the account runs, in this engine or another, as long as the options say.
func (d *Database) Acquire(ctx context.Context, account, engine string, options CycleOptions) (*Lease, error) {
	conn, err := d.Pool.Acquire(ctx)
	if err != nil {
		return nil, fmt.Errorf("connect for a lease: %w", err)
	}
	l := &Lease{Lease: store.Lease{Account: account, Batch: options.Batch, Reviewed: options.Reviewed}, database: d,
		engine: engine, conn: conn}
	err = l.acquire(ctx, options)
	if err == nil {
		return l, nil
	}
	if errors.Is(err, ErrLeaseHeld) && !l.locked {
		conn.Release()
		return nil, err
	}
	_ = conn.Conn().Close(context.WithoutCancel(ctx)) // whether the lease was got is not known
	conn.Release()
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.Code == pgerrcode.ForeignKeyViolation {
		return nil, ErrNoAccount
	}
	return nil, fmt.Errorf("lease %s: %w", account, err)
}

// acquire takes the advisory lock where nobody holds it, and then the row. Who
// wants to push says so while it waits, to the cycle that is running, wherever
// that is: it may see to it between two pages of its listing.
func (l *Lease) acquire(ctx context.Context, options CycleOptions) error {
	if err := l.sign(ctx); err != nil {
		return err
	}
	if err := l.database.startClock(ctx, l.conn, l.Account); err != nil {
		return err
	}
	asked, began := options.Kind != string(store.Push), time.Now()
	for pause := pollLease; ; {
		if err := l.tryLock(ctx); err != nil {
			return err
		}
		var there holders
		if !l.locked || pause > pollLease {
			if !asked {
				if _, err := l.conn.Exec(ctx, askToPush, l.Account); err != nil {
					return err
				}
				asked = true
			}
			var err error
			if there, err = l.look(ctx); err != nil {
				return err
			}
			l.database.warnOf(l.Account, there.outsiders)
		}
		switch {
		case !l.locked && there.engines && !there.stalled: // at work, or about to take the row
			if options.outOfPatience(began, there) {
				return ErrLeaseHeld
			}
			if err := l.waitForLock(ctx); err != nil {
				return err
			}
			continue
		case !there.row:
			taken, err := l.take(ctx, options)
			if err != nil || taken {
				return err
			}
			if err := l.refuseMoving(ctx); err != nil {
				return err
			}
		}
		// The row has a living holder that has not got the advisory lock.
		if options.outOfPatience(began, there) {
			return ErrLeaseHeld
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
		pause = min(2*pause, pollLeaseMax)
	}
}

// outOfPatience reports whether somebody who began to wait then for those is to give it up.
func (o CycleOptions) outOfPatience(began time.Time, there holders) bool {
	return o.Patience > 0 && (time.Since(began) >= o.Patience || there.row && there.held >= longHeld)
}

// refuseMoving fails for an account that moves between cells, of which a trigger lets nobody take the lease.
func (l *Lease) refuseMoving(ctx context.Context) error {
	moving := &MovingError{Account: l.Account}
	err := l.conn.QueryRow(ctx, `SELECT cell FROM iasql_internal.moving WHERE account = $1`, l.Account).Scan(&moving.Cell)
	switch {
	case err == nil:
		return moving
	case errors.Is(err, pgx.ErrNoRows), lockTimedOut(err): // somebody else has the lease; or a move is about to begin
		return nil
	}
	return err
}

// How often a lease is looked at that is held without its advisory lock, and
// how long that lock is waited for before looking who holds it.
const (
	pollLease    = 5 * time.Millisecond
	pollLeaseMax = 200 * time.Millisecond
	waitForLock  = "1s"
)

// sign puts the engine's id into the connection's application_name, unless it is
// there already, as on those of [ConnectEngine]. It is one of the few parameters
// that the server reports (manual, section 55.2.7).
func (l *Lease) sign(ctx context.Context) error {
	name := l.conn.Conn().PgConn().ParameterStatus("application_name")
	if signed := sessionName(name, l.engine); signed != name {
		_, err := l.conn.Exec(ctx, `SELECT set_config('application_name', $1, false)`, signed)
		return err
	}
	return nil
}

// startClock has the account's time go on in this process from its first cycle of
// the account, while that still waits for another's end.
func (d *Database) startClock(ctx context.Context, conn *pgxpool.Conn, account string) error {
	if d.clocks.now(account) > 0 {
		return nil
	}
	var elapsed float64
	if err := conn.QueryRow(ctx, `SELECT coalesce(max(elapsed), 0) FROM iasql_internal.lease WHERE account = $1`,
		account).Scan(&elapsed); err != nil {
		return err
	}
	d.clocks.seen(account, elapsed)
	return nil
}

// living tells whether the lease l has a living holder: $2 is the engine that
// asks, and $3 whether it knows that it is itself. Without that, a connection of
// the engine that has got the process id of one that broke would pass for it.
const living = `((l.engine <> $2 OR $3) AND ` + LeaseHeld + `)`

// LeaseHeld tells whether the lease l has a living holder, for a role that sees the sessions of engines.
const LeaseHeld = `(l.pid IS NOT NULL AND EXISTS (
	SELECT FROM pg_stat_get_activity(l.pid) a WHERE a.usesysid = l.role AND strpos(a.application_name, l.engine) > 0)
	AND NOT ` + stalled + `)`

// stalled tells whether the holder of the lease l has not shown for a while that it gets on: its process or its machine
// has been stopped, or its cycle stands (R31). One of a version that shows nothing is not.
const stalled = `(l.beat_fence = l.fence AND l.beat < clock_timestamp() - make_interval(secs => ` + stalledAfter + `))`

// How often a holder shows that it gets on, and after how many seconds without that it has lost the lease.
const (
	beatEvery    = 10 * time.Second
	stalledAfter = `45`
)

// holders are those who hold what belongs to a lease.
type holders struct {
	row       bool          // an engine that is alive holds the lease
	stalled   bool          // one that does not get on holds it
	held      time.Duration // for so long whoever has it has had it
	engines   bool          // engines hold the advisory lock; those of earlier versions hold nothing else
	outsiders *string       // others hold it: who they are
}

// look finds out who holds the lease. What members of iasql_engine and
// superusers lock is trusted; engines log in as such.
func (l *Lease) look(ctx context.Context) (h holders, err error) {
	err = l.conn.QueryRow(ctx, `
		SELECT coalesce((SELECT `+living+` FROM iasql_internal.lease l WHERE l.account = $1), false),
		       coalesce((SELECT l.pid IS NOT NULL AND `+stalled+
		` FROM iasql_internal.lease l WHERE l.account = $1), false),
		       coalesce((SELECT clock_timestamp() - l.since FROM iasql_internal.lease l WHERE l.account = $1), '0'),
		       coalesce(bool_or(k.ours), false), string_agg(k.who, ', ') FILTER (WHERE NOT k.ours)
		FROM (SELECT coalesce(pg_has_role(s.usesysid, 'iasql_engine', 'MEMBER'), false) AS ours,
		             format('%s (process %s)', coalesce(r.rolname, 'a prepared transaction'), k.pid) AS who
		      FROM pg_locks k LEFT JOIN pg_stat_get_activity(NULL) s ON s.pid = k.pid LEFT JOIN pg_roles r ON r.oid = s.usesysid
		      WHERE k.locktype = 'advisory' AND k.granted AND k.pid IS DISTINCT FROM pg_backend_pid() AND k.classid = $4::bigint::oid AND k.objid = hashtext($1)::oid AND k.objsubid = 2
		        AND k.database = (SELECT oid FROM pg_database WHERE datname = current_database())) k`,
		l.Account, l.engine, l.database.grant(l.Account, l.engine).holds(), int64(lockLease)).Scan(&h.row, &h.stalled,
		&h.held, &h.engines, &h.outsiders)
	return h, err
}

// tryLock takes the advisory lock if nobody has it.
func (l *Lease) tryLock(ctx context.Context) error {
	if l.locked {
		return nil
	}
	return l.conn.QueryRow(ctx, `SELECT pg_try_advisory_lock($1, hashtext($2))`, lockLease, l.Account).Scan(&l.locked)
}

// waitForLock waits for the advisory lock, for so long that it is worth while
// to look again who holds it.
func (l *Lease) waitForLock(ctx context.Context) error {
	batch := &pgx.Batch{}
	batch.Queue(`SELECT set_config('lock_timeout', '` + waitForLock + `', true)`)
	batch.Queue(`SELECT pg_advisory_lock($1, hashtext($2))`, lockLease, l.Account)
	err := l.conn.SendBatch(ctx, batch).Close()
	if lockTimedOut(err) {
		return l.seeLock(ctx)
	}
	l.locked = err == nil
	return err
}

// seeLock finds out whether the connection has the advisory lock. A wait that
// timed out just when the lock was granted fails, and has it: what belongs to the
// session outlives the error (LockErrorCleanup in PostgreSQL's proc.c). Unseen, it
// would never be given back.
func (l *Lease) seeLock(ctx context.Context) error {
	return l.conn.QueryRow(ctx, `
		SELECT EXISTS (SELECT FROM pg_locks k
		               WHERE k.locktype = 'advisory' AND k.granted AND k.pid = pg_backend_pid()
		                 AND k.classid = $1::bigint::oid AND k.objid = hashtext($2)::oid AND k.objsubid = 2)`,
		int64(lockLease), l.Account).Scan(&l.locked)
}

// take takes the lease unless it has a living holder, and begins the cycle's row
// of iasql_cycles. What died with an earlier engine says so there.
func (l *Lease) take(ctx context.Context, options CycleOptions) (bool, error) {
	d := l.database
	g := d.grant(l.Account, l.engine)
	g.lock.Lock() // from now on nobody else in this process takes it, and knows better than this whether it is held
	defer g.lock.Unlock()
	var elapsed float64
	var from *string
	var pid *int32
	err := l.conn.QueryRow(ctx, `
		WITH before AS (
			SELECT l.pid, l.engine, l.role, `+stalled+
		` AS stalled, clock_timestamp() - l.beat AS silent FROM iasql_internal.lease l WHERE l.account = $1
		), taken AS (
			INSERT INTO iasql_internal.lease AS l (account, fence, engine, elapsed, pid, role, beat, beat_fence)
			VALUES ($1, 1, $2, $4, pg_backend_pid(), to_regrole(quote_ident(session_user)), clock_timestamp(), 1)
			ON CONFLICT (account) DO UPDATE SET fence = l.fence + 1, engine = excluded.engine, pid = excluded.pid, role = excluded.role, since = now(),
				beat = excluded.beat, beat_fence = l.fence + 1,
				elapsed = greatest(l.elapsed, excluded.elapsed, (SELECT max(o.elapsed) FROM public.iasql_operations o WHERE o.account = l.account))
			WHERE NOT `+living+`
			RETURNING l.fence, l.elapsed
		), died AS (
			UPDATE public.iasql_cycles SET ended = clock_timestamp(),
				message = CASE WHEN (SELECT b.stalled FROM before b) THEN 'the engine did not get on, and another took over' ELSE 'the engine ended before the cycle did' END
			WHERE account = $1 AND ended IS NULL AND EXISTS (SELECT FROM taken)
		), begun AS (
			INSERT INTO public.iasql_cycles (account, kind, engine) SELECT $1, $5, $2 FROM taken RETURNING id
		)
		SELECT taken.fence, taken.elapsed, begun.id, (SELECT coalesce(max(changed), 0) FROM iasql_internal.resource_type),
		       (SELECT b.engine FROM before b WHERE b.pid IS NOT NULL AND b.stalled), (SELECT b.pid FROM before b)
		FROM taken, begun`,
		l.Account, l.engine, g.lease != nil, d.clocks.now(l.Account), options.Kind).Scan(&l.Fence, &elapsed, &l.Cycle,
		&l.Types, &from, &pid)
	switch {
	case errors.Is(err, pgx.ErrNoRows), lockTimedOut(err):
		return false, nil
	case err != nil:
		return false, err
	}
	if from != nil {
		l.end(ctx, *from, *pid)
	}
	d.clocks.seen(l.Account, elapsed)
	d.entries.takes(l.Account, elapsed)
	g.lease = l
	return true, nil
}

// AskToPush asks the cycle that holds an account's lease, in whatever engine, to
// push between two pages of its listing.
func (d *Database) AskToPush(ctx context.Context, account string) error {
	_, err := d.Pool.Exec(ctx, askToPush, account)
	return err
}

// end ends the backend of an engine that did not get on, and has lost the lease: its locks would be in the way. That is
// for the login role to do (manual, section 9.27.2). The fence keeps it from writing in any case.
func (l *Lease) end(ctx context.Context, engine string, pid int32) {
	var ended bool
	err := pgx.BeginFunc(ctx, l.database.Pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SET LOCAL ROLE NONE; SET LOCAL row_security = on`); err != nil {
			return err
		}
		return tx.QueryRow(ctx, `
			SELECT coalesce(bool_or(pg_terminate_backend(a.pid)), false) FROM pg_stat_get_activity($1) a
			WHERE a.usesysid = to_regrole(quote_ident(session_user)) AND strpos(a.application_name, $2) > 0`, pid,
			engine).Scan(&ended)
	})
	if l.database.Log != nil {
		l.database.Log.Warn("an engine that held an account did not get on, and the account is taken over",
			"account", l.Account, "from", engine, "connection_ended", ended, "error", err)
	}
}

// Beat shows, until ctx ends, that the lease's holder gets on, as long as alive says that it does (R31).
func (l *Lease) Beat(ctx context.Context, alive func() bool) {
	l.database.beat(ctx, "could not show that a cycle gets on", func(ctx context.Context) error {
		if !alive() {
			return nil
		}
		_, err := l.database.Pool.Exec(ctx,
			`UPDATE iasql_internal.lease SET beat = clock_timestamp() WHERE account = $1 AND fence = $2`,
			l.Account, l.Fence)
		return err
	})
}

// beat calls show every few seconds until ctx ends; each call has as long. A failure is worth no more than a line for
// debugging, as the next call makes up for it.
func (d *Database) beat(ctx context.Context, failure string, show func(context.Context) error) {
	ticker := time.NewTicker(beatEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		within, cancel := context.WithTimeout(ctx, beatEvery)
		err := show(within)
		cancel()
		if err != nil && ctx.Err() == nil && d.Log != nil {
			d.Log.Debug(failure, "error", err)
		}
	}
}

// Release ends the cycle's row with what it did, and gives the lease back.
func (l *Lease) Release(report store.Report, failure error) error {
	defer l.conn.Release()
	defer l.database.grant(l.Account, l.engine).end(l)
	ctx := context.Background() // the cycle's own context may have ended
	message := report.Stopped
	if failure != nil {
		message = clip(failure.Error())
	}
	type detail struct {
		Table   string `json:"table_name"`
		Record  int64  `json:"record_id,omitempty"`
		Scope   string `json:"scope"`
		Message string `json:"message"`
	}
	var details []detail
	for _, e := range report.Errors {
		details = append(details, detail{e.Record.Table, e.Record.ID, e.Scope.String(), clip(e.Err.Error())})
	}
	// Those who commit a notification do so one after the other: none waits for
	// the disk here, as nothing depends on the row. (Nor on the lease's: should the
	// server crash, its holder is no longer there.)
	batch := &pgx.Batch{}
	batch.Queue(`
		WITH hurry AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true)),
		free AS (UPDATE iasql_internal.lease SET pid = NULL, role = NULL WHERE account = $9 AND fence = $10),
		told AS (INSERT INTO iasql_internal.cycle_details (cycle_id, details) SELECT $1, $7::jsonb WHERE $7::jsonb IS NOT NULL)
		UPDATE public.iasql_cycles SET ended = clock_timestamp(), reads = $2, pushes = $3, pulls = $4, errors = $5, message = nullif($6, ''), calls = $8
		FROM hurry WHERE id = $1`, l.Cycle, report.Listed+report.Read, report.Pushed, report.Pulled, report.Failed,
		message, details, report.Calls,
		l.Account, l.Fence)
	if l.locked {
		batch.Queue(`SELECT pg_advisory_unlock($1, hashtext($2))`, lockLease, l.Account)
	}
	if err := l.conn.SendBatch(ctx, batch).Close(); err != nil {
		_ = l.conn.Conn().Close(ctx) // which ends the lease
		return fmt.Errorf("end cycle %d: %w", l.Cycle, err)
	}
	return nil
}

// held is what this process knows of its leases.
type held struct {
	lock   gosync.Mutex
	grants map[[2]string]*grant // by account and engine
	warned map[string]time.Time // by account: when it was last said who is in the way
}

// grant is the lease that an engine of this process holds of an account, if any.
type grant struct {
	lock  gosync.Mutex
	lease *Lease
}

func (d *Database) grant(account, engine string) *grant {
	d.held.lock.Lock()
	defer d.held.lock.Unlock()
	if d.held.grants == nil {
		d.held.grants = map[[2]string]*grant{}
	}
	key := [2]string{account, engine}
	if d.held.grants[key] == nil {
		d.held.grants[key] = &grant{}
	}
	return d.held.grants[key]
}

func (g *grant) holds() bool {
	g.lock.Lock()
	defer g.lock.Unlock()
	return g.lease != nil
}

// end notes that a lease was given back, unless it was lost before.
func (g *grant) end(l *Lease) {
	g.lock.Lock()
	defer g.lock.Unlock()
	if g.lease == l {
		g.lease = nil
	}
}

// warnOf says who holds an account's advisory lock, once in a while.
func (d *Database) warnOf(account string, outsiders *string) {
	if outsiders == nil || d.Log == nil {
		return
	}
	d.held.lock.Lock()
	defer d.held.lock.Unlock()
	if time.Since(d.held.warned[account]) < warnEvery {
		return
	}
	if d.held.warned == nil {
		d.held.warned = map[string]time.Time{}
	}
	d.held.warned[account] = time.Now()
	d.Log.Warn("somebody who is no engine holds the advisory lock of an account; cycles go on without it", "account",
		account, "holder", *outsiders)
}

// warnEvery is how often the same obstacle is worth a line in the log.
const warnEvery = time.Minute

// Presence announces a connected engine: its row of iasql_internal.engine names
// the backend of its connection.
type Presence struct {
	conn *pgx.Conn
}

// Announce connects an engine's presence. Its connection should live as long
// as the engine; Wait tells when it breaks. It takes no lock: nobody can keep an
// engine from starting, nor pass for one.
func Announce(ctx context.Context, pool *pgxpool.Pool, id, version, host string) (*Presence, error) {
	config := pool.Config().ConnConfig
	config.RuntimeParams["application_name"] = sessionName(config.RuntimeParams["application_name"], id)
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("announce the engine: %w", err)
	}
	_, err = conn.Exec(ctx, engineSettings+cycleSettings+`LISTEN iasql_settings; LISTEN `+channelPush)
	if err == nil {
		_, err = conn.Exec(ctx, `
			INSERT INTO iasql_internal.engine (id, pid, role, version, host, beat) VALUES ($1, pg_backend_pid(), to_regrole(quote_ident(session_user)), $2, $3, clock_timestamp())
			ON CONFLICT (id) DO UPDATE SET pid = excluded.pid, role = excluded.role, version = excluded.version, started_at = now(), beat = excluded.beat`, id, version, host)
	}
	if err == nil {
		// Whether an engine's connection is there counts, and no clock: one that was set forward makes everybody's last
		// beat old.
		_, err = conn.Exec(ctx, `DELETE FROM iasql_internal.engine e WHERE e.started_at < now() - interval '1 day' AND NOT iasql_internal.engine_there(e)`)
	}
	if err != nil {
		_ = conn.Close(ctx)
		return nil, fmt.Errorf("announce the engine: %w", err)
	}
	return &Presence{conn}, nil
}

// channelPush is notified with the name of an account whose lease somebody waits
// for in order to push.
const channelPush = "iasql_push"

const askToPush = `SELECT pg_notify('` + channelPush + `', $1)`

// Wait returns when the settings may have changed, or when an engine seems to
// wait for an account's lease in order to push: then with the account's name.
// Anybody can send such a notification (manual, NOTIFY), so that it is only a
// reason to look. Its error is that of the connection, or ctx's.
func (p *Presence) Wait(ctx context.Context) (account string, err error) {
	n, err := p.conn.WaitForNotification(ctx)
	if err == nil && n.Channel == channelPush {
		account = n.Payload
	}
	return account, err
}

// ShowLife says, every few seconds until ctx ends, that an engine runs, and which of its cycles do not get on (R31).
func (d *Database) ShowLife(ctx context.Context, id string, stuck func() string) {
	d.beat(ctx, "could not show that the engine runs", func(ctx context.Context) error {
		_, err := d.Pool.Exec(ctx, `UPDATE iasql_internal.engine SET beat = clock_timestamp(), stuck = nullif($2, '') WHERE id = $1`, id, stuck())
		return err
	})
}

// Close ends the presence.
func (p *Presence) Close() { _ = p.conn.Close(context.Background()) }
