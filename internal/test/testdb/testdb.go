// Package testdb gives every test a PostgreSQL database of its own.
//
// A test binary gets one server, and on it a template database that is migrated
// once; [New] clones the template, which takes some tens of milliseconds, so
// tests may run in parallel and need not clean up. Nothing is started before the
// first test asks for it: running a single test of pure logic stays instant.
//
//	func TestMain(m *testing.M) { testdb.Main(m, migrate) }
//
//	func TestSomething(t *testing.T) {
//		t.Parallel()
//		conn, err := pgx.Connect(t.Context(), testdb.New(t))
//		…
//	}
//
// The server is the first of: the one that IASQL_TEST_DATABASE_URL names (a
// superuser's URL; it is used or the tests fail), a private cluster made from the
// PostgreSQL programs of this machine, a Docker container. When there is no way
// to get one, tests fail and say what was tried; they are never skipped.
//
// What is not to be had in a test database: pg_cron, which exists in one
// database of a server only; settings and grants that a migration makes on the
// database itself (ALTER DATABASE … SET, GRANT … ON DATABASE), which
// PostgreSQL does not copy from a template; and roles of its own, for roles
// belong to the server.
package testdb

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	setupTimeout   = 5 * time.Minute // a container's image may have to be downloaded
	commandTimeout = time.Minute
	stopTimeout    = 30 * time.Second
)

// Main runs a package's tests with databases; call it from TestMain. prepare, if
// not nil, migrates the template: it gets a superuser's URL of an empty database,
// and must have closed its connections when it returns. more are further
// resources, such as testaws.Setup.
func Main(m *testing.M, prepare func(ctx context.Context, adminURL string) error, more ...func() (stop func())) {
	stops := []func(){Setup(prepare)}
	for _, setup := range more {
		stops = append(stops, setup())
	}
	code := m.Run()
	for i := len(stops) - 1; i >= 0; i-- {
		stops[i]()
	}
	os.Exit(code)
}

// Setup is for a TestMain that does more than [Main]: it registers prepare, and
// returns what is to be called after the tests. It starts nothing yet.
func Setup(prepare func(ctx context.Context, adminURL string) error) (stop func()) {
	s := &server{prepare: prepare, ways: ways()}
	current = s
	return s.stop
}

// New returns a superuser's URL of a new database, a clone of the template. It
// is dropped, whoever is connected, when the test ends.
func New(t testing.TB) string {
	t.Helper()
	s := started(t)
	return s.create(t, s.template)
}

// Empty is [New] with an empty database.
func Empty(t testing.TB) string {
	t.Helper()
	return started(t).create(t, "template0")
}

func (s *server) create(t testing.TB, template string) string {
	t.Helper()
	name := "iasql_test_" + random()
	ctx, cancel := context.WithTimeout(context.Background(), commandTimeout)
	defer cancel()
	// Copying files takes a third of the processor time that logging their blocks does (manual, CREATE DATABASE,
	// STRATEGY).
	if err := s.exec(ctx, "CREATE DATABASE "+name+" TEMPLATE "+template+" STRATEGY FILE_COPY"); err != nil {
		t.Fatalf("testdb: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), commandTimeout)
		defer cancel()
		if err := s.exec(ctx, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)"); err != nil {
			t.Errorf("testdb: %v", err)
		}
	})
	return withDatabase(s.url, name)
}

// Server returns a superuser's URL of the server's maintenance database, for
// tests of what concerns the whole server.
func Server(t testing.TB) string {
	t.Helper()
	return started(t).url
}

// current is what Setup registered: one server for the tests of one binary.
var current *server

func started(t testing.TB) *server {
	t.Helper()
	if current == nil {
		t.Fatal("testdb: not set up: call testdb.Main from TestMain")
	}
	if err := current.start(); err != nil {
		t.Fatalf("testdb: %v", err)
	}
	return current
}

