package console

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"
)

// historyInfo is an entry of iasql_history.
type historyInfo struct {
	ts      *time.Time
	kind    string
	by      *string
	what    string
	details map[string]any
}

// mostHistory is how many entries of its history a record's page shows.
const mostHistory = 100

// loadHistory reads the newest of what has happened to the record.
func (d *recordData) loadHistory(ctx context.Context, tx pgx.Tx) error {
	rows, err := tx.Query(ctx, `SELECT h.ts, h.kind, h."by", h.what, CASE WHEN length(h.details::text) < 20000 THEN h.details END FROM public.iasql_history($1, $2) h ORDER BY h.ts DESC LIMIT $3`, d.t.name, d.id, mostHistory+1)
	if err != nil {
		return err
	}
	d.history, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (historyInfo, error) {
		var e historyInfo
		return e, row.Scan(&e.ts, &e.kind, &e.by, &e.what, &e.details)
	})
	if len(d.history) > mostHistory {
		d.history, d.more = d.history[:mostHistory], true
	}
	return err
}

// timeline shows a record's life, newest first.
func (d *recordData) timeline() g.Node {
	if len(d.history) == 0 {
		return section("History", empty("Nothing has happened to it since the audit log begins."))
	}
	items := g.Map(d.history, func(e historyInfo) g.Node {
		by := deref(e.by)
		if by == "" {
			by = "–"
		}
		class := "event " + e.kind
		if failure, _ := e.details["error"].(string); failure != "" {
			class += " failed"
		}
		return h.Li(h.Class(class),
			h.Div(h.Class("row"), h.Span(h.Class("kind"), g.Text(e.kind)), h.Strong(g.Text(shorten(e.what, 300))),
				h.Span(h.Class("muted small"), g.Text("by "+by+" "), when(e.ts))),
			e.how(),
			changes(e.details))
	})
	return section("History", h.Ol(h.Class("timeline"), items),
		g.If(d.more, h.P(h.Class("muted small"), g.Text("The newest 100. All of it: "),
			h.Code(g.Text("SELECT * FROM iasql_history('"+d.t.name+"', "+number(d.id)+")")))))
}

// how says from where and with what somebody has made a change in the cloud.
func (e *historyInfo) how() g.Node {
	text := func(key string) *string {
		if s, ok := e.details[key].(string); ok {
			return &s
		}
		return nil
	}
	t := told{actor: text("actor"), session: text("session"), address: text("source_address"),
		agent: text("user_agent")}
	if t.actor == nil {
		return nil
	}
	return h.P(h.Class("muted small message"), g.Text("In the cloud: "+t.all()))
}

// changes shows what an entry of the history says of columns.
func changes(details map[string]any) g.Node {
	var lines []g.Node
	line := func(column string, from, to any) {
		lines = append(lines, h.Li(h.Span(h.Class("col"), g.Text(column)), h.Del(g.Text(compact(from))), g.Text(" → "),
			h.Ins(g.Text(compact(to)))))
	}
	if columns, ok := details["columns"].(map[string]any); ok {
		for _, name := range sortedKeys(columns) {
			if c, ok := columns[name].(map[string]any); ok {
				line(name, c["from"], c["to"])
			}
		}
	} else {
		original, _ := details["original"].(map[string]any)
		change, _ := details["change"].(map[string]any)
		if original != nil && change != nil {
			for _, name := range sortedKeys(change) {
				line(name, original[name], change[name])
			}
		}
	}
	more := len(lines) - 12
	if more > 0 {
		lines = append(lines[:12], h.Li(h.Class("muted"), g.Text("and "+number(int64(more))+" more columns")))
	}
	failure, _ := details["error"].(string)
	message, _ := details["message"].(string)
	return g.Group([]g.Node{
		g.If(message != "", h.P(h.Class("message"), g.Text(shorten(message, 500)))),
		g.If(failure != "", h.P(h.Class("message bad"), g.Text(shorten(failure, 1000)))),
		g.If(len(lines) > 0, h.Ul(h.Class("changes"), g.Group(lines)))})
}

func sortedKeys(m map[string]any) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

func compact(v any) string {
	switch v := v.(type) {
	case nil:
		return "NULL"
	case string:
		return shorten(v, 200)
	}
	b, err := json.Marshal(v)
	if err != nil {
		return "?"
	}
	return shorten(string(b), 200)
}
