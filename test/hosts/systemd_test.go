package hosts

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"iasql/internal/test/harness"
)

// booted starts a small Debian whose systemd is process 1 of its own namespaces (systemd-nspawn), and returns what is
// below its root directory as the engine sees it, and how commands are run inside it.
type booted struct {
	t       *testing.T
	dir     string
	machine string
	nspawn  *exec.Cmd
	ended   chan struct{} // closed when nspawn has ended
	pid     int           // process 1 inside, of the present boot
	root    string
}

// bootSystemd boots a copy of the Debian that debootstrap has made with systemd in it.
func bootSystemd(t *testing.T) *booted {
	t.Helper()
	if os.Getenv("IASQL_TEST_ALL") == "" {
		t.Skip("a Debian that is booted takes root and some seconds: make test-all runs it")
	}
	from := "../../.cache/debian-systemd"
	if _, err := os.Stat(from + "/usr/lib/systemd/systemd"); err != nil {
		harness.Lacking(t, "a Debian with systemd in .cache/debian-systemd")
	}
	if os.Getuid() != 0 {
		harness.Lacking(t, "the right to boot a directory (root)")
	}
	if _, err := exec.LookPath("systemd-nspawn"); err != nil {
		harness.Lacking(t, "systemd-nspawn")
	}
	dir := filepath.Join(t.TempDir(), "root")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("cp", "-a", from+"/.", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	id := strings.ReplaceAll(uuid(t), "-", "")
	if err := os.WriteFile(filepath.Join(dir, "etc/machine-id"), []byte(id+"\n"), 0o444); err != nil {
		t.Fatal(err)
	}
	b := &booted{t: t, dir: dir, machine: "u" + id[:12]}
	b.boot()
	return b
}

// boot starts the machine, and waits until its systemd has started what is to run.
func (b *booted) boot() {
	b.t.Helper()
	log, err := os.CreateTemp(b.t.TempDir(), "console")
	if err != nil {
		b.t.Fatal(err)
	}
	defer log.Close()
	nspawn := exec.Command("systemd-nspawn", "--quiet", "--boot", "--directory="+b.dir, "--machine="+b.machine,
		"--register=no", "--keep-unit", "--private-network", "--console=pipe", "--kill-signal=SIGRTMIN+4")
	nspawn.Stdout, nspawn.Stderr = log, log
	nspawn.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := nspawn.Start(); err != nil {
		b.t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { defer close(ended); _ = nspawn.Wait() }()
	b.pid, b.nspawn, b.ended = 0, nspawn, ended
	b.t.Cleanup(func() {
		select {
		case <-ended:
			return
		default:
		}
		if b.pid != 0 {
			_ = syscall.Kill(b.pid, syscall.SIGKILL) // process 1 takes all with it
		}
		select {
		case <-ended:
		case <-time.After(10 * time.Second):
			_ = nspawn.Process.Kill()
			<-ended
		}
	})
	for until := time.Now().Add(time.Minute); time.Now().Before(until); time.Sleep(50 * time.Millisecond) {
		if b.pid == 0 {
			b.pid = childOf(nspawn.Process.Pid)
			b.root = fmt.Sprintf("/proc/%d/root", b.pid)
			continue
		}
		if out, _ := b.tried("systemctl", "is-system-running"); out == "running" || out == "degraded" {
			return
		}
		select {
		case <-ended:
			text, _ := os.ReadFile(log.Name())
			b.t.Fatalf("systemd-nspawn has ended: %s", text)
		default:
		}
	}
	text, _ := os.ReadFile(log.Name())
	b.t.Fatalf("systemd has not booted within a minute: %s", text)
}

// reboots waits until the machine has gone down to boot anew, and boots it, as its firmware would. systemd-nspawn ends
// with the code 133 then, so that the unit in which it runs is started anew, and with 0 of a machine that is switched off
// (src/nspawn/nspawn.c, run_container, with --keep-unit).
func (b *booted) reboots(within time.Duration) {
	b.t.Helper()
	select {
	case <-b.ended:
	case <-time.After(within):
		b.t.Fatalf("it is not rebooted within %s", within)
	}
	if code := b.nspawn.ProcessState.ExitCode(); code != 133 {
		b.t.Fatalf("it has ended with %d", code)
	}
	b.boot()
}

func uuid(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("/proc/sys/kernel/random/uuid")
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

// childOf returns the first child of a process that is systemd; 0 if there is none yet.
func childOf(pid int) int {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", pid))
	for field := range strings.FieldsSeq(string(text)) {
		child, err := strconv.Atoi(field)
		if name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", child)); err == nil && strings.TrimSpace(string(name)) == "systemd" {
			return child
		}
	}
	return 0
}

// tried runs a command inside.
func (b *booted) tried(args ...string) (string, error) {
	c := exec.Command("nsenter", append([]string{"-t", strconv.Itoa(b.pid), "--all", "--"}, args...)...)
	c.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C"}
	out, err := c.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

func (b *booted) must(script string) string {
	b.t.Helper()
	out, err := b.tried("sh", "-c", script)
	if err != nil {
		b.t.Fatalf("%s: %v: %s", script, err, out)
	}
	return out
}

// managed starts an engine, and manages units and some files of a booted Debian.
func managed(t *testing.T) (*world, *booted) {
	t.Helper()
	b := bootSystemd(t)
	w := start(t, b.root)
	w.root = b.root
	w.PSQL(`INSERT INTO host (name, host_root) VALUES ('here', '`+b.root+`')`,
		`INSERT INTO host_scope (account, kind, pattern) VALUES ('here', 'unit', 'app*'), ('here', 'file', '/etc/app/**')`)
	b.must(`mkdir -p /etc/app`)
	w.sync()
	return w, b
}

// starts is how often a unit has written a line when it was started.
func (b *booted) starts(name string) int {
	out := b.must(`cat /starts-` + name + ` 2>/dev/null || true`)
	return len(strings.Fields(out))
}

// serviceText is the file of a service that notes each of its starts, and runs until it is stopped, unless there is
// /etc/app/bad.
const serviceText = `[Unit]
Description=%[1]s of a test
StartLimitIntervalSec=0
[Service]
ExecStartPre=/bin/sh -c 'echo started >> /starts-%[1]s'
ExecStart=/bin/sh -c 'if [ -e /etc/app/bad ]; then echo the configuration is bad; exit 3; fi; exec sleep infinity'
ExecReload=/bin/sh -c 'echo reloaded >> /reloads-%[1]s'
[Install]
WantedBy=multi-user.target
`

func service(name string) string { return fmt.Sprintf(serviceText, name) }
