package console

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"
)

// All that the console knows of how batches work is here. It asks the catalog what
// there is: a batch may be the installation's only one, or one of many, each its
// session's, which others join by its name.

type batchInfo struct {
	id      string
	name    string
	owner   string
	phase   string
	outcome string
	records string
	since   *time.Time
}

// path is the last part of the batch's address: its id, or else its name.
func (b batchInfo) path() string {
	return url.PathEscape(b.key())
}

// key is what iasql_join takes: not every batch has a name.
func (b batchInfo) key() string {
	if b.id != "" {
		return b.id
	}
	return b.name
}

func (b batchInfo) title() string {
	if b.name != "" {
		return "Batch " + b.name
	}
	return "Batch " + b.id
}

func (b batchInfo) open() bool {
	return b.outcome == "" && b.phase != "closed"
}

func openBatches(batches []batchInfo) []batchInfo {
	var open []batchInfo
	for _, b := range batches {
		if b.open() {
			open = append(open, b)
		}
	}
	return open
}

var openText = regexp.MustCompile(`^Batch (\d+) is open \(by (.*), since ([^)]*)\)`)

func loadBatches(ctx context.Context, tx pgx.Tx) ([]batchInfo, error) {
	many, err := exists(ctx, tx, "relation", "public.iasql_batches")
	if err != nil {
		return nil, err
	}
	if !many {
		return loadOnlyBatch(ctx, tx)
	}
	rows, err := tx.Query(ctx, `SELECT to_jsonb(b) FROM public.iasql_batches b ORDER BY b.since DESC LIMIT 100`)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (batchInfo, error) {
		var m map[string]any
		if err := row.Scan(&m); err != nil {
			return batchInfo{}, err
		}
		text := func(names ...string) string {
			for _, name := range names {
				switch value := m[name].(type) {
				case nil:
				case float64: // not 1e+06
					return strconv.FormatFloat(value, 'f', -1, 64)
				default:
					return fmt.Sprint(value)
				}
			}
			return ""
		}
		b := batchInfo{id: text("id", "batch"), name: text("name"), owner: text("owner"), phase: text("phase"), outcome: text("outcome"), records: text("records")}
		if at, err := time.Parse(time.RFC3339Nano, text("since")); err == nil {
			b.since = &at
		}
		return b, nil
	})
}

// loadOnlyBatch is for an installation in which one batch at a time can be open.
func loadOnlyBatch(ctx context.Context, tx pgx.Tx) ([]batchInfo, error) {
	var text *string
	if err := tx.QueryRow(ctx, `SELECT iasql_internal.open_batch_text()`).Scan(&text); err != nil || text == nil {
		return nil, err
	}
	m := openText.FindStringSubmatch(*text)
	if m == nil {
		return nil, nil
	}
	b := batchInfo{id: m[1], owner: m[2], phase: "open"}
	if at, err := time.Parse("2006-01-02 15:04:05-07", m[3]); err == nil {
		b.since = &at
	}
	return []batchInfo{b}, nil
}

// joinBatch has a connection work in a batch, where batches are their sessions'.
func joinBatch(ctx context.Context, conn *pgx.Conn, name string) error {
	if name == "" {
		return nil
	}
	there, err := exists(ctx, conn, "procedure", "public.iasql_join(text)")
	if err != nil || !there {
		return err
	}
	_, err = conn.Exec(ctx, `CALL public.iasql_join($1::text)`, name)
	return err
}

// batchAction makes the action that a form of a batch asks for.
func batchAction(r *http.Request) (action, error) {
	name := r.PostFormValue("batch")
	hash := r.PostFormValue("hash")
	message := strings.TrimSpace(r.PostFormValue("message"))
	var said *string
	if message != "" {
		said = &message
	}
	switch do := r.PostFormValue("do"); do {
	case "commit":
		onError := r.PostFormValue("on_error")
		if onError != "keep" {
			onError = "rollback"
		}
		return commit(name, said, hash, onError, r.PostFormValue("cancel") != ""), nil
	case "rollback", "force rollback":
		return rollback(name, do == "force rollback"), nil
	case "approve":
		return approve(name, r.PostFormValue("id"), hash), nil
	default:
		return action{}, fmt.Errorf("%q is none of the console's actions", shorten(do, 60))
	}
}

