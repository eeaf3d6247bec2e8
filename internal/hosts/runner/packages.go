package runner

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// KindPackage is the kind of packages of dpkg, or of rpm.
const KindPackage = "package"

// Package is one that is installed, by dpkg(1) and apt-get(8), or by rpm(8) and dnf(8).
type Package struct {
	// Name has its architecture behind a colon if that is not the host's, as dpkg spells it.
	Name         string `json:"name"`
	Architecture string `json:"architecture,omitempty"`
	Version      string `json:"version,omitempty"`
	// Latest is the version that an installation would choose; nil if that is not known, "" if there is none.
	Latest    *string `json:"latest,omitempty"`
	Essential bool    `json:"essential,omitempty"`
	Held      *bool   `json:"held,omitempty"`
	Automatic *bool   `json:"automatic,omitempty"`
	// Configured reports whether what was begun with the package has ended.
	Configured *bool `json:"configured,omitempty"`
	// Purge has a removal remove its configuration too. MayRemove are packages that may be removed besides. Neither is
	// ever told of a package.
	Purge     bool     `json:"purge,omitempty"`
	MayRemove []string `json:"may_remove,omitempty"`

	// What follows is told to nobody. state is what dpkg calls it, such as half-installed; torn says that its files may
	// be those of two versions, so that it can only be installed again (reinst-required).
	state string
	torn  bool
	// lost says that its files are there, and that dpkg does not know of it.
	lost bool
	// Of rpm alone: all versions that are there, whether dnf keeps several, and when it was installed, in seconds of
	// Unix.
	versions  []string
	several   bool
	installed int64
}

func init() {
	kinds[KindPackage] = &things[Package]{what: KindPackage, turn: &sync.Mutex{},
		key:  func(p *Package) string { return p.Name },
		read: readPackages, difference: packageDifference, change: changePackage}
}

// Bounds of what is done with packages.
const (
	maxStatus  = 64 << 20         // of dpkg's file
	lockWithin = time.Minute      // that another has the packages locked
	workWithin = 30 * time.Minute // of one run of apt-get or dnf
	lookWithin = 20 * time.Second // of a simulation
	mostAsked  = 500              // packages of one question about candidates
)

