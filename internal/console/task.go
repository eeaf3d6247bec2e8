package console

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"
)

// mostTime bounds what a button has started. A commit may take long.
const mostTime = time.Hour

// task is a statement that a session has started. It goes on when its visitor
// does not wait, and ends with the session.
type task struct {
	id      string
	action  action
	back    string
	started time.Time
	done    chan struct{}

	// Below here by session.lock.
	pid     uint32
	notices []string
	ended   time.Time
	header  []string
	rows    [][]string
	tag     string
	failed  error
}

// do runs the action of a form. What is done within a moment is said on the page
// that the form was on; for the rest there is a page.
func (c *Console) do(v *visit) {
	a, err := actionOf(v.r)
	if err != nil {
		v.problem(http.StatusBadRequest, "This is nothing that can be done here", err.Error())
		return
	}
	if hash := v.r.PostFormValue("hash"); a.name == "approve" && !v.session.saw(a.batch, hash, 0) {
		v.problem(http.StatusConflict, "You have not seen the whole plan",
			"An approval is of every line. Open the batch, page through its plan, and approve it there.")
		return
	}
	t, err := v.session.start(a, inside(v.r.PostFormValue("back")))
	if err != nil {
		v.session.say(&flash{text: err.Error()})
		http.Redirect(v.w, v.r, inside(v.r.PostFormValue("back")), http.StatusSeeOther)
		return
	}
	c.log.Info("console runs", "role", v.session.role, "statement", a.statement.String())
	select {
	case <-t.done:
		v.session.lock.Lock()
		f, back := t.outcome(), t.back
		brief := len(t.rows) <= 1
		v.session.lock.Unlock()
		if brief {
			v.session.say(f)
			http.Redirect(v.w, v.r, back, http.StatusSeeOther)
			return
		}
	case <-time.After(2 * time.Second):
	case <-v.r.Context().Done():
	}
	http.Redirect(v.w, v.r, "/task/"+t.id, http.StatusSeeOther)
}

var errBusy = errors.New("another statement of yours is running: wait until it has ended")

func (s *session) start(a action, back string) (*task, error) {
	t := &task{id: secret()[:16], action: a, back: back, started: time.Now(), done: make(chan struct{})}
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.running != nil {
		return nil, errBusy
	}
	if len(s.tasks) >= 20 { // the oldest is forgotten
		var oldest *task
		for _, other := range s.tasks {
			if oldest == nil || other.started.Before(oldest.started) {
				oldest = other
			}
		}
		delete(s.tasks, oldest.id)
	}
	s.tasks[t.id], s.running = t, t
	ctx, cancel := context.WithTimeout(context.Background(), mostTime)
	go func() {
		select {
		case <-s.ended:
		case <-t.done:
		}
		cancel()
	}()
	go func() {
		header, rows, tag, err := s.perform(ctx, t)
		s.lock.Lock()
		t.header, t.rows, t.tag, t.failed, t.ended = header, rows, tag, err, time.Now()
		s.running = nil
		s.lock.Unlock()
		close(t.done)
	}()
	return t, nil
}

// perform runs a task's statement on a connection of its own, in autocommit: what
// waits for the cloud must not wait in a transaction. The connection is not used
// again, because a batch may have been joined on it.
func (s *session) perform(ctx context.Context, t *task) (header []string, rows [][]string, tag string, err error) {
	pooled, err := s.pool.Acquire(ctx)
	if err != nil {
		return nil, nil, "", err
	}
	conn := pooled.Hijack()
	defer conn.Close(context.WithoutCancel(ctx))
	s.lock.Lock()
	t.pid = conn.PgConn().PID()
	s.lock.Unlock()
	if _, err := conn.Exec(ctx, `SET statement_timeout = 0`); err != nil {
		return nil, nil, "", err
	}
	if err := joinBatch(ctx, conn, t.action.batch); err != nil {
		return nil, nil, "", err
	}
	got, err := conn.Query(ctx, t.action.run(), t.action.args...)
	if err != nil {
		return nil, nil, "", err
	}
	defer got.Close()
	for _, field := range got.FieldDescriptions() {
		header = append(header, field.Name)
	}
	for got.Next() {
		values, err := got.Values()
		if err != nil {
			return nil, nil, "", err
		}
		row := make([]string, len(values))
		for i, v := range values {
			if v != nil {
				row[i] = shorten(fmt.Sprint(v), 500)
			}
		}
		if len(rows) < 500 {
			rows = append(rows, row)
		}
	}
	if got.Close(); got.Err() != nil || !t.action.opens {
		return header, rows, got.CommandTag().String(), got.Err()
	}
	var batch *int64
	if err := conn.QueryRow(ctx, `SELECT iasql_internal.session_batch()`).Scan(&batch); err != nil {
		return nil, nil, "", err
	}
	if batch != nil {
		s.lock.Lock()
		t.back = "/batches/" + number(*batch)
		s.lock.Unlock()
	}
	return header, rows, got.CommandTag().String(), nil
}

