package simulate

import (
	"slices"

	"iasql/internal/decide"
)

// preview runs a preview and, if nothing else happens meanwhile, the cycle it
// speaks of: that cycle does what the preview has listed and nothing else (R10).
func (w *world) preview(a *Action) {
	if b := w.db.batches[w.db.sessions[a.Slot]]; b != nil {
		w.batchPreview(a, b)
		return
	}
	// What backs off may be due a moment later, and what a lost call has become
	// is found out by the cycle alone.
	unclear := len(w.db.states) > 0 || len(w.db.deposed) > 0 || slices.ContainsFunc(w.db.ops, func(op *opRow) bool {
		return op.open() || w.now-op.ended < window
	})
	if err := w.cycle(a, 0); err != nil || len(a.Inject) > 0 || a.Faults > 0 || a.Stale > 0 || unclear ||
		w.failed != nil {
		return
	}
	if len(w.report.Errors) > 0 || w.report.Stopped != "" {
		return
	}
	listed := map[decide.RecordRef]bool{}
	for _, step := range w.report.Steps {
		// That an object without a record, or one whose record does not say yet
		// what it belongs to, follows that into a successor is seen only when the
		// record says so: a preview shows the pull alone.
		if step.Decision.Action == decide.InsertRecord || pullsReference(step) {
			return
		}
		// What backs off or waits for a person is left alone.
		if s := step.Subject; step.Decision.Action.Pushes() && (s.State == nil || s.State.Due) {
			listed[s.Ref()] = true
		}
	}
	before := len(w.db.ops)
	now := w.now
	if err := w.cycle(&Action{Do: Cycle, Seed: a.Seed &^ 1}, 0); err != nil || w.report.Stopped != "" {
		return
	}
	done := map[decide.RecordRef]bool{}
	for _, op := range w.db.ops[before:] {
		done[op.Record] = true
		if !listed[op.Record] && op.Record.ID != 0 && w.db.states[op.Record] == nil {
			w.violate("R10", "%v: the preview at %s did not list: %s", op.Record, now, op.Kind)
		}
	}
	if len(w.report.Errors) > 0 {
		return
	}
	for at := range listed {
		if st := w.db.states[at]; !done[at] && st == nil {
			w.violate("R10", "%v: was listed by the preview at %s and not done", at, now)
		}
	}
}

// pullsReference reports whether a step pulls what its object belongs to.
func pullsReference(step decide.Step) bool {
	for name := range step.Decision.Pull {
		if step.Subject.Table.Column(name).References != nil {
			return true
		}
	}
	return false
}
