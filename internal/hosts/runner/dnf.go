package runner

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"
)

// dnf looks after packages of rpm(8), by dnf 4: dnf(8), dnf.conf(5).
type dnf struct {
	*tree
	program  string // such as /usr/bin/dnf-3
	database string // the directory of rpm's
}

// dnfCommand is what people run. It is a link to the program of the version that the host uses.
const dnfCommand = "/usr/bin/dnf"

// dnfWithin bounds a question to dnf for which it may read the lists of repositories anew.
const dnfWithin = 5 * time.Minute

// findDNF returns what looks after packages of rpm, whose database is there.
func (t *tree) findDNF(database string) (packager, error) {
	program, err := t.linked(dnfCommand)
	if err != nil {
		return nil, err
	}
	if program == "" {
		program = dnfCommand
	}
	if _, err := t.stat(program); err != nil {
		return nil, &Failure{Refused, fmt.Sprintf("packages are those of apt and of dnf 4: this host has a database "+
			"of rpm in %s, and no %s", database, program)}
	}
	if path.Base(program) == "dnf5" {
		return nil, &Failure{Refused, "packages are those of apt and of dnf 4: this host has dnf 5"}
	}
	return &dnf{t, program, database}, nil
}

func (t *dnf) name() string { return "dnf" }

// busy looks at the lock of rpm's transactions. That another dnf is at work without one, dnf itself says.
func (t *dnf) busy() int { return t.holder(path.Join(t.database, ".rpm.lock")) }

func (t *dnf) notes() bool { return false }

func (t *dnf) resume() error { return nil }

func (t *dnf) needed(base string, p *Package) string {
	switch {
	case slices.Contains([]string{"rpm", "dnf", "glibc", "pam", "shadow-utils", "util-linux"}, base):
		return hostNeedsIt
	case slices.Contains([]string{"kernel", "kernel-core", "kernel-modules", "kernel-modules-core"}, base):
		return isTheKernel
	case p != nil && p.several:
		return isSeveral
	}
	return ""
}

// dnfOptions are those of all that dnf does: it waits for nobody, removes nothing because nothing needs it any more,
// and does not look at locks of versions, which the table has.
var dnfOptions = []string{"--color=never", "--setopt=exit_on_lock=True", "--disableplugin=versionlock",
	"--setopt=clean_requirements_on_remove=False"}

// ask asks dnf something, one word a line, that it answers from what it knows already: whoever asks, from what root's
// dnf knows.
func (t *dnf) ask(arguments ...string) ([]string, error) {
	p := t.run(time.Minute, t.program, slices.Concat([]string{"-C", "-q", "--setopt=*.skip_if_unavailable=True",
		"--setopt=cachedir=" + dnfCache}, dnfOptions, []string{"repoquery"}, arguments)...)
	if p.err != nil {
		return nil, dnfFailure(&p)
	}
	return strings.Fields(p.said), nil
}

// history is what dnf has done, sqlite's. It knows why each package is there.
const history = "/var/lib/dnf/history.sqlite"

var (
	rememberedUserInstalled memory[map[string]bool]
	rememberedUpgrades      memory[map[string]string]
)

// userInstalled returns the packages that somebody wanted for themselves, as name and architecture with a dot between.
func (t *dnf) userInstalled() (map[string]bool, error) {
	stamp := t.databaseStamp() + t.stampOfSQLite(history)
	return rememberedUserInstalled.recall(t.root, stamp, func() (map[string]bool, error) {
		words, err := t.ask("--userinstalled", "--qf", dnfMark+"%{name}.%{arch}\n")
		all := map[string]bool{}
		for _, word := range words {
			if of, is := strings.CutPrefix(word, dnfMark); is {
				all[of] = true
			}
		}
		return all, err
	})
}

// dnfMark begins what was asked for, among what plugins of dnf say besides.
const dnfMark = "package="

