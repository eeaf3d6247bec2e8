package runner

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// programs is where commands are looked for.
const programs = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// whereIs returns where a command is; "" if it is nowhere.
func whereIs(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	for dir := range strings.SplitSeq(programs, ":") {
		at := filepath.Join(dir, name)
		if info, err := os.Stat(at); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return at
		}
	}
	return ""
}

// run runs a command without a shell, and returns what it says.
func run(fields []string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), validateWithin)
	defer cancel()
	command := exec.CommandContext(ctx, fields[0], fields[1:]...) // #nosec G204 -- what the engine says
	command.Dir = "/"
	command.Env = []string{"PATH=" + programs, "LC_ALL=C"}
	command.WaitDelay = time.Second
	said := &bounded{most: 64 << 10}
	command.Stdout, command.Stderr = said, said
	err := command.Run()
	text := strings.ReplaceAll(said.text.String(), "\r\n", "\n")
	return strings.TrimSpace(strings.ToValidUTF8(text, "\uFFFD")), err
}

// passes runs a check, and fails if it does not accept what is there. What it says of a secret is left out.
func passes(check []string, secret bool) error {
	if len(check) == 0 {
		return nil
	}
	at := whereIs(check[0])
	if at == "" {
		return nil
	}
	said, err := run(append([]string{at}, check[1:]...))
	if err == nil {
		return nil
	}
	switch {
	case secret:
		said = unsaid
	case len(said) > 2000:
		said = strings.ToValidUTF8(said[:2000], "")
	}
	return &Failure{Invalid, fmt.Sprintf("%s does not accept what is there with the change, and it was undone (%v): %s",
		strings.Join(check, " "), err, said)}
}

// sshd is the SSH server of the host.
type sshd struct {
	Pid  int      `json:"pid"`
	Exe  string   `json:"exe"`
	Args []string `json:"args"`
	Unit string   `json:"unit,omitempty"` // of systemd
}

// pidFile is where sshd(8) writes its process id, unless its configuration says something else.
const pidFile = "/run/sshd.pid"

// findSSHD returns the server that is running; nil if there is none that could be told to reload.
func findSSHD() *sshd {
	file := pidFile
	if at := whereIs("sshd"); at != "" {
		if said, err := run([]string{at, "-T"}); err == nil {
			for line := range strings.Lines(said) {
				if name, ok := strings.CutPrefix(strings.TrimSpace(line), "pidfile "); ok && filepath.IsAbs(name) {
					file = name
				}
			}
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || pid <= 1 || !isSSHD(pid) {
		return nil
	}
	s := &sshd{Pid: pid}
	if s.Exe, err = os.Readlink(fmt.Sprintf("/proc/%d/exe", pid)); err != nil {
		return nil
	}
	s.Exe = strings.TrimSuffix(s.Exe, " (deleted)")
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return nil
	}
	s.Args = arguments(line)
	if text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid)); err == nil {
		s.Unit = unitOf(string(text))
	}
	return s
}

// arguments returns those of a command line of /proc. What sshd shows there of itself is no argument:
// "sshd: /usr/sbin/sshd -D [listener] 0 of 10-100 startups".
func arguments(line []byte) []string {
	text := string(bytes.TrimRight(line, "\x00"))
	if shown, ok := strings.CutPrefix(text, "sshd: "); ok {
		shown, _, _ = strings.Cut(shown, " [listener]")
		return strings.Fields(shown)
	}
	return strings.Split(text, "\x00")
}

// unitOf returns the unit of systemd that a process belongs to, by its control groups.
func unitOf(groups string) string {
	for line := range strings.Lines(groups) {
		_, path, _ := strings.Cut(strings.TrimSpace(line), "::")
		if unit := filepath.Base(path); strings.HasSuffix(unit, ".service") {
			return unit
		}
	}
	return ""
}

func isSSHD(pid int) bool {
	name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	return err == nil && strings.TrimSpace(string(name)) == "sshd"
}

// reloadWithin is how long the server may take to listen again.
const reloadWithin = 5 * time.Second

// reload has the server take up its configuration, and waits until it has: whoever connects then is answered by the
// new one. A server that has ended is started again.
func (s *sshd) reload() error {
	if !isSSHD(s.Pid) {
		return s.start()
	}
	before, ran := listeners(s.Pid), image(s.Pid)
	if err := unix.Kill(s.Pid, unix.SIGHUP); err != nil {
		return fmt.Errorf("tell it to reload: %w", err)
	}
	for until := time.Now().Add(reloadWithin); time.Now().Before(until); time.Sleep(5 * time.Millisecond) {
		if !isSSHD(s.Pid) {
			return errors.New("it has ended")
		}
		// It starts itself anew under its old number, and listens on other sockets then, or on those that systemd
		// has for it.
		started := image(s.Pid) != ran
		if now := listeners(s.Pid); len(now) > 0 && (started || !overlap(before, now)) {
			return nil
		}
	}
	return fmt.Errorf("it does not listen anew within %s", reloadWithin)
}

// start starts the server as it was started before.
func (s *sshd) start() error {
	if _, err := os.Stat("/run/systemd/system"); err == nil && s.Unit != "" {
		if said, err := run([]string{whereIs("systemctl"), "restart", s.Unit}); err != nil {
			return fmt.Errorf("start %s: %w: %s", s.Unit, err, said)
		}
		return nil
	}
	if again := findSSHD(); again != nil {
		return nil // somebody else was faster
	}
	command := exec.Command(s.Exe) // #nosec G204 -- as it was started
	command.Args, command.Dir = s.Args, "/"
	command.Env = []string{"PATH=" + programs}
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := command.Start(); err != nil {
		return fmt.Errorf("start the SSH server: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	for until := time.Now().Add(reloadWithin); time.Now().Before(until); time.Sleep(10 * time.Millisecond) {
		select {
		case err := <-ended:
			if err == nil {
				return nil // it goes on by itself (daemon)
			}
			return fmt.Errorf("start the SSH server: %w", err)
		default:
		}
		if len(listeners(command.Process.Pid)) > 0 {
			return nil
		}
	}
	return fmt.Errorf("the SSH server does not listen within %s", reloadWithin)
}

// image tells one program of a process from the next: where its stack and its environment begin, by proc(5). The kernel
// puts them somewhere else each time.
func image(pid int) string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	_, rest, _ := strings.Cut(string(text), ") ") // its name may have anything but this
	fields := strings.Fields(rest)
	const stack, environment = 28 - 3, 50 - 3 // the first two are the number and the name
	if len(fields) <= environment {
		return ""
	}
	return fields[stack] + " " + fields[environment]
}

// listeners returns the sockets that a process has open, as /proc names them, which listen.
func listeners(pid int) map[string]bool {
	all := map[string]bool{}
	listening := map[string]bool{}
	for _, family := range []string{"tcp", "tcp6"} {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", pid, family))
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(text)) {
			if fields := strings.Fields(line); len(fields) > 9 && fields[3] == "0A" {
				listening["socket:["+fields[9]+"]"] = true
			}
		}
	}
	open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		return all
	}
	for _, f := range open {
		if name, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%s", pid, f.Name())); err == nil && listening[name] {
			all[name] = true
		}
	}
	return all
}

func overlap(a, b map[string]bool) bool {
	for name := range a {
		if b[name] {
			return true
		}
	}
	return false
}
