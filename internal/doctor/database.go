package doctor

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"iasql/internal/platform"
	"iasql/internal/postgres"
)

// database is the examined one. Its methods do nothing where there is none.
type database struct {
	conn     *pgx.Conn
	settings map[string]string // of the server, those that the login may see
	values   gathered
}

// connectTimeout bounds connecting: a firewall that says nothing takes minutes.
const connectTimeout = 15 * time.Second

// examineDatabase looks at the database's side.
func (d *doctor) examineDatabase(ctx context.Context) {
	if d.DatabaseURL == "" {
		d.skip("no --database-url was given, or something else is examined alone", "database.connection")
		return
	}
	d.Progress("looking at the database")
	db, err := openDatabase(ctx, d.DatabaseURL)
	if err != nil {
		d.report.add(Check{ID: "database.connection", Status: Failure, Message: connectionSaid(err),
			Advice: connectionAdvice(err)})
		return
	}
	d.database = db
	d.report.Database = &Database{Server: db.settings["server_version"]}
	d.report.add(Check{ID: "database.connection", Status: OK, Message: "connected"})
	for _, check := range []struct {
		id   string
		look func(context.Context) (Check, error)
	}{
		{"database.server", db.server},
		{"database.login", db.login},
		{"database.extensions", db.extensions},
		{"database.collation", db.collation},
		{"database.prepared", db.prepared},
		{"database.version", d.version},
		{"database.loopback", db.loopback},
		{"database.pg_cron", d.pgCron},
		{"database.pg_hba", db.hba},
		{"database.connections", d.connections},
		{"database.durability", db.durability},
		{"database.timeouts", db.timeouts},
		{"database.settings", d.iasqlSettings},
		{"database.clock", db.clock},
	} {
		found, err := check.look(ctx)
		if err != nil {
			found = Check{Status: Skipped, Message: "cannot be looked at: " + maskText(err.Error())}
		}
		found.ID = check.id
		d.report.add(found)
	}
}

// openDatabase opens a session that can change nothing.
func openDatabase(ctx context.Context, url string) (*database, error) {
	limited, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	conn, err := postgres.Open(limited, url)
	if err != nil {
		return nil, err
	}
	db := &database{conn: conn, settings: map[string]string{}}
	// pg_settings leaves out what the login may not see (manual, section 54.24).
	rows, err := conn.Query(limited, `SELECT name, coalesce(setting, '') FROM pg_settings`)
	if err == nil {
		var name, value string
		_, err = pgx.ForEachRow(rows, []any{&name, &value}, func() error {
			db.settings[name] = value
			return nil
		})
	}
	if err == nil {
		_, err = conn.Exec(limited, `SET default_transaction_read_only = on; SET statement_timeout = '20s'; SET lock_timeout = '5s'; SET TimeZone = 'UTC'`)
	}
	if err != nil {
		_ = conn.Close(context.WithoutCancel(ctx))
		return nil, err
	}
	return db, nil
}

func (db *database) close(ctx context.Context) {
	if db != nil {
		_ = db.conn.Close(context.WithoutCancel(ctx))
	}
}

// connectionSaid says why there is no connection, without the login's name and the
// server's address, which the message of the driver has.
func connectionSaid(err error) string {
	var pg *pgconn.PgError
	switch {
	case errors.As(err, &pg) && pg.Code == "3D000":
		return "there is no such database (3D000)"
	case errors.As(err, &pg) && (pg.Code == pgerrcode.InvalidPassword ||
		pg.Code == pgerrcode.InvalidAuthorizationSpecification):
		return "the server refuses the login (" + pg.Code + ")"
	case errors.As(err, &pg):
		return "the server refuses the connection (" + pg.Code + "): " + maskText(pg.Message)
	case errors.Is(err, context.DeadlineExceeded):
		return "the server does not answer within " + connectTimeout.String()
	case strings.Contains(err.Error(), "x509: "):
		return "the server's certificate cannot be trusted"
	case strings.Contains(err.Error(), "cannot parse"):
		return "--database-url is not a URL of a database"
	}
	return "the server cannot be reached"
}

func connectionAdvice(err error) string {
	var pg *pgconn.PgError
	switch {
	case errors.As(err, &pg) && pg.Code == "3D000":
		return "create it (CREATE DATABASE), then run engine migrate --admin-url"
	case errors.As(err, &pg) && (pg.Code == pgerrcode.InvalidPassword ||
		pg.Code == pgerrcode.InvalidAuthorizationSpecification):
		return "check user and password in DATABASE_URL, sslmode, and pg_hba.conf; engine migrate --admin-url makes " +
			"the login"
	case errors.As(err, &pg) && pg.Code == pgerrcode.InsufficientPrivilege:
		return "let the login connect: GRANT CONNECT ON DATABASE … TO …, or run engine migrate --admin-url"
	case errors.As(err, &pg) && pg.Code == pgerrcode.TooManyConnections:
		return "the server has no connection left: raise max_connections, or end sessions"
	}
	return "is the server running, and are host, port and sslmode in DATABASE_URL right?"
}

