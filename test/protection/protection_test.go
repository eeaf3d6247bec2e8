// Package protection tests what people say must stay as it is: protected records,
// objects that are left to others, paused ones, and drift that is asked about.
package protection

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"iasql/internal/test/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }

const minute = time.Minute

var (
	east = []string{"us-east-1"}
	both = []string{"us-east-1", "us-west-2"}
)

// refused checks that statements fail with a code and a text.
func refused(t *testing.T, w *harness.World, want []string, statements ...string) {
	t.Helper()
	got := w.Refused(statements...)
	for _, text := range want {
		if !strings.Contains(got, text) {
			t.Errorf("%s\nsays %s\nwithout %q", strings.Join(statements, "; "), got, text)
		}
	}
}

// A protected record cannot be deleted or replaced, by itself or along with its
// table, and everything else goes on.
func TestProtect(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, both, "aws_sqs", "aws_vpc")
	w.PSQL(`INSERT INTO queue (name, tags) VALUES ('kept', '{"Name": "the kept one"}'), ('free', NULL)`)
	w.Settled()
	id := w.PSQL(`SELECT id FROM queue WHERE name = 'kept'`)
	if got := w.PSQL(`SELECT iasql_protect('queue', ` + id + `), iasql_protect('queue', ` + id + `)`); got != "t|f" {
		t.Errorf("protected: %s", got)
	}
	refused(t, w, []string{"IA050", "the kept one", "iasql_unprotect('queue', " + id + ")", "iasql_forget"},
		`DELETE FROM queue`)
	if out, err := w.TryPSQL(w.AdminURL, `DELETE FROM queue`); err == nil ||
		!strings.Contains(out+err.Error(), "IA050") {
		t.Errorf("an administrator may: %s %v", out, err)
	}
	refused(t, w, []string{"IA050", "name of queue"}, `UPDATE queue SET name = name || '-x'`)
	refused(t, w, []string{"IA050", "region of queue"}, `UPDATE queue SET region = 'us-west-2' WHERE id = `+id)
	refused(t, w, []string{"IA050"}, `INSERT INTO queue (id, name) VALUES (`+id+
		`, 'other') ON CONFLICT (id) DO UPDATE SET name = excluded.name`)
	refused(t, w, []string{"IA050"}, `UPDATE queue SET delay_seconds = 3, name = 'both' WHERE id = `+id)
	w.PSQL(`UPDATE queue SET delay_seconds = 5`, `DELETE FROM queue WHERE name = 'free'`)
	w.Settled()
	if got := w.PSQL(`SELECT string_agg(name || delay_seconds, ',') FROM queue`); got != "kept5" {
		t.Errorf("queues: %s", got)
	}

	// What has no object has nothing to lose, and a value that goes back destroys
	// nothing.
	w.PSQL(`SELECT iasql_protect('queue')`)
	w.PSQL(`BEGIN`, `INSERT INTO queue (name) VALUES ('new')`, `UPDATE queue SET name = 'newer' WHERE name = 'new'`,
		`DELETE FROM queue WHERE name = 'newer'`, `COMMIT`)
	w.PSQL(`SELECT iasql_unprotect('queue', ` + id + `)`)
	w.PSQL(`BEGIN`, `UPDATE queue SET name = 'renamed' WHERE name = 'kept'`, `SELECT iasql_protect('queue', `+id+`)`,
		`UPDATE queue SET name = 'kept' WHERE name = 'renamed'`, `COMMIT`)
	w.Settled()

	// An exception from the rule of the table, and the table without the rule.
	w.PSQL(`SELECT iasql_unprotect('queue', ` + id + `)`)
	if got := w.PSQL(`SELECT string_agg(coalesce(record_id::text, 'all') || protected, ',' ORDER BY record_id) FROM iasql_protection`); got != id+"false,alltrue" {
		t.Errorf("rules: %s", got)
	}
	w.PSQL(`DELETE FROM queue WHERE name = 'kept'`, `INSERT INTO queue (name) VALUES ('last')`)
	w.Settled()
	refused(t, w, []string{"IA050", "'last'"}, `DELETE FROM queue`)
	// Uninstalling leaves the cloud as it is.
	w.PSQL(`SELECT * FROM iasql_uninstall('aws_sqs')`)
	if got := fmt.Sprint(w.CLI("sqs", "list-queues")); !strings.Contains(got, "last") {
		t.Errorf("the cloud has %s", got)
	}
}

