package simulate

import (
	"context"
	"slices"
	"strconv"
	"time"

	"iasql/internal/decide"
	"iasql/internal/modes"
	"iasql/internal/modules"
	"iasql/internal/store"
)

// Account is the account of the simulated world, the only one.
const Account = account

// Window is the consistency window of the simulated world.
const Window = window

// Regions returns the regions of the account.
func Regions() []string { return slices.Clone(regions) }

// Tables returns the tables of the simulated cloud.
func Tables() []*modules.Table { return slices.Clone(tables) }

// tableNames returns the names of the simulated tables, in order.
func tableNames() []string {
	names := make([]string, len(tables))
	for i, t := range tables {
		names[i] = t.Name
	}
	return names
}

// Value returns one of the values that people write into a column.
func Value(column string, pick int) modules.Value { return value(column, pick) }

// Store is the simulated database by itself: without engines, cloud and checker.
// Besides [store.Store] it has what people do to a database. Package storetest
// compares it with PostgreSQL.
//
// A method that takes a slot acts in the transaction of that slot, which it
// begins if need be; slot 0 commits after each statement. A statement that
// would wait for another transaction is refused.
type Store struct{ w *world }

var _ store.Store = (*Store)(nil)

// NewStore returns an empty database whose account nobody has a lease of.
func NewStore() *Store {
	w := &world{now: time.Hour, trackedTables: map[string]bool{}, importedOnce: map[string]bool{},
		listedOnce: map[objectKey]int{}, deniedOnce: map[objectKey]bool{}}
	w.db, w.cloud = newDatabase(w), newCloud(w)
	return &Store{w}
}

// Close ends the store.
func (s *Store) Close() {}

// Constrain adds a constraint of a user's: column note of table net must not be
// [RefusedNote].
func (s *Store) Constrain(context.Context) error {
	s.w.constrained = true
	return nil
}

// RefusedNote is what the constraint does not allow.
const RefusedNote = refusedNote

// Take takes the lease of the account over from whoever has it.
func (s *Store) Take(context.Context) (store.Lease, error) {
	s.w.db.fence++
	return store.Lease{Account: account, Fence: s.w.db.fence, Cycle: s.w.db.fence}, nil
}

// Insert is INSERT; id 0 takes the next one. It returns the record's id, and
// whether the statement was accepted.
func (s *Store) Insert(_ context.Context, slot int, table string, id int64, row modules.Row) (int64, bool, error) {
	tx := s.w.db.tx(slot)
	ok := s.w.db.insert(tx, registry.Table(table), id, row.Clone())
	if ok {
		id = tx.audit[len(tx.audit)-1].RecordID
	}
	return id, s.ended(slot) && ok, nil
}

// Update is UPDATE of one record. It returns whether anything was changed.
func (s *Store) Update(_ context.Context, slot int, table string, id int64, set modules.Row) (bool, error) {
	ok := s.w.db.update(s.w.db.tx(slot), registry.Table(table), id, set)
	return s.ended(slot) && ok, nil
}

// Delete is DELETE of one record. It returns whether it was deleted.
func (s *Store) Delete(_ context.Context, slot int, table string, id int64) (bool, error) {
	ok := s.w.db.remove(s.w.db.tx(slot), registry.Table(table), id)
	return s.ended(slot) && ok, nil
}

func (s *Store) ended(slot int) bool { return slot != 0 || s.w.db.commit(0) }

// Commit commits the transaction of a slot. It returns whether that was not rolled
// back instead.
func (s *Store) Commit(_ context.Context, slot int) (bool, error) {
	return s.w.db.commit(slot), nil
}

// Rollback rolls the transaction of a slot back.
func (s *Store) Rollback(_ context.Context, slot int) error {
	s.w.db.rollback(slot)
	return nil
}

