package console

import (
	"context"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"
)

// sourceInfo is a source of events of the cloud.
type sourceInfo struct {
	account, name, kind, state string
	regions                    []string
	last                       *time.Time
	events, dropped            int64
}

func loadSources(ctx context.Context, tx pgx.Tx) ([]sourceInfo, error) {
	rows, err := tx.Query(ctx, `SELECT account, name, kind, state, regions, last_event, events, foreign_events + malformed + dropped FROM public.iasql_event_sources WHERE kind <> 'connection' OR state <> 'ok' ORDER BY account, name LIMIT 50`)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (sourceInfo, error) {
		var s sourceInfo
		return s, row.Scan(&s.account, &s.name, &s.kind, &s.state, &s.regions, &s.last, &s.events, &s.dropped)
	})
}

// sourcesCard says which sources of events there are, and whether they are relied on. watch is
// the statement that has some read.
func sourcesCard(sources []sourceInfo, watch string) g.Node {
	if len(sources) == 0 {
		return section("Events of the cloud",
			empty("No queue is read. With one, drift is in the tables within seconds, with who it was: docs/watch.md.",
				watch))
	}
	rows := make([]g.Node, len(sources))
	for i, s := range sources {
		mark := h.Span(h.Class("state ok"), g.Text("ok"))
		if s.state != "ok" {
			mark = g.Group([]g.Node{h.Span(h.Class("state bad"), g.Text("not relied on")),
				h.P(h.Class("message"), g.Text(shorten(s.state, 300)))})
		}
		rows[i] = h.Tr(h.Td(g.Text(s.account)),
			h.Td(g.Text(s.name), h.Span(h.Class("muted small"), g.Text(" "+s.kind))), h.Td(mark),
			h.Td(g.Text(strings.Join(s.regions, ", "))),
			h.Td(ago(s.last)), h.Td(h.Class("num"), g.Text(grouped(s.events))),
			h.Td(h.Class("num"), g.Text(grouped(s.dropped))))
	}
	return section("Events of the cloud",
		rowsOf([]string{"Account", "Source", "State", "Regions", "Last event", "Events", "Dropped"}, rows))
}

// told is who changed something in the cloud, as an event has told.
type told struct{ actor, session, address, agent *string }

// name is who it was: the session, which is the person with IAM Identity Center, or the ARN.
func (t told) name() string {
	if session := deref(t.session); session != "" {
		return session
	}
	return deref(t.actor)
}

// how is what else is known of the actor: the ARN, from where, and with which tool.
func (t told) how() string {
	var parts []string
	if t.name() != deref(t.actor) {
		parts = append(parts, *t.actor)
	}
	if t.address != nil {
		parts = append(parts, "from "+*t.address)
	}
	if t.agent != nil {
		parts = append(parts, "with "+shorten(*t.agent, 80))
	}
	return strings.Join(parts, ", ")
}

// all is name and how.
func (t told) all() string { return strings.TrimSuffix(t.name()+", "+t.how(), ", ") }

// by names who it was, or else whom it names who made the change here.
func (t told) by(user string) g.Node {
	if t.actor == nil {
		return g.Text(user)
	}
	return g.Group([]g.Node{g.Text(t.name()), h.P(h.Class("muted small message"), g.Text(t.how()))})
}
