package platform

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// The loopback is the connection that the database opens to itself, for what has
// to be seen by others while the caller's transaction is still open (see
// sql/internal/elsewhere.sql). Its role may submit requests and nothing else.

// loopbackAddress is where a server finds itself: the address of the session that
// asks. The directory of its socket is not for everybody's eyes.
const loopbackAddress = `
	SELECT coalesce(host(inet_server_addr()),
			CASE WHEN pg_has_role(current_user, 'pg_read_all_settings', 'USAGE') THEN btrim(split_part(current_setting('unix_socket_directories'), ',', 1)) END,
			(SELECT l.host FROM iasql_internal.loopback l), 'localhost') AS host,
		coalesce(inet_server_port()::text, current_setting('port')) AS port,
		d.datname::text AS dbname, d.oid AS database, 'iasql_loopback_' || d.oid AS role
	FROM pg_database d WHERE d.datname = current_database()`

// hasOwnLoopback tells whether the loopback role of this very database is there.
func hasOwnLoopback(ctx context.Context, conn *pgx.Conn) (own bool, err error) {
	err = conn.QueryRow(ctx, `
		SELECT EXISTS (SELECT FROM iasql_internal.loopback l JOIN pg_database d ON d.oid = l.database JOIN pg_roles r ON r.rolname = l.role
			WHERE d.datname = current_database() AND r.rolcanlogin)`).Scan(&own)
	if err != nil {
		return false, fmt.Errorf("look up the loopback role: %w", err)
	}
	return own, nil
}

// loopback makes the loopback role of this database, or gives it the password
// that is on record. The server itself thinks the password up, and is told the
// verifier: no statement's text has it.
func (b *bootstrapper) loopback(ctx context.Context, tx pgx.Tx) error {
	var role, password string
	var exists bool
	// The address as the administrator sees it; what follows as the table's owner.
	if err := tx.QueryRow(ctx, `SELECT set_config('iasql.address', coalesce(host(inet_server_addr()),
		CASE WHEN pg_has_role(current_user, 'pg_read_all_settings', 'USAGE') THEN btrim(split_part(current_setting('unix_socket_directories'), ',', 1)) END, ''), true)`).Scan(nil); err != nil {
		return fmt.Errorf("look up the server's address: %w", err)
	}
	if _, err := tx.Exec(ctx, `SET LOCAL ROLE iasql_engine`); err != nil {
		return err
	}
	err := tx.QueryRow(ctx, `
		INSERT INTO iasql_internal.loopback AS l (host, port, dbname, database, role, password)
		SELECT coalesce(nullif(current_setting('iasql.address'), ''), a.host), a.port, a.dbname, a.database, a.role,
			replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', '')
		FROM (`+loopbackAddress+`) a
		ON CONFLICT (one) DO UPDATE SET host = excluded.host, port = excluded.port, dbname = excluded.dbname, database = excluded.database, role = excluded.role,
			password = CASE WHEN l.database = excluded.database AND EXISTS (SELECT FROM pg_roles r WHERE r.rolname = excluded.role) THEN l.password ELSE excluded.password END
		RETURNING l.role, l.password, EXISTS (SELECT FROM pg_roles r WHERE r.rolname = l.role)`).Scan(&role,
		&password, &exists)
	if err != nil {
		return fmt.Errorf("record the loopback role: %w", err)
	}
	if _, err := tx.Exec(ctx, `RESET ROLE`); err != nil {
		return err
	}
	verifier, err := scramVerifier(password)
	if err != nil {
		return err
	}
	verb := "CREATE"
	if exists {
		verb = "ALTER"
	}
	err = try(ctx, tx, fmt.Sprintf(`%s ROLE %s LOGIN PASSWORD %s CONNECTION LIMIT 100`, verb, role, literal(verifier)))
	switch {
	case exists && refused(err):
		// From version 16 on only who made a role, or a superuser, may. What is on
		// record may be right; Migrate tries.
		b.warn("the password of the loopback role could not be set anew", "role", role, "error", err)
	case err != nil:
		return fmt.Errorf("make the role of the loopback connection: %w", err)
	}
	if _, err := tx.Exec(ctx, fmt.Sprintf(`GRANT CONNECT ON DATABASE %s TO %s`,
		pgx.Identifier{b.conn.Config().Database}.Sanitize(), role)); err != nil {
		return fmt.Errorf("let the loopback role connect: %w", err)
	}
	// What an earlier version made the connection of (manual, dblink_connect).
	if err := try(ctx, tx, `DO $$ BEGIN
		IF EXISTS (SELECT FROM pg_foreign_data_wrapper w, aclexplode(w.fdwacl) a WHERE w.fdwname = 'dblink_fdw' AND a.grantee = 'iasql_engine'::regrole) THEN
			DROP SERVER IF EXISTS iasql_loopback CASCADE;
			REVOKE USAGE ON FOREIGN DATA WRAPPER dblink_fdw FROM iasql_engine;
		END IF;
	END $$`); err != nil {
		b.warn("the foreign server of an earlier version could not be removed", "server", "iasql_loopback",
			"error", err)
	}
	return nil
}

