package disasters

import (
	"context"
	"flag"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"iasql/internal/test/harness"
	"iasql/internal/test/testaws"
)

var everyVersion = flag.Bool("every-version", false, "do every test with each version of PostgreSQL")

func TestMain(m *testing.M) {
	if os.Getenv("IASQL_TEST_DISASTERS") == "" {
		fmt.Println("not run: servers that fail over and are restored take minutes and a quiet machine; make " +
			"test-disasters runs them")
		os.Exit(0)
	}
	// Clusters of earlier runs.
	left, _ := filepath.Glob(filepath.Join(os.TempDir(), clusterPrefix+"*"))
	for _, dir := range left {
		if st, err := os.Lstat(dir); err == nil && st.IsDir() && time.Since(st.ModTime()) > time.Hour {
			_ = os.RemoveAll(dir)
		}
	}
	harness.Main(m)
}

const clusterPrefix = "iasql-disasters"

// programs are those of one version of PostgreSQL.
type programs struct {
	bin   string
	major int
}

const newer = 17

// found lists the versions there are, oldest first: Debian's packages, and what scripts/postgres.sh has unpacked.
var found = sync.OnceValue(func() (all []programs) {
	dirs, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	for _, major := range []string{"17", "18"} {
		unpacked := os.Getenv("IASQL_POSTGRES" + major)
		if unpacked == "" {
			unpacked = "../../.cache/postgresql-" + major
		}
		dirs = append(dirs, filepath.Join(unpacked, "usr/lib/postgresql", major, "bin"))
	}
	if path, err := exec.LookPath("postgres"); err == nil {
		if path, err = filepath.EvalSymlinks(path); err == nil {
			dirs = append(dirs, filepath.Dir(path))
		}
	}
	for _, dir := range dirs {
		dir, err := filepath.Abs(dir)
		if err != nil {
			continue
		}
		out, err := exec.Command(filepath.Join(dir, "postgres"), "--version").Output()
		m := regexp.MustCompile(`\(PostgreSQL\) (\d+)`).FindSubmatch(out)
		if err != nil || m == nil {
			continue
		}
		major, _ := strconv.Atoi(string(m[1]))
		if major >= 15 && !slices.ContainsFunc(all, func(p programs) bool { return p.major == major }) {
			all = append(all, programs{dir, major})
		}
	}
	slices.SortFunc(all, func(a, b programs) int { return a.major - b.major })
	return all
})

// oldest returns the oldest version there is.
func oldest(t *testing.T) programs {
	t.Helper()
	if len(found()) == 0 {
		t.Fatal("there is no PostgreSQL 15 or newer: make deps installs one")
	}
	return found()[0]
}

// newest returns PostgreSQL 17.
func newest(t *testing.T) programs {
	t.Helper()
	i := slices.IndexFunc(found(), func(p programs) bool { return p.major == newer })
	if i < 0 {
		t.Skipf("there is no PostgreSQL %d: make test-disasters unpacks Debian's", newer)
	}
	return found()[i]
}

// each does a test with the oldest version, and where also is true, or all are asked for, with PostgreSQL 17.
func each(t *testing.T, also bool, test func(t *testing.T, pg programs)) {
	t.Parallel()
	first := oldest(t)
	t.Run(fmt.Sprintf("PostgreSQL%d", first.major), func(t *testing.T) {
		t.Parallel()
		test(t, first)
	})
	if first.major != newer && (also || *everyVersion) {
		t.Run(fmt.Sprintf("PostgreSQL%d", newer), func(t *testing.T) {
			t.Parallel()
			test(t, newest(t))
		})
	}
}

// server is a server of PostgreSQL, or what is left of one. It belongs to the user postgres where root runs the tests.
type server struct {
	*testing.T
	programs
	data string
	port int
	args []string // further arguments of postgres
	cmd  *exec.Cmd
	done chan struct{}
	log  *harness.Buffer
}

