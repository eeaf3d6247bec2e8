package simulate

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"iasql/internal/auditlog"
	"iasql/internal/decide"
	"iasql/internal/modules"
)

// What iasql_internal.stage.sql and batch.sql do: batches of sessions, and what they
// have staged. A session is a slot.

// batchRow is an open batch.
type batchRow struct {
	id    int64
	phase string // open, committing or reverting
	// waiting are the changes that the checker has not been told of: nobody wants
	// them yet.
	waiting []*auditRow
}

// stagedRow is a record that a batch has changed.
type stagedRow struct {
	batch    int64
	inserted bool
	before   modules.Row // nil: there was none
}

// staging is what a transaction has staged and not committed.
type staging struct {
	at       decide.RecordRef
	inserted bool
	keys     []uniqueKey
	needs    []decide.RecordRef
}

// batchOf returns the batch that changes of a session belong to, 0 for none.
func (db *database) batchOf(slot int) int64 {
	if b := db.batches[db.sessions[slot]]; b != nil && b.phase == "open" {
		return b.id
	}
	return 0
}

// openBatch is iasql_begin; 0 if the session works in a batch already.
func (db *database) openBatch(slot int) int64 {
	if db.batches[db.sessions[slot]] != nil {
		return 0
	}
	db.lastBatch++
	db.batches[db.lastBatch] = &batchRow{id: db.lastBatch, phase: "open"}
	db.sessions[slot] = db.lastBatch
	return db.lastBatch
}

// closeBatch lets go of what a batch has staged.
func (db *database) closeBatch(b *batchRow) {
	delete(db.batches, b.id)
	for at, st := range db.states {
		if st.Name == decide.StateWaiting && db.hasStaged(b.id) {
			db.states[at].next = db.w.now
		}
	}
	maps.DeleteFunc(db.staged, func(_ decide.RecordRef, s stagedRow) bool { return s.batch == b.id })
	maps.DeleteFunc(db.stagedKeys, func(_ uniqueKey, of map[int64]bool) bool { delete(of, b.id); return len(of) == 0 })
	maps.DeleteFunc(db.needed, func(_ decide.RecordRef, by map[int64]bool) bool { delete(by, b.id); return len(by) == 0 })
}

func (db *database) hasStaged(batch int64) bool {
	for _, s := range db.staged {
		if s.batch == batch {
			return true
		}
	}
	return false
}

// stagedElsewhere reports whether another batch has the record staged.
func (db *database) stagedElsewhere(at decide.RecordRef, mine int64) bool {
	s, ok := db.staged[at]
	return ok && s.batch != mine
}

// keyElsewhere reports whether another batch has a record staged that has the
// identity, or had it.
func (db *database) keyElsewhere(key uniqueKey, mine int64) bool {
	for by := range db.stagedKeys[key] {
		if by != mine {
			return true
		}
	}
	return false
}

// neededElsewhere reports whether another batch's rollback would need the record.
func (db *database) neededElsewhere(at decide.RecordRef, mine int64) bool {
	for by := range db.needed[at] {
		if by != mine {
			return true
		}
	}
	return false
}

// mayWrite reports whether a statement of a session may leave the record with these
// values; nil: deleted.
func (db *database) mayWrite(tx *tx, t *modules.Table, id int64, vals modules.Row) bool {
	at := ref(t, id)
	if db.stagedElsewhere(at, tx.batch) || vals == nil && db.neededElsewhere(at, tx.batch) {
		return false
	}
	if vals == nil {
		return true
	}
	if key, ok := t.Key(vals); ok {
		if db.keyElsewhere(uniqueKey{t.Name, t.Scope(vals), key}, tx.batch) || tx.batch != 0 && db.awaited(t, id, key, vals, tx.batch) {
			return false
		}
	}
	return !db.refersToStaged(t, vals, tx.batch)
}

// refersToStaged reports whether a version of a record refers to one that only
// another batch has.
func (db *database) refersToStaged(t *modules.Table, vals modules.Row, mine int64) bool {
	for i := range t.Columns {
		c := &t.Columns[i]
		if c.References == nil || vals[c.Name].IsNull() {
			continue
		}
		if s := db.staged[decide.RecordRef{Table: c.References.Table, ID: vals[c.Name].Int()}]; s.inserted && s.batch != mine {
			return true
		}
	}
	return false
}

// awaited reports whether a change that is not the batch's has taken the identity
// from another record, and is not settled.
func (db *database) awaited(t *modules.Table, id int64, key string, vals modules.Row, batch int64) bool {
	for at, list := range db.pending {
		if at.Table != t.Name || at.ID == id {
			continue
		}
		for _, a := range list {
			if a.key != key || a.batch == batch {
				continue
			}
			if was := a.Original[modules.ColumnRegion]; was.IsNull() || was == vals[modules.ColumnRegion] {
				return true
			}
		}
	}
	return false
}

