package console

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5"
	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"
)

// What stands beside a batch's plan: who else is there, who has approved, and what people say.

type commentInfo struct {
	id           int64
	author, text string
	at           *time.Time
}

type approvalInfo struct {
	hash, by string
	at       *time.Time
	stands   bool
}

// besideData is what stands beside a batch.
type besideData struct {
	comments   []commentInfo
	approvals  []approvalInfo
	needed     int64
	mayComment bool
	login      string
}

// mostComments is how many the page shows, the newest.
const mostComments = 200

func loadBeside(ctx context.Context, tx pgx.Tx, batch int64) (d besideData, err error) {
	rows, err := tx.Query(ctx, `
		SELECT * FROM (SELECT c.id, c.author, c.comment, c.written_at FROM public.iasql_batch_comments c WHERE c.batch = $1 ORDER BY c.id DESC LIMIT $2) c
		ORDER BY c.id`, batch, mostComments)
	if err != nil {
		return d, err
	}
	if d.comments, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (commentInfo, error) {
		var c commentInfo
		return c, row.Scan(&c.id, &c.author, &c.text, &c.at)
	}); err != nil {
		return d, err
	}
	rows, err = tx.Query(ctx, `SELECT a.preview_hash, a.approved_by, a.approved_at, a.stands FROM public.iasql_approvals a WHERE a.batch = $1
		ORDER BY a.approved_at LIMIT 50`, batch)
	if err != nil {
		return d, err
	}
	if d.approvals, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (approvalInfo, error) {
		var a approvalInfo
		return a, row.Scan(&a.hash, &a.by, &a.at, &a.stands)
	}); err != nil {
		return d, err
	}
	err = tx.QueryRow(ctx, `SELECT (SELECT s.value::bigint FROM public.iasql_settings s WHERE s.name = 'required_approvals'),
		has_any_column_privilege('public.iasql_batch_comments', 'INSERT'), current_user`).Scan(&d.needed, &d.mayComment, &d.login)
	return d, err
}

// beside shows it. The part that others change asks anew when it hears of something; the form is
// not in it, so that nobody loses what he types. hash is that of the plan on the page, or "".
func (v *visit) beside(b *batchInfo, d besideData, hash string) g.Node {
	v.presence.visit(b.id, v.session.role)
	here := []g.Node{}
	if others := v.presence.others(b.id, v.session.role); len(others) > 0 {
		here = append(here, h.P(h.Class("here"), h.Span(h.Class("state ok"), g.Text("here")), g.Text(" "),
			g.Text("Also has this page open: "), h.Strong(g.Text(shorten(strings.Join(others, ", "), 500)))))
	}
	if b.sessions != "" {
		here = append(here, h.P(h.Class("here"), h.Span(h.Class("state mode"), g.Text("in it")),
			g.Text(" Sessions of the database that work in it: "+shorten(b.sessions, 300))))
	}
	return g.Group([]g.Node{
		h.Div(h.ID("beside"), g.Attr("data-batch", number(b.id)), g.Attr("hx-get", b.path()),
			g.Attr("hx-trigger", "beside from:body delay:300ms"),
			g.Attr("hx-select", "#beside"), g.Attr("hx-target", "this"), g.Attr("hx-swap", "outerHTML"),
			h.Div(h.Class("card"), g.Group(here), h.P(h.Class("muted small"), g.Text("Link to share: "),
				// The browser knows by which protocol it came, behind whatever proxy.
				h.A(h.Href(b.path()), g.Text(v.r.Host+b.path())))),
			v.approvalCard(b, d, hash), v.commentList(d)),
		g.Iff(d.mayComment, func() g.Node {
			return h.Form(h.Class("card comment"), h.Method("post"), h.Action(b.path()+"/comments"),
				h.Input(h.Type("hidden"), h.Name("csrf"), h.Value(v.session.csrf)),
				h.Label(h.For("comment"), g.Text("Comment")),
				h.Textarea(h.ID("comment"), h.Name("comment"), h.Rows("3"), h.Required(), h.MaxLength("10000"),
					h.Placeholder("for everybody who may see batches")),
				h.Button(h.Type("submit"), g.Text("Write it")))
		}),
	})
}