// server judges the server's version, and whether it can be written to.
func (db *database) server(context.Context) (Check, error) {
	number, err := strconv.Atoi(db.settings["server_version_num"])
	if err != nil {
		return Check{}, fmt.Errorf("server_version_num: %w", err)
	}
	check := Check{Status: OK, Message: "PostgreSQL " + db.settings["server_version"]}
	switch {
	case number < 150000:
		check.Status, check.Advice = Failure, "use PostgreSQL 15 or newer"
	case db.settings["in_hot_standby"] == "on":
		check.Status, check.Message, check.Advice = Failure, check.Message+", a standby that cannot be written to",
			"name the primary in DATABASE_URL"
	case db.settings["default_transaction_read_only"] == "on":
		check.Status, check.Message, check.Advice = Failure, check.Message+", in which transactions are read-only",
			"set default_transaction_read_only to off for the login and the database"
	}
	return check, nil
}

// prepare is what an administrator runs. The report does not say where.
const prepare = "engine migrate --admin-url URL (an administrator's URL of this database)"

// login judges the rights of the engine's login, as engine serve does.
func (db *database) login(ctx context.Context) (Check, error) {
	l, err := platform.LookAtLogin(ctx, db.conn)
	if err != nil {
		return Check{}, err
	}
	switch {
	case len(l.Powers) > 0:
		return Check{Status: Failure, Message: "an engine must not use this login: it has " +
			strings.Join(l.Powers, ", "),
			Advice: "name a plain login in DATABASE_URL: " + prepare + " makes it"}, nil
	case !l.Installed:
		return Check{Status: Failure, Message: "the server has no role " + postgres.EngineRole,
			Advice: "run " + prepare}, nil
	case !l.Member:
		return Check{Status: Failure, Message: "the login is no member of role " + postgres.EngineRole,
			Advice: "run " + prepare}, nil
	}
	return Check{Status: OK, Message: "a plain member of " + postgres.EngineRole}, nil
}

// extensions looks for what the functions need.
func (db *database) extensions(ctx context.Context) (Check, error) {
	var missing, unavailable, installed, old []string
	err := db.conn.QueryRow(ctx, `
		SELECT coalesce(array_agg(x.name ORDER BY x.name) FILTER (WHERE e.oid IS NULL AND a.name IS NOT NULL), '{}'),
			coalesce(array_agg(x.name ORDER BY x.name) FILTER (WHERE e.oid IS NULL AND a.name IS NULL), '{}'),
			coalesce(array_agg(x.name || ' ' || e.extversion ORDER BY x.name) FILTER (WHERE e.oid IS NOT NULL), '{}'),
			(SELECT coalesce(array_agg(format('%I', e.extname) ORDER BY e.extname), '{}')
			 FROM pg_extension e JOIN pg_available_extensions a ON a.name = e.extname
			 WHERE e.extname IN ('dblink', 'fuzzystrmatch', 'pg_cron') AND a.default_version <> e.extversion)
		FROM (VALUES ('dblink'), ('fuzzystrmatch')) x (name)
		LEFT JOIN pg_extension e ON e.extname = x.name LEFT JOIN pg_available_extensions a ON a.name = x.name`).Scan(
		&missing, &unavailable, &installed, &old)
	switch {
	case err != nil:
		return Check{}, err
	case len(unavailable) > 0:
		return Check{Status: Failure, Message: "the server does not have " + strings.Join(unavailable, " and "),
			Advice: "install PostgreSQL's additional modules on the server (package postgresql-contrib), or allow " +
				"the extensions in the provider's settings"}, nil
	case len(missing) > 0:
		return Check{Status: Failure, Message: "not in this database: " + strings.Join(missing, " and "),
			Advice: "run " + prepare}, nil
	}
	if len(old) > 0 {
		return Check{Status: Warning, Message: "the server has a newer version of " + strings.Join(old, " and ") +
			" than this database",
			Advice: "as an administrator: ALTER EXTENSION " + strings.Join(old, " UPDATE; ALTER EXTENSION ") +
				" UPDATE"}, nil
	}
	return Check{Status: OK, Message: strings.Join(installed, ", ")}, nil
}

// collation looks whether the order of texts is still the one that the indexes have: after pg_upgrade, or with a new
// operating system below the server, a library of another version may sort them.
func (db *database) collation(ctx context.Context) (Check, error) {
	var then, now string
	if err := db.conn.QueryRow(ctx, `SELECT coalesce(d.datcollversion, ''), coalesce(pg_database_collation_actual_version(d.oid), '')
		FROM pg_database d WHERE d.datname = current_database()`).Scan(&then, &now); err != nil {
		return Check{}, err
	}
	if then != "" && then != now {
		return Check{Status: Warning, Message: fmt.Sprintf("texts were sorted by version %s of the database's "+
			"collation, and the server has %s: an index may not find what is there", then, now),
			Advice: "as an administrator, with the engines stopped: REINDEX DATABASE, then ALTER DATABASE … REFRESH " +
				"COLLATION VERSION"}, nil
	}
	return Check{Status: OK, Message: "texts are sorted as they were when the indexes were made"}, nil
}

