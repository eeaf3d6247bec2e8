package simulate

import (
	"time"

	"iasql/internal/decide"
	"iasql/internal/modules"
)

// What the checker says when users' changes are marked as dealt with.

// settled: the engine marked audit rows as dealt with; left are the record's
// others.
func (c *checker) settled(t *modules.Table, at decide.RecordRef, now, left []*auditRow) {
	if c == nil {
		return
	}
	r := c.w.db.rows[t.Name][at.ID]
	if r == nil {
		if last := now[len(now)-1]; last.Type == "DELETE" && len(left) == 0 && !c.track(c.run(), at, "") {
			for o := range c.owned[at] {
				if o.now() != nil && !o.held(c.lastUnseen(at, o), func(r modules.Row) bool {
					return r == nil
				}) && !c.claimed(o, at) && !c.isDeposed(o) && c.unwantedBy[o] == at {
					c.w.violate("R2", "%s %d: a deletion was settled and its object %s exists", t.Name, at.ID, o.key)
				}
			}
		}
		return
	}
	for _, a := range now {
		for n := range a.change {
			col := t.Column(n)
			w, ok := c.wishes[columnRef{at, n}]
			if c.track(c.run(), at, n) {
				delete(c.wishes, columnRef{at, n}) // decided against
			}
			if !ok || w.value != r.vals[n] && !col.WriteOnly || col.Computed || col.Local ||
				n == modules.ColumnAccount || c.track(c.run(), at, n) {
				continue
			}
			if col.WriteOnly && w.value.IsNull() || c.overtaken(left, n) || c.conflicted(at, n, w.value) &&
				c.resolved(at, "cloud") {
				continue
			}
			if !c.arrived(at, col, w.value, min(c.recent(), w.at-lag), w.only) {
				c.w.violate("R2", "%s %d: a user's %s = %q was settled and never reached the cloud", t.Name, at.ID,
					n, w.value)
			}
		}
	}
}

// lastUnseen is the instant from which on a read that did not find the object counts as
// proof that a deletion of the record is done. Reads may be late, and one of them is
// proof (R5); but none from before the engine found the object itself (R13), unless it
// has had it deleted since. What it knows to be going is not gone before it is (R17),
// though there was a time, within the window, when it was not there.
func (c *checker) lastUnseen(at decide.RecordRef, o *object) time.Duration {
	since := c.recent()
	st := c.w.db.states[at]
	if st != nil && st.Says("the object is being deleted") && (st.key == "" || st.key == o.key) && o.by == at &&
		going(o.now()) {
		return c.w.now
	}
	if found, ok := c.w.db.foundAt(at); ok && found > c.w.now-window && found < c.w.now && !going(o.now()) {
		since = max(since, found)
	}
	return since
}

func (c *checker) overtaken(left []*auditRow, column string) bool {
	for _, a := range left {
		if _, ok := a.change[column]; ok || a.Type == "DELETE" {
			return true
		}
	}
	return false
}

// goingBefore reports whether the object was going before the oldest of the record's
// changes that are not settled, which inserts it: the deletion that asked for that has
// been settled since, and a later one is about what has come of the INSERT. An object
// whose name it asks for while that is going is none of it.
func (c *checker) goingBefore(at decide.RecordRef, o *object) bool {
	pending := c.w.db.pending[at]
	if len(pending) == 0 || pending[0].Type != "INSERT" || !going(o.now()) {
		return false
	}
	since := o.w.now
	for i := len(o.hist) - 1; i >= 0; i-- {
		if v := o.hist[i]; v.at <= o.w.now {
			if !going(v.row) {
				break
			}
			since = v.at
		}
	}
	return since <= pending[0].at
}
