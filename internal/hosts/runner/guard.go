package runner

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Guard arms a change that touches the way into the host: the runner keeps what was there, and a process of its own,
// which outlives the connection, puts it back unless the change is confirmed in time.
type Guard struct {
	// ID names the trial: letters and digits.
	ID string `json:"id"`
	// After is when the host undoes the change by itself, in milliseconds.
	After int64 `json:"after"`
	// Checks are commands that have to accept what is there after the change. One whose program the host does not have
	// is left out.
	Checks [][]string `json:"checks,omitempty"`
	// Files are further ones that the change writes.
	Files []string `json:"files,omitempty"`
	// Reload has the SSH server, if there is one, take up its configuration.
	Reload bool `json:"reload,omitempty"`
}

// Outcome is what became of a trial.
type Outcome struct {
	State  string `json:"state"`
	Reason string `json:"reason,omitempty"`
}

// The states of trials.
const (
	Armed     = "armed"
	Confirmed = "confirmed"
	Undone    = "undone"
	Unknown   = "unknown" // there is none of that name, or it was long ago
)

// trial is what is kept of an armed change.
type trial struct {
	ID    string  `json:"id"`
	Root  string  `json:"root"`
	After int64   `json:"after"`
	What  string  `json:"what"`
	Files []saved `json:"files,omitempty"`
	SSH   *sshd   `json:"ssh,omitempty"`
	// Network is what a change of it may take along.
	Network *keptNetwork `json:"network,omitempty"`
	Unit    *keptForUnit `json:"unit,omitempty"`
	Sysctl  *keptSysctl  `json:"sysctl,omitempty"`
	Mount   *keptMount   `json:"mount,omitempty"`
	Armed   time.Time    `json:"armed"`
}

// rememberedFor is how long the outcome of a trial is kept.
const rememberedFor = 24 * time.Hour

// trials is the directory of the host where trials are kept. What is in it survives a reboot.
type trials struct{ dir string }

// stateDir returns the directory for trials: /var/lib/iasql-runner of root, below the home of anybody else.
func stateDir() (string, error) {
	if os.Geteuid() == 0 {
		return "/var/lib/iasql-runner", nil
	}
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "iasql-runner"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(home, ".local/state/iasql-runner"), nil
}

// openTrials makes the directory if there is none. It is nobody's but ours: what is in it is done with our rights.
func openTrials() (*trials, error) {
	dir, err := stateDir()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, failure("directory", dir, err)
	}
	var st unix.Stat_t
	if err := unix.Lstat(dir, &st); err != nil {
		return nil, failure("directory", dir, err)
	}
	if kindOf(&st) != Directory || int(st.Uid) != os.Geteuid() || st.Mode&0o022 != 0 {
		return nil, &Failure{Refused, fmt.Sprintf("%q is to be a directory that only %d may write in", dir,
			os.Geteuid())}
	}
	return &trials{dir}, nil
}

func (s *trials) path(id, state string) string { return filepath.Join(s.dir, id+"."+state) }

func validID(id string) bool {
	letters := strings.ToUpper(id)
	return id != "" && len(id) <= 64 && strings.Trim(letters, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") == ""
}

// put writes a file durably.
func (s *trials) put(name string, content []byte) error {
	f, err := os.CreateTemp(s.dir, "new-")
	if err != nil {
		return failure("write", name, err)
	}
	defer os.Remove(f.Name())
	_, err = f.Write(content)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return failure("write", name, err)
	}
	if err := os.Rename(f.Name(), name); err != nil {
		return failure("write", name, err)
	}
	return s.sync()
}

