package simulate

import (
	"time"

	"iasql/internal/decide"
	"iasql/internal/modes"
	"iasql/internal/modules"
	"iasql/internal/store"
)

// wish is the last value a user gave a column.
type wish struct {
	value    modules.Value
	at       time.Duration // when it was written, not committed
	byInsert bool
	// only is the object that has to get it: the successor of one that had it.
	only *object
	// inherited: no user has said so, but its predecessor had it.
	inherited bool
}

type columnRef struct {
	decide.RecordRef
	column string
}

// checker knows what the engine cannot: the true state of both sides at every
// instant, and what every user wanted. A nil one checks nothing: a [Store] has no
// cloud to compare with.
type checker struct {
	w *world
	// wishes are the users' last words on columns, gone with their records.
	wishes map[columnRef]wish
	// owned are all objects that ever stood for a record.
	owned map[decide.RecordRef]map[*object]bool
	// given are the keys a row has held, for references.
	keys map[decide.RecordRef]map[string]bool
	// unwanted are objects whose record a user deleted, since when.
	unwanted   map[*object]time.Duration
	unwantedBy map[*object]decide.RecordRef
	// forgotten are replaced objects that were going when a read from before they were there
	// proved them absent (R5): a deletion of their record is not about them any more.
	forgotten map[*object]bool
	// replaced are objects that got a successor, since when.
	replaced map[*object]time.Duration
	// prunes are the deletions by the ends of declarations.
	prunes map[decide.RecordRef][]pruned
	// takenBack are the batches that were rolled back or undone.
	takenBack map[int64]bool
	// once are the objects that users' changes have made, by what asked for them.
	once  map[asked]*object
	tries map[asked]int
}

func newChecker(w *world) *checker {
	return &checker{w: w, wishes: map[columnRef]wish{}, owned: map[decide.RecordRef]map[*object]bool{},
		keys: map[decide.RecordRef]map[string]bool{}, unwanted: map[*object]time.Duration{},
		unwantedBy: map[*object]decide.RecordRef{}, forgotten: map[*object]bool{},
		replaced: map[*object]time.Duration{}, once: map[asked]*object{}, tries: map[asked]int{},
		prunes: map[decide.RecordRef][]pruned{}, takenBack: map[int64]bool{}}
}

func (c *checker) wanted(o *object) {
	delete(c.unwanted, o)
	delete(c.unwantedBy, o)
	delete(c.forgotten, o)
}

func (c *checker) own(at decide.RecordRef, o *object) {
	if o == nil {
		return
	}
	if c.owned[at] == nil {
		c.owned[at], c.keys[at] = map[*object]bool{}, map[string]bool{}
	}
	c.owned[at][o], c.keys[at][o.key] = true, true
}

// track reports whether the mode of a column is, or was when the cycle began,
// TRACK: rules may change under a running cycle.
func (c *checker) track(r *run, at decide.RecordRef, column string) bool {
	return modes.New(c.w.db.rules).Of(at.Table, at.ID, column) == modes.Track || r != nil &&
		r.rules.Of(at.Table, at.ID, column) == modes.Track
}

func (c *checker) run() *run {
	if c == nil {
		return nil
	}
	if len(c.w.runs) == 0 {
		return nil
	}
	return c.w.runs[len(c.w.runs)-1]
}

// recent is the instant from which on the state of the cloud may have been
// what the running cycle went by.
func (c *checker) recent() time.Duration {
	at := c.w.now
	if r := c.run(); r != nil {
		at = r.started
	}
	return at - lag
}

// seen is the instant from which on the running cycle has seen the cloud.
func (c *checker) seen() time.Duration {
	if r := c.run(); r != nil && r.spec.Stale == 0 {
		return r.started
	}
	return c.recent()
}

