// Package hosts checks that hosts are tables: files of a directory of this machine, and of one that is reached by a
// real SSH server.
package hosts

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"iasql/internal/engine"
	"iasql/internal/hosts"
	"iasql/internal/hosts/runner"
	"iasql/internal/hosts/watch"
	"iasql/internal/modules"
	"iasql/internal/modules/host"
	"iasql/internal/modules/hostcontainers"
	"iasql/internal/modules/hostfacts"
	"iasql/internal/modules/hostfiles"
	"iasql/internal/modules/hostnetwork"
	"iasql/internal/modules/hostpackages"
	"iasql/internal/modules/hostsystem"
	"iasql/internal/modules/hostunits"
	"iasql/internal/modules/hostusers"
	"iasql/internal/platform"
	"iasql/internal/test/harness"
	"iasql/internal/test/testdb"
)

func TestMain(m *testing.M) {
	testdb.Main(m, func(ctx context.Context, url string) error {
		registry, err := registry(hosts.New(hosts.Options{}))
		if err != nil {
			return err
		}
		return platform.Migrate(ctx, url, registry, "test")
	})
}

func registry(h *hosts.Hosts) (*modules.Registry, error) {
	return modules.NewRegistry(host.Module(), hostfiles.Module(h), hostnetwork.Module(h), hostpackages.Module(h),
		hostusers.Module(h), hostfacts.Module(h), hostunits.Module(h), hostsystem.Module(h), hostcontainers.Module(h))
}

// built is the runner, built once.
var built = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "runner")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	command := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-gcflags=all=-l", "-o",
		dir+"/runner", "iasql/cmd/runner")
	command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=")
	if out, err := command.CombinedOutput(); err != nil {
		return nil, errors.New(string(out))
	}
	return os.ReadFile(dir + "/runner")
})

// world is a database, an engine, and a directory.
type world struct {
	*harness.World
	root       string
	begin, end func() // start an engine, and end it
	said       *harness.Buffer
	agent      string // the socket of the engine's SSH agent
	sshConfig  string // the engine's configuration of OpenSSH
	watched    bool   // the engine watches hosts
	sources    hosts.Sources
	// runner is what the engine puts on hosts; nil: the real one.
	runner func(arch string) ([]byte, error)
}

// start starts an engine that may use the directory, and others.
func start(t *testing.T, others ...string) *world {
	t.Helper()
	return startAs(t, &world{}, others...)
}

// startAs starts an engine as a world says.
func startAs(t *testing.T, w *world, others ...string) *world {
	t.Helper()
	w.World, w.root = &harness.World{T: t, AdminURL: testdb.New(t)}, t.TempDir()
	w.UserURL = w.Login("user", "iasql_user")
	w.engine(others...)
	w.Admin(`UPDATE iasql_settings SET value = '100 milliseconds' WHERE name = 'consistency_window'`,
		`UPDATE iasql_settings SET value = '1' WHERE name = 'max_delete_ratio'`)
	w.PSQL(`SELECT * FROM iasql_install(VARIADIC ARRAY(SELECT module_name FROM iasql_modules_list() WHERE module_name <> 'host'))`)
	return w
}

// engine starts an engine, which ends with the test at the latest.
func (w *world) engine(others ...string) {
	t := w.T
	t.Helper()
	login, err := harness.EngineLogin(t.Context(), w.AdminURL)
	if err != nil {
		t.Fatal(err)
	}
	said := &harness.Buffer{}
	w.said = said
	log := slog.New(slog.NewTextHandler(said, &slog.HandlerOptions{Level: slog.LevelDebug}))
	runs := w.runner
	if runs == nil {
		runs = func(string) ([]byte, error) { return built() }
	}
	w.begin = func() {
		var machines *hosts.Hosts
		ctx, cancel := context.WithCancel(context.Background())
		e, err := engine.Start(ctx, engine.Options{DatabaseURL: login, Version: "test", Log: log,
			Registry: func(pool *pgxpool.Pool) (*modules.Registry, error) {
				machines = hosts.New(hosts.Options{Load: host.Load(pool), Recovery: hostcontainers.LoadRecovery(pool), Secrets: hostfiles.SecretContents(pool), AgentSocket: w.agent, SSHConfig: w.sshConfig, Roots: append(others, w.root, "/"), Sources: w.sources,
					Runner: runs})
				return registry(machines)
			},
			Watch: func(pool *pgxpool.Pool, _ *modules.Registry, id string, log *slog.Logger) []engine.Watcher {
				if !w.watched {
					return nil
				}
				return []engine.Watcher{&watch.Watch{Hosts: machines, Pool: pool, Engine: id, Log: log}}
			},
			Worlds: func() modules.Worlds { return modules.Worlds{hosts.Provider: machines} }})
		if err != nil {
			cancel()
			t.Fatal(err)
		}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			e.Wait(ctx)
		}()
		w.end = sync.OnceFunc(func() {
			cancel()
			<-ended
			machines.Close()
		})
	}
	w.begin()
	t.Cleanup(func() {
		w.end()
		if t.Failed() {
			t.Logf("engine said:\n%s", said)
		}
	})
}

