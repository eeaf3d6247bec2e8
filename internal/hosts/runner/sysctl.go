package runner

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// KindSysctl is the kind of the kernel's settings.
const KindSysctl = "sysctl"

// SysctlFile is the file that has those settings which the engine has made. No name that people choose comes after it:
// of two files the one whose name is the later in order has the last word, sysctl.d(5).
const SysctlFile = "/etc/sysctl.d/zz-iasql.conf"

// sysctlHead begins that file.
const sysctlHead = "# The rows of host_sysctl that were written there. Other files of sysctl.d are left alone.\n"

// sysctlDirs are the directories of sysctl.d(5). A file in one of them hides those of its name in the later ones.
var sysctlDirs = []string{"/etc/sysctl.d", "/run/sysctl.d", "/usr/local/lib/sysctl.d", "/usr/lib/sysctl.d"}

// Sysctl is a setting of the kernel that a file of sysctl.d(5) makes. What is nil is not said.
type Sysctl struct {
	// Name is its key with dots between the parts, and a slash for a dot within one: net.ipv4.conf.eth0/1.forwarding.
	Name  string  `json:"name"`
	Value *string `json:"value,omitempty"`
	// Running is what the kernel has; nil if it has no such setting, if the login may not know, or below a root that is
	// not the machine's.
	Running *string `json:"running,omitempty"`
	// Applied reports whether that is the value; nil below a root that is not the machine's.
	Applied *bool  `json:"applied,omitempty"`
	File    string `json:"file,omitempty"` // which has the last word
	order   string // the name that the file has its place by, which may be a link's
}

func init() {
	kinds[KindSysctl] = &things[Sysctl]{what: "kernel setting", turn: &sync.Mutex{},
		key: func(s *Sysctl) string { return s.Name }, read: readSysctls, difference: sysctlDifference,
		change: changeSysctl}
}

func sysctlDifference(now, said *Sysctl) string {
	switch {
	case other(now.Value, said.Value):
		return "value"
	case other(now.Applied, said.Applied):
		return "running value"
	}
	return ""
}

// swapped exchanges the dots and the slashes of a key, which makes a name of a path below /proc/sys and a path of a
// name.
func swapped(key string) string {
	return strings.Map(func(r rune) rune {
		switch r {
		case '.':
			return '/'
		case '/':
			return '.'
		}
		return r
	}, key)
}

// parseSysctl returns the setting that a line of a file of sysctl.d(5) makes. A line about several settings, by a glob,
// makes none, nor does one that only takes a setting out of such.
func parseSysctl(line string) (name, value string, ok bool) {
	line = strings.TrimSpace(line)
	if line == "" || line[0] == '#' || line[0] == ';' {
		return "", "", false
	}
	key, value, ok := strings.Cut(strings.TrimPrefix(line, "-"), "=")
	key = strings.TrimPrefix(strings.TrimSpace(key), "/proc/sys/")
	key = strings.TrimPrefix(key, "/")
	if !ok || key == "" || strings.ContainsAny(key, "*?[ \t") {
		return "", "", false
	}
	// If the first separator is a slash, the key is the path; else slashes and dots are exchanged.
	if i := strings.IndexAny(key, "./"); i >= 0 && key[i] == '/' {
		key = swapped(key)
	}
	return key, strings.TrimSpace(value), true
}

// sysctlFiles returns the files of sysctl.d(5) that count, in the order in which they do.
func (t *tree) sysctlFiles() ([]string, error) {
	hidden := map[string]bool{}
	var files []string
	for _, dir := range sysctlDirs {
		names, err := t.filesOf(dir)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			if strings.HasSuffix(name, ".conf") && !hidden[name] {
				hidden[name] = true
				files = append(files, path.Join(dir, name))
			}
		}
	}
	slices.SortFunc(files, func(a, b string) int { return cmp.Compare(path.Base(a), path.Base(b)) })
	return files, nil
}

