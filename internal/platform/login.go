package platform

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"iasql/internal/postgres"
)

// CheckLogin refuses a login role that an engine must not work with: one that is,
// or can become, a superuser or a role with CREATEROLE or BYPASSRLS, or that is
// no member of iasql_engine. An engine runs triggers that users have put on
// tables of their own; what these could reach is what its login can.
func CheckLogin(ctx context.Context, url string) error {
	conn, err := postgres.Open(ctx, url)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	l, err := readLogin(ctx, conn)
	if err != nil {
		return err
	}
	return l.check(conn.Config())
}

// login is what the catalog says of the role that a session logged in with.
type login struct {
	name      string
	super     bool
	powers    []string // SUPERUSER, CREATEROLE, BYPASSRLS, and roles it can become that have them
	engine    bool     // there is a role iasql_engine, and it is a member
	installed bool     // there is a role iasql_engine
}

func readLogin(ctx context.Context, conn *pgx.Conn) (login, error) {
	var l login
	err := conn.QueryRow(ctx, `
		SELECT me.rolname, me.rolsuper,
			ARRAY(
				SELECT v.power || CASE WHEN r.oid = me.oid THEN '' ELSE ' by role ' || r.rolname END
				FROM pg_roles r, LATERAL (VALUES ('SUPERUSER', r.rolsuper), ('CREATEROLE', r.rolcreaterole), ('BYPASSRLS', r.rolbypassrls)) v (power, has)
				WHERE v.has AND (r.oid = me.oid OR NOT me.rolsuper AND pg_has_role(me.oid, r.oid, 'MEMBER'))
				ORDER BY r.oid <> me.oid, r.rolname, v.power),
			EXISTS (SELECT FROM pg_roles e WHERE e.rolname = 'iasql_engine'),
			EXISTS (SELECT FROM pg_roles e WHERE e.rolname = 'iasql_engine' AND pg_has_role(me.oid, e.oid, 'MEMBER'))
		FROM pg_roles me WHERE me.rolname = session_user`).Scan(&l.name, &l.super, &l.powers, &l.installed, &l.engine)
	if err != nil {
		return login{}, fmt.Errorf("look up the login role: %w", err)
	}
	return l, nil
}

// check says what is wrong with the login of an engine.
func (l login) check(config *pgx.ConnConfig) error {
	switch {
	case len(l.powers) > 0:
		return fmt.Errorf("login %s must not be used by an engine: it has %s. Give DATABASE_URL a plain login, which "+
			"this makes: %s",
			l.name, strings.Join(l.powers, ", "), setupCommand(config))
	case !l.installed:
		return fmt.Errorf("the server has no role %s: run %s", postgres.EngineRole, setupCommand(config))
	case !l.engine:
		return fmt.Errorf("login %s is no member of role %s: run %s", l.name, postgres.EngineRole, setupCommand(config))
	}
	return nil
}

// setupCommand is what an administrator has to run, DATABASE_URL being set.
func setupCommand(config *pgx.ConnConfig) string {
	host := config.Host
	if strings.HasPrefix(host, "/") { // a directory of Unix sockets
		return fmt.Sprintf("engine migrate --admin-url 'postgres:///%s?host=%s&port=%d&user=ADMINISTRATOR'",
			config.Database, host, config.Port)
	}
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return fmt.Sprintf("engine migrate --admin-url 'postgres://ADMINISTRATOR:PASSWORD@%s:%d/%s'", host, config.Port,
		config.Database)
}

// ErrNotPrepared is returned by Migrate for a database in which something is
// missing that only an administrator can make.
var ErrNotPrepared = errors.New("the database is not prepared for the engine")

// prepared fails with [ErrNotPrepared], and with names, unless everything is there
// that [Bootstrap] makes. It needs no privileges.
func prepared(ctx context.Context, conn *pgx.Conn) error {
	missing, err := readMissing(ctx, conn)
	if err != nil {
		return err
	}
	if len(missing) == 0 {
		return nil
	}
	return fmt.Errorf("%w: missing: %s. Run %s", ErrNotPrepared, strings.Join(missing, "; "),
		setupCommand(conn.Config()))
}

// readMissing lists what of Bootstrap's work is not there.
func readMissing(ctx context.Context, conn *pgx.Conn) ([]string, error) {
	rows, err := conn.Query(ctx, `
		WITH engine AS (SELECT oid FROM pg_roles WHERE rolname = 'iasql_engine'),
		     here AS (SELECT oid FROM pg_database WHERE datname = current_database())
		SELECT 'role ' || r.name FROM (VALUES ('iasql_engine'), ('iasql_user'), ('iasql_reader')) r (name)
			WHERE NOT EXISTS (SELECT FROM pg_roles p WHERE p.rolname = r.name)
		UNION ALL
		SELECT 'membership of iasql_user in iasql_reader' FROM pg_roles u, pg_roles r
			WHERE u.rolname = 'iasql_user' AND r.rolname = 'iasql_reader' AND NOT pg_has_role(u.oid, r.oid, 'USAGE')
		UNION ALL
		SELECT 'schema ' || s.name || ' owned by iasql_engine' FROM (VALUES ('iasql_internal'), ('iasql_river')) s (name)
			WHERE NOT EXISTS (SELECT FROM pg_namespace n JOIN engine ON engine.oid = n.nspowner WHERE n.nspname = s.name)
		UNION ALL
		SELECT 'extension ' || x.name FROM (VALUES ('dblink'), ('fuzzystrmatch')) x (name)
			WHERE NOT EXISTS (SELECT FROM pg_extension e WHERE e.extname = x.name)
		UNION ALL
		SELECT 'USAGE on schema ' || n.nspname || ' for iasql_engine' FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace, engine
			WHERE e.extname IN ('dblink', 'fuzzystrmatch') AND NOT has_schema_privilege(engine.oid, n.oid, 'USAGE')
		UNION ALL
		SELECT 'EXECUTE on function ' || p.oid::regprocedure::text || ' for iasql_engine'
			FROM pg_extension e JOIN pg_proc p ON p.pronamespace = e.extnamespace AND p.proname = 'dblink' AND p.proargtypes::text = '25 25', engine
			WHERE e.extname = 'dblink' AND NOT has_function_privilege(engine.oid, p.oid, 'EXECUTE')
		UNION ALL
		SELECT 'CREATE and USAGE on schema public for iasql_engine' FROM engine, pg_namespace n
			WHERE n.nspname = 'public' AND NOT (has_schema_privilege(engine.oid, n.oid, 'CREATE') AND has_schema_privilege(engine.oid, n.oid, 'USAGE'))
		UNION ALL
		SELECT 'CONNECT on database ' || current_database() || ' for iasql_engine' FROM engine, here WHERE NOT has_database_privilege(engine.oid, here.oid, 'CONNECT')
		UNION ALL
		SELECT 'table iasql_internal.loopback' WHERE to_regclass('iasql_internal.loopback') IS NULL`)
	if err != nil {
		return nil, fmt.Errorf("look what is missing: %w", err)
	}
	missing, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("look what is missing: %w", err)
	}
	if len(missing) > 0 {
		return slices.Compact(missing), nil
	}
	own, err := hasOwnLoopback(ctx, conn)
	if err != nil {
		return nil, err
	}
	if !own {
		missing = append(missing, "the loopback role of this database, which may be a copy of another")
	}
	return missing, nil
}
