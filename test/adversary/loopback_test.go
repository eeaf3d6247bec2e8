package adversary

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"iasql/internal/test/harness"
	"iasql/internal/test/testdb"
)

// Where dblink stands in public, a cancelled statement leaves no connection
// through which its caller could speak as the loopback role.
func TestLeftOverConnection(t *testing.T) {
	t.Parallel()
	database := testdb.Empty(t)
	(&harness.World{T: t, AdminURL: database}).Admin(`CREATE EXTENSION dblink SCHEMA public`)
	w := setUp(t, database)
	w.UserURL = w.Login("user", "iasql_user")
	letConnect(w, w.UserURL)
	w.Serve()
	w.PSQL(`SELECT * FROM iasql_install('aws_account')`)

	admin, user := connect(t, w.AdminURL), connect(t, w.UserURL)
	for _, c := range []struct{ table, statement string }{
		{"iasql_internal.request", `SELECT iasql_sync_now()`},
	} {
		// The statement in the second session waits until the first is cancelled.
		tx, err := admin.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.Exec(t.Context(), `LOCK TABLE `+c.table+` IN EXCLUSIVE MODE`); err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(time.Second, func() { _ = tx.Rollback(t.Context()) })
		_, err = user.Exec(t.Context(), `SET statement_timeout = '300ms'`)
		if err != nil {
			t.Fatal(err)
		}
		_, err = user.Exec(t.Context(), c.statement)
		if state(err) != "57014" {
			t.Fatalf("%s was not cancelled: %v", c.statement, err)
		}
		var left []string
		var session string
		if _, err := user.Exec(t.Context(), `SET statement_timeout = 0`); err != nil {
			t.Fatal(err)
		}
		if err := user.QueryRow(t.Context(),
			`SELECT public.dblink_get_connections(), 'iasql_' || pg_backend_pid()`).Scan(&left, &session); err != nil {
			t.Fatal(err)
		}
		if len(left) > 0 {
			t.Errorf("after %s there are connections left: %s", c.statement, left)
		}
		if _, err := user.Exec(t.Context(), `SELECT * FROM public.dblink('`+session+
			`', 'SELECT current_user') AS r (who text)`); err == nil {
			t.Errorf("after %s its caller speaks through a connection of the loopback role", c.statement)
		}
		time.Sleep(time.Second) // until the lock is gone
	}
	w.Eventually(10*time.Second, "the loopback role has no session", func() bool {
		return w.Admin(`SELECT count(*) FROM pg_stat_activity a JOIN iasql_internal.loopback l ON l.role = a.usename`) == "0"
	})
}

// state returns the SQLSTATE of an error.
func state(err error) string {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return pg.Code
	}
	return ""
}

