package postgres_test

import (
	"testing"

	"iasql/internal/modules"
	"iasql/internal/postgres"
	"iasql/internal/store"
	"iasql/internal/sync"
)

// TestHintedParents: an event tells of an object alone whose parent is as new. The parent is
// listed as well, though its event was lost.
func TestHintedParents(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.exec(`INSERT INTO iasql_internal.event_source (account, name, kind, place) VALUES ('main', 'q', 'queue', 'q')`)
	b.mustCycle(store.Full)
	b.mustCycle(store.Full)
	b.exec(`UPDATE iasql_internal.listing SET tried = tried - interval '1 minute', listed = listed - interval '1 minute', changed = changed - interval '1 hour'`)
	b.cloud.boxes["box-7"] = modules.Row{"account": modules.Text("main"), "box_id": modules.Text("box-7"),
		"label": modules.Text("theirs"), "size": modules.Int(1)}
	b.cloud.items["item-8"] = modules.Row{"account": modules.Text("main"), "item_id": modules.Text("item-8"),
		"box_id": modules.Text("box-7"), "label": modules.Text("in it")}
	listed := map[string]int{}
	b.cloud.fault = func(action string) (error, error) { listed[action]++; return nil, nil }
	b.exec(`
		WITH e AS (
			INSERT INTO iasql_internal.cloud_event (account, id, region, service, call, at, actor)
			VALUES ('main', 'e', '', 'scripted', 'Put', clock_timestamp(), 'ana') RETURNING id)
		INSERT INTO iasql_internal.hint (account, event, table_name, region) SELECT 'main', id, 'item', '' FROM e`)
	if report := b.mustCycle(store.Push); !report.List {
		t.Fatalf("a hint that names no object: %+v", report)
	}
	lease, err := b.db.Acquire(t.Context(), "main", "bench",
		postgres.CycleOptions{Kind: string(store.Push), Hinted: true})
	if err != nil {
		t.Fatal(err)
	}
	e := &sync.Reconciler{Store: b.db, Registry: b.registry, Hinted: true}
	report, err := e.Cycle(t.Context(), lease.Lease, store.Full)
	if err := lease.Release(report, err); err != nil {
		t.Fatal(err)
	}
	if got := b.query(`SELECT string_agg(i.label || ' ' || b.label, ',') FROM public.item i JOIN public.box b ON b.id = i.box_id`); got != "in it theirs" {
		t.Errorf("there is %q after %+v", got, report)
	}
	if listed["List"] != 3 { // items, boxes, and items again
		t.Errorf("%d listings", listed["List"])
	}
	if got := b.query(`SELECT count(*) FROM iasql_internal.hint WHERE due IS NOT NULL`); got != "0" {
		t.Errorf("%s hints are open", got)
	}
}
