package hosts

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"iasql/internal/test/harness"
)

// redHat starts an engine, and makes what the engine takes for a host of the Red Hat family, which is no host yet: a
// small Debian in which packages are those of dnf and rpm. Nothing there is dpkg's any more.
func redHat(t *testing.T) *world { t.Helper(); return redHatAs(t, &world{}) }

// redHatAs starts an engine as a world says, and makes such a host, which is none yet.
func redHatAs(t *testing.T, w *world) *world {
	t.Helper()
	from := "../../.cache/debian-dnf"
	if _, err := os.Stat(from + "/usr/bin/dnf"); err != nil {
		harness.Lacking(t, "a Debian with dnf in .cache/debian-dnf")
	}
	if os.Getuid() != 0 {
		harness.Lacking(t, "the right to run programs inside a directory (root)")
	}
	startAs(t, w)
	if out, err := exec.Command("cp", "-a", from+"/.", w.root).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	w.do(os.RemoveAll(filepath.Join(w.root, "var/lib/dpkg")))
	for _, dir := range []string{"etc/rpm", "etc/yum.repos.d", "srv/repo"} {
		w.mkdir(dir)
	}
	w.write("etc/rpm/macros", "%_dbpath /var/lib/rpm\n") // Debian has it in the home
	w.write("etc/yum.repos.d/local.repo", "[local]\nname=Local\nbaseurl=file:///srv/repo\ngpgcheck=0\n")
	return w
}

// spec is a package that a test makes: what else its specification has, and its scripts by their names. v is the
// version in all of them.
type spec struct {
	name, version, tags string
	scripts             map[string]string
}

// shell is the package that all others need, for its scripts.
var shell = spec{"bash", "5.0", "Provides: /bin/sh\n", nil}

// publishRPMs makes packages, and the repository that has these alone.
func (w *world) publishRPMs(specs ...spec) {
	w.Helper()
	w.do(os.RemoveAll(filepath.Join(w.root, "srv/repo")))
	w.mkdir("srv/repo")
	w.mkdir("build")
	for _, s := range specs {
		var text strings.Builder
		fmt.Fprintf(&text, "Name: %s\nVersion: %s\nRelease: 1\nSummary: a test\nLicense: none\nBuildArch: noarch\n%s", s.name, s.version, s.tags)
		fmt.Fprintf(&text, "%%description\na test\n%%install\nmkdir -p %%{buildroot}/usr/share/%[1]s\nprintf %[2]s > %%{buildroot}/usr/share/%[1]s/version\n%%files\n/usr/share/%[1]s\n", s.name, s.version)
		for script, body := range s.scripts {
			fmt.Fprintf(&text, "%%%s\n%s\n", script, strings.ReplaceAll(body, "SCRIPT", script))
		}
		w.write("build/spec", text.String())
		w.inside("/usr/bin/rpmbuild", "-bb", "--quiet", "--define", "_rpmdir /srv/repo", "--define", "_topdir /build", "/build/spec")
	}
	w.inside("/usr/bin/createrepo_c", "-q", "/srv/repo")
	w.dnf("makecache", "--refresh")
}

func (w *world) dnf(arguments ...string) string {
	w.Helper()
	return w.inside("/usr/bin/dnf", append([]string{"-y", "-q"}, arguments...)...)
}

