package console

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"
)

// spans are how far back the page of changes looks, in hours, where no time is chosen.
var spans = []struct {
	hours int
	text  string
}{{1, "1 hour"}, {24, "24 hours"}, {24 * 7, "7 days"}}

// changeKinds are what the page of changes tells apart.
var changeKinds = []struct{ name, text string }{
	{"edit", "edits"}, {"batch", "batches"}, {"declaration", "declarations"}, {"undo", "undoings"}, {"drift", "drift"},
	{"expiry", "expiry"}, {"replacement", "replacements"}, {"forget", "forgotten"},
}

// changeInfo is a change that somebody has made.
type changeInfo struct {
	entry              int64
	ts                 *time.Time
	table              string
	id                 int64
	name, by           *string
	account            *string
	action, where, how string
	address            *string
	batch              *int64
	from, to           map[string]any
	at, before         string // when it was, and the moment before
}

// changesQuery is what the address of the page of changes says.
type changesQuery struct {
	hours       int
	from, until *time.Time
	table, by   string
	account     string
	kind        string
	at          string // where the page begins: the last one's time, to the microsecond,
	entry       int64  // and its entry
	between     bool   // what is different at until, rather than each change
}

func (v *visit) changesQuery() changesQuery {
	form := v.r.URL.Query()
	q := changesQuery{table: form.Get("table"), by: form.Get("by"), account: form.Get("account"),
		between: form.Get("between") != ""}
	var err error
	if q.hours, err = strconv.Atoi(form.Get("hours")); err != nil || q.hours < 1 || q.hours > 24*7 {
		q.hours = 24
	}
	for name, to := range map[string]**time.Time{"from": &q.from, "until": &q.until} {
		if at := parseTime(form.Get(name), time.Time{}); !at.IsZero() {
			*to = &at
		}
	}
	if slices.ContainsFunc(changeKinds,
		func(k struct{ name, text string }) bool { return k.name == form.Get("kind") }) {
		q.kind = form.Get("kind")
	}
	if at, entry, ok := strings.Cut(form.Get("before"), "_"); ok {
		n, err := strconv.ParseInt(entry, 10, 64)
		if _, wrong := time.Parse(moment, at); err == nil && wrong == nil {
			q.at, q.entry = at, n
		}
	}
	return q
}

// address is that of the page with something changed; from its beginning, unless before says where.
func (q changesQuery) address(change func(*changesQuery), before string) string {
	if change != nil {
		change(&q)
	}
	text := func(at *time.Time) string {
		if at == nil {
			return ""
		}
		return at.Format(formTime)
	}
	hours, between := strconv.Itoa(q.hours), ""
	if q.from != nil {
		hours = ""
	}
	if q.between {
		between = "1"
	}
	return to("/changes", "hours", hours, "from", text(q.from), "until", text(q.until), "table", q.table, "by", q.by,
		"account", q.account, "kind", q.kind, "between", between, "before", before)
}

// since is when the page begins.
func (q changesQuery) since(now time.Time) time.Time {
	if q.from != nil {
		return *q.from
	}
	if q.until != nil {
		now = *q.until
	}
	return now.Add(-time.Duration(q.hours) * time.Hour)
}

