package devenv

import (
	"context"
	_ "embed"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	motoProgram      = "moto_server"
	motoStartTimeout = time.Minute // a cold Python reads several hundred files
)

// motoLauncher runs a moto_server that is a program in Python, in half the processor time.
//
//go:embed moto_server.py
var motoLauncher string

// MotoOptions says what [StartMoto] is to run.
type MotoOptions struct {
	// Port to listen on at 127.0.0.1; 0 picks a free one.
	Port int
	// Progress, if not nil, is told in a few words what takes time.
	Progress func(string)
	// LogFile receives the server's output; "" keeps it in a temporary file
	// until Stop.
	LogFile string
	// Binary is the moto_server to run. When it is "", $IASQL_MOTO_SERVER is,
	// else the one that [FindTool] finds.
	Binary string
}

// Moto is a running AWS emulator (https://docs.getmoto.org), set up to be as
// strict as it can be: unknown AMIs, key pairs and instance types are refused,
// and the policies that AWS manages exist.
type Moto struct {
	port    int
	log     string
	tempLog bool
	proc    *process
	cleanup sync.Once
}

// StartMoto starts moto_server as a child process and returns once it answers.
// It fails with [ErrNoBinaries], [ErrPortTaken] or [ErrNotStarted].
func StartMoto(ctx context.Context, opts MotoOptions) (_ *Moto, err error) {
	ctx, cancel := context.WithTimeout(ctx, motoStartTimeout)
	defer cancel()
	binary, err := findMoto(opts.Binary)
	if err != nil {
		return nil, err
	}
	if opts.Port != 0 {
		if err := listenable(opts.Port, "--aws-port"); err != nil {
			return nil, err
		}
	}
	m := &Moto{log: opts.LogFile}
	defer func() {
		if err != nil {
			if m.proc != nil {
				_ = m.Stop(context.WithoutCancel(ctx))
			}
			m.removeLog()
		}
	}()
	if m.log == "" {
		f, err := os.CreateTemp("", "iasql-moto-*.log")
		if err != nil {
			return nil, fmt.Errorf("log of %s: %w", motoProgram, err)
		}
		m.log, m.tempLog = f.Name(), true
		_ = f.Close()
	}
	for attempt := 1; ; attempt++ {
		m.port = opts.Port
		if m.port == 0 {
			if m.port, err = freePort(); err != nil {
				return nil, err
			}
		}
		progress(opts.Progress, "starting the AWS emulator on port %d", m.port)
		snatched, err := m.runOnce(ctx, binary)
		if err == nil {
			return m, nil
		}
		if !snatched || opts.Port != 0 || attempt == 5 {
			return nil, err
		}
	}
}

func findMoto(binary string) (string, error) {
	if binary == "" {
		binary = os.Getenv("IASQL_MOTO_SERVER")
	}
	if binary == "" {
		return FindTool(motoProgram)
	}
	if _, err := exec.LookPath(binary); err != nil {
		return "", failure(ErrNoBinaries,
			"%s cannot be run (%v): name a moto_server, or unset IASQL_MOTO_SERVER and run make deps", binary,
			rootCause(err))
	}
	return binary, nil
}

