// Package acceptance tests the built binary from the outside, as its users
// meet it: psql on one side, the aws command on the other, the engine as a
// process that can be killed.
package acceptance

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"iasql/internal/testaws"
	"iasql/internal/testdb"
)

// engineBinary is built once by TestMain.
var engineBinary string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "iasql-acceptance")
	if err != nil {
		panic(err)
	}
	engineBinary = filepath.Join(dir, "engine")
	build := exec.Command("go", "build", "-buildvcs=false", "-o", engineBinary, "iasql/cmd/engine")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build the engine: %v\n%s", err, out)
		os.Exit(1)
	}
	testdb.Main(m, migrate, testaws.Setup, func() func() { return func() { os.RemoveAll(dir) } })
}

func migrate(ctx context.Context, url string) error {
	out, err := exec.CommandContext(ctx, engineBinary, "migrate", "--database-url", url).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

// world is one database, one AWS account, and the engines between them.
type world struct {
	*testing.T
	AdminURL string
	UserURL  string // a plain member of iasql_user
	AWS      testaws.Account
	Endpoint string // where engines send AWS calls
}

// newWorld makes a world without an engine.
func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{T: t, AdminURL: testdb.New(t), AWS: testaws.NewAccount(t)}
	w.Endpoint = w.AWS.Endpoint
	// Roles belong to the cluster, so each test has its own login.
	u, err := url.Parse(w.AdminURL)
	if err != nil {
		t.Fatal(err)
	}
	login := "user_" + strings.TrimPrefix(strings.ReplaceAll(u.Path, "-", "_"), "/")
	w.admin(fmt.Sprintf(`CREATE ROLE %[1]s LOGIN PASSWORD 'secret'; GRANT iasql_user TO %[1]s`, login))
	t.Cleanup(func() {
		conn, err := pgx.Connect(context.Background(), testdb.Server(t))
		if err == nil {
			_, _ = conn.Exec(context.Background(), `DROP ROLE IF EXISTS `+login) // it may own objects of the dropped database
			_ = conn.Close(context.Background())
		}
	})
	u.User = url.UserPassword(login, "secret")
	w.UserURL = u.String()
	return w
}

// start makes a world with a running engine and the modules installed, in which
// only the named regions are looked at (the first is the default).
func start(t *testing.T, regions []string, modules ...string) *world {
	t.Helper()
	w := newWorld(t)
	w.serve()
	w.install(regions, modules...)
	return w
}

// install installs modules, for only some regions: the emulator has a default
// VPC with subnets in each of its 24 regions.
func (w *world) install(regions []string, modules ...string) {
	w.Helper()
	w.psql(`SELECT * FROM iasql_install('aws_account')`)
	w.psql(fmt.Sprintf(`UPDATE aws_regions SET is_enabled = region = ANY ('{%s}')`, strings.Join(regions, ",")))
	if len(modules) > 0 {
		w.psql(fmt.Sprintf(`SELECT * FROM iasql_install('%s')`, strings.Join(modules, "','")))
	}
}

// process is a running engine.
type process struct {
	cmd  *exec.Cmd
	log  *lockedBuffer
	done chan struct{}
}

type lockedBuffer struct {
	lock sync.Mutex
	buf  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.lock.Lock()
	defer b.lock.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.lock.Lock()
	defer b.lock.Unlock()
	return b.buf.String()
}

// serve starts an engine and returns when it is connected.
func (w *world) serve() *process {
	w.Helper()
	before := w.connected()
	p := &process{cmd: exec.Command(engineBinary, "serve", "--no-migrate"), log: &lockedBuffer{}, done: make(chan struct{})}
	p.cmd.Env = slices.DeleteFunc(os.Environ(), func(kv string) bool { return strings.HasPrefix(kv, "AWS_") })
	p.cmd.Env = append(p.cmd.Env, w.AWS.Env()...)
	p.cmd.Env = append(p.cmd.Env, "DATABASE_URL="+w.AdminURL, "AWS_ENDPOINT_URL="+w.Endpoint)
	p.cmd.Stdout, p.cmd.Stderr = p.log, p.log
	if err := p.cmd.Start(); err != nil {
		w.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait()
		close(p.done)
	}()
	w.Cleanup(func() {
		p.stop()
		if w.Failed() {
			w.Logf("engine said:\n%s", p.log)
		}
	})
	w.eventually(20*time.Second, "an engine connects", func() bool { return w.connected() > before })
	return p
}

