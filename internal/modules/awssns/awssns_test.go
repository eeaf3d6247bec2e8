package awssns

import (
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"iasql/internal/aws"
	"iasql/internal/modules"
	"iasql/internal/test/awstest"
	"iasql/internal/test/testaws"
)

func TestMain(m *testing.M) { testaws.Main(m) }

func document(t *testing.T, text string) modules.Value {
	t.Helper()
	v, err := modules.JSONText(text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// fakeSNS speaks the query protocol and keeps the topics of one account with
// all their attributes: moto's GetTopicAttributes leaves out TracingConfig and
// SignatureVersion.
type fakeSNS struct {
	mu     sync.Mutex
	topics map[string]*fakeTopic
}

type fakeTopic struct{ attributes, tags map[string]string }

func (f *fakeSNS) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	_ = r.ParseForm()
	pairs := func(prefix, key, value string, into map[string]string) {
		for i := 1; r.Form.Has(fmt.Sprintf("%s.%d.%s", prefix, i, key)); i++ {
			into[r.Form.Get(fmt.Sprintf("%s.%d.%s", prefix, i, key))] = r.Form.Get(fmt.Sprintf("%s.%d.%s",
				prefix, i, value))
		}
	}
	action, arn := r.Form.Get("Action"), r.Form.Get("TopicArn")+r.Form.Get("ResourceArn")
	topic, body := f.topics[arn], ""
	entries := func(m map[string]string, element, key, value string) {
		for k, v := range m {
			body += fmt.Sprintf("<%s><%s>%s</%s><%s>%s</%s></%s>", element, key, k, key, value, html.EscapeString(v),
				value, element)
		}
	}
	switch {
	case action == "GetCallerIdentity":
		body = "<Account>123456789012</Account><Arn>arn:aws:iam::123456789012:root</Arn>"
	case action == "ListTopics":
		body = "<Topics>"
		for arn := range f.topics {
			body += "<member><TopicArn>" + arn + "</TopicArn></member>"
		}
		body += "</Topics>"
	case action == "CreateTopic":
		arn = "arn:aws:sns:us-east-1:123456789012:" + r.Form.Get("Name")
		topic = &fakeTopic{map[string]string{"Policy": `{"Statement":[]}`}, map[string]string{}}
		pairs("Attributes.entry", "key", "value", topic.attributes)
		pairs("Tags.member", "Key", "Value", topic.tags)
		if old := f.topics[arn]; old != nil && old.attributes["DisplayName"] != topic.attributes["DisplayName"] {
			w.WriteHeader(400)
			fmt.Fprint(w, "<ErrorResponse><Error><Code>InvalidParameter</Code><Message>Invalid parameter: Attributes "+
				"Reason: Topic already exists with different attributes</Message></Error></ErrorResponse>")
			return
		}
		f.topics[arn] = topic
		body = "<TopicArn>" + arn + "</TopicArn>"
	case action == "DeleteTopic":
		delete(f.topics, arn)
	case topic == nil:
		w.WriteHeader(404)
		fmt.Fprint(w, "<ErrorResponse><Error><Code>NotFound</Code><Message>Topic does not "+
			"exist</Message></Error></ErrorResponse>")
		return
	case action == "GetTopicAttributes":
		body = "<Attributes>"
		entries(topic.attributes, "entry", "key", "value")
		body += "</Attributes>"
	case action == "SetTopicAttributes":
		topic.attributes[r.Form.Get("AttributeName")] = r.Form.Get("AttributeValue")
	case action == "ListTagsForResource":
		body = "<Tags>"
		entries(topic.tags, "member", "Key", "Value")
		body += "</Tags>"
	case action == "TagResource":
		pairs("Tags.member", "Key", "Value", topic.tags)
	case action == "UntagResource":
		for key, values := range r.Form {
			if strings.HasPrefix(key, "TagKeys.member.") {
				delete(topic.tags, values[0])
			}
		}
	}
	fmt.Fprintf(w, "<%sResponse><%sResult>%s</%sResult></%sResponse>", action, action, body, action, action)
}

func TestTopicLifecycle(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"standard", "ordered.fifo"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(&fakeSNS{topics: map[string]*fakeTopic{}})
			t.Cleanup(server.Close)
			awstest.Lifecycle(t, awstest.Case{
				Resource: newTopic(awstest.Fake(server.URL)),
				Scope:    awstest.Scope("us-east-1"),
				Want: modules.Row{
					"name": modules.Text(name), "fifo_topic": modules.Bool(name != "standard"),
					"display_name":    modules.Text("News"),
					"delivery_policy": modules.Null, "tracing_config": modules.Text("PassThrough"),
					"kms_master_key_id": modules.Null,
					"signature_version": modules.Text("1"), "content_based_deduplication": modules.Bool(false),
					"tags": modules.StringMap(map[string]string{"env": "test"}),
				},
				Changes: map[string][]modules.Value{
					"display_name": {modules.Text("A & B"), modules.Null},
					"policy": {document(t,
						`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":"*","Action":"sns:Publish","Resource":"*"}]}`)},
					"delivery_policy": {document(t, `{"http":{"disableSubscriptionOverrides":true}}`),
						modules.Null},
					"tracing_config":              {modules.Text("Active"), modules.Text("PassThrough")},
					"kms_master_key_id":           {modules.Text("alias/aws/sns"), modules.Null},
					"signature_version":           {modules.Text("2"), modules.Text("1")},
					"content_based_deduplication": {modules.Bool(true), modules.Bool(false)},
					"tags": {modules.StringMap(map[string]string{"a": "1", "b": ""}),
						modules.Null},
				},
				Elsewhere: []string{"archive_policy", "fifo_throughput_scope", "delivery_status_logging"}, // TestSent
				Calls:     map[string]int{"tags": 2},
			})
		})
	}
}

