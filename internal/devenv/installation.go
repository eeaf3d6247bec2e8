package devenv

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// oldestMajor is the oldest PostgreSQL the project supports: 15 brought
// UNIQUE NULLS NOT DISTINCT.
const oldestMajor = 15

// installation is one set of PostgreSQL server programs.
type installation struct {
	bin   string // the directory of postgres, initdb and pg_ctl
	major int
}

func (i installation) program(name string) string { return filepath.Join(i.bin, name) }

// installGlobs are where packages put server programs without adding them to
// PATH: Debian and PGDG (deb), PGDG (rpm), Homebrew on either kind of Mac.
var installGlobs = []string{
	"/usr/lib/postgresql/*/bin",
	"/usr/pgsql-*/bin",
	"/opt/homebrew/opt/postgresql@*/bin",
	"/usr/local/opt/postgresql@*/bin",
}

// findInstallations lists what is installed, in the order of preference: what
// PATH names first, then the packages' directories, newest first.
func findInstallations(globs []string) []installation {
	var found []installation
	seen := map[string]bool{}
	add := func(dir string) (installation, bool) {
		if seen[dir] {
			return installation{}, false
		}
		seen[dir] = true
		major, err := serverVersion(dir)
		return installation{bin: dir, major: major}, err == nil
	}
	if path, err := exec.LookPath("postgres"); err == nil {
		// The link's target comes first: its neighbours are the other programs.
		dirs := []string{filepath.Dir(path)}
		if resolved, err := filepath.EvalSymlinks(path); err == nil {
			dirs = slices.Insert(dirs, 0, filepath.Dir(resolved))
		}
		for _, dir := range dirs {
			if inst, ok := add(dir); ok {
				found = append(found, inst)
				break
			}
		}
	}
	var packaged []installation
	for _, glob := range globs {
		dirs, _ := filepath.Glob(glob) // fails for malformed patterns only
		for _, dir := range dirs {
			if inst, ok := add(dir); ok {
				packaged = append(packaged, inst)
			}
		}
	}
	slices.SortStableFunc(packaged, func(a, b installation) int { return b.major - a.major })
	return append(found, packaged...)
}

var versionPattern = regexp.MustCompile(`\(PostgreSQL\) (\d+)`)

// serverVersion returns the major version of a complete set of programs.
func serverVersion(dir string) (int, error) {
	for _, name := range []string{"postgres", "initdb", "pg_ctl"} {
		if !executable(filepath.Join(dir, name)) {
			return 0, fmt.Errorf("%s has no %s", dir, name)
		}
	}
	out, err := exec.Command(filepath.Join(dir, "postgres"),
		"--version").Output() // #nosec G204 -- the server program that was found
	if err != nil {
		return 0, fmt.Errorf("%s/postgres --version: %w", dir, err)
	}
	m := versionPattern.FindSubmatch(out)
	if m == nil {
		return 0, fmt.Errorf("%s/postgres --version: %q", dir, out)
	}
	return strconv.Atoi(string(m[1]))
}

// chooseInstallation picks the first usable installation; for a cluster that
// exists (clusterMajor is not 0), the first of that version.
func chooseInstallation(all []installation, globs []string, dataDir string, clusterMajor int) (installation, error) {
	if len(all) == 0 {
		return installation{}, failure(ErrNoBinaries,
			"no PostgreSQL %d+ server binaries found (looked on PATH, %s): apt-get install postgresql",
			oldestMajor, strings.Join(globs, ", "))
	}
	for _, inst := range all {
		if inst.major >= oldestMajor && (clusterMajor == 0 || clusterMajor == inst.major) {
			return inst, nil
		}
	}
	var have []string
	for _, inst := range all {
		have = append(have, fmt.Sprintf("%d in %s", inst.major, inst.bin))
	}
	if clusterMajor != 0 {
		return installation{}, failure(ErrDataDirVersion,
			"data directory %s was made by PostgreSQL %d, installed is %s: apt-get install postgresql-%d, or choose "+
				"another with --data-dir",
			dataDir, clusterMajor, strings.Join(have, " and "), clusterMajor)
	}
	return installation{}, failure(ErrTooOld,
		"PostgreSQL %s is too old, %d is needed: install postgresql-%d from https://apt.postgresql.org",
		strings.Join(have, " and "), oldestMajor, oldestMajor)
}

// clusterVersion reads the major version that made a cluster, 0 when there is none.
func clusterVersion(cluster string) (int, error) {
	text, err := os.ReadFile(filepath.Join(cluster, "PG_VERSION")) // #nosec G304 -- a file of the cluster
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, failure(ErrDataDirAccess,
			"data directory %s cannot be read (%v): run as its owner, or choose another with --data-dir",
			filepath.Dir(cluster), rootCause(err))
	}
	major, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0, failure(ErrDataDirVersion,
			"data directory %s has no valid PG_VERSION: choose another with --data-dir", filepath.Dir(cluster))
	}
	return major, nil
}

// hasLibrary tells whether a loadable library is installed with these programs.
func (i installation) hasLibrary(name string) bool {
	dirs := []string{
		filepath.Join(i.bin, "../lib"),            // Debian, PGDG
		filepath.Join(i.bin, "../lib/postgresql"), // Homebrew
	}
	// #nosec G204 -- a program of the installation that was found
	if out, err := exec.Command(i.program("pg_config"), "--pkglibdir").Output(); err == nil {
		dirs = slices.Insert(dirs, 0, strings.TrimSpace(string(out)))
	}
	for _, dir := range dirs {
		for _, suffix := range []string{".so", ".dylib"} {
			if _, err := os.Stat(filepath.Join(dir, name+suffix)); err == nil {
				return true
			}
		}
	}
	return false
}
