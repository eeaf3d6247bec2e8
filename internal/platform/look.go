package platform

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"iasql/internal/modules"
	"iasql/migrations"
	"iasql/sql"
)

// What follows looks and changes nothing. It takes a session as [postgres.Open]
// makes it, of any login.

// Login is what the catalog says of the role that a session logged in with.
type Login struct {
	Name      string
	Powers    []string // SUPERUSER, CREATEROLE and BYPASSRLS, its own or those of roles it can become
	Member    bool     // of iasql_engine
	Installed bool     // the server has a role iasql_engine
}

// LookAtLogin returns what an engine would find out of its login (see
// [CheckLogin]).
func LookAtLogin(ctx context.Context, conn *pgx.Conn) (Login, error) {
	l, err := readLogin(ctx, conn)
	return Login{Name: l.name, Powers: l.powers, Member: l.engine, Installed: l.installed}, err
}

// Missing lists what of Bootstrap's work is not there. Some of it only a member of
// iasql_engine can see.
func Missing(ctx context.Context, conn *pgx.Conn) ([]string, error) {
	missing, err := readMissing(ctx, conn)
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.Code == pgerrcode.InsufficientPrivilege {
		return nil, fmt.Errorf("only a member of iasql_engine can see what is missing: %w", err)
	}
	return missing, err
}

// State says which version a database is at, and what this engine would change.
type State struct {
	Migrated bool   // at all
	Version  string // of the engine that migrated it last
	Pending  []string
	// Newer: a newer engine has migrated it. This engine does not know its tables.
	Newer []string
}

// LookAtState compares a prepared database with what [Migrate] would make of it.
func LookAtState(ctx context.Context, conn *pgx.Conn, registry *modules.Registry) (State, error) {
	var s State
	var applied []int64
	err := conn.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE n.nspname = 'iasql_internal' AND c.relname = 'installation')`).Scan(&s.Migrated)
	if err != nil || !s.Migrated {
		return s, err
	}
	if err := conn.QueryRow(ctx, `SELECT (SELECT version FROM iasql_internal.installation),
		ARRAY(SELECT DISTINCT version_id FROM iasql_internal.goose_db_version WHERE is_applied AND version_id > 0)`).Scan(&s.Version, &applied); err != nil {
		return s, fmt.Errorf("read the version of the database: %w", err)
	}
	known, err := migrationsKnown()
	if err != nil {
		return s, err
	}
	s.compare("migration", known, applied)
	if err := s.queue(ctx, conn); err != nil {
		return s, err
	}
	if err := s.functions(ctx, conn); err != nil {
		return s, err
	}
	have, err := installed(ctx, conn)
	if err != nil {
		return s, fmt.Errorf("read the installed modules: %w", err)
	}
	for _, m := range registry.Modules() {
		switch from, ok := have[m.Name]; {
		case ok && from < m.Version:
			s.Pending = append(s.Pending, fmt.Sprintf("module %s from version %d to %d", m.Name, from, m.Version))
		case ok && from > m.Version:
			s.Newer = append(s.Newer, fmt.Sprintf("module %s has version %d, this engine %d", m.Name, from, m.Version))
		}
	}
	return s, nil
}

// NewerVersion returns the version of a newer engine that has migrated the database, "" if none has.
func NewerVersion(ctx context.Context, pool *pgxpool.Pool) (string, error) {
	known, err := migrationsKnown()
	if err != nil {
		return "", err
	}
	var version string
	err = pool.QueryRow(ctx, `SELECT coalesce((SELECT i.version FROM iasql_internal.installation i
		WHERE EXISTS (SELECT FROM iasql_internal.goose_db_version g WHERE g.is_applied AND g.version_id > $1)), '')`,
		slices.Max(known)).Scan(&version)
	return version, err
}

// compare notes which of the known steps are not applied, and the other way round.
func (s *State) compare(what string, known, applied []int64) {
	for _, v := range known {
		if !slices.Contains(applied, v) {
			s.Pending = append(s.Pending, fmt.Sprintf("%s %d", what, v))
		}
	}
	for _, v := range applied {
		if !slices.Contains(known, v) {
			s.Newer = append(s.Newer, fmt.Sprintf("%s %d, which this engine does not know", what, v))
		}
	}
}

// migrationsKnown returns the numbers of the platform's migrations, which their
// file names begin with.
func migrationsKnown() ([]int64, error) {
	entries, err := fs.Glob(migrations.FS, "*.sql")
	if err != nil {
		return nil, err
	}
	var known []int64
	for _, name := range entries {
		var number int64
		if _, err := fmt.Sscanf(name, "%d_", &number); err != nil {
			return nil, fmt.Errorf("migration %s: its name has no number: %w", name, err)
		}
		known = append(known, number)
	}
	return known, nil
}

// queue compares the tables of the job queue.
func (s *State) queue(ctx context.Context, conn *pgx.Conn) error {
	var applied, known []int64
	if err := conn.QueryRow(ctx, `SELECT ARRAY(SELECT version FROM `+RiverSchema+
		`.river_migration WHERE line = 'main')`).Scan(&applied); err != nil {
		return fmt.Errorf("read the version of the job queue: %w", err)
	}
	migrator, err := rivermigrate.New(riverpgxv5.New(nil), &rivermigrate.Config{Schema: RiverSchema})
	if err != nil {
		return fmt.Errorf("read the queue's migrations: %w", err)
	}
	for _, m := range migrator.AllVersions() {
		known = append(known, int64(m.Version))
	}
	s.compare("migration of the job queue", known, applied)
	return nil
}

// functions compares the functions and views.
func (s *State) functions(ctx context.Context, conn *pgx.Conn) error {
	extensions, err := extensionSchemas(ctx, conn)
	if err != nil {
		return err
	}
	applied, err := appliedSQL(ctx, conn)
	if err != nil {
		return fmt.Errorf("read which functions are in force: %w", err)
	}
	for _, folder := range []string{"internal", "functions", "views"} {
		entries, err := fs.ReadDir(sql.FS, folder)
		if err != nil {
			return err
		}
		for _, entry := range entries {
			file := path.Join(folder, entry.Name())
			_, hash, err := readSQL(file, extensions)
			if err != nil {
				return err
			}
			if applied[file] != hex.EncodeToString(hash[:]) {
				s.Pending = append(s.Pending, "sql/"+file)
			}
		}
	}
	return nil
}
