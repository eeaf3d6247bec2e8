package runner

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// What a unit was last started with is kept, and not derived from times alone. Times do not show what was deleted, what
// a package has become, and what was put there with the time that it had elsewhere; and contents that are the same
// again need no start. Only where somebody else has started the unit since, which the number of its start tells
// (InvocationID), do times say what it was started with. So nothing is forgotten when whoever asked is killed between a
// change and the start that it asks for, and nothing is started twice when it is killed after that.

// keptUnit is what is kept on the host of a unit that has triggers.
type keptUnit struct {
	RestartOn []string `json:"restart_on,omitempty"`
	ReloadOn  []string `json:"reload_on,omitempty"`
	// Seen is what was there when it was last started well, by path or package:NAME, and Invocation the number of that
	// start.
	Seen       map[string]string `json:"seen,omitempty"`
	Invocation string            `json:"invocation,omitempty"`
	// Pending: it was to be started anew, and that has not ended well yet.
	Pending bool `json:"pending,omitempty"`
}

// stateFolder is where that is kept, below the root.
const stateFolder = "/var/lib/iasql-runner/units"

// Bounds of what triggers name.
const (
	maxTriggered = 10_000
	maxKept      = 4 << 20
	maxDue       = 20 // that are told
)

// coarse is by how much the time of a file may be behind the clock.
const coarse = 20 * time.Millisecond

func keptAt(name string) string { return path.Join(stateFolder, name+".json") }

// kept returns what is kept of a unit, and whether the login may know.
func (r *unitReader) kept(name string) (*keptUnit, bool, error) {
	text, err := r.text(keptAt(name), maxKept)
	k := &keptUnit{}
	switch {
	case codeOf(err) == Denied:
		return k, false, nil
	case err != nil:
		return nil, false, err
	case text == "":
		return k, true, nil
	}
	if json.Unmarshal([]byte(text), k) != nil {
		return &keptUnit{}, true, nil // it is as if nothing were known of its start
	}
	return k, true, nil
}

// keep keeps it. What has no triggers leaves nothing.
func (r *unitReader) keep(name string, k *keptUnit) error {
	at := keptAt(name)
	if len(k.RestartOn)+len(k.ReloadOn) == 0 {
		return r.put(at, "", 0)
	}
	text, err := json.Marshal(k)
	if err != nil {
		return err
	}
	if len(text) > maxKept {
		return tooMany(name)
	}
	return r.put(at, string(text), 0o600)
}

func tooMany(name string) error {
	return &Failure{TooLarge, fmt.Sprintf("restart_on and reload_on of unit %s name more than %d files and packages: "+
		"narrow them", name, maxTriggered)}
}

// put writes a text below the root, or deletes it if it is empty, whatever is there. Directories that are missing are
// made.
func (t *tree) put(at, text string, mode uint32) error {
	dir, last, err := t.parent(at)
	if codeOf(err) == NoParent {
		if text == "" {
			return nil
		}
		if err := t.makeParents(at, mode); err != nil {
			return err
		}
		dir, last, err = t.parent(at)
	}
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	a := &applier{reader: t.reader(), dir: dir, last: last, path: at}
	if text == "" {
		if err := a.unlink(last); err != nil {
			return a.failed("delete", err)
		}
		return a.sync()
	}
	want := &Entry{Path: at, Kind: File, Content: &text, Mode: fmt.Sprintf("%04o", mode)}
	return a.write(want, nil, mode, func(temporary string) error {
		return again(func() error { return unix.Renameat(dir, temporary, dir, last) })
	})
}

// makeParents makes the directories above a file that others may read as they may read that.
func (t *tree) makeParents(at string, mode uint32) error {
	up := path.Dir(at)
	if up == "/" {
		return nil
	}
	dir, last, err := t.parent(up)
	if codeOf(err) == NoParent {
		if err := t.makeParents(up, mode); err != nil {
			return err
		}
		dir, last, err = t.parent(up)
	}
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	of := uint32(0o700)
	if mode&0o044 != 0 {
		of = 0o755
	}
	if err := again(func() error { return unix.Mkdirat(dir, last, of) }); err != nil && !errors.Is(err, unix.EEXIST) {
		return failure("create", up, err)
	}
	return nil
}

