package hosts

import (
	"strings"
	"testing"
	"time"
)

// The designs that this project unites, each with what it promises, on hosts.

// TestSettlesGarbageCollection: a host's files are as they were declared last. What a declaration no longer names goes,
// if the one before named it; what others have put there stays, and what no scope names is not touched (R37).
func TestSettlesGarbageCollection(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.mkdir("etc/app")
	w.mkdir("srv")
	w.write("etc/app/theirs", "by hand")
	w.write("srv/b.conf", "out of scope")
	w.PSQL(`INSERT INTO host (name, host_root) VALUES ('here', '`+w.root+`')`,
		`INSERT INTO host_scope (account, pattern) VALUES ('here', '/etc/app/**')`)
	w.sync()
	declare := func(names ...string) {
		t.Helper()
		statements := []string{`CALL iasql_declare('app')`}
		for _, name := range names {
			statements = append(statements, `INSERT INTO host_file (account, path, content) VALUES ('here', '/etc/app/`+
				name+`', 'declared') ON CONFLICT DO NOTHING`)
		}
		w.PSQL(append(statements, `CALL iasql_declared()`, `SELECT iasql_wait_for_all(60)`)...)
	}
	declare("a.conf", "b.conf", "c.conf")
	for _, name := range []string{"a.conf", "b.conf", "c.conf"} {
		w.has("etc/app/"+name, "declared")
	}
	before := w.PSQL(`SELECT count(*) FROM iasql_operations`)
	declare("a.conf", "b.conf", "c.conf")
	w.row(before, `SELECT count(*) FROM iasql_operations`)

	declare("a.conf", "d.conf")
	w.has("etc/app/a.conf", "declared")
	w.has("etc/app/b.conf", "-")
	w.has("etc/app/c.conf", "-")
	w.has("etc/app/d.conf", "declared")
	w.has("etc/app/theirs", "by hand")
	w.has("srv/b.conf", "out of scope")
	w.row("a.conf d.conf", `SELECT string_agg(replace(f.path, '/etc/app/', ''), ' ' ORDER BY f.path)
		FROM iasql_mentions m JOIN host_file f ON f.id = m.record_id AND m.table_name = 'host_file'`)

	// All of it goes with the configuration.
	w.PSQL(`DELETE FROM iasql_configurations WHERE name = 'app'`, `SELECT iasql_wait_for_all(60)`)
	w.has("etc/app/a.conf", "-")
	w.has("etc/app/d.conf", "-")
	w.has("etc/app/theirs", "by hand")
}

// TestOpenDuTsJoin: what is joined to a bridge waits until the bridge is there, whichever is made first; and a bridge
// goes after what was joined to it.
func TestOpenDuTsJoin(t *testing.T) {
	t.Parallel()
	w, m := networked(t)
	w.PSQL(`INSERT INTO host_interface (account, name, kind, peer, master) VALUES ('web', 'v5', 'veth', 'v6', 'br5')`)
	w.Becomes(3*shortly, "t", `SELECT count(*) > 0 FROM iasql_status WHERE table_name = 'host_interface' AND state <> 'Present'`)
	if out := m.must(`ip -o link show v5 2>&1 || true`); out != `Device "v5" does not exist.` {
		t.Errorf("without its bridge there is %s", out)
	}
	w.PSQL(`INSERT INTO host_interface (account, name) VALUES ('web', 'br5')`)
	w.quiet("br5 v5 v6", `SELECT string_agg(name, ' ' ORDER BY name) FROM host_interface`)
	if out := m.must(`ip -o link show master br5 | cut -d: -f2`); out != "v5@v6" {
		t.Errorf("joined are %q", out)
	}
	w.PSQL(`DELETE FROM host_interface`)
	w.quiet("", `SELECT string_agg(name, ' ') FROM host_interface`)
	if out := m.must(`ip -o link | wc -l`); out != "2" {
		t.Errorf("left over: %s", m.must("ip link"))
	}
}

// TestBalenasApplicationRestart: an application is stopped, and started once, for all that has changed of it; one that
// fails is started again at growing distances, and its failure is told with its own words; what is put right starts it.
func TestBalenasApplicationRestart(t *testing.T) {
	t.Parallel()
	w, b := managed(t)
	text := strings.ReplaceAll(service("app"), "ExecReload=", "ExecStopPost=/bin/sh -c 'echo stopped >> /starts-app'\nExecReload=")
	w.together(`INSERT INTO host_file (account, path, content) SELECT 'here', '/etc/app/' || n || '.conf', 'first' FROM generate_series(1, 30) n`,
		`INSERT INTO host_unit (account, name, unit_file, enabled, active, restart_on) VALUES ('here', 'app.service', '`+escape(text)+`', 'enabled', 'running', '{/etc/app/**}')`)
	w.Settled()
	log := func() string { return strings.Join(strings.Fields(b.must(`cat /starts-app`)), " ") }
	if got := log(); got != "started" {
		t.Errorf("it was %s", got)
	}
	// A release: all of it changes, and some of it goes.
	w.together(`UPDATE host_file SET content = 'second'`, `DELETE FROM host_file WHERE path IN ('/etc/app/1.conf', '/etc/app/2.conf')`)
	w.Eventually(3*shortly, "it is started anew", func() bool { return log() == "started stopped started" })
	w.Settled()
	w.sync()
	if got := log(); got != "started stopped started" {
		t.Errorf("it was %s", got)
	}
	// A bad release: it fails, says why, and is tried again, less and less often. Other things go on meanwhile.
	w.PSQL(`INSERT INTO host_file (account, path, content) VALUES ('here', '/etc/app/bad', 'x')`)
	w.Becomes(3*shortly, "t", `SELECT bool_or(message LIKE '%restart unit app.service%the configuration is bad%') FROM iasql_status WHERE table_name = 'host_unit'`)
	w.row("{/etc/app/bad}", `SELECT restart_due FROM host_unit`)
	begun := time.Now()
	w.Eventually(6*shortly, "it is tried again", func() bool { return strings.Count(log(), "started") >= 5 })
	// Without a distance that grows it would be tried all the time.
	if n, most := strings.Count(log(), "started"), 8+int(time.Since(begun).Seconds()); n > most {
		t.Errorf("within %s it was started %d times: %s", time.Since(begun), n, log())
	}
	w.PSQL(`UPDATE host_file SET content = 'third' WHERE path = '/etc/app/3.conf'`)
	w.Eventually(shortly, "another file is written", func() bool { return b.must(`cat /etc/app/3.conf`) == "third" })
	w.PSQL(`DELETE FROM host_file WHERE path = '/etc/app/bad'`)
	w.Becomes(3*shortly, "active|", `SELECT active_state, restart_due FROM host_unit`)
	w.Settled()
	w.row("", `SELECT message FROM iasql_status WHERE state <> 'Present'`)
}

