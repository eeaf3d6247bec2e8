package postgres_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	"iasql/internal/modules"
	"iasql/internal/store"
)

// sheetTable has what boxes may have too much of: it is listed in those that are open.
var sheetTable = &modules.Table{Name: "sheet", Doc: "Sheets.", Provider: "scripted", Reach: modules.PerAccount,
	Columns: []modules.Column{accountColumn,
		{Name: "box_id", Type: modules.TypeText, Required: true, Identity: true, CreateOnly: true, Doc: "Box.",
			References: &modules.Reference{Table: "box", Key: "box_id", ByKey: true, ListedIf: "open"}},
		{Name: "name", Type: modules.TypeText, Required: true, Identity: true, CreateOnly: true, Doc: "Name."},
	}}

// sheets are the sheets of a scripted cloud.
type sheets struct{ *scripted }

func (sheets) Table() *modules.Table { return sheetTable }

func (r sheets) List(_ context.Context, asked modules.ListRequest, page func([]modules.Observation) error) error {
	r.lock.Lock()
	boxes := slices.Sorted(maps.Keys(r.boxes))
	r.lock.Unlock()
	for _, box := range boxes {
		if !asked.IsSelected(box) {
			continue
		}
		r.lock.Lock()
		if r.fault != nil {
			_, _ = r.fault("List sheets of " + box)
		}
		var rows []modules.Row
		for sheet := range r.sheets {
			if of, name, _ := strings.Cut(sheet, "/"); of == box {
				rows = append(rows, modules.Row{"box_id": modules.Text(box), "name": modules.Text(name)})
			}
		}
		r.lock.Unlock()
		if err := page(modules.Observe(rows...)); err != nil {
			return err
		}
	}
	return nil
}

func (r sheets) Get(_ context.Context, asked modules.GetRequest) ([]modules.Observation, error) {
	r.lock.Lock()
	defer r.lock.Unlock()
	var rows []modules.Row
	for _, identity := range asked.Identities {
		if r.fault != nil {
			_, _ = r.fault("Get sheet")
		}
		if r.sheets[identity["box_id"].String()+"/"+identity["name"].String()] {
			rows = append(rows, identity.Clone())
		}
	}
	return modules.Observe(rows...), nil
}

// TestListedWithin: sheets are listed in open boxes. Of what is in others nothing is
// concluded: the records stay, and nothing is read (R5). What was in a box that has gone
// has gone with it.
func TestListedWithin(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.exec(`UPDATE iasql_settings SET value = '0 seconds' WHERE name = 'consistency_window'`)
	b.exec(`INSERT INTO box (label) VALUES ('a'), ('b'), ('c')`)
	b.mustCycle(store.Push)
	id := map[string]string{}
	for _, label := range []string{"a", "b", "c"} {
		id[label] = b.query(`SELECT box_id FROM box WHERE label = '` + label + `'`)
		b.cloud.sheets[id[label]+"/1"], b.cloud.sheets[id[label]+"/2"] = true, true
	}
	var calls []string
	b.cloud.fault = func(action string) (error, error) {
		for label := range id {
			if action == "List sheets of "+id[label] {
				calls = append(calls, "list "+label)
			}
		}
		if action == "Get sheet" {
			calls = append(calls, "get")
		}
		return nil, nil
	}
	cycle := func(what, wantCalls, wantSheets string) {
		t.Helper()
		calls = nil
		if report := b.mustCycle(store.Full); report.Failed > 0 {
			t.Errorf("%s: %+v", what, report)
		}
		slices.Sort(calls)
		if got := strings.Join(calls, ", "); got != wantCalls {
			t.Errorf("%s: the calls are %s, want %s", what, got, wantCalls)
		}
		if got := b.query(`SELECT coalesce(string_agg(b.label || s.name, ' ' ORDER BY b.label, s.name), '') FROM sheet s JOIN box b USING (account, box_id)`); got != wantSheets {
			t.Errorf("%s: the sheets are %s, want %s", what, got, wantSheets)
		}
	}
	cycle("no box is open", "", "")
	b.exec(`UPDATE box SET open = true WHERE label IN ('a', 'b')`)
	cycle("two are", "list a, list b", "a1 a2 b1 b2")
	delete(b.cloud.sheets, id["a"]+"/1")
	delete(b.cloud.sheets, id["b"]+"/1")
	b.exec(`UPDATE box SET open = false WHERE label = 'b'`)
	cycle("one of them is shut", "get, list a", "a2 b1 b2")
	// ENFORCE takes nothing away that somebody has named only now.
	b.exec(`INSERT INTO iasql_mode (mode) VALUES ('ENFORCE')`)
	b.exec(`UPDATE box SET open = true WHERE label = 'c'`)
	cycle("another is open", "list a, list c", "a2 b1 b2 c1 c2")
	b.exec(`DELETE FROM iasql_mode`)
	delete(b.cloud.boxes, id["b"])
	delete(b.cloud.sheets, id["b"]+"/2")
	cycle("a box that was shut has gone", "get, get, list a, list c", "a2 c1 c2")
	if got := b.query(`SELECT count(*) FROM box`); got != "2" {
		t.Errorf("%s boxes", got)
	}
}
