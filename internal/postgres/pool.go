package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// EngineRole owns everything of an installation; engines work as it.
const EngineRole = "iasql_engine"

// PinSearchPath begins every session of this product. From then on a name without
// a schema means one of PostgreSQL's own: nobody's table, function or operator in
// schema public comes in its place (manual, section 5.9.6 and CREATE FUNCTION,
// "Writing SECURITY DEFINER Functions Safely"). And a backslash in a string
// constant means itself, whatever the role or the database has as a default.
const PinSearchPath = `SET search_path = pg_catalog, pg_temp; SET standard_conforming_strings = on;`

// engineSettings are set on every connection of the engine. The role and the
// origin together are what tells its writes from a user's (R4); the time zone
// and styles make PostgreSQL print values in the form package modules reads.
// Keepalives let the server notice a dead engine host within 25 seconds, so
// that its lock is released (R15; manual, section 20.3.2).
//
// With row_security off a statement fails that FORCE ROW LEVEL SECURITY would hide
// records from, instead of taking them for gone (manual, section 20.11.1).
//
// Plans are made once for a connection, whatever the values: all statements are
// such that an index serves them, and to plan one would take longer than to run
// it for a few records. (Counting on values, the planner has also been seen to
// look at all records of an account for each creation.) Nor does any of them run
// long enough for compiling it to pay.
const engineSettings = PinSearchPath + `
	SET ROLE iasql_engine;
	SET row_security = off;
	SET iasql.origin = 'engine';
	SET TimeZone = 'UTC';
	SET DateStyle = 'ISO';
	SET IntervalStyle = 'postgres';
	SET extra_float_digits = 1;
	SET bytea_output = 'hex';
	SET plan_cache_mode = force_generic_plan;
	SET jit = off;
	SET idle_in_transaction_session_timeout = '60s';
	SET tcp_keepalives_idle = 10;
	SET tcp_keepalives_interval = 5;
	SET tcp_keepalives_count = 3;`

// cycleSettings are set on the connections of a running engine besides: whoever
// locks a table holds a statement up for so long, not for ever. (A migration
// waits: it has nothing else to do.)
const cycleSettings = `SET lock_timeout = '5s';`

// Open opens a session as the login role itself, with the search path pinned.
func Open(ctx context.Context, url string) (*pgx.Conn, error) {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	if _, err := conn.Exec(ctx, PinSearchPath); err != nil {
		_ = conn.Close(context.WithoutCancel(ctx))
		return nil, fmt.Errorf("prepare the connection: %w", err)
	}
	return conn, nil
}

// Connect opens a pool of engine connections to the database. The login role of
// url must be a member of iasql_engine.
func Connect(ctx context.Context, url string, maxConns int32) (*pgxpool.Pool, error) {
	return connect(ctx, url, maxConns, "", engineSettings)
}

// ConnectReadOnly opens a pool of connections in which nothing can be written, and no statement takes longer than
// limit.
func ConnectReadOnly(ctx context.Context, url string, limit time.Duration) (*pgxpool.Pool, error) {
	return connect(ctx, url, 2, "", engineSettings+fmt.Sprintf(`
		SET default_transaction_read_only = on;
		SET statement_timeout = %d;
		SET lock_timeout = '2s';`, limit.Milliseconds()))
}

// ConnectEngine opens the pool of a running engine: each of its connections has
// the engine's id in its application_name, by which others see that it is alive.
func ConnectEngine(ctx context.Context, url, engine string, maxConns int32) (*pgxpool.Pool, error) {
	return connect(ctx, url, maxConns, engine, engineSettings+cycleSettings)
}

// defaultName is the application_name where the database's URL gives none.
const defaultName = "iasql engine"

// sessionName returns the application_name of an engine's connections, which
// begins with what the URL asks for. PostgreSQL cuts it off after 63 bytes.
func sessionName(wanted, engine string) string {
	if wanted == "" {
		wanted = defaultName
	}
	if engine == "" || strings.Contains(wanted, engine) {
		return wanted
	}
	return strings.ToValidUTF8(wanted[:min(len(wanted), max(62-len(engine), 0))], "") + " " + engine
}

func connect(ctx context.Context, url string, maxConns int32, engine, settings string) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("database url: %w", err)
	}
	config.MaxConns = maxConns
	params := config.ConnConfig.RuntimeParams
	params["application_name"] = sessionName(params["application_name"], engine)
	config.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, settings)
		var pg *pgconn.PgError
		if errors.As(err, &pg) && pg.Code == pgerrcode.InsufficientPrivilege {
			return fmt.Errorf("login %[1]s may not work as role %[2]s: have an administrator run GRANT %[2]s TO "+
				"%[1]s: %[3]w", conn.Config().User, EngineRole, err)
		}
		if err != nil {
			return fmt.Errorf("prepare the connection (has the database been migrated? engine migrate): %w", err)
		}
		return nil
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	if err := pool.Ping(ctx); err != nil {
		pool.Close()
		return nil, fmt.Errorf("connect: %w", err)
	}
	return pool, nil
}