func (w *world) connected() int {
	return len(strings.Fields(w.admin(`SELECT engine FROM iasql_engines()`)))
}

// stop asks the engine to end and waits until it has.
func (p *process) stop() {
	_ = p.cmd.Process.Signal(os.Interrupt)
	select {
	case <-p.done:
	case <-time.After(30 * time.Second):
		p.kill()
	}
}

// kill ends the engine without a warning.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.done
}

// psql runs statements as the plain user and returns what they print, columns
// separated by |.
func (w *world) psql(statements ...string) string {
	w.Helper()
	out, err := w.tryPSQL(w.UserURL, statements...)
	if err != nil {
		w.Fatalf("%s: %v", strings.Join(statements, "; "), err)
	}
	return out
}

// admin runs statements as the superuser.
func (w *world) admin(statements ...string) string {
	w.Helper()
	out, err := w.tryPSQL(w.AdminURL, statements...)
	if err != nil {
		w.Fatalf("%s: %v", strings.Join(statements, "; "), err)
	}
	return out
}

// refused runs statements that must fail and returns what psql says.
func (w *world) refused(statements ...string) string {
	w.Helper()
	out, err := w.tryPSQL(w.UserURL, statements...)
	if err == nil {
		w.Fatalf("%s: was not refused: %s", strings.Join(statements, "; "), out)
	}
	return err.Error()
}

// tryPSQL runs each statement by its own, as typed line by line.
func (w *world) tryPSQL(url string, statements ...string) (string, error) {
	args := []string{"-X", "-At", "-v", "ON_ERROR_STOP=1", "-v", "VERBOSITY=verbose", url}
	for _, s := range statements {
		args = append(args, "-c", s)
	}
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(w.Context(), "psql", args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return stdout.String(), errors.New(strings.TrimSpace(stderr.String()))
	}
	return strings.TrimSpace(stdout.String()), nil
}

// aws runs the aws command in the world's account and decodes its answer.
func (w *world) aws(args ...string) map[string]any {
	w.Helper()
	out := w.AWS.CLI(w.T, args...)
	var answer map[string]any
	if strings.TrimSpace(out) == "" {
		return nil
	}
	if err := json.Unmarshal([]byte(out), &answer); err != nil {
		w.Fatalf("aws %s: %v: %s", strings.Join(args, " "), err, out)
	}
	return answer
}

// eventually polls until ok, and fails the test after the time.
func (w *world) eventually(within time.Duration, what string, ok func() bool) {
	w.Helper()
	deadline := time.Now().Add(within)
	for !ok() {
		if time.Now().After(deadline) {
			w.Fatalf("not within %s: %s\nstatus:\n%s", within, what, w.psql(`SELECT table_name, record_id, state, message FROM iasql_status WHERE state <> 'Present'`))
		}
		select {
		case <-w.Context().Done():
			w.Fatal(w.Context().Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// becomes polls until a query of the user's prints want.
func (w *world) becomes(within time.Duration, want, query string) {
	w.Helper()
	var got string
	w.eventually(within, query+" becomes "+want, func() bool {
		got = w.psql(query)
		return got == want
	})
}

// settled waits until nothing is pending.
func (w *world) settled() {
	w.Helper()
	w.Helper()
	w.becomes(20*time.Second, "0", `SELECT count(*) FROM iasql_audit_log WHERE NOT settled`)
	w.becomes(20*time.Second, "", `SELECT * FROM iasql_status WHERE state <> 'Present'`)
}
