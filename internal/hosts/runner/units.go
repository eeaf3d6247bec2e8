package runner

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// KindUnit is the kind of units of systemd.
const KindUnit = "unit"

// Unit is one of systemd.unit(5). What is nil is not said.
type Unit struct {
	Name        string  `json:"name"`
	Description string  `json:"description,omitempty"`
	Enabled     *string `json:"enabled,omitempty"` // one of the states below
	// Running reports whether it is active, or about to be; nil of a template.
	Running     *bool  `json:"running,omitempty"`
	ActiveState string `json:"active_state,omitempty"`
	SubState    string `json:"sub_state,omitempty"`
	Result      string `json:"result,omitempty"` // of one that has failed
	// UnitFile is the text of its own file below /etc/systemd/system, "" if there is none; DropIns are those of its
	// own there, by name.
	UnitFile *string            `json:"unit_file,omitempty"`
	DropIns  *map[string]string `json:"drop_ins,omitempty"`
	// RestartOn and ReloadOn are what has it start anew or reload: paths, as patterns, and package:NAME.
	RestartOn *[]string `json:"restart_on,omitempty"`
	ReloadOn  *[]string `json:"reload_on,omitempty"`
	// NeedsReload reports whether its files have changed since systemd read them.
	NeedsReload *bool `json:"needs_reload,omitempty"`
	// Due is what of that has changed since it was started.
	Due []string `json:"due,omitempty"`
	// Restart asks for what is due. It is never told of a unit.
	Restart bool `json:"restart,omitempty"`
	// Anew asks for a restart although nothing is due, and for a start of what is not active. It is never told of a
	// unit.
	Anew bool `json:"anew,omitempty"`
}

// The states of a unit's file.
const (
	Enabled  = "enabled"
	Disabled = "disabled"
	Masked   = "masked"
	Static   = "static" // nothing says when it is started at a boot: others pull it in
)

func init() {
	// No turn is needed: a record is changed by one request at a time, and units do not get in each other's way.
	kinds[KindUnit] = &things[Unit]{what: KindUnit, key: func(u *Unit) string { return u.Name },
		read: readUnits, difference: unitDifference, change: changeUnit}
}

// What names of units, and of their drop-ins, match; and what restart_on names.
const (
	UnitName   = `^[A-Za-z0-9:_.\\@-]{1,200}\.(service|socket|timer|path|mount|automount|swap|target|slice)$`
	DropInName = `^[A-Za-z0-9_][A-Za-z0-9_.@-]{0,100}\.conf$`
	Trigger    = `^(package:[A-Za-z0-9+.:*?-]{1,200}|/.{1,1000})$`
)

var (
	unitName   = regexp.MustCompile(UnitName)
	dropInName = regexp.MustCompile(DropInName)
	trigger    = regexp.MustCompile(Trigger)
)

// Where units are. What an administrator says is in the first, and what packages bring is in the others.
const ownUnits = "/etc/systemd/system"

var broughtUnits = []string{"/usr/local/lib/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system"}

// maxUnit bounds what is told of a unit, as JSON spells it.
const maxUnit = 200 << 10

func unitDifference(now, said *Unit) string {
	lists := func(now, said *[]string) bool {
		return said != nil && (now == nil || !slices.Equal(sorted(*now), sorted(*said)))
	}
	switch {
	case differs(now.Enabled, said.Enabled):
		return "enabling"
	case other(now.Running, said.Running):
		return "being active"
	case differs(now.UnitFile, said.UnitFile):
		return "file"
	case said.DropIns != nil && (now.DropIns == nil || !maps.Equal(*now.DropIns, *said.DropIns)):
		return "drop-ins"
	case lists(now.RestartOn, said.RestartOn), lists(now.ReloadOn, said.ReloadOn):
		return "restart_on or reload_on"
	}
	return ""
}

// isTemplate reports whether a unit is one of which instances are made: name@.service.
func isTemplate(name string) bool { return strings.Contains(name, "@.") }

// templateOf returns the template that a unit is an instance of; "" if it is none.
func templateOf(name string) string {
	before, after, found := strings.Cut(name, "@")
	if !found || isTemplate(name) {
		return ""
	}
	return before + "@" + after[strings.LastIndex(after, "."):]
}

// unitReader reads units for one request.
type unitReader struct {
	*tree
	bus   *bus
	files *reader
	all   installed // packages, once they have been asked for
}

func (t *tree) units() (*unitReader, error) {
	b, err := t.openBus()
	if err != nil {
		return nil, err
	}
	return &unitReader{tree: t, bus: b, files: t.reader()}, nil
}

func readUnits(t *tree, of *selection, tell func(Unit), unread func(string, error)) error {
	r, err := t.units()
	if err != nil {
		return err
	}
	defer r.bus.close()
	names := map[string]bool{}
	for name := range of.names {
		names[name] = true
	}
	if len(of.patterns) > 0 {
		found, err := r.bus.names()
		if err != nil {
			return err
		}
		for name := range found {
			if of.has(name, name) {
				names[name] = true
			}
		}
	}
	if len(names) > maxItems {
		return &Failure{TooLarge, fmt.Sprintf("the patterns name more than %d units: narrow them", maxItems)}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if !unitName.MatchString(name) {
			if of.names[name] {
				unread(name, checkUnit(name))
			}
			continue // a device, a scope, or a unit that cannot be
		}
		u, _, err := r.unit(name)
		if err == nil && u != nil {
			if item, _ := json.Marshal(u); len(item) > maxUnit {
				err = &Failure{TooLarge, fmt.Sprintf("the files of unit %s are longer than a row has room for (%d KiB)",
					name, maxUnit>>10)}
			}
		}
		switch {
		case err != nil:
			unread(name, err)
		case u != nil:
			tell(*u)
		}
	}
	return nil
}