// asOwner is for programs that refuse to run as root.
var asOwner = sync.OnceValue(func() *syscall.SysProcAttr {
	if os.Geteuid() != 0 {
		return nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		if u, err := user.Lookup(name); err == nil {
			uid, _ := strconv.Atoi(u.Uid)
			gid, _ := strconv.Atoi(u.Gid)
			return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid),
				Gid: uint32(gid)}} // #nosec G115 -- ids of the system
		}
	}
	return nil
})

// own gives a path to the user that servers run as.
func own(t *testing.T, path string) {
	t.Helper()
	if attr := asOwner(); attr != nil {
		if err := os.Chown(path, int(attr.Credential.Uid), int(attr.Credential.Gid)); err != nil {
			t.Fatal(err)
		}
	}
}

// directory makes one that servers may write to.
func directory(t *testing.T, path ...string) string {
	t.Helper()
	dir := filepath.Join(path...)
	if len(path) == 0 {
		dir = harness.Temporary(t)
	} else if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	own(t, dir)
	return dir
}

// run runs a program of PostgreSQL, or another one, as the servers' owner.
func (p programs) run(t *testing.T, name string, args ...string) string {
	t.Helper()
	if p.bin != "" {
		name = filepath.Join(p.bin, name)
	}
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.SysProcAttr = "/", asOwner()
	cmd.Env = append(os.Environ(), "PGPASSWORD=secret", "LC_ALL=C", "HOME=/")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// clusters are migrated once for each version, and copied.
var (
	clustersLock sync.Mutex
	clusters     = map[int]string{}
)

// newServer starts a server on a copy of a cluster with a migrated database, below dir or in a place of its own.
func newServer(t *testing.T, pg programs, dir string, args ...string) *server {
	t.Helper()
	if dir == "" {
		dir = directory(t)
	}
	s := &server{T: t, programs: pg, data: filepath.Join(dir, "data"), args: args}
	pg.run0(t, "cp", "-a", migrated(t, pg), s.data)
	s.start()
	return s
}

func (p programs) run0(t *testing.T, name string, args ...string) {
	t.Helper()
	programs{}.run(t, name, args...)
}

// emptyCluster makes a cluster; more are further arguments of initdb.
func emptyCluster(t *testing.T, pg programs, data string, more ...string) {
	t.Helper()
	password := data + ".password"
	if err := os.WriteFile(password, []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	own(t, password)
	pg.run(t, "initdb", append([]string{"-D", data, "-U", "postgres", "--pwfile=" + password, "--auth=scram-sha-256",
		"--encoding=UTF8", "--locale=C.UTF-8", "--no-sync", "--no-instructions"}, more...)...)
}

// migrated returns a stopped cluster whose database this version's engine has migrated.
func migrated(t *testing.T, pg programs) string {
	t.Helper()
	clustersLock.Lock()
	defer clustersLock.Unlock()
	if data := clusters[pg.major]; data != "" {
		return data
	}
	dir, err := os.MkdirTemp("", clusterPrefix)
	if err != nil {
		t.Fatal(err)
	}
	own(t, dir)
	s := &server{T: t, programs: pg, data: filepath.Join(dir, "data")}
	emptyCluster(t, pg, s.data)
	s.start()
	s.exec("postgres", `CREATE DATABASE iasql`)
	migrate(t, harness.Engine(), s.url())
	s.exec("iasql", `GRANT CONNECT ON DATABASE iasql TO iasql_user, iasql_engine, iasql_reader`)
	s.stop()
	clusters[pg.major] = s.data
	return s.data
}

// migrate lets an engine migrate a database as its administrator.
func migrate(t *testing.T, engine, url string) {
	t.Helper()
	if out, err := exec.Command(engine, "migrate", "--database-url", url).CombinedOutput(); err != nil {
		t.Fatalf("migrate: %v\n%s", err, out)
	}
}

// start starts the server and waits until it answers; a standby answers too.
func (s *server) start() {
	s.Helper()
	if err := s.tryStart(); err != nil {
		s.Fatalf("PostgreSQL %d does not start: %v\n%s", s.major, err, s.log)
	}
}

func (s *server) tryStart() error {
	if s.port == 0 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		s.port = l.Addr().(*net.TCPAddr).Port
		_ = l.Close()
	}
	s.log = &harness.Buffer{}
	args := []string{"-D", s.data, "-c", "listen_addresses=127.0.0.1", "-c", "port=" + strconv.Itoa(s.port), "-c",
		"unix_socket_directories=", "-c", "timezone=UTC",
		"-c", "fsync=off", "-c", "max_connections=100", "-c", "max_worker_processes=8", "-c", "wal_keep_size=256MB"}
	for _, setting := range s.args {
		args = append(args, "-c", setting)
	}
	s.cmd, s.done = exec.Command(filepath.Join(s.bin, "postgres"), args...), make(chan struct{})
	s.cmd.Dir, s.cmd.Env = "/", append(os.Environ(), "LC_ALL=C", "HOME=/")
	s.cmd.Stdout, s.cmd.Stderr = s.log, s.log
	attr := &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGINT}
	if a := asOwner(); a != nil {
		attr.Credential = a.Credential
	}
	s.cmd.SysProcAttr = attr
	done, cmd, begun := s.done, s.cmd, make(chan error)
	go func() {
		// Told of our death the server ends: that is bound to the thread that started it.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		begun <- err
		if err == nil {
			_ = cmd.Wait()
			close(done)
		}
	}()
	if err := <-begun; err != nil {
		return err
	}
	s.Cleanup(s.stop)
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(30 * time.Millisecond) {
		conn, err := s.connect("postgres")
		if err == nil {
			return conn.Close(context.Background())
		}
		select {
		case <-s.done:
			return fmt.Errorf("it has ended")
		default:
		}
		if time.Now().After(deadline) {
			return err
		}
	}
}

