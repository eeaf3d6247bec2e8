package acceptance

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"iasql/internal/test/harness"
)

// Two groups that name each other arrive in one transaction and leave in
// another, with their rules and what AWS has made besides.
func TestWholesAndParts(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, []string{"us-east-1"}, "aws_security_group")
	w.PSQL(`BEGIN`,
		`INSERT INTO vpc (cidr_block) VALUES ('10.1.0.0/16')`,
		`INSERT INTO security_group (vpc_id, group_name, description) SELECT id, g, g FROM vpc, unnest('{a,b}'::text[]) g WHERE cidr_block = '10.1.0.0/16'`,
		`INSERT INTO security_group_rule (security_group_id, is_egress, ip_protocol, from_port, to_port, source_security_group)
			SELECT x.id, false, 'tcp', 22, 22, y.id FROM security_group x, security_group y WHERE x.group_name IN ('a', 'b') AND y.group_name IN ('a', 'b')`,
		`INSERT INTO security_group_rule (security_group_id, is_egress, ip_protocol, cidr_ipv4) SELECT id, true, '-1', '0.0.0.0/0' FROM security_group WHERE group_name = 'a'`,
		`COMMIT`)
	w.Settled()
	w.PSQL(`SELECT iasql_sync_now()`)
	const mine = ` FROM security_group_rule r JOIN security_group g ON g.id = r.security_group_id WHERE group_name IN ('a', 'b')`
	if got := w.PSQL(`SELECT count(*), count(security_group_rule_id), count(from_port), count(*) FILTER (WHERE is_egress)` + mine); got != "6|6|6|2" {
		t.Errorf("rules: %s", got)
	}
	if got := w.PSQL(`SELECT count(*) FROM iasql_status WHERE state <> 'Present'`); got != "0" {
		t.Errorf("not present: %s", w.PSQL(
			`SELECT table_name, state, message FROM iasql_status WHERE state <> 'Present'`))
	}

	w.Admin(`UPDATE iasql_settings SET value = '1' WHERE name = 'max_delete_ratio'`)
	w.PSQL(`BEGIN`,
		`DELETE FROM security_group WHERE group_name IN ('a', 'b')`,
		`DELETE FROM vpc WHERE cidr_block = '10.1.0.0/16'`,
		`COMMIT`)
	w.Settled()
	w.PSQL(`SELECT iasql_sync_now()`)
	if got := w.PSQL(`SELECT count(*) FROM iasql_status WHERE state <> 'Present'`); got != "0" {
		t.Errorf("not gone: %s", w.PSQL(`SELECT table_name, state, message FROM iasql_status WHERE state <> 'Present'`))
	}
	if got := w.PSQL(`SELECT count(*), count(*) FILTER (WHERE is_default) FROM security_group`); got != "1|1" {
		t.Errorf("groups left: %s", got)
	}
	groups := w.CLI("ec2", "describe-security-groups")["SecurityGroups"].([]any)
	if len(groups) != 1 {
		t.Errorf("groups left in the cloud: %v", groups)
	}

	// What AWS made by itself is not deleted on its own.
	w.PSQL(`DELETE FROM security_group`, `SELECT iasql_sync_now()`)
	why := w.PSQL(`SELECT state, review, message FROM iasql_status WHERE table_name = 'security_group' AND state <> 'Present'`)
	if !strings.HasPrefix(why, "RemovingFailed|t|is not deleted from here: it is the VPC's default security group") {
		t.Errorf("state: %s", why)
	}
	if groups := w.CLI("ec2", "describe-security-groups")["SecurityGroups"].([]any); len(groups) != 1 {
		t.Errorf("groups left in the cloud: %v", groups)
	}
}