func connect(t *testing.T, address string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

// Nobody but the engine's role can read the password of the loopback role, not
// even in the error that says that it does not work.
func TestLoopbackPassword(t *testing.T) {
	t.Parallel()
	w := setUp(t, testdb.Empty(t))
	w.UserURL = w.Login("user", "iasql_user")
	reader := w.Login("reader", "iasql_reader")
	for _, l := range []string{w.UserURL, reader} {
		letConnect(w, l)
	}
	w.Serve()
	w.Install(east, "aws_sqs")
	password := w.Admin(`SELECT password FROM iasql_internal.loopback`)
	if len(password) != 64 {
		t.Fatalf("the password has %d characters", len(password))
	}
	all := `SELECT string_agg(query_to_xml(format('SELECT * FROM %s', c.oid::regclass), true, false, '')::text, '') FROM pg_class c
		WHERE c.relkind IN ('r', 'v', 'm') AND has_table_privilege(c.oid, 'SELECT')`
	for _, who := range []string{w.UserURL, reader} {
		got, err := w.TryPSQL(who, all)
		if err != nil || !strings.Contains(got, "iasql_settings") {
			t.Fatalf("reads nothing: %v", err)
		}
		if strings.Contains(got, password) {
			t.Errorf("%s reads the password", login(t, who))
		}
		for _, statement := range []string{`SELECT password FROM iasql_internal.loopback`,
			`COPY iasql_internal.loopback TO STDOUT`, `SELECT iasql_internal.elsewhere('SELECT 1')`,
			`SELECT iasql_internal.elsewhere('SELECT password FROM iasql_internal.loopback')`} {
			if _, err := w.TryPSQL(who, statement); err == nil || !strings.Contains(err.Error(), "42501") {
				t.Errorf("%s: %v", statement, err)
			}
		}
	}
	if got := w.Admin(`SELECT count(*) FROM pg_foreign_server`); got != "0" {
		t.Errorf("%s foreign servers", got)
	}
	role := w.Admin(`SELECT role FROM iasql_internal.loopback`)
	w.Admin(`ALTER ROLE ` + role + ` NOLOGIN`)
	if got := w.Refused(`SELECT iasql_sync_now()`); !strings.Contains(got, "IA014") || !strings.Contains(got, role) ||
		!strings.Contains(got, "pg_hba.conf") || strings.Contains(got, password) {
		t.Errorf("when the role may not log in: %s", got)
	}
}

// The role may submit requests and open batches, and nothing else.
func TestLoopbackRole(t *testing.T) {
	t.Parallel()
	w := setUp(t, testdb.Empty(t))
	role, password := w.Admin(`SELECT role FROM iasql_internal.loopback`),
		w.Admin(`SELECT password FROM iasql_internal.loopback`)
	loopback := as(t, w.AdminURL, role, password)
	for _, statement := range []string{`SELECT * FROM iasql_internal.loopback`, `SELECT * FROM iasql_internal.request`,
		`SELECT * FROM public.iasql_audit_log`, `SET ROLE iasql_engine`, `CREATE TABLE public.mine ()`,
		`SELECT iasql_internal.tick()`, `SELECT iasql_internal.elsewhere('SELECT 1')`} {
		if _, err := w.TryPSQL(loopback, statement); err == nil || !strings.Contains(err.Error(), "42501") {
			t.Errorf("%s: %v", statement, err)
		}
	}
	if got := w.Admin(`SELECT string_agg(p.oid::regprocedure::text, ',' ORDER BY p.proname) FROM pg_proc p, aclexplode(p.proacl) a WHERE a.grantee = '` + role + `'::regrole`); got != "iasql_internal.submit(text,jsonb,text)" {
		t.Errorf("the loopback role may execute %s", got)
	}
}

// A restored copy does not speak to the database it was copied from, and gets a
// loopback of its own.
func TestRestoredCopy(t *testing.T) {
	t.Parallel()
	w := setUp(t, testdb.Empty(t))
	dump, err := exec.Command("pg_dump", "--dbname="+w.AdminURL).Output()
	if err != nil {
		t.Fatal(err)
	}
	copied := testdb.Empty(t)
	restore := exec.Command("psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", copied)
	restore.Stdin = bytes.NewReader(dump)
	if out, err := restore.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	c := &harness.World{T: t, AdminURL: copied}
	const submit = `SELECT iasql_internal.elsewhere('SELECT iasql_internal.submit(''sync'', ''{}'', ''me'')')`
	if _, err := c.TryPSQL(copied, submit); err == nil || !strings.Contains(err.Error(), "IA014") ||
		!strings.Contains(err.Error(), "engine migrate") {
		t.Errorf("a copy that was not migrated: %v", err)
	}
	if got := w.Admin(`SELECT count(*) FROM iasql_internal.request`); got != "0" {
		t.Error("the copy asked the original's engine")
	}
	// A plain login is told, and an administrator mends it.
	plain := as(t, copied, login(t, w.EngineURL), "secret")
	if out, err := run(t, "migrate", "--database-url", plain); err == nil || !strings.Contains(out, "loopback role") ||
		!strings.Contains(out, "--admin-url") {
		t.Errorf("%v: %s", err, out)
	}
	if out, err := run(t, "migrate", "--admin-url", copied, "--database-url", plain); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if got := c.Admin(submit); got != "1" {
		t.Errorf("after migrating the copy: %s", got)
	}
	if own, others := c.Admin(`SELECT role || password FROM iasql_internal.loopback`),
		w.Admin(`SELECT role || password FROM iasql_internal.loopback`); own == others {
		t.Error("the copy has the original's role")
	}
	if got := w.Admin(`SELECT count(*) FROM iasql_internal.request`); got != "0" {
		t.Error("the copy asked the original's engine")
	}
}
