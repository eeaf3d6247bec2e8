// Package harness is what tests of the built binary stand on: they meet it as
// its users do, psql on one side, the aws command on the other, the engine as a
// process that can be killed.
//
//	func TestMain(m *testing.M) { harness.Main(m) }
//
//	func TestSomething(t *testing.T) {
//		t.Parallel()
//		w := harness.Start(t, []string{"us-east-1"}, "aws_vpc")
//		w.PSQL(`INSERT INTO vpc (cidr_block) VALUES ('10.0.0.0/16')`)
//		w.Settled()
//	}
package harness

import (
	"bytes"
	"context"
	"encoding/json"
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
	"github.com/jackc/pgx/v5/pgconn"

	"iasql/internal/test/faultproxy"
	"iasql/internal/test/stopwatch"
	"iasql/internal/test/testaws"
	"iasql/internal/test/testdb"
)

// engineBinary is built once by Main.
var engineBinary string

// Engine returns the path of the built binary.
func Engine() string { return engineBinary }

// Main runs a package's tests; call it from TestMain. IASQL_TEST_ENGINE names a
// built engine to test: this tree's, which make test builds once, another version, or
// one with the race detector in it. Without it each package builds this tree's.
func Main(m *testing.M) {
	dir, err := os.MkdirTemp("", "iasql-acceptance")
	if err != nil {
		panic(err)
	}
	engineBinary = os.Getenv("IASQL_TEST_ENGINE")
	if engineBinary == "" {
		engineBinary = filepath.Join(dir, "engine")
		build := exec.Command("go", "build", "-buildvcs=false", "-o", engineBinary, "iasql/cmd/engine")
		if out, err := build.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "build the engine: %v\n%s", err, out)
			os.Exit(1)
		}
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

// World is one database, one AWS account, and the engines between them.
type World struct {
	*testing.T
	AdminURL  string
	EngineURL string // the engines' login, a plain member of iasql_engine; made by Serve if empty
	UserURL   string // a plain member of iasql_user
	AWS       testaws.Account
	Endpoint  string   // where engines send AWS calls
	Args      []string // further arguments of "engine serve"
}

// NewWorld makes a world without an engine.
func NewWorld(t *testing.T) *World {
	t.Helper()
	w := &World{T: t, AdminURL: testdb.New(t), AWS: testaws.NewAccount(t)}
	w.Cleanup(func() { idle.end(context.Background(), w.AdminURL) })
	w.Endpoint = w.AWS.Endpoint
	w.UserURL = w.Login("user", "iasql_user")
	return w
}

// Login makes a login role that is a member of roles, and returns its URL.
// Roles belong to the cluster, so that each world has its own.
func (w *World) Login(name string, roles ...string) string {
	w.Helper()
	u, err := url.Parse(w.AdminURL)
	if err != nil {
		w.Fatal(err)
	}
	login := name + "_" + strings.TrimPrefix(strings.ReplaceAll(u.Path, "-", "_"), "/")
	w.Admin(fmt.Sprintf(`CREATE ROLE %s LOGIN PASSWORD 'secret'`, login))
	for _, role := range roles {
		w.Admin(fmt.Sprintf(`GRANT %s TO %s`, role, login))
	}
	w.Cleanup(func() {
		conn, err := pgx.Connect(context.Background(), w.AdminURL)
		if err == nil {
			_, _ = conn.Exec(context.Background(), `DROP OWNED BY `+login+`; DROP ROLE IF EXISTS `+login)
			_ = conn.Close(context.Background())
		}
	})
	u.User = url.UserPassword(login, "secret")
	return u.String()
}

