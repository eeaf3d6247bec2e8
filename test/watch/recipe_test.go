package watch

import (
	"os/exec"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"iasql/internal/test/harness"
	"iasql/internal/test/likeness"
)

// recorded is a world before the likeness of AWS, which records calls and sends their events
// to where the rules in it say.
func recorded(t *testing.T, trail *likeness.Trail, modules ...string) *harness.World {
	t.Helper()
	w := harness.NewWorld(t)
	l := likeness.Start(t, w.AWS.Endpoint)
	l.Record(trail)
	w.Endpoint, w.AWS.Endpoint = l.URL, l.URL
	w.Serve()
	w.Install([]string{"us-east-1"}, modules...)
	return w
}

// example runs a script as a user does.
func example(w *harness.World, file string) {
	w.Helper()
	if out, err := exec.Command("psql", "-X", "-v", "ON_ERROR_STOP=1", "--echo-queries", "-f", "../../examples/"+file, w.UserURL).CombinedOutput(); err != nil {
		w.Fatalf("%v:\n%s", err, out)
	}
}

// The recipe makes a watch that works: what the aws command changes is in the tables within
// seconds of its event, with who it was and by what tool.
func TestRecipe(t *testing.T) {
	t.Parallel()
	trail := &likeness.Trail{Delay: 200 * time.Millisecond, Jitter: 300 * time.Millisecond, Double: 0.2}
	w := recorded(t, trail, "aws_sqs", "aws_eventbridge", "aws_vpc", "aws_security_group", "aws_kms")
	example(w, "watch.sql")
	w.PSQL(`UPDATE iasql_settings SET value = '1 day' WHERE name = 'sync_interval'`)
	w.PSQL(`SELECT iasql_sync_now()`)
	w.Settled()
	w.Eventually(30*time.Second, "the queue is read", func() bool { return w.PSQL(`SELECT last_answer IS NOT NULL FROM iasql_event_sources`) == "t" })

	// name has the query that tells of the change, and the call that makes it.
	var took []time.Duration
	see := func(query string, args ...string) {
		t.Helper()
		w.CLI(args...)
		done := time.Now()
		w.Eventually(30*time.Second, query, func() bool { return w.PSQL(query) == "t" })
		took = append(took, time.Since(done))
	}
	group := w.CLI("ec2", "create-security-group", "--group-name", "web", "--description", "web")["GroupId"].(string)
	see(`SELECT count(*) = 1 FROM security_group WHERE group_id = '`+group+`'`, "ec2", "create-tags", "--resources", group, "--tags", "Key=a,Value=b")
	see(`SELECT count(*) = 1 FROM security_group_rule WHERE from_port = 22`, "ec2", "authorize-security-group-ingress", "--group-id", group, "--protocol", "tcp", "--port", "22", "--cidr", "10.0.0.0/8")
	see(`SELECT tags ->> 'c' = 'd' FROM security_group WHERE group_id = '`+group+`'`, "ec2", "create-tags", "--resources", group, "--tags", "Key=c,Value=d")
	see(`SELECT count(*) = 1 FROM queue WHERE name = 'theirs'`, "sqs", "create-queue", "--queue-name", "theirs")
	see(`SELECT count(*) = 1 FROM kms_key WHERE description = 'theirs'`, "kms", "create-key", "--description", "theirs", "--key-usage", "ENCRYPT_DECRYPT")
	see(`SELECT count(*) = 0 FROM security_group_rule WHERE from_port = 22`, "ec2", "revoke-security-group-ingress", "--group-id", group, "--protocol", "tcp", "--port", "22", "--cidr", "10.0.0.0/8")
	sort.Slice(took, func(i, j int) bool { return took[i] < took[j] })
	t.Logf("from the call's answer to the table: %v", took)

	for _, table := range []string{"security_group", "security_group_rule", "queue", "kms_key"} {
		who := strings.Fields(w.PSQL(`SELECT DISTINCT coalesce(actor, '') || ' ' || coalesce(source_address, '') || ' ' || coalesce(user_agent LIKE 'aws-cli/%', false)
			FROM iasql_audit_log WHERE origin = 'engine' AND table_name = '` + table + `' AND event_id IS NOT NULL`))
		if len(who) < 3 || !strings.Contains(who[0], w.AWS.ID) || who[1] != "127.0.0.1" || !slices.Contains(who, "true") {
			t.Errorf("the changes of %s were made by %q", table, who)
		}
	}
	for _, why := range trail.Failures() {
		t.Error(why)
	}
}