// What is mistyped or missing is refused at once.
func TestArguments(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, east, "aws_sqs", "aws_vpc")
	for statement, want := range map[string][]string{
		`SELECT iasql_protect('queu', 1)`: {"IA006",
			"Did you mean 'queue'"},
		`SELECT iasql_protect('queue', NULL)`: {"IA055",
			"without an id"},
		`SELECT iasql_unprotect('queue', (SELECT id FROM queue WHERE false))`: {"IA055"},
		`SELECT iasql_protect(NULL)`:                                          {"IA006", "NULL"},
		`SELECT iasql_protect('queue', 999)`: {"IA006",
			"no record 999"},
		`SELECT iasql_unprotect('queue', 999)`: {"IA006",
			"no record 999"},
		`SELECT iasql_forget('queue', 999)`: {"IA006",
			"no record 999"},
		`SELECT iasql_forget('queue', NULL)`: {"IA055"},
		`SELECT iasql_adopt('queue', NULL)`:  {"IA055"},
		`SELECT iasql_adopt('queue', 'https://nothing.example/q')`: {"IA054",
			"https://nothing.example/q"},
		`INSERT INTO iasql_ignore (match) VALUES (NULL)`: {"IA053",
			"no JSON object"},
		`INSERT INTO iasql_ignore (match) VALUES ('{}')`: {"IA053",
			"neither tags nor a name"},
		`INSERT INTO iasql_ignore (match) VALUES ('{"tag": {"a": "b"}}')`: {"IA053",
			"neither tags nor a name"},
		`INSERT INTO iasql_ignore (match) VALUES ('{"name": "a", "arn": "b"}')`: {"IA053", "'arn'"},
		`INSERT INTO iasql_ignore (match) VALUES ('{"tags": {"a": 1}}')`: {"IA053",
			"'a' is no text"},
		`INSERT INTO iasql_ignore (match) VALUES ('{"tags": {}}')`: {"IA053", "empty"},
		`INSERT INTO iasql_ignore (table_name, match) VALUES ('queu', '{"name": "a"}')`: {"IA006",
			"Did you mean 'queue'"},
		`INSERT INTO iasql_ignore (table_name, match) VALUES ('vpc', '{"name": "a"}')`: {"IA053",
			"no name"},
		`UPDATE iasql_settings SET value = 'maybe' WHERE name = 'drift'`: {"IA007",
			"pull or ask"},
		`INSERT INTO iasql_mode (mode) VALUES ('STOP')`:                                             {"iasql_mode_is_a_mode"},
		`INSERT INTO iasql_ignore (match) SELECT '{"name": "a"}'::jsonb FROM generate_series(1, 2)`: {"iasql_ignore_each_rule_once"},
	} {
		refused(t, w, want, statement)
	}
}

// What holds data is replaced only where its user allows it, in that transaction.
func TestDataIsNotReplaced(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, east, "aws_dynamo")
	w.PSQL(`INSERT INTO dynamo_table (table_name, table_class, throughput, primary_key) VALUES ('data', 'STANDARD', '"PAY_PER_REQUEST"', '{"k": "S"}')`)
	w.Settled()
	const change = `UPDATE dynamo_table SET primary_key = '{"other": "S"}'`
	refused(t, w, []string{"IA051", "primary_key of dynamo_table 'data'", "SET LOCAL iasql.allow_replace = 'on'"},
		change)
	w.PSQL(`UPDATE dynamo_table SET tags = '{"a": "b"}'`) // changed in place
	w.Settled()
	w.PSQL(`BEGIN`, `SET LOCAL iasql.allow_replace = 'on'`, change, `COMMIT`)
	w.Settled()
	if got := fmt.Sprint(w.CLI("dynamodb", "describe-table", "--table-name", "data")); !strings.Contains(got, "other") {
		t.Errorf("the cloud has %s", got)
	}
	refused(t, w, []string{"IA051"}, `UPDATE dynamo_table SET primary_key = '{"k": "S"}'`)
	w.PSQL(`SELECT iasql_protect('dynamo_table', id) FROM dynamo_table`)
	refused(t, w, []string{"IA050"}, `BEGIN`, `SET LOCAL iasql.allow_replace = 'on'`,
		`UPDATE dynamo_table SET primary_key = '{"k": "S"}'`)
	// a user's own word
	w.PSQL(`SELECT iasql_unprotect('dynamo_table', id) FROM dynamo_table`, `DELETE FROM dynamo_table`)
	w.Settled()
}