func (s *session) notice(conn *pgconn.PgConn, n *pgconn.Notice) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if t := s.running; t != nil && t.pid == conn.PID() && len(t.notices) < 1000 {
		t.notices = append(t.notices, n.Severity+": "+n.Message)
	}
}

// outcome says what came of a task that has ended.
func (t *task) outcome() *flash {
	f := &flash{good: t.failed == nil, details: append([]string{t.action.statement.String()}, t.notices...)}
	if t.failed != nil {
		text, hint := explain(t.failed)
		f.text = text
		if hint != "" {
			f.details = append(f.details, hint)
		}
		return f
	}
	f.text = "Done."
	if len(t.rows) == 1 && len(t.rows[0]) == 1 {
		f.text = "Done: " + t.header[0] + " = " + t.rows[0][0]
	}
	return f
}

// explain returns what an error says, for people.
func explain(err error) (text, hint string) {
	var pg *pgconn.PgError
	switch {
	case errors.As(err, &pg):
		return pg.Message + " (" + pg.Code + ")", pg.Hint
	case errors.Is(err, context.DeadlineExceeded):
		return "It took too long, and was given up.", ""
	case errors.Is(err, pgx.ErrNoRows):
		return "There is nothing of that name.", ""
	}
	return "The database does not answer.", ""
}

func (c *Console) task(v *visit) {
	v.session.lock.Lock()
	t := v.session.tasks[v.r.PathValue("task")]
	v.session.lock.Unlock()
	if t == nil {
		v.problem(http.StatusNotFound, "There is no such task",
			"Tasks are kept until you sign out, the newest 20 of them.")
		return
	}
	v.session.lock.Lock()
	over, back := !t.ended.IsZero(), t.back
	notices := append([]string(nil), t.notices...)
	body := []g.Node{h.Pre(h.Class("sql"), g.Text(t.action.statement.String()))}
	if over {
		f := t.outcome()
		body = append(body, h.P(h.Class("alert "+goodBad(f.good)), h.Role("status"), g.Text(f.text)))
		if _, hint := explain(t.failed); t.failed != nil && hint != "" {
			body = append(body, h.P(g.Text(hint)))
		}
		if len(t.rows) > 0 {
			body = append(body, plainTable(t.header, t.rows))
		}
	} else {
		body = append(body, h.P(h.Class("alert busy"), h.Role("status"), h.Span(h.Class("spinner")),
			g.Text(" Working for "+duration(time.Since(t.started))+". It goes on if you leave this page.")))
	}
	v.session.lock.Unlock()
	if len(notices) > 0 {
		body = append(body, h.H2(g.Text("What it says")),
			h.Ol(h.Class("notices"), g.Map(notices, func(n string) g.Node { return h.Li(g.Text(n)) })))
	}
	body = append(body, h.P(h.A(h.Href(back), g.Text(backText(t.action)))))
	attrs := []g.Node{h.ID("task")}
	if !over {
		attrs = append(attrs, g.Attr("hx-get", v.r.URL.RequestURI()), g.Attr("hx-trigger", "every 1s"),
			g.Attr("hx-select", "#task"), g.Attr("hx-swap", "outerHTML"))
		v.refresh = 5
	}
	v.page("Task", "", h.Div(append(attrs, body...)...))
}

func goodBad(good bool) string {
	if good {
		return "good"
	}
	return "bad"
}

// backText says where the way back from a task leads.
func backText(a action) string {
	if a.opens {
		return "→ Go on"
	}
	return "← Back to where it was started"
}
