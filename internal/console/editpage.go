package console

import (
	"context"

	"github.com/jackc/pgx/v5"
	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"
)

// name has the choices know what the records are called that inputs name, of tables of
// which they have some records only.
func (c *choices) name(ctx context.Context, tx pgx.Tx, fields []*field, entries map[string]entry) error {
	values, targets := map[string][]string{}, map[string]*target{}
	for _, f := range fields {
		if f.refers == nil || !c.many[f.refers.name()] {
			continue
		}
		e, name := entries[f.name], f.refers.name()
		targets[name] = f.refers
		values[name] = append(values[name], e.items...)
		if e.text != "" {
			values[name] = append(values[name], e.text)
		}
	}
	for name, named := range values {
		known, err := targets[name].called(ctx, tx, named)
		if err != nil {
			return err
		}
		c.of[name] = append(known, c.of[name]...)
	}
	return nil
}

// draw has the buttons by which a form is sent, and the batch that it goes to. The first
// button is the one that the Enter key presses.
func (p places) draw(now string, sql bool) g.Node {
	batch := h.Input(h.Type("hidden"), h.Name("batch"), h.Value(""))
	into := "Stage in a new batch"
	if len(p.own) > 0 && p.stages {
		into = "Stage in my batch"
		options := []g.Node{}
		for _, b := range p.own {
			text := b.title()
			if b.records == 1 {
				text += ", 1 record"
			} else {
				text += ", " + grouped(b.records) + " records"
			}
			options = append(options, h.Option(h.Value(number(b.id)), g.If(p.chosen == number(b.id), h.Selected()),
				g.Text(shorten(text, 60))))
		}
		options = append(options, h.Option(h.Value(""), g.If(p.chosen == "", h.Selected()), g.Text("a new batch")))
		batch = h.Label(h.Class("into"), h.Span(g.Text("Batch")),
			h.Select(h.Name("batch"), h.Aria("label", "the batch to stage it in"), g.Group(options)))
	}
	button := func(class, how, text, why string) g.Node {
		return h.Button(h.Class(class), h.Type("submit"), h.Name("how"), h.Value(how), g.Attr("title", why),
			g.Text(text))
	}
	return h.Div(h.Class("send"),
		g.If(p.stages, button("primary", "stage", into, "You review the batch before anything reaches the cloud.")),
		button("", "now", now, "It is pushed to the cloud in a moment, without a review."),
		g.If(sql, button("", "sql", "Show the SQL", "Runs nothing.")),
		batch)
}

// showForm writes the page of a record's form.
func (v *visit) showForm(d *editForm, status int) {
	title, action := "New "+d.t.name, "/records/"+d.t.name+"/new"
	lead := "What is left empty gets its default, or the cloud chooses."
	if !d.fresh {
		title, action, lead = "Edit "+d.t.name+" "+number(d.id), recordPath(d.t.name, d.id)+"/edit", d.called
	}
	var first, rest, fixed []g.Node
	open := false
	for i, f := range d.t.fields {
		e := d.entries[f.name]
		switch {
		case f.writable(d.fresh) && !e.large:
			input := f.draw(d.t, e, d.choices, d.fresh)
			given := e.text != "" || len(e.pairs) > 0 || len(e.items) > 0
			if !d.fresh || f.required || f.naming || f.telling || f.name == "tags" || given || e.failed != "" {
				first = append(first, input)
			} else {
				rest = append(rest, input)
			}
			open = open || e.failed != ""
		case !d.fresh && f.readable && d.values != nil:
			column := &columnInfo{name: f.name, kind: f.kind, category: f.category, identity: f.identity}
			fixed = append(fixed, h.Tr(h.Th(h.Scope("row"), g.Attr("title", f.doc), g.Text(f.name)),
				h.Td(value(column, d.values[i], 500))))
		}
	}
	note := g.Node(nil)
	if text := d.t.replaced(); text != "" && !d.fresh {
		note = h.P(h.Class("muted small"), g.Text(text))
	}
	if len(first) == 0 {
		first, rest = rest, nil
	}
	v.write(status, title, lead,
		d.said.draw(),
		showSQL(d.shown),
		h.Form(h.Class("edit"), h.Method("post"), h.Action(action), h.AutoComplete("off"),
			h.Input(h.Type("hidden"), h.Name("csrf"), h.Value(v.session.csrf)),
			h.Div(h.Class("card"), note, g.Group(first),
				g.If(len(rest) > 0, h.Details(g.If(open, g.Attr("open")), counted("Optional columns", rest),
					g.Group(rest)))),
			d.places.draw("Save now", true)),
		g.If(len(fixed) > 0, h.Details(h.Class("card"), counted("What you cannot change", fixed),
			h.Div(h.Class("values"), rowsOf([]string{"Column", "Value"}, fixed)))),
		h.P(h.A(h.Href(d.back()), g.Text("← Back without saving"))))
}

func counted(text string, rows []g.Node) g.Node {
	return h.Summary(g.Text(text + " (" + number(int64(len(rows))) + ")"))
}

func (d *editForm) back() string {
	if d.id != 0 {
		return recordPath(d.t.name, d.id)
	}
	return "/records/" + d.t.name
}

// draw says what is wrong with a whole form.
func (c complaint) draw() g.Node {
	if c.text == "" {
		return nil
	}
	return h.Div(h.Class("alert bad"), h.Role("alert"), h.P(g.Text(shorten(c.text, 3000)),
		g.Map(c.see, func(column string) g.Node {
			return g.Group([]g.Node{g.Text(" "), h.A(h.Href("#f-"+column), g.Text("See "+column+"."))})
		})),
		g.If(c.hint != "", h.P(h.Class("message"), g.Text(shorten(c.hint, 3000)))))
}

// showSQL shows statements; a click on one selects all of it.
func showSQL(statements []string) g.Node {
	if len(statements) == 0 {
		return nil
	}
	return h.Details(h.Class("card shown"), g.Attr("open"), h.Summary(g.Text("The SQL of it; nothing was run")),
		g.Map(statements, func(s string) g.Node { return h.Pre(h.Class("sql whole"), g.Text(s)) }),
		h.P(h.Class("muted small"),
			g.Text("Secrets are left out. To run it, press one of the other buttons, or paste it into psql.")))
}
