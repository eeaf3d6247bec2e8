package hosts

import (
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// holdHere has a maintainer script stop where a test wants to look: if there is a pipe of its name and its first
// argument, it says there that it has come so far, and waits for a word.
const holdHere = `echo "$DPKG_MAINTSCRIPT_NAME $1 $DPKG_MAINTSCRIPT_PACKAGE" >> /runs
at=/at/$DPKG_MAINTSCRIPT_NAME-$1
[ -p "$at" ] || exit 0
exec 3<>/at/go
echo here > "$at"
read -r word <&3`

// stop is a point at which a maintainer script waits.
type stop struct {
	w       *world
	reached chan error
}

// stopAt has the next run of a maintainer script with that first argument wait.
func (w *world) stopAt(script, argument string) *stop {
	w.Helper()
	at := filepath.Join(w.root, "at")
	w.do(os.MkdirAll(at, 0o755))
	w.do(syscall.Mkfifo(filepath.Join(at, "go"), 0o600))
	pipe := filepath.Join(at, script+"-"+argument)
	w.do(syscall.Mkfifo(pipe, 0o600))
	s := &stop{w, make(chan error, 1)}
	go func() {
		_, err := os.ReadFile(pipe)
		s.reached <- err
	}()
	return s
}

// wait waits until the script has come there. From then on no other stops there.
func (s *stop) wait() {
	s.w.Helper()
	select {
	case err := <-s.reached:
		s.w.do(err)
	case <-time.After(longest):
		s.w.Fatal("no maintainer script has come there")
	}
}

// release lets the script go on.
func (s *stop) release() {
	s.w.Helper()
	pipe, err := os.OpenFile(filepath.Join(s.w.root, "at/go"), os.O_RDWR, 0)
	s.w.do(err)
	defer pipe.Close()
	s.forget()
	_, err = pipe.WriteString("go\n")
	s.w.do(err)
}

func (s *stop) forget() { s.w.do(os.RemoveAll(filepath.Join(s.w.root, "at"))) }

// kill ends processes that run inside the Debian, at one instant: those whose program has such a name, or all.
func (w *world) kill(name string) {
	w.Helper()
	var pids []int
	all, _ := filepath.Glob("/proc/[0-9]*")
	for _, at := range all {
		root, err := os.Readlink(at + "/root")
		program, err2 := os.Readlink(at + "/exe")
		pid, err3 := strconv.Atoi(filepath.Base(at))
		if err == nil && err2 == nil && err3 == nil && root == w.root && strings.Contains(program, name) {
			pids = append(pids, pid)
			_ = syscall.Kill(pid, syscall.SIGSTOP)
		}
	}
	if len(pids) == 0 {
		w.Fatalf("nothing runs there with %q in its name", name)
	}
	for _, pid := range pids {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

// machineOf has an SSH server let in to the Debian alone, so that what runs there is a runner of its own, and makes it
// a host.
func (w *world) machineOf(s *server) {
	w.Helper()
	s.write("inside", "#!/bin/sh\nexec env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin chroot '"+w.root+
		"' /bin/sh -c \"$SSH_ORIGINAL_COMMAND\"\n")
	w.do(os.Chmod(filepath.Join(s.dir, "inside"), 0o755))
	config, err := os.ReadFile(s.config)
	w.do(err)
	s.write("config", string(config)+"ForceCommand "+s.dir+"/inside\n")
	s.start()
	who, err := user.Current()
	w.do(err)
	w.PSQL(fmt.Sprintf(`INSERT INTO host (name, address, port, user_name, private_key)
		VALUES ('web', '127.0.0.1', %d, '%s', '%s')`, s.port, who.Username, s.key))
}

// TestPackagesKilled ends apt-get, dpkg, the maintainer script and the runner at one instant, or one of them alone,
// while a package is installed, changed and removed. The engine goes on by itself, and in the end each is as the table
// says, with the marks that it had, and nothing else has changed.
func TestPackagesKilled(t *testing.T) {
	t.Parallel()
	w := debianRoot(t)
	scripts := map[string]string{}
	for _, script := range []string{"preinst", "postinst", "prerm", "postrm"} {
		scripts[script] = holdHere
	}
	w.publish(deb{"slow", "1.0", "", scripts}, deb{"slow", "2.0", "", scripts}, deb{"bystander", "1.0", "", scripts})
	w.inside("/usr/bin/apt-get", "update")
	w.inside("/usr/bin/apt-get", "install", "-y", "bystander")
	w.machineOf(listen(t))
	w.PSQL(`INSERT INTO host_scope (account, kind, pattern)
		VALUES ('web', 'package', 'slow'), ('web', 'package', 'bystander')`)
	w.confirm()
	others := func() string { return w.inside("/usr/bin/dpkg-query", "-W", "-f", "${Package} ${Status} ${Version}\n") }
	before := others()

	const insert = `INSERT INTO host_package (account, name, version) VALUES ('web', 'slow', '1.0')`
	const upgrade = `UPDATE host_package SET version = '2.0' WHERE name = 'slow'`
	const remove = `DELETE FROM host_package WHERE name = 'slow'`
	const there = `INSERT INTO host_package (account, name, version, held, automatic)
		VALUES ('web', 'slow', '1.0', true, true)`
	const purged = `INSERT INTO host_package (account, name, version, purge) VALUES ('web', 'slow', '1.0', true)`
	for _, c := range []struct{ script, argument, killed, first, then, want string }{
		{"preinst", "install", "", "", insert, "1.0"},
		{"postinst", "configure", "", "", insert, "1.0"},
		{"postinst", "configure", "/dpkg", "", insert, "1.0"},
		{"postinst", "configure", "/apt-get", "", insert, "1.0"},
		{"postinst", "configure", ".iasql-runner/", "", insert, "1.0"},
		{"prerm", "upgrade", "", there, upgrade, "2.0|held|automatic"},
		{"preinst", "upgrade", "", there, upgrade, "2.0|held|automatic"},
		{"postrm", "upgrade", "", there, upgrade, "2.0|held|automatic"},
		{"postinst", "configure", "", there, upgrade, "2.0|held|automatic"},
		{"postinst", "configure", ".iasql-runner/", there, upgrade, "2.0|held|automatic"},
		{"prerm", "remove", "", there, remove, ""},
		{"postrm", "remove", "", there, remove, ""},
		{"postrm", "remove", "/dpkg", there, remove, ""},
		{"postrm", "purge", "", purged, remove, ""},
	} {
		if testing.Short() && c.script != "postinst" {
			continue
		}
		settled := func() {
			w.Becomes(longest, "0", `SELECT count(*) FROM iasql_audit_log WHERE NOT settled`)
			w.Becomes(longest, "", `SELECT * FROM iasql_status WHERE state <> 'Present'`)
		}
		what := fmt.Sprintf("%s %s, killed is %q", c.script, c.argument, c.killed)
		if c.first != "" {
			w.PSQL(c.first)
			settled()
		}
		s := w.stopAt(c.script, c.argument)
		w.PSQL(c.then)
		s.wait()
		if c.killed == "" || c.killed == "/dpkg" {
			s.forget() // the script goes with its parent, or is left to nobody
			w.kill(c.killed)
			if c.killed != "" {
				w.kill("dash")
			}
		} else {
			w.kill(c.killed)
			s.release()
		}
		settled()
		w.sync()
		if got := w.PSQL(`SELECT concat_ws('|', version, CASE WHEN held THEN 'held' END,
				CASE WHEN automatic THEN 'automatic' END, CASE WHEN NOT configured THEN 'unfinished' END)
			FROM host_package WHERE name = 'slow'`); got != c.want {
			t.Errorf("%s: it is %q, not %q", what, got, c.want)
		}
		version, _, _ := strings.Cut(c.want, "|")
		if version == "" {
			version = "-"
		}
		w.has("usr/share/slow/version", version)
		if c.first == purged {
			w.has("etc/slow.conf", "-")
		}
		if left, _ := os.ReadDir(filepath.Join(w.root, "var/lib/iasql-runner/packages")); len(left) > 0 {
			t.Errorf("%s: it leaves %v", what, left)
		}
		w.PSQL(`UPDATE host_package SET purge = true WHERE name = 'slow'`, remove)
		settled()
		w.inside("/usr/bin/dpkg", "--purge", "slow")
		if after := others(); after != before {
			t.Errorf("%s: there is\n%s\nand there was\n%s", what, after, before)
		}
	}
	runs, err := os.ReadFile(filepath.Join(w.root, "runs"))
	if err != nil || strings.Count(string(runs), "bystander") != 2 { // its installation
		t.Errorf("another package was touched: %v\n%s", err, runs)
	}
}
