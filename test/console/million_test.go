package console

import (
	"flag"
	"net/http"
	"testing"
	"time"

	"iasql/internal/test/stopwatch"
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
	w, _, _, base := start(t, "aws_vpc", "aws_sqs")
	w.PSQL(`INSERT INTO queue (name) VALUES ('first')`,
		`INSERT INTO vpc (cidr_block, tags) VALUES ('10.9.0.0/16', '{"Name": "shop"}')`,
		`INSERT INTO subnet (vpc_id, cidr_block) SELECT id, '10.9.1.0/24' FROM vpc WHERE cidr_block = '10.9.0.0/16'`,
		`SELECT iasql_wait_for_all(120)`, `CALL iasql_begin('big one')`, `UPDATE queue SET delay_seconds = 5 WHERE name = 'first'`)
	// A million records, three changes of each tenth of them, and five hundred that have failed. What the triggers
	// would say of them one by one is said for all of them.
	w.Admin(`SET session_replication_role = replica`,
		`INSERT INTO queue (account, region, name, visibility_timeout, tags)
		SELECT account, region, 'big-' || i, i % 43000, jsonb_build_object('Name', 'box ' || i, 'team', 'team' || i % 40)
		FROM generate_series(1, 900000) i, (SELECT account, region FROM queue LIMIT 1) q`,
		`INSERT INTO subnet (account, region, vpc_id, cidr_block)
		SELECT s.account, s.region, s.vpc_id, set_masklen('10.0.0.0'::inet + i * 16, 28)::cidr
		FROM generate_series(1, 100000) i, (SELECT * FROM subnet ORDER BY id LIMIT 1) s`,
		`INSERT INTO iasql_audit_log ("user", table_name, record_id, account, change_type, change, origin, settled, ts)
		SELECT CASE i % 3 WHEN 0 THEN 'iasql_engine' ELSE 'user' || i % 20 END, 'queue', q.id, q.account, 'UPDATE',
			'{"change": {"delay_seconds": 1}, "original": {"delay_seconds": 0}}', CASE i % 3 WHEN 0 THEN 'engine' ELSE 'user' END,
			true, now() - q.id * interval '1 second'
		FROM queue q, generate_series(1, 3) i WHERE q.id % 10 = 0`,
		`INSERT INTO iasql_internal.search_pending (table_name, record_id) SELECT 'queue', id FROM queue UNION ALL SELECT 'subnet', id FROM subnet
		ON CONFLICT DO NOTHING`,
		`ANALYZE`)
	for began := time.Now(); w.Admin(`SELECT count(*) FROM (SELECT FROM iasql_internal.search_pending LIMIT 1) p`) != "0"; {
		if time.Since(began) > 10*time.Minute {
			t.Fatal("the index of the search is not made")
		}
		time.Sleep(time.Second)
	}
	w.Admin(`INSERT INTO iasql_internal.record_state (table_name, record_id, account, state, review, code, message, attempts)
		SELECT 'queue', id, account, 'UpdatingFailed', id % 2 = 0, 'AccessDenied', 'is not allowed', 3 FROM queue WHERE name LIKE 'big-1___' LIMIT 500
		ON CONFLICT (table_name, record_id) DO UPDATE SET state = excluded.state, review = excluded.review, message = excluded.message`,
		`VACUUM ANALYZE`)
	v := newVisitor(t, base)
	if status := v.signIn(w.UserURL); status != http.StatusSeeOther {
		t.Fatalf("signing in: %d", status)
	}
	id := w.PSQL(`SELECT id FROM queue WHERE name = 'big-500000'`)
	subnet := w.PSQL(`SELECT min(id) FROM subnet`)
	vpc := w.PSQL(`SELECT id FROM vpc WHERE cidr_block = '10.9.0.0/16'`)
	for _, path := range []string{"/", "/records", "/records/queue", "/records/queue?dir=desc",
		"/records/queue?c=name&o=has&v=g-99999", "/records/queue?c=name&o=eq&v=big-777777",
		"/records/queue?c=name&o=has&v=nothing", "/records/queue?columns=name&columns=tags",
		"/records/queue?c=name&o=has&v=g-9&c=delay_seconds&o=eq&v=0", "/records/subnet",
		"/records/queue?c=visibility_timeout&o=gt&v=42990", "/records/queue?sort=visibility_timeout",
		"/records/queue?sort=name", "/records/queue?state=unsettled", "/records/queue/" + id, "/records/queue/new",
		"/records/queue/" + id + "/edit", "/records/queue/" + id + "/duplicate", "/records/subnet/new",
		"/records/subnet/" + subnet + "/edit", "/records/vpc/" + vpc, "/pick/subnet/vpc_id?v.vpc_id=sho", "/map", "/map?tables",
		"/map?tag=team", "/map?tag=Name%3Dbox+777", "/map?in=vpc." + vpc, "/map/queue/" + id + "?deletes", "/map/vpc/" + vpc + "?deletes",
		"/map/queue/" + id, "/map/vpc/" + vpc, "/map/subnet/" + subnet,
		"/batches", "/batches/1", "/batches/1?preview=1", "/search?q=big", "/search?q=big-777777", "/search?q=ig-7777", "/search?q=team7", "/search?q=10.0",
		"/activity", "/activity?show=changes", "/activity?show=failed", "/activity?show=drift", "/activity?show=pending", "/activity?show=conflicts",
		"/activity?show=cycles", "/changes", "/changes?hours=168", "/changes?hours=168&table=queue&by=user1", "/changes?hours=720&kind=drift",
		"/changes?between=1&hours=24", "/sql", "/sql/names", "/modules", "/as-of?table=queue"} {
		var took [3]time.Duration
		for i := range took {
			began := stopwatch.Start()
			v.get(path)
			took[i] = began.Took()
		}
		median := max(min(took[0], took[1]), min(max(took[0], took[1]), took[2]))
		t.Logf("%-55s %s", path, median.Round(time.Millisecond))
		if median > atMost {
			t.Errorf("%s takes %s", path, median.Round(time.Millisecond))
		}
	}
}
