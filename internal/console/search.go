package console

import (
	"bufio"
	"bytes"
	"context"
	"io/fs"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"iasql/docs"
)

// mostHits is how many results of a kind are shown.
const mostHits = 50

// mostQuery is how long a query may be; what a field takes is as long.
const mostQuery = 500

// hit is a result of the search.
type hit struct {
	kind, label, matched string
	table, region        *string
	id                   *int64
	details              string // of a setting: what it says; of a configuration: who declared it
	href                 string
}

// hitKinds are the groups of results, in the order in which they are shown where the best
// of each are equally good.
var hitKinds = []struct{ name, title string }{
	{"record", "Records"}, {"table", "Tables"}, {"batch", "Batches"}, {"configuration", "Configurations"},
	{"module", "Modules"}, {"setting", "Settings"}, {"page", "Pages"}, {"manual", "Documentation"},
}

// search is the page of results. The dialog that is in every page asks for the results alone.
func (c *Console) search(v *visit) {
	query := strings.TrimSpace(shorten(v.r.URL.Query().Get("q"), mostQuery))
	var hits []hit
	if query != "" {
		err := v.session.read(v.ctx(), func(tx pgx.Tx) (err error) {
			hits, err = loadHits(v.ctx(), tx, query)
			return err
		})
		if err != nil {
			v.failed(err)
			return
		}
		hits = append(hits, pagesFor(query)...)
	}
	if v.partial() && v.r.Header.Get("HX-Target") == "hits" {
		writePage(v.w, http.StatusOK, results(query, hits))
		return
	}
	v.page("Search", "",
		h.Form(h.Class("filter"), h.Method("get"), h.Action("/search"), h.Role("search"),
			h.Label(h.Class("hidden"), h.For("q"), g.Text("Search for")),
			h.Input(h.ID("q"), h.Name("q"), h.Type("search"), h.Value(query), h.MaxLength("500"),
				h.Placeholder(placeholder), g.If(query == "", h.AutoFocus())),
			h.Button(h.Type("submit"), g.Text("Search"))),
		h.Div(h.Class("card found"), results(query, hits)),
		section("Keys", keyList()))
}

const placeholder = "Name, id, address, tag, batch …"

// pagesFor finds the console's own pages, and headings of the documentation.
func pagesFor(query string) (hits []hit) {
	asked := strings.ToLower(query)
	for _, n := range navigation {
		if strings.HasPrefix(strings.ToLower(n.text), asked) {
			hits = append(hits, hit{kind: "page", label: n.text, href: n.path})
		}
	}
	for _, heading := range headings {
		if strings.Contains(strings.ToLower(heading.label), asked) {
			hits = append(hits, heading)
		}
	}
	return hits
}

// headings are those of the documentation that is within the program.
var headings = func() (found []hit) {
	paths, err := fs.Glob(docs.Modules, "modules/*.md")
	if err != nil {
		panic(err) // the pattern is ours
	}
	for _, path := range paths {
		text, err := fs.ReadFile(docs.Modules, path)
		if err != nil {
			panic(err) // the folder is embedded
		}
		module := strings.TrimSuffix(strings.TrimPrefix(path, "modules/"), ".md")
		for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
			title, is := strings.CutPrefix(lines.Text(), "## ")
			if is {
				title = strings.ReplaceAll(title, "`", "")
				found = append(found, hit{kind: "manual", label: title, matched: module, href: "/modules/" + module})
			}
		}
		found = append(found, hit{kind: "manual", label: module, matched: "all of it", href: "/modules/" + module})
	}
	return found
}()

// results are the hits by their kinds: first the kind that has the best.
func results(query string, hits []hit) g.Node {
	if query == "" {
		return h.P(h.Class("empty"),
			g.Text("Type what people or the cloud call it, an address, or a tag such as team=shop."))
	}
	if len(hits) == 0 {
		return h.P(h.Class("empty"), g.Text("Nothing that you may see is found by “"+query+"”."))
	}
	order := make([]string, 0, len(hitKinds))
	of := map[string][]hit{}
	for _, hit := range hits {
		if of[hit.kind] == nil {
			order = append(order, hit.kind)
		}
		of[hit.kind] = append(of[hit.kind], hit)
	}
	return g.Map(order, func(kind string) g.Node {
		i := slices.IndexFunc(hitKinds, func(k struct{ name, title string }) bool { return k.name == kind })
		list := of[kind]
		more := len(list) > mostHits
		return h.Section(h.Class("hits"), h.H2(g.Text(hitKinds[i].title),
			g.If(more, h.Span(h.Class("muted small"), g.Text(" the best "+number(mostHits)+"; there are more")))),
			h.Ul(g.Map(list[:min(len(list), mostHits)], hit.show)))
	})
}

