package runner

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Where the plugin versionlock of dnf 4 has its locks: dnf-versionlock(8).
const (
	versionlockConf = "/etc/dnf/plugins/versionlock.conf"
	versionlockList = "/etc/dnf/plugins/versionlock.list"
)

var locklist = regexp.MustCompile(`(?m)^\s*locklist\s*[=:]\s*(/\S+)\s*$`)

// lockFile returns the file of the locks, "" if the plugin is not there.
func (t *dnf) lockFile() (string, error) {
	conf, err := t.text(versionlockConf, 1<<16)
	if err != nil || conf == "" {
		return "", err
	}
	if m := locklist.FindStringSubmatch(conf); m != nil {
		return m[1], nil
	}
	return versionlockList, nil
}

// locks returns the patterns that keep packages at their versions.
func (t *dnf) locks() ([]string, error) {
	file, err := t.lockFile()
	if err != nil || file == "" {
		return nil, err
	}
	text, err := t.text(file, 1<<20)
	var locks []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' && line[0] != '!' {
			locks = append(locks, line)
		}
	}
	return locks, err
}

// lockedNames returns the names, or patterns of them, that a lock may be about. It is a name, maybe with an
// architecture, or has behind it a hyphen and a version, or a version and a release. A version has no hyphen.
func lockedNames(lock string) []string {
	names := []string{lock}
	if dot := strings.LastIndexByte(lock, '.'); dot > 0 {
		names = append(names, lock[:dot])
	}
	for at, n := lock, 0; n < 2; n++ {
		hyphen := strings.LastIndexByte(at, '-')
		if hyphen <= 0 {
			break
		}
		at = at[:hyphen]
		if rest := lock[hyphen+1:]; strings.ContainsRune("0123456789*?[", rune((rest + " ")[0])) {
			names = append(names, at)
		}
	}
	return names
}

// isLocked reports whether a lock is about a package of a name.
func isLocked(lock, name string) bool {
	return slices.ContainsFunc(lockedNames(lock), func(pattern string) bool {
		is, err := path.Match(pattern, name)
		return err == nil && is
	})
}

// hold writes what versionlock add does, and takes out what versionlock delete does. The plugin has no lock that
// keeps a package wherever it is, so that a package that has another version gets another lock.
func (t *dnf) hold(p *Package, held bool) error {
	file, err := t.lockFile()
	if err != nil {
		return err
	}
	if file == "" {
		return &Failure{Refused, fmt.Sprintf("package %s: dnf holds packages by its plugin versionlock, which this "+
			"host does not have: install python3-dnf-plugin-versionlock first", p.Name)}
	}
	base, _, _ := strings.Cut(p.Name, ":")
	return t.edit(file, Entry{Mode: "0644"}, func(text string) (*string, error) {
		var lines strings.Builder
		for line := range strings.Lines(text) {
			lock := strings.TrimSpace(line)
			switch {
			case lock == "" || lock[0] == '#' || lock[0] == '!' || !isLocked(lock, base):
				lines.WriteString(line)
			case !slices.Contains(lockedNames(lock), base):
				return nil, &Failure{Refused, fmt.Sprintf("package %s is held by the line %.200q of %s, which may "+
					"hold others: change that", p.Name, lock, file)}
			}
		}
		content := lined(lines.String())
		if held {
			version := p.Version
			if !strings.Contains(version, ":") {
				version = "0:" + version
			}
			content += base + "-" + version + ".*\n"
		}
		return &content, nil
	}, nil)
}
