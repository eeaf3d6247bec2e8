package console

import (
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

// What the page of SQL offers of times, in seconds, and of rows. Others are not taken.
var (
	sqlTimeouts = []int{10, 30, 60, 300}
	sqlLimits   = []int{100, 500, 2_000, 10_000}
)

const (
	sqlTimeout = 30
	sqlLimit   = 500
)

const noFreeSQL = "This session began with a token, and what you type could leave its role. Sign in with your " +
	"password to write SQL of your own. The questions below can be asked."

// sqlPage is what the page of SQL shows.
type sqlPage struct {
	text     string
	ask      *question
	asked    map[string]string
	saved    *savedQuery
	run      *sqlRun
	batches  []batchInfo // the visitor's own that are open
	queries  []savedQuery
	missing  map[string][]string // of questions, the modules that are not installed
	mayWrite bool
}

// sqlPage shows the page of SQL.
func (c *Console) sqlPage(v *visit) {
	form := v.r.URL.Query()
	p := sqlPage{asked: map[string]string{}}
	if id := form.Get("run"); id != "" {
		if p.run = v.session.sql.find(id); p.run == nil {
			v.problem(http.StatusNotFound, "This result is not kept any more",
				fmt.Sprintf("The newest %d results of a session are kept. Run it again.", mostRuns))
			return
		}
		p.text, p.ask = p.run.text, c.findQuestion(p.run.ask)
	} else if name := form.Get("ask"); name != "" {
		if p.ask = c.findQuestion(name); p.ask == nil {
			v.problem(http.StatusNotFound, "There is no such question", "Choose one on the page of SQL.")
			return
		}
		p.asked = p.ask.values(form)
		p.text = p.ask.with(p.asked, false)
	}
	err := v.session.read(v.ctx(), func(tx pgx.Tx) error { return p.load(v, tx, form.Get("query")) })
	if err != nil {
		v.failed(err)
		return
	}
	lead := "Statements run as " + v.session.role +
		", with that role's rights. They can change nothing unless you say so."
	if p.running() {
		v.refresh = 2
	}
	v.page("SQL", lead, v.sqlForm(&p), h.Div(h.ID("result"), h.Class("stack"), g.If(p.running(), g.Group([]g.Node{
		g.Attr("hx-get", v.r.URL.RequestURI()), g.Attr("hx-trigger", "every 1s"), g.Attr("hx-select", "#result"),
		g.Attr("hx-swap", "outerHTML")})), v.runCard(&p)),
		h.Div(h.Class("two wide"), v.questionsCard(&p), v.queriesCard(&p)),
		h.Script(h.Src("/static/sql.js"), h.Defer()))
}

func (p *sqlPage) running() bool { return p.run != nil && !p.run.over() }

func (r *sqlRun) over() bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}

func (p *sqlPage) load(v *visit, tx pgx.Tx, saved string) (err error) {
	if p.queries, err = loadQueries(v.ctx(), tx, v.session.role); err != nil {
		return err
	}
	if saved != "" {
		if p.saved, err = openQuery(v.ctx(), tx, saved); err != nil {
			return err
		}
		p.text = p.saved.query
	}
	if p.missing, err = loadMissing(v.ctx(), tx, v.questions); err != nil {
		return err
	}
	if err := tx.QueryRow(v.ctx(),
		`SELECT has_table_privilege('public.iasql_queries', 'DELETE')`).Scan(&p.mayWrite); err != nil {
		return err
	}
	batches, err := loadBatches(v.ctx(), tx)
	p.batches = slices.DeleteFunc(openBatches(batches), func(b batchInfo) bool {
		return b.owner != v.session.role || b.phase != "open"
	})
	return err
}

