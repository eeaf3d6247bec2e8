package recorded

import (
	"slices"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/acm"
	acmtypes "github.com/aws/aws-sdk-go-v2/service/acm/types"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	cwtypes "github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	logstypes "github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	ebtypes "github.com/aws/aws-sdk-go-v2/service/eventbridge/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	iamtypes "github.com/aws/aws-sdk-go-v2/service/iam/types"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	kmstypes "github.com/aws/aws-sdk-go-v2/service/kms/types"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	lambdatypes "github.com/aws/aws-sdk-go-v2/service/lambda/types"
	"github.com/aws/aws-sdk-go-v2/service/opensearch"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	route53types "github.com/aws/aws-sdk-go-v2/service/route53/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	snstypes "github.com/aws/aws-sdk-go-v2/service/sns/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	ssmtypes "github.com/aws/aws-sdk-go-v2/service/ssm/types"

	"iasql/internal/modules"
)

// reader is a table whose reader gets what an operation answers.
type reader struct {
	table string
	op    string
	// member is the member of another operation's answer that is put at the path at
	// of this one's: what creates or changes an object answers with the object, too.
	member, at string
	// anywhere: an answer with these members is of this operation wherever it was
	// recorded.
	anywhere bool
	// part: only this structure was kept of an answer.
	part bool
	// when tells the operation's answers from others with the same members.
	when func(out any) bool
	// get names the object to get; nil lists all.
	get func(out any) modules.Row
	// around is what other operations answer: outputs, or functions that make them of
	// inputs.
	around func(out any) []any
}

// of makes a function of an output one of any.
func of[Out, R any](f func(out *Out) R) func(any) R {
	return func(out any) R { return f(out.(*Out)) }
}

// always has other operations answer whatever the recorded answer is.
func always(outputs ...any) func(any) []any { return func(any) []any { return outputs } }

// by names an object by one column.
func by(column string, value *string) modules.Row {
	return modules.Row{column: modules.Text(awssdk.ToString(value))}
}

// last is the last part of a name.
func last(name *string, separator string) *string {
	s := awssdk.ToString(name)
	s = s[strings.LastIndex(s, separator)+1:]
	return &s
}

var example = awssdk.String("example")

// arn is the ARN of something.
func arn(service, resource string) *string {
	return awssdk.String("arn:aws:" + service + ":" + region + ":" + account + ":" + resource)
}

// readers are the readers of tables for which there are answers.
var readers = slices.Concat(accessReaders, messageReaders, storageReaders, dnsReaders, lambdaReaders, []reader{
	{table: "certificate", op: "acm:DescribeCertificate", anywhere: true,
		get: of(func(out *acm.DescribeCertificateOutput) modules.Row {
			return by("arn", out.Certificate.CertificateArn)
		})},
	{table: "certificate", op: "acm:ListCertificates",
		around: always(func(in *acm.DescribeCertificateInput) *acm.DescribeCertificateOutput {
			return &acm.DescribeCertificateOutput{Certificate: &acmtypes.CertificateDetail{CertificateArn: in.CertificateArn, DomainName: awssdk.String("example.com")}}
		})},

	{table: "metric_alarm", op: "cloudwatch:DescribeAlarms"},
	{table: "metric_alarm", op: "cloudwatch:ListTagsForResource", around: always(&cloudwatch.DescribeAlarmsOutput{
		MetricAlarms: []cwtypes.MetricAlarm{{AlarmName: example, AlarmArn: arn("cloudwatch", "alarm:example")}},
	})},
	{table: "log_group", op: "cloudwatchlogs:DescribeLogGroups"},
	{table: "log_group", op: "cloudwatchlogs:ListTagsForResource",
		around: always(&cloudwatchlogs.DescribeLogGroupsOutput{
			LogGroups: []logstypes.LogGroup{{LogGroupName: example, Arn: arn("logs", "log-group:example:*")}},
		})},

	{table: "dynamo_table", op: "dynamodb:DescribeTable", anywhere: true,
		get: of(func(out *dynamodb.DescribeTableOutput) modules.Row { return by("table_name", out.Table.TableName) })},
	{table: "dynamo_table", op: "dynamodb:DescribeTable", anywhere: true, member: "TableDescription", at: "Table",
		get: of(func(out *dynamodb.DescribeTableOutput) modules.Row { return by("table_name", out.Table.TableName) })},

	{table: "availability_zone", op: "ec2:DescribeAvailabilityZones"},
	{table: "vpc", op: "ec2:DescribeVpcs", member: "Vpc", at: "Vpcs"},
	{table: "peering_connection", op: "ec2:DescribeVpcPeeringConnections"},

	{table: "domain", op: "opensearch:DescribeDomains", part: true, at: "DomainStatusList",
		when: of(func(out *opensearch.DescribeDomainsOutput) bool {
			return out.DomainStatusList[0].DomainName != nil && out.DomainStatusList[0].ARN != nil
		}),
		get: of(func(out *opensearch.DescribeDomainsOutput) modules.Row {
			return by("domain_name", out.DomainStatusList[0].DomainName)
		})},

	{table: "secret", op: "secretsmanager:ListSecrets"},
	{table: "secret", op: "secretsmanager:DescribeSecret",
		when: of(func(out *secretsmanager.DescribeSecretOutput) bool {
			return out.CreatedDate != nil && out.LastChangedDate != nil
		}),
		get: of(func(out *secretsmanager.DescribeSecretOutput) modules.Row { return by("name", out.Name) })},

	{table: "ssm_parameter", op: "ssm:GetParameters", around: of(func(out *ssm.GetParametersOutput) []any {
		all := &ssm.DescribeParametersOutput{}
		for _, p := range out.Parameters {
			all.Parameters = append(all.Parameters,
				ssmtypes.ParameterMetadata{Name: p.Name, ARN: p.ARN, Type: p.Type, DataType: p.DataType,
					Version: p.Version})
		}
		return []any{all}
	})},
})

