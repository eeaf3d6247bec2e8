package simulate

import (
	"slices"
	"time"

	"iasql/internal/decide"
	"iasql/internal/modes"
	"iasql/internal/modules"
	"iasql/internal/store"
)

// What the checker says of calls.

// calling: a mutating call is about to take effect.
func (c *checker) calling(r *run, call *decide.Intent) {
	if r.spec.Do == Preview {
		c.w.violate("R9", "a preview made a call: %s %v", call.Kind, call.Record)
	}
	if call.Kind != decide.OpUpdate && r.rules.Of(call.Record.Table, call.Record.ID, "") == modes.Track &&
		modes.New(c.w.db.rules).Of(call.Record.Table, call.Record.ID, "") == modes.Track {
		c.w.violate("R9", "a call for the tracked %v: %s", call.Record, call.Kind)
	}
}

// creating: an object is about to be created. It returns whether the call destroys
// one if the cloud accepts it: what it replaces is deposed from then on.
func (c *checker) creating(r *run, call *decide.Intent, want modules.Row) (destroys bool) {
	at := call.Record
	t := registry.Table(at.Table)
	if t.Creation == modules.ByToken && slices.ContainsFunc(c.w.cloud.objects, func(o *object) bool {
		return o.table == t && o.token == call.Token
	}) {
		return false // changes nothing, even if the object is gone since
	}
	for _, o := range c.w.cloud.objects {
		if t.Creation == modules.ByTag && o.table == t && o.token == call.Token && o.now() != nil && !going(o.now()) &&
			r.spec.Lie == "" && !c.othersOwn(o, at) {
			c.w.violate("R30", "%v: created again although %s bears the token that it is created with", at, o.key)
		}
	}
	live := 0
	for o := range c.owned[at] {
		if o.now() != nil && !going(o.now()) && o.by == at && !c.isDeposed(o) && !c.claimed(o, at) {
			live++
		}
	}
	limit := 0
	if call.Replaces {
		for _, s := range c.w.db.load(t, []int64{at.ID}) {
			identity, _ := s.Identity()
			if key, ok := t.Key(identity); ok {
				if o := c.w.cloud.live(t, t.Scope(identity), key); o != nil {
					c.replaced[o] = c.w.now
				}
			}
		}
		limit = 1
	}
	if o := c.named(at, r.started); o != nil && !call.Replaces {
		c.w.violate("R6", "%v: created again while %s exists, which it names", at, o.key)
	}
	if live > limit && t.Creation != modules.ByName {
		c.w.violate("R6", "%v: created again while %d objects of it exist", at, live)
	}
	for _, op := range c.w.db.ops {
		if op.Token == call.Token && op.Record == at && op.started < r.started {
			return call.Replaces // a repetition, to find out
		}
	}
	// of an object that has vanished, R28
	asked := c.asked(at, r.started, "", "INSERT", "UPDATE") || c.resolved(at, "database")
	if !asked && !c.enforced(r, at, "") && !call.Replaces && !c.replacing(at) {
		c.w.violate("R2", "%v: nobody asked for the object that was created", at)
	}
	return call.Replaces
}

// named returns the object that the record names by an assigned identity, if it is there
// and users have not touched the record since the cycle began; nil for none. An engine
// that knows such an identity has read the object, or made it (R13).
func (c *checker) named(at decide.RecordRef, since time.Duration) *object {
	t := registry.Table(at.Table)
	if !t.ComputedIdentity() || slices.ContainsFunc(c.w.db.log[at], func(a *auditRow) bool {
		return a.committed >= since
	}) {
		return nil
	}
	for _, s := range c.w.db.load(t, []int64{at.ID}) {
		identity, ok := s.Identity()
		if key, _ := t.Key(identity); ok {
			if o := c.w.cloud.live(t, t.Scope(identity), key); o != nil && !going(o.now()) && !c.claimed(o, at) &&
				!c.isDeposed(o) {
				return o
			}
		}
	}
	return nil
}

func (c *checker) replacing(at decide.RecordRef) bool {
	st := c.w.db.states[at]
	return st != nil && st.Replacing
}

