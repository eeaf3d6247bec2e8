package console

import (
	"time"

	"github.com/jackc/pgx/v5"
	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"
)

// mostAsOf bounds the tables that are shown whole as they were: that takes all of
// their rows.
const mostAsOf = 20000

// formTime is how <input type="datetime-local"> sends a time (HTML standard,
// section 2.3.5.5); times here are UTC.
const formTime = "2006-01-02T15:04"

func parseTime(text string, otherwise time.Time) time.Time {
	for _, layout := range []string{formTime, "2006-01-02T15:04:05", time.RFC3339} {
		if at, err := time.Parse(layout, text); err == nil {
			return at
		}
	}
	return otherwise
}

// moved is a record that changed between two times.
type moved struct {
	id       int64
	from, to map[string]any
	kind     string
	n        int64
}

func (c *Console) asOf(v *visit) {
	now := time.Now().UTC().Truncate(time.Minute)
	name := v.r.FormValue("table")
	from, until := parseTime(v.r.FormValue("from"), now.Add(-24*time.Hour)),
		parseTime(v.r.FormValue("until"), now.Add(time.Minute))
	whole := v.r.FormValue("whole") != ""
	var tables []*tableInfo
	var changed []moved
	var rows []map[string]any
	var tooBig bool
	err := v.session.read(v.ctx(), func(tx pgx.Tx) (err error) {
		if tables, err = loadTables(v.ctx(), tx, false); err != nil || name == "" {
			return err
		}
		t, err := findTable(v.ctx(), tx, name)
		if err != nil {
			return err
		}
		if !whole {
			changed, err = loadMoved(v, tx, t.name, from, until)
			return err
		}
		if tooBig = t.estimate > mostAsOf; tooBig {
			return nil
		}
		got, err := tx.Query(v.ctx(), `SELECT r.record FROM public.iasql_as_of($1::text, $2::timestamptz) r LIMIT 201`,
			t.name, from)
		if err != nil {
			return err
		}
		rows, err = pgx.CollectRows(got, pgx.RowTo[map[string]any])
		return err
	})
	if err != nil {
		v.failed(err)
		return
	}
	form := h.Form(h.Class("filter"), h.Method("get"), h.Action("/as-of"),
		h.Label(h.For("table"), g.Text("Table")),
		h.Select(h.ID("table"), h.Name("table"), g.Map(tables, func(t *tableInfo) g.Node {
			return h.Option(h.Value(t.name), g.If(t.name == name, h.Selected()), g.Text(t.name))
		})),
		h.Label(h.For("from"), g.Text("From (UTC)")),
		h.Input(h.ID("from"), h.Name("from"), h.Type("datetime-local"), h.Value(from.Format(formTime))),
		h.Label(h.For("until"), g.Text("Until (UTC)")),
		h.Input(h.ID("until"), h.Name("until"), h.Type("datetime-local"), h.Value(until.Format(formTime))),
		h.Button(h.Class("primary"), h.Type("submit"), g.Text("What changed")),
		h.Button(h.Type("submit"), h.Name("whole"), h.Value("1"), g.Text("The table as it was at “from”")))
	content := g.Node(h.Div(h.Class("card"),
		empty("Choose a table. The audit log knows every change of it, by people and by the engine, for as long as "+
			"audit_retention says.",
			"SELECT * FROM iasql_as_of(NULL::a_table, now() - interval '1 hour');")))
	switch {
	case name == "":
	case tooBig:
		content = h.Div(h.Class("alert bad"),
			h.P(g.Text("The table has over 20,000 records: ask for it in psql, which has the time.")),
			h.Pre(h.Class("sql"), g.Text("SELECT * FROM iasql_as_of(NULL::"+ident(name)+", "+
				literal(from.Format(time.RFC3339))+");")))
	case whole:
		content = section(name+" as of "+from.Format("2006-01-02 15:04 UTC"), asOfTable(rows))
	default:
		content = movedCard(name, changed)
	}
	v.page("As of", "Any table as it was, and what changed between two times.", form, content)
}

const mostMoved = 300