// allowLoopback lets the loopback role do its work, and nothing else, removes
// what earlier versions made the connection of, and tries the connection: whether
// pg_hba.conf lets it in is known to the server alone.
func allowLoopback(ctx context.Context, pool *pgxpool.Pool) error {
	var role string
	if err := pool.QueryRow(ctx, `SELECT role FROM iasql_internal.loopback`).Scan(&role); err != nil {
		return fmt.Errorf("look up the loopback role: %w", err)
	}
	if _, err := pool.Exec(ctx, fmt.Sprintf(`
		GRANT USAGE ON SCHEMA iasql_internal TO %[1]s;
		GRANT EXECUTE ON FUNCTION iasql_internal.submit(text, jsonb, text) TO %[1]s;
		DROP SERVER IF EXISTS iasql_loopback CASCADE;`, pgx.Identifier{role}.Sanitize())); err != nil {
		return fmt.Errorf("let the loopback connection submit requests: %w", err)
	}
	if err := EnsureLoopback(ctx, pool); err != nil {
		return err
	}
	if _, err := pool.Exec(ctx, `SELECT iasql_internal.elsewhere('SELECT 1')`); err != nil {
		var pg *pgconn.PgError
		if !errors.As(err, &pg) || pg.Code != "IA014" {
			return fmt.Errorf("try the connection of the database to itself: %w", err)
		}
		slog.Warn("iasql_install, iasql_sync_now and the like will not work: "+pg.Message, "detail", pg.Detail,
			"hint", pg.Hint)
	}
	return nil
}

// EnsureLoopback points the loopback connection at this database, which may have
// moved or been copied. It changes no role.
func EnsureLoopback(ctx context.Context, pool *pgxpool.Pool) error {
	var exists bool
	if err := pool.QueryRow(ctx, `SELECT to_regclass('iasql_internal.loopback') IS NOT NULL`).Scan(&exists); err != nil {
		return err
	}
	if exists {
		if err := pool.QueryRow(ctx, `SELECT EXISTS (SELECT FROM iasql_internal.loopback l JOIN pg_roles r ON r.rolname = l.role)`).Scan(&exists); err != nil {
			return err
		}
	}
	if !exists {
		return fmt.Errorf("the database has not been migrated: run engine migrate, or %s",
			setupCommand(pool.Config().ConnConfig))
	}
	if _, err := pool.Exec(ctx, `
		UPDATE iasql_internal.loopback l SET host = a.host, port = a.port, dbname = a.dbname
		FROM (`+loopbackAddress+`) a WHERE (l.host, l.port, l.dbname) IS DISTINCT FROM (a.host, a.port, a.dbname)`); err != nil {
		return fmt.Errorf("point the loopback connection at this database: %w", err)
	}
	return nil
}
