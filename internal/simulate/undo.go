package simulate

import (
	"maps"
	"slices"

	"iasql/internal/auditlog"
	"iasql/internal/decide"
	"iasql/internal/modules"
)

// What a batch has written is undone: before a commit was begun of it, in the database
// alone (rollbackBatch), and afterwards by changes like any others (restoreBatch).

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
	order = slices.Collect(maps.Keys(by))
	sortRefs(order)
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
	return db.referredFrom(b.id) || db.leftBehind(b.id, order, by) || db.identityTaken(b, order, by)
}

// leftBehind reports whether a record that is not the batch's refers to one that would go
// back to another region than its own.
func (db *database) leftBehind(batch int64, order []decide.RecordRef, by map[decide.RecordRef][]*auditRow) bool {
	for _, at := range order {
		region, moves := db.image(at, by[at])[modules.ColumnRegion]
		if !moves || by[at][0].Type == "INSERT" || db.rows[at.Table][at.ID] == nil {
			continue
		}
		for _, t := range tables {
			for _, id := range db.ids(t) {
				vals := db.rows[t.Name][id].vals
				if db.staged[ref(t, id)].batch == batch || vals[modules.ColumnRegion] == region {
					continue
				}
				for i := range t.Columns {
					c := &t.Columns[i]
					if c.References != nil && c.References.Table == at.Table && !vals[c.Name].IsNull() &&
						vals[c.Name].Int() == at.ID {
						return true
					}
				}
			}
		}
	}
	return false
}

// identityTaken reports whether a record that is not the batch's has the identity that
// one of the batch would get back.
func (db *database) identityTaken(b *batchRow, order []decide.RecordRef, by map[decide.RecordRef][]*auditRow) bool {
	for _, at := range order {
		t, image, current := registry.Table(at.Table), db.image(at, by[at]), db.rows[at.Table][at.ID]
		if by[at][0].Type == "INSERT" {
			continue
		}
		was := db.fill(t, image)
		if current != nil {
			was = current.vals.Clone()
			for name, v := range image {
				if b.phase == "open" || !t.Column(name).Computed { // what the cloud assigns is not given back
					was[name] = v
				}
			}
		} else if b.phase != "open" && db.begun(&restoring{at: at, changes: by[at]}) {
			for i := range t.Columns {
				if c := &t.Columns[i]; c.Computed {
					was[c.Name] = modules.Null
				}
			}
		}
		key, ok := t.Key(was)
		if !ok {
			continue
		}
		for id, other := range db.rows[at.Table] {
			if by[decide.RecordRef{Table: at.Table, ID: id}] != nil || id == at.ID {
				continue
			}
			if k, ok := t.Key(other.vals); ok && k == key && t.Scope(other.vals) == t.Scope(was) {
				return true
			}
		}
	}
	return false
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
		db.dealtWith(at, by[at])
		if st := db.states[at]; st != nil && st.Identity == nil && !st.Replacing {
			delete(db.states, at)
		}
	}
	db.w.check.rolledBack(b.id)
	db.closeBatch(b, false)
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
	// taken: the object that the deleted record had is another's, which stays.
	taken bool
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
		r := &restoring{at: at, changes: by[at], current: db.rows[at.Table][at.ID], image: db.image(at, by[at]),
			goes: by[at][0].Type == "INSERT"}
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
	for _, r := range list {
		r.taken = r.deleted && r.current == nil && db.takenOver(r, list)
	}
	tx := &tx{over: map[decide.RecordRef]modules.Row{}, shared: map[decide.RecordRef]bool{},
		taken: map[uniqueKey]bool{}, batch: b.id}
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

// takenOver reports whether another record of the batch, when it is undone, has the
// identity that a deleted one had.
func (db *database) takenOver(r *restoring, list []*restoring) bool {
	t := registry.Table(r.at.Table)
	was := db.fill(t, r.image)
	key, named := t.Key(was)
	for _, o := range list {
		if !named || o == r || o.at.Table != r.at.Table || o.goes || o.current == nil {
			continue
		}
		will := o.current.vals.Clone()
		for name, v := range o.image {
			if !t.Column(name).Computed {
				will[name] = v
			}
		}
		if k, ok := t.Key(will); ok && k == key && t.Scope(will) == t.Scope(was) {
			return true
		}
	}
	return false
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
		return op.Record == r.at && op.Kind == decide.OpCreate && op.started >= r.changes[0].at &&
			(op.open() || op.Result == decide.ResultOK)
	})
}

// restoreRecord writes one record of a batch that is being undone.
func (db *database) restoreRecord(tx *tx, r *restoring) {
	t, at := registry.Table(r.at.Table), r.at
	there := r.deleted && r.current == nil && r.from == nil && !db.begun(r) && !r.taken // its object still is
	if r.from != nil {
		db.takeBack(tx, t, r)
	}
	for name := range r.image {
		if t.Column(name).Computed && !there {
			delete(r.image, name)
		}
	}
	switch {
	case r.goes && r.current != nil:
		key, _ := t.Key(r.current.vals)
		tx.over[at] = nil
		db.audit(tx, &auditRow{Entry: auditlog.Entry{RecordID: at.ID, Type: "DELETE",
			Original: masked(t, r.current.vals)}, table: t, key: key, scope: t.Scope(r.current.vals)})
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
		return op.Record == r.at && op.Kind == decide.OpDelete && op.started >= r.changes[0].at &&
			op.Result != decide.ResultFailed
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
		db.stage(tx, t, current.id, current.vals, vals)
		tx.over[ref(t, current.id)] = vals
		db.audit(tx, &auditRow{Entry: auditlog.Entry{RecordID: current.id, Type: "UPDATE",
			Original: masked(t, original)}, table: t, change: change, key: key, scope: t.Scope(current.vals)})
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
				if _, earlier := had[name]; op.Result != decide.ResultFailed && !earlier && !t.Column(name).Computed &&
					!t.Column(name).WriteOnly {
					had[name] = c.From
				}
			}
		}
	}
	return had, adopted
}
