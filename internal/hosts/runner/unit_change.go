package runner

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// neverChanged are the units that a host cannot be without while it runs, or whose start ends it.
var neverChanged = strings.Fields(`-.mount -.slice init.scope system.slice user.slice machine.slice dbus.* dbus-broker.*
	systemd-* user@* user-runtime-dir@* sysinit.target basic.target multi-user.target graphical.target default.target
	local-fs* sysroot* initrd* reboot.* poweroff.* halt.* kexec.* shutdown.* soft-reboot.* exit.* rescue.* emergency.*
	sleep.* suspend* hibernate* hybrid-sleep.* umount.* final.* ctrl-alt-del.* factory-reset.* runlevel?.* tmp.mount
	run.mount var.mount usr.mount boot.mount dev-* sys-* proc-* proc.mount`)

// changedArmed are those of systemd's own that may be changed, because a change of them is undone.
var changedArmed = strings.Fields(`systemd-networkd* systemd-resolved* systemd-timesyncd*`)

// neededUnit says why a unit is never changed, "" if it may be.
func neededUnit(name string) string {
	has := func(patterns []string) bool {
		return slices.ContainsFunc(patterns, func(p string) bool { return MatchesName(p, name) })
	}
	if has(neverChanged) && !has(changedArmed) {
		return "the host cannot be without it while it runs, or stops when it is started"
	}
	return ""
}

// settleFor is how long a service that says nothing of being ready is watched after its start.
const settleFor = time.Second

func changeUnit(t *tree, have, want *Unit) error {
	of := want
	if of == nil {
		of = have
	}
	name := of.Name
	if err := checkUnit(name); err != nil {
		return err
	}
	if why := neededUnit(name); why != "" {
		return &Failure{Refused, fmt.Sprintf("unit %s is shown and not changed: %s", name, why)}
	}
	if err := mustBeRoot("changing units"); err != nil {
		return err
	}
	r, err := t.units()
	if err != nil {
		return err
	}
	defer r.bus.close()
	now, l, err := r.unit(name)
	if err != nil {
		return err
	}
	if want == nil {
		return r.remove(name, now, l)
	}
	if l != nil && l.id != "" && l.id != name {
		return &Failure{Refused, fmt.Sprintf("%s is another name of unit %s: use that", name, l.id)}
	}
	if err := checkWanted(want); err != nil {
		return err
	}
	return r.make(want, now)
}

// checkWanted says what is wrong with what is wanted, by itself.
func checkWanted(want *Unit) error {
	if want.DropIns != nil {
		for file := range *want.DropIns {
			if !dropInName.MatchString(file) {
				return &Failure{Refused, fmt.Sprintf("%q is no name of a drop-in: such as limits.conf", file)}
			}
		}
	}
	for _, list := range []*[]string{want.RestartOn, want.ReloadOn} {
		if list == nil {
			continue
		}
		for _, one := range *list {
			if !trigger.MatchString(one) {
				return &Failure{Refused, fmt.Sprintf("%q is neither an absolute path, or a pattern of such, nor "+
					"package:NAME", one)}
			}
			if strings.HasPrefix(one, "/") {
				if err := CheckPath(one); err != nil {
					return err
				}
			}
		}
	}
	if isTemplate(want.Name) && want.Running != nil {
		return &Failure{Refused, fmt.Sprintf("unit %s is a template, which cannot be active: leave active NULL, and "+
			"insert an instance, such as %s", want.Name, strings.Replace(want.Name, "@", "@1", 1))}
	}
	return nil
}