// The engine stops at what is protected: a deletion that was waiting, a replacement by
// ENFORCE, a cascade, and a deposed object.
func TestEngineStops(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t)
	engine := w.Serve()
	w.Install(east, "aws_sqs", "aws_vpc")
	w.PSQL(`INSERT INTO queue (name) VALUES ('waiting')`,
		`INSERT INTO vpc (cidr_block, tags) VALUES ('10.0.0.0/16', '{"Name": "outer"}')`,
		`INSERT INTO subnet (vpc_id, cidr_block) SELECT id, '10.0.1.0/24' FROM vpc WHERE cidr_block = '10.0.0.0/16'`)
	w.Settled()
	id := w.PSQL(`SELECT id FROM queue`)
	subnet := w.PSQL(`SELECT id FROM subnet WHERE cidr_block = '10.0.1.0/24'`)
	engine.Stop()
	w.PSQL(`DELETE FROM queue`, `SELECT iasql_protect('queue')`)
	w.Serve()
	w.Becomes(time.Minute, "RemovingFailed|t",
		`SELECT state, review FROM iasql_status WHERE table_name = 'queue' AND record_id = `+id)
	if got := fmt.Sprint(w.CLI("sqs", "list-queues")); !strings.Contains(got, "waiting") {
		t.Errorf("the queue has gone: %s", got)
	}
	w.PSQL(`SELECT iasql_unprotect('queue')`)
	w.Settled()
	if got := fmt.Sprint(w.CLI("sqs", "list-queues")); strings.Contains(got, "waiting") {
		t.Errorf("the queue is still there: %s", got)
	}

	// A protected subnet keeps its VPC from being replaced.
	w.PSQL(`SELECT iasql_protect('subnet', ` + subnet + `)`)
	was := w.PSQL(`SELECT vpc_id FROM vpc WHERE cidr_block = '10.0.0.0/16'`)
	w.PSQL(`UPDATE vpc SET cidr_block = '10.0.0.0/20' WHERE vpc_id = '` + was + `'`)
	w.Becomes(time.Minute, "UpdatingFailed|t",
		`SELECT state, review FROM iasql_status WHERE table_name = 'vpc' AND record_id = (SELECT id FROM vpc WHERE vpc_id = '`+was+`')`)
	if got := w.PSQL(`SELECT message FROM iasql_status WHERE table_name = 'vpc' AND review`); !strings.Contains(got, "subnet "+subnet+", which is protected") {
		t.Errorf("the VPC says %s", got)
	}
	if got := w.PSQL(`SELECT count(*) FROM iasql_status WHERE table_name = 'subnet' AND state <> 'Present'`); got != "0" {
		t.Errorf("%s subnets are not as they were", got)
	}
	w.PSQL(`UPDATE vpc SET cidr_block = '10.0.0.0/16' WHERE vpc_id = '` + was + `'`)
	w.Settled()
	if got := w.PSQL(`SELECT count(*) FROM iasql_operations WHERE replaces`); got != "0" {
		t.Errorf("%s replacements", got)
	}
}