// A network with a way to the Internet and a NAT gateway arrives in one
// transaction, and leaves in another; then nothing is left to do.
func TestNetworkInOneTransaction(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, []string{"us-east-1"}, "aws_vpc")
	const settled = `SELECT table_name, state, message FROM iasql_status WHERE state <> 'Present'`
	w.PSQL(`SELECT iasql_sync_now()`)
	if got := w.PSQL(settled); got != "" {
		t.Fatalf("imported: %s", got)
	}
	w.PSQL(`BEGIN`,
		`INSERT INTO vpc (cidr_block) VALUES ('10.1.0.0/16')`,
		`INSERT INTO network_acl (vpc_id, entries) SELECT id, '[{"RuleNumber": 100, "Egress": true, "RuleAction": "allow", "Protocol": "-1", "CidrBlock": "0.0.0.0/0"}]' FROM vpc WHERE cidr_block = '10.1.0.0/16'`,
		`INSERT INTO subnet (vpc_id, cidr_block) SELECT id, '10.1.1.0/24' FROM vpc WHERE cidr_block = '10.1.0.0/16'`,
		`INSERT INTO internet_gateway (vpc_id) SELECT id FROM vpc WHERE cidr_block = '10.1.0.0/16'`,
		`INSERT INTO route_table (vpc_id, is_main) SELECT id, true FROM vpc WHERE cidr_block = '10.1.0.0/16'`,
		`INSERT INTO route (route_table_id, destination, internet_gateway_id) SELECT t.id, '0.0.0.0/0', g.id FROM route_table t JOIN internet_gateway g USING (vpc_id)`,
		`INSERT INTO route_table_association (route_table_id, subnet_id) SELECT t.id, s.id FROM route_table t JOIN subnet s USING (vpc_id) WHERE s.cidr_block = '10.1.1.0/24'`,
		`INSERT INTO elastic_ip (tags) VALUES ('{"Name": "nat"}')`,
		`INSERT INTO nat_gateway (subnet_id, elastic_ip_id) SELECT s.id, e.id FROM subnet s, elastic_ip e WHERE s.cidr_block = '10.1.1.0/24'`,
		`COMMIT`)
	w.Settled()
	w.PSQL(`SELECT iasql_sync_now()`)
	if got := w.PSQL(settled); got != "" {
		t.Errorf("created: %s", got)
	}
	const routes = `SELECT count(*), count(*) FILTER (WHERE internet_gateway_id IS NOT NULL) FROM route r JOIN route_table t ON t.id = r.route_table_id JOIN vpc v ON v.id = t.vpc_id WHERE t.is_main AND v.cidr_block = '10.1.0.0/16'`
	if got := w.PSQL(routes); got != "2|1" {
		t.Errorf("routes: %s", got)
	}

	calls := w.PSQL(`SELECT count(*) FROM iasql_operations`)
	w.PSQL(`SELECT iasql_sync_now()`)
	if got := w.PSQL(`SELECT count(*) FROM iasql_operations`); got != calls {
		t.Errorf("a quiet cycle made calls: %s, were %s", got, calls)
	}

	w.Admin(`UPDATE iasql_settings SET value = '1' WHERE name = 'max_delete_ratio'`)
	w.PSQL(`BEGIN`,
		// or what goes along is waited for
		`UPDATE iasql_settings SET value = '0 seconds' WHERE name = 'consistency_window'`,
		`DELETE FROM nat_gateway`, `DELETE FROM elastic_ip`,
		`DELETE FROM route WHERE internet_gateway_id IS NOT NULL`, `DELETE FROM internet_gateway`,
		`DELETE FROM route_table_association`, `DELETE FROM subnet WHERE cidr_block = '10.1.1.0/24'`,
		`DELETE FROM network_acl WHERE NOT is_default`,
		`DELETE FROM route_table WHERE vpc_id IN (SELECT id FROM vpc WHERE NOT is_default)`,
		`DELETE FROM vpc WHERE NOT is_default`,
		`COMMIT`)
	w.Settled()
	w.PSQL(`SELECT iasql_sync_now()`)
	if got := w.PSQL(settled); got != "" {
		t.Errorf("deleted: %s", got)
	}
	if got := w.PSQL(`SELECT count(*) FROM vpc`) + w.PSQL(`SELECT count(*) FROM network_acl`) + w.PSQL(
		`SELECT count(*) FROM route_table`); got != "111" {
		t.Errorf("left: %s", got)
	}
}

