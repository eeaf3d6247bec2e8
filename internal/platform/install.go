package platform

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"iasql/internal/modules"
)

// UserError is an error for the person who asked: it has the fields RAISE has.
type UserError struct {
	Code    string // SQLSTATE
	Message string
	Hint    string
}

// Error returns the message.
func (e *UserError) Error() string { return e.Message }

// register tells the database which modules there are.
func register(ctx context.Context, pool *pgxpool.Pool, registry *modules.Registry) error {
	batch := &pgx.Batch{}
	for _, m := range registry.Modules() {
		batch.Queue(registration, registrationOf(m)...)
	}
	for _, c := range registry.Compositions() {
		registerComposition(batch, c, false)
	}
	properties := propertiesOf(registry)
	batch.Queue(`DELETE FROM iasql_internal.property WHERE (type, property, of) IN (SELECT type, property, of FROM (
		SELECT * FROM iasql_internal.property EXCEPT SELECT * FROM jsonb_populate_recordset(NULL::iasql_internal.property, $1)) outdated)`,
		properties)
	batch.Queue(`INSERT INTO iasql_internal.property
		SELECT * FROM jsonb_populate_recordset(NULL::iasql_internal.property, $1) ON CONFLICT DO NOTHING`, properties)
	names := namesOf(registry)
	batch.Queue(`DELETE FROM iasql_internal.type_name n
		WHERE NOT EXISTS (SELECT FROM jsonb_populate_recordset(NULL::iasql_internal.type_name, $1) k WHERE k = n)`, names)
	batch.Queue(`INSERT INTO iasql_internal.type_name
		SELECT * FROM jsonb_populate_recordset(NULL::iasql_internal.type_name, $1) ON CONFLICT DO NOTHING`, names)
	if err := pool.SendBatch(ctx, batch).Close(); err != nil {
		return fmt.Errorf("register modules: %w", err)
	}
	return nil
}

// propertiesOf returns the rows of iasql_internal.property.
func propertiesOf(registry *modules.Registry) []map[string]any {
	rows := []map[string]any{}
	for _, m := range registry.Modules() {
		for _, t := range m.Tables() {
			for _, p := range t.Properties {
				row := map[string]any{"type": p.Type, "property": p.Name, "of": t.Name}
				for name, value := range map[string]string{"table_name": p.Table, "column_name": p.Column,
					"reason": p.Reason} {
					if value != "" {
						row[name] = value
					}
				}
				rows = append(rows, row)
			}
		}
	}
	return rows
}

// namesOf returns the rows of iasql_internal.type_name.
func namesOf(registry *modules.Registry) []map[string]any {
	rows := []map[string]any{}
	for _, n := range registry.TypeNames() {
		rows = append(rows, map[string]any{"name": n.Name, "type": n.Type, "doc": n.Doc})
	}
	return rows
}

const registration = `
	INSERT INTO iasql_internal.module AS m (name, version, doc, dependencies, tables, functions) VALUES ($1, $2, $3, $4, $5, $6)
	ON CONFLICT (name) DO UPDATE SET version = excluded.version, doc = excluded.doc, dependencies = excluded.dependencies,
		tables = excluded.tables, functions = excluded.functions
	WHERE (m.version, m.doc, m.dependencies, m.tables, m.functions)
		IS DISTINCT FROM (excluded.version, excluded.doc, excluded.dependencies, excluded.tables, excluded.functions)`

func registrationOf(m *modules.Module) []any {
	tables, functions := []string{}, []string{}
	for _, t := range m.Tables() {
		tables = append(tables, t.Name)
	}
	for _, f := range m.Functions {
		functions = append(functions, f.Name)
	}
	return []any{m.Name, m.Version, m.Doc, append([]string{}, m.Dependencies...), tables, functions}
}

func installed(ctx context.Context, q querier) (map[string]int, error) {
	rows, err := q.Query(ctx, `SELECT name, installed FROM iasql_internal.module WHERE installed IS NOT NULL`)
	if err != nil {
		return nil, err
	}
	versions := map[string]int{}
	var name string
	var version int
	_, err = pgx.ForEachRow(rows, []any{&name, &version}, func() error {
		versions[name] = version
		return nil
	})
	return versions, err
}

// Installed returns the installed modules with their versions.
func Installed(ctx context.Context, pool *pgxpool.Pool) (map[string]int, error) {
	return installed(ctx, pool)
}

