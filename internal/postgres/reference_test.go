package postgres_test

import (
	"slices"
	"testing"
	"time"

	"iasql/internal/decide"
	"iasql/internal/modules"
	"iasql/internal/postgres"
	"iasql/internal/store"
)

// TestDanglingStored: what is stored of dangling references is what engines of an earlier version
// have stored, and all of it is read: an upgrade may come in the middle of an operation.
func TestDanglingStored(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.exec(`INSERT INTO box (label) VALUES ('a')`)
	b.exec(`INSERT INTO box (label) VALUES ('b')`)
	b.exec(`INSERT INTO item (box_id, label) VALUES (1, 'a')`)
	b.mustCycle(store.Push)
	b.exec(`DELETE FROM item`)
	b.exec(`DELETE FROM box WHERE id = 1`)
	name := b.query(`SELECT key FROM iasql_audit_log WHERE table_name = 'box' AND change_type = 'DELETE'`)

	// An item by its box and a name, as a node group is by its cluster.
	table := *itemTable
	table.Columns = slices.Clone(table.Columns)
	for i := range table.Columns {
		if c := &table.Columns[i]; c.Name == "item_id" || c.Name == "box_id" {
			c.Identity, c.Computed = true, false
		}
	}
	const identity, key = `{"box_id": "replaced:1", "account": "main", "item_id": "item-1"}`, "item-1\x1freplaced:1"
	b.exec(`INSERT INTO iasql_internal.record_state (table_name, record_id, account, region, state, identity, key) VALUES ('item', 1, 'main', '', 'Creating', $1, $2)
		ON CONFLICT (table_name, record_id) DO UPDATE SET identity = excluded.identity, key = excluded.key`,
		identity, key)
	b.exec(`INSERT INTO iasql_operations (cycle_id, account, region, table_name, record_id, kind, service, action, key, columns, up_to) VALUES
		(0, 'main', '', 'item', 1, 'update', 'scripted', 'Update', 'item-1', '{"box_id": {"from": null, "to": 2, "named": "box-1"}}', 0),
		(0, 'main', '', 'item', 1, 'update', 'scripted', 'Update', 'item-2', '{"box_id": {"from": "replaced:1", "to": 2}}', 0)`)

	lease, err := b.db.Acquire(t.Context(), "main", "test", postgres.CycleOptions{Kind: "push"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = lease.Release(store.Report{}, nil) })
	subjects, err := b.db.Load(t.Context(), &table, []int64{1})
	if err != nil || len(subjects) != 1 {
		t.Fatalf("%d records: %v", len(subjects), err)
	}
	s := subjects[0]
	was, named := s.Identity()
	if box := was["box_id"]; !named || box != modules.Outgoing(1) {
		t.Errorf("it is remembered to be of box %s", box)
	}
	cloud := []modules.Row{was.Clone()}
	if err := b.db.ToCloud(t.Context(), &table, cloud); err != nil || cloud[0]["box_id"] != modules.Text(name) {
		t.Errorf("its box was called %s, and is called %s: %v", name, cloud[0]["box_id"], err)
	}
	object := modules.Row{"account": modules.Text("main"), "item_id": modules.Text("item-1"),
		"box_id": modules.Text(name)}
	if err := b.db.ToDatabase(t.Context(), &table, modules.Scope{Account: "main"}, []modules.Row{object}); err != nil ||
		object["box_id"] != modules.Outgoing(1) {
		t.Errorf("an object of that box is of %s: %v", object["box_id"], err)
	}
	if found, err := b.db.Match(t.Context(), &table, modules.Scope{Account: "main"}, []modules.Row{object}); err != nil || !slices.Equal(found[0].RememberedBy, []int64{1}) {
		t.Errorf("it is remembered to be of %v: %v", found[0].RememberedBy, err)
	}

	_, open, err := b.db.Intents(t.Context(), "main", time.Minute)
	if err != nil || len(open) != 2 {
		t.Fatalf("%d operations in doubt: %v", len(open), err)
	}
	for i, want := range []decide.ValueChange{{To: modules.Int(2), Named: modules.Text("box-1")},
		{From: modules.Outgoing(1), To: modules.Int(2)}} {
		if got := open[i].Columns["box_id"]; got != want {
			t.Errorf("an operation of an earlier version: %+v, wanted %+v", got, want)
		}
	}

	// What this version stores.
	s.Scope = modules.Scope{Account: "main"}
	state := *s.State
	state.Message = "again"
	conflict := decide.Conflict{Column: "box_id", Database: modules.Int(2), Cloud: modules.Unrecorded("box-9"),
		Base: modules.Int(1), Open: true}
	for range 2 { // a conflict is known again
		if err := b.db.Settle(t.Context(), lease.Lease,
			[]store.Settlement{{Subject: s, State: &state, Conflicts: []decide.Conflict{conflict}}}); err != nil {
			t.Fatal(err)
		}
	}
	if got := b.query(`SELECT identity::text || ' ' || (key = $1) FROM iasql_internal.record_state WHERE table_name = 'item' AND message = 'again'`, key); got != identity+" true" {
		t.Errorf("the identity is stored as %s", got)
	}
	if got := b.query(`SELECT string_agg(concat_ws(' ', database_value, cloud_value, base), ', ') FROM iasql_conflicts`); got != `2 "object:box-9" 1` {
		t.Errorf("the conflict is stored as %s", got)
	}
	id, err := b.db.Begin(t.Context(), lease.Lease,
		decide.Intent{Record: s.Ref(), Kind: decide.OpUpdate, Scope: s.Scope, Key: "item-3",
			Columns: map[string]decide.ValueChange{"box_id": {From: modules.Outgoing(1), To: modules.Int(2),
				Named: modules.Text(name)}}})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := b.query(`SELECT columns FROM iasql_operations WHERE id = $1`, id),
		`{"box_id": {"to": 2, "from": null, "named": "`+name+`"}}`; got != want {
		t.Errorf("the operation is stored as %s, wanted %s", got, want)
	}
}
