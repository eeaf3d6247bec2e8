package economy

import (
	"strings"
	"testing"
	"time"

	"iasql/internal/test/faultproxy"
	"iasql/internal/test/harness"
)

// together starts an engine whose calls are counted while users write many rows at once.
func together(t *testing.T, modules ...string) (*harness.World, *faultproxy.Proxy) {
	t.Helper()
	w, proxy := world(t)
	w.Serve()
	w.Admin(`UPDATE iasql_settings SET value = '1 hour' WHERE name = 'sync_interval'`,
		`UPDATE iasql_settings SET value = '1' WHERE name = 'max_delete_ratio'`)
	w.Install([]string{"us-east-1"}, modules...)
	return w, proxy
}

// counted returns how many calls a statement costs until it is done, of those whose action
// has one of these in its name.
func counted(t *testing.T, w *harness.World, proxy *faultproxy.Proxy, statement string, of ...string) map[string]int {
	t.Helper()
	before := proxy.Counts()
	w.PSQL(statement)
	w.Eventually(90*time.Second, statement+" to be done", func() bool {
		return w.PSQL(`SELECT count(*) FROM iasql_audit_log WHERE NOT settled`) == "0"
	})
	made := map[string]int{}
	for action, n := range proxy.Counts() {
		for _, part := range of {
			if strings.Contains(action, part) {
				made[part] += n - before[action]
			}
		}
	}
	t.Logf("%v for %s", made, statement)
	return made
}

// operations checks that every record has its own entries in the intent log.
func operations(t *testing.T, w *harness.World, table, want string) {
	t.Helper()
	if got := w.PSQL(`SELECT count(*) FROM iasql_operations WHERE table_name = '` + table + `' AND result = 'ok'`); got != want {
		t.Errorf("%s operations of %s, not %s", got, table, want)
	}
}

// Records of a zone that are written at once go to Route 53, which takes five calls a second
// for an account, by few calls. None is read for itself before it is deleted.
func TestRecordsTogether(t *testing.T) {
	t.Parallel()
	w, proxy := together(t, "aws_route53")
	w.PSQL(`INSERT INTO hosted_zone (domain_name) VALUES ('economy.test')`)
	w.Settled()
	for _, statement := range []string{
		`INSERT INTO resource_record_set (parent_hosted_zone_id, name, record_type, record, ttl) SELECT id, 'n' || i || '.economy.test', 'A', '192.0.2.' || i, 300 FROM hosted_zone, generate_series(1, 60) i`,
		`UPDATE resource_record_set SET ttl = 60 WHERE record_type = 'A'`,
		`DELETE FROM resource_record_set WHERE record_type = 'A'`,
	} {
		made := counted(t, w, proxy, statement, "POST /2013-04-01/hostedzone/", "GET /2013-04-01/hostedzone/")
		if n := made["POST /2013-04-01/hostedzone/"]; n == 0 || n > 10 {
			t.Errorf("%d calls for 60 records: %s", n, statement)
		}
		if n := made["GET /2013-04-01/hostedzone/"]; n > 20 {
			t.Errorf("%d reads for 60 records: %s", n, statement)
		}
	}
	operations(t, w, "resource_record_set", "180")
}

// Rules of a group that are written at once go to EC2 by few calls, and so do the tags of
// objects that get the same. (EC2's bucket for such calls is refilled by five a second:
// "Request throttling for the Amazon EC2 API".)
func TestRulesAndTagsTogether(t *testing.T) {
	t.Parallel()
	w, proxy := together(t, "aws_security_group")
	w.PSQL(`INSERT INTO security_group (group_name, description) VALUES ('economy', 'many rules')`)
	w.Settled()
	const rules = ` security_group_rule WHERE from_port BETWEEN 1001 AND 1060`
	for _, c := range []struct{ statement, call string }{
		{`INSERT INTO security_group_rule (security_group_id, is_egress, ip_protocol, from_port, to_port, cidr_ipv4)
			SELECT id, i % 2 = 0, 'tcp', 1000 + i, 1000 + i, '10.0.0.0/8' FROM security_group, generate_series(1, 60) i WHERE group_name = 'economy'`, "AuthorizeSecurityGroup"},
		{`UPDATE security_group_rule SET tags = '{"team": "web", "env": "test"}' WHERE from_port BETWEEN 1001 AND 1060`,
			"CreateTags"},
		{`UPDATE security_group_rule SET tags = tags - 'env' WHERE from_port BETWEEN 1001 AND 1060`, "DeleteTags"},
		{`DELETE FROM` + rules, "RevokeSecurityGroup"},
	} {
		if n := counted(t, w, proxy, c.statement, c.call)[c.call]; n == 0 || n > 14 {
			t.Errorf("%d calls for 60 rules: %s", n, c.statement)
		}
	}
	operations(t, w, "security_group_rule", "240")
	for _, rule := range w.CLI("ec2", "describe-security-group-rules")["SecurityGroupRules"].([]any) {
		if port, _ := rule.(map[string]any)["FromPort"].(float64); port > 1000 {
			t.Errorf("there is still the rule %v", rule)
		}
	}
}