// AddRule inserts into iasql_mode. It returns whether the rule was accepted.
func (s *Store) AddRule(_ context.Context, r modes.Rule) (bool, error) {
	db := s.w.db
	t := registry.Table(r.Table)
	switch {
	case r.Table == "" && (r.RecordID != 0 || r.Column != ""), r.Table != "" && t == nil:
		return false, nil
	case r.Column != "" && t.Column(r.Column) == nil, r.RecordID != 0 && db.rows[r.Table][r.RecordID] == nil:
		return false, nil
	case db.ruleAt(r) >= 0:
		return false, nil
	}
	db.rules = append(slices.Clone(db.rules), r)
	db.release()
	return true, nil
}

// DropRule deletes the rule of that target from iasql_mode. It returns whether
// there was one.
func (s *Store) DropRule(_ context.Context, r modes.Rule) (bool, error) {
	i := s.w.db.ruleAt(r)
	if i < 0 {
		return false, nil
	}
	s.w.db.rules = slices.Delete(slices.Clone(s.w.db.rules), i, i+1)
	s.w.db.release()
	return true, nil
}

// ruleAt returns the index of the rule of a target, -1 if there is none.
func (db *database) ruleAt(r modes.Rule) int {
	return slices.IndexFunc(db.rules, func(o modes.Rule) bool {
		return o.Table == r.Table && o.RecordID == r.RecordID && o.Column == r.Column
	})
}

// Protect is iasql_protect and iasql_unprotect; id 0 is the whole table. It returns
// whether the rule has changed.
func (s *Store) Protect(_ context.Context, table string, id int64, protected bool) (bool, error) {
	if protected && id != 0 && s.w.db.rows[table][id] == nil {
		return false, nil
	}
	return s.w.db.protect(decide.RecordRef{Table: table, ID: id}, protected), nil
}

// Set updates iasql_settings. It returns whether the value was accepted.
func (s *Store) Set(_ context.Context, name, value string) (bool, error) {
	db := s.w.db
	n, notInt := strconv.Atoi(value)
	f, notFloat := strconv.ParseFloat(value, 64)
	switch name {
	case "conflict_policy":
		if value != "push" && value != "hold" {
			return false, nil
		}
		db.hold = value == "hold"
	case "drift":
		if value != "pull" && value != "ask" {
			return false, nil
		}
		db.askDrift = value == "ask"
	case "max_deletes":
		if notInt != nil || n < 0 {
			return false, nil
		}
		db.limits.Max = n
	case "delete_ratio_floor":
		if notInt != nil || n < 0 {
			return false, nil
		}
		db.limits.Floor = n
	case "max_delete_ratio":
		if notFloat != nil || f < 0 || f > 1 {
			return false, nil
		}
		db.limits.Ratio = f
	default:
		return false, nil
	}
	db.settingChanged()
	return true, nil
}

// OpenBatch opens a batch of the session of a slot, which has no transaction open,
// and returns its id; 0 if the session works in a batch already.
func (s *Store) OpenBatch(_ context.Context, slot int) (int64, error) {
	return s.w.db.openBatch(slot), nil
}

// CloseBatch closes the session's batch and keeps its changes. It returns false if
// there is none.
func (s *Store) CloseBatch(_ context.Context, slot int) (bool, error) {
	b := s.w.db.batches[s.w.db.sessions[slot]]
	if b != nil {
		s.w.db.closeBatch(b, true)
	}
	return b != nil, nil
}

// RollbackBatch undoes the session's batch. It returns false if there is none, or if
// somebody stands in the way.
func (s *Store) RollbackBatch(_ context.Context, slot int) (bool, error) {
	b := s.w.db.batches[s.w.db.sessions[slot]]
	return b != nil && b.phase == "open" && s.w.db.rollbackBatch(b), nil
}

// BeginCommit closes the session's batch to edits. It returns false if there is none
// that is open, or somebody edits in it.
func (s *Store) BeginCommit(_ context.Context, slot int) (bool, error) {
	b := s.w.db.batches[s.w.db.sessions[slot]]
	if b == nil || b.phase != "open" {
		return false, nil
	}
	for _, tx := range s.w.db.txs {
		if tx.batch == b.id && len(tx.audit) > 0 {
			return false, nil
		}
	}
	b.phase, b.waiting = "committing", nil
	return true, nil
}

