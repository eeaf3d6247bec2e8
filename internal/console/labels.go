package console

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"iasql/internal/modules"
)

// called is a record that a reference leads to, as somebody who may see it calls it.
type called struct {
	id            int64
	label, object string // object: what the cloud calls it
}

// labels are the records that the references of a page lead to: by the target, and by
// the value that refers.
type labels map[string]map[string]called

// refersTo returns what the column refers to, unless that is the account or the region,
// whose names say it all.
func (t *formTable) refersTo(column string) *target {
	f := t.field(column)
	if f == nil || f.refers == nil || column == modules.ColumnAccount || column == modules.ColumnRegion {
		return nil
	}
	return f.refers
}

// elements are the values of a reference, or of a list of references, as PostgreSQL writes
// them. Of a text that was cut the last one is left out.
func elements(text *string, most int) []string {
	if text == nil {
		return nil
	}
	inner, list := strings.CutPrefix(*text, "{")
	if !list {
		return []string{*text}
	}
	whole := len(*text) <= most
	inner = strings.TrimSuffix(inner, "}")
	if inner == "" {
		return nil
	}
	all := strings.Split(inner, ",")
	if !whole {
		all = all[:len(all)-1]
	}
	return slices.DeleteFunc(all, func(e string) bool { return e == "NULL" })
}

// namesIt is the condition that a column a of a table m whose records have no column to be called
// by names them all the same: it is of what tells them apart, and each has one.
const namesIt = `(a.attname = ANY (m.natural_key) AND a.attname ~ '(^|_)name$' AND (a.attnotnull OR a.attname = ANY (m.required)))`

// loadLabels reads what records are called, those of all tables with one query. What the
// visitor may not see is left out.
func loadLabels(ctx context.Context, tx pgx.Tx, wanted map[*target][]string) (labels, error) {
	found := labels{}
	by := map[string]*target{}
	values := map[string][]string{}
	for to, list := range wanted {
		by[to.name()] = to
		values[to.name()] = append(values[to.name()], list...)
	}
	var names, tables, columns []string
	for name, to := range by {
		if len(values[name]) == 0 {
			continue
		}
		names = append(names, name)
		tables = append(tables, to.table)
		columns = append(append(append(columns, to.key), to.names...), to.identity...)
	}
	if len(names) == 0 {
		return found, nil
	}
	slices.Sort(names)
	rows, err := tx.Query(ctx, `
		SELECT c.relname, a.attname, n.naming FROM pg_attribute a
		JOIN pg_class c ON c.oid = a.attrelid AND c.relnamespace = 'public'::regnamespace
		JOIN iasql_internal.managed_table m ON m.name = c.relname
		CROSS JOIN LATERAL (SELECT `+namesIt+` AS naming) n
		WHERE c.relname = ANY ($1) AND a.attnum > 0 AND NOT a.attisdropped AND (a.attname = ANY ($2::text[] || '{id,tags}'::text[]) OR n.naming)
		  AND has_column_privilege(a.attrelid, a.attnum, 'SELECT') ORDER BY 1, a.attnum`, tables, columns)
	if err != nil {
		return nil, err
	}
	readable, naming := map[string][]string{}, map[string][]string{}
	var t, column string
	var tells bool
	if _, err := pgx.ForEachRow(rows, []any{&t, &column, &tells}, func() error {
		if tells {
			naming[t] = append(naming[t], column)
		}
		readable[t] = append(readable[t], column)
		return nil
	}); err != nil {
		return nil, err
	}
	var parts []string
	args := []any{pgx.QueryExecModeExec}
	for _, name := range names {
		to := by[name]
		list := readable[to.table]
		if !slices.Contains(list, "id") || !slices.Contains(list, to.key) {
			continue
		}
		quoted := make([]string, len(list))
		for i, c := range list {
			quoted[i] = "s." + ident(c)
		}
		n := len(args) - 1
		parts = append(parts, fmt.Sprintf(`
			SELECT $%[1]d::text, t.%[2]s::text, t.id::bigint, coalesce(left(iasql_internal.label(to_jsonb(t), $%[3]d::text[], $%[4]d::text[]), 200), ''),
				coalesce(left(iasql_internal.label(to_jsonb(t) - 'tags', '{}', $%[4]d::text[]), 200), '')
			FROM (SELECT %[6]s FROM %[7]s s WHERE s.%[2]s = ANY ($%[5]d::text[]::%[8]s[])) t`, n+1, ident(to.key), n+2, n+3, n+4,
			strings.Join(quoted, ", "), table(to.table), to.kind))
		called := to.names
		if len(called) == 0 { // what tells one from another, if that is a name
			called = naming[to.table]
		}
		slices.Sort(values[name])
		args = append(args, name, called, to.identity, slices.Compact(values[name]))
	}
	if len(parts) == 0 {
		return found, nil
	}
	rows, err = tx.Query(ctx, strings.Join(parts, " UNION ALL "), args...)
	if err != nil {
		return nil, err
	}
	var name, value string
	var r called
	_, err = pgx.ForEachRow(rows, []any{&name, &value, &r.id, &r.label, &r.object}, func() error {
		if found[name] == nil {
			found[name] = map[string]called{}
		}
		found[name][value] = r
		return nil
	})
	return found, err
}

