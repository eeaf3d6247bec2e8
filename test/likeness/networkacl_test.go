package likeness

import (
	"testing"
	"time"

	"iasql/internal/test/likeness"
)

// Every subnet has a network ACL. While the association of a new one is not to be seen yet,
// which it is remains unknown: it is not NULL, and a user's choice waits (finding B17).
func TestNetworkACLOfNewSubnet(t *testing.T) {
	t.Parallel()
	w, l := start(t, func(string) []likeness.Rule {
		return []likeness.Rule{&likeness.NetworkACLs{Unseen: 6 * time.Second}}
	}, "aws_vpc")
	w.PSQL(`BEGIN`,
		`INSERT INTO vpc (cidr_block) VALUES ('10.1.0.0/16')`,
		`INSERT INTO network_acl (vpc_id, entries) SELECT id, '[{"RuleNumber": 100, "Egress": false, "RuleAction": "allow", "Protocol": "-1", "CidrBlock": "0.0.0.0/0"}]' FROM vpc WHERE cidr_block = '10.1.0.0/16'`,
		`INSERT INTO subnet (vpc_id, cidr_block, network_acl_id) SELECT v.id, '10.1.1.0/24', a.id FROM vpc v JOIN network_acl a ON a.vpc_id = v.id WHERE v.cidr_block = '10.1.0.0/16'`,
		`INSERT INTO subnet (vpc_id, cidr_block) SELECT id, '10.1.2.0/24' FROM vpc WHERE cidr_block = '10.1.0.0/16'`,
		`COMMIT`)
	w.Eventually(90*time.Second, "the subnets to come up", func() bool { return w.PSQL(unsettled) == "" })
	w.Settled()
	// The default one of a new VPC becomes a record when it is listed.
	w.PSQL(`UPDATE iasql_settings SET value = '1 second' WHERE name = 'sync_interval'`)
	w.Becomes(90*time.Second, "10.1.1.0/24 false, 10.1.2.0/24 true",
		`SELECT string_agg(concat_ws(' ', s.cidr_block, a.is_default::text), ', ' ORDER BY s.cidr_block) FROM subnet s LEFT JOIN network_acl a ON a.id = s.network_acl_id WHERE s.cidr_block << '10.1.0.0/16'`)
	if got := w.PSQL(`SELECT count(*) FROM iasql_operations WHERE table_name = 'subnet' AND result = 'failed'`); got != "0" {
		t.Errorf("%s calls failed: %s", got,
			w.PSQL(`SELECT action, error FROM iasql_operations WHERE result = 'failed'`))
	}
	if got := w.PSQL(`SELECT count(*) FROM iasql_audit_log WHERE table_name = 'subnet' AND change_type = 'UPDATE' AND change -> 'change' -> 'network_acl_id' = 'null'`); got != "0" {
		t.Errorf("%s changes of the list to NULL", got)
	}
	if n := l.Proxy.Count("CreateSubnet"); n != 2 {
		t.Errorf("%d creations of subnets", n)
	}
}
