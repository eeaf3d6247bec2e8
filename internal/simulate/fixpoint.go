package simulate

import (
	"slices"
	"time"

	"iasql/internal/decide"
	"iasql/internal/modes"
	"iasql/internal/modules"
	"iasql/internal/sync"
)

// enough bounds the cycles that lead to the fixpoint once faults have stopped
// (R14). A chain of records is at most a few long, a state heals after one
// backoff, and a lost creation is given up after one window. The longest is a
// creation that names what is gone: it is tried nine times. What waited for it may
// then be given a value three times that the cloud does not keep.
const enough = 16

// fixpoint stops all faults, ends the open transactions, and cycles until
// nothing is written any more; then both sides have to be equal or explained.
func (w *world) fixpoint() {
	for slot := range 3 {
		w.db.commit(slot)
	}
	w.trace("faults stop")
	w.confirm()
	w.endBatches()
	w.lastTicks()
	w.check.keptMentions()
	if w.failed != nil {
		return
	}
	// A person looks at what failed for good, once: what the cloud refused for
	// a reason of the moment must not stay.
	w.settleDown("first")
	if w.failed != nil {
		return
	}
	for at, st := range w.db.states {
		if w.report.Stopped == "" && !w.pauses(at) &&
			(st.Name == decide.StateCheckPresentFailed || st.Name == decide.StateCheckAbsentFailed || faults[st.Code] &&
				st.Code != modules.Denied.String()) {
			w.violate("R14", "%v still says %s: %s, and should have healed by itself", at, st.Name, st.Message)
		}
	}
	w.retryAll()
	w.settleDown("after retry")
	if w.failed == nil {
		w.final()
	}
}

// retryAll is a person who looks at what has failed for good.
func (w *world) retryAll() {
	for at, st := range w.db.states {
		if st.Code == decide.CodeVanished { // what is gone then is gone
			for _, c := range w.db.conflicts {
				if c.record == at && c.resolved == "" {
					w.db.resolveConflict(c, "cloud")
				}
			}
		}
		if st.Review && st.Name != decide.StateConflict {
			st.next, st.Attempts, st.Unconfirmed = w.now, 0, 0
		}
	}
}

// cycleAgain runs a full cycle without faults, and reports whether nothing is wrong.
func (w *world) cycleAgain(when string, seed int) bool {
	if err := w.cycle(&Action{Do: Cycle, Seed: uint64(seed)}, 0); err != nil {
		w.violate("R14", "%s: a cycle failed without a fault: %v", when, err)
	}
	w.check.between()
	return w.failed == nil
}

func (w *world) settleDown(when string) {
	for n := 0; ; n++ {
		w.now += 7 * time.Minute // past the window, the lag and the longest backoff
		writes, deleted := w.db.writes, w.cloud.deleted
		if !w.cycleAgain(when, n) {
			return
		}
		if w.db.writes == writes {
			return
		}
		// What went along with a deleted object, and which objects named it, the next
		// listing shows: a world where something was deleted a moment ago is not quiet.
		quiet := w.cloud.deleted == deleted
		// R12: once more at once. What still happens has to be for a reason that
		// only time heals: a state that backs off is written when its time has come.
		writes, calls := w.db.writes, w.cloud.calls
		if err := w.cycle(&Action{Do: Cycle, Seed: uint64(n)}, 0); err != nil {
			w.violate("R14", "%s: a cycle failed without a fault: %v", when, err)
		}
		// (What ENFORCE fails to delete has no record to remember that by, and is
		// tried by every full cycle.)
		if w.failed == nil && quiet && !w.unrecordedFailure() && w.report.Stopped == "" &&
			(w.db.writes != writes || w.cloud.calls != calls) && w.report.Passes < sync.MaxPasses && n > 1 {
			w.violate("R12", "%s: a second cycle in a quiet world wrote: %s", when, w.db.lastWrite)
		}
		if n >= enough {
			if !w.onlyBackoff() && !w.unrecordedFailure() {
				w.violate("R14", "%s: no fixpoint after %d cycles; last write: %s", when, 2*n, w.db.lastWrite)
			}
			return
		}
	}
}

// unrecordedFailure reports whether an operation on an object without a record
// failed in the last cycle.
func (w *world) unrecordedFailure() bool {
	for _, e := range w.report.Errors {
		if e.Record.ID == 0 {
			return true
		}
	}
	return false
}

// onlyBackoff reports whether all that is left are records that wait for
// something that has failed for good, and are looked at again and again.
func (w *world) onlyBackoff() bool {
	left := false
	for _, st := range w.db.states {
		left = left || st.next < never
	}
	for _, g := range w.db.deposed {
		left = left || g.next < never
	}
	return left
}