// loadNames reads what records are called, those of all tables at once. What the visitor may
// not see is left out.
func loadNames(ctx context.Context, tx pgx.Tx, keys []recordKey) (map[recordKey]called, error) {
	ids := map[string][]string{}
	for _, k := range keys {
		ids[k.table] = append(ids[k.table], number(k.id))
	}
	rows, err := tx.Query(ctx, `SELECT m.name, m.names, m.identity FROM iasql_internal.managed_table m WHERE m.name = ANY ($1)`,
		slices.Collect(maps.Keys(ids)))
	if err != nil {
		return nil, err
	}
	wanted := map[*target][]string{}
	if _, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (struct{}, error) {
		to := &target{key: modules.ColumnID, kind: "bigint"}
		err := row.Scan(&to.table, &to.names, &to.identity)
		wanted[to] = ids[to.table]
		return struct{}{}, err
	}); err != nil {
		return nil, err
	}
	found, err := loadLabels(ctx, tx, wanted)
	if err != nil {
		return nil, err
	}
	names := map[recordKey]called{}
	for to := range wanted {
		for _, r := range found[to.name()] {
			names[recordKey{to.table, r.id}] = r
		}
	}
	return names, nil
}

// mostNamed is how many references of a list are named in a cell.
const mostNamed = 4

// show links to the records that a reference, or a list of them, leads to. Of a record that
// the visitor may not see there is the number alone.
func (l labels) show(to *target, text string, cut, most int) g.Node {
	all := elements(&text, cut)
	var links []g.Node
	for i, value := range all {
		if i == most {
			links = append(links, h.Span(h.Class("muted"), g.Text(", +"+strconv.Itoa(len(all)-i))))
			break
		}
		if i > 0 {
			links = append(links, g.Text(", "))
		}
		r, seen := l[to.name()][value]
		if !seen {
			links = append(links, h.Span(h.Class("value mono"), g.Text(value)))
			continue
		}
		links = append(links, r.link(to.table))
	}
	return g.Group(links)
}

func (r called) link(table string) g.Node {
	name, object := r.label, r.object
	if name == "" {
		name = table + " " + number(r.id)
	}
	if object == name || object == "" {
		return h.A(h.Class("ref"), h.Href(recordPath(table, r.id)), g.Text(shorten(brief(name), 48)))
	}
	// The end of a long name tells more than its beginning.
	object = brief(object)
	if object == name {
		object = ""
	}
	return h.A(h.Class("ref"), h.Href(recordPath(table, r.id)), g.Text(shorten(name, 48)),
		g.If(object != "", h.Span(h.Class("muted"), g.Text(" ("+shorten(object, 12)+")"))))
}

// brief is the end of a name that is made of parts, such as a path.
func brief(name string) string {
	if len(name) <= 32 {
		return name
	}
	if i := strings.LastIndexAny(name, "/:"); i >= 0 && i < len(name)-1 {
		return name[i+1:]
	}
	return name
}
