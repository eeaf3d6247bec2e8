package simulate

import (
	"errors"
	"fmt"
	"strconv"

	"iasql/internal/decide"
	"iasql/internal/modules"
	"iasql/internal/store"
)

// pulling is a statement that writes the records of pulls of one table and action.
type pulling struct {
	db    *database
	t     *modules.Table
	own   []int64  // audit rows of what is pulled
	undos []undo   // what was written, in that order
	did   []func() // what the checker and the audit log are told once it stands
}

// undo is a record as it was, nil for none.
type undo struct {
	id  int64
	old *row
}

func (db *database) newPulling(pulls []store.Pull) *pulling {
	w := &pulling{db: db, t: pulls[0].Subject.Table}
	for _, p := range pulls {
		if p.Subject.Change != nil {
			w.own = append(w.own, p.Subject.Change.AuditIDs...)
		}
	}
	return w
}

// pullGroup writes pulls of one table and action: all, or, if one of them cannot be
// written, each half by itself.
func (db *database) pullGroup(lease store.Lease, pulls []store.Pull, results []store.PullResult) error {
	if lease.Fence != db.fence {
		return store.ErrLeaseLost
	}
	if err := db.outdated(lease); err != nil {
		return err
	}
	w := db.newPulling(pulls)
	failure := w.write(lease, pulls, results)
	switch {
	case failure == nil:
		w.conclude(pulls, results)
		return nil
	case len(pulls) == 1:
		if results[0] = (store.PullResult{}); !errors.Is(failure, errWaits) {
			results[0].Err = failure
		}
		return nil
	}
	half := len(pulls) / 2
	if err := db.pullGroup(lease, pulls[:half], results[:half]); err != nil {
		return err
	}
	return db.pullGroup(lease, pulls[half:], results[half:])
}

// write writes the records. If it fails, nothing is written.
func (w *pulling) write(lease store.Lease, pulls []store.Pull, results []store.PullResult) error {
	var failure error
	for i, p := range pulls {
		var applied bool
		switch p.Action {
		case decide.InsertRecord:
			applied, failure = w.insert(p)
		case decide.UpdateRecord:
			applied, failure = w.update(p)
		case decide.DeleteRecord:
			applied, failure = w.delete(p, lease.Batch)
		}
		if results[i] = (store.PullResult{Applied: applied}); failure != nil {
			break
		}
	}
	for _, u := range w.undos {
		r := w.db.rows[w.t.Name][u.id]
		if failure == nil {
			failure = w.db.violated(w.t, u.id, r)
		}
		if failure == nil && r != nil && w.db.refersToStaged(w.t, r.vals, lease.Batch) {
			failure = fmt.Errorf("%s %d refers to what is only staged in a batch", w.t.Name, u.id)
		}
	}
	if failure != nil {
		w.undo()
		for _, p := range pulls {
			if p.Action == decide.DeleteRecord {
				w.db.w.check.undeletable(p.Subject)
			}
		}
	}
	return failure
}

func (w *pulling) undo() {
	for i := len(w.undos) - 1; i >= 0; i-- {
		if u := w.undos[i]; u.old == nil {
			delete(w.db.rows[w.t.Name], u.id)
		} else {
			w.db.rows[w.t.Name][u.id] = u.old
		}
	}
}

// put gives a record new values.
func (w *pulling) put(id int64, old *row, vals modules.Row) {
	w.undos = append(w.undos, undo{id, old})
	w.db.version++
	w.db.rows[w.t.Name][id] = &row{id: id, version: w.db.version, vals: vals}
}

