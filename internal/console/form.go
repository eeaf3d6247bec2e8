package console

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
)

// What a form knows of a table and its columns: all of it from the database's own
// description, so that every table has a form, also one of a module that came later.

// formTable is a table as somebody may change it.
type formTable struct {
	*tableInfo
	quoted               string // as a statement writes it
	canInsert, canDelete bool   // the visitor, and what the table stands for, allow it
	holdsData            bool   // replacing an object loses what is in it
	parts                []string
	fields               []*field
}

// field is a column as a form has it.
type field struct {
	name, quoted, kind, doc string
	category                string // of the type (manual, table 53.65)
	element                 string // of an array: the type of its elements
	nullable                bool
	fallback                string // the default, an expression
	readable                bool
	insertable, updatable   bool
	computed                bool // by the cloud, or by PostgreSQL
	fixed                   bool // a change replaces the record's object
	fixedWithin             []string
	secret, identity        bool
	naming                  bool // people know the record by it
	telling                 bool // of the columns that tell which record is meant
	required                bool
	allowed                 []string
	least, most, hint       string
	refers                  *target
	list                    bool // of references
}

// target is what a reference leads to: a record, by the value of one of its columns.
type target struct {
	table, key      string
	kind            string // of the key
	names, identity []string
	blind           bool // the visitor may not read the key: he types it
}

func (t *formTable) field(name string) *field {
	for _, f := range t.fields {
		if f.name == name {
			return f
		}
	}
	return nil
}

// canUpdate reports whether there is a column that the visitor may change.
func (t *formTable) canUpdate() bool {
	return slices.ContainsFunc(t.fields, func(f *field) bool { return f.writable(false) })
}

// tags is the column of tags that the visitor may change, or nil.
func (t *formTable) tags() *field {
	if f := t.field("tags"); f != nil && f.kind == "jsonb" && f.writable(false) {
		return f
	}
	return nil
}

// writable reports whether a form may have an input for the column. What cannot be
// read is not changed by a form, since nobody would see what he changes.
func (f *field) writable(fresh bool) bool {
	switch {
	case f.name == "id" || f.computed:
		return false
	case fresh:
		return f.insertable
	}
	return f.updatable && f.readable && f.name != "account"
}

func loadForm(ctx context.Context, tx pgx.Tx, name string) (*formTable, error) {
	info, err := findTable(ctx, tx, name)
	if err != nil {
		return nil, err
	}
	t := &formTable{tableInfo: info}
	err = tx.QueryRow(ctx, `
		SELECT quote_ident(m.name), m.can_insert AND has_any_column_privilege($2::oid, 'INSERT'), m.can_delete AND has_table_privilege($2::oid, 'DELETE'), m.holds_data,
			ARRAY(SELECT DISTINCT split_part(encode(g.tgargs, 'escape'), '\000', 1) FROM pg_trigger g JOIN pg_proc p ON p.oid = g.tgfoid
			      WHERE g.tgrelid = $2 AND p.proname = 'delete_parts' AND p.pronamespace = 'iasql_internal'::regnamespace ORDER BY 1)
		FROM iasql_internal.managed_table m WHERE m.name = $1`, name, info.oid).
		Scan(&t.quoted, &t.canInsert, &t.canDelete, &t.holdsData, &t.parts)
	if err != nil {
		return nil, err
	}
	steps := []func(context.Context, pgx.Tx) error{t.loadFields, t.loadRules, t.loadTargets}
	for _, step := range steps {
		if err := step(ctx, tx); err != nil {
			return nil, err
		}
	}
	return t, nil
}

func (t *formTable) loadFields(ctx context.Context, tx pgx.Tx) error {
	rows, err := tx.Query(ctx, `
		SELECT a.attname, quote_ident(a.attname), format_type(a.atttypid, NULL), coalesce(col_description(a.attrelid, a.attnum), ''), y.typcategory::text,
			CASE WHEN y.typcategory = 'A' THEN format_type(y.typelem, NULL) ELSE '' END, NOT a.attnotnull, coalesce(pg_get_expr(d.adbin, d.adrelid), ''),
			has_column_privilege(a.attrelid, a.attnum, 'SELECT'), has_column_privilege(a.attrelid, a.attnum, 'INSERT'), has_column_privilege(a.attrelid, a.attnum, 'UPDATE'),
			a.attname = ANY (m.assigned) OR a.attgenerated <> '' OR a.attidentity = 'a', a.attname = ANY (m.fixed),
			ARRAY(SELECT jsonb_array_elements_text(CASE jsonb_typeof(m.fixed_within -> a.attname::text) WHEN 'array' THEN m.fixed_within -> a.attname::text END)),
			a.attname = ANY (m.write_only), a.attname = ANY (m.identity), a.attname = ANY (m.names), a.attname = ANY (m.required) OR a.attnotnull,
			a.attname = ANY (m.natural_key) AND a.attname NOT IN ('account', 'region')
		FROM pg_attribute a
		JOIN pg_type y ON y.oid = a.atttypid
		JOIN iasql_internal.managed_table m ON m.name = $2
		LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
		WHERE a.attrelid = $1 AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum`, t.oid, t.name)
	if err != nil {
		return err
	}
	t.fields, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (*field, error) {
		f := &field{}
		err := row.Scan(&f.name, &f.quoted, &f.kind, &f.doc, &f.category, &f.element, &f.nullable,
			&f.fallback, &f.readable, &f.insertable, &f.updatable, &f.computed, &f.fixed, &f.fixedWithin,
			&f.secret, &f.identity, &f.naming, &f.required, &f.telling)
		f.required = f.required && f.fallback == ""
		return f, err
	})
	return err
}

