package protection

import (
	"fmt"
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
	w := harness.Start(t, both, "aws_sqs", "aws_vpc", "aws_security_group", "aws_s3", "aws_ec2")
	user := w.Login("writer", "iasql_user")
	// Variants of what a recipe is to refuse, and to allow.
	rule := `INSERT INTO security_group_rule (security_group_id, is_egress, ip_protocol, %s) SELECT id, false, %s FROM security_group WHERE group_name = 'default' AND region = default_aws_region() LIMIT 1`
	bucket := `INSERT INTO bucket (name, policy) VALUES ('variant', '{"Version": "2012-10-17", "Statement": %s}')`
	variants := map[string]map[string]bool{ // whether it is refused
		"open": {
			fmt.Sprintf(rule, "cidr_ipv4", `'-1', '0.0.0.0/0'`):                               true,
			fmt.Sprintf(rule, "from_port, to_port, cidr_ipv4", `'tcp', 22, 22, '0.0.0.0/1'`):  true,
			fmt.Sprintf(rule, "from_port, to_port, cidr_ipv6", `'tcp', 22, 22, '::/0'`):       true,
			fmt.Sprintf(rule, "from_port, to_port, cidr_ipv4", `'tcp', 80, 443, '0.0.0.0/0'`): true,
			fmt.Sprintf(rule, "from_port, to_port, cidr_ipv6", `'tcp', 443, 443, '::/0'`):     false,
			fmt.Sprintf(rule, "from_port, to_port, cidr_ipv4", `'tcp', 22, 22, '10.0.0.0/8'`): false,
			fmt.Sprintf(rule, "cidr_ipv6", `'-1', 'fd00::/8'`):                                false,
			fmt.Sprintf(rule, "source_security_group", `'-1', id`):                            false,
		},
		"public": {
			fmt.Sprintf(bucket, `{"Effect": "Allow", "Principal": "*", "Action": "s3:*", "Resource": "*"}`):                                          true,
			fmt.Sprintf(bucket, `[{"Effect": "Deny", "Principal": "*"}, {"Effect": "Allow", "Principal": {"AWS": ["123456789012", "*"]}}]`):          true,
			fmt.Sprintf(bucket, `[{"Effect": "Deny", "Principal": "*", "Action": "s3:*", "Resource": "*"}]`):                                         false,
			fmt.Sprintf(bucket, `[{"Effect": "Allow", "Principal": {"AWS": "123456789012"}, "Action": "s3:*", "Resource": "arn:aws:s3:::variant"}]`): false,
			`INSERT INTO bucket (name) VALUES ('variant')`:                                                                                           false,
		},
	}
	// Each recipe by itself, in a transaction that is rolled back.
	var recipe, name string
	login := strings.Split(strings.TrimPrefix(user, "postgres://"), ":")[0]
	try := func(statements string) (string, error) {
		return w.TryPSQL(w.AdminURL, "BEGIN", recipe, `SET LOCAL ROLE "`+login+`"`, statements, "ROLLBACK")
	}
	recipes, refusals, allowances := 0, 0, 0
	for _, block := range policyBlock.FindAllStringSubmatch(string(text), -1) {
		kind, about, statements := block[1], block[2], block[3]
		if kind == "recipe" {
			recipe, name = statements, about
			recipes++
			for statement, refused := range variants[name] {
				if out, err := try(statement); (err != nil) != refused || refused &&
					!strings.Contains(out+err.Error(), "violates check constraint") {
					t.Errorf("%s: %s: %s %v", name, statement, out, err)
				}
			}
			continue
		}
		out, err := try(statements)
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
	if recipes != 12 || refusals != 13 || allowances != 12 {
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
	w.CLI("sqs", "set-queue-attributes", "--queue-url", w.PSQL(`SELECT url FROM queue`), "--attributes",
		"DelaySeconds=100")
	w.PSQL(`UPDATE iasql_settings SET value = '0 seconds' WHERE name = 'consistency_window'`)
	_, _ = w.TryPSQL(w.UserURL, `SELECT iasql_sync_now()`) // it says so, too
	w.Eventually(minute, "the record to say which constraint refuses it", func() bool {
		return strings.Contains(w.PSQL(`SELECT message FROM iasql_status WHERE table_name = 'queue' AND review`),
			"quick_queues")
	})
	if got := w.PSQL(`SELECT delay_seconds FROM queue`); got != "0" {
		t.Errorf("the record says %s", got)
	}
}