// updating: an object is about to be changed.
func (c *checker) updating(r *run, call *decide.Intent, o *object, have, set modules.Row) {
	at := call.Record
	c.own(at, o)
	for n, v := range set {
		col := o.table.Column(n)
		if !col.WriteOnly && col.Same(have[n], v) {
			c.w.violate("R1", "%v: %s was pushed and is equal: %q", at, n, v)
		}
		if r.rules.Of(at.Table, at.ID, n) == modes.Track &&
			modes.New(c.w.db.rules).Of(at.Table, at.ID, n) == modes.Track {
			c.w.violate("R9", "%v: the tracked column %s was pushed", at, n)
		}
		if c.paused(r, at, n) {
			c.w.violate("R25", "%v: the paused column %s was pushed", at, n)
		}
		if col.Computed || col.CreateOnly {
			c.w.violate("contract", "%v: %s cannot be updated", at, n)
		}
		// (A secret still in its row has not gone out; TRACK may have held it. And
		// what was made anew has to become as its record is, by a call that is late
		// as well.)
		if col.References == nil && !col.WriteOnly && !r.made && !c.made(at, o) && !c.enforced(r, at, n) &&
			!c.asked(at, r.started, n, "INSERT", "UPDATE") {
			c.w.violate("R4", "%v: nobody asked for %s = %q", at, n, v)
		}
	}
}

// made reports whether the object was made for the record, and the two have not
// been seen to agree. What bears the name of an object that was made for a record
// is taken for it, since nothing tells whether somebody else has made it, or made
// it once more. (What an INSERT meets is adopted instead.)
func (c *checker) made(at decide.RecordRef, o *object) bool {
	st := c.w.db.states[at]
	if st == nil || st.Identity == nil {
		return false
	}
	inserted := slices.ContainsFunc(c.w.db.pending[at], func(a *auditRow) bool { return a.Type == "INSERT" })
	return o.by == at || !inserted && st.key == o.key && o.table.Scope(st.Identity) == o.scope
}

// removed: an object was deleted.
func (c *checker) removed(r *run, call *decide.Intent, o *object) {
	at := call.Record
	if c.isDeposed(o) { // counted when its successor was made
		return
	}
	r.deletes++
	if o.table.HoldsData && c.enforced(r, at, "") && !c.asked(at, r.started, "", "INSERT", "UPDATE", "DELETE") &&
		!c.resolved(at, "database") {
		c.w.violate("R18", "%v: ENFORCE deleted %s, which holds data", at, o.key)
	}
	if call.Replaces {
		return
	}
	for owner := range c.owned {
		if c.owned[owner][o] && c.asked(owner, r.started, "", "DELETE") {
			return
		}
	}
	if c.enforced(r, decide.RecordRef{Table: o.table.Name}, "") {
		first, listed := c.w.listedOnce[objectKey{o.table, o.scope, ""}]
		if !c.w.importedOnce[o.table.Name] || !listed || first == r.listing {
			c.w.violate("R7", "ENFORCE deleted %s before a full import", o.key)
		}
		return
	}
	c.w.violate("R8", "%v: nobody asked to delete %s", at, o.key)
}

// listings: the engine remembers how listings ended.
func (c *checker) listings(r *run, ended []store.Listing) {
	for _, l := range ended {
		at := objectKey{registry.Table(l.Table), l.Scope, ""}
		switch _, known := c.w.listedOnce[at]; {
		case l.Failed != "":
		case l.Denied != "":
			c.w.deniedOnce[at] = true
		case !r.listed[at]:
			c.w.violate("R7", "the listing of %s in %s counts as complete and was not", l.Table, l.Scope)
		case !known:
			c.w.listedOnce[at] = r.listing
		}
	}
}

// imported: the engine takes a table's import for complete.
func (c *checker) imported(r *run, t *modules.Table) {
	c.w.importedOnce[t.Name] = true
	scopes := []modules.Scope{{Account: account}}
	if t.Reach == modules.PerRegion {
		scopes = nil
		for _, region := range regions {
			scopes = append(scopes, modules.Scope{Account: account, Region: region})
		}
	}
	for _, s := range scopes {
		if at := (objectKey{t, s, ""}); c.w.listedOnce[at] == 0 && !c.w.deniedOnce[at] {
			c.w.violate("R7", "%s counts as imported without a complete or denied listing of %s", t.Name, s)
		}
	}
}

// othersOwn reports whether another record names the object: somebody has adopted it.
func (c *checker) othersOwn(o *object, at decide.RecordRef) bool {
	for id, r := range c.w.db.rows[o.table.Name] {
		if key, ok := o.table.Key(r.vals); ok && id != at.ID && key == o.key {
			return true
		}
	}
	return false
}
