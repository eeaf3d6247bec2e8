package cells

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"iasql/internal/postgres"
)

// The names of what the union consists of, in the reporting database.
const (
	unionSchema  = "cells"       // the views
	serverPrefix = "iasql_cell_" // the foreign servers, one a cell
	tablesPrefix = "cell_"       // the schemas with the foreign tables of one cell
	overview     = "iasql_cells" // the view that says which cells are in the union
)

// platformViews are what the union has besides the managed tables.
var platformViews = []string{"iasql_audit_log", "iasql_conflicts", "iasql_cycles", "iasql_operations", "iasql_problems",
	"iasql_status", "iasql_worlds"}

// unionOptions hold for all servers of the union. Nothing is written through them. A scan of one
// cell does not wait for that of another (async_capable). The plan comes from local estimates: to
// ask each cell for its own costs a busy cell more than it saves (docs/performance).
var unionOptions = map[string]string{"updatable": "false", "truncatable": "false", "async_capable": "true",
	"fetch_size": "1000", "use_remote_estimate": "false"}

// column is a column of a table or view.
type column struct {
	Name string
	Type string
}

// Renewal says what a union consists of.
type Renewal struct {
	Cells   []Shown  `json:"cells"`
	Views   int      `json:"views"`   // one a table
	Changed int      `json:"changed"` // of them, those that were made or made anew
	Readers []string `json:"readers"`
}

// Shown says whether a cell is in a union.
type Shown struct {
	Cell   string `json:"cell"`
	Shown  bool   `json:"shown"`
	Why    string `json:"why,omitempty"` // it is left out
	Tables int    `json:"tables"`
}

// unionCell is a cell while the union is being made.
type unionCell struct {
	Cell
	options map[string]string
	why     string              // it is left out of the views; empty if it is in them
	remote  map[string][]column // what it has; nil if it did not answer
	local   map[string][]column // its foreign tables as they are
}

func (c *unionCell) server() string { return serverPrefix + c.Name }
func (c *unionCell) schema() string { return tablesPrefix + c.Name }

// columns returns those of a table as they are to be; nil if the cell has no such table.
func (c *unionCell) columns(table string) []column {
	if c.remote != nil {
		return c.remote[table]
	}
	return c.local[table]
}

