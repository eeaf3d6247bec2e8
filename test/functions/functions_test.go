package functions

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/http"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	logstypes "github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"iasql/internal/test/faultproxy"
	"iasql/internal/test/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }

var east = []string{"us-east-1"}

func literal(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// operations returns what the journal has of calls.
func operations(w *harness.World) string {
	w.Helper()
	return w.PSQL(`SELECT service, action, result FROM iasql_operations WHERE kind = 'call' ORDER BY id`)
}

func TestMessages(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, east, "aws_sns", "aws_sqs")
	w.PSQL(`INSERT INTO queue (name) VALUES ('jobs')`, `INSERT INTO topic (name) VALUES ('alerts')`)
	w.Settled()
	w.PSQL(`INSERT INTO subscription (topic, protocol, endpoint, raw_message_delivery) SELECT 'alerts', 'sqs', arn, true FROM queue`)
	w.Settled()

	if id := w.PSQL(`SELECT message_id FROM sqs_send_message('jobs', 'it''s "1"', message_attributes => '{"a": "b"}')`); len(id) < 10 {
		t.Errorf("sent as %q", id)
	}
	if id := w.PSQL(`SELECT message_id FROM sns_publish('alerts', 'published', 'Subject')`); len(id) < 10 {
		t.Errorf("published as %q", id)
	}
	// moto confirms by any token.
	if got := w.PSQL(`SELECT status FROM confirm_subscription((SELECT arn FROM topic), 'token')`); got != "OK" {
		t.Errorf("confirmed: %s", got)
	}
	client := sqs.NewFromConfig(w.AWS.Config("us-east-1"))
	url, err := client.GetQueueUrl(t.Context(), &sqs.GetQueueUrlInput{QueueName: awssdk.String("jobs")})
	if err != nil {
		t.Fatal(err)
	}
	out, err := client.ReceiveMessage(t.Context(),
		&sqs.ReceiveMessageInput{QueueUrl: url.QueueUrl, MaxNumberOfMessages: 10,
			MessageAttributeNames: []string{"All"}})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for _, m := range out.Messages {
		got[*m.Body] = true
	}
	if !got[`it's "1"`] || !got["published"] || len(got) != 2 {
		t.Errorf("received %v", got)
	}
	if got := operations(w); got != "SQS|SendMessage|ok\nSNS|Publish|ok\nSNS|ConfirmSubscription|ok" {
		t.Errorf("the journal has %s", got)
	}
}

func TestObjects(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, east, "aws_s3")
	w.PSQL(`INSERT INTO bucket (name, list_objects) VALUES ('functions-objects', true)`)
	w.Settled()
	if got := w.PSQL(`SELECT bucket, key, status, response_message FROM s3_upload_object('functions-objects', 'a/ü.txt', 'Grüße', 'text/plain; charset=utf-8')`); got != "functions-objects|a/ü.txt|OK|7 bytes uploaded" {
		t.Errorf("uploaded: %s", got)
	}
	if got := w.PSQL(`SELECT convert_from(content, 'UTF8'), content_type, size FROM s3_get_object('functions-objects', 'a/ü.txt')`); got != "Grüße|text/plain; charset=utf-8|7" {
		t.Errorf("read: %s", got)
	}
	w.PSQL(`SET bytea_output = 'escape'`, `SELECT status FROM s3_upload_bytes('functions-objects', 'bytes', '\x00ff5c')`,
		`SELECT status FROM s3_upload_bytes('functions-objects', 'empty', '')`)
	if got := w.PSQL(`SELECT content, octet_length(e.content_type) > 0 FROM s3_get_object('functions-objects', 'bytes') e`); got != `\x00ff5c|t` {
		t.Errorf("read: %s", got)
	}
	if got := w.PSQL(`SELECT size FROM s3_get_object('functions-objects', 'empty')`); got != "0" {
		t.Errorf("read: %s", got)
	}
	// Some megabytes.
	if got := w.PSQL(`SELECT status FROM s3_upload_object('functions-objects', 'large', repeat('0123456789', 300000))`,
		`SELECT size FROM s3_get_object('functions-objects', 'large')`); got != "OK\n3000000" {
		t.Errorf("large: %s", got)
	}
	w.Eventually(20*time.Second, "the objects have rows", func() bool {
		return w.PSQL(`SELECT count(*) FROM bucket_object`) == "4"
	})
	if got := w.Refused(`SELECT * FROM s3_get_object('functions-objects', 'none')`); !strings.Contains(got, "IA030: s3_get_object: NoSuchKey") || !strings.Contains(got, "HINT:") {
		t.Errorf("what is not there: %s", got)
	}
}