// A record is let go of: its object stays, is not imported again, is not touched by
// ENFORCE, and comes back when it is asked for.
func TestForget(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, east, "aws_sqs", "aws_vpc")
	w.PSQL(`INSERT INTO queue (name) VALUES ('theirs'), ('ours')`,
		`INSERT INTO vpc (cidr_block) VALUES ('10.1.0.0/16')`,
		`INSERT INTO subnet (vpc_id, cidr_block) SELECT id, '10.1.1.0/24' FROM vpc WHERE cidr_block = '10.1.0.0/16'`)
	w.Settled()
	w.PSQL(`UPDATE iasql_settings SET value = '0 seconds' WHERE name = 'consistency_window'`)
	refused(t, w, []string{"IA052", "records of subnet refer to it"},
		`SELECT iasql_forget('vpc', id) FROM vpc WHERE cidr_block = '10.1.0.0/16'`)
	url := w.PSQL(`SELECT iasql_forget('queue', id) FROM queue WHERE name = 'theirs'`)
	w.PSQL(`SELECT iasql_sync_now()`)
	if got := w.PSQL(`SELECT string_agg(name, ',') FROM queue`); got != "ours" {
		t.Errorf("queues: %s", got)
	}
	w.PSQL(`INSERT INTO iasql_mode (mode, table_name) VALUES ('ENFORCE', 'queue')`, `SELECT iasql_sync_now()`)
	if got := fmt.Sprint(w.CLI("sqs", "list-queues")); !strings.Contains(got, "theirs") {
		t.Errorf("ENFORCE took it: %s", got)
	}
	w.PSQL(`DELETE FROM iasql_mode`)
	if got := w.PSQL(`SELECT table_name, cloud_id FROM iasql_forgotten`); got != "queue|"+url {
		t.Errorf("forgotten: %s", got)
	}
	id := w.PSQL(`SELECT iasql_adopt('queue', '` + url + `')`)
	if got := w.PSQL(`SELECT name FROM queue WHERE id = ` + id); got != "theirs" {
		t.Errorf("adopted %s", got)
	}
	if got := w.PSQL(`SELECT iasql_adopt('queue', '` + url + `'), count(*) FROM iasql_forgotten`); got != id+"|0" {
		t.Errorf("adopted again: %s", got)
	}
	refused(t, w, []string{"IA052", "has no object yet"}, `BEGIN`, `INSERT INTO queue (name) VALUES ('unborn')`,
		`SELECT iasql_forget('queue', id) FROM queue WHERE name = 'unborn'`)
}

// Who has let go of what was made here a moment ago may have it back at once.
func TestForgetAndAdopt(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, east, "aws_sqs")
	w.PSQL(`INSERT INTO queue (name) VALUES ('back')`)
	w.Settled()
	url := w.PSQL(`SELECT iasql_forget('queue', id) FROM queue`)
	id := w.PSQL(`SELECT iasql_adopt('queue', '` + url + `')`)
	if got := w.PSQL(`SELECT name FROM queue WHERE id = ` + id); got != "back" {
		t.Errorf("adopted %s", got)
	}
}

// A deletion that takes parts along says in words what is in the way: a protection first,
// then the records that refer to what goes.
func TestWhatIsInTheWay(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, east, "aws_vpc", "aws_security_group")
	w.PSQL(`INSERT INTO vpc (cidr_block, tags) VALUES ('10.1.0.0/16', '{"Name": "main"}')`,
		`INSERT INTO subnet (vpc_id, cidr_block) SELECT id, c FROM vpc, unnest('{10.1.1.0/24,10.1.2.0/24}'::cidr[]) c WHERE cidr_block = '10.1.0.0/16'`)
	w.Settled()
	w.PSQL(`SELECT iasql_sync_now()`)
	id := w.PSQL(`SELECT id FROM vpc WHERE cidr_block = '10.1.0.0/16'`)
	subnets := w.PSQL(`SELECT string_agg(id::text, ', ' ORDER BY id) FROM subnet WHERE vpc_id = ` + id)
	refused(t, w, []string{"23503: vpc 'main' (id " + id + ") cannot be deleted: 2 records of subnet (ids " + subnets +
		")", "DELETE FROM subnet WHERE id IN (" + subnets + ");"},
		`DELETE FROM vpc WHERE id = `+id)
	for _, kept := range [][2]string{{"security_group", `is_default AND vpc_id = ` + id}, {"vpc", `id = ` + id}} {
		w.PSQL(`SELECT iasql_protect('` + kept[0] + `', id) FROM ` + kept[0] + ` WHERE ` + kept[1])
		refused(t, w, []string{"IA050", kept[0] + " '", "it is protected"}, `DELETE FROM vpc WHERE id = `+id)
		w.PSQL(`SELECT iasql_unprotect('` + kept[0] + `', id) FROM ` + kept[0] + ` WHERE ` + kept[1])
	}
	w.PSQL(`BEGIN`, `DELETE FROM subnet WHERE vpc_id = `+id, `DELETE FROM vpc WHERE id = `+id, `COMMIT`)
	w.Settled()
}

