package console

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"
)

// All that the console knows of how batches work is here and in review.go. A batch
// is of the session that opened it; others join it by its number, and so does a
// session of the console for as long as a preview or a button takes.

type batchInfo struct {
	id                    int64
	name, owner, sessions string
	phase, outcome        string
	records               int64
	since                 *time.Time
	abandoned             bool
	total, done, retrying *int64 // while it is being committed or undone
	carriedOut            *int64
	message, step         string
}

func (b batchInfo) path() string { return "/batches/" + number(b.id) }

func (b batchInfo) title() string {
	if b.name != "" {
		return "Batch " + b.name
	}
	return "Batch " + number(b.id)
}

func (b batchInfo) open() bool { return b.phase != "closed" }

// mark shows how far it is.
func (b batchInfo) mark() g.Node {
	switch {
	case b.abandoned:
		return h.Span(h.Class("state bad"), g.Text("abandoned"))
	case b.phase == "open":
		return h.Span(h.Class("state mode"), g.Text("open"))
	case b.open():
		text := b.phase
		if b.total != nil && b.done != nil {
			text += " " + grouped(*b.done) + " of " + grouped(*b.total)
		}
		return h.Span(h.Class("state busy"), g.Text(text))
	case b.outcome == "committed":
		return h.Span(h.Class("state ok"), g.Text("committed"))
	}
	return h.Span(h.Class("state mode"), g.Text(b.outcome))
}

// progress shows how far a commit or an undoing is.
func (b batchInfo) progress() g.Node {
	if b.total == nil || b.done == nil || *b.total == 0 {
		return nil
	}
	text := grouped(*b.done) + " of " + grouped(*b.total) + " done"
	if b.carriedOut != nil && *b.carriedOut > *b.done {
		text += ", " + grouped(*b.carriedOut-*b.done) + " carried out and not yet confirmed"
	}
	if b.retrying != nil && *b.retrying > 0 {
		text += ", " + grouped(*b.retrying) + " tried again"
	}
	now := "Now: " + b.step + "."
	if b.step == "" {
		now = "It waits for a next attempt, or for another cycle of the account."
	}
	return h.Div(h.Class("progress"),
		g.El("progress", g.Attr("max", number(*b.total)), h.Value(number(*b.done)), g.Attr("aria-label", text)),
		h.Span(g.Text(text)), h.P(h.Class("muted small"), g.Text(now)),
		g.If(b.message != "", h.P(h.Class("message muted small"), g.Text(shorten(b.message, 500)))))
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

// loadBatches returns those that are open, then those that were closed lately.
func loadBatches(ctx context.Context, tx pgx.Tx) ([]batchInfo, error) {
	rows, err := tx.Query(ctx, `
		SELECT b.id, coalesce(b.name, ''), b.owner, coalesce(b.session, ''), b.since, b.records, b.phase, coalesce(b.outcome, ''), coalesce(b.abandoned, false),
			p.total, p.done, p.retrying, p.carried_out, coalesce(p.message, ''),
			coalesce(p.step || coalesce(': ' || p.step_done || ' of ' || p.step_total, ''), '')
		FROM public.iasql_batches b LEFT JOIN public.iasql_progress p USING (id) ORDER BY b.phase = 'closed', b.since DESC LIMIT 100`)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (batchInfo, error) {
		var b batchInfo
		return b, row.Scan(&b.id, &b.name, &b.owner, &b.sessions, &b.since, &b.records, &b.phase, &b.outcome,
			&b.abandoned, &b.total, &b.done, &b.retrying, &b.carriedOut, &b.message,
			&b.step)
	})
}

// findBatch returns the batch of a number or a name; nil if there is none that is open or was closed lately.
func findBatch(ctx context.Context, tx pgx.Tx, key string) (found *batchInfo, err error) {
	batches, err := loadBatches(ctx, tx)
	for i, b := range batches { // an open one of that name before one that was closed
		if number(b.id) == key || b.name == key && (found == nil || b.open() && !found.open()) {
			found = &batches[i]
		}
	}
	return found, err
}

