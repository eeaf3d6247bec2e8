package console

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"
)

// actionOf makes the action that a form asks for. Forms name an action and its
// values; the statements are these and no others.
func actionOf(r *http.Request) (action, error) {
	table, column := r.PostFormValue("table"), r.PostFormValue("column")
	id, err := strconv.ParseInt(r.PostFormValue("id"), 10, 64)
	if r.PostFormValue("id") != "" && err != nil {
		return action{}, fmt.Errorf("%q is no id", r.PostFormValue("id"))
	}
	switch name := r.PostFormValue("do"); name {
	case "retry":
		return retry(table, id), nil
	case "retry all":
		return retryAll(r.PostForm["record"])
	case "confirm", "dry confirm":
		return confirmGuard(r.PostFormValue("what"), r.PostFormValue("of"), name == "dry confirm"), nil
	case "sync":
		return syncNow(table), nil
	case "sync all":
		return syncAll(), nil
	case "resolve database", "resolve cloud":
		return resolve(id, strings.TrimPrefix(name, "resolve ")), nil
	case "mode NORMAL", "mode ENFORCE", "mode TRACK", "mode PAUSE":
		return setMode(table, id, column, strings.TrimPrefix(name, "mode ")), nil
	case "no mode":
		return dropMode(id), nil
	case "protect", "unprotect", "forget":
		return guardRecord(name, table, id), nil
	case "restore":
		at := r.PostFormValue("at")
		if _, err := time.Parse(moment, at); err != nil {
			return action{}, fmt.Errorf("%q is no time", shorten(at, 60))
		}
		return restore(table, id, at), nil
	case "undo":
		return undo(id), nil
	case "install":
		return install(r.PostFormValue("module")), nil
	}
	return batchAction(r)
}

func retry(table string, id int64) action {
	return action{name: "retry", text: "Try again now",
		statement: statement{`SELECT iasql_retry($1::text, $2::bigint)`, []any{table, id}},
		why:       "Forgets that it failed, and tries at once."}
}

// retryAll tries records again, each given as its table and its id, in one statement.
func retryAll(records []string) (action, error) {
	if len(records) == 0 || len(records) > mostConcerns {
		return action{}, fmt.Errorf("%d records are named, and a form names 1 to %d", len(records), mostConcerns)
	}
	tables, ids := make([]string, len(records)), make([]int64, len(records))
	for i, r := range records {
		name, id, _ := strings.Cut(r, " ")
		n, err := strconv.ParseInt(id, 10, 64)
		if err != nil {
			return action{}, fmt.Errorf("%q is no record", shorten(r, 100))
		}
		tables[i], ids[i] = name, n
	}
	a := action{name: "retry all", text: "Try all of them again now",
		why:       "Forgets that they failed, and tries at once.",
		statement: statement{`SELECT count(iasql_retry(r.name, r.id)) AS "tried again" FROM unnest($1::text[], $2::bigint[]) r (name, id)`, []any{tables, ids}}}
	if len(records) == 1 {
		a.text = "Try again now"
	}
	return a, nil
}

// confirmGuard is a person's word that a guard waits for, about a table or an account; with
// dry the guard says what it would let through.
func confirmGuard(what, of string, dry bool) action {
	a := action{name: "confirm", text: "Confirm", danger: true}
	switch {
	case dry:
		a = action{name: "dry confirm", text: "See what it would come to"}
	case what == "vanished":
		a.why = "Says that they are gone: their records go, too."
	case what == "identity":
		a.why = "Says that this is the account that is meant: its records are compared with what is there."
	case what == "restored":
		a.why = "Says that what is pending is meant: it is carried out."
	}
	var about *string
	if of != "" {
		about = &of
	}
	a.statement = statement{`SELECT iasql_confirm($1::text, $2::text, $3::boolean)`, []any{what, about, dry}}
	return a
}

func syncAll() action {
	return action{name: "sync all", text: "Look at the cloud again now",
		statement: statement{`SELECT iasql_sync_now(VARIADIC $1::text[])`, []any{[]string{}}}}
}

