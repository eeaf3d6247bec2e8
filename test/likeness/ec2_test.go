package likeness

import (
	"testing"
	"time"

	"iasql/internal/test/likeness"
)

// An instance that takes its time gets its role, its volume and another type, and the
// rows say so; it goes with what it was made with, by one transaction.
func TestInstance(t *testing.T) {
	t.Parallel()
	w, l := start(t, func(endpoint string) []likeness.Rule {
		return []likeness.Rule{
			&likeness.Roles{Propagation: 2 * time.Second},
			&likeness.Visibility{Hidden: time.Second},
			&likeness.Dependencies{Endpoint: endpoint},
			&likeness.Instances{Pending: 2 * time.Second, Stopping: 2 * time.Second, ShuttingDown: 3 * time.Second,
				Endpoint: endpoint},
		}
	}, "aws_ec2", "aws_iam")
	w.PSQL(`BEGIN`,
		`INSERT INTO iam_role (role_name, assume_role_policy_document) VALUES ('server', '{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": {"Service": "ec2.amazonaws.com"}, "Action": "sts:AssumeRole"}]}')`,
		`INSERT INTO security_group (group_name, description) VALUES ('server', 'Servers')`,
		`INSERT INTO instance (ami, instance_type, role_name, subnet_id) SELECT 'resolve:ssm:/aws/service/ami-amazon-linux-latest/amzn2-ami-hvm-x86_64-gp2', 't3.micro', 'server', id
			FROM subnet WHERE default_for_az AND availability_zone = 'us-east-1a'`,
		`INSERT INTO instance_security_groups (instance_id, security_group_id) SELECT i.id, g.id FROM instance i, security_group g WHERE g.group_name = 'server'`,
		`INSERT INTO general_purpose_volume (availability_zone, size, tags) VALUES ('us-east-1a', 20, '{"Name": "data"}')`,
		`INSERT INTO instance_block_device_mapping (instance_id, volume_id, device_name) SELECT i.id, v.id, '/dev/sdf' FROM instance i, general_purpose_volume v WHERE v.tags ->> 'Name' = 'data'`,
		`COMMIT`)
	settles(t, w, "the instance to come up")
	w.PSQL(`UPDATE instance SET instance_type = 't3.small'`)
	settles(t, w, "the instance to change")
	w.PSQL(`SELECT iasql_sync_now()`)
	settles(t, w, "the rows to follow")
	if got := w.PSQL(`SELECT instance_type, state, role_name, (SELECT count(*) FROM instance_block_device_mapping WHERE device_name = '/dev/sdf') FROM instance`); got != "t3.small|running|server|1" {
		t.Errorf("the instance is %s", got)
	}
	w.Admin(`UPDATE iasql_settings SET value = '1' WHERE name = 'max_delete_ratio'`)
	w.PSQL(`BEGIN`, `DELETE FROM instance`,
		`DELETE FROM security_group WHERE group_name = 'server'`, `DELETE FROM iam_role WHERE role_name = 'server'`,
		`COMMIT`)
	settles(t, w, "the instance to go")
	if got := w.PSQL(`SELECT (SELECT count(*) FROM instance) + (SELECT count(*) FROM security_group WHERE group_name = 'server')`); got != "0" {
		t.Errorf("%s records are left", got)
	}
	if runs, ends := l.Proxy.Count("RunInstances"),
		w.PSQL(`SELECT count(*) FROM iasql_operations WHERE action = 'RunInstances' AND result = 'ok'`); ends != "1" {
		t.Errorf("%d calls, of which %s made an instance", runs, ends)
	}
	if got := w.PSQL(unsettled); got != "" {
		t.Errorf("left: %s", got)
	}
}
