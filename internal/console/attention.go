package console

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"
)

// What only a person can mend stands first on the overview, in groups by the next step. Each
// group has the one button or link that does it.

// mostConcerns bounds how many records the overview looks at, and how many one button tries again.
const mostConcerns = 500

// heldInfo is an account about which nothing is done, or the database if it has gone back in time.
type heldInfo struct {
	record, message  string
	account          string // "" where the visitor may not see it
	since            *time.Time
	identity         bool // it says that it is another than it was
	saysItIs, pinned string
}

func loadHeld(ctx context.Context, tx pgx.Tx) ([]heldInfo, error) {
	rows, err := tx.Query(ctx, `
		SELECT u.record, coalesce(u.message, ''), coalesce(w.account, ''), u.since, u.needs_person AND coalesce(w.says_it_is <> w.pinned_as, false),
			coalesce(w.says_it_is, ''), coalesce(w.pinned_as, '')
		FROM iasql_internal.unread_line u LEFT JOIN public.iasql_worlds w ON u.record = 'account ' || w.account
		WHERE u.record LIKE 'account %' OR u.record IN ('account', 'database') ORDER BY u.record <> 'database', u.since LIMIT 20`)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (heldInfo, error) {
		var i heldInfo
		return i, row.Scan(&i.record, &i.message, &i.account, &i.since, &i.identity, &i.saysItIs, &i.pinned)
	})
}

// heldCard says it large that nothing is done about an account, and what to do.
func (v *visit) heldCard(held []heldInfo) g.Node {
	if len(held) == 0 {
		return nil
	}
	return g.Group(g.Map(held, func(i heldInfo) g.Node {
		title, buttons := "Nothing is done about "+i.record, []g.Node{v.button(syncAll())}
		switch {
		case i.record == "database":
			title = "Nothing is pushed: the database has gone back in time"
			buttons = []g.Node{v.button(confirmGuard("restored", "", true), "what", "restored"),
				v.button(confirmGuard("restored", "", false), "what", "restored")}
		case i.identity:
			title = "Account " + i.account + " is another than it was"
			buttons = []g.Node{v.button(confirmGuard("identity", i.account, true), "what", "identity", "of", i.account),
				v.button(confirmGuard("identity", i.account, false), "what", "identity", "of", i.account)}
		}
		return h.Section(h.Class("card urgent held"), h.H2(g.Text(title)),
			g.If(i.identity, h.P(g.Text("It was "), h.Code(g.Text(shorten(i.pinned, 200))), g.Text(" and says it is "),
				h.Code(g.Text(shorten(i.saysItIs, 200))), g.Text("."))),
			h.P(h.Class("message"), g.Text(shorten(i.message, 1000))),
			h.P(h.Class("muted small"), g.Text("Since "), ago(i.since)),
			h.Div(h.Class("actions"), g.Group(buttons)))
	}))
}

// group is what waits for the same next step.
type group struct {
	title, why string
	items      []g.Node
	n          int64
	over       bool     // there are more
	all        string   // the page that has all
	step       []g.Node // the button or link that does it
}

func (o group) draw() g.Node {
	if len(o.items) == 0 && o.n == 0 {
		return nil
	}
	n := grouped(o.n)
	if o.over {
		n = "over " + n
	}
	const most = 5
	rest := len(o.items) - most
	return h.Div(h.Class("need"), h.H3(g.Text(o.title+" "), h.Span(h.Class("muted"), g.Text(n))),
		g.If(o.why != "", h.P(h.Class("muted small"), g.Text(o.why))),
		h.Div(h.Class("actions"), g.Group(o.step)),
		g.If(len(o.items) > 0, h.Ul(h.Class("concerns"), g.Group(o.items[:min(len(o.items), most)]))),
		g.If(rest > 0, h.P(h.Class("small"), g.Text("and "+grouped(int64(max(rest, 0)))+" more "),
			g.If(o.all != "", h.A(h.Href(o.all), g.Text("All of them →"))))))
}