// recordWritten follows which object a record stands for.
func (c *checker) recordWritten(t *modules.Table, id int64, vals modules.Row) {
	if c == nil {
		return
	}
	if key, ok := t.Key(vals); ok {
		c.own(ref(t, id), c.w.cloud.find(t, t.Scope(vals), key))
	}
}

func (c *checker) remembered(s *decide.Subject, st *stateRow) {
	if c == nil {
		return
	}
	if st.key != "" {
		c.own(s.Ref(), c.w.cloud.find(s.Table, s.Table.Scope(st.Identity), st.key))
	}
}

// born: an object came into being.
func (c *checker) born(o *object) {
	c.wanted(o)
	if o.by.ID != 0 {
		c.inherits(o)
		c.own(o.by, o)
	}
	if !o.table.ComputedIdentity() {
		for _, r := range c.w.db.rows[o.table.Name] {
			if key, ok := o.table.Key(r.vals); ok && key == o.key {
				c.own(ref(o.table, r.id), o)
			}
		}
	}
}

// inherits: what takes the place of another object has to become as the record
// is, in every column.
func (c *checker) inherits(o *object) {
	r := c.w.db.rows[o.table.Name][o.by.ID]
	if r == nil || len(c.owned[o.by]) == 0 {
		return
	}
	for i := range o.table.Columns {
		col := &o.table.Columns[i]
		if v := r.vals[col.Name]; !col.Computed && !col.WriteOnly && !col.CreateOnly && !v.IsNull() {
			said, known := c.wishes[columnRef{o.by, col.Name}]
			c.wishes[columnRef{o.by, col.Name}] = wish{value: v, at: c.w.now, only: o, inherited: !known ||
				said.inherited || said.value != v}
		}
	}
}

// disinherit: a successor stands for another record now, and the one it was made
// for goes back to its predecessor.
func (c *checker) disinherit(o *object) {
	for at, w := range c.wishes {
		switch {
		case w.only != o:
		case w.inherited:
			delete(c.wishes, at)
		default:
			w.only = nil
			c.wishes[at] = w
		}
	}
}

// committed: a user's change became visible.
func (c *checker) committed(at decide.RecordRef, a *auditRow) {
	if c == nil {
		return
	}
	switch a.Type {
	case "DELETE":
		c.wishNothing(a.table, at)
		// Of the objects it ever had, its last one: not what it was only to be
		// renamed to, which may be somebody else's.
		var own *object
		elsewhere := false // it names by its id what is not there: it was moved before anything was done about it
		for _, s := range c.w.db.load(a.table, []int64{at.ID}) {
			// A name that was asked for and given up before anything was done
			// about it is no claim to an object of that name.
			if identity, ok := s.Identity(); ok && (!s.Change.Insert || a.table.ComputedIdentity()) {
				key, _ := a.table.Key(identity)
				own = c.w.cloud.live(a.table, a.table.Scope(identity), key)
				elsewhere = s.Change.Insert && c.w.cloud.find(a.table, a.table.Scope(identity), key) == nil
			}
		}
		for o := range c.owned[at] {
			if o.now() != nil && (o == own || o.by == at && !elsewhere) && !c.claimed(o, at) && !c.goingBefore(at, o) &&
				!(c.forgotten[o] && going(o.now())) {
				c.unwanted[o], c.unwantedBy[o] = c.w.now, at
			}
		}
	default:
		for n, v := range a.change {
			if col := a.table.Column(n); col.Computed || a.Type == "INSERT" && col.IsDefault(v) {
				continue // no word on it
			}
			c.wishes[columnRef{at, n}] = wish{value: v, at: a.at, byInsert: a.Type == "INSERT"}
		}
		if a.Type == "INSERT" {
			if key, ok := a.table.Key(a.change); ok {
				if o := c.w.cloud.find(a.table, a.table.Scope(a.change), key); o != nil {
					c.own(at, o)
					c.wanted(o)
					delete(c.replaced, o)
					if o.by.ID != 0 && a.table.ComputedIdentity() { // whoever it was made for, it is this one's now
						o.by = at
						c.disinherit(o)
					}
				}
			}
			for o := range c.owned[at] { // back under its old id
				c.wanted(o)
			}
		}
	}
}

