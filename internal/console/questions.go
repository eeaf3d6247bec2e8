package console

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"
)

// question is a statement that the console offers: what people ask of an
// installation. Those about every world are here; a world brings its own
// (Options.Questions).
type question struct {
	name, title, about string
	needs              []need
	asks               []ask
	sql                string // with :'name' for each value that is asked for
}

// need is a table that a question looks at, and the module that brings it.
type need struct{ module, table string }

// ask is a value that a question asks for, and what it is if nothing is said.
type ask struct{ name, otherwise string }

//go:embed questions
var ownQuestions embed.FS

// loadQuestions reads the questions of a folder.
func loadQuestions(files fs.FS) ([]question, error) {
	names, err := fs.Glob(files, "*.sql")
	if err != nil {
		return nil, err
	}
	questions := make([]question, 0, len(names))
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		q, err := parseQuestion(strings.TrimSuffix(path.Base(name), ".sql"), string(text))
		if err != nil {
			return nil, fmt.Errorf("question %s: %w", name, err)
		}
		questions = append(questions, q)
	}
	return questions, nil
}

func parseQuestion(name, text string) (question, error) {
	q := question{name: name}
	var about []string
	for {
		line, rest, _ := strings.Cut(text, "\n")
		said, comment := strings.CutPrefix(line, "-- ")
		if !comment {
			break
		}
		text = rest
		if needs, ok := strings.CutPrefix(said, "needs: "); ok {
			for _, of := range strings.Fields(needs) {
				module, table, ok := strings.Cut(of, ".")
				if !ok {
					return q, fmt.Errorf("needs %q: write module.table", of)
				}
				q.needs = append(q.needs, need{module, table})
			}
		} else if asked, ok := strings.CutPrefix(said, "asks: "); ok {
			name, otherwise, ok := strings.Cut(asked, "=")
			if !ok {
				return q, fmt.Errorf("asks %q: write name = value", asked)
			}
			q.asks = append(q.asks, ask{strings.TrimSpace(name), strings.TrimSpace(otherwise)})
		} else if q.title == "" {
			q.title = said
		} else {
			about = append(about, said)
		}
	}
	q.about, q.sql = strings.Join(about, " "), strings.TrimSpace(text)
	if q.title == "" || q.about == "" || len(split(q.sql)) != 1 {
		return q, fmt.Errorf("it has a title, a description and one statement")
	}
	for _, a := range q.asks {
		if !strings.Contains(q.sql, a.marker()) {
			return q, fmt.Errorf("it asks for %s and does not use it", a.name)
		}
	}
	return q, nil
}

func (a ask) marker() string { return ":'" + a.name + "'" }

func (c *Console) findQuestion(name string) *question {
	i := slices.IndexFunc(c.questions, func(q question) bool { return q.name == name })
	if i < 0 {
		return nil
	}
	return &c.questions[i]
}

// values are what a form says to a question.
func (q *question) values(form url.Values) map[string]string {
	values := map[string]string{}
	for _, a := range q.asks {
		values[a.name] = a.otherwise
		if said := form["ask_"+a.name]; len(said) > 0 {
			values[a.name] = strings.ReplaceAll(shorten(said[0], 500), "\x00", "")
		}
	}
	return values
}

// with returns a question's statement with values. A session without a search path
// of its role's takes it with every table's schema.
func (q *question) with(values map[string]string, qualified bool) string {
	text := q.sql
	if qualified {
		text = ours.ReplaceAllString(text, "public.$0")
		for _, n := range q.needs {
			text = regexp.MustCompile(`\b(FROM|JOIN) `+regexp.QuoteMeta(n.table)+`\b`).ReplaceAllString(text,
				"${1} public."+n.table)
		}
	}
	var pairs []string
	for _, a := range q.asks {
		pairs = append(pairs, a.marker(), literal(values[a.name]))
	}
	return strings.NewReplacer(pairs...).Replace(text) // no value is read again
}

// loadMissing returns which modules that bring questions' tables are not installed:
// a question's name, and what to install.
func loadMissing(ctx context.Context, tx pgx.Tx, questions []question) (map[string][]string, error) {
	rows, err := tx.Query(ctx, `SELECT t."table" FROM public.iasql_tables t`)
	if err != nil {
		return nil, err
	}
	there, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, err
	}
	missing := map[string][]string{}
	for _, q := range questions {
		for _, n := range q.needs {
			if !slices.Contains(there, n.table) && !slices.Contains(missing[q.name], n.module) {
				missing[q.name] = append(missing[q.name], n.module)
			}
		}
	}
	return missing, nil
}

func (v *visit) questionsCard(p *sqlPage) g.Node {
	var ready, later []g.Node
	for _, q := range v.questions {
		if missing := p.missing[q.name]; len(missing) > 0 {
			later = append(later, h.Li(h.Span(h.Class("muted"), g.Text(q.title)), h.Span(h.Class("message small"),
				g.Text("Install "),
				g.Map(missing, func(module string) g.Node {
					return h.Span(h.A(h.Href("/modules#"+module), h.Code(g.Text(module))), g.Text(" "))
				}), g.Text("to ask this."))))
			continue
		}
		ready = append(ready, v.questionLine(p, q))
	}
	return section("Questions", h.Ul(h.Class("plain questions"), g.Group(ready)),
		g.If(len(later) > 0,
			h.Details(h.Summary(g.Text(grouped(int64(len(later)))+" more are about modules that are not installed")),
				h.Ul(h.Class("plain questions"), g.Group(later)))))
}

func (v *visit) questionLine(p *sqlPage, q question) g.Node {
	asked := p.asked
	if p.ask == nil || p.ask.name != q.name {
		asked = q.values(nil)
	}
	return h.Li(h.A(h.Href(to("/sql", "ask", q.name)), g.Attr("title", "Shows the statement"), g.Text(q.title)),
		h.Form(h.Method("post"), h.Action("/sql"), h.Class("inline"),
			h.Input(h.Type("hidden"), h.Name("csrf"), h.Value(v.session.csrf)),
			h.Input(h.Type("hidden"), h.Name("ask"), h.Value(q.name)),
			g.Map(q.asks, func(a ask) g.Node {
				return h.Label(g.Text(a.name+" "), h.Input(h.Type("text"), h.Name("ask_"+a.name),
					h.Value(asked[a.name]),
					h.MaxLength("200")))
			}),
			h.Button(h.Type("submit"), g.Attr("aria-label", "Ask: "+q.title), g.Text("Ask"))),
		h.Span(h.Class("message muted small"), g.Text(q.about)))
}
