package devenv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// pollInterval is how often a start looks whether its server is ready. Neither
// server announces it in a way that could be waited for.
const pollInterval = 20 * time.Millisecond

// process is a running child: in its own process group, reaped as soon as it
// ends, and stoppable any number of times.
type process struct {
	cmd      *exec.Cmd
	done     chan struct{} // closed once the child has been reaped
	err      error         // how it ended; read after done
	stopping atomic.Bool   // its end is wanted
}

// startProcess starts cmd. Its own process group keeps a ctrl-C at the terminal
// away from it; deathSignal is what Linux sends it should this program be killed.
func startProcess(cmd *exec.Cmd, deathSignal syscall.Signal) (*process, error) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
	setDeathSignal(cmd.SysProcAttr, deathSignal)

	p := &process{cmd: cmd, done: make(chan struct{})}
	started := make(chan error, 1)
	go func() {
		// The parent-death signal is bound to the thread that forked, not to
		// the process: were the Go runtime to retire that thread, the child
		// would be told that its parent had died. So the goroutine keeps the
		// thread to itself for as long as the child lives.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if err := cmd.Start(); err != nil {
			started <- err
			return
		}
		started <- nil
		p.err = cmd.Wait()
		close(p.done)
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

// stopStep is one attempt at ending a process: a signal, and how long it may take.
type stopStep struct {
	signal syscall.Signal
	wait   time.Duration
}

// stop ends the process, one step after the other and SIGKILL after the last. A
// ctx that ends cuts the waits short but not the steps: when stop returns, the
// process is gone. The error says that force was needed.
func (p *process) stop(ctx context.Context, name string, group bool, steps ...stopStep) error {
	p.stopping.Store(true)
	target := p.cmd.Process.Pid
	if group {
		target = -target
	}
	for i, step := range steps {
		select {
		case <-p.done:
			return nil
		default:
		}
		_ = syscall.Kill(target, step.signal) // it may have ended this moment
		timer := time.NewTimer(step.wait)
		select {
		case <-p.done:
			timer.Stop()
			if i > 0 {
				return fmt.Errorf("%s did not stop in time: it was told again with %v", name, step.signal)
			}
			return nil
		case <-timer.C:
		case <-ctx.Done():
			// Give this signal a moment all the same.
			select {
			case <-p.done:
			case <-time.After(min(step.wait, time.Second)):
			}
			timer.Stop()
		}
	}
	select {
	case <-p.done:
		return nil
	default:
	}
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
	<-p.done
	return fmt.Errorf("%s did not stop in time: it was killed", name)
}

// exitError is nil while the process runs and when its end was wanted.
func (p *process) exitError(name, logFile string) error {
	select {
	case <-p.done:
	default:
		return nil
	}
	if p.stopping.Load() {
		return nil
	}
	how := "exit status 0"
	if p.err != nil {
		how = p.err.Error()
	}
	return fmt.Errorf("%s ended by itself (%s): see %s", name, how, logFile)
}

// listenable reports, as an *Error, that a port of 127.0.0.1 cannot be listened on.
func listenable(port int, flag string) error {
	l, err := net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", port))
	switch {
	case err == nil:
		return l.Close()
	case errors.Is(err, syscall.EADDRINUSE):
		return failure(ErrPortTaken, "port %d is taken: choose another with %s", port, flag)
	default:
		return failure(ErrPortTaken, "port %d cannot be listened on (%v): choose another with %s", port,
			rootCause(err), flag)
	}
}

// freePort asks the system for a port that nobody listens on at the moment.
func freePort() (int, error) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// rootCause strips a path or system-call error down to its reason.
func rootCause(err error) error {
	for {
		next := errors.Unwrap(err)
		if next == nil {
			return err
		}
		err = next
	}
}

// openLog opens a log for appending. One that has grown beyond 10 MiB is moved aside.
func openLog(path string) (*os.File, error) {
	if st, err := os.Stat(path); err == nil && st.Size() > 10<<20 {
		_ = os.Rename(path, path+".1")
	}
	return os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_RDWR|syscall.O_NOFOLLOW,
		0o600) // #nosec G304 -- a log file that the caller names
}

// logSince returns the lines written to a log from an offset on (at most the last 64 KiB).
func logSince(path string, offset int64) []string {
	f, err := os.Open(path) // #nosec G304 -- a log file that the caller names
	if err != nil {
		return nil
	}
	defer f.Close()
	if st, err := f.Stat(); err == nil {
		offset = max(offset, st.Size()-64<<10)
	}
	text, err := io.ReadAll(io.NewSectionReader(f, offset, 64<<10))
	if err != nil {
		return nil
	}
	return strings.Split(string(bytes.TrimSpace(text)), "\n")
}

func progress(f func(string), format string, args ...any) {
	if f != nil {
		f(fmt.Sprintf(format, args...))
	}
}