// latest returns what repositories have that is newer, and else what is there, if there are any lists of repositories:
// dnf reads them anew every hour or so (dnf-makecache.timer), and when it installs something.
func (t *dnf) latest(names []string) map[string]string {
	lists, err := t.repositoryLists()
	if err != nil || len(lists) == 0 || len(names) == 0 {
		return nil
	}
	now, err := t.rpms()
	if err != nil {
		return nil
	}
	files, _ := t.namesIn(yumRepositoryDir)
	for _, file := range files {
		lists = append(lists, path.Join(yumRepositoryDir, file))
	}
	stamp := t.databaseStamp() + t.stamp(append(lists, "/etc/dnf/dnf.conf", "/etc/dnf/vars")...)
	newer, err := rememberedUpgrades.recall(t.root, stamp, func() (map[string]string, error) {
		words, err := t.ask("--upgrades", "--latest-limit=1", "--qf",
			dnfMark+"%{name}|%{arch}|%{epoch}:%{version}-%{release}\n")
		all := map[string]string{}
		for _, word := range words {
			word, is := strings.CutPrefix(word, dnfMark)
			if f := strings.Split(word, "|"); is && len(f) == 3 {
				all[now.rowName(f[0], f[1])] = strings.TrimPrefix(f[2], "0:")
			}
		}
		return all, err
	})
	if err != nil {
		return nil
	}
	versions := map[string]string{}
	for _, p := range now.all {
		if name := now.rowName(p.name, p.arch); versions[name] == "" {
			versions[name] = p.version
		}
	}
	for _, name := range names {
		if version := newer[name]; packageVersion.MatchString(version) {
			versions[name] = version
		}
	}
	return versions
}

// yumRepositoryDir is where the repositories of dnf are named, and dnfCache where it has what they have.
const (
	yumRepositoryDir = "/etc/yum.repos.d"
	dnfCache         = "/var/cache/dnf"
)

// repositoryLists returns the files by which dnf knows of what repositories have.
func (t *dnf) repositoryLists() ([]string, error) {
	names, err := t.namesIn(dnfCache)
	var lists []string
	for _, name := range names {
		list := path.Join(dnfCache, name, "repodata/repomd.xml")
		if _, err := t.stat(list); err == nil {
			lists = append(lists, list)
		}
	}
	return lists, err
}

// version returns the version that a step is to end with, "" if dnf chooses it.
func (s *step) version() string {
	if s.of.Version == "" && s.there != nil && s.there.torn {
		return s.there.Version
	}
	return s.of.Version
}

// arguments are those of dnf for a step.
func (t *dnf) arguments(s *step) []string {
	base, arch, version := s.of.Name, "", s.version()
	if name, other, has := strings.Cut(base, ":"); has {
		base, arch = name, "."+other
	}
	switch {
	case s.remove:
		return []string{"remove", base + "." + s.there.Architecture}
	case version == "":
		return []string{"install", base + arch}
	case s.there != nil && s.there.torn && slices.Contains(s.there.versions, version):
		// It has the scripts of the version run as a whole, and removes an older one that was left.
		return []string{reinstall, base + "-" + version + "." + s.there.Architecture}
	}
	return []string{"install", base + "-" + version + arch}
}

func (t *dnf) simulate(s *step) (*plan, error) {
	if s.remove && s.of.Purge {
		return nil, &Failure{Refused, fmt.Sprintf("package %s: rpm does not purge: it keeps configuration that "+
			"somebody has changed, as FILE.rpmsave. INSERT it again, and DELETE it without purge", s.of.Name)}
	}
	arguments := t.arguments(s)
	would, err := t.wouldDo(arguments...)
	if s.remove || codeOf(err) != Invalid || !strings.Contains(err.Error(), unsolved) {
		return would, err
	}
	// It may be that something is in the way, which is named then.
	if erasing, tried := t.wouldDo(append([]string{"--allowerasing"}, arguments...)...); tried == nil {
		erasing.erasing = true
		return erasing, nil
	}
	return nil, err
}

// wouldDo finds out what a run of dnf would do.
func (t *dnf) wouldDo(arguments ...string) (*plan, error) {
	p := t.run(dnfWithin, t.program, slices.Concat([]string{"--assumeno"}, dnfOptions, arguments)...)
	if p.err != nil && !strings.Contains(p.said, "Operation aborted.") {
		return nil, dnfFailure(&p)
	}
	now, err := t.rpms()
	if err != nil {
		return nil, err
	}
	return parseTransaction(p.said, now.rowName), nil
}