// certificate makes a certificate that signs itself.
func certificate(t *testing.T, domain string) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: domain},
		DNSNames:  []string{domain},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	encode := func(kind string, der []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
	}
	return encode("CERTIFICATE", der), encode("PRIVATE KEY", pkcs8)
}

func TestCertificates(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, east, "aws_acm")
	cert, key := certificate(t, "import.example.com")
	arn := w.PSQL(fmt.Sprintf(`SELECT arn FROM certificate_import(%s, %s, 'us-east-1', '')`, literal(cert),
		literal(key)))
	if !strings.HasPrefix(arn, "arn:aws:acm:us-east-1:") {
		t.Errorf("imported as %s", arn)
	}
	requested := w.PSQL(`SELECT arn FROM certificate_request('www.example.com', options => '{"subjectAlternativeNames": ["example.com"]}', tags => '{"a": "b"}')`)
	w.Eventually(20*time.Second, "the certificates have rows", func() bool {
		return w.PSQL(`SELECT domain_name, certificate_type FROM certificate ORDER BY 1`) == "import.example.com|IMPORTED\nwww.example.com|AMAZON_ISSUED"
	})
	if got := w.PSQL(`SELECT subject_alternative_names, tags FROM certificate WHERE arn = ` + literal(requested)); got != `{example.com}|{"a": "b"}` {
		t.Errorf("requested: %s", got)
	}
	// The private key is nowhere (R16).
	secret := strings.Split(key, "\n")[1]
	for _, table := range []string{"iasql_internal.request", "public.iasql_operations", "public.iasql_audit_log",
		"public.iasql_cycles", "public.certificate", "iasql_river.river_job"} {
		if got := w.Admin(fmt.Sprintf(`SELECT count(*) FROM %s r WHERE r::text LIKE '%%%s%%'`, table, secret)); got != "0" {
			t.Errorf("the private key is in %s", table)
		}
	}
}

