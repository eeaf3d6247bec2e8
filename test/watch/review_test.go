package watch

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"iasql/internal/test/harness"
)

// by has an event tell of somebody.
func (w *world) by(session, agent string) func(detail map[string]any) {
	return func(detail map[string]any) {
		detail["userAgent"] = agent
		detail["userIdentity"] = map[string]any{"type": "AssumedRole",
			"principalId": "AROAIDPPEZS35WEXAMPLE:" + session,
			"arn":         fmt.Sprintf("arn:aws:sts::%s:assumed-role/Admin/%s", w.AWS.ID, session),
			"accountId":   w.AWS.ID}
	}
}

// heard waits until so many events are kept, and all of them were looked into.
func (w *world) heard(events int) {
	w.Helper()
	w.Eventually(30*time.Second, fmt.Sprint(events, " events are looked into"), func() bool {
		return w.Admin(`SELECT (SELECT count(*) FROM iasql_internal.cloud_event), (SELECT count(*) FROM iasql_internal.hint WHERE due <= clock_timestamp())`) == fmt.Sprint(events, "|0")
	})
}

// queues makes queues, and returns the URLs that they have in the cloud.
func (w *world) queues(names ...string) map[string]string {
	w.Helper()
	urls := map[string]string{}
	for _, name := range names {
		w.PSQL(fmt.Sprintf(`INSERT INTO queue (name) VALUES ('%s')`, name))
	}
	w.Settled()
	for _, name := range names {
		urls[name] = w.PSQL(fmt.Sprintf(`SELECT url FROM queue WHERE name = '%s'`, name))
	}
	return urls
}

// set changes an attribute of a queue with another tool, and returns the event about it.
func (w *world) set(url, attribute, value string, who func(map[string]any)) string {
	w.Helper()
	w.CLI("sqs", "set-queue-attributes", "--queue-url", url, "--attributes", attribute+"="+value)
	return w.event("sqs.amazonaws.com", "SetQueueAttributes",
		fmt.Sprintf(`{"queueUrl": %q, "attributes": {%q: %q}}`, url, attribute, value), "null", who)
}

// A review of a batch says who has changed in the cloud meanwhile what the batch is about:
// on both sides, only there, and what the batch is going to delete. Who may not see the row
// sees nothing of it. That an event comes late makes it no other plan.
func TestReview(t *testing.T) {
	t.Parallel()
	w := &world{World: harness.NewWorld(t)}
	w.Args = []string{"--http", "127.0.0.1:0"}
	engine := w.Serve()
	w.Install([]string{"us-east-1"}, "aws_sqs")
	w.makeQueue()
	w.addSource()
	w.PSQL(`UPDATE iasql_settings SET value = '1 day' WHERE name = 'sync_interval'`)
	urls := w.queues("both", "other", "doomed", "calm")
	w.read()

	// What was pulled before the batch has its author in the audit log; the review says no more of it.
	w.send(w.set(urls["both"], "DelaySeconds", "3", w.by("old@example.com", "old")))
	w.Eventually(20*time.Second, "the change is pulled", func() bool {
		return w.PSQL(`SELECT delay_seconds FROM queue WHERE name = 'both'`) == "3"
	})
	w.send(w.event("sqs.amazonaws.com", "SetQueueAttributes",
		fmt.Sprintf(`{"queueUrl": %q}`, strings.Replace(urls["both"], "both", "nobodys", 1)), "null"))
	w.heard(2)
	w.longAgo()

	w.PSQL(`CALL iasql_begin('test')`, `UPDATE queue SET visibility_timeout = 60 WHERE name IN ('both', 'calm')`,
		`UPDATE queue SET delay_seconds = 9 WHERE name = 'other'`, `DELETE FROM queue WHERE name = 'doomed'`)
	const preview = `SELECT action, direction, reason FROM iasql_preview() WHERE description LIKE '%both%' OR description LIKE '%other%' OR description LIKE '%doomed%' OR description LIKE '%calm%' ORDER BY description, direction`
	const hash = `SELECT iasql_preview_hash()`
	if got := w.Joined(preview); strings.Contains(got, "in the cloud") {
		t.Errorf("before anybody has changed anything:\n%s", got)
	}
	events := []string{
		w.set(urls["both"], "VisibilityTimeout", "45", w.by("ana@example.com", "aws-cli/2.15.0")),
		w.set(urls["other"], "MessageRetentionPeriod", "120", w.by("bob@example.com", "console.amazonaws.com")),
		w.set(urls["doomed"], "DelaySeconds", "5", w.by("eva@example.com", "terraform [x](y) <img> | z")),
	}
	before, plan := w.Joined(preview), w.Joined(hash)
	if strings.Contains(before, "example.com") {
		t.Errorf("before an event has told:\n%s", before)
	}
	w.send(events...)
	w.heard(5)
	// What names something of an open batch is kept for its review, longer than other events.
	w.Admin(`UPDATE iasql_internal.cloud_event SET received = received - interval '7 hours'`,
		`SELECT iasql_internal.prune()`,
		`UPDATE iasql_internal.cloud_event SET received = received + interval '7 hours'`)
	w.heard(4)
	got := w.Joined(preview)
	for _, want := range []string{
		"changed on both sides; in the cloud: ana@example.com (" + fmt.Sprintf(ana, w.AWS.ID) + ") at ",
		" from 192.0.2.10 with aws-cli/2.15.0",
		"update|pull|changed in the cloud; in the cloud: bob@example.com (",
		"; changed in the cloud since: delay_seconds; in the cloud: eva@example.com (",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the preview does not say %q:\n%s", want, got)
		}
	}
	if strings.Contains(got, "old@example.com") || strings.Count(got, "in the cloud: ") != 3 {
		t.Errorf("the preview says too much:\n%s", got)
	}
	if after := w.Joined(hash); after != plan {
		t.Error("an event that came late has changed the plan")
	}
	if review := w.Joined(`SELECT iasql_create_review('t')`); !strings.Contains(review, "ana@example.com") ||
		!strings.Contains(review, `terraform \[x](y) &lt;img> \| z`) {
		t.Errorf("the review:\n%s", review)
	}
	w.reviewedElsewhere(engine)

	// After the commit the conflict has who it was, and so has the record's history.
	w.Joined(`CALL iasql_commit('why', preview_hash => '` + plan + `')`)
	if got := w.PSQL(`SELECT c.actor, c.resolved FROM iasql_conflicts c JOIN queue q ON q.id = c.record_id AND c.table_name = 'queue' WHERE q.name = 'both'`); got != fmt.Sprintf(ana, w.AWS.ID)+"|pushed" {
		t.Errorf("the conflict says %s", got)
	}
	if got := w.PSQL(`SELECT h.details ->> 'actor', h.details ->> 'cloud_value' FROM queue q, iasql_history('queue', q.id) h WHERE q.name = 'both' AND h.kind = 'conflict'`); got != fmt.Sprintf(ana, w.AWS.ID)+"|45" {
		t.Errorf("the history says %s", got)
	}
	if got := w.PSQL(`SELECT actor_session FROM iasql_audit_log l JOIN queue q ON q.id = l.record_id AND l.table_name = 'queue' WHERE q.name = 'other' AND l.change ->> 'change' LIKE '%retention%' AND l.origin = 'engine'`); got != "bob@example.com" {
		t.Errorf("what was pulled was changed by %q", got)
	}
	w.hiddenReviews(urls)
}

