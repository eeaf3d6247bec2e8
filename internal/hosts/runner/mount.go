package runner

import (
	"errors"
	"fmt"
	"os"
	"path"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// KindMount is the kind of what is mounted, or can be, by a line of fstab(5).
const KindMount = "mount"

// FstabFile has the lines of fstab(5).
const FstabFile = "/etc/fstab"

// mountWithin is how long mount(8) and umount(8) may take: a server that does not answer makes them wait.
const mountWithin = 90 * time.Second

// Mount is a line of fstab(5) about a mount point. What is nil is not said.
type Mount struct {
	Point   string  `json:"point"`
	Device  *string `json:"device,omitempty"` // or what the file system says otherwise, such as UUID=…
	Type    *string `json:"type,omitempty"`
	Options *string `json:"options,omitempty"`
	Dump    *int64  `json:"dump,omitempty"`
	Pass    *int64  `json:"pass,omitempty"`
	// Mounted reports whether something is mounted there; nil below a root that is not the machine's.
	Mounted *bool `json:"mounted,omitempty"`
}

func init() {
	kinds[KindMount] = &things[Mount]{what: KindMount, turn: &sync.Mutex{},
		key: func(m *Mount) string { return m.Point }, read: readMounts, difference: mountDifference,
		change: changeMount}
}

func mountDifference(now, said *Mount) string {
	switch {
	case differs(now.Device, said.Device):
		return "device"
	case differs(now.Type, said.Type):
		return "file system"
	case differs(now.Options, said.Options):
		return "options"
	case differs(now.Dump, said.Dump), differs(now.Pass, said.Pass):
		return "numbers"
	case other(now.Mounted, said.Mounted):
		return "state"
	}
	return ""
}

// unescaped reads a field of fstab(5) or of proc(5), which has some characters as a backslash and three octal digits.
func unescaped(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+3 < len(text) {
			if n, err := strconv.ParseUint(text[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// escaped spells a field of fstab(5).
func escaped(field string) string {
	return strings.NewReplacer(" ", `\040`, "\t", `\011`, `\`, `\134`, "#", `\043`).Replace(field)
}

// parseFstab returns the mount of a line; nil if it is about none.
func parseFstab(line string) *Mount {
	fields := strings.Fields(line)
	if len(fields) < 3 || fields[0][0] == '#' {
		return nil
	}
	for i := range fields {
		fields[i] = unescaped(fields[i])
	}
	point, options := fields[1], "defaults"
	if point != "/" && CheckPath(point) != nil || !plainLine(strings.Join(fields, "")) {
		return nil // a swap has none
	}
	if len(fields) > 3 {
		options = fields[3]
	}
	var numbers [2]int64
	for i := range numbers {
		if len(fields) > 4+i {
			n, err := strconv.ParseInt(fields[4+i], 10, 32)
			if err != nil {
				return nil
			}
			numbers[i] = n
		}
	}
	return &Mount{Point: point, Device: &fields[0], Type: &fields[2], Options: &options, Dump: &numbers[0],
		Pass: &numbers[1]}
}

func (m *Mount) line() string {
	return fmt.Sprintf("%s\t%s\t%s\t%s\t%d %d\n", escaped(*m.Device), escaped(m.Point), escaped(*m.Type),
		escaped(*m.Options), *m.Dump, *m.Pass)
}

// mounted returns the numbers of what is mounted, by the mount points. What was mounted last at one hides the others.
func mounted() (map[string]string, error) {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, failure("read", "/proc/self/mountinfo", err)
	}
	all := map[string]string{}
	for line := range strings.Lines(string(text)) {
		// What automounts mounts nothing yet.
		if f := strings.Fields(line); len(f) > 4 && !strings.Contains(line, " - autofs ") {
			all[unescaped(f[4])] = f[0]
		}
	}
	return all, nil
}

func readMounts(t *tree, of *selection, tell func(Mount), unread func(string, error)) error {
	text, err := t.text(FstabFile, MaxContent)
	if err != nil {
		return err
	}
	var there map[string]string
	if t.root == "/" {
		if there, err = mounted(); err != nil {
			return err
		}
	}
	var all []*Mount
	count := map[string]int{}
	for line := range strings.Lines(text) {
		if m := parseFstab(line); m != nil && of.has(m.Point, m.Point) {
			count[m.Point]++
			all = append(all, m)
		}
	}
	for _, m := range all {
		if count[m.Point] > 1 {
			unread(m.Point, &Failure{Refused, fmt.Sprintf("%s has several lines about %s, which rows do not tell "+
				"apart, and they are left alone", FstabFile, m.Point)})
			continue
		}
		if there != nil {
			is := there[m.Point] != ""
			m.Mounted = &is
		}
		tell(*m)
	}
	return nil
}

// keptMounts are the mount points, and the directories, without which a host is none, or nobody gets in.
var keptMounts = regexp.MustCompile(`^/(|(boot|efi|dev|proc|sys|run|etc|usr|bin|sbin|lib|lib32|lib64|libx32)(/.*)?|` +
	`var|var/lib|var/lib/iasql-runner|root|tmp)$`)

func changeMount(t *tree, have, want *Mount) error {
	of := Either(want, have)
	if keptMounts.MatchString(of.Point) {
		return &Failure{Refused, fmt.Sprintf("a host is none without %s, or nobody gets in: what is mounted there is "+
			"shown and not changed", of.Point)}
	}
	if err := CheckPath(of.Point); err != nil {
		return err
	}
	if err := mustBeRoot("to mount something"); err != nil {
		return err
	}
	var whole *Mount
	if want != nil {
		var err error
		if whole, err = wholeMount(have, want); err != nil {
			return err
		}
	}
	back, err := t.remount(have, want, whole)
	if err != nil {
		return err
	}
	if err := t.writeFstab(of.Point, whole); err != nil {
		return errors.Join(err, back())
	}
	return t.reloadFstab()
}

// reloadFstab has systemd(1), if it runs the host, make its units of the lines anew: systemd-fstab-generator(8). It
// would go on by the old ones.
func (t *tree) reloadFstab() error {
	if _, err := os.Stat("/run/systemd/system"); t.root != "/" || err != nil {
		return nil
	}
	p := t.run(mountWithin, whereIs("systemctl"), "daemon-reload")
	return p.err
}

// wholeMount returns the line as it is to be. What is not said is as it was.
func wholeMount(have, want *Mount) (*Mount, error) {
	m := *want
	if have != nil {
		m.Device, m.Type = said(have.Device, m.Device), said(have.Type, m.Type)
		m.Options = said(have.Options, m.Options)
		m.Dump, m.Pass, m.Mounted = said(have.Dump, m.Dump), said(have.Pass, m.Pass), said(have.Mounted, m.Mounted)
	}
	if m.Device == nil || m.Type == nil || m.Options == nil || m.Dump == nil || m.Pass == nil {
		return nil, &Failure{Refused, fmt.Sprintf("what is mounted at %s has a device, a file system, options and two "+
			"numbers", m.Point)}
	}
	if *m.Type == "swap" {
		return nil, &Failure{Refused, fmt.Sprintf("swap is not mounted: %s names no mount point of it", m.Point)}
	}
	read := parseFstab(m.line())
	if read == nil || read.Point != m.Point {
		return nil, &Failure{Refused, fmt.Sprintf("%.200q is spelt as no line of fstab can have it", m.line())}
	}
	read.Mounted = m.Mounted
	if in := mountDifference(read, &m); in != "" {
		return nil, &Failure{Refused, fmt.Sprintf("%.200q is spelt as no line of fstab can have its %s", m.line(), in)}
	}
	return &m, nil
}

// remount mounts and unmounts what has to be, before the line says so, and returns what takes that back. Below a root
// that is not the machine's nothing is mounted.
func (t *tree) remount(have, want, whole *Mount) (back func() error, err error) {
	nothing := func() error { return nil }
	if t.root != "/" {
		return nothing, nil
	}
	there, err := mounted()
	if err != nil {
		return nil, err
	}
	point := Either(want, have).Point
	is := there[point] != ""
	to := whole != nil && (whole.Mounted == nil || *whole.Mounted)
	// Of another device or another file system there is another thing to be mounted; of options the same.
	another := is && to && have != nil && (*whole.Device != *have.Device || *whole.Type != *have.Type)
	options := is && to && have != nil && !another && *whole.Options != *have.Options
	mountAgain := func() error {
		if have == nil {
			return nil
		}
		return t.mount(have, false)
	}
	switch {
	case options:
		return func() error { return t.mount(have, true) }, t.mount(whole, true)
	case another:
		if err := t.unmount(point); err != nil {
			return nil, err
		}
		if err := t.mount(whole, false); err != nil {
			return nil, errors.Join(err, mountAgain())
		}
		return func() error { return errors.Join(t.unmount(point), mountAgain()) }, nil
	case to && !is:
		return func() error { return t.unmount(point) }, t.mount(whole, false)
	case is && !to && (have != nil || want.Mounted != nil):
		return mountAgain, t.unmount(point)
	}
	return nothing, nil
}

// mount mounts something, or gives what is mounted other options.
func (t *tree) mount(m *Mount, again bool) error {
	if err := t.mountable(m.Point); err != nil {
		return err
	}
	options := *m.Options
	if again {
		options = "remount," + options
	}
	p := t.run(mountWithin, whereIs("mount"), "-t", *m.Type, "-o", options, "--", *m.Device, m.Point)
	if p.err == nil {
		return nil
	}
	if codeOf(p.err) != Unspecified {
		return p.err
	}
	return &Failure{Invalid, fmt.Sprintf("%s cannot be mounted at %s with the options %s, and %s says nothing of it: "+
		"%s",
		*m.Device, m.Point, *m.Options, FstabFile, p.gist())}
}

// mountable makes sure that a mount point is a directory, and that none but root could put something else in its place
// meanwhile.
func (t *tree) mountable(point string) error {
	dir, last, err := t.descend(point)
	if err != nil {
		return err
	}
	st, err := statAt(dir, last)
	_ = unix.Close(dir)
	if errors.Is(err, unix.ENOENT) {
		return &Failure{NoParent, fmt.Sprintf("there is no directory %q to mount something at", point)}
	}
	if err != nil {
		return failure("look at", point, err)
	}
	if kindOf(&st) != Directory {
		return &Failure{Refused, fmt.Sprintf("%q is no directory: nothing is mounted there", point)}
	}
	for at := path.Dir(point); at != "/"; at = path.Dir(at) {
		dir, last, err := t.descend(at)
		if err != nil {
			return err
		}
		st, err := statAt(dir, last)
		_ = unix.Close(dir)
		if err != nil {
			return failure("look at", at, err)
		}
		if st.Uid != 0 || uint32(st.Mode)&0o022 != 0 {
			return &Failure{Refused, fmt.Sprintf("somebody else than root may write to %q: nothing is mounted below it",
				at)}
		}
	}
	return nil
}

// unmount unmounts what is mounted last at a mount point.
func (t *tree) unmount(point string) error {
	p := t.run(mountWithin, whereIs("umount"), "--", point)
	switch {
	case p.err == nil:
		return nil
	case strings.Contains(p.said, "busy"):
		return &Failure{Busy, fmt.Sprintf("%s is in use, and stays mounted: end what uses it (fuser -vm %s names that)",
			point, point)}
	}
	return p.err
}

// writeFstab writes the line of a mount point, or takes it out. Other lines stay as they are.
func (t *tree) writeFstab(point string, m *Mount) error {
	return t.edit(FstabFile, Entry{Mode: "0644"}, func(text string) (*string, error) {
		var b strings.Builder
		written := m == nil
		for line := range strings.Lines(text) {
			was := parseFstab(line)
			switch {
			case was == nil || was.Point != point:
				b.WriteString(lined(line))
			case m != nil && !written:
				written = true
				if mountDifference(was, &Mount{Device: m.Device, Type: m.Type, Options: m.Options, Dump: m.Dump,
					Pass: m.Pass}) != "" {
					line = m.line()
				}
				b.WriteString(lined(line))
			}
		}
		if !written {
			b.WriteString(m.line())
		}
		content := b.String()
		return &content, nil
	}, nil)
}

// keptMount is what is mounted at a mount point before a change; fstab is kept beside.
type keptMount struct {
	Was    Mount  `json:"was"`
	Number string `json:"number"` // of what is mounted; "": nothing is
}

// keepMount returns what is mounted where a change mounts something; nil if it does not.
func keepMount(t *tree, c *Change) (*keptMount, error) {
	of, err := subject[Mount](c, KindMount)
	if err != nil || of == nil {
		return nil, err
	}
	there, err := mounted()
	if err != nil {
		return nil, err
	}
	have, err := decoded[Mount](c.Have)
	if err != nil {
		return nil, err
	}
	if have == nil {
		have = &Mount{Point: of.Point}
	}
	return &keptMount{*have, there[of.Point]}, nil
}

// restore has mounted what was, and nothing else.
func (k *keptMount) restore(t *tree) error {
	return errors.Join(t.reloadFstab(), k.again(t))
}

// again mounts what was mounted, and unmounts what was not.
func (k *keptMount) again(t *tree) error {
	there, err := mounted()
	if err != nil {
		return err
	}
	now := there[k.Was.Point]
	switch {
	case now == k.Number && now != "" && k.Was.Options != nil:
		return t.mount(&k.Was, true)
	case now == k.Number:
		return nil
	case now != "":
		if err := t.unmount(k.Was.Point); err != nil {
			// Whatever uses it, nobody may be locked out by it: umount(8), --lazy.
			if p := t.run(mountWithin, whereIs("umount"), "-l", "--", k.Was.Point); p.err != nil {
				return errors.Join(err, p.err)
			}
		}
	}
	if k.Number != "" && k.Was.Device != nil {
		return t.mount(&k.Was, false)
	}
	return nil
}
