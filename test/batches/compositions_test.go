package batches

import (
	"strings"
	"testing"

	"iasql/internal/test/harness"
)

// counts says how many records each part of the network of a name has.
func counts(w *harness.World, name string) string {
	w.Helper()
	return w.PSQL(`SELECT string_agg(part || ' ' || n, ', ' ORDER BY part)
		FROM (SELECT p.part, count(*) AS n FROM iasql_parts p JOIN network i ON i.id = p.instance WHERE i.name = '` + name + `' GROUP BY 1) c`)
}

// tabled says how many records of some tables there are that somebody has made.
func tabled(w *harness.World) string {
	w.Helper()
	return w.PSQL(`SELECT concat_ws(' ', (SELECT count(*) FROM vpc WHERE NOT is_default), (SELECT count(*) FROM subnet WHERE NOT default_for_az),
		(SELECT count(*) FROM internet_gateway WHERE NOT is_default), (SELECT count(*) FROM elastic_ip), (SELECT count(*) FROM nat_gateway WHERE state <> 'deleted' OR state IS NULL))`)
}

const two = "elastic_ip 1, internet_gateway 1, nat_gateway 1, private_association 2, private_route 2, private_route_table 2, " +
	"private_subnet 2, public_association 2, public_route 1, public_route_table 1, public_subnet 2, vpc 1"

// A row of network stands for a VPC and all that is in it: it comes, changes and goes with the row, but for what somebody has changed
// in a part by hand.
func TestNetwork(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, east)
	w.Install(east)
	if got := w.PSQL(`SELECT module_name, created_table_name FROM iasql_install('network') WHERE module_name = 'network'`); got != "network|network" {
		t.Fatalf("installed %s", got)
	}
	w.Settled()
	none := tabled(w)
	w.PSQL(`INSERT INTO network (name, tags) VALUES ('shop', '{"team": "web"}')`)
	if got := counts(w, "shop"); got != two {
		t.Errorf("it has %s", got)
	}
	w.Settled()
	if got := len(w.CLI("ec2", "describe-subnets", "--filters", "Name=tag:team,Values=web")["Subnets"].([]any)); got != 4 {
		t.Errorf("%d subnets", got)
	}
	if got := w.PSQL(`SELECT string_agg(concat_ws(' ', tags ->> 'Name', cidr_block, availability_zone), ', ' ORDER BY tags ->> 'Name') FROM subnet WHERE tags ? 'tier'`); got !=
		"shop-private-1 10.0.0.0/20 us-east-1a, shop-private-2 10.0.16.0/20 us-east-1b, shop-public-1 10.0.128.0/20 us-east-1a, shop-public-2 10.0.144.0/20 us-east-1b" {
		t.Errorf("subnets: %s", got)
	}
	if got := w.PSQL(`SELECT count(*) FROM iasql_parts WHERE edited <> '{}'`); got != "0" {
		t.Errorf("%s parts are edited that nobody has edited: %s", got, w.PSQL(`SELECT part, key, edited FROM iasql_parts WHERE edited <> '{}'`))
	}

	// What somebody has changed in a part stays, and is shown.
	w.PSQL(`UPDATE subnet SET map_public_ip_on_launch = false, tags = tags || '{"mine": "yes"}' WHERE tags ->> 'Name' = 'shop-public-1'`)
	const edits = `SELECT string_agg(concat_ws(' ', part, key, edited), '; ' ORDER BY part, key) FROM iasql_parts WHERE edited <> '{}'`
	if got := w.PSQL(edits); got != "public_subnet 1 {map_public_ip_on_launch,tags}" {
		t.Errorf("edited: %s", got)
	}
	kept := w.PSQL(`SELECT id FROM subnet WHERE tags ->> 'Name' = 'shop-public-1'`)
	w.PSQL(`UPDATE network SET zones = 3, nat = 'each', endpoints = '{s3}' WHERE name = 'shop'`)
	if got := counts(w, "shop"); got != "elastic_ip 3, endpoint 1, internet_gateway 1, nat_gateway 3, private_association 3, private_route 3, "+
		"private_route_table 3, private_subnet 3, public_association 3, public_route 1, public_route_table 1, public_subnet 3, vpc 1" {
		t.Errorf("with three zones it has %s", got)
	}
	w.Settled()
	if got := w.PSQL(edits); got != "public_subnet 1 {map_public_ip_on_launch,tags}" {
		t.Errorf("edited after a change of other things: %s", got)
	}
	w.PSQL(`UPDATE network SET zones = 1, nat = 'none', endpoints = '{}', tags = '{}' WHERE name = 'shop'`)
	w.Settled()
	if got := counts(w, "shop"); got != "internet_gateway 1, private_association 1, private_route_table 1, private_subnet 1, public_association 1, "+
		"public_route 1, public_route_table 1, public_subnet 1, vpc 1" {
		t.Errorf("with one zone it has %s", got)
	}
	// A change of the instance that is about what somebody has changed wins.
	if got := w.PSQL(`SELECT id, tags, map_public_ip_on_launch FROM subnet WHERE tags ->> 'Name' = 'shop-public-1'`); got !=
		kept+`|{"Name": "shop-public-1", "tier": "public"}|f` {
		t.Errorf("the subnet is %s, was record %s", got, kept)
	}
	if said := w.Refused(`UPDATE network SET region = 'us-west-2'`); !strings.Contains(said, "IA032") || !strings.Contains(said, "cannot move") {
		t.Errorf("moved: %s", said)
	}
	if said := w.Refused(`SELECT * FROM iasql_uninstall('network')`); !strings.Contains(said, "it has 1 instances") {
		t.Errorf("uninstalled: %s", said)
	}
	if said := w.Refused(`SELECT * FROM iasql_uninstall('aws_vpc')`); !strings.Contains(said, "composition network needs it") {
		t.Errorf("uninstalled: %s", said)
	}
	w.PSQL(`DELETE FROM network`)
	w.Settled()
	if got := tabled(w); got != none {
		t.Errorf("there was %s and is %s", none, got)
	}
	w.PSQL(`SELECT * FROM iasql_uninstall('network')`)
	if got := w.PSQL(`SELECT to_regclass('network') IS NULL, (SELECT count(*) FROM iasql_modules_installed() WHERE module_name = 'network')`); got != "t|0" {
		t.Errorf("after uninstalling: %s", got)
	}
	w.PSQL(`SELECT * FROM iasql_install('network')`, `INSERT INTO network (name) VALUES ('anew')`, `DELETE FROM network`)
}
