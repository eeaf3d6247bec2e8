package watch

import (
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"iasql/internal/test/faultproxy"
	"iasql/internal/test/harness"
	"iasql/internal/test/stopwatch"
)

var hostile = flag.Int("hostile", 0,
	"how many hostile messages a queue is to have: go test ./test/watch -run TestEndlessHostileQueue -args -hostile 1000000")

// hostileQueue is a queue of Amazon SQS of which somebody else has the say, in a region of its
// own. Everything else is passed on to the emulator.
type hostileQueue struct {
	next    http.Handler
	body    func(i int) string
	left    atomic.Int64
	deleted atomic.Int64
	calls   atomic.Int64
	bytes   atomic.Int64
}

// hostileRegion is a region in which nothing but that queue is.
const hostileRegion = "sa-east-1"

func (q *hostileQueue) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	target := r.Header.Get("X-Amz-Target")
	if !strings.HasPrefix(target, "AmazonSQS.") ||
		!strings.Contains(r.Header.Get("Authorization"), "/"+hostileRegion+"/") {
		q.next.ServeHTTP(rw, r)
		return
	}
	q.calls.Add(1)
	var in struct {
		QueueName           string
		WaitTimeSeconds     int
		MaxNumberOfMessages int
		Entries             []struct{ Id string }
	}
	_ = json.NewDecoder(r.Body).Decode(&in)
	out := map[string]any{}
	switch strings.TrimPrefix(target, "AmazonSQS.") {
	case "GetQueueUrl":
		out["QueueUrl"] = "http://hostile/1/" + in.QueueName
	case "ReceiveMessage":
		var messages []map[string]any
		for range in.MaxNumberOfMessages {
			i := q.left.Add(-1)
			if i < 0 {
				break
			}
			body := q.body(int(i))
			q.bytes.Add(int64(len(body)))
			messages = append(messages, map[string]any{"MessageId": uuid.NewString(), "ReceiptHandle": uuid.NewString(),
				"Body":       body,
				"Attributes": map[string]string{"SentTimestamp": fmt.Sprint(time.Now().UnixMilli())}})
		}
		if len(messages) == 0 {
			select {
			case <-r.Context().Done():
			case <-time.After(time.Duration(in.WaitTimeSeconds) * time.Second):
			}
		}
		out["Messages"] = messages
	case "DeleteMessageBatch":
		q.deleted.Add(int64(len(in.Entries)))
		var done []map[string]any
		for _, e := range in.Entries {
			done = append(done, map[string]any{"Id": e.Id})
		}
		out["Successful"] = done
	}
	rw.Header().Set("Content-Type", "application/x-amz-json-1.0")
	_ = json.NewEncoder(rw).Encode(out)
}

// memory returns how much memory a process has had at most, in megabytes.
func memory(t *testing.T, pid int) int {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Skip("the memory of a process is not to be had here: ", err)
	}
	var kilobytes int
	if m := regexp.MustCompile(`VmHWM:\s*(\d+) kB`).FindSubmatch(text); m != nil {
		_, _ = fmt.Sscan(string(m[1]), &kilobytes)
	}
	return kilobytes >> 10
}

// A queue that somebody else fills without an end does no harm: messages of a megabyte, of
// other accounts, with injected names and of what is there are read in bounded memory and
// with few calls; what users edit is pushed as ever, and another watch tells as ever.
func TestEndlessHostileQueue(t *testing.T) {
	messages := *hostile
	if messages == 0 {
		messages = 5000
	}
	w := &world{World: harness.NewWorld(t)}
	target, err := url.Parse(w.AWS.Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	q := &hostileQueue{next: httputil.NewSingleHostReverseProxy(target)}
	server := httptest.NewServer(q)
	t.Cleanup(server.Close)
	proxy := faultproxy.Start(t, server.URL)
	w.Endpoint = proxy.URL
	engine := w.Serve()
	w.Install([]string{"us-east-1"}, "aws_vpc", "aws_sqs")
	w.makeQueue()
	w.addSource()
	w.read()
	w.PSQL(`UPDATE iasql_settings SET value = '1 day' WHERE name = 'sync_interval'`)
	w.PSQL(`SELECT iasql_sync_now()`)
	before := w.PSQL(`SELECT count(*), md5(string_agg(v::text, '' ORDER BY id)) FROM vpc v`)
	id := w.PSQL(`SELECT vpc_id FROM vpc`)
	megabyte := strings.Repeat("[", 1<<20)
	q.body = func(i int) string {
		switch {
		case i%1000 == 0:
			return megabyte
		case i%1000 == 1:
			return w.event("ec2.amazonaws.com", "DeleteVpc",
				fmt.Sprintf(`{"vpcId": %q, "more": %q}`, id, megabyte[:1<<19]), "null")
		}
		switch i % 6 {
		case 0:
			return strings.Repeat(`{"a":`, 1000)
		case 1:
			return w.event("ec2.amazonaws.com", "DeleteVpc", fmt.Sprintf(`{"vpcId": %q}`, id), "null",
				func(d map[string]any) { d["recipientAccountId"] = "666666666666" })
		case 2:
			return w.event("ec2.amazonaws.com", "DeleteVpc", `{"vpcId": "x'; DROP TABLE vpc; --"}`, "null",
				func(d map[string]any) { d["userAgent"] = "'; DELETE FROM vpc; --\u202e" })
		case 3:
			return w.event("ec2.amazonaws.com", "DeleteVpc", fmt.Sprintf(`{"vpcId": "vpc-%08x"}`, i), "null")
		case 4: // it says that the VPC is gone
			return w.event("ec2.amazonaws.com", "DeleteVpc", fmt.Sprintf(`{"vpcId": %q}`, id), `{"_return": true}`)
		}
		return w.event("ec2.amazonaws.com", "CreateVpc", `{}`, `{"vpc": {}}`) // has the table listed
	}
	counts, calm := proxy.Counts(), memory(t, engine.PID())
	q.left.Store(int64(messages))
	begun := time.Now()
	w.PSQL(fmt.Sprintf(`INSERT INTO aws_event_source (name, queue) VALUES ('hostile', 'arn:aws:sqs:%s:%s:hostile')`,
		hostileRegion, w.AWS.ID))
	var edit, told time.Duration // the longest
	rounds := 0
	for ; q.left.Load() > 0 || rounds == 0; rounds++ {
		if time.Since(begun) > time.Hour {
			t.Fatalf("%d messages are left", q.left.Load())
		}
		at, name := stopwatch.Start(), fmt.Sprint("edit", rounds)
		w.PSQL(fmt.Sprintf(`INSERT INTO queue (name) VALUES ('%s')`, name))
		w.Eventually(60*time.Second, "what a user has inserted is there", func() bool {
			return w.PSQL(fmt.Sprintf(`SELECT url IS NOT NULL FROM queue WHERE name = '%s'`, name)) == "t"
		})
		edit = max(edit, at.Took())
		w.CLI("sqs", "create-queue", "--queue-name", "theirs"+name)
		at = stopwatch.Start()
		w.send(w.event("sqs.amazonaws.com", "CreateQueue", fmt.Sprintf(`{"queueName": "theirs%s"}`, name), "null"))
		w.Eventually(60*time.Second, "what the other watch tells is there", func() bool {
			return w.PSQL(fmt.Sprintf(`SELECT count(*) FROM queue WHERE name = 'theirs%s'`, name)) == "1"
		})
		told = max(told, at.Took())
	}
	took := time.Since(begun)
	w.Eventually(60*time.Second, "all are deleted", func() bool { return q.deleted.Load() >= int64(messages) })
	reads := map[string]int{}
	for action, n := range proxy.Counts() {
		if strings.HasPrefix(action, "Describe") && n > counts[action] {
			reads[action] = n - counts[action]
		}
	}
	most := memory(t, engine.PID())
	t.Logf("%d messages of %d MB in %s: the engine had %d MB at most, %d before; %d calls of the queue; reads %v; "+
		"%s; rows kept: %s; the slowest of %d edits %s, of the other watch's events %s",
		messages, q.bytes.Load()>>20, took.Round(time.Second), most, calm, q.calls.Load(), reads,
		w.Admin(`SELECT concat_ws(', ', events || ' events', doubles || ' doubles', foreign_ || ' foreign', malformed || ' malformed', dropped || ' dropped') FROM iasql_internal.event_source WHERE name = 'hostile'`),
		w.Admin(`SELECT concat_ws(', ', (SELECT count(*) FROM iasql_internal.cloud_event) || ' events', (SELECT count(*) FROM iasql_internal.hint) || ' hints')`), rounds, edit, told)
	if most > calm+200 {
		t.Errorf("it took %d MB", most-calm)
	}
	// What is read is bounded by time: so many a second, and a place is listed every three.
	if limit := 200 + int(30*took.Seconds()); reads["DescribeVpcs"] > limit {
		t.Errorf("VPCs were read %d times, want %d at most", reads["DescribeVpcs"], limit)
	}
	if edit > 30*time.Second || told > 30*time.Second {
		t.Errorf("an edit took %s, and an event of another watch %s", edit, told)
	}
	if after := w.PSQL(`SELECT count(*), md5(string_agg(v::text, '' ORDER BY id)) FROM vpc v`); after != before {
		t.Errorf("the table was %s and is %s", before, after)
	}
	if got := w.PSQL(`SELECT count(*) FROM iasql_audit_log WHERE table_name = 'vpc' AND actor IS NOT NULL`); got != "0" {
		t.Errorf("%s changes have an author", got)
	}
	if strings.Contains(engine.Log(), "panic") {
		t.Error("the engine says ", engine.Log())
	}
}
