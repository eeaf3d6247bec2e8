package likeness_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	ebtypes "github.com/aws/aws-sdk-go-v2/service/eventbridge/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"iasql/internal/aws"
	"iasql/internal/aws/events"
	"iasql/internal/modules"
	"iasql/internal/modules/all"
	"iasql/internal/test/likeness"
	"iasql/internal/test/testaws"
)

func TestMain(m *testing.M) { testaws.Main(m) }

// site is an account that is recorded, with a queue that gets what its rules match.
type site struct {
	*testing.T
	account testaws.Account
	trail   *likeness.Trail
	l       *likeness.Likeness
	queue   string // URL
	arn     string
}

const here = "us-east-1"

func newSite(t *testing.T, trail *likeness.Trail, pattern string) *site {
	s := &site{T: t, account: testaws.NewAccount(t), trail: trail}
	q, err := sqs.NewFromConfig(s.account.Config(here)).CreateQueue(t.Context(),
		&sqs.CreateQueueInput{QueueName: awssdk.String("events")})
	if err != nil {
		t.Fatal(err)
	}
	s.queue, s.arn = *q.QueueUrl, "arn:aws:sqs:"+here+":"+s.account.ID+":events"
	s.rule(here, s.arn, pattern)
	s.l = likeness.Start(t, s.account.Endpoint)
	s.l.Record(trail)
	s.account.Endpoint = s.l.URL
	return s
}

// rule sends what a pattern matches to a target.
func (s *site) rule(region, target, pattern string) {
	s.Helper()
	client := eventbridge.NewFromConfig(s.account.Config(region))
	if _, err := client.PutRule(s.Context(),
		&eventbridge.PutRuleInput{Name: awssdk.String("watch"), EventPattern: &pattern}); err != nil {
		s.Fatal(err)
	}
	if _, err := client.PutTargets(s.Context(),
		&eventbridge.PutTargetsInput{Rule: awssdk.String("watch"),
			Targets: []ebtypes.Target{{Id: awssdk.String("q"), Arn: &target}}}); err != nil {
		s.Fatal(err)
	}
}

// received returns what has come, when all has been sent.
func (s *site) received() []*events.Event {
	s.Helper()
	s.trail.Wait()
	config := s.account.Config(here)
	config.BaseEndpoint = awssdk.String(testaws.Endpoint(s)) // not recorded
	client := sqs.NewFromConfig(config)
	var all []*events.Event
	for {
		out, err := client.ReceiveMessage(s.Context(),
			&sqs.ReceiveMessageInput{QueueUrl: &s.queue, MaxNumberOfMessages: 10})
		if err != nil {
			s.Fatal(err)
		}
		for _, m := range out.Messages {
			e, err := events.Parse([]byte(*m.Body))
			if err != nil {
				s.Errorf("%v: %s", err, *m.Body)
				continue
			}
			all = append(all, e)
			if _, err := client.DeleteMessage(s.Context(),
				&sqs.DeleteMessageInput{QueueUrl: &s.queue, ReceiptHandle: m.ReceiptHandle}); err != nil {
				s.Fatal(err)
			}
		}
		if len(out.Messages) == 0 {
			break
		}
	}
	for _, why := range s.trail.Failures() {
		s.Error(why)
	}
	return all
}

const everything = `{"detail-type": ["AWS API Call via CloudTrail"]}`

