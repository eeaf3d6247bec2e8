package platform

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"iasql/internal/modules"
)

// upgrade brings installed modules to the versions this engine has, keeping
// rows, ids and whatever users have added to the tables.
func upgrade(ctx context.Context, pool *pgxpool.Pool, registry *modules.Registry) error {
	return givingWay(ctx, func() error { return tryUpgrade(ctx, pool, registry) })
}

// A migration gives way to whoever is in its way, sooner than the server would look for a deadlock and end a user's
// transaction (deadlock_timeout is a second; manual, 20.12), and begins anew a moment later.
const (
	wayAttempts = 60
	wayPause    = 200 * time.Millisecond
	setBriefly  = `SET LOCAL lock_timeout = '400ms'`
)

// busyError says that somebody's transaction has a table that a migration is to change.
type busyError struct{ error }

// busy returns what an error of PostgreSQL says if that is that somebody has a lock, as a busyError.
func busy(err error) error {
	var pg *pgconn.PgError
	if errors.As(err, &pg) && (pg.Code == pgerrcode.LockNotAvailable || pg.Code == pgerrcode.DeadlockDetected) {
		return &busyError{errors.New(pg.Message)}
	}
	return err
}

// locked says that somebody's transaction was in the way for too long.
func locked(said string) error {
	return &UserError{Code: "IA015", Message: "an open transaction holds locks on the tables: " + said,
		Hint: "Commit or roll back transactions that have written managed tables, then try again."}
}

// givingWay does something again, a number of times, if somebody was in its way.
func givingWay(ctx context.Context, do func() error) error {
	for attempt := 1; ; attempt++ {
		err := do()
		var busy *busyError
		if !errors.As(err, &busy) {
			return err
		}
		if attempt == wayAttempts {
			return locked(busy.Error())
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(wayPause):
		}
	}
}

// lockToUpgrade locks the tables that an upgrade changes before it changes any, each before those that it refers to: so
// does whoever writes it.
func lockToUpgrade(ctx context.Context, tx pgx.Tx, registry *modules.Registry, have map[string]int) error {
	var all []*modules.Table
	for _, m := range registry.Modules() {
		if _, ok := have[m.Name]; ok {
			all = append(all, m.Tables()...)
		}
	}
	rows, err := tx.Query(ctx, `SELECT name, rules_of FROM iasql_internal.managed_table WHERE to_regclass(format('public.%I', name)) IS NOT NULL`)
	if err != nil {
		return err
	}
	rules, there := map[string]string{}, map[string]bool{}
	var name, sum string
	if _, err := pgx.ForEachRow(rows, []any{&name, &sum}, func() error {
		rules[name], there[name] = sum, true
		return nil
	}); err != nil {
		return err
	}
	older := map[string]bool{}
	for _, m := range registry.Modules() {
		from, ok := have[m.Name]
		for _, t := range m.Tables() {
			older[t.Name] = ok && (from < m.Version || rules[t.Name] != t.RulesSum())
		}
	}
	var names []string
	for _, t := range slices.Backward(modules.Order(all)) {
		if there[t.Name] && older[t.Name] {
			names = append(names, pgx.Identifier{"public", t.Name}.Sanitize())
		}
	}
	if len(names) == 0 {
		return nil
	}
	if _, err := tx.Exec(ctx, setBriefly); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, "LOCK TABLE "+strings.Join(names, ", ")+" IN ACCESS EXCLUSIVE MODE"); err != nil {
		return busy(err)
	}
	_, err = tx.Exec(ctx, `SET LOCAL lock_timeout = '5s'`)
	return err
}

// tryUpgrade is upgrade unless somebody is in its way.
func tryUpgrade(ctx context.Context, pool *pgxpool.Pool, registry *modules.Registry) error {
	return inDDL(ctx, pool, func(tx pgx.Tx) error {
		have, err := installed(ctx, tx)
		if err != nil {
			return err
		}
		if err := lockToUpgrade(ctx, tx, registry, have); err != nil {
			return err
		}
		if err := plainReferences(ctx, tx, registry); err != nil {
			return err
		}
		changed, err := installNewDependencies(ctx, tx, registry, have)
		if err != nil {
			return err
		}
		for _, m := range registry.Modules() {
			from, ok := have[m.Name]
			if !ok {
				continue
			}
			for _, t := range m.Tables() {
				if err := describe(ctx, tx, registry, m, t); err != nil {
					return err
				}
			}
			if err := emptyRows(ctx, tx, m); err != nil {
				return err
			}
			old, err := freeValues(ctx, tx, m)
			if err != nil {
				return err
			}
			if from < m.Version {
				changed = true
				if err := upgradeModule(ctx, tx, registry, m, from); err != nil {
					return fmt.Errorf("upgrade module %s from version %d to %d: %w", m.Name, from, m.Version, err)
				}
				if err := emptyRows(ctx, tx, m); err != nil { // of columns that are new
					return err
				}
			}
			if err := renewRules(ctx, tx, old); err != nil {
				return err
			}
			if err := makeFunctions(ctx, tx, registry, m); err != nil {
				return fmt.Errorf("module %s: %w", m.Name, err)
			}
		}
		if !changed {
			return nil
		}
		return renewRecords(ctx, tx)
	})
}

