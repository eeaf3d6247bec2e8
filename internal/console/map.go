package console

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"
)

// wholeMap is the map of resources, or that of tables if the address asks for it.
func (c *Console) wholeMap(v *visit) {
	if form := v.r.URL.Query(); form.Has("tables") || form.Get("module") != "" {
		c.tablesMap(v)
		return
	}
	c.resourceMap(v)
}

// tablesMap draws the tables: what refers to what, how many records each has, and
// where something is wrong. Of one module it draws all tables, and those that they
// refer to.
func (c *Console) tablesMap(v *visit) {
	var gr graph
	module := v.r.FormValue("module")
	err := v.session.read(v.ctx(), func(tx pgx.Tx) error {
		tables, err := loadTables(v.ctx(), tx, true)
		if err != nil {
			return err
		}
		states, _, err := loadStates(v.ctx(), tx)
		if err != nil {
			return err
		}
		references, err := loadReferences(v.ctx(), tx)
		if err != nil {
			return err
		}
		gr = tableGraph(tables, states, references, module)
		return nil
	})
	if err != nil {
		v.failed(err)
		return
	}
	v.live = true
	lead := "What hangs on what: a table stands to the right of those that it refers to. Open a record to see what " +
		"hangs on it."
	if len(gr.nodes) == 0 {
		v.page("Map of tables", lead, h.Div(h.Class("card"), empty("There are no records yet.", v.installs())))
		return
	}
	v.page("Map of tables", lead, h.P(h.A(h.Href("/map"), g.Text("Map of resources"))), g.If(module != "",
		h.P(h.A(h.Class("chip"), h.Href("/map?tables"), g.Text("module "+shorten(module, 60)+" ✕")))),
		h.Div(h.Class("card"), gr.draw()), legend())
}

// installs is a statement that installs a module.
func (c *Console) installs() string {
	return "SELECT * FROM iasql_install(" + literal(c.options.Examples.Module) + ");"
}

func legend() g.Node {
	return h.P(h.Class("muted small"), h.Span(h.Class("state ok"), g.Text("as it should be")),
		h.Span(h.Class("state busy"), g.Text("under way")), h.Span(h.Class("state bad"), g.Text("needs you")))
}

func tableGraph(tables []*tableInfo, states []stateCount, references []reference, module string) graph {
	var gr graph
	at, quiet := map[string]int{}, noise(references)
	shown := map[string]bool{}
	for _, t := range tables {
		// an empty table tells nothing
		shown[t.name] = t.module == module || module == "" && !(t.readable && t.records == 0)
	}
	if module != "" {
		for _, r := range references {
			if i := slices.IndexFunc(tables, func(t *tableInfo) bool {
				return t.name == r.from
			}); i >= 0 && tables[i].module == module {
				shown[r.to] = true
			}
		}
	}
	for _, t := range tables {
		if quiet[t.name] || !shown[t.name] {
			continue
		}
		at[t.name] = len(gr.nodes)
		sub := t.size() + " records"
		if t.exact && t.records == 1 {
			sub = "1 record"
		}
		gr.nodes = append(gr.nodes, node{title: t.name, sub: sub, href: "/records/" + t.name})
	}
	for _, s := range states {
		if i, ok := at[s.table]; ok {
			if strings.HasSuffix(s.state, "Failed") || s.state == "Conflict" {
				gr.nodes[i].class = "bad"
			} else if gr.nodes[i].class == "" {
				gr.nodes[i].class = "busy"
			}
		}
	}
	for _, r := range references {
		from, ok := at[r.from]
		to, there := at[r.to]
		if e := (edge{from, to}); ok && there && from != to && !slices.Contains(gr.edges, e) {
			gr.edges = append(gr.edges, e)
		}
	}
	// As far right as the longest way to it; tables that refer to each other in a
	// circle stop where the bound is.
	for range 6 {
		for _, e := range gr.edges {
			if gr.nodes[e.from].rank <= gr.nodes[e.to].rank && gr.nodes[e.to].rank < 5 {
				gr.nodes[e.from].rank = gr.nodes[e.to].rank + 1
			}
		}
	}
	return gr
}

// recordMap draws what hangs on a record, and what it hangs on, three steps far.
func (c *Console) recordMap(v *visit) {
	id, err := strconv.ParseInt(v.r.PathValue("id"), 10, 64)
	if err != nil {
		v.problem(http.StatusNotFound, "There is nothing here", "A record is named by its id, which is a number.")
		return
	}
	name := v.r.PathValue("table")
	var gr graph
	var of *tableInfo
	deletes := v.r.URL.Query().Has("deletes")
	err = v.session.read(v.ctx(), func(tx pgx.Tx) error {
		t, err := findTable(v.ctx(), tx, name)
		if err != nil {
			return err
		}
		var there bool
		if err := tx.QueryRow(v.ctx(), "SELECT EXISTS (SELECT FROM "+table(t.name)+" t WHERE t.id = $1)",
			pgx.QueryExecModeExec, id).Scan(&there); err != nil {
			return err
		}
		if !there {
			return errNotThere("There is no record " + number(id) + " of " + t.name + ", or you may not see it.")
		}
		if of = t; deletes {
			return nil
		}
		references, err := loadReferences(v.ctx(), tx)
		if err != nil {
			return err
		}
		gr, err = neighbours(v.ctx(), tx, references, name, id, 2, 6)
		return err
	})
	if err != nil {
		v.failed(err)
		return
	}
	if deletes {
		c.brokenMap(v, of, id)
		return
	}
	v.live = true
	v.page("Map of "+name+" "+number(id),
		"On the left what it refers to, on the right what refers to it, two steps far.",
		h.P(recordLink(name, id), g.Text(" · "), h.A(h.Href(deletesPath(name, id)),
			g.Text("what breaks if you delete it")),
			g.Text(" · "), h.A(h.Href("/map?tables"), g.Text("all tables"))),
		h.Div(h.Class("card"), gr.draw()), legend())
}
