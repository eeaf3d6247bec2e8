package console

import (
	"slices"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"
)

// unsorted says why a list is not sorted as it was asked to be.
func unsorted(t *tableInfo, q listQuery, by *columnInfo) g.Node {
	if by == nil {
		return nil
	}
	return h.Div(h.Class("alert busy"),
		h.P(g.Text("Not sorted by "+by.name+
			": no index has it, and the whole table would have to be sorted for each page. With one it takes no time:")),
		h.Pre(h.Class("sql"), g.Text("CREATE INDEX CONCURRENTLY ON "+ident(t.name)+" ("+ident(by.name)+");")),
		h.P(h.A(h.Href(q.address(t.name, func(q *listQuery) {
			q.sort, q.anyway = by.name, true
		})), g.Text("Sort anyway"))))
}

func (v *visit) filterForm(t *tableInfo, columns []*columnInfo, q listQuery) g.Node {
	var chips, hidden []g.Node
	for i, c := range q.conditions {
		text := c.column + " "
		for _, o := range operators {
			if o.name == c.operator {
				text += o.text
			}
		}
		if c.operator != "null" && c.operator != "some" {
			text += " " + shorten(c.value, 60)
		}
		chips = append(chips, h.A(h.Class("chip"), g.Attr("title", "Remove this filter"),
			h.Href(q.address(t.name, func(q *listQuery) {
				q.conditions = slices.Delete(q.conditions, i, i+1)
			})), g.Text(text+" ✕")))
		value := c.value
		if value == "" {
			value = "-"
		}
		hidden = append(hidden, h.Input(h.Type("hidden"), h.Name("c"), h.Value(c.column)),
			h.Input(h.Type("hidden"), h.Name("o"), h.Value(c.operator)),
			h.Input(h.Type("hidden"), h.Name("v"), h.Value(value)))
	}
	if q.sort != "id" {
		hidden = append(hidden, h.Input(h.Type("hidden"), h.Name("sort"), h.Value(q.sort)))
	}
	if q.descending {
		hidden = append(hidden, h.Input(h.Type("hidden"), h.Name("dir"), h.Value("desc")))
	}
	toggle := h.A(h.Class("chip"), h.Href(q.address(t.name, func(q *listQuery) {
		q.problems = true
	})), g.Text("only what is not settled"))
	if q.problems {
		toggle = h.A(h.Class("chip on"), h.Href(q.address(t.name, func(q *listQuery) {
			q.problems = false
		})), g.Text("only what is not settled ✕"))
	}
	return h.Form(h.Class("filter"), h.Method("get"), h.Action("/records/"+t.name), h.Role("search"),
		g.Group(hidden),
		h.Label(h.Class("hidden"), h.For("column"), g.Text("Column")),
		h.Select(h.ID("column"), h.Name("c"), g.Map(columns, func(c *columnInfo) g.Node {
			return h.Option(h.Value(c.name), g.Text(c.name))
		})),
		h.Label(h.Class("hidden"), h.For("operator"), g.Text("Operator")),
		h.Select(h.ID("operator"), h.Name("o"),
			g.Map(operators, func(o struct{ name, text, sql string }) g.Node {
				return h.Option(h.Value(o.name),
					g.Text(o.text))
			})),
		h.Label(h.Class("hidden"), h.For("value"), g.Text("Value")),
		h.Input(h.ID("value"), h.Name("v"), h.Type("search"), h.Placeholder("value"), g.Attr("data-search", ""),
			h.MaxLength("1000")),
		h.Button(h.Type("submit"), g.Text("Filter")),
		h.Div(h.Class("chips"), g.Group(chips), toggle))
}

// meanings says what the columns are, as the module documents them.
func meanings(columns []*columnInfo) g.Node {
	return h.Details(h.Class("card"), h.Summary(g.Text("What the columns mean")),
		rowsOf([]string{"Column", "Type", ""}, g.Map(columns, func(c *columnInfo) g.Node {
			return h.Tr(h.Th(h.Scope("row"), g.Text(c.name)), h.Td(h.Class("muted"), g.Text(c.kind)),
				h.Td(g.Text(c.doc)))
		})))
}