func commit(batch string, message *string, hash, onError string, cancels bool) action {
	a := action{name: "commit", text: "Commit", batch: batch, why: "Does what this page shows, and nothing else: if either side has moved since, it changes nothing.",
		statement: statement{`CALL iasql_commit($1::text, $2::text, $3::text)`, []any{message, hash, onError}}}
	if cancels { // what becomes of it when its session goes
		a.sql, a.args = `CALL iasql_commit($1::text, $2::text, $3::text, $4::text)`, append(a.args, "continue")
	}
	return a
}

func rollback(batch string, force bool) action {
	a := action{name: "rollback", text: "Roll back", batch: batch, danger: true, why: "Takes back the batch's edits in the database. The cloud is not touched.",
		statement: statement{`CALL iasql_rollback($1::boolean)`, []any{force}}}
	if force {
		a.name, a.text = "force rollback", "Roll back all the same"
	}
	return a
}

func approve(batch, id, hash string) action {
	return action{name: "approve", text: "Approve", batch: batch, why: "Your word on this very plan.",
		statement: statement{`SELECT iasql_approve($1::bigint, $2::text)`, []any{id, hash}}}
}

// step is one line of a preview.
type step struct {
	action, direction, table, description, reason string
	id                                            *int64
	changes                                       map[string]change
}

type change struct {
	From any `json:"from"`
	To   any `json:"to"`
}

// plan is a preview with its hash.
type plan struct {
	steps []step
	hash  string
	can   map[string]bool
}

// preview has the engine make a preview, on a connection of its own: it takes as
// long as reading the cloud takes, and may have joined a batch.
func (s *session) preview(ctx context.Context, batch string) (p plan, err error) {
	pooled, err := s.pool.Acquire(ctx)
	if err != nil {
		return p, err
	}
	conn := pooled.Hijack()
	defer conn.Close(context.WithoutCancel(ctx))
	if _, err := conn.Exec(ctx, `SET statement_timeout = '2min'`); err != nil {
		return p, err
	}
	p.can = map[string]bool{}
	for name, signature := range map[string]string{"approve": "public.iasql_approve(bigint,text)", "cancel": "public.iasql_commit(text,text,text,text)"} {
		if p.can[name], err = exists(ctx, conn, "procedure", signature); err != nil {
			return p, err
		}
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
	rows, err := conn.Query(ctx, `SELECT action, direction, table_name, id, coalesce(description, ''), changes, coalesce(reason, ''), coalesce(hash, '') FROM iasql_internal.previewed WHERE request = $1 ORDER BY ord`, made)
	if err != nil {
		return p, err
	}
	p.steps, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (step, error) {
		var t step
		var changes []byte
		if err := row.Scan(&t.action, &t.direction, &t.table, &t.id, &t.description, &changes, &t.reason, &p.hash); err != nil {
			return t, err
		}
		_ = json.Unmarshal(changes, &t.changes) // always an object of such
		return t, nil
	})
	return p, err
}

func (c *Console) batches(v *visit) {
	var batches []batchInfo
	if err := v.session.read(v.ctx(), func(tx pgx.Tx) (err error) { batches, err = loadBatches(v.ctx(), tx); return err }); err != nil {
		v.failed(err)
		return
	}
	v.live = true
	lead := "A batch stages changes, shows what they would do, and does all of it or nothing."
	everything := h.P(h.A(h.Class("button"), h.Href("/batches/pending"), g.Text("Preview everything that is pending")))
	if len(batches) == 0 {
		v.page("Batches", lead, h.Div(h.Class("card"), empty("No batch is open. Open one in psql, change what you want, and review it here.",
			"CALL iasql_begin();\nUPDATE vpc SET enable_dns_hostnames = true WHERE id = 1;\nSELECT * FROM iasql_preview();")), everything)
		return
	}
	v.page("Batches", lead, h.Div(h.Class("card"), rowsOf([]string{"Batch", "Owner", "Since", "Records", "State"}, g.Map(batches, func(b batchInfo) g.Node {
		class := "busy"
		if !b.open() {
			class = "ok"
		}
		return h.Tr(h.Td(h.A(h.Href("/batches/"+b.path()), g.Text(b.title()))), h.Td(g.Text(b.owner)), h.Td(ago(b.since)), h.Td(h.Class("num"), g.Text(b.records)),
			h.Td(h.Span(h.Class("state "+class), g.Text(strings.TrimSpace(b.phase+" "+b.outcome)))))
	}))), everything)
}

