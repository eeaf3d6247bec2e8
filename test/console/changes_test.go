package console

import (
	"net/http"
	"strings"
	"testing"

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
		"CALL iasql_restore(&#39;queue&#39;, " + id + ", ", "Older ›"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not have %s: %s", want, page)
		}
	}
	if older := v.get("/changes?hours=1&table=queue&page=1"); !strings.Contains(older, "‹ Newer") || strings.Contains(older, "delay_seconds") {
		t.Errorf("the second page: %s", older)
	}
	if none := v.get("/changes?by=nobody"); !strings.Contains(none, "Nothing has changed since then") {
		t.Errorf("of nobody it shows %s", none)
	}
	if other := v.get("/changes?table=vpc"); strings.Contains(other, "many") {
		t.Errorf("of another table it shows %s", other)
	}
	w.PSQL(`DELETE FROM queue WHERE name = 'many'`, `SELECT iasql_wait_for_all(120)`)
}
