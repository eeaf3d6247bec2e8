package awssqs

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
	"iasql/internal/test/awstest"
	"iasql/internal/test/testaws"
)

func TestMain(m *testing.M) { testaws.Main(m) }

func policy(t *testing.T, text string) modules.Value {
	t.Helper()
	v, err := modules.JSONText(text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func want(name string, fifo bool) modules.Row {
	return modules.Row{
		"name": modules.Text(name), "fifo_queue": modules.Bool(fifo),
		"visibility_timeout": modules.Int(31), "delay_seconds": modules.Int(1),
		"receive_message_wait_time_seconds": modules.Int(2),
		"message_retention_period":          modules.Int(3600), "maximum_message_size": modules.Int(262144),
		"policy": modules.Null, "tags": modules.StringMap(map[string]string{"env": "test"}),
	}
}

func TestQueueLifecycle(t *testing.T) {
	t.Parallel()
	for _, fifo := range []bool{false, true} {
		name := "standard"
		if fifo {
			name = "ordered.fifo"
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clients := awstest.Clients(t)
			dead, err := awstest.Create(t.Context(), newQueue(clients), awstest.Permit(), awstest.Scope("us-west-2"),
				want("dead-"+name, fifo), "")
			if err != nil {
				t.Fatal(err)
			}
			parts := strings.Split(dead["url"].String(), "/")
			redrive := policy(t, `{"deadLetterTargetArn":"arn:aws:sqs:us-west-2:`+parts[len(parts)-2]+`:dead-`+name+
				`","maxReceiveCount":5}`)
			ofFIFO := []string{"content_based_deduplication", "deduplication_scope", "fifo_throughput_limit"}
			if fifo {
				ofFIFO = nil
			}
			ofFIFO = append(ofFIFO, "redrive_allow_policy") // which moto does not keep: TestSent
			awstest.Lifecycle(t, awstest.Case{
				Resource: newQueue(clients),
				Scope:    awstest.Scope("us-west-2"),
				Want:     want(name, fifo),
				Changes: map[string][]modules.Value{
					"visibility_timeout":                {modules.Int(0), modules.Int(43200)},
					"delay_seconds":                     {modules.Int(900)},
					"receive_message_wait_time_seconds": {modules.Int(20)},
					"message_retention_period":          {modules.Int(60)},
					"maximum_message_size":              {modules.Int(1024)},
					"redrive_policy":                    {redrive, modules.Null},

					"kms_master_key_id":                 {modules.Text("alias/mine"), modules.Text("alias/aws/sqs")},
					"kms_data_key_reuse_period_seconds": {modules.Int(600)},
					"policy": {
						policy(t, `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"AWS":["123456789012"]},"Action":["sqs:SendMessage"],"Resource":"*"}]}`),
						modules.Null,
					},
					"tags": {modules.StringMap(map[string]string{"a": "1", "b": "2"}), modules.Null},
				},
				Elsewhere: ofFIFO, // standard queues have no settings of FIFO queues
				Calls:     map[string]int{"tags": 2},
				// which a queue without a key does not have
				Along: map[string][]string{"kms_master_key_id": {"kms_data_key_reuse_period_seconds"}},
			})
		})
	}
}

// All attributes are set by one call.
func TestUpdateIsOneCall(t *testing.T) {
	t.Parallel()
	r := newQueue(awstest.Clients(t))
	journal := &awstest.Journal{}
	ctx, permit := t.Context(), awstest.PermitBy(journal)
	scope := awstest.Scope("us-east-1")
	have, err := awstest.Create(ctx, r, permit, scope, want("one", false), "")
	if err != nil {
		t.Fatal(err)
	}
	// Creating again with the same attributes finds the queue there is.
	again, err := awstest.Create(ctx, r, permit, scope, want("one", false), "")
	if err != nil || again["url"] != have["url"] {
		t.Errorf("create again: %v, %v, want %v", again, err, have)
	}
	other := want("one", false)
	other["delay_seconds"] = modules.Int(7)
	if _, err := awstest.Create(ctx, r, permit, scope, other, ""); modules.ClassOf(err) != modules.Exists {
		t.Errorf("create with other attributes: %v, want class %s", err, modules.Exists)
	}
	journal.Take()
	if err := awstest.Update(ctx, r, permit, scope, have, other,
		[]string{"delay_seconds", "visibility_timeout", "policy"}); err != nil {
		t.Fatal(err)
	}
	if calls, _ := journal.Take(); !slices.Equal(calls, []string{"SQS:SetQueueAttributes"}) {
		t.Errorf("made the calls %v", calls)
	}
}

// fakeSQS speaks AWS JSON 1.0. The emulator neither pages ListQueues as AWS does
// nor makes a name wait for 60 seconds.
type fakeSQS struct {
	mu     sync.Mutex
	calls  []string
	answer func(action string, in map[string]any) (status int, code string, out any)
}

func (f *fakeSQS) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, action, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	var in map[string]any
	_ = json.NewDecoder(r.Body).Decode(&in)
	f.mu.Lock()
	f.calls = append(f.calls, action)
	f.mu.Unlock()
	status, code, out := f.answer(action, in)
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	if code != "" {
		w.Header().Set("x-amzn-query-error", "AWS.SimpleQueueService."+code+";Sender")
		out = map[string]string{"__type": "com.amazonaws.sqs#" + code, "message": "it is so"}
	}
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(out)
}