// batch is the review of a batch. Its address stays the same, so that it can be
// put into a pull request; the preview is what a commit would do now.
func (c *Console) batch(v *visit) {
	key := v.r.PathValue("batch")
	var found *batchInfo
	err := v.session.read(v.ctx(), func(tx pgx.Tx) error {
		batches, err := loadBatches(v.ctx(), tx)
		for i := range batches {
			if batches[i].id == key || batches[i].name == key {
				found = &batches[i]
			}
		}
		return err
	})
	if err != nil {
		v.failed(err)
		return
	}
	if found == nil && key != "pending" {
		v.closedBatch(key)
		return
	}
	title, lead, join := "Everything that is pending", "What would happen now, with all changes that have not reached the cloud.", ""
	if found != nil {
		title, lead, join = found.title(), "Opened by "+found.owner+".", found.key()
	}
	if v.r.FormValue("preview") == "" {
		// The preview asks the cloud. The page is there at once, and the preview comes.
		address := to(v.r.URL.Path, "preview", "1")
		v.page(title, lead, h.Div(h.ID("plan"), g.Attr("hx-get", address), g.Attr("hx-trigger", "load"), g.Attr("hx-select", "#plan"), g.Attr("hx-swap", "outerHTML"),
			h.P(h.Class("alert busy"), h.Role("status"), h.Span(h.Class("spinner")), g.Text(" The engine compares the database with the cloud…")),
			g.El("noscript", h.P(h.A(h.Href(address), g.Text("Make the preview"))))))
		return
	}
	p, err := v.session.preview(v.ctx(), join)
	if err != nil {
		v.failedPlan(title, lead, err)
		return
	}
	v.page(title, lead, h.Div(h.ID("plan"), p.draw(), v.batchButtons(found, p)))
}

// failedPlan says within the page why there is no preview.
func (v *visit) failedPlan(title, lead string, err error) {
	text, hint := explain(err)
	if missing, ok := err.(errNotThere); ok {
		text = string(missing)
	}
	v.page(title, lead, h.Div(h.ID("plan"), h.Div(h.Class("alert bad"), h.Role("alert"), h.P(g.Text("There is no preview: "+text)), g.If(hint != "", h.P(g.Text(hint)))),
		h.P(h.A(h.Class("button"), h.Href(v.r.URL.Path), g.Text("Try again")))))
}

func (v *visit) closedBatch(key string) {
	var rows [][]string
	err := v.session.read(v.ctx(), func(tx pgx.Tx) error {
		got, err := tx.Query(v.ctx(), `
			SELECT to_char(l.ts, 'YYYY-MM-DD HH24:MI:SS'), l."user", l.change_type, coalesce(l.table_name || ' ' || l.record_id, ''), coalesce(l.message, '')
			FROM public.iasql_audit_log l WHERE l.transaction_id::text = $1 ORDER BY l.id LIMIT 200`, key)
		if err != nil {
			return err
		}
		rows, err = pgx.CollectRows(got, func(row pgx.CollectableRow) ([]string, error) {
			r := make([]string, 5)
			return r, row.Scan(&r[0], &r[1], &r[2], &r[3], &r[4])
		})
		return err
	})
	switch {
	case err != nil:
		v.failed(err)
	case len(rows) == 0:
		v.failed(errNotThere("There is no batch of that name or number that you may see."))
	default:
		v.page("Batch "+shorten(key, 60), "This batch is closed. This is its life, as the audit log has it.", h.Div(h.Class("card"), plainTable([]string{"When (UTC)", "Who", "What", "Record", "Message"}, rows)))
	}
}

// kinds are the parts of a review, what would hurt most first.
var kinds = []struct {
	action, direction, title, mark, class string
}{
	{"", "conflict", "Changed on both sides", "!", "conflict"},
	{"replace", "push", "Replaced: destroyed and created anew", "-/+", "replace"},
	{"delete", "push", "Deleted in the cloud", "-", "delete"},
	{"update", "push", "Changed in place", "~", "update"},
	{"create", "push", "Created", "+", "create"},
	{"", "ask", "Changed in the cloud: waits for your decision", "?", "update"},
	{"", "pull", "Pulled from the cloud into the tables", "<", "pull"},
	{"", "paused", "Paused: differs, and is left alone", "‖", "pull"},
}

