package console

import (
	"context"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"iasql/internal/modules"
)

// Of so many columns a list consists unless others are chosen; so many of them a card of
// a narrow page shows at once.
const (
	mostListed = 7
	mostFaced  = 4
)

// readColumns takes which columns are shown: a name each, or several with commas between.
func (q *listQuery) readColumns(given []string, t *tableInfo, columns []*columnInfo) {
	add := func(name string) {
		switch {
		case name == "" || name == "id" || slices.Contains(q.columns, name):
		case find(columns, name) == nil:
			q.said = append(q.said, noColumn(t, name)+" It is left out.")
		default:
			q.columns = append(q.columns, name)
		}
	}
	for _, text := range given {
		if find(columns, text) != nil {
			add(text)
			continue
		}
		for _, name := range strings.Split(text, ",") {
			add(strings.TrimSpace(name))
		}
	}
}

// scopes are the accounts and the regions that the engine looks at.
type scopes struct{ accounts, regions []string }

// loadScopes reads the accounts, and the regions of the table that columns of that name
// refer to.
func loadScopes(ctx context.Context, tx pgx.Tx) (s scopes, err error) {
	rows, err := tx.Query(ctx, `SELECT w.account FROM public.iasql_worlds w ORDER BY 1 LIMIT 200`)
	if err != nil {
		return s, err
	}
	if s.accounts, err = pgx.CollectRows(rows, pgx.RowTo[string]); err != nil {
		return s, err
	}
	rows, err = tx.Query(ctx, `
		SELECT DISTINCT d.relname::text, b.attname::text, coalesce(has_column_privilege(d.oid, e.attnum, 'SELECT'), false)
		FROM pg_constraint k
		JOIN pg_class d ON d.oid = k.confrelid AND d.relnamespace = 'public'::regnamespace
		JOIN public.iasql_tables t ON t."table" = d.relname
		JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = k.conkey[cardinality(k.conkey)] AND a.attname = 'region'
		JOIN pg_attribute b ON b.attrelid = k.confrelid AND b.attnum = k.confkey[cardinality(k.confkey)]
		LEFT JOIN pg_attribute e ON e.attrelid = d.oid AND e.attname = 'is_enabled' AND e.atttypid = 'bool'::regtype
		WHERE k.contype = 'f' AND NOT EXISTS (
		      SELECT FROM unnest(k.conkey) x JOIN pg_attribute y ON y.attrelid = k.conrelid AND y.attnum = x WHERE y.attname NOT IN ('account', 'region'))
		  AND has_column_privilege(d.oid, b.attnum, 'SELECT') LIMIT 1`)
	if err != nil {
		return s, err
	}
	var name, column string
	var enabled bool
	if _, err = pgx.ForEachRow(rows, []any{&name, &column, &enabled}, func() error { return nil }); err != nil ||
		name == "" {
		return s, err
	}
	sql := "SELECT DISTINCT t." + ident(column) + "::text FROM " + table(name) + " t"
	if enabled {
		sql += " WHERE t.is_enabled"
	}
	if rows, err = tx.Query(ctx, sql+" ORDER BY 1 LIMIT 200", pgx.QueryExecModeExec); err != nil {
		return s, err
	}
	s.regions, err = pgx.CollectRows(rows, pgx.RowTo[string])
	return s, err
}

// order are the columns of a table in the order in which a list shows them: what the
// records are called by first, then where they are, what has to be said, what they refer to,
// what people write, and the rest. Of the first so many a list consists unless others are chosen.
func (s scopes) order(form *formTable, columns []*columnInfo) (ordered []*columnInfo, usual int) {
	rank := func(c *columnInfo) int {
		f := form.field(c.name)
		switch {
		case f != nil && f.secret:
			return 10
		case f != nil && (f.naming || f.telling && f.required && strings.HasSuffix(c.name, "_name")) ||
			c.name == "name":
			return 0
		case c.name == "tags":
			return 1
		case c.identity:
			return 2
		case c.name == modules.ColumnRegion:
			if len(s.regions) > 1 {
				return 3
			}
			return 8
		case c.name == modules.ColumnAccount:
			if len(s.accounts) > 1 {
				return 3
			}
			return 8
		case c.document():
			return 9
		case f != nil && f.required:
			return 4
		case f != nil && f.refers != nil:
			return 5
		case c.assigned:
			return 7
		}
		return 6
	}
	for _, c := range columns {
		if c.name != "id" {
			ordered = append(ordered, c)
		}
	}
	slices.SortStableFunc(ordered, func(a, b *columnInfo) int { return rank(a) - rank(b) })
	for _, c := range ordered {
		if rank(c) < 9 && usual < mostListed {
			usual++
		}
	}
	return ordered, usual
}

// chosen are the columns that the list shows: those that were chosen, else the usual ones
// and what the list is filtered or ordered by.
func (q listQuery) chosen(ordered []*columnInfo, usual int) (shown []*columnInfo) {
	if len(q.columns) == 0 {
		shown = slices.Clone(ordered[:usual])
		asked := []string{q.sort}
		for _, c := range q.conditions {
			asked = append(asked, c.column)
		}
		for _, name := range asked {
			if c := find(ordered, name); c != nil && !slices.Contains(shown, c) {
				shown = append(shown, c)
			}
		}
		return shown
	}
	for _, name := range q.columns {
		shown = append(shown, find(ordered, name))
	}
	return shown
}

// columnForm chooses which columns the list shows, and by which it is ordered.
func (v *visit) columnForm(t *tableInfo, ordered, shown []*columnInfo, q listQuery) g.Node {
	sorts := []g.Node{h.Option(h.Value("id"), g.Text("id"))}
	for _, c := range ordered {
		if c.sortable() {
			sorts = append(sorts, h.Option(h.Value(c.name), g.If(q.sort == c.name, h.Selected()), g.Text(c.name)))
		}
	}
	listed := append(slices.Clone(shown), slices.DeleteFunc(slices.Clone(ordered), func(c *columnInfo) bool {
		return slices.Contains(shown, c)
	})...)
	return h.Details(h.Class("card chooser"),
		h.Summary(g.Text("More columns and order "), h.Span(h.Class("muted small"),
			g.Textf("%d of %d shown", len(shown), len(ordered)))),
		h.Form(h.Method("get"), h.Action("/records/"+t.name),
			q.hidden(func(q *listQuery) { q.columns, q.sort, q.descending, q.anyway = nil, "id", false, false }),
			h.FieldSet(h.Legend(g.Text("Columns")), h.Div(h.Class("boxes"), g.Map(listed, func(c *columnInfo) g.Node {
				return h.Label(h.Class("check"), g.Attr("title", c.doc),
					h.Input(h.Type("checkbox"), h.Name("columns"), h.Value(c.name),
						g.If(slices.Contains(shown, c), h.Checked())), g.Text(c.name))
			}))),
			h.Div(h.Class("send"),
				h.Label(h.For("sort"), g.Text("Order by")), h.Select(h.ID("sort"), h.Name("sort"), g.Group(sorts)),
				h.Label(h.Class("hidden"), h.For("dir"), g.Text("Direction")),
				h.Select(h.ID("dir"), h.Name("dir"), h.Option(h.Value(""), g.Text("ascending")),
					h.Option(h.Value("desc"), g.If(q.descending, h.Selected()), g.Text("descending"))),
				h.Button(h.Type("submit"), g.Text("Show these")),
				g.If(len(q.columns) > 0, h.A(h.Href(q.address(t.name, func(q *listQuery) { q.columns = nil })),
					g.Text("Back to the usual columns"))))))
}