// make makes a unit what is wanted: now is what is there, nil if that is nothing.
func (r *unitReader) make(want, now *Unit) error {
	name := want.Name
	own := want.UnitFile != nil && *want.UnitFile != ""
	if now == nil && !own {
		if err := r.isThere(name); err != nil {
			return err
		}
	}
	if now == nil {
		none, nothing := "", map[string]string{}
		now = &Unit{Name: name, UnitFile: &none, DropIns: &nothing}
	}
	if now.UnitFile != nil && *now.UnitFile != "" && want.UnitFile != nil && *want.UnitFile == "" && !r.brought(name) &&
		templateOf(name) == "" {
		return &Failure{Refused, fmt.Sprintf("unit %s is there by its own file alone: DELETE the row to remove it, "+
			"rather than set unit_file to NULL", name)}
	}
	masked := now.Enabled != nil && *now.Enabled == Masked
	if masked && (want.Enabled != nil && *want.Enabled != Masked || own) {
		if err := r.changeFiles("UnmaskUnitFiles", name, false); err != nil {
			return err
		}
	}
	wrote, err := r.write(want, now)
	if wrote {
		err = errors.Join(err, reloads.join(r.bus))
	}
	if err != nil {
		return err
	}
	if err := r.enable(want); err != nil {
		return err
	}
	return r.run(want, now)
}

// isThere makes sure that there is a unit, or the template of an instance.
func (r *unitReader) isThere(name string) error {
	l, err := r.bus.load(name)
	switch {
	case isTemplate(name):
	case err != nil:
		return err
	case l.loadState != "not-found":
		return nil
	}
	what := "give it a unit_file, or install the package that brings it"
	if of := templateOf(name); of != "" {
		what = fmt.Sprintf("it would be an instance of %s, which there is not either: %s", of, what)
	}
	return &Failure{NoParent, fmt.Sprintf("there is no unit %s: %s", name, what)}
}

// write writes a unit's own file and drop-ins as far as they differ, and reports whether any does.
func (r *unitReader) write(want, now *Unit) (wrote bool, err error) {
	if want.UnitFile != nil && *want.UnitFile != *now.UnitFile {
		if err := r.put(path.Join(ownUnits, want.Name), *want.UnitFile, 0o644); err != nil {
			return false, err
		}
		wrote = true
	}
	if want.DropIns == nil {
		return wrote, nil
	}
	folder := path.Join(ownUnits, want.Name+".d")
	for _, file := range ordered(*now.DropIns) {
		if _, stays := (*want.DropIns)[file]; !stays {
			if err := r.put(path.Join(folder, file), "", 0); err != nil {
				return wrote, err
			}
			wrote = true
		}
	}
	for _, file := range ordered(*want.DropIns) {
		text := (*want.DropIns)[file]
		if was, there := (*now.DropIns)[file]; there && was == text {
			continue
		}
		if text == "" {
			text = "\n" // an empty drop-in is one
		}
		if err := r.put(path.Join(folder, file), text, 0o644); err != nil {
			return wrote, err
		}
		wrote = true
	}
	if len(*want.DropIns) == 0 && wrote {
		r.removeEmpty(folder)
	}
	return wrote, nil
}

// removeEmpty removes a directory if nothing is in it.
func (r *unitReader) removeEmpty(folder string) {
	dir, last, err := r.parent(folder)
	if err != nil {
		return
	}
	defer unix.Close(dir)
	_ = unix.Unlinkat(dir, last, unix.AT_REMOVEDIR)
}

// reloads has systemd read its units anew, once for all who have written meanwhile.
var reloads reloader

// reloader joins those who want the same.
type reloader struct {
	lock sync.Mutex
	next map[string]*reloading // that has not begun, by bus
	turn sync.Mutex
}

type reloading struct {
	ended chan struct{}
	err   error
}

// gatherFor is how long a reload waits for others who want it.
const gatherFor = 20 * time.Millisecond