type server struct {
	prepare func(ctx context.Context, adminURL string) error
	ways    []way

	once     sync.Once
	err      error  // why there is none
	url      string // of the maintenance database
	template string
	release  func(context.Context) error

	mu   sync.Mutex // one CREATE DATABASE at a time may read the template
	conn *pgx.Conn
}

// way is a way of getting a server. Its start fails with the reason why it does not work here.
type way struct {
	name  string
	must  bool // when it does not work, no other is tried
	start func(ctx context.Context) (adminURL string, release func(context.Context) error, err error)
}

func (s *server) start() error {
	s.once.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), setupTimeout)
		defer cancel()
		if s.err = s.startServer(ctx); s.err == nil {
			s.err = s.makeTemplate(ctx)
		}
	})
	return s.err
}

func (s *server) startServer(ctx context.Context) error {
	var reasons []string
	for _, way := range s.ways {
		url, release, err := way.start(ctx)
		if err != nil {
			if way.must {
				return fmt.Errorf("%s: %w", way.name, err)
			}
			reasons = append(reasons, fmt.Sprintf("%s: %s", way.name, oneLine(err)))
			continue
		}
		s.url, s.release = url, release
		if s.conn, err = pgx.Connect(ctx, url); err != nil {
			return fmt.Errorf("%s: %s", way.name, oneLine(err))
		}
		return nil
	}
	return fmt.Errorf("no way to get a PostgreSQL server: %s", strings.Join(reasons, "; "))
}

// makeTemplate creates and migrates the template. On a server that several test
// binaries share, one migrates at a time: migrations make roles, which all see.
func (s *server) makeTemplate(ctx context.Context) (err error) {
	const lock = 7_236_081_941 // any number that nobody else takes
	template := "iasql_template_" + random()
	if err := s.exec(ctx, "CREATE DATABASE "+template+" TEMPLATE template0"); err != nil {
		return err
	}
	s.template = template
	if s.prepare != nil {
		if err := s.exec(ctx, fmt.Sprintf("SELECT pg_advisory_lock(%d)", lock)); err != nil {
			return err
		}
		defer func() {
			err = errors.Join(err, s.exec(ctx, fmt.Sprintf("SELECT pg_advisory_unlock(%d)", lock)))
		}()
		if err := s.prepare(ctx, withDatabase(s.url, template)); err != nil {
			return fmt.Errorf("prepare the template database: %w", err)
		}
	}
	// From now on nobody, no autovacuum worker either, keeps a clone waiting.
	return s.exec(ctx, fmt.Sprintf("ALTER DATABASE %s WITH IS_TEMPLATE true ALLOW_CONNECTIONS false", template))
}

func (s *server) exec(ctx context.Context, sql string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn == nil {
		return fmt.Errorf("%s: the server is stopped", sql)
	}
	if _, err := s.conn.Exec(ctx, sql); err != nil {
		return fmt.Errorf("%s: %w", sql, err)
	}
	return nil
}

// stop drops the template and gives the server back. It does nothing when no
// test had asked for a database.
func (s *server) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	s.once.Do(func() { s.err = errors.New("the tests have ended") })
	var err error
	if s.template != "" {
		err = errors.Join(
			s.exec(ctx, "ALTER DATABASE "+s.template+" WITH IS_TEMPLATE false"),
			s.exec(ctx, "DROP DATABASE "+s.template+" WITH (FORCE)"))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn != nil {
		err = errors.Join(err, s.conn.Close(ctx))
		s.conn = nil
	}
	if s.release != nil {
		err = errors.Join(err, s.release(ctx))
		s.release = nil
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "testdb: %s\n", oneLine(err))
	}
}

func withDatabase(serverURL, name string) string {
	u, err := url.Parse(serverURL)
	if err != nil {
		panic(fmt.Sprintf("testdb: a URL that was connected to: %v", err))
	}
	u.Path = "/" + name
	return u.String()
}

// random is a name's part that no other test binary on the server has.
func random() string { return strings.ToLower(rand.Text()[:12]) }

// oneLine puts errors that list several addresses or causes on one line.
func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }
