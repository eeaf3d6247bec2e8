package acceptance

import (
	"testing"
	"time"

	"iasql/internal/test/faultproxy"
	"iasql/internal/test/harness"
)

// A record that is deleted while its object is being created takes the object
// along.
func TestDeletedWhileBeingCreated(t *testing.T) {
	t.Parallel()
	w, proxy := harness.StartBehindProxy(t, []string{"us-east-1"}, "aws_security_group")
	w.Admin(`UPDATE iasql_settings SET value = '3 seconds' WHERE name = 'consistency_window'`)
	effected, release := make(chan struct{}), make(chan struct{})
	proxy.Set(func(c faultproxy.Call) faultproxy.Fault {
		if c.Action == "CreateSecurityGroup" {
			return faultproxy.Fault{After: func() { close(effected); <-release }}
		}
		return faultproxy.Fault{}
	})
	w.PSQL(`INSERT INTO security_group (group_name, description, vpc_id) SELECT 'short-lived', 'x', id FROM vpc WHERE is_default`)
	select {
	case <-effected:
	case <-time.After(10 * time.Second):
		t.Fatal("CreateSecurityGroup was not called")
	}
	w.PSQL(`DELETE FROM security_group WHERE group_name = 'short-lived'`)
	close(release)
	w.Settled()
	w.PSQL(`SELECT iasql_sync_now()`)
	w.Settled()
	if got := w.PSQL(`SELECT count(*) FROM security_group WHERE group_name = 'short-lived'`); got != "0" {
		t.Errorf("it came back: %s\n%s", got,
			w.PSQL(`SELECT id, kind, action, key, result, started, ended FROM iasql_operations`))
	}
	if groups := w.CLI("ec2", "describe-security-groups", "--filters",
		"Name=group-name,Values=short-lived")["SecurityGroups"].([]any); len(groups) != 0 {
		t.Errorf("the cloud has %v", groups)
	}
}
