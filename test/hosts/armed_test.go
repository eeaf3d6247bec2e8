package hosts

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"iasql/internal/hosts/runner"
)

// direct is a runner on a machine that is asked without an engine.
type direct struct {
	t       *testing.T
	process *exec.Cmd
	in      io.WriteCloser
	lines   *bufio.Reader
}

// direct starts the runner on the machine, as root. It says who the host is once it has undone what nobody watches.
func (m *machine) direct(t *testing.T) *direct {
	t.Helper()
	program, err := built()
	if err != nil {
		t.Fatal(err)
	}
	put := m.command("sh", "-c", "cat > /mnt/runner.new && chmod 755 /mnt/runner.new && mv /mnt/runner.new /mnt/runner")
	put.Stdin = strings.NewReader(string(program))
	if text, err := put.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	d := &direct{t: t, process: m.command("/mnt/runner")}
	if d.in, err = d.process.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := d.process.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	d.lines = bufio.NewReader(out)
	if err := d.process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.in.Close(); _ = d.process.Wait() })
	d.answer()
	return d
}

func (d *direct) answer() (a runner.Answer) {
	d.t.Helper()
	line, err := d.lines.ReadString('\n')
	if err == nil {
		err = json.Unmarshal([]byte(line), &a)
	}
	if err != nil {
		d.t.Fatal(err)
	}
	return a
}

func (d *direct) ask(r *runner.Request) runner.Answer {
	d.t.Helper()
	text, err := json.Marshal(r)
	if err == nil {
		_, err = d.in.Write(append(text, '\n'))
	}
	if err != nil {
		d.t.Fatal(err)
	}
	return d.answer()
}

// arm changes a file, armed.
func (d *direct) arm(id, path, content string, after time.Duration) {
	d.t.Helper()
	a := d.ask(&runner.Request{Verb: runner.Apply, Want: &runner.Entry{Path: path, Kind: runner.File, Content: &content},
		Have:  &runner.Entry{Path: path, Kind: runner.File},
		Guard: &runner.Guard{ID: id, After: after.Milliseconds()}})
	if a.Error != nil {
		d.t.Fatal(a.Error)
	}
}

func (d *direct) outcome(id string) runner.Outcome {
	d.t.Helper()
	a := d.ask(&runner.Request{Verb: runner.Confirm, Trial: id})
	if a.Error != nil || a.Trial == nil {
		d.t.Fatalf("%+v", a)
	}
	return *a.Trial
}

// over returns the outcome of a trial once there is one.
func (d *direct) over(id string) (o runner.Outcome) {
	d.t.Helper()
	for until := time.Now().Add(shortly); time.Now().Before(until); time.Sleep(20 * time.Millisecond) {
		if o = d.outcome(id); o.State != runner.Armed {
			break
		}
	}
	return o
}

// is waits until a file is so.
func (m *machine) is(t *testing.T, within time.Duration, path, want string) {
	t.Helper()
	got := ""
	for until := time.Now().Add(within); ; time.Sleep(50 * time.Millisecond) {
		if got, _ = m.run("cat " + path); got == want {
			return
		}
		if time.Now().After(until) {
			t.Fatalf("%s is %q, not %q", path, got, want)
		}
	}
}

// TestArmed: the host undoes what was armed by itself, whatever ends: the runner, its timer, or the machine.
func TestArmed(t *testing.T) {
	t.Parallel()
	m := boot(t, "web")
	m.must(`echo old > /etc/issue && chmod 640 /etc/issue && chown 7:8 /etc/issue`)
	d := m.direct(t)
	t.Run("confirmed, it stays", func(t *testing.T) {
		const after = 8 * time.Second
		d.arm("a1", "/etc/issue", "new\n", after)
		if got := d.outcome("a1"); got.State != runner.Confirmed {
			t.Errorf("%+v", got)
		}
		m.is(t, 0, "/etc/issue", "new")
		time.Sleep(after + time.Second)
		m.is(t, 0, "/etc/issue", "new")
		if got := d.outcome("a1"); got.State != runner.Confirmed {
			t.Errorf("%+v", got)
		}
		if out := m.must(`cat /var/lib/iasql-runner/*; stat -c %a /var/lib/iasql-runner`); out != "700" {
			t.Errorf("what is no longer needed is kept: %s", out)
		}
	})
	t.Run("the runner is killed, and its timer goes on", func(t *testing.T) {
		m.must(`echo old > /etc/issue`)
		d := m.direct(t)
		d.arm("b1", "/etc/issue", "new\n", 4*time.Second)
		_ = d.process.Process.Kill()
		_ = syscall.Kill(d.process.Process.Pid, syscall.SIGKILL)
		m.is(t, shortly, "/etc/issue", "old")
		if out := m.must(`stat -c '%a %u %g' /etc/issue`); out != "640 7 8" {
			t.Errorf("it has %s", out)
		}
		if got := m.direct(t).over("b1"); got.State != runner.Undone || !strings.Contains(got.Reason, "nobody has confirmed it") {
			t.Errorf("%+v", got)
		}
	})
	t.Run("the connection ends, and the timer goes on", func(t *testing.T) {
		d := m.direct(t)
		d.arm("f1", "/etc/issue", "new\n", 4*time.Second)
		_ = d.in.Close()
		_ = d.process.Wait()
		if text, err := os.ReadFile(fmt.Sprintf("/proc/%d/root/etc/issue", m.holder.Process.Pid)); err != nil || string(text) != "new\n" {
			t.Errorf("%q, %v", text, err)
		}
		m.is(t, shortly, "/etc/issue", "old")
	})
	t.Run("all is killed, as by a power cut", func(t *testing.T) {
		d := m.direct(t)
		d.arm("c1", "/etc/issue", "new\n", time.Hour)
		m.powerOff()
		m.is(t, 0, "/etc/issue", "new")
		d = m.direct(t)
		m.is(t, 0, "/etc/issue", "old")
		if got := d.over("c1"); got.State != runner.Undone || !strings.Contains(got.Reason, "by a reboot") {
			t.Errorf("%+v", got)
		}
	})
	t.Run("it is told to end, as before a reboot", func(t *testing.T) {
		d := m.direct(t)
		d.arm("d1", "/etc/issue", "new\n", time.Hour)
		for _, pid := range m.processes() {
			if pid != d.process.Process.Pid {
				_ = syscall.Kill(pid, syscall.SIGTERM)
			}
		}
		m.is(t, shortly, "/etc/issue", "old")
	})
	t.Run("what is wrong is refused", func(t *testing.T) {
		d := m.direct(t)
		for _, g := range []runner.Guard{{ID: "../x", After: 1}, {ID: "", After: 1}, {ID: "e1"}} {
			a := d.ask(&runner.Request{Verb: runner.Apply, Want: &runner.Entry{Path: "/etc/none", Kind: runner.File}, Guard: &g})
			if a.Error == nil || a.Error.Code != runner.Refused {
				t.Errorf("%+v: %+v", g, a)
			}
		}
		if got := d.outcome("nosuch"); got.State != runner.Unknown {
			t.Errorf("%+v", got)
		}
	})
}