// What is there with other attributes is to be adopted.
func TestTopicExists(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(&fakeSNS{topics: map[string]*fakeTopic{}})
	t.Cleanup(server.Close)
	r := newTopic(awstest.Fake(server.URL))
	ctx, permit := t.Context(), awstest.Permit()
	row := modules.Row{"name": modules.Text("n"), "display_name": modules.Text("one")}
	if _, err := awstest.Create(ctx, r, permit, awstest.Scope("us-east-1"), row, ""); err != nil {
		t.Fatal(err)
	}
	row["display_name"] = modules.Text("two")
	if _, err := awstest.Create(ctx, r, permit, awstest.Scope("us-east-1"), row, ""); err == nil ||
		modules.ClassOf(err) != modules.Exists {
		t.Errorf("got %v, want class %s", err, modules.Exists)
	}
}

func TestSubscriptionLifecycle(t *testing.T) {
	t.Parallel()
	clients, scope := awstest.Clients(t), awstest.Scope("eu-west-1")
	ctx, permit := t.Context(), awstest.Permit()
	if _, err := awstest.Create(ctx, newTopic(clients), permit, scope, modules.Row{"name": modules.Text("news")}, ""); err != nil {
		t.Fatal(err)
	}
	awstest.Lifecycle(t, awstest.Case{
		Resource: newSubscription(clients),
		Scope:    scope,
		Want: modules.Row{
			"topic": modules.Text("news"), "protocol": modules.Text("sqs"),
			"endpoint":             modules.Text("arn:aws:sqs:eu-west-1:123456789012:q"),
			"raw_message_delivery": modules.Bool(false), "filter_policy_scope": modules.Text("MessageAttributes"),
			"filter_policy": document(t, `{"kind":["a"]}`), "redrive_policy": modules.Null,
			"subscription_role_arn": modules.Null,
		},
		Elsewhere: []string{"delivery_policy", "replay_policy"}, // which moto ignores
		Changes: map[string][]modules.Value{
			"raw_message_delivery": {modules.Bool(true), modules.Bool(false)},
			"filter_policy_scope":  {modules.Text("MessageBody"), modules.Text("MessageAttributes")},
			"filter_policy":        {document(t, `{"kind":["a","b"]}`), modules.Null},
			"redrive_policy": {document(t, `{"deadLetterTargetArn":"arn:aws:sqs:eu-west-1:123456789012:d"}`),
				modules.Null},
			// A role is of firehose alone, which moto does not mind.
			"subscription_role_arn": {modules.Text("arn:aws:iam::123456789012:role/r")},
		},
	})
}

