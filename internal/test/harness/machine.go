package harness

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"iasql/internal/devenv"
	"iasql/internal/test/clock"
)

// Temporary makes a directory that PostgreSQL may reach, whose user is another
// than root. It is removed when the test ends.
func Temporary(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "iasql-test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Disk is a small disk of the test's own, which can be full.
type Disk struct {
	Dir    string
	filler string
}

// NewDisk mounts a disk of a size such as 400m, and fails where that is not
// allowed.
func NewDisk(t *testing.T, size string) (*Disk, error) {
	t.Helper()
	dir := filepath.Join(Temporary(t), "small")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size+",mode=755"); err != nil {
		return nil, fmt.Errorf("a disk that can be full takes the right to mount one (CAP_SYS_ADMIN): %w", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	return &Disk{Dir: dir, filler: filepath.Join(dir, "filler")}, nil
}

// Fill leaves no room at all.
func (d *Disk) Fill() error {
	f, err := os.Create(d.filler)
	if err != nil {
		return err
	}
	defer f.Close()
	for block := make([]byte, 1<<20); len(block) > 0; {
		if _, err := f.Write(block); err != nil {
			if !errors.Is(err, syscall.ENOSPC) {
				return err
			}
			block = block[:len(block)/2]
		}
	}
	return nil
}

// Free takes back what Fill did.
func (d *Disk) Free() error { return os.Remove(d.filler) }

// Cluster makes a PostgreSQL cluster on the disk, and returns its data
// directory for devenv.StartPostgres. Its log of transactions is on another
// disk, since PostgreSQL ends where that is full (manual, section 30.4).
func (d *Disk) Cluster(t *testing.T) string {
	t.Helper()
	data := filepath.Join(d.Dir, "cluster")
	pg, err := devenv.StartPostgres(context.Background(), devenv.PostgresOptions{DataDir: data})
	if err != nil {
		t.Fatal(err)
	}
	if err := pg.Stop(context.Background()); err != nil {
		t.Fatal(err)
	}
	wal := filepath.Join(data, "pgdata", "pg_wal")
	if out, err := exec.Command("sh", "-c", `cp -a "$1" "$2/wal" && rm -r "$1" && ln -s "$2/wal" "$1"`, "sh", wal,
		filepath.Dir(d.Dir)).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return data
}

// Clock is a clock that can jump, for processes that have Env.
type Clock struct{ *clock.Clock }

// NewClock fails where libfaketime is not installed.
func NewClock(t *testing.T) (*Clock, error) {
	t.Helper()
	c, err := clock.New(Temporary(t))
	return &Clock{c}, err
}

// Jump sets how far the clock is off, such as +1d, within a second.
func (c *Clock) Jump(t *testing.T, by string) {
	t.Helper()
	if err := c.Clock.Jump(by); err != nil {
		t.Error(err)
	}
}

// Resident returns what a process has of memory, now and at most (proc(5), /proc/pid/status).
func Resident(t *testing.T, pid int) string {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "VmRSS") || strings.HasPrefix(line, "VmHWM") {
			found = append(found, strings.Join(strings.Fields(line), " "))
		}
	}
	return strings.Join(found, ", ")
}
