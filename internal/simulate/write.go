package simulate

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"iasql/internal/decide"
	"iasql/internal/modes"
	"iasql/internal/modules"
	"iasql/internal/store"
)

// begin writes the entry of a call, if it may be made at this very moment.
func (db *database) begin(lease store.Lease, call decide.Intent) (int64, error) {
	if lease.Fence != db.fence {
		return 0, store.ErrLeaseLost
	}
	if lease.Batch != 0 && db.batches[lease.Batch] == nil || db.stagedElsewhere(call.Record, lease.Batch) ||
		call.Record.ID == 0 && db.keyElsewhere(uniqueKey{call.Record.Table, call.Scope, call.Key}, lease.Batch) ||
		lease.Rules != "" && lease.Rules != db.ruled() {
		return 0, store.ErrRefused
	}
	rules, columns := modes.New(db.rules), []string{""}
	if call.Kind == decide.OpUpdate {
		columns = columns[:0]
		for name := range call.Columns {
			columns = append(columns, name)
		}
	}
	for _, name := range columns {
		if !rules.Of(call.Record.Table, call.Record.ID, name).Pushes() {
			return 0, store.ErrRefused
		}
	}
	db.w.check.kept(&call)
	call.Columns = logged(registry.Table(call.Record.Table), call.Columns)
	op := &opRow{Intent: call, id: int64(len(db.ops) + 1), started: db.w.now, at: db.w.now}
	db.ops = append(db.ops, op)
	db.wrote("intent")
	return op.id, nil
}

// ruled is the version of the rules: it changes whenever they do.
func (db *database) ruled() string {
	rules := make([]string, len(db.rules))
	for i, r := range db.rules {
		rules[i] = fmt.Sprint(r.Table, r.RecordID, r.Column, r.Mode)
	}
	slices.Sort(rules)
	return fmt.Sprint(rules) + db.protectionVersion()
}

// outdated refuses what was decided by rules that do not hold any more.
func (db *database) outdated(lease store.Lease) error {
	switch {
	case lease.Rules == "":
		return nil
	case lease.Rules != db.ruled():
		return store.ErrOutdated
	}
	return nil
}

// logged returns columns as the intent log keeps them, without what is no value of its
// column.
func logged(t *modules.Table, columns map[string]decide.ValueChange) map[string]decide.ValueChange {
	out := maps.Clone(columns)
	for name, c := range out {
		for _, v := range []*modules.Value{&c.From, &c.To} {
			if !t.Column(name).Holds(*v) {
				*v = modules.Null
			}
		}
		out[name] = c
	}
	return out
}

func (db *database) finish(lease store.Lease, outcomes []store.Outcome) error {
	if lease.Fence != db.fence {
		return store.ErrLeaseLost
	}
	var states []store.Settlement
	for _, o := range outcomes {
		for _, id := range o.IDs {
			if id < 1 || id > int64(len(db.ops)) {
				continue
			}
			op := db.ops[id-1]
			op.Result = o.Result
			if o.ByName {
				op.Columns = maps.Clone(op.Columns)
				maps.DeleteFunc(op.Columns, func(name string, _ decide.ValueChange) bool {
					return o.Subject.Table.Column(name).WriteOnly
				})
			}
			if o.Object != nil {
				if k, ok := o.Subject.Table.Key(o.Object); ok {
					op.Key = k
				}
			}
			if op.ended = db.w.now; o.Result == decide.ResultUnknown {
				op.ended = 0
			}
			if o.Result == decide.ResultOK || o.Result == decide.ResultUnknown {
				op.at = db.w.now
			}
			db.wrote("intent ended")
		}
		if o.State != nil && o.Subject.RecordID != 0 {
			states = append(states, store.Settlement{Subject: o.Subject, State: o.State})
		}
	}
	for _, o := range outcomes {
		if o.Result == decide.ResultOK && o.Kind == decide.OpCreate {
			db.recordCreated(o)
		}
	}
	for _, o := range outcomes {
		if o.Result == decide.ResultOK && o.Kind == decide.OpDelete && o.Replaces {
			blank := modules.Row{}
			for i := range o.Subject.Table.Columns {
				if c := &o.Subject.Table.Columns[i]; c.Computed && !c.Required {
					blank[c.Name] = modules.Null
				}
			}
			db.assign(o.Subject.Table, o.Subject.RecordID, blank)
		}
	}
	db.settle(states)
	return nil
}

