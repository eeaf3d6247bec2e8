package runner

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// apt looks after packages of dpkg(1), by apt-get(8).
type apt struct{ *tree }

func (t *apt) name() string { return "apt-get" }

// stanzas calls each with the fields of each paragraph of a file of Debian's, deb822(5), as far as they are wanted. Of
// a field of several lines it has the first.
func stanzas(text string, each func(fields map[string]string), wanted ...string) {
	fields := map[string]string{}
	end := func() {
		if len(fields) > 0 {
			each(fields)
			fields = map[string]string{}
		}
	}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		switch {
		case strings.TrimSpace(line) == "":
			end()
		case line[0] == ' ' || line[0] == '\t' || line[0] == '#':
		default:
			if name, value, found := strings.Cut(line, ":"); found && slices.Contains(wanted, name) {
				fields[name] = strings.TrimSpace(value)
			}
		}
	}
	end()
}

// packages reads all packages.
func (t *apt) packages() (installed, error) {
	text, err := t.text("/var/lib/dpkg/status", maxStatus)
	if err != nil {
		return nil, err
	}
	if text == "" {
		return nil, &Failure{Refused, "there is neither /var/lib/dpkg/status nor a database of rpm: packages are " +
			"those of apt and of dnf, and this host has none"}
	}
	archs, err := t.text("/var/lib/dpkg/arch", 1<<16)
	if err != nil {
		return nil, err
	}
	native, _, _ := strings.Cut(strings.TrimSpace(archs), "\n")
	all, known := installed{}, map[string]bool{}
	read := func(text string) {
		stanzas(text, func(f map[string]string) {
			known[f["Package"]] = true
			if native == "" && f["Package"] == "dpkg" {
				native = f["Architecture"]
			}
			want, rest, _ := strings.Cut(f["Status"], " ")
			flag, status, _ := strings.Cut(rest, " ")
			p := &Package{Name: f["Package"], Architecture: f["Architecture"], Version: f["Version"],
				Essential: f["Essential"] == "yes" || f["Protected"] == "yes" || f["Important"] == "yes"}
			if p.Architecture != native && p.Architecture != "all" && native != "" {
				p.Name += ":" + p.Architecture
			}
			left := status == stateConfigFiles && want != "purge" // nothing but its configuration, as was asked for
			if left || status == "not-installed" || status == "" {
				delete(all, p.Name)
				return
			}
			held, done := want == "hold", status == "installed"
			p.state, p.torn = status, flag == "reinstreq" || status == "half-installed"
			p.Held, p.Configured, p.Automatic = &held, &done, new(bool)
			all[p.Name] = p
		}, "Package", "Status", "Architecture", "Version", "Essential", "Protected", "Important")
	}
	if native == "" { // dpkg itself tells
		stanzas(text, func(f map[string]string) {
			if f["Package"] == "dpkg" {
				native = f["Architecture"]
			}
		}, "Package", "Architecture")
	}
	read(text)
	// What a dpkg that was ended has not written there yet.
	updates, err := t.updates()
	if err != nil {
		return nil, err
	}
	for _, text := range updates {
		read(text)
	}
	if err := t.lost(all, known); err != nil {
		return nil, err
	}
	marks, err := t.text("/var/lib/apt/extended_states", maxStatus)
	if err != nil {
		return nil, err
	}
	stanzas(marks, func(f map[string]string) {
		name := f["Package"]
		if arch := f["Architecture"]; arch != native && arch != "all" && arch != "" {
			name += ":" + arch
		}
		if p := all[name]; p != nil && f["Auto-Installed"] == "1" {
			*p.Automatic = true
		}
	}, "Package", "Architecture", "Auto-Installed")
	return all, nil
}

// lost adds the packages that have a list of files and are not known: dpkg's file of packages has been cut off, or
// comes from a backup.
func (t *apt) lost(all installed, known map[string]bool) error {
	lists, err := t.namesIn("/var/lib/dpkg/info")
	if err != nil {
		return err
	}
	for _, list := range lists {
		name, is := strings.CutSuffix(list, ".list")
		if name, _, _ = strings.Cut(name, ":"); is && !known[name] && all[name] == nil {
			done := true
			all[name] = &Package{Name: name, lost: true, Held: new(bool), Automatic: new(bool), Configured: &done}
		}
	}
	return nil
}

