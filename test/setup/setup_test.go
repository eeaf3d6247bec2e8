package setup

import (
	"bytes"
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"iasql/internal/devenv"
	"iasql/internal/test/harness"
	"iasql/internal/test/testaws"
)

func TestMain(m *testing.M) { harness.Main(m) }

const (
	administrator = "provider_admin" // on a managed server
	engineLogin   = "engine_login"
	enginePass    = "a-long-password-of-the-engine"
)

// TestOperating follows each way of setting up that the page has.
func TestOperating(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		heading       string
		managed, cron bool
	}{
		{"### On a server of your own", false, false},
		{"### On a server of your own, with pg_cron", false, true},
		{"### On a managed server", true, false},
		{"### On a managed server, with pg_cron", true, true},
	} {
		t.Run(strings.TrimPrefix(c.heading, "### "), func(t *testing.T) {
			t.Parallel()
			s := newServer(t, c.managed, c.cron)
			for _, line := range blocks(t, c.heading, "sh") {
				s.run(line)
			}
			for _, line := range blocks(t, "## Roles", "sh") {
				s.run(line)
			}
			if s.engine == nil {
				t.Fatal("the page starts no engine")
			}
			s.works()
			s.plainLogin()
			s.schedule()
			s.nothingLogged()
			s.run("engine migrate") // as the page says: from then on with DATABASE_URL only
			s.refusesAdministrators()
		})
	}
}

// server is a server that is being set up.
type server struct {
	*harness.World
	pg            *devenv.Postgres
	managed, cron bool
	env           []string
	engine        *exec.Cmd
	log           *harness.Buffer
}

