package console

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"
)

// step is one line of a preview.
type step struct {
	action, direction, table, description, reason string
	id                                            *int64
	changes                                       map[string]change
	who                                           *author
	label                                         string         // what the record is called, or what it says
	image                                         map[string]any // while that is found out
}

// author is who has changed in the cloud what a step is about, as events have told.
type author struct {
	told
	at   *time.Time
	also []string
}

type change struct {
	From any `json:"from"`
	To   any `json:"to"`
}

// plan is a preview with its hash.
type plan struct {
	steps []step
	hash  string
	price string // what a month costs more or less; "" if nobody has said a price
}

// preview has the engine make a preview, on a connection of its own: it takes as
// long as reading the cloud takes, and may have joined a batch.
func (s *session) preview(ctx context.Context, batch int64) (p plan, err error) {
	pooled, err := s.pool.Acquire(ctx)
	if err != nil {
		return p, err
	}
	conn := pooled.Hijack()
	defer conn.Close(context.WithoutCancel(ctx))
	if _, err := conn.Exec(ctx, `SET statement_timeout = '2min'`); err != nil {
		return p, err
	}
	if err := joinBatch(ctx, conn, batch); err != nil {
		return p, err
	}
	// The hash has to be that of the steps, hence not public.iasql_preview() and
	// iasql_preview_hash(), which make a preview each.
	var made int64
	if err := conn.QueryRow(ctx, `SELECT iasql_internal.preview()`).Scan(&made); err != nil {
		return p, err
	}
	rows, err := conn.Query(ctx, `SELECT action, direction, table_name, id, coalesce(description, ''), changes, coalesce(reason, ''), coalesce(hash, ''),
		who ->> 'actor', who ->> 'session', who ->> 'source_address', who ->> 'user_agent', (who ->> 'event_time')::timestamptz,
		(SELECT array_agg(a) FROM jsonb_array_elements_text(who -> 'also') a)
		FROM iasql_internal.previewed WHERE request = $1 ORDER BY ord`, made)
	if err != nil {
		return p, err
	}
	p.steps, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (step, error) {
		var t step
		var changes []byte
		var who author
		if err := row.Scan(&t.action, &t.direction, &t.table, &t.id, &t.description, &changes, &t.reason, &p.hash,
			&who.actor, &who.session, &who.address, &who.agent, &who.at, &who.also); err != nil {
			return t, err
		}
		if who.actor != nil {
			t.who = &who
		}
		_ = decode(changes, &t.changes) // always an object of such
		return t, nil
	})
	if err != nil {
		return p, err
	}
	var difference string
	var currency *string
	var unknown int64
	err = conn.QueryRow(ctx, `
		SELECT to_char(coalesce(sum(c.difference), 0), 'SGFM999,999,999,990.00'), iasql_internal.currency(), count(*) - count(c.difference)
		FROM iasql_internal.preview_costs($1) c`, made).Scan(&difference, &currency, &unknown)
	if currency != nil {
		p.price = difference + " " + *currency + " a month"
	}
	if currency != nil && unknown > 0 {
		p.price += ", and what is not known of " + grouped(unknown)
	}
	return p, err
}

// batch is the review of a batch. Its address stays the same, so that it can be
// put into a pull request; the preview is what a commit would do now. Later it is
// the batch's life.
func (c *Console) batch(v *visit) {
	key := v.r.PathValue("batch")
	var found *batchInfo
	var d besideData
	var staged []stagedCount
	err := v.session.read(v.ctx(), func(tx pgx.Tx) (err error) {
		if found, err = findBatch(v.ctx(), tx, key); err != nil || found == nil {
			return err
		}
		if d, err = loadBeside(v.ctx(), tx, found.id); err == nil && found.phase == "open" {
			staged, err = loadStagedCounts(v.ctx(), tx, found.id)
		}
		return err
	})
	if err != nil {
		v.failed(err)
		return
	}
	switch {
	case found != nil && found.phase == "open":
		lead := "Opened by " + found.owner + ", " + grouped(found.records) + " records."
		if found.records == 1 {
			lead = "Opened by " + found.owner + ", 1 record."
		}
		v.review(found, found.title(), lead, found.id, d, staged)
	case found != nil && found.open():
		v.underWay(found, d)
	case found == nil && key == "pending":
		v.review(nil, "Everything that is pending",
			"What would happen now, with all changes that have not reached the cloud and are in no batch.", 0, d, nil)
	default:
		v.closedBatch(key, found, d)
	}
}

