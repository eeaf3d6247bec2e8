package console

import (
	"strings"

	"github.com/jackc/pgx/v5"
	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"
)

type moduleInfo struct {
	name, version string
	dependencies  []string
	installed     bool
	composition   bool
}

// typeName is a resource type that is not installed and has a name that people know it by.
type typeName struct{ name, of, doc string }

func (c *Console) modules(v *visit) {
	var all []moduleInfo
	var types []typeName
	var tables []*tableInfo
	err := v.session.read(v.ctx(), func(tx pgx.Tx) error {
		rows, err := tx.Query(v.ctx(), `
			SELECT l.module_name, coalesce(i.module_version, l.module_version), coalesce(l.dependencies, '{}'), i.module_name IS NOT NULL,
			       EXISTS (SELECT FROM iasql_internal.composition c WHERE c.name = l.module_name)
			FROM public.iasql_modules_list() l LEFT JOIN public.iasql_modules_installed() i USING (module_name) ORDER BY i.module_name IS NULL, 1`)
		if err != nil {
			return err
		}
		if all, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (moduleInfo, error) {
			var m moduleInfo
			return m, row.Scan(&m.name, &m.version, &m.dependencies, &m.installed, &m.composition)
		}); err != nil {
			return err
		}
		rows, err = tx.Query(v.ctx(), `
			SELECT name, type_name, description FROM public.iasql_type_names WHERE NOT installed ORDER BY 1`)
		if err != nil {
			return err
		}
		if types, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (typeName, error) {
			var t typeName
			return t, row.Scan(&t.name, &t.of, &t.doc)
		}); err != nil {
			return err
		}
		tables, err = loadTables(v.ctx(), tx, false)
		return err
	})
	if err != nil {
		v.failed(err)
		return
	}
	of := map[string][]g.Node{}
	for _, t := range tables {
		of[t.module] = append(of[t.module], h.A(h.Class("tag"), h.Href("/records/"+t.name), g.Text(t.name)))
	}
	var installed, others []g.Node
	for _, m := range all {
		body := []g.Node{h.H3(h.ID(m.name), g.Text(m.name),
			h.Span(h.Class("muted small"), g.Text(" version "+m.version)))}
		if len(m.dependencies) > 0 {
			body = append(body, h.P(h.Class("muted small"), g.Text("needs "+strings.Join(m.dependencies, ", "))))
		}
		links := h.P(h.Class("row small"),
			g.If(documented(m.name) || m.composition, h.A(h.Href("/modules/"+m.name), g.Text("Documentation →"))),
			g.If(m.installed, h.A(h.Href(to("/map", "module", m.name)), g.Text("Diagram →"))))
		if m.installed {
			body = append(body, h.P(h.Class("tags"), g.Group(of[m.name])), links)
			installed = append(installed, h.Article(h.Class("card module"), g.Group(body)))
		} else {
			body = append(body, links, v.button(install(m.name), "module", m.name))
			others = append(others, h.Article(h.Class("card module"), g.Group(body)))
		}
	}
	var known []g.Node
	for _, t := range types {
		known = append(known, h.Article(h.Class("card module"), h.H3(h.ID(t.name), g.Text(t.name)),
			h.P(h.Class("muted small"), g.Text(t.of)), h.P(g.Text(t.doc)), v.button(install(t.name), "module", t.name)))
	}
	v.live = true
	v.page("Modules", "A module brings the tables of a service, filled with what the cloud has.",
		g.If(len(installed) > 0, g.Group([]g.Node{h.H2(g.Text("Installed")),
			h.Div(h.Class("grid"), g.Group(installed))})),
		g.If(len(others) > 0, g.Group([]g.Node{h.H2(g.Text("Can be installed")),
			h.P(h.Class("muted"), g.Text("Installing makes the tables of a module and of those it needs, and imports "+
				"what the cloud has.")), h.Div(h.Class("grid"), g.Group(others))})),
		g.If(len(known) > 0, g.Group([]g.Node{h.H2(g.Text("Resource types by their names")),
			h.P(h.Class("muted"), g.Text(
				"The cloud describes these types itself, and the engine makes a table of what "+
					"it says. Every other type that the account has is installed in the same way: "),
				h.Code(g.Text("SELECT * FROM iasql_types('*')"))), h.Div(h.Class("grid"), g.Group(known))})))
}