func (v *visit) approvalCard(b *batchInfo, d besideData, hash string) g.Node {
	if d.needed == 0 && len(d.approvals) == 0 {
		return nil
	}
	n := int64(0)
	items := g.Map(d.approvals, func(a approvalInfo) g.Node {
		mark := h.Span(h.Class("state mode"), g.Text("approved"))
		switch {
		case !a.stands:
			mark = h.Span(h.Class("state bad"), g.Text("does not count any more"))
		case hash != "" && a.hash != hash:
			mark = h.Span(h.Class("state bad"), g.Text("stale: of another plan"))
		case hash != "":
			n++
			mark = h.Span(h.Class("state ok"), g.Text("of this plan"))
		}
		return h.Li(h.Div(mark, h.Strong(g.Text(a.by)), h.Span(h.Class("muted small"), ago(a.at),
			g.Text(" plan "+shorten(a.hash, 12)))))
	})
	lead := "A commit takes " + approvals(d.needed) + " of its plan."
	switch {
	case d.needed == 0:
		lead = "A commit takes no approval."
	case hash != "" && b.phase == "open":
		lead = grouped(n) + " of " + approvals(d.needed) + " of this plan."
	}
	return section("Approvals", h.P(g.Text(lead)), g.If(len(items) > 0, h.Ul(h.Class("concerns"), g.Group(items))))
}

func (v *visit) commentList(d besideData) g.Node {
	if len(d.comments) == 0 {
		return nil
	}
	return h.Section(h.Class("card"), h.ID("comments"), h.H2(g.Text("Comments")), g.If(len(d.comments) == mostComments,
		h.P(h.Class("muted small"), g.Text("The newest "+number(mostComments)+"; all are in iasql_batch_comments."))),
		h.Ul(h.Class("concerns"), g.Map(d.comments, func(c commentInfo) g.Node {
			return h.Li(h.Div(h.Strong(g.Text(c.author)), h.Span(h.Class("muted small"), ago(c.at)),
				g.Iff(c.author == v.session.role && d.mayComment, func() g.Node {
					return h.Form(h.Method("post"), h.Action(v.r.URL.Path+"/comments"), h.Class("inline danger"),
						h.Input(h.Type("hidden"), h.Name("csrf"), h.Value(v.session.csrf)),
						h.Input(h.Type("hidden"), h.Name("delete"), h.Value(number(c.id))),
						h.Button(h.Type("submit"), g.Attr("aria-label", "Delete your comment "+number(c.id)),
							g.Text("Delete")))
				})), h.P(h.Class("said"), g.Text(c.text)))
		})))
}

// comment writes a comment on a batch, or deletes one.
func (c *Console) comment(v *visit) {
	key := v.r.PathValue("batch")
	back := "/batches/" + key
	batch, err := strconv.ParseInt(key, 10, 64)
	if err != nil {
		var found *batchInfo
		if err = v.session.read(v.ctx(), func(tx pgx.Tx) (err error) {
			found, err = findBatch(v.ctx(), tx, key)
			return err
		}); err == nil && found == nil {
			err = errNotThere("There is no batch of that name or number that you may see.")
		}
		if err != nil {
			v.failed(err)
			return
		}
		batch, back = found.id, found.path()
	}
	said := &flash{good: true, text: "Written."}
	if gone := v.r.PostForm.Get("delete"); gone != "" {
		id, wrong := strconv.ParseInt(gone, 10, 64)
		if wrong != nil {
			v.problem(http.StatusBadRequest, "This is no comment", shorten(gone, 60)+" is no number of one.")
			return
		}
		said.text = "Deleted."
		tag, failed := v.session.pool.Exec(v.ctx(), `DELETE FROM public.iasql_batch_comments c WHERE c.id = $1 AND c.batch = $2`, id, batch)
		if err = failed; err == nil && tag.RowsAffected() == 0 {
			said = &flash{text: "This comment is not there any more, or it is somebody else's."}
		}
	} else {
		text := strings.TrimSpace(strings.ReplaceAll(v.r.PostForm.Get("comment"), "\r\n", "\n"))
		_, err = v.session.pool.Exec(v.ctx(), `INSERT INTO public.iasql_batch_comments (batch, comment) VALUES ($1, $2)`, batch, text)
	}
	if err != nil {
		text, hint := explain(err)
		if sqlState(err) == pgerrcode.InsufficientPrivilege {
			text, hint = "Your role may not comment: that takes iasql_user.", ""
		}
		said = &flash{text: strings.TrimSpace(text + " " + hint)}
	}
	v.session.say(said)
	http.Redirect(v.w, v.r, back, http.StatusSeeOther)
}
