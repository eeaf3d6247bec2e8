package postgres_test

import (
	"testing"

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
