package simulate

import (
	"maps"
	"slices"
	"time"

	"iasql/internal/decide"
)

// What declare.sql and expiry.sql do: configurations, whose declarations delete what they no longer mention, and
// records that end by themselves. To the engine both are deletions by users.

// mentions are records, and after which audit row each was mentioned.
type mentions map[decide.RecordRef]int64

// declaration is one of a configuration in a batch that is open.
type declaration struct {
	of       int // the configuration
	mentions mentions
	ended    bool
	endedAt  time.Duration
}

// expiry is when a record ends. It takes two ticks that find that past.
type expiry struct {
	until time.Duration
	due   bool
}

// declaring returns the declaration that a batch has begun and not ended.
func (db *database) declaring(batch int64) *declaration {
	for _, d := range db.declarations[batch] {
		if !d.ended {
			return d
		}
	}
	return nil
}

// mention notes what a transaction has written within a declaration.
func (db *database) mention(tx *tx) {
	d := db.declaring(tx.batch)
	if d == nil {
		return
	}
	for at, vals := range tx.over {
		if vals == nil {
			delete(d.mentions, at)
		} else {
			d.mentions[at] = db.nextAudit
		}
	}
}

// closeDeclarations puts what a batch has declared in force if it was committed, and forgets the rest.
func (db *database) closeDeclarations(batch int64, committed bool) {
	for _, d := range db.declarations[batch] {
		if !committed || !d.ended {
			continue
		}
		old := db.configurations[d.of]
		db.configurations[d.of] = d.mentions
		db.w.check.inForce(d, old, batch)
	}
	delete(db.declarations, batch)
}

// letGo reports whether a declaration that has ended, of that configuration, no longer mentions the record, and in
// which batch.
func (db *database) letGo(of int, at decide.RecordRef) (batch int64, leaves bool) {
	for batch, list := range db.declarations {
		for _, d := range list {
			if _, mentioned := d.mentions[at]; d.of == of && d.ended && !mentioned {
				return batch, true
			}
		}
	}
	return 0, false
}

// kept says whether another configuration keeps a record that one lets go of, and whether that is in doubt as long as
// another batch is open.
func (db *database) kept(of int, at decide.RecordRef, ours int64) (kept, doubt bool) {
	for other, inForce := range db.configurations {
		if _, mentioned := inForce[at]; !mentioned || other == of {
			continue
		}
		switch batch, leaves := db.letGo(other, at); {
		case !leaves:
			kept = true
		case batch != ours:
			doubt = true
		}
	}
	for batch, list := range db.declarations {
		for _, d := range list {
			if _, mentioned := d.mentions[at]; !mentioned || d.of == of {
				continue
			}
			if batch == ours {
				kept = true
			} else {
				doubt = true
			}
		}
	}
	return kept, doubt && !kept
}

// declare is iasql_declare: in the batch of the session, or in a new one. A second declaration of the same
// configuration is refused while the first is open.
func (w *world) declare(a *Action) {
	if w.db.txs[a.Slot] != nil {
		return
	}
	of := a.A % 3
	for _, list := range w.db.declarations {
		if slices.ContainsFunc(list, func(d *declaration) bool { return d.of == of }) {
			return
		}
	}
	if w.db.batches[w.db.sessions[a.Slot]] == nil {
		w.db.openBatch(a.Slot)
	}
	batch := w.db.batchOf(a.Slot)
	if batch == 0 || w.db.declaring(batch) != nil {
		return
	}
	w.db.declarations[batch] = append(w.db.declarations[batch], &declaration{of: of, mentions: mentions{}})
	w.trace("   configuration %d in batch %d", of, batch)
}

// mentionAgain is iasql_mention of a record that the configuration has, or of any other.
func (w *world) mentionAgain(a *Action) {
	d := w.db.declaring(w.db.batchOf(a.Slot))
	if d == nil || w.db.txs[a.Slot] != nil {
		return
	}
	refs := w.db.allRecords()
	if had := w.db.configurations[d.of]; len(had) > 0 && a.C%4 > 0 {
		refs = slices.DeleteFunc(refs, func(at decide.RecordRef) bool { _, has := had[at]; return !has })
	}
	for n := range min(len(refs), 1+a.D%3) {
		at := refs[(a.B+n)%len(refs)]
		d.mentions[at] = w.db.nextAudit
		w.trace("   %v is mentioned", at)
	}
}

// declared is iasql_declared: it deletes what the configuration had and this declaration does not mention, unless
// others have it, all or nothing.
func (w *world) declared(a *Action) {
	batch := w.db.batchOf(a.Slot)
	d := w.db.declaring(batch)
	if d == nil || w.db.txs[a.Slot] != nil {
		return
	}
	var goes []decide.RecordRef
	for at := range w.db.configurations[d.of] {
		if _, again := d.mentions[at]; again || w.db.rows[at.Table][at.ID] == nil {
			continue
		}
		switch kept, doubt := w.db.kept(d.of, at, batch); {
		case doubt:
			w.trace("   %v is in doubt", at)
			return
		case !kept:
			goes = append(goes, at)
		}
	}
	sortRefs(goes)
	d.ended, d.endedAt = true, w.now
	if !w.removeAll(a.Slot, goes) {
		w.trace("   of %v not all can go", goes)
		d.ended = false
		return
	}
	for _, at := range goes {
		w.trace("   %v goes", at)
		w.check.prune(d, at, batch)
	}
}