func (v *visit) review(b *batchInfo, title, lead string, join int64, d besideData, staged []stagedCount) {
	beside := func(hash string) g.Node {
		if b == nil {
			return nil
		}
		return v.beside(b, d, hash)
	}
	kept := v.session.kept(join)
	if v.r.FormValue("preview") == "" && (v.r.FormValue("plan") == "" || kept == nil ||
		kept.hash != v.r.FormValue("plan")) {
		// The preview asks the cloud. The page is there at once, and the preview comes.
		address, hash := to(v.r.URL.Path, "preview", "1"), ""
		if v.partial() && kept != nil { // what stands beside asks anew
			hash = kept.hash
		}
		v.page(title, lead, h.Div(h.ID("plan"), g.Attr("hx-get", address), g.Attr("hx-trigger", "load"),
			g.Attr("hx-select", "#plan"), g.If(b != nil, g.Attr("hx-select-oob", "#beside")),
			g.Attr("hx-swap", "outerHTML"),
			h.P(h.Class("alert busy"), h.Role("status"), h.Span(h.Class("spinner")),
				g.Text(" The engine compares the database with the cloud…")),
			g.El("noscript", h.P(h.A(h.Href(address), g.Text("Make the preview")))), stagedCard(staged)), beside(hash))
		return
	}
	page := 1
	if v.r.FormValue("preview") != "" {
		p, err := v.session.preview(v.ctx(), join)
		if err != nil {
			v.failedPlan(title, lead, err)
			return
		}
		kept = v.session.keep(join, p)
	} else if n, err := strconv.Atoi(v.r.FormValue("page")); err == nil {
		page = max(1, min(n, kept.pages()))
	}
	steps := kept.page(page)
	if err := v.session.read(v.ctx(), func(tx pgx.Tx) error { return describe(v.ctx(), tx, steps) }); err != nil {
		v.failedPlan(title, lead, err)
		return
	}
	whole := v.session.saw(join, kept.hash, page)
	v.page(title, lead, h.Div(h.ID("plan"), kept.draw(steps), kept.pager(v.r.URL.Path, page),
		v.batchButtons(b, kept.plan, whole)), beside(kept.hash))
}

// stagedCount is how many changes of a kind a batch has of a table.
type stagedCount struct {
	table, kind string
	n           int64
}

const mostStaged = 20000

// loadStagedCounts counts what is staged, as far as the visitor sees it: what a page shows before
// there is a preview.
func loadStagedCounts(ctx context.Context, tx pgx.Tx, batch int64) ([]stagedCount, error) {
	rows, err := tx.Query(ctx, `
		SELECT l.table_name, lower(l.change_type), count(*) FROM (
			SELECT k.table_name, k.change_type FROM public.iasql_audit_log k
			WHERE k.transaction_id = $1 AND NOT k.settled AND k.change_type IN ('INSERT', 'UPDATE', 'DELETE') LIMIT $2) l
		GROUP BY 1, 2 ORDER BY 1, 2 LIMIT 100`, batch, mostStaged)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (stagedCount, error) {
		var c stagedCount
		return c, row.Scan(&c.table, &c.kind, &c.n)
	})
}

func stagedCard(staged []stagedCount) g.Node {
	if len(staged) == 0 {
		return nil
	}
	return section("Staged so far", h.Ul(h.Class("plain"), g.Map(staged, func(c stagedCount) g.Node {
		return h.Li(h.Strong(g.Text(c.table)), h.Span(g.Text(c.kind)),
			h.Span(h.Class("muted"), g.Text(grouped(c.n)+" times")))
	})))
}

