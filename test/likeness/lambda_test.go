package likeness

import (
	"testing"
	"time"

	"iasql/internal/test/likeness"
)

// zip is a zip file with one line of Python.
const zip = "UEsDBBQAAAAAAAAAIVy0CHBpLgAAAC4AAAAIAAAAaW5kZXgucHlkZWYgaGFuZGxlcihldmVudCwgY29udGV4dCk6CiAgICByZXR1cm4gZXZlbnQKUEsBAhQDFAAAAAAAAAAhXLQIcGkuAAAALgAAAAgAAAAAAAAAAAAAAKQBAAAAAGluZGV4LnB5UEsFBgAAAAABAAEANgAAAFQAAAAAAA=="

// A function in a VPC comes up from one transaction, with a queue, the role it runs as
// and its security group, is changed, and goes by another transaction, although Lambda's
// network interfaces stay longer (finding B13).
func TestFunction(t *testing.T) {
	t.Parallel()
	landscape{
		regions: east,
		modules: []string{"aws_lambda", "aws_iam", "aws_sqs"},
		up: []string{
			`INSERT INTO queue (name, visibility_timeout) VALUES ('orders', 60)`,
			`INSERT INTO subnet (vpc_id, cidr_block, availability_zone) SELECT id, '172.31.128.0/24', 'us-east-1a' FROM vpc WHERE is_default`,
			`INSERT INTO iam_role (role_name, assume_role_policy_document, attached_policies_arns, inline_policies) VALUES ('orders',
				'{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"}]}',
				'{arn:aws:iam::aws:policy/service-role/AWSLambdaVPCAccessExecutionRole}',
				'{"queue": {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": ["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"], "Resource": "*"}]}}')`,
			`INSERT INTO security_group (group_name, description, vpc_id) SELECT 'orders', 'What the function reaches', id FROM vpc WHERE is_default`,
			`INSERT INTO lambda_function (name, role_name, runtime, handler, subnets, environment, zip_b64)
				SELECT 'orders', 'orders', 'python3.12', 'index.handler', array_agg(subnet_id), '{"QUEUE": "orders"}', '` + zip + `' FROM subnet WHERE default_for_az`,
			`INSERT INTO lambda_function_security_groups (lambda_function_id, security_group_id) SELECT f.id, g.id FROM lambda_function f, security_group g WHERE g.group_name = 'orders'`,
		},
		there: `SELECT CASE WHEN (SELECT state FROM lambda_function) = 'Active' AND (SELECT count(*) FROM lambda_function_security_groups) = 1 AND (SELECT url FROM queue) IS NOT NULL
			THEN 'yes' ELSE concat_ws(' ', (SELECT state FROM lambda_function), (SELECT url FROM queue)) END`,
		down: []string{
			`DELETE FROM lambda_function`, `DELETE FROM security_group WHERE is_default IS NOT TRUE`,
			`DELETE FROM iam_role WHERE role_name = 'orders'`, `DELETE FROM queue`,
			`DELETE FROM subnet WHERE NOT default_for_az`,
		},
		gone: `SELECT (SELECT count(*) FROM lambda_function) + (SELECT count(*) FROM security_group WHERE is_default IS NOT TRUE) + (SELECT count(*) FROM iam_role WHERE role_name = 'orders')
			+ (SELECT count(*) FROM queue) + (SELECT count(*) FROM subnet WHERE NOT default_for_az)`,
	}.try(t)
}

// Changes of a function follow each other, since Lambda takes one at a time: of its
// configuration, its groups and its code, in one transaction (finding B13).
func TestChangedFunction(t *testing.T) {
	t.Parallel()
	w, _ := start(t, func(string) []likeness.Rule {
		return []likeness.Rule{&likeness.Functions{Pending: 2 * time.Second, Updating: time.Second,
			Lingering: time.Second}}
	}, "aws_lambda", "aws_iam")
	w.PSQL(`INSERT INTO iam_role (role_name, assume_role_policy_document) VALUES ('f', '{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"}]}')`,
		`INSERT INTO lambda_function (name, role_name, runtime, handler, subnets, zip_b64) SELECT 'f', 'f', 'python3.12', 'index.handler', array_agg(subnet_id), '`+zip+`' FROM subnet WHERE default_for_az`)
	w.Becomes(10*time.Second, "Creating|Pending",
		`SELECT s.state || '|' || f.state FROM iasql_status s JOIN lambda_function f ON f.id = s.record_id WHERE s.table_name = 'lambda_function'`)
	w.PSQL(`BEGIN`,
		`UPDATE lambda_function SET memory_size = 256, environment = '{"STAGE": "test"}', zip_b64 = '`+zip+`'`,
		`INSERT INTO security_group (group_name, description, vpc_id) SELECT 'f', 'What the function reaches', id FROM vpc WHERE is_default`,
		`INSERT INTO lambda_function_security_groups (lambda_function_id, security_group_id) SELECT f.id, g.id FROM lambda_function f, security_group g WHERE g.group_name = 'f'`,
		`COMMIT`)
	settles(t, w, "the function to change")
	got := w.CLI("lambda", "get-function-configuration", "--function-name", "f", "--query",
		"{memory: MemorySize, stage: Environment.Variables.STAGE, groups: length(VpcConfig.SecurityGroupIds)}")
	if got["memory"] != 256.0 || got["stage"] != "test" || got["groups"] != 1.0 {
		t.Errorf("the function is %v", got)
	}
	if refused := w.PSQL(`SELECT count(*) > 0 FROM iasql_operations WHERE table_name LIKE 'lambda%' AND result = 'failed'`); refused != "t" {
		t.Error("no change was refused")
	}
}
