package awssqs

import (
	"context"
	"fmt"
	"path"
	"slices"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"iasql/internal/aws"
	"iasql/internal/modules"
)

// pageSize is the most results ListQueues gives a page.
const pageSize = 1000

// queue is the table queue.
type queue struct {
	clients     *aws.Clients
	description *modules.Table
}

func newQueue(c *aws.Clients) *queue { return &queue{clients: c, description: describeQueue()} }

// attributes are the columns that are numbers among a queue's attributes.
var attributes = []struct {
	column string
	name   sqstypes.QueueAttributeName
}{
	{"visibility_timeout", sqstypes.QueueAttributeNameVisibilityTimeout},
	{"delay_seconds", sqstypes.QueueAttributeNameDelaySeconds},
	{"receive_message_wait_time_seconds", sqstypes.QueueAttributeNameReceiveMessageWaitTimeSeconds},
	{"message_retention_period", sqstypes.QueueAttributeNameMessageRetentionPeriod},
	{"maximum_message_size", sqstypes.QueueAttributeNameMaximumMessageSize},
}

// The ranges and defaults are those of the page SetQueueAttributes of the
// Amazon SQS API Reference.
func describeQueue() *modules.Table {
	return &modules.Table{
		Name:     "queue",
		Doc:      "Message queues.",
		Provider: aws.Provider,
		Reach:    modules.PerRegion,
		Creation: modules.ByName,
		Columns: aws.Regional(
			modules.Column{Name: "name", Type: modules.TypeText, Required: true, Identity: true, CreateOnly: true,
				Check: `name ~ '^[A-Za-z0-9_-]+(\.fifo)?$' AND length(name) <= 80`,
				Doc:   "The queue's name: up to 80 letters, digits, hyphens and underscores; that of a FIFO queue ends in .fifo."},
			modules.Column{Name: "fifo_queue", Type: modules.TypeBool, Required: true, Default: "false", CreateOnly: true,
				Doc: "Whether messages are delivered in order and exactly once."},
			seconds("visibility_timeout", "30", 0, 43200, "How many seconds a message that was received stays hidden from other receivers"),
			seconds("delay_seconds", "0", 0, 900, "How many seconds a new message is held back"),
			seconds("receive_message_wait_time_seconds", "0", 0, 20, "How many seconds a receiver waits for a message"),
			seconds("message_retention_period", "345600", 60, 1209600, "How many seconds a message is kept"),
			modules.Column{Name: "maximum_message_size", Type: modules.TypeInteger, Required: true, Default: "1048576",
				Check: "maximum_message_size BETWEEN 1024 AND 1048576",
				Doc:   "How many bytes a message may have, from 1024 to 1048576. Default 1048576, as in AWS since 2025 (IaSQL's was 262144, the most there was)."},
			aws.PolicyColumn("Who may do what with the queue: an access policy document. NULL: the account alone."),
			modules.Column{Name: "url", Type: modules.TypeText, Assigned: true,
				Doc: "The address at which the queue is used; NULL until it is created."},
			modules.Column{Name: "arn", Type: modules.TypeText, Assigned: true,
				Doc: "Its Amazon Resource Name (ARN)."},
			aws.TagsColumn(),
		),
		Checks: []string{`fifo_queue = (name LIKE '%.fifo')`},
	}
}

func seconds(name, def string, least, most int, doc string) modules.Column {
	return modules.Column{
		Name: name, Type: modules.TypeInteger, Required: true, Default: def,
		Check: fmt.Sprintf("%s BETWEEN %d AND %d", name, least, most),
		Doc:   fmt.Sprintf("%s, from %d to %d. Default %s.", doc, least, most, def),
	}
}

// Table returns the description.
func (r *queue) Table() *modules.Table { return r.description }

// List gives every queue of the scope to page.
func (r *queue) List(ctx context.Context, scope modules.Scope, page func([]modules.Row) error) error {
	client, err := r.clients.SQS(ctx, scope)
	if err != nil {
		return err
	}
	// Without a page size, ListQueues ends after 1000 queues and does not tell.
	return aws.Pages(ctx, sqs.NewListQueuesPaginator(client, &sqs.ListQueuesInput{MaxResults: awssdk.Int32(pageSize)}),
		func(out *sqs.ListQueuesOutput) error {
			rows, err := aws.Read(ctx, out.QueueUrls, func(ctx context.Context, url string) (modules.Row, error) {
				return read(ctx, client, url)
			})
			if err != nil {
				return err
			}
			return page(rows)
		})
}

// Get reads the queues with these names.
func (r *queue) Get(ctx context.Context, scope modules.Scope, identities []modules.Row) ([]modules.Row, error) {
	client, err := r.clients.SQS(ctx, scope)
	if err != nil {
		return nil, err
	}
	return aws.Read(ctx, identities, func(ctx context.Context, identity modules.Row) (modules.Row, error) {
		out, err := client.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: identity["name"].Ptr()})
		if err != nil {
			return nil, err
		}
		return read(ctx, client, awssdk.ToString(out.QueueUrl))
	})
}