// A subscription that waits for its endpoint is there, without an ARN; those of
// topics that are gone or somebody else's, and deleted ones, are not. moto
// confirms all by itself and forgets them with their topic.
func TestPendingSubscription(t *testing.T) {
	t.Parallel()
	const arn = "arn:aws:sns:us-east-1:123456789012:"
	member := func(topic, endpoint, own string) string {
		return "<member><TopicArn>" + topic + "</TopicArn><Protocol>email</Protocol><Endpoint>" + endpoint +
			"</Endpoint><SubscriptionArn>" + own + "</SubscriptionArn></member>"
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		action, body := r.Form.Get("Action"), ""
		switch action {
		case "GetCallerIdentity":
			body = "<Account>123456789012</Account><Arn>arn:aws:iam::123456789012:root</Arn>"
		case "ListTopics":
			body = "<Topics><member><TopicArn>" + arn + "t</TopicArn></member></Topics>"
		default:
			body = "<Subscriptions>" + member(arn+"t", "a@example.com", pending) + member(arn+"t",
				"b@example.com", deleted) +
				member(arn+"gone", "c@example.com", pending) + member("arn:aws:sns:us-east-1:999999999999:t",
				"d@example.com", arn+"t:1") + "</Subscriptions>"
		}
		fmt.Fprintf(w, "<%sResponse><%sResult>%s</%sResult></%sResponse>", action, action, body, action, action)
	}))
	t.Cleanup(server.Close)
	r, scope := newSubscription(awstest.Fake(server.URL)), awstest.Scope("us-east-1")
	var rows []modules.Row
	if err := awstest.List(t.Context(), r, scope, func(page []modules.Row) error {
		rows = append(rows, page...)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if len(rows) != 1 || rows[0]["endpoint"].String() != "a@example.com" || !rows[0]["arn"].IsNull() {
		t.Fatalf("got %v", rows)
	}
	if _, known := rows[0]["filter_policy"]; known {
		t.Error("attributes of an unconfirmed subscription are taken for known")
	}
	err := awstest.Delete(t.Context(), r, awstest.Permit(), scope, rows[0])
	if err == nil || modules.ClassOf(err) != modules.Dependency {
		t.Errorf("delete: got %v, want class %s", err, modules.Dependency)
	}
}

// SNS adds to a delivery policy what it means by leaving it out ("Amazon SNS
// message delivery retries", SNS Developer Guide).
func TestDeliveryPolicy(t *testing.T) {
	t.Parallel()
	column := newTopic(nil).Table().Column("delivery_policy")
	const retries = `{"minDelayTarget":20,"maxDelayTarget":20,"numRetries":3,"numMaxDelayRetries":0,"numNoDelayRetries":0,"numMinDelayRetries":0,"backoffFunction":"linear"}`
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{`{"http":{"defaultHealthyRetryPolicy":{"numRetries":5}}}`,
			`{"http":{"defaultHealthyRetryPolicy":{"minDelayTarget":20,"maxDelayTarget":20,"numRetries":5,"numMaxDelayRetries":0,"numNoDelayRetries":0,"numMinDelayRetries":0,"backoffFunction":"linear"},"disableSubscriptionOverrides":false}}`, true},
		{`{"http":{"defaultHealthyRetryPolicy":` + retries + `}}`, `{"http":{"defaultHealthyRetryPolicy":` + retries +
			`,"disableSubscriptionOverrides":false}}`, true},
		{`{"http":{"disableSubscriptionOverrides":true}}`, `{"http":{"defaultHealthyRetryPolicy":` + retries +
			`,"disableSubscriptionOverrides":true}}`, true},
		{`{"http":{"defaultThrottlePolicy":{"maxReceivesPerSecond":1}}}`, `{"http":{"defaultHealthyRetryPolicy":` +
			retries + `,"disableSubscriptionOverrides":false,"defaultThrottlePolicy":{"maxReceivesPerSecond":1},"defaultRequestPolicy":{"headerContentType":"text/plain; charset=UTF-8"}}}`, true},
		{`{"http":{"defaultThrottlePolicy":null}}`, `{"http":{}}`, true},
		{`{"http":{}}`, `{"http":{"disableSubscriptionOverrides":true}}`, false},
		{`{"http":{"defaultHealthyRetryPolicy":{"numRetries":5}}}`, `{"http":{"defaultHealthyRetryPolicy":` + retries +
			`}}`, false},
		{`{"http":{"defaultHealthyRetryPolicy":{"backoffFunction":"linear"}}}`,
			`{"http":{"defaultHealthyRetryPolicy":{"backoffFunction":"geometric"}}}`, false},
		{`{"http":{}}`, `{"http":{"defaultThrottlePolicy":{"maxReceivesPerSecond":1}}}`, false},
		{`{"http":{}}`, `{"http":{"defaultRequestPolicy":{"headerContentType":"application/json"}}}`, false},
		{`{"http":{}}`, `{"http":{"new":1}}`, false},
		{`{"http":{}}`, `{"other":{}}`, false},
		{`{"http":"text"}`, `{"http":{}}`, false},
	} {
		if got := column.Same(document(t, c.a), document(t, c.b)); got != c.same ||
			column.Same(document(t, c.b), document(t, c.a)) != c.same {
			t.Errorf("%s and %s are the same: %t, want %t", c.a, c.b, got, c.same)
		}
	}
}