// local starts an engine, and manages the directory.
func local(t *testing.T) *world {
	t.Helper()
	w := start(t)
	w.PSQL(`INSERT INTO host (name, host_root) VALUES ('here', '`+w.root+`')`,
		`INSERT INTO host_scope (account, pattern) VALUES ('here', '/etc/**')`)
	w.mkdir("etc")
	w.sync()
	return w
}

func (w *world) sync() { w.Helper(); w.PSQL(`SELECT iasql_sync_now()`) }

// distrust waits until a read that shows what was before the engine's own write is believed (R13).
func (w *world) distrust() { time.Sleep(300 * time.Millisecond) }

func (w *world) mkdir(path string) {
	w.Helper()
	if err := os.MkdirAll(filepath.Join(w.root, path), 0o755); err != nil {
		w.Fatal(err)
	}
}

// write writes a file as somebody else does.
func (w *world) write(path, content string) {
	w.Helper()
	at := filepath.Join(w.root, path)
	if err := os.WriteFile(at+".new", []byte(content), 0o644); err != nil {
		w.Fatal(err)
	}
	if err := os.Rename(at+".new", at); err != nil {
		w.Fatal(err)
	}
}

// has compares a file's content; "-" for none.
func (w *world) has(path, want string) {
	w.Helper()
	got, err := os.ReadFile(filepath.Join(w.root, path))
	if errors.Is(err, fs.ErrNotExist) {
		got = []byte("-")
	} else if err != nil {
		w.Fatal(err)
	}
	if string(got) != want {
		w.Errorf("%s is %.200q, not %.200q", path, got, want)
	}
}

func (w *world) row(want, query string) {
	w.Helper()
	if got := w.PSQL(query); got != want {
		w.Errorf("%s: got %q, want %q", query, got, want)
	}
}

func (w *world) refused(want, statement string) {
	w.Helper()
	if got := w.Refused(statement); !strings.Contains(got, want) {
		w.Errorf("%s: it says %s", statement, got)
	}
}