// wishNothing forgets what users wanted of a record that is gone. Whoever inserts one
// under its id says anew what is wanted, and a column that is left out is no word.
func (c *checker) wishNothing(t *modules.Table, at decide.RecordRef) {
	for i := range t.Columns {
		delete(c.wishes, columnRef{at, t.Columns[i].Name})
	}
}

// claimed reports whether another record stands for the object.
func (c *checker) claimed(o *object, except decide.RecordRef) bool {
	if r := c.w.db.byKey(o.table, o.scope, o.key); r != nil && ref(o.table, r.id) != except {
		return true
	}
	for at, st := range c.w.db.states {
		if at != except && at.Table == o.table.Name && st.key == o.key && c.w.db.rows[at.Table][at.ID] != nil {
			return true
		}
	}
	return false
}

// same reports whether a column's value in the cloud is the one in the
// database.
func (c *checker) same(col *modules.Column, have, cloud modules.Value) bool {
	if col.References == nil || have.IsNull() || cloud.IsNull() {
		return col.Same(have, cloud)
	}
	return c.keys[decide.RecordRef{Table: col.References.Table, ID: have.Int()}][cloud.String()]
}

// arrived reports whether some object of the record, or that one only, has had
// the value since then.
func (c *checker) arrived(at decide.RecordRef, col *modules.Column, have modules.Value, since time.Duration,
	only *object) bool {
	for o := range c.owned[at] {
		if only != nil && o != only && only.now() != nil {
			continue
		}
		if o.held(since, func(r modules.Row) bool { return r != nil && c.same(col, have, r[col.Name]) }) {
			return true
		}
		// What the cloud accepts and does not keep has arrived too: that it was
		// not kept cannot be told from somebody else's edit just after.
		for _, t := range o.took {
			if t.column == col.Name && t.at >= since-window && c.same(col, have, t.value) {
				return true
			}
		}
	}
	return false
}

func (c *checker) conflicted(at decide.RecordRef, col string, have modules.Value) bool {
	for _, k := range c.w.db.conflicts {
		if k.record == at && k.Column == col && k.Database == have {
			return true
		}
	}
	return false
}

func (c *checker) conflicting(at decide.RecordRef, col string, have modules.Value, list []decide.Conflict) bool {
	for _, k := range list {
		if k.Column == col && k.Database == have {
			return true
		}
	}
	return c.conflicted(at, col, have)
}

// updated: the engine wrote what it found in the cloud to a record.
func (c *checker) updated(p store.Pull, old *row, vals modules.Row) {
	if c == nil {
		return
	}
	t, at := p.Subject.Table, p.Subject.Ref()
	changed := false
	c.pulledPaused(t, at, p.Row)
	for n, v := range p.Row {
		col := t.Column(n)
		have := old.vals[n]
		changed = changed || !col.Same(have, v)
		if c.track(c.run(), at, n) {
			delete(c.wishes, columnRef{at, n}) // decided against
			continue
		}
		if col.Computed || have == v {
			continue
		}
		if w, ok := c.wishes[columnRef{at, n}]; ok && w.value == have && !c.arrived(at, col, have, w.at-lag, w.only) &&
			!c.conflicting(at, n, have, p.Conflicts) && !c.resolved(at, "cloud") {
			c.w.violate("R2/R3", "%s %d: a user's %s = %q was overwritten by %q and never reached the cloud", t.Name,
				at.ID, n, have, v)
		}
		if col.WriteOnly {
			continue
		}
		// R13: what the engine wrote last is still so in the cloud, and right.
		// This is not promised against states older than the one the engine
		// itself wrote over: nothing tells them from a new edit.
		for o := range c.owned[at] {
			mine, ok := o.mine[n]
			_, over := o.over[n]
			if now := o.now(); ok && over && now != nil && c.w.now-mine < window-lag && c.same(col, have, now[n]) &&
				!c.same(col, v, now[n]) && c.isObjectOf(o, p.Subject) && c.same(col, v, o.over[n]) &&
				c.looksOver(o, p.Subject) {
				c.w.violate("R13", "%s %d: a stale read of %s reverted the engine's own %q to %q", t.Name, at.ID,
					n, have, v)
			}
		}
		delete(c.wishes, columnRef{at, n})
	}
	if !changed {
		c.w.violate("R1", "%s %d: a pull wrote equal values: %v", t.Name, at.ID, p.Row)
	}
}

