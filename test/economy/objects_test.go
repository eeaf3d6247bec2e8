package economy

import (
	"archive/zip"
	"bytes"
	"context"
	"flag"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/acm"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch/schemas"
	cwtypes "github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	dynamotypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/ecr"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	lambdatypes "github.com/aws/aws-sdk-go-v2/service/lambda/types"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	snstypes "github.com/aws/aws-sdk-go-v2/service/sns/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/smithy-go/transport/http/protocol/awsquery"
	"golang.org/x/sync/errgroup"

	"iasql/internal/test/harness"
	"iasql/internal/test/testaws"
)

var objects = flag.Int("objects", 60, "how many objects there are of each kind")

// kind is a kind of objects: how one is made, and what a cycle that lists all may cost.
type kind struct {
	name  string
	table string
	make  func(ctx context.Context, i int) error
	each  float64  // most calls for an object, besides pages
	of    []string // the calls about them, by the beginnings of their names
}

// count is how many there are of so many: few zones, of which five calls a second tell.
func (k kind) count(objects int) int {
	if k.name == "zone" {
		return max(1, objects/5)
	}
	return objects
}

// What AWS tells of one object a call is asked once for each, and their tags together.
// Of a bucket it tells everything by calls of its own (versioning, policy, tags, public
// access block, website, and the thirteen configurations, see TestConfigurations), of a table its time to live besides, backups,
// insights, streams and policy, of a repository
// its lifecycle policy, its policy and its images.
func kinds(a testaws.Account, role string) []kind {
	cfg := a.Config("us-east-1")
	name := func(i int) *string { return aws.String(fmt.Sprintf("object-%04d", i)) }
	tags := map[string]string{"kind": "economy"}
	var code bytes.Buffer
	archive := zip.NewWriter(&code)
	_, _ = archive.Create("index.py")
	_ = archive.Close()
	return []kind{
		{"queue", "queue", func(ctx context.Context, i int) error {
			_, err := sqs.NewFromConfig(cfg).CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: name(i), Tags: tags})
			return err
		}, 1, []string{"ListQueues", "GetQueue", "ListQueueTags"}},
		{"topic", "topic", func(ctx context.Context, i int) error {
			_, err := sns.NewFromConfig(cfg).CreateTopic(ctx,
				&sns.CreateTopicInput{Name: name(i),
					Tags: []snstypes.Tag{{Key: aws.String("kind"), Value: aws.String("economy")}}})
			return err
		}, 1, []string{"ListTopics", "GetTopic", "ListSubscriptions"}},
		{"table", "dynamo_table", func(ctx context.Context, i int) error {
			_, err := dynamodb.NewFromConfig(cfg).CreateTable(ctx,
				&dynamodb.CreateTableInput{TableName: name(i), BillingMode: dynamotypes.BillingModePayPerRequest,
					AttributeDefinitions: []dynamotypes.AttributeDefinition{{AttributeName: aws.String("id"),
						AttributeType: dynamotypes.ScalarAttributeTypeS}},
					KeySchema: []dynamotypes.KeySchemaElement{{AttributeName: aws.String("id"),
						KeyType: dynamotypes.KeyTypeHash}},
					Tags: []dynamotypes.Tag{{Key: aws.String("kind"), Value: aws.String("economy")}}})
			return err
		}, 6, []string{"ListTables", "DescribeTable", "DescribeTimeToLive", "ListTagsOfResource",
			"DescribeContinuousBackups", "DescribeContributorInsights", "DescribeKinesisStreamingDestination", "GetResourcePolicy"}},
		{"log group", "log_group", func(ctx context.Context, i int) error {
			_, err := cloudwatchlogs.NewFromConfig(cfg).CreateLogGroup(ctx,
				&cloudwatchlogs.CreateLogGroupInput{LogGroupName: name(i)})
			return err
		}, 0, []string{"DescribeLogGroups"}},
		{"alarm", "metric_alarm", func(ctx context.Context, i int) error {
			_, err := cloudwatch.NewFromConfig(cfg, func(o *cloudwatch.Options) {
				o.Protocol = awsquery.New(schemas.GraniteServiceVersion20100801)
			}).PutMetricAlarm(ctx, &cloudwatch.PutMetricAlarmInput{AlarmName: name(i),
				MetricName: aws.String("CPUUtilization"), Namespace: aws.String("AWS/EC2"),
				Period: aws.Int32(60), EvaluationPeriods: aws.Int32(1), Threshold: aws.Float64(1),
				Statistic:          cwtypes.StatisticAverage,
				ComparisonOperator: cwtypes.ComparisonOperatorGreaterThanThreshold})
			return err
		}, 0, []string{"DescribeAlarms"}},
		{"function", "lambda_function", func(ctx context.Context, i int) error {
			_, err := lambda.NewFromConfig(cfg).CreateFunction(ctx,
				&lambda.CreateFunctionInput{FunctionName: name(i), Role: aws.String(role),
					Handler: aws.String("index.handler"),
					Runtime: lambdatypes.RuntimePython312, Code: &lambdatypes.FunctionCode{ZipFile: code.Bytes()},
					Tags: tags})
			return err
		}, 1, []string{"GET /2015-03-31/functions"}},
		{"certificate", "certificate", func(ctx context.Context, i int) error {
			_, err := acm.NewFromConfig(cfg).RequestCertificate(ctx,
				&acm.RequestCertificateInput{DomainName: aws.String(*name(i) + ".example.com"),
					ValidationMethod: "DNS"})
			return err
		}, 1, []string{"ListCertificates", "DescribeCertificate", "ListTagsForCertificate"}},
		{"zone", "hosted_zone", func(ctx context.Context, i int) error {
			_, err := route53.NewFromConfig(cfg).CreateHostedZone(ctx,
				&route53.CreateHostedZoneInput{Name: aws.String(*name(i) + ".example.com"), CallerReference: name(i)})
			return err
		}, 1.1, []string{"GET /2013-04-01/hostedzone", "POST /2013-04-01/tags"}},
		{"repository", "repository", func(ctx context.Context, i int) error {
			_, err := ecr.NewFromConfig(cfg).CreateRepository(ctx, &ecr.CreateRepositoryInput{RepositoryName: name(i)})
			return err
		}, 3, []string{"DescribeRepositories", "GetLifecyclePolicy", "GetRepositoryPolicy", "DescribeImages"}},
		{"bucket", "bucket", func(ctx context.Context, i int) error {
			_, err := s3.NewFromConfig(cfg, func(o *s3.Options) {
				o.UsePathStyle = true
			}).CreateBucket(ctx, &s3.CreateBucketInput{Bucket: aws.String(fmt.Sprintf("%s-%s", *name(i),
				strings.ToLower(a.ID)))})
			return err
		}, 18, []string{"GET /object-"}},
	}
}