// What AWS does not delete while there is something in it is not deleted here either,
// unless that is meant; what comes with every zone does not count. The preview calls a
// record by several parts as people do, and what is staged says so.
func TestContents(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, east, "aws_route53")
	w.PSQL(`BEGIN`, `INSERT INTO hosted_zone (domain_name) VALUES ('example.test.')`,
		`INSERT INTO resource_record_set (parent_hosted_zone_id, name, record_type, record, ttl) SELECT id, 'www.example.test.', 'A', '192.0.2.1', 300 FROM hosted_zone`, `COMMIT`)
	w.Settled()
	w.PSQL(`SELECT iasql_sync_now()`)
	zone := w.PSQL(`SELECT id FROM hosted_zone`)
	refused(t, w, []string{"IA056: hosted_zone 'example.test.' (id " + zone +
		") cannot be deleted: it is not empty: it holds 1 record of resource_record_set (id ",
		"DELETE FROM resource_record_set WHERE parent_hosted_zone_id = '" + zone,
		"SET LOCAL iasql.with_contents = 'on'"}, `DELETE FROM hosted_zone`)
	w.PSQL(`BEGIN`, `DELETE FROM resource_record_set WHERE NOT is_default`, `DELETE FROM hosted_zone`, `ROLLBACK`)

	w.PSQL(`CALL iasql_begin('test')`)
	w.Joined(`BEGIN`, `SET LOCAL iasql.with_contents = 'on'`, `DELETE FROM hosted_zone`, `COMMIT`)
	plan := w.Joined(`SELECT description FROM iasql_preview() ORDER BY 1`)
	if !strings.Contains(plan, "delete hosted_zone example.test. (") ||
		!strings.Contains(plan, "|www.example.test.|A|)") || strings.Contains(plan, "x1F") {
		t.Errorf("the preview says %s", plan)
	}
	if got := w.PSQL(`SELECT count(*) > 1 FROM iasql_status WHERE message LIKE '%staged in batch % (test) of %: it waits for the batch''s commit'`,
		`SELECT count(*) > 1 FROM iasql_problems WHERE message LIKE '%staged in batch %'`); got != "t\nt" {
		t.Errorf("what is staged: %s", w.PSQL(`SELECT * FROM iasql_status`))
	}
	w.Joined(`CALL iasql_commit()`)
	w.PSQL(`INSERT INTO hosted_zone (domain_name) VALUES ('empty.test.')`)
	w.Settled()
	w.PSQL(`SELECT iasql_sync_now()`, `DELETE FROM hosted_zone`)
	w.Settled()
}

// What others manage is not imported and not touched.
func TestIgnore(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, east, "aws_sqs", "aws_vpc")
	w.PSQL(`UPDATE iasql_settings SET value = '0 seconds' WHERE name = 'consistency_window'`)
	w.CLI("sqs", "create-queue", "--queue-name", "before", "--tags", "kubernetes.io/cluster/one=owned")
	w.PSQL(`SELECT iasql_sync_now()`)
	w.PSQL(`INSERT INTO iasql_ignore (table_name, match) VALUES (NULL, '{"tags": {"kubernetes.io/*": "owned"}}'), ('queue', '{"name": "AWSReservedSSO_*"}')`)
	w.CLI("sqs", "create-queue", "--queue-name", "after", "--tags", "kubernetes.io/cluster/one=owned")
	w.CLI("sqs", "create-queue", "--queue-name", "shared", "--tags", "kubernetes.io/cluster/one=shared")
	w.CLI("sqs", "create-queue", "--queue-name", "AWSReservedSSO_x")
	w.CLI("ec2", "create-vpc", "--cidr-block", "10.2.0.0/16", "--tag-specifications",
		"ResourceType=vpc,Tags=[{Key=kubernetes.io/cluster/one,Value=owned}]")
	w.PSQL(`SELECT iasql_sync_now()`)
	if got := w.PSQL(`SELECT string_agg(name, ',' ORDER BY name) FROM queue`); got != "before,shared" {
		t.Errorf("queues: %s", got)
	}
	// What was imported before stays, and is pulled even under ENFORCE.
	w.PSQL(`INSERT INTO iasql_mode (mode) VALUES ('ENFORCE')`)
	w.CLI("sqs", "set-queue-attributes", "--queue-url", w.PSQL(`SELECT url FROM queue WHERE name = 'before'`),
		"--attributes", "DelaySeconds=8")
	w.PSQL(`SELECT iasql_sync_now()`)
	if got := w.PSQL(`SELECT delay_seconds FROM queue WHERE name = 'before'`); got != "8" {
		t.Errorf("ENFORCE took back what others manage: %s", got)
	}
	if got := fmt.Sprint(w.CLI("sqs", "list-queues")); !strings.Contains(got, "after") ||
		!strings.Contains(got, "AWSReservedSSO_x") {
		t.Errorf("ENFORCE deleted what others manage: %s", got)
	}
	if got := fmt.Sprint(w.CLI("ec2", "describe-vpcs")); !strings.Contains(got, "10.2.0.0/16") {
		t.Errorf("ENFORCE deleted what others manage: %s", got)
	}
}