func syncNow(table string) action {
	return action{name: "sync", text: "Look at the cloud now",
		statement: statement{`SELECT iasql_sync_now(VARIADIC $1::text[])`, []any{[]string{table}}},
		why:       "Lists the table in the cloud and pulls what has changed."}
}

func resolve(conflict int64, side string) action {
	text := "Keep the database's value"
	if side == "cloud" {
		text = "Take the cloud's value"
	}
	return action{name: "resolve " + side, text: text,
		statement: statement{`UPDATE iasql_conflicts SET resolved = $2::text WHERE id = $1::bigint`,
			[]any{conflict, side}}}
}

func setMode(table string, id int64, column, mode string) action {
	a := action{name: "mode " + mode, text: mode}
	switch mode {
	case "NORMAL":
		a.why = "Two-way: the audit log decides."
	case "ENFORCE":
		a.why = "The database wins: what the cloud changes is put back."
	case "TRACK":
		a.why = "The cloud wins: nothing is pushed."
	case "PAUSE":
		a.why = "Neither pushed nor pulled."
	}
	var col *string
	if column != "" {
		col = &column
	}
	a.statement = statement{`INSERT INTO iasql_mode (table_name, record_id, column_name, mode) VALUES ($1::text, $2::bigint, $3::text, $4::text)` +
		` ON CONFLICT (table_name, record_id, column_name) DO UPDATE SET mode = excluded.mode`,
		[]any{table, id, col, mode}}
	return a
}

func dropMode(rule int64) action {
	return action{name: "no mode", text: "Remove the rule",
		statement: statement{`DELETE FROM iasql_mode WHERE id = $1::bigint`, []any{rule}}}
}

func guardRecord(name, table string, id int64) action {
	a := action{name: name, statement: statement{`SELECT iasql_` + name + `($1::text, $2::bigint)`, []any{table, id}}}
	switch name {
	case "protect":
		a.text, a.why = "Protect", "Refuses to delete or replace it."
	case "unprotect":
		a.text, a.why, a.danger = "Unprotect", "Lets it be deleted and replaced.", true
	case "forget":
		a.text, a.why, a.danger = "Forget", "The record goes, its object stays.", true
	}
	return a
}

// moment is how a form names a time, to the microsecond that the audit log has.
const moment = "2006-01-02T15:04:05.000000Z07:00"

func restore(table string, id int64, at string) action {
	return action{name: "restore", text: "Take it back", opens: true,
		statement: statement{`CALL iasql_restore($1::text, $2::bigint, $3::text::timestamptz)`, []any{table, id, at}},
		why:       "Stages the record as it was before, in a batch that you review."}
}

func undo(batch int64) action {
	return action{name: "undo", text: "Undo it", opens: true,
		statement: statement{`CALL iasql_undo($1::bigint)`, []any{batch}},
		why:       "Opens a batch that takes it back, for review. What was written since stays."}
}

func install(module string) action {
	return action{name: "install", text: "Install",
		statement: statement{`SELECT * FROM iasql_install(VARIADIC $1::text[])`, []any{[]string{module}}}}
}

// button is a form with one button. It shows what it runs.
func (v *visit) button(a action, fields ...string) g.Node {
	class := "action"
	if a.danger {
		class += " danger"
	}
	hidden := []g.Node{
		h.Input(h.Type("hidden"), h.Name("csrf"), h.Value(v.session.csrf)),
		h.Input(h.Type("hidden"), h.Name("do"), h.Value(a.name)),
		h.Input(h.Type("hidden"), h.Name("back"), h.Value(v.r.URL.RequestURI())),
	}
	for i := 0; i+1 < len(fields); i += 2 {
		hidden = append(hidden, h.Input(h.Type("hidden"), h.Name(fields[i]), h.Value(fields[i+1])))
	}
	return h.Form(h.Method("post"), h.Action("/do"), h.Class(class),
		g.Group(hidden),
		h.Button(h.Type("submit"), g.Text(a.text)),
		h.Span(h.Class("what"), g.If(a.why != "", h.Span(g.Text(a.why+" "))), h.Code(g.Text(a.statement.String()))),
	)
}

func number(n int64) string { return strconv.FormatInt(n, 10) }
