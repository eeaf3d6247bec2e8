package storetest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"iasql/internal/decide"
	"iasql/internal/modes"
	"iasql/internal/modules"
	"iasql/internal/simulate"
)

// Steps of people.

// constrain adds a constraint of a user's own.
func (p *player) constrain(*rand.Rand) {
	p.does("ALTER TABLE net ADD CHECK (note <> '%s')", simulate.RefusedNote)
	p.must(p.m.Constrain(p.ctx))
	p.must(p.s.Constrain(p.ctx))
}

// insert inserts a record: a new one, one that adopts an object, or one under an
// id that is or was in use.
func (p *player) insert(rng *rand.Rand) {
	t := pick(rng, simulate.Tables())
	row := p.newRow(rng, t)
	var id int64
	switch known := p.known(t.Name); {
	case chance(rng, 0.15) && len(known) > 0:
		id = pick(rng, known)
	case chance(rng, 0.05):
		p.explicit++
		id = 1_000_000 + 1000*p.explicit
	}
	slot := p.slot(rng)
	p.does("%sINSERT INTO %s %d %s", spellSlot(slot), t.Name, id, p.row(model, t, row))
	mid, mok, err := p.m.Insert(p.ctx, slot, t.Name, id, row)
	p.must(err)
	sid, sok, err := p.s.Insert(p.ctx, slot, t.Name, p.ofTable(t.Name).subject(id), p.toSubject(t, row))
	p.must(err)
	p.compare("accepted", mok, sok)
	if mok {
		p.ofTable(t.Name).pair(mid, sid)
		p.says("id %d", mid)
	}
}

// newRow makes the row of an INSERT or of an object.
func (p *player) newRow(rng *rand.Rand, t *modules.Table) modules.Row {
	row := modules.Row{modules.ColumnAccount: modules.Text(simulate.Account)}
	if t.Reach == modules.PerRegion {
		row[modules.ColumnRegion] = modules.Text(p.region(rng))
	}
	for i := range t.Columns {
		c := &t.Columns[i]
		switch {
		case c.Name == modules.ColumnAccount || c.Name == modules.ColumnRegion:
		case c.References != nil:
			parent, ok := p.parent(rng, c)
			if !ok || !c.Required && chance(rng, 0.5) || chance(rng, 0.03) {
				row[c.Name] = modules.Null
				continue
			}
			row[c.Name] = modules.Int(parent.ID)
			if c.Required && chance(rng, 0.95) {
				row[modules.ColumnRegion] = parent.Row[modules.ColumnRegion]
			}
		case c.Identity && c.Computed:
			row[c.Name] = modules.Null
			if chance(rng, 0.2) {
				row[c.Name] = p.key(rng, t)
			}
		case c.Computed:
			row[c.Name] = modules.Null
		case c.Required && chance(rng, 0.03):
			row[c.Name] = modules.Null
		default:
			row[c.Name] = simulate.Value(c.Name, rng.IntN(100))
		}
	}
	return row
}

// parent picks a record that a reference may lead to; sometimes one that is not
// there.
func (p *player) parent(rng *rand.Rand, c *modules.Column) (*decide.Record, bool) {
	there := p.rows(c.References.Table)
	if chance(rng, 0.07) {
		gone := &decide.Record{ID: nobody + 1, Row: modules.Row{modules.ColumnRegion: modules.Text(p.region(rng))}}
		if known := p.known(c.References.Table); len(known) > 0 && chance(rng, 0.7) {
			gone.ID = pick(rng, known)
		}
		return gone, true
	}
	if len(there) == 0 {
		return nil, false
	}
	return pick(rng, there), true
}

// newValues makes what an UPDATE sets. Some of it is refused: what the cloud
// assigns, and NULL where a value is required.
func (p *player) newValues(rng *rand.Rand, t *modules.Table) modules.Row {
	set := modules.Row{}
	for range 1 + rng.IntN(2) {
		c := &t.Columns[rng.IntN(len(t.Columns))]
		switch {
		case c.Name == modules.ColumnAccount: // nothing moves to another
			if chance(rng, 0.2) {
				set[c.Name] = modules.Text("stranger")
			}
		case c.Name == modules.ColumnRegion:
			set[c.Name] = modules.Text(pick(rng, simulate.Regions()))
		case c.References != nil:
			set[c.Name] = modules.Null
			if parent, ok := p.parent(rng, c); ok && chance(rng, 0.8) {
				set[c.Name] = modules.Int(parent.ID)
			}
		case c.Computed && chance(rng, 0.7):
		case c.Identity && c.Computed:
			set[c.Name] = p.key(rng, t)
		default:
			set[c.Name] = simulate.Value(orNote(c.Name), rng.IntN(100))
		}
	}
	return set
}

// orNote returns a column that people have values for.
func orNote(column string) string {
	if column == "status" {
		return "note"
	}
	return column
}

