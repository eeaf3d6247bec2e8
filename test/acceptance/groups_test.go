package acceptance

import (
	"fmt"
	"strings"
	"testing"

	"iasql/internal/test/harness"
)

// The security groups of functions and services can be made with them, and only
// where there is a VPC.
func TestSecurityGroupsOfFunctionsAndServices(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, []string{"us-east-1"}, "aws_lambda", "aws_ecs_fargate")
	w.PSQL(`INSERT INTO iam_role (role_name, assume_role_policy_document) VALUES ('runner', '{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"}]}')`,
		`INSERT INTO cluster (cluster_name) VALUES ('home')`,
		`INSERT INTO task_definition (family, cpu, memory, container_definitions) VALUES ('app', 256, 512, '[{"name": "web", "image": "nginx"}]')`,
		`INSERT INTO lambda_function (name, role_name, runtime, handler, zip_b64) VALUES ('worker', 'runner', 'python3.12', 'index.handler', 'UEsFBgAAAAAAAAAAAAAAAAAAAAAAAA==')`,
		`INSERT INTO service (name, cluster_id, task_definition_id, desired_count, launch_type) SELECT 'worker', c.id, d.id, 0, 'EC2' FROM cluster c, task_definition d`)
	w.Settled()

	for table, c := range map[string]struct{ column, groups string }{
		"lambda_function": {"lambda_function_id", "lambda_function_security_groups"},
		"service":         {"service_id", "service_security_groups"},
	} {
		insert := fmt.Sprintf(`INSERT INTO %s (%s, security_group_id) SELECT o.id, g.id FROM %s o, security_group g WHERE o.name = 'worker' AND g.group_name = 'web'`, c.groups, c.column, table)
		w.PSQL(`INSERT INTO security_group (group_name, description, vpc_id) SELECT 'web', 'Web', id FROM vpc WHERE is_default`)
		if got := w.Refused(insert); !strings.Contains(got,
			table+" worker (id 1) is in no VPC and cannot have security groups") ||
			!strings.Contains(got, "HINT:  Set its subnets, in the same transaction") {
			t.Errorf("refused with %s", got)
		}
		// The order within the transaction does not matter.
		w.PSQL(`BEGIN`, insert, fmt.Sprintf(
			`UPDATE %s SET subnets = ARRAY(SELECT subnet_id FROM subnet WHERE default_for_az) WHERE name = 'worker'`,
			table), `COMMIT`,
			`SELECT iasql_wait_for_all(30)`, `SELECT iasql_sync_now()`)
		groups := fmt.Sprintf(`SELECT string_agg(g.group_name, ' ') FROM %s m JOIN security_group g ON g.id = m.security_group_id`, c.groups)
		if got := w.PSQL(groups); got != "web" {
			t.Errorf("%s has the groups %q", table, got)
		}
		// Away with all of it.
		before := w.PSQL(`SELECT max(id) FROM iasql_operations`)
		w.PSQL(`BEGIN`, fmt.Sprintf(`DELETE FROM %s WHERE name = 'worker'`, table),
			`DELETE FROM security_group WHERE group_name = 'web'`, `COMMIT`, `SELECT iasql_wait_for_all(30)`)
		if got := w.PSQL(groups); got != "" {
			t.Errorf("%s has gone, and the groups %q have not", table, got)
		}
		// Its groups go along, without a call that takes them out.
		made := w.PSQL(`SELECT string_agg(action, ' ' ORDER BY id) FROM iasql_operations WHERE id > ` + before)
		if !strings.Contains(made, "Delete") || strings.Contains(made, "Update") {
			t.Errorf("%s was deleted by the calls %s", table, made)
		}
	}
}
