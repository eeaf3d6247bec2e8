package hosts

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"iasql/internal/hosts/runner"
)

// TestUnits takes host_unit through its life, step by step, from both sides. Every step is followed by a full cycle
// that has nothing left to do.
func TestUnits(t *testing.T) {
	t.Parallel()
	w, b := managed(t)
	w.row("", `SELECT string_agg(name, ' ') FROM host_unit`)
	quiet := func(want string) {
		t.Helper()
		w.Settled()
		w.sync()
		w.row(want, `SELECT string_agg(concat_ws('|', name, enabled, active, active_state, sub_state, result, CASE WHEN unit_file IS NOT NULL THEN 'own' END, (SELECT string_agg(k, ',' ORDER BY k) FROM jsonb_object_keys(drop_ins) k), CASE WHEN needs_reload THEN 'needs reload' END, restart_due), ' ' ORDER BY name COLLATE "C") FROM host_unit`)
		w.row("", `SELECT table_name, state, message FROM iasql_status WHERE state <> 'Present'`)
		before := w.PSQL(`SELECT count(*) FROM iasql_operations`)
		w.sync()
		w.row(before, `SELECT count(*) FROM iasql_operations`)
		w.row("0", `SELECT count(*) FROM iasql_audit_log WHERE NOT settled`)
	}
	// Made by SQL, and started.
	w.PSQL(`INSERT INTO host_unit (account, name, unit_file, enabled, active) VALUES ('here', 'app.service', '` + escape(service("app")) + `', 'enabled', 'running')`)
	quiet("app.service|enabled|running|active|running|own")
	w.row("app of a test", `SELECT description FROM host_unit`)
	if got := b.must(`systemctl is-enabled app.service; systemctl is-active app.service`); got != "enabled\nactive" {
		t.Errorf("it is %s", got)
	}
	// Stopped and disabled by SQL, and started by others.
	w.PSQL(`UPDATE host_unit SET active = 'stopped', enabled = 'disabled'`)
	quiet("app.service|disabled|stopped|inactive|dead|own")
	w.distrust()
	b.must(`systemctl enable --now app.service`)
	quiet("app.service|enabled|running|active|running|own")
	// Drop-ins, by SQL and by others.
	w.PSQL(`UPDATE host_unit SET drop_ins = '{"limits.conf": "[Service]\nLimitNOFILE=1234\n"}'`)
	quiet("app.service|enabled|running|active|running|own|limits.conf")
	if got := b.must(`systemctl show -p LimitNOFILE --value app.service`); got != "1234" {
		t.Errorf("the limit is %s", got)
	}
	w.distrust()
	b.must(`mkdir -p /etc/systemd/system/app.service.d; printf '[Service]\nNice=5\n' > /etc/systemd/system/app.service.d/nice.conf`)
	quiet("app.service|enabled|running|active|running|own|limits.conf,nice.conf|needs reload")
	w.distrust()
	b.must(`systemctl daemon-reload`)
	quiet("app.service|enabled|running|active|running|own|limits.conf,nice.conf")
	w.PSQL(`UPDATE host_unit SET drop_ins = NULL`)
	quiet("app.service|enabled|running|active|running|own")
	if got := b.must(`ls /etc/systemd/system | grep app.service; systemctl show -p LimitNOFILE --value app.service`); strings.HasSuffix(got, "1234") || strings.Contains(got, ".d") {
		t.Errorf("left over: %s", got)
	}
	// The file of the unit, by others and by SQL.
	w.distrust()
	b.must(`sed -i 's/^Description=.*/Description=by hand/' /etc/systemd/system/app.service; systemctl daemon-reload`)
	quiet("app.service|enabled|running|active|running|own")
	w.row("by hand", `SELECT description FROM host_unit`)
	w.PSQL(`UPDATE host_unit SET unit_file = replace(unit_file, 'by hand', 'by SQL')`)
	quiet("app.service|enabled|running|active|running|own")
	w.row("by SQL", `SELECT description FROM host_unit`)
	// A timer, a template and its instances.
	w.together(`INSERT INTO host_unit (account, name, unit_file) VALUES ('here', 'app-tick.service', E'[Service]\nType=oneshot\nExecStart=/bin/true\n')`,
		`INSERT INTO host_unit (account, name, unit_file, enabled, active) VALUES ('here', 'app-tick.timer', E'[Timer]\nOnCalendar=yearly\n[Install]\nWantedBy=timers.target\n', 'enabled', 'running')`,
		`INSERT INTO host_unit (account, name, unit_file) VALUES ('here', 'app-of@.service', E'[Service]\nExecStart=/bin/sleep infinity\n[Install]\nWantedBy=multi-user.target\n')`,
		`INSERT INTO host_unit (account, name, enabled, active) VALUES ('here', 'app-of@one.service', 'enabled', 'running')`)
	quiet("app-of@.service|disabled|own app-of@one.service|enabled|running|active|running app-tick.service|static|stopped|inactive|dead|own " +
		"app-tick.timer|enabled|running|active|waiting|own app.service|enabled|running|active|running|own")
	if got := b.must(`systemctl is-active app-tick.timer app-of@one.service`); got != "active\nactive" {
		t.Errorf("they are %s", got)
	}
	w.PSQL(`DELETE FROM host_unit WHERE name LIKE 'app-%'`)
	quiet("app.service|enabled|running|active|running|own")
	if got := b.must(`ls -R /etc/systemd/system | grep app-; ls /etc/systemd/system/*.wants | grep app-; systemctl is-active app-of@one.service; true`); got != "inactive" {
		t.Errorf("left over: %s", got)
	}
	// Whichever of a template and its instance goes first, and one after the other.
	for round := range 4 {
		w.together(`INSERT INTO host_unit (account, name, unit_file) VALUES ('here', 'app-of@.service', E'[Service]\nExecStart=/bin/sleep infinity\n[Install]\nWantedBy=multi-user.target\n')`,
			`INSERT INTO host_unit (account, name, enabled, active) VALUES ('here', 'app-of@one.service', 'enabled', 'running')`)
		quiet("app-of@.service|disabled|own app-of@one.service|enabled|running|active|running app.service|enabled|running|active|running|own")
		if round == 0 {
			w.PSQL(`DELETE FROM host_unit WHERE name = 'app-of@.service'`)
			quiet("app-of@one.service|static|running|active|running app.service|enabled|running|active|running|own")
		}
		w.PSQL(`DELETE FROM host_unit WHERE name LIKE 'app-%'`)
		quiet("app.service|enabled|running|active|running|own")
		if got := b.must(`ls /etc/systemd/system/*.wants | grep app-; systemctl is-active app-of@one.service; true`); got != "inactive" {
			t.Errorf("round %d: left over: %s", round, got)
		}
	}
	// A unit that a package brings: its own texts, a mask, and no deletion.
	b.must(`cp /etc/systemd/system/app.service /lib/systemd/system/app-brought.service; systemctl daemon-reload`)
	quiet("app-brought.service|disabled|stopped|inactive|dead app.service|enabled|running|active|running|own")
	w.PSQL(`UPDATE host_unit SET enabled = 'masked' WHERE name = 'app-brought.service'`)
	quiet("app-brought.service|masked|stopped|inactive|dead app.service|enabled|running|active|running|own")
	if got := b.must(`readlink /etc/systemd/system/app-brought.service`); got != "/dev/null" {
		t.Errorf("it is no mask: %s", got)
	}
	w.refused("host_unit", `UPDATE host_unit SET enabled = 'masked' WHERE name = 'app.service'`)
	w.PSQL(`UPDATE host_unit SET enabled = 'disabled', drop_ins = '{"x.conf": "[Service]\nNice=1\n"}' WHERE name = 'app-brought.service'`)
	quiet("app-brought.service|disabled|stopped|inactive|dead|x.conf app.service|enabled|running|active|running|own")
	w.PSQL(`DELETE FROM host_unit WHERE name = 'app-brought.service'`)
	w.Becomes(shortly, "t", `SELECT message LIKE '%goes with its package%' FROM iasql_status WHERE state <> 'Present'`)
	w.PSQL(`INSERT INTO host_unit (account, name) VALUES ('here', 'app-brought.service')`)
	quiet("app-brought.service|disabled|stopped|inactive|dead|x.conf app.service|enabled|running|active|running|own")
	w.PSQL(`UPDATE host_unit SET drop_ins = NULL WHERE name = 'app-brought.service'`)
	quiet("app-brought.service|disabled|stopped|inactive|dead app.service|enabled|running|active|running|own")
	b.must(`rm /lib/systemd/system/app-brought.service; systemctl daemon-reload`)
	w.distrust()
	quiet("app.service|enabled|running|active|running|own")
	// By others, all of it.
	w.distrust()
	b.must(`systemctl disable --now app.service; rm /etc/systemd/system/app.service; systemctl daemon-reload; systemctl reset-failed`)
	quiet("")
	// The module goes without a trace, and comes back.
	w.PSQL(`SELECT iasql_uninstall('host_units')`, `SELECT iasql_install('host_units')`)
	w.sync()
}

