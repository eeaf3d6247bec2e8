package simulate

import (
	"maps"
	"slices"
	"time"

	"iasql/internal/decide"
	"iasql/internal/store"
)

// What people do with batches, and the engine for them.

// batchOfSession returns the batch that the session of an action works in, unless
// somebody is editing in it.
func (w *world) batchOfSession(a *Action) *batchRow {
	b := w.db.batches[w.db.sessions[a.Slot]]
	if b == nil {
		return nil
	}
	for _, tx := range w.db.txs {
		if tx.batch == b.id {
			return nil
		}
	}
	return b
}

// batchJoin is iasql_join.
func (w *world) batchJoin(a *Action) {
	if w.db.txs[a.Slot] != nil || w.db.batches[w.db.sessions[a.Slot]] != nil || len(w.db.batches) == 0 {
		return
	}
	ids := slices.Sorted(maps.Keys(w.db.batches))
	w.db.sessions[a.Slot] = ids[a.A%len(ids)]
	w.trace("   %s", w.db.batches[w.db.sessions[a.Slot]])
}

// batchPreview is iasql_preview in a session that works in a batch: it shows what the
// batch has staged, and what has to follow that.
func (w *world) batchPreview(a *Action, b *batchRow) {
	of := *a
	of.Push, of.batch = true, b.id
	if err := w.cycle(&of, 0); err != nil || w.failed != nil {
		return
	}
	for _, step := range w.report.Steps {
		if s := step.Subject; step.Decision.Action.Pushes() && s.Follows == nil && w.db.staged[s.Ref()].batch != b.id {
			w.violate("R21", "%v: the preview of a batch shows what is not the batch's: %s", s.Ref(),
				step.Decision.Action)
		}
	}
}

// busy reports whether a cycle of the batch is under way.
func (w *world) busy(b *batchRow) bool {
	return slices.ContainsFunc(w.runs, func(r *run) bool { return r.lease.Batch == b.id })
}

// batchCommit is iasql_commit. If a cycle is under way, only the batch's phase
// changes, as if the engine that is to commit it ended then.
func (w *world) batchCommit(a *Action) {
	b := w.batchOfSession(a)
	if b == nil || b.phase == "reverting" || w.busy(b) {
		return
	}
	w.beginCommit(b)
	w.trace("   %s", b)
	if len(w.runs) == 0 && w.carryOut(b, a, 4) {
		w.trace("   committed")
		w.db.closeBatch(b, true)
	}
}

// beginCommit closes a batch to edits.
func (w *world) beginCommit(b *batchRow) {
	if b.phase != "open" {
		return
	}
	b.phase = "committing"
	for _, row := range b.waiting {
		row.committed = w.now
		w.check.committed(ref(row.table, row.RecordID), row)
	}
	b.waiting = nil
}

// batchRollback is iasql_rollback.
func (w *world) batchRollback(a *Action) {
	b := w.batchOfSession(a)
	switch {
	case b == nil || w.busy(b):
		return
	case b.phase == "open":
		w.trace("   %s rolled back: %v", b, w.db.rollbackBatch(b))
		return
	case b.phase == "committing":
		if w.db.referredFrom(b.id) || w.anyLocked(b) {
			return
		}
		w.db.restoreBatch(b)
	}
	w.trace("   %s", b)
	if len(w.runs) == 0 && w.carryOut(b, a, 4) {
		w.trace("   rolled back")
		w.check.reverted(b)
		w.db.closeBatch(b, false)
	}
}

// anyLocked reports whether an open transaction holds a record of the batch.
func (w *world) anyLocked(b *batchRow) bool {
	for at, s := range w.db.staged {
		if s.batch == b.id && w.db.locked(at) {
			return true
		}
	}
	return false
}

// carryOut runs cycles of the batch. It reports whether nothing of the batch is left
// to be done.
func (w *world) carryOut(b *batchRow, a *Action, most int) bool {
	for n := range most {
		of := &Action{Do: Cycle, Push: true, Seed: a.Seed + uint64(n), Faults: a.Faults, Stale: a.Stale, batch: b.id,
			reviewed: b.phase == "reverting"}
		if n == 0 {
			of.Inject = a.Inject
		}
		if err := w.cycle(of, 0); err != nil || w.failed != nil {
			return false
		}
		if len(w.db.unsettledOf(b.id)) == 0 {
			return true
		}
		w.now += 30 * time.Second
	}
	return false
}

