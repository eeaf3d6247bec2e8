package console

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// What the pages need to know of the managed tables. No count of a big table is
// ever asked for: what is more than a thousand is estimated, as the planner does,
// and where rows are hidden from the visitor not even that is shown.

// tableInfo is a managed table.
type tableInfo struct {
	name, module string
	oid          uint32
	lastSeen     *time.Time
	readable     bool // there is a column that the visitor may read
	restricted   bool // there are rows or columns that he may not
	settings     bool // it is not read from the cloud
	estimate     int64
	records      int64 // at most 1001, or an estimate
	exact        bool
}

// size says how many records a table has, as well as it is known.
func (t *tableInfo) size() string {
	switch {
	case !t.readable:
		return "hidden"
	case t.exact:
		return grouped(t.records)
	case t.restricted:
		return "over 1,000"
	}
	return "≈ " + grouped(t.records)
}

const exactly = 1000

func loadTables(ctx context.Context, tx pgx.Tx, count bool) ([]*tableInfo, error) {
	rows, err := tx.Query(ctx, `
		SELECT t."table", t.module, c.oid, t.last_seen,
			coalesce(has_any_column_privilege(c.oid, 'SELECT'), false),
			t."table" = ANY ((SELECT iasql_internal.restricted())::text[]), greatest(c.reltuples, 0)::bigint, coalesce(m.settings, false)
		FROM public.iasql_tables t LEFT JOIN iasql_internal.managed_table m ON m.name = t."table"
		JOIN pg_class c ON c.relname = t."table" AND c.relnamespace = 'public'::regnamespace
		ORDER BY t."table"`)
	if err != nil {
		return nil, err
	}
	tables, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (*tableInfo, error) {
		t := &tableInfo{}
		return t, row.Scan(&t.name, &t.module, &t.oid, &t.lastSeen, &t.readable, &t.restricted, &t.estimate,
			&t.settings)
	})
	if err != nil || !count {
		return tables, err
	}
	var parts []string
	for i, t := range tables {
		if t.readable {
			parts = append(parts, fmt.Sprintf(`SELECT %d, count(*) FROM (SELECT FROM %s LIMIT %d) r`, i, table(t.name),
				exactly+1))
		}
	}
	if len(parts) == 0 {
		return tables, nil
	}
	// Not cached: what is installed changes, and the text with it.
	counts, err := tx.Query(ctx, strings.Join(parts, " UNION ALL "), pgx.QueryExecModeExec)
	if err != nil {
		return nil, err
	}
	var i int
	var n int64
	_, err = pgx.ForEachRow(counts, []any{&i, &n}, func() error {
		t := tables[i]
		t.records, t.exact = n, n <= exactly
		if !t.exact && !t.restricted {
			t.records = max(t.estimate, n)
		}
		return nil
	})
	return tables, err
}

func findTable(ctx context.Context, tx pgx.Tx, name string) (*tableInfo, error) {
	tables, err := loadTables(ctx, tx, false)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(tables, func(t *tableInfo) bool { return t.name == name })
	if i < 0 {
		return nil, errNotThere("There is no managed table " + shorten(name, 63) + ". Its module may not be installed.")
	}
	return tables[i], nil
}

// columnInfo is a column of a managed table that the visitor may read.
type columnInfo struct {
	name, kind, doc string
	category        string // of the type (manual, table 53.65)
	identity        bool
	assigned        bool
	own             bool // the user's own
	indexed         bool // an index has the table in this column's order
}

// sortable reports whether rows can be paged by the column.
func (c *columnInfo) sortable() bool {
	element := strings.TrimSuffix(c.kind, "[]")
	return strings.Contains("ABDEINST", c.category) && element != "json" && element != "xml" || c.kind == "uuid" ||
		c.kind == "jsonb"
}

// compared is the type as which values of the column are compared: what has no order is
// compared as text.
func (c *columnInfo) compared() string {
	if c.sortable() {
		return c.kind
	}
	return "text"
}

// document reports whether the column is for reading one at a time.
func (c *columnInfo) document() bool {
	return c.kind == "jsonb" || c.kind == "json" || strings.HasSuffix(c.kind, "[]")
}

