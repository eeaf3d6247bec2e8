package watch

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"golang.org/x/sync/errgroup"

	"iasql/internal/test/likeness"
)

// kinds has changes of all kinds of objects come at a high rate, not of security groups and
// VPCs only: go test ./test/watch -run TestThousandAMinute -args -kinds.
var (
	kinds   = flag.Bool("kinds", false, "have changes of all kinds of objects come at a thousand a minute")
	changed = flag.Int("changes", 60, "how many of each kind")
)

// kind is a table whose objects are changed at a high rate.
type kind struct {
	table, module string
	named, column string // columns: what change is given, and what it changes
	make, change  func(ctx context.Context, w *world, i int, id string) (string, error)
	more          bool
	// promised is how soon half of the changes and nearly all are to be there.
	half, nearly time.Duration
}

func tagEC2(ctx context.Context, w *world, i int, id string) (string, error) {
	_, err := ec2.NewFromConfig(w.AWS.Config("us-east-1")).CreateTags(ctx,
		&ec2.CreateTagsInput{Resources: []string{id},
			Tags: []ec2types.Tag{{Key: awssdk.String("n"), Value: awssdk.String(fmt.Sprint(i))}}})
	return "", err
}

var changing = []kind{
	{
		table: "security_group", module: "aws_security_group", named: "group_id", column: "tags", change: tagEC2,
		half: 2 * time.Second, nearly: 5 * time.Second,
		make: func(ctx context.Context, w *world, i int, _ string) (string, error) {
			out, err := ec2.NewFromConfig(w.AWS.Config("us-east-1")).CreateSecurityGroup(ctx,
				&ec2.CreateSecurityGroupInput{GroupName: awssdk.String(fmt.Sprint("g", i)),
					Description: awssdk.String("g")})
			if err != nil {
				return "", err
			}
			return *out.GroupId, nil
		},
	},
	{
		table: "vpc", module: "aws_vpc", named: "vpc_id", column: "tags", change: tagEC2, half: 2 * time.Second,
		nearly: 5 * time.Second,
		make: func(ctx context.Context, w *world, i int, _ string) (string, error) {
			out, err := ec2.NewFromConfig(w.AWS.Config("us-east-1")).CreateVpc(ctx,
				&ec2.CreateVpcInput{CidrBlock: awssdk.String(fmt.Sprintf("10.%d.0.0/16", 1+i%250))})
			if err != nil {
				return "", err
			}
			return *out.Vpc.VpcId, nil
		},
	},
	{
		table: "iam_role", module: "aws_iam", named: "role_name", column: "description", more: true,
		half: 2 * time.Second, nearly: 5 * time.Second,
		make: func(ctx context.Context, w *world, i int, _ string) (string, error) {
			name := fmt.Sprint("role", i)
			_, err := iam.NewFromConfig(w.AWS.Config("us-east-1")).CreateRole(ctx,
				&iam.CreateRoleInput{RoleName: &name, AssumeRolePolicyDocument: awssdk.String(
					`{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": {"Service": "ec2.amazonaws.com"}, "Action": "sts:AssumeRole"}]}`)})
			return name, err
		},
		change: func(ctx context.Context, w *world, i int, id string) (string, error) {
			_, err := iam.NewFromConfig(w.AWS.Config("us-east-1")).UpdateRole(ctx,
				&iam.UpdateRoleInput{RoleName: &id, Description: awssdk.String(fmt.Sprint("change ", i))})
			return "", err
		},
	},
	{
		table: "bucket", module: "aws_s3", named: "name", column: "tags", more: true, half: 2 * time.Second,
		nearly: 5 * time.Second,
		make: func(ctx context.Context, w *world, i int, _ string) (string, error) {
			name := fmt.Sprintf("b%d-%s", i, w.AWS.ID)
			_, err := s3.NewFromConfig(w.AWS.Config("us-east-1"), pathStyle).CreateBucket(ctx,
				&s3.CreateBucketInput{Bucket: &name})
			return name, err
		},
		change: func(ctx context.Context, w *world, i int, id string) (string, error) {
			_, err := s3.NewFromConfig(w.AWS.Config("us-east-1"), pathStyle).PutBucketTagging(ctx,
				&s3.PutBucketTaggingInput{Bucket: &id,
					Tagging: &s3types.Tagging{TagSet: []s3types.Tag{{Key: awssdk.String("n"),
						Value: awssdk.String(fmt.Sprint(i))}}}})
			return "", err
		},
	},
	{
		table: "queue", module: "aws_sqs", named: "url", column: "visibility_timeout", more: true,
		half: 2 * time.Second, nearly: 5 * time.Second,
		make: func(ctx context.Context, w *world, i int, _ string) (string, error) {
			out, err := sqs.NewFromConfig(w.AWS.Config("us-east-1")).CreateQueue(ctx,
				&sqs.CreateQueueInput{QueueName: awssdk.String(fmt.Sprint("q", i))})
			if err != nil {
				return "", err
			}
			return *out.QueueUrl, nil
		},
		change: func(ctx context.Context, w *world, i int, id string) (string, error) {
			_, err := sqs.NewFromConfig(w.AWS.Config("us-east-1")).SetQueueAttributes(ctx,
				&sqs.SetQueueAttributesInput{QueueUrl: &id,
					Attributes: map[string]string{"VisibilityTimeout": fmt.Sprint(100 + i)}})
			return "", err
		},
	},
	{
		table: "instance", module: "aws_ec2", named: "instance_id", column: "tags", change: tagEC2, more: true,
		half: 2 * time.Second, nearly: 5 * time.Second,
		make: func(ctx context.Context, w *world, _ int, _ string) (string, error) {
			out, err := ec2.NewFromConfig(w.AWS.Config("us-east-1")).RunInstances(ctx, &ec2.RunInstancesInput{
				ImageId: awssdk.String("ami-12c6146b"), InstanceType: ec2types.InstanceTypeT3Micro,
				MinCount: awssdk.Int32(1), MaxCount: awssdk.Int32(1)})
			if err != nil {
				return "", err
			}
			return *out.Instances[0].InstanceId, nil
		},
	},
	{
		table: "log_group", module: "aws_cloudwatch", named: "log_group_name", column: "retention_in_days", more: true,
		half: 2 * time.Second, nearly: 5 * time.Second,
		make: func(ctx context.Context, w *world, i int, _ string) (string, error) {
			name := fmt.Sprint("l", i)
			_, err := cloudwatchlogs.NewFromConfig(w.AWS.Config("us-east-1")).CreateLogGroup(ctx,
				&cloudwatchlogs.CreateLogGroupInput{LogGroupName: &name})
			return name, err
		},
		change: func(ctx context.Context, w *world, _ int, id string) (string, error) {
			_, err := cloudwatchlogs.NewFromConfig(w.AWS.Config("us-east-1")).PutRetentionPolicy(ctx,
				&cloudwatchlogs.PutRetentionPolicyInput{LogGroupName: &id, RetentionInDays: awssdk.Int32(30)})
			return "", err
		},
	},
}

