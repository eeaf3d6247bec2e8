package awssqs

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"iasql/internal/aws"
	"iasql/internal/modules"
)

// send is the function sqs_send_message.
func send(c *aws.Clients) *modules.Function {
	return &modules.Function{
		Name:   "sqs_send_message",
		Doc:    "Sends a message to a queue.",
		Sample: `SELECT message_id FROM sqs_send_message('jobs', '{"job": 1}')`,
		Given:  `INSERT INTO queue (name) VALUES ('jobs')`,
		Table:  "queue",
		Right:  "UPDATE",
		Parameters: []modules.Parameter{
			{Name: "queue_name", Type: modules.TypeText, Names: "name", Doc: "The queue."},
			{Name: "message", Type: modules.TypeText, Doc: "The message."},
			{Name: "delay_seconds", Type: modules.TypeInteger, Default: "NULL",
				Doc: "After how many seconds it can be received; the queue's delay if left out."},
			{Name: "message_attributes", Type: modules.TypeJSON, Default: "NULL",
				Doc: "Its attributes, a JSON object of strings."},
			{Name: "message_group_id", Type: modules.TypeText, Default: "NULL",
				Doc: "Its group; needed for FIFO queues, whose messages of one group stay in order."},
			{Name: "message_deduplication_id", Type: modules.TypeText, Default: "NULL",
				Doc: "Of FIFO queues: messages with the same id are one."},
		},
		Returns: []modules.Result{
			{Name: "message_id", Type: modules.TypeText, Doc: "The message's id."},
			{Name: "sequence_number", Type: modules.TypeText, Doc: "Its number, of FIFO queues."},
		},
		Call: func(ctx context.Context, i modules.Invocation) ([]modules.Row, error) {
			c, scope, args := c.Permitted(i.Permit), i.Scope, i.Arguments
			client, err := c.SQS(ctx, scope)
			if err != nil {
				return nil, err
			}
			url, err := client.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: args["queue_name"].Ptr()})
			if err != nil {
				return nil, err
			}
			in := &sqs.SendMessageInput{
				QueueUrl: url.QueueUrl, MessageBody: args["message"].Ptr(),
				MessageGroupId:         args["message_group_id"].Ptr(),
				MessageDeduplicationId: args["message_deduplication_id"].Ptr(),
				MessageAttributes:      map[string]sqstypes.MessageAttributeValue{},
			}
			if delay := args["delay_seconds"]; !delay.IsNull() {
				in.DelaySeconds = *delay.Int32Ptr()
			}
			kind := "String"
			for name, value := range args["message_attributes"].StringMap() {
				in.MessageAttributes[name] = sqstypes.MessageAttributeValue{DataType: &kind, StringValue: &value}
			}
			out, err := client.SendMessage(ctx, in)
			if err != nil {
				return nil, err
			}
			return []modules.Row{{"message_id": modules.TextPtr(out.MessageId),
				"sequence_number": modules.TextPtr(out.SequenceNumber)}}, nil
		},
	}
}