// Install makes the tables of modules and of those they depend on, and returns
// the tables it made, by module. Modules that are installed already are
// skipped.
func Install(ctx context.Context, pool *pgxpool.Pool, registry *modules.Registry,
	names []string) (map[string][]string, error) {
	closure, err := registry.Closure(names...)
	if err != nil {
		return nil, &UserError{Code: "IA009", Message: err.Error(),
			Hint: "SELECT * FROM iasql_modules_list() lists the modules there are, iasql_types('mail') other " +
				"resource types with a word in the name."}
	}
	var made map[string][]string
	err = inDDL(ctx, pool, func(tx pgx.Tx) error {
		made = map[string][]string{}
		have, err := installed(ctx, tx)
		if err != nil {
			return err
		}
		for _, m := range closure {
			if _, ok := have[m.Name]; ok {
				continue
			}
			if err := install(ctx, tx, registry, m); err != nil {
				return fmt.Errorf("install module %s: %w", m.Name, err)
			}
			for _, t := range m.Tables() {
				made[m.Name] = append(made[m.Name], t.Name)
			}
		}
		return renewRecords(ctx, tx)
	})
	return made, err
}

// ddlAttempts is how often a transaction of DDL is tried that the server ends because of a deadlock.
const ddlAttempts = 5

// inDDL runs f in a transaction that gives up on locks somebody holds for long. It begins anew, f and all, when the
// server has ended it because of a deadlock with what users or cycles do (manual, section 13.3.4).
func inDDL(ctx context.Context, pool *pgxpool.Pool, f func(pgx.Tx) error) error {
	var pg *pgconn.PgError
	var err error
	for range ddlAttempts {
		err = pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, `SET LOCAL lock_timeout = '5s'`); err != nil {
				return err
			}
			return f(tx)
		})
		if !errors.As(err, &pg) || pg.Code != pgerrcode.DeadlockDetected {
			break
		}
	}
	if errors.As(err, &pg) {
		switch pg.Code {
		case pgerrcode.LockNotAvailable:
			return locked(pg.Message)
		case pgerrcode.DuplicateTable:
			return &UserError{Code: "IA016", Message: pg.Message,
				Hint: "Rename your own table of that name, or install into another database."}
		case "2BP01":
			return &UserError{Code: "IA016", Message: pg.Message + ": " + pg.Detail,
				Hint: "Drop what depends on the module's tables first."}
		}
	}
	return err
}

func install(ctx context.Context, tx pgx.Tx, registry *modules.Registry, m *modules.Module) error {
	if err := exec(ctx, tx, m.Migrations[0]); err != nil {
		return err
	}
	tables := modules.Order(m.Tables())
	for _, t := range tables {
		if err := describe(ctx, tx, registry, m, t); err != nil {
			return err
		}
		if err := exec(ctx, tx, strings.Join(t.DDL(registry.Table), ";\n")); err != nil {
			return fmt.Errorf("make table %s: %w", t.Name, err)
		}
		if err := numberOn(ctx, tx, t); err != nil {
			return err
		}
		if err := grant(ctx, tx, t); err != nil {
			return err
		}
	}
	for v := 1; v <= m.Version; v++ {
		if err := exec(ctx, tx, m.Migrations[v]); err != nil {
			return fmt.Errorf("migration %d: %w", v, err)
		}
	}
	if err := makeFunctions(ctx, tx, registry, m); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, `UPDATE iasql_internal.module SET installed = $2 WHERE name = $1`, m.Name, m.Version)
	return err
}

// numberOn has the records of a table that was there before get numbers that none of those had: the audit log and the
// log of calls tell of them by their numbers.
func numberOn(ctx context.Context, tx pgx.Tx, t *modules.Table) error {
	_, err := tx.Exec(ctx, `
		SELECT setval(pg_get_serial_sequence($1, 'id')::regclass, n.last) FROM iasql_internal.last_number n WHERE n.table_name = $2`,
		pgx.Identifier{"public", t.Name}.Sanitize(), t.Name)
	if err != nil {
		return fmt.Errorf("number the records of table %s: %w", t.Name, err)
	}
	return nil
}

func makeFunctions(ctx context.Context, tx pgx.Tx, registry *modules.Registry, m *modules.Module) error {
	for _, f := range m.Functions {
		for _, statement := range f.DDL(registry.Table(f.Table)) {
			if err := exec(ctx, tx, statement); err != nil {
				return fmt.Errorf("make function %s: %w", f.Name, err)
			}
		}
		if _, err := tx.Exec(ctx, `
			INSERT INTO iasql_internal.module_function (name, table_name, needs, names) VALUES ($1, $2, $3, $4)
			ON CONFLICT (name) DO UPDATE SET table_name = excluded.table_name, needs = excluded.needs, names = excluded.names`,
			f.Name, f.Table, f.Right, f.Record(registry.Table(f.Table))); err != nil {
			return fmt.Errorf("describe function %s: %w", f.Name, err)
		}
	}
	return nil
}