func (f *fakeSQS) queue(t *testing.T) *declare.Resource {
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	return newQueue(awstest.Fake(server.URL))
}

func TestPagesAndVanishingQueues(t *testing.T) {
	t.Parallel()
	fake := &fakeSQS{answer: func(action string, in map[string]any) (int, string, any) {
		url, _ := in["QueueUrl"].(string)
		switch {
		case action == "ListQueues" && in["MaxResults"] != 1000.0:
			return 400, "InvalidParameterValue", nil
		case action == "ListQueues" && in["NextToken"] == nil:
			return 200, "", map[string]any{"QueueUrls": []string{"http://q/1/a", "http://q/1/gone"}, "NextToken": "two"}
		case action == "ListQueues":
			return 200, "", map[string]any{"QueueUrls": []string{"http://q/1/b.fifo"}}
		case strings.HasSuffix(url, "gone"):
			return 400, "NonExistentQueue", nil
		case action == "GetQueueAttributes":
			return 200, "", map[string]any{"Attributes": map[string]string{"DelaySeconds": "5", "QueueArn": "arn",
				"FifoQueue": fmt.Sprint(strings.HasSuffix(url, ".fifo"))}}
		}
		return 200, "", map[string]any{}
	}}
	var rows []modules.Row
	err := awstest.List(t.Context(), fake.queue(t), awstest.Scope("us-east-1"), func(page []modules.Row) error {
		rows = append(rows, page...)
		return nil
	})
	if err != nil || !slices.Equal(aws.Column(rows, "name"), []string{"a", "b.fifo"}) {
		t.Fatalf("got %v, %v", rows, err)
	}
	if rows[0]["fifo_queue"].Bool() || !rows[1]["fifo_queue"].Bool() || rows[0]["delay_seconds"].Int() != 5 {
		t.Errorf("got %v", rows)
	}
}

func TestDeletedRecently(t *testing.T) {
	t.Parallel()
	fake := &fakeSQS{answer: func(string, map[string]any) (int, string, any) {
		return 400, "QueueDeletedRecently", nil
	}}
	ctx, permit := t.Context(), awstest.Permit()
	_, err := awstest.Create(ctx, fake.queue(t), permit, awstest.Scope("us-east-1"), want("q", false), "")
	var e *modules.Error
	if !errors.As(err, &e) || e.Class != modules.Dependency || e.RetryAfter != time.Minute {
		t.Errorf("got %#v", e)
	}
	if len(fake.calls) != 1 {
		t.Errorf("made the calls %v", fake.calls)
	}
}

// A queue's row must satisfy what CreateQueue demands, before AWS is asked.
func TestDescription(t *testing.T) {
	m := Module(aws.New(aws.Options{}))
	for _, table := range m.Tables() {
		if err := table.Validate(); err != nil {
			t.Error(err)
		}
	}
}

// AWS has numbers as numbers where it was given texts, and a list of queues in its own order.
func TestSameRedrive(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{`{"deadLetterTargetArn": "arn:a", "maxReceiveCount": "5"}`, `{"maxReceiveCount": 5, "deadLetterTargetArn": "arn:a"}`, true},
		{`{"deadLetterTargetArn": "arn:a", "maxReceiveCount": 5}`, `{"maxReceiveCount": 6, "deadLetterTargetArn": "arn:a"}`, false},
		{`{"redrivePermission": "byQueue", "sourceQueueArns": ["a", "b"]}`,
			`{"redrivePermission": "byQueue", "sourceQueueArns": ["b", "a"]}`, true},
	} {
		if sameRedrive(c.a, c.b) != c.same {
			t.Errorf("%s and %s: want %t", c.a, c.b, c.same)
		}
	}
}

// What the emulator lacks is sent as AWS's API reference has it.
func TestSent(t *testing.T) {
	t.Parallel()
	have := modules.Row{"name": modules.Text("q"), "url": modules.Text("http://q/1/q"),
		"redrive_allow_policy": policy(t, `{"redrivePermission":"denyAll"}`)}
	of := func(c *aws.Clients) modules.Updater { return newQueue(c) }
	calls := awstest.Sent(t, of, have, modules.Row{"redrive_allow_policy": policy(t, `{"redrivePermission":"allowAll"}`)},
		`{}`, "redrive_allow_policy")
	calls = append(calls, awstest.Sent(t, of, have, modules.Row{}, `{}`, "redrive_allow_policy")...)
	if want := []string{
		`SetQueueAttributes {"Attributes":{"RedriveAllowPolicy":"{\"redrivePermission\":\"allowAll\"}"},"QueueUrl":"http://q/1/q"}`,
		`SetQueueAttributes {"Attributes":{"RedriveAllowPolicy":""},"QueueUrl":"http://q/1/q"}`,
	}; !slices.Equal(calls, want) {
		t.Errorf("made the calls %q, want %q", calls, want)
	}
}
