package edges

import (
	"fmt"
	"strings"
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"iasql/internal/test/faultproxy"
	"iasql/internal/test/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }

var east = []string{"us-east-1"}

// world is a world whose AWS calls go through a proxy, with a queue that the
// test leaves alone, to see that the rest is unharmed, and a client of the cloud.
type world struct {
	*harness.World
	proxy  *faultproxy.Proxy
	engine *harness.Process
	sqs    *sqs.Client
	canary int
}

func start(t *testing.T, modules ...string) *world {
	t.Helper()
	w := &world{World: harness.NewWorld(t)}
	w.begin(modules...)
	return w
}

// begin starts the engine and installs modules, aws_sqs among them.
func (w *world) begin(modules ...string) {
	w.Helper()
	w.proxy = faultproxy.Start(w.T, w.AWS.Endpoint)
	w.Endpoint = w.proxy.URL
	w.engine = w.Serve()
	w.Install(east, append(modules, "aws_sqs")...)
	// A listing may disprove the engine's own writes at once.
	w.PSQL(`UPDATE iasql_settings SET value = '0 seconds' WHERE name = 'consistency_window'`)
	w.sqs = sqs.NewFromConfig(w.AWS.Config("us-east-1"))
	w.PSQL(`INSERT INTO queue (name) VALUES ('canary')`)
	w.Settled()
}

// with starts the subtest's view of the world.
func (w *world) run(name string, test func(w *world)) {
	w.T.Run(name, func(t *testing.T) {
		inner, base := *w, *w.World
		base.T, inner.World = t, &base
		test(&inner)
		w.canary = inner.canary
	})
}

// fault decides what becomes of calls until the returned function is called.
func (w *world) fault(decide func(c faultproxy.Call) faultproxy.Fault) (heal func()) {
	w.proxy.Set(decide)
	heal = func() { w.proxy.Set(func(faultproxy.Call) faultproxy.Fault { return faultproxy.Fault{} }) }
	w.Cleanup(heal)
	return heal
}

// refuse is a fault of one action.
func (w *world) refuse(action string, f faultproxy.Fault) (heal func()) {
	return w.fault(func(c faultproxy.Call) faultproxy.Fault {
		if c.Action == action {
			return f
		}
		return faultproxy.Fault{}
	})
}

// unharmed looks whether another record's edits still reach the cloud.
func (w *world) unharmed() {
	w.Helper()
	w.canary++
	w.PSQL(fmt.Sprintf(`UPDATE queue SET delay_seconds = %d WHERE name = 'canary'`, w.canary))
	w.Eventually(10*time.Second, "the other queue's edit is in the cloud", func() bool {
		return w.attribute("canary", "DelaySeconds") == fmt.Sprint(w.canary)
	})
	// (Its state is unknown where its table could not be listed, R32.)
	w.Becomes(10*time.Second, "0",
		`SELECT count(*) FROM iasql_audit_log l JOIN queue q ON q.id = l.record_id WHERE l.table_name = 'queue' AND q.name = 'canary' AND NOT l.settled`)
}

// attribute reads a queue's attribute in the cloud.
func (w *world) attribute(queue, name string) string {
	w.Helper()
	out, err := w.sqs.GetQueueAttributes(w.Context(), &sqs.GetQueueAttributesInput{
		QueueUrl: w.url(queue), AttributeNames: []sqstypes.QueueAttributeName{sqstypes.QueueAttributeNameAll}})
	if err != nil {
		w.Fatal(err)
	}
	return out.Attributes[name]
}

func (w *world) url(queue string) *string {
	return awssdk.String(fmt.Sprintf("http://sqs.us-east-1.amazonaws.com/%s/%s", w.AWS.ID, queue))
}

// create makes a queue in the cloud.
func (w *world) create(queue string, attributes, tags map[string]string) {
	w.Helper()
	if _, err := w.sqs.CreateQueue(w.Context(),
		&sqs.CreateQueueInput{QueueName: &queue, Attributes: attributes, Tags: tags}); err != nil {
		w.Fatal(err)
	}
}

// change changes a queue's attribute in the cloud.
func (w *world) change(queue, name, value string) {
	w.Helper()
	if _, err := w.sqs.SetQueueAttributes(w.Context(),
		&sqs.SetQueueAttributesInput{QueueUrl: w.url(queue), Attributes: map[string]string{name: value}}); err != nil {
		w.Fatal(err)
	}
}

func (w *world) delete(queue string) {
	w.Helper()
	if _, err := w.sqs.DeleteQueue(w.Context(), &sqs.DeleteQueueInput{QueueUrl: w.url(queue)}); err != nil {
		w.Fatal(err)
	}
}

// made inserts a queue, waits until it is settled, and returns its id.
func (w *world) made(queue string) string {
	w.Helper()
	w.PSQL(fmt.Sprintf(`INSERT INTO queue (name) VALUES ('%s')`, queue))
	w.Settled()
	return w.PSQL(fmt.Sprintf(`SELECT id FROM queue WHERE name = '%s'`, queue))
}

func (w *world) sync() {
	w.Helper()
	w.PSQL(`SELECT iasql_sync_now()`)
}

// syncFails runs a full cycle, which must say all of this.
func (w *world) syncFails(says ...string) {
	w.Helper()
	got := w.Refused(`SELECT iasql_sync_now()`)
	for _, part := range append(says, "HINT:") {
		if !strings.Contains(got, part) {
			w.Errorf("iasql_sync_now() does not say %q: %.2000s", part, got)
		}
	}
}

// syncWarns runs a full cycle, which must end, warn of all of this and show it in iasql_problems.
func (w *world) syncWarns(says ...string) {
	w.Helper()
	config, err := pgx.ParseConfig(w.UserURL)
	if err != nil {
		w.Fatal(err)
	}
	var warned strings.Builder
	config.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) {
		fmt.Fprintln(&warned, n.Severity, n.Message, "HINT:", n.Hint)
	}
	conn, err := pgx.ConnectConfig(w.Context(), config)
	if err != nil {
		w.Fatal(err)
	}
	defer conn.Close(w.Context())
	if _, err := conn.Exec(w.Context(), `SELECT iasql_sync_now()`); err != nil {
		w.Fatalf("iasql_sync_now(): %v", err)
	}
	problems := w.PSQL(`SELECT string_agg(message, ' ') FROM iasql_problems`)
	for _, part := range says {
		if !strings.Contains(warned.String(), part) {
			w.Errorf("iasql_sync_now() does not warn of %q: %.2000s", part, warned.String())
		}
		if part = strings.TrimPrefix(part, "table queue could not be read in default/"); !strings.Contains(problems, part) {
			w.Errorf("iasql_problems does not say %q: %.2000s", part, problems)
		}
	}
}