func (p *player) update(rng *rand.Rand) {
	t, id, ok := p.someRecord(rng)
	if !ok {
		return
	}
	set := p.newValues(rng, t)
	if len(set) == 0 {
		return
	}
	slot := p.slot(rng)
	p.does("%sUPDATE %s %d SET %s", spellSlot(slot), t.Name, id, p.row(model, t, set))
	mok, err := p.m.Update(p.ctx, slot, t.Name, id, set)
	p.must(err)
	sok, err := p.s.Update(p.ctx, slot, t.Name, p.ofTable(t.Name).subject(id), p.toSubject(t, set))
	p.must(err)
	p.compare("changed", mok, sok)
}

func (p *player) remove(rng *rand.Rand) {
	t, id, ok := p.someRecord(rng)
	if !ok {
		return
	}
	slot := p.slot(rng)
	p.does("%sDELETE FROM %s %d", spellSlot(slot), t.Name, id)
	mok, err := p.m.Delete(p.ctx, slot, t.Name, id)
	p.must(err)
	sok, err := p.s.Delete(p.ctx, slot, t.Name, p.ofTable(t.Name).subject(id))
	p.must(err)
	p.compare("deleted", mok, sok)
}

// someRecord picks a record, mostly one that is there.
func (p *player) someRecord(rng *rand.Rand) (*modules.Table, int64, bool) {
	var refs []decide.RecordRef
	for _, t := range simulate.Tables() {
		if chance(rng, 0.1) {
			for _, id := range p.known(t.Name) {
				refs = append(refs, decide.RecordRef{Table: t.Name, ID: id})
			}
			continue
		}
		for _, r := range p.rows(t.Name) {
			refs = append(refs, decide.RecordRef{Table: t.Name, ID: r.ID})
		}
	}
	if len(refs) == 0 {
		return nil, 0, false
	}
	r := pick(rng, refs)
	return tableOf(r.Table), r.ID, true
}

// slot picks the transaction of a statement: mostly one of its own.
func (p *player) slot(rng *rand.Rand) int {
	if chance(rng, 0.8) {
		return 0
	}
	slot := 1 + rng.IntN(2)
	p.open[slot] = true
	return slot
}

func spellSlot(slot int) string {
	if slot == 0 {
		return ""
	}
	return fmt.Sprintf("[transaction %d] ", slot)
}

func (p *player) openSlot() (int, bool) {
	for slot := range p.open {
		if p.open[slot] {
			return slot, true
		}
	}
	return 0, false
}

func (p *player) commit(*rand.Rand) {
	slot, ok := p.openSlot()
	if !ok {
		return
	}
	p.open[slot] = false
	p.does("[transaction %d] COMMIT", slot)
	m, err := p.m.Commit(p.ctx, slot)
	p.must(err)
	s, err := p.s.Commit(p.ctx, slot)
	p.must(err)
	p.compare("committed", m, s)
}

func (p *player) rollback(*rand.Rand) {
	slot, ok := p.openSlot()
	if !ok {
		return
	}
	p.open[slot] = false
	p.does("[transaction %d] ROLLBACK", slot)
	p.must(p.m.Rollback(p.ctx, slot))
	p.must(p.s.Rollback(p.ctx, slot))
}

// addRule puts a rule of iasql_mode in force: for everything, a table, a record
// or a column.
func (p *player) addRule(rng *rand.Rand) {
	r := modes.Rule{Mode: pick(rng, []modes.Mode{modes.Normal, modes.Enforce, modes.Track, modes.Pause})}
	if chance(rng, 0.8) {
		t := pick(rng, simulate.Tables())
		r.Table = t.Name
		if rows := p.rows(t.Name); len(rows) > 0 && chance(rng, 0.6) {
			r.RecordID = pick(rng, rows).ID
		} else if chance(rng, 0.05) {
			r.RecordID = nobody
		}
		if chance(rng, 0.5) {
			r.Column = pick(rng, columnNames(t))
		}
	}
	p.does("INSERT INTO iasql_mode %s %d %s %s", r.Table, r.RecordID, r.Column, r.Mode)
	mok, err := p.m.AddRule(p.ctx, r)
	p.must(err)
	sok, err := p.s.AddRule(p.ctx, p.ruleToSubject(r))
	p.must(err)
	p.compare("accepted", mok, sok)
	if mok {
		p.rules = append(p.rules, r)
	}
}

func (p *player) ruleToSubject(r modes.Rule) modes.Rule {
	if r.RecordID != 0 {
		r.RecordID = p.ofTable(r.Table).subject(r.RecordID)
	}
	return r
}

func (p *player) dropRule(rng *rand.Rand) {
	if len(p.rules) == 0 {
		return
	}
	i := rng.IntN(len(p.rules))
	r := p.rules[i]
	p.rules = slices.Delete(p.rules, i, i+1)
	p.does("DELETE FROM iasql_mode %s %d %s", r.Table, r.RecordID, r.Column)
	mok, err := p.m.DropRule(p.ctx, r)
	p.must(err)
	sok, err := p.s.DropRule(p.ctx, p.ruleToSubject(r))
	p.must(err)
	p.compare("deleted", mok, sok)
}