// changedSince shows what has changed, wherever it was changed: read only, and without scripts.
func (c *Console) changedSince(v *visit) {
	q := v.changesQuery()
	var tables []*tableInfo
	var accounts []string
	var list []changeInfo
	var different []movedTable
	now := time.Now()
	until := now
	if q.until != nil {
		until = *q.until
	}
	err := v.session.read(v.ctx(), func(tx pgx.Tx) (err error) {
		if tables, err = loadTables(v.ctx(), tx, false); err != nil {
			return err
		}
		rows, err := tx.Query(v.ctx(), `SELECT w.account FROM public.iasql_worlds w ORDER BY 1`)
		if err != nil {
			return err
		}
		if accounts, err = pgx.CollectRows(rows, pgx.RowTo[string]); err != nil {
			return err
		}
		if q.between {
			different, err = loadBetween(v, tx, q, q.since(now), until)
			return err
		}
		list, err = newestChanges(v, tx, q, q.since(now), until)
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
	v.live = q.at == "" && !q.between
	content := []g.Node{
		h.Nav(h.Class("tabs"), g.Attr("aria-label", "Since when"), g.Map(spans, func(s struct {
			hours int
			text  string
		}) g.Node {
			return h.A(h.Href(q.address(func(q *changesQuery) { q.hours, q.from, q.until = s.hours, nil, nil }, "")),
				g.If(s.hours == q.hours && q.from == nil && q.until == nil, g.Attr("aria-current", "true")),
				g.Text(s.text))
		})),
		changesFilter(tables, accounts, q),
	}
	if q.between {
		since := q.since(now)
		content = append(content, h.P(g.Text("All tables at "), when(&since), g.Text(" and at "), when(&until),
			g.Text(", compared.")), betweenCards(different))
	} else {
		older := ""
		if more {
			last := list[len(list)-1]
			older = q.address(nil, last.at+"_"+number(last.entry))
		}
		content = append(content, v.changesList(q, list), h.Nav(h.Class("pager"),
			g.Attr("aria-label", "Pages of the list"),
			g.If(q.at != "", h.A(h.Rel("prev"), h.Href(q.address(nil, "")), g.Text("‹ Newest"))),
			g.If(more, h.A(h.Rel("next"), h.Href(older), g.Text("Older ›")))))
	}
	v.page("Changes", "What has changed, here or in the cloud, by whom, and how that is known.", content...)
}

// newestChanges reads a page of changes. It looks at a short time first, and at more if that is
// not enough for a page: a change is noted when it was made, or later.
func newestChanges(v *visit, tx pgx.Tx, q changesQuery, since, until time.Time) ([]changeInfo, error) {
	if at, err := time.Parse(moment, q.at); err == nil {
		until = at
	}
	for back := 15 * time.Minute; until.Add(-back).After(since); back *= 8 {
		list, err := loadChanges(v, tx, q, until.Add(-back), true)
		if err != nil || len(list) > feedSize {
			return list, err
		}
	}
	return loadChanges(v, tx, q, since, false)
}

// loadChanges reads a page of the changes that were noted since then; whole leaves out those that were
// made before. What records are called is looked up of the page's alone.
func loadChanges(v *visit, tx pgx.Tx, q changesQuery, since time.Time, whole bool) ([]changeInfo, error) {
	rows, err := tx.Query(v.ctx(), `
		WITH changed AS MATERIALIZED (
			SELECT (c.entry).id, coalesce((c.entry).event_time, (c.entry).ts) AS at, (c.entry).table_name, (c.entry).record_id, (c.entry).account, (c.entry).change_type, (c.entry).change,
				(c.entry).transaction_id AS batch, (c.entry).source_address, c.replaced, c.how, x.here, coalesce((c.entry).actor, CASE WHEN x.here THEN (c.entry)."user" END) AS by_whom,
				CASE WHEN c.how IN ('edit', 'expiry') THEN c.how WHEN c.how IN ('event of the cloud', 'reading of the cloud') THEN 'drift' WHEN c.how = 'iasql_forget' THEN 'forget'
				     WHEN c.how = 'replacement by the engine' THEN 'replacement' WHEN starts_with(c.how, 'declaration of ') THEN 'declaration' WHEN starts_with(c.how, 'undo of ') THEN 'undo' ELSE 'batch' END AS kind
			FROM iasql_internal.changes($1::timestamptz) c
			CROSS JOIN LATERAL (SELECT (c.entry).origin = 'user' OR c.replaced OR c.how = 'iasql_forget' AS here) x
		), picked AS MATERIALIZED (
			SELECT * FROM changed c
			WHERE ($2::text = '' OR c.table_name = $2) AND ($3::text = '' OR position(lower($3) IN lower(c.by_whom)) > 0) AND ($4::text = '' OR c.account = $4) AND ($5::text = '' OR c.kind = $5)
			  AND (NOT $10::boolean OR c.at >= $1) AND ($6::timestamptz IS NULL OR c.at <= $6) AND ($7::text = '' OR (c.at, c.id) < (nullif($7, '')::timestamptz, $8::bigint))
			ORDER BY c.at DESC, c.id DESC LIMIT $9
		), named AS (
			SELECT r.table_name, n.record_id, n.name
			FROM (SELECT p.table_name, array_agg(DISTINCT p.record_id) AS ids FROM picked p GROUP BY p.table_name) r
			CROSS JOIN LATERAL iasql_internal.labels(r.table_name, r.ids) n
		)
		SELECT p.id, p.at, p.table_name, p.record_id, left(n.name, 300), left(p.by_whom, 500), p.account, CASE WHEN p.replaced THEN 'replace' ELSE lower(p.change_type) END, CASE WHEN p.here THEN 'here' ELSE 'account ' || p.account END,
			left(p.how, 500), left(p.source_address, 100), p.batch,
			CASE WHEN length((p.change -> 'original')::text) < 20000 THEN p.change -> 'original' END, CASE WHEN length((p.change -> 'change')::text) < 20000 THEN p.change -> 'change' END,
			to_char(p.at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), to_char((p.at - interval '1 microsecond') AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
		FROM picked p LEFT JOIN named n ON n.table_name = p.table_name AND n.record_id = p.record_id
		ORDER BY p.at DESC, p.id DESC`, since, q.table, q.by, q.account, q.kind, q.until, q.at, q.entry, feedSize+1, whole)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (changeInfo, error) {
		var e changeInfo
		return e, row.Scan(&e.entry, &e.ts, &e.table, &e.id, &e.name, &e.by, &e.account, &e.action, &e.where, &e.how,
			&e.address, &e.batch,
			&e.from, &e.to, &e.at, &e.before)
	})
}

func changesFilter(tables []*tableInfo, accounts []string, q changesQuery) g.Node {
	at := func(t *time.Time) string {
		if t == nil {
			return ""
		}
		return t.Format(formTime)
	}
	pick := func(name, label, chosen string, of []string) g.Node {
		return pair(name, label, h.Select(h.ID(name), h.Name(name), h.Option(h.Value(""), g.Text("all")), g.Map(of,
			func(o string) g.Node {
				return h.Option(h.Value(o), g.If(o == chosen, h.Selected()), g.Text(o))
			})))
	}
	names := make([]string, len(tables))
	for i, t := range tables {
		names[i] = t.name
	}
	kinds := pair("kind", "Kind", h.Select(h.ID("kind"), h.Name("kind"), h.Option(h.Value(""), g.Text("all")),
		g.Map(changeKinds, func(k struct{ name, text string }) g.Node {
			return h.Option(h.Value(k.name), g.If(k.name == q.kind, h.Selected()), g.Text(k.text))
		})))
	var chips []g.Node
	chip := func(name, value string, without func(*changesQuery)) {
		if value != "" {
			chips = append(chips, h.A(h.Class("chip on"), h.Href(q.address(without, "")),
				g.Attr("title", "Remove this filter"), g.Text(name+" "+shorten(value, 60)+" ✕")))
		}
	}
	chip("table", q.table, func(q *changesQuery) { q.table = "" })
	chip("by", q.by, func(q *changesQuery) { q.by = "" })
	chip("account", q.account, func(q *changesQuery) { q.account = "" })
	chip("kind", q.kind, func(q *changesQuery) { q.kind = "" })
	chip("from", strings.Replace(at(q.from), "T", " ", 1), func(q *changesQuery) { q.from = nil })
	chip("until", strings.Replace(at(q.until), "T", " ", 1), func(q *changesQuery) { q.until = nil })
	return h.Form(h.Class("filter"), h.Method("get"), h.Action("/changes"),
		h.Input(h.Type("hidden"), h.Name("hours"), h.Value(strconv.Itoa(q.hours))),
		pick("table", "Table", q.table, names),
		pair("by", "By whom", h.Input(h.ID("by"), h.Name("by"), h.Type("text"), h.Value(q.by), h.MaxLength("500"),
			h.Placeholder("a part of the name"))),
		pick("account", "Account", q.account, accounts), kinds,
		pair("from", "From (UTC)", h.Input(h.ID("from"), h.Name("from"), h.Type("datetime-local"),
			h.Value(at(q.from)))),
		pair("until", "Until (UTC)", h.Input(h.ID("until"), h.Name("until"), h.Type("datetime-local"),
			h.Value(at(q.until)))),
		h.Button(h.Class("primary"), h.Type("submit"), g.Text("Show")),
		h.Button(h.Type("submit"), h.Name("between"), h.Value("1"),
			g.Attr("title", "What was created, deleted and changed in all tables"), g.Text("Compare the two times")),
		g.If(len(chips) > 0, h.Div(h.Class("chips own"), g.Group(chips))))
}

// pair keeps a field with its label.
func pair(id, label string, field g.Node) g.Node {
	return h.Span(h.Class("pair"), h.Label(h.For(id), g.Text(label)), field)
}

func (v *visit) changesList(q changesQuery, list []changeInfo) g.Node {
	if len(list) == 0 {
		return h.Div(h.Class("card"), empty("Nothing has changed since then, or nothing that you may see.",
			"SELECT * FROM iasql_changes_since(now() - interval '1 hour');"))
	}
	rows := g.Map(list, func(e changeInfo) g.Node {
		by := g.Node(g.Text("–"))
		if e.by != nil {
			by = h.A(h.Href(q.address(func(q *changesQuery) { q.by = *e.by }, "")),
				g.Attr("title", "Only what he has changed"), g.Text(*e.by))
		}
		where := g.Node(g.Text(e.where))
		if e.account != nil && e.where != "here" {
			where = h.A(h.Href(q.address(func(q *changesQuery) { q.account = *e.account }, "")),
				g.Attr("title", "Only this account"), g.Text(e.where))
		}
		how := g.Node(g.Text(e.how))
		if e.batch != nil {
			how = h.A(h.Href("/batches/"+number(*e.batch)), g.Text(e.how))
		}
		details := map[string]any{}
		if e.from != nil && e.to != nil {
			details["original"], details["change"] = e.from, e.to
		}
		return h.Tr(h.Td(when(e.ts)),
			h.Td(recordLink(e.table, e.id), h.P(h.Class("muted small message"), g.Text(deref(e.name)))),
			h.Td(h.Class("wide"), h.Strong(g.Text(e.action)), changes(details),
				g.If(e.action != "insert", h.Details(h.Summary(g.Text("Take it back")),
					v.button(restore(e.table, e.id, e.before), "table", e.table, "id", number(e.id), "at", e.before)))),
			h.Td(h.Class("who-did"), by),
			h.Td(where, g.If(e.address != nil, h.P(h.Class("muted small"), g.Text("from "+deref(e.address))))),
			h.Td(how))
	})
	return h.Div(h.Class("card feed"), rowsOf([]string{"When", "Record", "What", "By whom", "From where", "How known"},
		rows))
}

// movedTable is what is different of a table between two times.
type movedTable struct {
	name                      string
	created, deleted, changed int64
	records                   []moved
	whole                     bool // all entries between the times were looked at
}

// mostBetween bounds the entries of the audit log that two times are compared by.
const mostBetween = 8_000

// loadBetween compares all tables at two times, by the audit log: what came and went between
// them is not different. Of each table the newest records are shown.
func loadBetween(v *visit, tx pgx.Tx, q changesQuery, from, until time.Time) ([]movedTable, error) {
	rows, err := tx.Query(v.ctx(), `
		WITH l AS MATERIALIZED (
			SELECT l.id, l.table_name, l.record_id, l.change_type, CASE WHEN length(l.change::text) < 20000 THEN l.change ELSE '{}' END AS change
			FROM (SELECT l.id, l.table_name, l.record_id, l.change_type, l.change FROM public.iasql_audit_log l
				WHERE l.ts > $1 AND l.ts <= $2 AND l.table_name IS NOT NULL AND l.change_type IN ('INSERT', 'UPDATE', 'DELETE')
				  AND ($3::text = '' OR l.table_name = $3) AND ($4::text = '' OR l.account = $4)
				ORDER BY l.ts DESC, l.id DESC LIMIT $5) l
		), k AS (
			SELECT l.table_name, l.record_id, (array_agg(l.change_type ORDER BY l.id))[1] AS first, (array_agg(l.change_type ORDER BY l.id DESC))[1] AS last, count(*) AS n, max(l.id) AS newest
			FROM l GROUP BY 1, 2
		), o AS (
			SELECT f.table_name, f.record_id, jsonb_object_agg(f.key, f.value) AS image FROM (
				SELECT DISTINCT ON (l.table_name, l.record_id, e.key) l.table_name, l.record_id, e.key, e.value FROM l CROSS JOIN LATERAL jsonb_each(CASE WHEN jsonb_typeof(l.change -> 'original') = 'object' THEN l.change -> 'original' ELSE '{}' END) e
				ORDER BY l.table_name, l.record_id, e.key, l.id) f GROUP BY 1, 2
		), n AS (
			SELECT f.table_name, f.record_id, jsonb_object_agg(f.key, f.value) AS image FROM (
				SELECT DISTINCT ON (l.table_name, l.record_id, e.key) l.table_name, l.record_id, e.key, e.value FROM l CROSS JOIN LATERAL jsonb_each(CASE WHEN jsonb_typeof(l.change -> 'change') = 'object' THEN l.change -> 'change' ELSE '{}' END) e
				ORDER BY l.table_name, l.record_id, e.key, l.id DESC) f GROUP BY 1, 2
		), d AS (
			SELECT k.table_name, k.record_id, CASE WHEN k.last = 'DELETE' THEN 'deleted' WHEN k.first = 'INSERT' THEN 'created' ELSE 'changed' END AS kind, k.n, k.newest, coalesce(o.image, '{}') AS was, x.image AS is
			FROM k LEFT JOIN o USING (table_name, record_id) LEFT JOIN n USING (table_name, record_id)
			CROSS JOIN LATERAL (SELECT coalesce(jsonb_object_agg(e.key, e.value) FILTER (WHERE e.value IS DISTINCT FROM o.image -> e.key), '{}') AS image FROM jsonb_each(n.image) e) x
			WHERE NOT (k.first = 'INSERT' AND k.last = 'DELETE')
		), r AS (
			SELECT d.*, row_number() OVER (PARTITION BY d.table_name ORDER BY d.newest DESC) AS place, count(*) FILTER (WHERE d.kind = 'created') OVER t AS created,
				count(*) FILTER (WHERE d.kind = 'deleted') OVER t AS deleted, count(*) FILTER (WHERE d.kind = 'changed') OVER t AS changed
			FROM d WHERE d.kind <> 'changed' OR d.is <> '{}' WINDOW t AS (PARTITION BY d.table_name)
		)
		SELECT r.table_name, r.created, r.deleted, r.changed, r.record_id, r.kind, r.n, r.was, r.is, (SELECT count(*) FROM l) < $5
		FROM r WHERE r.place <= 50 ORDER BY r.table_name, r.place LIMIT 2000`, from, until, q.table, q.account, mostBetween)
	if err != nil {
		return nil, err
	}
	var tables []movedTable
	var t movedTable
	var m moved
	_, err = pgx.ForEachRow(rows, []any{&t.name, &t.created, &t.deleted, &t.changed, &m.id, &m.kind, &m.n, &m.from,
		&m.to, &t.whole}, func() error {
		if len(tables) == 0 || tables[len(tables)-1].name != t.name {
			tables = append(tables, t)
		}
		last := &tables[len(tables)-1]
		last.records = append(last.records, m)
		m = moved{}
		return nil
	})
	return tables, err
}

func betweenCards(tables []movedTable) g.Node {
	if len(tables) == 0 {
		return h.Div(h.Class("card"), empty("At both times everything is the same, or all that you may see."))
	}
	var cards []g.Node
	if !tables[0].whole {
		cards = append(cards, h.P(h.Class("alert busy"),
			g.Text(fmt.Sprintf("More has happened between the two times than can be compared: only the newest %s "+
				"entries of the audit log were. Choose a table, or times that are nearer to each other.",
				grouped(mostBetween)))))
	}
	for _, t := range tables {
		count := func(n int64, class, text string) g.Node {
			return g.If(n > 0, h.Span(h.Class("count "+class), g.Text(grouped(n)+" "+text)))
		}
		more := t.created + t.deleted + t.changed - int64(len(t.records))
		cards = append(cards, h.Details(h.Class("card plan"), g.If(len(tables) <= 5, g.Attr("open")),
			h.Summary(h.Class("summary"), h.Strong(g.Text(t.name+" ")),
				count(t.created, "create", "created"), count(t.changed, "update", "changed"),
				count(t.deleted, "delete", "deleted")),
			g.Map(t.records, func(m moved) g.Node { return m.step(t.name) }),
			g.If(more > 0, h.P(h.Class("muted small"), g.Text("and "+grouped(more)+" more")))))
	}
	return g.Group(cards)
}
