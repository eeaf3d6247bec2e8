package console

import (
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"iasql/internal/test/harness"
)

// testChanges: the page of what has changed needs no script; it is filtered, paged, and links to records.
func testChanges(t *testing.T, w *harness.World, base string) {
	w.PSQL(`INSERT INTO queue (name) VALUES ('many')`, `SELECT iasql_wait_for_all(120)`,
		`DO $$ BEGIN FOR n IN 1..60 LOOP UPDATE queue SET visibility_timeout = n WHERE name = 'many'; END LOOP; END $$`,
		`UPDATE queue SET delay_seconds = 7 WHERE name = 'many'`, `SELECT iasql_wait_for_all(60)`)
	v := newVisitor(t, base)
	if status := v.signIn(w.UserURL); status != http.StatusSeeOther {
		t.Fatalf("signing in: %d", status)
	}
	id := w.PSQL(`SELECT id FROM queue WHERE name = 'many'`)
	page := v.get("/changes?hours=1&table=queue")
	for _, want := range []string{`href="/records/queue/` + id + `"`, "many", "update", "delay_seconds", "edit", "here",
		"CALL iasql_restore(&#39;queue&#39;, " + id + ", ", "Take it back", "Older ›"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not have %s: %s", want, page)
		}
	}
	next := regexp.MustCompile(`rel="next" href="([^"]+)"`).FindStringSubmatch(page)
	if next == nil {
		t.Fatalf("there is no second page: %s", page)
	}
	older := v.get(html.UnescapeString(next[1]))
	if !strings.Contains(older, "‹ Newest") || strings.Contains(older, "delay_seconds") || !strings.Contains(older, "visibility_timeout") {
		t.Errorf("the second page: %s", older)
	}
	shown := func(page string) int { return strings.Count(page, `<td><time `) }
	if n := shown(page) + shown(older); shown(page) != 50 || n < 62 {
		t.Errorf("the pages have %d and %d changes", shown(page), shown(older))
	}
	me := login(t, w.UserURL)
	for address, want := range map[string]bool{"?table=queue&by=" + me: true, "?table=queue&kind=edit": true, "?table=queue&kind=drift": false, "?table=queue&account=default": true,
		"?table=queue&account=other": false, "?table=queue&from=2020-01-01T00:00": true, "?table=queue&until=2020-01-01T00:00": false,
		"?table=queue&from=" + time.Now().UTC().Add(time.Hour).Format("2006-01-02T15:04"): false} {
		if page := v.get("/changes" + address); strings.Contains(page, "delay_seconds") != want {
			t.Errorf("%s shows it: %v: %s", address, !want, page)
		}
	}
	if page := v.get("/changes?table=queue&kind=edit&by=" + me); !strings.Contains(page, "kind edit ✕") || !strings.Contains(page, `href="/changes?by=`+me+`&amp;hours=24&amp;kind=edit"`) {
		t.Errorf("a chip does not take its filter away: %s", page)
	}
	// Two times: what came and went between them is not different.
	w.PSQL(`INSERT INTO queue (name) VALUES ('gone')`, `SELECT iasql_wait_for_all(60)`, `DELETE FROM queue WHERE name = 'gone'`, `SELECT iasql_wait_for_all(60)`)
	between := v.get("/changes?hours=1&between=1")
	for _, want := range []string{"<strong>queue </strong>", "created", "<strong>vpc </strong>"} {
		if !strings.Contains(between, want) {
			t.Errorf("compared, there is no %s: %s", want, between)
		}
	}
	if gone := w.PSQL(`SELECT max(record_id) FROM iasql_audit_log WHERE table_name = 'queue' AND change_type = 'DELETE'`); strings.Contains(between, `href="/records/queue/`+gone+`"`) {
		t.Error("compared, there is what came and went")
	}
	if none := v.get("/changes?by=nobody"); !strings.Contains(none, "Nothing has changed since then") {
		t.Errorf("of nobody it shows %s", none)
	}
	if other := v.get("/changes?table=vpc"); strings.Contains(other, "many") {
		t.Errorf("of another table it shows %s", other)
	}

	// One button stages what takes the newest change back, and leads to its review; one on the page of that batch undoes it.
	before := regexp.MustCompile(`name="at" value="([^"]+)"`).FindStringSubmatch(page)
	if before == nil {
		t.Fatalf("no change can be taken back: %s", page)
	}
	press := func(what string, fields ...string) (status int, to string) {
		t.Helper()
		form := url.Values{"csrf": {csrf(page)}, "do": {what}, "back": {"/changes"}}
		for i := 0; i < len(fields); i += 2 {
			form.Set(fields[i], fields[i+1])
		}
		status, _, answer := v.send(http.MethodPost, "/do", form)
		return status, answer.Header.Get("Location")
	}
	lands := func(what string, fields ...string) string {
		t.Helper()
		status, to := press(what, fields...)
		if strings.HasPrefix(to, "/task/") {
			w.Eventually(patience, what+" leads to a batch", func() bool {
				link := regexp.MustCompile(`href="(/batches/\d+)"`).FindStringSubmatch(v.get(to))
				if link != nil {
					to = link[1]
				}
				return link != nil
			})
		}
		if status != http.StatusSeeOther || !strings.HasPrefix(to, "/batches/") {
			t.Fatalf("%s leads to %d %s", what, status, to)
		}
		return to
	}
	review := lands("restore", "table", "queue", "id", id, "at", before[1])
	if plan := v.get(review + "?preview=1"); !strings.Contains(plan, "delay_seconds") || !strings.Contains(plan, "Commit") {
		t.Errorf("the review of what takes it back: %s", plan)
	}
	batch := strings.TrimPrefix(review, "/batches/")
	w.PSQL(`CALL iasql_join('`+batch+`')`, `CALL iasql_commit()`)
	if got := w.PSQL(`SELECT delay_seconds FROM queue WHERE name = 'many'`); got != "0" {
		t.Errorf("taken back, it is %s", got)
	}
	if closed := v.get(review); !strings.Contains(closed, "CALL iasql_undo("+batch+")") {
		t.Errorf("the batch cannot be undone: %s", closed)
	}
	again := strings.TrimPrefix(lands("undo", "id", batch), "/batches/")
	w.PSQL(`CALL iasql_join('`+again+`')`, `CALL iasql_commit()`)
	if got := w.PSQL(`SELECT delay_seconds FROM queue WHERE name = 'many'`); got != "7" {
		t.Errorf("undone, it is %s", got)
	}
	if status, _ := press("restore", "table", "queue", "id", id, "at", "yesterday"); status != http.StatusBadRequest {
		t.Errorf("a time that is none: %d", status)
	}
	w.PSQL(`DELETE FROM queue WHERE name = 'many'`, `SELECT iasql_wait_for_all(120)`)
}