func (q *reloader) join(b *bus) error {
	q.lock.Lock()
	if q.next == nil {
		q.next = map[string]*reloading{}
	}
	one := q.next[b.of]
	if one != nil {
		q.lock.Unlock()
		<-one.ended
		return one.err
	}
	one = &reloading{ended: make(chan struct{})}
	q.next[b.of] = one
	q.lock.Unlock()
	time.Sleep(gatherFor)
	q.turn.Lock()
	defer q.turn.Unlock()
	q.lock.Lock()
	delete(q.next, b.of) // who comes now has written something that this one may miss
	q.lock.Unlock()
	if err := b.ask("Reload", nil); err != nil {
		one.err = busFailure("reload the files of", "s", err)
	}
	close(one.ended)
	return one.err
}

// changeFiles enables, disables, masks or unmasks a unit.
func (r *unitReader) changeFiles(method, name string, forced bool) error {
	var carries bool
	var changes []struct{ Kind, File, Destination string }
	arguments, to := []any{[]string{name}, false}, []any{&changes}
	switch method {
	case "EnableUnitFiles":
		arguments, to = append(arguments, forced), []any{&carries, &changes}
	case "MaskUnitFiles":
		arguments = append(arguments, forced)
	}
	if err := r.bus.ask(method, to, arguments...); err != nil {
		return busFailure(strings.ToLower(strings.TrimSuffix(method, "UnitFiles")), name, err)
	}
	return reloads.join(r.bus)
}

// enable enables, disables or masks a unit, if it is not so.
func (r *unitReader) enable(want *Unit) error {
	if want.Enabled == nil {
		return nil
	}
	state, err := r.bus.fileState(want.Name)
	if err != nil {
		return err
	}
	is := enabledOf(want.Name, state)
	if is == *want.Enabled {
		return nil
	}
	method := map[string]string{Enabled: "EnableUnitFiles", Disabled: "DisableUnitFiles",
		Masked: "MaskUnitFiles"}[*want.Enabled]
	if method != "" && (is != Static || *want.Enabled == Masked) {
		if err := r.changeFiles(method, want.Name, false); err != nil {
			return err
		}
		if state, err = r.bus.fileState(want.Name); err != nil {
			return err
		}
		is = enabledOf(want.Name, state)
	}
	if is != *want.Enabled {
		why := ""
		if is == Static {
			why = ": its file has no section [Install] that says when it is started, so that it can be neither " +
				"enabled nor disabled. Leave enabled NULL, or give it that section by unit_file"
		}
		return &Failure{Invalid, fmt.Sprintf("unit %s is %s (%s), and not %s%s", want.Name, is, state, *want.Enabled,
			why)}
	}
	return nil
}

// run starts, stops or reloads a unit, as is wanted.
func (r *unitReader) run(want, now *Unit) error {
	name := want.Name
	kept, _, err := r.kept(name)
	if err != nil {
		return err
	}
	l := &loaded{}
	if !isTemplate(name) {
		if l, err = r.bus.load(name); err != nil {
			return err
		}
	}
	if want.RestartOn != nil || want.ReloadOn != nil {
		if err := r.setTriggers(want, l, kept); err != nil {
			return err
		}
	}
	switch {
	case want.Anew && l.alive():
		return r.start(name, "RestartUnit", l, kept)
	case want.Anew:
		return r.start(name, "StartUnit", l, kept)
	case want.Running != nil && !*want.Running && l.running():
		return r.stop(name)
	case want.Running != nil && *want.Running && !l.running():
		return r.start(name, "StartUnit", l, kept)
	case want.Restart && l.alive():
		d, err := r.due(l, kept)
		if err != nil || len(d.changed) == 0 {
			return err
		}
		method := "RestartUnit"
		if !d.restart && l.canReload && l.active == "active" {
			method = "ReloadUnit"
		}
		return r.start(name, method, l, kept)
	}
	return nil
}