// removeAll deletes records in one transaction, those that refer to others before these, all or none.
func (w *world) removeAll(slot int, goes []decide.RecordRef) bool {
	tx := w.db.tx(slot)
	left := slices.Clone(goes)
	for n := -1; n != len(left); {
		n = len(left)
		left = slices.DeleteFunc(left, func(at decide.RecordRef) bool {
			return w.db.remove(tx, registry.Table(at.Table), at.ID)
		})
	}
	if len(left) > 0 {
		w.db.rollback(slot)
		return false
	}
	return w.db.commit(slot)
}

// expire is iasql_expire.
func (w *world) expire(a *Action) {
	refs := w.db.allRecords()
	if len(refs) == 0 {
		return
	}
	at := refs[a.A%len(refs)]
	if a.C%5 == 0 {
		delete(w.db.expiries, at)
		return
	}
	w.db.expiries[at] = &expiry{until: w.now + a.For}
	w.trace("   %v ends at %s", at, w.now+a.For)
}

// systemSlot is no person's.
const systemSlot = 99

// tick is what ends by itself. While the database may have gone back in time, nothing does (R30). The clock may be
// ahead for a moment: for one tick.
func (w *world) tick(ahead bool) {
	if w.db.restored != "" {
		return
	}
	now := w.now
	if w.ahead = ahead && !w.ahead; w.ahead {
		now += time.Hour
	}
	refs := slices.Collect(maps.Keys(w.db.expiries))
	sortRefs(refs)
	for _, at := range refs {
		e := w.db.expiries[at]
		if w.db.rows[at.Table][at.ID] == nil {
			delete(w.db.expiries, at)
			continue
		}
		if e.due && e.until <= now && w.removeAll(systemSlot, []decide.RecordRef{at}) {
			w.trace("   %v has ended", at)
			w.check.expired(at, e)
			delete(w.db.expiries, at)
			continue
		}
		e.due = e.until <= now
	}
}

// lastTicks are made when faults have stopped: what is past ends, or has a reason not to.
func (w *world) lastTicks() {
	for range 3 {
		w.now += time.Minute
		w.tick(false)
	}
	for at, e := range w.db.expiries {
		if e.until > w.now-2*time.Minute {
			continue
		}
		tx := w.db.tx(systemSlot)
		if w.db.remove(tx, registry.Table(at.Table), at.ID) {
			w.violate("R17", "%v should have ended at %s", at, e.until)
		}
		w.db.rollback(systemSlot)
	}
}

// What the checker says of them.

// pruned is a deletion by the end of a declaration.
type pruned struct {
	of    int
	audit int64
}

// prune: a declaration has deleted a record. Only what the configuration has had goes, and nothing that another has.
func (c *checker) prune(d *declaration, at decide.RecordRef, batch int64) {
	if c == nil {
		return
	}
	if _, had := c.w.db.configurations[d.of][at]; !had {
		c.w.violate("R37", "%v: configuration %d lets go of what it never had", at, d.of)
	}
	if _, again := d.mentions[at]; again {
		c.w.violate("R37", "%v: configuration %d lets go of what it mentions", at, d.of)
	}
	for other, inForce := range c.w.db.configurations {
		if _, has := inForce[at]; !has || other == d.of {
			continue
		}
		if by, leaves := c.w.db.letGo(other, at); !leaves || by != batch {
			c.w.violate("R37", "%v: configuration %d lets go of what %d has", at, d.of, other)
		}
	}
	c.prunes[at] = append(c.prunes[at], pruned{d.of, c.w.db.nextAudit})
}

// inForce: a declaration is in force. What it let go of is not there any more, unless somebody has brought it back, and
// what any configuration has mentioned since no other one has deleted.
func (c *checker) inForce(d *declaration, old mentions, batch int64) {
	if c == nil {
		return
	}
	if !d.ended || c.takenBack[batch] {
		c.w.violate("R37", "configuration %d is in force, and was not declared to its end, or taken back", d.of)
	}
	for at := range old {
		_, again := d.mentions[at]
		if kept, doubt := c.w.db.kept(d.of, at, 0); again || kept || doubt || c.w.db.rows[at.Table][at.ID] == nil ||
			c.w.db.found[at] >= d.endedAt {
			continue
		}
		if !slices.ContainsFunc(c.w.db.log[at], func(a *auditRow) bool {
			return a.Type == "INSERT" && a.committed >= d.endedAt
		}) {
			c.w.violate("R37", "%v: configuration %d has let go of it, nobody has it, and it is there", at, d.of)
		}
	}
	c.keptMentions()
}

// keptMentions: no configuration has deleted what another one that is in force has mentioned before that.
func (c *checker) keptMentions() {
	for of, inForce := range c.w.db.configurations {
		for at, since := range inForce {
			if c.w.db.rows[at.Table][at.ID] != nil {
				continue
			}
			for _, p := range c.prunes[at] {
				if p.of != of && p.audit > since {
					c.w.violate("R37", "%v: configuration %d has it, and %d has deleted it", at, of, p.of)
				}
			}
		}
	}
}

// expired: a record has ended by itself.
func (c *checker) expired(at decide.RecordRef, e *expiry) {
	if c != nil && e.until > c.w.now {
		c.w.violate("R17", "%v has ended before its time", at)
	}
}
