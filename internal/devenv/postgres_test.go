package devenv

import (
	"bufio"
	"context"
	"errors"
	"fmt"
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
	"github.com/jackc/pgx/v5/pgconn"
)

// tempDir is t.TempDir for data directories: the unprivileged user that the server
// runs as when root tests may pass through it.
func tempDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(filepath.Dir(dir), 0o711); err != nil {
		t.Fatal(err)
	}
	return dir
}

// start starts a cluster for a test, which stops it at its end.
func start(t *testing.T, opts PostgresOptions) *Postgres {
	t.Helper()
	opts.FastUnsafe = true
	pg, err := StartPostgres(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := pg.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return pg
}

func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

func exec1(t *testing.T, conn *pgx.Conn, sql string) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

func query1[T any](t *testing.T, conn *pgx.Conn, sql string, args ...any) T {
	t.Helper()
	var value T
	if err := conn.QueryRow(t.Context(), sql, args...).Scan(&value); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return value
}

func wantKind(t *testing.T, err, kind error, mentions ...string) {
	t.Helper()
	if !errors.Is(err, kind) {
		t.Fatalf("got %v, want the kind %v", err, kind)
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("more than one line: %q", err)
	}
	for _, want := range mentions {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not mention %q", err, want)
		}
	}
}

// a server keeps everything over a stop and a start.
func TestPostgresTwice(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(tempDir(t), "deep", "env")
	var said []string
	first := start(t, PostgresOptions{DataDir: dir, Progress: func(s string) { said = append(said, s) }})
	if len(said) != 2 || !strings.HasPrefix(said[0], "creating") || !strings.HasPrefix(said[1], "starting") {
		t.Errorf("progress: %q", said)
	}
	user := connect(t, first.UserURL())
	exec1(t, user, "CREATE TABLE kept (n int); INSERT INTO kept VALUES (42)")
	adminURL, userURL := first.AdminURL(), first.UserURL()
	if err := first.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	select {
	case <-first.Done():
	default:
		t.Error("stopped, but not done")
	}
	if err := first.Err(); err != nil {
		t.Errorf("a wanted stop is reported: %v", err)
	}
	for _, name := range []string{"admin.password", "user.password", "postgres.log"} {
		st, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if st.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", name, st.Mode())
		}
	}

	second := start(t, PostgresOptions{DataDir: dir, Port: first.Port()})
	if second.AdminURL() != adminURL || second.UserURL() != userURL {
		t.Error("the URLs changed")
	}
	if n := query1[int](t, connect(t, second.UserURL()), "SELECT n FROM kept"); n != 42 {
		t.Errorf("kept %d", n)
	}
}

// a server is set up as promised.
func TestPostgresSettings(t *testing.T) {
	t.Parallel()
	pg := start(t, PostgresOptions{DataDir: tempDir(t), Settings: map[string]string{"max_connections": "77"}})
	admin := connect(t, pg.AdminURL())
	want := map[string]string{
		"listen_addresses":    "127.0.0.1",
		"port":                strconv.Itoa(pg.Port()),
		"TimeZone":            "UTC",
		"server_encoding":     "UTF8",
		"password_encryption": "scram-sha-256",
		"max_connections":     "77",
		"fsync":               "off",
	}
	if pg.HasCron() {
		want["cron.database_name"] = "iasql"
		want["cron.use_background_workers"] = "on"
	}
	for name, value := range want {
		if got := query1[string](t, admin, "SELECT current_setting($1)", name); got != value {
			t.Errorf("%s = %s, want %s", name, got, value)
		}
	}
	if n := query1[int](t, admin, "SELECT current_setting('max_worker_processes')::int"); n < 20 {
		t.Errorf("max_worker_processes = %d", n)
	}
	if n := query1[int](t, admin, "SELECT current_setting('server_version_num')::int / 10000"); n != pg.Version() {
		t.Errorf("server %d, Version() %d", n, pg.Version())
	}
	// Text sorts by code point.
	if !query1[bool](t, admin, "SELECT 'Z' < 'a'") {
		t.Error("the locale is not C")
	}
	text, err := os.ReadFile(filepath.Join(pg.LogFile()))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "FATAL") {
		t.Errorf("the first start logged an error:\n%s", text)
	}

	t.Run("socket wants a password", func(t *testing.T) {
		cfg, err := pgx.ParseConfig(pg.AdminURL())
		if err != nil {
			t.Fatal(err)
		}
		cfg.Host = pg.SocketDir()
		conn, err := pgx.ConnectConfig(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		conn.Close(t.Context())
		cfg.Password = "wrong"
		if _, err = pgx.ConnectConfig(t.Context(), cfg); sqlState(err) != "28P01" {
			t.Errorf("with a wrong password: %v", err)
		}
	})
	t.Run("TCP wants a password", func(t *testing.T) {
		u, err := url.Parse(pg.AdminURL())
		if err != nil {
			t.Fatal(err)
		}
		u.User = url.UserPassword("postgres", "wrong")
		if _, err := pgx.Connect(t.Context(), u.String()); sqlState(err) != "28P01" {
			t.Errorf("with a wrong password: %v", err)
		}
	})
	t.Run("ordinary user", func(t *testing.T) {
		user := connect(t, pg.UserURL())
		exec1(t, user, "CREATE TABLE public.mine (); CREATE SCHEMA own")
		if query1[bool](t, user, "SELECT rolsuper FROM pg_roles WHERE rolname = current_user") {
			t.Error("the user is a superuser")
		}
		if _, err := user.Exec(t.Context(), "CREATE ROLE another"); sqlState(err) != "42501" {
			t.Errorf("CREATE ROLE: %v", err)
		}
	})
	t.Run("cron", func(t *testing.T) {
		if !pg.HasCron() {
			if pg.inst.hasLibrary("pg_cron") {
				t.Error("installed, but not loaded")
			}
			return
		}
		exec1(t, admin, "CREATE EXTENSION pg_cron")
		if _, err := admin.Exec(t.Context(), "SELECT cron.schedule('tick', '* * * * *', 'SELECT 1')"); err != nil {
			t.Errorf("cron.schedule: %v", err)
		}
	})
}