// TestDNF takes host_package through its life on a host with dnf, step by step, from both sides. Every step is followed
// by a full cycle that has nothing left to do.
func TestDNF(t *testing.T) {
	t.Parallel()
	w := redHat(t)
	one, two, three := spec{"one", "1.0", "", nil}, spec{"two", "1.0", "Requires: one\n", nil}, spec{"Three_3", "1.0", "Epoch: 2\n", nil}
	w.publishRPMs(shell, one, two, three)
	w.dnf("install", "bash")
	w.PSQL(`INSERT INTO host (name, host_root) VALUES ('here', '`+w.root+`')`,
		`INSERT INTO host_scope (account, kind, pattern) SELECT 'here', 'package', unnest('{one,two,Three*,rival,heir}'::text[])`)
	w.sync()
	w.row("0", `SELECT count(*) FROM host_package`)
	quiet := func(want string) {
		t.Helper()
		w.Settled()
		w.sync()
		if got := w.PSQL(`SELECT string_agg(concat_ws('|', name, version, latest, CASE WHEN held THEN 'held' END, CASE WHEN automatic THEN 'automatic' END, CASE WHEN NOT configured THEN 'unfinished' END), ' ' ORDER BY name) FROM host_package`); got != want {
			t.Errorf("there is %s\nwant     %s", got, want)
		}
		w.row("", `SELECT table_name, state, message FROM iasql_status WHERE state <> 'Present'`)
		before := w.PSQL(`SELECT count(*) FROM iasql_operations`)
		w.sync()
		w.row(before, `SELECT count(*) FROM iasql_operations`)
		w.row("0", `SELECT count(*) FROM iasql_audit_log WHERE NOT settled`)
	}
	says := func(message string) {
		t.Helper()
		w.Becomes(3*shortly, "t", `SELECT bool_or(message LIKE '%`+message+`%') FROM iasql_status WHERE state <> 'Present'`)
	}
	retry := func(name string) {
		w.PSQL(`SELECT iasql_retry('host_package', id) FROM host_package WHERE name = '` + name + `'`)
	}
	// Installed by SQL, with a dependency that is imported; and by others.
	w.PSQL(`INSERT INTO host_package (account, name) VALUES ('here', 'two')`)
	quiet("one|1.0-1|1.0-1|automatic two|1.0-1|1.0-1")
	w.has("usr/share/one/version", "1.0")
	w.dnf("install", "Three_3")
	quiet("Three_3|2:1.0-1|2:1.0-1 one|1.0-1|1.0-1|automatic two|1.0-1|1.0-1")
	// Nothing new: neither rpm nor dnf is started.
	for _, program := range []string{"rpm", "dnf-3"} {
		w.do(os.Rename(filepath.Join(w.root, "usr/bin", program), filepath.Join(w.root, "usr/bin/x-"+program)))
	}
	w.write("usr/bin/dnf-3", "#!/bin/sh\nexit 1\n")
	quiet("Three_3|2:1.0-1|2:1.0-1 one|1.0-1|1.0-1|automatic two|1.0-1|1.0-1")
	for _, program := range []string{"rpm", "dnf-3"} {
		w.do(os.Rename(filepath.Join(w.root, "usr/bin/x-"+program), filepath.Join(w.root, "usr/bin", program)))
	}
	// A newer version: seen, chosen, taken back, and one that is not there.
	newer := spec{"one", "2.0", "", nil}
	w.publishRPMs(shell, one, newer, two, three)
	w.distrust()
	quiet("Three_3|2:1.0-1|2:1.0-1 one|1.0-1|2.0-1|automatic two|1.0-1|1.0-1")
	w.PSQL(`UPDATE host_package SET version = latest WHERE name = 'one'`)
	quiet("Three_3|2:1.0-1|2:1.0-1 one|2.0-1|2.0-1|automatic two|1.0-1|1.0-1")
	w.has("usr/share/one/version", "2.0")
	w.PSQL(`UPDATE host_package SET version = '1.0-1' WHERE name = 'one'`)
	quiet("Three_3|2:1.0-1|2:1.0-1 one|1.0-1|2.0-1|automatic two|1.0-1|1.0-1")
	w.has("usr/share/one/version", "1.0")
	w.PSQL(`UPDATE host_package SET version = '9.9-1' WHERE name = 'one'`)
	says("9.9-1: no repository of the host has it")
	w.PSQL(`UPDATE host_package SET version = '1.0-1' WHERE name = 'one'`)
	// Marks, by SQL and by others. Locks are those of a plugin.
	w.PSQL(`UPDATE host_package SET automatic = false WHERE name = 'one'`, `UPDATE host_package SET held = true WHERE name = 'two'`)
	says("install python3-dnf-plugin-versionlock first")
	w.write("etc/dnf/plugins/versionlock.conf", "[main]\nenabled = 1\nlocklist = /etc/dnf/plugins/versionlock.list\n")
	w.write("etc/dnf/plugins/versionlock.list", "# theirs\n!bash-0:4.0-1.*\none-0:1.0-1.*\n")
	retry("two")
	w.distrust()
	quiet("Three_3|2:1.0-1|2:1.0-1 one|1.0-1|2.0-1|held two|1.0-1|1.0-1|held")
	w.has("etc/dnf/plugins/versionlock.list", "# theirs\n!bash-0:4.0-1.*\none-0:1.0-1.*\ntwo-0:1.0-1.*\n")
	w.PSQL(`UPDATE host_package SET version = '2.0-1' WHERE name = 'one'`, `UPDATE host_package SET held = false WHERE name = 'two'`)
	quiet("Three_3|2:1.0-1|2:1.0-1 one|2.0-1|2.0-1|held two|1.0-1|1.0-1")
	w.has("etc/dnf/plugins/versionlock.list", "# theirs\n!bash-0:4.0-1.*\none-0:2.0-1.*\n")
	w.distrust()
	w.inside("/usr/bin/dnf", "mark", "remove", "Three_3")
	quiet("Three_3|2:1.0-1|2:1.0-1|automatic one|2.0-1|2.0-1|held two|1.0-1|1.0-1")
	// What would change or go besides is found before, and named.
	w.publishRPMs(shell, one, newer, two, three, spec{"heir", "1.0", "Obsoletes: two\nRequires: one = 1.0\n", nil})
	w.PSQL(`INSERT INTO host_package (account, name) VALUES ('here', 'heir')`)
	says("to install heir would remove besides: two. Delete these too")
	w.PSQL(`UPDATE host_package SET may_remove = '{two}' WHERE name = 'heir'`)
	retry("heir")
	says("to install heir would change one, which is held")
	w.PSQL(`DELETE FROM host_package WHERE name = 'heir'`)
	w.publishRPMs(shell, one, newer, two, three, spec{"rival", "1.0", "Conflicts: two\n", nil})
	w.PSQL(`INSERT INTO host_package (account, name) VALUES ('here', 'rival')`, `DELETE FROM host_package WHERE name = 'one'`)
	says("to install rival would remove besides: two. Delete these too")
	says("to remove one would remove besides: two. Delete these too")
	w.has("usr/share/two/version", "1.0")
	w.PSQL(`UPDATE host_package SET may_remove = '{two}' WHERE name = 'rival'`)
	retry("rival")
	quiet("Three_3|2:1.0-1|2:1.0-1|automatic rival|1.0-1|1.0-1")
	w.has("usr/share/two/version", "-")
	// What the host cannot be without stays, and nothing is purged.
	w.write("etc/dnf/protected.d/three.conf", "Three*\n")
	w.PSQL(`INSERT INTO host_scope (account, kind, pattern) VALUES ('here', 'package', 'bash')`)
	w.sync()
	w.row("Three_3", `SELECT name FROM host_package WHERE essential`)
	w.PSQL(`DELETE FROM host_package WHERE name IN ('Three_3', 'bash')`)
	says("Three_3 is never removed: it is essential")
	says("bash is never removed: the host cannot be without it")
	w.PSQL(`UPDATE host_package SET purge = true WHERE name = 'rival'`, `DELETE FROM host_package WHERE name = 'rival'`)
	says("rpm does not purge")
	w.has("usr/share/rival/version", "1.0")
	w.PSQL(`INSERT INTO host_package (account, name) SELECT 'here', unnest('{rival,bash,Three_3}'::text[])`)
	quiet("Three_3|2:1.0-1|2:1.0-1 bash|5.0-1|5.0-1 rival|1.0-1|1.0-1")
	// Another program has rpm's lock for longer than the engine waits: it says so, and goes on once that has ended.
	holder := exec.Command("python3", "-c", "import fcntl, sys; f = open(sys.argv[1], 'r+'); fcntl.lockf(f, fcntl.LOCK_EX); print('held', flush=True); sys.stdin.read()",
		filepath.Join(w.root, "var/lib/rpm/.rpm.lock"))
	release, err := holder.StdinPipe()
	w.do(err)
	said, err := holder.StdoutPipe()
	w.do(err)
	w.do(holder.Start())
	if line, err := bufio.NewReader(said).ReadString('\n'); line != "held\n" {
		t.Fatalf("%s, %v", line, err)
	}
	w.PSQL(`DELETE FROM host_package WHERE name = 'rival'`)
	w.Becomes(longest, "t", fmt.Sprintf(`SELECT bool_or(message LIKE '%%process %d has had the packages locked%%') FROM iasql_status`, holder.Process.Pid))
	w.has("usr/share/rival/version", "1.0")
	release.Close()
	w.do(holder.Wait())
	w.Becomes(longest, "0", `SELECT count(*) FROM iasql_audit_log WHERE NOT settled`)
	w.has("usr/share/rival/version", "-")
}