func (v *visit) sqlForm(p *sqlPage) g.Node {
	timeout, limit := sqlTimeout, sqlLimit
	if p.run != nil {
		timeout, limit = int(p.run.timeout/time.Second), p.run.limit
	}
	csrf := h.Input(h.Type("hidden"), h.Name("csrf"), h.Value(v.session.csrf))
	free := v.session.become == ""
	button := func(do, text, title string, more ...g.Node) g.Node {
		return h.Button(h.Type("submit"), h.Name("do"), h.Value(do), g.Attr("title", title), g.Text(text),
			g.Group(more))
	}
	return h.Form(h.ID("sql-form"), h.Class("card sql-form"), h.Method("post"), h.Action("/sql"), csrf,
		g.If(!free, h.P(h.Class("alert busy"), g.Text(noFreeSQL))),
		h.Label(h.For("sql"), g.Text("Statements, separated by semicolons")),
		h.Div(h.Class("sql-box"),
			h.Textarea(h.ID("sql"), h.Name("text"), h.Class("mono"), h.Rows("9"), h.MaxLength(strconv.Itoa(mostText)),
				g.Attr("spellcheck", "false"), h.AutoComplete("off"), g.Attr("autocapitalize", "off"),
				g.If(!free, g.Attr("readonly")),
				g.If(free, g.Attr("data-names", "/sql/names")), h.Placeholder("SELECT * FROM iasql_problems;"),
				g.Text(p.text))),
		g.If(free, g.Group([]g.Node{
			h.Div(h.Class("row sql-tools"),
				button("run", "Run", "Ctrl Enter", h.Class("primary")),
				button(string(modeExplain), "Explain", "What the planner would do; nothing is run"),
				button(string(modeAnalyze), "Explain analyze", "Runs it, read only, and says what took how long"),
				// Each run that may write is ticked anew: the next one may be another.
				h.Label(h.Class("check"), h.Input(h.Type("checkbox"), h.Name("write"), h.Value("1")),
					g.Text("may write")),
				v.batchChoice(p),
				h.Label(g.Text("Rows "), choice("limit", sqlLimits, limit,
					func(n int) string { return grouped(int64(n)) })),
				h.Label(g.Text("Time "), choice("timeout", sqlTimeouts, timeout, func(n int) string {
					return duration(time.Duration(n) * time.Second)
				})),
				h.Span(h.Class("row"), g.Text("Download "),
					h.Button(h.Type("submit"), h.FormAction("/sql/download"), h.Name("format"), h.Value("csv"),
						g.Text("CSV")),
					h.Button(h.Type("submit"), h.FormAction("/sql/download"), h.Name("format"), h.Value("json"),
						g.Text("JSON")))),
			h.P(h.Class("muted small"),
				g.Text(fmt.Sprintf("Ctrl Enter runs. Tab takes a name that is offered, Escape leaves it. A download "+
					"runs the statements again, read only, and has what the last one finds: up to %s rows and %d MB.",
					grouped(mostDownloadRows), mostDownload>>20))),
		})),
		g.If(free && p.mayWrite, v.saveForm(p)))
}

// batchChoice says where what is written goes.
func (v *visit) batchChoice(p *sqlPage) g.Node {
	if len(p.batches) == 0 {
		return h.Span(h.Class("muted small"), g.Text("(pushed when it commits)"))
	}
	chosen := p.batches[0].id
	if p.run != nil && p.run.mode == modeWrite {
		chosen = p.run.batch
	}
	return h.Label(g.Text("into "), h.Select(h.Name("batch"),
		g.Map(p.batches, func(b batchInfo) g.Node {
			return h.Option(h.Value(number(b.id)), g.If(b.id == chosen, h.Selected()),
				g.Text("your "+strings.ToLower(b.title()[:1])+b.title()[1:]))
		}),
		h.Option(h.Value("0"), g.If(chosen == 0, h.Selected()), g.Text("no batch: pushed when it commits"))))
}

func choice(name string, of []int, chosen int, text func(int) string) g.Node {
	return h.Select(h.Name(name), g.Map(of, func(n int) g.Node {
		return h.Option(h.Value(strconv.Itoa(n)), g.If(n == chosen, h.Selected()), g.Text(text(n)))
	}))
}