// holders are the modules of the kinds.
var holders = []string{"aws_sqs", "aws_sns", "aws_dynamo", "aws_cloudwatch", "aws_lambda", "aws_acm", "aws_route53",
	"aws_ecr", "aws_s3"}

// populate makes the objects of all kinds in a world's account.
func populate(t *testing.T, w *harness.World, objects int) []kind {
	t.Helper()
	role, err := iam.NewFromConfig(w.AWS.Config("us-east-1")).CreateRole(t.Context(),
		&iam.CreateRoleInput{RoleName: aws.String("economy"), AssumeRolePolicyDocument: aws.String(`{}`)})
	if err != nil {
		t.Fatal(err)
	}
	all := kinds(w.AWS, *role.Role.Arn)
	for _, k := range all {
		g, ctx := errgroup.WithContext(t.Context())
		g.SetLimit(8)
		for i := range k.count(objects) {
			g.Go(func() error { return k.make(ctx, i) })
		}
		if err := g.Wait(); err != nil {
			t.Fatalf("make a %s: %v", k.name, err)
		}
	}
	return all
}

// TestConfigurations: what seldom changes of buckets is read by a scheduled cycle of few of them, and of one that
// somebody asks for of all.
func TestConfigurations(t *testing.T) {
	t.Parallel()
	w, proxy := world(t)
	const buckets = 50
	client := s3.NewFromConfig(w.AWS.Config("us-east-1"), func(o *s3.Options) { o.UsePathStyle = true })
	for i := range buckets {
		name := fmt.Sprintf("configured-%d-%s", i, strings.ToLower(w.AWS.ID))
		if _, err := client.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &name}); err != nil {
			t.Fatal(err)
		}
	}
	w.Serve()
	w.PSQL(`UPDATE iasql_settings SET value = '1 hour' WHERE name = 'sync_interval'`)
	w.Install([]string{"us-east-1"}, "aws_s3")
	asked := func(do func()) (all, encryption int) {
		before := proxy.Counts()
		do()
		for action, n := range proxy.Counts() {
			if strings.HasPrefix(action, "GET /configured-") && !strings.Contains(action, "?location") {
				all += n - before[action]
				if strings.Contains(action, "?encryption") {
					encryption += n - before[action]
				}
			}
		}
		return all, encryption
	}
	if all, encryption := asked(func() { w.PSQL(`SELECT iasql_sync_now()`) }); encryption != buckets {
		t.Errorf("somebody asks, and %d of %d buckets are asked for their encryption; %d calls", encryption, buckets, all)
	}
	w.Admin(`UPDATE iasql_internal.listing SET changed = changed - interval '1 day', tried = tried - interval '11 minutes',
		listed = listed - interval '11 minutes'`)
	all, encryption := asked(func() {
		before := w.Admin(`SELECT last_seen FROM iasql_listings WHERE table_name = 'bucket'`)
		w.Admin(`SELECT iasql_internal.enqueue_sync()`)
		w.Eventually(30*time.Second, "a scheduled cycle lists the buckets", func() bool {
			return w.Admin(`SELECT last_seen FROM iasql_listings WHERE table_name = 'bucket'`) != before
		})
	})
	t.Logf("a scheduled cycle: %.1f calls a bucket", float64(all)/buckets)
	if all < 2*buckets || all > 8*buckets || encryption > buckets/4 {
		t.Errorf("a scheduled cycle makes %d calls for %d buckets, %d for their encryption", all, buckets, encryption)
	}
}

