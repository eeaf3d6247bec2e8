package awssqs

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

// pageSize is the most results ListQueues gives a page. Without one, it ends
// after as many queues and does not tell.
const pageSize = 1000

// newQueue declares the table queue. The ranges and defaults are those of the
// page SetQueueAttributes of the Amazon SQS API Reference.
func newQueue(c *aws.Clients) *declare.Resource {
	attributes := declare.Call((*sqs.Client).GetQueueAttributes,
		declare.With(
			&sqs.GetQueueAttributesInput{AttributeNames: []sqstypes.QueueAttributeName{
				sqstypes.QueueAttributeNameAll}}))
	attribute := func(kind modules.Type, name, attribute, doc string) declare.Column {
		return declare.Of(kind, name, "Attributes["+attribute+"]", doc).From(attributes)
	}
	seconds := func(name, api, def string, least, most int, doc string) declare.Column {
		return attribute(modules.TypeInteger, name, api,
			fmt.Sprintf("%s, from %d to %d. Default %s.", doc, least, most, def)).Default(def).Between(least, most)
	}
	return declare.New(c, declare.Table[sqs.GetQueueUrlOutput]{
		Name:    "queue",
		Doc:     "Message queues.",
		Service: declare.Service(sqs.NewFromConfig),
		Columns: []declare.Column{
			declare.Name("name", "QueueUrl",
				"The queue's name: up to 80 letters, digits, hyphens and underscores; that of a FIFO queue ends "+
					"in .fifo.").
				As(declare.LastPart("/")).In("QueueName").Check(
				`name ~ '^[A-Za-z0-9_-]+(\.fifo)?$' AND length(name) <= 80`),
			attribute(modules.TypeBool, "fifo_queue", "FifoQueue",
				"Whether messages are delivered in order and exactly once.").
				// "false" is refused for standard queues (page CreateQueue)
				Default("false").CreateOnly().Usual(modules.Bool(false)),
			seconds("visibility_timeout", "VisibilityTimeout", "30", 0, 43200,
				"How many seconds a message that was received stays hidden from other receivers"),
			seconds("delay_seconds", "DelaySeconds", "0", 0, 900, "How many seconds a new message is held back"),
			seconds("receive_message_wait_time_seconds", "ReceiveMessageWaitTimeSeconds", "0", 0, 20,
				"How many seconds a receiver waits for a message"),
			seconds("message_retention_period", "MessageRetentionPeriod", "345600", 60, 1209600,
				"How many seconds a message is kept"),
			attribute(modules.TypeInteger, "maximum_message_size", "MaximumMessageSize",
				"How many bytes a message may have, from 1024 to 1048576. Default 1048576, as in AWS since 2025 "+
					"(IaSQL's was 262144, the most there was).").
				Default("1048576").Between(1024, 1048576),
			declare.Policy("Attributes[Policy]",
				"Who may do what with the queue: an access policy document. NULL: the account alone.").From(
				attributes).Unset(modules.Text("")),
			attribute(modules.TypeJSON, "redrive_policy", "RedrivePolicy",
				`Where messages go that were received too often without success: {"deadLetterTargetArn": "arn:aws:sqs:…", "maxReceiveCount": 5}. NULL: nowhere.`).
				EmptyIsNull().Check(`jsonb_typeof(redrive_policy) = 'object'`).Unset(modules.Text("")).Same(sameRedrive).
				Since(4),
			attribute(modules.TypeJSON, "redrive_allow_policy", "RedriveAllowPolicy",
				`Whose undeliverable messages the queue takes: {"redrivePermission": "byQueue", "sourceQueueArns": ["arn:aws:sqs:…"]}, denyAll or allowAll. NULL: all.`).
				EmptyIsNull().Check(`jsonb_typeof(redrive_allow_policy) = 'object'`).Unset(modules.Text("")).
				Same(sameRedrive).Since(4),
			attribute(modules.TypeText, "kms_master_key_id", "KmsMasterKeyId",
				"The KMS key that encrypts messages: an id, an ARN or an alias, such as alias/aws/sqs. NULL: "+
					"none does.").
				Unset(modules.Text("")).Same(declare.SameKey).Since(4),
			attribute(modules.TypeInteger, "kms_data_key_reuse_period_seconds", "KmsDataKeyReusePeriodSeconds",
				"How many seconds a data key of that KMS key is used, from 60 to 86400; 300 if left out.").
				OptionalComputed().Between(60, 86400).Since(4),
			attribute(modules.TypeBool, "sqs_managed_sse_enabled", "SqsManagedSseEnabled",
				"Whether messages are encrypted with keys that SQS manages; they are if left out, unless "+
					"kms_master_key_id does it.").OptionalComputed().Since(4),
			attribute(modules.TypeBool, "content_based_deduplication", "ContentBasedDeduplication",
				"Whether messages of a FIFO queue are told apart by their content; not if left out.").
				OptionalComputed().Since(4),
			attribute(modules.TypeText, "deduplication_scope", "DeduplicationScope",
				"Within what messages of a FIFO queue are told apart: queue, if left out, or messageGroup.").
				OptionalComputed().OneOf("queue", "messageGroup").Since(4),
			attribute(modules.TypeText, "fifo_throughput_limit", "FifoThroughputLimit",
				"What the limit of messages a second of a FIFO queue is of: perQueue, if left out, or "+
					"perMessageGroupId, which needs the deduplication_scope messageGroup.").
				OptionalComputed().OneOf("perQueue", "perMessageGroupId").Since(4),
			declare.Text("url", "QueueUrl",
				"The address at which the queue is used; NULL until it is created.").Computed().Key(),
			attribute(modules.TypeText, "arn", "QueueArn", "Its Amazon Resource Name (ARN).").Computed(),
			attribute(modules.TypeTime, "created_at", "CreatedTimestamp",
				"When it was created.").As(declare.Seconds).Incarnation().Since(3),
			declare.Tags("Tags", (*sqs.Client).TagQueue,
				(*sqs.Client).UntagQueue).From(declare.Call((*sqs.Client).ListQueueTags)).Together("sqs", "arn"),
		},
		Published: declare.Published{Type: "AWS::SQS::Queue", Since: 4},
		Checks:    []string{`fifo_queue = (name LIKE '%.fifo')`},

		EventMappings: modules.EventMappings("sqs.amazonaws.com",
			// Queues have URLs of several forms, of which who calls takes one.
			modules.Request("queueUrl", "AddPermission", "RemovePermission", "SetQueueAttributes",
				"DeleteQueue").After("/"),
			modules.Request("queueUrl", "TagQueue", "UntagQueue").After("/").Tags(),
		),
		List: declare.Pages(sqs.NewListQueuesPaginator, "QueueUrls", declare.PageSize(pageSize),
			declare.Convert(func(url string) sqs.GetQueueUrlOutput { return sqs.GetQueueUrlOutput{QueueUrl: &url} })),
		Get: declare.Told(declare.One(declare.Call((*sqs.Client).GetQueueUrl), ""),
			func(created modules.Row) *sqs.GetQueueUrlOutput {
				if created["url"].IsNull() {
					return nil
				}
				return &sqs.GetQueueUrlOutput{QueueUrl: created["url"].Ptr()}
			}),
		Create:  declare.Call((*sqs.Client).CreateQueue),
		Updates: []declare.Update{declare.Modify(declare.Call((*sqs.Client).SetQueueAttributes))},
		Delete:  declare.Call((*sqs.Client).DeleteQueue),
	})
}

// sameRedrive reports whether two redrive policies say the same. AWS takes a number as a text, too, and that all queues
// are allowed is what it means by no policy.
func sameRedrive(a, b string) bool {
	type policy struct {
		DeadLetterTargetArn string   `json:"deadLetterTargetArn"`
		MaxReceiveCount     any      `json:"maxReceiveCount"`
		RedrivePermission   string   `json:"redrivePermission"`
		SourceQueueArns     []string `json:"sourceQueueArns"`
	}
	read := func(text string) (string, error) {
		var p policy
		err := json.Unmarshal([]byte(text), &p)
		slices.Sort(p.SourceQueueArns)
		return fmt.Sprint(p), err
	}
	x, err := read(a)
	y, failed := read(b)
	return err == nil && failed == nil && x == y || a == b
}
