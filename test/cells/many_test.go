package cells

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

var records = flag.Int("records", 2_000, "records of each cell, for the measurement")

// TestManyRecords: a query by tag finds its rows among many by an index of each cell, and reads no
// others. It prints how long queries take; make many-cells measures with as many records as
// docs/performance speaks of.
func TestManyRecords(t *testing.T) {
	f := start(t, "ap", "eu", "sa", "us")
	f.engine("init")
	for _, name := range f.names {
		f.engines[name].Stop() // it has no part in reading, and no objects for these records
		w := f.cells[name]
		w.Admin(`ALTER TABLE queue DISABLE ROW LEVEL SECURITY`, fmt.Sprintf(`SET session_replication_role = replica;
			INSERT INTO queue OVERRIDING SYSTEM VALUE
			SELECT r.* FROM (SELECT to_jsonb(q) AS q FROM queue q ORDER BY id LIMIT 1) q, generate_series(1, %[2]d) i,
				LATERAL jsonb_populate_record(NULL::queue, q.q || jsonb_build_object('id', 1000000 + i,
					'name', '%[1]s-m' || i, 'arn', concat('arn:of:', i), 'url', concat('https://of/', i),
					'tags', jsonb_build_object('Name', concat('queue ', i), 'owner', concat('team-', i %% %[3]d)))) r`,
			name, *records, *records/100),
			`CREATE INDEX queue_tags ON queue USING gin (tags jsonb_path_ops)`, `ANALYZE queue`)
		f.engine("add", name, f.connection(w, ""), "--deadline", "60s")
	}
	f.union("--reader", f.readers[0], "--reader", f.readers[1])
	t.Logf("%d queues in each of %d cells, %s with their indexes in one", *records, len(f.names),
		f.cells["eu"].Admin(`SELECT pg_size_pretty(pg_total_relation_size('queue'))`))

	conn, err := pgx.Connect(t.Context(), f.reader(f.readers[0]))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	measure := func(what, query string, want int) {
		t.Helper()
		var took []time.Duration
		for range 6 {
			began := time.Now()
			rows, _ := conn.Query(t.Context(), query)
			got, err := pgx.CollectRows(rows, pgx.RowToMap)
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			took = append(took, time.Since(began))
			if want >= 0 && len(got) != want {
				t.Errorf("%s: %d rows, want %d", what, len(got), want)
			}
		}
		rest := slices.Sorted(slices.Values(took[1:]))
		t.Logf("%-60s first %8s, then %8s (median of 5)", what, took[0].Round(100*time.Microsecond),
			rest[2].Round(100*time.Microsecond))
	}
	const byTag = `SELECT cell, name, tags FROM cells.queue WHERE tags @> '{"owner": "team-7"}' ORDER BY cell, name`
	measure("by tag, four cells", byTag, 400)
	measure("by tag, one of the cells", strings.Replace(byTag, "ORDER", "AND cell = 'eu' ORDER", 1), 100)
	measure("by name, four cells", `SELECT cell, tags FROM cells.queue WHERE name = 'eu-m77'`, 1)
	measure("count by tag, four cells",
		`SELECT cell, count(*) FROM cells.queue WHERE tags @> '{"owner": "team-7"}' GROUP BY cell`, 4)
	measure("count of all, four cells", `SELECT cell, count(*) FROM cells.queue GROUP BY cell`, 4)
	measure("by name pattern, no index, four cells",
		`SELECT cell, name FROM cells.queue WHERE name LIKE '%-m77'`, 4)
	f.sql(f.registry, `DO $$
		DECLARE s record;
		BEGIN
			FOR s IN SELECT srvname FROM pg_foreign_server LOOP
				EXECUTE format('ALTER SERVER %I OPTIONS (SET use_remote_estimate ''true'')', s.srvname);
			END LOOP;
		END
		$$`)
	measure("by tag, four cells, use_remote_estimate", byTag, 400)
	f.union()
	for _, name := range f.names {
		f.cells[name].Admin(`ALTER TABLE queue ENABLE ROW LEVEL SECURITY`)
	}
	measure("by tag, four cells, with policies", byTag, 400)
	plan := f.cells["eu"].Admin(`SET enable_seqscan = off; EXPLAIN (COSTS OFF) SELECT * FROM queue
		WHERE tags @> '{"owner": "team-7"}'`)
	if !strings.Contains(plan, "queue_tags") {
		t.Errorf("the cell's plan has no use for the index: %s", plan)
	}
}