// newServer starts a server with the settings of the page, on which there is
// nothing but an administrator and alice.
func newServer(t *testing.T, managed, cron bool) *server {
	t.Helper()
	settings := map[string]string{"log_statement": "ddl", "shared_preload_libraries": ""}
	if cron {
		for _, line := range blocks(t, "### On a server of your own, with pg_cron", "ini") {
			name, value, ok := strings.Cut(line, " = ")
			if !ok {
				t.Fatalf("not a setting: %s", line)
			}
			settings[name] = strings.Trim(value, "'")
		}
	}
	dir := filepath.Join(harness.Temporary(t), "cluster")
	pg, err := devenv.StartPostgres(context.Background(),
		devenv.PostgresOptions{DataDir: dir, FastUnsafe: true, Bare: true, Settings: settings})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = pg.Stop(context.Background()) })
	t.Cleanup(func() {
		if t.Failed() {
			text, _ := os.ReadFile(pg.LogFile())
			var lines []string
			for line := range strings.Lines(string(text)) {
				if strings.Contains(line, " UTC [") && !strings.Contains(line, "LOG:  statement: ") {
					lines = append(lines, line)
				}
			}
			t.Logf("PostgreSQL said:\n%s", strings.Join(lines[max(0, len(lines)-60):], ""))
		}
	})
	if cron && !pg.HasCron() {
		t.Fatal("pg_cron is not installed: make deps")
	}
	aws := testaws.NewAccount(t)
	s := &server{World: &harness.World{T: t, AdminURL: pg.AdminURL(), AWS: aws, Endpoint: aws.Endpoint}, pg: pg,
		managed: managed, cron: cron, log: &harness.Buffer{}}
	postgres := s.as("", "", "postgres")
	if _, err := s.TryPSQL(postgres, `CREATE ROLE `+administrator+` LOGIN CREATEROLE CREATEDB PASSWORD 'secret'`,
		`CREATE ROLE alice LOGIN PASSWORD 'secret'`); err != nil {
		t.Fatal(err)
	}
	// The loopback role gets in by the page's line alone.
	hba := append(blocks(t, "### The connection to itself", "hba"), "host all postgres,"+administrator+","+engineLogin+
		",alice 127.0.0.1/32 scram-sha-256")
	if err := os.WriteFile(filepath.Join(dir, "pgdata", "pg_hba.conf"), []byte(strings.Join(hba, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.TryPSQL(postgres, `SELECT pg_reload_conf()`); err != nil {
		t.Fatal(err)
	}
	s.UserURL, s.EngineURL = s.as("alice", "secret", "iasql"), s.as(engineLogin, enginePass, "iasql")
	server, admin := postgres, s.AdminURL
	if managed {
		server, admin = s.as(administrator, "secret", "postgres"), s.as(administrator, "secret", "iasql")
	}
	s.env = append(os.Environ(), aws.Env()...)
	s.env = append(s.env, "PATH="+filepath.Dir(harness.Engine())+":"+os.Getenv("PATH"),
		"AWS_ENDPOINT_URL="+aws.Endpoint,
		"SERVER_URL="+server, "ADMIN_URL="+admin, "DATABASE_URL="+s.EngineURL)
	return s
}

// as returns the URL of a login, the superuser's for "".
func (s *server) as(login, password, database string) string {
	u, err := url.Parse(s.pg.AdminURL())
	if err != nil {
		s.Fatal(err)
	}
	if login != "" {
		u.User = url.UserPassword(login, password)
	}
	u.Path = "/" + database
	return u.String()
}

// run runs a line of the page, as it stands there.
func (s *server) run(line string) {
	s.Helper()
	if line == "engine serve" {
		s.serve(line)
		return
	}
	cmd := exec.CommandContext(s.Context(), "sh", "-c", line)
	cmd.Env = s.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.Fatalf("%s: %v\n%s", line, err, out)
	}
	if strings.HasPrefix(line, "engine migrate") && bytes.Contains(out, []byte("level=WARN")) {
		s.Errorf("%s warns:\n%s", line, out)
	}
	if s.managed && strings.Contains(line, "CREATE DATABASE") {
		// What the provider does for his administrators: extensions that PostgreSQL
		// itself leaves to superusers.
		s.Admin(`CREATE EXTENSION dblink`)
		if s.cron {
			s.Admin(`CREATE EXTENSION pg_cron`, `GRANT USAGE ON SCHEMA cron TO `+administrator+` WITH GRANT OPTION`)
		}
	}
}

func (s *server) serve(line string) {
	s.Helper()
	s.engine = exec.Command("sh", "-c", "exec "+line)
	s.engine.Env, s.engine.Stdout, s.engine.Stderr = s.env, s.log, s.log
	if err := s.engine.Start(); err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() {
		_ = s.engine.Process.Signal(os.Interrupt)
		_ = s.engine.Wait()
		if s.Failed() {
			s.Logf("engine said:\n%s", s.log)
		}
	})
	s.Eventually(20*time.Second, "an engine connects", func() bool { return s.Connected() == 1 })
}

// works uses the installation as alice, the blocking functions among it.
func (s *server) works() {
	s.Helper()
	s.Install([]string{"us-east-1"}, "aws_sqs")
	s.PSQL(`INSERT INTO queue (name) VALUES ('one')`)
	s.Settled()
	s.PSQL(`SELECT iasql_sync_now()`, `CALL iasql_begin()`, `UPDATE queue SET delay_seconds = 5`,
		`CALL iasql_rollback()`)
	if got := s.PSQL(`SELECT delay_seconds FROM queue`); got != "0" {
		s.Errorf("after a batch that was rolled back delay_seconds is %s", got)
	}
}

