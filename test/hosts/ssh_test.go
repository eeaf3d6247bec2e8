package hosts

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"iasql/internal/test/harness"
	"iasql/internal/test/stopwatch"
)

// shortly is within what time something happens that is to happen soon.
const shortly = 20 * time.Second

// longest is within what time something happens that waits for connections to time out, or for apt-get.
const longest = 5 * time.Minute

// server is a real SSH server.
type server struct {
	t           *testing.T
	dir         string
	port        int
	key, config string
	process     *exec.Cmd
}

// listen prepares a server with a key of its own, which lets in whoever runs the test. It is not started.
func listen(t *testing.T) *server {
	t.Helper()
	if _, err := exec.LookPath("/usr/sbin/sshd"); err != nil {
		harness.Lacking(t, "sshd")
	}
	s := &server{t: t, dir: t.TempDir()}
	if err := os.Chmod(s.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	s.keygen("host")
	s.key = s.keygen("login")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.port = l.Addr().(*net.TCPAddr).Port
	l.Close()
	s.config = filepath.Join(s.dir, "config")
	s.write("config", fmt.Sprintf("ListenAddress 127.0.0.1\nPort %d\nHostKey %s/host\n"+
		"AuthorizedKeysFile %s/login.pub\nStrictModes no\nPidFile none\nUsePAM no\nPasswordAuthentication no\n"+
		"PermitRootLogin yes\nLogLevel ERROR\nSetEnv HOME=%s PATH=%s/bin:/usr/sbin:/usr/bin:/sbin:/bin\n",
		s.port, s.dir, s.dir, s.dir, s.dir))
	return s
}

func (s *server) write(name, text string) {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// keygen makes a key of that name anew, and returns it.
func (s *server) keygen(name string) string {
	s.t.Helper()
	at := filepath.Join(s.dir, name)
	_ = os.Remove(at)
	_ = os.Remove(at + ".pub")
	if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", at).CombinedOutput(); err != nil {
		s.t.Fatalf("%v: %s", err, out)
	}
	text, err := os.ReadFile(at)
	if err != nil {
		s.t.Fatal(err)
	}
	return string(text)
}

func (s *server) start() {
	s.t.Helper()
	_ = os.MkdirAll("/run/sshd", 0o755)
	s.process = exec.Command("/usr/sbin/sshd", "-D", "-e", "-f", s.config)
	s.process.Stderr = os.Stderr
	if err := s.process.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(s.kill)
	for until := time.Now().Add(shortly); ; time.Sleep(20 * time.Millisecond) {
		if c, err := net.Dial("tcp", fmt.Sprint("127.0.0.1:", s.port)); err == nil {
			c.Close()
			return
		}
		if time.Now().After(until) {
			s.t.Fatal("sshd does not listen")
		}
	}
}

// kill ends the server, and the connections that it has: those processes that it has started.
func (s *server) kill() {
	if s.process == nil || s.process.Process == nil {
		return
	}
	children, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", s.process.Process.Pid, s.process.Process.Pid))
	_ = s.process.Process.Kill()
	_ = s.process.Wait()
	for _, pid := range strings.Fields(string(children)) {
		var n int
		if _, err := fmt.Sscan(pid, &n); err == nil {
			if p, err := os.FindProcess(n); err == nil {
				_ = p.Kill()
			}
		}
	}
	s.process = nil
}

// remote starts an engine and a server, and manages a directory by it.
func remote(t *testing.T) (*world, *server) {
	t.Helper()
	return remoteOf(t, start(t))
}

// remoteOf starts a server, and manages the directory by it.
func remoteOf(t *testing.T, w *world) (*world, *server) {
	t.Helper()
	s := listen(t)
	s.start()
	w.mkdir("etc")
	who, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	w.PSQL(fmt.Sprintf(`INSERT INTO host (name, address, port, user_name, private_key) VALUES ('web', '127.0.0.1', %d, '%s', '%s')`, s.port, who.Username, s.key),
		`INSERT INTO host_scope (account, pattern) VALUES ('web', '`+w.root+`/etc/**')`)
	return w, s
}

// confirm says that the host is the one that was meant, and reads it.
func (w *world) confirm() {
	w.Helper()
	w.refused("IA061", `SELECT iasql_sync_now()`)
	w.Admin(`SELECT iasql_confirm('identity', 'web')`)
	w.sync()
}

// becomes has the host looked at until something is so.
func (w *world) becomes(want, query string) { w.Helper(); w.becomesWithin(3*shortly, want, query) }

func (w *world) becomesWithin(within time.Duration, want, query string) {
	w.Helper()
	w.Eventually(within, query+" is "+want, func() bool {
		_, _ = w.TryPSQL(w.UserURL, `SELECT iasql_sync_now()`)
		got, err := w.TryPSQL(w.UserURL, query)
		return err == nil && got == want
	})
}

// TestSSH: nothing is done before a person has confirmed the host key, everything after; another key is another host;
// and a host that is silent is unknown, and not gone.
func TestSSH(t *testing.T) {
	t.Parallel()
	w, s := remote(t)
	w.write("etc/found", "there")
	w.row("********", `SELECT private_key FROM host`)
	w.refused("IA061", `SELECT iasql_sync_now()`)
	w.row("0", `SELECT count(*) FROM host_file`)
	held := w.PSQL(`SELECT held FROM iasql_worlds WHERE account = 'web'`)
	if !regexp.MustCompile(`host key SHA256:\S+.* nobody has confirmed that yet`).MatchString(held) {
		t.Errorf("it says %s", held)
	}
	w.refused("42501", `SELECT iasql_confirm('identity', 'web')`)
	w.Admin(`SELECT iasql_confirm('identity', 'web')`)
	w.sync()
	w.row("there", `SELECT content FROM host_file`)

	begun := time.Now()
	w.PSQL(fmt.Sprintf(`INSERT INTO host_file (account, path, content) VALUES ('web', '%s/etc/made', 'by SQL')`, w.root),
		`UPDATE host_file SET content = 'edited' WHERE path LIKE '%found'`)
	w.Settled()
	t.Logf("two edits took %s until they were settled", time.Since(begun))
	w.has("etc/made", "by SQL")
	w.has("etc/found", "edited")
	w.write("etc/found", "theirs")
	w.sync()
	w.row("theirs", `SELECT content FROM host_file WHERE path LIKE '%found'`)
	w.PSQL(`DELETE FROM host_file WHERE path LIKE '%made'`)
	w.Settled()
	w.has("etc/made", "-")
	folder, err := os.Stat(filepath.Join(s.dir, ".iasql-runner"))
	if err != nil || folder.Mode().Perm() != 0o700 {
		t.Errorf("the runner's folder: %v, %v", folder, err)
	}

	// Silent: unknown, and nothing is deleted.
	s.kill()
	w.write("etc/found", "later")
	w.refused("IA061", `SELECT iasql_sync_now()`)
	w.row("theirs", `SELECT content FROM host_file`)
	w.row("t", `SELECT held LIKE '%does not answer%' OR held LIKE '%lost%' FROM iasql_worlds WHERE account = 'web'`)
	w.row("CheckPresentFailed", `SELECT state FROM iasql_status WHERE table_name = 'host_file'`)
	s.start()
	w.becomes("later", `SELECT content FROM host_file`)
	w.row("Present", `SELECT state FROM iasql_status WHERE table_name = 'host_file'`)

	// Another key: another host.
	s.kill()
	s.keygen("host")
	s.start()
	w.write("etc/found", "of another")
	w.becomes("t", `SELECT held LIKE '%it says that it is host key%and it was host key%' FROM iasql_worlds WHERE account = 'web'`)
	w.row("later", `SELECT content FROM host_file`)
	w.PSQL(`UPDATE host_file SET content = 'mine'`)
	w.refused("IA061", `SELECT iasql_sync_now()`)
	w.has("etc/found", "of another")
	w.Admin(`SELECT iasql_confirm('identity', 'web')`)
	w.Settled()
	w.has("etc/found", "mine")

	// The key is in no log and no table that people read.
	secret := strings.Split(s.key, "\n")[2]
	if dump := w.PSQL(`SELECT string_agg(to_jsonb(l)::text, '') FROM iasql_audit_log l`); strings.Contains(dump, secret) {
		t.Error("the private key is in the audit log")
	}
	// Another login key is refused in words.
	w.PSQL(`UPDATE host SET private_key = '` + s.keygen("other") + `'`)
	w.becomes("t", `SELECT held LIKE '%does not let the key in: put ssh-ed25519%' FROM iasql_worlds WHERE account = 'web'`)
}

// TestValidate: a file that the scope's command does not accept does not get there, and the record says why.
func TestValidate(t *testing.T) {
	t.Parallel()
	w, _ := remote(t)
	w.PSQL(`UPDATE host_scope SET validate = 'grep -q good %s'`)
	w.confirm()
	w.PSQL(fmt.Sprintf(`INSERT INTO host_file (account, path, content) VALUES ('web', '%s/etc/sudoers', 'good')`, w.root))
	w.Settled()
	w.PSQL(`UPDATE host_file SET content = 'broken'`)
	w.Becomes(shortly, "t", `SELECT bool_or(message LIKE '%grep does not accept the new content%') FROM iasql_status WHERE table_name = 'host_file'`)
	w.has("etc/sudoers", "good")
	if all, err := os.ReadDir(filepath.Join(w.root, "etc")); err != nil || len(all) != 1 {
		t.Errorf("left over: %v, %v", all, err)
	}
	w.PSQL(`UPDATE host_file SET content = 'good again'`)
	w.Settled()
	w.has("etc/sudoers", "good again")
}

// TestBecome: the runner is started by sudo where the host says so, and what sudo says shows. It is a stand-in for sudo,
// which asks for nothing.
func TestBecome(t *testing.T) {
	t.Parallel()
	w, s := remote(t)
	at := filepath.Join(s.dir, "bin")
	if err := os.Mkdir(at, 0o755); err != nil {
		t.Fatal(err)
	}
	script := "#!/bin/sh\necho 'sudo: a password is required' >&2; exit 1\n"
	if err := os.WriteFile(filepath.Join(at, "sudo"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	w.PSQL(`UPDATE host SET become = true`)
	w.becomes("t", `SELECT held LIKE '%sudo: a password is required%' FROM iasql_worlds WHERE account = 'web'`)
	script = "#!/bin/sh\n[ \"$1 $2\" = '-n --' ] && shift 2 && touch '" + s.dir + "/became' && exec \"$@\"\n"
	if err := os.WriteFile(filepath.Join(at, "sudo"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	w.becomes("t", `SELECT held LIKE '%nobody has confirmed that yet%' FROM iasql_worlds WHERE account = 'web'`)
	w.confirm()
	w.PSQL(fmt.Sprintf(`INSERT INTO host_file (account, path, content) VALUES ('web', '%s/etc/f', '1')`, w.root))
	w.Settled()
	w.has("etc/f", "1")
	if _, err := os.Stat(filepath.Join(s.dir, "became")); err != nil {
		t.Errorf("it was not started by sudo: %v", err)
	}
}

// TestHangs: a host that takes the connection and says nothing delays no other.
func TestHangs(t *testing.T) {
	t.Parallel()
	w := local(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	s := listen(t)
	w.PSQL(fmt.Sprintf(`INSERT INTO host (name, address, port, private_key) VALUES ('mute', '127.0.0.1', %d, '%s')`, l.Addr().(*net.TCPAddr).Port, s.key))
	begun := stopwatch.Start()
	w.PSQL(`INSERT INTO host_file (account, path, content) VALUES ('here', '/etc/f', '1')`)
	w.Settled()
	w.has("etc/f", "1")
	if took := begun.Took(); took > 5*time.Second {
		t.Errorf("it took %s", took)
	}
	w.Becomes(2*shortly, "t", `SELECT held LIKE '%does not answer%' FROM iasql_worlds WHERE account = 'mute'`)
	// Once it is known to be mute, nobody waits for it for long.
	begun = stopwatch.Start()
	if said := w.Warnings(`SELECT iasql_sync_now()`); !strings.Contains(said, "does not answer") {
		t.Errorf("it says %q", said)
	}
	if took := begun.Took(); took > 5*time.Second {
		t.Errorf("it took %s", took)
	}
}

// TestQuietRead measures what a host costs that has not changed.
func TestQuietRead(t *testing.T) {
	t.Parallel()
	if os.Getenv("IASQL_TEST_ALL") == "" {
		t.Skip("measures: make test-all runs it")
	}
	w, _ := remote(t)
	for i := range 500 {
		w.write(fmt.Sprint("etc/f", i), strings.Repeat("x", 1000))
	}
	w.confirm()
	w.row("500", `SELECT count(*) FROM host_file`)
	begun := time.Now()
	w.sync()
	t.Logf("a quiet read of 500 files took %s", time.Since(begun))
	took := time.Hour
	for i := range 10 {
		begun := time.Now()
		w.PSQL(fmt.Sprintf(`UPDATE host_file SET content = 'edit %d' WHERE path LIKE '%%/f7'`, i))
		for {
			text, err := os.ReadFile(filepath.Join(w.root, "etc/f7"))
			if err == nil && string(text) == fmt.Sprint("edit ", i) {
				break
			}
			if time.Since(begun) > shortly {
				t.Fatalf("edit %d is not there: %v", i, err)
			}
			time.Sleep(time.Millisecond)
		}
		took = min(took, time.Since(begun))
		t.Logf("edit to effect, psql included: %s", time.Since(begun))
	}
}

// TestCut: connections are cut while files are written, again and again. There is never half a file, and in the end all
// is as the table says.
func TestCut(t *testing.T) {
	t.Parallel()
	w, s := remote(t)
	w.confirm()
	long := func(c string) string { return strings.Repeat(c, 200_000) }
	w.PSQL(fmt.Sprintf(`INSERT INTO host_file (account, path, content) SELECT 'web', '%s/etc/f' || n, repeat('a', 200000) FROM generate_series(1, 5) n`, w.root))
	w.Settled()
	whole := func() {
		t.Helper()
		for n := 1; n <= 5; n++ {
			text, err := os.ReadFile(filepath.Join(w.root, fmt.Sprint("etc/f", n)))
			if err != nil || len(text) != 200_000 || strings.Trim(string(text), string(text[:1])) != "" {
				t.Errorf("f%d has %d bytes: %v", n, len(text), err)
			}
		}
	}
	rounds := 3
	if os.Getenv("IASQL_TEST_ALL") != "" {
		rounds = 8
	}
	letter := ""
	for i := range rounds {
		letter = string(rune('b' + i))
		w.PSQL(`UPDATE host_file SET content = repeat('` + letter + `', 200000)`)
		time.Sleep(time.Duration(i*13) * time.Millisecond)
		s.kill()
		whole()
		s.start()
	}
	w.becomes("0", `SELECT count(*) FROM iasql_audit_log WHERE NOT settled`)
	whole()
	w.has("etc/f3", long(letter))
	w.row("5", `SELECT count(*) FROM host_file`)
}