// failedPlan says within the page why there is no preview.
func (v *visit) failedPlan(title, lead string, err error) {
	text, hint := explain(err)
	if missing, ok := err.(errNotThere); ok {
		text = string(missing)
	}
	v.page(title, lead, h.Div(h.ID("plan"),
		h.Div(h.Class("alert bad"), h.Role("alert"), h.P(g.Text("There is no preview: "+text)),
			g.If(hint != "", h.P(g.Text(hint)))),
		h.P(h.A(h.Class("button"), h.Href(v.r.URL.Path), g.Text("Try again")))))
}

// underWay shows a batch that the engine is committing or undoing.
func (v *visit) underWay(b *batchInfo, d besideData) {
	v.live, v.refresh = true, 5
	what := "The engine commits it. It goes on if you leave this page."
	if b.phase == "reverting" {
		what = "The engine undoes it, in the cloud and in the tables."
	}
	v.page(b.title(), "Opened by "+b.owner+".",
		h.Div(h.ID("progress"), g.Attr("hx-get", v.r.URL.Path), g.Attr("hx-trigger", "every 1s"),
			g.Attr("hx-select", "#live"), g.Attr("hx-target", "#live"), g.Attr("hx-swap", "outerHTML"),
			h.Section(h.Class("card"), h.Div(h.Class("row"), h.Span(h.Class("spinner")), b.mark(),
				h.Span(h.Class("muted"), g.Text(what))), b.progress())), v.beside(b, d, ""))
}

// closedBatch shows the life of a batch as the audit log has it.
func (v *visit) closedBatch(key string, b *batchInfo, d besideData) {
	if b != nil {
		key = number(b.id)
	}
	var rows []g.Node
	err := v.session.read(v.ctx(), func(tx pgx.Tx) error {
		got, err := tx.Query(v.ctx(), `
			SELECT l.ts, l."user", l.change_type, coalesce(l.table_name, ''), l.record_id, coalesce(l.message, ''), CASE WHEN length(l.change::text) < 20000 THEN l.change END
			FROM public.iasql_audit_log l WHERE l.transaction_id::text = $1 ORDER BY l.id LIMIT 200`, key)
		if err != nil {
			return err
		}
		var at *time.Time
		var who, kind, table, message string
		var id *int64
		var details map[string]any
		_, err = pgx.ForEachRow(got, []any{&at, &who, &kind, &table, &id, &message, &details}, func() error {
			record := g.Node(nil)
			if id != nil && table != "" {
				record = recordLink(table, *id)
			}
			rows = append(rows, h.Tr(h.Td(when(at)), h.Td(g.Text(who)), h.Td(record),
				h.Td(h.Strong(g.Text(strings.ReplaceAll(kind, "_", " "))), g.Text(" "+message), changes(details))))
			details = nil
			return nil
		})
		return err
	})
	title, lead, life := "Batch "+shorten(key, 60), "", []g.Node{h.Class("row")}
	if b != nil {
		title, lead = b.title(), "Opened by "+b.owner+"."
		life = append(life, b.mark())
	}
	life = append(life, h.Span(h.Class("muted"), g.Text("It is closed. This is its life, as the audit log has it.")))
	if b != nil && b.outcome == "committed" {
		life = append(life, v.button(undo(b.id), "id", number(b.id)))
	}
	switch {
	case err != nil:
		v.failed(err)
	case len(rows) == 0 && b == nil:
		v.failed(errNotThere("There is no batch of that name or number that you may see."))
	default:
		v.page(title, lead, h.Div(life...),
			h.Div(h.Class("card feed"), rowsOf([]string{"When", "Who", "Record", "What"}, rows)),
			g.Iff(b != nil, func() g.Node { return v.beside(b, d, "") }))
	}
}