// A subscription that is there with other attributes is found, and changed (page
// Subscribe, InvalidParameter).
func TestSubscriptionExists(t *testing.T) {
	t.Parallel()
	const topic = "arn:aws:sns:us-east-1:123456789012:t"
	raw := "false"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		action, body := r.Form.Get("Action"), ""
		switch action {
		case "GetCallerIdentity":
			body = "<Account>123456789012</Account><Arn>arn:aws:iam::123456789012:root</Arn>"
		case "Subscribe":
			w.WriteHeader(400)
			fmt.Fprint(w, "<ErrorResponse><Error><Type>Sender</Type><Code>InvalidParameter</Code><Message>Invalid "+
				"parameter: Attributes Reason: Subscription already exists with different "+
				"attributes</Message></Error></ErrorResponse>")
			return
		case "ListSubscriptionsByTopic":
			body = "<Subscriptions><member><TopicArn>" + topic +
				"</TopicArn><Protocol>sqs</Protocol><Endpoint>q</Endpoint><SubscriptionArn>" + topic +
				":1</SubscriptionArn></member></Subscriptions>"
		case "GetSubscriptionAttributes":
			body = "<Attributes><entry><key>RawMessageDelivery</key><value>" + raw + "</value></entry></Attributes>"
		case "SetSubscriptionAttributes":
			if r.Form.Get("SubscriptionArn") == topic+":1" && r.Form.Get("AttributeName") == "RawMessageDelivery" {
				raw = r.Form.Get("AttributeValue")
			}
		}
		fmt.Fprintf(w, "<%sResponse><%sResult>%s</%sResult></%sResponse>", action, action, body, action, action)
	}))
	t.Cleanup(server.Close)
	r, scope := newSubscription(awstest.Fake(server.URL)), awstest.Scope("us-east-1")
	ctx, permit := t.Context(), awstest.Permit()
	row := modules.Row{"topic": modules.Text("t"), "protocol": modules.Text("sqs"), "endpoint": modules.Text("q"),
		"raw_message_delivery": modules.Bool(true)}
	if _, err := awstest.Create(ctx, r, permit, scope, row, ""); err == nil || modules.ClassOf(err) != modules.Exists {
		t.Errorf("got %v of class %s, want %s", err, modules.ClassOf(err), modules.Exists)
	}
	if r.Table().Creation != modules.ByName {
		t.Error("what is there is not adopted")
	}
	have, err := awstest.Get(ctx, r, scope, []modules.Row{row})
	if err != nil || len(have) != 1 {
		t.Fatalf("got %v, %v", have, err)
	}
	if err := awstest.Update(ctx, r, permit, scope, have[0], row, []string{"raw_message_delivery"}); err != nil ||
		raw != "true" {
		t.Errorf("update: %v, RawMessageDelivery is %s", err, raw)
	}
}

// A topic's loggings are attributes of their own, and what AWS adds to a subscription's delivery policy is no difference.
func TestLoggingsAndRetries(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		same func(a, b string) bool
		a, b string
		want bool
	}{
		{sameLogging, `[{"Protocol":"sqs","SuccessFeedbackRoleArn":"r"}]`,
			`[{"Protocol":"sqs","SuccessFeedbackRoleArn":"r","SuccessFeedbackSampleRate":"0"}]`, true},
		{sameLogging, `[{"Protocol":"sqs","SuccessFeedbackRoleArn":"r"}]`,
			`[{"Protocol":"lambda","SuccessFeedbackRoleArn":"r"}]`, false},
		{sameRetries, `{"healthyRetryPolicy":{"numRetries":5}}`,
			`{"healthyRetryPolicy":{"minDelayTarget":20,"maxDelayTarget":20,"numRetries":5,"numMaxDelayRetries":0,"numNoDelayRetries":0,"numMinDelayRetries":0,"backoffFunction":"linear"},"sicklyRetryPolicy":null,"throttlePolicy":null,"guaranteed":false}`, true},
	} {
		if c.same(c.a, c.b) != c.want || c.same(c.b, c.a) != c.want {
			t.Errorf("%s and %s: want %t", c.a, c.b, c.want)
		}
	}
	calls := awstest.Sent(t, func(c *aws.Clients) modules.Updater { return newTopic(c) },
		modules.Row{"name": modules.Text("n"), "arn": modules.Text("arn:n"), "delivery_status_logging": modules.Text(
			`[{"Protocol":"sqs","SuccessFeedbackRoleArn":"old"}]`)},
		modules.Row{"delivery_status_logging": modules.Text(`[{"Protocol":"http/s","FailureFeedbackRoleArn":"new"}]`)},
		`<SetTopicAttributesResponse><ResponseMetadata/></SetTopicAttributesResponse>`, "delivery_status_logging")
	if len(calls) != 2 || !strings.Contains(calls[0], "AttributeName=HTTPFailureFeedbackRoleArn&AttributeValue=new") ||
		!strings.Contains(calls[1], "AttributeName=SQSSuccessFeedbackRoleArn&AttributeValue=&") {
		t.Errorf("made the calls %q", calls)
	}
}
