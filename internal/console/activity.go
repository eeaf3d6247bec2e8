package console

import (
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"
)

var feeds = []struct{ name, text string }{
	{"", "Operations"}, {"changes", "Changes"}, {"drift", "Drift"}, {"cycles", "Cycles"}, {"pending", "Pending"},
	{"failed", "Needs you"}, {"conflicts", "Conflicts"},
}

// feed is a list that is newest first and paged by its id.
type feed struct {
	header []string
	rows   []g.Node
	last   int64
	more   bool // there may be older ones, before last
	none   string
}

const feedSize = 50

func (c *Console) activity(v *visit) {
	show := v.r.FormValue("show")
	before := int64(1<<63 - 1)
	if n, err := strconv.ParseInt(v.r.FormValue("before"), 10, 64); err == nil {
		before = n
	}
	var f feed
	err := v.session.read(v.ctx(), func(tx pgx.Tx) (err error) {
		switch show {
		case "changes", "drift", "pending":
			f, err = v.auditFeed(tx, show, before)
		case "cycles":
			f, err = v.cycleFeed(tx, before)
		case "failed":
			f, err = v.failedFeed(tx)
		case "conflicts":
			f, err = v.conflictFeed(tx, before)
		default:
			show = ""
			f, err = v.operationFeed(tx, before)
		}
		return err
	})
	if err != nil {
		v.failed(err)
		return
	}
	v.live = v.r.FormValue("before") == ""
	content := g.Node(h.Div(h.Class("card"), empty(f.none)))
	if len(f.rows) > 0 && f.header != nil {
		class := "card feed"
		if show == "cycles" { // whose numbers need their headings
			class = "card"
		}
		content = h.Div(h.Class(class), rowsOf(f.header, f.rows))
	} else if len(f.rows) > 0 {
		content = h.Div(h.Class("card"), g.Group(f.rows))
	}
	v.page("Activity", "What happens, newest first.",
		h.Nav(h.Class("tabs"), g.Attr("aria-label", "What to show"),
			g.Map(feeds, func(k struct{ name, text string }) g.Node {
				return h.A(h.Href(to("/activity", "show", k.name)),
					g.If(k.name == show, g.Attr("aria-current", "true")),
					g.Text(k.text))
			}), h.A(h.Href("/changes"), g.Text("All changes"))),
		content,
		h.Nav(h.Class("pager"), g.Attr("aria-label", "Pages of the list"),
			g.If(f.more || len(f.rows) >= feedSize && f.last > 0,
				h.A(h.Rel("next"), h.Href(to("/activity", "show", show, "before", number(f.last))),
					g.Text("Older ›")))))
}

func (v *visit) operationFeed(tx pgx.Tx, before int64) (f feed, err error) {
	f.none = "No call that changes the cloud has been made yet, or none that you may see."
	f.header = []string{"Started", "Record", "Call", "Result", "Took"}
	rows, err := tx.Query(v.ctx(),
		`SELECT id, started, ended, table_name, record_id, kind, service || '.' || action, coalesce(result, ''), coalesce(error, '') FROM public.iasql_operations WHERE id < $1 ORDER BY id DESC LIMIT $2`, before, feedSize)
	if err != nil {
		return f, err
	}
	var started, ended *time.Time
	var id *int64
	var t, kind, call, result, failure string
	_, err = pgx.ForEachRow(rows, []any{&f.last, &started, &ended, &t, &id, &kind, &call, &result, &failure},
		func() error {
			mark, took := h.Span(h.Class("state busy"), g.Text("under way")), "–"
			if result != "" {
				class := "ok"
				if result != "ok" {
					class = "bad"
				}
				mark = h.Span(h.Class("state "+class), g.Text(result))
			}
			if started != nil && ended != nil {
				took = duration(ended.Sub(*started))
			}
			record := g.Node(g.Text(t))
			if id != nil {
				record = recordLink(t, *id)
			}
			f.rows = append(f.rows, h.Tr(h.Td(when(started)), h.Td(record),
				h.Td(h.Span(h.Class("muted"), g.Text(kind+" ")), h.Code(g.Text(call)),
					g.If(failure != "", h.P(h.Class("message bad"), g.Text(shorten(failure, 300))))), h.Td(mark),
				h.Td(h.Class("num"), g.Text(took))))
			return nil
		})
	return f, err
}