func (p plan) draw() g.Node {
	if len(p.steps) == 0 {
		return h.Div(h.Class("card"), empty("Nothing would happen: the database and the cloud agree, as far as you can see."))
	}
	var summary, parts []g.Node
	for _, k := range kinds {
		var steps []step
		for _, s := range p.steps {
			if s.direction == k.direction && (k.action == "" || s.action == k.action) {
				steps = append(steps, s)
			}
		}
		if len(steps) == 0 {
			continue
		}
		summary = append(summary, h.Span(h.Class("count "+k.class), h.Strong(g.Text(grouped(int64(len(steps))))), g.Text(" "+word(k.action, k.direction))))
		const most = 300
		rest := len(steps) - most
		parts = append(parts, h.Section(h.Class("card plan "+k.class), h.H2(g.Text(k.title)), g.Map(steps[:min(len(steps), most)], func(s step) g.Node { return s.draw(k.mark, k.class) }),
			g.If(rest > 0, h.P(h.Class("muted"), g.Text("and "+grouped(int64(rest))+" more: SELECT * FROM iasql_preview()")))))
	}
	return g.Group([]g.Node{h.Div(h.Class("summary"), g.Group(summary)), g.Group(parts)})
}

func word(action, direction string) string {
	switch {
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

func (s step) draw(mark, class string) g.Node {
	name := g.Node(g.Text(s.table))
	if s.id != nil {
		name = recordLink(s.table, *s.id)
	}
	columns := make([]string, 0, len(s.changes))
	for column := range s.changes {
		columns = append(columns, column)
	}
	slices.Sort(columns)
	lines := g.Map(columns, func(column string) g.Node {
		c := s.changes[column]
		return h.Li(h.Span(h.Class("col"), g.Text(column)), g.If(class != "create", g.Group([]g.Node{h.Del(g.Text(compact(c.From))), g.Text(" → ")})), h.Ins(g.Text(compact(c.To))))
	})
	return h.Details(h.Class("step"), g.If(len(columns) <= 12, g.Attr("open", "")),
		h.Summary(h.Span(h.Class("sign"), g.Text(mark)), name, h.Span(h.Class("what"), g.Text(" "+shorten(s.description, 300)))),
		g.If(s.reason != "", h.P(h.Class("muted small"), g.Text(shorten(s.reason, 500)))),
		g.If(len(columns) > 0, h.Ul(h.Class("changes"), lines)))
}

func (v *visit) batchButtons(b *batchInfo, p plan) g.Node {
	if b == nil {
		return h.P(h.Class("muted"), g.Text("No batch is reviewed here: each change is pushed by itself, in a moment."))
	}
	fields := []string{"batch", b.key(), "hash", p.hash, "id", b.id}
	cancel := ""
	if p.can["cancel"] {
		cancel = "1"
	}
	commitForm := h.Form(h.Method("post"), h.Action("/do"), h.Class("action commit"),
		h.Input(h.Type("hidden"), h.Name("csrf"), h.Value(v.session.csrf)), h.Input(h.Type("hidden"), h.Name("do"), h.Value("commit")),
		h.Input(h.Type("hidden"), h.Name("back"), h.Value(v.r.URL.Path)), h.Input(h.Type("hidden"), h.Name("batch"), h.Value(b.key())),
		h.Input(h.Type("hidden"), h.Name("hash"), h.Value(p.hash)), h.Input(h.Type("hidden"), h.Name("cancel"), h.Value(cancel)),
		h.Label(h.For("message"), g.Text("Why")),
		h.Input(h.ID("message"), h.Name("message"), h.MaxLength("1000"), h.Placeholder("what the audit log shall say")),
		h.Label(h.For("on_error"), g.Text("If something fails")),
		h.Select(h.ID("on_error"), h.Name("on_error"), h.Option(h.Value("rollback"), g.Text("undo all of it")), h.Option(h.Value("keep"), g.Text("keep what worked"))),
		h.Button(h.Class("primary"), h.Type("submit"), g.Text("Commit")),
		h.Span(h.Class("what"), h.Span(g.Text("Does what this page shows, and nothing else: if either side has moved since, it changes nothing. ")),
			h.Code(g.Text("CALL iasql_commit(…, preview_hash => "+literal(shorten(p.hash, 16))+", …)"))))
	force := b.owner != v.session.role
	return section("Decide",
		g.If(p.can["approve"] && b.id != "", v.button(approve(b.key(), b.id, p.hash), fields...)),
		commitForm,
		v.button(rollback(b.key(), force), fields...))
}
