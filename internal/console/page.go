package console

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgerrcode"
	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"
)

// visit is one request of somebody who has signed in.
type visit struct {
	*Console
	session *session
	w       http.ResponseWriter
	r       *http.Request
	live    bool // the page asks anew when something has happened
	refresh int  // seconds after which a browser without scripts asks anew
}

func (v *visit) ctx() context.Context { return v.r.Context() }

// partial reports whether the page's script asks, which takes a part of the page.
func (v *visit) partial() bool { return v.r.Header.Get("HX-Request") != "" }

var navigation = []struct{ path, text, key string }{
	{"/", "Overview", "o"},
	{"/records", "Records", "r"},
	{"/batches", "Batches", "b"},
	{"/map", "Map", "m"},
	{"/activity", "Activity", "a"},
	{"/changes", "Changes", "c"},
	{"/sql", "SQL", "s"},
	{"/modules", "Modules", "i"},
	{"/as-of", "As of", "t"},
}

// document is a page's frame, in the theme that its reader has chosen.
func document(chosen theme, title string, head []g.Node, body ...g.Node) g.Node {
	return h.Doctype(h.HTML(h.Lang("en"), chosen.attribute(),
		h.Head(
			h.Meta(h.Charset("utf-8")),
			h.Meta(h.Name("viewport"), h.Content("width=device-width, initial-scale=1")),
			h.Meta(h.Name("color-scheme"), h.Content(chosen.scheme())),
			// No style and no script that is not a file of the console's (guard.go).
			h.Meta(h.Name("htmx-config"), h.Content(
				`{"includeIndicatorStyles":false,"allowEval":false,"selfRequestsOnly":true,"historyCacheSize":0,"allowScriptTags":false}`)),
			h.TitleEl(g.Text(title+" · iasql")),
			h.Link(h.Rel("stylesheet"), h.Href("/static/style.css")),
			h.Link(h.Rel("icon"), h.Href("/static/icon.svg")),
			h.Script(h.Src("/static/htmx.min.js"), h.Defer()),
			h.Script(h.Src("/static/app.js"), h.Defer()),
			g.Group(head),
		),
		h.Body(body...),
	))
}

func writePage(w http.ResponseWriter, status int, page g.Node) {
	var b bytes.Buffer
	if err := page.Render(&b); err != nil {
		http.Error(w, "the page could not be made", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes()) // #nosec G705 -- every text in it is escaped by gomponents
}

// page writes a page. lead says in a sentence what it is for.
func (v *visit) page(title, lead string, content ...g.Node) {
	v.write(http.StatusOK, title, lead, content...)
}

func (v *visit) write(status int, title, lead string, content ...g.Node) {
	var head []g.Node
	if v.refresh > 0 {
		head = append(head, g.El("noscript", h.Meta(g.Attr("http-equiv", "refresh"), h.Content(fmt.Sprint(v.refresh)))))
	}
	main := []g.Node{h.ID("main"), g.Attr("tabindex", "-1")}
	if v.live {
		// Asks for itself again when app.js hears of something.
		main = append(main, g.Attr("hx-get", v.r.URL.RequestURI()), g.Attr("hx-trigger", "iasql from:body delay:400ms"),
			g.Attr("hx-select", "#live"), g.Attr("hx-target", "#live"), g.Attr("hx-swap", "outerHTML"))
	}
	main = append(main, h.Header(h.Class("title"), h.H1(g.Text(title)),
		g.If(lead != "", h.P(h.Class("muted"), g.Text(lead)))))
	if !v.partial() {
		main = append(main, v.flashed())
	}
	main = append(main, h.Div(append([]g.Node{h.ID("live")}, content...)...))
	writePage(v.w, status, document(themeOf(v.r), title, head,
		h.A(h.Class("skip"), h.Href("#main"), g.Text("Skip to the content")),
		h.Div(h.Class("frame"),
			h.Header(h.Class("side"),
				h.A(h.Class("brand"), h.Href("/"), logo(), g.Text("iasql")),
				toSearch(),
				h.Nav(g.Attr("aria-label", "Pages"),
					h.Ul(g.Map(navigation, func(n struct{ path, text, key string }) g.Node {
						here := v.r.URL.Path == n.path || n.path != "/" && strings.HasPrefix(v.r.URL.Path, n.path+"/")
						return h.Li(h.A(h.Href(n.path), g.If(here, g.Attr("aria-current", "page")),
							g.Attr("data-key", n.key), g.Text(n.text)))
					}))),
				v.themeSwitch(),
				h.Div(h.Class("who"),
					h.Span(h.Class("live"), h.ID("listening"),
						g.Attr("title", "Whether this page hears of what happens"), g.Text("static")),
					h.Span(h.Class("role"), g.Attr("title", "You are signed in as this role"), g.Text(v.session.role)),
					h.Form(h.Method("post"), h.Action("/signout"),
						h.Input(h.Type("hidden"), h.Name("csrf"), h.Value(v.session.csrf)),
						h.Button(h.Class("quiet"), h.Type("submit"), g.Text("Sign out"))),
				),
			),
			h.Main(main...),
		), dialogs()))
}

func (v *visit) flashed() g.Node {
	f := v.session.takeFlash()
	if f == nil {
		return nil
	}
	return h.Div(h.Class("alert "+goodBad(f.good)), h.Role("status"),
		h.P(g.Text(f.text)),
		g.If(len(f.details) > 0, h.Ul(g.Map(f.details, func(d string) g.Node {
			return h.Li(h.Code(g.Text(shorten(d, 2000))))
		}))))
}

// problem says what went wrong, on a page of its own.
func (v *visit) problem(status int, what, todo string) {
	v.live = false
	v.write(status, what, "", h.P(h.Class("alert bad"), h.Role("alert"), g.Text(todo)),
		h.P(h.A(h.Href("/"), g.Text("← Overview"))))
}

// failed says why a page cannot be shown. A session whose role may not log in any
// more has ended.
func (v *visit) failed(err error) {
	if v.ctx().Err() != nil {
		return // nobody waits
	}
	if refusedLogin(err) {
		v.sessions.remove(v.session)
		v.toSignIn(v.w, v.r)
		return
	}
	status := http.StatusBadGateway
	var missing errNotThere
	switch {
	case errors.As(err, &missing):
		v.problem(http.StatusNotFound, "There is nothing here", string(missing))
		return
	case sqlState(err) == pgerrcode.InsufficientPrivilege:
		status = http.StatusForbidden
	case len(sqlState(err)) == 5:
		status = http.StatusUnprocessableEntity
	}
	v.log.Debug("a page of the console failed", "path", v.r.URL.Path, "role", v.session.role, "error", err)
	text, hint := explain(err)
	if sqlState(err) == pgerrcode.QueryCanceled {
		text, hint = "The query took more than 15 seconds and was cancelled.",
			"Filter by a column that has an index, or run it in psql."
	}
	v.problem(status, "This cannot be shown", strings.TrimSpace(text+" "+hint))
}

// errNotThere says of what a page is asked for that it is not there, or not for
// this visitor, which is the same.
type errNotThere string

func (e errNotThere) Error() string { return string(e) }

func logo() g.Node {
	return h.SVG(h.Class("logo"), g.Attr("viewBox", "0 0 32 32"), h.Aria("hidden", "true"),
		g.El("path", g.Attr("d", "M4 10c0-3 5-5 12-5s12 2 12 5-5 5-12 5S4 13 4 10z")),
		g.El("path", g.Attr("d", "M4 15c2 3 7 4 12 4s10-1 12-4v7c0 3-5 5-12 5S4 25 4 22z")))
}

// to makes the address of a page of the console.
func to(path string, pairs ...string) string {
	query := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			query.Add(pairs[i], pairs[i+1])
		}
	}
	if len(query) == 0 {
		return path
	}
	return path + "?" + query.Encode()
}

