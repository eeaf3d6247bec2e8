package awssns

import (
	"context"
	"slices"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	snstypes "github.com/aws/aws-sdk-go-v2/service/sns/types"

	"iasql/internal/aws"
	"iasql/internal/modules"
)

// What listings hold in place of the ARN.
const (
	pending = "PendingConfirmation"
	deleted = "Deleted"
)

// subscription is the table subscription.
type subscription struct {
	clients     *aws.Clients
	description *modules.Table
}

func newSubscription(c *aws.Clients) *subscription {
	return &subscription{clients: c, description: describeSubscription()}
}

// settings are the columns that SetSubscriptionAttributes changes, one a call,
// and what sets an attribute back. The scope stands before the policy that is
// read by it.
var settings = []struct{ column, name, none string }{
	{"raw_message_delivery", "RawMessageDelivery", "false"},
	{"filter_policy_scope", "FilterPolicyScope", "MessageAttributes"},
	{"filter_policy", "FilterPolicy", "{}"},
	{"redrive_policy", "RedrivePolicy", ""},
	{"subscription_role_arn", "SubscriptionRoleArn", ""},
}

func describeSubscription() *modules.Table {
	return &modules.Table{
		Name: "subscription",
		Doc: "Subscriptions: where the messages of a topic are delivered. One that its endpoint has to confirm (email, http) has no arn until then, " +
			"can be neither changed nor deleted, and is removed by AWS if nobody confirms it. Subscriptions to topics of other accounts are not shown.",
		Provider: aws.Provider,
		Reach:    modules.PerRegion,
		Creation: modules.ByName,
		Columns: aws.Regional(
			modules.Column{Name: "topic", Type: modules.TypeText, Required: true, Identity: true, CreateOnly: true,
				References: &modules.Reference{Table: "topic", Key: "name", ByKey: true, Part: modules.PartFirst},
				Doc:        "The topic, by its name (by its ARN in IaSQL, which a topic of the same transaction does not have yet). Deleting it deletes its subscriptions."},
			modules.Column{Name: "protocol", Type: modules.TypeText, Required: true, Identity: true, CreateOnly: true,
				Enum: []string{"http", "https", "email", "email-json", "sms", "sqs", "application", "lambda", "firehose"},
				Doc:  "How messages are delivered."},
			modules.Column{Name: "endpoint", Type: modules.TypeText, Required: true, Identity: true, CreateOnly: true,
				Doc: "Where to: a URL, an address, a number, or an ARN, as the protocol needs."},
			modules.Column{Name: "raw_message_delivery", Type: modules.TypeBool, Required: true, Default: "false",
				Doc: "Whether SQS, Firehose and HTTP endpoints get the message alone, without what SNS wraps it in."},
			modules.Column{Name: "filter_policy_scope", Type: modules.TypeText, Required: true, Default: "'MessageAttributes'",
				Enum: []string{"MessageAttributes", "MessageBody"}, Doc: "What filter_policy looks at."},
			modules.Column{Name: "filter_policy", Type: modules.TypeJSON, EmptyIsNull: true, Check: `jsonb_typeof(filter_policy) = 'object'`,
				Doc: "Which messages are delivered. NULL: all."},
			modules.Column{Name: "redrive_policy", Type: modules.TypeJSON, EmptyIsNull: true, Check: `jsonb_typeof(redrive_policy) = 'object'`,
				Doc: `Where undeliverable messages go, such as {"deadLetterTargetArn": "arn:aws:sqs:…"}.`},
			modules.Column{Name: "subscription_role_arn", Type: modules.TypeText,
				Doc: "The ARN of the role with which SNS writes to Firehose, which only firehose has and needs."},
			modules.Column{Name: "arn", Type: modules.TypeText, Assigned: true,
				Doc: "Its Amazon Resource Name (ARN); NULL until it is confirmed."},
		),
		Checks: []string{
			`filter_policy IS NOT NULL OR filter_policy_scope = 'MessageAttributes'`,
			`(protocol = 'firehose') = (subscription_role_arn IS NOT NULL)`,
		},
	}
}

// Table returns the description.
func (r *subscription) Table() *modules.Table { return r.description }

// List gives every subscription of the scope to a topic of the account to page.
// AWS lists subscriptions for days after their topic is gone.
func (r *subscription) List(ctx context.Context, scope modules.Scope, page func([]modules.Row) error) error {
	c, err := client(ctx, r.clients, scope)
	if err != nil {
		return err
	}
	topics := map[string]bool{}
	err = aws.Pages(ctx, sns.NewListTopicsPaginator(c, &sns.ListTopicsInput{}), func(out *sns.ListTopicsOutput) error {
		for _, t := range out.Topics {
			topics[awssdk.ToString(t.TopicArn)] = true
		}
		return nil
	})
	if err != nil {
		return err
	}
	return aws.Pages(ctx, sns.NewListSubscriptionsPaginator(c, &sns.ListSubscriptionsInput{}), func(out *sns.ListSubscriptionsOutput) error {
		subscriptions := slices.DeleteFunc(out.Subscriptions, func(s snstypes.Subscription) bool { return !topics[awssdk.ToString(s.TopicArn)] })
		rows, err := readSubscriptions(ctx, c, subscriptions)
		if err != nil {
			return err
		}
		return page(rows)
	})
}

