package platform

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
)

// lockMigrate keeps engines that start together from migrating together.
const lockMigrate = 1229017939

// lockPause is how often the lock is tried.
const lockPause = 100 * time.Millisecond

// lockMigrations waits until nobody else migrates the database, and keeps it so
// while conn is open.
//
// Anybody who may connect may take an advisory lock (manual, section 13.3.5). One
// that only outsiders hold is reported, with their names, and passed by. Two
// migrations still exclude each other then, by [lockInstallation].
func lockMigrations(ctx context.Context, conn *pgx.Conn) error {
	for {
		var taken bool
		if err := conn.QueryRow(ctx, `SELECT pg_try_advisory_lock($1)`, lockMigrate).Scan(&taken); err != nil || taken {
			return err
		}
		outsiders, trusted, err := lockHolders(ctx, conn)
		if err != nil {
			return err
		}
		if len(outsiders) > 0 && !trusted {
			for _, o := range outsiders {
				slog.Warn("somebody who is no engine holds the lock of migrations; going on without it", "user", o.user,
					"pid", o.pid, "to end it", fmt.Sprintf("SELECT pg_terminate_backend(%d)", o.pid))
			}
			return nil
		}
		select {
		case <-time.After(lockPause):
		case <-ctx.Done():
			return fmt.Errorf("wait for another migration of this database to end: %w", context.Cause(ctx))
		}
	}
}

type lockHolder struct {
	user string
	pid  int32
}

// lockHolders returns who holds the lock of migrations without being an
// administrator or an engine, and whether anybody holds it who is.
func lockHolders(ctx context.Context, conn *pgx.Conn) (outsiders []lockHolder, trusted bool, err error) {
	rows, err := conn.Query(ctx, `
		SELECT l.pid, coalesce(a.usename, ''), coalesce(r.rolsuper OR r.rolcreaterole
			OR EXISTS (SELECT FROM pg_roles e WHERE e.rolname = 'iasql_engine' AND pg_has_role(r.oid, e.oid, 'MEMBER')), true)
		FROM pg_locks l LEFT JOIN pg_stat_activity a ON a.pid = l.pid LEFT JOIN pg_roles r ON r.oid = a.usesysid
		WHERE l.locktype = 'advisory' AND l.granted AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
			AND l.classid = 0 AND l.objid = $1::bigint::oid AND l.objsubid = 1`, int64(lockMigrate))
	if err != nil {
		return nil, false, err
	}
	var holder lockHolder
	var good bool
	_, err = pgx.ForEachRow(rows, []any{&holder.pid, &holder.user, &good}, func() error {
		if good {
			trusted = true
		} else {
			outsiders = append(outsiders, holder)
		}
		return nil
	})
	return outsiders, trusted, err
}

// lockInstallation begins a transaction on conn that keeps other migrations out
// until it ends, by a lock on a table that only the engine's role has rights on.
// The mode is the weakest that conflicts with itself (manual, section 13.3.1), so
// that what migrations and engines do is not in its way. A migration may not
// ALTER that table. It does nothing in a database that has no tables yet.
func lockInstallation(ctx context.Context, conn *pgx.Conn) error {
	var exists bool
	if err := conn.QueryRow(ctx, `SELECT to_regclass('iasql_internal.installation') IS NOT NULL`).Scan(&exists); err != nil || !exists {
		return err
	}
	_, err := conn.Exec(ctx, `
		BEGIN;
		SET LOCAL idle_in_transaction_session_timeout = 0;
		SET LOCAL ROLE iasql_engine;
		LOCK TABLE iasql_internal.installation IN SHARE UPDATE EXCLUSIVE MODE`)
	if err != nil {
		return fmt.Errorf("keep other migrations out: %w", err)
	}
	return nil
}