var (
	oneOf   = regexp.MustCompile(`^"?\w+"? IN \(((?:'(?:[^']|'')*'(?:, )?)+)\)$`)
	anyOf   = regexp.MustCompile(`^CHECK \(\(\(?"?\w+"?\)?(?:::text)? = ANY \(\(?ARRAY\[(.*)\]\)?(?:::text\[\])?\)\)\)$`)
	quotes  = regexp.MustCompile(`'((?:[^']|'')*)'`)
	between = regexp.MustCompile(`^"?\w+"? BETWEEN (-?[\d.]+) AND (-?[\d.]+)$`)
	atLeast = regexp.MustCompile(`^"?\w+"? >= (-?[\d.]+)$`)
)

// loadRules reads which values the columns may have: from the rules for users' values,
// and from constraints of tables that have them instead.
func (t *formTable) loadRules(ctx context.Context, tx pgx.Tx) error {
	rows, err := tx.Query(ctx, `
		SELECT r.columns[1], r.condition, r.hint FROM iasql_internal.value_rules($1) r WHERE cardinality(r.columns) = 1
		UNION ALL
		SELECT a.attname, pg_get_constraintdef(k.oid), '' FROM pg_constraint k JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = k.conkey[1]
		WHERE k.conrelid = $2 AND k.contype = 'c' AND cardinality(k.conkey) = 1`, t.name, t.oid)
	if err != nil {
		return err
	}
	var column, condition, hint string
	_, err = pgx.ForEachRow(rows, []any{&column, &condition, &hint}, func() error {
		f := t.field(column)
		if f == nil {
			return nil
		}
		if hint != "" && f.hint == "" {
			f.hint = hint
		}
		for _, pattern := range []*regexp.Regexp{oneOf, anyOf} {
			if m := pattern.FindStringSubmatch(condition); m != nil && f.category != "A" {
				f.allowed = nil
				for _, value := range quotes.FindAllStringSubmatch(m[1], -1) {
					f.allowed = append(f.allowed, strings.ReplaceAll(value[1], "''", "'"))
				}
			}
		}
		if m := between.FindStringSubmatch(condition); m != nil {
			f.least, f.most = m[1], m[2]
		} else if m := atLeast.FindStringSubmatch(condition); m != nil {
			f.least = m[1]
		}
		return nil
	})
	return err
}

// loadTargets reads which columns refer to records of which table. A foreign key with
// account and region beside the column that tells is one of that column.
func (t *formTable) loadTargets(ctx context.Context, tx pgx.Tx) error {
	rows, err := tx.Query(ctx, `
		SELECT p.ours[cardinality(p.ours)], d.relname, p.theirs[cardinality(p.theirs)], p.kinds[cardinality(p.kinds)], false, m.names, m.identity
		FROM pg_constraint k
		JOIN pg_class d ON d.oid = k.confrelid AND d.relnamespace = 'public'::regnamespace
		JOIN iasql_internal.managed_table m ON m.name = d.relname
		CROSS JOIN LATERAL (
			SELECT array_agg(a.attname::text ORDER BY a.attname = 'account' DESC, a.attname = 'region' DESC, x.n) AS ours,
				array_agg(b.attname::text ORDER BY a.attname = 'account' DESC, a.attname = 'region' DESC, x.n) AS theirs,
				array_agg(format_type(b.atttypid, NULL) ORDER BY a.attname = 'account' DESC, a.attname = 'region' DESC, x.n) AS kinds,
				count(*) FILTER (WHERE a.attname NOT IN ('account', 'region')) AS telling
			FROM unnest(k.conkey, k.confkey) WITH ORDINALITY x (mine, other, n)
			JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = x.mine
			JOIN pg_attribute b ON b.attrelid = k.confrelid AND b.attnum = x.other) p
		WHERE k.conrelid = $2 AND k.contype = 'f' AND p.telling <= 1
		UNION ALL
		SELECT l."column", l.target, 'id', 'bigint', true, m.names, m.identity
		FROM iasql_internal.lists_in($1) l JOIN iasql_internal.managed_table m ON m.name = l.target`, t.name, t.oid)
	if err != nil {
		return err
	}
	var column string
	var to target
	var list bool
	into := []any{&column, &to.table, &to.key, &to.kind, &list, &to.names, &to.identity}
	_, err = pgx.ForEachRow(rows, into, func() error {
		if f := t.field(column); f != nil && f.refers == nil {
			found := to
			f.refers, f.list = &found, list
		}
		return nil
	})
	return err
}