func TestLogs(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, east, "aws_cloudwatch")
	w.PSQL(`INSERT INTO log_group (log_group_name) VALUES ('/app')`)
	w.Settled()
	client := cloudwatchlogs.NewFromConfig(w.AWS.Config("us-east-1"))
	group, stream := awssdk.String("/app"), awssdk.String("one")
	if _, err := client.CreateLogStream(t.Context(),
		&cloudwatchlogs.CreateLogStreamInput{LogGroupName: group, LogStreamName: stream}); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	var events []logstypes.InputLogEvent
	for i := range 5 {
		events = append(events, logstypes.InputLogEvent{Message: awssdk.String(fmt.Sprintf("line %d", i)),
			Timestamp: awssdk.Int64(now.Add(time.Duration(i-10) * time.Minute).UnixMilli())})
	}
	if _, err := client.PutLogEvents(t.Context(),
		&cloudwatchlogs.PutLogEventsInput{LogGroupName: group, LogStreamName: stream, LogEvents: events}); err != nil {
		t.Fatal(err)
	}
	for statement, want := range map[string]string{
		`SELECT message, log_stream_name FROM log_group_tail('/app', most => 2)`:                        "line 3|one\nline 4|one",
		`SELECT count(*) FROM log_group_tail('/app', 'us-east-1')`:                                      "5",
		`SELECT count(*) FROM log_group_tail('/app', since => now() - interval '8 minutes 30 seconds')`: "3",
		`SELECT event_timestamp < now() FROM log_group_tail('/app', since => NULL, most => 1)`:          "t",
		`SELECT count(*) FROM log_group_tail('/app', filter_pattern => 'line')`:                         "5",
		// it only reads
		`SELECT count(*) FROM iasql_operations WHERE kind = 'call'`:                                                             "0",
		`SELECT module, sample_usage IS NOT NULL FROM iasql_help() WHERE name = 'log_group_tail'`:                               "aws_cloudwatch|t",
		`SELECT count(*) FROM information_schema.routines WHERE routine_name = 'log_group_tail' AND security_type <> 'INVOKER'`: "0",
	} {
		if got := w.PSQL(statement); got != want {
			t.Errorf("%s\n gives %s\n want %s", statement, got, want)
		}
	}
	// A function that only reads goes on in TRACK and in a batch, and for readers.
	w.PSQL(`INSERT INTO iasql_mode (mode) VALUES ('TRACK')`)
	reader := w.Login("reader", "iasql_reader")
	if got, err := w.TryPSQL(reader, `SELECT count(*) FROM log_group_tail('/app')`); err != nil || got != "5" {
		t.Errorf("a reader gets %s, %v", got, err)
	}
	w.PSQL(`SELECT * FROM iasql_uninstall('aws_cloudwatch')`)
	if got := w.PSQL(`SELECT count(*) FROM pg_proc WHERE proname = 'log_group_tail'`); got != "0" {
		t.Error("the function is there after its module")
	}
}

// moto runs functions in Docker; told not to, it runs none, answers with the
// payload, and knows every function.
func TestInvoke(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t)
	proxy := faultproxy.Start(t, w.AWS.Endpoint)
	w.Endpoint = proxy.URL
	// moto answers RunTask with numbers where the API has strings.
	number := regexp.MustCompile(`"(cpu|memory)": ?([0-9]+)`)
	proxy.Set(func(c faultproxy.Call) faultproxy.Fault {
		if c.Action != "RunTask" {
			return faultproxy.Fault{}
		}
		return faultproxy.Fault{Rewrite: func(body []byte) []byte {
			return number.ReplaceAll(body, []byte(`"$1": "$2"`))
		}}
	})
	w.Serve()
	w.Install(east, "aws_lambda", "aws_ecs_fargate")
	res, err := http.Post(w.AWS.Endpoint+"/moto-api/config", "application/json",
		strings.NewReader(`{"lambda": {"use_docker": false}}`))
	if err != nil || res.StatusCode >= 300 {
		t.Fatal(res, err)
	}
	res.Body.Close()
	w.PSQL(`BEGIN`, `INSERT INTO iam_role (role_name, assume_role_policy_document) VALUES ('runs', '{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"}]}')`,
		`INSERT INTO lambda_function (name, role_name, runtime, handler, zip_b64) VALUES ('greet', 'runs', 'python3.12', 'index.handler', 'UEsFBgAAAAAAAAAAAAAAAAAAAAAAAA==')`,
		`INSERT INTO cluster (cluster_name) VALUES ('jobs')`,
		`INSERT INTO task_definition (family, cpu, memory, container_definitions) VALUES ('nightly', 256, 512, '[{"name": "web", "image": "nginx", "memory": 128}]')`, `COMMIT`)
	w.Settled()
	if got := w.PSQL(`SELECT function_name, status, payload, error FROM lambda_function_invoke('greet', '{"name": "world"}')`); got != `greet|200|{"name":"world"}|` {
		t.Errorf("invoked: %s", got)
	}

	// moto's RunTask fails without security groups, in place of which AWS takes the
	// default one, and without a memory of each container, which Fargate needs not.
	subnet := strings.TrimSpace(w.AWS.CLI(t, "ec2", "describe-subnets", "--region", "us-east-1", "--query",
		"Subnets[0].SubnetId", "--output", "text"))
	group := strings.TrimSpace(w.AWS.CLI(t, "ec2", "describe-security-groups", "--region", "us-east-1", "--query",
		"SecurityGroups[0].GroupId", "--output", "text"))
	run := fmt.Sprintf(`SELECT count(*), bool_and(task_arn LIKE 'arn:aws:ecs:us-east-1:%%:task/jobs/%%'), bool_and(task_definition_arn LIKE '%%/nightly:1') FROM ecs_run_task('jobs', 'nightly', ARRAY['%s'], ARRAY['%s'], task_count => 2)`, subnet, group)
	if got := w.PSQL(run); got != "2|t|t" {
		t.Errorf("ran: %s", got)
	}
	if got := w.Refused(`SELECT * FROM ecs_run_task('none', 'nightly')`); !strings.Contains(got, "IA030: ecs_run_task: ClusterNotFoundException") || !strings.Contains(got, "HINT:  Nothing was done.") {
		t.Errorf("what is not there: %s", got)
	}
	w.PSQL(fmt.Sprintf(`INSERT INTO service (cluster_id, name, task_definition_id, desired_count, subnets) SELECT c.id, 'web', d.id, 1, '{%s}' FROM cluster c, task_definition d`, subnet))
	w.Settled()
	if got := w.PSQL(`SELECT d.status, d.arn = s.arn FROM service s, deploy_service(s.arn) d`); got != "ACTIVE|t" {
		t.Errorf("deployed: %s", got)
	}
	if got := operations(w); got != "Lambda|Invoke|ok\nECS|RunTask|ok\nECS|RunTask|failed\nECS|UpdateService|ok" {
		t.Errorf("the journal has %s", got)
	}
}