// TestWatchDNF: what others do with packages by dnf is in the table, and reading them is no reason to read them again.
func TestWatchDNF(t *testing.T) {
	t.Parallel()
	w := redHatAs(t, &world{watched: true})
	w.publishRPMs(shell, spec{"one", "1.0", "", nil})
	w.dnf("install", "bash")
	w.Admin(rarely)
	w.PSQL(`INSERT INTO host (name, host_root) VALUES ('here', '`+w.root+`')`, `INSERT INTO host_scope (account, kind, pattern) VALUES ('here', 'package', 'one')`)
	w.sync()
	w.isWatched("here")
	w.dnf("install", "one")
	w.Becomes(within, "1.0-1|f", `SELECT version || '|' || left(automatic::text, 1) FROM host_package`)
	w.dnf("mark", "remove", "one")
	w.Becomes(within, "t", `SELECT automatic FROM host_package`)
	w.readsQuietly("here")
	w.dnf("remove", "one")
	w.Becomes(within, "0", `SELECT count(*) FROM host_package`)
}

// holdRPM has a script of a package stop where a test wants to look, as [holdHere] has those of dpkg's.
const holdRPM = `echo "SCRIPT %{name} %{version} $1" >> /runs
at=/at/SCRIPT-%{version}
[ -p "$at" ] || exit 0
exec 3<>/at/go
echo here > "$at"
read -r word <&3`