// loadMoved reads the audit log of a table between two times: of each column the
// oldest original and the newest value.
func loadMoved(v *visit, tx pgx.Tx, name string, from, until time.Time) ([]moved, error) {
	rows, err := tx.Query(v.ctx(), `
		WITH l AS (
			SELECT l.id, l.record_id, l.change_type, l.change FROM public.iasql_audit_log l
			WHERE l.ts > $2 AND l.ts <= $3 AND l.table_name = $1 AND l.change_type IN ('INSERT', 'UPDATE', 'DELETE') AND length(l.change::text) < 20000
			ORDER BY l.id DESC LIMIT 5000
		), o AS (
			SELECT f.record_id, jsonb_object_agg(f.key, f.value) AS image FROM (
				SELECT DISTINCT ON (l.record_id, e.key) l.record_id, e.key, e.value FROM l CROSS JOIN LATERAL jsonb_each(CASE WHEN jsonb_typeof(l.change -> 'original') = 'object' THEN l.change -> 'original' ELSE '{}' END) e
				ORDER BY l.record_id, e.key, l.id) f GROUP BY 1
		), n AS (
			SELECT f.record_id, jsonb_object_agg(f.key, f.value) AS image FROM (
				SELECT DISTINCT ON (l.record_id, e.key) l.record_id, e.key, e.value FROM l CROSS JOIN LATERAL jsonb_each(CASE WHEN jsonb_typeof(l.change -> 'change') = 'object' THEN l.change -> 'change' ELSE '{}' END) e
				ORDER BY l.record_id, e.key, l.id DESC) f GROUP BY 1
		), k AS (
			SELECT l.record_id, (array_agg(l.change_type ORDER BY l.id))[1] AS first, (array_agg(l.change_type ORDER BY l.id DESC))[1] AS last, count(*) AS n, max(l.id) AS newest FROM l GROUP BY 1
		)
		SELECT k.record_id, coalesce(o.image, '{}'), coalesce(n.image, '{}'),
			CASE WHEN k.first = 'INSERT' AND k.last = 'DELETE' THEN 'came and went' WHEN k.last = 'DELETE' THEN 'deleted' WHEN k.first = 'INSERT' THEN 'created' ELSE 'changed' END, k.n
		FROM k LEFT JOIN o USING (record_id) LEFT JOIN n USING (record_id) ORDER BY k.newest DESC LIMIT $4`, name, from,
		until, mostMoved)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (moved, error) {
		var m moved
		return m, row.Scan(&m.id, &m.from, &m.to, &m.kind, &m.n)
	})
}

func movedCard(name string, changed []moved) g.Node {
	if len(changed) == 0 {
		return h.Div(h.Class("card"), empty("Nothing of "+name+" changed in that time, or nothing that you may see."))
	}
	return h.Section(h.Class("card plan"), h.H2(g.Text(grouped(int64(len(changed)))+" records of "+name+" changed")),
		g.Map(changed, func(m moved) g.Node { return m.step(name) }))
}

// step shows how a record of a table has changed.
func (m moved) step(table string) g.Node {
	class := map[string]string{"created": "create", "deleted": "delete", "changed": "update", "came and went": "pull"}
	details := map[string]any{"original": m.from, "change": m.to}
	if m.kind != "changed" {
		details = nil
	}
	return h.Div(h.Class("step "+class[m.kind]),
		h.P(h.Span(h.Class("state mode"), g.Text(m.kind)), recordLink(table, m.id),
			h.Span(h.Class("muted small"), g.Text(entries(m.n)))), changes(details))
}

func entries(n int64) string {
	if n == 1 {
		return " 1 entry"
	}
	return " " + grouped(n) + " entries"
}

func asOfTable(rows []map[string]any) g.Node {
	if len(rows) == 0 {
		return empty("The table was empty then, or you see nothing of it.")
	}
	more := len(rows) > 200
	rows = rows[:min(len(rows), 200)]
	columns := sortedKeys(rows[0])
	cells := make([][]string, len(rows))
	for i, r := range rows {
		for _, c := range columns {
			cells[i] = append(cells[i], shorten(compact(r[c]), 80))
		}
	}
	return g.Group([]g.Node{plainTable(columns, cells),
		g.If(more, h.P(h.Class("muted small"), g.Text("The first 200.")))})
}