func recordPath(table string, id int64) string {
	return "/records/" + url.PathEscape(table) + "/" + number(id)
}

func recordLink(table string, id int64) g.Node {
	return h.A(h.Class("ref"), h.Href(recordPath(table, id)), g.Text(table+" "+number(id)))
}

// when shows a time: app.js shows it in the reader's zone.
func when(t *time.Time) g.Node {
	if t == nil || t.IsZero() {
		return h.Span(h.Class("muted"), g.Text("–"))
	}
	utc := t.UTC()
	return h.Time(h.DateTime(utc.Format(time.RFC3339Nano)), g.Attr("title", utc.Format("2006-01-02 15:04:05.000 UTC")),
		g.Text(utc.Format("2006-01-02 15:04:05 UTC")))
}

// ago shows how long ago something was.
func ago(t *time.Time) g.Node {
	if t == nil || t.IsZero() {
		return h.Span(h.Class("muted"), g.Text("never"))
	}
	utc := t.UTC()
	return h.Time(h.Class("ago"), h.DateTime(utc.Format(time.RFC3339Nano)),
		g.Attr("title", utc.Format("2006-01-02 15:04:05 UTC")), g.Text(duration(time.Since(*t))+" ago"))
}

func duration(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", max(d, 0).Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", int(d.Hours()))
	}
	return fmt.Sprintf("%d days", int(d.Hours()/24))
}

// shorten cuts a text that is too long, between two characters.
func shorten(text string, most int) string {
	if len(text) <= most {
		return text
	}
	cut := most
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "…"
}

// grouped writes a number for people.
func grouped(n int64) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// state shows a record's state as a mark: by its text, not by colour alone.
func state(name string, review bool) g.Node {
	class := "ok"
	switch {
	case name == "Gone" || name == "Staged":
		class = "mode"
	case review || strings.HasSuffix(name, "Failed") || name == "Conflict":
		class = "bad"
	case name != "Present":
		class = "busy"
	}
	return h.Span(h.Class("state "+class), g.Text(name))
}

func section(title string, content ...g.Node) g.Node {
	return h.Section(h.Class("card"), h.H2(g.Text(title)), g.Group(content))
}

// empty teaches what would be there.
func empty(text string, sample ...string) g.Node {
	return h.Div(h.Class("empty"), h.P(g.Text(text)), g.Map(sample, func(s string) g.Node {
		return h.Pre(h.Class("sql"), g.Text(s))
	}))
}

func plainTable(header []string, rows [][]string) g.Node {
	return h.Div(h.Class("scroll"), h.Table(
		h.THead(h.Tr(g.Map(header, func(c string) g.Node { return h.Th(h.Scope("col"), g.Text(c)) }))),
		h.TBody(g.Map(rows, func(row []string) g.Node {
			return h.Tr(g.Map(row, func(c string) g.Node { return h.Td(g.Text(c)) }))
		}))))
}

// numeric are the columns whose numbers stand to the right.
var numeric = []string{"Records", "Pushed", "Pulled", "Errors", "Reads", "Calls", "Took"}

// rowsOf is a table whose cells are made of nodes.
func rowsOf(header []string, rows []g.Node) g.Node {
	return h.Div(h.Class("scroll"), g.Attr("tabindex", "0"), h.Table(
		h.THead(h.Tr(g.Map(header, func(c string) g.Node {
			if c == "" { // a header cell must say something
				return h.Td()
			}
			return h.Th(h.Scope("col"), g.If(slices.Contains(numeric, c), h.Class("num")), g.Text(c))
		}))),
		h.TBody(rows...)))
}