// runOnce starts the server on m.port. snatched means that somebody else had
// taken the port in the meantime.
func (m *Moto) runOnce(ctx context.Context, binary string) (snatched bool, err error) {
	log, err := openLog(m.log)
	if err != nil {
		return false, fmt.Errorf("log of %s: %w", motoProgram, err)
	}
	defer log.Close() // the child has its own
	var offset int64
	if st, err := log.Stat(); err == nil {
		offset = st.Size()
	}
	command := []string{binary}
	if interpreter, program, err := PythonProgram(binary); err == nil {
		command = []string{interpreter, "-c", motoLauncher, program}
	}
	command = append(command, "-H", "127.0.0.1", "-p", strconv.Itoa(m.port))
	cmd := exec.Command(command[0], command[1:]...) // #nosec G204 -- the emulator that the caller has chosen
	cmd.Env = slices.DeleteFunc(os.Environ(), func(kv string) bool {
		// Would put every caller into one account.
		return strings.HasPrefix(kv, "MOTO_ACCOUNT_ID=")
	})
	cmd.Env = append(cmd.Env,
		"MOTO_IAM_LOAD_MANAGED_POLICIES=true",
		"MOTO_ENABLE_AMI_VALIDATION=true",
		"MOTO_ENABLE_KEYPAIR_VALIDATION=true",
		"MOTO_EC2_ENABLE_INSTANCE_TYPE_VALIDATION=true",
		"PYTHONUNBUFFERED=1",
	)
	cmd.Stdout, cmd.Stderr = log, log
	if m.proc, err = startProcess(cmd, syscall.SIGTERM); err != nil {
		return false, failure(ErrNotStarted, "%s could not be run: %v", binary, rootCause(err))
	}
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		if err := m.call(ctx, http.MethodGet, "/moto-api/"); err == nil {
			select {
			case <-m.proc.done: // then it was somebody else who answered
			default:
				return false, nil
			}
		}
		select {
		case <-tick.C:
		case <-m.proc.done:
			lines := logSince(m.log, offset)
			if strings.Contains(strings.Join(lines, "\n"), "in use") {
				return true, failure(ErrPortTaken, "port %d is taken: choose another with --aws-port", m.port)
			}
			why := "it gave no reason"
			for _, line := range slices.Backward(lines) {
				if line = strings.TrimSpace(line); line != "" {
					why = line
					break
				}
			}
			return false, failure(ErrNotStarted, "%s did not start: %s", binary, why)
		case <-ctx.Done():
			return false, failure(ErrNotStarted, "%s was not ready in time: see %s", binary, m.log)
		}
	}
}

// call makes a request to moto's own API and wants a 200.
func (m *Moto) call(ctx context.Context, method, path string) error {
	req, err := http.NewRequestWithContext(ctx, method, m.URL()+path, nil)
	if err != nil {
		return err
	}
	req.Close = true
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s %s%s: %s", method, m.URL(), path, resp.Status)
	}
	return nil
}

// URL is the endpoint for every AWS service.
func (m *Moto) URL() string { return fmt.Sprintf("http://127.0.0.1:%d", m.port) }

// Reset empties every account of the emulator.
func (m *Moto) Reset(ctx context.Context) error {
	if err := m.call(ctx, http.MethodPost, "/moto-api/reset"); err != nil {
		return fmt.Errorf("reset the AWS emulator: %w", err)
	}
	return nil
}

// Done is closed once the server has ended, by Stop or by itself.
func (m *Moto) Done() <-chan struct{} { return m.proc.done }

// Err says why the server ended by itself; nil while it runs and after Stop.
func (m *Moto) Err() error { return m.proc.exitError(motoProgram, m.log) }

// Stop ends the server, its whole process group: moto_server may be a wrapper
// around the real one. It is gone when Stop returns. What it keeps is in memory, so
// that force does no harm, and is no error: a server that answers somebody takes
// its time over SIGTERM. Further calls do nothing.
func (m *Moto) Stop(ctx context.Context) error {
	_ = m.proc.stop(ctx, motoProgram, true, stopStep{syscall.SIGTERM, time.Second},
		stopStep{syscall.SIGKILL, 5 * time.Second})
	m.cleanup.Do(func() {
		m.endGroup()
		m.removeLog()
	})
	return nil
}

// endGroup ends what a wrapper left in the process group when it ended itself,
// and waits (those are not our children) until the port is free again.
func (m *Moto) endGroup() {
	if err := syscall.Kill(-m.proc.cmd.Process.Pid, syscall.SIGKILL); err != nil {
		return // the group is empty
	}
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	deadline := time.After(2 * time.Second)
	for listenable(m.port, "") != nil {
		select {
		case <-tick.C:
		case <-deadline:
			return
		}
	}
}

func (m *Moto) removeLog() {
	if m.tempLog {
		_ = os.Remove(m.log)
	}
}
