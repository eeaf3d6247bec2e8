package console

import (
	"context"
	"net/url"
	"strings"

	"github.com/jackc/pgx/v5"
	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"iasql/internal/modules"
)

// tableList is the list of tables as its address says.
type tableList struct {
	module, name    string // a part of it
	full            bool   // only tables with records
	account, region string // into which the links go
}

func (l tableList) address(change func(*tableList)) string {
	change(&l)
	full := ""
	if l.full {
		full = "hide"
	}
	return to("/records", "q", l.name, "module", l.module, "empty", full, "account", l.account, "region", l.region)
}

// shows reports whether the list has a table.
func (l tableList) shows(t *tableInfo) bool {
	return (l.module == "" || t.module == l.module) && strings.Contains(t.name, strings.ToLower(l.name)) &&
		!(l.full && t.readable && t.exact && t.records == 0)
}

// link leads to the records of a table, those of the account and the region if it has them.
func (l tableList) link(t *tableInfo, scoped map[string][]string) string {
	var pairs []string
	for _, column := range scoped[t.name] {
		value := l.account
		if column == modules.ColumnRegion {
			value = l.region
		}
		if value != "" {
			pairs = append(pairs, "c", column, "o", "eq", "v", value)
		}
	}
	return to("/records/"+url.PathEscape(t.name), pairs...)
}

// loadScoped reads which tables have an account and a region that the visitor may read.
func loadScoped(ctx context.Context, tx pgx.Tx) (map[string][]string, error) {
	rows, err := tx.Query(ctx, `
		SELECT t."table", a.attname FROM public.iasql_tables t
		JOIN pg_class c ON c.relname = t."table" AND c.relnamespace = 'public'::regnamespace
		JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname IN ('account', 'region')
		WHERE has_column_privilege(c.oid, a.attnum, 'SELECT') ORDER BY 1, 2`)
	if err != nil {
		return nil, err
	}
	scoped := map[string][]string{}
	var name, column string
	_, err = pgx.ForEachRow(rows, []any{&name, &column}, func() error {
		scoped[name] = append(scoped[name], column)
		return nil
	})
	return scoped, err
}

// tables lists the managed tables.
func (c *Console) tables(v *visit) {
	var tables []*tableInfo
	var states []stateCount
	var where scopes
	var scoped map[string][]string
	err := v.session.read(v.ctx(), func(tx pgx.Tx) (err error) {
		if tables, err = loadTables(v.ctx(), tx, true); err != nil {
			return err
		}
		if where, err = loadScopes(v.ctx(), tx); err != nil {
			return err
		}
		if scoped, err = loadScoped(v.ctx(), tx); err != nil {
			return err
		}
		states, _, err = loadStates(v.ctx(), tx)
		return err
	})
	if err != nil {
		v.failed(err)
		return
	}
	v.live = true
	if len(tables) == 0 {
		v.page("Records", "", empty("No tables yet: install a module.", v.installs()),
			h.P(h.A(h.Href("/modules"), g.Text("Modules →"))))
		return
	}
	form := v.r.URL.Query()
	list := tableList{module: form.Get("module"), name: strings.TrimSpace(shorten(form.Get("q"), 63)),
		full: form.Get("empty") == "hide", account: form.Get("account"), region: form.Get("region")}
	unsettled := map[string]int64{}
	for _, s := range states {
		unsettled[s.table] += s.n
	}
	var rows []g.Node
	for _, t := range tables {
		if !list.shows(t) {
			continue
		}
		mark := settled(t.records)
		if t.lastSeen == nil && !t.settings {
			mark = h.Span(h.Class("state busy"), g.Text("Not read yet"))
		}
		if n := unsettled[t.name]; n > 0 {
			mark = h.Span(h.Class("state busy"), g.Text(grouped(n)+" not settled"))
		}
		rows = append(rows, h.Tr(h.Td(h.A(h.Href(list.link(t, scoped)), g.Text(t.name))),
			h.Td(h.A(h.Class("muted"), h.Href(list.address(func(l *tableList) { l.module = t.module })),
				g.Text(t.module))),
			h.Td(h.Class("num"), g.Text(t.size())), h.Td(mark), h.Td(ago(t.lastSeen))))
	}
	content := h.Div(h.Class("card"), empty("No table matches."),
		h.P(h.A(h.Href("/records"), g.Text("All tables"))))
	if len(rows) > 0 {
		content = h.Div(h.Class("card tables"), rowsOf([]string{"Table", "Module", "Records", "State",
			"Last look at the cloud"}, rows))
	}
	lead := "Every managed table. Each is an ordinary table: SELECT, INSERT, UPDATE and DELETE are how one changes " +
		"the cloud."
	v.page("Records", lead, list.form(where), content)
}

// form filters the list, and says into which account and region its links go.
func (l tableList) form(where scopes) g.Node {
	choice := func(name, every, value string, values []string) g.Node {
		if len(values) < 2 {
			return g.If(value != "", h.Input(h.Type("hidden"), h.Name(name), h.Value(value)))
		}
		return g.Group([]g.Node{h.Label(h.Class("hidden"), h.For("in-"+name), g.Text("Links show the "+name)),
			h.Select(h.ID("in-"+name), h.Name(name), h.Option(h.Value(""), g.Text(every)),
				g.Map(values, func(text string) g.Node {
					return h.Option(h.Value(text), g.If(text == value, h.Selected()), g.Text(text))
				}))})
	}
	var chips []g.Node
	chip := func(text string, away func(*tableList)) {
		chips = append(chips, h.Span(h.Class("chip on"), g.Text(text+" "),
			h.A(h.Class("away"), h.Aria("label", "Remove the filter "+text), h.Href(l.address(away)), g.Text("×"))))
	}
	if l.name != "" {
		chip("name contains "+l.name, func(l *tableList) { l.name = "" })
	}
	if l.module != "" {
		chip("module "+l.module, func(l *tableList) { l.module = "" })
	}
	if l.account != "" {
		chip("links show account "+shorten(l.account, 60), func(l *tableList) { l.account = "" })
	}
	if l.region != "" {
		chip("links show region "+shorten(l.region, 60), func(l *tableList) { l.region = "" })
	}
	if l.full {
		chip("without empty tables", func(l *tableList) { l.full = false })
	} else {
		chips = append(chips, h.A(h.Class("chip"), h.Href(l.address(func(l *tableList) { l.full = true })),
			g.Text("hide empty tables")))
	}
	return h.Div(h.Class("filters"),
		h.Form(h.Class("filter"), h.Method("get"), h.Action("/records"), h.Role("search"),
			g.If(l.module != "", h.Input(h.Type("hidden"), h.Name("module"), h.Value(l.module))),
			g.If(l.full, h.Input(h.Type("hidden"), h.Name("empty"), h.Value("hide"))),
			h.Label(h.Class("hidden"), h.For("q"), g.Text("Name of the table")),
			h.Input(h.ID("q"), h.Name("q"), h.Type("search"), h.Value(l.name), h.MaxLength("63"),
				h.Placeholder("name of a table"), g.Attr("data-search", "")),
			choice("account", "all accounts", l.account, where.accounts),
			choice("region", "all regions", l.region, where.regions),
			h.Button(h.Type("submit"), g.Text("Filter"))),
		h.Div(h.Class("chips"), g.Group(chips)))
}