// triggered reads what triggers name: for each path what is there, and for each package its version.
func (r *unitReader) triggered(name string, triggers []string) (map[string]string, error) {
	all := map[string]string{}
	var paths, packages []string
	for _, one := range triggers {
		if of, is := strings.CutPrefix(one, "package:"); is {
			packages = append(packages, of)
		} else {
			paths = append(paths, one)
		}
	}
	err := r.list(paths, nil, func(e Entry) error {
		if len(all) >= maxTriggered {
			return tooMany(name)
		}
		switch {
		case e.Error != nil:
			return e.Error
		case e.Kind == Link:
			all[e.Path] = "-> " + e.Target
		case e.Kind == File && e.SHA256 == "":
			all[e.Path] = fmt.Sprintf("%d bytes", e.Size)
		case e.Kind == File:
			all[e.Path] = e.SHA256
		}
		return nil
	})
	if err != nil || len(packages) == 0 {
		return all, err
	}
	if r.all == nil {
		m, err := r.packager()
		if err != nil {
			return nil, err
		}
		if r.all, err = m.packages(); err != nil {
			return nil, err
		}
	}
	for of, p := range r.all {
		if slices.ContainsFunc(packages, func(pattern string) bool { return MatchesName(pattern, of) }) {
			if p.lost {
				return nil, isLost(of)
			}
			all["package:"+of] = p.Version
		}
	}
	if len(all) > maxTriggered {
		return nil, tooMany(name)
	}
	return all, nil
}

// due is what has changed since a unit was started.
type due struct {
	changed []string
	restart bool // reloading is not enough
	now     map[string]string
}

// names are those that are told.
func (d *due) names() []string {
	if len(d.changed) <= maxDue {
		return d.changed
	}
	return append(slices.Clone(d.changed[:maxDue]), fmt.Sprintf("and %d more", len(d.changed)-maxDue))
}

// matchesAny reports whether triggers name a path or package:NAME.
func matchesAny(triggers []string, what string) bool {
	return slices.ContainsFunc(triggers, func(one string) bool { return Triggers(one, what) })
}

// Triggers reports whether a trigger of a unit names a path, or package:NAME.
func Triggers(one, what string) bool {
	if strings.HasPrefix(one, "/") {
		return Matches(one, what)
	}
	return MatchesName(one, what)
}

// due finds out what has changed since a unit was started.
func (r *unitReader) due(l *loaded, k *keptUnit) (*due, error) {
	d := &due{}
	if len(k.RestartOn)+len(k.ReloadOn) == 0 {
		return d, nil
	}
	var err error
	if d.now, err = r.triggered(l.id, slices.Concat(k.RestartOn, k.ReloadOn)); err != nil {
		return nil, err
	}
	// One that has failed was not started well with what is there; who it was that started it then does not matter.
	byOther := l.invocation != k.Invocation && l.active != "failed"
	all := map[string]bool{}
	for what := range d.now {
		all[what] = true
	}
	for what := range k.Seen {
		all[what] = true
	}
	for _, what := range ordered(all) {
		is, there := d.now[what]
		was, had := k.Seen[what]
		switch {
		case there == had && is == was:
		case byOther && !r.changedSince(what, there, l.started):
		default:
			d.changed = append(d.changed, what)
			d.restart = d.restart || matchesAny(k.RestartOn, what)
		}
	}
	if k.Pending && (l.active == "failed" || len(d.changed) > 0) {
		d.restart = true
		if len(d.changed) == 0 {
			d.changed = []string{"its last start, which has failed"}
		}
	}
	return d, nil
}

// changedSince reports whether a file or a package has changed since, or has gone.
func (r *unitReader) changedSince(what string, there bool, since time.Time) bool {
	at := what
	if of, is := strings.CutPrefix(what, "package:"); is {
		if p := r.all[of]; p != nil && p.installed != 0 {
			return time.Unix(p.installed+1, 0).After(since) // within that second
		}
		at = path.Join("/var/lib/dpkg/info", of+".list")
	}
	if !there {
		at = path.Dir(at)
	}
	dir, last, err := r.parent(at)
	if err != nil {
		return true
	}
	defer unix.Close(dir)
	st, err := statAt(dir, last)
	if err != nil {
		return true
	}
	return time.Unix(st.Ctim.Unix()).Add(coarse).After(since)
}