func (c concern) item() g.Node {
	return h.Li(h.Div(state(c.state, true), recordLink(c.table, c.id), h.Span(h.Class("muted small"), ago(c.since))),
		g.If(c.message != "", h.P(h.Class("message"), g.Text(shorten(c.message, 300)))))
}

// needs groups what needs a person by the next step.
func (v *visit) needs(d overviewData) []group {
	all := d.concerns[:min(len(d.concerns), mostConcerns)]
	failed := group{title: "Failed: try again", why: "Mend the cause that each names, then try them again.",
		all: "/activity?show=failed", over: len(d.concerns) > mostConcerns}
	vanished := group{title: "Gone from the cloud: look, then confirm", all: "/activity?show=failed",
		why: "So many have vanished at once that their records stay until somebody says that it is so."}
	decide := group{title: "Changed on both sides: decide", n: d.decisions, all: "/activity?show=conflicts",
		why: "Columns that moved on both sides wait for a decision."}
	var records []string
	gone := map[string]int64{}
	for _, c := range all {
		switch {
		case c.code == "vanished":
			gone[c.table]++
			vanished.n++
		case c.state == "Conflict":
			decide.items = append(decide.items, c.item())
		default:
			failed.items = append(failed.items, c.item())
			records = append(records, "record", c.table+" "+number(c.id))
			failed.n++
		}
	}
	if a, err := retryAll(odd(records)); err == nil {
		failed.step = []g.Node{v.button(a, records...)}
	}
	names := make([]string, 0, len(gone))
	for name := range gone {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		vanished.items = append(vanished.items, h.Li(h.Div(state("Gone", true),
			h.A(h.Href("/records/"+name+"?state=unsettled"), g.Text(name)),
			h.Span(h.Class("muted"), g.Text(grouped(gone[name])+" records"))),
			v.button(confirmGuard("vanished", name, false), "what", "vanished", "of", name)))
	}
	if len(names) > 0 {
		vanished.step = []g.Node{v.button(confirmGuard("vanished", "", true), "what", "vanished")}
	}
	if decide.n > 0 || len(decide.items) > 0 {
		decide.n = max(decide.n, int64(len(decide.items)))
		decide.over = decide.n > 1000
		decide.n = min(decide.n, 1000)
		decide.step = []g.Node{h.A(h.Class("button"), h.Href("/activity?show=conflicts"), g.Text("Decide"))}
	}
	unread := group{title: "Cannot be read: permit it, then look again", n: int64(len(d.errors)),
		all: "/sql?ask=unread_tables"}
	for _, e := range d.errors {
		unread.items = append(unread.items, h.Li(h.Div(h.Span(h.Class("state bad"), g.Text("Unreadable")),
			g.If(e.table != "", h.A(h.Href("/records/"+e.table), g.Text(e.table))),
			h.Span(h.Class("muted small"), ago(e.ts))), h.P(h.Class("message"), g.Text(shorten(e.message, 300)))))
	}
	if len(d.errors) > 0 {
		unread.step = []g.Node{v.button(syncAll())}
	}
	ended := group{title: "Should have ended"}
	for _, e := range d.ending {
		if e.needsPerson {
			ended.n++
			ended.items = append(ended.items, e.item())
		}
	}
	if ended.n > 0 {
		ended.step = []g.Node{h.A(h.Class("button"), h.Href("/sql?ask=expiring"), g.Text("See what ends when"))}
	}
	return []group{failed, vanished, decide, unread, v.waiting(d), ended}
}