// setTriggers keeps new triggers. What they name that has changed since the unit was started is due.
func (r *unitReader) setTriggers(want *Unit, l *loaded, kept *keptUnit) error {
	if want.RestartOn != nil {
		kept.RestartOn = sorted(*want.RestartOn)
	}
	if want.ReloadOn != nil {
		kept.ReloadOn = sorted(*want.ReloadOn)
	}
	if isTemplate(want.Name) && len(kept.RestartOn)+len(kept.ReloadOn) > 0 {
		return &Failure{Refused, fmt.Sprintf("unit %s is a template, which is never started: give restart_on and "+
			"reload_on to its instances", want.Name)}
	}
	now, err := r.triggered(want.Name, slices.Concat(kept.RestartOn, kept.ReloadOn))
	if err != nil {
		return err
	}
	seen := map[string]string{}
	for what, is := range now {
		was, had := kept.Seen[what]
		switch {
		case had && l.invocation == kept.Invocation:
			seen[what] = was
		case l.running() && r.changedSince(what, true, l.started):
			seen[what] = "" // and so it is due
		default:
			seen[what] = is
		}
	}
	for what, was := range kept.Seen {
		if _, there := now[what]; !there && matchesAny(slices.Concat(kept.RestartOn, kept.ReloadOn), what) {
			seen[what] = was
		}
	}
	kept.Seen, kept.Invocation = seen, l.invocation
	return r.keep(want.Name, kept)
}

func (r *unitReader) stop(name string) error {
	result, err := r.bus.work("StopUnit", name)
	if err != nil {
		return err
	}
	l, err := r.bus.load(name)
	if err != nil {
		return err
	}
	if l.running() {
		return r.failed("stop", l, result)
	}
	return nil
}

// start starts, restarts or reloads a unit, and keeps what it was started with.
func (r *unitReader) start(name, method string, before *loaded, kept *keptUnit) error {
	triggers := slices.Concat(kept.RestartOn, kept.ReloadOn)
	var seen map[string]string
	if len(triggers) > 0 {
		// Before: what changes meanwhile is due again.
		var err error
		if seen, err = r.triggered(name, triggers); err != nil {
			return err
		}
		if !kept.Pending {
			kept.Pending = true
			if err := r.keep(name, kept); err != nil {
				return err
			}
		}
	}
	if before.active == "failed" {
		_ = r.bus.ask("ResetFailedUnit", nil, name) // else it may have been started too often
	}
	result, err := r.bus.work(method, name)
	if err != nil {
		return err
	}
	l, err := r.bus.load(name)
	if err != nil {
		return err
	}
	ready := true
	if strings.HasSuffix(name, ".service") {
		ready = !slices.Contains([]string{"simple", "exec", "idle"}, r.bus.property(l.at, "Service", "Type"))
	}
	for until := time.Now().Add(settleFor); time.Now().Before(until) &&
		(!ready && l.active == "active" || l.active == "deactivating"); {
		time.Sleep(50 * time.Millisecond)
		if l, err = r.bus.load(name); err != nil {
			return err
		}
	}
	verb := strings.ToLower(strings.TrimSuffix(method, "Unit"))
	switch {
	case l.active == "failed", l.sub == "auto-restart":
		return r.failed(verb, l, result)
	case l.running():
	case result != "done" && result != "", l.unmet, r.resultOf(l) != "success":
		return r.failed(verb, l, result)
	case method == "StartUnit":
		return &Failure{Invalid, fmt.Sprintf("unit %s was started and has ended by itself, with success: it is none "+
			"that goes on running. Leave active NULL, give it RemainAfterExit=yes, or start it by a timer", name)}
	}
	if len(triggers) == 0 {
		return nil
	}
	kept.Seen, kept.Invocation, kept.Pending = seen, l.invocation, false
	return r.keep(name, kept)
}

// lastLines is how many lines of the journal say why a unit has failed.
const lastLines = 8

// resultOf returns how a unit ended that is not active; success of what has no such thing.
func (r *unitReader) resultOf(l *loaded) string {
	of := interfaces[l.id[strings.LastIndex(l.id, ".")+1:]]
	if of == "" {
		return "success"
	}
	return r.bus.property(l.at, of, "Result")
}

