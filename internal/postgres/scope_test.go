package postgres_test

import (
	"encoding/json"
	"testing"

	"iasql/internal/decide"
	"iasql/internal/modules"
	"iasql/internal/postgres"
	"iasql/internal/simulate"
	"iasql/internal/store"
	"iasql/internal/store/storetest"
)

// What is pending or remembered of an identity concerns its own account and region:
// an object of the same name elsewhere is imported (R8).
func TestIdentitiesElsewhere(t *testing.T) {
	t.Parallel()
	f := newConforming(t)
	for name, open := range map[string]func(testing.TB) storetest.Store{
		"simulated": func(testing.TB) storetest.Store { return storetest.Model() }, "postgres": f.open,
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			defer s.Close()
			e := elsewhere{T: t, s: s}
			var err error
			if e.lease, err = s.Take(t.Context()); err != nil {
				t.Fatal(err)
			}
			home, region, account := simulate.Regions()[0], simulate.Regions()[1], "another"

			// A user deletes a record of a table that reaches per region.
			net := e.pulled("net", simulate.Account, home, "net-a")
			if ok, err := s.Delete(t.Context(), 0, "net", net); err != nil || !ok {
				t.Fatal(ok, err)
			}
			e.match("net", simulate.Account, home, "net-a", "pending")
			e.match("net", simulate.Account, region, "net-a", "free")
			e.match("net", account, home, "net-a", "free")
			e.pull("net", simulate.Account, home, "net-a", false)
			e.pull("net", simulate.Account, region, "net-a", true)
			e.pull("net", account, home, "net-a", true)

			// Its deletion fails, and is remembered.
			e.remember("net", home, net, "net-a")
			e.match("net", simulate.Account, home, "net-a", "pending remembered")
			e.remember("net", home, net, "net-b")
			e.match("net", simulate.Account, home, "net-b", "remembered")
			e.match("net", simulate.Account, region, "net-b", "free")

			// A user moves a record to the other region: the old identity stays taken.
			moved := e.pulled("net", simulate.Account, home, "net-c")
			if ok, err := s.Update(t.Context(), 0, "net", moved,
				modules.Row{modules.ColumnRegion: modules.Text(region)}); err != nil || !ok {
				t.Fatal(ok, err)
			}
			e.match("net", simulate.Account, home, "net-c", "pending")
			e.pull("net", simulate.Account, home, "net-c", false)

			// A user deletes a record of a table that reaches per account.
			ann := e.pulled("name", simulate.Account, "", "ann")
			if ok, err := s.Delete(t.Context(), 0, "name", ann); err != nil || !ok {
				t.Fatal(ok, err)
			}
			e.match("name", simulate.Account, "", "ann", "pending")
			e.match("name", account, "", "ann", "free")
			e.pull("name", simulate.Account, "", "ann", false)
			e.pull("name", account, "", "ann", true)
		})
	}
}

// A record that was renamed was where its row is, or where it was before it moved or
// was deleted: the image of a renaming has no region.
func TestRenamedElsewhere(t *testing.T) {
	t.Parallel()
	f := newConforming(t)
	s := f.open(t)
	defer s.Close()
	e := elsewhere{T: t, s: s}
	var err error
	if e.lease, err = s.Take(t.Context()); err != nil {
		t.Fatal(err)
	}
	home, region := simulate.Regions()[0], simulate.Regions()[1]
	net := e.pulled("net", simulate.Account, home, "net-b")
	// Users cannot rename networks: what the log shows if they could.
	if _, err := f.admin.Exec(t.Context(), `
		INSERT INTO public.iasql_audit_log ("user", table_name, record_id, account, change_type, key, change)
		VALUES ('somebody', 'net', $1, $2, 'UPDATE', 'net-a', '{"original": {"net_id": "net-a"}, "change": {"net_id": "net-b"}}')`,
		net, simulate.Account); err != nil {
		t.Fatal(err)
	}
	check := func() {
		t.Helper()
		e.match("net", simulate.Account, home, "net-a", "pending")
		e.match("net", simulate.Account, region, "net-a", "free")
	}
	check()
	e.pull("net", simulate.Account, home, "net-a", false)
	if ok, err := s.Update(t.Context(), 0, "net", net, modules.Row{modules.ColumnRegion: modules.Text(region)}); err != nil || !ok {
		t.Fatal(ok, err)
	}
	check()
	if ok, err := s.Delete(t.Context(), 0, "net", net); err != nil || !ok {
		t.Fatal(ok, err)
	}
	check()
	e.pull("net", simulate.Account, region, "net-a", true)
}

// elsewhere asks a store about identities.
type elsewhere struct {
	*testing.T
	s     storetest.Store
	lease store.Lease
}

func (e elsewhere) table(name string) *modules.Table {
	for _, t := range simulate.Tables() {
		if t.Name == name {
			return t
		}
	}
	e.Fatal(name)
	return nil
}

// object is an object with an identity.
func (e elsewhere) object(table, account, region, key string) modules.Row {
	t := e.table(table)
	row := modules.Row{modules.ColumnAccount: modules.Text(account), t.Identity()[0]: modules.Text(key)}
	if region != "" {
		row[modules.ColumnRegion] = modules.Text(region)
	}
	if table == "net" {
		row["cidr"] = modules.Text("10")
	}
	return row
}

// pull tries to insert the record of an object.
func (e elsewhere) pull(table, account, region, key string, want bool) {
	e.Helper()
	row := e.object(table, account, region, key)
	t := e.table(table)
	results, err := e.s.Pull(e.Context(), e.lease,
		[]store.Pull{{Subject: &decide.Subject{Table: t, Scope: t.Scope(row)}, Action: decide.InsertRecord, Row: row}})
	if err != nil || results[0].Err != nil {
		e.Fatal(err, results)
	}
	if results[0].Applied != want {
		e.Errorf("a pull of %s %s in %s %s: applied is %v", table, key, account, region, results[0].Applied)
	}
}

// pulled inserts the record of an object and returns its id.
func (e elsewhere) pulled(table, account, region, key string) int64 {
	e.Helper()
	e.pull(table, account, region, key, true)
	rows, err := e.s.Rows(e.Context(), table)
	if err != nil {
		e.Fatal(err)
	}
	return rows[len(rows)-1].ID
}

// match compares what a store has for an identity.
func (e elsewhere) match(table, account, region, key, want string) {
	e.Helper()
	row := e.object(table, account, region, key)
	t := e.table(table)
	matches, err := e.s.Match(e.Context(), t, t.Scope(row), []modules.Row{row})
	if err != nil {
		e.Fatal(err)
	}
	m, got := matches[0], "free"
	switch {
	case m.Pending && m.Remembered:
		got = "pending remembered"
	case m.Pending:
		got = "pending"
	case m.Remembered:
		got = "remembered"
	}
	if m.Record != nil || got != want {
		e.Errorf("%s %s in %s %s is %s (record %v), should be %s", table, key, account, region, got, m.Record, want)
	}
}

// remember remembers that a record has an object.
func (e elsewhere) remember(table, region string, id int64, key string) {
	e.Helper()
	row := e.object(table, simulate.Account, region, key)
	t := e.table(table)
	state := &decide.State{Name: decide.StateRemoving, Review: true,
		Binding: decide.Binding{Identity: decide.IdentityOf(t, row)}}
	if err := e.s.Settle(e.Context(), e.lease,
		[]store.Settlement{{Subject: &decide.Subject{Table: t, Scope: t.Scope(row), RecordID: id}, State: state}}); err != nil {
		e.Fatal(err)
	}
}

// A preview of edits that are not committed asks for the account and region, too.
func TestOwnEditsElsewhere(t *testing.T) {
	t.Parallel()
	f := newConforming(t)
	s := f.open(t)
	defer s.Close()
	own := &postgres.OwnEdits{}
	if err := json.Unmarshal([]byte(`{"edits": [
		{"id": 1, "table": "net", "record": 1, "account": "acct", "type": "DELETE", "key": "net-a", "original": {"region": "r1"}, "change": null},
		{"id": 2, "table": "net", "record": 2, "account": "acct", "type": "UPDATE", "key": "net-b", "original": {"net_id": "net-b"}, "change": {"net_id": "net-c"}},
		{"id": 3, "table": "net", "record": 2, "account": "acct", "type": "UPDATE", "key": "net-c", "original": {"region": "r1"}, "change": {"region": "r2"}},
		{"id": 4, "table": "net", "record": 3, "account": "acct", "type": "UPDATE", "key": "net-d", "original": {"net_id": "net-d"}, "change": {"net_id": "net-e"}},
		{"id": 5, "table": "net", "record": 4, "account": "acct", "type": "INSERT", "key": null, "original": null, "change": {"region": "r1"}}
	], "records": [{"table": "net", "row": {"id": 2, "region": "r2"}}, {"table": "net", "row": {"id": 3, "region": "r1"}}]}`), own); err != nil {
		t.Fatal(err)
	}
	real, ok := s.(*real)
	if !ok {
		t.Fatal("no PostgreSQL store")
	}
	e := elsewhere{T: t, s: s}
	overlay := &postgres.Overlay{Database: real.Database, Own: own}
	table := e.table("net")
	for _, key := range []string{"net-a", "net-b", "net-c", "net-d"} {
		for _, scope := range []modules.Scope{{Account: "acct", Region: "r1"}, {Account: "acct", Region: "r2"},
			{Account: "another", Region: "r1"}} {
			matches, err := overlay.Match(t.Context(), table, scope,
				[]modules.Row{e.object("net", scope.Account, scope.Region, key)})
			if err != nil {
				t.Fatal(err)
			}
			if home := scope == (modules.Scope{Account: "acct", Region: "r1"}); matches[0].Pending != home {
				t.Errorf("%s in %s: pending is %v", key, scope, matches[0].Pending)
			}
		}
	}
}
