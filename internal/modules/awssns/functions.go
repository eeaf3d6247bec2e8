package awssns

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/sns"
	snstypes "github.com/aws/aws-sdk-go-v2/service/sns/types"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

// publish is the function sns_publish.
func publish(c *aws.Clients) *modules.Function {
	return &modules.Function{
		Name:   "sns_publish",
		Doc:    "Publishes a message to a topic.",
		Sample: `SELECT message_id FROM sns_publish('alerts', 'the disk is full', 'Disk')`,
		Given:  `INSERT INTO topic (name) VALUES ('alerts')`,
		Table:  "topic",
		Right:  "UPDATE",
		Parameters: []modules.Parameter{
			{Name: "topic_name", Type: modules.TypeText, Names: "name", Doc: "The topic."},
			{Name: "message", Type: modules.TypeText, Doc: "The message."},
			{Name: "subject", Type: modules.TypeText, Default: "NULL", Doc: "The subject of emails."},
			{Name: "message_attributes", Type: modules.TypeJSON, Default: "NULL",
				Doc: "Its attributes, a JSON object of strings, by which subscriptions can filter."},
			{Name: "message_group_id", Type: modules.TypeText, Default: "NULL",
				Doc: "Its group; needed for FIFO topics, whose messages of one group stay in order."},
			{Name: "message_deduplication_id", Type: modules.TypeText, Default: "NULL",
				Doc: "Of FIFO topics: messages with the same id are one."},
		},
		Returns: []modules.Result{
			{Name: "message_id", Type: modules.TypeText, Doc: "The message's id."},
			{Name: "sequence_number", Type: modules.TypeText, Doc: "Its number, of FIFO topics."},
		},
		Call: func(ctx context.Context, i modules.Invocation) ([]modules.Row, error) {
			c, scope, args := c.Permitted(i.Permit), i.Scope, i.Arguments
			arn, err := topicARN(ctx, c, scope, args["topic_name"].String())
			if err != nil {
				return nil, err
			}
			client, err := declare.Client(ctx, c, scope, sns.NewFromConfig)
			if err != nil {
				return nil, err
			}
			kind := "String"
			attributes := map[string]snstypes.MessageAttributeValue{}
			for name, value := range args["message_attributes"].StringMap() {
				attributes[name] = snstypes.MessageAttributeValue{DataType: &kind, StringValue: &value}
			}
			out, err := client.Publish(ctx, &sns.PublishInput{
				TopicArn: &arn, Message: args["message"].Ptr(), Subject: args["subject"].Ptr(),
				MessageAttributes:      attributes,
				MessageGroupId:         args["message_group_id"].Ptr(),
				MessageDeduplicationId: args["message_deduplication_id"].Ptr(),
			})
			if err != nil {
				return nil, err
			}
			return []modules.Row{{"message_id": modules.TextPtr(out.MessageId),
				"sequence_number": modules.TextPtr(out.SequenceNumber)}}, nil
		},
	}
}

// confirm is the function confirm_subscription.
func confirm(c *aws.Clients) *modules.Function {
	return &modules.Function{
		Name:   "confirm_subscription",
		Doc:    "Confirms a subscription with the token that was sent to its endpoint.",
		Sample: `SELECT confirm_subscription(arn, '2336412f37…') FROM topic WHERE name = 'alerts'`,
		Table:  "topic",
		Right:  "UPDATE",
		Parameters: []modules.Parameter{
			{Name: "topic_arn", Type: modules.TypeText, Names: "arn", Doc: "The topic's Amazon Resource Name (ARN)."},
			{Name: "token", Type: modules.TypeText, Doc: "The token."},
		},
		Returns: []modules.Result{
			{Name: "arn", Type: modules.TypeText, Doc: "The subscription's ARN."},
			{Name: "status", Type: modules.TypeText, Doc: "OK."},
		},
		Call: func(ctx context.Context, i modules.Invocation) ([]modules.Row, error) {
			c, scope, args := c.Permitted(i.Permit), i.Scope, i.Arguments
			client, err := declare.Client(ctx, c, scope, sns.NewFromConfig)
			if err != nil {
				return nil, err
			}
			out, err := client.ConfirmSubscription(ctx,
				&sns.ConfirmSubscriptionInput{TopicArn: args["topic_arn"].Ptr(), Token: args["token"].Ptr()})
			if err != nil {
				return nil, err
			}
			return []modules.Row{{"arn": modules.TextPtr(out.SubscriptionArn), "status": modules.Text("OK")}}, nil
		},
	}
}