// read reads a queue's attributes and tags.
func read(ctx context.Context, client *sqs.Client, url string) (modules.Row, error) {
	var (
		attrs *sqs.GetQueueAttributesOutput
		tags  *sqs.ListQueueTagsOutput
	)
	err := aws.Together(ctx,
		func(ctx context.Context) (err error) {
			attrs, err = client.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{
				QueueUrl: &url, AttributeNames: []sqstypes.QueueAttributeName{sqstypes.QueueAttributeNameAll},
			})
			return err
		},
		func(ctx context.Context) (err error) {
			tags, err = client.ListQueueTags(ctx, &sqs.ListQueueTagsInput{QueueUrl: &url})
			return err
		})
	if err != nil {
		return nil, err
	}
	get := func(name sqstypes.QueueAttributeName) modules.Value {
		return modules.NonEmpty(attrs.Attributes[string(name)])
	}
	row := modules.Row{
		"name":       modules.Text(path.Base(url)),
		"url":        modules.Text(url),
		"arn":        get(sqstypes.QueueAttributeNameQueueArn),
		"fifo_queue": modules.Bool(get(sqstypes.QueueAttributeNameFifoQueue).Bool()), // only FIFO queues have it
		"tags":       aws.TagValue(tags.Tags),
	}
	for _, a := range attributes {
		row[a.column] = get(a.name)
	}
	row["policy"] = aws.Policy(get(sqstypes.QueueAttributeNamePolicy).Ptr())
	return row, nil
}

// Create creates a queue with all that want says of it.
func (r *queue) Create(ctx context.Context, scope modules.Scope, want modules.Row, _ string) (modules.Row, error) {
	client, err := r.clients.SQS(ctx, scope)
	if err != nil {
		return nil, err
	}
	attrs := map[string]string{}
	for _, a := range attributes {
		if v := want[a.column]; !v.IsNull() {
			attrs[string(a.name)] = v.String()
		}
	}
	if v := want["policy"]; !v.IsNull() {
		attrs[string(sqstypes.QueueAttributeNamePolicy)] = v.String()
	}
	// "false" is refused for standard queues (page CreateQueue).
	if want["fifo_queue"].Bool() {
		attrs[string(sqstypes.QueueAttributeNameFifoQueue)] = "true"
	}
	out, err := client.CreateQueue(ctx, &sqs.CreateQueueInput{
		QueueName: want["name"].Ptr(), Attributes: attrs, Tags: aws.TagsOf(want, ""),
	})
	if err != nil {
		return nil, err
	}
	return modules.Row{"name": want["name"], "url": modules.TextPtr(out.QueueUrl)}, nil
}

// Update changes all attributes in one call, and tags.
func (r *queue) Update(ctx context.Context, scope modules.Scope, have, want modules.Row, columns []string) error {
	client, err := r.clients.SQS(ctx, scope)
	if err != nil {
		return err
	}
	attrs := map[string]string{}
	for _, a := range attributes {
		if slices.Contains(columns, a.column) {
			attrs[string(a.name)] = want[a.column].String()
		}
	}
	if slices.Contains(columns, "policy") {
		attrs[string(sqstypes.QueueAttributeNamePolicy)] = want["policy"].String() // "" removes it
	}
	url := have["url"].Ptr()
	if len(attrs) > 0 {
		if _, err := client.SetQueueAttributes(ctx, &sqs.SetQueueAttributesInput{QueueUrl: url, Attributes: attrs}); err != nil {
			return err
		}
	}
	if !slices.Contains(columns, modules.ColumnTags) {
		return nil
	}
	return aws.UpdateTags(ctx, have, want,
		func(ctx context.Context, tags map[string]string) error {
			_, err := client.TagQueue(ctx, &sqs.TagQueueInput{QueueUrl: url, Tags: tags})
			return err
		},
		func(ctx context.Context, keys []string) error {
			_, err := client.UntagQueue(ctx, &sqs.UntagQueueInput{QueueUrl: url, TagKeys: keys})
			return err
		})
}

// Delete deletes a queue with all its messages.
func (r *queue) Delete(ctx context.Context, scope modules.Scope, have modules.Row) error {
	client, err := r.clients.SQS(ctx, scope)
	if err != nil {
		return err
	}
	url := have["url"].Ptr()
	if url == nil { // only the identity is known
		out, err := client.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: have["name"].Ptr()})
		if err != nil {
			return aws.IfExists(err)
		}
		url = out.QueueUrl
	}
	_, err = client.DeleteQueue(ctx, &sqs.DeleteQueueInput{QueueUrl: url})
	return aws.IfExists(err)
}