// stage notes that a statement has staged a record. old and vals are nil where there
// was or is none.
func (db *database) stage(tx *tx, t *modules.Table, id int64, old, vals modules.Row) {
	if tx.batch == 0 {
		return
	}
	s := staging{at: ref(t, id), inserted: old == nil}
	for _, version := range []modules.Row{old, vals} {
		if key, ok := t.Key(version); version != nil && ok {
			s.keys = append(s.keys, uniqueKey{t.Name, t.Scope(version), key})
		}
	}
	for i := range t.Columns {
		c := &t.Columns[i]
		if c.References == nil || old[c.Name].IsNull() {
			continue
		}
		parent := decide.RecordRef{Table: c.References.Table, ID: old[c.Name].Int()}
		if r, ok := db.see(tx, parent); ok && r[modules.ColumnRegion] == old[modules.ColumnRegion] {
			s.needs = append(s.needs, parent)
		}
	}
	tx.stagings = append(tx.stagings, s)
}

// commitStagings makes visible what a transaction has staged.
func (db *database) commitStagings(tx *tx) {
	for _, s := range tx.stagings {
		if _, known := db.staged[s.at]; !known {
			db.staged[s.at] = stagedRow{tx.batch, s.inserted, nil}
			if r := db.rows[s.at.Table][s.at.ID]; r != nil {
				db.staged[s.at] = stagedRow{tx.batch, s.inserted, r.vals}
			}
		}
		for _, key := range s.keys {
			if db.stagedKeys[key] == nil {
				db.stagedKeys[key] = map[int64]bool{}
			}
			db.stagedKeys[key][tx.batch] = true
		}
		for _, at := range s.needs {
			if db.needed[at] == nil {
				db.needed[at] = map[int64]bool{}
			}
			db.needed[at][tx.batch] = true
		}
	}
}

// changesOf returns a batch's changes, by record, in the order of the log.
func (db *database) changesOf(batch int64) (order []decide.RecordRef, by map[decide.RecordRef][]*auditRow) {
	by = map[decide.RecordRef][]*auditRow{}
	for at, list := range db.log {
		for _, a := range list {
			if a.batch == batch {
				by[at] = append(by[at], a)
			}
		}
	}
	order = slices.SortedFunc(maps.Keys(by), func(a, b decide.RecordRef) int { return cmp.Or(cmp.Compare(a.Table, b.Table), cmp.Compare(a.ID, b.ID)) })
	return order, by
}

// image returns what the columns held before the changes, those of secrets as far as
// they still wait.
func (db *database) image(at decide.RecordRef, changes []*auditRow) modules.Row {
	t, image := registry.Table(at.Table), modules.Row{}
	for _, a := range changes {
		for name, v := range a.Original {
			if _, earlier := image[name]; earlier {
				continue
			}
			if t.Column(name).WriteOnly && !v.IsNull() {
				v = db.waitingSecretOf(at, name, changes)
			}
			image[name] = v
		}
	}
	return image
}

// waitingSecretOf returns the newest secret of a column that waits, of changes other
// than these.
func (db *database) waitingSecretOf(at decide.RecordRef, column string, but []*auditRow) (v modules.Value) {
	for _, a := range db.pending[at] {
		if set, ok := a.change[column]; ok && !slices.Contains(but, a) {
			v = set
		}
	}
	return v
}

// referredFrom reports whether a record that is not the batch's refers to one that it
// has inserted.
func (db *database) referredFrom(batch int64) bool {
	for at, s := range db.staged {
		if s.batch == batch && s.inserted && db.referred(at, batch) {
			return true
		}
	}
	return false
}

// referred reports whether a record that is not the batch's refers to the record.
func (db *database) referred(at decide.RecordRef, batch int64) bool {
	for _, t := range tables {
		for _, id := range db.ids(t) {
			for i := range t.Columns {
				c := &t.Columns[i]
				v := db.rows[t.Name][id].vals[c.Name]
				if c.References == nil || v.IsNull() || db.staged[ref(t, id)].batch == batch {
					continue
				}
				if c.References.Table == at.Table && v.Int() == at.ID {
					return true
				}
			}
		}
	}
	return false
}

// rollbackBatch is iasql_rollback of a batch that no commit was begun of. It is
// refused, and returns false, where it would have to wait for somebody.
func (db *database) rollbackBatch(b *batchRow) bool {
	order, by := db.changesOf(b.id)
	for _, at := range order {
		// Only who takes a key away waits for those that reference it.
		_, moves := db.image(at, by[at])[modules.ColumnRegion]
		if db.writing(at) || db.locked(at) && (by[at][0].Type == "INSERT" || moves) {
			return false
		}
	}
	for _, at := range order {
		t, changes := registry.Table(at.Table), by[at]
		image := db.image(at, changes)
		current := db.rows[at.Table][at.ID]
		deleted := slices.ContainsFunc(changes, func(a *auditRow) bool { return a.Type == "DELETE" })
		switch inserted := changes[0].Type == "INSERT"; {
		case inserted && current != nil:
			db.nextAudit++
			key, _ := t.Key(current.vals)
			db.logDeletion(at, db.nextAudit, key)
			delete(db.rows[at.Table], at.ID)
		case inserted:
		case current != nil && len(image) > 0:
			next := current.vals.Clone()
			maps.Copy(next, image)
			db.put(t, at.ID, next, current.byUser)
		case current == nil && deleted:
			db.put(t, at.ID, db.fill(t, image), true)
			db.found[at] = db.w.now
		}
	}
	for _, at := range order {
		db.pending[at] = slices.DeleteFunc(db.pending[at], func(a *auditRow) bool {
			if a.batch == b.id {
				a.settled, a.settledAt = true, db.w.now
			}
			return a.batch == b.id
		})
		if len(db.pending[at]) == 0 {
			delete(db.pending, at)
		}
		if st := db.states[at]; st != nil && st.Identity == nil && !st.Replacing {
			delete(db.states, at)
		}
	}
	db.w.check.rolledBack(b.id)
	db.closeBatch(b)
	return true
}