// endBatches ends all batches, faults having stopped. Before, others' changes must
// have been dealt with as if there were no batches (R21).
func (w *world) endBatches() {
	if len(w.db.batches) == 0 {
		return
	}
	w.settleDown("while batches are open")
	w.retryAll()
	w.settleDown("while batches are open, after retry")
	for at := range w.db.pending {
		if w.failed == nil && w.db.staged[at].batch == 0 {
			if why := w.explained(at); why != "" {
				w.violate("R21", "%v: a change that is not staged is held up by batches (%s)", at, why)
			}
		}
	}
	for round := 0; len(w.db.batches) > 0 && w.failed == nil; round++ {
		var ids []int64
		for id := range w.db.batches {
			ids = append(ids, id)
		}
		slices.Sort(ids)
		for _, id := range ids {
			w.endBatch(w.db.batches[id], round)
		}
		if round > 4 {
			w.violate("R21", "%d batches cannot be ended", len(w.db.batches))
		}
	}
}

// endBatch commits a batch or rolls it back.
func (w *world) endBatch(b *batchRow, round int) {
	quiet := &Action{Seed: 2}
	if b.phase == "open" && b.id%2 == 0 && round < 3 {
		w.beginCommit(b)
		w.trace("%s in the end", b)
	}
	if b.phase == "open" {
		undone := w.db.rollbackBatch(b)
		w.trace("%s rolled back in the end: %v", b, undone)
		if undone || round < 3 {
			return
		}
		// Others have made something of what it holds, and leave it: whoever has the batch commits it.
		w.beginCommit(b)
	}
	for b.phase == "committing" {
		if w.carryOutFor(b, quiet) || b.id%3 == 0 || w.db.referredFrom(b.id) { // or keep
			w.db.closeBatch(b, true)
			return
		}
		if w.failed != nil {
			return
		}
		w.db.restoreBatch(b)
		w.trace("%s in the end", b)
	}
	if w.carryOutFor(b, quiet) {
		w.check.reverted(b)
	}
	w.db.closeBatch(b, false)
}

// carryOutFor does so for as long as something may heal.
func (w *world) carryOutFor(b *batchRow, a *Action) bool {
	for range enough {
		w.now += 7 * time.Minute
		if w.carryOut(b, a, 1) {
			return true
		}
		if w.failed != nil {
			return false
		}
	}
	return false
}

// What the checker says of batches.

// elsewhere reports whether a batch that the cycle is not of has the record staged.
func (c *checker) elsewhere(r *run, at decide.RecordRef) bool {
	return at.ID != 0 && c.w.db.stagedElsewhere(at, r.lease.Batch)
}

// begun: the entry of a call is in the intent log.
func (c *checker) begun(r *run, call *decide.Intent) {
	if c == nil {
		return
	}
	if c.elsewhere(r, call.Record) {
		c.w.violate("R21", "%v: a call for a record that another batch has staged: %s", call.Record, call.Kind)
	}
	for _, a := range c.w.db.pending[call.Record] {
		if a.batch != r.lease.Batch && c.w.db.batches[a.batch] != nil {
			c.w.violate("R21", "%v: a call for what is only staged in batch %d: %s", call.Record, a.batch, call.Kind)
		}
	}
	if b := c.w.db.batches[c.w.db.staged[call.Record].batch]; b != nil && b.phase == "open" {
		c.w.violate("R21", "%v: a call for a record whose batch nobody has committed: %s", call.Record, call.Kind)
	}
	if call.Record.ID == 0 && c.w.db.keyElsewhere(uniqueKey{call.Record.Table, call.Scope, call.Key}, r.lease.Batch) {
		c.w.violate("R21", "%s: a call for an object of a name that a batch has staged: %s", call.Key, call.Kind)
	}
}

// pulled: the engine writes to a record what it has found in the cloud.
func (c *checker) pulled(p store.Pull) {
	if c != nil && c.elsewhere(c.run(), p.Subject.Ref()) {
		c.w.violate("R21", "%v: a pull into a record that another batch has staged: %s", p.Subject.Ref(), p.Action)
	}
}

// locked: a transaction was committed that has changed a record.
func (c *checker) locked(at decide.RecordRef, now *auditRow) {
	if c == nil {
		return
	}
	for _, a := range c.w.db.log[at] {
		if a.batch != now.batch && c.w.db.batches[a.batch] != nil {
			c.w.violate("R21", "%v: somebody has changed what is staged in batch %d", at, a.batch)
		}
	}
}

// settledIn: the engine marks audit rows as dealt with.
func (c *checker) settledIn(at decide.RecordRef, now []*auditRow) {
	if c == nil || c.run() == nil {
		return
	}
	for _, a := range now {
		if c.w.db.batches[a.batch] != nil && a.batch != c.run().lease.Batch {
			c.w.violate("R21", "%v: a cycle that is not the batch's settled what the batch has staged", at)
		}
	}
}

