package types

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"iasql/internal/test/cloudcontrol"
	"iasql/internal/test/harness"
)

const (
	policyType = "AWS::IAM::ManagedPolicy"
	sourceType = "AWS::Lambda::EventSourceMapping"
)

// TestPolicyByName takes a policy through its life in a table that is installed by the name
// that people know its type by.
func TestPolicyByName(t *testing.T) {
	t.Parallel()
	w := start(t, cloudcontrol.Options{Schemas: cloudcontrol.AWS(t, "../..")})
	w.is(policyType+"|iam_policy|f", `SELECT type_name, table_name, installed FROM iasql_types('iam_policy')`)
	for _, search := range []string{"policy", "managed_policy", "ManagedPolicy", "customer*managed", "AWS::IAM::*"} {
		w.is("iam_policy|", `SELECT table_name, managed_by FROM iasql_types('`+search+`') WHERE type_name = '`+policyType+`'`)
	}
	w.is(policyType+"|iam_policy|f|t",
		`SELECT type_name, table_name, installed, description LIKE '%customer managed policy%' FROM iasql_type_names WHERE name = 'iam_policy'`)

	w.is(policyType+"|iam_policy|0", `SELECT * FROM iasql_install('iam_policy')`)
	w.is("", `SELECT * FROM iasql_install('iam_policy', 'AWS::IAM::ManagedPolicy')`) // again, by both
	w.is("t|iam_policy", `SELECT installed, table_name FROM iasql_types('`+policyType+`')`)
	w.is("t|iam_policy", `SELECT installed, table_name FROM iasql_type_names WHERE name = 'iam_policy'`)
	w.is("iam_policy", `SELECT name FROM iasql_help() WHERE module = '`+policyType+`'`)

	w.PSQL(`INSERT INTO iam_policy (managed_policy_name, policy_document) VALUES ('readers', '{"Version": "2012-10-17",
		"Statement": [{"Effect": "Allow", "Action": "s3:GetObject", "Resource": "*"}]}')`)
	w.Settled()
	arn := w.holds(policyType, `{"ManagedPolicyName": "readers"}`)
	w.is(arn, `SELECT policy_arn FROM iam_policy`)
	w.PSQL(`UPDATE iam_policy SET policy_document = jsonb_set(policy_document, '{Statement,0,Action}', '"s3:ListBucket"')`)
	w.Settled()
	statement := `{"PolicyDocument": {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s3:ListBucket", "Resource": "*"}]}}`
	if id := w.holds(policyType, statement); id != arn {
		t.Error("the policy was replaced")
	}
	w.edit(policyType, func(p map[string]any) { p["Roles"] = []any{"readers"} })
	w.PSQL(`SELECT iasql_sync_now()`)
	w.is("{readers}", `SELECT roles FROM iam_policy`)
	// What is attached shows at roles, too, which may have the last word (docs/every-type.md).
	w.PSQL(`INSERT INTO iasql_mode (table_name, mode) VALUES ('iam_policy', 'ENFORCE')`,
		`INSERT INTO iasql_mode (table_name, column_name, mode) VALUES ('iam_policy', 'roles', 'TRACK')`)
	w.edit(policyType, func(p map[string]any) { p["Roles"] = []any{"readers", "writers"} })
	w.PSQL(`SELECT iasql_sync_now()`)
	w.holds(policyType, `{"Roles": ["readers", "writers"]}`)
	w.is("{readers,writers}", `SELECT roles FROM iam_policy`)
	w.PSQL(`DELETE FROM iasql_mode WHERE table_name = 'iam_policy'`)
	w.refused("IA051", `UPDATE iam_policy SET managed_policy_name = 'others'`)
	w.PSQL(allowed + `UPDATE iam_policy SET managed_policy_name = 'others'`)
	w.Settled()
	w.holds(policyType, `{"ManagedPolicyName": "others", "Roles": ["readers", "writers"]}`)
	w.PSQL(`DELETE FROM iam_policy`)
	w.Settled()
	if left := w.fake.Objects(w.at, policyType); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	w.is(policyType+"|iam_policy|0", `SELECT * FROM iasql_uninstall('iam_policy')`)
	w.refused("no resource type AWS::IAM::ManagedPolicy is installed", `SELECT * FROM iasql_uninstall('iam_policy')`)
	w.is(policyType+"|iam_policy|0", `SELECT * FROM iasql_install('`+policyType+`')`)
}