func (db *database) recordCreated(o store.Outcome) {
	t := o.Subject.Table
	if key, ok := t.Key(o.Subject.Object); ok && o.Replaces {
		known := slices.IndexFunc(db.deposed, func(g *deposedRow) bool {
			return g.table == t && g.scope == o.Subject.Scope && g.key == key
		})
		if known >= 0 { // by the record that had claimed it, and has been given another object
			db.deposed[known].record = o.Subject.RecordID
		} else {
			db.deposed = append(db.deposed, &deposedRow{
				State: decide.State{Name: decide.StateReplacing,
					Binding: decide.Binding{Identity: decide.IdentityOf(t, o.Subject.Object)}},
				table: t, scope: o.Subject.Scope, key: key, record: o.Subject.RecordID, next: db.w.now,
			})
			db.wrote("deposed object")
		}
	}
	vals := modules.Row{}
	for i := range t.Columns {
		c := &t.Columns[i]
		v, told := o.Object[c.Name]
		if r := db.rows[t.Name][o.Subject.RecordID]; told && v.IsNull() && r != nil {
			v = r.vals[c.Name] // what it was, which is written once more
		}
		if c.Computed && told {
			vals[c.Name] = v
		}
	}
	if key, ok := t.Key(o.Object); ok && db.keyAwaited(uniqueKey{t.Name, t.Scope(o.Object), key}, o.Subject.Ref()) {
		return // whether the batch's record has the object is known when it has ended
	}
	db.assign(t, o.Subject.RecordID, vals)
}

// assign writes assigned columns to a record, unless somebody holds it.
func (db *database) assign(t *modules.Table, id int64, vals modules.Row) {
	r := db.rows[t.Name][id]
	if r == nil || len(vals) == 0 || db.locked(ref(t, id)) {
		return
	}
	next := r.vals.Clone()
	for name, v := range vals {
		next[name] = v
	}
	if key, ok := t.Key(next); ok {
		if other := db.byKey(t, t.Scope(next), key); other != nil && other.id != id || db.reserved(t, next) {
			return // a user has adopted the object with another record
		}
	}
	db.put(t, id, next, r.byUser)
	db.wrote("assigned columns")
}

// put makes a new version of a record.
func (db *database) put(t *modules.Table, id int64, vals modules.Row, byUser bool) {
	db.version++
	db.rows[t.Name][id] = &row{id: id, version: db.version, vals: vals, byUser: byUser}
	db.w.check.recordWritten(t, id, vals)
}

// locked reports whether an open transaction holds the record: it wrote it, or
// it wrote a row that references it (FOR KEY SHARE), which an engine that
// changes a key or deletes has to wait for too.
func (db *database) locked(at decide.RecordRef) bool {
	for _, tx := range db.txs {
		if _, wrote := tx.over[at]; wrote || tx.shared[at] {
			return true
		}
	}
	return false
}

// writing reports whether an open transaction has written the record.
func (db *database) writing(at decide.RecordRef) bool {
	for _, tx := range db.txs {
		if _, wrote := tx.over[at]; wrote {
			return true
		}
	}
	return false
}

// errWaits says that a write would wait for an open transaction, which the engine
// does not do: it looks again later.
var errWaits = errors.New("an open transaction holds what the write needs")

// pull writes groups of one table and action, each in one transaction.
func (db *database) pull(lease store.Lease, pulls []store.Pull, between func() error) ([]store.PullResult, error) {
	results := make([]store.PullResult, len(pulls))
	for from := 0; from < len(pulls); {
		to := from + 1
		for to < len(pulls) && pulls[to].Subject.Table == pulls[from].Subject.Table &&
			pulls[to].Action == pulls[from].Action {
			to++
		}
		if from > 0 {
			if err := between(); err != nil {
				return nil, err
			}
		}
		if err := db.pullGroup(lease, pulls[from:to], results[from:to]); err != nil {
			return nil, err
		}
		from = to
	}
	return results, nil
}

// refusedNote is the value a user's own constraint does not allow in net.note.
const refusedNote = "c"

// fill returns a row with every described column.
func (db *database) fill(t *modules.Table, vals modules.Row) modules.Row {
	full := modules.Row{}
	for i := range t.Columns {
		full[t.Columns[i].Name] = vals[t.Columns[i].Name]
	}
	return full
}