// PAUSE: neither side is written, and both can be looked at.
func TestPause(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, east, "aws_sqs")
	w.PSQL(`INSERT INTO queue (name) VALUES ('q'), ('column')`)
	w.Settled()
	w.PSQL(`UPDATE iasql_settings SET value = '0 seconds' WHERE name = 'consistency_window'`)
	id, url := w.PSQL(`SELECT id FROM queue WHERE name = 'q'`), w.PSQL(`SELECT url FROM queue WHERE name = 'q'`)
	w.PSQL(`INSERT INTO iasql_mode (mode, table_name, record_id) VALUES ('PAUSE', 'queue', `+id+`)`,
		`INSERT INTO iasql_mode (mode, table_name, record_id, column_name) SELECT 'PAUSE', 'queue', id, 'delay_seconds' FROM queue WHERE name = 'column'`)
	calls := w.PSQL(`SELECT count(*) FROM iasql_operations`)
	w.PSQL(`UPDATE queue SET visibility_timeout = 40 WHERE name = 'q'`)
	w.CLI("sqs", "set-queue-attributes", "--queue-url", url, "--attributes", "DelaySeconds=7")
	w.PSQL(`SELECT iasql_sync_now()`)
	if got := w.PSQL(`SELECT delay_seconds, visibility_timeout FROM queue WHERE id = ` + id); got != "0|40" {
		t.Errorf("the record is %s", got)
	}
	if got := w.PSQL(`SELECT count(*) FROM iasql_operations`); got != calls {
		t.Error("calls were made under PAUSE")
	}
	if got := w.PSQL(`SELECT state, detected, mode, review, message FROM iasql_status WHERE table_name = 'queue' AND record_id = ` + id); got != "Paused|present, different|PAUSE|t|PAUSE: differs from the cloud in visibility_timeout, delay_seconds" {
		t.Errorf("the status is %s", got)
	}
	const held = `SELECT direction, action, changes FROM %s WHERE table_name = 'queue' AND id = `
	want := `paused|update|{"delay_seconds": {"to": 7, "from": 0}, "visibility_timeout": {"to": 30, "from": 40}}`
	for _, f := range []string{"iasql_preview()", "iasql_drift()"} {
		if got := w.PSQL(fmt.Sprintf(held, f) + id); got != want {
			t.Errorf("%s shows %s", f, got)
		}
	}
	refused(t, w, []string{"IA012", "PAUSE"}, `SELECT iasql_wait_for_all()`)

	// Only the column is paused.
	w.PSQL(`UPDATE queue SET delay_seconds = 11, visibility_timeout = 41 WHERE name = 'column'`)
	w.Becomes(time.Minute, "Paused",
		`SELECT s.state FROM iasql_status s JOIN queue q ON q.id = s.record_id AND s.table_name = 'queue' WHERE q.name = 'column'`)
	attributes := fmt.Sprint(w.CLI("sqs", "get-queue-attributes", "--queue-url",
		w.PSQL(`SELECT url FROM queue WHERE name = 'column'`), "--attribute-names", "All"))
	if !strings.Contains(attributes, "VisibilityTimeout:41") || !strings.Contains(attributes, "DelaySeconds:0") {
		t.Errorf("the cloud has %s", attributes)
	}

	// A deletion waits too, and when PAUSE ends the audit log decides.
	w.PSQL(`DELETE FROM queue WHERE id = ` + id)
	w.PSQL(`SELECT iasql_sync_now()`)
	if got := fmt.Sprint(w.CLI("sqs", "list-queues")); !strings.Contains(got, url) {
		t.Errorf("a paused queue was deleted: %s", got)
	}
	w.PSQL(`DELETE FROM iasql_mode`)
	w.Settled()
	if got := fmt.Sprint(w.CLI("sqs", "list-queues")); strings.Contains(got, url) {
		t.Errorf("the queue is still there: %s", got)
	}
	attributes = fmt.Sprint(w.CLI("sqs", "get-queue-attributes", "--queue-url",
		w.PSQL(`SELECT url FROM queue WHERE name = 'column'`), "--attribute-names", "All"))
	if !strings.Contains(attributes, "DelaySeconds:11") {
		t.Errorf("the cloud has %s", attributes)
	}
}