// parseTransaction reads the table in which dnf says what it would do: a line of a package begins with one space, and
// goes on with more in the next line if a column is too narrow. rowName makes a name of a name and an architecture.
func parseTransaction(said string, rowName func(name, arch string) string) *plan {
	would := &plan{}
	var into *[]string
	last, pending := "", ""
	for line := range strings.Lines(said) {
		fields := strings.Fields(line)
		switch {
		case len(fields) == 0:
		case strings.HasPrefix(line, "Transaction Summary"):
			return would
		case line[0] != ' ':
			into, pending = nil, ""
			switch {
			case !strings.HasSuffix(strings.TrimSpace(line), ":"):
			case slices.Contains([]string{"Installing", "Upgrading", "Downgrading", "Reinstalling"},
				strings.TrimSuffix(fields[0], ":")):
				into = &would.install
			case strings.HasPrefix(line, "Removing"):
				into = &would.remove
			}
		case into == nil:
		case strings.HasPrefix(line, "  ") && fields[0] == "replacing" && len(fields) > 1:
			// The name with its architecture. It is another if that is obsolete.
			if dot := strings.LastIndexByte(fields[1], '.'); dot > 0 {
				if name := rowName(fields[1][:dot], fields[1][dot+1:]); name != last {
					would.remove = append(would.remove, name)
				}
			}
		case !strings.HasPrefix(line, "  ") && len(fields) == 1:
			pending = fields[0]
		case !strings.HasPrefix(line, "  "):
			last = rowName(fields[0], fields[1])
			*into = append(*into, last)
		case pending != "":
			last, pending = rowName(pending, fields[0]), ""
			*into = append(*into, last)
		}
	}
	return would
}

func (t *dnf) refresh() error {
	return t.run(workWithin, t.program, slices.Concat(dnfOptions, []string{"-q", "--refresh", "makecache"})...).err
}

func (t *dnf) do(s *step, would *plan) error {
	arguments := t.arguments(s)
	if would.erasing {
		arguments = append([]string{"--allowerasing"}, arguments...)
	}
	err := t.doIt(arguments...)
	if err == nil || arguments[0] != reinstall || len(s.there.versions) == 1 {
		return err
	}
	// What is installed again replaces an older version that was left, but no newer one.
	for _, version := range s.there.versions {
		if version != s.version() {
			if err := t.removeVersion(s.there, version); err != nil {
				return err
			}
		}
	}
	return t.doIt(arguments...)
}

// removeVersion removes a version of a package that is there in several, and nothing else.
func (t *dnf) removeVersion(p *Package, version string) error {
	base, _, _ := strings.Cut(p.Name, ":")
	arguments := []string{"remove", base + "-" + version + "." + p.Architecture}
	would, err := t.wouldDo(arguments...)
	if err != nil {
		return err
	}
	for _, name := range would.remove {
		if name != p.Name {
			return &Failure{InUse, fmt.Sprintf("package %s is there in several versions, and %s needs version %s: "+
				"choose that", p.Name, name, version)}
		}
	}
	return t.doIt(arguments...)
}

// doIt has dnf do something.
func (t *dnf) doIt(arguments ...string) error {
	run := t.run(workWithin, t.program, slices.Concat([]string{"--assumeyes"}, dnfOptions, arguments)...)
	if run.err != nil {
		return dnfFailure(&run)
	}
	return nil
}

// reinstall is what dnf is asked for to have a version installed once more.
const reinstall = "reinstall"

// dnfLocked is the exit code of dnf if another holds a lock: dnf(8).
const dnfLocked = 200

// unsolved is what dnf says if packages cannot be there together.
const unsolved = "Problem"

// dnfFailure says in words why dnf has failed.
func dnfFailure(p *program) error {
	var known *Failure
	if !errors.As(p.err, &known) || known.Code != Unspecified {
		return p.err
	}
	_, why, found := strings.Cut(p.said, "Error: ")
	if !found {
		why = p.gist()
	}
	why, _, _ = strings.Cut(strings.Join(strings.Fields(why), " "), "(try to add")
	f := &Failure{Unspecified, "dnf: " + strings.TrimSpace(why[:min(len(why), 900)])}
	has := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(p.said, w) })
	}
	switch {
	case p.code == dnfLocked, has("can't create transaction lock", "Failed to obtain"):
		f.Code = Busy
	case has("protected packages"):
		f.Code = Refused
	case has("more space needed", "No space left"):
		f.Code = Full
	case has("Unable to find a match"):
		f.Code = Invalid
		f.Message += ": no repository of the host has it"
	case has("packages marked for reinstall"):
		f.Code = Invalid
		f.Message += ": what was interrupted cannot be done again, as no repository of the host has this version any " +
			"more: choose another"
	case has(unsolved):
		f.Code = Invalid
	}
	return f
}

func (t *dnf) setAutomatic(p *Package, automatic bool) error {
	verb := "install"
	if automatic {
		verb = "remove"
	}
	base, _, _ := strings.Cut(p.Name, ":")
	run := t.run(time.Minute, t.program, slices.Concat(dnfOptions, []string{"-C", "-q", "mark", verb,
		base + "." + p.Architecture})...)
	if run.err != nil {
		return dnfFailure(&run)
	}
	return nil
}