// do does something as somebody else.
func (w *world) do(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// TestConformance takes host_file through its life, step by step, from both sides. Every step is followed by a full
// cycle that has nothing left to do.
func TestConformance(t *testing.T) {
	t.Parallel()
	w := local(t)
	at := func(path string) string { return filepath.Join(w.root, path) }
	state := func() string {
		return w.PSQL(`SELECT string_agg(concat_ws('|', path, kind, content, target, mode), ' ' ORDER BY path COLLATE "C") FROM host_file`)
	}
	quiet := func(want string) {
		t.Helper()
		w.Settled()
		w.sync()
		if got := state(); got != want {
			t.Errorf("there is %s\nwant     %s", got, want)
		}
		w.row("", `SELECT table_name, state, message FROM iasql_status WHERE state <> 'Present'`)
		before := w.PSQL(`SELECT count(*) FROM iasql_operations`)
		w.sync()
		w.row(before, `SELECT count(*) FROM iasql_operations`)
		w.row("0", `SELECT count(*) FROM iasql_audit_log WHERE NOT settled`)
	}
	// Created by SQL, of each kind.
	w.PSQL(`INSERT INTO host_file (account, path, kind) VALUES ('here', '/etc/d', 'directory')`,
		`INSERT INTO host_file (account, path, content, mode) VALUES ('here', '/etc/f', E'one\n', '0640')`,
		`INSERT INTO host_file (account, path) VALUES ('here', '/etc/empty')`,
		`INSERT INTO host_file (account, path, kind, target) VALUES ('here', '/etc/l', 'link', 'f')`)
	quiet("/etc/d|directory|0755 /etc/empty|file||0644 /etc/f|file|one\n|0640 /etc/l|link|f")
	w.has("etc/f", "one\n")
	// Created by others.
	w.write("etc/theirs", "2")
	w.do(os.Symlink("theirs", at("etc/m")))
	w.mkdir("etc/e")
	quiet("/etc/d|directory|0755 /etc/e|directory|0755 /etc/empty|file||0644 /etc/f|file|one\n|0640 /etc/l|link|f " +
		"/etc/m|link|theirs /etc/theirs|file|2|0644")
	// Each column changed by SQL.
	w.PSQL(`UPDATE host_file SET content = 'three' WHERE path = '/etc/theirs'`, `UPDATE host_file SET mode = '0600' WHERE path = '/etc/theirs'`,
		`UPDATE host_file SET target = 'other' WHERE path = '/etc/m'`, `UPDATE host_file SET mode = '0700' WHERE path = '/etc/d'`)
	quiet("/etc/d|directory|0700 /etc/e|directory|0755 /etc/empty|file||0644 /etc/f|file|one\n|0640 /etc/l|link|f " +
		"/etc/m|link|other /etc/theirs|file|three|0600")
	w.has("etc/theirs", "three")
	// Each by others.
	w.distrust()
	w.write("etc/f", "four")
	w.do(os.Chmod(at("etc/f"), 0o604))
	w.do(os.Remove(at("etc/m")))
	w.do(os.Symlink("again", at("etc/m")))
	w.do(os.Chmod(at("etc/e"), 0o711))
	quiet("/etc/d|directory|0700 /etc/e|directory|0711 /etc/empty|file||0644 /etc/f|file|four|0604 /etc/l|link|f " +
		"/etc/m|link|again /etc/theirs|file|three|0600")
	// Owner and group, which only root may give away.
	if os.Getuid() == 0 {
		w.PSQL(`UPDATE host_file SET owner = '4711', grp = '4712' WHERE path IN ('/etc/f', '/etc/l', '/etc/d')`)
		w.Settled()
		w.row("4711|4712", `SELECT DISTINCT owner, grp FROM host_file WHERE path IN ('/etc/f', '/etc/l', '/etc/d')`)
		w.distrust()
		w.do(os.Lchown(at("etc/l"), 0, 0))
		w.do(os.Chown(at("etc/f"), 0, 0))
		w.do(os.Chown(at("etc/d"), 0, 0))
		w.sync()
		w.row("0|0", `SELECT DISTINCT owner, grp FROM host_file`)
	}
	// Replaced: by another path, and by another kind.
	w.PSQL(`UPDATE host_file SET path = '/etc/moved' WHERE path = '/etc/f'`)
	quiet("/etc/d|directory|0700 /etc/e|directory|0711 /etc/empty|file||0644 /etc/l|link|f /etc/m|link|again " +
		"/etc/moved|file|four|0604 /etc/theirs|file|three|0600")
	w.has("etc/f", "-")
	w.PSQL(`UPDATE host_file SET kind = 'link', target = 'x', content = NULL, mode = NULL WHERE path = '/etc/empty'`)
	w.Settled()
	if target, err := os.Readlink(at("etc/empty")); err != nil || target != "x" {
		t.Errorf("%s, %v", target, err)
	}
	// Deleted by SQL, and by others.
	w.PSQL(`DELETE FROM host_file WHERE path IN ('/etc/d', '/etc/l', '/etc/theirs')`)
	w.distrust()
	w.do(os.Remove(at("etc/m")))
	w.do(os.Remove(at("etc/empty")))
	quiet("/etc/e|directory|0711 /etc/moved|file|four|0604")
	for _, path := range []string{"etc/d", "etc/l", "etc/theirs"} {
		if _, err := os.Lstat(at(path)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is there: %v", path, err)
		}
	}
	// What is there already is adopted, and not overwritten silently.
	w.PSQL(`INSERT INTO iasql_mode (table_name, mode) VALUES ('host_file', 'PAUSE')`)
	w.write("etc/both", "theirs")
	w.PSQL(`INSERT INTO host_file (account, path, content) VALUES ('here', '/etc/both', 'theirs')`, `DELETE FROM iasql_mode`)
	quiet("/etc/both|file|theirs|0644 /etc/e|directory|0711 /etc/moved|file|four|0604")
	// TRACK pulls, and lets nobody write.
	w.PSQL(`INSERT INTO iasql_mode (table_name, mode) VALUES ('host_file', 'TRACK')`)
	w.write("etc/moved", "tracked")
	w.sync()
	w.row("tracked", `SELECT content FROM host_file WHERE path = '/etc/moved'`)
	w.refused("IA002", `UPDATE host_file SET content = 'mine' WHERE path = '/etc/moved'`)
}

// TestScope: what no scope names is neither read nor made, and a scope does not go before its records.
func TestScope(t *testing.T) {
	t.Parallel()
	w := local(t)
	w.mkdir("srv")
	w.write("srv/x", "1")
	w.write("etc/x", "1")
	w.sync()
	w.row("/etc/x", `SELECT path FROM host_file`)
	w.refused("INSERT INTO host_scope (account, pattern) VALUES ('here', '/srv/y')", `INSERT INTO host_file (account, path) VALUES ('here', '/srv/y')`)
	w.refused("no scope of host here", `UPDATE host_file SET path = '/srv/x'`)
	w.refused("host_file", `INSERT INTO host_file (account, path) VALUES ('here', '/etc/../srv/y')`)
	w.refused("1 records of host_file are in no scope", `DELETE FROM host_scope`)
	w.refused("1 records of host_file are in no scope", `UPDATE host_scope SET pattern = '/srv/**'`)
	w.refused("host here has records: 1 of host_file", `DELETE FROM host`)
	for _, pattern := range []string{"etc", "/etc/", "/etc/../x", "/etc/a**", "/", "//x"} {
		w.refused("host_scope", `INSERT INTO host_scope (account, pattern) VALUES ('here', '`+pattern+`')`)
	}
	w.PSQL(`UPDATE host_scope SET pattern = '/etc/?'`, `INSERT INTO host_scope (account, pattern) VALUES ('here', '/srv/**')`)
	w.sync()
	w.row("/etc/x,/srv/x", `SELECT string_agg(path, ',' ORDER BY path) FROM host_file`)
	w.PSQL(`SELECT iasql_forget('host_file', id) FROM host_file WHERE path LIKE '/srv/%'`, `DELETE FROM host_scope WHERE pattern = '/srv/**'`)
	w.has("srv/x", "1")
	w.Eventually(shortly, "the host goes", func() bool { // a cycle may import them once more in between
		_, err := w.TryPSQL(w.UserURL, `SELECT iasql_forget('host_file', id) FROM host_file`, `DELETE FROM host`)
		return err == nil
	})
	w.has("etc/x", "1")
	// A scope that is new is looked at without anybody's asking.
	w.PSQL(`INSERT INTO host (name, host_root) VALUES ('again', '`+w.root+`')`, `INSERT INTO host_scope (account, pattern) VALUES ('again', '/etc/*')`)
	w.Becomes(shortly, "/etc/x", `SELECT path FROM host_file`)
	w.PSQL(`INSERT INTO host_scope (account, pattern) VALUES ('again', '/srv/*')`)
	w.Becomes(shortly, "2", `SELECT count(*) FROM host_file`)
	// The database and the runner understand patterns in the same way.
	for _, c := range [][3]string{
		{"/etc/hosts", "/etc/hosts", "t"}, {"/etc/*", "/etc/hosts", "t"}, {"/etc/*", "/etc/a/b", "f"},
		{"/etc/**", "/etc/a/b", "t"},
		{"/etc/**", "/etc", "f"}, {"/etc/**/x", "/etc/x", "t"}, {"/etc/**/x", "/etc/a/b/x", "t"},
		{"/etc/**/x", "/etc/a/b/y", "f"},
		{"/a/**/**/b", "/a/b", "t"}, {"/a/?.c", "/a/b.c", "t"}, {"/a/?.c", "/a/bb.c", "f"},
		{"/a/[x]", "/a/x", "f"}, {"/a/[x]", "/a/[x]", "t"},
		{"/a.b", "/aXb", "f"}, {"/a/(b|c)+$", "/a/(b|c)+$", "t"}, {"/a/b\\d", "/a/b1", "f"},
		{"/a/b\\d", "/a/b\\d", "t"}, {"/a/{2}", "/a/{2}", "t"},
	} {
		if got := w.Admin(`SELECT '` + c[1] + `' ~ iasql_internal.host_pattern('` + c[0] + `')`); got != c[2] {
			t.Errorf("%s names %s: %s", c[0], c[1], got)
		}
	}
	for _, c := range [][3]string{
		{"nginx*", "nginx-core", "t"}, {"nginx*", "nginx", "t"}, {"nginx*", "libnginx", "f"}, {"*", "a/b", "t"}, {"a?c", "abc", "t"},
		{"a.c", "abc", "f"}, {"g++*", "g++-12", "t"}, {"a\\d", "a1", "f"}, {"*:x", "eth0:x", "t"},
	} {
		if got := w.Admin(`SELECT '` + c[1] + `' ~ iasql_internal.host_pattern('` + c[0] + `')`); got != c[2] || (got == "t") != runner.MatchesName(c[0], c[1]) {
			t.Errorf("%s names %s: %s", c[0], c[1], got)
		}
	}
	// All of it goes, and leaves the files.
	w.PSQL(`SELECT * FROM iasql_uninstall(VARIADIC ARRAY(SELECT module_name FROM iasql_modules_list()))`)
	if got := w.Admin(`SELECT string_agg(proname, ' ') FROM pg_proc WHERE proname LIKE 'host\_%'`, `SELECT string_agg(relname, ' ') FROM pg_class WHERE relname LIKE 'host%'`); strings.TrimSpace(got) != "" {
		t.Errorf("left over: %s", got)
	}
	w.has("srv/x", "1")
	w.PSQL(`SELECT * FROM iasql_install('host_files')`)
	w.row("0", `SELECT count(*) FROM host`)
}

// TestPrune: ENFORCE deletes what has no record where a scope says so, and imports it elsewhere.
func TestPrune(t *testing.T) {
	t.Parallel()
	w := local(t)
	w.mkdir("etc/pruned")
	w.PSQL(`INSERT INTO host_scope (account, pattern, prune) VALUES ('here', '/etc/pruned/*', true)`)
	w.sync()
	w.PSQL(`INSERT INTO iasql_mode (table_name, mode) VALUES ('host_file', 'ENFORCE')`)
	w.write("etc/kept", "theirs")
	w.write("etc/pruned/stranger", "theirs")
	w.sync()
	w.Settled()
	w.has("etc/kept", "theirs")
	w.has("etc/pruned/stranger", "-")
	w.row("theirs", `SELECT content FROM host_file WHERE path = '/etc/kept'`)
	w.write("etc/kept", "changed")
	w.sync()
	w.Settled()
	w.has("etc/kept", "theirs")
}

// TestConflict: what somebody else has written since it was read is kept as a conflict, and what is large or binary is
// known by its sum.
func TestConflict(t *testing.T) {
	t.Parallel()
	w := local(t)
	w.write("etc/f", "first")
	w.write("etc/large", strings.Repeat("x", 300<<10))
	w.write("etc/binary", "a\x00b")
	w.sync()
	w.row("large|307200|t|t binary|3|t|t", `SELECT string_agg(concat_ws('|', substr(path, 6), size, content IS NULL, sha256 IS NOT NULL), ' ' ORDER BY path DESC) FROM host_file WHERE path <> '/etc/f'`)
	w.PSQL(`UPDATE host_file SET mode = '0600' WHERE path = '/etc/large'`)
	w.Settled()
	w.has("etc/large", strings.Repeat("x", 300<<10))
	w.PSQL(`INSERT INTO iasql_mode (table_name, mode) VALUES ('host_file', 'PAUSE')`, `UPDATE host_file SET content = 'mine' WHERE path = '/etc/f'`)
	w.write("etc/f", "theirs")
	w.PSQL(`DELETE FROM iasql_mode`)
	w.Settled()
	w.has("etc/f", "mine")
	w.row(`"theirs"`, `SELECT cloud_value FROM iasql_conflicts WHERE column_name = 'content'`)
	// A host that is locked is read, and not changed.
	w.PSQL(`UPDATE host SET locked_by = 'the night shift'`, `UPDATE host_file SET content = 'locked' WHERE path = '/etc/f'`)
	w.Becomes(shortly, "t", `SELECT message LIKE '%locked by the night shift%' FROM iasql_status WHERE table_name = 'host_file' AND state <> 'Present'`)
	w.has("etc/f", "mine")
	w.PSQL(`UPDATE host SET locked_by = NULL`)
	w.PSQL(`SELECT iasql_retry('host_file', id) FROM host_file WHERE path = '/etc/f'`)
	w.Settled()
	w.has("etc/f", "locked")
	// A directory that is not empty goes once it is.
	w.mkdir("etc/d")
	w.write("etc/d/f", "1")
	w.sync()
	w.PSQL(`DELETE FROM host_file WHERE path LIKE '/etc/d%'`)
	w.Settled()
	w.has("etc/d", "-")
	// And a file whose directory comes after it.
	w.PSQL(`INSERT INTO host_file (account, path, kind, content) VALUES ('here', '/etc/n/f', 'file', 'nested'), ('here', '/etc/n', 'directory', NULL)`)
	begun := time.Now()
	w.Settled()
	t.Logf("a file before its directory took %s", time.Since(begun))
	w.has("etc/n/f", "nested")
	// A root that the engine was not started with is nobody's to use. The other host is read all the same.
	w.PSQL(`INSERT INTO host (name, host_root) VALUES ('there', '/nowhere')`)
	w.write("etc/beside", "read")
	if said := w.Warnings(`SELECT iasql_sync_now()`); !strings.Contains(said, "account there: ") ||
		!strings.Contains(said, "start it with --host-root /nowhere") {
		t.Errorf("it says %q", said)
	}
	w.row("read", `SELECT content FROM host_file WHERE path = '/etc/beside'`)
}

// TestRunnerIsSmall: what is put on hosts is small, and so it stays there.
func TestRunnerIsSmall(t *testing.T) {
	t.Parallel()
	program, err := built()
	if err != nil {
		t.Fatal(err)
	}
	if len(program) > 6_000_000 {
		t.Errorf("it has %d bytes", len(program))
	}
	at := filepath.Join(t.TempDir(), "runner")
	if err := os.WriteFile(at, program, 0o700); err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	for i := range 500 {
		if err := os.WriteFile(fmt.Sprint(root, "/f", i), []byte(strings.Repeat("x", 1000)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	command := exec.Command(at, "-root", root)
	in, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	_, _ = lines.ReadString('\n') // who the host is
	ask := func(request string) {
		t.Helper()
		fmt.Fprintln(in, request)
		for more := true; more; {
			line, err := lines.ReadString('\n')
			if err != nil || strings.Contains(line, `"error":`) {
				t.Fatalf("%.500s: %v", line, err)
			}
			more = strings.Contains(line, `"more":true`)
		}
	}
	for range 10 {
		ask(`{"id": 1, "verb": "list", "patterns": ["/*"]}`)
	}
	// The largest content that it takes and reads.
	chunk := make([]byte, 128<<10)
	sum := sha256.New()
	for offset := 0; offset < runner.MaxUpload; offset += len(chunk) {
		sum.Write(chunk)
		ask(fmt.Sprintf(`{"id": 1, "verb": "upload", "upload": "A", "want": {"path": "/large"}, "offset": %d, "chunk": "%s"}`,
			offset, base64.StdEncoding.EncodeToString(chunk)))
	}
	ask(fmt.Sprintf(`{"id": 1, "verb": "apply", "upload": "A", "want": {"path": "/large", "kind": "file", "size": %d, "sha256": "%x"}}`,
		runner.MaxUpload, sum.Sum(nil)))
	ask(`{"id": 1, "verb": "check", "paths": ["/large"]}`)
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", command.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(status), "VmHWM:")
	kB, err := strconv.Atoi(strings.Fields(after)[0])
	if err != nil || kB > 15<<10 {
		t.Errorf("it was as large as %d kB: %v", kB, err)
	}
	t.Logf("%d bytes, and %d kB resident at most", len(program), kB)
	in.Close()
	if err := command.Wait(); err != nil {
		t.Error(err)
	}
}
