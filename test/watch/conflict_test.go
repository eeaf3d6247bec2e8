package watch

import (
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"iasql/internal/test/harness"
	"iasql/internal/test/likeness"
)

// console is the console of an engine, as somebody who has signed in sees it.
type console struct {
	*testing.T
	base   string
	client *http.Client
}

var served = regexp.MustCompile(`the console is served" .*?url=(\S+)`)

// signIn signs in at an engine's console with a user's login.
func signIn(w *harness.World, engine *harness.Process) *console {
	w.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		w.Fatal(err)
	}
	c := &console{T: w.T, client: &http.Client{Jar: jar, Timeout: time.Minute}}
	w.Eventually(30*time.Second, "the console is served", func() bool {
		if m := served.FindStringSubmatch(engine.Log()); m != nil {
			c.base = m[1]
		}
		return c.base != ""
	})
	u, err := url.Parse(w.UserURL)
	if err != nil {
		w.Fatal(err)
	}
	password, _ := u.User.Password()
	answer, err := c.client.PostForm(c.base+"/signin", url.Values{"name": {u.User.Username()}, "password": {password}})
	if err != nil {
		w.Fatal(err)
	}
	answer.Body.Close()
	return c
}

// page returns a page.
func (c *console) page(path string) string {
	c.Helper()
	for range 50 {
		answer, err := c.client.Get(c.base + path)
		if err != nil {
			c.Fatal(err)
		}
		body, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		switch {
		case err != nil:
			c.Fatal(err)
		case answer.StatusCode == http.StatusTooManyRequests:
			time.Sleep(100 * time.Millisecond) // as Retry-After asks
			continue
		case answer.StatusCode != http.StatusOK || strings.Contains(string(body), "Sign in as a role"):
			c.Errorf("%s: %d", path, answer.StatusCode)
		}
		return string(body)
	}
	c.Fatalf("%s is refused", path)
	return ""
}