// RevertBatch writes back the records of the session's batch, whose commit was begun.
// It returns false if there is none, or if somebody stands in the way.
func (s *Store) RevertBatch(_ context.Context, slot int) (bool, error) {
	b := s.w.db.batches[s.w.db.sessions[slot]]
	if b == nil || b.phase != "committing" || s.w.db.held(b) {
		return false, nil
	}
	s.w.db.restoreBatch(b)
	return true, nil
}

// Editing reports whether a slot has a transaction open.
func (s *Store) Editing(slot int) bool { return s.w.db.txs[slot] != nil }

// Decide resolves the n-th conflict in favour of "database" or "cloud". It returns
// whether it was open.
func (s *Store) Decide(_ context.Context, n int, how string) (bool, error) {
	db := s.w.db
	if n >= len(db.conflicts) || db.conflicts[n].resolved != "" {
		return false, nil
	}
	db.resolveConflict(db.conflicts[n], how)
	return true, nil
}

// Retry is iasql_retry.
func (s *Store) Retry(_ context.Context, table string, id int64) (bool, error) {
	return s.w.db.retry(decide.RecordRef{Table: table, ID: id}), nil
}

// Pass lets time pass.
func (s *Store) Pass(_ context.Context, d time.Duration) error {
	s.w.now += d
	return nil
}

// Rows returns what SELECT shows of a table, by id.
func (s *Store) Rows(_ context.Context, table string) ([]*decide.Record, error) {
	t := registry.Table(table)
	var list []*decide.Record
	for _, id := range s.w.db.ids(t) {
		r := record(t, s.w.db.rows[table][id])
		for i := range t.Columns {
			if c := &t.Columns[i]; c.WriteOnly && !s.w.db.rows[table][id].vals[c.Name].IsNull() {
				r.Row[c.Name] = modules.Text(mask)
			}
		}
		list = append(list, r)
	}
	return list, nil
}

// ConflictRow is a row of iasql_conflicts.
type ConflictRow struct {
	decide.Conflict
	Record   decide.RecordRef
	Audit    int64
	Resolved string
}

// Conflicts returns iasql_conflicts, oldest first. Open and PulledAnyway are what
// Resolved says, and not filled in.
func (s *Store) Conflicts(context.Context) ([]ConflictRow, error) {
	var list []ConflictRow
	for _, c := range s.w.db.conflicts {
		row := ConflictRow{Conflict: c.Conflict, Record: c.record, Audit: c.audit, Resolved: c.resolved}
		row.Open, row.PulledAnyway = false, false
		list = append(list, row)
	}
	return list, nil
}

// The methods of store.Store.

// Regions implements [store.Store].
func (s *Store) Regions(_ context.Context, provider, of string) ([]string, error) {
	if of != account || provider != tables[0].Provider {
		return nil, nil
	}
	return Regions(), nil
}

// Settings implements [store.Store].
func (s *Store) Settings(context.Context, string) (store.Settings, error) {
	settings := s.w.db.settings()
	settings.Provider, settings.Tables = tables[0].Provider, tableNames()
	return settings, nil
}

// Match implements [store.Store].
func (s *Store) Match(_ context.Context, t *modules.Table, scope modules.Scope,
	identities []modules.Row) ([]store.Match, error) {
	return s.w.db.match(t, scope, identities), nil
}

// Keys implements [store.Store].
func (s *Store) Keys(_ context.Context, t *modules.Table, scope modules.Scope, each func(int64, string) error) error {
	return s.w.db.records(t, scope, each)
}

// Within implements [store.Store].
func (s *Store) Within(_ context.Context, t *modules.Table, of string) ([]string, error) {
	return s.w.db.within(t, of), nil
}

// Due implements [store.Store].
func (s *Store) Due(_ context.Context, of string, batch int64) ([]decide.RecordRef, []*decide.Subject, error) {
	if of != account {
		return nil, nil, nil
	}
	return s.w.db.due(batch), s.w.db.deposedSubjects(batch), nil
}

// Load implements [store.Store].
func (s *Store) Load(_ context.Context, t *modules.Table, ids []int64) ([]*decide.Subject, error) {
	return s.w.db.load(t, ids), nil
}