func loadColumns(ctx context.Context, tx pgx.Tx, t *tableInfo) ([]*columnInfo, error) {
	rows, err := tx.Query(ctx, `
		SELECT a.attname, format_type(a.atttypid, NULL), coalesce(col_description(a.attrelid, a.attnum), ''), y.typcategory::text,
			a.attname = ANY (m.identity), a.attname = ANY (m.assigned), NOT a.attname = ANY (m.columns || '{id,account,region}'::text[]),
			EXISTS (SELECT FROM pg_index i JOIN pg_class x ON x.oid = i.indexrelid JOIN pg_am w ON w.oid = x.relam
			        WHERE i.indrelid = a.attrelid AND i.indisvalid AND i.indpred IS NULL AND i.indkey[0] = a.attnum AND w.amname = 'btree')
		FROM pg_attribute a
		JOIN pg_type y ON y.oid = a.atttypid
		JOIN iasql_internal.managed_table m ON m.name = $2
		WHERE a.attrelid = $1 AND a.attnum > 0 AND NOT a.attisdropped AND has_column_privilege(a.attrelid, a.attnum, 'SELECT')
		ORDER BY a.attnum`, t.oid, t.name)
	if err != nil {
		return nil, err
	}
	columns, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (*columnInfo, error) {
		c := &columnInfo{}
		return c, row.Scan(&c.name, &c.kind, &c.doc, &c.category, &c.identity, &c.assigned, &c.own, &c.indexed)
	})
	if err == nil && len(columns) == 0 {
		return nil, errNotThere("You may not read table " + t.name + ".")
	}
	return columns, err
}

func find(columns []*columnInfo, name string) *columnInfo {
	for _, c := range columns {
		if c.name == name {
			return c
		}
	}
	return nil
}

// reference is a foreign key between two managed tables. Beside the column that
// tells one from another it has account and region, as a rule.
type reference struct {
	from, column, to string
	columns, keys    []string
	fast             bool   // an index finds those that refer
	deletes          string // what a deletion does to those that refer: pg_constraint.confdeltype
}

// same is the condition that a row f refers to a row t.
func (r reference) same(f, t string) string {
	parts := make([]string, len(r.columns))
	for i := range r.columns {
		parts[i] = f + "." + ident(r.columns[i]) + " = " + t + "." + ident(r.keys[i])
	}
	return strings.Join(parts, " AND ")
}

func loadReferences(ctx context.Context, tx pgx.Tx) ([]reference, error) {
	rows, err := tx.Query(ctx, `
		SELECT c.relname, p.columns[cardinality(p.columns)], d.relname, p.columns, p.keys,
			EXISTS (SELECT FROM pg_index i CROSS JOIN generate_series(0, cardinality(k.conkey) - 1) n
					WHERE i.indrelid = k.conrelid AND i.indisvalid AND i.indpred IS NULL AND i.indkey[0] = ANY (k.conkey) AND i.indkey[n] = p.last),
			k.confdeltype::text
		FROM pg_constraint k
		JOIN pg_class c ON c.oid = k.conrelid AND c.relnamespace = 'public'::regnamespace
		JOIN pg_class d ON d.oid = k.confrelid AND d.relnamespace = 'public'::regnamespace
		JOIN public.iasql_tables t ON t."table" = c.relname JOIN public.iasql_tables u ON u."table" = d.relname
		CROSS JOIN LATERAL (
			SELECT array_agg(a.attname::text ORDER BY a.attname IN ('account', 'region') DESC, x.n) AS columns,
				array_agg(b.attname::text ORDER BY a.attname IN ('account', 'region') DESC, x.n) AS keys,
				bool_and(has_column_privilege(a.attrelid, a.attnum, 'SELECT') AND has_column_privilege(b.attrelid, b.attnum, 'SELECT')) AS seen,
				(array_agg(a.attnum ORDER BY a.attname IN ('account', 'region'), x.n))[1] AS last, count(*) FILTER (WHERE a.attname NOT IN ('account', 'region')) AS telling
			FROM unnest(k.conkey, k.confkey) WITH ORDINALITY x (mine, theirs, n)
			JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = x.mine
			JOIN pg_attribute b ON b.attrelid = k.confrelid AND b.attnum = x.theirs) p
		WHERE k.contype = 'f' AND p.seen AND p.telling = 1
			-- By number: a name is looked for in tables, too, that the joins leave out.
			AND has_column_privilege(k.conrelid, (SELECT i.attnum FROM pg_attribute i WHERE i.attrelid = k.conrelid AND i.attname = 'id'), 'SELECT')
			AND has_column_privilege(k.confrelid, (SELECT i.attnum FROM pg_attribute i WHERE i.attrelid = k.confrelid AND i.attname = 'id'), 'SELECT')
		ORDER BY 1, 2`)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (reference, error) {
		var r reference
		return r, row.Scan(&r.from, &r.column, &r.to, &r.columns, &r.keys, &r.fast, &r.deletes)
	})
}

// exists reports whether the installation has a relation, function or procedure
// that not every version has; name as to_regclass or to_regprocedure takes it.
func exists(ctx context.Context, tx interface {
	QueryRow(context.Context, string, ...any) pgx.Row
}, kind, name string) (there bool, err error) {
	err = tx.QueryRow(ctx, `SELECT CASE $1::text WHEN 'relation' THEN to_regclass($2::text) IS NOT NULL WHEN 'name' THEN to_regproc($2::text) IS NOT NULL ELSE to_regprocedure($2::text) IS NOT NULL END`, kind, name).Scan(&there)
	return there, err
}

func sqlState(err error) string {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return pg.Code
	}
	return ""
}
