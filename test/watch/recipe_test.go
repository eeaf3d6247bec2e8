package watch

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"iasql/internal/test/harness"
	"iasql/internal/test/likeness"
	"iasql/internal/test/testaws"
)

// likened is a world before the likeness of AWS, which records calls and sends their events
// to where the rules in it say.
func likened(t *testing.T, trail *likeness.Trail, modules ...string) *harness.World {
	t.Helper()
	return likenedIn(t, []string{"us-east-1"}, trail, modules...)
}

func likenedIn(t *testing.T, regions []string, trail *likeness.Trail, modules ...string) *harness.World {
	t.Helper()
	w := harness.NewWorld(t)
	l := likeness.Start(t, w.AWS.Endpoint)
	l.Record(trail)
	w.Endpoint, w.AWS.Endpoint = l.URL, l.URL
	w.Serve()
	w.Install(regions, modules...)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("sent: %+v, with the failures %q", trail.Counts(), trail.Failures())
		}
	})
	return w
}

// example runs a script as a user does.
func example(w *harness.World, file string) {
	w.Helper()
	if out, err := exec.Command("psql", "-X", "-v", "ON_ERROR_STOP=1", "--echo-queries", "-f", "../../examples/"+file,
		w.UserURL).CombinedOutput(); err != nil {
		w.Fatalf("%v:\n%s", err, out)
	}
	time.Sleep(likeness.RulesTakeEffect)
}

// recipe runs a recipe of a page of the documentation, as a user does.
func recipe(w *harness.World, page, name string) {
	w.Helper()
	text, err := os.ReadFile("../../docs/" + page)
	if err != nil {
		w.Fatal(err)
	}
	block := regexp.MustCompile("(?s)```sql recipe=" + name + "\n(.*?)```").FindSubmatch(text)
	if block == nil {
		w.Fatalf("%s has no recipe %s", page, name)
	}
	cmd := exec.Command("psql", "-X", "-v", "ON_ERROR_STOP=1", "--echo-queries", w.UserURL)
	cmd.Stdin = bytes.NewReader(block[1])
	if out, err := cmd.CombinedOutput(); err != nil {
		w.Fatalf("%s: recipe %s: %v:\n%s", page, name, err, out)
	}
	time.Sleep(likeness.RulesTakeEffect)
}

// The recipe makes a watch that works: what the aws command changes is in the tables within
// seconds of its event, with who it was and by what tool.
func TestRecipe(t *testing.T) {
	t.Parallel()
	trail := &likeness.Trail{Delay: 200 * time.Millisecond, Jitter: 300 * time.Millisecond, Double: 0.2}
	w := likened(t, trail, "aws_sqs", "aws_eventbridge", "aws_vpc", "aws_security_group", "aws_kms")
	example(w, "watch.sql")
	w.PSQL(`UPDATE iasql_settings SET value = '1 day' WHERE name = 'sync_interval'`)
	w.PSQL(`SELECT iasql_sync_now()`)
	w.Settled()
	w.Eventually(30*time.Second, "the queue is read", func() bool {
		return w.PSQL(`SELECT last_answer IS NOT NULL FROM iasql_event_sources`) == "t"
	})

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
	see(`SELECT count(*) = 1 FROM security_group WHERE group_id = '`+group+`'`, "ec2", "create-tags", "--resources",
		group, "--tags", "Key=a,Value=b")
	see(`SELECT count(*) = 1 FROM security_group_rule WHERE from_port = 22`, "ec2", "authorize-security-group-ingress",
		"--group-id", group, "--protocol", "tcp", "--port", "22", "--cidr", "10.0.0.0/8")
	see(`SELECT tags ->> 'c' = 'd' FROM security_group WHERE group_id = '`+group+`'`, "ec2", "create-tags",
		"--resources", group, "--tags", "Key=c,Value=d")
	see(`SELECT count(*) = 1 FROM queue WHERE name = 'theirs'`, "sqs", "create-queue", "--queue-name", "theirs")
	see(`SELECT count(*) = 1 FROM kms_key WHERE description = 'theirs'`, "kms", "create-key", "--description", "theirs",
		"--key-usage", "ENCRYPT_DECRYPT")
	see(`SELECT count(*) = 0 FROM security_group_rule WHERE from_port = 22`, "ec2", "revoke-security-group-ingress",
		"--group-id", group, "--protocol", "tcp", "--port", "22", "--cidr", "10.0.0.0/8")
	sort.Slice(took, func(i, j int) bool { return took[i] < took[j] })
	t.Logf("from the call's answer to the table: %v", took)

	for _, table := range []string{"security_group", "security_group_rule", "queue", "kms_key"} {
		who := strings.Fields(w.PSQL(`SELECT DISTINCT coalesce(actor, '') || ' ' || coalesce(source_address, '') || ' ' || coalesce(user_agent LIKE 'aws-cli/%', false)
			FROM iasql_audit_log WHERE origin = 'engine' AND table_name = '` + table + `' AND event_id IS NOT NULL`))
		if len(who) < 3 || !strings.Contains(who[0], w.AWS.ID) || who[1] != "127.0.0.1" ||
			!slices.Contains(who, "true") {
			t.Errorf("the changes of %s were made by %q", table, who)
		}
	}
	for _, why := range trail.Failures() {
		t.Error(why)
	}
}

