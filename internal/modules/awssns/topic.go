package awssns

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	snstypes "github.com/aws/aws-sdk-go-v2/service/sns/types"

	"iasql/internal/aws"
	"iasql/internal/modules"
)

var snsTags = aws.TagType[snstypes.Tag]{
	Split: func(t snstypes.Tag) (key, value *string) { return t.Key, t.Value },
	Join:  func(key, value *string) snstypes.Tag { return snstypes.Tag{Key: key, Value: value} },
}

// topic is the table topic.
type topic struct {
	clients     *aws.Clients
	description *modules.Table
}

func newTopic(c *aws.Clients) *topic { return &topic{clients: c, description: describeTopic()} }

// attributes are the columns that SetTopicAttributes changes, one a call. What
// AWS does not send is as usual: that is the default, which is also what sets
// an attribute back.
var attributes = []struct{ column, name, usual string }{
	{"display_name", "DisplayName", ""},
	{"policy", "Policy", ""},
	{"delivery_policy", "DeliveryPolicy", ""},
	{"tracing_config", "TracingConfig", "PassThrough"},
	{"kms_master_key_id", "KmsMasterKeyId", ""},
	{"signature_version", "SignatureVersion", "1"},
	{"content_based_deduplication", "ContentBasedDeduplication", "false"},
}

// The limits and defaults are those of the page SetTopicAttributes.
func describeTopic() *modules.Table {
	policy := aws.PolicyColumn("Who may do what with the topic: an access policy document. Left out, AWS gives it one for the account alone.")
	policy.Chosen = true
	return &modules.Table{
		Name: "topic",
		Doc: "Topics, to which messages are published. Deleting one deletes its subscriptions. " +
			"IaSQL's column data_protection_policy is missing: AWS has offered message data protection to no new customers since April 30, 2026, " +
			"and for everyone else, reading it would be one more call for every topic.",
		Provider: aws.Provider,
		Reach:    modules.PerRegion,
		Creation: modules.ByName,
		Columns: aws.Regional(
			modules.Column{Name: "name", Type: modules.TypeText, Required: true, Identity: true, CreateOnly: true,
				Check: `name ~ '^[A-Za-z0-9_-]+(\.fifo)?$' AND length(name) <= 256`,
				Doc:   "The topic's name, up to 256 letters, digits, hyphens and underscores; that of a FIFO topic ends in .fifo."},
			modules.Column{Name: "fifo_topic", Type: modules.TypeBool, Required: true, Default: "false", CreateOnly: true,
				Doc: "Whether messages are delivered in order and once."},
			modules.Column{Name: "display_name", Type: modules.TypeText, Check: "length(display_name) BETWEEN 1 AND 100",
				Doc: "The sender's name in mails and text messages."},
			policy,
			modules.Column{Name: "delivery_policy", Type: modules.TypeJSON, Check: `jsonb_typeof(delivery_policy) = 'object'`,
				Doc: "How deliveries to HTTP endpoints are tried again. NULL: as AWS does."},
			modules.Column{Name: "tracing_config", Type: modules.TypeText, Required: true, Default: "'PassThrough'", Enum: []string{"PassThrough", "Active"},
				Doc: "Active: deliveries are traced with X-Ray. Default PassThrough."},
			modules.Column{Name: "kms_master_key_id", Type: modules.TypeText,
				Doc: "The key that encrypts messages at rest, such as alias/aws/sns. NULL: they are not."},
			modules.Column{Name: "signature_version", Type: modules.TypeText, Required: true, Default: "'1'", Enum: []string{"1", "2"},
				Doc: "How messages are signed: 1 with SHA-1, 2 with SHA-256. Default 1, as in AWS."},
			modules.Column{Name: "content_based_deduplication", Type: modules.TypeBool, Required: true, Default: "false",
				Doc: "Whether messages of a FIFO topic are told apart by their content."},
			modules.Column{Name: "arn", Type: modules.TypeText, Assigned: true, Doc: "Its Amazon Resource Name (ARN); NULL until it is created."},
			aws.TagsColumn(),
		),
		Checks: []string{`fifo_topic = (name LIKE '%.fifo')`, `fifo_topic OR NOT content_based_deduplication`},
	}
}

// Table returns the description.
func (r *topic) Table() *modules.Table { return r.description }

// List gives every topic of the scope to page.
func (r *topic) List(ctx context.Context, scope modules.Scope, page func([]modules.Row) error) error {
	c, err := client(ctx, r.clients, scope)
	if err != nil {
		return err
	}
	return aws.Pages(ctx, sns.NewListTopicsPaginator(c, &sns.ListTopicsInput{}), func(out *sns.ListTopicsOutput) error {
		rows, err := aws.Read(ctx, out.Topics, func(ctx context.Context, t snstypes.Topic) (modules.Row, error) {
			return readTopic(ctx, c, awssdk.ToString(t.TopicArn))
		})
		if err != nil {
			return err
		}
		return page(rows)
	})
}

