package runner

import (
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// readSystem tells of the one system that runs on the machine.
func readSystem(t *tree, of *selection, tell func(System), _ func(string, error)) error {
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		return failure("ask", "uname(2)", err)
	}
	s := System{HostName: shown(unix.ByteSliceToString(name.Nodename[:])),
		Kernel:       shown(unix.ByteSliceToString(name.Release[:])),
		Architecture: shown(unix.ByteSliceToString(name.Machine[:])), Processors: int64(runtime.NumCPU())}
	boot, err := proc("sys/kernel/random/boot_id")
	if err != nil {
		return failure("read", "/proc/sys/kernel/random/boot_id", err)
	}
	s.BootID = shown(strings.TrimSpace(boot))
	if !of.has(s.Key(), s.Scoped()) {
		return nil
	}
	if s.Booted, err = booted(); err != nil {
		return err
	}
	memory, err := proc("meminfo")
	if err != nil {
		return failure("read", "/proc/meminfo", err)
	}
	s.Memory = memTotal(memory)
	// /etc/os-release takes precedence (os-release(5)).
	for _, at := range []string{"/usr/lib/os-release", "/etc/os-release"} {
		text, err := t.text(at, maxRelease)
		if err == nil && text != "" {
			s.release(text)
		}
	}
	tell(s)
	return nil
}

// maxRelease bounds what os-release(5) has.
const maxRelease = 64 << 10

// memTotal returns how many bytes of memory /proc/meminfo says that the machine has; 0 if it does not say.
func memTotal(text string) int64 {
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) == 3 && f[0] == "MemTotal:" && f[2] == "kB" {
			n, _ := strconv.ParseInt(f[1], 10, 64)
			return n << 10
		}
	}
	return 0
}

// release takes what an os-release(5) says.
func (s *System) release(text string) {
	for line := range strings.Lines(text) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), "=")
		if !ok {
			continue
		}
		value = shown(strings.Trim(value, `"'`))
		switch name {
		case "ID":
			s.OS = value
		case "VERSION_ID":
			s.OSVersion = value
		case "PRETTY_NAME":
			s.OSName = value
		}
	}
}
