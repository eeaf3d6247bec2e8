package likeness

import (
	"fmt"
	"testing"

	"iasql/internal/test/likeness"
)

// EC2 answers with every rule that a call has made: each record gets the id of its own,
// and none is looked for. One that EC2 refuses holds up none of the others.
func TestRules(t *testing.T) {
	t.Parallel()
	w, l := start(t, func(endpoint string) []likeness.Rule {
		return []likeness.Rule{&likeness.Network{Endpoint: endpoint}}
	}, "aws_security_group")
	w.PSQL(`INSERT INTO security_group (group_name, description) VALUES ('rules', 'many')`)
	settles(t, w, "the group to be made")
	looks := l.Proxy.Count("DescribeSecurityGroupRules")
	w.PSQL(`INSERT INTO security_group_rule (security_group_id, is_egress, ip_protocol, from_port, to_port, cidr_ipv4, description)
		SELECT id, i % 2 = 0, 'tcp', i, i, '10.0.0.0/8', 'port ' || i FROM security_group, generate_series(1, 40) i WHERE group_name = 'rules'`)
	settles(t, w, "the rules to be made")
	made := l.Proxy.Count("AuthorizeSecurityGroupIngress") + l.Proxy.Count("AuthorizeSecurityGroupEgress")
	if made == 0 || made > 14 {
		t.Errorf("%d calls made 40 rules", made)
	}
	if n := l.Proxy.Count("DescribeSecurityGroupRules") - looks; n >= made {
		t.Errorf("%d calls that make rules were followed by %d reads", made, n)
	}
	for _, r := range w.CLI("ec2", "describe-security-group-rules")["SecurityGroupRules"].([]any) {
		rule := r.(map[string]any)
		if rule["Description"] == nil {
			continue
		}
		got := w.PSQL(fmt.Sprintf(`SELECT description FROM security_group_rule WHERE security_group_rule_id = '%s'`,
			rule["SecurityGroupRuleId"]))
		if got != rule["Description"] || got != fmt.Sprintf("port %v", rule["FromPort"]) {
			t.Errorf("the rule of port %v is that of the record with %q", rule["FromPort"], got)
		}
	}
	if got := w.PSQL(`SELECT count(DISTINCT security_group_rule_id) FROM security_group_rule WHERE description IS NOT NULL`); got != "40" {
		t.Errorf("%s rules have ids", got)
	}
}