// Replacing a VPC takes along what users have put into it, and leaves behind
// what AWS has made with it.
func TestReplacedWholeAndParts(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, []string{"us-east-1"}, "aws_vpc")
	w.PSQL(`INSERT INTO vpc (cidr_block) VALUES ('10.1.0.0/16')`,
		`INSERT INTO route_table (vpc_id, tags) SELECT id, '{"Name": "mine"}' FROM vpc WHERE cidr_block = '10.1.0.0/16'`)
	w.Settled()
	w.PSQL(`SELECT iasql_sync_now()`)
	w.PSQL(`UPDATE vpc SET cidr_block = '10.2.0.0/16' WHERE cidr_block = '10.1.0.0/16'`)
	w.Settled()
	w.PSQL(`SELECT iasql_sync_now()`)
	w.Becomes(20*time.Second, "", `SELECT table_name, state, message FROM iasql_status WHERE state <> 'Present'`)
	w.PSQL(`SELECT iasql_sync_now()`)
	const tables = `SELECT count(*), count(*) FILTER (WHERE t.is_main), count(*) FILTER (WHERE t.tags IS NOT NULL) FROM route_table t JOIN vpc v ON v.id = t.vpc_id WHERE v.cidr_block = '10.2.0.0/16'`
	if got := w.PSQL(tables); got != "2|1|1" {
		t.Errorf("route tables: %s", got)
	}
	if vpcs := w.CLI("ec2", "describe-vpcs")["Vpcs"].([]any); len(vpcs) != 2 {
		t.Errorf("vpcs in the cloud: %v", vpcs)
	}
}

// A VPC with what AWS has made in it moves to another region by one UPDATE, with the
// user's subnet in the same transaction (finding 8). What AWS made goes with the old
// VPC, and comes with the new one. What the user made and leaves behind is named.
func TestWholeMoves(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, []string{"us-east-1", "us-west-2"}, "aws_security_group")
	w.Admin(`UPDATE iasql_settings SET value = '2 seconds' WHERE name = 'consistency_window'`,
		`UPDATE iasql_settings SET value = '1' WHERE name = 'max_delete_ratio'`)
	w.PSQL(`INSERT INTO vpc (region, cidr_block) VALUES ('us-east-1', '10.1.0.0/16')`,
		`INSERT INTO subnet (region, vpc_id, cidr_block) SELECT region, id, '10.1.1.0/24' FROM vpc WHERE cidr_block = '10.1.0.0/16'`)
	w.Settled()
	w.PSQL(`SELECT iasql_sync_now()`)
	const made = `SELECT count(*), count(DISTINCT p.region) FROM vpc v, LATERAL (SELECT region FROM network_acl WHERE vpc_id = v.id UNION ALL
		SELECT region FROM route_table WHERE vpc_id = v.id UNION ALL SELECT region FROM security_group WHERE vpc_id = v.id) p WHERE v.cidr_block = '10.1.0.0/16' AND p.region = v.region`
	if got := w.PSQL(made); got != "3|1" {
		t.Fatalf("AWS has made %s", got)
	}
	if got := w.Refused(`UPDATE vpc SET region = 'us-west-2' WHERE cidr_block = '10.1.0.0/16'`); !strings.Contains(got, "of subnet is in us-east-1") || !strings.Contains(got, "in one transaction") {
		t.Errorf("without its subnet: %s", got)
	}
	w.PSQL(`BEGIN`, `UPDATE vpc SET region = 'us-west-2' WHERE cidr_block = '10.1.0.0/16'`,
		`UPDATE subnet SET region = 'us-west-2' WHERE cidr_block = '10.1.1.0/24'`, `COMMIT`)
	w.Settled()
	w.PSQL(`SELECT iasql_sync_now()`)
	w.Settled()
	w.Becomes(time.Minute, "3|1", made)
	w.Becomes(time.Minute, "0", `SELECT count(*) FROM vpc v JOIN network_acl n ON n.vpc_id = v.id WHERE n.region <> v.region`)
	for region, want := range map[string]int{"us-east-1": 0, "us-west-2": 1} {
		found := w.CLI("ec2", "describe-vpcs", "--region", region, "--filters",
			"Name=cidr,Values=10.1.0.0/16")["Vpcs"].([]any)
		subnets := w.CLI("ec2", "describe-subnets", "--region", region, "--filters",
			"Name=cidr-block,Values=10.1.1.0/24")["Subnets"].([]any)
		if len(found) != want || len(subnets) != want {
			t.Errorf("%s: %d VPCs and %d subnets, want %d", region, len(found), len(subnets), want)
		}
	}
	// To delete one speaks of nothing that AWS has made. (moto takes the first subnet of a
	// zone for the zone's default one, so this VPC has none.)
	w.PSQL(`INSERT INTO vpc (region, cidr_block) VALUES ('us-west-2', '10.2.0.0/16')`)
	w.Settled()
	w.PSQL(`SELECT iasql_sync_now()`, `DELETE FROM vpc WHERE cidr_block = '10.2.0.0/16'`)
	w.Settled()
	if found := w.CLI("ec2", "describe-vpcs", "--region", "us-west-2", "--filters",
		"Name=cidr,Values=10.2.0.0/16")["Vpcs"].([]any); len(found) != 0 {
		t.Errorf("left: %v", found)
	}
}

