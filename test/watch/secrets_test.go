package watch

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/jackc/pgx/v5"

	"iasql/internal/test/harness"
)

// listen hears iasql_events, and returns what was said when it is asked.
func listen(w *harness.World) (said func() []string) {
	w.Helper()
	conn, err := pgx.Connect(w.Context(), w.UserURL)
	if err != nil {
		w.Fatal(err)
	}
	if _, err := conn.Exec(w.Context(), `LISTEN iasql_events`); err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { _ = conn.Close(context.Background()) })
	return func() (all []string) {
		for {
			ctx, cancel := context.WithTimeout(w.Context(), time.Second)
			n, err := conn.WaitForNotification(ctx)
			cancel()
			if err != nil {
				return all
			}
			all = append(all, n.Payload)
		}
	}
}

// everything returns all rows of all tables of the database, as text.
func everything(w *harness.World) string {
	w.Helper()
	var queries []string
	for table := range strings.Lines(
		w.Admin(`SELECT format('%I.%I', n.nspname, c.relname) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE c.relkind IN ('r', 'm', 'v') AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast') ORDER BY 1`)) {
		queries = append(queries, fmt.Sprintf(`SELECT %s, t::text FROM %s t`, "'"+strings.TrimSpace(table)+"'", table))
	}
	return w.Admin(queries...)
}