// TestCutWhileArmed: the cable is cut while a change is armed. The host undoes it, and once it can be reached again the
// change, which is a good one, is made.
func TestCutWhileArmed(t *testing.T) {
	t.Parallel()
	m := boot(t, "web")
	m.must(`printf '#!/bin/sh\nsleep 1\n' > /mnt/slow && chmod 755 /mnt/slow`)
	w := start(t)
	w.PSQL(m.sql(3), `INSERT INTO host_scope (account, pattern, validate) VALUES ('web', '/etc/ssh/sshd_config', '/mnt/slow %s'), ('web', '/etc/motd', NULL)`)
	w.confirm()
	w.PSQL(`UPDATE host_file SET content = E'# new\n' || content WHERE path = '/etc/ssh/sshd_config'`)
	w.Eventually(shortly, "it is armed", func() bool {
		out, err := m.run(`ls /var/lib/iasql-runner/*.armed`)
		return err == nil && out != ""
	})
	m.cut(true)
	w.Eventually(shortly, "it is undone", func() bool {
		out, err := m.run(`ls /var/lib/iasql-runner/*.undone`)
		return err == nil && out != ""
	})
	if out := m.must(`cat /etc/ssh/sshd_config`); strings.HasPrefix(out, "# new") {
		t.Errorf("the host has not undone it: %s", out)
	}
	m.cut(false)
	w.becomes("UpdatingFailed", `SELECT state FROM iasql_status WHERE account = 'web' AND state <> 'Present'`)
	if said := w.PSQL(`SELECT message FROM iasql_status WHERE account = 'web' AND state <> 'Present'`); !strings.Contains(said, "has undone it") {
		t.Errorf("the record says %s", said)
	}
	w.PSQL(`UPDATE host SET undo_after = 60`, `SELECT iasql_retry('host_file', id) FROM host_file WHERE path = '/etc/ssh/sshd_config'`)
	w.becomes("0", `SELECT count(*) FROM iasql_audit_log WHERE NOT settled`)
	if out := m.must(`cat /etc/ssh/sshd_config`); !strings.HasPrefix(out, "# new") {
		t.Errorf("in the end there is %s", out)
	}
	// A change that does not touch the way in is not armed.
	before := m.must(`ls /var/lib/iasql-runner`)
	w.PSQL(`INSERT INTO host_file (account, path, content) VALUES ('web', '/etc/motd', 'hello') ON CONFLICT DO NOTHING`)
	w.becomes("0", `SELECT count(*) FROM iasql_audit_log WHERE NOT settled`)
	if after := m.must(`ls /var/lib/iasql-runner`); after != before {
		t.Errorf("it was armed: %s", after)
	}
}

// TestEngineGoesAway: what an engine has armed that went away meanwhile is confirmed by the next that comes in, before
// it reads anything.
func TestEngineGoesAway(t *testing.T) {
	t.Parallel()
	m := boot(t, "web")
	m.must(`echo old > /etc/issue`)
	w := start(t)
	w.PSQL(m.sql(5), `INSERT INTO host_scope (account, pattern) VALUES ('web', '/etc/issue')`)
	d := m.direct(t)
	d.arm("g1", "/etc/issue", "new\n", time.Minute)
	w.refused("IA061", `SELECT iasql_sync_now()`)
	if out := m.must(`ls /var/lib/iasql-runner`); !strings.Contains(out, "g1.armed") {
		t.Errorf("it was confirmed by whom nobody has vouched for: %s", out)
	}
	w.Admin(`SELECT iasql_confirm('identity', 'web')`)
	w.sync()
	w.row("new", `SELECT trim(E'\n' FROM content) FROM host_file`)
	if got := d.outcome("g1"); got.State != runner.Confirmed {
		t.Errorf("%+v", got)
	}
}
