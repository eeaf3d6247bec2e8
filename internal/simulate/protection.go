package simulate

import (
	"fmt"
	"maps"
	"slices"

	"iasql/internal/decide"
	"iasql/internal/modes"
	"iasql/internal/modules"
)

// What people protect, pause and ask about, and what the checker says of it.

// hasObject is iasql_internal.with_object: it reports whether a record stands for an
// object, as far as the database knows.
func (db *database) hasObject(tx *tx, at decide.RecordRef) bool {
	st := db.states[at]
	if st != nil && st.Replacing {
		return false
	}
	if st != nil && st.Identity != nil {
		return true
	}
	inserted := func(a *auditRow) bool { return a.Type == "INSERT" && ref(a.table, a.RecordID) == at }
	return !slices.ContainsFunc(db.pending[at], inserted) && !slices.ContainsFunc(tx.audit, inserted)
}

// keeps is iasql_internal.refuse_replacement: it reports whether an update is refused
// since it would replace what is protected, or what holds data.
func (db *database) keeps(tx *tx, t *modules.Table, id int64, change modules.Row) bool {
	at := ref(t, id)
	if !db.protection.Of(at) && (!t.HoldsData || tx.allowReplace) || !db.hasObject(tx, at) {
		return false
	}
	for name, v := range change {
		c := t.Column(name)
		if !c.CreateOnly || name == modules.ColumnAccount || c.OptionalComputed && v.IsNull() {
			continue
		}
		if base, pending := db.baseOf(tx, at, name); !pending || base != v {
			return true
		}
	}
	return false
}

// baseOf returns what a column had before the oldest pending change of it.
func (db *database) baseOf(tx *tx, at decide.RecordRef, column string) (modules.Value, bool) {
	var oldest *auditRow
	for _, list := range [][]*auditRow{db.pending[at], tx.audit} {
		for _, a := range list {
			if _, has := a.Original[column]; has && a.Type == "UPDATE" && ref(a.table, a.RecordID) == at &&
				(oldest == nil || a.ID < oldest.ID) {
				oldest = a
			}
		}
	}
	if oldest == nil {
		return modules.Null, false
	}
	return oldest.Original[column], true
}

// protect is iasql_protect and iasql_unprotect; id 0 is the whole table. It returns
// whether the rule has changed.
func (db *database) protect(at decide.RecordRef, protected bool) bool {
	was, ruled := db.protection[at]
	next := maps.Clone(db.protection)
	switch {
	case protected, at.ID != 0 && db.protection[decide.RecordRef{Table: at.Table}]:
		if ruled && was == protected {
			return false
		}
		next[at] = protected
	case !ruled:
		return false
	default:
		delete(next, at)
	}
	db.protection = next
	db.release()
	return true
}

// release is iasql_internal.release_ruled.
func (db *database) release() {
	for _, st := range db.states {
		if st.Code == decide.CodeRule {
			st.next = db.w.now
		}
	}
	for _, g := range db.deposed {
		if g.Code == decide.CodeRule {
			g.next = db.w.now
		}
	}
}

// protectionVersion changes whenever what is protected or asked about does.
func (db *database) protectionVersion() string {
	rules := make([]string, 0, len(db.protection))
	for at, protected := range db.protection {
		rules = append(rules, fmt.Sprint(at, protected))
	}
	slices.Sort(rules)
	return fmt.Sprint(rules, db.askDrift)
}

// paused reports whether a column was paused when the cycle began, and still is.
func (c *checker) paused(r *run, at decide.RecordRef, column string) bool {
	return r != nil && r.rules.Of(at.Table, at.ID, column).Pauses() &&
		modes.New(c.w.db.rules).Of(at.Table, at.ID, column).Pauses()
}

// kept checks the entry of a call in the intent log, which is when the rules hold: an
// object that is protected is not destroyed, and one that is paused not touched. (What
// is called once more with its token only finds out what the first call has done.)
func (c *checker) kept(call *decide.Intent) {
	if c == nil || slices.ContainsFunc(c.w.db.ops, func(op *opRow) bool {
		return op.Record == call.Record && op.Token == call.Token && call.Token != ""
	}) {
		return
	}
	at := call.Record
	destroys := call.Kind == decide.OpDelete || call.Kind == decide.OpCreate && call.Replaces && !c.replacing(at)
	if destroys && c.w.db.protection.Of(at) {
		c.w.violate("R25", "%v is protected: %s", at, call.Kind)
	}
	if call.Kind != decide.OpUpdate && c.w.pauses(at) {
		c.w.violate("R25", "%v is paused: %s", at, call.Kind)
	}
}

// pulledPaused checks what was pulled into a record. It may be told which object this
// engine has made for it.
func (c *checker) pulledPaused(t *modules.Table, at decide.RecordRef, row modules.Row) {
	r := c.run()
	made := slices.ContainsFunc(c.w.db.ops, func(op *opRow) bool {
		key, named := t.Key(row)
		return named && op.Record == at && op.Kind == decide.OpCreate && op.Key == key
	})
	for name := range row {
		if t.Column(name).Identity && t.Column(name).Computed && made {
			continue
		}
		if col := t.Column(name); c.paused(r, at, name) && (!col.Computed || c.paused(r, at, "")) && !col.WriteOnly {
			c.w.violate("R25", "%v: %s is paused and was pulled", at, name)
		}
	}
}

// protect protects a record or a table, or lifts that.
func (w *world) protect(a *Action) {
	t := tables[a.A%len(tables)]
	at := decide.RecordRef{Table: t.Name}
	ids := w.db.ids(t)
	for _, pending := range w.db.refs() { // also what is deleted and not gone yet
		if pending.Table == t.Name && w.db.rows[t.Name][pending.ID] == nil {
			ids = append(ids, pending.ID)
		}
	}
	if len(ids) > 0 && a.C%4 > 0 {
		at.ID = ids[a.D%len(ids)]
	}
	w.trace("   protected %v: %v", at, w.db.protect(at, a.B%3 > 0))
}

// pauses reports whether a record is paused.
func (w *world) pauses(at decide.RecordRef) bool {
	return modes.New(w.db.rules).Of(at.Table, at.ID, "").Pauses()
}