// rolledBack: a batch that had not reached the cloud was rolled back. Its records are
// as they were, but for what the cloud has assigned meanwhile, and secrets.
func (c *checker) rolledBack(batch int64) {
	if c == nil {
		return
	}
	c.takenBack[batch] = true
	for at, s := range c.w.db.staged {
		if s.batch != batch {
			continue
		}
		t, r := registry.Table(at.Table), c.w.db.rows[at.Table][at.ID]
		if (r == nil) != (s.before == nil) {
			c.w.violate("R21", "%v: after a rollback it is there: %v, and was before the batch: %v", at, r != nil,
				s.before != nil)
			continue
		}
		if r == nil {
			continue
		}
		for i := range t.Columns {
			col := &t.Columns[i]
			if v := r.vals[col.Name]; col.References != nil && !v.IsNull() &&
				c.w.db.rows[col.References.Table][v.Int()] == nil {
				c.w.violate("R21", "%v: after a rollback %s leads to %s %s, which is gone", at, col.Name,
					col.References.Table, v)
			}
			if !col.Computed && !col.WriteOnly && r.vals[col.Name] != s.before[col.Name] {
				c.w.violate("R21", "%v: after a rollback %s is %q, and was %q", at, col.Name, r.vals[col.Name],
					s.before[col.Name])
			}
		}
	}
}

// tookOver: a record that a batch has inserted may stay when the batch is undone, for
// it has adopted an object. That is not one that somebody else had deleted before, and
// that was still to go.
func (c *checker) tookOver(b *batchRow, at decide.RecordRef) {
	t, r := registry.Table(at.Table), c.w.db.rows[at.Table][at.ID]
	if r == nil {
		return
	}
	key, named := t.Key(r.vals)
	for of, list := range c.w.db.log {
		for _, a := range list {
			if named && of.Table == at.Table && a.Type == "DELETE" && a.batch != b.id && a.key == key &&
				a.scope == t.Scope(r.vals) &&
				a.ID < c.w.db.log[at][0].ID && (!a.settled || a.settledAt > c.w.db.log[at][0].at) {
				c.w.violate("R21", "%v: the batch was undone, and keeps the object of %v, which somebody else had "+
					"deleted", at, of)
			}
		}
	}
}

// reverted: what a commit had done was undone. The records that the batch has changed
// are as they were before it, and so are their objects, unless somebody else has
// changed something in the cloud, or a person wanted the cloud's side, or they say what
// is wrong.
func (c *checker) reverted(b *batchRow) {
	c.takenBack[b.id] = true
	if c.w.failed != nil || c.w.ruled {
		return
	}
	for at, s := range c.w.db.staged {
		if s.batch == b.id && s.inserted {
			c.tookOver(b, at)
		}
		if s.batch != b.id || s.before == nil || c.w.touched[at.Table] || c.w.db.states[at] != nil ||
			c.resolved(at, "cloud") {
			continue
		}
		t, r := registry.Table(at.Table), c.w.db.rows[at.Table][at.ID]
		if r == nil {
			c.w.violate("R21", "%v: the batch was undone, and its record is gone", at)
			continue
		}
		// What had not reached the cloud before the batch meets it now.
		changes := slices.Clone(c.w.db.log[at])
		first := slices.IndexFunc(changes, func(a *auditRow) bool { return a.batch == b.id })
		if first > 0 && slices.ContainsFunc(changes[:first], func(a *auditRow) bool {
			return !a.settled || a.settledAt > changes[first].at
		}) {
			continue
		}
		// What is made anew chooses anew what nobody says.
		anew := slices.ContainsFunc(c.w.db.ops, func(op *opRow) bool {
			return op.Record == at && op.Kind == decide.OpCreate
		})
		for i := range t.Columns {
			col := &t.Columns[i]
			if anew && s.before[col.Name].IsNull() {
				continue
			}
			// What the object names has a record by now.
			written := slices.ContainsFunc(c.w.db.ops, func(op *opRow) bool {
				_, of := op.Columns[col.Name]
				return op.Record == at && of
			})
			if col.References != nil && s.before[col.Name].IsNull() && !written {
				continue
			}
			if !col.Computed && !col.WriteOnly && !col.Same(r.vals[col.Name], s.before[col.Name]) {
				c.w.violate("R21", "%v: the batch was undone: %s is %q, and was %q", at, col.Name, r.vals[col.Name],
					s.before[col.Name])
			}
		}
	}
}