// drift = ask: what the cloud has changed is pulled once a person has said so.
func TestDriftIsAskedAbout(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, east, "aws_sqs")
	w.PSQL(`INSERT INTO queue (name) VALUES ('pulled'), ('pushed'), ('gone'), ('again')`)
	w.Settled()
	w.PSQL(`UPDATE iasql_settings SET value = '0 seconds' WHERE name = 'consistency_window'`,
		`UPDATE iasql_settings SET value = 'ask' WHERE name = 'drift'`)
	url := func(name string) string { return w.PSQL(`SELECT url FROM queue WHERE name = '` + name + `'`) }
	for _, name := range []string{"pulled", "pushed"} {
		w.CLI("sqs", "set-queue-attributes", "--queue-url", url(name), "--attributes", "DelaySeconds=9")
	}
	for _, name := range []string{"gone", "again"} {
		w.CLI("sqs", "delete-queue", "--queue-url", url(name))
	}
	w.CLI("sqs", "create-queue", "--queue-name", "new")
	w.PSQL(`SELECT iasql_sync_now()`)
	if got := w.PSQL(`SELECT string_agg(name || delay_seconds, ',' ORDER BY name) FROM queue`); got != "again0,gone0,pulled0,pushed0" {
		t.Errorf("queues: %s", got)
	}
	if got := w.PSQL(`SELECT string_agg(action || ' ' || coalesce(q.name, 'new'), ',' ORDER BY q.name) FROM iasql_drift() d LEFT JOIN queue q USING (id) WHERE direction = 'ask'`); got != "delete again,delete gone,update pulled,update pushed,create new" {
		t.Errorf("drift: %s", got)
	}
	if got := w.PSQL(`SELECT DISTINCT state, review FROM iasql_status WHERE table_name = 'queue'`); got != "Conflict|t" {
		t.Errorf("states: %s", got)
	}
	resolve := func(names, how string) {
		w.PSQL(`UPDATE iasql_conflicts SET resolved = '` + how +
			`' WHERE resolved IS NULL AND table_name = 'queue' AND record_id IN (SELECT id FROM queue WHERE name IN (` +
			names + `))`)
	}
	resolve(`'pulled', 'gone'`, "cloud")
	resolve(`'pushed', 'again'`, "database")
	w.Becomes(time.Minute, "again0,pulled9,pushed0|0",
		`SELECT string_agg(name || delay_seconds, ',' ORDER BY name), (SELECT count(*) FROM iasql_status WHERE state <> 'Present') FROM queue`)
	if got := fmt.Sprint(w.CLI("sqs", "get-queue-attributes", "--queue-url", url("pushed"), "--attribute-names",
		"All")); !strings.Contains(got, "DelaySeconds:0") {
		t.Errorf("the cloud has %s", got)
	}
	w.PSQL(`SELECT iasql_adopt('queue', 'new')`)

	// The same again is asked again.
	w.PSQL(`UPDATE queue SET delay_seconds = 0 WHERE name = 'pulled'`)
	w.Settled()
	w.CLI("sqs", "set-queue-attributes", "--queue-url", url("pulled"), "--attributes", "DelaySeconds=9")
	w.PSQL(`SELECT iasql_sync_now()`)
	if got := w.PSQL(`SELECT q.delay_seconds, s.state FROM queue q JOIN iasql_status s ON s.record_id = q.id AND s.table_name = 'queue' WHERE name = 'pulled'`); got != "0|Conflict" {
		t.Errorf("drift came back and is %s", got)
	}
	w.PSQL(`UPDATE iasql_settings SET value = 'pull' WHERE name = 'drift'`)
	w.Becomes(time.Minute, "9|0", `SELECT delay_seconds, (SELECT count(*) FROM iasql_status WHERE state <> 'Present') FROM queue WHERE name = 'pulled'`)
}

