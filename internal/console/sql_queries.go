package console

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5"
	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"
)

// savedQuery is a row of iasql_queries.
type savedQuery struct {
	id                 int64
	name, query, owner string
	shared             bool
}

func scanQuery(row pgx.CollectableRow) (savedQuery, error) {
	var q savedQuery
	return q, row.Scan(&q.id, &q.name, &q.query, &q.owner, &q.shared)
}

// loadQueries returns a role's saved queries, then those that others share with it;
// of these the list needs no more than the beginning.
func loadQueries(ctx context.Context, tx pgx.Tx, role string) ([]savedQuery, error) {
	rows, err := tx.Query(ctx,
		`SELECT q.id, q.name, left(q.query, 200), q.owner, q.shared FROM public.iasql_queries q ORDER BY q.owner <> $1, lower(q.name), q.id LIMIT 300`, role)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, scanQuery)
}

func openQuery(ctx context.Context, tx pgx.Tx, id string) (*savedQuery, error) {
	missing := errNotThere("There is no saved query " + shorten(id, 60) + ", or nobody shares it with you.")
	n, err := strconv.ParseInt(id, 10, 64)
	if err != nil {
		return nil, missing
	}
	rows, err := tx.Query(ctx,
		`SELECT q.id, q.name, q.query, q.owner, q.shared FROM public.iasql_queries q WHERE q.id = $1`, n)
	if err != nil {
		return nil, err
	}
	q, err := pgx.CollectExactlyOneRow(rows, scanQuery)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, missing
	}
	return &q, err
}

// saveSQL saves what stands in the form, or deletes a saved query.
func (c *Console) saveSQL(v *visit) {
	form, back := v.r.PostForm, "/sql"
	said := &flash{good: true}
	var err error
	switch {
	case form.Get("delete") != "":
		id, wrong := strconv.ParseInt(form.Get("delete"), 10, 64)
		if wrong != nil {
			v.problem(http.StatusBadRequest, "This is no saved query",
				shorten(form.Get("delete"), 60)+" is no number of one.")
			return
		}
		var name string
		err = v.session.pool.QueryRow(v.ctx(), `DELETE FROM public.iasql_queries q WHERE q.id = $1 RETURNING q.name`,
			id).Scan(&name)
		said.text = "Deleted: " + name + "."
	default:
		name, text := strings.TrimSpace(form.Get("name")), strings.ReplaceAll(form.Get("text"), "\r\n", "\n")
		if name == "" || strings.TrimSpace(text) == "" {
			v.problem(http.StatusBadRequest, "This cannot be saved",
				"Write a statement, and say how the query is to be called.")
			return
		}
		var id int64
		err = v.session.pool.QueryRow(v.ctx(),
			`INSERT INTO public.iasql_queries (name, query, shared, owner) VALUES ($1, $2, $3, $4) ON CONFLICT (owner, name) DO UPDATE SET query = excluded.query, shared = excluded.shared RETURNING id`,
			name, text, form.Get("shared") != "", v.session.role).Scan(&id)
		said.text, back = "Saved: "+name+".", to("/sql", "query", number(id))
	}
	if err != nil {
		text, hint := explain(err)
		said, back = &flash{text: strings.TrimSpace(text + " " + hint)}, "/sql"
		switch sqlState(err) {
		case pgerrcode.InsufficientPrivilege:
			said.text = "Your role may not save queries: that takes iasql_user."
		case pgerrcode.CheckViolation:
			said.text = fmt.Sprintf("A name has at most 200 characters and no control characters, a query at most %s "+
				"characters.", grouped(mostText))
		}
		if errors.Is(err, pgx.ErrNoRows) {
			said.text = "This query is not there any more, or it is somebody else's."
		}
	}
	v.session.say(said)
	http.Redirect(v.w, v.r, back, http.StatusSeeOther)
}

func (v *visit) saveForm(p *sqlPage) g.Node {
	name, shared := "", false
	if p.saved != nil && p.saved.owner == v.session.role {
		name, shared = p.saved.name, p.saved.shared
	}
	return h.Details(g.If(p.saved != nil && name != "", g.Attr("open")), h.Summary(g.Text("Save this query")),
		h.Div(h.Class("row sql-tools"),
			h.Label(h.For("query-name"), g.Text("Name")),
			h.Input(h.ID("query-name"), h.Name("name"), h.Type("text"), h.MaxLength("200"), h.Value(name)),
			h.Label(h.Class("check"), h.Input(h.Type("checkbox"), h.Name("shared"), h.Value("1"),
				g.If(shared, h.Checked())),
				g.Text("others may read it")),
			h.Button(h.Type("submit"), h.FormAction("/sql/queries"), h.Name("save"), h.Value("1"), g.Text("Save")),
			h.Span(h.Class("muted small"), g.Text("One of yours with this name is replaced."))))
}

func (v *visit) queriesCard(p *sqlPage) g.Node {
	if len(p.queries) == 0 {
		return section("Saved queries", empty("You have saved none, and nobody shares one with you.",
			"SELECT * FROM iasql_queries;"))
	}
	return section("Saved queries", h.Ul(h.Class("plain"), g.Map(p.queries, func(q savedQuery) g.Node {
		mine := q.owner == v.session.role
		return h.Li(h.A(h.Href(to("/sql", "query", number(q.id))), g.Attr("title", q.query), g.Text(q.name)),
			g.If(!mine, h.Span(h.Class("muted small"), g.Text("of "+q.owner))),
			g.If(mine && q.shared, h.Span(h.Class("mark"), g.Text("shared"))),
			g.If(mine && p.mayWrite, h.Form(h.Method("post"), h.Action("/sql/queries"), h.Class("inline danger"),
				h.Input(h.Type("hidden"), h.Name("csrf"), h.Value(v.session.csrf)),
				h.Input(h.Type("hidden"), h.Name("delete"), h.Value(number(q.id))),
				h.Button(h.Type("submit"), g.Attr("aria-label", "Delete "+q.name), g.Text("Delete")))))
	})))
}