// accessReaders are those of IAM and KMS.
var accessReaders = []reader{
	{table: "iam_role", op: "iam:GetRole", anywhere: true,
		get: of(func(out *iam.GetRoleOutput) modules.Row { return by("role_name", out.Role.RoleName) })},
	{table: "iam_role", op: "iam:ListRoles", around: of(func(out *iam.ListRolesOutput) []any {
		all := &iam.GetAccountAuthorizationDetailsOutput{}
		for _, r := range out.Roles {
			all.RoleDetailList = append(all.RoleDetailList, iamtypes.RoleDetail{RoleId: r.RoleId, RoleName: r.RoleName})
		}
		return []any{all}
	})},
	{table: "iam_role", op: "iam:ListAttachedRolePolicies", get: exampleRole, around: always(exampleRoleOutput)},
	{table: "iam_role", op: "iam:ListRolePolicies", get: exampleRole, around: always(exampleRoleOutput)},
	{table: "iam_role", op: "iam:GetRolePolicy", get: exampleRole,
		around: always(exampleRoleOutput, &iam.ListRolePoliciesOutput{PolicyNames: []string{"example"}})},
	{table: "iam_user", op: "iam:GetUser", get: of(func(out *iam.GetUserOutput) modules.Row {
		return by("user_name", out.User.UserName)
	})},
	{table: "iam_user", op: "iam:GetUserPolicy", get: func(any) modules.Row { return by("user_name", example) },
		around: always(&iam.GetUserOutput{User: &iamtypes.User{UserName: example, Path: awssdk.String("/")}},
			&iam.ListUserPoliciesOutput{PolicyNames: []string{"example"}})},

	{table: "kms_key", op: "kms:DescribeKey", anywhere: true, get: of(func(out *kms.DescribeKeyOutput) modules.Row {
		return by("key_id", out.KeyMetadata.KeyId)
	})},
	{table: "kms_key", op: "kms:DescribeKey", part: true, at: "KeyMetadata",
		when: of(func(out *kms.DescribeKeyOutput) bool {
			return out.KeyMetadata.KeyId != nil && out.KeyMetadata.Arn != nil
		}),
		get: of(func(out *kms.DescribeKeyOutput) modules.Row { return by("key_id", out.KeyMetadata.KeyId) })},
	{table: "kms_key", op: "kms:GetKeyRotationStatus", get: exampleKey, around: always(exampleKeyOutput)},
}

var exampleRoleOutput = &iam.GetRoleOutput{Role: &iamtypes.Role{RoleName: example, Path: awssdk.String("/"),
	AssumeRolePolicyDocument: awssdk.String("%7B%7D")}}

func exampleRole(any) modules.Row { return by("role_name", example) }

var exampleKeyOutput = &kms.DescribeKeyOutput{KeyMetadata: &kmstypes.KeyMetadata{
	KeyId: example, KeySpec: kmstypes.KeySpecSymmetricDefault, KeyUsage: kmstypes.KeyUsageTypeEncryptDecrypt,
	Origin: kmstypes.OriginTypeAwsKms,
}}

func exampleKey(any) modules.Row { return by("key_id", example) }