// kinds are the parts of a review, what would hurt most first.
var kinds = []struct {
	action, direction, title, mark, class string
}{
	{"", "refused", "Will certainly not be done", "✗", "conflict"},
	{"", "conflict", "Changed on both sides", "!", "conflict"},
	{"replace", "push", "Replaced: destroyed and created anew", "-/+", "replace"},
	{"delete", "push", "Deleted in the cloud", "-", "delete"},
	{"update", "push", "Changed in place", "~", "update"},
	{"create", "push", "Created", "+", "create"},
	{"", "ask", "Changed in the cloud: waits for your decision", "?", "update"},
	{"", "pull", "Pulled from the cloud into the tables", "<", "pull"},
	{"", "paused", "Paused: differs, and is left alone", "‖", "pull"},
}

// of reports whether a step is of a kind.
func (s step) isOf(i int) bool {
	return s.direction == kinds[i].direction && (kinds[i].action == "" || s.action == kinds[i].action)
}

// draw shows what a plan comes to, and these of its steps.
func (p plan) draw(shown []step) g.Node {
	if len(p.steps) == 0 {
		return h.Div(h.Class("card"), empty(
			"Nothing would happen: the database and the cloud agree, as far as you can see."))
	}
	var summary, parts []g.Node
	for i, k := range kinds {
		n := int64(0)
		for _, s := range p.steps {
			if s.isOf(i) {
				n++
			}
		}
		if n == 0 {
			continue
		}
		summary = append(summary, h.Span(h.Class("count "+k.class), h.Strong(g.Text(grouped(n))),
			g.Text(" "+word(k.action, k.direction))))
		var here []g.Node
		for _, s := range shown {
			if s.isOf(i) {
				here = append(here, s.draw(k.mark, k.class))
			}
		}
		if len(here) > 0 {
			parts = append(parts, h.Section(h.Class("card plan "+k.class), h.H2(g.Text(k.title)), g.Group(here)))
		}
	}
	if p.price != "" {
		summary = append(summary, h.Span(h.Class("count"), h.Strong(g.Text(p.price))))
	}
	return g.Group([]g.Node{p.cost(), h.Div(h.Class("summary"), g.Group(summary)), g.Group(parts)})
}

// cost says first what cannot be had back: what is destroyed in the cloud.
func (p plan) cost() g.Node {
	var names []g.Node
	n := 0
	for _, s := range p.steps {
		if s.direction != "push" || s.action != "replace" && s.action != "delete" {
			continue
		}
		if n++; n <= 8 {
			names = append(names, h.Li(g.Text(s.called()),
				g.If(s.action == "replace", h.Span(h.Class("small"), g.Text(" (a new one takes its place)"))),
				g.Iff(s.who != nil, func() g.Node {
					return h.Span(h.Class("small"),
						g.Text(", which "+shorten(s.who.name(), 80)+" has changed in the cloud since"))
				})))
		}
	}
	if n == 0 {
		return h.P(h.Class("alert good"), g.Text("Destroys nothing in the cloud."))
	}
	what := grouped(int64(n)) + " objects in the cloud, with what they hold:"
	if n == 1 {
		what = "1 object in the cloud, with what it holds:"
	}
	return h.Div(h.Class("alert bad"), h.P(h.Strong(g.Text("Destroys "+what))),
		h.Ul(g.Group(names), g.If(n > 8, h.Li(g.Text("and "+grouped(int64(n-8))+" more, below")))))
}

func word(action, direction string) string {
	switch {
	case direction == "refused":
		return "in vain"
	case direction == "conflict":
		return "in conflict"
	case direction == "pull":
		return "to pull"
	case direction == "ask":
		return "to decide"
	case direction == "paused":
		return "paused"
	}
	return "to " + action
}

// called is a step's record, as people call it.
func (s step) called() string {
	if s.label != "" {
		return s.table + " " + s.label
	}
	return shorten(strings.TrimPrefix(s.description, s.action+" "), 120)
}

