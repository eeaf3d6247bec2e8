package simulate

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"iasql/internal/decide"
	"iasql/internal/modes"
	"iasql/internal/modules"
	"iasql/internal/store"
)

// world is both sides and the time.
type world struct {
	now   time.Duration
	db    *database
	cloud *cloud
	check *checker
	runs  []*run // cycles under way: the innermost is the one that acts

	constrained   bool
	slow          bool // deletions take time
	events        bool // the cloud tells of what others change
	watched       bool // and the engine relies on that
	trackedTables map[string]bool
	ruled         bool            // there was ever a rule or a protection
	touched       map[string]bool // tables whose objects others than engines have changed
	importedOnce  map[string]bool
	listings      int                // listings that have begun
	listedOnce    map[objectKey]int  // places that were listed completely, and by which listing first
	deniedOnce    map[objectKey]bool // places whose listing was denied
	report        store.Report
	lied          bool      // there was a false premise
	kept          *database // the backup
	failed        error
	// history is what happened, for people; nil unless it is wanted.
	history *strings.Builder
	ahead   bool // at the last tick the database's clock was ahead
}

// Violation is a rule of the design that was seen broken.
type Violation struct {
	Rule string
	What string
}

// Error returns the rule and what broke it.
func (v *Violation) Error() string { return v.Rule + ": " + v.What }

func (w *world) violate(rule, format string, args ...any) {
	if w.failed == nil && (!w.lied || premises[rule]) {
		w.failed = &Violation{rule, fmt.Sprintf(format, args...)}
		w.trace("VIOLATION %v", w.failed)
	}
}

func (w *world) trace(format string, args ...any) {
	if w.history != nil {
		fmt.Fprintf(w.history, "%8.2fs "+format+"\n", append([]any{w.now.Seconds()}, args...)...)
	}
}

func newWorld(s *Schedule) *world {
	w := &world{now: time.Hour, constrained: s.Constrained, slow: s.Slow, events: s.Events, watched: s.Events &&
		s.Seed%3 > 0, trackedTables: map[string]bool{}, touched: map[string]bool{}, importedOnce: map[string]bool{},
		listedOnce: map[objectKey]int{}, deniedOnce: map[objectKey]bool{}}
	w.db, w.cloud = newDatabase(w), newCloud(w)
	w.check = newChecker(w)
	w.db.limits.Max, w.db.limits.Ratio = s.MaxDeletes, s.Ratio
	for i := range s.Rows {
		w.cloudCreate(&Action{A: i, B: int(s.Seed>>8) + i, C: int(s.Seed >> 16), D: int(s.Seed >> 24)})
	}
	w.now += time.Minute
	return w
}

// deletion returns how long an object's deletion takes.
func (w *world) deletion(o *object) time.Duration {
	if !w.slow || o.table.Column("status") == nil {
		return 0
	}
	list := []time.Duration{0, 20 * time.Second, 90 * time.Second, 5 * time.Minute}
	return list[int(w.now/(10*time.Millisecond))%len(list)]
}

// Play plays a schedule up to the fixpoint and returns the first violation.
func Play(s *Schedule) error { return play(s, nil) }

func play(s *Schedule, history *strings.Builder) error {
	w := newWorld(s)
	w.history = history
	for i := range s.Actions {
		w.do(&s.Actions[i])
		w.check.between()
		if w.failed != nil {
			return w.failed
		}
	}
	w.fixpoint()
	return w.failed
}

