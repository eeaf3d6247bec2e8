package postgres_test

import (
	"fmt"
	"strconv"
	"testing"

	"iasql/internal/modules"
	"iasql/internal/store"
)

// An import reads each row a few times at the most, however little the planner knows of the tables that it fills. Were
// all rows of the account read for each page, it would be one time for each page that follows.
func TestImportReadsRowsOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, table := range []string{"box", "item"} {
		b.exec(`ALTER TABLE ` + table + ` SET (autovacuum_enabled = off)`)
		b.exec(`ANALYZE ` + table) // it is empty
	}
	b.mustCycle(store.Full) // nothing is there
	const records = 5_000
	for i := range records {
		box, item := fmt.Sprintf("box-%05d", i), fmt.Sprintf("item-%05d", i)
		b.cloud.boxes[box] = modules.Row{"account": modules.Text("main"), "box_id": modules.Text(box),
			"label": modules.Text("a"), "size": modules.Int(1), "tags": modules.Null}
		b.cloud.items[item] = modules.Row{"account": modules.Text("main"), "item_id": modules.Text(item),
			"box_id": modules.Text(box), "label": modules.Text("a")}
	}
	if report := b.mustCycle(store.Full); report.Pulled != 2*records {
		t.Fatalf("%+v", report)
	}
	b.engine.Close() // what a session has counted is seen by others once it has ended at the latest
	for _, table := range []string{"box", "item"} {
		read, err := strconv.Atoi(b.query(`SELECT seq_tup_read + idx_tup_fetch FROM pg_stat_user_tables WHERE relname = $1`, table))
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%d rows of %s were read", read, table)
		if read > 50*records {
			t.Errorf("to import %d records of %s, %d were read", records, table, read)
		}
	}
}