// settings returns what the files of sysctl.d(5) set, but for the lines of one file that is left out.
func (t *tree) settings(but string) (map[string]Sysctl, error) {
	files, err := t.sysctlFiles()
	if err != nil {
		return nil, err
	}
	all := map[string]Sysctl{}
	for _, file := range files {
		if file == but {
			continue
		}
		// Debian's 99-sysctl.conf is a link to ../sysctl.conf. One to /dev/null hides a file.
		at, err := t.linked(file)
		switch {
		case err != nil:
			return nil, err
		case at == "/dev/null":
			continue
		case at == "":
			at = file
		}
		text, err := t.text(at, MaxContent)
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(text) {
			if name, value, ok := parseSysctl(line); ok && plainLine(name+value) {
				all[name] = Sysctl{Name: name, Value: &value, File: at, order: path.Base(file)}
			}
		}
	}
	return all, nil
}

func readSysctls(t *tree, of *selection, tell func(Sysctl), unread func(string, error)) error {
	all, err := t.settings("")
	if err != nil {
		return err
	}
	for name, s := range all {
		if !of.has(name, name) {
			continue
		}
		if t.root == "/" {
			running, err := t.kernel(name)
			if err != nil && codeOf(err) != Gone && codeOf(err) != Denied && codeOf(err) != Refused {
				unread(name, err)
				continue
			}
			if err == nil {
				s.Running = &running
			}
			if applied := err == nil && sameWords(running, *s.Value); codeOf(err) != Denied {
				s.Applied = &applied
			}
		}
		tell(s)
	}
	return nil
}

// sameWords reports whether two values are the same to the kernel, which puts tabs between numbers.
func sameWords(a, b string) bool { return slices.Equal(strings.Fields(a), strings.Fields(b)) }

// kernelFile opens a setting below /proc/sys.
func (t *tree) kernelFile(name string, flags int) (int, error) {
	file := "/proc/sys/" + swapped(name)
	dir, last, err := t.parent(file)
	if err == nil {
		defer unix.Close(dir)
		var fd int
		if fd, err = openat(dir, last, flags|unix.O_NONBLOCK, 0); err == nil {
			var st unix.Stat_t
			if err = unix.Fstat(fd, &st); err == nil && kindOf(&st) == File {
				return fd, nil
			}
			_ = unix.Close(fd)
			err = unix.ENOENT
		}
	}
	if code := codeOf(err); code == NoParent || code == Refused || errors.Is(err, unix.ENOENT) {
		return -1, &Failure{Gone, fmt.Sprintf("this kernel has no setting %s: there is no %s. It may be one of a "+
			"module that is not loaded, or of another version", name, file)}
	}
	return -1, failure("open", file, err)
}

// kernel reads the value that the kernel has of a setting, with one space for each of the kernel's spaces and tabs.
func (t *tree) kernel(name string) (string, error) {
	fd, err := t.kernelFile(name, unix.O_RDONLY)
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	text := make([]byte, 64<<10)
	n, err := descriptor(fd).Read(text)
	if n == 0 && err != nil && !errors.Is(err, io.EOF) {
		return "", &Failure{Refused, fmt.Sprintf("the kernel does not say what setting %s is: %v", name, err)}
	}
	value := strings.ToValidUTF8(string(text[:n]), "\uFFFD")
	return strings.Map(func(r rune) rune {
		if r == '\t' || r == '\n' {
			return ' '
		}
		return r
	}, strings.TrimSpace(strings.TrimRight(value, "\x00"))), nil
}

