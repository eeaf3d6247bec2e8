package watch

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"iasql/internal/test/faultproxy"
	"iasql/internal/test/harness"
)

// sendAll sends messages, ten a call.
func (w *world) sendAll(bodies []string) {
	w.Helper()
	client := sqs.NewFromConfig(w.AWS.Config("us-east-1"))
	for some := range slices.Chunk(bodies, 10) {
		var entries []sqstypes.SendMessageBatchRequestEntry
		for i, body := range some {
			entries = append(entries, sqstypes.SendMessageBatchRequestEntry{Id: awssdk.String(fmt.Sprint(i)),
				MessageBody: &body})
		}
		if out, err := client.SendMessageBatch(w.Context(),
			&sqs.SendMessageBatchInput{QueueUrl: &w.queue, Entries: entries}); err != nil || len(out.Failed) > 0 {
			w.Fatal(out, err)
		}
	}
}

// read waits until the queue is read.
func (w *world) read() {
	w.Helper()
	w.Eventually(20*time.Second, "the queue is read", func() bool {
		return w.Admin(`SELECT count(*) FROM iasql_internal.event_source WHERE answered IS NOT NULL AND error IS NULL`) == "1"
	})
}

// A queue full of hostile messages does no harm: nothing is changed, little is called, and
// the events between them are heard.
func TestHostileQueue(t *testing.T) {
	t.Parallel()
	w := &world{World: harness.NewWorld(t)}
	proxy := faultproxy.Start(t, w.AWS.Endpoint)
	w.Endpoint = proxy.URL
	w.Serve()
	w.Install([]string{"us-east-1"}, "aws_vpc", "aws_sqs")
	w.makeQueue()
	w.PSQL(`UPDATE iasql_settings SET value = '1 day' WHERE name = 'sync_interval'`)
	w.PSQL(`SELECT iasql_sync_now()`)
	// What is no event stays in a queue that has never had one: it may be another program's.
	w.send(`{"order": 17}`)
	w.addSource()
	w.Eventually(20*time.Second, "the message is seen", func() bool {
		return w.Admin(`SELECT malformed > 0 AND NOT proven FROM iasql_internal.event_source`) == "t"
	})
	if got := w.attribute("ApproximateNumberOfMessagesNotVisible"); got != "1" {
		t.Errorf("%s messages of another program are left", got)
	}
	before := w.PSQL(`SELECT count(*), md5(string_agg(v::text, '' ORDER BY id)) FROM vpc v`)
	id := w.PSQL(`SELECT vpc_id FROM vpc`)
	var bodies []string
	for i := range 600 {
		switch i % 6 {
		case 0:
			bodies = append(bodies, strings.Repeat("[", 20_000))
		case 1:
			bodies = append(bodies, w.event("ec2.amazonaws.com", "DeleteVpc", fmt.Sprintf(`{"vpcId": %q}`, id), "null",
				func(d map[string]any) { d["recipientAccountId"] = "666666666666" }))
		case 2:
			bodies = append(bodies, w.event("ec2.amazonaws.com", "DeleteVpc", `{"vpcId": "x'; DROP TABLE vpc; --"}`,
				"null", func(d map[string]any) { d["sourceIPAddress"] = "\x00'; DELETE FROM vpc" }))
		case 3:
			bodies = append(bodies, w.event("ec2.amazonaws.com", "DeleteVpc",
				fmt.Sprintf(`{"vpcId": "vpc-%d"}`, i), "null"))
		case 4: // it says that the VPC is gone
			bodies = append(bodies, w.event("ec2.amazonaws.com", "DeleteVpc", fmt.Sprintf(`{"vpcId": %q}`, id),
				`{"_return": true}`))
		default:
			bodies = append(bodies, w.event("ec2.amazonaws.com", "CreateVpc", `{}`, `{"vpc": {"vpcId": 17, "nested": `+
				strings.Repeat("[", 45)+strings.Repeat("]", 45)+`}}`, func(d map[string]any) {
				d["awsRegion"] = "mars-north-1"
			}))
		}
	}
	counts := proxy.Counts()
	w.sendAll(bodies)
	w.Eventually(60*time.Second, "all messages are read", func() bool {
		return w.attribute("ApproximateNumberOfMessages") == "0" &&
			w.Admin(`SELECT count(*) FROM iasql_internal.hint WHERE due < now() - interval '1 second'`) == "0"
	})
	reads := 0
	for action, n := range proxy.Counts() {
		if n -= counts[action]; strings.HasPrefix(action, "DescribeVpc") {
			reads += n
		}
	}
	t.Logf("%d calls that read VPCs; %s", reads,
		w.Admin(`SELECT events, doubles, foreign_, malformed, dropped FROM iasql_internal.event_source`))
	if reads > 400 {
		t.Errorf("%d calls were made", reads)
	}
	if after := w.PSQL(`SELECT count(*), md5(string_agg(v::text, '' ORDER BY id)) FROM vpc v`); after != before {
		t.Errorf("the table was %s and is %s", before, after)
	}
	if got := w.PSQL(`SELECT count(*) FROM iasql_audit_log WHERE actor IS NOT NULL`); got != "0" {
		t.Errorf("%s changes have an author", got)
	}
	w.CLI("ec2", "create-tags", "--resources", id, "--tags", "Key=after,Value=1")
	w.send(w.event("ec2.amazonaws.com", "CreateTags",
		fmt.Sprintf(`{"resourcesSet": {"items": [{"resourceId": %q}]}}`, id), "null"))
	w.Eventually(10*time.Second, "a change after that", func() bool {
		return w.PSQL(`SELECT tags ? 'after' FROM vpc`) == "t"
	})
}