// Union makes or renews, in the database of url, a view over each table of all cells. Each active
// cell is asked for its tables, for the deadline at most; one that does not answer, or is marked
// lost, is left out of the views until the next renewal. The login of url has to be a superuser, or
// to have been given what it takes. Running it again changes only what has changed; it fails, and
// the other views are renewed, where something of the users' depends on what is no longer there.
func (r *Registry) Union(ctx context.Context, url string, readers []string, deadline time.Duration) (*Renewal, error) {
	known, err := r.Cells(ctx)
	if err != nil {
		return nil, err
	}
	cells := make([]*unionCell, len(known))
	for i, cell := range known {
		cells[i] = &unionCell{Cell: cell}
		if cells[i].options, err = serverOptions(cell.Connection); err != nil {
			return nil, fmt.Errorf("cell %s: %w", cell.Name, err)
		}
	}
	each(known, func(i int, cell Cell) { cells[i].look(ctx, deadline) })
	conn, err := postgres.Open(ctx, url)
	if err != nil {
		return nil, fmt.Errorf("the reporting database (--report-url): %s", err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	u := &union{conn: conn, cells: cells, readers: readers}
	renewal, err := u.renew(ctx)
	if err != nil {
		return renewal, fmt.Errorf("the union: %w", err)
	}
	return renewal, nil
}

// tablesQuery has the columns that a reader may see. What is no type of PostgreSQL's own is shown as
// text: the reporting database has no such type. So is what names an object of the cell's catalog
// (regclass and the like), which the reporting database does not have.
const tablesQuery = `
SELECT c.relname::text, a.attname::text, CASE WHEN n.nspname = 'pg_catalog' AND t.typname !~ '^(name|reg.*)$'
    THEN format_type(a.atttypid, a.atttypmod) ELSE 'text' END
FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid JOIN pg_type t ON t.oid = a.atttypid
JOIN pg_namespace n ON n.oid = t.typnamespace
WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p', 'v') AND a.attnum > 0
  AND NOT a.attisdropped
  AND (c.relname IN (SELECT t."table" FROM public.iasql_tables t) OR c.relname = ANY ($1))
  AND has_column_privilege('iasql_reader', c.oid, a.attnum, 'SELECT')
ORDER BY c.relname, a.attnum`

// look asks the cell for its tables.
func (c *unionCell) look(ctx context.Context, deadline time.Duration) {
	if c.State == Lost {
		c.why = "marked lost"
		return
	}
	err := asked(ctx, c.Cell, deadline, func(ctx context.Context, conn *pgx.Conn) error {
		rows, _ := conn.Query(ctx, tablesQuery, platformViews)
		tables, err := byTable(rows)
		c.remote = tables
		return err
	})
	if err != nil {
		c.remote, c.why = nil, trouble(err, deadline)
	}
}

// byTable gathers rows of table, column, type.
func byTable(rows pgx.Rows) (map[string][]column, error) {
	tables := map[string][]column{}
	var table, name, typ string
	_, err := pgx.ForEachRow(rows, []any{&table, &name, &typ}, func() error {
		tables[table] = append(tables[table], column{name, typ})
		return nil
	})
	return tables, err
}

// union is a renewal under way.
type union struct {
	conn    *pgx.Conn
	cells   []*unionCell
	readers []string
	views   map[string][]column // those there are
	made    map[string]string   // what their comments say they are made of
}

func (u *union) renew(ctx context.Context) (*Renewal, error) {
	if err := u.prepare(ctx); err != nil {
		return nil, err
	}
	gone, err := u.servers(ctx)
	if err != nil {
		return nil, err
	}
	var failures []error
	renewal := &Renewal{Readers: u.readers}
	for _, table := range u.tables() {
		changed, err := u.renewTable(ctx, table)
		if changed {
			renewal.Changed++
		}
		if err != nil {
			failures = append(failures, fmt.Errorf("view %s.%s: %w", unionSchema, table, detailed(err)))
		}
	}
	if len(failures) == 0 {
		failures = append(failures, u.drop(ctx, gone))
	}
	failures = append(failures, u.describe(ctx))
	seen := map[string]bool{}
	for _, c := range u.cells {
		shown := Shown{Cell: c.Name, Shown: c.why == "", Why: c.why}
		for _, table := range u.tables() {
			if len(c.columns(table)) > 0 {
				shown.Tables++
				seen[table] = true
			}
		}
		renewal.Cells = append(renewal.Cells, shown)
	}
	renewal.Views = len(seen)
	return renewal, errors.Join(failures...)
}

// prepare makes what the union stands in, and reads what is there. One renewal runs at a time.
func (u *union) prepare(ctx context.Context) error {
	var version int
	if err := u.conn.QueryRow(ctx, `SELECT current_setting('server_version_num')::int`).Scan(&version); err != nil {
		return err
	}
	if version < 150000 {
		return errors.New("the reporting database is older than PostgreSQL 15, whose views cannot be read with the " +
			"rights of who reads them (security_invoker)")
	}
	var alone bool
	err := u.conn.QueryRow(ctx, `SELECT pg_try_advisory_lock(hashtext('iasql_cells union'))`).Scan(&alone)
	if err != nil {
		return err
	}
	if !alone {
		return errors.New("another renewal is under way: try again when it has ended")
	}
	schemas := []string{unionSchema}
	for _, c := range u.cells {
		schemas = append(schemas, c.schema())
	}
	if err := trusted(ctx, u.conn, schemas, serverPrefix); err != nil {
		return err
	}
	// A renewal waits for no report that is being read, and so lets none wait behind it.
	if _, err := u.conn.Exec(ctx, `SET lock_timeout = '5s'; SET client_min_messages = 'warning';
		CREATE SCHEMA IF NOT EXISTS cells;
		COMMENT ON SCHEMA cells IS 'Each table of all cells as one view (engine cells union). Read only.';
		CREATE EXTENSION IF NOT EXISTS postgres_fdw WITH SCHEMA cells`); err != nil {
		return err
	}
	var lacking string
	if err := u.conn.QueryRow(ctx, `SELECT coalesce(string_agg(r, ', '), '') FROM unnest($1::text[]) r
		WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = r)`, u.readers).Scan(&lacking); err != nil {
		return err
	}
	if lacking != "" {
		return fmt.Errorf("the reporting database has no role %s: create it there, as in the cells, or leave it out "+
			"with --no-reader", lacking)
	}
	rows, _ := u.conn.Query(ctx, `SELECT n.nspname || '.' || c.relname, a.attname::text,
			format_type(a.atttypid, a.atttypmod)
		FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid
		LEFT JOIN pg_foreign_table f ON f.ftrelid = c.oid LEFT JOIN pg_foreign_server s ON s.oid = f.ftserver
		WHERE a.attnum > 0 AND NOT a.attisdropped AND (n.nspname = $1 AND c.relkind = 'v'
			OR s.srvname = $2 || substr(n.nspname, 1 + length($3)) AND starts_with(n.nspname, $3))
		ORDER BY c.oid, a.attnum`, unionSchema, serverPrefix, tablesPrefix)
	found, err := byTable(rows)
	if err != nil {
		return err
	}
	u.views = map[string][]column{}
	for _, c := range u.cells {
		c.local = map[string][]column{}
	}
	for name, columns := range found {
		schema, table, _ := strings.Cut(name, ".")
		if schema == unionSchema {
			u.views[table] = columns
		}
		for _, c := range u.cells {
			if schema == c.schema() {
				c.local[table] = columns
			}
		}
	}
	u.made = map[string]string{}
	rows, _ = u.conn.Query(ctx, `SELECT c.relname::text, coalesce(obj_description(c.oid, 'pg_class'), '')
		FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relkind = 'v'`,
		unionSchema)
	var name, comment string
	_, err = pgx.ForEachRow(rows, []any{&name, &comment}, func() error {
		u.made[name] = comment
		return nil
	})
	return err
}

// servers makes the foreign server, the schema and the user mappings of each cell, and returns the
// names of cells that are no longer registered.
func (u *union) servers(ctx context.Context) (gone []string, err error) {
	present := map[string]map[string]string{}
	rows, _ := u.conn.Query(ctx, `SELECT substr(s.srvname, 1 + length($1)), coalesce(o.option_name, ''),
			coalesce(o.option_value, '')
		FROM pg_foreign_server s JOIN pg_foreign_data_wrapper w ON w.oid = s.srvfdw
		LEFT JOIN LATERAL pg_options_to_table(s.srvoptions) o ON true
		WHERE starts_with(s.srvname, $1) AND w.fdwname = 'postgres_fdw' ORDER BY 1`, serverPrefix)
	var cell, option, value string
	if _, err := pgx.ForEachRow(rows, []any{&cell, &option, &value}, func() error {
		if present[cell] == nil {
			present[cell] = map[string]string{}
		}
		if option != "" {
			present[cell][option] = value
		}
		return nil
	}); err != nil {
		return nil, err
	}
	var script strings.Builder
	registered := map[string]bool{}
	for _, c := range u.cells {
		registered[c.Name] = true
		want := map[string]string{}
		for _, options := range []map[string]string{unionOptions, c.options} {
			for option, value := range options {
				want[option] = value
			}
		}
		have, there := present[c.Name]
		if !there {
			fmt.Fprintf(&script, "CREATE SERVER %s FOREIGN DATA WRAPPER postgres_fdw;\n", ident(c.server()))
		}
		if changes := optionChanges(have, want); changes != "" {
			fmt.Fprintf(&script, "ALTER SERVER %s OPTIONS (%s);\n", ident(c.server()), changes)
		}
		fmt.Fprintf(&script, "CREATE SCHEMA IF NOT EXISTS %s;\nCOMMENT ON SCHEMA %[1]s IS %s;\n", ident(c.schema()),
			literal("The tables of cell "+c.Name+", as foreign tables (engine cells union)."))
	}
	for name := range present {
		if !registered[name] {
			gone = append(gone, name)
		}
	}
	slices.Sort(gone)
	if _, err := u.conn.Exec(ctx, script.String()); err != nil {
		return nil, detailed(err)
	}
	return gone, u.mappings(ctx)
}

// optionChanges returns the changes that make options what they are to be.
func optionChanges(have, want map[string]string) string {
	var changes []string
	for option, value := range want {
		switch old, there := have[option]; {
		case !there:
			changes = append(changes, fmt.Sprintf("ADD %s %s", ident(option), literal(value)))
		case old != value:
			changes = append(changes, fmt.Sprintf("SET %s %s", ident(option), literal(value)))
		}
	}
	for option := range have {
		if _, wanted := want[option]; !wanted && option != "passfile" { // the administrator's, see docs/cells.md
			changes = append(changes, "DROP "+ident(option))
		}
	}
	slices.Sort(changes)
	return strings.Join(changes, ", ")
}

// mappings has each reader be itself in each cell, and nobody else be anybody. What an administrator
// has added to a mapping, such as a password, stays.
func (u *union) mappings(ctx context.Context) error {
	rows, _ := u.conn.Query(ctx, `SELECT m.srvname::text, m.usename::text FROM pg_user_mappings m
		WHERE starts_with(m.srvname, $1)`, serverPrefix)
	type mapping struct{ Server, Role string }
	present, err := pgx.CollectRows(rows, pgx.RowToStructByPos[mapping])
	if err != nil {
		return err
	}
	var super bool
	err = u.conn.QueryRow(ctx, `SELECT rolsuper FROM pg_roles WHERE rolname = current_user`).Scan(&super)
	if err != nil {
		return err
	}
	var script strings.Builder
	for _, m := range present {
		if !slices.Contains(u.readers, m.Role) {
			fmt.Fprintf(&script, "DROP USER MAPPING FOR %s SERVER %s;\n", forRole(m.Role), ident(m.Server))
			if m.Role != "public" {
				fmt.Fprintf(&script, "REVOKE ALL ON ALL TABLES IN SCHEMA %s, %s FROM %s;\n"+
					"REVOKE ALL ON SCHEMA %[1]s, %[2]s FROM %[3]s;\n", ident(unionSchema),
					ident(tablesPrefix+strings.TrimPrefix(m.Server, serverPrefix)), ident(m.Role))
			}
		}
	}
	for _, c := range u.cells {
		for _, role := range u.readers {
			if slices.Contains(present, mapping{c.server(), role}) {
				continue
			}
			options := ", password_required 'false'"
			if !super { // who may not say so has to add a password
				options = ""
			}
			fmt.Fprintf(&script, "CREATE USER MAPPING FOR %s SERVER %s OPTIONS (user %s%s);\n", ident(role),
				ident(c.server()), literal(role), options)
		}
		if len(u.readers) > 0 {
			fmt.Fprintf(&script, "GRANT USAGE ON SCHEMA %s, %s TO %s;\n", ident(unionSchema), ident(c.schema()),
				idents(u.readers))
		}
	}
	_, err = u.conn.Exec(ctx, script.String())
	return detailed(err)
}

func forRole(role string) string {
	if role == "public" {
		return "PUBLIC"
	}
	return ident(role)
}

// tables returns all that there is or was a view of.
func (u *union) tables() []string {
	all := map[string]bool{}
	for _, c := range u.cells {
		for _, tables := range []map[string][]column{c.remote, c.local} {
			for table := range tables {
				all[table] = true
			}
		}
	}
	for view := range u.views {
		if view != overview && u.ours(view) {
			all[view] = true
		}
	}
	names := make([]string, 0, len(all))
	for name := range all {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

const madeBy = "engine cells union"

// ours says whether a view is one that a renewal has made.
func (u *union) ours(view string) bool { return strings.Contains(u.made[view], madeBy) }

// renewTable makes the foreign tables of one table, and the view over them, what they are to be.
func (u *union) renewTable(ctx context.Context, table string) (changed bool, err error) {
	if table == overview {
		return false, nil
	}
	view := ident(unionSchema) + "." + ident(table)
	existing, there := u.views[table]
	if there && !u.ours(table) {
		return false, fmt.Errorf("there is another view of that name, which somebody has made: rename it")
	}
	columns := merged(u.cells, table, existing)
	var script strings.Builder
	query := u.query(table, columns)
	sum := sha256.Sum256([]byte(query))
	comment := fmt.Sprintf("%s of all cells that are shown (%s, %s).", table, madeBy, hex.EncodeToString(sum[:6]))
	if there && !extends(columns, existing) {
		fmt.Fprintf(&script, "DROP VIEW %s;\n", view)
		there = false
	}
	recreated := false
	for _, c := range u.cells {
		if replaced := c.foreignTable(&script, table); replaced {
			recreated = true
		}
	}
	// A foreign table is not dropped while a view has it.
	ddl := script.String()
	if recreated && there {
		ddl, there = fmt.Sprintf("DROP VIEW %s;\n%s", view, ddl), false
	}
	script.Reset()
	script.WriteString(ddl)
	if len(columns) > 0 && (!there || u.made[table] != comment) {
		fmt.Fprintf(&script, "CREATE OR REPLACE VIEW %s WITH (security_invoker = true) AS\n%s;\n"+
			"COMMENT ON VIEW %[1]s IS %[3]s;\n", view, query, literal(comment))
	}
	changed = script.Len() > 0
	if len(u.readers) > 0 && len(columns) > 0 {
		fmt.Fprintf(&script, "GRANT SELECT ON %s", view)
		for _, c := range u.cells {
			if len(c.columns(table)) > 0 {
				fmt.Fprintf(&script, ", %s.%s", ident(c.schema()), ident(table))
			}
		}
		fmt.Fprintf(&script, " TO %s;\n", idents(u.readers))
	}
	_, err = u.conn.Exec(ctx, script.String()) // several statements are one transaction
	return changed && err == nil, err
}

// foreignTable writes what makes a foreign table what its cell has, and says whether what is there
// has to go first.
func (c *unionCell) foreignTable(script *strings.Builder, table string) (replaced bool) {
	if c.remote == nil {
		return false
	}
	name := ident(c.schema()) + "." + ident(table)
	want, have := c.remote[table], c.local[table]
	var added []string
	for _, column := range want {
		if !slices.Contains(have, column) {
			added = append(added, ident(column.Name)+" "+column.Type)
		}
	}
	kept := len(want)-len(added) == len(have) // nothing is gone, and nothing has another type
	if len(have) > 0 && !kept {
		fmt.Fprintf(script, "DROP FOREIGN TABLE %s;\n", name)
		replaced = true
	}
	switch {
	case len(want) == 0:
	case len(have) > 0 && kept:
		for _, column := range added {
			fmt.Fprintf(script, "ALTER FOREIGN TABLE %s ADD COLUMN %s;\n", name, column)
		}
	default:
		all := make([]string, len(want))
		for i, column := range want {
			all[i] = ident(column.Name) + " " + column.Type
		}
		fmt.Fprintf(script, "CREATE FOREIGN TABLE %s (%s) SERVER %s OPTIONS (schema_name 'public', table_name %s);\n",
			name, strings.Join(all, ", "), ident(c.server()), literal(table))
	}
	return replaced
}

// merged returns the columns of all cells' tables: those that the view has stay in their order.
// Where cells have different types it is text.
func merged(cells []*unionCell, table string, existing []column) []column {
	types := map[string]string{}
	var names []string
	for _, c := range cells {
		for _, column := range c.columns(table) {
			known, there := types[column.Name]
			switch {
			case !there:
				names = append(names, column.Name)
				types[column.Name] = column.Type
			case known != column.Type:
				types[column.Name] = "text"
			}
		}
	}
	delete(types, "cell") // one of the user's own, whose name is taken here
	var columns []column
	for _, e := range existing {
		if t, there := types[e.Name]; there {
			columns = append(columns, column{e.Name, t})
			delete(types, e.Name)
		}
	}
	for _, name := range names {
		if t, there := types[name]; there {
			columns = append(columns, column{name, t})
			delete(types, name)
		}
	}
	return columns
}

// extends says whether a view with the columns existing can be replaced by one with these: after
// the name of the cell they have to begin with those.
func extends(columns, existing []column) bool {
	return len(columns) >= len(existing)-1 && slices.Equal(columns[:len(existing)-1], existing[1:])
}

// query returns what a view consists of.
func (u *union) query(table string, columns []column) string {
	var branches []string
	for _, c := range u.cells {
		have := c.columns(table)
		if len(have) == 0 || c.why != "" {
			continue
		}
		list := []string{literal(c.Name) + "::text AS cell"}
		for _, column := range columns {
			list = append(list, column.from(have))
		}
		branches = append(branches, fmt.Sprintf("SELECT %s FROM %s.%s", strings.Join(list, ", "), ident(c.schema()),
			ident(table)))
	}
	if len(branches) > 0 {
		return strings.Join(branches, "\nUNION ALL\n")
	}
	list := []string{"NULL::text AS cell"}
	for _, column := range columns {
		list = append(list, column.from(nil))
	}
	return "SELECT " + strings.Join(list, ", ") + " WHERE false"
}

// from returns the column as one cell has it.
func (c column) from(have []column) string {
	name := ident(c.Name)
	for _, h := range have {
		switch {
		case h == c:
			return name
		case h.Name == c.Name:
			return fmt.Sprintf("%s::%s AS %[1]s", name, c.Type)
		}
	}
	return fmt.Sprintf("NULL::%s AS %s", c.Type, name)
}

// drop takes away what is left of cells that are no longer registered.
func (u *union) drop(ctx context.Context, gone []string) error {
	for _, name := range gone {
		rows, _ := u.conn.Query(ctx, `SELECT format('DROP FOREIGN TABLE %I.%I;', n.nspname, c.relname)
			FROM pg_foreign_table f JOIN pg_class c ON c.oid = f.ftrelid JOIN pg_namespace n ON n.oid = c.relnamespace
			JOIN pg_foreign_server s ON s.oid = f.ftserver
			WHERE s.srvname = $1 AND n.nspname = $2`, serverPrefix+name, tablesPrefix+name)
		drops, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			return err
		}
		rows, _ = u.conn.Query(ctx, `SELECT usename::text FROM pg_user_mappings WHERE srvname = $1`, serverPrefix+name)
		roles, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			return err
		}
		for _, role := range roles {
			drops = append(drops, fmt.Sprintf("DROP USER MAPPING FOR %s SERVER %s;", forRole(role),
				ident(serverPrefix+name)))
		}
		drops = append(drops, fmt.Sprintf("DROP SCHEMA IF EXISTS %s; DROP SERVER %s", ident(tablesPrefix+name),
			ident(serverPrefix+name)))
		if _, err := u.conn.Exec(ctx, strings.Join(drops, "\n")); err != nil {
			return fmt.Errorf("what is left of cell %s: %w", name, detailed(err))
		}
	}
	return nil
}

// describe makes the view that says which cells are in the union. It asks no cell.
func (u *union) describe(ctx context.Context) error {
	rows := []string{}
	for _, c := range u.cells {
		rows = append(rows, fmt.Sprintf("(%s::text, %t, nullif(%s, ''))", literal(c.Name), c.why == "", literal(c.why)))
	}
	values := "VALUES " + strings.Join(rows, ", ")
	if len(rows) == 0 {
		values = "SELECT NULL::text, false, NULL::text WHERE false"
	}
	view := ident(unionSchema) + "." + overview
	script := fmt.Sprintf(`CREATE OR REPLACE VIEW %s AS
		SELECT v.cell, v.shown, v.why, %s::timestamptz AS renewed FROM (%s) v (cell, shown, why);
		COMMENT ON VIEW %[1]s IS 'Which cells the views of this schema show, and why others are left out (%[4]s).';
		COMMENT ON COLUMN %[1]s.shown IS 'Its rows are in the views.';
		COMMENT ON COLUMN %[1]s.why IS 'Why it is left out.';
		COMMENT ON COLUMN %[1]s.renewed IS 'When the union was last renewed.';
		`, view, literal(time.Now().UTC().Format(time.RFC3339)), values, madeBy)
	if len(u.readers) > 0 {
		script += fmt.Sprintf("GRANT SELECT ON %s TO %s;", view, idents(u.readers))
	}
	_, err := u.conn.Exec(ctx, script)
	return detailed(err)
}

// detailed adds what PostgreSQL says besides, and what to do.
func detailed(err error) error {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return err
	}
	var what string
	switch pg.Code {
	case pgerrcode.DependentObjectsStillExist:
		what = ". It stands on what the cells no longer have: change or drop it, and renew the union again"
	case pgerrcode.LockNotAvailable:
		what = ". Somebody is reading it: renew the union again"
	case pgerrcode.InsufficientPrivilege:
		what = ". engine cells union takes a superuser of the reporting database"
	}
	if pg.Detail != "" {
		what = " (" + strings.Join(strings.Fields(pg.Detail), " ") + ")" + what
	}
	return fmt.Errorf("%w%s", err, what)
}

func ident(name string) string { return pgx.Identifier{name}.Sanitize() }

func idents(names []string) string {
	all := make([]string, len(names))
	for i, name := range names {
		all[i] = ident(name)
	}
	return strings.Join(all, ", ")
}

// literal quotes a string constant; every session has standard_conforming_strings on.
func literal(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }
