package cells

import (
	"slices"
	"testing"
	"time"

	"iasql/internal/cells"
	"iasql/internal/test/faultproxy"
)

// TestMoveInDoubt: a creation of which nobody in the source knows what became is found by the target, and is not made again.
func TestMoveInDoubt(t *testing.T) {
	t.Parallel()
	m := startMoving(t, "aws_vpc")
	eu, us := m.cells["eu"], m.cells["us"]
	m.engines["eu"].Stop()
	proxy := faultproxy.Start(t, eu.Endpoint)
	eu.Endpoint = proxy.URL
	created := make(chan struct{})
	proxy.Set(func(c faultproxy.Call) faultproxy.Fault {
		if c.Action == "CreateVpc" {
			return faultproxy.Fault{After: func() { close(created); <-t.Context().Done() }}
		}
		return faultproxy.Fault{}
	})
	m.engines["eu"] = eu.Serve()
	eu.PSQL(`INSERT INTO vpc (account, cidr_block, tags) VALUES ('shop', '10.30.0.0/16', '{"Name": "doubtful"}')`)
	select {
	case <-created:
	case <-time.After(time.Minute):
		t.Fatal("CreateVpc was not called")
	}
	m.engines["eu"].Kill()
	if got := eu.Admin(`SELECT count(*) FROM iasql_operations WHERE account = 'shop' AND kind = 'create' AND ended IS NULL`); got != "1" {
		t.Fatalf("%s creations are in doubt", got)
	}
	m.engine("move", "shop", "--to", "us")
	us.Settled()
	if got := m.vpcs(); !slices.Equal(got, []string{"doubtful"}) {
		t.Errorf("VPCs in the cloud: %q", got)
	}
	if got := us.PSQL(`SELECT count(*) FROM vpc WHERE tags ->> 'Name' = 'doubtful' AND vpc_id IS NOT NULL`); got != "1" {
		t.Errorf("%s records know their VPC", got)
	}
}

// TestMoveRegistryLost: a registry that is made anew learns of a move from the cells.
func TestMoveRegistryLost(t *testing.T) {
	t.Parallel()
	m := startMoving(t, "aws_sqs")
	m.cells["eu"].PSQL(`INSERT INTO queue (account, name) VALUES ('shop', 'q1')`)
	m.cells["eu"].Settled()
	// As a command leaves them that was killed before it handed over.
	m.cells["eu"].Admin(`INSERT INTO iasql_internal.moving (account, move, cell, side)
		VALUES ('shop', '6f1c1d3e-3a52-4c39-9c38-0f9e3a3b5a10', 'us', 'leaving')`)
	m.refused("as NAME", "move", "default", "--from", "eu", "--to", "us", "--preview") // others do not mind
	m.cells["eu"].Refused(`UPDATE queue SET delay_seconds = 1 WHERE name = 'q1'`)
	m.cells["eu"].Refused(`SELECT iasql_protect('queue', id) FROM queue WHERE name = 'q1'`)
	m.sql(m.registry, `DROP SCHEMA iasql_cells CASCADE`)
	m.engine("init")
	for _, name := range m.names {
		m.engine("add", name, m.connection(m.cells[name], ""), "--deadline", "30s")
	}
	if out, err := m.tryMove(cells.Release, 0, "--to", "us"); err != nil && !killed(err) {
		t.Fatalf("%v: %s", err, out)
	}
	if got := m.look("30s"); len(got) != 2 { // which notes what each cell says
		t.Errorf("cells: %v", got)
	}
	if err := m.finish("us"); err != nil {
		t.Fatal(err)
	}
	if got := m.has(); !slices.Equal(got, []string{"us"}) {
		t.Errorf("%q serve the account", got)
	}
	if got := m.sql(m.registry, `SELECT count(*) FROM iasql_cells.doubled`); got != "0" {
		t.Errorf("%s accounts are in two cells", got)
	}
}
