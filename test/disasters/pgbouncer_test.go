package disasters

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"iasql/internal/test/harness"
)

// login is the role of a URL.
func login(t *testing.T, of string) string {
	t.Helper()
	u, err := url.Parse(of)
	if err != nil {
		t.Fatal(err)
	}
	return u.User.Username()
}

// pooler starts a PgBouncer in front of a server, with one session for each login, and returns the user's URL through
// it.
func pooler(t *testing.T, s *server, w *harness.World, settings ...string) string {
	t.Helper()
	program, err := exec.LookPath("pgbouncer")
	for _, other := range []string{"/usr/sbin/pgbouncer", "../../.venv/bin/pgbouncer"} {
		if err != nil {
			program, err = exec.LookPath(other)
		}
	}
	if err != nil {
		t.Skip("there is no PgBouncer: make deps-all unpacks Debian's")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	_ = l.Close()
	dir := directory(t)
	text, err := os.ReadFile(program) // the checkout may be out of the owner's reach
	if err != nil {
		t.Fatal(err)
	}
	program = filepath.Join(dir, "pgbouncer")
	for name, file := range map[string]struct {
		text string
		mode os.FileMode
	}{
		"pgbouncer": {string(text), 0o755},
		"users":     {fmt.Sprintf("%q \"secret\"\n", login(t, w.UserURL)), 0o644},
		"pgbouncer.ini": {fmt.Sprintf(
			"[databases]\niasql = host=127.0.0.1 port=%d pool_size=1\n[pgbouncer]\nlisten_addr = "+
				"127.0.0.1\nlisten_port = %d\nunix_socket_dir =\nauth_type = scram-sha-256\nauth_file = "+
				"%s\nserver_tls_sslmode = disable\n%s\n",
			s.port, port, filepath.Join(dir, "users"), strings.Join(settings, "\n")), 0o644},
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(file.text), file.mode); err != nil { // #nosec G306 -- a program, and a password of this test
			t.Fatal(err)
		}
	}
	log := &harness.Buffer{}
	cmd := exec.Command(program, filepath.Join(dir, "pgbouncer.ini"))
	cmd.Dir, cmd.Stdout, cmd.Stderr = "/", log, log
	cmd.SysProcAttr = asOwner()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("PgBouncer said:\n%s", log)
		}
	})
	through := strings.Replace(w.UserURL, fmt.Sprintf(":%d/", s.port), fmt.Sprintf(":%d/", port), 1)
	w.Eventually(20*time.Second, "PgBouncer answers", func() bool {
		_, err := w.TryPSQL(through, `DO $$ BEGIN END $$`) // in a session that ends: there is one of the server
		return err == nil
	})
	return through
}

// client is a connection to the pooler, and the notices it was shown.
type client struct {
	*harness.World
	conn    *pgx.Conn
	notices []string
}

func newClient(w *harness.World, url string) *client {
	w.Helper()
	config, err := pgx.ParseConfig(url)
	if err != nil {
		w.Fatal(err)
	}
	config.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol // prepared statements belong to sessions
	c := &client{World: w}
	config.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) { c.notices = append(c.notices, n.Message) }
	if c.conn, err = pgx.ConnectConfig(w.Context(), config); err != nil {
		w.Fatal(err)
	}
	w.Cleanup(c.close)
	return c
}

func (c *client) close() { _ = c.conn.Close(context.Background()) }

// do runs statements, and returns what they were told.
func (c *client) do(statements ...string) string {
	c.Helper()
	c.notices = nil
	for _, statement := range statements {
		ctx, cancel := context.WithTimeout(c.Context(), time.Minute)
		_, err := c.conn.Exec(ctx, statement)
		cancel()
		if err != nil {
			c.Fatalf("%s: %v", statement, err)
		}
	}
	return strings.Join(c.notices, "\n")
}

