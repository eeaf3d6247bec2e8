package simulate

import (
	"cmp"
	"slices"
	"time"

	"iasql/internal/modules"
	"iasql/internal/store"
)

// Events of the simulated cloud come late, twice, in any order or not at all, and some are
// forged: no rule may be broken by what they say, nor by what they do not (R26).

// hintRow is a hint that waits to be looked into.
type hintRow struct {
	store.Hint
	at  time.Duration // of the event
	due time.Duration
}

// tell stores what an event says of a change at some time, as the engine does that reads
// the events.
func (db *database) tell(h store.Hint, at, due time.Duration) {
	db.nextHint++
	h.ID = db.nextHint
	db.hints = append(db.hints, &hintRow{Hint: h, at: at, due: due})
}

// hintsDue returns the hints that are due.
func (db *database) hintsDue() []store.Hint {
	rows := slices.DeleteFunc(slices.Clone(db.hints), func(h *hintRow) bool { return h.due > db.w.now })
	slices.SortFunc(rows, func(a, b *hintRow) int { return cmp.Or(cmp.Compare(a.due, b.due), cmp.Compare(a.ID, b.ID)) })
	rows = rows[:min(len(rows), store.MaxHintsDue)]
	type place struct {
		table string
		scope modules.Scope
	}
	counts, newest, turn := map[place]int{}, map[place]int64{}, map[int64]int{}
	for _, row := range rows {
		at := place{row.Table, row.Scope}
		turn[row.ID] = counts[at] / store.HintsInTurn
		counts[at]++
		newest[at] = max(newest[at], row.ID)
	}
	slices.SortStableFunc(rows, func(a, b *hintRow) int { return cmp.Compare(turn[a.ID], turn[b.ID]) })
	var list []store.Hint
	for _, row := range rows[:min(len(rows), store.MaxHints)] {
		h := row.Hint
		h.Due, h.Newest = counts[place{h.Table, h.Scope}], newest[place{h.Table, h.Scope}]
		if l := db.listings[listingKey{h.Table, h.Scope}]; l != nil {
			h.Known = l.last && row.at < l.listed-window-5*time.Second
		}
		list = append(list, h)
	}
	return list
}

func (db *database) looked(lease store.Lease, looked []store.Look, listed []store.ListedPlace) error {
	if lease.Fence != db.fence {
		return store.ErrLeaseLost
	}
	for _, look := range looked {
		for _, row := range db.hints {
			if row.ID == look.ID {
				row.Tries++
				row.due = db.w.now + look.Again
			}
		}
		if look.Again == 0 {
			db.hints = slices.DeleteFunc(db.hints, func(h *hintRow) bool { return h.ID == look.ID })
		}
	}
	for _, l := range listed {
		db.hints = slices.DeleteFunc(db.hints, func(h *hintRow) bool {
			return h.Table == l.Table && h.Scope == l.Scope && h.ID <= l.UpTo && h.Tries == 0 && h.due <= db.w.now
		})
	}
	return nil
}

// having returns the records that have one of the values in a column, in cloud terms.
func (db *database) having(t *modules.Table, scope modules.Scope, column string, values []string) []store.Named {
	var list []store.Named
	c := t.Column(column)
	for _, id := range db.ids(t) {
		vals := db.rows[t.Name][id].vals
		v := vals[column]
		if c.References != nil && !v.IsNull() {
			parent := db.rows[c.References.Table][v.Int()]
			if parent == nil {
				continue
			}
			v = parent.vals[c.References.Key]
		}
		if t.Scope(vals) == scope && !v.IsNull() && slices.Contains(values, v.String()) {
			list = append(list, store.Named{Value: v.String(), Record: id})
		}
	}
	return list
}

// notify has an event of a change that others have made come, or not.
func (w *world) notify(t *modules.Table, scope modules.Scope, key string, a *Action) {
	if !w.events {
		return
	}
	pick := a.B*7 + a.C*3 + a.D
	h := store.Hint{Table: t.Name, Scope: scope, Column: t.Identity()[0], Value: key}
	if pick%5 == 4 {
		h.Column, h.Value = "", "" // it does not say which object
	}
	delay := []time.Duration{0, 0, 2 * time.Second, 40 * time.Second, 10 * time.Minute}[pick%13%5]
	if pick%4 == 0 {
		return // it is lost
	}
	w.trace("   event %+v after %s", h, delay)
	w.db.tell(h, w.now, w.now+delay)
	if pick%3 == 0 {
		w.db.tell(h, w.now, w.now+2*delay)
	}
}

// forge has an event come that nobody's change is behind.
func (w *world) forge(a *Action) {
	if !w.events {
		return
	}
	t, of := tables[a.A%len(tables)], tables[a.B%len(tables)]
	h := store.Hint{Table: t.Name, Scope: modules.Scope{Account: account}}
	if t.Reach == modules.PerRegion {
		h.Scope.Region = append(regions, "nowhere")[a.C%3]
	}
	if c := t.Columns[a.D%len(t.Columns)]; a.B%3 > 0 && !c.WriteOnly {
		h.Column, h.Value = c.Name, "'; DROP TABLE net; --"
		if a.B%2 == 0 {
			h.Column = t.Identity()[0]
		}
		// that of any object, of another table perhaps, or one that is gone
		if list := w.cloud.objects; a.C%4 > 0 && len(list) > 0 {
			h.Value = list[a.C%len(list)].key
			if o := w.cloud.all(of); len(o) > 0 {
				h.Value = o[a.D%len(o)].key
			}
		}
	}
	w.trace("   forged event %+v", h)
	w.db.tell(h, w.now-time.Duration(a.D)*time.Minute, w.now)
}
