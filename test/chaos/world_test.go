package chaos

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"iasql/internal/devenv"
	"iasql/internal/test/cloudcontrol"
	"iasql/internal/test/faultproxy"
	"iasql/internal/test/harness"
	"iasql/internal/test/likeness"
	"iasql/internal/test/testaws"
)

// world is the cluster, the account and the engines.
type world struct {
	t         *testing.T
	dir       string // of the cluster
	port      int
	postgres  *devenv.Postgres
	adminURL  string
	engineURL string // the engines' login
	admin     *pgxpool.Pool
	users     *pgxpool.Pool
	account   testaws.Account
	engines   []*engine
	weather   *weather
	things    *cloudcontrol.Server
	began     time.Time // faults and edits

	disk     *harness.Disk  // the cluster's, if it can be full
	clock    *harness.Clock // the cluster's, if it can jump
	quiesce  sync.Mutex     // held while the database and its connections must stay up
	restarts atomic.Int64
	fills    atomic.Int64
	jumps    atomic.Int64
	cuts     atomic.Int64
	edits    atomic.Int64
	closed   closed // batches

	queue     string // of events
	trail     *likeness.Trail
	outside   testaws.Account // the account, as the outsider has it
	forgeries atomic.Int64
}

// engine is a place where an engine process is kept running.
type engine struct {
	w      *world
	name   string
	binary string
	proxy  *faultproxy.Proxy
	log    *harness.Buffer

	lock sync.Mutex
	cmd  *exec.Cmd
	done chan struct{}
}

// newWorld starts everything, with two engines of different versions.
func newWorld(t *testing.T) *world {
	dir := harness.Temporary(t)
	w := &world{t: t, dir: filepath.Join(dir, "cluster"), account: testaws.NewAccount(t), weather: newWeather(*seed),
		closed: closed{counts: map[string]int{}, said: map[string]int{}}}
	w.weather.lull = w.lull
	var err error
	if w.clock, err = harness.NewClock(t); err != nil {
		t.Logf("left out: the clock does not jump: %v", err)
	}
	if w.disk, err = harness.NewDisk(t, "2g"); err != nil {
		t.Logf("left out: the disk does not fill: %v", err)
	} else {
		w.dir = w.disk.Cluster(t)
	}
	w.startPostgres()
	if w.postgres == nil {
		t.FailNow()
	}
	t.Cleanup(func() { _ = w.postgres.Stop(context.Background()) })
	w.adminURL = w.postgres.AdminURL()
	if out, err := exec.Command(harness.Engine(), "migrate", "--database-url", w.adminURL).CombinedOutput(); err != nil {
		t.Fatalf("migrate: %v\n%s", err, out)
	}
	if w.engineURL, err = harness.EngineLogin(t.Context(), w.adminURL); err != nil {
		t.Fatal(err)
	}
	upstream := w.account.Endpoint
	if *factor > 0 {
		upstream = likeness.Start(t, upstream, likeness.AWS(upstream, *factor)...).URL
	}
	w.things, upstream = startThings(t, upstream)
	w.admin, w.users = w.pool(w.adminURL), w.pool(w.postgres.UserURL())
	w.must(`GRANT iasql_user TO iasql`)
	other := filepath.Join(dir, "engine")
	if out, err := exec.Command("go", "build", "-buildvcs=false", "-ldflags", "-X main.version=next", "-o", other,
		"iasql/cmd/engine").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	for i, binary := range []string{harness.Engine(), other} {
		e := &engine{w: w, name: fmt.Sprintf("chaos-%d", i), binary: binary, proxy: faultproxy.Start(t, upstream),
			log: &harness.Buffer{}}
		e.proxy.Set(func(c faultproxy.Call) faultproxy.Fault { return w.weather.fault(e, c) })
		w.engines = append(w.engines, e)
		t.Cleanup(e.kill)
		t.Cleanup(func() {
			if t.Failed() {
				text := e.log.String()
				t.Logf("%s said at last:\n%s", e.name, text[max(0, len(text)-20000):])
			}
		})
		e.ensure()
	}
	w.allConnect()
	w.must(fmt.Sprintf(`UPDATE iasql_settings SET value = '%d seconds' WHERE name = 'consistency_window'`,
		window()/time.Second),
		`SELECT * FROM iasql_install('aws_account')`,
		`UPDATE aws_regions SET is_enabled = region = 'us-east-1'`,
		`SELECT * FROM iasql_install('aws_vpc', 'aws_security_group', 'aws_sqs', 'aws_dynamo')`,
		`SELECT * FROM iasql_install('Example::Chaos')`,
		`UPDATE iasql_settings SET value = CASE name
			WHEN 'sync_interval' THEN '3 seconds'
			WHEN 'max_staleness' THEN '10 seconds'
			WHEN 'max_deletes' THEN '10000' WHEN 'max_delete_ratio' THEN '1' ELSE value END`,
		notes, points)
	w.watch()
	return w
}

// window is the consistency window.
func window() time.Duration {
	if *factor > 0 {
		return max(5*time.Second, likeness.Window(*factor))
	}
	return 5 * time.Second
}

func (w *world) pool(url string) *pgxpool.Pool {
	pool, err := pgxpool.New(context.Background(), url)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(pool.Close)
	return pool
}

// must runs statements as the superuser while all is well.
func (w *world) must(statements ...string) {
	w.t.Helper()
	for _, s := range statements {
		if _, err := w.admin.Exec(context.Background(), s); err != nil {
			w.t.Fatalf("%.200s: %v", s, err)
		}
	}
}

// ensure starts the engine unless it runs.
func (e *engine) ensure() {
	e.lock.Lock()
	defer e.lock.Unlock()
	if e.cmd != nil {
		select {
		case <-e.done:
		default:
			return
		}
	}
	u, err := url.Parse(e.w.engineURL)
	if err != nil {
		e.w.t.Error(err)
		return
	}
	q := u.Query()
	q.Set("application_name", e.name)
	u.RawQuery = q.Encode()
	cmd := exec.Command(e.binary, "serve", "--no-migrate")
	cmd.Env = slices.DeleteFunc(os.Environ(), func(kv string) bool { return strings.HasPrefix(kv, "AWS_") })
	cmd.Env = append(cmd.Env, e.w.account.Env()...)
	cmd.Env = append(cmd.Env, "DATABASE_URL="+u.String(), "AWS_ENDPOINT_URL="+e.proxy.URL)
	cmd.Stdout, cmd.Stderr = e.log, e.log
	if err := cmd.Start(); err != nil {
		e.w.t.Error(err)
		return
	}
	done := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(done)
	}()
	e.cmd, e.done = cmd, done
}

// kill ends the engine with SIGKILL.
func (e *engine) kill() {
	e.lock.Lock()
	defer e.lock.Unlock()
	if e.cmd == nil {
		return
	}
	_ = e.cmd.Process.Kill()
	<-e.done
}

// allConnect waits until every engine is connected.
func (w *world) allConnect() {
	w.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); w.connected() < len(w.engines); {
		if time.Now().After(deadline) {
			w.t.Fatalf("not all engines connect: %s", w.list(`SELECT e::text FROM iasql_engines() e`))
		}
		for _, e := range w.engines {
			e.ensure()
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// connected returns how many engines are connected, 0 while the database is away.
func (w *world) connected() int {
	var n int
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if err := w.admin.QueryRow(ctx, `SELECT count(*) FROM iasql_engines()`).Scan(&n); err != nil {
		return 0
	}
	return n
}
