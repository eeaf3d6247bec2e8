package acceptance

import (
	"strings"
	"testing"

	"iasql/test/harness"
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
		t.Errorf("not present: %s", w.PSQL(`SELECT table_name, state, message FROM iasql_status WHERE state <> 'Present'`))
	}

	w.PSQL(`BEGIN`,
		`UPDATE iasql_settings SET value = '1' WHERE name = 'max_delete_ratio'`,
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