// do plays one action.
func (w *world) do(a *Action) {
	w.now += time.Duration(1+a.D) * 10 * time.Millisecond
	if w.history != nil && a.Do != Cycle {
		w.trace("%s", a.spell(""))
	}
	switch a.Do {
	case Cycle:
		_ = w.cycle(a, 0)
	case Preview:
		w.preview(a)
	case Insert, Edit, Remove, Reinsert, Adopt:
		w.edit(a)
	case Commit:
		w.db.commit(a.Slot)
	case Rollback:
		w.db.rollback(a.Slot)
	case CloudCreate:
		w.touched[tables[a.A%len(tables)].Name] = true
		w.cloudCreate(a)
	case CloudEdit:
		w.touched[tables[a.A%len(tables)].Name] = true
		w.cloudEdit(a)
	case CloudRemove:
		w.touched[tables[a.A%len(tables)].Name] = true
		if list := w.cloud.all(tables[a.A%len(tables)]); len(list) > 0 {
			o := list[a.B%len(list)]
			err := w.cloud.remove(o)
			w.trace("   %s: %v", o.key, err)
			if err == nil {
				w.notify(o.table, o.scope, o.key, a)
			}
		}
	case Backup:
		w.backup()
	case GoBack:
		w.goBack()
	case Forge:
		w.forge(a)
	case Rule:
		w.ruled = true
		w.rule(a)
	case Unrule:
		if n := len(w.db.rules); n > 0 {
			w.db.rules = slices.Delete(slices.Clone(w.db.rules), a.A%n, a.A%n+1)
			w.db.release()
		}
	case Policy:
		w.db.hold = a.A%2 == 0
		w.db.settingChanged()
	case Protect:
		w.ruled = true
		w.protect(a)
	case Resolve:
		w.resolve(a)
	case Retry:
		if refs := w.db.refs(); len(refs) > 0 {
			w.db.retry(refs[a.A%len(refs)])
		}
	case Wait:
		w.now += a.For
	case Declare:
		w.declare(a)
	case Mention:
		w.mentionAgain(a)
	case Declared:
		w.declared(a)
	case Expire:
		w.expire(a)
	case Tick:
		w.tick(a.C%6 == 0)
	case BatchBegin:
		if w.db.txs[a.Slot] == nil {
			w.trace("   batch %d", w.db.openBatch(a.Slot))
		}
	case BatchJoin:
		w.batchJoin(a)
	case Vanish:
		w.db.rollback(a.Slot)
		delete(w.db.sessions, a.Slot)
	case BatchCommit:
		w.batchCommit(a)
	case BatchRollback:
		w.batchRollback(a)
	}
}

// edit is a user's statement, in a transaction that is committed at once
// unless it is to stay open.
func (w *world) edit(a *Action) {
	t := tables[a.A%len(tables)]
	opened := w.db.txs[a.Slot] == nil
	tx := w.db.tx(a.Slot)
	tx.allowReplace = a.C%3 > 0
	ids := w.db.visible(tx, t, true)
	ok := false
	switch a.Do {
	case Insert:
		if vals, can := w.newRow(tx, t, a); can {
			ok = w.db.insert(tx, t, 0, vals)
		}
	case Edit:
		if len(ids) > 0 {
			ok = w.db.update(tx, t, ids[a.B%len(ids)], w.newValues(tx, t, ids[a.B%len(ids)], a))
		}
	case Remove:
		if len(ids) > 0 {
			ok = w.db.remove(tx, t, ids[a.B%len(ids)])
		}
	case Reinsert:
		ok = w.reinsert(tx, t, a)
	case Adopt:
		ok = w.adopt(tx, t, a)
	}
	if w.history != nil && ok {
		last := tx.audit[len(tx.audit)-1]
		w.trace("   %s %s %d %v", last.Type, t.Name, last.RecordID, last.change)
	}
	if opened && !a.Open {
		w.db.commit(a.Slot)
	}
}

