package awssns

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/sns"
	snstypes "github.com/aws/aws-sdk-go-v2/service/sns/types"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

// newTopic declares the table topic. The limits and defaults are those of the
// page SetTopicAttributes. What AWS does not send of attributes is as usual.
func newTopic(c *aws.Clients) *declare.Resource {
	read := declare.Call((*sns.Client).GetTopicAttributes, declare.Proves())
	attribute := func(kind modules.Type, name, attribute, doc string) declare.Column {
		return declare.Of(kind, name, "Attributes["+attribute+"]", doc).From(read)
	}
	return declare.New(c, declare.Table[snstypes.Topic]{
		Name: "topic",
		Doc: "Topics, to which messages are published. Deleting one deletes its subscriptions. " +
			"IaSQL's column data_protection_policy is missing: AWS has offered message data protection to no new " +
			"customers since April 30, 2026, and for everyone else, reading it would be one more call for every topic.",
		Service: declare.Service(sns.NewFromConfig),
		Columns: []declare.Column{
			declare.Name("name", "TopicArn",
				"The topic's name, up to 256 letters, digits, hyphens and underscores; that of a FIFO topic ends "+
					"in .fifo.").
				As(declare.LastPart(":")).In("Name").Check(
				`name ~ '^[A-Za-z0-9_-]+(\.fifo)?$' AND length(name) <= 256`),
			attribute(modules.TypeBool, "fifo_topic", "FifoTopic", "Whether messages are delivered in order and once.").
				Default("false").CreateOnly().Usual(modules.Bool(false)),
			attribute(modules.TypeText, "display_name", "DisplayName",
				"The sender's name in mails and text messages.").Length(1, 100),
			declare.Policy("Attributes[Policy]",
				"Who may do what with the topic: an access policy document. Left out, AWS gives it one for the "+
					"account alone.").From(read).OptionalComputed(),
			attribute(modules.TypeJSON, "delivery_policy", "DeliveryPolicy",
				"How deliveries to HTTP endpoints are tried again. NULL: as AWS does.").
				Same(sameDelivery).Check(`jsonb_typeof(delivery_policy) = 'object'`),
			attribute(modules.TypeText, "tracing_config", "TracingConfig",
				"Active: deliveries are traced with X-Ray. Default PassThrough.").
				Default("'PassThrough'").OneOf("PassThrough", "Active").Usual(modules.Text("PassThrough")),
			attribute(modules.TypeText, "kms_master_key_id", "KmsMasterKeyId",
				"The key that encrypts messages at rest, such as alias/aws/sns. NULL: they are not."),
			attribute(modules.TypeText, "signature_version", "SignatureVersion",
				"How messages are signed: 1 with SHA-1, 2 with SHA-256. Default 1, as in AWS.").
				Default("'1'").OneOf("1", "2").Usual(modules.Text("1")),
			attribute(modules.TypeBool, "content_based_deduplication", "ContentBasedDeduplication",
				"Whether messages of a FIFO topic are told apart by their content.").
				Default("false").Usual(modules.Bool(false)),
			attribute(modules.TypeJSON, "archive_policy", "ArchivePolicy",
				`For how many days a FIFO topic keeps messages, to be replayed: {"MessageRetentionPeriod": "30"}. NULL: it keeps none.`).
				EmptyIsNull().Unset(modules.Text("{}")).Since(2),
			attribute(modules.TypeText, "fifo_throughput_scope", "FifoThroughputScope",
				"What the limit of messages a second of a FIFO topic is of: Topic or MessageGroup; AWS decides if "+
					"left out.").
				OptionalComputed().OneOf("Topic", "MessageGroup").Since(2),
			declare.JSON("delivery_status_logging", "Attributes",
				`Which deliveries are logged to CloudWatch Logs: [{"Protocol": "sqs", "SuccessFeedbackRoleArn": "arn:…", "SuccessFeedbackSampleRate": "100", "FailureFeedbackRoleArn": "arn:…"}], of the protocols http/s, sqs, lambda, firehose and application.`).
				As(logging).From(read).Unordered().EmptyIsNull().Same(sameLogging).Since(2),
			declare.ARN("arn", "TopicArn").Doc("Its Amazon Resource Name (ARN); NULL until it is created."),
			declare.Tags("Tags", (*sns.Client).TagResource,
				(*sns.Client).UntagResource).From(declare.Call((*sns.Client).ListTagsForResource)).Together("sns",
				"arn"),
		},
		Published: declare.Published{Type: "AWS::SNS::Topic", Since: 2,
			Columns: map[string]string{"Subscription": "subscription", "TopicName": "name"},
			Without: map[string]string{
				"DataProtectionPolicy": "AWS has offered message data protection to no new customers since April " +
					"30, 2026",
			},
		},
		Checks: []string{`fifo_topic = (name LIKE '%.fifo')`, `fifo_topic OR NOT content_based_deduplication`},

		EventMappings: modules.EventMappings("sns.amazonaws.com",
			modules.Request("topicArn", "AddPermission", "RemovePermission"),
			modules.Request("resourceArn", "PutDataProtectionPolicy"),
		),
		List: topics(),
		Get: declare.GetEach(func(ctx context.Context, s *declare.Step, identity modules.Row) (snstypes.Topic, error) {
			arn, err := topicARN(ctx, s.Clients, s.Scope, identity["name"].String())
			return snstypes.Topic{TopicArn: &arn}, err
		}),
		Create: declare.Call((*sns.Client).CreateTopic, declare.Failed(exists)),
		Updates: []declare.Update{declare.Attributes(declare.Call((*sns.Client).SetTopicAttributes), "AttributeName",
			"AttributeValue",
			"display_name", "policy", "delivery_policy", "tracing_config", "kms_master_key_id", "signature_version",
			"content_based_deduplication", "archive_policy", "fifo_throughput_scope"),
			declare.By(setLogging, "delivery_status_logging")},
		Delete: declare.Call((*sns.Client).DeleteTopic),
	})
}

func topics() *declare.Listing { return declare.Pages(sns.NewListTopicsPaginator, "Topics") }

// topicARN returns the ARN of a topic, by which alone it can be asked for.
func topicARN(ctx context.Context, c *aws.Clients, scope modules.Scope, name string) (string, error) {
	account, err := c.AccountID(ctx, scope)
	if err != nil {
		return "", err
	}
	partition := "aws"
	switch {
	case strings.HasPrefix(scope.Region, "cn-"):
		partition = "aws-cn"
	case strings.HasPrefix(scope.Region, "us-gov-"):
		partition = "aws-us-gov"
	}
	return fmt.Sprintf("arn:%s:sns:%s:%s:%s", partition, scope.Region, account, name), nil
}

// exists tells that there is a topic of the name, or a subscription of the
// endpoint, with attributes or tags that differ: the code is InvalidParameter. It
// is adopted, and changed.
func exists(_ context.Context, _ *declare.Step, err error) error {
	var e *modules.Error
	if errors.As(err, &e) && e.Class == modules.Invalid && strings.Contains(e.Message, "already exists") {
		return &modules.Error{Class: modules.Exists, Code: e.Code, Message: e.Message, Err: err}
	}
	return err
}
