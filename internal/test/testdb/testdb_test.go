package testdb

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

func TestMain(m *testing.M) { Main(m, prepare) }

func prepare(ctx context.Context, adminURL string) error {
	conn, err := pgx.Connect(ctx, adminURL)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, "CREATE TABLE migrated (n int); INSERT INTO migrated VALUES (1)")
	return err
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

func scan[T any](t *testing.T, conn *pgx.Conn, sql string, args ...any) T {
	t.Helper()
	var value T
	if err := conn.QueryRow(t.Context(), sql, args...).Scan(&value); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return value
}

// parallel tests have databases of their own, migrated, as superuser.
func TestNew(t *testing.T) {
	t.Parallel()
	for i := range 12 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			conn := connect(t, New(t))
			if _, err := conn.Exec(t.Context(), "INSERT INTO migrated VALUES ($1)", i); err != nil {
				t.Fatal(err)
			}
			if n := scan[int](t, conn, "SELECT count(*) FROM migrated"); n != 2 {
				t.Errorf("%d rows: shared with another test", n)
			}
			if !scan[bool](t, conn, "SELECT rolsuper FROM pg_roles WHERE rolname = current_user") {
				t.Error("not a superuser")
			}
		})
	}
}

// a database goes with its test, even while somebody is connected.
func TestNewDrops(t *testing.T) {
	t.Parallel()
	server := connect(t, Server(t))
	var name string
	t.Run("inner", func(t *testing.T) {
		conn, err := pgx.Connect(t.Context(), New(t))
		if err != nil {
			t.Fatal(err)
		}
		name = scan[string](t, conn, "SELECT current_database()") // left open
	})
	if scan[bool](t, server, "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)", name) {
		t.Errorf("%s is still there", name)
	}
}

func TestServer(t *testing.T) {
	t.Parallel()
	conn := connect(t, Server(t))
	if os.Getenv(serverEnv) != "" {
		return // somebody else's settings
	}
	if got := scan[string](t, conn, "SHOW max_connections"); got != maxConnections {
		t.Errorf("max_connections = %s", got)
	}
}

// nothing works: every reason is told, on one line.
func TestNoWay(t *testing.T) {
	t.Parallel()
	no := func(reason string) func(context.Context) (string, func(context.Context) error, error) {
		return func(context.Context) (string, func(context.Context) error, error) {
			return "", nil, errors.New(reason)
		}
	}
	s := &server{ways: []way{{"one", false, no("not set")}, {"two", false, no("not\ninstalled")},
		{"three", false, no("not running")}}}
	err := s.start()
	want := "no way to get a PostgreSQL server: one: not set; two: not installed; three: not running"
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	s.stop()
	s = &server{ways: []way{{"given", true, no("unreachable")}, {"two", false, no("must not be tried")}}}
	if err := s.start(); err == nil || err.Error() != "given: unreachable" {
		t.Errorf("a server that was named and does not answer: %v", err)
	}
}

// a server on which prepare fails says so, and is stopped all the same.
func TestPrepareFails(t *testing.T) {
	t.Parallel()
	url := Server(t)
	s := &server{
		prepare: func(context.Context, string) error { return errors.New("migration 7 is broken") },
		ways: []way{{"given", true, func(context.Context) (string, func(context.Context) error, error) {
			return fromURL(url)
		}}},
	}
	defer s.stop()
	if err := s.start(); err == nil || err.Error() != "prepare the template database: migration 7 is broken" {
		t.Errorf("got %v", err)
	}
}

// a test binary of its own, on a server that is given: it uses that one, leaves
// nothing on it, and fails when it does not answer.
func TestGivenServer(t *testing.T) {
	t.Parallel()
	url := Server(t)
	run := func(url string) (string, error) {
		cmd := exec.Command(os.Args[0], "-test.run=^TestNew$", "-test.v")
		cmd.Env = append(os.Environ(), serverEnv+"="+url)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	conn := connect(t, url)
	if out, err := run(url); err != nil || !strings.Contains(out, "--- PASS: TestNew/3") {
		t.Errorf("%v\n%s", err, out)
	}
	// This binary's own template is the only one left.
	if n := scan[int](t, conn, "SELECT count(*) FROM pg_database WHERE datname LIKE 'iasql\\_template\\_%' AND "+
		"datistemplate"); n != 1 {
		t.Errorf("%d templates", n)
	}
	if out, err := run("postgres://postgres@127.0.0.1:1/iasql?connect_timeout=5"); err == nil ||
		!strings.Contains(out, "testdb: "+serverEnv) || strings.Contains(out, "SKIP") {
		t.Errorf("an unreachable server: %v\n%s", err, out)
	}
}

// what killed test binaries left behind is removed, nothing else.
func TestSweep(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	mk := func(name string, age time.Duration) string {
		dir := filepath.Join(base, name)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "lock"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		when := time.Now().Add(-age)
		if err := os.Chtimes(dir, when, when); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	old, young, other := mk(clusterPrefix+"old", 2*time.Hour), mk(clusterPrefix+"young", 0), mk("other", 2*time.Hour)
	sweep(base)
	if _, err := os.Stat(old); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is still there", old)
	}
	for _, dir := range []string{young, other} {
		if _, err := os.Stat(dir); err != nil {
			t.Error(err)
		}
	}
}
