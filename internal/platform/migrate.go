package platform

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"log/slog"
	"path"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
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

// Migrate brings the database to this engine's version. The login of url is a
// plain member of iasql_engine, and the database has been prepared by
// [Bootstrap]; otherwise it fails with [ErrNotPrepared], or says what is wrong
// with the login. A superuser's login prepares the database itself.
func Migrate(ctx context.Context, url string, registry *modules.Registry, version string) error {
	conn, err := postgres.Open(ctx, url)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if err := checkVersion(ctx, conn); err != nil {
		return err
	}
	who, err := readLogin(ctx, conn)
	if err != nil {
		return err
	}
	if err := lockMigrations(ctx, conn); err != nil {
		return err
	}
	if who.super {
		if who.installed {
			slog.Warn("migrating as a superuser: prefer a plain login, and --admin-url for what takes an "+
				"administrator, so that nothing that users have made can run as a superuser", "login", who.name)
		}
		if err = refuseNewer(ctx, conn); err == nil {
			err = bootstrap(ctx, conn, nil)
		}
	} else if err = who.check(conn.Config()); err == nil {
		if err = prepared(ctx, conn); err == nil {
			err = refuseNewer(ctx, conn)
		}
	}
	if err != nil {
		return err
	}
	if err := lockInstallation(ctx, conn); err != nil {
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
	if err := allowLoopback(ctx, pool); err != nil {
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

// NewerError says that a newer engine has migrated the database. What it has made this engine does not know, and would
// overwrite its functions and views with those of before.
type NewerError struct{ Version string }

func (e *NewerError) Error() string {
	return fmt.Sprintf("a newer engine (%s) has migrated the database, which this engine cannot take back: use that "+
		"engine or a newer one, or restore a backup of before; meanwhile this engine works with engine serve "+
		"--no-migrate", e.Version)
}

// refuseNewer returns a [NewerError] if the database has migrations that this engine does not have.
func refuseNewer(ctx context.Context, conn *pgx.Conn) error {
	var there bool // and may be read: not by every administrator
	if err := conn.QueryRow(ctx, `SELECT count(*) = 2 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE n.nspname = 'iasql_internal' AND c.relname IN ('goose_db_version', 'installation')
			AND has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT')`).Scan(&there); err != nil || !there {
		return err
	}
	known, err := migrationsKnown()
	if err != nil {
		return err
	}
	var newer bool
	var version string
	if err := conn.QueryRow(ctx, `SELECT EXISTS (SELECT FROM iasql_internal.goose_db_version g WHERE g.is_applied AND g.version_id > $1),
		coalesce((SELECT to_jsonb(i) ->> 'version' FROM iasql_internal.installation i), 'of unknown version')`, slices.Max(known)).
		Scan(&newer, &version); err != nil {
		return fmt.Errorf("read the version of the database: %w", err)
	}
	if newer {
		return &NewerError{version}
	}
	return nil
}

func checkVersion(ctx context.Context, conn *pgx.Conn) error {
	var number int
	if err := conn.QueryRow(ctx, `SELECT current_setting('server_version_num')::integer`).Scan(&number); err != nil {
		return err
	}
	if number < 150000 {
		return fmt.Errorf("the server is PostgreSQL %d; 15 or newer is needed", number/10000)
	}
	return nil
}

// migrateTables brings the platform's tables up to date, and the queue's. A migration that waits for a lock has all
// others wait behind it, so that it does not wait for long.
func migrateTables(ctx context.Context, pool *pgxpool.Pool) error {
	config := pool.Config()
	prepare := config.AfterConnect
	config.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		if err := prepare(ctx, conn); err != nil {
			return err
		}
		_, err := conn.Exec(ctx, strings.Replace(setBriefly, "LOCAL ", "", 1))
		return err
	}
	brief, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer brief.Close()
	db := stdlib.OpenDBFromPool(brief)
	defer db.Close()
	// Where two lines of work have met, a database may have what has the higher number only.
	provider, err := goose.NewProvider(goose.DialectPostgres, db, migrations.FS,
		goose.WithTableName("iasql_internal.goose_db_version"), goose.WithAllowOutofOrder(true))
	if err != nil {
		return fmt.Errorf("read migrations: %w", err)
	}
	if err := givingWay(ctx, func() error {
		_, err := provider.Up(ctx)
		return busy(err)
	}); err != nil {
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
	extensions, err := extensionSchemas(ctx, pool)
	if err != nil {
		return err
	}
	applied, err := appliedSQL(ctx, pool)
	if err != nil {
		return err
	}
	return givingWay(ctx, func() error { return busy(applyTo(ctx, pool, extensions, applied)) })
}

// applyTo is applySQL in one transaction.
func applyTo(ctx context.Context, pool *pgxpool.Pool, extensions, applied map[string]string) error {
	return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, setBriefly); err != nil {
			return err
		}
		changed := false
		apply := func(file string, force bool) error {
			statements, hash, err := readSQL(file, extensions)
			if err != nil {
				return err
			}
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

// querier is what reads need of a pool or a connection.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// extensionSchemas returns where the extensions stand, by what the function and
// view files call that.
func extensionSchemas(ctx context.Context, q querier) (map[string]string, error) {
	schemas := map[string]string{}
	rows, err := q.Query(ctx, `SELECT e.extname, quote_ident(n.nspname) FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace`)
	if err != nil {
		return nil, err
	}
	var name, schema string
	_, err = pgx.ForEachRow(rows, []any{&name, &schema}, func() error {
		schemas["@extschema:"+name+"@"] = schema
		return nil
	})
	return schemas, err
}

// appliedSQL returns the sums of the function and view files in force.
func appliedSQL(ctx context.Context, q querier) (map[string]string, error) {
	applied := map[string]string{}
	rows, err := q.Query(ctx, `SELECT path, encode(sha256, 'hex') FROM iasql_internal.applied_sql`)
	if err != nil {
		return nil, err
	}
	var file, sum string
	_, err = pgx.ForEachRow(rows, []any{&file, &sum}, func() error {
		applied[file] = sum
		return nil
	})
	return applied, err
}

// readSQL returns the statements of a file, and their sum.
func readSQL(file string, extensions map[string]string) (statements string, hash [sha256.Size]byte, err error) {
	text, err := sql.FS.ReadFile(file)
	if err != nil {
		return "", hash, err
	}
	statements = string(text)
	for from, to := range extensions {
		statements = strings.ReplaceAll(statements, from, to)
	}
	return statements, sha256.Sum256([]byte(statements)), nil
}

func literal(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
