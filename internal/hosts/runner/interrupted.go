package runner

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// What was interrupted goes on: dpkg says in its files how far it came with each package, and the runner how the
// package was marked before. Each step can be done again, so that it does not matter who was ended in which.

// updates reads what dpkg has not merged into its file of packages yet. There is some only while dpkg is at work, or
// after it was ended.
func (t *tree) updates() (texts []string, err error) {
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

// namesIn returns what is in a directory, by name; nothing if there is no such directory.
func (t *tree) namesIn(folder string) ([]string, error) {
	dir, last, err := t.parent(folder)
	if codeOf(err) == NoParent {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer unix.Close(dir)
	fd, err := openat(dir, last, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if errors.Is(err, unix.ENOENT) {
		return nil, nil
	}
	if err != nil {
		return nil, failure("read", folder, err)
	}
	defer unix.Close(fd)
	names, err := children(fd, folder)
	slices.Sort(names)
	return names, err
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

// resume ends what was begun with packages, as far as that can be done without installing or removing any, and returns
// all packages. apt-get refuses to do anything before that.
func (t *tree) resume() (installed, error) {
	all, err := t.packages()
	if err != nil {
		return nil, err
	}
	updates, err := t.updates()
	if err != nil {
		return nil, err
	}
	if len(updates)+len(all.unfinished(false))+len(all.unfinished(true)) > 0 {
		p := t.run(workWithin, "/usr/bin/dpkg", "--force-confdef", "--force-confold", "--configure", "-a")
		if all, err = t.packages(); err != nil {
			return nil, err
		}
		// It fails, too, because of what is torn, which is not its to mend.
		names := all.unfinished(false)
		if p.err != nil && (len(names) > 0 || len(all.unfinished(true)) == 0) {
			return nil, &Failure{Unspecified, fmt.Sprintf("dpkg has not ended what it began with %s, and cannot: %s",
				strings.Join(names[:min(len(names), 10)], ", "), p.gist())}
		}
	}
	if err := t.endBegun(); err != nil {
		return nil, err
	}
	return t.packages()
}

// begunFolder has a file for each package whose version is being changed.
const begunFolder = "/var/lib/iasql-runner/packages"

// begun is how a package was before a change of its version. While it is kept, the change is not done.
type begun struct {
	Version   string `json:"version"`
	Held      bool   `json:"held,omitempty"`
	Automatic bool   `json:"automatic,omitempty"`
}

// dress has a package be told of as it was before: who wants another version sees that it is not there yet, and the
// marks that apt-get forgets meanwhile are nobody's wish.
func (b *begun) dress(p *Package) {
	p.Version, p.Held, p.Automatic, p.Configured = b.Version, &b.Held, &b.Automatic, new(bool)
}

// begin remembers how a package is before its version is changed.
func (t *tree) begin(p *Package) error {
	for _, folder := range []string{path.Dir(begunFolder), begunFolder} {
		err := t.place(&Request{Want: &Entry{Path: folder, Kind: Directory, Mode: "0700"}}, nil)
		if err != nil && codeOf(err) != Exists {
			return err
		}
	}
	text, err := json.Marshal(begun{p.Version, *p.Held, *p.Automatic})
	if err != nil {
		return err
	}
	content := string(text)
	return t.place(&Request{Want: &Entry{Path: path.Join(begunFolder, p.Name), Kind: File, Content: &content,
		Mode: "0600"}}, nil)
}

// begun returns the packages whose change has not ended, by name.
func (t *tree) begun() (map[string]*begun, error) {
	names, err := t.namesIn(begunFolder)
	if err != nil {
		return nil, err
	}
	all := map[string]*begun{}
	for _, name := range names {
		if !packageName.MatchString(name) {
			continue // it was being written
		}
		text, err := t.text(path.Join(begunFolder, name), 1<<12)
		if err != nil {
			return nil, err
		}
		was := &begun{}
		if err := json.Unmarshal([]byte(text), was); err != nil {
			return nil, &Failure{Refused, fmt.Sprintf("%s/%s does not say how the package was before it was changed "+
				"(%v): look at the package, and delete the file", begunFolder, name, err)}
		}
		all[name] = was
	}
	return all, nil
}

// endBegun gives packages whose change was begun the marks that they had, and forgets that it was begun.
func (t *tree) endBegun() error {
	begun, err := t.begun()
	if err != nil || len(begun) == 0 {
		return err
	}
	all, err := t.packages()
	if err != nil {
		return err
	}
	for name, was := range begun {
		if there := all[name]; there != nil {
			if err := t.mark(there, &Package{Name: name, Held: &was.Held, Automatic: &was.Automatic}); err != nil {
				return err
			}
		}
		if err := t.place(&Request{Have: &Entry{Path: path.Join(begunFolder, name), Kind: File}}, nil); err != nil {
			return err
		}
	}
	return nil
}