// looksOver reports whether a read shows the object that the engine deleted to
// make this one, as far as the engine knew it; true if there was none.
func (c *checker) looksOver(o *object, s *decide.Subject) bool {
	if !o.reborn {
		return true
	}
	for i := range s.Table.Columns {
		col := &s.Table.Columns[i]
		if v, known := o.over[col.Name]; known && !col.WriteOnly && !c.same(col, s.Object[col.Name], v) {
			return false
		}
	}
	return true
}

func (c *checker) isObjectOf(o *object, s *decide.Subject) bool {
	key, ok := s.Table.Key(s.Object)
	return ok && key == o.key
}

// inserted: the engine inserted a record for an object.
func (c *checker) inserted(p store.Pull, id int64, vals modules.Row) {
	if c == nil {
		return
	}
	t := p.Subject.Table
	if c.paused(c.run(), p.Subject.Ref(), "") {
		c.w.violate("R25", "%s: record %d was inserted while that is paused", t.Name, id)
	}
	key, ok := t.Key(vals)
	o := c.w.cloud.find(t, t.Scope(vals), key)
	if !ok || o == nil {
		c.w.violate("R5", "%s: a record was inserted for an object that never was: %v", t.Name, vals)
		return
	}
	if !o.held(c.recent(), func(r modules.Row) bool { return r != nil }) {
		c.w.violate("R5", "%s: a record was inserted for %s, which is long gone", t.Name, key)
	}
	// R5 takes one direct read for proof, and it may be late; what the engine
	// created itself it has to know better (R13).
	if since, ok := c.unwanted[o]; ok && since < c.run().started && !o.held(since-o.lag(), func(r modules.Row) bool {
		return r == nil
	}) && !c.track(c.run(), ref(t, id), "") && !c.everTracked(t) {
		c.w.violate("R2", "%s: a user deleted the record of %s, and it came back as record %d", t.Name, key, id)
	}
	if o.now() == nil && !c.track(c.run(), ref(t, id), "") && c.deletedByEngine(o) {
		c.w.violate("R13", "%s: a stale read of %s, which the engine had deleted, made record %d", t.Name, key, id)
	}
	if !o.held(c.seen(), func(r modules.Row) bool { return !going(r) }) {
		c.w.violate("R17", "%s: record %d was inserted for %s, which is being deleted", t.Name, id, key)
	}
	c.wanted(o)
	if at, ok := c.replaced[o]; ok && !o.held(at-o.lag(), func(r modules.Row) bool {
		return r == nil
	}) && !c.everTracked(t) && p.Subject.Change == nil {
		c.w.violate("R14", "%s: %s was replaced and came back as record %d", t.Name, key, id)
	}
	// A record that a user has deleted, and TRACK brings back, has its own object again:
	// another that says so beside its row had lost it to this one before.
	row := c.w.db.byKey(t, o.scope, key)
	back := p.Subject.Change != nil && !p.Subject.Change.Insert && (row == nil || row.id == id)
	if c.claimed(o, ref(t, id)) && !back {
		c.w.violate("identity", "%s: record %d was inserted for %s, which has a record", t.Name, id, key)
	}
	if o.now() != nil && o.by.ID != 0 && o.by != ref(t, id) && !c.track(c.run(), o.by, "") &&
		c.w.db.rows[t.Name][o.by.ID] != nil && c.standsFor(o.by, o) {
		c.w.violate("R6", "%s: %s was created for record %d and inserted as record %d", t.Name, key, o.by.ID, id)
	}
}