// A conflict says who was on the other side, wherever one looks: when the event has come
// before the change is settled, and when it comes after; of a value and of an object that
// somebody has deleted; of a conflict that is open, and of one that the engine has decided.
func TestConflictsSayWho(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t)
	l := likeness.Start(t, w.AWS.Endpoint)
	trail := &likeness.Trail{Delay: 3 * time.Second}
	l.Record(trail)
	w.Endpoint, w.AWS.Endpoint = l.URL, l.URL
	w.Args = []string{"--http", "127.0.0.1:0"}
	engine := w.Serve()
	w.Install([]string{"us-east-1"}, "aws_sqs", "aws_eventbridge")
	example(w, "watch.sql")
	w.PSQL(`UPDATE iasql_settings SET value = '1 day' WHERE name = 'sync_interval'`)
	w.PSQL(`SELECT iasql_sync_now()`)
	urls := map[string]string{}
	for _, name := range []string{"before", "after", "held", "gone"} {
		w.PSQL(fmt.Sprintf(`INSERT INTO queue (name) VALUES ('%s')`, name))
	}
	w.Settled()
	for name := range map[string]bool{"before": true, "after": true, "held": true, "gone": true} {
		urls[name] = w.PSQL(fmt.Sprintf(`SELECT url FROM queue WHERE name = '%s'`, name))
	}
	w.Eventually(30*time.Second, "the queue is read", func() bool {
		return w.PSQL(`SELECT last_answer IS NOT NULL FROM iasql_event_sources`) == "t"
	})
	who := w.CLI("sts", "get-caller-identity")["Arn"].(string)
	set := func(name string) {
		w.CLI("sqs", "set-queue-attributes", "--queue-url", urls[name], "--attributes", "VisibilityTimeout=45")
	}
	has := func(name string) func() bool {
		return func() bool {
			return w.PSQL(fmt.Sprintf(`SELECT c.actor, c.actor_session || c.source_address || substring(c.user_agent FROM '^[a-z-]+/'), c.event_id IS NOT NULL, c.event_time BETWEEN now() - interval '5 minutes' AND now() + interval '5 seconds'
				FROM iasql_conflicts c WHERE c.table_name = 'queue' AND c.record_id = (SELECT min(a.record_id) FROM iasql_audit_log a WHERE a.table_name = 'queue' AND a.change -> 'change' ->> 'name' = '%s')`, name)) == who+"|moto127.0.0.1aws-cli/|t|t"
		}
	}

	// The event comes later than the edit.
	set("after")
	w.PSQL(`UPDATE queue SET visibility_timeout = 60 WHERE name = 'after'`)
	w.Eventually(20*time.Second, "the conflict is decided", func() bool {
		return w.PSQL(`SELECT resolved FROM iasql_conflicts`) == "pushed"
	})
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("sent: %+v, with the failures %q", trail.Counts(), trail.Failures())
		}
	})
	// a message that is received by a call which is cut off comes again after the visibility timeout
	w.Eventually(2*time.Minute, "the decided conflict says who it was", has("after"))

	// The event comes before the edit is carried out.
	w.PSQL(`CALL iasql_begin('test')`, `UPDATE queue SET visibility_timeout = 60 WHERE name = 'before'`)
	set("before")
	// That event, and none of the queue's creation: one that is received by a call which is cut off comes late.
	w.Eventually(2*time.Minute, "the event has come", func() bool {
		return w.Admin(`SELECT count(*) FROM iasql_internal.hint h JOIN iasql_internal.cloud_event e ON (e.account, e.id) = (h.account, h.event)
			WHERE h.table_name = 'queue' AND h.value LIKE '%before' AND e.call = 'SetQueueAttributes'`) != "0"
	})
	w.Joined(`CALL iasql_commit()`)
	if !has("before")() {
		t.Errorf("when the batch is committed the conflicts are %s", w.PSQL(`SELECT * FROM iasql_conflicts`))
		t.Logf("the events: %s", w.Admin(`SELECT string_agg(concat_ws(' ', e.call, e.at, e.received, e.request_id, e.actor, (SELECT 'own' FROM iasql_internal.own_request r WHERE r.id = e.request_id),
			h.column_name, h.value, h.due, h.tries), E'\n') FROM iasql_internal.cloud_event e JOIN iasql_internal.hint h ON (e.account, e.id) = (h.account, h.event) WHERE h.value LIKE '%before'`))
		t.Logf("the audit log: %s", w.Admin(`SELECT string_agg(concat_ws(' ', l.id, l.ts, l.since, l.origin, l.change_type, l.event_id, l.settled_at, l.change), E'\n' ORDER BY l.id)
			FROM iasql_audit_log l WHERE l.table_name = 'queue' AND l.record_id = (SELECT id FROM queue WHERE name = 'before')`))
	}

	// An open one.
	w.PSQL(`UPDATE iasql_settings SET value = 'hold' WHERE name = 'conflict_policy'`)
	set("held")
	w.PSQL(`UPDATE queue SET visibility_timeout = 60 WHERE name = 'held'`)
	w.Eventually(30*time.Second, "the open conflict says who it was", has("held"))

	// Deleted there, changed here. That a read does not show the queue proves nothing in the window after its creation.
	w.PSQL(`UPDATE iasql_settings SET value = '1 second' WHERE name = 'consistency_window'`)
	w.CLI("sqs", "delete-queue", "--queue-url", urls["gone"])
	w.PSQL(`UPDATE queue SET visibility_timeout = 60 WHERE name = 'gone'`)
	w.Eventually(30*time.Second, "the conflict about a deletion says who it was", has("gone"))

	c := signIn(w, engine)
	conflicts := c.page("/activity?show=conflicts")
	if n := strings.Count(conflicts, "by moto, "+who+", from 127.0.0.1, with aws-cli/"); n != 4 {
		t.Errorf("the console names %d authors of 4:\n%s", n, conflicts)
	}
	for _, name := range []string{"before", "after", "held"} {
		id := w.PSQL(fmt.Sprintf(`SELECT id FROM queue WHERE name = '%s'`, name))
		if got := w.PSQL(fmt.Sprintf(`SELECT details ->> 'actor', details ->> 'session', details ->> 'source_address' FROM iasql_history('queue', %s) WHERE kind = 'conflict'`, id)); got != who+"|moto|127.0.0.1" {
			t.Errorf("the history of %s says %s", name, got)
		}
		if page := c.page("/records/queue/" + id); !strings.Contains(page, who) {
			t.Errorf("the page of %s does not say who it was:\n%s", name, page)
		}
	}
	for _, why := range trail.Failures() {
		t.Error(why)
	}
}