// installNewDependencies installs what the modules that are to be upgraded depend on since a later version. It
// reports whether there was anything.
func installNewDependencies(ctx context.Context, tx pgx.Tx, registry *modules.Registry, have map[string]int) (bool,
	error) {
	any := false
	for _, m := range registry.Modules() {
		from, ok := have[m.Name]
		if !ok || from >= m.Version {
			continue
		}
		closure, err := registry.Closure(m.Name)
		if err != nil {
			return any, err
		}
		for _, needed := range closure {
			if _, ok := have[needed.Name]; ok {
				continue
			}
			if err := install(ctx, tx, registry, needed); err != nil {
				return any, fmt.Errorf("install module %s, which %s needs now: %w", needed.Name, m.Name, err)
			}
			have[needed.Name], any = needed.Version, true
		}
	}
	return any, nil
}

// oldReferences returns the managed tables whose foreign keys have the form that
// versions before migration 80 gave them, with account and region in each, or whose
// triggers are of a version before migration 84.
func oldReferences(ctx context.Context, tx pgx.Tx) ([]string, error) {
	rows, err := tx.Query(ctx, `
		SELECT m.name FROM iasql_internal.managed_table m
		WHERE to_regclass(format('public.%I', m.name)) IS NOT NULL AND (m.regional AND to_regprocedure(format('iasql_internal.%I()', 'scope_' || m.name)) IS NULL
		   OR EXISTS (SELECT FROM pg_constraint k WHERE k.conrelid = to_regclass(format('public.%I', m.name)) AND k.contype = 'f'
		              AND cardinality(k.conkey) > 1 AND starts_with(k.conname, m.name) AND strpos(k.conname, '_account_and_') = 0)
		   OR EXISTS (SELECT FROM iasql_internal.scoped_reference s WHERE s.table_name = m.name AND s.stale))`)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

// plainReferences gives the tables that have those the foreign keys and the
// triggers of a new installation. The keys that the old ones needed go last: another
// module's table may refer to them.
func plainReferences(ctx context.Context, tx pgx.Tx, registry *modules.Registry) error {
	old, err := oldReferences(ctx, tx)
	if err != nil {
		return err
	}
	var statements, last []string
	for _, name := range old {
		t := registry.Table(name)
		if t == nil { // of a module that this engine does not have
			continue
		}
		statements = append(append(statements, t.PlainReferencesDDL(registry.Table)...), t.ScopeDDL(registry.Table)...)
		last = append(last, t.DropScopeKeyDDL())
	}
	for _, statement := range append(statements, last...) {
		if err := exec(ctx, tx, statement); err != nil {
			return fmt.Errorf("bring foreign keys up to date: %w", err)
		}
	}
	return nil
}

// freeValues prepares the tables of an installed module for the rules of this version for
// what users write, and returns those that have others; see [renewRules].
func freeValues(ctx context.Context, tx pgx.Tx, m *modules.Module) (old []*modules.Table, err error) {
	for _, t := range m.Tables() {
		var renew bool
		if err := tx.QueryRow(ctx, `SELECT to_regclass($1) IS NOT NULL AND EXISTS (SELECT FROM iasql_internal.managed_table WHERE name = $2 AND rules_of <> $3)`,
			pgx.Identifier{"public", t.Name}.Sanitize(), t.Name, t.RulesSum()).Scan(&renew); err != nil {
			return nil, err
		}
		if !renew {
			continue
		}
		for _, statement := range t.FreeDDL() {
			if err := exec(ctx, tx, statement); err != nil {
				return nil, fmt.Errorf("free table %s of constraints: %w", t.Name, err)
			}
		}
		old = append(old, t)
	}
	return old, nil
}

// renewRules gives tables, which have all columns of this version by now, its rules for what
// users write.
func renewRules(ctx context.Context, tx pgx.Tx, tables []*modules.Table) error {
	for _, t := range tables {
		for _, statement := range t.ValuesDDL() {
			if err := exec(ctx, tx, statement); err != nil {
				return fmt.Errorf("rules of table %s: %w", t.Name, err)
			}
		}
	}
	return nil
}

// emptyRows sees to it that an installed module's secrets are in the vault, and
// that no sample of them is left in the planner's statistics.
func emptyRows(ctx context.Context, tx pgx.Tx, m *modules.Module) error {
	for _, t := range m.Tables() {
		var there, hides bool
		name := pgx.Identifier{"public", t.Name}.Sanitize()
		secrets := append(t.Secrets(), t.AccountSecrets()...)
		if len(secrets) == 0 {
			continue
		}
		if err := tx.QueryRow(ctx, `
			SELECT count(*) = cardinality($2::text[]), EXISTS (SELECT FROM pg_trigger WHERE tgrelid = to_regclass($1) AND tgname = 'iasql_hide')
			FROM pg_attribute WHERE attrelid = to_regclass($1) AND attname = ANY ($2) AND NOT attisdropped`, name, secrets).
			Scan(&there, &hides); err != nil {
			return err
		}
		if !there { // the table, or the column that this version adds
			continue
		}
		for _, statement := range t.VaultDDL() {
			if err := exec(ctx, tx, statement); err != nil {
				return fmt.Errorf("table %s: %w", t.Name, err)
			}
		}
		if hides || len(t.Secrets()) == 0 {
			continue
		}
		for _, statement := range t.DropSecretChecks() {
			if err := exec(ctx, tx, statement); err != nil {
				return fmt.Errorf("table %s: %w", t.Name, err)
			}
		}
		if _, err := tx.Exec(ctx, `SELECT iasql_internal.empty_rows($1, $2)`, t.Name, t.Secrets()); err != nil {
			return fmt.Errorf("move the secrets of %s to the vault: %w", t.Name, err)
		}
		if err := exec(ctx, tx, "ANALYZE "+name); err != nil {
			return fmt.Errorf("table %s: %w", t.Name, err)
		}
	}
	return nil
}

func upgradeModule(ctx context.Context, tx pgx.Tx, registry *modules.Registry, m *modules.Module, from int) error {
	var tables []string
	for _, t := range modules.Order(m.Tables()) {
		var exists bool
		if err := tx.QueryRow(ctx, `SELECT to_regclass($1) IS NOT NULL`,
			pgx.Identifier{"public", t.Name}.Sanitize()).Scan(&exists); err != nil {
			return err
		}
		tables = append(tables, t.Name)
		statements := t.UpgradeDDL(from, registry.Table)
		if !exists { // a table that is new in this version
			statements = t.DDL(registry.Table)
		}
		for _, statement := range statements {
			if err := exec(ctx, tx, statement); err != nil {
				return fmt.Errorf("table %s: %w", t.Name, err)
			}
		}
		if !exists { // of a table that was there administrators may have taken grants away
			if err := grant(ctx, tx, t); err != nil {
				return err
			}
		}
	}
	for v := from + 1; v <= m.Version; v++ {
		if err := exec(ctx, tx, m.Migrations[v]); err != nil {
			return fmt.Errorf("migration %d: %w", v, err)
		}
	}
	for _, t := range m.Tables() {
		if err := spareNewColumns(ctx, tx, t, from); err != nil {
			return fmt.Errorf("table %s: %w", t.Name, err)
		}
	}
	// The next listings read all of every object, for the new columns.
	if _, err := tx.Exec(ctx, `UPDATE iasql_internal.listing SET rules = '' WHERE table_name = ANY($1)`, tables); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, `UPDATE iasql_internal.module SET installed = $2 WHERE name = $1`, m.Name, m.Version)
	return err
}

// spareNewColumns keeps ENFORCE from taking for a wish what nobody has been able to write: under it the NULLs of a
// column that is new would delete what objects have there. A rule for the column has the next cycles pull that. It
// stays until a person deletes it.
func spareNewColumns(ctx context.Context, tx pgx.Tx, t *modules.Table, from int) error {
	var columns []string
	for i := range t.Columns {
		if c := &t.Columns[i]; c.Since > from && !c.Computed && !c.OptionalComputed && !c.Local {
			columns = append(columns, c.Name)
		}
	}
	if len(columns) == 0 {
		return nil
	}
	_, err := tx.Exec(ctx, `
		INSERT INTO public.iasql_mode (table_name, record_id, column_name, mode)
		SELECT DISTINCT $1::text, m.record_id, c.name, 'NORMAL' FROM public.iasql_mode m CROSS JOIN unnest($2::text[]) c (name)
		WHERE m.mode = 'ENFORCE' AND m.column_name IS NULL AND coalesce(m.table_name, $1::text) = $1::text
		  AND public.iasql_mode_of($1::text, m.record_id, c.name) = 'ENFORCE'
		ON CONFLICT DO NOTHING`, t.Name, columns)
	return err
}
