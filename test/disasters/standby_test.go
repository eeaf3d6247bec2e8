package disasters

import (
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"iasql/internal/test/harness"
)

// TestStandby: on a standby everything can be read, by whom and as on the primary. What only the primary does says so.
func TestStandby(t *testing.T) {
	each(t, true, func(t *testing.T, pg programs) {
		primary := newServer(t, pg, "")
		w := primary.newWorld()
		reader := w.Login("reader", "iasql_reader")
		w.Serve()
		w.Install([]string{"us-east-1"}, "aws_sqs", "aws_vpc")
		w.PSQL(`INSERT INTO queue (name) VALUES ('one')`)
		w.Settled()
		w.PSQL(`CALL iasql_begin('open')`, `UPDATE queue SET delay_seconds = 1`)
		standby := primary.standby("second")
		primary.until("t", `SELECT coalesce(bool_and(replay_lsn >= pg_current_wal_lsn()), false) FROM pg_stat_replication`)
		there := func(url string) string {
			return strings.Replace(url, fmt.Sprint(":", primary.port), fmt.Sprint(":", standby.port), 1)
		}
		user, reader := there(w.UserURL), there(reader)

		for _, name := range strings.Fields(w.Admin(`SELECT string_agg(c.oid::regclass::text, ' ' ORDER BY c.relname) FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'v') AND has_table_privilege('iasql_reader', c.oid, 'SELECT')`)) {
			if _, err := w.TryPSQL(reader, `SELECT count(*) FROM `+name); err != nil {
				t.Errorf("%s cannot be read: %v", name, err)
			}
		}
		for _, call := range []string{
			`SELECT count(*) FROM iasql_get_errors()`, `SELECT count(*) FROM iasql_help()`,
			`SELECT count(*) FROM iasql_history('queue', 1)`, `SELECT count(*) FROM iasql_as_of('queue', now())`,
			`SELECT count(*) FROM iasql_as_of(NULL::queue, now())`, `SELECT count(*) FROM iasql_search('one')`,
			`SELECT count(*) FROM iasql_modules_list()`, `SELECT count(*) FROM iasql_create_review('x')`,
			`SELECT iasql_wait_for('queue', 1, 'true', 1)`,
			`SELECT count(*) FROM iasql_modules_installed()`, `SELECT iasql_mode_of('queue', 1)`,
			`SELECT count(*) FROM iasql_mode_explain('queue', 1)`, `SELECT count(*) FROM iasql_changes_by('nobody')`,
			`SELECT count(*) FROM iasql_get_sql_since(now() - interval '1 day')`,
			`SELECT iasql_ready('queue')`, `SELECT count(*) FROM iasql_version()`, `SELECT count(*) FROM iasql_changes_since(now() - interval '1 hour')`,
		} {
			want, err := w.TryPSQL(w.UserURL, call)
			if err != nil {
				t.Errorf("on the primary %s: %v", call, err)
				continue
			}
			if got, err := w.TryPSQL(user, call); err != nil {
				t.Errorf("%s: %v", call, err)
			} else if got != want {
				t.Errorf("%s: %s, and on the primary %s", call, got, want)
			}
		}
		for _, call := range []string{
			`SELECT iasql_sync_now()`, `SELECT * FROM iasql_install('aws_ec2')`, `SELECT * FROM iasql_uninstall('aws_sqs')`,
			`SELECT * FROM iasql_preview()`, `SELECT iasql_preview_hash()`, `SELECT * FROM iasql_preview_costs()`,
			`SELECT * FROM iasql_preview_text()`, `CALL iasql_begin('another')`, `CALL iasql_join('open')`, `CALL iasql_commit()`,
			`CALL iasql_rollback()`, `CALL iasql_undo(1)`, `CALL iasql_restore('queue', 1, now())`, `CALL iasql_declare('shop')`,
			`CALL iasql_declared()`, `SELECT iasql_mention('queue', 1)`, `SELECT iasql_approve(1, 'x')`, `SELECT iasql_retry('queue', 1)`,
			`SELECT iasql_protect('queue', 1)`, `SELECT iasql_protect('queue')`, `SELECT iasql_unprotect('queue', 1)`,
			`SELECT iasql_unprotect('queue')`, `SELECT iasql_forget('queue', 1)`, `SELECT iasql_adopt('queue', 'x')`,
			`SELECT iasql_expire('queue', 1, now() + interval '1 day')`, `SELECT iasql_console_token()`,
			`SELECT iasql_wait_for_all(1)`, `SELECT count(*) FROM iasql_drift()`, `SELECT * FROM iasql_types('sqs')`,
			`SELECT iasql_confirm('restored')`, `INSERT INTO queue (name) VALUES ('two')`,
		} {
			begun := time.Now()
			_, err := w.TryPSQL(user, call)
			if err == nil || !strings.Contains(err.Error(), "25006") {
				t.Errorf("%s: %v", call, err)
			} else if !strings.HasPrefix(call, "INSERT") && !strings.Contains(err.Error(), "this is a standby") {
				t.Errorf("%s does not say that this is a standby: %v", call, err)
			}
			if took := time.Since(begun); took > 5*time.Second {
				t.Errorf("%s answers after %s", call, took)
			}
		}
		consoleOf(t, reader)
	})
}

// consoleOf serves the console of a server, without an engine, and looks at its pages.
func consoleOf(t *testing.T, login string) {
	t.Helper()
	address := fmt.Sprint("127.0.0.1:", freePort(t))
	log := &harness.Buffer{}
	console := exec.Command(harness.Engine(), "console", "--database-url", login, "--http", address)
	console.Stdout, console.Stderr = log, log
	if err := console.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = console.Process.Signal(os.Interrupt)
		_ = console.Wait()
		said := log.String()
		if t.Failed() || strings.Contains(said, "level=WARN") || strings.Contains(said, "level=ERROR") {
			t.Errorf("the console said:\n%s", said)
		}
	}()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Jar: jar, Timeout: 20 * time.Second}
	u, err := url.Parse(login)
	if err != nil {
		t.Fatal(err)
	}
	password, _ := u.User.Password()
	var answer *http.Response
	for range 100 {
		answer, err = client.PostForm("http://"+address+"/signin",
			url.Values{"name": {u.User.Username()}, "password": {password}})
		if err == nil {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	for page, has := range map[string]string{"/": "queue", "/records": "queue", "/records/queue": "one",
		"/records/queue/1": "one", "/search?q=one": "one", "/batches": "open", "/batches/1": "open",
		"/activity": "queue", "/map": "queue", "/changes": "queue", "/modules": "aws_sqs", "/sql": "SELECT", "/as-of": ""} {
		answer, err := client.Get("http://" + address + page)
		if err != nil {
			t.Errorf("%s: %v", page, err)
			continue
		}
		text, _ := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		if answer.StatusCode != http.StatusOK || !strings.Contains(string(text), has) ||
			strings.Contains(string(text), "25006") || strings.Contains(answer.Request.URL.Path, "signin") {
			t.Errorf("%s: %s, at %s\n%s", page, answer.Status, answer.Request.URL.Path, text)
		}
	}
}