// newRow returns the values of an INSERT.
func (w *world) newRow(tx *tx, t *modules.Table, a *Action) (modules.Row, bool) {
	row := modules.Row{modules.ColumnAccount: modules.Text(account)}
	if t.Reach == modules.PerRegion {
		row[modules.ColumnRegion] = modules.Text(regions[a.D%len(regions)])
	}
	for i := range t.Columns {
		c := &t.Columns[i]
		switch {
		case c.Computed || c.Name == modules.ColumnAccount || c.Name == modules.ColumnRegion:
		case c.References != nil:
			parents := w.db.visible(tx, registry.Table(c.References.Table), false)
			if c.Required {
				if len(parents) == 0 {
					return nil, false
				}
				id := parents[a.B%len(parents)]
				parent, _ := w.db.see(tx, decide.RecordRef{Table: c.References.Table, ID: id})
				row[c.Name], row[modules.ColumnRegion] = modules.Int(id), parent[modules.ColumnRegion]
			} else if len(parents) > 0 && a.C%3 == 0 {
				row[c.Name] = modules.Int(parents[a.D%len(parents)])
			}
		default:
			row[c.Name] = value(c.Name, a.B+a.C*(i+1))
		}
	}
	if self := "peer_id"; t == host && a.C%7 == 1 { // names itself, or one not yet there
		row[self] = modules.Int(w.db.nextID[t.Name] + 1)
	}
	return row, true
}

// newValues returns what an UPDATE sets: one or two columns.
func (w *world) newValues(tx *tx, t *modules.Table, id int64, a *Action) modules.Row {
	var columns []string
	for i := range t.Columns {
		if c := &t.Columns[i]; !c.Computed && c.Name != modules.ColumnAccount && c.Name != modules.ColumnRegion {
			columns = append(columns, c.Name)
		}
	}
	set := modules.Row{}
	if t.Reach == modules.PerRegion && a.C%13 == 5 { // moves
		set[modules.ColumnRegion] = modules.Text(regions[a.D%len(regions)])
		return set
	}
	for n := range 1 + a.D%2 {
		c := t.Column(columns[(a.C+n)%len(columns)])
		switch {
		case c.References != nil:
			targets := w.db.visible(tx, registry.Table(c.References.Table), false)
			if a.D%4 == 0 && !c.Required || len(targets) == 0 {
				set[c.Name] = modules.Null
			} else {
				set[c.Name] = modules.Int(targets[a.D%len(targets)])
			}
		case c.CreateOnly && a.D%3 > 0: // replacements less often
			continue
		default:
			set[c.Name] = value(c.Name, a.D)
		}
	}
	return set
}

func (w *world) reinsert(tx *tx, t *modules.Table, a *Action) bool {
	var gone []*auditRow
	for at, list := range w.db.log {
		if at.Table != t.Name {
			continue
		}
		for _, r := range list {
			if r.Type == "DELETE" {
				gone = append(gone, r)
			}
		}
	}
	for _, r := range tx.audit {
		if r.Type == "DELETE" && r.table == t {
			gone = append(gone, r)
		}
	}
	if len(gone) == 0 {
		return false
	}
	slices.SortFunc(gone, func(x, y *auditRow) int { return int(x.ID - y.ID) })
	r := gone[len(gone)-1-a.B%min(len(gone), 3)]
	vals := r.Original.Clone()
	id := r.RecordID
	switch a.C % 4 {
	case 0: // as something new, of the same name if users choose it
		id = 0
		for i := range t.Columns {
			if c := &t.Columns[i]; c.Computed {
				vals[c.Name] = modules.Null
			}
		}
	case 1: // under its old id, with another value
		for i := range t.Columns {
			if c := &t.Columns[i]; !c.Computed && !c.CreateOnly && c.References == nil && values[c.Name] != nil {
				vals[c.Name] = value(c.Name, a.D)
			}
		}
	}
	return w.db.insert(tx, t, id, vals)
}

func (w *world) adopt(tx *tx, t *modules.Table, a *Action) bool {
	list := w.cloud.all(t)
	if len(list) == 0 {
		return false
	}
	o := list[a.B%len(list)]
	vals, can := w.newRow(tx, t, a)
	if !can {
		return false
	}
	if a.C%2 == 0 {
		for n, v := range o.now() {
			if c := t.Column(n); c.References == nil && !c.WriteOnly {
				vals[n] = v
			}
		}
	}
	vals[t.Identity()[0]] = modules.Text(o.key)
	if t.Reach == modules.PerRegion {
		if vals[modules.ColumnRegion].String() != o.scope.Region && t == host {
			return false
		}
		vals[modules.ColumnRegion] = modules.Text(o.scope.Region)
	}
	return w.db.insert(tx, t, 0, vals)
}