func sqlState(err error) string {
	var pgErr *pgconn.PgError
	if errors.As(err, &pgErr) {
		return pgErr.Code
	}
	return ""
}

// lost password files are replaced, and the roles told.
func TestPostgresLostPasswords(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	pg := start(t, PostgresOptions{DataDir: dir})
	before := pg.AdminURL()
	if err := pg.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"admin.password", "user.password"} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	pg = start(t, PostgresOptions{DataDir: dir, Port: pg.Port()})
	if pg.AdminURL() == before {
		t.Error("the old password came back")
	}
	connect(t, pg.AdminURL())
	connect(t, pg.UserURL())
}

// a role or database that a user has taken away comes back.
func TestPostgresLostDatabase(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	pg := start(t, PostgresOptions{DataDir: dir})
	conn, err := pg.connect(t.Context(), "postgres")
	if err != nil {
		t.Fatal(err)
	}
	exec1(t, conn, "DROP DATABASE iasql WITH (FORCE)")
	exec1(t, conn, "DROP ROLE iasql")
	conn.Close(t.Context())
	if err := pg.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	pg = start(t, PostgresOptions{DataDir: dir})
	exec1(t, connect(t, pg.UserURL()), "CREATE TABLE t ()")
}

// the socket goes elsewhere when its path would be too long for the system.
func TestPostgresLongPath(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(tempDir(t), strings.Repeat("x", 120))
	pg := start(t, PostgresOptions{DataDir: dir})
	cfg, err := pgx.ParseConfig(pg.AdminURL())
	if err != nil {
		t.Fatal(err)
	}
	cfg.Host = pg.SocketDir()
	conn, err := pgx.ConnectConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	conn.Close(t.Context())
	if err := pg.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(pg.SocketDir()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is left behind", pg.SocketDir())
	}
}

func TestPostgresInUse(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	pg := start(t, PostgresOptions{DataDir: dir})
	_, err := StartPostgres(t.Context(), PostgresOptions{DataDir: dir})
	wantKind(t, err, ErrDataDirInUse, dir, strconv.Itoa(os.Getpid()), "--data-dir")
	connect(t, pg.AdminURL()) // it was left alone
}

func TestPostgresPortTaken(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	port := l.Addr().(*net.TCPAddr).Port
	_, err = StartPostgres(t.Context(), PostgresOptions{DataDir: tempDir(t), Port: port})
	wantKind(t, err, ErrPortTaken)
	if want := fmt.Sprintf("port %d is taken: choose another with --pg-port", port); err.Error() != want {
		t.Errorf("got  %s\nwant %s", err, want)
	}
}

// a directory that the server's user cannot reach, or that cannot be made.
func TestPostgresInaccessible(t *testing.T) {
	t.Parallel()
	parent := filepath.Join(tempDir(t), "closed")
	mode := os.FileMode(0o500)
	if os.Geteuid() == 0 {
		mode = 0o700
	}
	if err := os.Mkdir(parent, mode); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(parent, "env")
	_, err := StartPostgres(t.Context(), PostgresOptions{DataDir: dir})
	wantKind(t, err, ErrDataDirAccess, dir, "--data-dir")
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a useless directory was made: %v", err)
	}
	if _, err = StartPostgres(t.Context(), PostgresOptions{}); !errors.Is(err, ErrDataDirAccess) {
		t.Errorf("no directory: %v", err)
	}
	file := filepath.Join(tempDir(t), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = StartPostgres(t.Context(), PostgresOptions{DataDir: file})
	wantKind(t, err, ErrDataDirAccess, file)
}