// Whoever may change a record may protect it; nobody else may, nor let go of it.
func TestRights(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, east, "aws_sqs")
	w.PSQL(`INSERT INTO queue (name, tags) VALUES ('hers', '{"team": "a"}'), ('theirs', '{"team": "b"}')`)
	w.Settled()
	alice, carol := w.Login("alice", "iasql_user"), w.Login("carol", "iasql_reader")
	w.Admin(`ALTER TABLE queue ENABLE ROW LEVEL SECURITY`, `CREATE POLICY team ON queue USING (tags ->> 'team' = 'a')`)
	theirs, hers := w.Admin(`SELECT id FROM queue WHERE name = 'theirs'`),
		w.Admin(`SELECT id FROM queue WHERE name = 'hers'`)
	for _, c := range [][2]string{
		{alice, `SELECT iasql_protect('queue', ` + theirs + `)`},
		{alice, `SELECT iasql_unprotect('queue', ` + theirs + `)`},
		{alice, `SELECT iasql_forget('queue', ` + theirs + `)`},
		{alice, `SELECT iasql_protect('queue')`},
		{alice, `SELECT iasql_internal.set_protection('queue', NULL, true, NULL)`},
		{alice, `SELECT iasql_internal.set_protection('queue', ` + theirs + `, true, NULL)`},
		{alice, `SELECT iasql_internal.forget('queue', ` + theirs + `)`},
		{carol, `SELECT iasql_adopt('queue', 'theirs')`},
		{alice, `INSERT INTO iasql_ignore (match) VALUES ('{"name": "*"}')`},
		{alice, `INSERT INTO iasql_protection (table_name, protected, by) VALUES ('queue', true, 'alice')`},
		{carol, `SELECT iasql_protect('queue', ` + hers + `)`},
		{carol, `SELECT iasql_forget('queue', ` + hers + `)`},
		{carol, `INSERT INTO iasql_ignore (match) VALUES ('{"name": "*"}')`},
	} {
		if out, err := w.TryPSQL(c[0], c[1]); err == nil {
			t.Errorf("%s is allowed: %s", c[1], out)
		} else if !strings.Contains(out+err.Error(), "42501") &&
			!strings.Contains(out+err.Error(), "row-level security") {
			t.Errorf("%s: %s %v", c[1], out, err)
		}
	}
	w.Admin(`SELECT iasql_protect('queue', id) FROM queue`)
	if got, err := w.TryPSQL(alice, `SELECT count(*) FROM iasql_protection`); err != nil || got != "1" {
		t.Errorf("alice sees %s rules: %v", got, err)
	}
	// What an object will be is not known before it is imported, so that nobody can tell whether the record would be
	// hers.
	if got, err := w.TryPSQL(alice, `SELECT iasql_adopt('queue', 'theirs')`); err == nil ||
		!strings.Contains(err.Error(), "42501") {
		t.Errorf("alice adopts what may be others': %s %v", got, err)
	}
	if got, err := w.TryPSQL(alice, `SELECT iasql_unprotect('queue', `+hers+`)`); err != nil || got != "t" {
		t.Errorf("alice cannot lift what is hers: %s %v", got, err)
	}
}

// R19: whatever must stay is part of the rules that a cycle decides by.
func TestVersionOfRules(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, east, "aws_sqs")
	w.PSQL(`INSERT INTO queue (name) VALUES ('a'), ('b')`)
	w.Settled()
	w.PSQL(`UPDATE iasql_settings SET value = '0 seconds' WHERE name = 'consistency_window'`)
	seen := map[string]string{}
	for _, statement := range []string{
		`SELECT 1`, `SELECT iasql_protect('queue', id) FROM queue WHERE name = 'a'`, `SELECT iasql_protect('queue')`,
		`SELECT iasql_unprotect('queue', id) FROM queue WHERE name = 'a'`,
		`INSERT INTO iasql_ignore (match) VALUES ('{"name": "x"}')`,
		`SELECT iasql_forget('queue', id) FROM queue WHERE name = 'b'`, `SELECT iasql_adopt('queue', 'b')`,
		`UPDATE iasql_settings SET value = 'ask' WHERE name = 'drift'`,
		`INSERT INTO iasql_mode (mode) VALUES ('PAUSE')`,
	} {
		w.PSQL(statement)
		version := w.Admin(`SELECT iasql_internal.rules_version()`)
		if before, again := seen[version]; again {
			t.Errorf("after %s the rules are the same as after %s", statement, before)
		}
		seen[version] = statement
	}
}
