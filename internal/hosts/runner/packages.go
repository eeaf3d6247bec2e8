package runner

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// KindPackage is the kind of packages of dpkg.
const KindPackage = "package"

// Package is one that is installed, by dpkg(1) and apt-get(8).
type Package struct {
	// Name is as dpkg spells it: with its architecture behind a colon if that is not the host's.
	Name         string `json:"name"`
	Architecture string `json:"architecture,omitempty"`
	Version      string `json:"version,omitempty"`
	// Latest is the version that an installation would choose; nil if that is not known, "" if there is none.
	Latest    *string `json:"latest,omitempty"`
	Essential bool    `json:"essential,omitempty"`
	Held      *bool   `json:"held,omitempty"`
	Automatic *bool   `json:"automatic,omitempty"`
	// Configured reports whether dpkg has ended what it began with the package.
	Configured *bool `json:"configured,omitempty"`
	// Purge has a removal remove its configuration too. MayRemove are packages that may be removed besides. Neither is
	// ever told of a package.
	Purge     bool     `json:"purge,omitempty"`
	MayRemove []string `json:"may_remove,omitempty"`

	// state is what dpkg calls it, such as half-installed; torn says that its files may be those of two versions, so
	// that it can only be installed again (reinst-required). Both are told to nobody.
	state string
	torn  bool
}

func init() {
	kinds[KindPackage] = &things[Package]{what: KindPackage, turn: &sync.Mutex{},
		key:  func(p *Package) string { return p.Name },
		read: readPackages, difference: packageDifference, change: changePackage}
}

// Bounds of what is done with packages.
const (
	maxStatus  = 64 << 20         // of dpkg's file
	lockWithin = time.Minute      // that another holds dpkg's lock
	workWithin = 30 * time.Minute // of one run of apt-get
	lookWithin = 20 * time.Second // of a simulation
	mostAsked  = 500              // packages of one question about candidates
)

// What names and versions of packages match.
const (
	PackageName    = `^[a-z0-9][a-z0-9+.-]{0,200}(:[a-z0-9-]{1,30})?$`
	PackageVersion = `^[0-9A-Za-z][A-Za-z0-9.+~:-]{0,200}$`
)

var (
	packageName    = regexp.MustCompile(PackageName)
	packageVersion = regexp.MustCompile(PackageVersion)
)

func packageDifference(now, said *Package) string {
	differs := func(now, said *bool) bool { return now != nil && said != nil && *now != *said }
	switch {
	case said.Version != "" && said.Version != now.Version:
		return "version"
	case differs(now.Held, said.Held):
		return "hold"
	case differs(now.Automatic, said.Automatic):
		return "automatic mark"
	case differs(now.Configured, said.Configured):
		return "configuration"
	}
	return ""
}

