package watch

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/arn"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"iasql/internal/aws"
	"iasql/internal/modules"
)

// atOnce is how many messages one call receives or deletes (page ReceiveMessage).
const atOnce = 10

// longPoll is how long a call waits for the first message, in seconds.
const longPoll = 20

// sqsQueue is a queue of Amazon SQS.
type sqsQueue struct {
	clients *aws.Clients
	source  source
	url     string
}

// permitted is the journal of the calls that reading a queue takes: they change no object
// that is in a table. Any other is refused.
type permitted struct{}

// Begin implements [modules.Journal].
func (permitted) Begin(_ context.Context, call modules.Call) (func(error), error) {
	if call.Service != sqs.ServiceID || !slices.Contains([]string{"ReceiveMessage", "DeleteMessageBatch", "UntagQueue"},
		call.Action) {
		return nil, &modules.Error{Class: modules.ReadOnly, Code: call.Service + ":" + call.Action,
			Message: "refused: who reads events does not call " + call.Action}
	}
	return func(error) {}, nil
}

// regionOf finds the region in the URLs and ARNs of queues; emulators' have none.
var regionOf = regexp.MustCompile(
	`^(?:https://sqs\.([a-z0-9-]+)\.amazonaws\.|https://([a-z0-9-]+)\.queue\.amazonaws\.|arn:aws[a-z-]*:sqs:([a-z0-9-]+):)`)

// region returns the region that the queue is in, "" for the default one.
func (q *sqsQueue) region() string {
	if found := regionOf.FindStringSubmatch(q.source.Queue); found != nil {
		return found[1] + found[2] + found[3]
	}
	return q.source.Region
}

// client returns the client of the queue's region. onRequest is told what AWS calls the
// requests that change something; nil: nobody asks.
func (q *sqsQueue) client(ctx context.Context, onRequest func(string)) (*sqs.Client, error) {
	clients := q.clients.Permitted(&modules.Permit{Journal: permitted{}, OnRequest: onRequest})
	client, err := clients.SQS(ctx, modules.Scope{Account: q.source.Account, Region: q.region()})
	if err != nil || q.url != "" {
		return client, err
	}
	q.url = q.source.Queue
	if named, err := arn.Parse(q.source.Queue); err == nil {
		q.url = ""
		out, err := client.GetQueueUrl(ctx,
			&sqs.GetQueueUrlInput{QueueName: &named.Resource, QueueOwnerAWSAccountId: &named.AccountID})
		if err != nil {
			return nil, err
		}
		q.url = awssdk.ToString(out.QueueUrl)
	}
	return client, nil
}

// Receive implements [queue].
func (q *sqsQueue) Receive(ctx context.Context, wait bool) ([]received, error) {
	client, err := q.client(ctx, nil)
	if err != nil {
		return nil, err
	}
	in := &sqs.ReceiveMessageInput{QueueUrl: &q.url, MaxNumberOfMessages: atOnce,
		MessageSystemAttributeNames: []sqstypes.MessageSystemAttributeName{
			sqstypes.MessageSystemAttributeNameSentTimestamp}}
	if wait {
		in.WaitTimeSeconds = longPoll
	}
	out, err := client.ReceiveMessage(ctx, in)
	if err != nil {
		return nil, err
	}
	messages := make([]received, len(out.Messages))
	for i, m := range out.Messages {
		messages[i] = received{handle: awssdk.ToString(m.ReceiptHandle), body: awssdk.ToString(m.Body),
			sent: time.Now()}
		if ms, err := strconv.ParseInt(m.Attributes[string(sqstypes.MessageSystemAttributeNameSentTimestamp)], 10,
			64); err == nil {
			messages[i].sent = time.UnixMilli(ms)
		}
	}
	return messages, nil
}

// Delete implements [queue]. What is not deleted comes again, and is known by then.
func (q *sqsQueue) Delete(ctx context.Context, handles []string) error {
	client, err := q.client(ctx, nil)
	if err != nil {
		return err
	}
	for some := range slices.Chunk(handles, atOnce) {
		entries := make([]sqstypes.DeleteMessageBatchRequestEntry, len(some))
		for i, handle := range some {
			entries[i] = sqstypes.DeleteMessageBatchRequestEntry{Id: awssdk.String(strconv.Itoa(i)),
				ReceiptHandle: &handle}
		}
		out, err := client.DeleteMessageBatch(ctx, &sqs.DeleteMessageBatchInput{QueueUrl: &q.url, Entries: entries})
		if err != nil {
			return err
		}
		if len(out.Failed) == len(some) {
			return fmt.Errorf("delete messages: %w",
				aws.ErrorOf(awssdk.ToString(out.Failed[0].Code), awssdk.ToString(out.Failed[0].Message)))
		}
	}
	return nil
}

// heartbeatTag is the key of a tag that no queue has.
const heartbeatTag = "iasql:heartbeat"

// Beat implements [queue]: it removes a tag from the queue that is not there. CloudTrail
// tells of that as of any other change.
func (q *sqsQueue) Beat(ctx context.Context) (request string, err error) {
	client, err := q.client(ctx, func(id string) { request = id })
	if err != nil {
		return "", err
	}
	_, err = client.UntagQueue(ctx, &sqs.UntagQueueInput{QueueUrl: &q.url, TagKeys: []string{heartbeatTag}})
	return request, err
}