func (s *trials) sync() error {
	d, err := os.Open(s.dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// lock takes a trial: its timer has it as long as it lives.
func (s *trials) lock(id string) (*os.File, error) {
	f, err := os.OpenFile(s.path(id, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, failure("lock", id, err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// guarded arms a change, makes it, and has what it changes take effect.
func (t *tree) guarded(r *Request) error {
	g := r.Guard
	if !validID(g.ID) || g.After <= 0 {
		return &Failure{Refused, "a guard has an id of letters and digits, and a time"}
	}
	if t.root != "/" {
		return &Failure{Refused, fmt.Sprintf("changes below the root %s are not armed: nobody gets in through it",
			t.root)}
	}
	s, err := openTrials()
	if err != nil {
		return err
	}
	armed := &trial{ID: g.ID, Root: t.root, After: g.After, Armed: time.Now()}
	if err := t.remember(r, armed); err != nil {
		return err
	}
	if g.Reload {
		armed.SSH = findSSHD()
	}
	if err := s.arm(armed); err != nil {
		return err
	}
	if err := t.make(r); err != nil {
		// Nothing was done, or it is not known what.
		return errors.Join(err, s.undo(t, g.ID, "it could not be made"))
	}
	for _, check := range g.Checks {
		if err := passes(check, r.Secret); err != nil {
			return errors.Join(err, s.undo(t, g.ID, err.Error()))
		}
	}
	if armed.SSH != nil {
		if err := armed.SSH.reload(); err != nil {
			f := &Failure{Invalid, fmt.Sprintf("the SSH server does not take up %s, and it was undone: %v",
				armed.What, err)}
			return errors.Join(f, s.undo(t, g.ID, f.Message))
		}
	}
	if err := s.put(s.path(g.ID, made), nil); err != nil {
		return err
	}
	if s.outcome(g.ID).State == Undone {
		// It took longer than it was given, and may have come after what undid it.
		return errors.Join(&Failure{Invalid, fmt.Sprintf("%s took longer than the %s after which it is undone",
			armed.What, time.Duration(g.After)*time.Millisecond)}, t.putBack(armed))
	}
	return nil
}

// made is the state of a trial whose change is there: before that nobody can confirm it.
const made = "made"

// remember notes what is there before the change.
func (t *tree) remember(r *Request, armed *trial) error {
	paths := r.Guard.Files
	armed.What = "the change"
	switch {
	case r.Want != nil:
		paths, armed.What = append(paths, r.Want.Path), fmt.Sprintf("%q", r.Want.Path)
	case r.Have != nil:
		paths, armed.What = append(paths, r.Have.Path), fmt.Sprintf("%q", r.Have.Path)
	}
	if r.Change != nil {
		var err error
		if armed.Network, err = keepNetwork(t, r.Change); err != nil {
			return err
		}
		if armed.Unit, err = keepUnit(t, r.Change); err != nil {
			return err
		}
		if armed.Sysctl, err = keepSysctl(t, r.Change); err != nil {
			return err
		}
		if armed.Mount, err = keepMount(t, r.Change); err != nil {
			return err
		}
	}
	for _, path := range paths {
		was, err := t.save(path)
		if err != nil {
			return err
		}
		armed.Files = append(armed.Files, *was)
	}
	return nil
}

// arm writes down the trial and starts its timer. It is armed once the timer listens: told to end before, it would end
// and undo nothing.
func (s *trials) arm(armed *trial) error {
	lock, err := s.lock(armed.ID)
	if err != nil {
		return err
	}
	defer lock.Close()
	text, err := json.Marshal(armed)
	if err != nil {
		return err
	}
	if err := s.put(s.path(armed.ID, Armed), text); err != nil {
		return err
	}
	listens, tells, err := os.Pipe()
	if err != nil {
		return err
	}
	defer listens.Close()
	// The lock goes to the timer, which has it until it ends, however that comes about.
	command := exec.Command("/proc/self/exe", "-root", armed.Root, "-undo", armed.ID) // #nosec G204 -- ourselves
	command.ExtraFiles = []*os.File{lock, tells}
	command.Dir = "/"
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = command.Start()
	_ = tells.Close()
	if err == nil {
		leaveSession(command.Process.Pid)
		ended := make(chan error, 1)
		go func() { ended <- command.Wait() }()
		if _, err = listens.Read(make([]byte, 1)); err != nil {
			_ = command.Process.Kill()
			err = errors.Join(errors.New("it ended at once"), <-ended)
		}
	}
	if err != nil {
		_ = os.Remove(s.path(armed.ID, Armed))
		return fmt.Errorf("the timer that would undo it cannot be started: %w", err)
	}
	return nil
}

// leaveSession takes a process out of the login's session where systemd keeps one, which may end with the connection
// (KillUserProcesses in logind.conf(5)), or out of the service that let the login in, which a change may stop.
func leaveSession(pid int) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	if err != nil {
		return
	}
	for line := range strings.Lines(string(text)) {
		path, ok := strings.CutPrefix(strings.TrimSpace(line), "0::")
		if ok && (strings.Contains(path, "/session-") || strings.HasSuffix(path, ".service")) {
			_ = os.WriteFile("/sys/fs/cgroup/cgroup.procs", fmt.Appendf(nil, "%d", pid), 0)
		}
	}
}

// A timer has the lock of its trial open, and a pipe to tell whoever starts it that it listens.
const (
	lockDescriptor   = 3
	listenDescriptor = 4
)

// Await undoes a trial once its time is over, unless it is confirmed before, and at once if it is told to end, as it is
// before a reboot. It is what the timer runs.
func Await(root, id string) error {
	if !validID(id) {
		return fmt.Errorf("%q names no trial", id)
	}
	unix.CloseOnExec(lockDescriptor) // which is ours alone
	tells := os.NewFile(listenDescriptor, "listens")
	unix.CloseOnExec(listenDescriptor)
	defer tells.Close()
	told := make(chan os.Signal, 1)
	signal.Ignore(unix.SIGHUP, unix.SIGPIPE)
	signal.Notify(told, unix.SIGTERM, unix.SIGINT)
	s, err := openTrials()
	if err != nil {
		return err
	}
	text, err := os.ReadFile(s.path(id, Armed))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var armed trial
	if err := json.Unmarshal(text, &armed); err != nil {
		return err
	}
	t, err := openTree(root)
	if err != nil {
		return err
	}
	defer t.close()
	over := time.NewTimer(time.Duration(armed.After) * time.Millisecond)
	look := time.NewTicker(time.Second)
	defer look.Stop()
	if _, err := tells.Write([]byte{1}); err != nil {
		return err // whoever armed it has gone, and has changed nothing
	}
	_ = tells.Close()
	for {
		select {
		case <-look.C:
			if _, err := os.Stat(s.path(id, Armed)); errors.Is(err, os.ErrNotExist) {
				return nil
			}
		case <-over.C:
			return s.undo(t, id, fmt.Sprintf("nobody has confirmed it over a new connection within %s",
				time.Duration(armed.After)*time.Millisecond))
		case <-told:
			return s.undo(t, id, "its timer was told to end before anybody had confirmed it over a new connection")
		}
	}
}

// undoing is the state of a trial that is being undone.
const undoing = "undoing"

// undo puts back what was there. Of two who try, one does it; and it does not happen once it is confirmed.
func (s *trials) undo(t *tree, id, why string) error {
	claimed := s.path(id, undoing)
	if err := os.Rename(s.path(id, Armed), claimed); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	text, err := os.ReadFile(claimed)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var armed trial
	if err := json.Unmarshal(text, &armed); err != nil {
		return fmt.Errorf("trial %s: %w", id, err)
	}
	if err := t.putBack(&armed); err != nil {
		why += fmt.Sprintf("; undoing it: %v", err)
	}
	if err := s.put(s.path(id, Undone), []byte(why)); err != nil {
		return err
	}
	_ = os.Remove(claimed)
	s.tidy(id)
	return s.sync()
}

// putBack makes all what it was.
func (t *tree) putBack(armed *trial) error {
	var failed []error
	for i := range armed.Files {
		failed = append(failed, t.restore(&armed.Files[i]))
	}
	if armed.Network != nil {
		failed = append(failed, armed.Network.restore())
	}
	if armed.Unit != nil {
		failed = append(failed, armed.Unit.restore(t))
	}
	if armed.Sysctl != nil {
		failed = append(failed, armed.Sysctl.restore(t))
	}
	if armed.Mount != nil {
		failed = append(failed, armed.Mount.restore(t))
	}
	if armed.SSH != nil {
		failed = append(failed, armed.SSH.reload())
	}
	return errors.Join(failed...)
}

// tidy removes what a trial that is over needs no longer.
func (s *trials) tidy(id string) {
	_ = os.Remove(s.path(id, made))
	_ = os.Remove(s.path(id, "lock"))
}

// confirm ends a trial well, if it is not over.
func (s *trials) confirm(id string) (*Outcome, error) {
	if !validID(id) {
		return nil, &Failure{Refused, "a trial has an id of letters and digits"}
	}
	// Who renames it decides what becomes of it. What it kept is no longer needed, and may be secret.
	if _, err := os.Stat(s.path(id, made)); err != nil {
		return s.outcome(id), nil
	}
	err := os.Rename(s.path(id, Armed), s.path(id, Confirmed))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, failure("confirm", id, err)
	}
	if err == nil {
		if err := os.Truncate(s.path(id, Confirmed), 0); err != nil {
			return nil, failure("confirm", id, err)
		}
		s.tidy(id)
		if err := s.sync(); err != nil {
			return nil, failure("confirm", id, err)
		}
	}
	return s.outcome(id), nil
}

// outcome returns what became of a trial.
func (s *trials) outcome(id string) *Outcome {
	if !validID(id) {
		return &Outcome{State: Unknown}
	}
	for _, state := range []string{Armed, undoing, Confirmed, Undone} {
		text, err := os.ReadFile(s.path(id, state))
		switch {
		case err != nil:
		case state == undoing:
			return &Outcome{State: Armed}
		case state == Undone:
			return &Outcome{State: Undone, Reason: string(text)}
		default:
			return &Outcome{State: state}
		}
	}
	return &Outcome{State: Unknown}
}

// armed returns the trials that are under way.
func (t *tree) armed() (ids []string) {
	if t.root != "/" {
		return nil
	}
	dir, err := stateDir()
	if err != nil {
		return nil
	}
	found, err := os.ReadDir(dir)
	if err != nil {
		return nil // nothing was armed ever
	}
	for _, f := range found {
		if id, state, _ := strings.Cut(f.Name(), "."); (state == Armed || state == undoing) && validID(id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// recover undoes what was armed and has no timer any more, as after a reboot, and forgets what was long ago.
func (t *tree) recover() {
	if t.root != "/" {
		return
	}
	dir, err := stateDir()
	if err != nil {
		return
	}
	if _, err := os.Lstat(dir); err != nil {
		return // nothing was armed ever
	}
	s, err := openTrials()
	if err != nil {
		return
	}
	found, err := os.ReadDir(s.dir)
	if err != nil {
		return
	}
	for _, f := range found {
		id, state, _ := strings.Cut(f.Name(), ".")
		switch state {
		case Armed, undoing:
			lock, err := s.lock(id)
			if err != nil {
				continue // its timer lives
			}
			_ = s.undo(t, id, "its timer was ended, by a reboot or by somebody, before anybody had confirmed it over "+
				"a new connection")
			_ = lock.Close()
		default:
			if info, err := f.Info(); err == nil && time.Since(info.ModTime()) > rememberedFor {
				_ = os.Remove(filepath.Join(s.dir, f.Name()))
			}
		}
	}
}
