package protection

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"iasql/internal/test/harness"
)

var policyBlock = regexp.MustCompile("(?s)```sql (recipe|refused|allowed)=?([^\n]*)\n(.*?)```")

// The recipes of docs/policies.md refuse and allow what they say.
func TestPolicies(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/policies.md")
	if err != nil {
		t.Fatal(err)
	}
	w := harness.Start(t, both, "aws_sqs", "aws_vpc", "aws_security_group", "aws_s3")
	user := w.Login("writer", "iasql_user")
	// Each recipe by itself, in a transaction that is rolled back.
	var recipe, name string
	recipes, refusals, allowances := 0, 0, 0
	for _, block := range policyBlock.FindAllStringSubmatch(string(text), -1) {
		kind, about, statements := block[1], block[2], block[3]
		if kind == "recipe" {
			recipe, name = statements, about
			recipes++
			continue
		}
		login := strings.Split(strings.TrimPrefix(user, "postgres://"), ":")[0]
		out, err := w.TryPSQL(w.AdminURL, "BEGIN", recipe, `SET LOCAL ROLE "`+login+`"`, statements, "ROLLBACK")
		switch kind {
		case "refused":
			refusals++
			if err == nil || !strings.Contains(out+err.Error(), about) {
				t.Errorf("%s: not refused for %s: %s %v", name, about, out, err)
			}
		case "allowed":
			allowances++
			if err != nil {
				t.Errorf("%s: not allowed: %s %v", name, out, err)
			}
		}
	}
	if recipes != 10 || refusals != 10 || allowances != 10 {
		t.Errorf("%d recipes, %d refusals, %d allowances", recipes, refusals, allowances)
	}
}

// What the cloud has breaks a policy: the record says so.
func TestPolicyAndDrift(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, east, "aws_sqs")
	w.PSQL(`INSERT INTO queue (name) VALUES ('q')`)
	w.Settled()
	w.Admin(`ALTER TABLE queue ADD CONSTRAINT quick_queues CHECK (delay_seconds < 10)`)
	w.CLI("sqs", "set-queue-attributes", "--queue-url", w.PSQL(`SELECT url FROM queue`), "--attributes", "DelaySeconds=100")
	w.PSQL(`UPDATE iasql_settings SET value = '0 seconds' WHERE name = 'consistency_window'`)
	_, _ = w.TryPSQL(w.UserURL, `SELECT iasql_sync_now()`) // it says so, too
	w.Eventually(minute, "the record to say which constraint refuses it", func() bool {
		return strings.Contains(w.PSQL(`SELECT message FROM iasql_status WHERE table_name = 'queue' AND review`), "quick_queues")
	})
	if got := w.PSQL(`SELECT delay_seconds FROM queue`); got != "0" {
		t.Errorf("the record says %s", got)
	}
}
