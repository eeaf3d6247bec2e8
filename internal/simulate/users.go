package simulate

import (
	"cmp"
	"slices"

	"iasql/internal/auditlog"
	"iasql/internal/decide"
	"iasql/internal/modes"
	"iasql/internal/modules"
)

// tx is a user's open transaction in READ COMMITTED: what it wrote is seen by
// nobody else and locks the rows it wrote, and the rows these reference.
type tx struct {
	over   map[decide.RecordRef]modules.Row // nil: deleted
	shared map[decide.RecordRef]bool        // FOR KEY SHARE
	// taken are the identities that it has given to records, also those it has taken
	// away again: a unique index has them until the transaction ends.
	taken    map[uniqueKey]bool
	audit    []*auditRow
	batch    int64 // that its changes belong to, 0 for none
	stagings []staging
	// doubts are references of records that have moved to another region, or that
	// others have moved away from: they have to be to the same region in the end.
	doubts []columnRef
	// allowReplace: iasql.allow_replace is on.
	allowReplace bool
}

// uniqueKey is what a unique index keeps apart.
type uniqueKey struct {
	table string
	scope modules.Scope
	key   string
}

func (db *database) tx(slot int) *tx {
	if db.txs[slot] == nil {
		db.txs[slot] = &tx{over: map[decide.RecordRef]modules.Row{}, shared: map[decide.RecordRef]bool{},
			taken: map[uniqueKey]bool{}, batch: db.batchOf(slot)}
	}
	return db.txs[slot]
}

// see returns a record as the transaction sees it.
func (db *database) see(tx *tx, at decide.RecordRef) (modules.Row, bool) {
	if r, wrote := tx.over[at]; wrote {
		return r, r != nil
	}
	if r := db.rows[at.Table][at.ID]; r != nil {
		return r.vals, true
	}
	return nil, false
}

// visible returns the ids of the table's records that the transaction sees,
// and that no other transaction has written.
func (db *database) visible(tx *tx, t *modules.Table, lockable bool) []int64 {
	var list []int64
	for id := range db.rows[t.Name] {
		if _, ok := db.see(tx, ref(t, id)); ok {
			list = append(list, id)
		}
	}
	for at, r := range tx.over {
		if at.Table == t.Name && r != nil && db.rows[t.Name][at.ID] == nil {
			list = append(list, at.ID)
		}
	}
	if lockable {
		list = slices.DeleteFunc(list, func(id int64) bool { return db.heldByOther(tx, ref(t, id)) })
	}
	slices.Sort(list)
	return list
}

func (db *database) heldByOther(tx *tx, at decide.RecordRef) bool {
	for _, other := range db.txs {
		if _, wrote := other.over[at]; wrote && other != tx {
			return true
		}
	}
	return false
}

// insert is INSERT; id 0 takes the next one. It reports whether the statement
// was accepted; one that would wait for another transaction is not.
func (db *database) insert(tx *tx, t *modules.Table, id int64, vals modules.Row) bool {
	if id == 0 {
		db.nextID[t.Name]++
		id = db.nextID[t.Name]
	} else if _, exists := db.see(tx, ref(t, id)); exists || db.heldByOther(tx, ref(t, id)) {
		return false
	}
	db.nextID[t.Name] = max(db.nextID[t.Name], id)
	at := ref(t, id)
	if modes.New(db.rules).Of(t.Name, id, "") == modes.Track {
		return false
	}
	vals = db.fill(t, vals)
	for i := range t.Columns {
		if c := &t.Columns[i]; c.WriteOnly && vals[c.Name].String() == mask {
			vals[c.Name] = modules.Null // what it stands for is not known here
		}
	}
	if !db.allowed(tx, t, id, vals, false) || !db.mayWrite(tx, t, id, vals) {
		return false
	}
	db.userWrite(tx, at, vals)
	db.stage(tx, t, id, nil, vals)
	db.audit(tx, &auditRow{Entry: auditlog.Entry{RecordID: id, Type: "INSERT"}, table: t, change: vals})
	return true
}

// update is UPDATE of one record.
func (db *database) update(tx *tx, t *modules.Table, id int64, set modules.Row) bool {
	at := ref(t, id)
	old, ok := db.see(tx, at)
	if !ok || db.heldByOther(tx, at) {
		return false
	}
	vals, original, change := old.Clone(), modules.Row{}, modules.Row{}
	key := ""
	for n, v := range set {
		c := t.Column(n)
		if c.WriteOnly && v.String() == mask {
			continue // it stays as it is
		}
		if old[n] == v && (!c.WriteOnly || v.IsNull()) { // nobody can tell whether a secret is another one
			continue
		}
		if c.Computed || modes.New(db.rules).Of(t.Name, id, n) == modes.Track {
			return false
		}
		vals[n], original[n], change[n] = v, old[n], v
		if c.Identity || c.Name == modules.ColumnRegion && t.Reach == modules.PerRegion {
			key, _ = t.Key(old)
		}
	}
	_, moves := change[modules.ColumnRegion]
	if len(change) == 0 || !db.allowed(tx, t, id, vals, moves) || db.keeps(tx, t, id, change) {
		return false
	}
	if _, account := change[modules.ColumnAccount]; account {
		return false
	}
	if moves && db.sharedByOther(tx, at) {
		return false
	}
	if !db.mayWrite(tx, t, id, vals) {
		return false
	}
	db.userWrite(tx, at, vals)
	if moves {
		db.doubt(tx, t, id, vals)
	}
	db.stage(tx, t, id, old, vals)
	db.audit(tx, &auditRow{Entry: auditlog.Entry{RecordID: id, Type: "UPDATE", Original: masked(t, original)}, table: t,
		change: change, key: key, scope: t.Scope(old)})
	return true
}