func (hit hit) show() g.Node {
	where := hit.matched
	if where == "name" { // which stands there
		where = ""
	}
	if hit.table != nil && hit.id != nil {
		where = *hit.table + " " + number(*hit.id)
		if hit.region != nil {
			where += " · " + *hit.region
		}
	}
	return h.Li(h.A(h.Class("hit"), h.Href(hit.href),
		h.Strong(g.Text(shorten(hit.label, 120))),
		g.If(where != "", h.Span(h.Class("muted"), g.Text(where))),
		g.If(hit.table != nil && hit.id != nil, h.Span(h.Class("muted small why"), g.Text(shorten(hit.matched, 160)))),
		g.If(hit.details != "", h.Span(h.Class("muted small why"), g.Text(shorten(hit.details, 300))))))
}

// keyList says what keys do.
func keyList() g.Node {
	keys := [][2]string{{"Ctrl K · /", "search"}, {"↑ ↓ Enter", "choose a result"}, {"f", "go to the filter"},
		{"j · k", "next and previous record of a list"}, {"Ctrl Enter", "run what is on the page of SQL"},
		{"?", "show the keys"}, {"Esc", "close"}}
	for _, n := range navigation {
		keys = append(keys, [2]string{"g " + n.key, "go to " + n.text})
	}
	return h.Dl(h.Class("keys"), g.Map(keys, func(k [2]string) g.Node {
		return h.Div(h.Dt(g.Map(strings.Fields(k[0]), func(key string) g.Node {
			if key == "·" {
				return g.Text(" or ")
			}
			return h.Kbd(g.Text(key))
		})), h.Dd(g.Text(k[1])))
	}))
}

// dialogs are what keys open in every page.
func dialogs() g.Node {
	return g.Group([]g.Node{
		g.El("dialog", h.ID("search"), g.Attr("aria-label", "Search"),
			h.Form(h.Method("get"), h.Action("/search"), h.Role("search"),
				h.Input(h.Name("q"), h.Type("search"), h.AutoComplete("off"), h.MaxLength("500"),
					h.Placeholder(placeholder),
					g.Attr("aria-label", "Search for"), h.Role("combobox"), g.Attr("aria-controls", "hits"),
					g.Attr("aria-expanded", "false"), g.Attr("spellcheck", "false"),
					g.Attr("hx-get", "/search"), g.Attr("hx-trigger", "input changed delay:60ms"),
					g.Attr("hx-target", "#hits"), g.Attr("hx-swap", "innerHTML"), g.Attr("hx-sync", "this:replace"))),
			h.Div(h.ID("hits"), h.Class("found"), h.Role("status"), g.Attr("aria-label", "Results"), results("", nil))),
		g.El("dialog", h.ID("keys"), g.Attr("aria-label", "Keys"), h.H2(g.Text("Keys")), keyList(),
			h.Form(h.Method("dialog"), h.Button(h.Type("submit"), g.Text("Close")))),
	})
}

// toSearch is the link to the search; the script opens the dialog instead.
func toSearch() g.Node {
	return h.A(h.Class("search"), h.Href("/search"), g.Attr("data-dialog", "search"), g.Text("Search "),
		h.Kbd(g.Text("Ctrl K")))
}

// hrefOf is where the page of a result is.
func hrefOf(hit hit, batch *int64) string {
	switch {
	case hit.kind == "record":
		return recordPath(deref(hit.table), *hit.id)
	case hit.kind == "table":
		return "/records/" + url.PathEscape(hit.label)
	case hit.kind == "batch" && hit.id != nil:
		return "/batches/" + number(*hit.id)
	case hit.kind == "configuration" && batch != nil:
		return "/batches/" + number(*batch)
	case hit.kind == "module" && documented(hit.label):
		return "/modules/" + url.PathEscape(hit.label)
	case hit.kind == "module":
		return "/modules#" + url.PathEscape(hit.label)
	}
	return to("/search", "q", hit.label) // its page says what there is to say of it
}

// loadHits asks the database, with the rights of who asks.
func loadHits(ctx context.Context, tx pgx.Tx, query string) ([]hit, error) {
	rows, err := tx.Query(ctx, `
		SELECT f.kind, coalesce(f.label, ''), f.matched, f.table_name, f.region, f.record_id, c.batch,
		       coalesce(s.name || ' = ' || s.value || ': ' || s.description, 'declared by ' || c.declared_by, '')
		FROM public.iasql_search($1, $2) WITH ORDINALITY f
		LEFT JOIN public.iasql_settings s ON f.kind = 'setting' AND s.name = f.label
		LEFT JOIN public.iasql_configurations c ON f.kind = 'configuration' AND c.name = f.label ORDER BY f.ordinality`, query, mostHits+1)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (hit, error) {
		var f hit
		var batch *int64
		err := row.Scan(&f.kind, &f.label, &f.matched, &f.table, &f.region, &f.id, &batch, &f.details)
		if f.label == "" && f.table != nil && f.id != nil {
			f.label = *f.table + " " + number(*f.id)
		}
		f.href = hrefOf(f, batch)
		return f, err
	})
}