// EngineLogin makes the engines' login of a server unless it is there, and returns
// its URL for the database of adminURL: a role without privileges of its own, as
// "engine migrate --admin-url" makes one. May be called by many at once.
func EngineLogin(ctx context.Context, adminURL string) (string, error) {
	u, err := url.Parse(adminURL)
	if err != nil {
		return "", err
	}
	conn, err := pgx.Connect(ctx, adminURL)
	if err != nil {
		return "", err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	for attempt := 0; ; attempt++ {
		_, err = conn.Exec(ctx, `
			DO $$
			BEGIN
				IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'iasql_test_engine') THEN
					CREATE ROLE iasql_test_engine LOGIN PASSWORD 'secret' IN ROLE iasql_engine;
				END IF;
			END
			$$`)
		// Others make it at the same moment; then it is there the next time.
		if err == nil || attempt == 10 {
			break
		}
	}
	if err != nil {
		return "", fmt.Errorf("make the engines' login: %w", err)
	}
	u.User = url.UserPassword("iasql_test_engine", "secret")
	return u.String(), nil
}

// Start makes a world with a running engine and the modules installed, in which
// only the named regions are looked at (the first is the default).
func Start(t *testing.T, regions []string, modules ...string) *World {
	t.Helper()
	w := NewWorld(t)
	w.Serve()
	w.Install(regions, modules...)
	return w
}

// StartBehindProxy does the same with a proxy before the emulator, whose faults the test
// sets.
func StartBehindProxy(t *testing.T, regions []string, modules ...string) (*World, *faultproxy.Proxy) {
	t.Helper()
	w := NewWorld(t)
	proxy := faultproxy.Start(t, w.AWS.Endpoint)
	w.Endpoint = proxy.URL
	w.Serve()
	w.Install(regions, modules...)
	return w, proxy
}

// Install installs modules, for only some regions: the emulator has a default
// VPC with subnets in each of its 24 regions.
func (w *World) Install(regions []string, modules ...string) {
	w.Helper()
	w.PSQL(`SELECT * FROM iasql_install('aws_account')`)
	w.PSQL(fmt.Sprintf(`UPDATE aws_regions SET is_enabled = region = ANY ('{%s}')`, strings.Join(regions, ",")))
	if len(modules) > 0 {
		w.PSQL(fmt.Sprintf(`SELECT * FROM iasql_install('%s')`, strings.Join(modules, "','")))
	}
}

// Process is a running engine.
type Process struct {
	cmd  *exec.Cmd
	log  *Buffer
	done chan struct{}
}

// Buffer collects what a process says while others read it.
type Buffer struct {
	lock sync.Mutex
	buf  bytes.Buffer
}

// Write implements io.Writer.
func (b *Buffer) Write(p []byte) (int, error) {
	b.lock.Lock()
	defer b.lock.Unlock()
	return b.buf.Write(p)
}

// String returns all that was written.
func (b *Buffer) String() string {
	b.lock.Lock()
	defer b.lock.Unlock()
	return b.buf.String()
}

// Serve starts an engine and returns when it is connected.
func (w *World) Serve() *Process {
	w.Helper()
	if w.EngineURL == "" {
		var err error
		if w.EngineURL, err = EngineLogin(w.Context(), w.AdminURL); err != nil {
			w.Fatal(err)
		}
	}
	before := w.engines()
	p := &Process{cmd: exec.Command(engineBinary, append([]string{"serve", "--no-migrate"}, w.Args...)...),
		log: &Buffer{}, done: make(chan struct{})}
	p.cmd.Env = slices.DeleteFunc(os.Environ(), func(kv string) bool { return strings.HasPrefix(kv, "AWS_") })
	p.cmd.Env = append(p.cmd.Env, w.AWS.Env()...)
	p.cmd.Env = append(p.cmd.Env, "DATABASE_URL="+w.EngineURL, "AWS_ENDPOINT_URL="+w.Endpoint)
	p.cmd.Stdout, p.cmd.Stderr = p.log, p.log
	if err := p.cmd.Start(); err != nil {
		w.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait()
		close(p.done)
	}()
	w.Cleanup(func() {
		p.Stop()
		if w.Failed() {
			w.Logf("engine said:\n%s", p.log)
		}
	})
	// One that has just been killed may still be counted, so what tells is another name.
	w.Eventually(20*time.Second, "an engine connects", func() bool {
		return slices.ContainsFunc(w.engines(), func(name string) bool { return !slices.Contains(before, name) })
	})
	return p
}

// Connected returns how many engines are connected.
func (w *World) Connected() int { return len(w.engines()) }

// engines returns the names of the engines that are connected, one for each connection.
func (w *World) engines() []string {
	return strings.Fields(w.Admin(`SELECT engine FROM public.iasql_engines()`))
}

// Stop asks the engine to end and waits until it has.
func (p *Process) Stop() {
	_ = p.cmd.Process.Signal(os.Interrupt)
	select {
	case <-p.done:
	case <-time.After(30 * time.Second):
		p.Kill()
	}
}

// Kill ends the engine without a warning.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill()
	<-p.done
}

