package console

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"iasql/internal/test/faultproxy"
	"iasql/internal/test/harness"
)

const rulesFile = "../../deploy/prometheus/iasql.rules.yml"

func program(t *testing.T, name string) string {
	t.Helper()
	for _, path := range []string{name, "../../.venv/bin/" + name} {
		if found, err := exec.LookPath(path); err == nil {
			return found
		}
	}
	harness.Lacking(t, name)
	return ""
}

// The alert rules are well formed, and what they and the dashboard name is there.
func TestRules(t *testing.T) {
	promtool := program(t, "promtool")
	for _, args := range [][]string{{"check", "rules", rulesFile},
		{"check", "config", "../../deploy/prometheus/prometheus.yml"}, {"test", "rules", "testdata/rules_test.yml"}} {
		if out, err := exec.Command(promtool, args...).CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}

var metricName = regexp.MustCompile(`\biasql_[a-z_]+`)

// prometheus is a server that scrapes an engine.
type prometheus struct {
	w    *harness.World
	base string
}

// newPrometheus starts Debian's Prometheus with the rules of deploy, whose alerts
// wait for nothing.
func newPrometheus(w *harness.World, target string) *prometheus {
	w.Helper()
	dir := w.TempDir()
	rules, err := os.ReadFile(rulesFile)
	if err != nil {
		w.Fatal(err)
	}
	atOnce := regexp.MustCompile(`for: \S+`).ReplaceAllString(string(rules), "for: 0s")
	// what has lasted for so long has, here, lasted for seconds
	atOnce = strings.ReplaceAll(atOnce, "[30m:1m]", "[5s:1s]")
	config := fmt.Sprintf("global: {scrape_interval: 1s, evaluation_interval: 1s}\nrule_files: "+
		"[rules.yml]\nscrape_configs:\n  - job_name: iasql\n    static_configs: [{targets: ['%s']}]\n",
		strings.TrimPrefix(target, "http://"))
	for name, text := range map[string]string{"rules.yml": atOnce, "prometheus.yml": config} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			w.Fatal(err)
		}
	}
	log := &harness.Buffer{}
	cmd := exec.Command(program(w.T, "prometheus"), "--config.file="+filepath.Join(dir, "prometheus.yml"),
		"--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address=127.0.0.1:0", "--log.level=info")
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if w.Failed() {
			w.Logf("prometheus said:\n%s", log)
		}
	})
	p := &prometheus{w: w}
	listening := regexp.MustCompile(`address=(127\.0\.0\.1:[1-9]\d*)`)
	w.Eventually(patience, "prometheus listens", func() bool {
		if m := listening.FindStringSubmatch(log.String()); m != nil {
			p.base = "http://" + m[1]
		}
		return p.base != ""
	})
	return p
}

// ask calls Prometheus' API and decodes what it answers.
func (p *prometheus) ask(path string, into any) bool {
	answer, err := http.Get(p.base + path)
	if err != nil {
		return false
	}
	defer answer.Body.Close()
	return json.NewDecoder(answer.Body).Decode(into) == nil
}

// fires waits until an alert is firing.
func (p *prometheus) fires(name string) {
	p.w.Helper()
	p.w.Eventually(patience, "alert "+name+" fires", func() bool { return p.firing(name) })
}

// firing reports whether an alert is firing.
func (p *prometheus) firing(name string) bool {
	var said struct {
		Data struct {
			Alerts []struct {
				State  string
				Labels map[string]string
			}
		}
	}
	if !p.ask("/api/v1/alerts", &said) {
		return false
	}
	for _, a := range said.Data.Alerts {
		if a.Labels["alertname"] == name && a.State == "firing" {
			return true
		}
	}
	return false
}

// knows waits until a query has an answer.
func (p *prometheus) knows(query string) {
	p.w.Helper()
	p.w.Eventually(patience, "prometheus knows "+query, func() bool {
		var said struct{ Data struct{ Result []any } }
		return p.ask("/api/v1/query?query="+url.QueryEscape(query), &said) && len(said.Data.Result) > 0
	})
}

