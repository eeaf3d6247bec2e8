package console

import (
	"flag"
	"net/http"
	"testing"
	"time"
)

var million = flag.Bool("million", false, "time each kind of page with a table of 1,000,000 records")

// atMost is what a page may take at the server, whatever there is (median of three visits).
const atMost = 200 * time.Millisecond

// TestMillion times the pages of a table of a million records. It takes minutes, and its
// times mean something on a quiet machine only: so it runs if asked, by -million.
func TestMillion(t *testing.T) {
	if !*million {
		t.Skip("takes minutes on a quiet machine: run with -args -million")
	}
	w, _, _, base := start(t, "aws_account", "aws_sqs")
	w.PSQL(`INSERT INTO queue (name) VALUES ('first')`)
	w.Admin(`SET session_replication_role = replica`,
		`INSERT INTO queue (account, region, name, visibility_timeout) SELECT account, region, 'big-' || i, i % 43000 FROM generate_series(1, 1000000) i, (SELECT account, region FROM queue LIMIT 1) q`, `ANALYZE queue`)
	v := newVisitor(t, base)
	if status := v.signIn(w.UserURL); status != http.StatusSeeOther {
		t.Fatalf("signing in: %d", status)
	}
	id := w.PSQL(`SELECT id FROM queue WHERE name = 'big-500000'`)
	for _, path := range []string{"/", "/records", "/records/queue", "/records/queue?dir=desc",
		"/records/queue?c=name&o=has&v=g-99999", "/records/queue?c=name&o=eq&v=big-777777",
		"/records/queue?c=name&o=has&v=nothing",
		"/records/queue?c=visibility_timeout&o=gt&v=42990", "/records/queue?sort=visibility_timeout",
		"/records/queue?sort=name", "/records/queue?state=unsettled", "/records/queue/" + id, "/map", "/map?tables", "/map?tag=team",
		"/map/queue/" + id, "/map/queue/" + id + "?deletes",
		"/batches", "/search?q=big", "/search?q=big-777777", "/search?q=ig-7777", "/activity", "/activity?show=changes", "/changes", "/sql", "/sql/names", "/activity?show=cycles", "/modules", "/as-of?table=queue"} {
		var took [3]time.Duration
		for i := range took {
			began := time.Now()
			v.get(path)
			took[i] = time.Since(began)
		}
		median := max(min(took[0], took[1]), min(max(took[0], took[1]), took[2]))
		t.Logf("%-55s %s", path, median.Round(time.Millisecond))
		if median > atMost {
			t.Errorf("%s takes %s", path, median.Round(time.Millisecond))
		}
	}
}