// TestPeacesExampleGraph: items that depend on one another, a file that is written, a package that is installed, and a
// service that needs both. They are looked at before anything is done (a dry run), ensured, interrupted and continued,
// found to be as they are to be, and cleaned in the end.
func TestPeacesExampleGraph(t *testing.T) {
	t.Parallel()
	w, b := managed(t)
	b.must(`mkdir -p /srv/repo; echo 'deb [trusted=yes] file:/srv/repo ./' > /etc/apt/sources.list`)
	w.publish(deb{"web-app", "1.0", "", nil}, deb{"web-app", "2.0", "", nil})
	b.must(`apt-get update`)
	w.PSQL(`INSERT INTO host_scope (account, kind, pattern) VALUES ('here', 'package', 'web-app')`)
	w.sync()
	graph := []string{
		`INSERT INTO host_unit (account, name, unit_file, enabled, active, restart_on) VALUES ('here', 'app.service', '` + escape(strings.ReplaceAll(service("app"), "[Service]", "[Service]\nExecStartPre=/bin/sh -c 'test -e /etc/app/web.conf && test -e /usr/share/web-app/version'")) + `', 'enabled', 'running', '{/etc/app/web.conf,package:web-app}')`,
		`INSERT INTO host_file (account, path, content) VALUES ('here', '/etc/app/web.conf', 'port = 80')`,
		`INSERT INTO host_package (account, name, version) VALUES ('here', 'web-app', '1.0')`,
	}
	there := func() string {
		return b.must(`ls /etc/app/web.conf /usr/share/web-app/version /etc/systemd/system/app.service 2>/dev/null | wc -l; systemctl is-active app.service || true`)
	}
	// The dry run says what would be done, and does nothing.
	got := w.PSQL(append(append([]string{`CALL iasql_begin()`}, graph...), `SELECT string_agg(table_name, ' ' ORDER BY table_name) FROM iasql_preview()`, `CALL iasql_rollback()`)...)
	if !strings.Contains(got, "host_file host_package host_unit") {
		t.Errorf("the preview is %s", got)
	}
	if got := there(); got != "0\ninactive" {
		t.Errorf("the dry run has left %s", got)
	}
	// Ensured: whatever the order in which they are said, each is made after what it needs. The engine is ended in between.
	w.together(graph...)
	w.Eventually(3*shortly, "it has begun", func() bool { return !strings.HasPrefix(there(), "0") })
	w.end()
	w.begin()
	w.Settled()
	w.sync()
	if got := there(); got != "3\nactive" {
		t.Errorf("there is %s", got)
	}
	w.row("", `SELECT table_name, message FROM iasql_status WHERE state <> 'Present'`)
	if got := b.starts("app"); got != 1 {
		t.Errorf("it was started %d times", got)
	}
	// Ensured again: nothing is to be done.
	before := w.PSQL(`SELECT count(*) FROM iasql_operations`)
	w.sync()
	w.row(before, `SELECT count(*) FROM iasql_operations`)
	// Changed, and ended before what follows from it: the next engine goes on.
	w.together(`UPDATE host_package SET version = '2.0'`, `UPDATE host_file SET content = 'port = 81'`)
	w.Eventually(3*shortly, "the file is written", func() bool { return strings.Contains(b.must(`cat /etc/app/web.conf`), "81") })
	w.end()
	w.begin()
	w.Settled()
	w.sync()
	w.Eventually(3*shortly, "it is started anew", func() bool { return b.starts("app") >= 2 })
	w.sync()
	w.row("{}|running", `SELECT coalesce(restart_due, '{}'), active FROM host_unit`)
	// (Ended after it was told to start it, and before it has heard that it was: it may have been started by both.)
	if got := b.starts("app"); got > 3 {
		t.Errorf("it was started %d times", got)
	}
	w.has("usr/share/web-app/version", "2.0")
	// Cleaned.
	w.together(`DELETE FROM host_unit`, `DELETE FROM host_file`, `DELETE FROM host_package`)
	w.Settled()
	w.sync()
	if got := there(); got != "0\ninactive" {
		t.Errorf("cleaning has left %s", got)
	}
}
