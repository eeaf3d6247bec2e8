package postgres_test

import (
	"strconv"
	"testing"
	"time"

	"iasql/internal/modules"
	"iasql/internal/store"
)

// TestStaleListing: what a listing shows as changed is pulled as a direct read has it,
// however long ago the engine wrote what it reverts (R13).
func TestStaleListing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.exec(`UPDATE iasql_settings SET value = '0 seconds' WHERE name = 'consistency_window'`)
	b.exec(`INSERT INTO box (label) VALUES ('new')`)
	b.mustCycle(store.Push)
	b.mustCycle(store.Full)
	b.cloud.listed = func(o modules.Row) { o["label"] = modules.Text("old") }
	if report := b.mustCycle(store.Full); report.Pulled != 0 || report.Read == 0 {
		t.Errorf("a stale listing: %+v", report)
	}
	if got := b.query(`SELECT label FROM box`); got != "new" {
		t.Errorf("the label is %s", got)
	}
	b.cloud.listed = nil
	for _, o := range b.cloud.boxes {
		o["label"] = modules.Text("newer")
	}
	if report := b.mustCycle(store.Full); report.Pulled != 1 {
		t.Errorf("a change in the cloud: %+v", report)
	}
	if got := b.query(`SELECT label FROM box`); got != "newer" {
		t.Errorf("the label is %s", got)
	}
}

// TestFoundLately: what was found in the cloud within the window counts as found, and what
// was by a clock that has been put back since does not: nothing waits until it is as late
// again.
func TestFoundLately(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.cloud.boxes["box-7"] = modules.Row{"account": modules.Text("main"), "box_id": modules.Text("box-7"),
		"size": modules.Int(1)}
	b.mustCycle(store.Full)
	id, err := strconv.ParseInt(b.query(`SELECT id FROM box`), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		ago  string
		want bool
	}{{"1 second", true}, {"59 seconds", true}, {"62 seconds", false}, {"-1 day", false}} {
		b.exec(`UPDATE public.iasql_audit_log SET settled_at = clock_timestamp() - $1::text::interval WHERE table_name = 'box' AND change_type = 'INSERT'`, c.ago)
		found, err := b.db.Found(t.Context(), boxTable, []int64{id}, time.Minute)
		if err != nil || (len(found) == 1) != c.want {
			t.Errorf("found %s ago: %v, %v", c.ago, found, err)
		}
	}
}