// isLost says of a package that it is lost.
func isLost(name string) error {
	return &Failure{Unspecified, fmt.Sprintf("package %s has a list of files, and /var/lib/dpkg/status does not have "+
		"it: whether it is installed is unknown. Look whether that file is whole: earlier ones are in /var/backups",
		name)}
}

// stateConfigFiles is the state of a package that has left nothing but its configuration.
const stateConfigFiles = "config-files"

func (t *apt) busy() int { return t.holder("/var/lib/dpkg/lock-frontend", "/var/lib/dpkg/lock") }

// updates reads what dpkg has not merged into its file of packages yet. There is some only while dpkg is at work, or
// after it was ended.
func (t *apt) updates() (texts []string, err error) {
	const folder = "/var/lib/dpkg/updates"
	names, err := t.namesIn(folder)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if strings.Trim(name, "0123456789") != "" || len(texts) > 1000 {
			continue
		}
		text, err := t.text(path.Join(folder, name), 1<<20)
		if err != nil {
			return nil, err
		}
		texts = append(texts, text)
	}
	return texts, nil
}

// unfinished are those with which dpkg has begun something that dpkg --configure can end, or, with torn, those that
// have to be installed or removed anew.
func (all installed) unfinished(torn bool) []string {
	var names []string
	for name, p := range all {
		if !*p.Configured && p.torn == torn {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func (t *apt) notes() bool { return true }

// resume has dpkg end what it began: apt-get refuses to do anything before that.
func (t *apt) resume() error {
	all, err := t.packages()
	if err != nil {
		return err
	}
	updates, err := t.updates()
	if err != nil || len(updates)+len(all.unfinished(false))+len(all.unfinished(true)) == 0 {
		return err
	}
	p := t.run(workWithin, "/usr/bin/dpkg", "--force-confdef", "--force-confold", "--configure", "-a")
	if all, err = t.packages(); err != nil {
		return err
	}
	// It fails, too, because of what is torn, which is not its to mend.
	names := all.unfinished(false)
	if p.err != nil && (len(names) > 0 || len(all.unfinished(true)) == 0) {
		return &Failure{Unspecified, fmt.Sprintf("dpkg has not ended what it began with %s, and cannot: %s",
			strings.Join(names[:min(len(names), 10)], ", "), p.gist())}
	}
	return nil
}

// candidates remembers, by root, what an installation would choose: asking apt takes half a second.
var candidates struct {
	lock sync.Mutex
	of   map[string]*remembered
}

type remembered struct {
	stamp    string
	versions map[string]string
}

// latest returns the versions that an installation would choose, as far as that can be found out.
func (t *apt) latest(names []string) map[string]string {
	candidates.lock.Lock()
	defer candidates.lock.Unlock()
	stamp := t.stamp("/var/lib/dpkg/status", "/var/lib/apt/lists", "/etc/apt/preferences", "/etc/apt/preferences.d",
		"/etc/apt/sources.list", "/etc/apt/sources.list.d", "/etc/apt/apt.conf.d")
	r := candidates.of[t.root]
	if r == nil || r.stamp != stamp {
		r = &remembered{stamp, map[string]string{}}
		if candidates.of == nil {
			candidates.of = map[string]*remembered{}
		}
		candidates.of[t.root] = r
	}
	var ask []string
	for _, name := range names {
		if _, known := r.versions[name]; !known {
			ask = append(ask, name)
		}
	}
	for some := range slices.Chunk(ask, mostAsked) {
		p := t.run(lookWithin, "/usr/bin/apt-cache", append([]string{"policy", "--"}, some...)...)
		if p.err != nil {
			break
		}
		at := ""
		for line := range strings.Lines(p.said) {
			if !strings.HasPrefix(line, " ") {
				at = strings.TrimSuffix(strings.TrimSpace(line), ":")
			} else if version, found := strings.CutPrefix(strings.TrimSpace(line), "Candidate: "); found {
				if version == "(none)" {
					version = ""
				}
				if packageVersion.MatchString(version) || version == "" {
					r.versions[at] = version
				}
			}
		}
	}
	return maps.Clone(r.versions)
}

// startsWithDigit reports whether the name of a kernel is that of a release, and not of whatever is the newest.
func startsWithDigit(kernel string) bool { return kernel != "" && kernel[0] >= '0' && kernel[0] <= '9' }

func (t *apt) needed(base string, _ *Package) string {
	var running unix.Utsname
	release := ""
	if unix.Uname(&running) == nil {
		release = unix.ByteSliceToString(running.Release[:])
	}
	kernel, isKernel := strings.CutPrefix(base, "linux-image-")
	switch {
	case slices.Contains([]string{"systemd-sysv", "init", "sysvinit-core", "dpkg", "apt", "libc6", "passwd",
		"libpam-modules", "libpam-runtime", "login"}, base):
		return hostNeedsIt
	case isKernel && (kernel == release || !startsWithDigit(kernel)):
		return isTheKernel
	}
	return ""
}

// aptOptions are those of all that apt-get does: it asks nothing, and leaves configuration that somebody has changed.
var aptOptions = []string{"-y", "-q", "-o", "DPkg::Lock::Timeout=60", "-o", "Dpkg::Options::=--force-confdef",
	"-o", "Dpkg::Options::=--force-confold", "-o", "APT::Get::AutomaticRemove=false", "-o", "APT::Sandbox::User=root"}

// arguments are those of apt-get for a step.
func (t *apt) arguments(s *step) []string {
	verb, what, there := "install", s.of.Name, s.there
	var options []string
	option := func(is bool, option ...string) {
		if is {
			options = append(options, option...)
		}
	}
	left := there != nil && there.state == stateConfigFiles
	torn := there != nil && there.torn
	switch {
	case s.remove:
		verb = "remove"
		if s.of.Purge || left && !torn { // a purge that was begun
			verb = "purge"
		}
		option(true, "--allow-change-held-packages")
		option(torn, "-o", "Dpkg::Options::=--force-remove-reinstreq")
	default:
		version := s.of.Version
		option(version != "", "--allow-downgrades")
		if there != nil && !left {
			if version == "" {
				version = there.Version
			}
			option(*there.Held, "--allow-change-held-packages")
			option(torn && version == there.Version, "--reinstall")
		}
		if version != "" {
			what += "=" + version
		}
	}
	return slices.Concat(aptOptions, options, []string{verb, "--", what})
}

func (t *apt) simulate(s *step) (*plan, error) {
	p := t.run(lookWithin, "/usr/bin/apt-get", slices.Concat([]string{"-s"}, t.arguments(s))...)
	if p.err != nil {
		return nil, aptFailure(&p)
	}
	would := &plan{}
	for line := range strings.Lines(p.said) {
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		switch fields[0] {
		case "Inst":
			would.install = append(would.install, fields[1])
		case "Remv", "Purg":
			would.remove = append(would.remove, fields[1])
		}
	}
	return would, nil
}

func (t *apt) refresh() error {
	return t.run(workWithin, "/usr/bin/apt-get", slices.Concat(aptOptions, []string{"update"})...).err
}

func (t *apt) do(s *step, would *plan) error {
	arguments := t.arguments(s)
	if len(would.remove) == 0 {
		arguments = slices.Concat([]string{"--no-remove"}, arguments)
	}
	run := t.run(workWithin, "/usr/bin/apt-get", arguments...)
	if run.err != nil {
		return aptFailure(&run)
	}
	return nil
}

// aptFailure says in words why apt-get has failed.
func aptFailure(p *program) error {
	var known *Failure
	if !errors.As(p.err, &known) || known.Code != Unspecified {
		return p.err
	}
	f := &Failure{Unspecified, "apt-get: " + p.gist()}
	switch {
	case strings.Contains(p.said, "Unable to locate package"), strings.Contains(p.said, "has no installation "+
		"candidate"):
		f.Code = Invalid
		f.Message += ": no repository of the host has it"
	case strings.Contains(p.said, "was not found"), strings.Contains(p.said, "unmet dependencies"),
		strings.Contains(p.said, "unauthenticated packages"):
		f.Code = Invalid
	case strings.Contains(p.said, "No space left"), strings.Contains(p.said, "enough free space"):
		f.Code = Full
	case strings.Contains(p.said, "Could not get lock"):
		f.Code = Busy
	}
	return f
}

func (t *apt) hold(p *Package, held bool) error {
	return t.set(p, map[bool]string{true: "hold", false: "unhold"}[held])
}

func (t *apt) setAutomatic(p *Package, automatic bool) error {
	return t.set(p, map[bool]string{true: "auto", false: "manual"}[automatic])
}

func (t *apt) set(p *Package, mark string) error {
	if p := t.run(lookWithin, "/usr/bin/apt-mark", mark, "--", p.Name); p.err != nil {
		return aptFailure(&p)
	}
	return nil
}