// reserved reports whether an open transaction has inserted or renamed a
// record to the identity, whatever it has done to it since: a unique index makes
// others wait (_bt_check_unique in PostgreSQL's nbtinsert.c looks whether the
// transaction goes on before it looks for a deletion).
func (db *database) reserved(t *modules.Table, vals modules.Row) bool {
	key, ok := t.Key(vals)
	if !ok {
		return false
	}
	for _, tx := range db.txs {
		if tx.taken[uniqueKey{t.Name, t.Scope(vals), key}] {
			return true
		}
	}
	return false
}

// leaving reports whether an open transaction takes away a record that a version
// comes to reference: a foreign key makes others wait, when the transaction ends. A reference to
// another region is refused before that. old is nil for a new record.
func (db *database) leaving(t *modules.Table, old, vals modules.Row) bool {
	leaving := false
	for i := range t.Columns {
		c := &t.Columns[i]
		if c.References == nil || vals[c.Name].IsNull() || old[c.Name] == vals[c.Name] {
			continue
		}
		at := decide.RecordRef{Table: c.References.Table, ID: vals[c.Name].Int()}
		parent := db.rows[at.Table][at.ID]
		if parent != nil && parent.vals[modules.ColumnRegion] != vals[modules.ColumnRegion] {
			return false
		}
		leaving = leaving || parent != nil && db.going(at)
	}
	return leaving
}

// going reports whether an open transaction has deleted the record, or moved it to
// another region: it gives up the key by which it is referenced.
func (db *database) going(at decide.RecordRef) bool {
	for _, tx := range db.txs {
		if tx.leaves(db, at) {
			return true
		}
	}
	return false
}

// leaves reports whether the transaction gives up the key of a record.
func (tx *tx) leaves(db *database, at decide.RecordRef) bool {
	vals, wrote := tx.over[at]
	was := db.rows[at.Table][at.ID]
	return wrote && (vals == nil || was != nil && was.vals[modules.ColumnRegion] != vals[modules.ColumnRegion])
}

// unfit returns what is wrong with a version by itself: a column that must have a
// value has none, or a user's constraint does not allow it.
func (db *database) unfit(t *modules.Table, vals modules.Row) error {
	for i := range t.Columns {
		if c := &t.Columns[i]; t.KeepsNotNull(c) && vals[c.Name].IsNull() {
			return fmt.Errorf("%s.%s is NULL", t.Name, c.Name)
		}
	}
	if db.w.constrained && t == net && vals["note"].String() == refusedNote {
		return fmt.Errorf("a user's constraint does not allow note %q", refusedNote)
	}
	return nil
}

// violated returns which foreign key or constraint of a user's a version of a
// record breaks; r is nil for a deleted one.
func (db *database) violated(t *modules.Table, id int64, r *row) error {
	if r == nil {
		for _, child := range tables {
			for i := range child.Columns {
				c := &child.Columns[i]
				if c.References == nil || c.References.Table != t.Name {
					continue
				}
				for _, n := range db.ids(child) {
					other := db.rows[child.Name][n]
					if v := other.vals[c.Name]; !v.IsNull() && v.Int() == id {
						if db.going(ref(child, n)) {
							return errWaits
						}
						return fmt.Errorf("%s %d is still referenced by %s %d", t.Name, id, child.Name, other.id)
					}
				}
			}
		}
		return nil
	}
	if err := db.unfit(t, r.vals); err != nil {
		return err
	}
	for i := range t.Columns {
		c := &t.Columns[i]
		v := r.vals[c.Name]
		if c.References == nil || v.IsNull() {
			continue
		}
		parent := db.rows[c.References.Table][v.Int()]
		if parent == nil || parent.vals[modules.ColumnRegion] != r.vals[modules.ColumnRegion] {
			return fmt.Errorf("%s.%s: no %s %s", t.Name, c.Name, c.References.Table, v)
		}
	}
	return nil
}

func (db *database) settleFor(lease store.Lease, settlements []store.Settlement) error {
	if lease.Fence != db.fence {
		return store.ErrLeaseLost
	}
	if err := db.outdated(lease); err != nil {
		return err
	}
	db.settle(settlements)
	return nil
}

func (db *database) importedFor(lease store.Lease, names []string) error {
	if lease.Fence != db.fence {
		return store.ErrLeaseLost
	}
	for _, n := range names {
		db.imported[n] = true
		db.wrote("imported")
	}
	return nil
}