// What acts is refused where the cloud decides, in a batch, and to those who may
// not write; and makes no call then (R9).
func TestRefusals(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, east, "aws_sqs")
	w.PSQL(`INSERT INTO queue (name) VALUES ('one'), ('two')`)
	w.Settled()
	refused := func(login, statement string, says ...string) {
		t.Helper()
		out, err := w.TryPSQL(login, statement)
		if err == nil {
			t.Errorf("%s gives %s", statement, out)
			return
		}
		for _, part := range append(says, "HINT:") {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s does not say %q: %v", statement, part, err)
			}
		}
	}
	const send = `SELECT * FROM sqs_send_message('%s', 'x')`
	one, two := fmt.Sprintf(send, "one"), fmt.Sprintf(send, "two")
	refused(w.Login("reader", "iasql_reader"), one,
		"42501: permission denied: sqs_send_message needs the right to UPDATE queue")
	if _, err := w.TryPSQL(w.Login("nobody"), one); err == nil || !strings.Contains(err.Error(), "42501") {
		t.Errorf("nobody: %v", err)
	}
	// Around the function, by what it calls.
	if _, err := w.TryPSQL(w.Login("sly", "iasql_reader"),
		`SELECT iasql_internal.call('sqs_send_message', '{"queue_name": "one", "message_body": "x", "region": "us-east-1", "account": "default"}')`); err == nil || !strings.Contains(err.Error(), "42501") {
		t.Errorf("around the checks: %v", err)
	}
	if got := w.Refused(`CALL iasql_begin()`, one); !strings.Contains(got, "IA020: sqs_send_message acts at once and cannot be part of batch") || !strings.Contains(got, "CALL iasql_commit() or iasql_rollback()") {
		t.Errorf("in a batch: %s", got)
	}
	w.PSQL(`CALL iasql_rollback(true)`)
	w.PSQL(`INSERT INTO iasql_mode (table_name, record_id, mode) SELECT 'queue', id, 'TRACK' FROM queue WHERE name = 'one'`)
	refused(w.UserURL, one, "IA002: sqs_send_message is refused: queue is tracked", "iasql_mode_explain('queue', ")
	w.PSQL(two)
	w.PSQL(`DELETE FROM iasql_mode`, `INSERT INTO iasql_mode (mode) VALUES ('TRACK')`)
	refused(w.UserURL, two, "IA002")
	refused(w.UserURL, fmt.Sprintf(send, "unknown"), "IA002")
	w.PSQL(`DELETE FROM iasql_mode`)
	refused(w.UserURL, `SELECT * FROM sqs_send_message('one', NULL)`, "IA030", "message must not be NULL")
	refused(w.UserURL, `SELECT * FROM sqs_send_message('one', 'x', account => 'none')`, "IA030")
	if got := w.Refused(`BEGIN ISOLATION LEVEL REPEATABLE READ`, one); !strings.Contains(got, "IA021") ||
		!strings.Contains(got, "READ COMMITTED") {
		t.Errorf("where the answer could not be seen: %s", got)
	}
	if got := operations(w); got != "SQS|SendMessage|ok" {
		t.Errorf("the journal has %s", got)
	}
	// Done is done, whatever becomes of the transaction.
	w.PSQL(`BEGIN`, one, `ROLLBACK`)
	if got := operations(w); got != "SQS|SendMessage|ok\nSQS|SendMessage|ok" {
		t.Errorf("the journal has %s", got)
	}
}