// checkUnit says what is wrong with the name of a unit.
func checkUnit(name string) error {
	if unitName.MatchString(name) {
		return nil
	}
	return &Failure{Refused, fmt.Sprintf("%q is no name of a unit that can be managed: it ends in .service, .socket, "+
		".timer, .path, .mount, .automount, .swap, .target or .slice, and has letters, digits, and : _ . \\ @ - "+
		"before that", name)}
}

// unit reads a unit, nil if there is none, and what systemd says of it.
func (r *unitReader) unit(name string) (*Unit, *loaded, error) {
	u := &Unit{Name: name}
	own, err := r.ownFile(name)
	if err != nil {
		return nil, nil, err
	}
	drops, err := r.dropIns(name)
	if err != nil {
		return nil, nil, err
	}
	kept, known, err := r.kept(name)
	if err != nil {
		return nil, nil, err
	}
	u.UnitFile, u.DropIns = &own, &drops
	if known {
		restart, reload := append([]string{}, kept.RestartOn...), append([]string{}, kept.ReloadOn...)
		u.RestartOn, u.ReloadOn = &restart, &reload
	}
	if isTemplate(name) {
		state, err := r.bus.fileState(name)
		if err != nil || state == "" {
			return nil, nil, err
		}
		enabled := enabledOf(name, state)
		u.Enabled = &enabled
		return u, &loaded{}, nil
	}
	l, err := r.bus.load(name)
	if err != nil {
		return nil, nil, err
	}
	enabled := enabledOf(name, l.fileState)
	switch {
	case l.id != name: // it is another name of that
		return nil, l, nil
	case l.loadState == "masked":
		enabled = Masked
	case l.loadState == "not-found" && !l.running(): // what runs is there until it is stopped
		return nil, l, nil
	case templateOf(name) != "" && own == "" && len(drops) == 0 && enabled != Enabled && !l.alive():
		return nil, l, nil // nobody has asked for that instance
	}
	running := l.running()
	u.Description, u.ActiveState, u.SubState, u.Result = l.description, l.active, l.sub, l.result
	u.Enabled, u.Running, u.NeedsReload = &enabled, &running, &l.needsReload
	if known && l.alive() {
		due, err := r.due(l, kept)
		if err != nil {
			return nil, nil, err
		}
		u.Due = due.names()
	}
	return u, l, nil
}

// enabledOf returns what a state of a unit's file comes to.
func enabledOf(name, state string) string {
	switch state {
	case "enabled":
		return Enabled
	case "indirect":
		if isTemplate(name) { // an instance is enabled, and the template is none the more
			return Disabled
		}
	case "masked", "masked-runtime":
		return Masked
	case "disabled", "enabled-runtime", "linked", "linked-runtime":
		return Disabled
	}
	return Static
}

// ownFile reads the text of a unit's own file, "" if there is none. A link is none: it masks the unit, or leads to the
// file of another.
func (r *unitReader) ownFile(name string) (string, error) {
	e, err := r.files.at(path.Join(ownUnits, name))
	if codeOf(err) == NoParent || err == nil && (e == nil || e.Kind != File) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	if e.Content == nil {
		return "", &Failure{TooLarge, fmt.Sprintf("%s is no text of up to %d KiB", e.Path, MaxContent>>10)}
	}
	return *e.Content, nil
}

// dropIns reads those of a unit's own.
func (r *unitReader) dropIns(name string) (map[string]string, error) {
	all := map[string]string{}
	folder := path.Join(ownUnits, name+".d")
	dir, last, err := r.parent(folder)
	if codeOf(err) == NoParent {
		return all, nil
	}
	if err != nil {
		return nil, err
	}
	defer unix.Close(dir)
	fd, err := openat(dir, last, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) {
		return all, nil
	}
	if err != nil {
		return nil, failure("directory", folder, err)
	}
	defer unix.Close(fd)
	names, err := children(fd, folder)
	if err != nil {
		return nil, err
	}
	for _, file := range names {
		if !dropInName.MatchString(file) {
			continue
		}
		e, _, err := r.files.read(fd, file, path.Join(folder, file))
		switch {
		case err != nil:
			return nil, err
		case e == nil || e.Kind != File: // gone meanwhile, or a link, which takes another out of force
			continue
		case e.Content == nil:
			return nil, &Failure{TooLarge, fmt.Sprintf("%s is no text of up to %d KiB", e.Path, MaxContent>>10)}
		}
		all[file] = *e.Content
	}
	return all, nil
}

// brought reports whether a package brings a unit of that name.
func (r *unitReader) brought(name string) bool {
	for _, dir := range broughtUnits {
		fd, last, err := r.parent(path.Join(dir, name))
		if err != nil {
			continue
		}
		_, err = statAt(fd, last)
		_ = unix.Close(fd)
		if err == nil {
			return true
		}
	}
	return false
}