func (db *database) settle(settlements []store.Settlement) {
	for _, s := range settlements {
		sub := s.Subject
		for _, c := range s.Conflicts {
			db.conflict(sub, c)
		}
		if s.Settle && sub.Change != nil {
			db.settleAudit(sub)
		}
		switch {
		case sub.Deposed && s.Forget:
			key, _ := sub.Table.Key(sub.State.Identity)
			db.deposed = slices.DeleteFunc(db.deposed, func(g *deposedRow) bool {
				gone := g.table == sub.Table && g.scope == sub.Scope && g.key == key
				if gone {
					db.w.check.deposedSettled(g)
					db.wrote("deposed object settled")
				}
				return gone
			})
		case sub.Deposed && s.State != nil:
			key, _ := sub.Table.Key(sub.State.Identity)
			for _, g := range db.deposed {
				if g.table == sub.Table && g.scope == sub.Scope && g.key == key {
					st := s.State
					g.State = decide.State{Name: st.Name, Message: st.Message, Code: st.Code, Review: st.Review,
						Attempts: st.Attempts, Binding: decide.Binding{Identity: g.Identity, SeenGoing: st.SeenGoing}}
					g.next = db.next(st)
					db.wrote("deposed object state")
				}
			}
		case s.Forget && sub.State == nil: // there is nothing to forget
		case s.Forget:
			for _, c := range db.conflicts {
				c.closed = c.closed || c.record == sub.Ref() && c.audit == 0
			}
			if db.states[sub.Ref()] != nil {
				delete(db.states, sub.Ref())
				db.wrote("state forgotten")
			}
		case s.State != nil && sub.RecordID != 0:
			st := &stateRow{State: *s.State, scope: sub.Scope, next: db.next(s.State)}
			if s.Limits != nil && *s.Limits != db.limits {
				st.next = db.w.now // a changed setting made due what was stopped by then
			}
			if sub.Scope.Account == "" {
				db.w.violate("contract", "%v: a state of no account, which no listing would find", sub.Ref())
			}
			st.key, _ = sub.Table.Key(st.Identity)
			db.states[sub.Ref()] = st
			db.wrote(fmt.Sprintf("state of %s %d: %s %s", sub.Table.Name, sub.RecordID, st.Name, st.Message))
			db.w.check.remembered(sub, st)
		}
		if closes := sub.Closes(); s.Settle && closes != "" {
			for _, c := range db.conflicts {
				if c.record == sub.Ref() && c.resolved == "" {
					c.resolved = closes
					db.wrote("conflict resolved")
				}
			}
		}
	}
}

func (db *database) next(st *decide.State) time.Duration {
	switch {
	case st.Backoff > 0:
		return db.w.now + st.Backoff
	case st.Review:
		return never
	}
	return db.w.now
}

func (db *database) conflict(s *decide.Subject, c decide.Conflict) {
	row := &conflictRow{Conflict: c, record: s.Ref(), audit: c.Audit(s.Change)}
	switch {
	case c.PulledAnyway:
		row.resolved = "pulled"
	case !c.Open:
		row.resolved = "pushed"
	}
	for _, old := range db.conflicts {
		if old.record == row.record && old.Column == c.Column && old.audit == row.audit && old.Cloud == c.Cloud {
			if old.audit == 0 && old.closed { // asked anew
				old.Database, old.Base, old.resolved, old.closed = c.Database, c.Base, row.resolved, false
				db.wrote("conflict")
			}
			return
		}
	}
	db.conflicts = append(db.conflicts, row)
	db.wrote("conflict")
}

func (db *database) settleAudit(s *decide.Subject) {
	at := s.Ref()
	var now, left []*auditRow
	for _, a := range db.pending[at] {
		if slices.Contains(s.Change.AuditIDs, a.ID) {
			now = append(now, a)
		} else {
			left = append(left, a)
		}
	}
	if len(now) == 0 {
		return
	}
	if len(left) == 0 {
		delete(db.pending, at)
	} else {
		db.pending[at] = left
	}
	for _, a := range now {
		a.settled, a.settledAt = true, db.w.now
	}
	db.wrote(fmt.Sprintf("settled %s %d", at.Table, at.ID))
	db.w.check.settledIn(at, now)
	db.w.check.settled(s.Table, at, now, left)
}
