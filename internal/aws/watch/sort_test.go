package watch

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"iasql/internal/aws"
	"iasql/internal/aws/events"
	"iasql/internal/modules"
	"iasql/internal/modules/awsaccount"
	"iasql/internal/modules/awsvpc"
)

// newTestSorter returns a sorter of the account 111122223333, which the database calls main,
// and knows another one.
func newTestSorter(t *testing.T, s source) *sorter {
	t.Helper()
	c := aws.New(aws.Options{})
	registry, err := modules.NewRegistry(awsaccount.Module(c), awsvpc.Module(c))
	if err != nil {
		t.Fatal(err)
	}
	s.Account = "main"
	w := &Watch{Registry: registry}
	w.accounts.asked, w.accounts.looked = time.Now(), time.Now().Add(time.Minute)
	w.accounts.known = map[string]string{"main": "111122223333", "other": "444455556666"}
	w.accounts.names = map[string]string{"111122223333": "main", "444455556666": "other"}
	return newSorter(w, s)
}

func deletion(account, region string) *events.Event {
	return &events.Event{ID: "e", Time: time.Now(), Account: account, Region: region, Source: "ec2.amazonaws.com",
		Name: "DeleteVpc", Request: map[string]any{"vpcId": "vpc-1"}}
}

// Whose events count says the source's row.
func TestWhoseEventsCount(t *testing.T) {
	for name, c := range map[string]struct {
		source          source
		account, region string
		want            string
	}{
		"its own":                             {source{}, "111122223333", "eu-west-1", "main"},
		"another's":                           {source{}, "444455556666", "eu-west-1", ""},
		"another's, of an organization":       {source{AllAccounts: true}, "444455556666", "eu-west-1", "other"},
		"nobody's, of an organization":        {source{AllAccounts: true}, "777788889999", "eu-west-1", ""},
		"of its region":                       {source{Region: "eu-west-1"}, "111122223333", "eu-west-1", "main"},
		"of another region than the source's": {source{Region: "eu-west-1"}, "111122223333", "us-east-1", ""},
	} {
		h := newBatchOfEvents()
		if err := newTestSorter(t, c.source).event(t.Context(), h, deletion(c.account, c.region)); err != nil {
			t.Fatal(err)
		}
		got := ""
		if len(h.kept) == 1 {
			got = h.kept[0].account
		}
		if got != c.want || (got == "") != (h.foreign == 1) {
			t.Errorf("%s: kept for %q, foreign %d", name, got, h.foreign)
		}
	}
}