// deletedByEngine reports whether the last thing the engine did to the object,
// within what it can know, was to delete it.
func (c *checker) deletedByEngine(o *object) bool {
	deleted := false
	for _, op := range c.w.db.ops {
		if op.Record.Table == o.table.Name && op.Scope == o.scope && op.Key == o.key && op.Result == decide.ResultOK &&
			op.Kind != decide.OpUpdate {
			deleted = op.Kind == decide.OpDelete && op.ended > c.recent()-(window-lag)
		}
	}
	return deleted
}

// everTracked: a TRACK rule has held for the table, so that a deletion may
// have been decided against.
func (c *checker) everTracked(t *modules.Table) bool {
	for n := range c.w.trackedTables {
		if n == "" || n == t.Name {
			return true
		}
	}
	return false
}

// standsFor reports whether nothing newer than the object stands for the
// record.
func (c *checker) standsFor(at decide.RecordRef, o *object) bool {
	key, ok := c.w.db.keyOf(o.table, at.ID)
	return !ok || key == o.key
}

// gonePlace is the place that R28 counts a record in.
func gonePlace(t *modules.Table, scope modules.Scope) decide.GonePlace {
	place := decide.GonePlace{Table: t.Name, Scope: modules.Scope{Account: account}}
	if t.Reach == modules.PerRegion {
		place.Scope.Region = scope.Region
	}
	return place
}

// undeletable: the engine has found that a record's object is gone, and could not delete the record: what there is in
// its place counts for R28 all the same.
func (c *checker) undeletable(s *decide.Subject) {
	if c == nil {
		return
	}
	if identity, named := s.Identity(); named {
		c.run().gone[gonePlace(s.Table, s.Table.Scope(identity))] += 0
	}
}

// deleted: the engine deleted a record. What users wanted of it goes with it: whether
// it may go with a user's change pending is looked at here.
func (c *checker) deleted(p store.Pull, old *row) {
	if c == nil {
		return
	}
	defer c.wishNothing(p.Subject.Table, p.Subject.Ref())
	t, at, r := p.Subject.Table, p.Subject.Ref(), c.run()
	tracked := c.track(r, at, "")
	if c.paused(r, at, "") {
		c.w.violate("R25", "the paused %v was deleted", at)
	}
	identity, named := p.Subject.Identity()
	key, _ := t.Key(identity)
	scope := t.Scope(identity) // which is not the row's while it is to move
	if p.Subject.Lost() {
		return // another record stands for that object, and this one for none
	}
	if !p.Subject.Cascaded && !p.Subject.WentAway && !c.resolved(at, "cloud") && named {
		r.gone[gonePlace(t, scope)]++
	}
	if !named {
		if !tracked && len(c.owned[at]) == 0 {
			c.w.violate("R5", "%s %d was deleted without ever having had an object", t.Name, at.ID)
		}
		return
	}
	if o := c.w.cloud.find(t, scope, key); o != nil && !o.held(c.recent(), func(r modules.Row) bool {
		return r == nil
	}) {
		c.w.violate("R5", "%s %d was deleted, and its object %s exists", t.Name, at.ID, key)
	}
	// The engine's own deletion is as good a proof as a read that finds nothing.
	if o := c.w.cloud.find(t, scope, key); !r.missing[objectKey{t, scope, key}] && (o == nil || o.now() != nil) {
		c.w.violate("R5", "%s %d was deleted without a direct read of %s", t.Name, at.ID, key)
	}
	if r.failed[objectKey{t, scope, ""}] && !r.told[at] && p.Subject.Change == nil && p.Subject.State == nil {
		c.w.violate("R5", "%s %d was deleted after a failed listing", t.Name, at.ID)
	}
	if tracked {
		return
	}
	for _, a := range c.w.db.pending[at] {
		inserted := a.Type == "INSERT" && len(c.owned[at]) == 0
		if (inserted || a.Type == "UPDATE") && !c.resolved(at, "cloud") {
			c.w.violate("R2", "%s %d was deleted with a user's %s pending", t.Name, at.ID, a.Type)
		}
	}
}

