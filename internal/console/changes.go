package console

import (
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"
)

// spans are how far back the page of changes looks, in hours.
var spans = []struct {
	hours int
	text  string
}{{1, "1 hour"}, {24, "24 hours"}, {24 * 7, "7 days"}}

// changeInfo is a row of iasql_changes_since.
type changeInfo struct {
	ts                 *time.Time
	table              string
	id                 int64
	name, by           *string
	action, where, how string
	from, to           map[string]any
	before             string // the moment before
}

// changedSince shows what has changed, wherever it was changed: read only, and without scripts.
func (c *Console) changedSince(v *visit) {
	hours, err := strconv.Atoi(v.r.FormValue("hours"))
	if err != nil || hours < 1 || hours > 24*7 {
		hours = 24
	}
	page, err := strconv.Atoi(v.r.FormValue("page"))
	if err != nil || page < 0 || page > 100000 {
		page = 0
	}
	table, person := v.r.FormValue("table"), v.r.FormValue("by")
	var tables []*tableInfo
	var list []changeInfo
	err = v.session.read(v.ctx(), func(tx pgx.Tx) (err error) {
		if tables, err = loadTables(v.ctx(), tx, false); err != nil {
			return err
		}
		list, err = loadChanges(v, tx, hours, table, person, page)
		return err
	})
	if err != nil {
		v.failed(err)
		return
	}
	more := len(list) > feedSize
	if more {
		list = list[:feedSize]
	}
	v.live = page == 0
	here := func(hours, page int) string {
		pages := ""
		if page > 0 {
			pages = strconv.Itoa(page)
		}
		return to("/changes", "hours", strconv.Itoa(hours), "table", table, "by", person, "page", pages)
	}
	v.page("Changed since", "What has changed, here or in the cloud, by whom, and how that is known.",
		h.Nav(h.Class("tabs"), g.Attr("aria-label", "Since when"), g.Map(spans, func(s struct {
			hours int
			text  string
		}) g.Node {
			return h.A(h.Href(here(s.hours, 0)), g.If(s.hours == hours, g.Attr("aria-current", "true")), g.Text(s.text))
		})),
		changesFilter(tables, hours, table, person),
		v.changesList(list),
		h.Nav(h.Class("pager"), g.Attr("aria-label", "Pages of the list"),
			g.If(page > 0, h.A(h.Rel("prev"), h.Href(here(hours, page-1)), g.Text("‹ Newer"))),
			g.If(more, h.A(h.Rel("next"), h.Href(here(hours, page+1)), g.Text("Older ›")))))
}

func loadChanges(v *visit, tx pgx.Tx, hours int, table, person string, page int) ([]changeInfo, error) {
	rows, err := tx.Query(v.ctx(), `
		SELECT c.ts, c.table_name, c.record_id, left(c.name, 300), c.action, left(c.by_whom, 500), c.from_where, c.how_known,
		       CASE WHEN length(c."from"::text) < 20000 THEN c."from" END, CASE WHEN length(c."to"::text) < 20000 THEN c."to" END,
		       to_char((c.ts - interval '1 microsecond') AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
		FROM public.iasql_changes_since(now() - make_interval(hours => $1::integer)) c
		WHERE ($2::text = '' OR c.table_name = $2::text) AND ($3::text = '' OR position(lower($3::text) IN lower(c.by_whom)) > 0)
		ORDER BY c.ts DESC, c.table_name, c.record_id LIMIT $4 OFFSET $5`, hours, table, person, feedSize+1, page*feedSize)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (changeInfo, error) {
		var e changeInfo
		return e, row.Scan(&e.ts, &e.table, &e.id, &e.name, &e.action, &e.by, &e.where, &e.how, &e.from, &e.to, &e.before)
	})
}

func changesFilter(tables []*tableInfo, hours int, table, person string) g.Node {
	return h.Form(h.Class("filter"), h.Method("get"), h.Action("/changes"),
		h.Input(h.Type("hidden"), h.Name("hours"), h.Value(strconv.Itoa(hours))),
		h.Label(h.For("table"), g.Text("Table")),
		h.Select(h.ID("table"), h.Name("table"), h.Option(h.Value(""), g.Text("all")), g.Map(tables, func(t *tableInfo) g.Node {
			return h.Option(h.Value(t.name), g.If(t.name == table, h.Selected()), g.Text(t.name))
		})),
		h.Label(h.For("by"), g.Text("By whom")),
		h.Input(h.ID("by"), h.Name("by"), h.Type("text"), h.Value(person), h.Placeholder("a part of the name")),
		h.Button(h.Class("primary"), h.Type("submit"), g.Text("Show")))
}

func (v *visit) changesList(list []changeInfo) g.Node {
	if len(list) == 0 {
		return h.Div(h.Class("card"), empty("Nothing has changed since then, or nothing that you may see.",
			"SELECT * FROM iasql_changes_since(now() - interval '1 hour');"))
	}
	rows := g.Map(list, func(e changeInfo) g.Node {
		by := deref(e.by)
		if by == "" {
			by = "–"
		}
		details := map[string]any{}
		if e.from != nil && e.to != nil {
			details["original"], details["change"] = e.from, e.to
		}
		return h.Tr(h.Td(when(e.ts)), h.Td(recordLink(e.table, e.id), h.P(h.Class("muted small message"), g.Text(deref(e.name)))),
			h.Td(h.Class("wide"), h.Strong(g.Text(e.action)), changes(details),
				g.If(e.action != "insert", h.Details(h.Summary(g.Text("Take it back")),
					v.button(restore(e.table, e.id, e.before), "table", e.table, "id", number(e.id), "at", e.before)))),
			h.Td(g.Text(by)), h.Td(g.Text(e.where)), h.Td(g.Text(e.how)))
	})
	return h.Div(h.Class("card feed"), rowsOf([]string{"When", "Record", "What", "By whom", "From where", "How known"}, rows))
}
