package chaos

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	ebtypes "github.com/aws/aws-sdk-go-v2/service/eventbridge/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/google/uuid"

	"iasql/internal/test/likeness"
)

// elsewhere is a region that the engines do not look at.
const elsewhere = "us-west-2"

// watch has CloudTrail tell of what the outsider does. Of its events some are lost, some come
// twice, and all come late and in any order.
func (w *world) watch() {
	ctx := w.t.Context()
	queue, err := sqs.NewFromConfig(w.account.Config(elsewhere)).CreateQueue(ctx,
		&sqs.CreateQueueInput{QueueName: awssdk.String("watch")})
	if err != nil {
		w.t.Fatal(err)
	}
	w.queue = *queue.QueueUrl
	client, arn := eventbridge.NewFromConfig(w.account.Config("us-east-1")), "arn:aws:sqs:"+elsewhere+":"+
		w.account.ID+":watch"
	if _, err := client.PutRule(ctx,
		&eventbridge.PutRuleInput{Name: awssdk.String("watch"),
			EventPattern: awssdk.String(`{"detail-type": ["AWS API Call via CloudTrail"]}`)}); err != nil {
		w.t.Fatal(err)
	}
	if _, err := client.PutTargets(ctx,
		&eventbridge.PutTargetsInput{Rule: awssdk.String("watch"),
			Targets: []ebtypes.Target{{Id: awssdk.String("q"), Arn: &arn}}}); err != nil {
		w.t.Fatal(err)
	}
	l := likeness.Start(w.t, w.account.Endpoint)
	w.trail = &likeness.Trail{Delay: 50 * time.Millisecond, Jitter: 3 * time.Second, Lose: 0.2, Double: 0.2}
	l.Record(w.trail)
	w.outside = w.account
	w.outside.Endpoint = l.URL
	w.must(`UPDATE iasql_settings SET value = '20 seconds' WHERE name = 'watched_staleness'`,
		fmt.Sprintf(`INSERT INTO aws_event_source (queue) VALUES ('%s')`, arn))
}

// forge sends events of what nobody has done, about what is there and what is not, and
// messages that are no events, until it is told to stop.
func (w *world) forge(random *rand.Rand, stop <-chan struct{}) {
	client := sqs.NewFromConfig(w.account.Config(elsewhere))
	for pause(stop, time.Duration(20+random.IntN(300))*time.Millisecond) {
		body := "no event"
		if random.IntN(8) > 0 {
			body = w.forged(random)
		}
		if _, err := client.SendMessage(context.Background(),
			&sqs.SendMessageInput{QueueUrl: &w.queue, MessageBody: &body}); err != nil {
			w.t.Logf("forger: %v", err)
			continue
		}
		w.forgeries.Add(1)
	}
}

func (w *world) forged(random *rand.Rand) string {
	pick := func(list ...string) string { return list[random.IntN(len(list))] }
	name := "nobody"
	// What is there, as far as the database can be asked just now.
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	source, call, request := "ec2.amazonaws.com", pick("DeleteVpc", "ModifyVpcAttribute"), "vpcId"
	query := `SELECT vpc_id FROM vpc WHERE vpc_id IS NOT NULL ORDER BY random() LIMIT 1`
	if random.IntN(2) == 0 {
		source, call, request = "sqs.amazonaws.com", pick("DeleteQueue", "SetQueueAttributes", "PurgeQueue"), "queueUrl"
		query = `SELECT 'http://sqs/1/' || name FROM queue ORDER BY random() LIMIT 1`
	}
	_ = w.admin.QueryRow(ctx, query).Scan(&name)
	account := w.account.ID
	if random.IntN(6) == 0 {
		account = "666666666666"
	}
	body, err := json.Marshal(map[string]any{"version": "0", "detail-type": "AWS API Call via CloudTrail",
		"source": "aws.x", "account": account, "region": "us-east-1",
		"time": time.Now().UTC().Format(time.RFC3339), "detail": map[string]any{
			"eventVersion": "1.11", "eventTime": time.Now().Add(
				-time.Duration(random.IntN(600)) * time.Second).UTC().Format(time.RFC3339), "eventSource": source,
			"eventName": call,
			"awsRegion": "us-east-1", "sourceIPAddress": "192.0.2.66", "userAgent": "forger",
			"requestID": uuid.NewString(), "eventID": uuid.NewString(), "readOnly": false,
			"eventType": "AwsApiCall", "eventCategory": "Management", "recipientAccountId": account,
			"requestParameters": map[string]any{request: name},
			"userIdentity": map[string]any{"type": "IAMUser", "arn": "arn:aws:iam::" + account + ":user/mallory",
				"userName": "mallory"}}})
	if err != nil {
		w.t.Error(err)
	}
	return string(body)
}

// reportEvents says what came of events.
func (w *world) reportEvents() {
	w.t.Logf("events: %+v recorded, %d forged; %s", w.trail.Counts(), w.forgeries.Load(),
		w.scalar(`SELECT string_agg(format('%s kept, %s double, %s foreign, %s malformed, %s dropped', events, doubles, foreign_, malformed, dropped), '; ') FROM iasql_internal.event_source`))
	w.t.Logf("%s changes have an author", w.scalar(`SELECT count(*) FROM iasql_audit_log WHERE actor IS NOT NULL`))
}
