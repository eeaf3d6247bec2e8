package likeness

import "testing"

// Two networks in two regions, their peering connection and the routes to each other
// come up from one transaction, and go by another.
func TestPeering(t *testing.T) {
	t.Parallel()
	w, _ := landscape{
		regions: []string{"us-east-1", "eu-west-1"},
		modules: []string{"aws_vpc"},
		up: []string{
			`INSERT INTO vpc (region, cidr_block, tags) VALUES ('us-east-1', '10.1.0.0/16', '{"Name": "east"}'), ('eu-west-1', '10.2.0.0/16', '{"Name": "west"}')`,
			`INSERT INTO subnet (region, vpc_id, cidr_block) SELECT region, id, network(set_masklen(cidr_block::inet, 24))::cidr FROM vpc WHERE is_default IS NOT TRUE`,
			`INSERT INTO route_table (region, vpc_id) SELECT region, id FROM vpc WHERE is_default IS NOT TRUE`,
			`INSERT INTO route_table_association (region, route_table_id, subnet_id) SELECT t.region, t.id, s.id FROM route_table t JOIN subnet s USING (vpc_id) JOIN vpc v ON v.id = t.vpc_id WHERE v.is_default IS NOT TRUE`,
			`INSERT INTO peering_connection (region, requester_id, accepter_id, accepter_region) SELECT a.region, a.id, b.id, b.region FROM vpc a, vpc b WHERE a.cidr_block = '10.1.0.0/16' AND b.cidr_block = '10.2.0.0/16'`,
			`INSERT INTO route (region, route_table_id, destination, vpc_peering_connection_id)
				SELECT t.region, t.id, CASE v.region WHEN 'us-east-1' THEN '10.2.0.0/16' ELSE '10.1.0.0/16' END, p.id FROM route_table t JOIN vpc v ON v.id = t.vpc_id, peering_connection p WHERE v.is_default IS NOT TRUE`,
		},
		there: `SELECT CASE WHEN (SELECT state FROM peering_connection) = 'active' AND (SELECT count(*) FROM route WHERE vpc_peering_connection_id IS NOT NULL) = 2 THEN 'yes' ELSE concat_ws(' ', (SELECT state FROM peering_connection), (SELECT string_agg(concat_ws(' ', region, destination, vpc_peering_connection_id, gateway_id, state), ', ') FROM route)) END`,
		down: []string{
			`DELETE FROM route WHERE vpc_peering_connection_id IS NOT NULL`, `DELETE FROM peering_connection`,
			`DELETE FROM route_table_association WHERE route_table_id IN (SELECT t.id FROM route_table t JOIN vpc v ON v.id = t.vpc_id WHERE v.is_default IS NOT TRUE AND NOT t.is_main)`,
			`DELETE FROM route_table WHERE vpc_id IN (SELECT id FROM vpc WHERE is_default IS NOT TRUE)`,
			`DELETE FROM subnet WHERE vpc_id IN (SELECT id FROM vpc WHERE is_default IS NOT TRUE)`,
			`DELETE FROM vpc WHERE is_default IS NOT TRUE`,
		},
		gone: `SELECT (SELECT count(*) FROM vpc WHERE is_default IS NOT TRUE) + (SELECT count(*) FROM peering_connection)`,
	}.try(t)
	if n := w.PSQL(`SELECT count(*) FROM iasql_operations WHERE action = 'CreateVpcPeeringConnection' AND result = 'ok'`); n != "1" {
		t.Errorf("%s connections were made", n)
	}
}
