package platform

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"iasql/internal/postgres"
	"iasql/sql"
)

// Bootstrap does, as the administrator of adminURL, what the engine's own login
// may not: it makes roles, schemas and extensions, the role of the loopback
// connection, and the login role of databaseURL unless that exists, which it
// makes a member of iasql_engine. It takes CONNECT on the database from PUBLIC.
//
// The administrator is a superuser; or, where the provider keeps that for
// himself, the owner of the database with CREATEROLE, and dblink is there already
// or may be created. Everything happens in one transaction, and may be repeated.
func Bootstrap(ctx context.Context, adminURL, databaseURL string) error {
	engine, err := pgx.ParseConfig(databaseURL)
	if err != nil {
		return fmt.Errorf("database url: %w", err)
	}
	conn, err := postgres.Open(ctx, adminURL)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if own := conn.Config().Database; own != engine.Database {
		return fmt.Errorf("--admin-url names database %s, --database-url %s: they must be the same", own,
			engine.Database)
	}
	if err := checkVersion(ctx, conn); err != nil {
		return err
	}
	if err := lockMigrations(ctx, conn); err != nil {
		return err
	}
	if err := refuseNewer(ctx, conn); err != nil {
		return err
	}
	return bootstrap(ctx, conn, engine)
}

// bootstrap prepares the database; engine is the login to prepare, nil for none.
func bootstrap(ctx context.Context, conn *pgx.Conn, engine *pgx.ConnConfig) error {
	for attempt := 0; ; attempt++ {
		b := &bootstrapper{conn: conn}
		err := pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error { return b.run(ctx, tx, engine) })
		if err != nil && attempt < 20 && othersDidTheSame(err) {
			continue
		}
		if err != nil {
			return fmt.Errorf("prepare database %s as %s: %w", conn.Config().Database, conn.Config().User, err)
		}
		for _, say := range b.report {
			say()
		}
		return nil
	}
}

// othersDidTheSame tells whether a transaction failed because another one made or
// granted the same at the same moment: roles are shared by all databases.
func othersDidTheSame(err error) bool {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return false
	}
	switch pg.Code {
	case pgerrcode.InternalError: // "tuple concurrently updated"
		return strings.Contains(pg.Message, "concurrently")
	case pgerrcode.DuplicateObject, pgerrcode.UniqueViolation, pgerrcode.DeadlockDetected,
		pgerrcode.SerializationFailure:
		return true
	case pgerrcode.UndefinedObject: // a role that was there when the logins were listed
		return strings.HasPrefix(pg.Message, "role ")
	}
	return false
}

// bootstrapper is one attempt; report is said once it is committed.
type bootstrapper struct {
	conn   *pgx.Conn
	report []func()
}

func (b *bootstrapper) warn(message string, args ...any) {
	b.report = append(b.report, func() { slog.Warn(message, args...) })
}

func (b *bootstrapper) info(message string, args ...any) {
	b.report = append(b.report, func() { slog.Info(message, args...) })
}