// setKernel gives the kernel a value, by one write.
func (t *tree) setKernel(name, value string) error {
	fd, err := t.kernelFile(name, unix.O_WRONLY)
	if codeOf(err) == Denied {
		return &Failure{Denied, fmt.Sprintf("setting %s cannot be written by the login: it takes root's rights, and a "+
			"setting that is not only to be read", name)}
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if _, err := descriptor(fd).Write([]byte(value + "\n")); err != nil {
		return &Failure{Invalid, fmt.Sprintf("the kernel does not take %.200q for setting %s: %v", value, name, err)}
	}
	return nil
}

// tune gives the kernel a value, and makes sure that it has it then. Otherwise it has the old one again.
func (t *tree) tune(name, value string) error {
	was, err := t.kernel(name)
	if err != nil {
		return err
	}
	if sameWords(was, value) {
		return nil
	}
	if err := t.setKernel(name, value); err != nil {
		return err
	}
	now, err := t.kernel(name)
	if err == nil && !sameWords(now, value) {
		err = &Failure{Invalid, fmt.Sprintf("the kernel makes %.200q of the value %.200q of setting %s, and has the "+
			"old one again: write what it makes of it", now, value, name)}
	}
	if err != nil {
		return errors.Join(err, t.setKernel(name, was))
	}
	return nil
}

func changeSysctl(t *tree, have, want *Sysctl) error {
	of := Either(want, have)
	name := of.Name
	if err := CheckPath("/proc/sys/" + swapped(name)); err != nil {
		return &Failure{Refused, fmt.Sprintf("%.200q names no setting of the kernel: it is spelt as "+
			"net.ipv4.ip_forward, with a slash for a dot within a part", name)}
	}
	theirs, err := t.settings(SysctlFile)
	if err != nil {
		return err
	}
	if want == nil {
		if have.File != "" && have.File != SysctlFile {
			return &Failure{Refused, fmt.Sprintf("setting %s is made by %s, which is not the engine's: change that "+
				"file, or give the setting another value here", name, have.File)}
		}
		if s, ok := theirs[name]; ok {
			return &Failure{Refused, fmt.Sprintf("setting %s would not go, since %s makes it, too: give it the value "+
				"that it has there (%s), or take it out there first", name, s.File, *s.Value)}
		}
		// What the kernel had before nobody knows: it goes on with what it has.
		return t.writeSysctl(name, nil)
	}
	if want.Applied != nil && !*want.Applied && have != nil {
		return &Failure{Refused, fmt.Sprintf("setting %s cannot be made one that is not applied: give it another value",
			name)}
	}
	value := want.Value
	if value == nil && have != nil {
		value = have.Value
	}
	if value == nil || *value != strings.TrimSpace(*value) || !plainLine(*value) {
		return &Failure{Refused, fmt.Sprintf("the value of setting %s is one line without a space at its ends", name)}
	}
	if read, _, ok := parseSysctl(name + "=" + *value); !ok || read != name {
		return &Failure{Refused, fmt.Sprintf("%.200q is spelt as no file of sysctl.d can have it", name)}
	}
	if s := theirs[name]; s.order > path.Base(SysctlFile) {
		return &Failure{Refused, fmt.Sprintf("setting %s is made by %s, which has the last word, since its name comes "+
			"after %s: change that file", name, s.File, path.Base(SysctlFile))}
	}
	was := ""
	if t.root == "/" {
		if was, err = t.kernel(name); err != nil {
			return err
		}
		if err := t.tune(name, *value); err != nil {
			return err
		}
	}
	if s, ok := theirs[name]; ok && *s.Value == *value {
		value = nil // there is no need to say it twice
	}
	if err := t.writeSysctl(name, value); err != nil {
		if t.root == "/" {
			err = errors.Join(err, t.tune(name, was))
		}
		return err
	}
	return nil
}

// writeSysctl writes the value of a setting into our file, or, if it is nil, takes the setting out of it.
func (t *tree) writeSysctl(name string, value *string) error {
	return t.edit(SysctlFile, Entry{Mode: "0644"}, func(text string) (*string, error) {
		var b strings.Builder
		if text == "" {
			text = sysctlHead
		}
		written := value == nil
		for line := range strings.Lines(text) {
			if key, _, ok := parseSysctl(line); !ok || key != name {
				b.WriteString(lined(line))
				continue
			}
			if !written {
				written = true
				b.WriteString(name + " = " + *value + "\n")
			}
		}
		if !written {
			b.WriteString(name + " = " + *value + "\n")
		}
		content := b.String()
		if content == sysctlHead {
			return nil, nil
		}
		return &content, nil
	}, nil)
}

// keptSysctl is what the kernel has of a setting before a change; the file is kept beside.
type keptSysctl struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// keepSysctl returns what the kernel has of the setting that a change is about; nil if it is about none.
func keepSysctl(t *tree, c *Change) (*keptSysctl, error) {
	of, err := subject[Sysctl](c, KindSysctl)
	if err != nil || of == nil {
		return nil, err
	}
	value, err := t.kernel(of.Name)
	if code := codeOf(err); code == Gone || code == Refused {
		return nil, nil // there is nothing that could be changed
	}
	if err != nil {
		return nil, err
	}
	return &keptSysctl{of.Name, value}, nil
}

// restore gives the kernel what it had.
func (k *keptSysctl) restore(t *tree) error {
	if now, err := t.kernel(k.Name); err == nil && sameWords(now, k.Value) {
		return nil
	}
	return t.setKernel(k.Name, k.Value)
}
