package likeness

import (
	"strings"
	"testing"
	"time"

	"iasql/internal/test/harness"
	"iasql/internal/test/likeness"
)

func TestMain(m *testing.M) { harness.Main(m) }

var east = []string{"us-east-1"}

// start starts an engine before AWS's likeness, with a window that is shorter than what
// AWS takes for most things.
func start(t *testing.T, rules func(endpoint string) []likeness.Rule, modules ...string) (*harness.World,
	*likeness.Likeness) {
	t.Helper()
	w := harness.NewWorld(t)
	l := likeness.Start(t, w.AWS.Endpoint, rules(w.AWS.Endpoint)...)
	w.Endpoint = l.URL
	w.Serve()
	w.Install(east, modules...)
	w.PSQL(`UPDATE iasql_settings SET value = '2 seconds' WHERE name = 'consistency_window'`)
	return w, l
}

const unsettled = `SELECT string_agg(concat_ws(' ', table_name, state, review, message), E'\n') FROM iasql_status WHERE state <> 'Present'`

const database = `INSERT INTO rds (db_instance_identifier, engine, db_instance_class, allocated_storage, master_username, master_user_password, skip_final_snapshot)
	VALUES ('shop', 'postgres', 'db.t3.micro', 20, 'admin1', 'secret-password', true)`

// A database whose replacement takes longer to delete than the consistency window is
// deleted once and created once, and nobody is asked.
func TestReplacedDatabase(t *testing.T) {
	t.Parallel()
	w, l := start(t, func(endpoint string) []likeness.Rule {
		return []likeness.Rule{&likeness.DBInstances{Creating: 3 * time.Second, Deleting: 12 * time.Second,
			Endpoint: endpoint}}
	}, "aws_rds")
	w.PSQL(database)
	w.Settled()
	w.PSQL(`BEGIN`, `SET LOCAL iasql.allow_replace = 'on'`, `UPDATE rds SET storage_encrypted = true`, `COMMIT`)
	w.Becomes(10*time.Second, "Replacing|f|the old object is being deleted",
		`SELECT state || '|' || left(review::text, 1) || '|' || message FROM iasql_status WHERE table_name = 'rds'`)
	w.PSQL(`SELECT iasql_sync_now()`)
	w.Eventually(90*time.Second, "the database to be replaced", func() bool {
		return w.PSQL(`SELECT count(*) FROM rds WHERE storage_encrypted AND db_instance_status = 'available'`) == "1" &&
			w.PSQL(unsettled) == ""
	})
	w.Settled()
	if deletes, creates := l.Proxy.Count("DeleteDBInstance"),
		w.PSQL(`SELECT count(*) FROM iasql_operations WHERE table_name = 'rds' AND kind = 'create' AND result = 'ok'`); deletes != 1 || creates != "2" {
		t.Errorf("%d deletions, %s creations", deletes, creates)
	}
}

// A database that failed over to another zone, and one that somebody else has made, are
// not deleted by ENFORCE; nor is one that says nothing of its zone while it is being
// created.
func TestFailover(t *testing.T) {
	t.Parallel()
	var rds *likeness.DBInstances
	w, l := start(t, func(endpoint string) []likeness.Rule {
		rds = &likeness.DBInstances{Creating: 8 * time.Second, Deleting: 5 * time.Second, Endpoint: endpoint}
		return []likeness.Rule{rds}
	}, "aws_rds")
	w.PSQL(strings.NewReplacer("skip_final_snapshot)", "availability_zone)", "true)",
		"'us-east-1a')").Replace(database))
	w.Becomes(10*time.Second, "Creating|is being made",
		`SELECT state || '|' || message FROM iasql_status WHERE table_name = 'rds'`)
	w.Settled()
	if n := l.Proxy.Count("CreateDBInstance"); n != 1 {
		t.Errorf("%d creations of a database that is being created", n)
	}
	w.PSQL(`SELECT iasql_sync_now()`, `INSERT INTO iasql_mode (mode) VALUES ('ENFORCE')`)
	w.CLI("rds", "create-db-instance", "--db-instance-identifier", "theirs", "--engine", "postgres",
		"--db-instance-class", "db.t3.micro",
		"--allocated-storage", "20", "--master-username", "admin1", "--master-user-password", "secret-password")
	rds.Failover("us-east-1", "shop", "us-east-1b")
	w.PSQL(`SELECT iasql_sync_now()`, `SELECT iasql_sync_now()`)
	w.Settled()
	if n := l.Proxy.Count("DeleteDBInstance"); n != 0 {
		t.Errorf("ENFORCE made %d deletions of databases", n)
	}
	if got := w.PSQL(`SELECT string_agg(db_instance_identifier, ', ' ORDER BY 1) FROM rds`); got != "shop, theirs" {
		t.Errorf("the databases are %s", got)
	}
	if got := w.PSQL(`SELECT availability_zone FROM rds WHERE db_instance_identifier = 'shop'`); got != "us-east-1b" {
		t.Errorf("the database is in %s", got)
	}
}