func exec(ctx context.Context, tx pgx.Tx, statements string) error {
	if statements == "" {
		return nil
	}
	_, err := tx.Exec(ctx, statements)
	return err
}

// describe tells the write triggers about a table.
func describe(ctx context.Context, tx pgx.Tx, registry *modules.Registry, m *modules.Module, t *modules.Table) error {
	_, err := tx.Exec(ctx, `INSERT INTO public.iasql_tables ("table", module) VALUES ($1, $2) ON CONFLICT DO NOTHING`,
		t.Name, m.Name)
	if err != nil {
		return err
	}
	res := registry.Resource(t.Name)
	can := modules.Can(res)
	f := t.ColumnFlags()
	_, err = tx.Exec(ctx, `
		INSERT INTO iasql_internal.managed_table (name, settings, identity, assigned, write_only, columns, can_insert, can_delete, regional, local, natural_key,
			fixed, fixed_chosen, holds_data, names, fixed_within, contents, chosen, follows)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19)
		ON CONFLICT (name) DO UPDATE SET settings = excluded.settings, identity = excluded.identity, assigned = excluded.assigned,
			write_only = excluded.write_only, columns = excluded.columns, can_insert = excluded.can_insert, can_delete = excluded.can_delete,
			regional = excluded.regional, local = excluded.local, natural_key = excluded.natural_key,
			fixed = excluded.fixed, fixed_chosen = excluded.fixed_chosen, holds_data = excluded.holds_data, names = excluded.names,
			fixed_within = excluded.fixed_within, contents = excluded.contents, chosen = excluded.chosen, follows = excluded.follows`,
		t.Name, res == nil, f.Identity, f.Computed, f.WriteOnly, f.Columns, res == nil || can.Create, res == nil ||
			can.Delete, t.Reach == modules.PerRegion, f.Local, f.NaturalKey,
		f.Fixed, f.FixedChosen, t.HoldsData, f.Names, f.FixedWithin, f.Contents, f.Chosen, f.Follows)
	if err != nil || !t.DefinesAccounts {
		return err
	}
	_, err = tx.Exec(ctx, `
		INSERT INTO iasql_internal.provider (name, consistency_window) VALUES ($1, make_interval(secs => nullif($2, 0)))
		ON CONFLICT (name) DO UPDATE SET consistency_window = excluded.consistency_window`,
		t.Provider, t.ConsistencyWindow.Seconds())
	return err
}

func grant(ctx context.Context, tx pgx.Tx, t *modules.Table) error {
	name := pgx.Identifier{"public", t.Name}.Sanitize()
	// The sequence is for pg_dump.
	sequence := pgx.Identifier{"public", t.Name + "_id_seq"}.Sanitize()
	return exec(ctx, tx, fmt.Sprintf(
		`GRANT SELECT ON %[1]s TO iasql_reader; GRANT INSERT, UPDATE, DELETE ON %[1]s TO iasql_user; GRANT SELECT ON SEQUENCE %[2]s TO iasql_reader`, name, sequence))
}

// mostInView is of how many tables a view of all records is planned in no time.
const mostInView = 300

// renewRecords makes the view of all records anew.
func renewRecords(ctx context.Context, tx pgx.Tx) error {
	rows, err := tx.Query(ctx, `SELECT name FROM iasql_internal.managed_table WHERE NOT settings ORDER BY name`)
	if err != nil {
		return err
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	if len(names) > mostInView {
		return exec(ctx, tx, `CREATE OR REPLACE VIEW iasql_internal.records AS SELECT table_name, record_id, account FROM iasql_internal.filled_records()`)
	}
	parts := []string{`SELECT ''::text AS table_name, 0::bigint AS record_id, ''::text AS account WHERE false`}
	for _, name := range names {
		parts = append(parts, fmt.Sprintf(`SELECT %s::text, id, account FROM %s`, literal(name),
			pgx.Identifier{"public", name}.Sanitize()))
	}
	return exec(ctx, tx, `CREATE OR REPLACE VIEW iasql_internal.records AS `+strings.Join(parts, " UNION ALL "))
}