// restoreBatch is what a revert writes once a commit was begun: changes like any
// others, for the batch's own cycles to carry out. What an INSERT has adopted stays,
// with what its object had; what is gone since does not come back.
func (db *database) restoreBatch(b *batchRow) {
	order, by := db.changesOf(b.id)
	tx := &tx{over: map[decide.RecordRef]modules.Row{}, shared: map[decide.RecordRef]bool{}, taken: map[uniqueKey]bool{}, batch: b.id}
	for _, at := range order {
		t, changes := registry.Table(at.Table), by[at]
		current := db.rows[at.Table][at.ID]
		image, inserted := db.image(at, changes), changes[0].Type == "INSERT"
		if inserted {
			if kept, adopted := db.adopted(at, changes[0]); adopted {
				image, inserted = kept, false
			}
		}
		for name := range image {
			if t.Column(name).Assigned {
				delete(image, name)
			}
		}
		deleted := changes[0].Type != "INSERT" && slices.ContainsFunc(changes, func(a *auditRow) bool { return a.Type == "DELETE" })
		switch {
		case inserted && current != nil:
			key, _ := t.Key(current.vals)
			tx.over[at] = nil
			db.audit(tx, &auditRow{Entry: auditlog.Entry{RecordID: at.ID, Type: "DELETE", Original: masked(t, current.vals)}, table: t, key: key, scope: t.Scope(current.vals)})
		case inserted:
		case current != nil:
			db.restore(tx, t, current, image)
		case deleted:
			vals := db.fill(t, image)
			tx.over[at] = vals
			db.audit(tx, &auditRow{Entry: auditlog.Entry{RecordID: at.ID, Type: "INSERT"}, table: t, change: vals})
		}
	}
	b.phase = "reverting"
	db.commitTx(tx)
	for at, s := range db.staged {
		if st := db.states[at]; st != nil && s.batch == b.id {
			st.next, st.Attempts, st.Unconfirmed = db.w.now, 0, 0
		}
	}
}

// restore writes the columns of a record that differ from its image.
func (db *database) restore(tx *tx, t *modules.Table, current *row, image modules.Row) {
	vals, original, change, key := current.vals.Clone(), modules.Row{}, modules.Row{}, ""
	for name, v := range image {
		c := t.Column(name)
		if c.WriteOnly || current.vals[name] == v {
			continue
		}
		vals[name], original[name], change[name] = v, current.vals[name], v
		if c.Identity || name == modules.ColumnRegion && t.Reach == modules.PerRegion {
			key, _ = t.Key(current.vals)
		}
	}
	if len(change) > 0 {
		tx.over[ref(t, current.id)] = vals
		db.audit(tx, &auditRow{Entry: auditlog.Entry{RecordID: current.id, Type: "UPDATE", Original: masked(t, original)}, table: t, change: change, key: key, scope: t.Scope(current.vals)})
	}
}

// adopted reports whether an INSERT has met an object that was there before, and
// returns what that had where the record's calls have changed it.
func (db *database) adopted(at decide.RecordRef, insert *auditRow) (had modules.Row, adopted bool) {
	had, adopted = modules.Row{}, insert.settled
	t := registry.Table(at.Table)
	for _, op := range db.ops {
		if op.Record != at || op.started < insert.at {
			continue
		}
		switch {
		case op.Kind == decide.OpCreate && (op.open() || op.Result == decide.ResultOK):
			return nil, false
		case op.Kind == decide.OpUpdate:
			adopted = true
			for name, c := range op.Columns {
				if _, earlier := had[name]; op.Result != decide.ResultFailed && !earlier && !t.Column(name).Assigned && !t.Column(name).WriteOnly {
					had[name] = c.From
				}
			}
		}
	}
	return had, adopted
}

// unsettledOf returns the records of a batch that have changes which are not settled.
func (db *database) unsettledOf(batch int64) (list []decide.RecordRef) {
	for at := range db.pending {
		if s, ok := db.staged[at]; ok && s.batch == batch {
			list = append(list, at)
		}
	}
	return list
}

// String names the batch.
func (b *batchRow) String() string { return fmt.Sprintf("batch %d (%s)", b.id, b.phase) }
