package watch

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"iasql/internal/test/harness"
	"iasql/internal/test/likeness"
)

// python is Debian's: `make deps-all` installs the tools there.
const python = "/usr/bin/python3"

// The recipes of docs/alerts.md tell of a port that somebody has opened with another tool,
// and of who it was: a table, a topic and a webhook.
func TestAlerts(t *testing.T) {
	t.Parallel()
	w := likened(t, &likeness.Trail{}, "aws_sqs", "aws_sns", "aws_eventbridge", "aws_security_group")
	example(w, "watch.sql")
	admin := *w
	admin.UserURL = w.AdminURL
	recipe(&admin, "alerts.md", "table")
	recipe(&admin, "alerts.md", "sns")
	w.PSQL(`INSERT INTO topic (name) VALUES ('alerts')`, `INSERT INTO queue (name) VALUES ('inbox')`,
		`INSERT INTO subscription (topic, protocol, endpoint, raw_message_delivery) VALUES ('alerts', 'sqs', 'arn:aws:sqs:us-east-1:`+w.AWS.ID+`:inbox', true)`)
	w.PSQL(`UPDATE iasql_settings SET value = '1 day' WHERE name = 'sync_interval'`)
	w.PSQL(`SELECT iasql_sync_now()`)
	w.Settled()
	w.Eventually(30*time.Second, "the queue is read", func() bool {
		return w.PSQL(`SELECT last_answer IS NOT NULL FROM iasql_event_sources`) == "t"
	})
	told := webhook(t, w)

	group := w.CLI("ec2", "create-security-group", "--group-name", "web", "--description", "web")["GroupId"].(string)
	w.CLI("ec2", "authorize-security-group-ingress", "--group-id", group, "--protocol", "tcp", "--port", "22", "--cidr",
		"0.0.0.0/0")
	w.Eventually(30*time.Second, "the table has the port and who opened it", func() bool {
		return strings.HasPrefix(w.PSQL(`SELECT ports, actor FROM opened_ports`), "22-22|arn:aws:")
	})

	w.Admin(`CALL public.tell_opened_ports()`)
	url := w.PSQL(`SELECT url FROM queue WHERE name = 'inbox'`)
	w.Eventually(30*time.Second, "the topic tells", func() bool {
		messages, _ := w.CLI("sqs", "receive-message", "--queue-url", url)["Messages"].([]any)
		if len(messages) == 0 {
			return false
		}
		body, _ := messages[0].(map[string]any)["Body"].(string)
		return strings.Contains(body, "has opened port 22-22 to everybody, from 127.0.0.1 with aws-cli/")
	})
	if left := w.Admin(`SELECT count(*) FROM opened_port WHERE NOT told`); left != "0" {
		t.Errorf("%s are left to be told", left)
	}

	// A rule that was narrow, and is made wide, opens a port too; an edit of what is open
	// otherwise, and one that this side makes, tell of nothing.
	rules := w.CLI("ec2", "authorize-security-group-ingress", "--group-id", group, "--protocol", "tcp", "--port",
		"5432", "--cidr", "10.0.0.0/8")["SecurityGroupRules"].([]any)
	narrow := rules[0].(map[string]any)["SecurityGroupRuleId"].(string)
	w.Eventually(30*time.Second, "the narrow rule is there", func() bool {
		return w.PSQL(`SELECT cidr_ipv4 FROM security_group_rule WHERE security_group_rule_id = '`+narrow+
			`'`) == "10.0.0.0/8"
	})
	w.PSQL(`UPDATE security_group_rule SET description = 'was opened' WHERE from_port = 22`)
	w.CLI("ec2", "modify-security-group-rules", "--group-id", group, "--security-group-rules",
		"SecurityGroupRuleId="+narrow+
			",SecurityGroupRule={IpProtocol=tcp,FromPort=5432,ToPort=5432,CidrIpv4=0.0.0.0/0}")
	w.CLI("ec2", "authorize-security-group-ingress", "--group-id", group, "--ip-permissions",
		"IpProtocol=tcp,FromPort=80,ToPort=81,Ipv6Ranges=[{CidrIpv6=::/0}]")
	w.Eventually(30*time.Second, "the table has both and who opened them", func() bool {
		return w.PSQL(`SELECT string_agg(ports, ',' ORDER BY ports) FROM opened_ports WHERE NOT told AND actor LIKE 'arn:aws:%'`) == "5432-5432,80-81"
	})
	if got := w.PSQL(`SELECT count(*) FROM opened_ports`); got != "3" {
		t.Errorf("%s openings are told of, not 3: %s", got, w.PSQL(`SELECT * FROM opened_ports`))
	}
	if told == nil {
		harness.Lacking(t, "psycopg2 of "+python)
	}
	w.Eventually(60*time.Second, "the webhook is told", func() bool {
		for _, body := range told() {
			if body["table_name"] == "security_group_rule" && body["change_type"] == "INSERT" &&
				strings.HasPrefix(body["user_agent"].(string), "aws-cli/") {
				return true
			}
		}
		return false
	})
}

// webhook runs examples/webhook.py, and returns what it has posted so far; nil if Python
// lacks what it needs.
func webhook(t *testing.T, w *harness.World) (told func() []map[string]any) {
	if err := exec.Command(python, "-c", "import psycopg2").Run(); err != nil {
		return nil
	}
	var lock sync.Mutex
	var bodies []map[string]any
	refuse := true // once: it is to try again
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		var body map[string]any
		lock.Lock()
		defer lock.Unlock()
		if err := json.Unmarshal(raw, &body); err != nil {
			t.Errorf("it posted %s", raw)
		}
		if refuse {
			refuse = false
			rw.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		if agent, _ := body["user_agent"].(string); agent == "" {
			body["user_agent"] = ""
		}
		bodies = append(bodies, body)
	}))
	t.Cleanup(server.Close)
	cmd := exec.Command(python, "../../examples/webhook.py", w.UserURL, server.URL)
	cmd.Env = append(os.Environ(), "MARK="+t.TempDir()+"/mark")
	cmd.Stderr = io.Discard
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return func() []map[string]any {
		lock.Lock()
		defer lock.Unlock()
		return append([]map[string]any(nil), bodies...)
	}
}