// waiting are the batches that wait for somebody: for an approval that is not their owner's, or
// since so long ago that they count as abandoned.
func (v *visit) waiting(d overviewData) group {
	o := group{title: "Batches: review", all: "/batches"}
	for _, b := range openBatches(d.batches) {
		approve := d.approvals > 0 && b.owner != d.me
		if b.phase != "open" || !b.abandoned && !approve {
			continue
		}
		text := "Nobody but its sessions can change its " + records(b.records) + " while it is open. " + b.owner +
			" opened it."
		if approve && !b.abandoned {
			text = b.owner + " has opened it, with " + records(b.records) + ". Its commit takes " +
				approvals(d.approvals) + "."
		}
		if o.n++; o.n == 1 {
			o.step = []g.Node{h.A(h.Class("button"), h.Href(b.path()),
				g.Text("Review "+strings.ToLower(b.title()[:1])+b.title()[1:]))}
		}
		o.items = append(o.items, h.Li(h.Div(b.mark(), h.A(h.Href(b.path()), g.Text(b.title())),
			h.Span(h.Class("muted small"), ago(b.since))), h.P(h.Class("message"), g.Text(text))))
	}
	return o
}

func records(n int64) string { return plural(n, "record", "records") }

func approvals(n int64) string { return plural(n, "approval", "approvals") }

// odd returns the values of a list of names and values.
func odd(pairs []string) (values []string) {
	for i := 1; i < len(pairs); i += 2 {
		values = append(values, pairs[i])
	}
	return values
}

// attention comes first: what nobody but a person can mend.
func (v *visit) attention(d overviewData) g.Node {
	if len(d.engines) == 0 {
		return h.Section(h.Class("card urgent held"), h.H2(g.Text("No engine is connected")),
			h.P(g.Text("Nothing is pushed and nothing is pulled until one is. Start one on a machine that reaches "+
				"the cloud, with the engine's login to this database:")),
			h.Pre(h.Class("sql"), g.Text("engine serve --database-url postgres://…/"+v.base.Database)))
	}
	var drawn []g.Node
	for _, o := range v.needs(d) {
		if n := o.draw(); n != nil {
			drawn = append(drawn, n)
		}
	}
	switch {
	case len(drawn) > 0:
		return h.Section(h.Class("card urgent"), h.H2(g.Text("Needs you")), g.Group(drawn))
	case len(d.held) > 0:
		return nil
	}
	return h.Section(h.Class("card calm"), h.H2(g.Text("Nothing needs you")),
		h.P(h.Class("muted"), g.Text(
			"No record has failed for good, no conflict is open, and the cloud could be read.")))
}

// settled says of records of which none is unsettled that all are there, if there are any.
func settled(n int64) g.Node {
	if n == 0 {
		return h.Span(h.Class("muted"), g.Text("Empty"))
	}
	return h.Span(h.Class("state ok"), g.Text("All present"))
}

// costInfo is what the records cost a month, as far as somebody has said prices.
type costInfo struct {
	priced, known  bool // there are prices or bills; they have been added up
	monthly        string
	currency       string
	unknown, total int64
}

// mostCosted is how many records the overview adds up the costs of; of more the page of SQL does, if asked.
const mostCosted = 3000

func loadCosts(ctx context.Context, tx pgx.Tx, tables []*tableInfo) (c costInfo, err error) {
	if err := tx.QueryRow(ctx, `SELECT EXISTS (SELECT FROM public.iasql_prices) OR EXISTS (SELECT FROM public.iasql_bills)`).Scan(&c.priced); err != nil || !c.priced {
		return c, err
	}
	for _, t := range tables {
		c.total += t.records
	}
	if c.total > mostCosted {
		return c, nil
	}
	var currency *string
	err = tx.QueryRow(ctx, `
		SELECT to_char(coalesce(sum(c.monthly), 0), 'FM999,999,999,990.00'), min(c.currency), count(*) - count(c.monthly), count(*) FROM public.iasql_costs c`).
		Scan(&c.monthly, &currency, &c.unknown, &c.total)
	c.currency, c.known = deref(currency), currency != nil
	return c, err
}

func (c costInfo) tile() g.Node {
	const ask = "/sql?ask=cost_by_tag"
	switch {
	case !c.priced:
		return nil
	case !c.known:
		return tile("A month: ask what it costs", "–", ask)
	case c.unknown > 0:
		return tile(fmt.Sprintf("%s a month, and %s of which no price is known", c.currency, records(c.unknown)),
			c.monthly, ask)
	}
	return tile(c.currency+" a month", c.monthly, ask)
}