// otherAccount has what happens in another account of the organization come to the queue.
func otherAccount(w *harness.World) {
	w.Helper()
	web := testaws.NewAccount(w.T)
	web.Endpoint = w.AWS.Endpoint
	w.PSQL(fmt.Sprintf(`INSERT INTO aws_account (name, access_key_id, secret_access_key) VALUES ('web', '%s', '%s')`,
		web.AccessKeyID, web.SecretAccessKey))
	w.Eventually(30*time.Second, "the account's regions are known", func() bool {
		return w.PSQL(`SELECT count(*) > 1 FROM aws_regions WHERE account = 'web'`) == "t"
	})
	w.PSQL(`UPDATE aws_regions SET is_enabled = region IN ('us-east-1', 'eu-west-1') WHERE account = 'web'`)
	w.PSQL(`SELECT iasql_sync_now()`)
	recipe(w, "watch.md", "member")
	web.CLI(w.T, "ec2", "create-vpc", "--cidr-block", "10.78.0.0/16", "--region", "eu-west-1")
	w.Eventually(30*time.Second, "the other account's VPC is in the table, with its author", func() bool {
		return w.PSQL(`SELECT count(*) FROM vpc v JOIN iasql_audit_log l ON l.record_id = v.id AND l.table_name = 'vpc' AND l.change_type = 'INSERT'
			WHERE v.account = 'web' AND v.region = 'eu-west-1' AND v.cidr_block = '10.78.0.0/16' AND l.actor LIKE 'arn:aws:%:`+web.ID+`:%'`) == "1"
	})
}

// The recipes for all regions and for an organization: what happens in another region comes
// to the queue as well.
func TestRecipesBeyond(t *testing.T) {
	t.Parallel()
	trail := &likeness.Trail{}
	w := likenedIn(t, []string{"us-east-1", "eu-west-1"}, trail, "aws_sqs", "aws_eventbridge", "aws_iam", "aws_vpc")
	example(w, "watch.sql")
	recipe(w, "watch.md", "regions")
	recipe(w, "watch.md", "organization")
	w.PSQL(`UPDATE iasql_settings SET value = '1 day' WHERE name = 'sync_interval'`)
	w.PSQL(`SELECT iasql_sync_now()`)
	w.Settled()
	w.Eventually(30*time.Second, "the queue is read", func() bool {
		return w.PSQL(`SELECT last_answer IS NOT NULL FROM iasql_event_sources`) == "t"
	})
	w.CLI("ec2", "create-vpc", "--cidr-block", "10.77.0.0/16", "--region", "eu-west-1")
	w.Eventually(30*time.Second, "the other region's VPC is in the table", func() bool {
		return w.PSQL(`SELECT count(*) FROM vpc WHERE cidr_block = '10.77.0.0/16' AND region = 'eu-west-1'`) == "1"
	})
	for _, why := range trail.Failures() {
		t.Error(why)
	}
	otherAccount(w)
	if got := w.PSQL(`SELECT all_accounts, region IS NULL FROM aws_event_source`); got != "t|t" {
		t.Errorf("the source is %s", got)
	}
	if got := w.PSQL(`SELECT policy::text FROM event_bus WHERE name = 'default' AND region = 'us-east-1'`); !strings.Contains(got, "o-a1b2c3d4e5") {
		t.Errorf("the bus's policy is %s", got)
	}
}