// A database is deleted after a final snapshot, unless its record says otherwise: what
// only the database knows outlives the record. ENFORCE imports a database that it has
// no record of.
func TestFinalSnapshots(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, []string{"us-east-1"}, "aws_rds")
	w.PSQL(`INSERT INTO rds (db_instance_identifier, engine, db_instance_class, allocated_storage, master_username, master_user_password, skip_final_snapshot)
		SELECT name, 'postgres', 'db.t4g.micro', 20, 'someone', 'Corr3ctHorse', name = 'dropped' FROM unnest('{kept,dropped,later}'::text[]) name`)
	w.Settled()
	w.PSQL(`UPDATE rds SET skip_final_snapshot = true WHERE db_instance_identifier = 'later'`, `DELETE FROM rds`)
	w.Settled()
	snapshots := w.CLI("rds", "describe-db-snapshots", "--snapshot-type", "manual")["DBSnapshots"].([]any)
	if len(snapshots) != 1 || !strings.HasPrefix(snapshots[0].(map[string]any)["DBSnapshotIdentifier"].(string),
		"kept-final-") {
		t.Errorf("snapshots: %v", snapshots)
	}
	if left := w.CLI("rds", "describe-db-instances")["DBInstances"].([]any); len(left) != 0 {
		t.Errorf("left in the cloud: %v", left)
	}

	w.PSQL(`INSERT INTO iasql_mode (table_name, mode) VALUES ('rds', 'ENFORCE'), ('parameter_group', 'ENFORCE')`,
		`SELECT iasql_sync_now()`)
	w.CLI("rds", "create-db-instance", "--db-instance-identifier", "stray", "--engine", "postgres",
		"--db-instance-class", "db.t4g.micro", "--allocated-storage", "20",
		"--master-username", "someone", "--master-user-password", "Corr3ctHorse")
	w.CLI("rds", "create-db-parameter-group", "--db-parameter-group-name", "stray", "--db-parameter-group-family",
		"postgres16", "--description", "stray")
	w.PSQL(`SELECT iasql_sync_now()`)
	if got := w.PSQL(`SELECT db_instance_identifier, skip_final_snapshot FROM rds`); got != "stray|f" {
		t.Errorf("databases: %s", got)
	}
	if left := w.CLI("rds", "describe-db-parameter-groups")["DBParameterGroups"].([]any); strings.Contains(fmt.Sprint(left), "stray") {
		t.Errorf("ENFORCE has left a group that holds no data: %v", left)
	}
}

