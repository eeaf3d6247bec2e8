package runner

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// Where rpm has its database, and the file of it that changes, by the kinds of databases that there are.
var (
	rpmDatabases = []string{"/usr/lib/sysimage/rpm", "/var/lib/rpm"}
	rpmFiles     = []string{"rpmdb.sqlite", "Packages.db", "Packages"}
)

// rpmDatabase returns the directory of rpm's database, "" if there is none.
func (t *tree) rpmDatabase() string {
	for _, dir := range rpmDatabases {
		for _, file := range rpmFiles {
			if _, err := t.stat(path.Join(dir, file)); err == nil {
				return dir
			}
		}
	}
	return ""
}

// databaseStamp says whether the database has changed since.
func (t *dnf) databaseStamp() string {
	stamp := ""
	for _, file := range rpmFiles {
		stamp += t.stampOfSQLite(path.Join(t.database, file))
	}
	return stamp
}

// rpm is a package of rpm's database.
type rpm struct {
	name, version, arch string // the version with the epoch, unless that is 0, and the release
	installed           int64  // when, in seconds of Unix
}

// rpms are all packages, the last that was installed first.
type rpms struct {
	all    []rpm
	native string // the architecture of the host
}

// rowName is what the table calls a package: with its architecture behind a colon if that is not the host's.
func (r *rpms) rowName(name, arch string) string {
	if arch == r.native || arch == "noarch" {
		return name
	}
	return name + ":" + arch
}

// memory remembers, by root, an answer that takes a program: it is the same as long as its stamp is.
type memory[T any] struct {
	lock sync.Mutex
	of   map[string]memorized[T]
}

type memorized[T any] struct {
	stamp  string
	answer T
}

func (m *memory[T]) recall(root, stamp string, ask func() (T, error)) (T, error) {
	m.lock.Lock()
	defer m.lock.Unlock()
	if r, known := m.of[root]; known && r.stamp == stamp {
		return r.answer, nil
	}
	answer, err := ask()
	if err != nil {
		return answer, err
	}
	if m.of == nil {
		m.of = map[string]memorized[T]{}
	}
	m.of[root] = memorized[T]{stamp, answer}
	return answer, nil
}

var rememberedRPMs memory[*rpms]

// rpms reads rpm's database.
func (t *dnf) rpms() (*rpms, error) {
	return rememberedRPMs.recall(t.root, t.databaseStamp(), func() (*rpms, error) {
		p := t.run(lookWithin, "/usr/bin/rpm", "-qa", "--qf",
			`%{NAME}\t%|EPOCH?{%{EPOCH}}:{0}|:%{VERSION}-%{RELEASE}\t%{ARCH}\t%{INSTALLTIME}\n`)
		if p.err != nil {
			return nil, p.err
		}
		return parseRPMs(p.said)
	})
}

// parseRPMs reads what rpm says of all packages. It fails if that is not all of it: what is missing would have gone.
func parseRPMs(said string) (*rpms, error) {
	if len(said) >= maxSaid {
		return nil, &Failure{TooLarge, fmt.Sprintf("rpm -qa says more than %d MiB", maxSaid>>20)}
	}
	r := &rpms{}
	for line := range strings.Lines(said) {
		line = strings.TrimSpace(line)
		f := strings.Split(line, "\t")
		if line == "" || strings.HasPrefix(line, "warning: ") {
			continue
		}
		if len(f) != 4 {
			return nil, &Failure{Unspecified, fmt.Sprintf("rpm -qa: %.300s", line)}
		}
		if f[0] == "gpg-pubkey" { // a key that rpm trusts, and no package
			continue
		}
		at, err := strconv.ParseInt(f[3], 10, 64)
		if err != nil {
			return nil, &Failure{Unspecified, fmt.Sprintf("rpm -qa: %.300s", line)}
		}
		r.all = append(r.all, rpm{f[0], strings.TrimPrefix(f[1], "0:"), f[2], at})
		if f[0] == "rpm" {
			r.native = f[2]
		}
	}
	if len(r.all) == 0 {
		return nil, &Failure{Unspecified, "rpm knows of no package, which no host is without: look at its database"}
	}
	if r.native == "" {
		var machine unix.Utsname
		if err := unix.Uname(&machine); err != nil {
			return nil, failure("ask for", "the architecture", err)
		}
		r.native = unix.ByteSliceToString(machine.Machine[:])
	}
	// rpm lists them as they came into its database.
	slices.Reverse(r.all)
	slices.SortStableFunc(r.all, func(a, b rpm) int { return int(min(max(b.installed-a.installed, -1), 1)) })
	return r, nil
}

// packages reads all packages. Of one that is there in several versions it has the last that was installed: dnf keeps
// several of a kernel, and any other's change was interrupted.
func (t *dnf) packages() (installed, error) {
	now, err := t.rpms()
	if err != nil {
		return nil, err
	}
	wanted, err := t.userInstalled()
	if err != nil {
		return nil, err
	}
	locks, err := t.locks()
	if err != nil {
		return nil, err
	}
	protected, err := t.protected()
	if err != nil {
		return nil, err
	}
	all := installed{}
	for _, r := range now.all {
		name := now.rowName(r.name, r.arch)
		if p := all[name]; p != nil {
			p.versions = append(p.versions, r.version)
			continue
		}
		held := slices.ContainsFunc(locks, func(lock string) bool { return isLocked(lock, r.name) })
		essential := slices.ContainsFunc(protected, func(pattern string) bool {
			is, err := path.Match(pattern, r.name)
			return err == nil && is
		})
		configured, automatic := true, !wanted[r.name+"."+r.arch]
		all[name] = &Package{Name: name, Architecture: r.arch, Version: r.version, Essential: essential, Held: &held,
			Automatic: &automatic, Configured: &configured, versions: []string{r.version}, installed: r.installed}
	}
	for _, p := range all {
		if len(p.versions) == 1 {
			continue
		}
		if p.several, err = t.keepsSeveral(p); err != nil {
			return nil, err
		}
		if !p.several {
			p.torn, *p.Configured, p.state = true, false, "there in several versions"
		}
	}
	return all, nil
}

// keepsSeveral reports whether dnf keeps several versions of a package, as of kernels: installonlypkgs in dnf.conf(5).
func (t *dnf) keepsSeveral(p *Package) (bool, error) {
	base, _, _ := strings.Cut(p.Name, ":")
	if base == "kernel" || base == "kernel-PAE" {
		return true, nil
	}
	run := t.run(lookWithin, "/usr/bin/rpm", "-q", "--provides", base)
	if run.err != nil {
		return false, run.err
	}
	return strings.Contains(run.said, "installonlypkg("), nil
}

// protectedDir has files with the names of packages that dnf does not remove: protected_packages in dnf.conf(5).
const protectedDir = "/etc/dnf/protected.d"

// protected returns the names, or patterns of them, of packages that dnf does not remove.
func (t *dnf) protected() ([]string, error) {
	files, err := t.namesIn(protectedDir)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, file := range files {
		if !strings.HasSuffix(file, ".conf") {
			continue
		}
		text, err := t.text(path.Join(protectedDir, file), 1<<16)
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(text) {
			if !strings.HasPrefix(line, "#") {
				names = append(names, strings.Fields(strings.ReplaceAll(line, ",", " "))...)
			}
		}
	}
	return names, nil
}