// Found implements [store.Store].
func (s *Store) Found(_ context.Context, t *modules.Table, ids []int64, _ time.Duration) ([]int64, error) {
	return s.w.db.foundLately(t, ids), nil
}

// Creations implements [store.Store].
func (s *Store) Creations(_ context.Context, table string, ids []int64) (map[int64]int64, error) {
	return s.w.db.creations(table, ids), nil
}

// Dependents implements [store.Store].
func (s *Store) Dependents(_ context.Context, table string, ids []int64) ([]decide.RecordRef, error) {
	return s.w.db.dependents(table, ids), nil
}

// Identified implements [store.Store].
func (s *Store) Identified(_ context.Context, lease store.Lease, v decide.Verdict) error {
	return s.w.db.identified(lease, v)
}

// Count implements [store.Store].
func (s *Store) Count(_ context.Context, table string, scope modules.Scope) (int, error) {
	if scope.Account != account {
		return 0, nil
	}
	return s.w.db.count(table, scope), nil
}

// ToDatabase implements [store.Store].
func (s *Store) ToDatabase(_ context.Context, t *modules.Table, scope modules.Scope, rows []modules.Row) error {
	s.w.db.toDatabase(t, scope, rows)
	return nil
}

// ToCloud implements [store.Store].
func (s *Store) ToCloud(_ context.Context, t *modules.Table, rows []modules.Row) error {
	s.w.db.toCloud(t, rows)
	return nil
}

// Intents implements [store.Store].
func (s *Store) Intents(_ context.Context, of string, _ time.Duration) ([]*decide.Intent, []decide.Intent, error) {
	if of != account {
		return nil, nil, nil
	}
	return s.w.db.recent(), s.w.db.inDoubt(), nil
}

// Begin implements [store.Store].
func (s *Store) Begin(_ context.Context, lease store.Lease, intent decide.Intent) (int64, error) {
	return s.w.db.begin(lease, intent)
}

// Finish implements [store.Store].
func (s *Store) Finish(_ context.Context, lease store.Lease, outcomes []store.Outcome) error {
	return s.w.db.finish(lease, outcomes)
}

// Pull implements [store.Store].
func (s *Store) Pull(_ context.Context, lease store.Lease, pulls []store.Pull) ([]store.PullResult, error) {
	return s.w.db.pull(lease, pulls, func() error { return nil })
}

// Settle implements [store.Store].
func (s *Store) Settle(_ context.Context, lease store.Lease, settlements []store.Settlement) error {
	return s.w.db.settleFor(lease, settlements)
}

// Listings implements [store.Store].
func (s *Store) Listings(_ context.Context, of string) ([]store.Listing, error) {
	if of != account {
		return nil, nil
	}
	return s.w.db.remembered(), nil
}

// Listed implements [store.Store].
func (s *Store) Listed(_ context.Context, lease store.Lease, ended, gone []store.Listing) error {
	return s.w.db.listed(lease, ended, gone)
}

// Imported implements [store.Store].
func (s *Store) Imported(_ context.Context, lease store.Lease, names []string) error {
	return s.w.db.importedFor(lease, names)
}

// Tell has an event come that hints at a place, from so long ago.
func (s *Store) Tell(_ context.Context, hint store.Hint, ago time.Duration) error {
	s.w.db.tell(hint, s.w.now-ago, s.w.now)
	return nil
}

// Hints implements [store.Store].
func (s *Store) Hints(_ context.Context, of string) ([]store.Hint, error) {
	if of != account {
		return nil, nil
	}
	return s.w.db.hintsDue(), nil
}

// Looked implements [store.Store].
func (s *Store) Looked(_ context.Context, lease store.Lease, looked []store.Look, listed []store.ListedPlace) error {
	return s.w.db.looked(lease, looked, listed)
}

// Named implements [store.Store].
func (s *Store) Named(_ context.Context, t *modules.Table, scope modules.Scope, column string,
	values []string) ([]store.Named, error) {
	return s.w.db.having(t, scope, column, values), nil
}
