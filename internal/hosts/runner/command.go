package runner

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// maxSaid bounds what is kept of what a program says.
const maxSaid = 1 << 20

// program is one that has run.
type program struct {
	said string // all that it has said, cut
	code int    // its exit code
	err  error  // why it could not be run, or did not end well
}

// run runs a program of the host, without a shell: of a root that is not the machine's, inside it. It goes on when the
// runner ends meanwhile, for what is half done is worse than what is done unasked.
func (t *tree) run(within time.Duration, name string, arguments ...string) program {
	c := &exec.Cmd{Path: name, Args: append([]string{name}, arguments...), Dir: "/",
		Env: []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C", "HOME=/root",
			"DEBIAN_FRONTEND=noninteractive", "DEBCONF_NONINTERACTIVE_SEEN=true", "APT_LISTCHANGES_FRONTEND=none",
			"UCF_FORCE_CONFFOLD=1", "NEEDRESTART_MODE=l"},
		SysProcAttr: &syscall.SysProcAttr{Setsid: true}}
	if t.root != "/" {
		if os.Geteuid() != 0 {
			return program{err: &Failure{Denied, fmt.Sprintf("%s of the root %s is run inside it (chroot), which "+
				"takes root's rights", name, t.root)}}
		}
		if err := t.owned(name); err != nil {
			return program{err: err}
		}
		c.SysProcAttr.Chroot = t.root
	}
	// Neither a daemon that holds the output open nor a runner that ends makes the program wait or fail.
	output, err := os.CreateTemp("", ".iasql-said-*")
	if err != nil {
		return program{err: failure("write", os.TempDir(), err)}
	}
	defer output.Close()
	_ = os.Remove(output.Name()) // it is nobody's to read
	c.Stdout, c.Stderr = output, output
	if err := c.Start(); err != nil {
		if errors.Is(err, unix.ENOENT) {
			err = &Failure{Refused, fmt.Sprintf("the host has no %s", name)}
		}
		return program{err: err}
	}
	slow := time.AfterFunc(within, func() { _ = c.Process.Signal(unix.SIGTERM) })
	err = c.Wait()
	slow.Stop()
	p := program{code: c.ProcessState.ExitCode()}
	var said bytes.Buffer
	if _, err := output.Seek(0, io.SeekStart); err == nil {
		_, _ = io.Copy(&said, io.LimitReader(output, maxSaid))
	}
	p.said = strings.ToValidUTF8(said.String(), "\uFFFD")
	if err != nil {
		p.err = &Failure{Unspecified, fmt.Sprintf("%s: %v: %s", name, err, p.gist())}
	}
	return p
}

// owned makes sure that a root which is not the machine's, and in which a program is to be run, is root's own:
// otherwise whoever may write there would have his programs run with the rights of root.
func (t *tree) owned(program string) error {
	for _, name := range []string{"/", "/usr", "/usr/lib", "/etc", path.Dir(program), program} {
		var st unix.Stat_t
		var err error
		if name == "/" {
			err = unix.Fstat(t.fd, &st)
		} else {
			dir, last, parent := t.parent(name)
			if parent != nil {
				err = unix.ENOENT
			} else {
				st, err = statAt(dir, last)
				_ = unix.Close(dir)
			}
		}
		if errors.Is(err, unix.ENOENT) {
			return &Failure{Refused, fmt.Sprintf("the root %s has no %s", t.root, name)}
		}
		if err != nil {
			return failure("look at", name, err)
		}
		if kindOf(&st) == Link || st.Uid != 0 || uint32(st.Mode)&0o022 != 0 {
			return &Failure{Refused, fmt.Sprintf("%s of the root %s is a link, or somebody else than root may write "+
				"to it: nothing is run there", name, t.root)}
		}
	}
	return nil
}

// gist is what of the program's words says why it failed.
func (p *program) gist() string {
	var errs, last []string
	for line := range strings.Lines(p.said) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		if strings.HasPrefix(line, "E: ") || strings.Contains(line, "error") {
			errs = append(errs, line)
		}
		last = append(last, line)
	}
	if len(errs) == 0 {
		errs = last[max(0, len(last)-3):]
	}
	text := strings.Join(errs, " ")
	return text[:min(len(text), 900)]
}

// mustBeRoot says that something takes root's rights.
func mustBeRoot(what string) error {
	if os.Geteuid() == 0 {
		return nil
	}
	return &Failure{Denied, what + " takes root's rights: UPDATE host SET become = true, and let the login use sudo " +
		"without a password"}
}

// text reads a file below the root, of at most so many bytes; "" if there is none.
func (t *tree) text(name string, most int64) (string, error) {
	dir, last, err := t.parent(name)
	if codeOf(err) == NoParent {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer unix.Close(dir)
	var text []byte
	for range tries {
		text, _, err = readFile(dir, last, most)
		if codeOf(err) != Changing {
			break
		}
	}
	switch {
	case errors.Is(err, unix.ENOENT):
		return "", nil
	case errors.Is(err, unix.ELOOP):
		return "", &Failure{Refused, fmt.Sprintf("%q is a symbolic link, and none is followed", name)}
	case errors.Is(err, unix.EINVAL):
		return "", &Failure{Refused, fmt.Sprintf("%q is no file", name)}
	case err != nil:
		return "", failure("read", name, err)
	}
	return strings.ToValidUTF8(string(text), "\uFFFD"), nil
}

// stamp says whether files, or what names there are in directories, have changed since.
func (t *tree) stamp(names ...string) string {
	var b strings.Builder
	for _, name := range names {
		st, err := t.stat(name)
		if err != nil {
			b.WriteString("-;")
			continue
		}
		fmt.Fprintf(&b, "%d %d %d %d;", st.Dev, st.Ino, st.Size, st.Mtim.Nano())
	}
	return b.String()
}

// stampOfSQLite says whether a database of sqlite has changed since: by its log, as long as that has something, for
// whoever only reads may have what is in it written to the database.
func (t *tree) stampOfSQLite(name string) string {
	if st, err := t.stat(name + "-wal"); err == nil && st.Size > 0 {
		return t.stamp(name + "-wal")
	}
	return t.stamp(name)
}

// stat looks at what is at a path below the root, which may be a symbolic link.
func (t *tree) stat(name string) (st unix.Stat_t, err error) {
	dir, last, err := t.parent(name)
	if err != nil {
		return st, err
	}
	defer unix.Close(dir)
	return statAt(dir, last)
}
