package modes

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"iasql/internal/test/faultproxy"
	"iasql/internal/test/harness"
)

// faulty makes a world whose AWS calls go through a proxy.
func faulty(t *testing.T, modules ...string) (*harness.World, *faultproxy.Proxy) {
	t.Helper()
	w, proxy := harness.StartBehindProxy(t, east, modules...)
	return w, proxy
}

// refuse answers an action with an error from now on.
func refuse(p *faultproxy.Proxy, action string, status int, code string) {
	p.Set(func(c faultproxy.Call) faultproxy.Fault {
		if c.Action == action {
			return faultproxy.Fault{Status: status, Code: code, Message: "refused by the test"}
		}
		return faultproxy.Fault{}
	})
}

func heal(p *faultproxy.Proxy) {
	p.Set(func(faultproxy.Call) faultproxy.Fault { return faultproxy.Fault{} })
}

// Every row of the table of states is reached, and left again.
func TestStates(t *testing.T) {
	t.Parallel()
	w, proxy := faulty(t, "aws_sqs")
	const status = `SELECT desired, detected, state, review FROM iasql_status WHERE table_name = 'queue' AND record_id = %s`
	state := func(id, want string) {
		t.Helper()
		w.Becomes(15*time.Second, want, fmt.Sprintf(status, id))
	}
	id := func(statement string) string {
		t.Helper()
		out, _, _ := strings.Cut(w.PSQL(statement+` RETURNING id`), "\n")
		return out
	}

	// A failure that heals backs off; nobody is needed.
	refuse(proxy, "CreateQueue", 503, "ServiceUnavailable")
	a := id(`INSERT INTO queue (name) VALUES ('a')`)
	state(a, "present|absent|Creating|f")
	heal(proxy)
	state(a, "present|present|Present|f")

	// One that does not heal waits for a person, who changes the record …
	refuse(proxy, "CreateQueue", 400, "InvalidAttributeValue")
	b := id(`INSERT INTO queue (name) VALUES ('b')`)
	state(b, "present|absent|CreatingFailed|t")
	if got := w.Refused(`SELECT iasql_wait_for('queue', ` + b + `, 'url IS NOT NULL')`); !strings.Contains(got, "IA012") || !strings.Contains(got, "refused by the test") {
		t.Errorf("iasql_wait_for says %s", got)
	}
	heal(proxy)
	w.PSQL(`UPDATE queue SET delay_seconds = 1 WHERE id = ` + b)
	state(b, "present|present|Present|f")

	// … or says that the cause is gone.
	refuse(proxy, "SetQueueAttributes", 403, "AccessDenied")
	w.PSQL(`UPDATE queue SET delay_seconds = 2 WHERE id = ` + b)
	state(b, "present|present, different|UpdatingFailed|t")
	heal(proxy)
	w.PSQL(`SELECT iasql_sync_now()`)
	state(b, "present|present, different|UpdatingFailed|t")
	if got := w.PSQL(`SELECT iasql_retry('queue', ` + b + `)`); got != "t" {
		t.Errorf("iasql_retry: %s", got)
	}
	state(b, "present|present|Present|f")

	refuse(proxy, "SetQueueAttributes", 503, "ServiceUnavailable")
	w.PSQL(`UPDATE queue SET delay_seconds = 3 WHERE id = ` + b)
	state(b, "present|present, different|Updating|f")
	heal(proxy)
	state(b, "present|present|Present|f")

	refuse(proxy, "GetQueueUrl", 503, "ServiceUnavailable")
	w.PSQL(`UPDATE queue SET delay_seconds = 4 WHERE id = ` + b)
	state(b, "present|unknown|CheckPresentFailed|t")
	heal(proxy)
	state(b, "present|present|Present|f")

	refuse(proxy, "DeleteQueue", 503, "ServiceUnavailable")
	w.PSQL(`DELETE FROM queue WHERE id = ` + a)
	state(a, "absent|present|Removing|f")
	refuse(proxy, "DeleteQueue", 403, "AccessDenied")
	state(a, "absent|present|RemovingFailed|t")
	heal(proxy)
	w.PSQL(`SELECT iasql_retry('queue', ` + a + `)`)
	state(a, "") // absent and absent: pruned

	refuse(proxy, "GetQueueUrl", 503, "ServiceUnavailable")
	w.PSQL(`DELETE FROM queue WHERE id = ` + b)
	state(b, "absent|unknown|CheckAbsentFailed|t")
	heal(proxy)
	state(b, "")

	// What a record replaced has to go: it says so when that fails, also when it
	// is gone itself.
	c := id(`INSERT INTO queue (name) VALUES ('c')`)
	state(c, "present|present|Present|f")
	rename := func(name string) {
		t.Helper()
		refuse(proxy, "DeleteQueue", 403, "AccessDenied")
		w.PSQL(`UPDATE queue SET name = '` + name + `' WHERE id = ` + c)
		state(c, "present|present|RemovingFailed|t")
		heal(proxy)
	}
	rename("d")
	if got := w.PSQL(`SELECT iasql_ready('queue')`); got != "f" {
		t.Errorf("iasql_ready with a predecessor left: %s", got)
	}
	w.PSQL(`SELECT iasql_retry('queue', ` + c + `)`)
	state(c, "present|present|Present|f")
	rename("e")
	w.PSQL(`DELETE FROM queue WHERE id = ` + c)
	state(c, "absent|present|RemovingFailed|t")
	w.PSQL(`SELECT iasql_retry('queue', ` + c + `)`)
	state(c, "")
	if got := w.CLI("sqs", "list-queues")["QueueUrls"]; got != nil {
		t.Errorf("left in the cloud: %v", got)
	}

	// Who inserts again what could not be deleted has it, and nothing is left of the deletion. No full cycle says so.
	w.PSQL(`UPDATE iasql_settings SET value = '1 day' WHERE name = 'sync_interval'`)
	refused := id(`INSERT INTO queue (name) VALUES ('again')`)
	state(refused, "present|present|Present|f")
	refuse(proxy, "DeleteQueue", 403, "AccessDenied")
	w.PSQL(`DELETE FROM queue WHERE id = ` + refused)
	state(refused, "absent|present|RemovingFailed|t")
	again := id(`INSERT INTO queue (name) VALUES ('again')`)
	state(again, "present|present|Present|f")
	state(refused, "")
	heal(proxy)
	w.Settled()
}