// What names and versions of packages match.
const (
	PackageName    = `^[A-Za-z0-9][A-Za-z0-9+._-]{0,200}(:[a-z0-9_-]{1,30})?$`
	PackageVersion = `^[0-9A-Za-z][A-Za-z0-9.+~:^_-]{0,200}$`
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

// packager is what looks after the packages of a host.
type packager interface {
	// name is that of its program, for people.
	name() string
	// packages reads all packages.
	packages() (installed, error)
	// latest returns the versions that an installation of the names would choose, as far as that can be found out.
	latest(names []string) map[string]string
	// busy returns the process that changes packages now, 0 if none does.
	busy() int
	// notes reports whether it notes itself what it has begun with a package and not ended.
	notes() bool
	// resume ends what was begun with packages, as far as that can be done without installing or removing any.
	resume() error
	// needed says why a package is never removed, "" if that is not for a reason that it alone knows of. base is the
	// name without an architecture, and p is nil of a package that is not there.
	needed(base string, p *Package) string
	// simulate finds out what a step would do. It fails with Invalid if no repository that is known has what it takes.
	simulate(s *step) (*plan, error)
	// refresh reads anew what the repositories have.
	refresh() error
	// do does a step, which would do so much.
	do(s *step, would *plan) error
	// hold sets whether a package that is there is kept at its version.
	hold(p *Package, held bool) error
	// setAutomatic sets whether a package that is there goes when nothing needs it.
	setAutomatic(p *Package, automatic bool) error
}

// step is what is done with one package.
type step struct {
	of     *Package // as it is asked for: to be, or to go
	there  *Package // as it is, nil if it is not there
	remove bool
}

// String says what the step does.
func (s *step) String() string {
	switch {
	case s.remove:
		return "remove " + s.of.Name
	case s.of.Version != "":
		return "install " + s.of.Name + "=" + s.of.Version
	}
	return "install " + s.of.Name
}

// plan is what a step would do.
type plan struct {
	install, remove []string
	erasing         bool // what is removed has to be allowed
}

// packager returns what looks after the packages of the host: apt, if dpkg has installed itself there; else dnf, if rpm
// has a database. Each may be installed by the other, and look after nothing then.
func (t *tree) packager() (packager, error) {
	if _, err := t.stat("/var/lib/dpkg/info/dpkg.list"); err == nil {
		return &apt{t}, nil
	}
	if database := t.rpmDatabase(); database != "" {
		return t.findDNF(database)
	}
	return &apt{t}, nil
}

// holder returns the process that has one of these files locked, fcntl(2); 0 if none does.
func (t *tree) holder(files ...string) int {
	for _, name := range files {
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
	m, err := t.packager()
	if err != nil {
		return err
	}
	all, err := m.packages()
	if err != nil {
		return err
	}
	begun, err := t.begun()
	if err != nil {
		return err
	}
	busy := m.busy()
	var names []string
	for name, p := range all {
		if was := begun[name]; was != nil {
			was.dress(p)
		}
		switch {
		case !of.has(name, name):
		case !packageName.MatchString(name):
			unread(name, &Failure{Refused, fmt.Sprintf("%q is no name of a package", name)})
		case p.lost:
			unread(name, isLost(name))
		case !*p.Configured && busy != 0:
			unread(name, &Failure{Changing, fmt.Sprintf("process %d is at work with package %s", busy, name)})
		default:
			names = append(names, name)
		}
	}
	slices.Sort(names)
	candidates := m.latest(names)
	for _, name := range names {
		p := *all[name]
		if latest, known := candidates[name]; known {
			p.Latest = &latest
		}
		tell(p)
	}
	return nil
}

// await waits until nobody changes packages.
func await(m packager) error {
	for until := time.Now().Add(lockWithin); ; time.Sleep(200 * time.Millisecond) {
		holder := m.busy()
		if holder == 0 {
			return nil
		}
		if time.Now().After(until) {
			return &Failure{Busy, fmt.Sprintf("process %d has had the packages locked for more than %s: nothing is "+
				"done before it has ended", holder, lockWithin)}
		}
	}
}

// Why packages are never removed.
const (
	isEssential = "it is essential"
	isWayIn     = "the engine gets in by it"
	hostNeedsIt = "the host cannot be without it"
	isTheKernel = "it is the kernel"
	isSeveral   = "it is there in several versions, and nobody has said which of them may go"
)

// needed says why a package is never removed, "" if it may be.
func needed(m packager, name string, all installed) string {
	base, _, _ := strings.Cut(name, ":")
	p := all[name]
	switch {
	case p != nil && p.Essential:
		return isEssential
	case slices.Contains([]string{"openssh-server", "sudo", "dropbear", "dropbear-bin"}, base):
		return isWayIn
	case slices.Contains([]string{"systemd", "bash"}, base):
		return hostNeedsIt
	}
	return m.needed(base, p)
}

// transact does a step, after it has made sure of what that does besides.
func transact(m packager, s *step, all installed) error {
	would, err := m.simulate(s)
	if !s.remove && codeOf(err) == Invalid && m.refresh() == nil { // what is known may be older than the version
		would, err = m.simulate(s)
	}
	if err != nil {
		return err
	}
	if err := wouldRemove(m, s, would, all); err != nil {
		return err
	}
	for _, name := range would.install {
		if other := all[name]; name != s.of.Name && other != nil && *other.Held {
			return &Failure{InUse, fmt.Sprintf("to %s would change %s, which is held: "+
				"UPDATE host_package SET held = false of it first", s, name)}
		}
	}
	return m.do(s, would)
}

// wouldRemove says why what would be removed must not be.
func wouldRemove(m packager, s *step, would *plan, all installed) error {
	verb := "install"
	if s.remove {
		verb = "remove"
	}
	var besides []string
	for _, name := range would.remove {
		if why := needed(m, name, all); why != "" {
			of := ""
			if name != s.of.Name {
				of = fmt.Sprintf(" to %s %s would remove it.", verb, s.of.Name)
			}
			return &Failure{Refused, fmt.Sprintf("package %s is never removed: %s.%s", name, why, of)}
		}
		if name != s.of.Name && !slices.Contains(s.of.MayRemove, name) {
			besides = append(besides, name)
		}
	}
	if len(besides) == 0 {
		return nil
	}
	slices.Sort(besides)
	return &Failure{InUse, fmt.Sprintf("to %s %s would remove besides: %s. Delete these too, or name them in its "+
		"may_remove", verb, s.of.Name, strings.Join(besides, ", "))}
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
	m, err := t.packager()
	if err != nil {
		return err
	}
	if err := await(m); err != nil {
		return err
	}
	all, err := t.resume(m, Either(want, have).Name)
	if err != nil {
		return err
	}
	if want == nil {
		return t.removePackage(m, have, all)
	}
	there := all[want.Name]
	if there == nil || !*there.Configured || want.Version != "" && want.Version != there.Version {
		if there, err = t.installPackage(m, there, want, all); err != nil {
			return err
		}
	}
	return mark(m, there, want)
}

func (t *tree) removePackage(m packager, have *Package, all installed) error {
	if why := needed(m, have.Name, all); why != "" {
		return &Failure{Refused, fmt.Sprintf("package %s is never removed: %s", have.Name, why)}
	}
	if there := all[have.Name]; there != nil {
		if err := transact(m, &step{of: have, there: there, remove: true}, all); err != nil {
			return err
		}
	}
	return t.endBegun(m, "")
}

// installPackage installs a package, or another version of it, or ends what was begun with it, and returns what is
// there then. there is what is there now, nil if that is nothing.
func (t *tree) installPackage(m packager, there, want *Package, all installed) (*Package, error) {
	s := &step{of: want, there: there}
	if m.notes() && (there == nil || there.state == stateConfigFiles) {
		if err := transact(m, s, all); err != nil {
			return nil, err
		}
		return installedPackage(m, want)
	}
	again, err := t.begin(want.Name, there)
	if err != nil {
		return nil, err
	}
	if err := transact(m, s, all); err != nil {
		if again {
			return nil, err // what was interrupted is not ended yet
		}
		return nil, errors.Join(err, t.endBegun(m, ""))
	}
	if err := t.endBegun(m, ""); err != nil {
		return nil, err
	}
	return installedPackage(m, want)
}

// installedPackage returns a package that was installed.
func installedPackage(m packager, want *Package) (*Package, error) {
	all, err := m.packages()
	if err != nil {
		return nil, err
	}
	there := all[want.Name]
	switch {
	case there == nil:
		return nil, &Failure{Invalid, fmt.Sprintf("%s has installed %s, and there is no package of that name: it "+
			"may be another's that provides it", m.name(), want.Name)}
	case !*there.Configured:
		return nil, &Failure{Unspecified, fmt.Sprintf("%s has ended without an error, and package %s is %s still",
			m.name(), want.Name, there.state)}
	case want.Version != "" && there.Version != want.Version:
		return nil, &Failure{Invalid, fmt.Sprintf("%s has ended without an error, and the version of %s is %s, "+
			"not %s: name the whole of one that a repository has", m.name(), want.Name, there.Version, want.Version)}
	}
	return there, nil
}

// mark sets whether a package is held, and whether it goes when nothing needs it.
func mark(m packager, there, want *Package) error {
	if differs(there.Held, want.Held) {
		if err := m.hold(there, *want.Held); err != nil {
			return err
		}
	}
	if differs(there.Automatic, want.Automatic) {
		return m.setAutomatic(there, *want.Automatic)
	}
	return nil
}