func pathStyle(o *s3.Options) { o.UsePathStyle = true }

// Changes that come at a rate of a thousand a minute are in the table two seconds after
// they were made, half of them, and nearly all after five; each with its author.
func TestThousandAMinute(t *testing.T) {
	for _, k := range changing {
		t.Run(k.table, func(t *testing.T) {
			if k.more && !*kinds {
				t.Skip("one of the others with each way of reading is enough each time: -args -kinds")
			}
			if !*kinds {
				t.Parallel()
			}
			atRate(t, k)
		})
	}
}

func atRate(t *testing.T, k kind) {
	trail := &likeness.Trail{}
	w := recorded(t, trail, k.module)
	ids := make([]string, *changed)
	each := func(every time.Duration, do func(ctx context.Context, i int) error) {
		t.Helper()
		g, ctx := errgroup.WithContext(w.Context())
		g.SetLimit(8)
		tick := time.NewTicker(every)
		defer tick.Stop()
		for i := range ids {
			<-tick.C
			g.Go(func() error { return do(ctx, i) })
		}
		if err := g.Wait(); err != nil {
			t.Fatal(err)
		}
	}
	each(time.Millisecond, func(ctx context.Context, i int) (err error) {
		ids[i], err = k.make(ctx, w, i, "")
		return err
	})
	w.Eventually(120*time.Second, "all are in the table", func() bool {
		return w.PSQL(fmt.Sprintf(`SELECT count(*) >= %d FROM %s`, len(ids), k.table)) == "t"
	})
	w.PSQL(`SELECT iasql_sync_now()`)
	mark := w.Admin(`SELECT max(id) FROM iasql_audit_log`)
	counted := w.Proxy.Counts()
	sent := map[string]time.Time{}
	var lock sync.Mutex
	begun := time.Now()
	each(time.Minute/1000, func(ctx context.Context, i int) error {
		_, err := k.change(ctx, w, i, ids[i])
		lock.Lock()
		defer lock.Unlock()
		sent[ids[i]] = time.Now()
		return err
	})
	took := time.Since(begun)
	told := fmt.Sprintf(`FROM %[1]s o JOIN iasql_audit_log l ON l.record_id = o.id AND l.table_name = '%[1]s' AND l.change_type = 'UPDATE' AND l.change -> 'change' ? '%[2]s' AND l.id > %[3]s AND l.actor IS NOT NULL`, k.table, k.column, mark)
	w.Eventually(180*time.Second, "all changes are in the table, with their author", func() bool {
		return w.Admin(`SELECT count(DISTINCT o.id) `+told) == fmt.Sprint(len(ids))
	})
	var waits []time.Duration
	for line := range strings.Lines(w.Admin(fmt.Sprintf(`SELECT o.%s, min(extract(epoch FROM l.ts)) %s GROUP BY 1`,
		k.named, told))) {
		at := strings.LastIndexByte(line, '|')
		var seconds float64
		if _, err := fmt.Sscan(line[at+1:], &seconds); err != nil {
			t.Fatal(err)
		}
		waits = append(waits, time.UnixMicro(int64(seconds*1e6)).Sub(sent[w.sentAs(k, line[:at], ids)]))
	}
	slices.Sort(waits)
	p50, p99 := waits[len(waits)/2], waits[len(waits)*99/100]
	var calls []string
	for action, n := range w.Proxy.Counts() {
		if n -= counted[action]; n > 4 {
			calls = append(calls, fmt.Sprint(n, " ", action))
		}
	}
	slices.Sort(calls)
	t.Logf("%s: %d changes in %s: half after %s, nearly all after %s, the last after %s; calls: %s", k.table, len(ids),
		took.Round(time.Millisecond), p50, p99, waits[len(waits)-1], strings.Join(calls, ", "))
	if p50 > k.half || p99 > k.nearly {
		t.Errorf("half of the changes take %s, and nearly all %s", p50, p99)
	}
}

// sentAs returns the name of an object as it was changed by. (The emulator puts the address
// that it was asked at into the URLs of queues.)
func (w *world) sentAs(k kind, name string, ids []string) string {
	if k.table != "queue" {
		return name
	}
	last := name[strings.LastIndexByte(name, '/'):]
	return ids[slices.IndexFunc(ids, func(id string) bool { return strings.HasSuffix(id, last) })]
}