// A record that needs one that has failed waits for it, and says for which.
func TestWaitingForDependencies(t *testing.T) {
	t.Parallel()
	w, proxy := faulty(t, "aws_vpc")
	refuse(proxy, "CreateVpc", 400, "InvalidVpcRange")
	w.PSQL(`BEGIN`, `INSERT INTO vpc (cidr_block) VALUES ('10.1.0.0/16')`,
		`INSERT INTO subnet (vpc_id, cidr_block) SELECT id, '10.1.1.0/24' FROM vpc WHERE cidr_block = '10.1.0.0/16'`,
		`COMMIT`)
	w.Becomes(10*time.Second, "CreatingFailed|t",
		`SELECT state, review FROM iasql_status WHERE table_name = 'vpc' AND state <> 'Present'`)
	vpc := w.PSQL(`SELECT id FROM vpc WHERE cidr_block = '10.1.0.0/16'`)
	w.Becomes(10*time.Second, "present|absent|WaitingForDependencies|f|t",
		`SELECT desired, detected, state, review, message LIKE 'waits for vpc `+vpc+
			`,%' FROM iasql_status WHERE table_name = 'subnet' AND state <> 'Present'`)
	heal(proxy)
	w.PSQL(`SELECT iasql_retry('vpc', ` + vpc + `)`)
	w.Settled()
}

// A column that moved on both sides: by default the edit made here is pushed
// and the other value kept; with hold neither side is written until a person
// decides.
func TestConflict(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t)
	engine := w.Serve()
	w.Install(east, "aws_sqs")
	w.PSQL(`UPDATE iasql_settings SET value = '0 seconds' WHERE name = 'consistency_window'`,
		`INSERT INTO queue (name) VALUES ('q')`)
	w.Settled()
	url := w.PSQL(`SELECT url FROM queue`)
	both := func(here, there int) {
		t.Helper()
		engine.Stop()
		w.PSQL(fmt.Sprintf(`UPDATE queue SET delay_seconds = %d`, here))
		w.CLI("sqs", "set-queue-attributes", "--queue-url", url, "--attributes", fmt.Sprintf("DelaySeconds=%d", there))
		engine = w.Serve()
	}
	cloud := func() string {
		t.Helper()
		return w.CLI("sqs", "get-queue-attributes", "--queue-url", url, "--attribute-names",
			"DelaySeconds")["Attributes"].(map[string]any)["DelaySeconds"].(string)
	}
	both(1, 2)
	w.Settled()
	if got := w.PSQL(`SELECT column_name, database_value, cloud_value, base, resolved FROM iasql_conflicts`); got != "delay_seconds|1|2|0|pushed" {
		t.Errorf("conflict: %s", got)
	}
	if got := cloud(); got != "1" {
		t.Errorf("the cloud has %s", got)
	}
	w.PSQL(`UPDATE iasql_settings SET value = 'hold' WHERE name = 'conflict_policy'`)
	for _, c := range []struct{ resolved, want string }{{"database", "3"}, {"cloud", "4"}} {
		both(3, 4)
		w.Becomes(10*time.Second, "Conflict|t", `SELECT state, review FROM iasql_status WHERE state <> 'Present'`)
		w.PSQL(`SELECT iasql_sync_now()`)
		if got := w.PSQL(`SELECT delay_seconds FROM queue`) + cloud(); got != "34" {
			t.Errorf("held: here and there %s", got)
		}
		if got := w.Refused(`UPDATE iasql_conflicts SET resolved = 'both' WHERE resolved IS NULL`); !strings.Contains(got, "IA008") {
			t.Errorf("says %s", got)
		}
		w.PSQL(`UPDATE iasql_conflicts SET resolved = '` + c.resolved + `' WHERE resolved IS NULL`)
		w.Settled()
		if got := w.PSQL(`SELECT delay_seconds FROM queue`) + cloud(); got != c.want+c.want {
			t.Errorf("resolved for the %s: here and there %s", c.resolved, got)
		}
		w.PSQL(`UPDATE queue SET delay_seconds = 0`)
		w.Settled()
	}
}