// joinBatch has a connection work in a batch.
func joinBatch(ctx context.Context, conn *pgx.Conn, batch int64) error {
	if batch == 0 {
		return nil
	}
	_, err := conn.Exec(ctx, `CALL public.iasql_join($1::text)`, number(batch))
	return err
}

// batchAction makes the action that a form of a batch asks for.
func batchAction(r *http.Request) (action, error) {
	batch, err := strconv.ParseInt(r.PostFormValue("batch"), 10, 64)
	do := r.PostFormValue("do")
	if err != nil && slices.Contains([]string{"commit", "rollback", "force rollback", "approve"}, do) {
		return action{}, fmt.Errorf("%q is no batch", shorten(r.PostFormValue("batch"), 60))
	}
	hash := r.PostFormValue("hash")
	switch do {
	case "commit":
		onError := r.PostFormValue("on_error")
		if onError != "keep" {
			onError = "rollback"
		}
		var said *string
		if message := strings.TrimSpace(r.PostFormValue("message")); message != "" {
			said = &message
		}
		return commit(batch, said, hash, onError), nil
	case "rollback", "force rollback":
		return rollback(batch, do == "force rollback"), nil
	case "approve":
		return approve(batch, hash), nil
	default:
		return action{}, fmt.Errorf("%q is none of the console's actions", shorten(do, 60))
	}
}

// commit goes on if the session that waits for it ends.
func commit(batch int64, message *string, hash, onError string) action {
	return action{name: "commit", text: "Commit", batch: batch,
		why: "Does what this page shows, and nothing else: if either side has moved since, it changes nothing.",
		statement: statement{`CALL iasql_commit($1::text, $2::text, $3::text, $4::text)`,
			[]any{message, hash, onError, "continue"}}}
}

func rollback(batch int64, force bool) action {
	a := action{name: "rollback", text: "Roll back", batch: batch, danger: true,
		why:       "Takes back the batch's edits in the database. The cloud is not touched.",
		statement: statement{`CALL iasql_rollback($1::boolean)`, []any{force}}}
	if force {
		a.name, a.text = "force rollback", "Roll back all the same"
	}
	return a
}

func approve(batch int64, hash string) action {
	return action{name: "approve", text: "Approve", batch: batch, why: "Your word on this very plan.",
		statement: statement{`SELECT iasql_approve($1::bigint, $2::text)`, []any{batch, hash}}}
}

func (c *Console) batches(v *visit) {
	var batches []batchInfo
	if err := v.session.read(v.ctx(), func(tx pgx.Tx) (err error) {
		batches, err = loadBatches(v.ctx(), tx)
		return err
	}); err != nil {
		v.failed(err)
		return
	}
	v.live = true
	lead := "A batch stages changes, shows what they would do, and does all of it or nothing. Those that are open, " +
		"and those of the last seven days."
	everything := h.P(h.A(h.Class("button"), h.Href("/batches/pending"), g.Text("Preview everything that is pending")))
	if len(batches) == 0 {
		v.page("Batches", lead, h.Div(h.Class("card"),
			empty("No batch is open. Open one in psql, change what you want, and review it here.",
				"CALL iasql_begin('shop');\n-- INSERT, UPDATE and DELETE as you like\nSELECT * FROM iasql_preview();")),
			everything)
		return
	}
	v.page("Batches", lead, h.Div(h.Class("card"),
		rowsOf([]string{"Batch", "State", "Records", "Owner", "Opened", "Sessions"},
			g.Map(batches, func(b batchInfo) g.Node {
				return h.Tr(h.Td(h.A(h.Href(b.path()), g.Text(b.title()))), h.Td(b.mark()),
					h.Td(h.Class("num"), g.Text(grouped(b.records))), h.Td(g.Text(b.owner)), h.Td(ago(b.since)),
					h.Td(h.Class("muted"), g.Text(b.sessions)))
			}))), everything)
}