// prepared lists what an administrator has still to make: roles, schemas, grants.
func (db *database) prepared(ctx context.Context) (Check, error) {
	missing, err := platform.Missing(ctx, db.conn)
	if err != nil {
		return Check{}, err
	}
	if len(missing) > 0 {
		return Check{Status: Failure, Message: "the database is not prepared", Details: missing,
			Advice: "run " + prepare}, nil
	}
	return Check{Status: OK, Message: "roles, schemas and grants are there"}, nil
}

// version compares the database with this engine.
func (d *doctor) version(ctx context.Context) (Check, error) {
	state, err := platform.LookAtState(ctx, d.database.conn, d.Registry)
	if err != nil {
		return Check{}, err
	}
	d.report.Database.Migrated = state.Version
	switch {
	case !state.Migrated:
		return Check{Status: Failure, Message: "the database has not been migrated", Advice: "run engine migrate"}, nil
	case len(state.Newer) > 0:
		return Check{Status: Failure, Message: "a newer engine has migrated the database: " + state.Version,
			Details: state.Newer, Advice: "use that engine, or a newer one"}, nil
	case len(state.Pending) > 0:
		return Check{Status: Warning, Message: fmt.Sprintf("the database is of engine %s, and lacks %s", state.Version,
			count(len(state.Pending), "step")),
			Details: state.Pending, Advice: "run engine migrate, or let engine serve do it"}, nil
	}
	return Check{Status: OK, Message: "migrated by engine " + state.Version + ", nothing is left to do"}, nil
}

// loopback tries the connection that the database opens to itself.
func (db *database) loopback(ctx context.Context) (Check, error) {
	var there bool
	if err := db.conn.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
		WHERE n.nspname = 'iasql_internal' AND p.proname = 'elsewhere')`).Scan(&there); err != nil || !there {
		return Check{Status: Skipped, Message: "the database has not been migrated"}, err
	}
	_, err := db.conn.Exec(ctx, `SELECT iasql_internal.elsewhere('SELECT 1')`)
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.Code == "IA014" {
		return Check{Status: Failure, Message: "the database cannot open a connection to itself, which iasql_install " +
			"and iasql_sync_now need",
			Advice: "let the role iasql_loopback_<oid> log in with its password from the server itself " +
				"(scram-sha-256 in pg_hba.conf, not trust), then run engine migrate"}, nil
	}
	if err != nil {
		return Check{}, err
	}
	return Check{Status: OK, Message: "the database can open a connection to itself"}, nil
}

// durability looks for settings by which the server may lose what it has
// committed: the intent log is committed before a call is made, and must survive a
// crash that the call survives.
func (db *database) durability(context.Context) (Check, error) {
	check := Check{Status: OK, Message: "what is committed survives a crash of the server"}
	for _, name := range []string{"fsync", "synchronous_commit", "full_page_writes"} {
		if db.settings[name] == "off" {
			check.Details = append(check.Details, name+" is off")
		}
	}
	if len(check.Details) > 0 {
		check.Status, check.Message = Warning,
			"a crash of the server may lose what was committed, and so a call to AWS be made twice or forgotten"
		check.Advice = "turn these settings on"
	}
	return check, nil
}

// timeouts looks for limits on the login's sessions that a cycle may run into, in
// milliseconds.
func (db *database) timeouts(context.Context) (Check, error) {
	const least = 60_000
	check := Check{Status: OK, Message: "no limit that an engine would run into"}
	for _, name := range []string{"statement_timeout", "transaction_timeout", "idle_session_timeout"} {
		if ms, err := strconv.Atoi(db.settings[name]); err == nil && ms > 0 && ms < least {
			check.Details = append(check.Details, fmt.Sprintf("%s is %s", name, time.Duration(ms)*time.Millisecond))
		}
	}
	if len(check.Details) > 0 {
		check.Status, check.Message = Warning, "sessions of the login are cut off early"
		check.Advice = "take the limits off the login: ALTER ROLE … SET … = 0"
	}
	return check, nil
}

// clock compares the database's clock with this machine's.
func (db *database) clock(ctx context.Context) (Check, error) {
	var there time.Time
	before := time.Now()
	if err := db.conn.QueryRow(ctx, `SELECT clock_timestamp()`).Scan(&there); err != nil {
		return Check{}, err
	}
	after := time.Now()
	return judgeDatabaseClock(there.Sub(before.Add(after.Sub(before) / 2))), nil
}

// judgeDatabaseClock judges how far the database's clock is ahead of this one.
func judgeDatabaseClock(ahead time.Duration) Check {
	if ahead.Abs() <= someSkew {
		return Check{Status: OK, Message: fmt.Sprintf("agrees with this machine's to %.0f s",
			max(ahead.Abs().Seconds(), 1))}
	}
	way := "ahead of"
	if ahead < 0 {
		way = "behind"
	}
	return Check{Status: Warning, Message: fmt.Sprintf("the database's clock is %s %s this machine's",
		ahead.Abs().Round(time.Second), way), Advice: "set both clocks by NTP"}
}