// doubt notes the references that a move to another region has left behind.
func (db *database) doubt(tx *tx, t *modules.Table, id int64, vals modules.Row) {
	for i := range t.Columns {
		if c := &t.Columns[i]; c.References != nil && !vals[c.Name].IsNull() {
			tx.doubts = append(tx.doubts, columnRef{ref(t, id), c.Name})
		}
	}
	for _, child := range tables {
		for i := range child.Columns {
			c := &child.Columns[i]
			if c.References == nil || c.References.Table != t.Name {
				continue
			}
			for _, other := range db.visible(tx, child, false) {
				if r, _ := db.see(tx, ref(child, other)); !r[c.Name].IsNull() && r[c.Name].Int() == id {
					tx.doubts = append(tx.doubts, columnRef{ref(child, other), c.Name})
				}
			}
		}
	}
}

// astray reports whether a reference that a move has left behind leads to another
// region in the end.
func (db *database) astray(tx *tx) bool {
	for _, d := range tx.doubts {
		r, ok := db.see(tx, d.RecordRef)
		if !ok || r[d.column].IsNull() {
			continue
		}
		parent, there := db.see(tx, decide.RecordRef{Table: registry.Table(d.Table).Column(d.column).References.Table,
			ID: r[d.column].Int()})
		if there && parent[modules.ColumnRegion] != r[modules.ColumnRegion] {
			return true
		}
	}
	return false
}

// remove is DELETE of one record.
func (db *database) remove(tx *tx, t *modules.Table, id int64) bool {
	at := ref(t, id)
	old, ok := db.see(tx, at)
	if !ok || db.heldByOther(tx, at) || modes.New(db.rules).Of(t.Name, id, "") == modes.Track {
		return false
	}
	if db.sharedByOther(tx, at) || db.named(tx, at) || db.protection.Of(at) && db.hasObject(tx, at) ||
		!db.mayWrite(tx, t, id, nil) {
		return false
	}
	key, _ := t.Key(old)
	db.userWrite(tx, at, nil)
	db.stage(tx, t, id, old, nil)
	db.audit(tx, &auditRow{Entry: auditlog.Entry{RecordID: id, Type: "DELETE", Original: masked(t, old)}, table: t,
		key: key, scope: t.Scope(old)})
	return true
}

// sharedByOther reports whether another transaction holds the record for what it
// has made reference it: whoever changes its key or deletes it waits.
func (db *database) sharedByOther(tx *tx, at decide.RecordRef) bool {
	for _, other := range db.txs {
		if other != tx && other.shared[at] {
			return true
		}
	}
	return false
}

// named reports whether another record references the record.
func (db *database) named(tx *tx, at decide.RecordRef) bool {
	for _, child := range tables {
		for i := range child.Columns {
			c := &child.Columns[i]
			if c.References == nil || c.References.Table != at.Table {
				continue
			}
			for _, other := range db.visible(tx, child, false) {
				r, _ := db.see(tx, ref(child, other))
				if ref(child, other) != at && !r[c.Name].IsNull() && r[c.Name].Int() == at.ID {
					return true
				}
			}
		}
	}
	return false
}

// allowed checks constraints of a version a user writes; a record that moves to
// another region may leave what it refers to behind until the transaction ends.
func (db *database) allowed(tx *tx, t *modules.Table, id int64, vals modules.Row, moves bool) bool {
	if key, ok := t.Key(vals); ok {
		for _, other := range db.visible(tx, t, false) {
			r, _ := db.see(tx, ref(t, other))
			if k, ok := t.Key(r); ok && other != id && k == key && t.Scope(r) == t.Scope(vals) {
				return false
			}
		}
		// What others have not committed makes a unique index wait: an identity
		// they take, and one they give up.
		for _, other := range db.txs {
			if other == tx {
				continue
			}
			if other.taken[uniqueKey{t.Name, t.Scope(vals), key}] {
				return false
			}
			for at := range other.over {
				if at.Table != t.Name {
					continue
				}
				if r := db.rows[at.Table][at.ID]; r != nil {
					if k, ok := t.Key(r.vals); ok && k == key && t.Scope(r.vals) == t.Scope(vals) {
						return false
					}
				}
			}
		}
	}
	for i := range t.Columns {
		c := &t.Columns[i]
		v := vals[c.Name]
		if was, there := db.see(tx, ref(t, id)); c.Required && v.IsNull() && !(there && was[c.Name].IsNull()) {
			return false
		}
		if c.References == nil || v.IsNull() {
			continue
		}
		parent := decide.RecordRef{Table: c.References.Table, ID: v.Int()}
		r, ok := db.see(tx, parent)
		if parent == ref(t, id) {
			r, ok = vals, true
		}
		if !ok || r[modules.ColumnRegion] != vals[modules.ColumnRegion] && !moves ||
			r[modules.ColumnAccount] != vals[modules.ColumnAccount] {
			return false
		}
		for _, other := range db.txs {
			if other != tx && other.leaves(db, parent) {
				return false // waits for the DELETE
			}
		}
	}
	return !(db.w.constrained && t == net && vals["note"].String() == refusedNote)
}