// answers checks that Prometheus takes every query of a dashboard.
func answers(p *prometheus, dashboard string) {
	p.w.Helper()
	text, err := os.ReadFile(dashboard)
	if err != nil {
		p.w.Fatal(err)
	}
	queries := regexp.MustCompile(`"expr": ("(?:[^"\\]|\\.)*")`).FindAllStringSubmatch(string(text), -1)
	if len(queries) < 10 {
		p.w.Fatalf("%s has %d queries", dashboard, len(queries))
	}
	for _, m := range queries {
		var query string
		if err := json.Unmarshal([]byte(m[1]), &query); err != nil {
			p.w.Fatal(err)
		}
		query = strings.NewReplacer("$__rate_interval", "1m", "$__range", "1h", "$__interval", "15s").Replace(query)
		var said struct{ Status, Error string }
		if !p.ask("/api/v1/query?query="+url.QueryEscape(query), &said) || said.Status != "success" {
			p.w.Errorf("%s: %s", query, said.Error)
		}
	}
}

// watchEvents has the engine read a queue, of a region of its own, through which an event has
// come.
func watchEvents(w *harness.World) {
	w.Helper()
	const region = "us-west-2"
	client := sqs.NewFromConfig(w.AWS.Config(region))
	queue, err := client.CreateQueue(w.Context(), &sqs.CreateQueueInput{QueueName: awssdk.String("watch")})
	if err != nil {
		w.Fatal(err)
	}
	event := fmt.Sprintf(`{"detail-type": "AWS API Call via CloudTrail", "account": "%[1]s", "region": "us-east-1", "detail": {
		"eventID": "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0", "eventTime": "%[2]s", "eventType": "AwsApiCall", "eventCategory": "Management", "eventSource": "sqs.amazonaws.com",
		"eventName": "UntagQueue", "awsRegion": "us-east-1", "recipientAccountId": "%[1]s", "readOnly": false}}`,
		w.AWS.ID, time.Now().UTC().Format(time.RFC3339))
	if _, err := client.SendMessage(w.Context(), &sqs.SendMessageInput{QueueUrl: queue.QueueUrl, MessageBody: &event}); err != nil {
		w.Fatal(err)
	}
	w.PSQL(fmt.Sprintf(`INSERT INTO aws_event_source (queue) VALUES ('arn:aws:sqs:%s:%s:watch')`, region, w.AWS.ID))
	w.Eventually(patience, "the watch is relied on", func() bool {
		return w.PSQL(`SELECT state FROM iasql_event_sources`) == "ok"
	})
}

// testDrift checks that the console shows the source of events, and who has changed what.
func testDrift(w *harness.World, base string) {
	w.Helper()
	v := newVisitor(w.T, base)
	v.signIn(w.UserURL)
	if page := v.get("/"); !strings.Contains(page, "Events of the cloud") || !strings.Contains(page, "Last event") {
		w.Errorf("the overview has no source of events: %s", page)
	}
	w.CLI("sqs", "create-queue", "--queue-name", "drifted")
	w.PSQL(`SELECT iasql_sync_now('queue')`)
	w.Admin(`UPDATE iasql_audit_log SET actor = 'arn:aws:sts::123456789012:assumed-role/Admin/ana@example.com', actor_session = 'ana@example.com', source_address = '192.0.2.10', user_agent = '<b>console</b>'
		WHERE table_name = 'queue' AND change_type = 'INSERT' AND origin = 'engine' AND change -> 'change' ->> 'name' = 'drifted'`)
	if page := v.get("/activity?show=drift"); !strings.Contains(page, "ana@example.com") ||
		!strings.Contains(page, "from 192.0.2.10, with &lt;b&gt;console&lt;/b&gt;") {
		w.Errorf("the drift does not say who it was: %s", page)
	}
	w.PSQL(`DELETE FROM queue WHERE name = 'drifted'`)
	w.Settled()
}

