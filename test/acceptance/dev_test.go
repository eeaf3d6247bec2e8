package acceptance

import (
	"bufio"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"iasql/internal/test/harness"
)

// dev is a running "engine dev".
type dev struct {
	cmd   *exec.Cmd
	log   *harness.Buffer
	URL   string
	Admin string // the administrator's
}

// startDev starts it in the world's AWS account and waits until it is ready.
func startDev(t *testing.T, w *harness.World, dir string) *dev {
	t.Helper()
	return runDev(t, w.AWS.Env(), "--data-dir", dir, "--aws-endpoint", w.AWS.Endpoint)
}

// runDev starts it with these variables and arguments, and waits until it is ready.
func runDev(t *testing.T, env []string, args ...string) *dev {
	t.Helper()
	d := &dev{cmd: exec.Command(harness.Engine(), append([]string{"dev", "--pg-port", "0"}, args...)...),
		log: &harness.Buffer{}}
	d.cmd.Stderr, d.cmd.Env = d.log, append(os.Environ(), env...)
	stdout, err := d.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.cmd.Process.Kill() })
	said := bufio.NewReader(stdout)
	line, err := said.ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "ready: postgres://") {
		t.Fatalf("engine dev printed %q (%v):\n%s", line, err, d.log)
	}
	d.URL = strings.TrimSpace(strings.TrimPrefix(line, "ready: "))
	if line, err = said.ReadString('\n'); err != nil || !strings.HasPrefix(line, "administrator: postgres://") {
		t.Fatalf("engine dev printed %q (%v)", line, err)
	}
	d.Admin = strings.TrimSpace(strings.TrimPrefix(line, "administrator: "))
	return d
}

// stop sends SIGTERM, as systemd and Docker do, and expects a clean end.
func (d *dev) stop(t *testing.T) {
	t.Helper()
	if err := d.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := d.cmd.Wait(); err != nil {
		t.Errorf("engine dev ended with %v:\n%s", err, d.log)
	}
}

// dataDir is reachable for the unprivileged user that root's PostgreSQL runs as.
func dataDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "iasql-dev")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return filepath.Join(dir, "data")
}

// engine dev brings everything up, pg_cron's job finds what changed in the
// cloud within a scheduled cycle, and a second start finds everything as it was.
func TestDev(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t) // for its AWS account, which outlives both starts
	dir := dataDir(t)
	first := startDev(t, w, dir)
	w.UserURL = first.URL
	w.Install([]string{"us-east-1"}, "aws_vpc")
	if got := w.PSQL(`SELECT version <> '' FROM iasql_version()`); got != "t" {
		t.Errorf("iasql_version: %s", got)
	}
	vpc := w.CLI("ec2", "create-vpc", "--cidr-block", "10.44.0.0/16")["Vpc"].(map[string]any)["VpcId"].(string)
	// pg_cron's ticks are a minute apart. Its scheduler may overlook the new job
	// (citusdata/pg_cron#362), which an engine notices at most half a minute later.
	w.Becomes(2*time.Minute, "1", `SELECT count(*) FROM vpc WHERE vpc_id = '`+vpc+`'`)
	id := w.PSQL(`SELECT id FROM vpc WHERE vpc_id = '` + vpc + `'`)
	first.stop(t)

	second := startDev(t, w, dir)
	w.UserURL = second.URL
	if got := w.PSQL(`SELECT id FROM vpc WHERE vpc_id = '` + vpc + `'`); got != id {
		t.Errorf("after a second start the record is %q, was %q", got, id)
	}
	w.PSQL(`UPDATE vpc SET tags = '{"second": "start"}' WHERE id = ` + id)
	w.Becomes(10*time.Second, "0", `SELECT count(*) FROM iasql_audit_log WHERE NOT settled`)

	// An interval that pg_cron before 1.5 cannot count in is kept all the same.
	w.PSQL(`UPDATE iasql_settings SET value = CASE name WHEN 'sync_interval' THEN '3 seconds' ELSE '0' END WHERE name IN ('sync_interval', 'max_staleness')`)
	vpc = w.CLI("ec2", "create-vpc", "--cidr-block", "10.46.0.0/16")["Vpc"].(map[string]any)["VpcId"].(string)
	w.Becomes(20*time.Second, "1", `SELECT count(*) FROM vpc WHERE vpc_id = '`+vpc+`'`)
	second.stop(t)
}