// TestEventSourceByName does the same with an event source of a function, that others have made.
func TestEventSourceByName(t *testing.T) {
	t.Parallel()
	w := start(t, cloudcontrol.Options{Schemas: cloudcontrol.AWS(t, "../..")})
	if _, err := w.fake.Put(w.at, sourceType, map[string]any{"FunctionName": "worker", "BatchSize": 10,
		"EventSourceArn": "arn:aws:sqs:us-east-1:123456789012:jobs"}); err != nil {
		t.Fatal(err)
	}
	w.is(sourceType+"|lambda_event_source|1", `SELECT * FROM iasql_install('lambda_event_source')`)
	w.is("worker|10", `SELECT function_name, batch_size FROM lambda_event_source`)
	w.PSQL(`DELETE FROM lambda_event_source`)
	w.Settled()
	w.PSQL(`INSERT INTO lambda_event_source (function_name, event_source_arn, enabled, tags)
		VALUES ('worker', 'arn:aws:sqs:us-east-1:123456789012:others', true, '{"team": "shop"}')`)
	w.Settled()
	id := w.holds(sourceType, `{"FunctionName": "worker", "EventSourceArn": "arn:aws:sqs:us-east-1:123456789012:others",
		"Tags": [{"Key": "team", "Value": "shop"}]}`)
	w.is(id, `SELECT event_source_mapping_id FROM lambda_event_source`)
	w.PSQL(`UPDATE lambda_event_source SET batch_size = 100, enabled = false`)
	w.Settled()
	w.holds(sourceType, `{"BatchSize": 100, "Enabled": false}`)
	w.edit(sourceType, func(p map[string]any) { p["BatchSize"] = 5 })
	w.PSQL(`SELECT iasql_sync_now()`)
	w.is("5", `SELECT batch_size FROM lambda_event_source`)
	w.PSQL(`DELETE FROM lambda_event_source`)
	w.Settled()
	if left := w.fake.Objects(w.at, sourceType); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	w.is(sourceType+"|lambda_event_source|0", `SELECT * FROM iasql_uninstall('`+sourceType+`')`)
	w.is("lambda_event_source|0", `SELECT created_table_name, record_count FROM iasql_install('`+sourceType+`')`)
}

// TestEveryName installs every type that has a name by it, all at once.
func TestEveryName(t *testing.T) {
	if testing.Short() {
		t.Skip("a sweep of types: make test-all runs it")
	}
	t.Parallel()
	w := start(t, cloudcontrol.Options{Schemas: cloudcontrol.AWS(t, "../..")})
	w.is("0|t", `SELECT count(*) FILTER (WHERE created_table_name NOT IN (SELECT name FROM iasql_type_names) OR record_count <> 0), count(*) > 20
		FROM iasql_install(VARIADIC (SELECT array_agg(name) FROM iasql_type_names))`)
	w.is("0", `SELECT count(*) FROM iasql_type_names WHERE NOT installed OR table_name <> name OR to_regclass(table_name) IS NULL`)
	w.PSQL(`SELECT iasql_sync_now()`)
	w.is("", `SELECT message FROM iasql_problems`)
	w.is("0", `SELECT count(*) FROM iasql_type_names n WHERE NOT EXISTS (SELECT FROM iasql_tables t WHERE t."table" = n.name AND t.module = n.type_name)`)
}

// TestNamesGoAstray: what is misspelt, what a module has, and what has the name already.
func TestNamesGoAstray(t *testing.T) {
	t.Parallel()
	w := start(t, cloudcontrol.Options{Schemas: cloudcontrol.AWS(t, "../..")})
	w.refused("Did you mean 'iam_policy'?", `SELECT * FROM iasql_install('iam_polcy')`)
	w.refused("Did you mean 'lambda_event_source'?", `SELECT * FROM iasql_install('lambda_event_sources')`)
	w.refused("Did you mean 'aws_s3'?", `SELECT * FROM iasql_install('aws_s4')`)
	w.refused("Do you mean AWS::IAM::ManagedPolicy?", `SELECT * FROM iasql_install('AWS::IAM::ManagedPolicies')`)
	w.refused("It is a table of 'aws_s3'.", `SELECT * FROM iasql_install('bucket')`)

	// A module has the type: where its properties are.
	for _, says := range []string{"the objects of AWS::S3::Bucket are managed by the table bucket of module aws_s3",
		"SELECT * FROM iasql_install('aws_s3')",
		"SELECT property, table_name, column_name, reason FROM iasql_properties WHERE type = 'AWS::S3::Bucket'"} {
		w.refused(says, `SELECT * FROM iasql_install('AWS::S3::Bucket')`)
	}
	w.is("bucket|bucket_encryption", `SELECT table_name, column_name FROM iasql_properties WHERE type = 'AWS::S3::Bucket' AND property = 'BucketEncryption'`)
	w.refused("FROM iasql_properties WHERE table_name = 'bucket'", `SELECT * FROM iasql_install('AWS::S3::BucketPolicy')`)

	// Somebody's own table has the name, which is theirs.
	w.Admin(`CREATE TABLE public.schedule (id bigint)`)
	w.refused("rename your own table of that name", `SELECT * FROM iasql_install('schedule')`)
	w.Admin(`DROP TABLE public.schedule`)
	w.is("schedule", `SELECT created_table_name FROM iasql_install('schedule')`)
}