// A source brings no more than its bucket holds, however many events it sends; what is
// dropped is counted. Events that hint at nothing cost nothing.
func TestTooManyEvents(t *testing.T) {
	s, h := newTestSorter(t, source{}), newBatchOfEvents()
	for range 100_000 {
		e := deletion("111122223333", "eu-west-1")
		if err := s.event(t.Context(), h, e); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(h.kept); n < eventsAtOnce || n > eventsAtOnce+200 || h.dropped != 100_000-n {
		t.Errorf("kept %d, dropped %d", n, h.dropped)
	}
	h = newBatchOfEvents()
	for range 1000 {
		e := deletion("111122223333", "eu-west-1")
		e.ReadOnly = true
		if err := s.event(t.Context(), h, e); err != nil {
			t.Fatal(err)
		}
	}
	if len(h.kept)+h.dropped > 0 || len(h.regions) != 1 {
		t.Errorf("of reads %d are kept and %d dropped", len(h.kept), h.dropped)
	}
}

// Only the calls that reading a queue takes are made (R9).
func TestPermittedCalls(t *testing.T) {
	for _, call := range []modules.Call{{Service: "SQS", Action: "ReceiveMessage"},
		{Service: "SQS", Action: "DeleteMessageBatch"}, {Service: "SQS", Action: "UntagQueue"}} {
		if _, err := (permitted{}).Begin(t.Context(), call); err != nil {
			t.Errorf("%v: %v", call, err)
		}
	}
	for _, call := range []modules.Call{{Service: "SQS", Action: "DeleteQueue"}, {Service: "SQS", Action: "PurgeQueue"},
		{Service: "EC2", Action: "UntagQueue"}} {
		if _, err := (permitted{}).Begin(t.Context(), call); modules.ClassOf(err) != modules.ReadOnly {
			t.Errorf("%v: %v", call, err)
		}
	}
}

// A queue's region is in its URL or ARN.
func TestRegionOfQueue(t *testing.T) {
	for queue, want := range map[string]string{
		"https://sqs.eu-west-1.amazonaws.com/111122223333/events":    "eu-west-1",
		"https://eu-west-1.queue.amazonaws.com/111122223333/events":  "eu-west-1",
		"arn:aws-cn:sqs:cn-north-1:111122223333:events":              "cn-north-1",
		"http://127.0.0.1:5000/111122223333/events":                  "",
		"https://sqs.cn-north-1.amazonaws.com.cn/111122223333/event": "cn-north-1",
	} {
		if got := (&sqsQueue{source: source{Queue: queue}}).region(); got != want {
			t.Errorf("%s: %q", queue, got)
		}
	}
}

// The names of a trail's files tell which were read before.
func TestOlderFiles(t *testing.T) {
	tr := &trail{upTo: time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)}
	const form = "AWSLogs/1/CloudTrail/eu-west-1/2026/01/02/1_CloudTrail_eu-west-1_20260102T%sZ_abc.json.gz"
	for name, want := range map[string]bool{fmt.Sprintf(form, "0955"): true, fmt.Sprintf(form, "1005"): false,
		fmt.Sprintf(form, "1300"): false, "digest.txt": true} {
		if got := tr.older(name); got != want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// scripted is a queue that answers what it is told to.
type scripted struct {
	answers chan scriptedAnswer
	deleted []string
}

type scriptedAnswer struct {
	messages []received
	err      error
}

func (q *scripted) Receive(context.Context, bool) ([]received, error) {
	a := <-q.answers
	return a.messages, a.err
}

func (q *scripted) Delete(_ context.Context, handles []string) error {
	q.deleted = append(q.deleted, handles...)
	return nil
}

func (q *scripted) Beat(context.Context) (string, error) { return "", nil }

// Where one of several calls that receive at once fails, what the others have received is
// there: it would be nobody's until the queue shows it again.
func TestOneOfSeveralFails(t *testing.T) {
	q := &scripted{answers: make(chan scriptedAnswer, 2)}
	p := &poller{queue: q, wide: 2}
	q.answers <- scriptedAnswer{err: errors.New("cut off")}
	q.answers <- scriptedAnswer{messages: []received{{handle: "a"}}}
	got, err := p.receive(t.Context())
	if len(got) != 1 || err == nil {
		t.Errorf("received %v, %v", got, err)
	}
}

// A source whose row changes is read on, but for another queue.
func TestRowChanges(t *testing.T) {
	first := source{Account: "main", Name: "events", Queue: "arn:aws:sqs:eu-west-1:111122223333:events",
		Region: "eu-west-1"}
	for name, c := range map[string]struct {
		change func(*source)
		want   bool
	}{
		"all accounts":   {func(s *source) { s.AllAccounts = true }, true},
		"all regions":    {func(s *source) { s.Region = "" }, true},
		"another queue":  {func(s *source) { s.Queue += "2" }, false},
		"a trail":        {func(s *source) { s.Queue, s.Bucket = "", "trail" }, false},
		"another source": {func(s *source) { s.Name = "other" }, false},
		"none":           {func(s *source) { *s = source{} }, false},
	} {
		p := &poller{source: first, sorter: newTestSorter(t, first), heard: time.Now()}
		s := first
		c.change(&s)
		if p.adopt(s) != c.want {
			t.Errorf("%s: read on is %v", name, !c.want)
		}
		if c.want && (p.source != s || p.sorter.source != s || !p.heard.IsZero()) {
			t.Errorf("%s: it is read as %+v", name, p.source)
		}
	}
	local := source{Account: "main", Name: "events", Queue: "http://127.0.0.1:5000/111122223333/events",
		Region: "eu-west-1"}
	elsewhere := local
	elsewhere.Region = "us-east-1"
	if elsewhere.readOn(local) {
		t.Error("a queue whose address names no region is read on in another")
	}
}