func (c *checker) resolved(at decide.RecordRef, how string) bool {
	for _, k := range c.w.db.conflicts {
		if k.record == at && k.resolved == how {
			return true
		}
	}
	return false
}

func (c *checker) isDeposed(o *object) bool {
	for _, g := range c.w.db.deposed {
		if g.table == o.table && g.key == o.key && g.scope == o.scope {
			return true
		}
	}
	return false
}

func (c *checker) deposedSettled(g *deposedRow) {
	if c == nil {
		return
	}
	o := c.w.cloud.live(g.table, g.scope, g.key)
	if o == nil {
		return
	}
	since := c.recent()
	if g.Says("the old object is being deleted") && o.by.ID != 0 && going(o.now()) {
		since = c.w.now // see lastUnseen
	}
	if !c.claimed(o, decide.RecordRef{}) && !o.held(since, func(r modules.Row) bool { return r == nil }) {
		c.w.violate("R14", "%s: the replaced object %s was forgotten while it exists", g.table.Name, g.key)
	}
	// Somebody made it a moment ago, and a read was from before that: from now on
	// it is as if it had been made now.
	delete(c.unwantedBy, o)
	c.forgotten[o] = going(o.now())
}

// asked reports whether since the cycle began a user's change of a type, and
// of a column if one is named, was pending.
func (c *checker) asked(at decide.RecordRef, since time.Duration, column string, types ...string) bool {
	for _, a := range c.w.db.log[at] {
		if a.settled && a.settledAt < since {
			continue
		}
		for _, typ := range types {
			if a.Type != typ {
				continue
			}
			if _, ok := a.change[column]; column == "" || ok || typ == "DELETE" {
				return true
			}
		}
	}
	return false
}

func (c *checker) enforced(r *run, at decide.RecordRef, column string) bool {
	return r.rules.Of(at.Table, at.ID, column) == modes.Enforce
}

func (c *checker) adoptedElsewhere(t *modules.Table, st *stateRow) bool {
	r := c.w.db.byKey(t, t.Scope(st.Identity), st.key)
	if r == nil {
		return false
	}
	for _, a := range c.w.db.log[ref(t, r.id)] {
		if key, ok := t.Key(a.change); ok && a.Type == "INSERT" && key == st.key {
			return true
		}
	}
	return false
}

// between checks what must hold between cycles.
func (c *checker) between() {
	keys := map[objectKey]int64{}
	claim := func(t *modules.Table, scope modules.Scope, key string, id int64) {
		k := objectKey{t, scope, key}
		if other, ok := keys[k]; ok && other != id {
			c.w.violate("identity", "%s: records %d and %d both stand for %s", t.Name, other, id, key)
		}
		keys[k] = id
	}
	for _, t := range tables {
		for _, id := range c.w.db.ids(t) {
			r := c.w.db.rows[t.Name][id]
			// A user may adopt, with a record of their own, what a creation of
			// another record made a moment ago; then the other says so.
			st := c.w.db.states[ref(t, id)]
			if key, named := t.Key(r.vals); st != nil && st.key != "" && t.ComputedIdentity() &&
				(named && key == st.key && t.Scope(r.vals) == t.Scope(st.Identity) || !c.adoptedElsewhere(t, st)) {
				claim(t, t.Scope(st.Identity), st.key, id)
			}
			if key, ok := t.Key(r.vals); ok {
				claim(t, t.Scope(r.vals), key, id)
			}
		}
	}
}