// runOf makes the run that a form asks for, or says why not.
func (v *visit) runOf() (*sqlRun, string) {
	form := v.r.PostForm
	r := &sqlRun{mode: modeRead, limit: sqlLimit, timeout: sqlTimeout * time.Second}
	if n, err := strconv.Atoi(form.Get("limit")); err == nil && slices.Contains(sqlLimits, n) {
		r.limit = n
	}
	if n, err := strconv.Atoi(form.Get("timeout")); err == nil && slices.Contains(sqlTimeouts, n) {
		r.timeout = time.Duration(n) * time.Second
	}
	if name := form.Get("ask"); name != "" {
		q := v.findQuestion(name)
		if q == nil {
			return nil, "There is no question " + shorten(name, 60) + "."
		}
		r.ask, r.text = q.name, q.with(q.values(form), v.session.become != "")
		return r, ""
	}
	if v.session.become != "" {
		return nil, noFreeSQL
	}
	r.text = strings.ReplaceAll(form.Get("text"), "\r\n", "\n")
	switch {
	case len([]rune(r.text)) > mostText:
		return nil, fmt.Sprintf("The text has more than %s characters.", grouped(mostText))
	case strings.ContainsRune(r.text, 0):
		return nil, "The text has a null character, which PostgreSQL does not take."
	}
	switch mode := sqlMode(form.Get("do")); {
	case mode == modeExplain, mode == modeAnalyze:
		r.mode = mode
	case form.Get("write") != "":
		r.mode = modeWrite
		batch, err := strconv.ParseInt(form.Get("batch"), 10, 64)
		if form.Get("batch") != "" && (err != nil || batch < 0) {
			return nil, shorten(form.Get("batch"), 60) + " is no batch."
		}
		r.batch = batch
	}
	return r, ""
}

// runSQL runs what a form has; what is done within a moment is shown at once.
func (c *Console) runSQL(v *visit) {
	r, why := v.runOf()
	if why != "" {
		v.problem(http.StatusBadRequest, "This cannot be run", why)
		return
	}
	if err := v.session.startRun(r); err != nil {
		v.problem(http.StatusConflict, "Another run is under way",
			"Wait until it has ended, or cancel it where you have started it.")
		return
	}
	c.log.Info("console runs SQL", "role", v.session.role, "mode", string(r.mode), "batch", r.batch, "question", r.ask)
	select {
	case <-r.done:
	case <-time.After(1500 * time.Millisecond):
	case <-v.ctx().Done():
	}
	http.Redirect(v.w, v.r, to("/sql", "run", r.id), http.StatusSeeOther)
}

// cancelSQL cancels a run of this session: others' cannot be named.
func (c *Console) cancelSQL(v *visit) {
	id := v.r.PostFormValue("run")
	r := v.session.sql.find(id)
	if r == nil {
		v.problem(http.StatusNotFound, "This run is over", "There is nothing to cancel.")
		return
	}
	r.stop()
	select {
	case <-r.done:
	case <-time.After(1500 * time.Millisecond):
	case <-v.ctx().Done():
	}
	http.Redirect(v.w, v.r, to("/sql", "run", id), http.StatusSeeOther)
}

// runCard shows what a run has come to so far.
func (v *visit) runCard(p *sqlPage) g.Node {
	r := p.run
	if r == nil {
		return nil
	}
	over := r.over()
	if !over {
		return h.Div(h.Class("card"), h.P(h.Class("alert busy"), h.Role("status"), h.Span(h.Class("spinner")),
			g.Text(" Running for "+duration(time.Since(r.started))+".")),
			h.Form(h.Method("post"), h.Action("/sql/cancel"), h.Class("action danger"),
				h.Input(h.Type("hidden"), h.Name("csrf"), h.Value(v.session.csrf)),
				h.Input(h.Type("hidden"), h.Name("run"), h.Value(r.id)), h.Button(h.Type("submit"), g.Text("Cancel"))))
	}
	r.lock.Lock()
	defer r.lock.Unlock()
	var cards []g.Node
	for i, result := range r.results {
		if r.failure != nil && i == len(r.results)-1 && len(result.rows) == 0 && result.tag == "" &&
			len(result.notices) == 0 {
			continue
		}
		cards = append(cards, result.card(i, len(split(r.text)) > 1, r))
	}
	if f := r.failure; f != nil {
		cards = append(cards, f.card(len(split(r.text)) > 1, r.said))
	}
	took := duration(r.ended.Sub(r.started))
	if r.outcome != "" {
		took = r.outcome + " " + took
	}
	return g.Group(append(cards, h.P(h.Class("muted small"), h.Role("status"), g.Text(took+"."))))
}

var rightAligned = []uint32{20, 21, 23, 26, 700, 701, 790, 1700}