func (w *pulling) insert(p store.Pull) (applied bool, err error) {
	db, t, id := w.db, w.t, p.Subject.RecordID
	old := db.rows[t.Name][id]
	key, named := t.Key(p.Row)
	if id == 0 {
		db.nextID[t.Name]++
		id = db.nextID[t.Name]
	}
	vals := db.fill(t, p.Row)
	if named && db.pendingKey(t, t.Scope(vals), key, w.own) {
		return false, nil
	}
	if err := db.unfit(t, vals); err != nil { // looked at before the unique indexes
		return false, err
	}
	if r := db.byKey(t, t.Scope(vals), key); named && r != nil {
		if db.writing(ref(t, r.id)) { // the unique index waits for what becomes of it
			return false, errWaits
		}
		return false, nil
	}
	switch {
	case db.reserved(t, vals) || db.writing(ref(t, id)):
		return false, errWaits
	case old != nil:
		return false, fmt.Errorf("duplicate key %s %d", t.Name, id)
	case db.leaving(t, nil, vals):
		return false, errWaits
	}
	w.did = append(w.did, func() {
		db.found[ref(t, id)] = db.w.now
		db.w.check.inserted(p, id, vals)
	})
	w.put(id, nil, vals)
	return true, nil
}

// current returns the record that a pull was decided on, nil if it is not so any more.
func (w *pulling) current(p store.Pull) *row {
	old := w.db.rows[w.t.Name][p.Subject.RecordID]
	if old == nil || strconv.FormatInt(old.version, 10) != p.Subject.Record.Version || w.db.locked(p.Subject.Ref()) {
		return nil
	}
	return old
}

func (w *pulling) update(p store.Pull) (applied bool, err error) {
	db, t, id := w.db, w.t, p.Subject.RecordID
	old := w.current(p)
	if old == nil || len(p.Row) == 0 {
		return false, nil
	}
	vals := old.vals.Clone()
	for k, v := range p.Row {
		vals[k] = v
	}
	if db.leaving(t, old.vals, vals) {
		return false, errWaits
	}
	if key, ok := t.Key(vals); ok {
		if was, _ := t.Key(old.vals); was != key && db.reserved(t, vals) {
			return false, errWaits
		}
		switch other := db.byKey(t, t.Scope(vals), key); {
		case other == nil || other.id == id:
		case db.writing(ref(t, other.id)): // whoever has written it may give the identity up
			return false, errWaits
		default:
			return false, fmt.Errorf("duplicate identity %s %s", t.Name, key)
		}
	}
	w.did = append(w.did, func() { db.w.check.pulled(p); db.w.check.updated(p, old, vals) })
	w.put(id, old, vals)
	return true, nil
}

func (w *pulling) delete(p store.Pull, batch int64) (applied bool, err error) {
	db, at := w.db, p.Subject.Ref()
	old := w.current(p)
	if old == nil {
		return false, nil
	}
	if db.stagedElsewhere(at, batch) || db.neededElsewhere(at, 0) {
		return false, fmt.Errorf("%v is staged in a batch, or needed by one", at)
	}
	w.did = append(w.did, func() {
		db.nextAudit++
		key, _ := w.t.Key(old.vals)
		db.logDeletion(at, db.nextAudit, key)
		db.w.check.pulled(p)
		db.w.check.deleted(p, old)
	})
	w.undos = append(w.undos, undo{at.ID, old})
	delete(db.rows[w.t.Name], at.ID)
	return true, nil
}

// conclude does what comes with records that were written.
func (w *pulling) conclude(pulls []store.Pull, results []store.PullResult) {
	for _, f := range w.did {
		f()
	}
	var settlements []store.Settlement
	for i, p := range pulls {
		if !results[i].Applied {
			continue
		}
		s := p.Subject
		w.db.wrote(fmt.Sprintf("%s %s %d: %v", p.Action, w.t.Name, s.RecordID, p.Row))
		if p.Settle && (s.Change != nil || s.State != nil) || len(p.Conflicts) > 0 {
			settlements = append(settlements,
				store.Settlement{Subject: s, Settle: p.Settle, Conflicts: p.Conflicts, Forget: p.Settle})
		}
	}
	for _, u := range w.undos {
		if r := w.db.rows[w.t.Name][u.id]; r != nil {
			w.db.w.check.recordWritten(w.t, u.id, r.vals)
		}
	}
	w.db.settle(settlements)
}