// A network with an internet gateway, a NAT gateway, routes to both and an endpoint with
// private DNS comes up from one transaction, and goes by another.
func TestNetwork(t *testing.T) {
	t.Parallel()
	w, l := start(t, func(endpoint string) []likeness.Rule {
		return []likeness.Rule{&likeness.Network{Pending: 3 * time.Second, Deleting: 3 * time.Second,
			Endpoint: endpoint}, &likeness.Dependencies{Endpoint: endpoint}}
	}, "aws_vpc")
	w.PSQL(`BEGIN`,
		`INSERT INTO vpc (cidr_block, enable_dns_hostnames) VALUES ('10.1.0.0/16', true)`,
		`INSERT INTO subnet (vpc_id, cidr_block) SELECT id, '10.1.1.0/24' FROM vpc WHERE cidr_block = '10.1.0.0/16'`,
		`INSERT INTO internet_gateway (vpc_id) SELECT id FROM vpc WHERE cidr_block = '10.1.0.0/16'`,
		`INSERT INTO route_table (vpc_id, is_main) SELECT id, true FROM vpc WHERE cidr_block = '10.1.0.0/16'`,
		`INSERT INTO route_table (vpc_id) SELECT id FROM vpc WHERE cidr_block = '10.1.0.0/16'`,
		`INSERT INTO route (route_table_id, destination, internet_gateway_id) SELECT t.id, '0.0.0.0/0', g.id FROM route_table t JOIN internet_gateway g USING (vpc_id) JOIN vpc v ON v.id = t.vpc_id WHERE t.is_main AND v.cidr_block = '10.1.0.0/16'`,
		`INSERT INTO elastic_ip (tags) VALUES ('{"Name": "nat"}')`,
		`INSERT INTO nat_gateway (subnet_id, elastic_ip_id) SELECT s.id, e.id FROM subnet s, elastic_ip e WHERE s.cidr_block = '10.1.1.0/24'`,
		`INSERT INTO route (route_table_id, destination, nat_gateway_id) SELECT t.id, '0.0.0.0/0', g.id FROM nat_gateway g, route_table t JOIN vpc v ON v.id = t.vpc_id WHERE NOT t.is_main AND v.cidr_block = '10.1.0.0/16'`,
		`INSERT INTO endpoint_interface (vpc_id, service, private_dns_enabled) SELECT id, 'ecr.api', true FROM vpc WHERE cidr_block = '10.1.0.0/16'`,
		`COMMIT`)
	w.Eventually(90*time.Second, "the network to come up", func() bool { return w.PSQL(unsettled) == "" })
	w.Settled()
	if got := w.PSQL(`SELECT count(*) FROM nat_gateway WHERE state = 'available'`); got != "1" {
		t.Errorf("%s NAT gateways are available: %s", got, w.PSQL(`SELECT state, failure_message FROM nat_gateway`))
	}
	if got := w.PSQL(`SELECT count(*) FROM iasql_operations WHERE result = 'failed' AND action IN ('CreateRoute', 'CreateVpcEndpoint')`); got != "0" {
		t.Errorf("%s routes and endpoints were refused", got)
	}
	w.PSQL(`SELECT iasql_sync_now()`) // the route table that was the main one before stays, and is a record from now on
	w.Admin(`UPDATE iasql_settings SET value = '1' WHERE name = 'max_delete_ratio'`)
	w.PSQL(`BEGIN`,
		`DELETE FROM route WHERE nat_gateway_id IS NOT NULL OR internet_gateway_id IS NOT NULL`,
		`DELETE FROM nat_gateway`, `DELETE FROM elastic_ip`,
		`DELETE FROM endpoint_interface`, `DELETE FROM internet_gateway`,
		`DELETE FROM subnet WHERE cidr_block = '10.1.1.0/24'`,
		`DELETE FROM route_table WHERE vpc_id IN (SELECT id FROM vpc WHERE is_default IS NOT TRUE)`,
		`DELETE FROM vpc WHERE cidr_block = '10.1.0.0/16'`, `COMMIT`)
	w.Eventually(90*time.Second, "the network to go", func() bool { return w.PSQL(unsettled) == "" })
	if got := w.PSQL(`SELECT count(*) FROM vpc WHERE is_default IS NOT TRUE`); got != "0" {
		t.Errorf("%s VPCs are left", got)
	}
	if got := l.Proxy.Count("DeleteVpc"); got == 0 {
		t.Error("the VPC was not deleted by a call")
	}
}