// final checks the fixpoint: every record equals its object, or says why not.
func (w *world) final() {
	for at := range w.db.pending {
		if why := w.explained(at); why != "" {
			w.violate("R2", "%v: a change is neither settled nor explained (%s)", at, why)
		}
	}
	for _, op := range w.db.ops {
		if st := w.db.states[op.Record]; op.open() && (st == nil || !st.Review) && !w.pauses(op.Record) {
			w.violate("R6", "operation %d of %v was never ended", op.id, op.Record)
		}
	}
	recorded := map[*object]bool{}
	for _, t := range tables {
		for _, id := range w.db.ids(t) {
			w.finalRecord(t, ref(t, id), w.db.rows[t.Name][id], recorded)
		}
	}
	for _, o := range w.cloud.objects {
		if o.now() == nil || recorded[o] {
			continue
		}
		w.finalObject(o)
	}
	for _, g := range w.db.deposed {
		if o := w.cloud.live(g.table, g.scope, g.key); o == nil {
			w.violate("R14", "deposed object %s of %s is gone and not forgotten", g.key, g.table.Name)
		} else if g.Message == "" && g.Attempts == 0 {
			w.violate("R14", "deposed object %s of %s is left without a reason", g.key, g.table.Name)
		}
	}
}

// faults are the classes of errors that the cloud gives no more once faults
// have stopped.
var faults = map[string]bool{
	modules.Transient.String(): true, modules.Throttled.String(): true, modules.MayHaveHappened.String(): true,
	modules.Denied.String(): true,
}

// explained returns "" if the record says why it is not equal, and otherwise
// what is wrong with its explanation.
func (w *world) explained(at decide.RecordRef) string {
	st := w.db.states[at]
	switch {
	case w.report.Stopped != "":
		return "" // R7 stops the whole cycle, and the cycle says why
	case w.pauses(at) && (st != nil || w.doubted(at)): // nothing is found out that would take a call
		return ""
	case st == nil:
		return "no state"
	case st.Name == decide.StateCheckPresentFailed, st.Name == decide.StateCheckAbsentFailed, faults[st.Code]:
		return "it still says " + string(st.Name) + " " + st.Message + ", and faults have stopped"
	case st.Review:
		return ""
	case st.Name == decide.StateWaiting:
		return ""
	case st.Attempts > 0 && st.Message != "":
		return ""
	}
	return "state " + string(st.Name) + " says nothing"
}

// doubted reports whether nobody knows what has become of a creation of the record.
func (w *world) doubted(at decide.RecordRef) bool {
	return slices.ContainsFunc(w.db.ops, func(op *opRow) bool {
		return op.open() && op.Kind == decide.OpCreate && op.Record == at
	})
}

func (w *world) finalRecord(t *modules.Table, at decide.RecordRef, r *row, recorded map[*object]bool) {
	o := w.objectOf(t, at, r)
	st := w.db.states[at]
	if o == nil {
		if why := w.explained(at); why != "" {
			w.violate("R14", "%v has no object (%s)", at, why)
		} else if st != nil && st.Name == decide.StateUpdatingFailed && st.Code != "database" &&
			w.report.Stopped == "" {
			w.violate("R14", "%v is explained as %s and has no object", at, st.Message)
		}
		return
	}
	recorded[o] = true
	differs, left := "", false
	for i := range t.Columns {
		c := &t.Columns[i]
		d, l := w.finalColumn(t, at, r, c, o.now()[c.Name])
		if d {
			differs = c.Name
		}
		left = left || l
	}
	if differs == "" {
		if st != nil && w.db.pending[at] == nil && !left {
			w.violate("R14", "%v equals its object and still says %s: %s", at, st.Name, st.Message)
		}
		return
	}
	if why := w.explained(at); why != "" {
		w.violate("R14", "%v differs in %s: %v, cloud %v (%s)", at, differs, r.vals, o.now(), why)
	} else if st != nil && w.db.pending[at] == nil && st.Code == "" && !w.enforcing(at) &&
		st.Name != decide.StateWaiting {
		w.violate("R14", "%v differs in %s with nothing pending (%s: %s)", at, differs, st.Name, st.Message)
	}
}

// objectOf returns the object that a record names, or nil if there is none.
func (w *world) objectOf(t *modules.Table, at decide.RecordRef, r *row) *object {
	key, ok := w.db.keyOf(t, at.ID)
	scope := t.Scope(r.vals)
	if w.db.pending[at] != nil { // it may be asking for another name, or region
		for _, s := range w.db.load(t, []int64{at.ID}) {
			identity, named := s.Identity()
			if named {
				scope = t.Scope(identity)
			}
			if !t.ComputedIdentity() {
				key, ok = t.Key(identity)
			}
		}
	}
	if !ok {
		return nil
	}
	return w.cloud.live(t, scope, key)
}

// finalColumn reports whether a column differs from the cloud's value, and whether the
// record may say why it is left as it is.
func (w *world) finalColumn(t *modules.Table, at decide.RecordRef, r *row, c *modules.Column,
	cloud modules.Value) (differs, left bool) {
	mode, have := modes.New(w.db.rules).Of(t.Name, at.ID, c.Name), r.vals[c.Name]
	switch {
	case mode.Pauses():
		return false, true // it is as it is on both sides, and the record says so
	case c.WriteOnly:
		return !have.IsNull() && mode != modes.Track, false
	case c.References != nil:
		return w.finalReference(t, at, r, c, cloud)
	}
	return !c.Same(have, cloud), false
}

