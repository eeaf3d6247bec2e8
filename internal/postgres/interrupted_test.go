package postgres_test

import (
	"fmt"
	"testing"

	"iasql/internal/modules"
	"iasql/internal/store"
)

// TestInterruptedListing: what a listing has shown before it is interrupted becomes records;
// what it has not shown is not taken for gone (R5).
func TestInterruptedListing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for i := range 25 {
		id := fmt.Sprintf("box-%02d", i)
		b.cloud.boxes[id] = modules.Row{"account": modules.Text("main"), "box_id": modules.Text(id),
			"label": modules.Text("theirs"), "size": modules.Int(1), "tags": modules.Null}
	}
	interrupted := func(action string) (before, after error) {
		if action == "List" {
			return &modules.Error{Class: modules.Transient, Code: "Interrupted", Message: "try later"}, nil
		}
		return nil, nil
	}
	b.cloud.fault = interrupted
	b.mustCycle(store.Full)
	if got := b.query(`SELECT count(*) FROM box`); got != "10" {
		t.Errorf("%s records of a page of ten", got)
	}
	b.cloud.fault = nil
	b.mustCycle(store.Full)
	b.cloud.fault = interrupted
	if b.mustCycle(store.Full); b.query(`SELECT count(*) FROM box`) != "25" {
		t.Errorf("%s records are left", b.query(`SELECT count(*) FROM box`))
	}
}
