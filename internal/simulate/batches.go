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
// from another record, and is not settled or has left an object behind that still has
// to go.
func (db *database) awaited(t *modules.Table, id int64, key string, vals modules.Row, batch int64) bool {
	for _, g := range db.deposed {
		if g.table == t && g.key == key && g.scope == t.Scope(vals) && g.record != id && db.staged[ref(t, g.record)].batch != batch {
			return true
		}
	}
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

// held reports whether somebody stands in the way of undoing a batch.
func (db *database) held(b *batchRow) bool {
	order, by := db.changesOf(b.id)
	for _, at := range order {
		// Only who takes a key away waits for those that reference it.
		_, moves := db.image(at, by[at])[modules.ColumnRegion]
		if db.writing(at) || db.locked(at) && (by[at][0].Type == "INSERT" || moves) {
			return true
		}
	}
	return db.referredFrom(b.id)
}

// rollbackBatch is iasql_rollback of a batch that no commit was begun of. It is
// refused, and returns false, where it would have to wait for somebody, or where a record
// that the engine has found refers to one that would be deleted.
func (db *database) rollbackBatch(b *batchRow) bool {
	if db.held(b) {
		return false
	}
	order, by := db.changesOf(b.id)
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

// restoring is a record of a batch that is being undone.
type restoring struct {
	at      decide.RecordRef
	changes []*auditRow
	current *row // nil: it is gone
	image   modules.Row
	// goes: the record is the batch's own. adopted: so it is, and it has met an object
	// that was there before. deleted: the batch has deleted it.
	goes, adopted, deleted bool
	// from is the record whose object this one takes back, nil for none.
	from *restoring
}

// restoreBatch is what a revert writes once a commit was begun: changes like any
// others, for the batch's own cycles to carry out. What an INSERT has adopted stays,
// with what its object had, unless the object was that of another record of the batch;
// what is gone since does not come back.
func (db *database) restoreBatch(b *batchRow) {
	order, by := db.changesOf(b.id)
	list := make([]*restoring, len(order))
	for i, at := range order {
		r := &restoring{at: at, changes: by[at], current: db.rows[at.Table][at.ID], image: db.image(at, by[at]), goes: by[at][0].Type == "INSERT"}
		r.deleted = !r.goes && slices.ContainsFunc(r.changes, func(a *auditRow) bool { return a.Type == "DELETE" })
		if r.goes {
			if kept, adopted := db.adopted(at, r.changes[0]); adopted {
				r.image, r.goes, r.adopted = kept, false, true
			}
		}
		list[i] = r
	}
	for _, a := range list {
		if a.adopted && a.current != nil {
			db.takenBack(a, list)
		}
	}
	tx := &tx{over: map[decide.RecordRef]modules.Row{}, shared: map[decide.RecordRef]bool{}, taken: map[uniqueKey]bool{}, batch: b.id}
	for _, r := range list {
		db.restoreRecord(tx, r)
	}
	b.phase = "reverting"
	db.commitTx(tx)
	for at, s := range db.staged {
		if st := db.states[at]; st != nil && s.batch == b.id {
			st.next, st.Attempts, st.Unconfirmed = db.w.now, 0, 0
		}
	}
}

// takenBack looks for the record of the batch that stood for the object that a has
// adopted: that takes it back, and a goes. If that has got another object since, both
// stay as they are called.
func (db *database) takenBack(a *restoring, list []*restoring) {
	t := registry.Table(a.at.Table)
	key, _ := t.Key(a.current.vals)
	for _, r := range list {
		if r.at.Table != t.Name || r.goes || r.adopted || r.current == nil && !r.deleted {
			continue
		}
		was := db.fill(t, r.image)
		if r.current != nil {
			was = r.current.vals.Clone()
			maps.Copy(was, r.image)
		}
		if k, ok := t.Key(was); !ok || k != key || t.Scope(was) != t.Scope(a.current.vals) {
			continue
		}
		if r.current != nil && db.elsewhere(r) {
			for i := range t.Columns {
				if c := &t.Columns[i]; c.Identity || c.Name == modules.ColumnRegion {
					delete(r.image, c.Name)
				}
			}
			return
		}
		a.goes, a.adopted, r.from = true, false, a
		return
	}
}

// elsewhere reports whether a record that the batch has renamed or moved has an object
// under its new identity.
func (db *database) elsewhere(r *restoring) bool {
	t := registry.Table(r.at.Table)
	for _, a := range r.changes {
		for name := range a.Original {
			if c := t.Column(name); a.settled && a.Type == "UPDATE" && (c.Identity || name == modules.ColumnRegion) {
				return true
			}
		}
	}
	return slices.ContainsFunc(db.ops, func(op *opRow) bool {
		return op.Record == r.at && op.Kind == decide.OpCreate && op.started >= r.changes[0].at && (op.open() || op.Result == decide.ResultOK)
	})
}

// restoreRecord writes one record of a batch that is being undone.
func (db *database) restoreRecord(tx *tx, r *restoring) {
	t, at := registry.Table(r.at.Table), r.at
	there := r.deleted && r.current == nil && r.from == nil && !db.begun(r) // its object still is
	if r.from != nil {
		db.takeBack(tx, t, r)
	}
	for name := range r.image {
		if t.Column(name).Assigned && !there {
			delete(r.image, name)
		}
	}
	switch {
	case r.goes && r.current != nil:
		key, _ := t.Key(r.current.vals)
		tx.over[at] = nil
		db.audit(tx, &auditRow{Entry: auditlog.Entry{RecordID: at.ID, Type: "DELETE", Original: masked(t, r.current.vals)}, table: t, key: key, scope: t.Scope(r.current.vals)})
	case r.goes:
	case r.current != nil:
		db.restore(tx, t, r.current, r.image)
	case r.deleted:
		vals := db.fill(t, r.image)
		tx.over[at] = vals
		db.audit(tx, &auditRow{Entry: auditlog.Entry{RecordID: at.ID, Type: "INSERT"}, table: t, change: vals})
	}
}

// takeBack makes the record that of an object again that another record of the batch
// has adopted, as the object is now. What the batch did to the record is dealt with by
// that; what is still to be undone of what it did to the object is an update.
func (db *database) takeBack(tx *tx, t *modules.Table, r *restoring) {
	now := modules.Row{}
	for i := range t.Columns {
		c := &t.Columns[i]
		own := c.Identity || c.Name == modules.ColumnRegion
		switch {
		case r.current == nil && c.WriteOnly:
			now[c.Name] = r.image[c.Name]
		case r.current != nil && (own || c.WriteOnly):
			now[c.Name] = r.current.vals[c.Name]
		default:
			now[c.Name] = r.from.current.vals[c.Name]
		}
		if _, touched := r.image[c.Name]; r.current != nil && !own && !touched {
			r.image[c.Name] = r.current.vals[c.Name]
		}
	}
	if r.current == nil {
		db.dealtWith(r.at, r.changes)
		db.audit(tx, &auditRow{Entry: auditlog.Entry{RecordID: r.at.ID, Type: "INSERT"}, table: t, change: now})
	}
	tx.over[r.at] = now
	r.current = &row{id: r.at.ID, vals: now}
}

// begun reports whether the batch may have deleted the record's object.
func (db *database) begun(r *restoring) bool {
	return slices.ContainsFunc(db.ops, func(op *opRow) bool {
		return op.Record == r.at && op.Kind == decide.OpDelete && op.started >= r.changes[0].at && op.Result != decide.ResultFailed
	})
}

// dealtWith marks changes of a record as settled.
func (db *database) dealtWith(at decide.RecordRef, changes []*auditRow) {
	for _, a := range changes {
		if !a.settled {
			a.settled, a.settledAt = true, db.w.now
		}
	}
	db.pending[at] = slices.DeleteFunc(db.pending[at], func(a *auditRow) bool { return a.settled })
	if len(db.pending[at]) == 0 {
		delete(db.pending, at)
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
