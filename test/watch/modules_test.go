package watch

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	ebtypes "github.com/aws/aws-sdk-go-v2/service/eventbridge/types"
	"golang.org/x/sync/errgroup"

	"iasql/internal/test/faultproxy"
	"iasql/internal/test/harness"
	"iasql/internal/test/likeness"
	"iasql/internal/test/stopwatch"
)

// recorded makes a world in which CloudTrail records all calls, and a rule sends the records
// to the queue that the engine reads.
func recorded(t *testing.T, trail *likeness.Trail, modules ...string) *world {
	t.Helper()
	w := &world{World: harness.NewWorld(t)}
	l := likeness.Start(t, w.AWS.Endpoint)
	l.Record(trail)
	w.Proxy = faultproxy.Start(t, l.URL)
	w.AWS.Endpoint, w.Endpoint = l.URL, w.Proxy.URL
	w.makeQueue()
	client := eventbridge.NewFromConfig(w.AWS.Config("us-east-1"))
	if _, err := client.PutRule(t.Context(),
		&eventbridge.PutRuleInput{Name: awssdk.String("watch"),
			EventPattern: awssdk.String(`{"detail-type": ["AWS API Call via CloudTrail"]}`)}); err != nil {
		t.Fatal(err)
	}
	arn := "arn:aws:sqs:us-east-1:" + w.AWS.ID + ":watch"
	if _, err := client.PutTargets(t.Context(),
		&eventbridge.PutTargetsInput{Rule: awssdk.String("watch"),
			Targets: []ebtypes.Target{{Id: awssdk.String("q"), Arn: &arn}}}); err != nil {
		t.Fatal(err)
	}
	w.Serve()
	w.Install([]string{"us-east-1"}, modules...)
	w.PSQL(`UPDATE iasql_settings SET value = '1 day' WHERE name = 'sync_interval'`)
	w.PSQL(`SELECT iasql_sync_now()`)
	w.addSource()
	w.read()
	return w
}

// changes are made by the aws command, one for each module; the query says whether the table
// has it.
var changes = []struct{ module, call, table, query string }{
	{"aws_vpc", "ec2 create-vpc --cidr-block 10.77.0.0/16", "vpc", `cidr_block = '10.77.0.0/16'`},
	{"aws_security_group", "ec2 create-security-group --group-name watched --description d", "security_group",
		`group_name = 'watched'`},
	{"aws_ec2", "ec2 create-key-pair --key-name watched", "key_pair", `name = 'watched'`},
	{"aws_sqs", "sqs create-queue --queue-name watched", "queue", `name = 'watched'`},
	{"aws_sns", "sns create-topic --name watched", "topic", `name = 'watched'`},
	{"aws_iam", "iam create-user --user-name watched", "iam_user", `user_name = 'watched'`},
	{"aws_s3", "s3api create-bucket --bucket watched-ID", "bucket", `name LIKE 'watched-%'`},
	{"aws_cloudwatch", "logs create-log-group --log-group-name watched", "log_group", `log_group_name = 'watched'`},
	{"aws_dynamo", "dynamodb create-table --table-name watched --attribute-definitions " +
		"AttributeName=a,AttributeType=S --key-schema AttributeName=a,KeyType=HASH --billing-mode PAY_PER_REQUEST",
		"dynamo_table", `table_name = 'watched'`},
	{"aws_ecr", "ecr create-repository --repository-name watched", "repository", `repository_name = 'watched'`},
	{"aws_ecs_fargate", "ecs create-cluster --cluster-name watched", "cluster", `cluster_name = 'watched'`},
	{"aws_secrets_manager", "secretsmanager create-secret --name watched --secret-string hunter2", "secret",
		`name = 'watched'`},
	{"aws_kms", "kms create-key --description watched --key-usage ENCRYPT_DECRYPT --key-spec SYMMETRIC_DEFAULT",
		"kms_key", `description = 'watched'`},
	{"aws_ssm", "ssm put-parameter --name watched --type String --value v", "ssm_parameter", `name = 'watched'`},
	{"aws_kinesis", "kinesis create-stream --stream-name watched --shard-count 1", "kinesis_stream",
		`name = 'watched'`},
	{"aws_route53", "route53 create-hosted-zone --name watched.example --caller-reference r", "hosted_zone",
		`domain_name LIKE 'watched.example%'`},
	{"aws_eventbridge", "events put-rule --name watched --schedule-expression rate(5minutes)", "event_rule",
		`name = 'watched'`},
}