// TestUnitsRefused: what cannot be, must not be, or does not start, says why.
func TestUnitsRefused(t *testing.T) {
	t.Parallel()
	w, b := managed(t)
	says := func(want string) {
		t.Helper()
		w.Becomes(3*shortly, "t", `SELECT bool_or(message LIKE '%`+want+`%') FROM iasql_status WHERE state <> 'Present'`)
	}
	// Refused as it is written.
	w.refused("INSERT INTO host_scope (account, kind, pattern) VALUES ('here', 'unit', 'other.service')", `INSERT INTO host_unit (account, name) VALUES ('here', 'other.service')`)
	for _, name := range []string{"app", "app.device", "../app.service", "app/x.service", "--now.service;", "app\n.service", ""} {
		w.refused("host_unit", `INSERT INTO host_unit (account, name) VALUES ('here', '`+name+`')`)
	}
	for _, column := range []string{`drop_ins = '{"../x.conf": "a"}'`, `drop_ins = '{"x.conf": 1}'`, `drop_ins = '[]'`, `active = 'dead'`, `enabled = 'maybe'`,
		`restart_on = '{etc/app}'`, `restart_on = '{"/etc/app/"}'`, `restart_on = '{NULL}'`, `restart_on = '{service:x}'`} {
		b := strings.SplitN(column, " = ", 2)
		w.refused("host_unit", `INSERT INTO host_unit (account, name, `+b[0]+`) VALUES ('here', 'app.service', `+b[1]+`)`)
	}
	// There is no such unit, until there is.
	w.PSQL(`INSERT INTO host_unit (account, name, active) VALUES ('here', 'app-later.service', 'running')`)
	says("there is no unit app-later.service: give it a unit_file")
	b.must(`printf '[Service]\nExecStart=/bin/sleep infinity\n' > /lib/systemd/system/app-later.service; systemctl daemon-reload`)
	w.Settled()
	w.row("app-later.service|static|running", `SELECT name, enabled, active FROM host_unit`)
	w.PSQL(`UPDATE host_unit SET enabled = 'enabled'`)
	says("no section [Install]")
	w.PSQL(`UPDATE host_unit SET enabled = 'static'`)
	w.Settled()
	// One that ends by itself never goes on running.
	w.PSQL(`INSERT INTO host_unit (account, name, unit_file, active) VALUES ('here', 'app-once.service', E'[Service]\nType=oneshot\nExecStart=/bin/true\n', 'running')`)
	says("has ended by itself, with success")
	w.PSQL(`DELETE FROM host_unit WHERE name = 'app-once.service'`)
	// One that fails says so, with what it has said, and is tried again until it does not.
	b.must(`touch /etc/app/bad`)
	w.PSQL(`INSERT INTO host_unit (account, name, unit_file, enabled, active) VALUES ('here', 'app.service', '` + escape(service("app")) + `', 'enabled', 'running')`)
	says("with the result exit-code. Its journal ends with:%the configuration is bad")
	w.Becomes(shortly, "app.service|failed|exit-code", `SELECT name, active_state, result FROM host_unit WHERE name = 'app.service'`)
	b.must(`rm /etc/app/bad`)
	w.Settled()
	w.row("app.service|running|active", `SELECT name, active, active_state FROM host_unit WHERE name = 'app.service'`)
	// A file that systemd does not take.
	w.PSQL(`INSERT INTO host_unit (account, name, unit_file, active) VALUES ('here', 'app-bad.service', 'ExecStart=/bin/true', 'running')`)
	says("app-bad.service")
	w.PSQL(`DELETE FROM host_unit WHERE name = 'app-bad.service'`)
	// What the host cannot be without.
	w.PSQL(`INSERT INTO host_scope (account, kind, pattern) VALUES ('here', 'unit', 'systemd-logind.service'), ('here', 'unit', 'dbus.socket'), ('here', 'unit', '-.mount'), ('here', 'unit', 'reboot.target')`)
	w.sync()
	w.row("4", `SELECT count(*) FROM host_unit WHERE name NOT LIKE 'app%'`)
	w.PSQL(`UPDATE host_unit SET active = 'stopped' WHERE name IN ('systemd-logind.service', 'dbus.socket', '-.mount')`, `UPDATE host_unit SET active = 'running' WHERE name = 'reboot.target'`)
	w.Becomes(shortly, "4", `SELECT count(*) FROM iasql_status WHERE message LIKE '%is shown and not changed%'`)
	if got := b.must(`systemctl is-active systemd-logind.service dbus.socket -- -.mount`); got != "active\nactive\nactive" {
		t.Errorf("they are %s", got)
	}
	// A hostile text of the host's shows as text.
	b.must(`printf '[Unit]\nDescription=\033[31mred\n[Service]\nExecStart=/bin/true\n' > /etc/systemd/system/app-evil.service; systemctl daemon-reload`)
	b.must(`ln -s /etc/shadow /etc/systemd/system/app-link.service; mkdir /etc/systemd/system/app-evil.service.d; ln -s /etc/shadow /etc/systemd/system/app-evil.service.d/x.conf`)
	w.sync()
	w.row("t|t", `SELECT description !~ '[[:cntrl:]]', drop_ins IS NULL FROM host_unit WHERE name = 'app-evil.service'`)
	w.row("0", `SELECT count(*) FROM host_unit WHERE unit_file LIKE '%root:%'`)
}

