package runner

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"

	"golang.org/x/sys/unix"
)

// What was interrupted goes on: dpkg says in its files how far it came with each package, and the runner how the
// package was marked before. rpm notes nothing of the kind, so that the runner remembers for it what was begun. Each
// step can be done again, so that it does not matter who was ended in which.

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

// begunFolder has a file for each package that is being changed, unless what looks after it notes that itself.
const begunFolder = "/var/lib/iasql-runner/packages"

// begun is how a package was before a change of its version. While it is kept, the change is not done.
type begun struct {
	Version string `json:"version"` // "" if the package was not there
	// Held and Automatic are its marks, nil if it had none.
	Held      *bool `json:"held,omitempty"`
	Automatic *bool `json:"automatic,omitempty"`
}

// dress has a package be told of as it was before: who wants another version sees that it is not there yet, and the
// marks that a change forgets meanwhile are nobody's wish.
func (b *begun) dress(p *Package) {
	if b.Version != "" {
		p.Version = b.Version
	}
	p.Held, p.Automatic, p.Configured = said(p.Held, b.Held), said(p.Automatic, b.Automatic), new(bool)
}

// begin remembers how a package is before it is changed, nil if it is not there. It reports whether that is
// remembered already, of a change that was interrupted.
func (t *tree) begin(name string, there *Package) (again bool, err error) {
	for _, folder := range []string{path.Dir(begunFolder), begunFolder} {
		err := t.place(&Request{Want: &Entry{Path: folder, Kind: Directory, Mode: "0700"}}, nil)
		if err != nil && codeOf(err) != Exists {
			return false, err
		}
	}
	var was begun
	if there != nil {
		was = begun{there.Version, there.Held, there.Automatic}
	}
	text, err := json.Marshal(was)
	if err != nil {
		return false, err
	}
	content := string(text)
	err = t.place(&Request{Want: &Entry{Path: path.Join(begunFolder, name), Kind: File, Content: &content,
		Mode: "0600"}}, nil)
	if codeOf(err) == Exists {
		return true, nil
	}
	return false, err
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

// resume ends what was begun with packages, as far as that can be done without installing or removing any, and returns
// all packages. What was begun with the named one, and is noted by nobody else, is left to whoever changes it now.
func (t *tree) resume(m packager, name string) (installed, error) {
	if err := m.resume(); err != nil {
		return nil, err
	}
	if m.notes() {
		name = ""
	}
	if err := t.endBegun(m, name); err != nil {
		return nil, err
	}
	all, err := m.packages()
	if err != nil || name == "" || all[name] == nil {
		return all, err
	}
	begun, err := t.begun()
	if begun[name] != nil {
		all[name].torn, all[name].Configured = true, new(bool)
	}
	return all, err
}

// endBegun gives packages whose change was begun the marks that they had, and forgets that it was begun; but not of one
// that is named.
func (t *tree) endBegun(m packager, but string) error {
	begun, err := t.begun()
	if delete(begun, but); err != nil || len(begun) == 0 {
		return err
	}
	all, err := m.packages()
	if err != nil {
		return err
	}
	for name, was := range begun {
		if there := all[name]; there != nil {
			if was.Held != nil && *was.Held { // a lock may be one of the version that was
				if err := m.hold(there, true); err != nil {
					return err
				}
				there.Held = was.Held
			}
			if err := mark(m, there, &Package{Name: name, Held: was.Held, Automatic: was.Automatic}); err != nil {
				return err
			}
		}
		if err := t.place(&Request{Have: &Entry{Path: path.Join(begunFolder, name), Kind: File}}, nil); err != nil {
			return err
		}
	}
	return nil
}