func (b *bootstrapper) run(ctx context.Context, tx pgx.Tx, engine *pgx.ConnConfig) error {
	var migrated bool
	if err := tx.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE n.nspname = 'iasql_internal' AND c.relname = 'installation')`).Scan(&migrated); err != nil {
		return err
	}
	var before []string
	if err := tx.QueryRow(ctx, `SELECT ARRAY(`+loginsThatConnect+`)`).Scan(&before); err != nil {
		return fmt.Errorf("list who may connect: %w", err)
	}
	text, err := sql.FS.ReadFile("bootstrap.sql")
	if err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, string(text)); err != nil {
		return fmt.Errorf("make roles and schemas (it takes a superuser, or the database's owner with CREATEROLE): %w",
			err)
	}
	for _, extension := range []string{"dblink", "fuzzystrmatch"} {
		if err := b.extension(ctx, tx, extension); err != nil {
			return err
		}
	}
	if err := b.cron(ctx, tx); err != nil {
		return err
	}
	if engine != nil {
		if err := b.login(ctx, tx, engine); err != nil {
			return err
		}
	}
	if err := b.loopback(ctx, tx); err != nil {
		return err
	}
	if err := b.connect(ctx, tx, migrated, before); err != nil {
		return err
	}
	missing, err := readMissing(ctx, b.conn)
	if err != nil {
		return err
	}
	if len(missing) > 0 {
		return fmt.Errorf("%s could not make or grant: %s", b.conn.Config().User, strings.Join(missing, "; "))
	}
	if _, err := tx.Exec(ctx, `
		DO $$
		BEGIN
			IF current_setting('iasql.temporary_member', true) <> '' THEN
				EXECUTE format('REVOKE iasql_engine FROM %I', current_setting('iasql.temporary_member'));
			END IF;
		END
		$$`); err != nil {
		return fmt.Errorf("leave role %s again: %w", postgres.EngineRole, err)
	}
	return nil
}

// try runs a statement that may be refused, and returns why.
func try(ctx context.Context, tx pgx.Tx, statement string) error {
	return pgx.BeginFunc(ctx, tx, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, statement)
		return err
	})
}

// refused tells whether a statement failed for want of a privilege.
func refused(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == pgerrcode.InsufficientPrivilege
}

// extension makes an extension unless it is there, and sees that it belongs to
// somebody who may be trusted: its owner could put something else in its place,
// which the engine's functions would then run.
func (b *bootstrapper) extension(ctx context.Context, tx pgx.Tx, name string) error {
	var owner, schema, schemaOwner string
	var trusted bool
	find := func() error {
		return tx.QueryRow(ctx, `
			WITH trusted AS (
				SELECT r.oid FROM pg_roles r WHERE r.rolsuper OR r.rolname IN (current_user, 'iasql_engine', 'pg_database_owner')
				UNION SELECT d.datdba FROM pg_database d WHERE d.datname = current_database())
			SELECT pg_get_userbyid(e.extowner), n.nspname, pg_get_userbyid(n.nspowner),
				e.extowner IN (SELECT oid FROM trusted) AND n.nspowner IN (SELECT oid FROM trusted)
			FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = $1`, name).
			Scan(&owner, &schema, &schemaOwner, &trusted)
	}
	err := find()
	if errors.Is(err, pgx.ErrNoRows) {
		if err := try(ctx, tx, fmt.Sprintf(`CREATE EXTENSION %s SCHEMA iasql_extensions`, name)); refused(err) {
			return fmt.Errorf("%s may not create extension %s; have a superuser, or whoever your provider lets, run "+
				"this in the database first: CREATE EXTENSION %s: %w",
				b.conn.Config().User, name, name, err)
		} else if err != nil {
			return fmt.Errorf("create extension %s: %w", name, err)
		}
		err = find()
	}
	if err != nil {
		return fmt.Errorf("look up extension %s: %w", name, err)
	}
	if !trusted {
		return fmt.Errorf("extension %s belongs to %s and stands in schema %s of %s, who could put something else in "+
			"its place: DROP EXTENSION %s, then run this again",
			name, owner, schema, schemaOwner, name)
	}
	if err := try(ctx, tx, fmt.Sprintf(`GRANT USAGE ON SCHEMA %s TO %s`, pgx.Identifier{schema}.Sanitize(),
		postgres.EngineRole)); err != nil && !refused(err) {
		return fmt.Errorf("let the engine use extension %s: %w", name, err)
	}
	return nil
}

// cron makes pg_cron where it can be: in the one database of the server that the
// server's settings name (pg_cron's README). Without it the engine itself keeps
// the schedule, so that nothing here makes the bootstrap fail.
func (b *bootstrapper) cron(ctx context.Context, tx pgx.Tx) error {
	var exists, here, readable bool
	if err := tx.QueryRow(ctx, `
		SELECT EXISTS (SELECT FROM pg_extension WHERE extname = 'pg_cron'),
			EXISTS (SELECT FROM pg_available_extensions WHERE name = 'pg_cron'),
			pg_has_role(current_user, 'pg_read_all_settings', 'USAGE')`).Scan(&exists, &here, &readable); err != nil {
		return fmt.Errorf("look for pg_cron: %w", err)
	}
	if !exists && here && readable { // the setting is not for everybody's eyes
		if err := tx.QueryRow(ctx, `
			SELECT 'pg_cron' = ANY (regexp_split_to_array(current_setting('shared_preload_libraries'), '[ ,"]+'))
				AND coalesce(current_setting('cron.database_name', true), 'postgres') = current_database()`).Scan(
			&here); err != nil {
			return fmt.Errorf("look for pg_cron: %w", err)
		}
	}
	if !exists && here {
		if err := try(ctx, tx, `CREATE EXTENSION pg_cron`); err != nil {
			if readable {
				b.warn("pg_cron is loaded and could not be created; the engine itself schedules full cycles",
					"error", err)
			}
			return nil
		}
		exists = true
	}
	if !exists {
		return nil
	}
	if err := try(ctx, tx, `GRANT USAGE ON SCHEMA cron TO iasql_engine`); err != nil {
		b.warn("the engine may not use pg_cron, and schedules full cycles itself; have whoever created the extension "+
			"run: GRANT USAGE ON SCHEMA cron TO iasql_engine", "error", err)
		return nil
	}
	var may bool
	if err := tx.QueryRow(ctx, `SELECT has_schema_privilege('iasql_engine', n.oid, 'USAGE') FROM pg_namespace n WHERE n.nspname = 'cron'`).Scan(&may); err != nil {
		return fmt.Errorf("look who may use pg_cron: %w", err)
	}
	if !may {
		b.warn("the engine may not use pg_cron, and schedules full cycles itself; have whoever created the extension " +
			"run: GRANT USAGE ON SCHEMA cron TO iasql_engine")
	}
	// Engines of earlier versions logged in as an administrator, whose job this was.
	if err := try(ctx, tx, `
		SELECT cron.unschedule(j.jobid) FROM cron.job j JOIN pg_roles r ON r.rolname = j.username
		WHERE j.jobname = 'iasql-sync' AND (r.rolsuper OR r.rolname = current_user)`); err != nil {
		b.warn("the schedule of an earlier version could not be removed from pg_cron", "error", err)
	}
	return nil
}

// login makes the engine's login role unless it exists, and a member of
// iasql_engine.
func (b *bootstrapper) login(ctx context.Context, tx pgx.Tx, engine *pgx.ConnConfig) error {
	name := pgx.Identifier{engine.User}.Sanitize()
	var exists, admin bool
	if err := tx.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = $1), $1 = session_user`,
		engine.User).Scan(&exists, &admin); err != nil {
		return fmt.Errorf("look up login %s: %w", engine.User, err)
	}
	if admin {
		return fmt.Errorf("--database-url and --admin-url name the same login %s: give the engine one of its own, "+
			"which need not exist", engine.User)
	}
	if !exists {
		password := "NULL"
		if engine.Password != "" {
			verifier, err := scramVerifier(engine.Password)
			if err != nil {
				return err
			}
			password = literal(verifier)
		}
		if _, err := tx.Exec(ctx, fmt.Sprintf(`CREATE ROLE %s LOGIN PASSWORD %s`, name, password)); err != nil {
			return fmt.Errorf("make login %s: %w", engine.User, err)
		}
		b.info("made the engine's login", "role", engine.User)
	}
	var powers []string
	var can, member bool
	err := tx.QueryRow(ctx, `
		SELECT ARRAY(
				SELECT v.power || CASE WHEN r.oid = me.oid THEN '' ELSE ' by role ' || r.rolname END
				FROM pg_roles r, LATERAL (VALUES ('SUPERUSER', r.rolsuper), ('CREATEROLE', r.rolcreaterole), ('BYPASSRLS', r.rolbypassrls)) v (power, has)
				WHERE v.has AND (r.oid = me.oid OR NOT me.rolsuper AND pg_has_role(me.oid, r.oid, 'MEMBER'))),
			me.rolcanlogin, pg_has_role(me.oid, 'iasql_engine', 'USAGE')
		FROM pg_roles me WHERE me.rolname = $1`, engine.User).Scan(&powers, &can, &member)
	switch {
	case err != nil:
		return fmt.Errorf("look up login %s: %w", engine.User, err)
	case len(powers) > 0:
		return fmt.Errorf("login %s must not be used by an engine: it has %s. Name another in --database-url; it is "+
			"made if it does not exist", engine.User, strings.Join(powers, ", "))
	case !can:
		return fmt.Errorf("role %s may not log in: ALTER ROLE %s LOGIN, or name another in --database-url",
			engine.User, name)
	case member:
		return nil
	}
	if _, err := tx.Exec(ctx, fmt.Sprintf(`GRANT iasql_engine TO %s`, name)); err != nil {
		return fmt.Errorf("make login %s a member of iasql_engine: %w", engine.User, err)
	}
	return nil
}

