package hosts

import (
	"bufio"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"iasql/internal/test/harness"
)

// debian starts an engine, and manages a small Debian: a directory that is a copy of one by debootstrap. Programs are
// run inside it, without a network.
func debian(t *testing.T) *world {
	t.Helper()
	w := debianRoot(t)
	w.PSQL(`INSERT INTO host (name, host_root) VALUES ('here', '` + w.root + `')`)
	return w
}

// debianRoot starts an engine, and makes a small Debian, which is no host yet.
func debianRoot(t *testing.T) *world { t.Helper(); return debianAs(t, &world{}) }

// debianAs starts an engine as a world says, and makes a small Debian, which is no host yet.
func debianAs(t *testing.T, w *world) *world {
	t.Helper()
	from := "../../.cache/debian-root"
	if _, err := os.Stat(from + "/etc/debian_version"); err != nil {
		harness.Lacking(t, "a Debian in .cache/debian-root")
	}
	if os.Getuid() != 0 {
		harness.Lacking(t, "the right to run programs inside a directory (root)")
	}
	startAs(t, w)
	if out, err := exec.Command("cp", "-a", from+"/.", w.root).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	w.do(os.WriteFile(filepath.Join(w.root, "etc/apt/sources.list"), []byte("deb [trusted=yes] file:/srv/repo ./\n"), 0o644))
	w.mkdir("srv/repo")
	return w
}

// inside runs a program inside the Debian, as somebody else does.
func (w *world) inside(program string, arguments ...string) string {
	w.Helper()
	out, err := w.tried(program, arguments...)
	if err != nil {
		w.Fatalf("%s %s: %v: %s", program, strings.Join(arguments, " "), err, out)
	}
	return out
}

func (w *world) tried(program string, arguments ...string) (string, error) {
	c := &exec.Cmd{Path: program, Args: append([]string{program}, arguments...), Dir: "/",
		Env:         []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C", "DEBIAN_FRONTEND=noninteractive"},
		SysProcAttr: &syscall.SysProcAttr{Chroot: w.root}}
	out, err := c.CombinedOutput()
	return string(out), err
}

// deb is a package that a test makes, with maintainer scripts by their names.
type deb struct {
	name, version, control string
	scripts                map[string]string
}

// publish makes packages, and the repository that has these alone.
func (w *world) publish(debs ...deb) {
	w.Helper()
	repo := filepath.Join(w.root, "srv/repo")
	var index strings.Builder
	for _, d := range debs {
		at := filepath.Join(w.T.TempDir(), d.name)
		w.do(os.MkdirAll(filepath.Join(at, "DEBIAN"), 0o755))
		w.do(os.MkdirAll(filepath.Join(at, "usr/share", d.name), 0o755))
		w.do(os.WriteFile(filepath.Join(at, "usr/share", d.name, "version"), []byte(d.version), 0o644))
		control := fmt.Sprintf("Package: %s\nVersion: %s\nArchitecture: all\nMaintainer: A <a@example.com>\n%sDescription: a test\n", d.name, d.version, d.control)
		w.do(os.WriteFile(filepath.Join(at, "DEBIAN/control"), []byte(control), 0o644))
		if d.control == "" {
			w.do(os.MkdirAll(filepath.Join(at, "etc"), 0o755))
			w.do(os.WriteFile(filepath.Join(at, "etc", d.name+".conf"), []byte("x\n"), 0o644))
			w.do(os.WriteFile(filepath.Join(at, "DEBIAN/conffiles"), []byte("/etc/"+d.name+".conf\n"), 0o644))
		}
		for script, text := range d.scripts {
			w.do(os.WriteFile(filepath.Join(at, "DEBIAN", script), []byte("#!/bin/sh\n"+text+"\n"), 0o755))
		}
		file := fmt.Sprintf("%s_%s_all.deb", d.name, d.version)
		if out, err := exec.Command("dpkg-deb", "--root-owner-group", "--build", at, filepath.Join(repo, file)).CombinedOutput(); err != nil {
			w.Fatalf("%v: %s", err, out)
		}
		text, err := os.ReadFile(filepath.Join(repo, file))
		w.do(err)
		fmt.Fprintf(&index, "%sFilename: ./%s\nSize: %d\nSHA256: %x\n\n", control, file, len(text), sha256.Sum256(text))
	}
	w.do(os.WriteFile(filepath.Join(repo, "Packages"), []byte(index.String()), 0o644))
}