// TestPgBouncer: users' edits, batches and questions through a pooler. The engine connects directly.
func TestPgBouncer(t *testing.T) {
	each(t, false, func(t *testing.T, pg programs) {
		s := newServer(t, pg, "")
		w := s.newWorld()
		session := pooler(t, s, w, "pool_mode = session")
		transaction := pooler(t, s, w, "pool_mode = transaction")
		reset := pooler(t, s, w, "pool_mode = transaction", "server_reset_query_always = 1")
		w.Serve()
		w.Install([]string{"us-east-1"}, "aws_sqs", "aws_vpc")
		const staged = `SELECT coalesce(string_agg(name, ' ' ORDER BY name), '') FROM queue WHERE url IS NULL`
		open := func(want string) {
			t.Helper()
			if got := w.PSQL(`SELECT coalesce(string_agg(coalesce(name, id::text) || ' ' || records, ','), '') FROM iasql_batches WHERE outcome IS NULL`); got != want {
				t.Errorf("open are %q, wanted %q", got, want)
			}
		}

		// By session: a batch lasts as long as the client does.
		a := newClient(w, session)
		a.do(`INSERT INTO queue (name) VALUES ('session1')`, `SELECT iasql_sync_now()`)
		w.Settled()
		a.do(`CALL iasql_begin('one')`, `INSERT INTO queue (name) VALUES ('session2')`)
		open("one 1")
		a.close()
		b := newClient(w, session) // the same session of the server
		if told := b.do(`INSERT INTO queue (name) VALUES ('session3')`); strings.Contains(told, "staged") {
			t.Errorf("the next client is in the first one's batch: %s", told)
		}
		w.Becomes(time.Minute, "session2", staged)
		b.do(`CALL iasql_join('one')`, `CALL iasql_commit()`)
		b.close()
		w.Settled()

		// By transaction: single edits, a batch within one transaction, and its commit by another client.
		c, d := newClient(w, transaction), newClient(w, transaction)
		c.do(`INSERT INTO queue (name) VALUES ('transaction1')`)
		d.do(`SELECT iasql_sync_now()`, `UPDATE queue SET delay_seconds = 4 WHERE name = 'transaction1'`)
		w.Settled()
		// The session has been joined by one client; the next one gets it, and is told.
		c.do(`CALL iasql_begin('two')`, `INSERT INTO queue (name) VALUES ('transaction2')`)
		if told := d.do(`INSERT INTO queue (name) VALUES ('transaction3')`); strings.Count(told, "staged in batch") != 1 || !strings.Contains(told, "two") {
			t.Errorf("the client that got into the batch was told: %q", told)
		}
		if told := d.do(`BEGIN`, `UPDATE queue SET delay_seconds = 5 WHERE name = 'transaction3'`,
			`UPDATE queue SET delay_seconds = 6 WHERE name = 'transaction3'`, `COMMIT`); strings.Count(told, "staged in") != 1 {
			t.Errorf("of two changes in a transaction it was told: %q", told)
		}
		open("two 2")
		if got := w.PSQL(staged); got != "transaction2 transaction3" {
			t.Errorf("staged are %s", got)
		}
		c.do(`CALL iasql_join('two')`, `CALL iasql_commit()`)
		w.Settled()
		// Who says that only the transaction is to work in the batch leaves nobody in it.
		c.do(`BEGIN`, `CALL iasql_begin('local', local => true)`, `INSERT INTO queue (name) VALUES ('transaction4')`,
			`COMMIT`)
		if told := d.do(`INSERT INTO queue (name) VALUES ('transaction5')`); strings.Contains(told, "staged") {
			t.Errorf("the next client is in the first one's batch: %s", told)
		}
		open("local 1")
		d.do(`BEGIN`, `CALL iasql_join('local', local => true)`, `CALL iasql_commit()`, `COMMIT`) // deferred
		w.Settled()
		c.close()
		d.close()

		// With server_reset_query_always nobody gets into another one's batch, and each joins in its transaction.
		e, f := newClient(w, reset), newClient(w, reset)
		e.do(`BEGIN`, `CALL iasql_begin('three')`, `INSERT INTO queue (name) VALUES ('reset1')`, `COMMIT`)
		if told := f.do(`INSERT INTO queue (name) VALUES ('reset2')`); strings.Contains(told, "staged") {
			t.Errorf("the next client is in the first one's batch: %s", told)
		}
		e.do(`BEGIN`, `CALL iasql_join('three')`, `INSERT INTO queue (name) VALUES ('reset3')`, `COMMIT`)
		open("three 2")
		// deferred
		f.do(`BEGIN`, `CALL iasql_join('three')`, `UPDATE queue SET delay_seconds = 3 WHERE name = 'reset1'`,
			`CALL iasql_commit()`, `COMMIT`)
		w.Settled()
		open("")
		equal(w, []string{"reset1", "reset2", "reset3", "session1", "session2", "session3", "transaction1",
			"transaction2", "transaction3", "transaction4", "transaction5"}, nil)
		if got := delay(w, "transaction3"); got != "6" {
			t.Errorf("transaction3 has a delay of %s", got)
		}
	})
}
