package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"iasql/internal/sync"
)

// Keys of this system's advisory locks, first halves; "IASQ" and its
// successor. The second half is 1 for the lock every engine shares, and the
// hash of the account's name for its lease.
const (
	lockEngine = 1229017937
	lockLease  = 1229017938
)

// Lease is a held lease: an advisory lock, which the server releases when the
// holder's connection ends, and a fence, which keeps a holder that does not
// know of that from writing (R15).
type Lease struct {
	sync.Lease
	conn *pgxpool.Conn
}

// CycleOptions say what the lease is for.
type CycleOptions struct {
	Kind     string // of the cycle, as iasql_cycles shows it
	Batch    int64  // the batch being committed, 0 for none
	Reviewed bool   // see [sync.Lease]
	Waited   bool   // a user waits for its end: it does all there is to do
}

// ErrNoAccount is returned by Acquire for an account that does not exist (any
// more).
var ErrNoAccount = errors.New("no such account")

// Acquire takes the lease of an account for one cycle; it waits while another
// cycle of the account runs, in this engine or another.
func (d *Database) Acquire(ctx context.Context, account, engine string, options CycleOptions) (*Lease, error) {
	conn, err := d.Pool.Acquire(ctx)
	if err != nil {
		return nil, fmt.Errorf("connect for a lease: %w", err)
	}
	l := &Lease{Lease: sync.Lease{Account: account, Batch: options.Batch, Reviewed: options.Reviewed}, conn: conn}
	err = d.startClock(ctx, conn, account)
	if err == nil {
		err = lock(ctx, conn, account, options)
	}
	if err != nil {
		_ = conn.Conn().Close(context.WithoutCancel(ctx)) // whether the lock was got is not known
		conn.Release()
		return nil, fmt.Errorf("lease %s: %w", account, err)
	}
	err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		var elapsed float64
		if err := tx.QueryRow(ctx, `
			INSERT INTO iasql_internal.lease (account, fence, engine, elapsed) VALUES ($1, 1, $2, $3)
			ON CONFLICT (account) DO UPDATE SET fence = lease.fence + 1, engine = excluded.engine, since = now(),
				elapsed = greatest(lease.elapsed, excluded.elapsed, (SELECT max(o.elapsed) FROM public.iasql_operations o WHERE o.account = lease.account))
			RETURNING fence, elapsed`, account, engine, d.clocks.now(account)).Scan(&l.Fence, &elapsed); err != nil {
			return err
		}
		d.clocks.seen(account, elapsed)
		// What died with an earlier engine says so.
		if _, err := tx.Exec(ctx, `
			UPDATE public.iasql_cycles SET ended = clock_timestamp(), message = 'the engine ended before the cycle did'
			WHERE account = $1 AND ended IS NULL`, account); err != nil {
			return err
		}
		return tx.QueryRow(ctx, `INSERT INTO public.iasql_cycles (account, kind, engine) VALUES ($1, $2, $3) RETURNING id`,
			account, options.Kind, engine).Scan(&l.Cycle)
	})
	if err != nil {
		l.unlock()
		var pg *pgconn.PgError
		if errors.As(err, &pg) && pg.Code == "23503" {
			return nil, ErrNoAccount
		}
		return nil, fmt.Errorf("lease %s: %w", account, err)
	}
	return l, nil
}

// startClock has the account's time go on in this process from its first cycle of
// the account, while that still waits for another's end.
func (d *Database) startClock(ctx context.Context, conn *pgxpool.Conn, account string) error {
	if d.clocks.now(account) > 0 {
		return nil
	}
	var elapsed float64
	if err := conn.QueryRow(ctx, `SELECT coalesce(max(elapsed), 0) FROM iasql_internal.lease WHERE account = $1`, account).Scan(&elapsed); err != nil {
		return err
	}
	d.clocks.seen(account, elapsed)
	return nil
}