// With an emulator of its own, engine dev believes at once what that shows, ends
// without a complaint, and leaves nothing in the directory for temporary files. Its
// login is a plain user's; the administrator's, which it prints too, may make others.
func TestDevWithItsEmulator(t *testing.T) {
	t.Parallel()
	temporary := t.TempDir()
	if err := os.Chmod(temporary, 0o777); err != nil {
		t.Fatal(err)
	}
	dir := dataDir(t)
	d := runDev(t, []string{"TMPDIR=" + temporary}, "--data-dir", dir, "--http", "none")
	w := &harness.World{T: t, UserURL: d.URL}
	if got := w.PSQL(`SELECT value FROM iasql_settings WHERE name = 'consistency_window'`); got != "2 seconds" {
		t.Errorf("the consistency_window is %s", got)
	}
	for _, statement := range []string{`CREATE ROLE mine LOGIN`, `GRANT iasql_engine TO iasql`,
		`GRANT iasql_user TO iasql_service`, `SET ROLE iasql_engine`,
		`UPDATE iasql_settings SET value = '1 day' WHERE name = 'audit_retention'`} {
		if out, err := w.TryPSQL(d.URL, statement); err == nil || !strings.Contains(err.Error(), "42501") {
			t.Errorf("the login may %s: %s %v", statement, out, err)
		}
	}
	if out, err := w.TryPSQL(d.Admin, `CREATE ROLE newcomer LOGIN PASSWORD 'new'`, `GRANT iasql_reader TO newcomer`,
		`GRANT CONNECT ON DATABASE iasql TO newcomer`,
		`UPDATE iasql_settings SET value = '91 days' WHERE name = 'audit_retention'`); err != nil {
		t.Fatal(out, err)
	}
	newcomer, err := url.Parse(d.URL)
	if err != nil {
		t.Fatal(err)
	}
	newcomer.User = url.UserPassword("newcomer", "new")
	if out, err := w.TryPSQL(newcomer.String(), `SELECT count(*) FROM iasql_status`); err != nil || out != "0" {
		t.Errorf("a reader that the administrator made: %s, %v", out, err)
	}
	// The emulator forgets its cloud when it stops. Whoever types as soon as all is ready finds what there is then, and
	// nothing to be asked about.
	w.PSQL(`SELECT count(*) FROM iasql_install('aws_account')`,
		`UPDATE aws_regions SET is_enabled = region IN ('us-east-1', 'us-west-2', 'eu-west-1')`,
		`SELECT count(*) FROM iasql_install('aws_vpc')`)
	was := w.PSQL(`SELECT string_agg(vpc_id, ' ') FROM vpc`)
	d.stop(t)
	again := runDev(t, []string{"TMPDIR=" + temporary}, "--data-dir", dir, "--http", "none")
	w.UserURL = again.URL
	if got := w.PSQL(`SELECT count(*) || ' ' || count(*) FILTER (WHERE vpc_id = ANY (string_to_array('` + was +
		`', ' '))) FROM vpc`); got != strconv.Itoa(len(strings.Fields(was)))+" 0" {
		t.Errorf("after a second start there are this many VPCs, of them old: %s", got)
	}
	if got := w.PSQL(`SELECT count(*) FROM iasql_status WHERE state <> 'Present'`); got != "0" {
		t.Errorf("after a second start %s records are not Present:\n%s", got, w.PSQL(`TABLE iasql_problems`))
	}
	again.stop(t)
	if strings.Contains(d.log.String(), "killed") || strings.Contains(d.log.String(), "did not stop") {
		t.Errorf("it complains: %s", d.log)
	}
	left, err := os.ReadDir(temporary)
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// A pg_cron that has stopped is noticed, and the schedule kept without it.
func TestDevWithoutScheduler(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t)
	dir := dataDir(t)
	d := startDev(t, w, dir)
	w.UserURL = d.URL
	w.Install([]string{"us-east-1"}, "aws_vpc")
	password, err := os.ReadFile(filepath.Join(dir, "admin.password"))
	if err != nil {
		t.Fatal(err)
	}
	admin, err := url.Parse(d.URL)
	if err != nil {
		t.Fatal(err)
	}
	admin.User = url.UserPassword("postgres", strings.TrimSpace(string(password)))
	conn, err := pgx.Connect(t.Context(), admin.String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	var stopped bool
	if err := conn.QueryRow(t.Context(),
		`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'pg_cron launcher'`).Scan(
		&stopped); err != nil || !stopped {
		t.Fatalf("pg_cron's scheduler could not be stopped: %v, %v", stopped, err)
	}
	vpc := w.CLI("ec2", "create-vpc", "--cidr-block", "10.45.0.0/16")["Vpc"].(map[string]any)["VpcId"].(string)
	w.Becomes(2*time.Minute, "1", `SELECT count(*) FROM vpc WHERE vpc_id = '`+vpc+`'`)
	if log := d.log.String(); !strings.Contains(log, "pg_cron is late") {
		t.Errorf("nothing was said about it:\n%s", log)
	}
	d.stop(t)
}

// A port that is taken is said in one line.
func TestDevPortTaken(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	port := strconv.Itoa(listener.Addr().(*net.TCPAddr).Port)
	out, err := exec.Command(harness.Engine(), "--log-level", "error", "dev", "--data-dir", dataDir(t), "--pg-port",
		port).CombinedOutput()
	text := strings.TrimSpace(string(out))
	if err == nil || !strings.Contains(text, port) || !strings.Contains(text, "--pg-port") ||
		strings.Contains(text, "\n") {
		t.Errorf("says %q (%v)", text, err)
	}
}

// So is a data directory that cannot be.
func TestDevUnreachableDirectory(t *testing.T) {
	t.Parallel()
	out, err := exec.Command(harness.Engine(), "--log-level", "error", "dev", "--data-dir", "/proc/none", "--pg-port",
		"0").CombinedOutput()
	text := strings.TrimSpace(string(out))
	if err == nil || !strings.Contains(text, "/proc/none") || strings.Contains(text, "\n") {
		t.Errorf("says %q (%v)", text, err)
	}
}
