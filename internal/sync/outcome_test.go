package sync

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"iasql/internal/decide"
	"iasql/internal/modules"
	"iasql/internal/store"
)

// translator is a database that counts translations, and cannot translate an
// object of the name bad.
type translator struct {
	store.Store
	asked int
}

func (d *translator) ToDatabase(_ context.Context, _ *modules.Table, _ modules.Scope, rows []modules.Row) error {
	d.asked++
	for _, row := range rows {
		if row["name"] == modules.Text("bad") {
			return errors.New("invalid byte sequence")
		}
	}
	return nil
}

// What creations made is translated for all of a table and scope at once; one
// that cannot be is in doubt, and leaves the others alone (R8).
func TestDescribe(t *testing.T) {
	thing := &modules.Table{Name: "thing", Doc: "Things.", Reach: modules.PerRegion, Creation: modules.ByToken,
		Columns: []modules.Column{
			{Name: "account", Type: modules.TypeText, Doc: "a", Required: true, CreateOnly: true},
			{Name: "region", Type: modules.TypeText, Doc: "r", Required: true, CreateOnly: true},
			{Name: "thing_id", Type: modules.TypeText, Doc: "i", Identity: true, Computed: true},
			{Name: "name", Type: modules.TypeText, Doc: "n"},
		}}
	if err := thing.Validate(); err != nil {
		t.Fatal(err)
	}
	made := func(id int64, region string, object modules.Row) *running {
		s := &decide.Subject{Table: thing, RecordID: id,
			Record: &decide.Record{ID: id,
				Row: modules.Row{"account": modules.Text("a"), "region": modules.Text(region)}}}
		r := &running{Op: &decide.Op{Kind: decide.OpCreate, Subject: s}, ending: called}
		r.outcome = store.Outcome{Intent: r.Intent(), Subject: s}
		r.outcome.IDs = []int64{id}
		(&cycle{}).succeed(r, object)
		return r
	}
	object := func(id, name string) modules.Row {
		return modules.Row{"thing_id": modules.Text(id), "name": modules.Text(name)}
	}
	for _, test := range []struct {
		what  string
		ended []*running
		asked int
		doubt map[int64]bool
	}{
		{"two regions", []*running{made(1, "x", object("t-1", "a")), made(2, "x", object("t-2", "b")),
			made(3, "y", object("t-3", "c"))}, 2, nil},
		{"one is bad", []*running{made(1, "x", object("t-1", "a")), made(2, "x", object("t-2", "bad")),
			made(3, "x", object("t-3", "c"))}, 4, map[int64]bool{2: true}},
		{"no identity", []*running{made(1, "x", object("t-1", "a")),
			made(2, "x", modules.Row{"thing_id": modules.Null})}, 1, map[int64]bool{2: true}},
		{"nothing to describe", []*running{{Op: &decide.Op{Kind: decide.OpCreate}, ending: refused},
			{Op: &decide.Op{Kind: decide.OpUpdate}, ending: called,
				outcome: store.Outcome{Intent: decide.Intent{Result: decide.ResultOK}}},
			{Op: &decide.Op{Kind: decide.OpCreate}, ending: called,
				outcome: store.Outcome{Intent: decide.Intent{Result: decide.ResultFailed}}}}, 0, nil},
	} {
		db := &translator{}
		c := &cycle{Reconciler: &Reconciler{Store: db}}
		c.describe(t.Context(), test.ended)
		if db.asked != test.asked {
			t.Errorf("%s: %d translations, not %d", test.what, db.asked, test.asked)
		}
		for _, f := range test.ended {
			if f.outcome.Subject == nil {
				continue
			}
			id := f.outcome.Subject.RecordID
			if doubt := f.outcome.Result == decide.ResultUnknown && f.outcome.Object == nil && f.outcome.Err != nil; doubt != test.doubt[id] {
				t.Errorf("%s: record %d: %s, %v", test.what, id, f.outcome.Result, f.outcome.Err)
			}
			if !test.doubt[id] && (f.outcome.State.Identity["thing_id"] != modules.Text(fmt.Sprint("t-", id)) ||
				f.outcome.Object["account"] != modules.Text("a")) {
				t.Errorf("%s: record %d: %v", test.what, id, f.outcome.State.Identity)
			}
		}
	}
}