// testPrometheus has a real Prometheus scrape the engine, and real faults fire the
// alerts.
func testPrometheus(t *testing.T, world *harness.World, engine *harness.Process, cloud *faultproxy.Proxy, base string) {
	there := *world
	w := &there
	w.T = t
	p := newPrometheus(w, base)
	p.knows("iasql_engines_connected == 1")
	// What rules and dashboard name is there; some only once there is such a case.
	for _, file := range []string{rulesFile, "../../deploy/grafana/iasql.json"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(file, ".json") && !json.Valid(text) {
			t.Errorf("%s is no JSON", file)
		}
		for _, name := range metricName.FindAllString(string(text), -1) {
			switch name {
			case "iasql_cloud_throttled_total", "iasql_records_unsettled", "iasql_listings_denied", "iasql_get_errors",
				"iasql_status", "iasql_listings", "iasql_rollback", "iasql_cycles", "iasql_queue_jobs",
				"iasql_event_source_ok", "iasql_event_sources",
				"iasql_worlds_held", "iasql_records_vanished", "iasql_places_unread", "iasql_lease_silent_seconds",
				"iasql_problems", "iasql_confirm", "iasql_engines", "iasql_audit_log", "iasql_progress",
				"iasql_cycle_age_seconds", "iasql_worlds":
				continue
			}
			p.knows(name)
		}
	}
	w.PSQL(`INSERT INTO subnet (vpc_id, cidr_block) SELECT id, '172.30.2.0/24' FROM vpc WHERE cidr_block = '10.9.0.0/16'`)
	p.fires("IasqlNeedsPerson")
	w.PSQL(`DELETE FROM subnet WHERE cidr_block = '172.30.2.0/24'`)
	w.PSQL(`CALL iasql_begin()`)
	w.Admin(`UPDATE iasql_internal.batch SET opened_at = opened_at - interval '2 hours' WHERE closed_at IS NULL`)
	watchEvents(w)
	p.knows("iasql_event_source_ok == 1")
	testDrift(w, base)
	if p.firing("IasqlWatchSilent") {
		t.Error("an alert fires of a watch that is well")
	}
	// The cloud throttles what is about queues, so that their listing gets old.
	cloud.Set(func(c faultproxy.Call) faultproxy.Fault {
		if c.Service == "sqs" {
			return faultproxy.Fault{Status: http.StatusBadRequest, Code: "ThrottlingException",
				Message: "Rate exceeded"}
		}
		return faultproxy.Fault{}
	})
	w.Admin(`UPDATE iasql_internal.listing SET listed = listed - interval '1 day', tried = tried - interval '1 day' WHERE table_name = 'queue'`)
	w.PSQL(`INSERT INTO queue (name) VALUES ('throttled')`) // tried again and again
	for _, name := range []string{"IasqlBatchAbandoned", "IasqlStale", "IasqlThrottled", "IasqlChangesWait"} {
		p.fires(name)
	}
	cloud.Set(func(c faultproxy.Call) faultproxy.Fault {
		if c.Service == "sqs" {
			return faultproxy.Fault{Status: http.StatusForbidden, Code: "AccessDenied",
				Message: "User is not authorized to perform this action"}
		}
		return faultproxy.Fault{}
	})
	_, _ = w.TryPSQL(w.UserURL, `SELECT iasql_sync_now('queue')`)
	p.fires("IasqlListingDenied")
	p.fires("IasqlWatchSilent") // its queue is denied as well
	w.PSQL(`DELETE FROM aws_event_source`)
	cloud.Set(func(faultproxy.Call) faultproxy.Fault { return faultproxy.Fault{} })
	w.Admin(`ALTER TABLE iasql_internal.listing RENAME TO lost`) // a table of the engine's is missing
	w.Eventually(patience, "alert IasqlCyclesFail fires", func() bool {
		_, _ = w.TryPSQL(w.UserURL, `SELECT iasql_sync_now()`)
		return p.firing("IasqlCyclesFail")
	})
	w.Admin(`ALTER TABLE iasql_internal.lost RENAME TO listing`)
	w.PSQL(`DELETE FROM queue WHERE name = 'throttled'`)
	answers(p, "../../deploy/grafana/iasql.json")
	w.PSQL(`CALL iasql_rollback(true)`)
	engine.Stop()
	p.fires("IasqlNoEngine")
}