// TestPackages takes host_package through its life, step by step, from both sides. Every step is followed by a full
// cycle that has nothing left to do.
func TestPackages(t *testing.T) {
	t.Parallel()
	w := debian(t)
	w.publish(deb{"one", "1.0", "", nil}, deb{"two", "1.0", "Depends: one\n", nil}, deb{"three", "1.0", "", nil}, deb{"other", "1.0", "", nil})
	w.PSQL(`INSERT INTO host_scope (account, kind, pattern) VALUES ('here', 'package', 'one'), ('here', 'package', 't*')`)
	w.inside("/usr/bin/apt-get", "update")
	w.sync()
	// What the scopes name is imported, and no more.
	w.row("tar tzdata", `SELECT string_agg(name, ' ' ORDER BY name) FROM host_package`)
	state := func() string {
		return w.PSQL(`SELECT string_agg(concat_ws('|', name, version, latest, CASE WHEN held THEN 'held' END, CASE WHEN automatic THEN 'automatic' END, CASE WHEN NOT configured THEN 'unfinished' END), ' ' ORDER BY name) FROM host_package WHERE name NOT LIKE 't%a%'`)
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
	w.refused("INSERT INTO host_scope (account, kind, pattern) VALUES ('here', 'package', 'other')", `INSERT INTO host_package (account, name) VALUES ('here', 'other')`)
	w.refused("host_package", `INSERT INTO host_package (account, name) VALUES ('here', 't; rm -rf /')`)
	w.refused("host_package", `INSERT INTO host_package (account, name) VALUES ('here', '--purge')`)
	// Installed by SQL, with a dependency that is imported.
	w.PSQL(`INSERT INTO host_package (account, name) VALUES ('here', 'two')`)
	quiet("one|1.0|1.0|automatic two|1.0|1.0")
	w.has("usr/share/one/version", "1.0")
	// By others.
	w.inside("/usr/bin/apt-get", "install", "-y", "three")
	quiet("one|1.0|1.0|automatic three|1.0|1.0 two|1.0|1.0")
	// A newer version: seen, chosen, and one that is not there.
	w.publish(deb{"one", "1.0", "", nil}, deb{"one", "2.0", "", nil}, deb{"two", "1.0", "Depends: one\n", nil}, deb{"three", "1.0", "", nil})
	w.inside("/usr/bin/apt-get", "update")
	w.distrust()
	quiet("one|1.0|2.0|automatic three|1.0|1.0 two|1.0|1.0")
	w.PSQL(`UPDATE host_package SET version = latest, held = true WHERE name = 'one'`)
	quiet("one|2.0|2.0|held|automatic three|1.0|1.0 two|1.0|1.0")
	w.has("usr/share/one/version", "2.0")
	w.PSQL(`UPDATE host_package SET version = '1.0' WHERE name = 'one'`)
	quiet("one|1.0|2.0|held|automatic three|1.0|1.0 two|1.0|1.0")
	w.PSQL(`UPDATE host_package SET version = '9.9' WHERE name = 'one'`)
	w.Becomes(3*shortly, "t", `SELECT message LIKE '%9.9%not found%' FROM iasql_status WHERE state <> 'Present'`)
	w.PSQL(`UPDATE host_package SET version = '1.0' WHERE name = 'one'`)
	// Marks, by SQL and by others.
	w.PSQL(`UPDATE host_package SET held = false, automatic = false WHERE name = 'one'`)
	quiet("one|1.0|2.0 three|1.0|1.0 two|1.0|1.0")
	w.distrust()
	w.inside("/usr/bin/apt-mark", "hold", "two")
	w.inside("/usr/bin/apt-mark", "auto", "three")
	quiet("one|1.0|2.0 three|1.0|1.0|automatic two|1.0|1.0|held")
	w.inside("/usr/bin/apt-mark", "unhold", "two")
	w.sync()
	// What would go besides is found before, and named.
	w.PSQL(`DELETE FROM host_package WHERE name = 'one'`)
	w.Becomes(3*shortly, "t", `SELECT message LIKE '%would remove besides: two%' FROM iasql_status WHERE state <> 'Present'`)
	w.has("usr/share/two/version", "1.0")
	w.PSQL(`DELETE FROM host_package WHERE name = 'two'`)
	quiet("three|1.0|1.0|automatic")
	w.has("usr/share/one/version", "-")
	w.has("etc/one.conf", "x\n") // its configuration stays
	w.PSQL(`INSERT INTO host_package (account, name, purge) VALUES ('here', 'two', true), ('here', 'one', true)`)
	quiet("one|2.0|2.0 three|1.0|1.0|automatic two|1.0|1.0")
	w.PSQL(`UPDATE host_package SET may_remove = '{two}' WHERE name = 'one'`, `DELETE FROM host_package WHERE name = 'one'`)
	quiet("three|1.0|1.0|automatic")
	w.has("etc/one.conf", "-")
	// By others.
	w.distrust()
	w.inside("/usr/bin/apt-get", "remove", "-y", "three")
	quiet("")
	// What the host cannot be without stays.
	w.PSQL(`INSERT INTO host_scope (account, kind, pattern) VALUES ('here', 'package', 'dash')`)
	w.sync()
	w.PSQL(`DELETE FROM host_package WHERE name IN ('dash', 'tar')`)
	w.Becomes(3*shortly, "2", `SELECT count(*) FROM iasql_status WHERE message LIKE '%never removed: it is essential%'`)
	w.has("usr/share/one/version", "-")
	// Locked, and a scope that goes.
	w.refused("records of host_package are in no scope", `DELETE FROM host_scope WHERE pattern = 't*'`)
}

// TestPackagesInterrupted: what dpkg has begun goes on, and is not begun again. A lock is waited for.
func TestPackagesInterrupted(t *testing.T) {
	t.Parallel()
	w := debian(t)
	w.publish(deb{"slow", "1.0", "", map[string]string{"postinst": "echo run >> /runs; [ ! -e /fail ]"}}, deb{"rival", "1.0", "Conflicts: slow\n", nil})
	w.PSQL(`INSERT INTO host_scope (account, kind, pattern) VALUES ('here', 'package', 'slow'), ('here', 'package', 'rival')`)
	w.inside("/usr/bin/apt-get", "update")
	w.write("fail", "")
	w.sync()
	w.PSQL(`INSERT INTO host_package (account, name) VALUES ('here', 'slow')`)
	w.Becomes(3*shortly, "t", `SELECT message LIKE '%slow%' FROM iasql_status WHERE state <> 'Present'`)
	if status := w.inside("/usr/bin/dpkg-query", "-W", "-f", "${Status}", "slow"); status != "install ok half-configured" {
		t.Errorf("it is %s", status)
	}
	w.do(os.Remove(filepath.Join(w.root, "fail")))
	w.PSQL(`SELECT iasql_retry('host_package', id) FROM host_package`)
	w.Settled()
	w.sync()
	w.row("slow|1.0|t", `SELECT name, version, configured FROM host_package`)
	// Whoever else interrupts it shows.
	w.distrust()
	w.write("fail", "")
	if out, err := w.tried("/usr/bin/apt-get", "install", "-y", "--reinstall", "slow"); err == nil {
		t.Errorf("it is installed: %s", out)
	}
	w.sync()
	w.row("slow|f", `SELECT name, configured FROM host_package`)
	w.do(os.Remove(filepath.Join(w.root, "fail")))
	w.PSQL(`UPDATE host_package SET configured = true`)
	w.Settled()
	w.row("t", `SELECT configured FROM host_package`)
	if status := w.inside("/usr/bin/dpkg-query", "-W", "-f", "${Status}", "slow"); status != "install ok installed" {
		t.Errorf("it is %s", status)
	}
	// An installation that would remove something is refused until that is named.
	w.PSQL(`INSERT INTO host_package (account, name) VALUES ('here', 'rival')`)
	w.Becomes(3*shortly, "t", `SELECT message LIKE '%to install rival would remove besides: slow.%' FROM iasql_status WHERE state <> 'Present'`)
	w.PSQL(`UPDATE host_package SET may_remove = '{slow}' WHERE name = 'rival'`, `SELECT iasql_retry('host_package', id) FROM host_package WHERE name = 'rival'`)
	w.Settled()
	w.sync()
	w.row("rival", `SELECT string_agg(name, ' ') FROM host_package`)
	// Another program has dpkg's lock for a while.
	holder := exec.Command("python3", "-c", "import fcntl, sys; f = open(sys.argv[1], 'r+'); fcntl.lockf(f, fcntl.LOCK_EX); print('held', flush=True); sys.stdin.read()",
		filepath.Join(w.root, "var/lib/dpkg/lock-frontend"))
	release, err := holder.StdinPipe()
	w.do(err)
	said, err := holder.StdoutPipe()
	w.do(err)
	w.do(holder.Start())
	if line, err := bufio.NewReader(said).ReadString('\n'); line != "held\n" {
		t.Fatalf("%s, %v", line, err)
	}
	w.PSQL(`DELETE FROM host_package WHERE name = 'rival'`)
	time.Sleep(2 * time.Second)
	w.has("usr/share/rival/version", "1.0")
	release.Close()
	w.do(holder.Wait())
	w.Settled()
	w.has("usr/share/rival/version", "-")
}
