package platform

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"iasql/internal/modules"
	"iasql/internal/postgres"
	"iasql/migrations"
	"iasql/sql"
)

// RiverSchema is the schema of the job queue.
const RiverSchema = "iasql_river"

// lockMigrate keeps engines that start together from migrating together.
const lockMigrate = 1229017939

// Migrate brings the database to this engine's version. The login role of url
// needs the right to create roles and extensions the first time.
func Migrate(ctx context.Context, url string, registry *modules.Registry, version string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	var number int
	if err := conn.QueryRow(ctx, `SELECT current_setting('server_version_num')::integer`).Scan(&number); err != nil {
		return err
	}
	if number < 150000 {
		return fmt.Errorf("the server is PostgreSQL %d; 15 or newer is needed", number/10000)
	}
	if _, err := conn.Exec(ctx, `SELECT pg_advisory_lock($1)`, lockMigrate); err != nil {
		return err
	}
	if err := bootstrap(ctx, conn); err != nil {
		return err
	}
	pool, err := postgres.Connect(ctx, url, 4)
	if err != nil {
		return err
	}
	defer pool.Close()
	if err := migrateTables(ctx, pool); err != nil {
		return err
	}
	if err := applySQL(ctx, pool); err != nil {
		return err
	}
	if err := EnsureLoopback(ctx, conn, pool); err != nil {
		return err
	}
	if err := register(ctx, pool, registry); err != nil {
		return err
	}
	if err := upgrade(ctx, pool, registry); err != nil {
		return err
	}
	_, err = pool.Exec(ctx, `UPDATE iasql_internal.installation SET version = $1 WHERE version <> $1`, version)
	return err
}

func bootstrap(ctx context.Context, conn *pgx.Conn) error {
	text, err := sql.FS.ReadFile("bootstrap.sql")
	if err != nil {
		return err
	}
	for attempt := 0; ; attempt++ {
		_, err = conn.Exec(ctx, string(text))
		var pg *pgconn.PgError
		// Grants to shared roles by two databases at once collide on the
		// shared catalog ("tuple concurrently updated").
		if errors.As(err, &pg) && pg.Code == "XX000" && attempt < 10 {
			continue
		}
		break
	}
	if err != nil {
		return fmt.Errorf("prepare roles, schemas and extensions (the login role must be allowed to create them once): %w", err)
	}
	return nil
}

func migrateTables(ctx context.Context, pool *pgxpool.Pool) error {
	db := stdlib.OpenDBFromPool(pool)
	defer db.Close()
	provider, err := goose.NewProvider(goose.DialectPostgres, db, migrations.FS, goose.WithTableName("iasql_internal.goose_db_version"))
	if err != nil {
		return fmt.Errorf("read migrations: %w", err)
	}
	if _, err := provider.Up(ctx); err != nil {
		return fmt.Errorf("migrate the platform's tables: %w", err)
	}
	migrator, err := rivermigrate.New(riverpgxv5.New(pool), &rivermigrate.Config{Schema: RiverSchema})
	if err != nil {
		return fmt.Errorf("read the queue's migrations: %w", err)
	}
	if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return fmt.Errorf("migrate the queue's tables: %w", err)
	}
	return nil
}

// applySQL re-applies the function and view files whose text has changed, and
// then the grants.
func applySQL(ctx context.Context, pool *pgxpool.Pool) error {
	extensions := map[string]string{}
	rows, err := pool.Query(ctx, `SELECT e.extname, quote_ident(n.nspname) FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace`)
	if err != nil {
		return err
	}
	var name, schema string
	if _, err := pgx.ForEachRow(rows, []any{&name, &schema}, func() error {
		extensions["@extschema:"+name+"@"] = schema
		return nil
	}); err != nil {
		return err
	}
	applied := map[string]string{}
	rows, err = pool.Query(ctx, `SELECT path, encode(sha256, 'hex') FROM iasql_internal.applied_sql`)
	if err != nil {
		return err
	}
	var file, sum string
	if _, err := pgx.ForEachRow(rows, []any{&file, &sum}, func() error {
		applied[file] = sum
		return nil
	}); err != nil {
		return err
	}
	return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		changed := false
		apply := func(file string, force bool) error {
			text, err := sql.FS.ReadFile(file)
			if err != nil {
				return err
			}
			statements := string(text)
			for from, to := range extensions {
				statements = strings.ReplaceAll(statements, from, to)
			}
			hash := sha256.Sum256([]byte(statements))
			if applied[file] == hex.EncodeToString(hash[:]) && !force {
				return nil
			}
			changed = true
			if _, err := tx.Exec(ctx, statements); err != nil {
				return fmt.Errorf("apply sql/%s: %w", file, err)
			}
			_, err = tx.Exec(ctx, `
				INSERT INTO iasql_internal.applied_sql (path, sha256) VALUES ($1, $2)
				ON CONFLICT (path) DO UPDATE SET sha256 = excluded.sha256`, file, hash[:])
			return err
		}
		for _, folder := range []string{"internal", "functions", "views"} {
			entries, err := fs.ReadDir(sql.FS, folder)
			if err != nil {
				return err
			}
			for _, entry := range entries {
				if err := apply(path.Join(folder, entry.Name()), false); err != nil {
					return err
				}
			}
		}
		return apply("grants.sql", changed)
	})
}