// userWrite writes a version of a record, nil to delete it. What it comes to
// reference is locked, and all it references if the transaction has written it
// before (RI_FKey_fk_upd_check_required in PostgreSQL's ri_triggers.c).
func (db *database) userWrite(tx *tx, at decide.RecordRef, vals modules.Row) {
	before, _ := db.see(tx, at)
	_, again := tx.over[at]
	tx.over[at] = vals
	t := registry.Table(at.Table)
	if key, ok := t.Key(vals); ok && vals != nil {
		tx.taken[uniqueKey{t.Name, t.Scope(vals), key}] = true
	}
	for i := range t.Columns {
		if c := &t.Columns[i]; c.References != nil && !vals[c.Name].IsNull() &&
			(again || before[c.Name] != vals[c.Name]) {
			tx.shared[decide.RecordRef{Table: c.References.Table, ID: vals[c.Name].Int()}] = true
		}
	}
}

func (db *database) audit(tx *tx, a *auditRow) {
	db.nextAudit++
	a.ID, a.at, a.batch = db.nextAudit, db.w.now, tx.batch
	a.At = a.at.Microseconds()
	tx.audit = append(tx.audit, a)
}

// commit makes what a transaction wrote visible, with audit ids that may be
// older than rows settled long ago. It reports whether the transaction was not
// rolled back for what it has left behind in another region.
func (db *database) commit(slot int) bool {
	tx := db.txs[slot]
	if tx == nil {
		return true
	}
	delete(db.txs, slot)
	if db.astray(tx) {
		return false
	}
	db.commitTx(tx)
	return true
}

func (db *database) commitTx(tx *tx) {
	db.commitStagings(tx)
	db.mention(tx)
	refs := make([]decide.RecordRef, 0, len(tx.over))
	for at := range tx.over {
		refs = append(refs, at)
	}
	sortRefs(refs)
	for _, at := range refs {
		if vals := tx.over[at]; vals == nil {
			delete(db.rows[at.Table], at.ID)
		} else {
			db.put(registry.Table(at.Table), at.ID, vals, true)
		}
	}
	for _, a := range tx.audit {
		at := ref(a.table, a.RecordID)
		a.committed = db.w.now
		db.w.check.locked(at, a)
		for _, m := range []map[decide.RecordRef][]*auditRow{db.log, db.pending} {
			m[at] = append(m[at], a)
			slices.SortFunc(m[at], func(x, y *auditRow) int { return cmp.Compare(x.ID, y.ID) })
		}
		if a.Type == "DELETE" {
			db.logDeletion(at, a.ID, a.key)
		}
		if b := db.batches[a.batch]; b != nil && b.phase == "open" {
			b.waiting = append(b.waiting, a)
		} else {
			db.w.check.committed(at, a)
		}
	}
}

func (db *database) rollback(slot int) { delete(db.txs, slot) }

// resolveConflict is a person's word on an open conflict.
func (db *database) resolveConflict(c *conflictRow, how string) {
	c.resolved = how
	if st := db.states[c.record]; st != nil {
		st.next = db.w.now
	}
}

// retry is iasql_retry: the record, and what it has replaced, is tried again at
// once. It reports whether there was anything to try again.
func (db *database) retry(at decide.RecordRef) (found bool) {
	if st := db.states[at]; st != nil {
		st.next, st.Attempts, st.Unconfirmed = db.w.now, 0, 0
		found = true
	}
	for _, g := range db.deposed {
		if g.table.Name == at.Table && g.record == at.ID {
			g.next, g.Attempts = db.w.now, 0
			found = true
		}
	}
	return found
}

// mask is what a row and the audit log show of a secret (R16).
const mask = "********"

func masked(t *modules.Table, vals modules.Row) modules.Row {
	out := vals.Clone()
	for name, v := range out {
		if t.Column(name).WriteOnly && !v.IsNull() {
			out[name] = modules.Text(mask)
		}
	}
	return out
}

// settingChanged is what follows from a change of iasql_settings: what was stopped
// for review is looked at again.
func (db *database) settingChanged() {
	for _, st := range db.states {
		if st.Code == "delete_guard" {
			st.next = db.w.now
		}
	}
	db.release()
}