// failed says why a unit has not been started or stopped.
func (r *unitReader) failed(verb string, l *loaded, job string) error {
	text := fmt.Sprintf("%s unit %s: it is %s (%s)", verb, l.id, l.active, l.sub)
	if l.result != "" && l.result != "success" {
		text += ", with the result " + l.result
	}
	switch {
	case l.unmet:
		text += ", because a condition of its file is not met"
	case job == "dependency":
		text += ", because a unit that it needs has failed"
	case job != "done" && job != "failed" && job != "":
		text += ", and the job ended as " + job
	}
	p := r.tree.run(lookWithin, "/usr/bin/journalctl", "--no-pager", "--quiet", "--output=cat",
		fmt.Sprintf("--lines=%d", lastLines), "--unit="+l.id)
	if p.err == nil {
		var lines []string
		for line := range strings.Lines(p.said) {
			if line = strings.TrimSpace(plain(line)); line != "" {
				lines = append(lines, line[:min(len(line), 200)])
			}
		}
		if len(lines) > 0 {
			text += ". Its journal ends with: " + strings.ToValidUTF8(strings.Join(lines, " | "), "")
		}
	}
	return &Failure{Unspecified, text}
}

// remove stops and disables a unit that is there by its own file, and removes that.
func (r *unitReader) remove(name string, now *Unit, l *loaded) error {
	if now == nil {
		return nil
	}
	instance := templateOf(name) != ""
	if r.brought(name) || *now.UnitFile == "" && !instance && l.loadState != "not-found" {
		return &Failure{Refused, fmt.Sprintf("unit %[1]s is there by more than its own file, as a package brings it: "+
			"it goes with its package. To have it as the package does: UPDATE host_unit SET unit_file = NULL, "+
			"drop_ins = NULL, restart_on = NULL, reload_on = NULL WHERE name = '%[1]s'; to let go of the record: "+
			"SELECT iasql_forget('host_unit', id)", name)}
	}
	if now.Running != nil && *now.Running {
		if err := r.stop(name); err != nil {
			return err
		}
	}
	switch *now.Enabled {
	case Enabled, Disabled:
		if err := r.changeFiles("DisableUnitFiles", name, false); err != nil {
			return err
		}
	case Masked:
		if err := r.changeFiles("UnmaskUnitFiles", name, false); err != nil {
			return err
		}
	}
	none, nothing := "", map[string]string{}
	wrote, err := r.write(&Unit{Name: name, UnitFile: &none, DropIns: &nothing}, now)
	if wrote {
		err = errors.Join(err, reloads.join(r.bus))
	}
	if err != nil {
		return err
	}
	_ = r.bus.ask("ResetFailedUnit", nil, name) // it would be listed as failed until the next boot
	return r.keep(name, &keptUnit{})
}

// keptForUnit is what an armed change of a unit leaves to put back.
type keptForUnit struct{ Was *Unit }

// keepUnit reads what a change of a unit is about.
func keepUnit(t *tree, c *Change) (*keptForUnit, error) {
	of, err := subject[Unit](c, KindUnit)
	if err != nil || of == nil {
		return nil, err
	}
	r, err := t.units()
	if err != nil {
		return nil, err
	}
	defer r.bus.close()
	was, _, err := r.unit(of.Name)
	if err != nil {
		return nil, err
	}
	if was == nil {
		was = &Unit{Name: of.Name}
	}
	return &keptForUnit{was}, nil
}

// restore makes a unit what it was.
func (k *keptForUnit) restore(t *tree) error {
	r, err := t.units()
	if err != nil {
		return err
	}
	defer r.bus.close()
	was := k.Was
	now, l, err := r.unit(was.Name)
	if err != nil {
		return err
	}
	if was.Enabled == nil { // there was none
		return r.remove(was.Name, now, l)
	}
	was.Due, was.Restart = nil, false
	if *was.Enabled == Static {
		was.Enabled = nil
	}
	return r.make(was, now)
}