// plainLogin looks at every session of the engine, and at what its login may
// become.
func (s *server) plainLogin() {
	s.Helper()
	if got := s.Admin(`SELECT string_agg(DISTINCT usename, ',') FROM pg_stat_activity WHERE application_name LIKE 'iasql%' OR usename = '` + engineLogin + `'`); got != engineLogin {
		s.Errorf("the engine's sessions are of %s", got)
	}
	if got := s.Admin(`SELECT string_agg(rolname, ',') FROM pg_roles WHERE pg_has_role('` + engineLogin +
		`', oid, 'MEMBER') AND (rolsuper OR rolcreaterole OR rolbypassrls)`); got != "" {
		s.Errorf("the engine's login can become %s", got)
	}
	if s.managed {
		if got := s.Admin(`SELECT pg_has_role('` + administrator + `', 'iasql_engine', 'MEMBER')`); got != "f" {
			s.Error("the administrator stays a member of iasql_engine")
		}
	}
	if got := s.Admin(`SELECT count(*) FROM pg_foreign_server`); got != "0" {
		s.Errorf("%s foreign servers", got)
	}
}

// schedule looks who keeps it, and that pg_cron's job runs.
func (s *server) schedule() {
	s.Helper()
	if !s.cron {
		if !strings.Contains(s.log.String(), "by=engines") {
			s.Error("the engine does not keep the schedule")
		}
		return
	}
	if !strings.Contains(s.log.String(), "by=pg_cron") {
		s.Error("pg_cron does not keep the schedule")
	}
	if got := s.Admin(`SELECT username || ' ' || command FROM cron.job`); got != engineLogin+
		" SELECT iasql_internal.tick()" {
		s.Errorf("pg_cron's jobs: %s", got)
	}
	// Once a minute, and the scheduler may overlook the new job at first
	// (citusdata/pg_cron#362).
	defer func() {
		if s.Failed() {
			s.Logf("pg_cron says:\n%s", s.Admin(`SELECT * FROM cron.job`, `SELECT * FROM cron.job_run_details`,
				`SELECT pid, usename, datname, state, query FROM pg_stat_activity WHERE backend_type ~ 'cron'`))
		}
	}()
	s.Eventually(150*time.Second, "pg_cron runs its job", func() bool {
		return s.Admin(`SELECT count(*) > 0 FROM cron.job_run_details WHERE status = 'succeeded'`) == "t"
	})
	if got := s.Admin(`SELECT DISTINCT username, return_message FROM cron.job_run_details WHERE status = 'failed'`); got != "" {
		s.Errorf("pg_cron's job failed: %s", got)
	}
}

// nothingLogged looks for passwords in the server's log, which has every CREATE
// and ALTER ROLE.
func (s *server) nothingLogged() {
	s.Helper()
	text, err := os.ReadFile(s.pg.LogFile())
	if err != nil {
		s.Fatal(err)
	}
	loopback := s.Admin(`SELECT role FROM iasql_internal.loopback`)
	for _, made := range []string{"CREATE ROLE " + loopback, `CREATE ROLE "` + engineLogin + `"`} {
		if !bytes.Contains(text, []byte(made)) {
			s.Errorf("the log does not have %s: what it would show is not shown", made)
		}
	}
	for what, password := range map[string]string{"loopback": s.Admin(`SELECT password FROM iasql_internal.loopback`),
		"engine's": enginePass} {
		if password == "" || bytes.Contains(text, []byte(password)) {
			s.Errorf("the log has the %s password", what)
		}
	}
}

// refusesAdministrators: no engine works with a login that may do too much.
func (s *server) refusesAdministrators() {
	s.Helper()
	s.Admin(`CREATE ROLE bypasses LOGIN BYPASSRLS PASSWORD 'secret'`,
		`CREATE ROLE behind LOGIN PASSWORD 'secret' IN ROLE bypasses, iasql_engine`,
		`CREATE ROLE stranger LOGIN PASSWORD 'secret'`,
		`GRANT CONNECT ON DATABASE iasql TO bypasses, stranger, `+administrator)
	// Let in by the page's line.
	for login, says := range map[string]string{"": "SUPERUSER", administrator: "CREATEROLE", "bypasses": "BYPASSRLS",
		"behind": "BYPASSRLS by role bypasses", "stranger": "is no member of role iasql_engine"} {
		for _, command := range []string{"engine serve", "engine serve --no-migrate"} {
			cmd := exec.CommandContext(s.Context(), "sh", "-c", command)
			cmd.Env = append(s.env, "DATABASE_URL="+s.as(login, "secret", "iasql"))
			out, err := cmd.CombinedOutput()
			if err == nil || !strings.Contains(string(out), says) ||
				!strings.Contains(string(out),
					"engine migrate --admin-url 'postgres://ADMINISTRATOR:PASSWORD@127.0.0.1:") {
				s.Errorf("%s as %q: %v: %s", command, login, err, out)
			}
		}
	}
}