// protect protects a table or a record, or lifts that.
func (p *player) protect(rng *rand.Rand) {
	t, id, ok := p.someRecord(rng)
	if !ok {
		return
	}
	if chance(rng, 0.3) {
		id = 0
	}
	protected := chance(rng, 0.6)
	p.does("protect %s %d: %t", t.Name, id, protected)
	mok, err := p.m.Protect(p.ctx, t.Name, id, protected)
	p.must(err)
	sok, err := p.s.Protect(p.ctx, t.Name, p.ofTable(t.Name).subject(id), protected)
	p.must(err)
	p.compare("changed", mok, sok)
}

func (p *player) set(rng *rand.Rand) {
	setting := pick(rng, [][2]string{
		{"conflict_policy", "hold"}, {"conflict_policy", "push"}, {"conflict_policy", "never"}, {"drift", "ask"},
		{"drift", "pull"}, {"drift", "never"}, {"max_deletes", "3"}, {"max_deletes", "-1"},
		{"max_delete_ratio", "0.25"}, {"max_delete_ratio", "2"}, {"delete_ratio_floor", "1"},
	})
	p.does("UPDATE iasql_settings %s = %s", setting[0], setting[1])
	mok, err := p.m.Set(p.ctx, setting[0], setting[1])
	p.must(err)
	sok, err := p.s.Set(p.ctx, setting[0], setting[1])
	p.must(err)
	p.compare("accepted", mok, sok)
}

// idle picks a session that has no transaction open.
func (p *player) idle(rng *rand.Rand) int {
	slot := rng.IntN(3)
	if p.open[slot] {
		return 0
	}
	return slot
}

func (p *player) openBatch(rng *rand.Rand) {
	slot := p.idle(rng)
	p.does("[session %d] iasql_begin", slot)
	m, err := p.m.OpenBatch(p.ctx, slot)
	p.must(err)
	s, err := p.s.OpenBatch(p.ctx, slot)
	p.must(err)
	p.compare("opened", m != 0, s != 0)
	if m != 0 {
		p.batches = append(p.batches, pair[int64]{m, s})
	}
}

func (p *player) closeBatch(rng *rand.Rand) {
	slot := p.idle(rng)
	p.does("[session %d] close the batch", slot)
	m, err := p.m.CloseBatch(p.ctx, slot)
	p.must(err)
	s, err := p.s.CloseBatch(p.ctx, slot)
	p.must(err)
	p.compare("closed", m, s)
}

func (p *player) rollbackBatch(rng *rand.Rand) {
	slot := p.idle(rng)
	p.does("[session %d] iasql_rollback", slot)
	m, err := p.m.RollbackBatch(p.ctx, slot)
	p.must(err)
	s, err := p.s.RollbackBatch(p.ctx, slot)
	p.must(err)
	p.compare("rolled back", m, s)
}

func (p *player) beginCommit(rng *rand.Rand) {
	slot := p.idle(rng)
	p.does("[session %d] a commit begins", slot)
	m, err := p.m.BeginCommit(p.ctx, slot)
	p.must(err)
	s, err := p.s.BeginCommit(p.ctx, slot)
	p.must(err)
	p.compare("begun", m, s)
}

func (p *player) revertBatch(rng *rand.Rand) {
	slot := p.idle(rng)
	p.does("[session %d] the commit is undone", slot)
	m, err := p.m.RevertBatch(p.ctx, slot)
	p.must(err)
	s, err := p.s.RevertBatch(p.ctx, slot)
	p.must(err)
	p.compare("undone", m, s)
}

func (p *player) decide(rng *rand.Rand) {
	there, err := p.m.Conflicts(p.ctx)
	p.must(err)
	if len(there) == 0 {
		return
	}
	n, how := rng.IntN(len(there)), pick(rng, []string{"database", "cloud"})
	p.does("UPDATE iasql_conflicts, the one at %d, resolved = %s", n, how)
	m, err := p.m.Decide(p.ctx, n, how)
	p.must(err)
	s, err := p.s.Decide(p.ctx, n, how)
	p.must(err)
	p.compare("accepted", m, s)
}

func (p *player) retry(rng *rand.Rand) {
	due, _, err := p.m.Due(p.ctx, simulate.Account, 0)
	p.must(err)
	if len(due) == 0 {
		return
	}
	r := pick(rng, due)
	p.does("iasql_retry %s %d", r.Table, r.ID)
	m, err := p.m.Retry(p.ctx, r.Table, r.ID)
	p.must(err)
	s, err := p.s.Retry(p.ctx, r.Table, p.ofTable(r.Table).subject(r.ID))
	p.must(err)
	p.compare("found", m, s)
}

// tick is what times that pass are multiples of, and backoffs are not: so is the
// consistency window, and twice it. The least distance is ten seconds, which
// real time may take up.
const tick = 50 * time.Second

var backoffs = []time.Duration{0, tick / 2, 3 * tick / 2, 13 * tick / 2}

func (p *player) pass(rng *rand.Rand) {
	d := tick * time.Duration(1+rng.IntN(3))
	p.does("%s pass", d)
	p.must(p.m.Pass(p.ctx, d))
	p.must(p.s.Pass(p.ctx, d))
}
