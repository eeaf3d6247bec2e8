package likeness

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/acm"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	dbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"iasql/internal/test/harness"
	"iasql/internal/test/likeness"
)

// A denied region and a denied bucket are shown as such, hide nothing else and are no error of
// any cycle; an expired session loses no change.
func TestDenied(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t)
	session := &likeness.Session{}
	for _, name := range []string{"open", "shut"} {
		w.CLI("s3api", "create-bucket", "--bucket", name+"-"+w.AWS.ID)
	}
	l := likeness.Start(t, w.AWS.Endpoint, session, likeness.DeniedRegion{Region: "eu-west-1"}, likeness.DeniedBucket{Name: "shut-" + w.AWS.ID}, likeness.OwnTags{})
	w.Endpoint = l.URL
	w.Serve()
	w.Install([]string{"us-east-1", "eu-west-1"}, "aws_s3", "aws_sqs", "aws_vpc", "aws_dynamo")
	if got := w.PSQL(`SELECT string_agg(DISTINCT region, ' ') FROM iasql_listings WHERE denied LIKE '%service control policy%'`); got != "eu-west-1" {
		t.Errorf("denied are %s", got)
	}
	if got := w.PSQL(`SELECT string_agg(split_part(name, '-', 1) || ' ' || coalesce(versioning_enabled::text, 'unknown'), ', ' ORDER BY name) FROM bucket`); got != "open false, shut unknown" {
		t.Errorf("the buckets are %s", got)
	}
	w.PSQL(`SELECT iasql_sync_now()`)
	if got := w.PSQL(`SELECT * FROM iasql_get_errors()`); got != "" {
		t.Errorf("the second cycle has the errors %s", got)
	}
	session.Expire()
	w.PSQL(`INSERT INTO queue (name) VALUES ('late')`, `INSERT INTO vpc (cidr_block) VALUES ('10.3.0.0/16')`)
	w.Eventually(20*time.Second, "the session to be found expired", func() bool {
		return strings.Contains(w.PSQL(`SELECT string_agg(message, ' ') FROM iasql_status WHERE state <> 'Present'`), "xpired")
	})
	if _, err := w.TryPSQL(w.UserURL, `SELECT iasql_sync_now()`); err == nil {
		t.Error("a cycle without credentials is no error")
	}
	if got := w.PSQL(`SELECT count(*) FROM bucket`); got != "2" {
		t.Errorf("%s buckets are left", got)
	}
	session.Renew()
	w.PSQL(`SELECT iasql_sync_now()`)
	w.Eventually(40*time.Second, "the changes to be pushed", func() bool { return w.PSQL(unsettled) == "" })
	if got := w.PSQL(`SELECT count(*) FROM queue WHERE url IS NOT NULL`); got != "1" {
		t.Errorf("%s queues", got)
	}
}

// The first cycles of an account with some hundred objects end at the documented rates, and
// few of their calls are throttled.
func TestRates(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t)
	fill(t, w)
	rates := &likeness.Rates{}
	l := likeness.Start(t, w.AWS.Endpoint, rates)
	w.Endpoint = l.URL
	w.Serve()
	w.Install(east, "aws_vpc", "aws_sqs", "aws_sns", "aws_acm", "aws_dynamo", "aws_cloudwatch", "aws_kms", "aws_route53")
	for table, want := range map[string]string{"queue": "60", "topic": "60", "certificate": "20", "dynamo_table": "40", "log_group": "40", "kms_key": "30", "hosted_zone": "12"} {
		if got := w.PSQL(`SELECT count(*) FROM ` + table); got != want {
			t.Errorf("%s has %s records, want %s", table, got, want)
		}
	}
	calls, refused := rates.Share()
	t.Logf("%d calls, %.1f %% throttled", calls, 100*refused)
	if refused >= 0.05 {
		t.Errorf("%.1f %% of %d calls were throttled: %v", 100*refused, calls, l.Proxy.Counts())
	}
}

// fill makes some hundred objects, at the emulator's speed.
func fill(t *testing.T, w *harness.World) {
	t.Helper()
	config, ctx := w.AWS.Config("us-east-1"), t.Context()
	queues, topics, certificates, tables := sqs.NewFromConfig(config), sns.NewFromConfig(config), acm.NewFromConfig(config), dynamodb.NewFromConfig(config)
	groups, keys, zones := cloudwatchlogs.NewFromConfig(config), kms.NewFromConfig(config), route53.NewFromConfig(config)
	for _, kind := range []struct {
		n    int
		make func(name string) error
	}{
		{60, func(name string) error {
			_, err := queues.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: &name})
			return err
		}},
		{60, func(name string) error {
			_, err := topics.CreateTopic(ctx, &sns.CreateTopicInput{Name: &name})
			return err
		}},
		{20, func(name string) error {
			_, err := certificates.RequestCertificate(ctx, &acm.RequestCertificateInput{DomainName: aws.String(name + ".example.com")})
			return err
		}},
		{40, func(name string) error {
			id := "id"
			_, err := tables.CreateTable(ctx, &dynamodb.CreateTableInput{TableName: &name, BillingMode: dbtypes.BillingModePayPerRequest,
				AttributeDefinitions: []dbtypes.AttributeDefinition{{AttributeName: &id, AttributeType: dbtypes.ScalarAttributeTypeS}},
				KeySchema:            []dbtypes.KeySchemaElement{{AttributeName: &id, KeyType: dbtypes.KeyTypeHash}}})
			return err
		}},
		{40, func(name string) error {
			_, err := groups.CreateLogGroup(ctx, &cloudwatchlogs.CreateLogGroupInput{LogGroupName: &name})
			return err
		}},
		{30, func(name string) error {
			_, err := keys.CreateKey(ctx, &kms.CreateKeyInput{Description: &name})
			return err
		}},
		{12, func(name string) error {
			_, err := zones.CreateHostedZone(ctx, &route53.CreateHostedZoneInput{Name: aws.String(name + ".test"), CallerReference: &name})
			return err
		}},
	} {
		for i := range kind.n {
			if err := kind.make(fmt.Sprintf("many-%d", i)); err != nil {
				t.Fatal(err)
			}
		}
	}
}