// Changed here, deleted there: for a person, never a silent re-creation.
func TestDeletedInCloudWhileChangedHere(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t)
	engine := w.Serve()
	w.Install(east, "aws_vpc")
	w.PSQL(`UPDATE iasql_settings SET value = '0 seconds' WHERE name = 'consistency_window'`,
		`INSERT INTO vpc (cidr_block) VALUES ('10.5.0.0/16')`)
	w.Settled()
	engine.Stop()
	w.PSQL(`UPDATE vpc SET tags = '{"a": "b"}' WHERE cidr_block = '10.5.0.0/16'`)
	w.CLI("ec2", "delete-vpc", "--vpc-id", w.PSQL(`SELECT vpc_id FROM vpc WHERE cidr_block = '10.5.0.0/16'`))
	w.Serve()
	w.Becomes(10*time.Second, "Conflict|t", `SELECT state, review FROM iasql_status WHERE state <> 'Present'`)
	w.PSQL(`SELECT iasql_sync_now()`)
	if got := w.PSQL(`SELECT count(*) FROM iasql_operations WHERE action = 'CreateVpc'`); got != "1" {
		t.Errorf("CreateVpc was called %s times", got)
	}
	w.PSQL(`UPDATE iasql_conflicts SET resolved = 'cloud' WHERE resolved IS NULL`)
	w.Settled()
	if got := w.PSQL(`SELECT count(*) FROM vpc WHERE cidr_block = '10.5.0.0/16'`); got != "0" {
		t.Errorf("the record is still there")
	}
}

// A change of a column that is fixed at creation replaces the object, and what
// depends on it; records keep their ids.
func TestReplace(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, east, "aws_vpc")
	w.PSQL(`INSERT INTO vpc (cidr_block, tags) VALUES ('10.6.0.0/16', '{"Name": "replaced"}')`,
		`INSERT INTO subnet (vpc_id, cidr_block) SELECT id, '10.6.1.0/24' FROM vpc WHERE cidr_block = '10.6.0.0/16'`)
	w.Settled()
	w.PSQL(`SELECT iasql_sync_now()`) // what AWS makes with a VPC
	before := w.PSQL(`SELECT v.id, s.id FROM vpc v JOIN subnet s ON s.vpc_id = v.id WHERE v.cidr_block = '10.6.0.0/16'`)
	oldVPC := w.PSQL(`SELECT vpc_id FROM vpc WHERE cidr_block = '10.6.0.0/16'`)
	w.PSQL(`CALL iasql_begin('test')`, `UPDATE vpc SET cidr_block = '10.7.0.0/16' WHERE cidr_block = '10.6.0.0/16'`,
		`UPDATE subnet SET cidr_block = '10.7.1.0/24' WHERE cidr_block = '10.6.1.0/24'`)
	if got := w.Joined(`SELECT string_agg(action || ' ' || table_name, ',' ORDER BY table_name) FROM iasql_preview()`); got != "replace subnet,replace vpc" {
		t.Errorf("preview: %s", got)
	}
	w.Joined(`CALL iasql_commit()`)
	w.Settled()
	if after := w.PSQL(`SELECT v.id, s.id FROM vpc v JOIN subnet s ON s.vpc_id = v.id WHERE v.cidr_block = '10.7.0.0/16' AND s.cidr_block = '10.7.1.0/24'`); after != before {
		t.Errorf("ids were %s and are %s", before, after)
	}
	vpcs := w.CLI("ec2", "describe-vpcs", "--filters", "Name=isDefault,Values=false")["Vpcs"].([]any)
	if len(vpcs) != 1 || vpcs[0].(map[string]any)["CidrBlock"] != "10.7.0.0/16" ||
		vpcs[0].(map[string]any)["VpcId"] == oldVPC {
		t.Errorf("VPCs: %v", vpcs)
	}

	// A subnet that does not change itself follows its VPC.
	w.PSQL(`INSERT INTO vpc (cidr_block) VALUES ('10.20.0.0/17')`,
		`INSERT INTO subnet (vpc_id, cidr_block) SELECT id, '10.20.1.0/24' FROM vpc WHERE cidr_block = '10.20.0.0/17'`)
	w.Settled()
	subnet := w.PSQL(`SELECT subnet_id FROM subnet WHERE cidr_block = '10.20.1.0/24'`)
	w.PSQL(`UPDATE vpc SET cidr_block = '10.20.0.0/16' WHERE cidr_block = '10.20.0.0/17'`)
	w.Settled()
	if now := w.PSQL(`SELECT subnet_id FROM subnet WHERE cidr_block = '10.20.1.0/24'`); now == subnet || now == "" {
		t.Errorf("the subnet was %s and is %s", subnet, now)
	}
}

