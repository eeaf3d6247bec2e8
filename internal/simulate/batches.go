package simulate

import (
	"fmt"
	"maps"

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

// closeBatch lets go of what a batch has staged. What it has declared is in force if it was committed.
func (db *database) closeBatch(b *batchRow, committed bool) {
	delete(db.batches, b.id)
	db.closeDeclarations(b.id, committed)
	for at, st := range db.states {
		if st.Name == decide.StateWaiting && db.hasStaged(b.id) {
			db.states[at].next = db.w.now
		}
	}
	maps.DeleteFunc(db.staged, func(_ decide.RecordRef, s stagedRow) bool { return s.batch == b.id })
	maps.DeleteFunc(db.stagedKeys, func(_ uniqueKey, of map[int64]int64) bool { delete(of, b.id); return len(of) == 0 })
	maps.DeleteFunc(db.needed, func(_ decide.RecordRef, by map[int64]bool) bool {
		delete(by, b.id)
		return len(by) == 0
	})
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

// keyAwaited reports whether the identity may come back to a record beside this one when a
// batch ends: another batch has that record staged, or the record's own, which nobody has
// begun to commit.
func (db *database) keyAwaited(key uniqueKey, at decide.RecordRef) bool {
	for batch, id := range db.stagedKeys[key] {
		b := db.batches[batch]
		if id != at.ID && (batch != db.staged[at].batch || b != nil && b.phase == "open") {
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
		if db.keyElsewhere(uniqueKey{t.Name, t.Scope(vals), key}, tx.batch) || tx.batch != 0 &&
			db.awaited(t, id, key, vals, tx.batch) {
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
		if s := db.staged[decide.RecordRef{Table: c.References.Table, ID: vals[c.Name].Int()}]; s.inserted &&
			s.batch != mine {
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
		if g.table == t && g.key == key && g.scope == t.Scope(vals) && g.record != id &&
			db.staged[ref(t, g.record)].batch != batch {
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
				db.stagedKeys[key] = map[int64]int64{}
			}
			if _, known := db.stagedKeys[key][tx.batch]; !known {
				db.stagedKeys[key][tx.batch] = s.at.ID
			}
		}
		for _, at := range s.needs {
			if db.needed[at] == nil {
				db.needed[at] = map[int64]bool{}
			}
			db.needed[at][tx.batch] = true
		}
	}
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