// TestUnitsRestart: a unit is started anew once for many changes, by whomever, after the last of them; reloading is
// enough where only reload_on names what has changed; and nothing is forgotten.
func TestUnitsRestart(t *testing.T) {
	t.Parallel()
	w, b := managed(t)
	w.together(`INSERT INTO host_file (account, path, content) VALUES ('here', '/etc/app/a.conf', 'a'), ('here', '/etc/app/b.conf', 'b')`,
		`INSERT INTO host_unit (account, name, unit_file, enabled, active, restart_on, reload_on) VALUES ('here', 'app.service', '`+escape(service("app"))+`', 'enabled', 'running', '{/etc/app/*.conf}', '{/etc/app/reload/**}')`)
	settled := func(want int) {
		t.Helper()
		w.Settled()
		w.sync()
		w.row("", `SELECT table_name, state, message FROM iasql_status WHERE state <> 'Present'`)
		w.row("", `SELECT restart_due FROM host_unit WHERE restart_due IS NOT NULL`)
		if got := b.starts("app"); got != want {
			t.Errorf("it was started %d times, and not %d", got, want)
		}
	}
	settled(1)
	// Many changes at once, one of which waits for its directory.
	w.together(`UPDATE host_file SET content = content || '2'`,
		`INSERT INTO host_file (account, path, content) SELECT 'here', '/etc/app/c' || n || '.conf', 'c' FROM generate_series(1, 20) n`)
	w.Becomes(3*shortly, "22", `SELECT count(*) FROM host_file WHERE sha256 IS NOT NULL`)
	w.Eventually(3*shortly, "it is started anew", func() bool { return b.starts("app") == 2 })
	settled(2)
	// What it does not name is none of its business.
	w.PSQL(`INSERT INTO host_file (account, path, content) VALUES ('here', '/etc/app/notes', 'x')`)
	settled(2)
	// A deletion is a change.
	w.PSQL(`DELETE FROM host_file WHERE path = '/etc/app/c1.conf'`)
	w.Eventually(3*shortly, "it is started anew", func() bool { return b.starts("app") == 3 })
	settled(3)
	// By others; and what is as it was is no change.
	w.distrust()
	b.must(`echo by hand > /etc/app/a.conf`)
	w.sync()
	settled(4)
	b.must(`touch /etc/app/a.conf; cp -p /etc/app/a.conf /etc/app/x; mv /etc/app/x /etc/app/a.conf`)
	w.sync()
	settled(4)
	// Somebody else has started it since: it is not started twice.
	b.must(`echo again > /etc/app/b.conf; sleep 0.1; systemctl restart app.service`)
	w.sync()
	settled(5)
	// Reloading is enough.
	w.together(`INSERT INTO host_file (account, path, kind) VALUES ('here', '/etc/app/reload', 'directory')`, `INSERT INTO host_file (account, path, content) VALUES ('here', '/etc/app/reload/x', 'x')`)
	w.Eventually(3*shortly, "it is reloaded", func() bool { return strings.TrimSpace(b.must(`cat /reloads-app 2>/dev/null || true`)) == "reloaded" })
	settled(5)
	// One that is stopped stays so, and is started with what there is then.
	w.PSQL(`UPDATE host_unit SET active = 'stopped'`)
	settled(5)
	w.PSQL(`UPDATE host_file SET content = 'while it was stopped' WHERE path = '/etc/app/a.conf'`)
	settled(5)
	w.PSQL(`UPDATE host_unit SET active = 'running'`)
	settled(6)
	// The host keeps what it is started anew for; tracked, it shows what is due and does nothing.
	w.PSQL(`INSERT INTO iasql_mode (mode, table_name) VALUES ('TRACK', 'host_unit')`)
	b.must(`echo tracked > /etc/app/a.conf`)
	w.sync()
	w.row("{/etc/app/a.conf}", `SELECT restart_due FROM host_unit`)
	if got := b.starts("app"); got != 6 {
		t.Errorf("it was started %d times", got)
	}
}