// review waits until a record needs a person, and checks that its message says
// all of this.
func (w *world) review(table, id string, says ...string) string {
	w.Helper()
	where := fmt.Sprintf(` FROM iasql_status WHERE table_name = '%s' AND record_id = %s`, table, id)
	w.Becomes(15*time.Second, "t", `SELECT coalesce(bool_or(review AND state LIKE '%Failed'), false)`+where)
	message := w.PSQL(`SELECT message` + where)
	for _, part := range says {
		if !strings.Contains(message, part) {
			w.Errorf("the message does not say %q: %s", part, message)
		}
	}
	if len(message) > 4096 || strings.Contains(message, "\n") {
		w.Errorf("the message is not one short line: %d bytes: %.200s", len(message), message)
	}
	return message
}

// errors checks that iasql_get_errors says all of this in one of its rows.
func (w *world) errors(says ...string) {
	w.Helper()
	all := w.PSQL(`SELECT table_name, record_id, message FROM iasql_get_errors()`)
line:
	for _, line := range strings.Split(all, "\n") {
		for _, part := range says {
			if !strings.Contains(line, part) {
				continue line
			}
		}
		return
	}
	w.Errorf("iasql_get_errors() does not say %q:\n%.2000s", says, all)
}

// retry is what the messages say to do once the cause is gone.
func (w *world) retry(table, id string) {
	w.Helper()
	w.PSQL(fmt.Sprintf(`SELECT iasql_retry('%s', %s)`, table, id))
	w.Settled()
}

// quiet checks that two full cycles more write nothing (R12).
func (w *world) quiet() {
	w.Helper()
	w.sync()
	w.sync()
	if got := w.PSQL(`SELECT pushes, pulls, errors FROM iasql_cycles WHERE kind = 'full' AND account = 'default' ORDER BY id DESC LIMIT 1`); got != "0|0|0" {
		w.Errorf("a cycle in a quiet world: pushes, pulls, errors: %s", got)
	}
}

// oneLineLog checks that the engine's log has nothing but lines of its own form.
func (w *world) oneLineLog() {
	w.Helper()
	for _, line := range strings.Split(strings.TrimSpace(w.engine.Log()), "\n") {
		if !strings.HasPrefix(line, "time=") || len(line) > 8192 {
			w.Errorf("not one line of the log: %d bytes: %.300s", len(line), line)
		}
	}
}

func (w *world) tag(queue, key, value string) {
	w.Helper()
	if _, err := w.sqs.TagQueue(w.Context(),
		&sqs.TagQueueInput{QueueUrl: w.url(queue), Tags: map[string]string{key: value}}); err != nil {
		w.Fatal(err)
	}
}

func (w *world) untag(queue, key string) {
	w.Helper()
	if _, err := w.sqs.UntagQueue(w.Context(), &sqs.UntagQueueInput{QueueUrl: w.url(queue), TagKeys: []string{key}}); err != nil {
		w.Fatal(err)
	}
}

// failing is a failure that heals by itself.
var failing = faultproxy.Fault{Status: 503, Code: "ServiceUnavailable", Message: "Service Unavailable"}

// cloud counts the queues that the cloud has.
func (w *world) cloud() int {
	w.Helper()
	out, err := w.sqs.ListQueues(w.Context(), &sqs.ListQueuesInput{})
	if err != nil {
		w.Fatal(err)
	}
	return len(out.QueueUrls)
}