// TestNotPrepared: without an administrator's work a plain login is told what is
// missing and what to run.
func TestNotPrepared(t *testing.T) {
	t.Parallel()
	s := newServer(t, false, false)
	if _, err := s.TryPSQL(s.as("", "", "postgres"), `CREATE DATABASE iasql`, `CREATE ROLE `+engineLogin+
		` LOGIN PASSWORD '`+enginePass+`'`); err != nil {
		t.Fatal(err)
	}
	migrate := func() string {
		cmd := exec.CommandContext(t.Context(), "sh", "-c", "engine migrate")
		cmd.Env = s.env
		out, err := cmd.CombinedOutput()
		if err == nil {
			t.Errorf("engine migrate succeeds: %s", out)
		}
		return string(out)
	}
	command := fmt.Sprintf("run engine migrate --admin-url 'postgres://ADMINISTRATOR:PASSWORD@127.0.0.1:%d/iasql'",
		s.pg.Port())
	if got := migrate(); !strings.Contains(got, "no role iasql_engine") || !strings.Contains(got, command) {
		t.Errorf("on a bare server: %s", got)
	}
	s.Admin(`CREATE ROLE iasql_engine`, `GRANT iasql_engine TO `+engineLogin)
	got := migrate()
	for _, missing := range []string{"role iasql_user", "role iasql_reader",
		"schema iasql_internal owned by iasql_engine", "schema iasql_river", "extension dblink",
		"extension fuzzystrmatch",
		"CREATE and USAGE on schema public", "table iasql_internal.loopback",
		strings.Replace(command, "run", "Run", 1)} {
		if !strings.Contains(got, missing) {
			t.Errorf("%q is not named: %s", missing, got)
		}
	}
	// What stands in the way of an administrator is named, too.
	s.Admin(`CREATE ROLE mallory LOGIN PASSWORD 'secret'`, `CREATE SCHEMA iasql_internal AUTHORIZATION mallory`)
	cmd := exec.CommandContext(t.Context(), "sh", "-c", `engine migrate --admin-url "$ADMIN_URL"`)
	cmd.Env = s.env
	if out, err := cmd.CombinedOutput(); err == nil ||
		!strings.Contains(string(out), "schema iasql_internal belongs to mallory") {
		t.Errorf("a schema that somebody else owns: %v: %s", err, out)
	}
}

var fence = regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```")

// blocks returns the lines of the fenced blocks of a language below a heading of
// docs/operating.md.
func blocks(t *testing.T, heading, language string) []string {
	t.Helper()
	text, err := os.ReadFile("../../docs/operating.md")
	if err != nil {
		t.Fatal(err)
	}
	_, below, found := strings.Cut(string(text), "\n"+heading+"\n")
	if !found {
		t.Fatalf("the page has no %q", heading)
	}
	if end := regexp.MustCompile(`(?m)^##+ `).FindStringIndex(below); end != nil {
		below = below[:end[0]]
	}
	var lines []string
	for _, m := range fence.FindAllStringSubmatch(below, -1) {
		if m[1] == language {
			lines = append(lines, strings.Split(strings.TrimSpace(m[2]), "\n")...)
		}
	}
	if len(lines) == 0 {
		t.Fatalf("nothing in %s below %q", language, heading)
	}
	return lines
}