// messageReaders are those of EventBridge, SNS and SQS.
var messageReaders = []reader{
	{table: "event_bus", op: "eventbridge:ListEventBuses",
		around: always(func(in *eventbridge.DescribeEventBusInput) *eventbridge.DescribeEventBusOutput {
			return &eventbridge.DescribeEventBusOutput{Name: in.Name,
				Arn: arn("events", "event-bus/"+awssdk.ToString(in.Name))}
		})},
	{table: "event_bus", op: "eventbridge:DescribeEventBus",
		get: of(func(out *eventbridge.DescribeEventBusOutput) modules.Row { return by("name", out.Name) })},
	{table: "event_rule", op: "eventbridge:ListTagsForResource", around: always(exampleBuses, exampleRules)},
	{table: "event_rule", op: "eventbridge:ListRules", around: always(exampleBuses)},
	{table: "event_bus", op: "eventbridge:ListTagsForResource",
		around: always(exampleBuses, &eventbridge.DescribeEventBusOutput{Name: example,
			Arn: arn("events", "event-bus/example")})},
	{table: "event_rule", op: "eventbridge:DescribeRule",
		when: of(func(out *eventbridge.DescribeRuleOutput) bool { return out.EventBusName != nil }),
		get: of(func(out *eventbridge.DescribeRuleOutput) modules.Row {
			return modules.Row{"event_bus_name": modules.TextPtr(out.EventBusName), "name": modules.TextPtr(out.Name)}
		})},
	{table: "event_target", op: "eventbridge:ListTargetsByRule", around: always(exampleBuses, exampleRules)},

	{table: "topic", op: "sns:ListTopics"},
	{table: "topic", op: "sns:GetTopicAttributes",
		when: of(func(out *sns.GetTopicAttributesOutput) bool {
			return out.Attributes["TopicArn"] != "" && out.Attributes["SubscriptionArn"] == ""
		}),
		around: of(func(out *sns.GetTopicAttributesOutput) []any {
			topic := named(out.Attributes["TopicArn"], out.Attributes["FifoTopic"])
			return []any{&sns.ListTopicsOutput{Topics: []snstypes.Topic{{TopicArn: &topic}}}}
		})},
	{table: "topic", op: "sns:ListTagsForResource",
		around: always(&sns.ListTopicsOutput{Topics: []snstypes.Topic{{TopicArn: arn("sns", "example")}}})},
	{table: "subscription", op: "sns:ListSubscriptions", around: of(func(out *sns.ListSubscriptionsOutput) []any {
		return topicsOf(out.Subscriptions)
	})},
	{table: "subscription", op: "sns:ListSubscriptionsByTopic",
		when: of(func(out *sns.ListSubscriptionsByTopicOutput) bool { return len(out.Subscriptions) > 0 }),
		get: of(func(out *sns.ListSubscriptionsByTopicOutput) modules.Row {
			s := out.Subscriptions[0]
			return modules.Row{"topic": modules.TextPtr(last(s.TopicArn, ":")), "protocol": modules.TextPtr(s.Protocol),
				"endpoint": modules.TextPtr(s.Endpoint)}
		})},
	{table: "subscription", op: "sns:GetSubscriptionAttributes",
		when: of(func(out *sns.GetSubscriptionAttributesOutput) bool {
			return out.Attributes["SubscriptionArn"] != ""
		}),
		around: of(func(out *sns.GetSubscriptionAttributesOutput) []any {
			text := func(name string) *string { return awssdk.String(out.Attributes[name]) }
			listed := []snstypes.Subscription{{TopicArn: text("TopicArn"), SubscriptionArn: text("SubscriptionArn"),
				Protocol: text("Protocol"), Endpoint: text("Endpoint")}}
			return append(topicsOf(listed), &sns.ListSubscriptionsOutput{Subscriptions: listed})
		})},

	{table: "queue", op: "sqs:ListQueues", around: always(exampleQueue)},
	{table: "queue", op: "sqs:GetQueueAttributes",
		// It was asked for all attributes, as the reader asks.
		when: of(func(out *sqs.GetQueueAttributesOutput) bool {
			return out.Attributes["QueueArn"] != "" && out.Attributes["LastModifiedTimestamp"] != ""
		}),
		around: of(func(out *sqs.GetQueueAttributesOutput) []any {
			name := named(out.Attributes["QueueArn"], out.Attributes["FifoQueue"])
			return []any{&sqs.ListQueuesOutput{QueueUrls: []string{queueURL + *last(&name, ":")}}}
		})},
	{table: "queue", op: "sqs:ListQueueTags",
		around: always(&sqs.ListQueuesOutput{QueueUrls: []string{queueURL + "example"}}, exampleQueue)},
}

var (
	exampleBuses = &eventbridge.ListEventBusesOutput{EventBuses: []ebtypes.EventBus{{Name: example}}}
	exampleRules = &eventbridge.ListRulesOutput{Rules: []ebtypes.Rule{{
		Name: example, EventBusName: example, Arn: arn("events", "rule/example/example"),
		EventPattern: awssdk.String(`{"source": ["aws.ec2"]}`), State: ebtypes.RuleStateEnabled,
	}}}
)

const queueURL = "https://sqs.us-east-1.amazonaws.com/" + account + "/"