// A change that is made by the aws command shows in the table seconds after its event is
// there, with its author, whatever the module. The engine's own calls tell nothing new.
func TestEveryModule(t *testing.T) {
	t.Parallel()
	var modules []string
	for _, c := range changes {
		modules = append(modules, c.module)
	}
	w := recorded(t, &likeness.Trail{Delay: 100 * time.Millisecond, Jitter: 300 * time.Millisecond, Double: 0.2},
		modules...)
	// The engine's heartbeat shows that events come, without anybody's doing anything.
	w.Eventually(20*time.Second, "the watch is relied on", func() bool {
		return w.PSQL(`SELECT state, heartbeat_error IS NULL FROM iasql_event_sources`) == "ok|t"
	})
	begun := stopwatch.Start()
	var g errgroup.Group
	g.SetLimit(3)
	for _, c := range changes {
		g.Go(func() error {
			args := strings.Fields(strings.ReplaceAll(c.call, "ID", w.AWS.ID))
			for i := range args {
				args[i] = strings.ReplaceAll(args[i], "5minutes", "5 minutes")
			}
			w.CLI(args...)
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	for _, c := range changes {
		w.Eventually(20*time.Second, "the change of "+c.module, func() bool {
			return w.PSQL(fmt.Sprintf(`SELECT count(*) FROM %s WHERE %s`, c.table, c.query)) == "1"
		})
		if got := w.PSQL(fmt.Sprintf(`SELECT l.user_agent LIKE 'aws-cli/%%' AND l.actor LIKE 'arn:aws:%%' FROM iasql_audit_log l JOIN %s t ON t.id = l.record_id AND l.table_name = '%[1]s' AND l.change_type = 'INSERT' WHERE t.%s`, c.table, c.query)); got != "t" {
			t.Errorf("of %s nobody knows who made it: %q", c.table, got)
		}
	}
	var waits []float64
	for line := range strings.Lines(
		w.Admin(`SELECT extract(epoch FROM l.ts - e.received) FROM iasql_audit_log l JOIN iasql_internal.cloud_event e ON e.id = l.event_id WHERE l.change_type = 'INSERT'`)) {
		var wait float64
		if _, err := fmt.Sscan(line, &wait); err != nil {
			t.Fatal(err)
		}
		waits = append(waits, wait)
	}
	slices.Sort(waits)
	share := begun.Share()
	half, last := waits[len(waits)/2], waits[len(waits)-1]
	t.Logf("%d changes of %d modules after their events: half %.2f s, the last %.2f s; %.0f %% of it when nothing "+
		"waited for a processor", len(waits), len(changes), half, last, share*100)
	if half*share > 2 || last*share > 5 {
		t.Error("that is too late")
	}
	w.PSQL(`INSERT INTO queue (name) VALUES ('own')`)
	w.Settled()
	w.Eventually(20*time.Second, "the event of the engine's own call is known", func() bool {
		return w.Admin(`SELECT count(*) FROM iasql_internal.cloud_event e JOIN iasql_internal.own_request r ON r.id = e.request_id
			WHERE e.call = 'CreateQueue' AND NOT EXISTS (SELECT FROM iasql_internal.hint h WHERE h.event = e.id AND h.due IS NOT NULL)`) == "1"
	})
	if got := w.PSQL(`SELECT count(*) FROM iasql_audit_log l JOIN queue q ON q.id = l.record_id AND l.table_name = 'queue' WHERE q.name = 'own' AND l.actor IS NOT NULL`); got != "0" {
		t.Errorf("%s changes of the engine's own have another author", got)
	}
}