func (s step) draw(mark, class string) g.Node {
	link := g.Node(nil)
	if s.id != nil { // beside the summary, which is a control itself and must hold no other
		link = h.P(h.Class("to-record"), h.A(h.Href(recordPath(s.table, *s.id)),
			g.Text("Open "+s.table+" "+number(*s.id))))
	}
	columns := make([]string, 0, len(s.changes))
	for column := range s.changes {
		columns = append(columns, column)
	}
	slices.Sort(columns)
	lines := g.Map(columns, func(column string) g.Node { return s.changes[column].draw(column, class) })
	name, what := s.table, s.description
	switch {
	case s.label != "":
		name, what = s.table+" "+s.label, ""
	case s.id != nil:
		name += " " + number(*s.id)
	}
	return h.Details(h.Class("step"), g.If(len(columns) <= 12, g.Attr("open", "")),
		h.Summary(h.Span(h.Class("sign"), g.Text(mark)), h.Strong(g.Text(name)),
			h.Span(h.Class("what"), g.Text(" "+shorten(what, 300)))),
		g.If(s.reason != "", h.P(h.Class("muted small"), g.Text(shorten(s.reason, 500)))),
		g.Iff(s.who != nil, s.who.draw),
		g.If(len(columns) > 0, h.Ul(h.Class("changes"), lines)), link)
}

// draw says who has changed it in the cloud, when, from where and with what.
func (a *author) draw() g.Node {
	also := ""
	if len(a.also) > 0 {
		also = "Or, in that time: " + shorten(strings.Join(a.also, ", "), 500)
	}
	return h.Div(h.Class("author"),
		h.P(g.Text("In the cloud by "), h.Strong(g.Text(shorten(a.name(), 200))), g.Text(" "), when(a.at)),
		g.If(a.how() != "", h.P(h.Class("muted small message"), g.Text(a.how()))),
		g.If(also != "", h.P(h.Class("muted small message"), g.Text(also))))
}

func (v *visit) batchButtons(b *batchInfo, p plan, whole bool) g.Node {
	if b == nil {
		return h.P(h.Class("muted"), g.Text("No batch is reviewed here: each change is pushed by itself, in a moment."))
	}
	fields := []string{"batch", number(b.id), "hash", p.hash}
	commitForm := h.Form(h.Method("post"), h.Action("/do"), h.Class("action commit"),
		h.Input(h.Type("hidden"), h.Name("csrf"), h.Value(v.session.csrf)),
		h.Input(h.Type("hidden"), h.Name("do"), h.Value("commit")),
		h.Input(h.Type("hidden"), h.Name("back"), h.Value(v.r.URL.Path)),
		h.Input(h.Type("hidden"), h.Name("batch"), h.Value(number(b.id))),
		h.Input(h.Type("hidden"), h.Name("hash"), h.Value(p.hash)),
		h.Label(h.For("message"), g.Text("Why")),
		h.Input(h.ID("message"), h.Name("message"), h.MaxLength("1000"), g.Attr("size", "26"),
			h.Placeholder("what the audit log shall say")),
		h.Label(h.For("on_error"), g.Text("If something fails")),
		h.Select(h.ID("on_error"), h.Name("on_error"), h.Option(h.Value("rollback"), g.Text("undo all of it")),
			h.Option(h.Value("keep"), g.Text("keep what worked"))),
		h.Button(h.Class("primary"), h.Type("submit"), g.Text("Commit")),
		h.Span(h.Class("what"), h.Span(
			g.Text("Does what this page shows, and nothing else: if either side has moved since, it changes "+
				"nothing. ")),
			h.Code(g.Text("CALL iasql_commit(…, preview_hash => "+literal(shorten(p.hash, 16))+", …)"))))
	return section("Decide",
		commitForm,
		v.approveButton(b, p, whole, fields),
		v.button(rollback(b.id, b.owner != v.session.role), fields...))
}

// approveButton is there once the whole plan has been on a page: an approval is of every line.
func (v *visit) approveButton(b *batchInfo, p plan, whole bool, fields []string) g.Node {
	if !whole {
		return h.P(h.Class("muted"),
			g.Text("You can approve once you have paged through the whole plan: an approval is of every line."))
	}
	return v.button(approve(b.id, p.hash), fields...)
}