func (s *server) signal(sig syscall.Signal) {
	select {
	case <-s.done:
		return
	default:
	}
	_ = syscall.Kill(s.cmd.Process.Pid, sig)
	<-s.done
}

// stop ends the server in order.
func (s *server) stop() { s.signal(syscall.SIGINT) }

// kill ends it as a power cut does. Its children notice by themselves.
func (s *server) kill() { s.signal(syscall.SIGKILL) }

func (s *server) database(name string) string {
	return fmt.Sprintf("postgres://postgres:secret@127.0.0.1:%d/%s?sslmode=disable", s.port, name)
}

// url is the superuser's of the database iasql.
func (s *server) url() string { return s.database("iasql") }

func (s *server) connect(database string) (*pgx.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return pgx.Connect(ctx, s.database(database))
}

// exec runs statements as the superuser, each by itself, and returns the last one's first column.
func (s *server) exec(database string, statements ...string) string {
	s.Helper()
	conn, err := s.connect(database)
	if err != nil {
		s.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	var last string
	for _, statement := range statements {
		rows, err := conn.Query(context.Background(), statement, pgx.QueryExecModeSimpleProtocol)
		if err != nil {
			s.Fatalf("%s: %v", statement, err)
		}
		for rows.Next() {
			last = string(rows.RawValues()[0])
		}
		rows.Close()
		if err := rows.Err(); err != nil {
			s.Fatalf("%s: %v", statement, err)
		}
	}
	return last
}

// until waits for the first column of a query's row.
func (s *server) until(want, query string) {
	s.Helper()
	var got string
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if got = s.exec("postgres", query); got == want {
			return
		}
	}
	s.Fatalf("%s stays %q, wanted %q", query, got, want)
}

// standby makes a standby of the server, and starts it.
func (s *server) standby(name string) *server {
	s.Helper()
	dir := directory(s.T)
	other := &server{T: s.T, programs: s.programs, data: filepath.Join(dir, "data"), args: s.args}
	s.run(s.T, "pg_basebackup", "-D", other.data, "-R", "-X", "stream", "-c", "fast", "-d",
		fmt.Sprintf("host=127.0.0.1 port=%d user=postgres password=secret application_name=%s", s.port, name))
	other.start()
	return other
}