// reviewedElsewhere looks at the review in the console and in a pipeline.
func (w *world) reviewedElsewhere(engine *harness.Process) {
	w.Helper()
	page := signIn(w.World, engine).page("/batches/test?preview=1")
	for _, want := range []string{
		"In the cloud by <strong>ana@example.com</strong>", "from 192.0.2.10, with aws-cli/2.15.0",
		"In the cloud by <strong>bob@example.com</strong>",
		", which eva@example.com has changed in the cloud since", "with terraform [x](y) &lt;img&gt; | z",
	} {
		if !strings.Contains(page, want) {
			w.Errorf("the console's review does not say %q:\n%s", want, page)
		}
	}
	cmd := exec.CommandContext(w.Context(), harness.Engine(), "batch", "preview",
		"test") // #nosec G204 -- the engine under test
	cmd.Env = append(os.Environ(), "DATABASE_URL="+w.UserURL)
	if out, err := cmd.CombinedOutput(); err != nil || strings.Count(string(out), "; in the cloud: ") != 3 {
		w.Errorf("engine batch preview: %v\n%s", err, out)
	}
}

// hiddenReviews looks at what is left alone in the cloud as somebody who does not see every
// row or column.
func (w *world) hiddenReviews(urls map[string]string) {
	w.Helper()
	w.PSQL(`INSERT INTO iasql_mode (mode, table_name, record_id) SELECT 'PAUSE', 'queue', id FROM queue WHERE name IN ('calm', 'other')`)
	w.longAgo()
	w.send(w.set(urls["calm"], "VisibilityTimeout", "47", w.by("cem@example.com", "aws-cli/2.15.0")),
		w.set(urls["other"], "MessageRetentionPeriod", "180", w.by("dan@example.com", "boto3")))
	w.heard(6)
	limited := w.Login("limited", "iasql_user")
	sees := func(who, url string, cem bool) {
		w.Helper()
		got, err := w.TryPSQL(url, `SELECT description, reason, changes FROM iasql_drift()`,
			`SELECT iasql_create_review('t')`, `SELECT who FROM iasql_internal.previewed`)
		if err != nil || strings.Contains(got, "cem@example.com") != cem ||
			!strings.Contains(got, "in the cloud: dan@example.com (") {
			w.Errorf("%s sees: %v\n%s", who, err, got)
		}
	}
	sees("who sees everything", limited, true)
	w.Admin(`ALTER TABLE queue ENABLE ROW LEVEL SECURITY`,
		`CREATE POLICY hides ON queue USING (current_user LIKE 'user%' OR name <> 'calm')`)
	sees("who does not see the row", limited, false)
	w.Admin(`DROP POLICY hides ON queue`, `ALTER TABLE queue DISABLE ROW LEVEL SECURITY`)
	w.Admin(`REVOKE SELECT ON queue FROM iasql_reader`,
		`GRANT SELECT (id, name, message_retention_period) ON queue TO iasql_reader`)
	sees("who does not see the column", limited, false)
}

// longAgo makes what is in the audit log ten minutes old: CloudTrail's times are whole seconds,
// and by another clock, so that an event may be about what is some seconds older.
func (w *world) longAgo() {
	w.Helper()
	w.Admin(`UPDATE iasql_audit_log SET ts = ts - interval '10 minutes', since = since - interval '10 minutes' WHERE origin = 'engine'`)
}