// Events of careless people and of hostile ones leave no secret anywhere: not in a table, a
// log, a notification, a page or a history. What they say is bounded, and nothing in it
// reaches a terminal or a page that would obey it.
func TestEventsLeaveNoSecrets(t *testing.T) {
	t.Parallel()
	w := &world{World: harness.NewWorld(t)}
	w.Args = []string{"--http", "127.0.0.1:0"}
	engine := w.Serve()
	w.Install([]string{"us-east-1"}, "aws_sqs", "aws_rds", "aws_secrets_manager", "aws_iam", "aws_ssm")
	w.PSQL(`UPDATE iasql_settings SET value = '1 day' WHERE name = 'sync_interval'`)
	const key = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
	const escape = "\x1b]0;owned\x07\x1b[2J"
	// Of each somebody really changes a queue, so that the audit log names him.
	agents := []string{
		"curl/8 https://ana:planted-userinfo@example.com/",
		"https://b.s3.amazonaws.com/k?X-Amz-Credential=AKIAPLANTED0EXAMPLE0%2F20260102&X-Amz-Signature=plantedfe5f80f77d5fa3beca038a248ff027d0445342fe2855ddc963176630326f1024&X-Amz-Security-Token=plantedIQoJb3Jp",
		"tool --password planted-option token: planted-header",
		"key " + key,
		escape + "line\r\nline\u2028<script>window.hostile=1</script>\u202eevil\u0000",
		strings.Repeat("long ", 180_000),
	}
	sessions := []string{"ana@example.com", "AKIAPLANTED0EXAMPLE1", key, "password=planted-session",
		escape + "<img src=x onerror=alert(1)>\n", strings.Repeat("s", 5000)}
	secrets := []string{"planted", "PLANTED", key, key[:20], "owned\x07"}
	names := make([]string, len(agents))
	for i := range agents {
		names[i] = fmt.Sprint("q", i)
	}
	urls := w.queues(names...)
	w.longAgo()
	w.makeQueue()
	said := listen(w.World)
	w.addSource()
	w.read()
	bodies := []string{
		w.event("rds.amazonaws.com", "CreateDBInstance",
			`{"dBInstanceIdentifier": "db", "masterUserPassword": "planted", "masterUsername": "admin"}`,
			`{"dBInstanceIdentifier": "db", "pendingModifiedValues": {"masterUserPassword": "planted"}}`),
		w.event("secretsmanager.amazonaws.com", "CreateSecret",
			`{"name": "s", "secretString": "planted", "secretBinary": "planted"}`, `{"name": "s"}`),
		w.event("ssm.amazonaws.com", "PutParameter", `{"name": "p", "value": "planted"}`, "null"),
		w.event("iam.amazonaws.com", "CreateLoginProfile", `{"userName": "u", "password": "planted"}`, "null"),
		w.event("iam.amazonaws.com", "CreateAccessKey", `{"userName": "u"}`,
			`{"accessKey": {"userName": "u", "accessKeyId": "x", "secretAccessKey": "planted"}}`),
		w.event("sts.amazonaws.com", "AssumeRole", `{"roleSessionName": "planted"}`,
			`{"credentials": {"sessionToken": "planted", "secretAccessKey": "planted"}}`),
		w.event("ec2.amazonaws.com", "RunInstances", `{"userData": "planted"}`, "null"),
		w.event("sqs.amazonaws.com", "CreateQueue", `{"queueName": "nobodys"}`, "null", func(d map[string]any) {
			d["requestID"] = "password=planted"
			d["errorMessage"] = "planted"
		}),
		w.event("sqs.amazonaws.com", "CreateQueue", `{"queueName": "nobodys"}`, "null", func(d map[string]any) {
			d["eventID"] = "password=planted"
		}),
		`{"detail-type": "password=planted"}`, `{"detail-type": password=planted`,
	}
	for i, name := range names {
		bodies = append(bodies, w.set(urls[name], "DelaySeconds", "7", func(d map[string]any) {
			w.by(sessions[i], agents[i])(d)
			d["sourceIPAddress"] = "192.0.2.1" + escape
		}))
	}
	w.sendEach(bodies)
	w.Eventually(60*time.Second, "the changes have authors", func() bool {
		return w.PSQL(`SELECT count(*) FROM iasql_audit_log WHERE table_name = 'queue' AND event_id IS NOT NULL AND change -> 'change' ? 'delay_seconds'`) == fmt.Sprint(len(names))
	})
	w.Eventually(60*time.Second, "all messages are read", func() bool {
		return w.attribute("ApproximateNumberOfMessages") == "0"
	})

	left := map[string]string{
		"the tables": everything(w.World), "the log": engine.Log(), "notifications": strings.Join(said(), "\n"),
		"a history": w.PSQL(`SELECT h.* FROM queue q, iasql_history('queue', q.id) h`, `SELECT * FROM iasql_audit_log`,
			`SELECT * FROM iasql_event_sources`),
	}
	c := signIn(w.World, engine)
	for _, path := range []string{"/", "/activity?show=drift", "/activity?show=changes", "/batches/pending?preview=1"} {
		left["page "+path] = c.page(path)
	}
	for _, id := range strings.Fields(w.PSQL(`SELECT id FROM queue WHERE name LIKE 'q%'`)) {
		left["page of queue "+id] = c.page("/records/queue/" + id)
	}
	for where, text := range left {
		for _, secret := range secrets {
			if at := strings.Index(text, secret); at >= 0 {
				t.Errorf("%s: %q: %q", where, secret, text[max(0, at-200):min(len(text), at+100)])
			}
		}
		if strings.ContainsFunc(text, func(r rune) bool {
			return r != '\n' && r != '\t' && unicode.IsControl(r)
		}) || strings.ContainsAny(text, "\u2028\u202e") {
			t.Errorf("%s: there are control characters", where)
		}
		if strings.HasPrefix(where, "page") &&
			(strings.Contains(text, "<script>window") || strings.Contains(text, "<img src=x")) {
			t.Errorf("%s: there is a script:\n%s", where, text)
		}
	}
	if !strings.Contains(left["a history"], "https://********@example.com/") ||
		!strings.Contains(left["notifications"], `"session": "ana@example.com"`) {
		t.Errorf("what is no secret is missing:\n%s", left["notifications"])
	}
	if got := w.Admin(`SELECT max(octet_length(actor)) <= 2048, max(octet_length(actor_session)) <= 300, max(octet_length(user_agent)) <= 500, max(octet_length(source_address)) <= 300 FROM iasql_audit_log`); got != "t|t|t|t" {
		t.Errorf("what is kept is too long: %s", got)
	}
	for _, payload := range strings.Split(left["notifications"], "\n") {
		if len(payload) > 4000 {
			t.Errorf("a notification of %d bytes", len(payload))
		}
	}
}

// sendEach sends messages, a call each: they may be large.
func (w *world) sendEach(bodies []string) {
	w.Helper()
	for _, body := range bodies {
		w.sendAll([]string{body})
	}
}