// attribute returns an attribute of the queue.
func (w *world) attribute(name string) string {
	w.Helper()
	out, err := sqs.NewFromConfig(w.AWS.Config("us-east-1")).GetQueueAttributes(w.Context(),
		&sqs.GetQueueAttributesInput{QueueUrl: &w.queue,
			AttributeNames: []sqstypes.QueueAttributeName{sqstypes.QueueAttributeName(name)}})
	if err != nil {
		w.Fatal(err)
	}
	return out.Attributes[name]
}

// What an engine has received and not kept comes again; what it has kept it looks into when
// it is there again.
func TestKilledBetween(t *testing.T) {
	t.Parallel()
	w := &world{World: harness.NewWorld(t)}
	w.Serve()
	w.Install([]string{"us-east-1"}, "aws_vpc")
	w.makeQueue()
	w.PSQL(`UPDATE iasql_settings SET value = '1 day' WHERE name = 'sync_interval'`)
	w.PSQL(`SELECT iasql_sync_now()`)
	w.addSource()
	w.read()
	id := w.PSQL(`SELECT vpc_id FROM vpc`)
	client := ec2.NewFromConfig(w.AWS.Config("us-east-1"))
	for i := range 4 {
		p := w.Serve() // one of two, which may be the one that reads
		if _, err := client.CreateTags(w.Context(),
			&ec2.CreateTagsInput{Resources: []string{id},
				Tags: []ec2types.Tag{{Key: awssdk.String("n"), Value: awssdk.String(fmt.Sprint(i))}}}); err != nil {
			t.Fatal(err)
		}
		w.sendAll([]string{w.event("ec2.amazonaws.com", "CreateTags",
			fmt.Sprintf(`{"resourcesSet": {"items": [{"resourceId": %q}]}}`, id), "null")})
		if i%2 == 0 {
			w.Eventually(10*time.Second, "the message is received", func() bool {
				return w.attribute("ApproximateNumberOfMessages") == "0"
			})
		}
		p.Kill()
	}
	w.Eventually(60*time.Second, "the last change is in the table", func() bool {
		return w.PSQL(`SELECT tags ->> 'n' FROM vpc`) == "3"
	})
}

// A quiet account with a healthy watch costs little: long polls, and listings once an hour.
// When the watch is silent, listings are as frequent as without it.
func TestQuietWatchedAccount(t *testing.T) {
	t.Parallel()
	w := &world{World: harness.NewWorld(t)}
	proxy := faultproxy.Start(t, w.AWS.Endpoint)
	w.Endpoint = proxy.URL
	w.Serve()
	w.Install([]string{"us-east-1"}, "aws_vpc", "aws_security_group", "aws_sqs", "aws_sns", "aws_iam", "aws_s3",
		"aws_lambda")
	w.makeQueue()
	w.addSource()
	w.read()
	w.send(w.event("sqs.amazonaws.com", "UntagQueue", fmt.Sprintf(`{"queueUrl": %q}`, w.queue), "null"))
	w.Eventually(20*time.Second, "the watch is relied on", func() bool {
		return w.PSQL(`SELECT state FROM iasql_event_sources`) == "ok"
	})
	w.PSQL(`SELECT iasql_sync_now()`)
	// An account in which nothing has changed for long, and that was listed 20 minutes ago.
	w.Admin(`UPDATE iasql_internal.listing SET changed = changed - interval '1 day', tried = tried - interval '20 minutes', listed = listed - interval '20 minutes'`)
	calls := func(cycles int) (n int) {
		before := proxy.Counts()
		for range cycles {
			done := w.Admin(`SELECT coalesce(max(id), 0) FROM iasql_cycles WHERE kind = 'full' AND ended IS NOT NULL`)
			w.Admin(`SELECT iasql_internal.enqueue_sync()`)
			w.Eventually(60*time.Second, "a full cycle", func() bool {
				return w.Admin(`SELECT count(*) FROM iasql_cycles WHERE kind = 'full' AND ended IS NOT NULL AND id > `+
					done) > "0"
			})
		}
		for action, count := range proxy.Counts() {
			n += count - before[action]
		}
		return n
	}
	if n := calls(5); n > 20 {
		t.Errorf("five cycles of a quiet watched account made %d calls: %v", n, proxy.Counts())
	} else {
		t.Logf("five cycles of a quiet watched account: %d calls", n)
	}
	w.Admin(`UPDATE iasql_internal.event_source SET heard = heard - interval '1 hour'`)
	if got := w.PSQL(`SELECT state FROM iasql_event_sources`); !strings.Contains(got, "silent") {
		t.Errorf("the watch is %s", got)
	}
	if got := w.PSQL(`SELECT doing FROM iasql_engines()`); !strings.Contains(got, "silent") {
		t.Errorf("the engine says %s", got)
	}
	if n := calls(1); n < 15 {
		t.Errorf("a cycle of an account whose watch is silent made %d calls", n)
	}
}