// An INSERT whose object exists already adopts it; what it leaves at its
// default is taken from the cloud.
func TestAdopt(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t)
	engine := w.Serve()
	w.Install(east, "aws_sqs")
	engine.Stop()
	w.CLI("sqs", "create-queue", "--queue-name", "there", "--attributes", "DelaySeconds=7,VisibilityTimeout=50")
	w.PSQL(`INSERT INTO queue (name, visibility_timeout) VALUES ('there', 60)`)
	w.Serve()
	w.Settled()
	if got := w.PSQL(`SELECT delay_seconds, visibility_timeout, (SELECT string_agg(action, ',') FROM iasql_operations), (SELECT column_name || cloud_value FROM iasql_conflicts) FROM queue`); got != "7|60|SetQueueAttributes|visibility_timeout50" {
		t.Errorf("adopted: %s", got)
	}
}

// What belongs to something that is on its way out has no record, and full cycles
// go on while that cannot be removed.
func TestPartsOfWhatIsRemoved(t *testing.T) {
	t.Parallel()
	w, proxy := faulty(t, "aws_vpc")
	w.PSQL(`BEGIN`, `INSERT INTO vpc (cidr_block) VALUES ('10.1.0.0/16')`,
		`INSERT INTO internet_gateway (vpc_id) SELECT id FROM vpc WHERE cidr_block = '10.1.0.0/16'`,
		`INSERT INTO route_table (vpc_id, tags) SELECT id, '{"Name": "mine"}' FROM vpc WHERE cidr_block = '10.1.0.0/16'`,
		`INSERT INTO route (route_table_id, destination, internet_gateway_id) SELECT t.id, '0.0.0.0/0', g.id FROM route_table t JOIN internet_gateway g USING (vpc_id)`, `COMMIT`)
	w.Settled()
	proxy.Set(func(c faultproxy.Call) faultproxy.Fault {
		if c.Action == "DeleteRouteTable" || c.Action == "DeleteRoute" {
			return faultproxy.Fault{Status: 503, Code: "ServiceUnavailable", Message: "refused by the test"}
		}
		return faultproxy.Fault{}
	})
	w.PSQL(`BEGIN`, `DELETE FROM route WHERE destination = '0.0.0.0/0'`,
		`DELETE FROM route_table WHERE tags ->> 'Name' = 'mine'`, `COMMIT`)
	w.Becomes(15*time.Second, "Removing",
		`SELECT state FROM iasql_status WHERE table_name = 'route_table' AND desired = 'absent' AND attempts > 0`)
	w.CLI("ec2", "create-vpc", "--cidr-block", "10.2.0.0/16")
	if got := w.PSQL(`SELECT iasql_sync_now()`, `SELECT count(*) FROM vpc WHERE cidr_block = '10.2.0.0/16'`); !strings.HasSuffix(got, "1") {
		t.Errorf("a full cycle: %s", got)
	}
	heal(proxy)
	w.Settled()
	if got := w.PSQL(`SELECT count(*) FROM route_table WHERE tags ->> 'Name' = 'mine'`); got != "0" {
		t.Errorf("%s route tables are left", got)
	}
}