// TestDNFKilled ends dnf, the script and the runner at one instant, or the runner alone, while a package is installed,
// changed and removed. The engine goes on by itself, and in the end each is as the table says, with the marks that it
// had, and nothing else has changed.
func TestDNFKilled(t *testing.T) {
	t.Parallel()
	w := redHat(t)
	scripts := map[string]string{}
	for _, script := range []string{"pre", "post", "preun", "postun"} {
		scripts[script] = holdRPM
	}
	w.publishRPMs(shell, spec{"slow", "1.0", "", scripts}, spec{"slow", "2.0", "", scripts}, spec{"bystander", "1.0", "", scripts})
	w.write("etc/dnf/plugins/versionlock.conf", "[main]\nlocklist=/etc/dnf/plugins/versionlock.list\n")
	w.dnf("install", "bystander")
	w.machineOf(listen(t))
	w.PSQL(`INSERT INTO host_scope (account, kind, pattern) VALUES ('web', 'package', 'slow'), ('web', 'package', 'bystander')`)
	w.confirm()
	others := func() string { return w.inside("/usr/bin/rpm", "-qa", "--qf", "%{NEVRA} %{INSTALLTIME}\n") }
	before := others()

	const insert = `INSERT INTO host_package (account, name, version) VALUES ('web', 'slow', '1.0-1')`
	const upgrade = `UPDATE host_package SET version = '2.0-1' WHERE name = 'slow'`
	const downgrade = `UPDATE host_package SET version = '1.0-1' WHERE name = 'slow'`
	const remove = `DELETE FROM host_package WHERE name = 'slow'`
	const there = `INSERT INTO host_package (account, name, version, held, automatic) VALUES ('web', 'slow', '%s', true, true)`
	one, two := fmt.Sprintf(there, "1.0-1"), fmt.Sprintf(there, "2.0-1")
	for _, c := range []struct{ stop, version, killed, first, then, want string }{
		{"pre", "1.0", "", "", insert, "1.0-1"},
		{"post", "1.0", "", "", insert, "1.0-1"},
		{"post", "1.0", ".iasql-runner/", "", insert, "1.0-1"},
		{"pre", "2.0", "", one, upgrade, "2.0-1|held|automatic"},
		{"post", "2.0", "", one, upgrade, "2.0-1|held|automatic"},
		{"post", "2.0", ".iasql-runner/", one, upgrade, "2.0-1|held|automatic"},
		{"preun", "1.0", "", one, upgrade, "2.0-1|held|automatic"},
		{"postun", "1.0", "", one, upgrade, "2.0-1|held|automatic"},
		{"post", "1.0", "", two, downgrade, "1.0-1|held|automatic"},
		{"preun", "1.0", "", one, remove, ""},
		{"postun", "1.0", "", one, remove, ""},
		{"postun", "1.0", ".iasql-runner/", one, remove, ""},
	} {
		if testing.Short() && c.stop != "post" {
			continue
		}
		settled := func() {
			w.Helper()
			w.Becomes(longest, "0", `SELECT count(*) FROM iasql_audit_log WHERE NOT settled`)
			w.Becomes(longest, "", `SELECT * FROM iasql_status WHERE state <> 'Present'`)
		}
		what := fmt.Sprintf("%s of %s, killed is %q, %s", c.stop, c.version, c.killed, c.then)
		if c.first != "" {
			w.PSQL(c.first)
			settled()
		}
		s := w.stopAt(c.stop, c.version)
		w.PSQL(c.then)
		s.wait()
		if c.killed == "" {
			s.forget() // the script goes with its parent
			w.kill("")
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
		version, _, _ := strings.Cut(c.want, "-")
		if version == "" {
			version = "-"
		}
		w.has("usr/share/slow/version", version)
		if left, _ := os.ReadDir(filepath.Join(w.root, "var/lib/iasql-runner/packages")); len(left) > 0 {
			t.Errorf("%s: it leaves %v", what, left)
		}
		w.PSQL(remove)
		settled()
		if after := others(); after != before {
			t.Errorf("%s: there is\n%s\nand there was\n%s", what, after, before)
		}
		w.do(os.RemoveAll(filepath.Join(w.root, "etc/dnf/plugins/versionlock.list")))
	}
	runs, err := os.ReadFile(filepath.Join(w.root, "runs"))
	if err != nil || strings.Count(string(runs), "bystander") != 2 { // its installation
		t.Errorf("another package was touched: %v\n%s", err, runs)
	}
}