// loginsThatConnect lists the login roles that may connect to this database and
// need a privilege for it.
const loginsThatConnect = `
	SELECT r.rolname::text FROM pg_roles r, pg_database d
	WHERE d.datname = current_database() AND r.rolcanlogin AND NOT r.rolsuper AND has_database_privilege(r.oid, d.oid, 'CONNECT')
	ORDER BY r.rolname`

// connect takes CONNECT on the database from PUBLIC and from iasql_reader. Roles
// belong to the whole server: who is a user of another database's installation
// would be one of this, too, if he could connect.
//
// Nobody is locked out who may be here on purpose: who could connect before gets
// the right by name. Members of iasql_user and iasql_reader are left out when
// this database was not migrated before, since they are so because of another.
func (b *bootstrapper) connect(ctx context.Context, tx pgx.Tx, migrated bool, before []string) error {
	database := pgx.Identifier{b.conn.Config().Database}.Sanitize()
	for _, statement := range []string{
		fmt.Sprintf(`REVOKE CONNECT ON DATABASE %s FROM PUBLIC`, database),
		fmt.Sprintf(`REVOKE CONNECT ON DATABASE %s FROM iasql_reader`, database),
	} {
		if err := try(ctx, tx, statement); err != nil && !refused(err) {
			return fmt.Errorf("say who may connect: %w", err)
		}
	}
	var public bool
	var lost []string
	if err := tx.QueryRow(ctx, `
		SELECT EXISTS (SELECT FROM pg_database d, aclexplode(coalesce(d.datacl, acldefault('d', d.datdba))) a
				WHERE d.datname = current_database() AND a.grantee = 0 AND a.privilege_type = 'CONNECT'),
			ARRAY(
				SELECT r.rolname::text FROM pg_roles r
				WHERE r.rolname = ANY ($1) AND r.rolname NOT IN (`+loginsThatConnect+`)
					AND (starts_with(r.rolname::text, 'iasql_loopback_') OR NOT $2
						AND (pg_has_role(r.oid, 'iasql_reader', 'MEMBER') OR pg_has_role(r.oid, 'iasql_engine', 'MEMBER'))) IS FALSE
				ORDER BY r.rolname)`, before, migrated).Scan(&public, &lost); err != nil {
		return fmt.Errorf("list who may connect: %w", err)
	}
	if public {
		b.warn("everybody who may log in may connect to this database, and users of other installations on this " +
			"server are users of this one; have the database's owner run: REVOKE CONNECT ON DATABASE " + database +
			" FROM PUBLIC")
	}
	if len(lost) == 0 {
		return nil
	}
	names := make([]string, len(lost))
	for i, name := range lost {
		names[i] = pgx.Identifier{name}.Sanitize()
	}
	if _, err := tx.Exec(ctx, fmt.Sprintf(`GRANT CONNECT ON DATABASE %s TO %s`, database, strings.Join(names, ", "))); err != nil {
		return fmt.Errorf("let those connect who could before: %w", err)
	}
	b.info("PUBLIC may no longer connect to this database; logins that could until now got the right by name, revoke "+
		"it from whom it is not for",
		"database", b.conn.Config().Database, "logins", strings.Join(lost, ", "))
	return nil
}