// EnsureLoopback makes sure that blocking functions can open the second
// session they need: a server that points at this very database, and a role
// that may submit requests and nothing else. conn is a connection of the login
// role, needed only when the role has to be made.
func EnsureLoopback(ctx context.Context, conn *pgx.Conn, pool *pgxpool.Pool) error {
	var host, port, database, role string
	var have *string
	var own, exists, works bool
	// A database that was restored or copied from another has the other's role,
	// which may be missing here.
	err := pool.QueryRow(ctx, `
		SELECT coalesce(host(inet_server_addr()), split_part(current_setting('unix_socket_directories'), ',', 1)),
		       coalesce(inet_server_port()::text, current_setting('port')), d.datname, r.name,
		       (SELECT array_to_string(srvoptions, ' ') FROM pg_foreign_server WHERE srvname = 'iasql_loopback'),
		       EXISTS (SELECT FROM pg_user_mappings m WHERE m.srvname = 'iasql_loopback' AND 'user=' || r.name = ANY (m.umoptions)),
		       EXISTS (SELECT FROM pg_roles WHERE rolname = r.name),
		       EXISTS (SELECT FROM pg_user_mappings m JOIN pg_roles o ON 'user=' || o.rolname = ANY (m.umoptions) WHERE m.srvname = 'iasql_loopback')
		FROM pg_database d, LATERAL (SELECT 'iasql_loopback_' || d.oid) r (name) WHERE d.datname = current_database()`).
		Scan(&host, &port, &database, &role, &have, &own, &exists, &works)
	if err != nil {
		return err
	}
	switch {
	case conn == nil && (have == nil || !works):
		return errors.New("the database has not been migrated: engine migrate")
	case conn == nil && *have == fmt.Sprintf("host=%s port=%s dbname=%s", host, port, database):
		return nil
	case conn != nil && !(own && exists):
		secret := make([]byte, 24)
		if _, err := rand.Read(secret); err != nil {
			return err
		}
		password := hex.EncodeToString(secret)
		verb := "CREATE"
		if exists {
			verb = "ALTER"
		}
		_, err := conn.Exec(ctx, fmt.Sprintf(`
			%[4]s ROLE %[1]s LOGIN PASSWORD '%[2]s' CONNECTION LIMIT 100;
			GRANT CONNECT ON DATABASE %[3]s TO %[1]s;`, role, password, pgx.Identifier{database}.Sanitize(), verb))
		if err != nil {
			return fmt.Errorf("make the role of the loopback connection: %w", err)
		}
		if have == nil {
			if _, err := pool.Exec(ctx, `CREATE SERVER iasql_loopback FOREIGN DATA WRAPPER dblink_fdw OPTIONS (host '', port '', dbname '')`); err != nil {
				return fmt.Errorf("make the loopback server: %w", err)
			}
		}
		_, err = pool.Exec(ctx, fmt.Sprintf(`
			DROP USER MAPPING IF EXISTS FOR iasql_engine SERVER iasql_loopback;
			CREATE USER MAPPING FOR iasql_engine SERVER iasql_loopback OPTIONS (user '%[1]s', password '%[2]s');
			GRANT USAGE ON SCHEMA iasql_internal TO %[1]s;`, role, password))
		if err != nil {
			return fmt.Errorf("map the loopback role: %w", err)
		}
	}
	if conn != nil {
		_, err = pool.Exec(ctx, fmt.Sprintf(`
			GRANT EXECUTE ON FUNCTION iasql_internal.submit(text, jsonb, text), iasql_internal.open_batch_for(text, xid8, bigint) TO %s`,
			pgx.Identifier{role}.Sanitize()))
		if err != nil {
			return fmt.Errorf("let the loopback connection submit requests: %w", err)
		}
	}
	_, err = pool.Exec(ctx, fmt.Sprintf(`ALTER SERVER iasql_loopback OPTIONS (SET host %s, SET port %s, SET dbname %s)`,
		literal(host), literal(port), literal(database)))
	if err != nil {
		return fmt.Errorf("point the loopback server at this database: %w", err)
	}
	return nil
}

func literal(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