// somebody's directory, given by mistake, keeps its mode.
func TestPostgresForeignDirectory(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	if err := os.WriteFile(filepath.Join(dir, "theirs"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	d, err := openDataDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.close()
	if st, _ := os.Stat(dir); st.Mode().Perm() != 0o755 {
		t.Errorf("mode is now %v", st.Mode())
	}
}

func TestPostgresOtherVersion(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	if err := os.Mkdir(filepath.Join(dir, "pgdata"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "pgdata", "PG_VERSION"), []byte("9\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := StartPostgres(t.Context(), PostgresOptions{DataDir: dir})
	wantKind(t, err, ErrDataDirVersion, dir, "PostgreSQL 9", "postgresql-9", "--data-dir")
}

func TestPostgresWrongPasswordFile(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	pg := start(t, PostgresOptions{DataDir: dir})
	if err := pg.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "admin.password"), []byte("wrong\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := StartPostgres(t.Context(), PostgresOptions{DataDir: dir})
	wantKind(t, err, ErrNotStarted, filepath.Join(dir, "admin.password"))
}

func TestPostgresBadSetting(t *testing.T) {
	t.Parallel()
	_, err := StartPostgres(t.Context(),
		PostgresOptions{DataDir: tempDir(t), FastUnsafe: true, Settings: map[string]string{"max_connections": "many"}})
	wantKind(t, err, ErrNotStarted, "max_connections", "postgres.log")
}

func TestChooseInstallation(t *testing.T) {
	t.Parallel()
	pg := func(majors ...int) (all []installation) {
		for _, major := range majors {
			all = append(all, installation{bin: fmt.Sprintf("/pg/%d", major), major: major})
		}
		return all
	}
	for _, c := range []struct {
		name    string
		have    []installation
		cluster int
		want    int
		kind    error
		says    []string
	}{
		{"the first", pg(16, 17, 15), 0, 16, nil, nil},
		{"old on PATH", pg(13, 17), 0, 17, nil, nil},
		{"the cluster's own", pg(17, 16, 15), 15, 15, nil, nil},
		{"nothing", nil, 0, 0, ErrNoBinaries,
			[]string{"PATH", "/usr/lib/postgresql/*/bin", "apt-get install postgresql"}},
		{"all too old", pg(14, 13), 0, 0, ErrTooOld, []string{"14 in /pg/14", "13 in /pg/13", "15"}},
		{"another's cluster", pg(17, 16), 15, 0, ErrDataDirVersion,
			[]string{"PostgreSQL 15", "17 in /pg/17", "postgresql-15"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := chooseInstallation(c.have, installGlobs, "/data", c.cluster)
			if c.kind != nil {
				wantKind(t, err, c.kind, c.says...)
				return
			}
			if err != nil || got.major != c.want {
				t.Errorf("got %v, %v", got, err)
			}
		})
	}
}

// programs are found below a glob, newest first, and through a link on PATH.
func TestFindInstallations(t *testing.T) {
	root := tempDir(t)
	fake := func(dir string, version string) {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"postgres", "initdb", "pg_ctl"} {
			script := "#!/bin/sh\necho '" + name + " (PostgreSQL) " + version + "'\n"
			if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
	fake(filepath.Join(root, "pkg/9.6/bin"), "9.6.24")
	fake(filepath.Join(root, "pkg/15/bin"), "15.18 (Debian 15.18-0+deb12u1)")
	fake(filepath.Join(root, "pkg/18/bin"), "18beta1")
	fake(filepath.Join(root, "own/bin"), "16.2")
	if err := os.Remove(filepath.Join(root, "pkg/18/bin/initdb")); err != nil { // a client package: incomplete
		t.Fatal(err)
	}
	fake(filepath.Join(root, "pkg/17/bin"), "17.1")
	links := filepath.Join(root, "links")
	if err := os.Mkdir(links, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../own/bin/postgres", filepath.Join(links, "postgres")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", links)
	var got []string
	for _, inst := range findInstallations([]string{filepath.Join(root, "pkg/*/bin")}) {
		rel, err := filepath.Rel(root, inst.bin)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprintf("%d %s", inst.major, rel))
	}
	want := "16 own/bin, 17 pkg/17/bin, 15 pkg/15/bin, 9 pkg/9.6/bin"
	if s := strings.Join(got, ", "); s != want {
		t.Errorf("got  %s\nwant %s", s, want)
	}
}

// a server that ends by itself is noticed.
func TestPostgresDies(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	pg := start(t, PostgresOptions{DataDir: dir})
	if err := pg.Err(); err != nil {
		t.Errorf("alive: %v", err)
	}
	if err := syscall.Kill(pg.proc.cmd.Process.Pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-pg.Done()
	if err := pg.Err(); err == nil || !strings.Contains(err.Error(), "postgres.log") {
		t.Errorf("dead: %v", err)
	}
	if err := pg.Stop(t.Context()); err != nil {
		t.Errorf("stop of a dead server: %v", err)
	}
	// At once, while its children may still be ending, and after a crash.
	pg = start(t, PostgresOptions{DataDir: dir})
	connect(t, pg.AdminURL())
}

// a postmaster that nobody looks after any more is stopped by the next start.
func TestPostgresStale(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	pg := start(t, PostgresOptions{DataDir: dir})
	if err := pg.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	// A daemon, which no parent-death signal will reach.
	cmd := pg.command(t.Context(), "pg_ctl", "start", "--wait", "--silent", "-D", filepath.Join(dir, "pgdata"), "-l",
		"/dev/null", "-o",
		fmt.Sprintf("-c port=%d -c listen_addresses=127.0.0.1 -c unix_socket_directories=%s", pg.Port(),
			pg.SocketDir()))
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	stale := connect(t, pg.AdminURL())
	var said []string
	pg = start(t, PostgresOptions{DataDir: dir, Port: pg.Port(), Progress: func(s string) { said = append(said, s) }})
	if len(said) == 0 || !strings.HasPrefix(said[0], "stopping") {
		t.Errorf("progress: %q", said)
	}
	if err := stale.Ping(t.Context()); err == nil {
		t.Error("the old server still answers")
	}
	connect(t, pg.AdminURL())
}

// a postmaster.pid whose number went to an innocent process harms neither.
func TestPostgresRecycledPID(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	pg := start(t, PostgresOptions{DataDir: dir})
	if err := pg.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	innocent := exec.Command("sleep", "600")
	innocent.SysProcAttr = pg.dir.owner.attr() // the same user: postgres alone would give up
	innocent.Dir = "/"
	if err := innocent.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = innocent.Process.Kill()
		_ = innocent.Wait()
	}()
	pidFile := filepath.Join(dir, "pgdata", "postmaster.pid")
	text := fmt.Sprintf("%d\n%s\n%d\n%d\n\n127.0.0.1\n\nready\n", innocent.Process.Pid, filepath.Join(dir, "pgdata"),
		time.Now().Unix(), pg.Port())
	if err := os.WriteFile(pidFile, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	pg = start(t, PostgresOptions{DataDir: dir})
	connect(t, pg.AdminURL())
	if err := innocent.Process.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("the innocent process: %v", err)
	}
}

// after a kill -9 of the program that runs it, the server is not left behind for
// good, and the next start succeeds at once.
func TestPostgresParentKilled(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	cmd := exec.Command(os.Args[0], "-test.run=^TestHelperProcess$")
	cmd.Env = append(os.Environ(), "DEVENV_HELPER_DIR="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	var adminURL string
	for lines.Scan() {
		if after, ok := strings.CutPrefix(lines.Text(), "ready "); ok {
			adminURL = after
			break
		}
	}
	if adminURL == "" {
		t.Fatal("the helper did not get ready")
	}
	conn := connect(t, adminURL) // and stays connected
	exec1(t, conn, "CREATE TABLE kept ()")
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	pg := start(t, PostgresOptions{DataDir: dir})
	if !query1[bool](t, connect(t, pg.AdminURL()), "SELECT to_regclass('kept') IS NOT NULL") {
		t.Error("the table is lost")
	}
}

// TestHelperProcess is the program that TestPostgresParentKilled kills.
func TestHelperProcess(t *testing.T) {
	dir := os.Getenv("DEVENV_HELPER_DIR")
	if dir == "" {
		return
	}
	pg, err := StartPostgres(t.Context(), PostgresOptions{DataDir: dir, FastUnsafe: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("ready " + pg.AdminURL())
	<-pg.Done()
}

// a context that has ended stops a start and leaves nothing running.
func TestPostgresCancelled(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	ctx, cancel := context.WithCancel(t.Context())
	_, err := StartPostgres(ctx, PostgresOptions{DataDir: dir, FastUnsafe: true, Progress: func(s string) {
		if strings.HasPrefix(s, "starting") {
			cancel()
		}
	}})
	wantKind(t, err, ErrNotStarted, "in time")
	start(t, PostgresOptions{DataDir: dir})
}

func TestDefaultDataDir(t *testing.T) {
	t.Setenv("XDG_DATA_HOME", "/xdg")
	want := "/xdg/iasql/demo"
	if os.Geteuid() == 0 {
		want = "/var/lib/iasql/demo"
	}
	if got := DefaultDataDir("demo"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