// The instances that AWS makes with a Multi-AZ DB cluster are seen, are not
// deleted by themselves, and go along with the cluster.
func TestMultiAZCluster(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, []string{"us-east-1"}, "aws_rds")
	w.PSQL(`INSERT INTO db_cluster (db_cluster_identifier, engine, db_cluster_instance_class, allocated_storage, iops, master_username, master_user_password)
		VALUES ('multi', 'postgres', 'db.m6gd.large', 100, 1000, 'someone', 'Corr3ctHorse')`)
	w.Settled()
	// moto makes none: these are made by a call that AWS would refuse.
	instances := []string{"multi-instance-1", "multi-instance-2"}
	for _, name := range instances {
		w.CLI("rds", "create-db-instance", "--db-instance-identifier", name, "--db-cluster-identifier", "multi",
			"--engine", "postgres", "--db-instance-class", "db.m6gd.large")
	}
	w.PSQL(`SELECT iasql_sync_now()`)
	const members = `SELECT count(*) FROM rds d JOIN db_cluster c ON c.id = d.db_cluster_id WHERE c.db_cluster_identifier = 'multi' AND d.made_by_cluster`
	if got := w.PSQL(members); got != "2" {
		t.Fatalf("members: %s", got)
	}
	w.Refused(`UPDATE rds SET deletion_protection = true WHERE made_by_cluster`)

	// ENFORCE deletes no database that nobody asked for: it imports them (R18). These
	// it would not delete either if they held no data, since they are protected.
	w.Admin(`UPDATE iasql_settings SET value = '1' WHERE name = 'max_delete_ratio'`)
	w.PSQL(`BEGIN`,
		// or what goes along is waited for
		`UPDATE iasql_settings SET value = '0 seconds' WHERE name = 'consistency_window'`,
		`INSERT INTO iasql_mode (table_name, mode) VALUES ('rds', 'ENFORCE')`, `COMMIT`)
	w.CLI("rds", "create-db-instance", "--db-instance-identifier", "multi-instance-3", "--db-cluster-identifier",
		"multi", "--engine", "postgres", "--db-instance-class", "db.m6gd.large")
	w.PSQL(`SELECT iasql_sync_now()`)
	if got := w.PSQL(members); got != "3" {
		t.Errorf("members: %s", got)
	}
	w.PSQL(`DELETE FROM iasql_mode`, `DELETE FROM rds WHERE db_instance_identifier = 'multi-instance-3'`,
		`SELECT iasql_sync_now()`)
	why := w.PSQL(`SELECT state, review, message FROM iasql_status WHERE table_name = 'rds' AND state <> 'Present'`)
	if !strings.HasPrefix(why, "RemovingFailed|t|is not deleted from here: it is a part of the Multi-AZ DB cluster multi") {
		t.Errorf("state: %s", why)
	}

	w.PSQL(`DELETE FROM db_cluster WHERE db_cluster_identifier = 'multi'`, `SELECT iasql_sync_now()`)
	if got := w.PSQL(`SELECT count(*) FROM rds`); got != "0" {
		t.Errorf("records left: %s", got)
	}
	if got := w.PSQL(`SELECT DISTINCT state, message FROM iasql_status WHERE table_name = 'rds'`); got != "Removing|goes along with its db_cluster" {
		t.Errorf("the members wait: %s", got)
	}
	// moto leaves the instances, and the cluster because of them.
	for _, name := range append(instances, "multi-instance-3") {
		w.CLI("rds", "delete-db-instance", "--db-instance-identifier", name, "--skip-final-snapshot")
	}
	w.PSQL(`SELECT iasql_retry('db_cluster', record_id) FROM iasql_status WHERE table_name = 'db_cluster'`)
	w.Settled()
	w.PSQL(`SELECT iasql_sync_now()`)
	if got := w.PSQL(`SELECT table_name, state, message FROM iasql_status WHERE state <> 'Present'`); got != "" {
		t.Errorf("left: %s", got)
	}
	if clusters := w.CLI("rds", "describe-db-clusters")["DBClusters"].([]any); len(clusters) != 0 {
		t.Errorf("left in the cloud: %v", clusters)
	}
	if calls := w.PSQL(`SELECT string_agg(action, ',' ORDER BY action) FROM iasql_operations WHERE service = 'RDS' AND action LIKE '%Instance'`); calls != "" {
		t.Errorf("the engine has made the calls %s", calls)
	}
}