// What clients of several protocols do is recorded in the form of CloudTrail's, from which
// the tables' touches find the objects.
func TestTrail(t *testing.T) {
	t.Parallel()
	s := newSite(t, &likeness.Trail{}, everything)
	ctx, config := t.Context(), s.account.Config(here)
	registry, err := modules.NewRegistry(all.Modules(aws.New(aws.Options{}))...)
	if err != nil {
		t.Fatal(err)
	}
	wanted := map[string]string{} // by call: a hint
	want := func(call, format string, args ...any) { wanted[call] = fmt.Sprintf(format, args...) }
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}

	network := ec2.NewFromConfig(config)
	vpc, err := network.CreateVpc(ctx,
		&ec2.CreateVpcInput{CidrBlock: awssdk.String("10.0.0.0/16"), TagSpecifications: []ec2types.TagSpecification{
			{ResourceType: ec2types.ResourceTypeVpc,
				Tags: []ec2types.Tag{{Key: awssdk.String("a"), Value: awssdk.String("b")}}}}})
	must(err)
	want("CreateVpc", "vpc vpc_id %s", *vpc.Vpc.VpcId)
	group, err := network.CreateSecurityGroup(ctx,
		&ec2.CreateSecurityGroupInput{GroupName: awssdk.String("g"), Description: awssdk.String("g"),
			VpcId: vpc.Vpc.VpcId})
	must(err)
	want("CreateSecurityGroup", "security_group group_id %s", *group.GroupId)
	rules, err := network.AuthorizeSecurityGroupIngress(ctx,
		&ec2.AuthorizeSecurityGroupIngressInput{GroupId: group.GroupId, IpPermissions: []ec2types.IpPermission{
			{IpProtocol: awssdk.String("tcp"), FromPort: awssdk.Int32(22), ToPort: awssdk.Int32(22),
				IpRanges: []ec2types.IpRange{{CidrIp: awssdk.String("10.0.0.0/8")}}}}})
	must(err)
	want("AuthorizeSecurityGroupIngress", "security_group_rule security_group_rule_id %s",
		*rules.SecurityGroupRules[0].SecurityGroupRuleId)
	_, err = network.CreateTags(ctx,
		&ec2.CreateTagsInput{Resources: []string{*group.GroupId, *vpc.Vpc.VpcId},
			Tags: []ec2types.Tag{{Key: awssdk.String("c"), Value: awssdk.String("d")}}})
	must(err)
	want("CreateTags", "security_group group_id %s", *group.GroupId)
	subnet, err := network.CreateSubnet(ctx,
		&ec2.CreateSubnetInput{VpcId: vpc.Vpc.VpcId, CidrBlock: awssdk.String("10.0.1.0/24")})
	must(err)
	gateway, err := network.CreateNatGateway(ctx,
		&ec2.CreateNatGatewayInput{SubnetId: subnet.Subnet.SubnetId,
			ConnectivityType: ec2types.ConnectivityTypePrivate})
	must(err)
	want("CreateNatGateway", "nat_gateway nat_gateway_id %s", *gateway.NatGateway.NatGatewayId)
	endpoint, err := network.CreateVpcEndpoint(ctx,
		&ec2.CreateVpcEndpointInput{VpcId: vpc.Vpc.VpcId, ServiceName: awssdk.String("com.amazonaws.us-east-1.s3"),
			VpcEndpointType: ec2types.VpcEndpointTypeGateway})
	must(err)
	want("CreateVpcEndpoint", "endpoint_gateway vpc_endpoint_id %s", *endpoint.VpcEndpoint.VpcEndpointId)
	_, err = network.DeleteVpcEndpoints(ctx,
		&ec2.DeleteVpcEndpointsInput{VpcEndpointIds: []string{*endpoint.VpcEndpoint.VpcEndpointId}})
	must(err)
	want("DeleteVpcEndpoints", "endpoint_gateway vpc_endpoint_id %s", *endpoint.VpcEndpoint.VpcEndpointId)

	people := iam.NewFromConfig(config)
	_, err = people.CreateRole(ctx,
		&iam.CreateRoleInput{RoleName: awssdk.String("r"),
			AssumeRolePolicyDocument: awssdk.String(`{"Version": "2012-10-17", "Statement": []}`)})
	must(err)
	want("CreateRole", "iam_role role_name r")
	key, err := kms.NewFromConfig(config).CreateKey(ctx, &kms.CreateKeyInput{})
	must(err)
	want("CreateKey", "kms_key key_id %s", *key.KeyMetadata.KeyId)
	zone, err := route53.NewFromConfig(config).CreateHostedZone(ctx,
		&route53.CreateHostedZoneInput{Name: awssdk.String("example.com"), CallerReference: awssdk.String("1")})
	must(err)
	want("CreateHostedZone", "hosted_zone hosted_zone_id %s", strings.TrimPrefix(*zone.HostedZone.Id, "/hostedzone/"))
	buckets := s3.NewFromConfig(config, func(o *s3.Options) { o.UsePathStyle = true })
	name := awssdk.String("b-" + s.account.ID)
	_, err = buckets.CreateBucket(ctx, &s3.CreateBucketInput{Bucket: name})
	must(err)
	want("CreateBucket", "bucket name %s", *name)
	_, err = buckets.DeletePublicAccessBlock(ctx, &s3.DeletePublicAccessBlockInput{Bucket: name})
	must(err)
	want("DeleteBucketPublicAccessBlock", "public_access_block bucket_name %s", *name)
	_, err = buckets.PutObject(ctx,
		&s3.PutObjectInput{Bucket: name, Key: awssdk.String("k"), Body: strings.NewReader("x")})
	must(err)
	_, err = lambda.NewFromConfig(config).DeleteFunction(ctx,
		&lambda.DeleteFunctionInput{FunctionName: awssdk.String("nobody")})
	if err == nil {
		t.Error("a function was deleted that there is not")
	}

	for _, e := range s.received() {
		if e.Name == "PutObject" || e.ReadOnly || e.RequestID == "" || e.Actor.ARN == "" ||
			e.Actor.Address != "127.0.0.1" || !strings.Contains(e.Actor.UserAgent, "aws-sdk-go-v2") ||
			e.Region != here || e.Account != s.account.ID {
			t.Errorf("got %+v", e)
		}
		hints := events.Hints(registry, "main", e)
		if e.Name == "DeleteFunction20150331" {
			if e.Error != "ResourceNotFoundException" || hints != nil {
				t.Errorf("the failure has %+v and hints %v", e, hints)
			}
			delete(wanted, "DeleteFunction20150331")
			continue
		}
		var got []string
		for _, h := range hints {
			got = append(got, h.Table+" "+h.Column+" "+h.ID)
		}
		if hint, ok := wanted[e.Name]; ok && !slices.Contains(got, hint) {
			raw, _ := json.Marshal(e)
			t.Errorf("%s: got %q, want %q: %s", e.Name, got, hint, raw)
		}
		delete(wanted, e.Name)
	}
	if len(wanted) > 0 {
		t.Errorf("there was no event for %v", wanted)
	}
	if n := s.trail.Counts().Calls; n != 14 {
		t.Errorf("recorded %d calls", n)
	}
}