// lock takes the account's lock. Who wants to push says so while it waits, to
// the cycle that is running, wherever that is: it may see to it between two pages
// of its listing.
func lock(ctx context.Context, conn *pgxpool.Conn, account string, options CycleOptions) error {
	if options.Kind == string(sync.Push) {
		var taken bool
		if err := conn.QueryRow(ctx, `SELECT pg_try_advisory_lock($1, hashtext($2))`, lockLease, account).Scan(&taken); err != nil || taken {
			return err
		}
		if _, err := conn.Exec(ctx, askToPush, account); err != nil {
			return err
		}
	}
	_, err := conn.Exec(ctx, `SELECT pg_advisory_lock($1, hashtext($2))`, lockLease, account)
	return err
}

// AskToPush asks the cycle that holds an account's lease, in whatever engine, to
// push between two pages of its listing.
func (d *Database) AskToPush(ctx context.Context, account string) error {
	_, err := d.Pool.Exec(ctx, askToPush, account)
	return err
}

// Release ends the cycle's row with what it did, and gives the lease back.
func (l *Lease) Release(report sync.Report, failure error) error {
	defer l.unlock()
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
	// the disk here, as nothing depends on the row.
	_, err := l.conn.Exec(ctx, `
		WITH hurry AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true)
		), told AS (
			INSERT INTO iasql_internal.cycle_details (cycle_id, details) SELECT $1, $7::jsonb WHERE $7::jsonb IS NOT NULL
		)
		UPDATE public.iasql_cycles SET ended = clock_timestamp(), reads = $2, pushes = $3, pulls = $4, errors = $5, message = nullif($6, ''), calls = $8
		FROM hurry WHERE id = $1`, l.Cycle, report.Listed+report.Read, report.Pushed, report.Pulled, report.Failed, message, details, report.Calls)
	if err != nil {
		return fmt.Errorf("end cycle %d: %w", l.Cycle, err)
	}
	return nil
}

// unlock releases the advisory lock, by closing the connection if need be.
func (l *Lease) unlock() {
	ctx := context.Background()
	if _, err := l.conn.Exec(ctx, `SELECT pg_advisory_unlock($1, hashtext($2))`, lockLease, l.Account); err != nil {
		_ = l.conn.Conn().Close(ctx) // the server then releases it
	}
	l.conn.Release()
}

// Presence announces a connected engine: it holds the lock that
// iasql_engines() looks for.
type Presence struct {
	conn *pgx.Conn
}

// Announce connects an engine's presence. Its connection should live as long
// as the engine; Wait tells when it breaks.
func Announce(ctx context.Context, pool *pgxpool.Pool, id, version, host string) (*Presence, error) {
	conn, err := pgx.ConnectConfig(ctx, pool.Config().ConnConfig)
	if err != nil {
		return nil, fmt.Errorf("announce the engine: %w", err)
	}
	if _, err := conn.Exec(ctx, engineSettings); err != nil {
		_ = conn.Close(ctx)
		return nil, fmt.Errorf("announce the engine: %w", err)
	}
	_, err = conn.Exec(ctx, fmt.Sprintf(`LISTEN iasql_settings; LISTEN `+channelPush+`; SELECT pg_advisory_lock_shared(%d, 1)`, lockEngine))
	if err == nil {
		_, err = conn.Exec(ctx, `
			INSERT INTO iasql_internal.engine (id, pid, version, host) VALUES ($1, pg_backend_pid(), $2, $3)
			ON CONFLICT (id) DO UPDATE SET pid = excluded.pid, version = excluded.version, started_at = now()`, id, version, host)
	}
	if err == nil {
		_, err = conn.Exec(ctx, `DELETE FROM iasql_internal.engine WHERE started_at < now() - interval '1 day'
			AND pid NOT IN (SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND classid = $1::bigint::oid AND objid = 1)`, int64(lockEngine))
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

// Wait returns when the settings have changed, or when an engine waits for an
// account's lease in order to push: then with the account's name. Its error is
// that of the connection, or ctx's.
func (p *Presence) Wait(ctx context.Context) (account string, err error) {
	n, err := p.conn.WaitForNotification(ctx)
	if err == nil && n.Channel == channelPush {
		account = n.Payload
	}
	return account, err
}

// Close ends the presence.
func (p *Presence) Close() { _ = p.conn.Close(context.Background()) }