// TestNameOfInstalled: what was installed before it had a name keeps its table, until it is
// uninstalled and installed again.
func TestNameOfInstalled(t *testing.T) {
	t.Parallel()
	w := start(t, cloudcontrol.Options{Schemas: cloudcontrol.AWS(t, "../..")}, "flow_log")
	// As an earlier version has left it.
	w.Admin(`CREATE TABLE earlier AS SELECT * FROM iasql_internal.resource_type`)
	w.PSQL(`SELECT * FROM iasql_uninstall('flow_log')`)
	w.Admin(`INSERT INTO iasql_internal.resource_type (name, version, schema, layout, revision)
		SELECT name, 'earlier', schema, jsonb_set(layout::jsonb, '{table}', '"ec2_flow_log"'), revision FROM earlier`, `DROP TABLE earlier`)
	w.is("ec2_flow_log", `SELECT created_table_name FROM iasql_install('AWS::EC2::FlowLog')`)

	said := w.Refused(`SELECT * FROM iasql_install('flow_log')`, `SELECT 1/0`)
	if !strings.Contains(said, "flow_log is the table ec2_flow_log, as it was installed") {
		t.Errorf("does not say which table it is: %s", said)
	}
	w.is("ec2_flow_log|t", `SELECT table_name, installed FROM iasql_type_names WHERE name = 'flow_log'`)
	w.is("ec2_flow_log|t", `SELECT table_name, installed FROM iasql_types('flow_log')`)
	w.is("AWS::EC2::FlowLog|ec2_flow_log|0", `SELECT * FROM iasql_uninstall('flow_log')`)
	w.is("AWS::EC2::FlowLog|flow_log|0", `SELECT * FROM iasql_install('flow_log')`)
}

// TestHiddenByName: to uninstall a table that hides something takes an administrator, by
// whichever name its type is named.
func TestHiddenByName(t *testing.T) {
	t.Parallel()
	w := start(t, cloudcontrol.Options{Schemas: cloudcontrol.AWS(t, "../..")}, "iam_policy")
	w.Admin(`ALTER TABLE iam_policy ENABLE ROW LEVEL SECURITY`)
	for _, name := range []string{"iam_policy", policyType, "AWS::IAM", "aws::iam::managedpolicy", "AWS::I?M::*"} {
		w.refused("permission denied: grants or row-level security hide something in table iam_policy",
			`SELECT * FROM iasql_uninstall('`+name+`')`)
	}
	w.is("iam_policy", `SELECT "table" FROM iasql_tables WHERE "table" = 'iam_policy'`)
}

// TestPermissionsByName: engine iam-policy takes the names, too.
func TestPermissionsByName(t *testing.T) {
	t.Parallel()
	w := start(t, cloudcontrol.Options{Schemas: cloudcontrol.AWS(t, "../..")})
	run := func(name string) (string, error) {
		cmd := exec.CommandContext(t.Context(), harness.Engine(), "iam-policy", name)
		cmd.Env = append(os.Environ(), "AWS_ENDPOINT_URL="+w.fake.URL, "AWS_ACCESS_KEY_ID=AKIAFAKE",
			"AWS_SECRET_ACCESS_KEY=fake", "AWS_REGION=us-east-1")
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	byName, err := run("iam_policy")
	if err != nil || !strings.Contains(byName, `"iam:CreatePolicyVersion"`) {
		t.Errorf("%v: %s", err, byName)
	}
	if byType, err := run(policyType); err != nil || byType != byName {
		t.Errorf("by its type it is another: %v: %s", err, byType)
	}
	if said, err := run("iam_polcy"); err == nil || !strings.Contains(said, "did you mean iam_policy?") {
		t.Errorf("a name that is misspelt: %v: %s", err, said)
	}
}