// PSQL runs statements as the plain user and returns what they print, columns
// separated by |.
func (w *World) PSQL(statements ...string) string {
	w.Helper()
	out, err := w.TryPSQL(w.UserURL, statements...)
	if err != nil {
		w.Fatalf("%s: %v", strings.Join(statements, "; "), err)
	}
	return out
}

// Joined runs statements as the plain user, in the open batch called test.
func (w *World) Joined(statements ...string) string {
	w.Helper()
	return strings.TrimPrefix(strings.TrimPrefix(w.PSQL(append([]string{join}, statements...)...), "CALL"), "\n")
}

// JoinedRefused runs statements in the open batch called test that must fail, and
// returns what psql says.
func (w *World) JoinedRefused(statements ...string) string {
	w.Helper()
	return w.Refused(append([]string{join}, statements...)...)
}

const join = `CALL iasql_join('test')`

// Admin runs statements as the superuser.
func (w *World) Admin(statements ...string) string {
	w.Helper()
	out, err := w.TryPSQL(w.AdminURL, statements...)
	if err != nil {
		w.Fatalf("%s: %v", strings.Join(statements, "; "), err)
	}
	return out
}

// Refused runs statements that must fail and returns what psql says.
func (w *World) Refused(statements ...string) string {
	w.Helper()
	out, err := w.TryPSQL(w.UserURL, statements...)
	if err == nil {
		w.Fatalf("%s: was not refused: %s", strings.Join(statements, "; "), out)
	}
	return err.Error()
}

// CLI runs the aws command in the world's account and decodes its answer.
func (w *World) CLI(args ...string) map[string]any {
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

// Eventually polls until ok, and fails the test after the time, in which what others wait
// for a processor does not count (package stopwatch). It polls less and less often, so that
// tests which wait leave the processors to what they wait for.
func (w *World) Eventually(within time.Duration, what string, ok func() bool) {
	w.Helper()
	begun := stopwatch.Start()
	for pause := 20 * time.Millisecond; !ok(); pause = min(pause*5/4, 200*time.Millisecond) {
		if begun.Took() > within {
			w.Fatalf("not within %s: %s\nstatus:\n%s", within, what,
				w.PSQL(`SELECT table_name, record_id, state, message FROM public.iasql_status WHERE state <> 'Present'`))
		}
		select {
		case <-w.Context().Done():
			w.Fatal(w.Context().Err())
		case <-time.After(pause):
		}
	}
}

// Becomes polls until a query of the user's prints want.
func (w *World) Becomes(within time.Duration, want, query string) {
	w.Helper()
	w.Eventually(within, query+" becomes "+want, func() bool {
		if got, err := w.TryPSQL(w.UserURL, query); err == nil {
			return got == want
		}
		return w.PSQL(query) == want // cut off, or refused: psql says which
	})
}

// patience is how long a test waits for what has to come. It is no promise of the
// engine's: machines that test are busy.
const patience = time.Minute

// Settled waits until nothing is pending.
func (w *World) Settled() {
	w.Helper()
	w.Becomes(patience, "0", `SELECT count(*) FROM iasql_audit_log WHERE NOT settled`)
	w.Becomes(patience, "", `SELECT * FROM iasql_status WHERE state <> 'Present'`)
}

// Warnings runs a statement as a user, and returns the warnings that it raised.
func (w *World) Warnings(statement string) string {
	w.Helper()
	config, err := pgx.ParseConfig(w.UserURL)
	if err != nil {
		w.Fatal(err)
	}
	var said []string
	config.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) {
		if n.Severity == "WARNING" {
			said = append(said, n.Message)
		}
	}
	conn, err := pgx.ConnectConfig(w.Context(), config)
	if err != nil {
		w.Fatal(err)
	}
	defer conn.Close(context.Background())
	if _, err := conn.Exec(w.Context(), statement); err != nil {
		w.Fatal(err)
	}
	return strings.Join(said, "\n")
}

// Log returns what the engine has said so far.
func (p *Process) Log() string { return p.log.String() }

// PID returns the id of the engine's process.
func (p *Process) PID() int { return p.cmd.Process.Pid }