// Get reads the topics with these names.
func (r *topic) Get(ctx context.Context, scope modules.Scope, identities []modules.Row) ([]modules.Row, error) {
	c, err := client(ctx, r.clients, scope)
	if err != nil {
		return nil, err
	}
	return aws.Read(ctx, identities, func(ctx context.Context, identity modules.Row) (modules.Row, error) {
		arn, err := topicARN(ctx, r.clients, scope, identity["name"].String())
		if err != nil {
			return nil, err
		}
		return readTopic(ctx, c, arn)
	})
}

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

// nameOf returns the name of a topic from its ARN.
func nameOf(arn *string) string {
	s := awssdk.ToString(arn)
	return s[strings.LastIndexByte(s, ':')+1:]
}

// readTopic reads a topic's attributes and tags.
func readTopic(ctx context.Context, c *sns.Client, arn string) (modules.Row, error) {
	var (
		attrs *sns.GetTopicAttributesOutput
		tags  *sns.ListTagsForResourceOutput
	)
	err := aws.Together(ctx,
		func(ctx context.Context) (err error) {
			attrs, err = c.GetTopicAttributes(ctx, &sns.GetTopicAttributesInput{TopicArn: &arn})
			return err
		},
		func(ctx context.Context) (err error) {
			tags, err = c.ListTagsForResource(ctx, &sns.ListTagsForResourceInput{ResourceArn: &arn})
			return err
		})
	if err != nil {
		return nil, err
	}
	row := modules.Row{
		"name":       modules.Text(nameOf(&arn)),
		"fifo_topic": modules.Bool(isTrue(attrs.Attributes["FifoTopic"])),
		"arn":        modules.Text(arn),
		"tags":       snsTags.Value(tags.Tags),
	}
	for _, a := range attributes {
		value := attrs.Attributes[a.name]
		if value == "" {
			value = a.usual
		}
		switch a.column {
		case "policy", "delivery_policy":
			row[a.column] = aws.Policy(&value)
		case "content_based_deduplication":
			row[a.column] = modules.Bool(isTrue(value))
		default:
			row[a.column] = modules.NonEmpty(value)
		}
	}
	return row, nil
}

func isTrue(s string) bool { return strings.EqualFold(s, "true") }

// Create creates a topic with all that want says of it.
func (r *topic) Create(ctx context.Context, scope modules.Scope, want modules.Row, _ string) (modules.Row, error) {
	c, err := client(ctx, r.clients, scope)
	if err != nil {
		return nil, err
	}
	attrs := map[string]string{}
	for _, a := range attributes {
		if v := want[a.column].String(); v != "" && v != a.usual {
			attrs[a.name] = v
		}
	}
	if want["fifo_topic"].Bool() {
		attrs["FifoTopic"] = "true"
	}
	out, err := c.CreateTopic(ctx, &sns.CreateTopicInput{
		Name: want["name"].Ptr(), Attributes: attrs, Tags: snsTags.List(aws.TagsOf(want, "")),
	})
	var e *modules.Error
	if errors.As(err, &e) && e.Class == modules.Invalid && strings.Contains(e.Message, "already exists") {
		// The code is InvalidParameter, with attributes and with tags that differ.
		return nil, &modules.Error{Class: modules.Exists, Code: e.Code, Message: e.Message, Err: err}
	}
	if err != nil {
		return nil, err
	}
	return modules.Row{"name": want["name"], "arn": modules.TextPtr(out.TopicArn)}, nil
}

// Update changes attributes, one a call, and tags.
func (r *topic) Update(ctx context.Context, scope modules.Scope, have, want modules.Row, columns []string) error {
	c, err := client(ctx, r.clients, scope)
	if err != nil {
		return err
	}
	arn := have["arn"].Ptr()
	for _, a := range attributes {
		if !slices.Contains(columns, a.column) {
			continue
		}
		_, err := c.SetTopicAttributes(ctx, &sns.SetTopicAttributesInput{
			TopicArn: arn, AttributeName: awssdk.String(a.name), AttributeValue: awssdk.String(want[a.column].String()),
		})
		if err != nil {
			return err
		}
	}
	if !slices.Contains(columns, modules.ColumnTags) {
		return nil
	}
	return aws.UpdateTags(ctx, have, want,
		func(ctx context.Context, tags map[string]string) error {
			_, err := c.TagResource(ctx, &sns.TagResourceInput{ResourceArn: arn, Tags: snsTags.List(tags)})
			return err
		},
		func(ctx context.Context, keys []string) error {
			_, err := c.UntagResource(ctx, &sns.UntagResourceInput{ResourceArn: arn, TagKeys: keys})
			return err
		})
}

// Delete deletes a topic with its subscriptions.
func (r *topic) Delete(ctx context.Context, scope modules.Scope, have modules.Row) error {
	c, err := client(ctx, r.clients, scope)
	if err != nil {
		return err
	}
	arn, err := topicARN(ctx, r.clients, scope, have["name"].String())
	if err != nil {
		return err
	}
	_, err = c.DeleteTopic(ctx, &sns.DeleteTopicInput{TopicArn: &arn})
	return aws.IfExists(err)
}