// named is an ARN that ends as those of FIFO topics and queues do if it is of one:
// the placeholder of a name does not say it.
func named(arn, fifo string) string {
	if fifo == "true" {
		arn = strings.TrimSuffix(arn, ".fifo") + ".fifo"
	}
	return arn
}

// topicsOf is a listing of the topics of subscriptions.
func topicsOf(subscriptions []snstypes.Subscription) []any {
	out := &sns.ListTopicsOutput{}
	for _, s := range subscriptions {
		out.Topics = append(out.Topics, snstypes.Topic{TopicArn: s.TopicArn})
	}
	return []any{out}
}

// exampleQueue answers with the attributes of a queue.
func exampleQueue(in *sqs.GetQueueAttributesInput) *sqs.GetQueueAttributesOutput {
	all := map[string]string{"VisibilityTimeout": "30", "DelaySeconds": "0", "ReceiveMessageWaitTimeSeconds": "0",
		"MessageRetentionPeriod": "345600", "MaximumMessageSize": "262144"}
	if strings.HasSuffix(awssdk.ToString(in.QueueUrl), ".fifo") {
		all["FifoQueue"] = "true"
	}
	return &sqs.GetQueueAttributesOutput{Attributes: all}
}

// storageReaders are those of S3.
var storageReaders = []reader{
	{table: "bucket", op: "s3:ListBuckets"},
	{table: "bucket", op: "s3:HeadBucket", when: of(func(out *s3.HeadBucketOutput) bool {
		return out.BucketRegion != nil
	}), get: func(any) modules.Row {
		return modules.Row{"name": modules.Text("example"), modules.ColumnRegion: modules.Text(region)}
	}},
	{table: "bucket", op: "s3:GetBucketLocation", around: always(exampleBuckets)},
	{table: "bucket", op: "s3:GetBucketVersioning", around: always(exampleBuckets)},
	{table: "bucket", op: "s3:GetBucketPolicy", around: always(exampleBuckets)},
	{table: "bucket", op: "s3:GetBucketTagging", around: always(exampleBuckets)},
	{table: "bucket_website", op: "s3:GetBucketWebsite", around: always(exampleBuckets)},
	{table: "public_access_block", op: "s3:GetPublicAccessBlock", around: always(exampleBuckets)},
	{table: "bucket_object", op: "s3:ListObjectsV2", around: always(exampleBuckets)},
	{table: "bucket_object", op: "s3:HeadObject",
		when: of(func(out *s3.HeadObjectOutput) bool {
			return out.ContentLength != nil && out.LastModified != nil && out.ContentRange == nil
		}),
		get: func(any) modules.Row {
			return modules.Row{"bucket_name": modules.Text("example"), "key": modules.Text("example")}
		}},
}

var exampleBuckets = &s3.ListBucketsOutput{Buckets: []s3types.Bucket{{Name: example, CreationDate: &moment}}}

// dnsReaders are those of Route 53.
var dnsReaders = []reader{
	{table: "hosted_zone", op: "route53:GetHostedZone",
		get: of(func(out *route53.GetHostedZoneOutput) modules.Row {
			return by("hosted_zone_id", last(out.HostedZone.Id, "/"))
		})},
	{table: "resource_record_set", op: "route53:ListResourceRecordSets", around: always(&route53.ListHostedZonesOutput{
		HostedZones: []route53types.HostedZone{{Id: awssdk.String("/hostedzone/Z1"),
			Name: awssdk.String("example.com.")}},
	})},
}

// lambdaReaders are those of Lambda.
var lambdaReaders = []reader{
	{table: "lambda_function", op: "lambda:GetFunction", anywhere: true,
		when: of(func(out *lambda.GetFunctionOutput) bool { return out.Configuration != nil }),
		get: of(func(out *lambda.GetFunctionOutput) modules.Row {
			return by("name", out.Configuration.FunctionName)
		})},
	{table: "lambda_function", op: "lambda:GetFunction", anywhere: true, at: "Configuration", when: of(isFunction),
		get: of(func(out *lambda.GetFunctionOutput) modules.Row { return by("name", out.Configuration.FunctionName) })},
	{table: "lambda_function_security_groups", op: "lambda:ListFunctions", at: "Functions",
		when: of(func(out *lambda.ListFunctionsOutput) bool {
			return isFunction(&lambda.GetFunctionOutput{Configuration: &out.Functions[0]}) &&
				out.Functions[0].VpcConfig != nil
		})},
}

// isFunction tells a function's configuration from what shares some members with
// it, such as the configuration of an alias.
func isFunction(out *lambda.GetFunctionOutput) bool {
	var c lambdatypes.FunctionConfiguration
	if out.Configuration != nil {
		c = *out.Configuration
	}
	return c.FunctionName != nil && c.FunctionArn != nil && c.MemorySize != nil
}