func escape(text string) string { return strings.ReplaceAll(text, "'", "''") }

// together runs statements in one transaction.
func (w *world) together(statements ...string) {
	w.Helper()
	w.PSQL(append(append([]string{"BEGIN"}, statements...), "COMMIT")...)
}

// direct starts a runner inside, and talks to it without an engine.
func (b *booted) direct() *direct {
	b.t.Helper()
	program, err := built()
	if err == nil {
		err = os.WriteFile(filepath.Join(b.root, "runner"), program, 0o755) // #nosec G306 -- a program
	}
	if err != nil {
		b.t.Fatal(err)
	}
	d := &direct{t: b.t, process: exec.Command("nsenter", "-t", strconv.Itoa(b.pid), "--all", "--", "/runner")}
	if d.in, err = d.process.StdinPipe(); err != nil {
		b.t.Fatal(err)
	}
	out, err := d.process.StdoutPipe()
	if err == nil {
		d.lines = bufio.NewReader(out)
		err = d.process.Start()
	}
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = d.in.Close(); _ = d.process.Wait() })
	d.answer()
	return d
}

// TestUnitsArmed: a change of a unit that lets one in is undone by the host unless somebody who has come in anew confirms
// it: its file, its drop-ins, whether it is enabled and whether it runs.
func TestUnitsArmed(t *testing.T) {
	t.Parallel()
	b := bootSystemd(t)
	b.must("cat > /etc/systemd/system/ssh.service <<'E'\n" + service("ssh") + "E\nsystemctl daemon-reload; systemctl enable --now ssh.service")
	d := b.direct()
	state := func() string {
		return b.must(`cd /etc/systemd/system; systemctl is-enabled ssh.service; systemctl is-active ssh.service; sha256sum ssh.service | cut -c1-8; ls ssh.service.d 2>/dev/null || true`)
	}
	now := func() json.RawMessage {
		a := d.ask(&runner.Request{Verb: runner.Check, Parts: []runner.Part{{Kind: runner.KindUnit, Names: []string{"ssh.service"}}}})
		if len(a.Items) != 1 {
			t.Fatalf("%+v", a)
		}
		d.answer() // the end
		return a.Items[0]
	}
	arm := func(id string, want runner.Unit, after time.Duration) {
		t.Helper()
		want.Name = "ssh.service"
		item, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		a := d.ask(&runner.Request{Verb: runner.Apply, Change: &runner.Change{Kind: runner.KindUnit, Want: item, Have: now()},
			Guard: &runner.Guard{ID: id, After: after.Milliseconds()}})
		if a.Error != nil {
			t.Fatal(a.Error)
		}
	}
	before := state()
	no, disabled, text := false, runner.Disabled, service("other")
	drops := map[string]string{"x.conf": "[Service]\nNice=1\n"}
	for id, want := range map[string]runner.Unit{"stop": {Running: &no}, "all": {Running: &no, Enabled: &disabled, UnitFile: &text, DropIns: &drops}} {
		arm(id, want, 8*time.Second)
		if state() == before {
			t.Errorf("%s has changed nothing", id)
		}
		for until := time.Now().Add(shortly); state() != before && time.Now().Before(until); {
			time.Sleep(100 * time.Millisecond)
		}
		if got := state(); got != before {
			t.Errorf("%s: it is %s, and was %s", id, got, before)
		}
		got := d.outcome(id)
		for until := time.Now().Add(shortly); got.State == runner.Armed && time.Now().Before(until); got = d.outcome(id) {
			time.Sleep(100 * time.Millisecond) // it is being undone
		}
		if got.State != runner.Undone {
			t.Errorf("%s: %+v", id, got)
		}
	}
	arm("well", runner.Unit{DropIns: &drops}, time.Minute)
	if got := d.outcome("well"); got.State != runner.Confirmed {
		t.Errorf("%+v", got)
	}
	if got := state(); !strings.HasSuffix(got, "x.conf") {
		t.Errorf("it is %s", got)
	}
}