// What AWS tells of many objects at once is asked for page by page, and what it tells of
// one alone once for each.
func TestManyObjects(t *testing.T) {
	t.Parallel()
	w, proxy := world(t)
	all := populate(t, w, *objects)
	w.Serve()
	w.PSQL(`UPDATE iasql_settings SET value = '1 hour' WHERE name = 'sync_interval'`,
		`UPDATE iasql_settings SET value = '1' WHERE name = 'read_share'`)
	n, list := calls(proxy, func() {
		w.Install([]string{"us-east-1"}, holders...)
	})
	t.Logf("an import of %d objects of each kind: %d calls: %s", *objects, n, list)
	before := proxy.Counts()
	n, list = calls(proxy, func() { w.PSQL(`SELECT iasql_sync_now()`) })
	t.Logf("a cycle that lists all: %d calls: %s", n, list)
	for _, k := range all {
		made := 0
		for action, count := range proxy.Counts() {
			for _, of := range k.of {
				// The listing of all buckets tells their regions, and the emulator's does not.
				if strings.HasPrefix(action, of) && !strings.Contains(action, "?location") {
					made += count - before[action]
					break
				}
			}
		}
		pages := 4 + math.Ceil(float64(k.count(*objects))/50)
		t.Logf("%s: %.2f calls an object", k.name, float64(made)/float64(k.count(*objects)))
		if most := k.each*float64(k.count(*objects)) + pages; float64(made) > most {
			t.Errorf("%d calls for %d objects of kind %s, more than %.0f", made, k.count(*objects), k.name, most)
		}
	}
}