func (s *sqlResult) card(n int, many bool, r *sqlRun) g.Node {
	title := s.tag
	if strings.HasPrefix(title, "SELECT ") || title == "" && s.columns != nil || s.columns != nil && len(s.rows) != 1 {
		title = grouped(int64(len(s.rows))) + " rows"
		if len(s.rows) == 1 {
			title = "1 row"
		}
	}
	switch {
	case s.full:
		title = fmt.Sprintf("first %s rows: the page shows no more than %d MB", grouped(int64(len(s.rows))),
			mostShown>>20)
	case s.more:
		title = fmt.Sprintf("first %s rows; more exist", grouped(int64(r.limit)))
	}
	var content []g.Node
	content = append(content, g.Map(s.notices, func(text string) g.Node {
		return h.P(h.Class("message muted"),
			g.Text(text))
	}))
	plan := len(s.columns) == 1 && s.columns[0].name == "QUERY PLAN"
	switch {
	case plan:
		lines := make([]string, len(s.rows))
		for i, row := range s.rows {
			lines[i] = row[0].text
		}
		title = "Plan"
		content = append(content, h.Pre(h.Class("plan-text"), g.Attr("tabindex", "0"),
			g.Text(strings.Join(lines, "\n"))))
	case len(s.columns) > 0:
		content = append(content, s.table())
	}
	return h.Section(h.Class("card"), h.H2(g.Text(title)),
		g.If(many, h.Pre(h.Class("sql small"), g.Text(shorten(s.statement, 300)))), g.Group(content))
}

func (s *sqlResult) table() g.Node {
	about, record := -1, -1
	for i, c := range s.columns {
		switch c.name {
		case "table_name":
			about = i
		case "record_id":
			record = i
		}
	}
	return h.Div(h.Class("scroll result"), g.Attr("tabindex", "0"), h.Role("region"), g.Attr("aria-label", "Result"),
		h.Table(
			h.THead(h.Tr(g.Map(s.columns, func(c sqlColumn) g.Node {
				return h.Th(h.Scope("col"), g.If(slices.Contains(rightAligned, c.kind), h.Class("num")), g.Text(c.name),
					g.If(c.typeName != "", g.Attr("data-type", c.typeName)))
			}))),
			h.TBody(g.Map(s.rows, func(row []sqlCell) g.Node {
				cells := make([]g.Node, len(row))
				for i, cell := range row {
					table := s.columns[i].of
					if i == record && about >= 0 {
						table = row[about].text
					}
					cells[i] = h.Td(g.If(slices.Contains(rightAligned, s.columns[i].kind), h.Class("num")),
						cell.node(table))
				}
				return h.Tr(cells...)
			}))))
}

func (c sqlCell) node(table string) g.Node {
	if c.null {
		return h.Span(h.Class("null"), g.Text("NULL"))
	}
	if id, err := strconv.ParseInt(c.text, 10, 64); err == nil && table != "" {
		return h.A(h.Href(recordPath(table, id)), g.Text(c.text))
	}
	return g.Group([]g.Node{g.Text(c.text), g.If(c.cut, h.Span(h.Class("mark"), g.Text("cut")))})
}

func (f *sqlFailure) card(many bool, said []string) g.Node {
	text := f.message
	if f.code != "" {
		text += " (" + f.code + ")"
	}
	where := ""
	if f.line > 0 {
		where = fmt.Sprintf("Line %d, column %d:", f.line, f.column)
	} else if many {
		where = fmt.Sprintf("In statement %d.", f.statement+1)
	}
	labelled := func(label, text string) g.Node {
		return g.If(text != "", h.P(h.Class("message"), h.Strong(g.Text(label+": ")), g.Text(text)))
	}
	return h.Section(h.Class("card"),
		g.Map(said, func(text string) g.Node { return h.P(h.Class("message muted"), g.Text(text)) }),
		h.P(h.Class("alert bad"), h.Role("alert"), g.Text(text)),
		g.If(where != "", h.P(g.Text(where))),
		g.If(f.source != "", h.Pre(h.Class("source"), g.Text(f.source+"\n"+f.caret))),
		labelled("Detail", f.detail), labelled("Hint", f.hint), labelled("Within", f.inner),
		labelled("Context", f.where))
}
