package awssns

import (
	"context"
	"maps"
	"slices"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	snstypes "github.com/aws/aws-sdk-go-v2/service/sns/types"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

// What listings hold in place of the ARN.
const (
	pending = "PendingConfirmation"
	deleted = "Deleted"
)

// newSubscription declares the table subscription. Of one that is not confirmed
// AWS tells no attributes.
func newSubscription(c *aws.Clients) *declare.Resource {
	read := declare.Call((*sns.Client).GetSubscriptionAttributes, declare.Only(func(row modules.Row) bool {
		return !row["arn"].IsNull()
	}))
	attribute := func(kind modules.Type, name, attribute, doc string) declare.Column {
		return declare.Of(kind, name, "Attributes["+attribute+"]", doc).From(read)
	}
	return declare.New(c, declare.Table[snstypes.Subscription]{
		Name: "subscription",
		Doc: "Subscriptions: where the messages of a topic are delivered. One that its endpoint has to confirm " +
			"(email, http) has no arn until then, " +
			"can be neither changed nor deleted, and is removed by AWS if nobody confirms it. Subscriptions to " +
			"topics of other accounts are not shown.",
		Service: declare.Service(sns.NewFromConfig),
		Columns: []declare.Column{
			declare.Ref("topic", "TopicArn", "topic", "name",
				"The topic, by its name (by its ARN in IaSQL, which a topic of the same transaction does not have "+
					"yet). Deleting it deletes its subscriptions.").
				ByKey().Part(modules.PartFirst, "").Required().Identity().CreateOnly().As(declare.LastPart(":")),
			declare.Name("protocol", "Protocol", "How messages are delivered.").
				OneOf("http", "https", "email", "email-json", "sms", "sqs", "application", "lambda", "firehose"),
			declare.Name("endpoint", "Endpoint",
				"Where to: a URL, an address, a number, or an ARN, as the protocol needs."),
			attribute(modules.TypeBool, "raw_message_delivery", "RawMessageDelivery",
				"Whether SQS, Firehose and HTTP endpoints get the message alone, without what SNS wraps it in.").
				Default("false").Usual(modules.Bool(false)),
			attribute(modules.TypeText, "filter_policy_scope", "FilterPolicyScope", "What filter_policy looks at.").
				Default("'MessageAttributes'").OneOf("MessageAttributes",
				"MessageBody").Usual(modules.Text("MessageAttributes")),
			attribute(modules.TypeJSON, "filter_policy", "FilterPolicy", "Which messages are delivered. NULL: all.").
				EmptyIsNull().Check(`jsonb_typeof(filter_policy) = 'object'`).Unset(modules.Text("{}")),
			attribute(modules.TypeJSON, "redrive_policy", "RedrivePolicy",
				`Where undeliverable messages go, such as {"deadLetterTargetArn": "arn:aws:sqs:…"}.`).
				EmptyIsNull().Check(`jsonb_typeof(redrive_policy) = 'object'`),
			attribute(modules.TypeText, "subscription_role_arn", "SubscriptionRoleArn",
				"The ARN of the role with which SNS writes to Firehose, which only firehose has and needs."),
			attribute(modules.TypeJSON, "delivery_policy", "DeliveryPolicy",
				"How deliveries to an HTTP endpoint are tried again, instead of as the topic says. NULL: as "+
					"that says.").
				EmptyIsNull().Check(`jsonb_typeof(delivery_policy) = 'object'`).Same(sameRetries).
				Since(2),
			attribute(modules.TypeJSON, "replay_policy", "ReplayPolicy",
				`What the topic has archived and is delivered again: {"PointType": "Timestamp", "StartingPoint": "2026-01-02T03:04:05.000Z"}. NULL: nothing.`).
				EmptyIsNull().Check(`jsonb_typeof(replay_policy) = 'object'`).Since(2),
			declare.ARN("arn", "SubscriptionArn").Doc("Its Amazon Resource Name (ARN); NULL until it is confirmed.").As(
				confirmed),
		},
		Published: declare.Published{Type: "AWS::SNS::Subscription", Since: 2,
			Columns: map[string]string{"TopicArn": "topic"},
			Without: map[string]string{"Region": "topic says it: a subscription is to a topic of its own region"},
		},
		Checks: []string{
			`filter_policy IS NOT NULL OR filter_policy_scope = 'MessageAttributes'`,
			`(protocol = 'firehose') = (subscription_role_arn IS NOT NULL)`,
		},

		EventMappings: modules.EventMappings("sns.amazonaws.com",
			modules.Response("subscriptionArn", "Subscribe", "ConfirmSubscription").In("arn"),
		),
		List: declare.ListBy(listSubscriptions),
		Get:  declare.GetBy(getSubscriptions),
		Gone: func(s *snstypes.Subscription) bool { return awssdk.ToString(s.SubscriptionArn) == deleted },
		Create: declare.Call((*sns.Client).Subscribe, declare.Failed(exists),
			declare.Edit(func(ctx context.Context, s *declare.Step, in *sns.SubscribeInput) error {
				arn, err := topicARN(ctx, s.Clients, s.Scope, s.Want["topic"].String())
				in.TopicArn = &arn
				return err
			})),
		// The scope stands before the policy that is read by it.
		Updates: []declare.Update{declare.Attributes(declare.Call((*sns.Client).SetSubscriptionAttributes),
			"AttributeName", "AttributeValue",
			"raw_message_delivery", "filter_policy_scope", "filter_policy", "redrive_policy", "subscription_role_arn",
			"delivery_policy", "replay_policy")},
		Delete: declare.Call((*sns.Client).Unsubscribe,
			declare.Edit(func(_ context.Context, _ *declare.Step, in *sns.UnsubscribeInput) error {
				if in.SubscriptionArn != nil {
					return nil
				}
				return &modules.Error{Class: modules.Dependency, Code: pending,
					Message: "the endpoint has not confirmed the subscription, and until then it cannot be " +
						"ended (page Unsubscribe); AWS removes it after two days"}
			})),
	})
}

// confirmed reads what is no ARN as none.
var confirmed = declare.Unless(func(arn string) bool { return !strings.HasPrefix(arn, "arn:") })

// listSubscriptions lists the subscriptions to topics of the account: AWS lists
// them for days after their topic is gone.
func listSubscriptions(ctx context.Context, s *declare.Step, page func([]snstypes.Subscription) error) error {
	all, err := declare.All[snstypes.Topic](ctx, s, topics())
	if err != nil {
		return err
	}
	there := map[string]bool{}
	for _, topic := range all {
		there[awssdk.ToString(topic.TopicArn)] = true
	}
	return declare.Walk(ctx, s, declare.Pages(sns.NewListSubscriptionsPaginator, "Subscriptions"),
		func(some []snstypes.Subscription) error {
			return page(slices.DeleteFunc(some, func(s snstypes.Subscription) bool {
				return !there[awssdk.ToString(s.TopicArn)]
			}))
		})
}

// getSubscriptions reads these subscriptions, with one listing for each topic.
func getSubscriptions(ctx context.Context, s *declare.Step, identities []modules.Row) ([]snstypes.Subscription, error) {
	byTopic := map[string][]modules.Row{}
	for _, identity := range identities {
		topic := identity["topic"].String()
		byTopic[topic] = append(byTopic[topic], identity)
	}
	found, err := declare.ReadEach(ctx, s, slices.Collect(maps.Keys(byTopic)),
		func(ctx context.Context, topic string) ([]snstypes.Subscription, error) {
			arn, err := topicARN(ctx, s.Clients, s.Scope, topic)
			if err != nil {
				return nil, err
			}
			all, err := declare.All[snstypes.Subscription](ctx, s,
				declare.Pages(sns.NewListSubscriptionsByTopicPaginator, "Subscriptions",
					declare.With(&sns.ListSubscriptionsByTopicInput{TopicArn: &arn})))
			return slices.DeleteFunc(all, func(subscription snstypes.Subscription) bool {
				return !slices.ContainsFunc(byTopic[topic], func(identity modules.Row) bool {
					return identity["protocol"].String() == awssdk.ToString(subscription.Protocol) &&
						identity["endpoint"].String() == awssdk.ToString(subscription.Endpoint)
				})
			}), err
		})
	return slices.Concat(found...), err
}