// Some records never come, some twice, and none in their order; all are in the trail's files.
func TestTrailUnreliable(t *testing.T) {
	t.Parallel()
	s := newSite(t, &likeness.Trail{Delay: 10 * time.Millisecond, Jitter: 300 * time.Millisecond, Lose: 0.2,
		Double: 0.3}, `{"source": [{"prefix": "aws.s"}], "detail": {"eventName": ["CreateQueue"]}}`)
	s.trail.Keep()
	client := sqs.NewFromConfig(s.account.Config(here))
	const calls = 40
	for i := range calls {
		if _, err := client.CreateQueue(t.Context(),
			&sqs.CreateQueueInput{QueueName: awssdk.String(fmt.Sprint("q", i))}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := client.DeleteQueue(t.Context(),
		&sqs.DeleteQueueInput{QueueUrl: awssdk.String(strings.Replace(s.queue, "events", "q0", 1))}); err != nil {
		t.Fatal(err)
	}
	got := s.received()
	counts := s.trail.Counts()
	ids, ordered := map[string]bool{}, true
	for i, e := range got {
		ids[e.ID] = true
		ordered = ordered && (i == 0 || !e.Time.Before(got[i-1].Time))
		if e.Name != "CreateQueue" {
			t.Errorf("the rule lets %s through", e.Name)
		}
	}
	if counts.Calls != calls+1 || counts.Lost == 0 || counts.Doubled == 0 || len(ids) < calls-counts.Lost ||
		len(ids) > calls || len(got) <= len(ids) {
		t.Errorf("of %+v came %d, %d different", counts, len(got), len(ids))
	}
	var file []string
	if err := s.trail.Deliver(func(key string, content []byte) error {
		if !strings.HasPrefix(key, "AWSLogs/"+s.account.ID+"/CloudTrail/us-east-1/") {
			t.Errorf("the file is %s", key)
		}
		return events.Records(strings.NewReader(string(content)), func(e *events.Event) error {
			file = append(file, e.ID)
			return nil
		}, func(err error) { t.Error(err) })
	}); err != nil {
		t.Fatal(err)
	}
	for id := range ids {
		if !slices.Contains(file, id) {
			t.Errorf("the file lacks %s", id)
		}
	}
	if len(file) != calls+1 {
		t.Errorf("the file has %d records", len(file))
	}
}

// Events of another region come through its bus to that of the queue.
func TestTrailAcrossRegions(t *testing.T) {
	t.Parallel()
	s := newSite(t, &likeness.Trail{}, everything)
	s.rule("eu-west-1", "arn:aws:events:"+here+":"+s.account.ID+":event-bus/default", everything)
	s.trail.Wait()
	if _, err := kms.NewFromConfig(s.account.Config("eu-west-1")).CreateKey(t.Context(), &kms.CreateKeyInput{}); err != nil {
		t.Fatal(err)
	}
	got := s.received()
	if !slices.ContainsFunc(got, func(e *events.Event) bool {
		return e.Name == "CreateKey" && e.Region == "eu-west-1"
	}) {
		t.Errorf("got %+v", got)
	}
}