func (v *visit) auditFeed(tx pgx.Tx, show string, before int64) (f feed, err error) {
	f.header = []string{"When", "Who", "Record", "What"}
	// Of changes and drift one may be rare: a page looks at so many entries at most,
	// and the next page goes on where it ended.
	const window = 20000
	lowest := int64(0)
	if show != "pending" {
		var newest int64
		if err := tx.QueryRow(v.ctx(),
			`SELECT coalesce((SELECT l.id FROM public.iasql_audit_log l WHERE l.id < $1 ORDER BY l.id DESC LIMIT 1), 0)`, before).Scan(&newest); err != nil {
			return f, err
		}
		lowest = max(0, newest-window)
	}
	condition := "l.origin = 'user'"
	f.none = "Nobody has changed a record yet, or none that you may see."
	switch show {
	case "drift":
		condition = "l.origin = 'engine'"
		f.none = "Nothing was pulled from the cloud yet, or nothing that you may see."
	case "pending":
		condition = "NOT l.settled"
		f.none = "Every change has reached the cloud."
	}
	rows, err := tx.Query(v.ctx(), `
		SELECT l.id, l.ts, l."user", coalesce(l.table_name, ''), l.record_id, l.change_type, CASE WHEN length(l.change::text) < 20000 THEN l.change END, coalesce(l.message, ''), l.settled, l.actor, l.actor_session, l.source_address, l.user_agent
		FROM public.iasql_audit_log l WHERE l.id < $1 AND l.id > $3 AND `+condition+` ORDER BY l.id DESC LIMIT $2`,
		before, feedSize, lowest)
	if err != nil {
		return f, err
	}
	var ts *time.Time
	var id *int64
	var who, t, kind, message string
	var details map[string]any
	var settled bool
	var said told
	_, err = pgx.ForEachRow(rows, []any{&f.last, &ts, &who, &t, &id, &kind, &details, &message, &settled, &said.actor,
		&said.session, &said.address, &said.agent}, func() error {
		record := g.Node(g.Text(t))
		if id != nil && t != "" {
			record = recordLink(t, *id)
		}
		mark := g.Node(nil)
		if !settled {
			mark = h.Span(h.Class("state busy"), g.Text("pending"))
		}
		f.rows = append(f.rows, h.Tr(h.Td(when(ts)), h.Td(said.by(who)), h.Td(record),
			h.Td(h.Strong(g.Text(strings.ReplaceAll(kind, "_", " "))), g.Text(" "), mark,
				g.If(message != "", h.Span(h.Class("muted"), g.Text(" "+shorten(message, 200)))), changes(details))))
		details = nil
		return nil
	})
	f.more = len(f.rows) >= feedSize
	if !f.more && lowest > 0 {
		f.last, f.more = lowest+1, true
	}
	return f, err
}

func (v *visit) cycleFeed(tx pgx.Tx, before int64) (f feed, err error) {
	f.none = "No cycle has run yet, or none of an account that you may see."
	f.header = []string{"Started", "Account", "Kind", "Engine", "Took", "Reads", "Calls", "Pushed", "Pulled", "Errors"}
	rows, err := tx.Query(v.ctx(),
		`SELECT id, account, kind, started, ended, engine, reads, calls, pushes, pulls, errors, coalesce(message, '') FROM public.iasql_cycles WHERE id < $1 ORDER BY id DESC LIMIT $2`, before, feedSize)
	if err != nil {
		return f, err
	}
	var account, kind, engine, message string
	var started, ended *time.Time
	var reads, calls, pushes, pulls, errs *int64
	_, err = pgx.ForEachRow(rows, []any{&f.last, &account, &kind, &started, &ended, &engine, &reads, &calls, &pushes,
		&pulls, &errs, &message}, func() error {
		took := "running"
		if ended != nil && started != nil {
			took = duration(ended.Sub(*started))
		}
		num := func(n *int64) g.Node { return h.Td(h.Class("num"), g.Text(optional(n))) }
		f.rows = append(f.rows, h.Tr(h.Td(when(started)), h.Td(g.Text(account)),
			h.Td(g.Text(kind), g.If(message != "", h.P(h.Class("message bad"), g.Text(shorten(message, 300))))),
			h.Td(h.Class("muted"), g.Text(engine)), h.Td(h.Class("num"), g.Text(took)), num(reads), num(calls),
			num(pushes), num(pulls), num(errs)))
		return nil
	})
	return f, err
}

func (v *visit) failedFeed(tx pgx.Tx) (f feed, err error) {
	f.none = "Nothing needs you."
	f.header = []string{"Since", "Record", "State", "Why"}
	concerns, err := loadConcerns(v.ctx(), tx, true, 500)
	for _, c := range concerns {
		f.rows = append(f.rows, h.Tr(h.Td(when(c.since)), h.Td(recordLink(c.table, c.id)), h.Td(state(c.state, true)),
			h.Td(h.Class("message"), g.Text(shorten(c.message, 300)))))
	}
	return f, err
}

func (v *visit) conflictFeed(tx pgx.Tx, before int64) (f feed, err error) {
	f.none = "No column has moved on both sides."
	rows, err := tx.Query(v.ctx(), conflictColumns+`WHERE c.id < $1 ORDER BY c.id DESC LIMIT $2`, before, feedSize)
	if err != nil {
		return f, err
	}
	conflicts, err := pgx.CollectRows(rows, scanConflict)
	for _, c := range conflicts {
		f.rows = append(f.rows, v.conflict(c))
		f.last = c.id
	}
	return f, err
}