// Get reads these subscriptions, with one listing for each topic.
func (r *subscription) Get(ctx context.Context, scope modules.Scope, identities []modules.Row) ([]modules.Row, error) {
	c, err := client(ctx, r.clients, scope)
	if err != nil {
		return nil, err
	}
	wanted := map[string]bool{}
	for _, identity := range identities {
		key, _ := r.description.Key(identity)
		wanted[key] = true
	}
	topics := aws.Column(identities, "topic")
	slices.Sort(topics)
	collect, rows := aws.Collector()
	err = aws.Each(ctx, aws.Breadth, slices.Compact(topics), func(ctx context.Context, topic string) error {
		arn, err := topicARN(ctx, r.clients, scope, topic)
		if err != nil {
			return err
		}
		return aws.IfExists(aws.Pages(ctx, sns.NewListSubscriptionsByTopicPaginator(c, &sns.ListSubscriptionsByTopicInput{TopicArn: &arn}),
			func(out *sns.ListSubscriptionsByTopicOutput) error {
				some, err := readSubscriptions(ctx, c, slices.DeleteFunc(out.Subscriptions, func(s snstypes.Subscription) bool {
					key, _ := r.description.Key(identityOf(s))
					return !wanted[key]
				}))
				if err != nil {
					return err
				}
				return collect(some)
			}))
	})
	return rows(), err
}

func identityOf(s snstypes.Subscription) modules.Row {
	return modules.Row{"topic": modules.Text(nameOf(s.TopicArn)), "protocol": modules.TextPtr(s.Protocol), "endpoint": modules.TextPtr(s.Endpoint)}
}

// readSubscriptions reads what listings leave out. Of subscriptions that are not
// confirmed nothing more can be read.
func readSubscriptions(ctx context.Context, c *sns.Client, list []snstypes.Subscription) ([]modules.Row, error) {
	return aws.Read(ctx, list, func(ctx context.Context, s snstypes.Subscription) (modules.Row, error) {
		row := identityOf(s)
		switch awssdk.ToString(s.SubscriptionArn) {
		case deleted:
			return nil, nil
		case pending:
			row["arn"] = modules.Null
			return row, nil
		}
		row["arn"] = modules.TextPtr(s.SubscriptionArn)
		out, err := c.GetSubscriptionAttributes(ctx, &sns.GetSubscriptionAttributesInput{SubscriptionArn: s.SubscriptionArn})
		if err != nil {
			return nil, err
		}
		for _, a := range settings {
			value := out.Attributes[a.name]
			if value == "" {
				value = a.none
			}
			switch {
			case a.column == "raw_message_delivery":
				row[a.column] = modules.Bool(isTrue(value))
			case strings.HasSuffix(a.column, "_policy") && (value == "" || value == "{}"):
				row[a.column] = modules.Null
			case strings.HasSuffix(a.column, "_policy"):
				row[a.column] = aws.Policy(&value)
			default:
				row[a.column] = modules.NonEmpty(value)
			}
		}
		return row, nil
	})
}

// Create subscribes an endpoint, which may have to confirm it.
func (r *subscription) Create(ctx context.Context, scope modules.Scope, want modules.Row, _ string) (modules.Row, error) {
	c, err := client(ctx, r.clients, scope)
	if err != nil {
		return nil, err
	}
	arn, err := topicARN(ctx, r.clients, scope, want["topic"].String())
	if err != nil {
		return nil, err
	}
	attrs := map[string]string{}
	for _, a := range settings {
		if v := want[a.column].String(); v != "" && v != a.none {
			attrs[a.name] = v
		}
	}
	_, err = c.Subscribe(ctx, &sns.SubscribeInput{
		TopicArn: &arn, Protocol: want["protocol"].Ptr(), Endpoint: want["endpoint"].Ptr(), Attributes: attrs,
	})
	if err != nil {
		return nil, err
	}
	return modules.Row{"topic": want["topic"], "protocol": want["protocol"], "endpoint": want["endpoint"]}, nil
}

// Update changes attributes, one a call.
func (r *subscription) Update(ctx context.Context, scope modules.Scope, have, want modules.Row, columns []string) error {
	c, err := client(ctx, r.clients, scope)
	if err != nil {
		return err
	}
	for _, a := range settings {
		if !slices.Contains(columns, a.column) {
			continue
		}
		value := want[a.column].String()
		if value == "" {
			value = a.none
		}
		_, err := c.SetSubscriptionAttributes(ctx, &sns.SetSubscriptionAttributesInput{
			SubscriptionArn: have["arn"].Ptr(), AttributeName: awssdk.String(a.name), AttributeValue: &value,
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Delete ends a subscription.
func (r *subscription) Delete(ctx context.Context, scope modules.Scope, have modules.Row) error {
	c, err := client(ctx, r.clients, scope)
	if err != nil {
		return err
	}
	if have["arn"].IsNull() { // only the identity is known, or it was not confirmed when it was read
		rows, err := r.Get(ctx, scope, []modules.Row{have})
		if err != nil || len(rows) == 0 {
			return err
		}
		have = rows[0]
	}
	if have["arn"].IsNull() {
		return &modules.Error{Class: modules.Dependency, Code: pending,
			Message: "the endpoint has not confirmed the subscription, and until then it cannot be ended (page Unsubscribe); AWS removes it after two days"}
	}
	_, err = c.Unsubscribe(ctx, &sns.UnsubscribeInput{SubscriptionArn: have["arn"].Ptr()})
	return aws.IfExists(err)
}