func (w *world) cloudCreate(a *Action) {
	t := tables[a.A%len(tables)]
	scope := modules.Scope{Account: account}
	if t.Reach == modules.PerRegion {
		scope.Region = regions[a.D%len(regions)]
	}
	want := modules.Row{}
	for i := range t.Columns {
		c := &t.Columns[i]
		switch {
		case c.Computed:
		case c.References != nil:
			if parents := w.cloud.all(registry.Table(c.References.Table)); len(parents) > 0 &&
				(c.Required || a.C%2 == 0) {
				o := parents[a.B%len(parents)]
				if c.Required {
					scope = o.scope
				}
				want[c.Name] = modules.Text(o.key)
			}
		default:
			if values[c.Name] != nil && !c.WriteOnly {
				want[c.Name] = value(c.Name, a.B+a.C*(i+1))
			}
		}
	}
	want[modules.ColumnAccount], want[modules.ColumnRegion] = modules.Text(account), modules.Text(scope.Region)
	o, err := w.cloud.create(t, scope, want, "", decide.RecordRef{})
	if w.history != nil && err == nil {
		w.trace("   cloud %s %v", o.key, o.now())
	}
	if err == nil {
		w.notify(o.table, o.scope, o.key, a)
	}
}

func (w *world) cloudEdit(a *Action) {
	t := tables[a.A%len(tables)]
	list := w.cloud.all(t)
	if len(list) == 0 {
		return
	}
	o := list[a.B%len(list)]
	var columns []*modules.Column
	for i := range t.Columns {
		if c := &t.Columns[i]; !c.CreateOnly && !c.WriteOnly && !c.Computed {
			columns = append(columns, c)
		}
	}
	c := columns[a.C%len(columns)]
	v := modules.Null
	if c.References == nil {
		v = value(c.Name, a.D)
	} else if targets := w.cloud.all(registry.Table(c.References.Table)); a.D%3 > 0 && len(targets) > 0 {
		v = modules.Text(targets[a.D%len(targets)].key)
	}
	if o.now()[c.Name] == v {
		return // nothing changed, and nobody wrote it
	}
	err := w.cloud.update(o, modules.Row{c.Name: v}, nil)
	w.trace("   cloud %s.%s = %v: %v", o.key, c.Name, v, err)
	if err == nil {
		w.notify(o.table, o.scope, o.key, a)
	}
}

func (w *world) rule(a *Action) {
	r := modes.Rule{Mode: []modes.Mode{modes.Normal, modes.Enforce, modes.Track, modes.Pause}[a.B%4]}
	if a.C%4 > 0 {
		t := tables[a.A%len(tables)]
		r.Table = t.Name
		if ids := w.db.ids(t); a.C%4 > 1 && len(ids) > 0 {
			r.RecordID = ids[a.D%len(ids)]
		}
		if a.C%8 == 3 || a.C%8 == 5 {
			r.Column = t.Columns[a.D%len(t.Columns)].Name
		}
	}
	for _, old := range w.db.rules {
		if old.Table == r.Table && old.RecordID == r.RecordID && old.Column == r.Column {
			return
		}
	}
	w.db.rules = append(slices.Clone(w.db.rules), r)
	w.db.release()
	if r.Mode == modes.Track {
		w.trackedTables[r.Table] = true
	}
	w.trace("   rule %+v", r)
}

func (w *world) resolve(a *Action) {
	var open []*conflictRow
	for _, c := range w.db.conflicts {
		if c.resolved == "" {
			open = append(open, c)
		}
	}
	if len(open) == 0 {
		return
	}
	c := open[a.A%len(open)]
	w.db.resolveConflict(c, []string{"database", "cloud"}[a.B%2])
	w.trace("   %v %s: %s", c.record, c.Column, c.resolved)
}