// installed are all packages of a host, by name.
type installed map[string]*Package

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
func (t *tree) packages() (installed, error) {
	text, err := t.text("/var/lib/dpkg/status", maxStatus)
	if err != nil {
		return nil, err
	}
	if text == "" {
		return nil, &Failure{Refused, "there is no /var/lib/dpkg/status: packages are those of dpkg, and this host " +
			"has none"}
	}
	archs, err := t.text("/var/lib/dpkg/arch", 1<<16)
	if err != nil {
		return nil, err
	}
	native, _, _ := strings.Cut(strings.TrimSpace(archs), "\n")
	all := installed{}
	read := func(text string) {
		stanzas(text, func(f map[string]string) {
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

// stateConfigFiles is the state of a package that has left nothing but its configuration.
const stateConfigFiles = "config-files"

// busy returns the process that holds dpkg's lock, 0 if none does.
func (t *tree) busy() int {
	for _, name := range []string{"/var/lib/dpkg/lock-frontend", "/var/lib/dpkg/lock"} {
		dir, last, err := t.parent(name)
		if err != nil {
			continue
		}
		fd, err := openat(dir, last, unix.O_RDONLY, 0)
		_ = unix.Close(dir)
		if err != nil {
			continue
		}
		lock := unix.Flock_t{Type: unix.F_WRLCK}
		err = unix.FcntlFlock(uintptr(fd), unix.F_GETLK, &lock)
		_ = unix.Close(fd)
		if err == nil && lock.Type != unix.F_UNLCK {
			return max(int(lock.Pid), 1)
		}
	}
	return 0
}

func readPackages(t *tree, of *selection, tell func(Package), unread func(string, error)) error {
	all, err := t.packages()
	if err != nil {
		return err
	}
	begun, err := t.begun()
	if err != nil {
		return err
	}
	busy := t.busy()
	var names []string
	for name, p := range all {
		if was := begun[name]; was != nil {
			was.dress(p)
		}
		switch {
		case !of.has(name, name):
		case !packageName.MatchString(name):
			unread(name, &Failure{Refused, fmt.Sprintf("%q is no name of a package", name)})
		case !*p.Configured && busy != 0:
			unread(name, &Failure{Changing, fmt.Sprintf("process %d is at work with package %s", busy, name)})
		default:
			names = append(names, name)
		}
	}
	slices.Sort(names)
	candidates := t.candidates(names)
	for _, name := range names {
		p := *all[name]
		if latest, known := candidates[name]; known {
			p.Latest = &latest
		}
		tell(p)
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

// candidates returns the versions that an installation would choose, as far as that can be found out.
func (t *tree) candidates(names []string) map[string]string {
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

// await waits until nobody holds dpkg's lock.
func (t *tree) await() error {
	for until := time.Now().Add(lockWithin); ; time.Sleep(200 * time.Millisecond) {
		holder := t.busy()
		if holder == 0 {
			return nil
		}
		if time.Now().After(until) {
			return &Failure{Busy, fmt.Sprintf("process %d has held dpkg's lock for more than %s: nothing is done "+
				"before it has ended", holder, lockWithin)}
		}
	}
}

// startsWithDigit reports whether the name of a kernel is that of a release, and not of whatever is the newest.
func startsWithDigit(kernel string) bool { return kernel != "" && kernel[0] >= '0' && kernel[0] <= '9' }

// needed says why a package is never removed, "" if it may be.
func needed(name string, all installed) string {
	base, _, _ := strings.Cut(name, ":")
	p := all[name]
	var running unix.Utsname
	release := ""
	if unix.Uname(&running) == nil {
		release = unix.ByteSliceToString(running.Release[:])
	}
	kernel, isKernel := strings.CutPrefix(base, "linux-image-")
	switch {
	case p != nil && p.Essential:
		return "it is essential"
	case slices.Contains([]string{"openssh-server", "sudo", "dropbear", "dropbear-bin"}, base):
		return "the engine gets in by it"
	case slices.Contains([]string{"systemd", "systemd-sysv", "init", "sysvinit-core", "dpkg", "apt", "libc6", "passwd",
		"libpam-modules", "libpam-runtime", "login", "bash"}, base):
		return "the host cannot be without it"
	case isKernel && (kernel == release || !startsWithDigit(kernel)):
		return "it is the kernel"
	}
	return ""
}

// aptOptions are those of all that apt-get does: it asks nothing, and leaves configuration that somebody has changed.
var aptOptions = []string{"-y", "-q", "-o", "DPkg::Lock::Timeout=60", "-o", "Dpkg::Options::=--force-confdef",
	"-o", "Dpkg::Options::=--force-confold", "-o", "APT::Get::AutomaticRemove=false", "-o", "APT::Sandbox::User=root"}

// plan is what a run of apt-get would do.
type plan struct{ install, remove []string }

// simulate finds out what a run of apt-get would do.
func (t *tree) simulate(arguments []string) (*plan, error) {
	p := t.run(lookWithin, "/usr/bin/apt-get", slices.Concat([]string{"-s"}, arguments)...)
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

// apt runs apt-get on one package, after it has made sure of what that does besides.
func (t *tree) apt(verb string, p *Package, all installed, options ...string) error {
	what := p.Name
	if verb == "install" && p.Version != "" {
		what += "=" + p.Version
	}
	arguments := slices.Concat(aptOptions, options, []string{verb, "--", what})
	would, err := t.simulate(arguments)
	if verb == "install" && codeOf(err) == Invalid {
		// The lists may be older than the version.
		if u := t.run(workWithin, "/usr/bin/apt-get", slices.Concat(aptOptions, []string{"update"})...); u.err == nil {
			would, err = t.simulate(arguments)
		}
	}
	if err != nil {
		return err
	}
	if err := wouldRemove(verb, p, would, all); err != nil {
		return err
	}
	for _, name := range would.install {
		if other := all[name]; name != p.Name && other != nil && *other.Held {
			return &Failure{InUse, fmt.Sprintf("to %s %s would change %s, which is held: "+
				"UPDATE host_package SET held = false of it first", verb, what, name)}
		}
	}
	if len(would.remove) == 0 {
		arguments = slices.Concat([]string{"--no-remove"}, arguments)
	}
	run := t.run(workWithin, "/usr/bin/apt-get", arguments...)
	if run.err != nil {
		return aptFailure(&run)
	}
	return nil
}

// wouldRemove says why what would be removed must not be.
func wouldRemove(verb string, p *Package, would *plan, all installed) error {
	var besides []string
	for _, name := range would.remove {
		if why := needed(name, all); why != "" {
			of := ""
			if name != p.Name {
				of = fmt.Sprintf(" to %s %s would remove it.", verb, p.Name)
			}
			return &Failure{Refused, fmt.Sprintf("package %s is never removed: %s.%s", name, why, of)}
		}
		if name != p.Name && !slices.Contains(p.MayRemove, name) {
			besides = append(besides, name)
		}
	}
	if len(besides) == 0 {
		return nil
	}
	slices.Sort(besides)
	return &Failure{InUse, fmt.Sprintf("to %s %s would remove besides: %s. Delete these too, or name them in its "+
		"may_remove", verb, p.Name, strings.Join(besides, ", "))}
}

func changePackage(t *tree, have, want *Package) error {
	for _, p := range []*Package{have, want} {
		if p == nil {
			continue
		}
		if !packageName.MatchString(p.Name) || p.Version != "" && !packageVersion.MatchString(p.Version) {
			return &Failure{Refused, fmt.Sprintf("%q %q is no name and version of a package", p.Name, p.Version)}
		}
	}
	if want != nil && want.Configured != nil && !*want.Configured {
		return &Failure{Refused, fmt.Sprintf("package %s: configured cannot be set to false", want.Name)}
	}
	if err := mustBeRoot("changing packages"); err != nil {
		return err
	}
	if err := t.await(); err != nil {
		return err
	}
	all, err := t.resume()
	if err != nil {
		return err
	}
	if want == nil {
		return t.removePackage(have, all)
	}
	there := all[want.Name]
	if there == nil || !*there.Configured || want.Version != "" && want.Version != there.Version {
		if there, err = t.installPackage(there, want, all); err != nil {
			return err
		}
	}
	return t.mark(there, want)
}

func (t *tree) removePackage(have *Package, all installed) error {
	if why := needed(have.Name, all); why != "" {
		return &Failure{Refused, fmt.Sprintf("package %s is never removed: %s", have.Name, why)}
	}
	verb, options := "remove", []string{"--allow-change-held-packages"}
	if there := all[have.Name]; there != nil && there.torn {
		options = append(options, "-o", "Dpkg::Options::=--force-remove-reinstreq")
	} else if there != nil && there.state == stateConfigFiles {
		verb = "purge" // that was begun
	}
	if have.Purge {
		verb = "purge"
	}
	return t.apt(verb, have, all, options...)
}

// installPackage installs a package, or another version of it, or ends what was begun with it, and returns what is
// there then. there is what is there now, nil if that is nothing.
func (t *tree) installPackage(there, want *Package, all installed) (*Package, error) {
	var options []string
	if there == nil || there.state == stateConfigFiles {
		if want.Version != "" {
			options = append(options, "--allow-downgrades")
		}
		if err := t.apt("install", want, all, options...); err != nil {
			return nil, err
		}
		return t.installedPackage(want.Name)
	}
	asked := *want
	if asked.Version == "" {
		asked.Version = there.Version
	} else {
		options = append(options, "--allow-downgrades")
	}
	if *there.Held {
		options = append(options, "--allow-change-held-packages")
	}
	if there.torn && asked.Version == there.Version {
		options = append(options, "--reinstall")
	}
	// apt forgets the marks of what it installs as it begins.
	if err := t.begin(there); err != nil {
		return nil, err
	}
	failed := t.apt("install", &asked, all, options...)
	if err := t.endBegun(); failed != nil || err != nil {
		return nil, errors.Join(failed, err)
	}
	return t.installedPackage(want.Name)
}

// installedPackage returns a package that apt-get has installed.
func (t *tree) installedPackage(name string) (*Package, error) {
	all, err := t.packages()
	if err != nil {
		return nil, err
	}
	there := all[name]
	switch {
	case there == nil:
		return nil, &Failure{Invalid, fmt.Sprintf("apt-get has installed %s, and there is no package of that name: it "+
			"may be another's that provides it", name)}
	case !*there.Configured:
		return nil, &Failure{Unspecified, fmt.Sprintf("apt-get has ended without an error, and package %s is %s still",
			name, there.state)}
	}
	return there, nil
}

// mark sets whether a package is held, and whether it goes when nothing needs it.
func (t *tree) mark(there, want *Package) error {
	verb := func(is, wanted *bool, set, unset string) string {
		switch {
		case wanted == nil || *is == *wanted:
			return ""
		case *wanted:
			return set
		}
		return unset
	}
	for _, v := range []string{verb(there.Held, want.Held, "hold", "unhold"),
		verb(there.Automatic, want.Automatic, "auto", "manual")} {
		if v == "" {
			continue
		}
		if p := t.run(lookWithin, "/usr/bin/apt-mark", v, "--", want.Name); p.err != nil {
			return aptFailure(&p)
		}
	}
	return nil
}