// A module that was installed before it had a function gets it with the engine
// that has it.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, east, "aws_sqs")
	const exists = `SELECT count(*) FROM pg_proc WHERE proname = 'sqs_send_message'`
	w.Admin(`DROP FUNCTION sqs_send_message`)
	if out, err := exec.Command(harness.Engine(), "migrate", "--database-url", w.AdminURL).CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	if got := w.PSQL(exists); got != "1" {
		t.Error("the function is missing")
	}
}

// A lost answer, and an engine that dies while it waits for one: the caller is
// told that the outcome is unknown, the journal says so, and nobody does it
// again.
func TestUnknownOutcome(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t)
	proxy := faultproxy.Start(t, w.AWS.Endpoint)
	w.Endpoint = proxy.URL
	engine := w.Serve()
	w.Install(east, "aws_sqs")
	w.PSQL(`INSERT INTO queue (name) VALUES ('one')`)
	w.Settled()
	const send = `SELECT * FROM sqs_send_message('one', 'x')`

	proxy.Set(func(c faultproxy.Call) faultproxy.Fault { return faultproxy.Fault{Lose: c.Action == "SendMessage"} })
	if got := w.Refused(send); !strings.Contains(got, "it may have been done") ||
		!strings.Contains(got, "not done again by itself") {
		t.Errorf("after a lost answer: %s", got)
	}
	if got := operations(w); got != "SQS|SendMessage|unknown" {
		t.Errorf("the journal has %s", got)
	}

	stuck, release := make(chan struct{}, 16), make(chan struct{})
	t.Cleanup(func() { close(release) })
	proxy.Set(func(c faultproxy.Call) faultproxy.Fault {
		if c.Action != "SendMessage" {
			return faultproxy.Fault{}
		}
		return faultproxy.Fault{Before: func() {
			stuck <- struct{}{}
			<-release
		}}
	})
	said := make(chan error, 1)
	go func() {
		_, err := w.TryPSQL(w.UserURL, send)
		said <- err
	}()
	<-stuck
	engine.Kill()
	w.Serve()
	if err := <-said; err == nil || !strings.Contains(err.Error(), "IA010") ||
		!strings.Contains(err.Error(), "not done again by itself") {
		t.Errorf("the caller is told %v", err)
	}
	w.Eventually(20*time.Second, "the journal says that the outcome is unknown", func() bool {
		return operations(w) == "SQS|SendMessage|unknown\nSQS|SendMessage|unknown"
	})
	w.PSQL(`SELECT iasql_sync_now()`)
	if len(stuck) > 0 {
		t.Error("it was done again")
	}
}