// newWorld is the harness's, with a database on this server. more servers may take its place: URLs name them all.
func (s *server) newWorld() *harness.World {
	s.Helper()
	w := &harness.World{T: s.T, AdminURL: s.url(), AWS: testaws.NewAccount(s.T)}
	w.Endpoint = w.AWS.Endpoint
	w.UserURL = w.Login("user", "iasql_user")
	var err error
	if w.EngineURL, err = harness.EngineLogin(s.Context(), w.AdminURL); err != nil {
		s.Fatal(err)
	}
	return w
}

// withStandby has everybody know of both servers, as docs/operating.md says.
func withStandby(w *harness.World, primary, standby *server) {
	for _, u := range []*string{&w.AdminURL, &w.EngineURL, &w.UserURL} {
		one := fmt.Sprintf("127.0.0.1:%d", primary.port)
		*u = strings.Replace(*u, one, fmt.Sprintf("%s,127.0.0.1:%d", one, standby.port), 1) +
			"&target_session_attrs=read-write"
	}
}

// move has everybody use another server, where the same logins are.
func move(w *harness.World, to *server) {
	for _, u := range []*string{&w.AdminURL, &w.EngineURL, &w.UserURL} {
		parsed, err := url.Parse(*u)
		if err != nil {
			w.Fatal(err)
		}
		parsed.Host = fmt.Sprintf("127.0.0.1:%d", to.port)
		*u = parsed.String()
	}
}

// queues lists the names of the account's queues, in order, with those that are there twice.
func queues(w *harness.World) []string {
	w.Helper()
	var names []string
	urls, _ := w.CLI("sqs", "list-queues")["QueueUrls"].([]any)
	for _, u := range urls {
		names = append(names, u.(string)[strings.LastIndex(u.(string), "/")+1:])
	}
	slices.Sort(names)
	return names
}

// vpcs lists the address ranges of the account's VPCs, without the default one, in order.
func vpcs(w *harness.World) []string {
	w.Helper()
	var all []string
	list, _ := w.CLI("ec2", "describe-vpcs")["Vpcs"].([]any)
	for _, v := range list {
		vpc := v.(map[string]any)
		if vpc["IsDefault"] != true {
			all = append(all, vpc["CidrBlock"].(string))
		}
	}
	slices.Sort(all)
	return all
}

// delay returns the attribute DelaySeconds of a queue.
func delay(w *harness.World, name string) string {
	w.Helper()
	u := w.CLI("sqs", "get-queue-url", "--queue-name", name)["QueueUrl"].(string)
	return w.CLI("sqs", "get-queue-attributes", "--queue-url", u, "--attribute-names",
		"DelaySeconds")["Attributes"].(map[string]any)["DelaySeconds"].(string)
}

// equal fails the test unless the tables show what the account has: these queues and VPCs, and no other.
func equal(w *harness.World, wantQueues, wantVPCs []string) {
	w.Helper()
	slices.Sort(wantQueues)
	slices.Sort(wantVPCs)
	for _, c := range []struct {
		what            string
		want, cloud     []string
		inTables, query string
	}{
		{"queues", wantQueues, queues(w), "",
			`SELECT coalesce(string_agg(name, ' ' ORDER BY name COLLATE "C"), '') FROM queue`},
		{"VPCs", wantVPCs, vpcs(w), "",
			`SELECT coalesce(string_agg(cidr_block::text, ' ' ORDER BY cidr_block::text COLLATE "C"), '') FROM vpc WHERE is_default IS NOT TRUE`},
	} {
		want := strings.Join(c.want, " ")
		if got := strings.Join(c.cloud, " "); got != want {
			w.Errorf("%s in the cloud: %s\nwanted: %s", c.what, got, want)
		}
		if got := w.PSQL(c.query); got != want {
			w.Errorf("%s in the tables: %s\nwanted: %s", c.what, got, want)
		}
	}
}

// asked returns why the system asks whether what is pending is meant, "" if it does not.
func asked(w *harness.World) string {
	w.Helper()
	return w.Admin(`SELECT coalesce(restored_why, '') FROM iasql_internal.server_seen`)
}