// finalReference is finalColumn of a reference.
func (w *world) finalReference(t *modules.Table, at decide.RecordRef, r *row, c *modules.Column,
	cloud modules.Value) (differs, left bool) {
	rules, have, target := modes.New(w.db.rules), r.vals[c.Name], registry.Table(c.References.Table)
	p := w.cloud.live(target, t.Scope(r.vals), cloud.String())
	if p != nil && w.db.byKey(target, t.Scope(r.vals), cloud.String()) == nil && w.db.pending[at] == nil &&
		!w.check.isDeposed(p) {
		// What it names has no record, and finalObject wants to know why. If a
		// user has deleted that, the record may say why it cannot get away.
		_, unwanted := w.check.unwanted[p]
		return false, unwanted
	}
	if p != nil && w.check.isDeposed(p) && w.db.pending[at] == nil {
		if rules.Of(t.Name, at.ID, "") == modes.Track {
			// that it cannot follow may be said: it stays in what was replaced; the deposed object says so
			return false, true
		}
		if have.IsNull() {
			// made in the cloud with the name of what is on its way out; there is no record it could name
			return false, false
		}
		if !w.enforcing(at) && w.movedAway(p, have.Int()) {
			// a user has moved what it is in elsewhere, and asked for nothing of it; the deposed object says so
			return false, true
		}
		if key, ok := w.db.keyOf(target, have.Int()); (!ok || w.cloud.live(target, t.Scope(r.vals), key) == nil) &&
			w.explained(ref(target, have.Int())) == "" {
			return false, true // the record it names has no object, says why, and is what a person has to look at
		}
	}
	if have.IsNull() || cloud.IsNull() {
		return have.IsNull() != cloud.IsNull(), false
	}
	key, ok := w.db.keyOf(target, have.Int())
	// Where the cloud wins, an object stays in what it is in, even if that has been
	// replaced; the deposed object says so.
	stays := rules.Of(t.Name, at.ID, c.Name) == modes.Track || c.CreateOnly &&
		rules.Of(t.Name, at.ID, "") == modes.Track
	return !ok || key != cloud.String() && !stays, ok && key != cloud.String() && stays
}

// movedAway reports whether an object is the old one of another record than this, which
// is elsewhere by now.
func (w *world) movedAway(o *object, record int64) bool {
	for _, g := range w.db.deposed {
		if g.table == o.table && g.key == o.key && g.scope == o.scope {
			row := w.db.rows[o.table.Name][g.record]
			return g.record != record && row != nil && o.table.Scope(row.vals) != g.scope
		}
	}
	return false
}

func (w *world) enforcing(at decide.RecordRef) bool {
	t := registry.Table(at.Table)
	rules := modes.New(w.db.rules)
	if rules.Of(at.Table, at.ID, "") == modes.Enforce {
		return true
	}
	for i := range t.Columns {
		if rules.Of(at.Table, at.ID, t.Columns[i].Name) == modes.Enforce {
			return true
		}
	}
	return false
}

// finalObject: an object without a record has to be one that is being deleted
// and cannot be, or that the tables refuse.
func (w *world) finalObject(o *object) {
	if w.check.isDeposed(o) || w.report.Stopped != "" {
		return
	}
	if modes.New(w.db.rules).Of(o.table.Name, 0, "").Pauses() {
		return
	}
	// A name that a pending change gave up, or never had, is left alone until
	// that change is settled.
	if w.db.pendingKey(o.table, o.scope, o.key, nil) {
		return
	}
	for at := range w.check.owned {
		if w.check.owned[at][o] && w.db.pending[at] != nil && w.explained(at) == "" {
			return
		}
	}
	// It may be what a creation has made that nobody may look for.
	for _, op := range w.db.ops {
		if op.open() && op.Kind == decide.OpCreate && op.Record.Table == o.table.Name && op.Scope == o.scope &&
			w.pauses(op.Record) {
			return
		}
	}
	// It waits for a parent that is on its way out and cannot go because of it.
	for i := range o.table.Columns {
		if ref := o.table.Columns[i].References; ref != nil && o.table.Columns[i].Required {
			parent := registry.Table(ref.Table)
			key := o.now()[o.table.Columns[i].Name].String()
			if p := w.cloud.live(parent, o.scope, key); p != nil && w.db.byKey(parent, o.scope, key) == nil {
				w.finalObject(p)
				return
			}
		}
	}
	for _, e := range w.report.Errors {
		if e.Record.Table == o.table.Name && e.Record.ID == 0 {
			return
		}
	}
	w.violate("R14", "%s has no record: %v", o.key, o.now())
}
