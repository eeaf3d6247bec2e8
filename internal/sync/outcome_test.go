package sync

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"iasql/internal/modules"
)

// translator is a database that counts translations, and cannot translate an
// object of the name bad.
type translator struct {
	Database
	asked int
}

func (d *translator) ToDatabase(_ context.Context, _ *modules.Table, _ modules.Scope, rows []modules.Row) ([]map[string]bool, error) {
	d.asked++
	for _, row := range rows {
		if row["name"] == modules.Text("bad") {
			return nil, errors.New("invalid byte sequence")
		}
	}
	return nil, nil
}

// What creations made is translated for all of a table and scope at once; one
// that cannot be is in doubt, and leaves the others alone (R8).
func TestDescribe(t *testing.T) {
	thing := &modules.Table{Name: "thing", Doc: "Things.", Reach: modules.PerRegion, Creation: modules.ByToken,
		Columns: []modules.Column{
			{Name: "account", Type: modules.TypeText, Doc: "a", Required: true, CreateOnly: true},
			{Name: "region", Type: modules.TypeText, Doc: "r", Required: true, CreateOnly: true},
			{Name: "thing_id", Type: modules.TypeText, Doc: "i", Identity: true, Assigned: true},
			{Name: "name", Type: modules.TypeText, Doc: "n"},
		}}
	if err := thing.Validate(); err != nil {
		t.Fatal(err)
	}
	made := func(id int64, region string, object modules.Row) finished {
		s := &Subject{Table: thing, RecordID: id, Record: &Record{ID: id, Row: modules.Row{"account": modules.Text("a"), "region": modules.Text(region)}}}
		r := &running{Op: &Op{Kind: OpCreate, Subject: s}}
		out := &Outcome{Calls: []int64{id}, Subject: s, Kind: OpCreate, Result: ResultOK}
		(&cycle{}).succeed(r, out, thing.Scope(s.Record.Row), object)
		return finished{run: r, outcome: out}
	}
	object := func(id, name string) modules.Row {
		return modules.Row{"thing_id": modules.Text(id), "name": modules.Text(name)}
	}
	for _, test := range []struct {
		what  string
		ended []finished
		asked int
		doubt map[int64]bool
	}{
		{"two regions", []finished{made(1, "x", object("t-1", "a")), made(2, "x", object("t-2", "b")), made(3, "y", object("t-3", "c"))}, 2, nil},
		{"one is bad", []finished{made(1, "x", object("t-1", "a")), made(2, "x", object("t-2", "bad")), made(3, "x", object("t-3", "c"))}, 4, map[int64]bool{2: true}},
		{"no identity", []finished{made(1, "x", object("t-1", "a")), made(2, "x", modules.Row{"thing_id": modules.Null})}, 1, map[int64]bool{2: true}},
		{"nothing to describe", []finished{{run: &running{Op: &Op{Kind: OpCreate}}}, {run: &running{Op: &Op{Kind: OpUpdate}}, outcome: &Outcome{Result: ResultOK}},
			{run: &running{Op: &Op{Kind: OpCreate}}, outcome: &Outcome{Result: ResultFailed}}}, 0, nil},
	} {
		db := &translator{}
		c := &cycle{Engine: &Engine{Database: db}}
		c.describe(t.Context(), test.ended)
		if db.asked != test.asked {
			t.Errorf("%s: %d translations, not %d", test.what, db.asked, test.asked)
		}
		for _, f := range test.ended {
			if f.outcome == nil || f.outcome.Subject == nil {
				continue
			}
			id := f.outcome.Subject.RecordID
			if doubt := f.outcome.Result == ResultUnknown && f.outcome.Object == nil && f.outcome.Err != nil; doubt != test.doubt[id] {
				t.Errorf("%s: record %d: %s, %v", test.what, id, f.outcome.Result, f.outcome.Err)
			}
			if !test.doubt[id] && (f.outcome.State.Identity["thing_id"] != modules.Text(fmt.Sprint("t-", id)) || f.outcome.Object["account"] != modules.Text("a")) {
				t.Errorf("%s: record %d: %v", test.what, id, f.outcome.State.Identity)
			}
		}
	}
}
