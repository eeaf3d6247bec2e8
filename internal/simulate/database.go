package simulate

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"time"

	"iasql/internal/auditlog"
	"iasql/internal/decide"
	"iasql/internal/modes"
	"iasql/internal/modules"
	"iasql/internal/store"
)

// row is a committed version of a record; it is never changed in place.
type row struct {
	id      int64
	version int64
	vals    modules.Row
	// byUser: a user wrote this version.
	byUser bool
}

// auditRow is a row of the audit log that a user wrote.
type auditRow struct {
	auditlog.Entry
	table   *modules.Table
	key     string        // as iasql_audit_log.key, "" for NULL
	scope   modules.Scope // where the key was
	change  modules.Row
	at      time.Duration
	settled bool
	// settledAt is when it was settled.
	settledAt time.Duration
	committed time.Duration
	batch     int64 // 0 for none
}

// deletion is what the audit log says of a record's deletion.
type deletion struct {
	audit int64
	key   string
}

type stateRow struct {
	decide.State
	scope modules.Scope
	key   string
	next  time.Duration
}

type deposedRow struct {
	decide.State
	table  *modules.Table
	scope  modules.Scope
	key    string
	record int64
	next   time.Duration
}

type conflictRow struct {
	decide.Conflict
	record   decide.RecordRef
	audit    int64
	resolved string
	closed   bool // of drift: it has been dealt with
}

// listingKey is where a table was listed.
type listingKey struct {
	table string
	scope modules.Scope
}

type listingRow struct {
	store.Listing
	tried, changed time.Duration
	news           bool          // ever
	listed         time.Duration // when the last complete one began
	last           bool          // the last one was complete
}

type opRow struct {
	decide.Intent
	id             int64
	started, ended time.Duration
	at             time.Duration // its last sign of life: it began, succeeded, or its answer was lost
}

// never is the next attempt of what waits for a person.
const never = time.Duration(1<<63 - 1)

// database has the semantics of package postgres: its methods are what one
// statement or one transaction there does, and sees only what is committed.
type database struct {
	w         *world
	nextID    map[string]int64
	rows      map[string]map[int64]*row
	version   int64
	nextAudit int64
	log       map[decide.RecordRef][]*auditRow // committed, by id
	pending   map[decide.RecordRef][]*auditRow // of these, not settled
	deleted   map[decide.RecordRef]deletion    // the newest of each that had an identity
	txs       map[int]*tx
	rules     []modes.Rule
	hold      bool
	// protection and askDrift are what people say must stay, see protection.go.
	protection decide.Protection
	askDrift   bool
	limits     decide.DeleteLimits
	// identity is who the account is, and heldFor why nothing is done about it.
	identity, heldFor string
	// restored says that the database has gone back in time, and nobody has looked at what is pending.
	restored string
	// wentBack is how far the logs went then, and wentBackAt when that was.
	wentBack   decide.Moment
	wentBackAt time.Duration
	imported   map[string]bool
	states     map[decide.RecordRef]*stateRow
	deposed    []*deposedRow
	conflicts  []*conflictRow
	ops        []*opRow
	listings   map[listingKey]*listingRow
	hints      []*hintRow // that are to be looked into
	nextHint   int64
	found      map[decide.RecordRef]time.Duration // when an engine last inserted the record
	fence      int64
	lastBatch  int64
	batches    map[int64]*batchRow // those that are open
	sessions   map[int]int64       // the batch that a slot works in
	staged     map[decide.RecordRef]stagedRow
	stagedKeys map[uniqueKey]map[int64]int64
	needed     map[decide.RecordRef]map[int64]bool // by which batches
	// configurations are what is in force, declarations what is being declared in batches that are open.
	configurations map[int]mentions
	declarations   map[int64][]*declaration
	expiries       map[decide.RecordRef]*expiry
	// writes counts what the engine wrote, for R12; lastWrite says what.
	writes    int
	lastWrite string
}

func newDatabase(w *world) *database {
	db := &database{
		w: w, nextID: map[string]int64{}, rows: map[string]map[int64]*row{}, log: map[decide.RecordRef][]*auditRow{},
		pending: map[decide.RecordRef][]*auditRow{}, deleted: map[decide.RecordRef]deletion{}, txs: map[int]*tx{},
		imported: map[string]bool{},
		states:   map[decide.RecordRef]*stateRow{}, protection: decide.Protection{},
		found: map[decide.RecordRef]time.Duration{}, listings: map[listingKey]*listingRow{},
		batches: map[int64]*batchRow{}, sessions: map[int]int64{}, staged: map[decide.RecordRef]stagedRow{},
		stagedKeys: map[uniqueKey]map[int64]int64{},
		needed:     map[decide.RecordRef]map[int64]bool{}, limits: decide.DeleteLimits{Max: 100, Ratio: 1, Floor: 5},
		configurations: map[int]mentions{}, declarations: map[int64][]*declaration{},
		expiries: map[decide.RecordRef]*expiry{},
	}
	for _, t := range tables {
		db.rows[t.Name] = map[int64]*row{}
	}
	return db
}

func (db *database) wrote(what string) {
	db.writes++
	db.lastWrite = what
	db.w.trace("      db: %s", what)
	if r := db.w.check.run(); r != nil && r.lease.Fence != db.fence {
		db.w.violate("R15", "an engine whose lease was taken over wrote: %s", what)
	}
}

// ids returns the ids of a table's committed rows, ascending.
func (db *database) ids(t *modules.Table) []int64 {
	list := make([]int64, 0, len(db.rows[t.Name]))
	for id := range db.rows[t.Name] {
		list = append(list, id)
	}
	slices.Sort(list)
	return list
}

func (db *database) refs() []decide.RecordRef {
	seen := map[decide.RecordRef]bool{}
	var list []decide.RecordRef
	add := func(r decide.RecordRef) {
		if !seen[r] {
			seen[r] = true
			list = append(list, r)
		}
	}
	for r := range db.pending {
		add(r)
	}
	for r := range db.states {
		add(r)
	}
	sortRefs(list)
	return list
}

// sortRefs sorts by table and number.
func sortRefs(list []decide.RecordRef) {
	slices.SortFunc(list, func(a, b decide.RecordRef) int {
		return cmp.Or(cmp.Compare(a.Table, b.Table), cmp.Compare(a.ID, b.ID))
	})
}

// allRecords returns all records that are there.
func (db *database) allRecords() (list []decide.RecordRef) {
	for _, t := range tables {
		for id := range db.rows[t.Name] {
			list = append(list, ref(t, id))
		}
	}
	sortRefs(list)
	return list
}

// due are the records to be looked at that a batch has staged, or for 0 none has.
func (db *database) due(batch int64) []decide.RecordRef {
	return slices.DeleteFunc(db.refs(), func(at decide.RecordRef) bool { return db.staged[at].batch != batch })
}

func (db *database) byKey(t *modules.Table, scope modules.Scope, key string) *row {
	for _, r := range db.rows[t.Name] {
		if k, ok := t.Key(r.vals); ok && k == key && t.Scope(r.vals) == scope {
			return r
		}
	}
	return nil
}

func (db *database) records(t *modules.Table, scope modules.Scope, each func(id int64, key string) error) error {
	for _, id := range db.ids(t) {
		row := db.rows[t.Name][id]
		if key, ok := t.Key(row.vals); ok && t.Scope(row.vals) == scope {
			if err := each(id, key); err != nil {
				return err
			}
		}
	}
	return nil
}

// within returns the keys of the records within which a table's objects are listed.
func (db *database) within(t *modules.Table, of string) (keys []string) {
	ref := t.ListedWithin().References
	parent := registry.Table(ref.Table)
	for _, id := range db.ids(parent) {
		if row := db.rows[parent.Name][id].vals; row[modules.ColumnAccount].String() == of && row[ref.ListedIf].Bool() {
			keys = append(keys, row[ref.Key].String())
		}
	}
	return keys
}

// keyOf returns the cloud's name for a record: its row's, or its state's, unless
// another record stands for that object by its row.
func (db *database) keyOf(t *modules.Table, id int64) (string, bool) {
	r := db.rows[t.Name][id]
	if r == nil {
		return "", false
	}
	if k, ok := t.Key(r.vals); ok {
		return k, true
	}
	if st := db.states[ref(t, id)]; st != nil && st.key != "" && db.byKey(t, t.Scope(r.vals), st.key) == nil {
		return st.key, true
	}
	return "", false
}

func (db *database) settings() store.Settings {
	s := store.Settings{Rules: modes.New(db.rules), Version: db.ruled(), HoldConflicts: db.hold,
		Protection: maps.Clone(db.protection), AskDrift: db.askDrift, Deletes: db.limits, ConsistencyWindow: window,
		MaxStaleness: staleness, Imported: map[string]bool{}, Watched: map[string]bool{},
		WatchedStaleness: 4 * staleness, Events: db.w.events, Identity: db.identity, Held: db.heldFor,
		Restored: db.restored, WentBack: db.wentBack, WentBackAge: db.w.now - db.wentBackAt}
	for t := range db.imported {
		s.Imported[t] = true
	}
	for _, region := range append(regions, "") {
		if db.w.watched {
			s.Watched[region] = true
		}
	}
	return s
}

func (db *database) match(t *modules.Table, scope modules.Scope, objects []modules.Row) []store.Match {
	matches := make([]store.Match, len(objects))
	for i, o := range objects {
		key, ok := t.Key(o)
		if !ok {
			continue
		}
		m := &matches[i]
		if r := db.byKey(t, scope, key); r != nil {
			m.Record = record(t, r)
			m.Pending = len(db.pending[ref(t, r.id)]) > 0 || db.staged[ref(t, r.id)].batch != 0
			m.Remembered = db.states[ref(t, r.id)] != nil
		} else {
			m.Pending = db.pendingKey(t, scope, key, nil)
			for batch := range db.stagedKeys[uniqueKey{t.Name, scope, key}] {
				if m.Pending = true; m.Batch == 0 || batch < m.Batch {
					m.Batch = batch
				}
			}
			for at, st := range db.states {
				if at.Table == t.Name && st.key == key && st.scope.Account == scope.Account &&
					t.Scope(st.Identity).Region == scope.Region {
					m.Remembered, m.RememberedBy = true, append(m.RememberedBy, at.ID)
				}
			}
			slices.Sort(m.RememberedBy)
		}
		for _, d := range db.deposed {
			m.Deposed = m.Deposed || d.table == t && d.scope == scope && d.key == key
		}
	}
	return matches
}

// pendingKey reports whether an unsettled audit row took the key from a
// record of the scope; those of except do not count.
func (db *database) pendingKey(t *modules.Table, scope modules.Scope, key string, except []int64) bool {
	for at, list := range db.pending {
		if at.Table != t.Name {
			continue
		}
		for _, a := range list {
			if a.key == key && a.scope == scope && !slices.Contains(except, a.ID) {
				return true
			}
		}
	}
	return false
}

// record returns a record as it is read. Its row has no secrets: see load.
func record(t *modules.Table, r *row) *decide.Record {
	vals := r.vals.Clone()
	for i := range t.Columns {
		if c := &t.Columns[i]; c.WriteOnly {
			vals[c.Name] = modules.Null
		}
	}
	return &decide.Record{ID: r.id, Version: strconv.FormatInt(r.version, 10), Row: vals}
}

// waitingSecret returns the secret that waits to be pushed: what the newest
// pending change of the column set. Once that is settled nobody can read it.
func (db *database) waitingSecret(at decide.RecordRef, column string) (v modules.Value) {
	for _, a := range db.pending[at] {
		if set, ok := a.change[column]; ok {
			v = set
		}
	}
	return v
}

func (db *database) load(t *modules.Table, ids []int64) []*decide.Subject {
	var subjects []*decide.Subject
	for _, id := range ids {
		at := ref(t, id)
		s := &decide.Subject{Table: t, RecordID: id, Batch: db.staged[at].batch}
		if r := db.rows[t.Name][id]; r != nil {
			s.Record = record(t, r)
			for i := range t.Columns {
				if c := &t.Columns[i]; c.WriteOnly && !r.vals[c.Name].IsNull() {
					s.Record.Row[c.Name] = db.waitingSecret(at, c.Name)
				}
			}
			s.RefKeys = modules.Row{}
			for i := range t.Columns {
				c := &t.Columns[i]
				if c.References == nil || r.vals[c.Name].IsNull() {
					continue
				}
				if key, ok := db.keyOf(registry.Table(c.References.Table), r.vals[c.Name].Int()); ok {
					s.RefKeys[c.Name] = modules.Text(key)
				}
			}
		}
		for _, a := range db.pending[at] {
			s.Change = s.Change.Fold(t, a.Entry)
		}
		if st := db.states[at]; st != nil {
			c := st.State
			c.Due = st.next <= db.w.now
			c.Backoff = 0
			for _, conflict := range db.conflicts {
				if conflict.record == at && (conflict.resolved == "database" || conflict.resolved == "cloud") &&
					(conflict.audit == 0 && !conflict.closed || db.unsettled(at, conflict.audit)) {
					c.Resolution = conflict.resolved
				}
			}
			s.State = &c
		}
		if s.Record == nil && s.Change == nil && s.State == nil {
			continue
		}
		if s.State != nil && s.Change.Latest() > s.State.FailedAt {
			s.State.Due = true
			s.State.Unconfirmed = 0
		}
		subjects = append(subjects, s)
	}
	return subjects
}

func (db *database) unsettled(at decide.RecordRef, audit int64) bool {
	return slices.ContainsFunc(db.pending[at], func(a *auditRow) bool { return a.ID == audit })
}

func (db *database) deposedSubjects(batch int64) []*decide.Subject {
	var list []*decide.Subject
	for _, g := range db.deposed {
		if db.staged[ref(g.table, g.record)].batch != batch {
			continue
		}
		st := g.State
		st.Due, st.Backoff = g.next <= db.w.now, 0
		list = append(list, &decide.Subject{Deposed: true, Table: g.table, RecordID: g.record, State: &st,
			Batch: batch})
	}
	return list
}

func (db *database) dependents(table string, ids []int64) []decide.RecordRef {
	var list []decide.RecordRef
	for _, t := range tables {
		for _, id := range db.ids(t) {
			for i := range t.Columns {
				c := &t.Columns[i]
				if v := db.rows[t.Name][id].vals[c.Name]; c.References != nil && c.References.Table == table &&
					!v.IsNull() && slices.Contains(ids, v.Int()) {
					if r := ref(t, id); len(list) == 0 || list[len(list)-1] != r {
						list = append(list, r)
					}
				}
			}
		}
	}
	return list
}

func (db *database) toDatabase(t *modules.Table, scope modules.Scope, rows []modules.Row) {
	for i := range t.Columns {
		c := &t.Columns[i]
		if c.References == nil {
			continue
		}
		parent := registry.Table(c.References.Table)
		for _, o := range rows {
			v, ok := o[c.Name]
			if !ok || v.IsNull() {
				continue
			}
			id, leaving, known := db.recordOf(parent, scope, v.String())
			switch {
			case !known:
				delete(o, c.Name)
			case leaving:
				o[c.Name] = modules.Outgoing(id)
			default:
				o[c.Name] = modules.Int(id)
			}
		}
	}
}

func (db *database) recordOf(t *modules.Table, scope modules.Scope, key string) (id int64, leaving, known bool) {
	if scope.Account != account {
		return 0, false, false
	}
	if r := db.byKey(t, scope, key); r != nil {
		return r.id, false, true
	}
	// Of several that the object may be known by, the one with the lowest id.
	var gone, by int64             // a record that is no more; one that has replaced its object
	for _, at := range db.refs() { // in the order of ids
		if st := db.states[at]; st != nil && at.Table == t.Name && st.key == key {
			if db.rows[t.Name][at.ID] != nil {
				return at.ID, false, true
			}
			if gone == 0 {
				gone = at.ID
			}
		}
		for _, a := range db.pending[at] {
			if gone == 0 && at.Table == t.Name && a.Type == "DELETE" && a.key == key {
				gone = at.ID
			}
		}
	}
	for _, g := range db.deposed {
		if g.table == t && g.key == key {
			if !leaving || g.record < by {
				by = g.record
			}
			leaving = true
		}
	}
	if leaving {
		return by, true, true
	}
	return gone, gone != 0, gone != 0
}

func (db *database) toCloud(t *modules.Table, rows []modules.Row) {
	for i := range t.Columns {
		c := &t.Columns[i]
		if c.References == nil {
			continue
		}
		parent := registry.Table(c.References.Table)
		for _, r := range rows {
			if v := r[c.Name]; !v.IsNull() {
				if key, ok := db.keyOf(parent, v.Int()); ok {
					r[c.Name] = modules.Text(key)
				} else if key := db.lastKey(parent, v.Int()); key != "" {
					r[c.Name] = modules.Text(key)
				} else {
					r[c.Name] = modules.Null
				}
			}
		}
	}
}

// lastKey returns the identity a deleted record had, whoever deleted it.
func (db *database) lastKey(t *modules.Table, id int64) string {
	if db.rows[t.Name][id] != nil {
		return ""
	}
	return db.deleted[ref(t, id)].key
}

// logDeletion notes the identity that a record had when an audit row of its
// deletion was written.
func (db *database) logDeletion(at decide.RecordRef, audit int64, key string) {
	if key != "" && audit > db.deleted[at].audit {
		db.deleted[at] = deletion{audit, key}
	}
}

func (db *database) recent() []*decide.Intent {
	var list []*decide.Intent
	for _, op := range db.ops {
		unsure := op.Key != "" && op.Unsure()
		if (op.Result == decide.ResultOK || unsure) && op.at > db.w.now-window {
			list = append(list, &decide.Intent{IDs: []int64{op.id}, Record: op.Record, Scope: op.Scope, Kind: op.Kind,
				Key:     op.Key,
				Columns: op.Columns, UpTo: op.UpTo, Result: op.Result})
		}
	}
	return list
}

// listed remembers listings.
func (db *database) listed(lease store.Lease, ended, gone []store.Listing) error {
	if lease.Fence != db.fence {
		return store.ErrLeaseLost
	}
	for _, l := range gone {
		delete(db.listings, listingKey{l.Table, l.Scope})
	}
	for _, l := range ended {
		if l.Failed != "" {
			continue
		}
		at := listingKey{l.Table, l.Scope}
		r := db.listings[at]
		if r == nil {
			r = &listingRow{Listing: store.Listing{Table: l.Table, Scope: l.Scope}}
			db.listings[at] = r
		}
		r.tried, r.Rules, r.Denied, r.Partly, r.Within = db.w.now-l.Age, l.Rules, l.Denied, l.Partly, l.Within
		r.Complete, r.last = r.Complete || l.Complete, l.Complete
		if l.Complete {
			r.listed = r.tried
		}
		if l.Denied == "" || l.Partly {
			r.Objects = l.Objects
		}
		if l.News {
			r.changed, r.news = r.tried, true
		}
	}
	return nil
}

// remembered returns what is remembered of listings.
func (db *database) remembered() []store.Listing {
	list := make([]store.Listing, 0, len(db.listings))
	for _, r := range db.listings {
		l := r.Listing
		l.Age, l.Quiet = db.w.now-r.tried, -time.Second
		if r.news {
			l.Quiet = max(db.w.now-r.changed, 0)
		}
		list = append(list, l)
	}
	return list
}

// foundAt returns when an engine last inserted the record, or its INSERT was last settled.
func (db *database) foundAt(at decide.RecordRef) (when time.Duration, ok bool) {
	when, ok = db.found[at]
	for _, a := range db.log[at] {
		if a.Type == "INSERT" && a.settled {
			when, ok = max(when, a.settledAt), true
		}
	}
	return when, ok
}

// foundLately returns the records that were found within the window.
func (db *database) foundLately(t *modules.Table, ids []int64) []int64 {
	var list []int64
	for _, id := range ids {
		if at, ok := db.foundAt(ref(t, id)); ok && at > db.w.now-window {
			list = append(list, id)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

func (op *opRow) open() bool { return op.Result == "" || op.Result == decide.ResultUnknown }

func (db *database) inDoubt() []decide.Intent {
	type group struct {
		record decide.RecordRef
		kind   decide.OpKind
		scope  modules.Scope
		token  string
		key    string // but of creations
	}
	index := map[group]int{}
	var list []decide.Intent
	for _, op := range db.ops {
		if !op.open() {
			continue
		}
		g := group{op.Record, op.Kind, op.Scope, op.Token, op.Key}
		if op.Kind == decide.OpCreate {
			g.key = ""
		}
		i, ok := index[g]
		if !ok {
			i = len(list)
			index[g] = i
			list = append(list, decide.Intent{Record: op.Record, Scope: op.Scope, Kind: op.Kind, Token: op.Token,
				Columns: op.Columns, Expired: true})
		}
		o := &list[i]
		o.IDs = append(o.IDs, op.id)
		o.Key, o.Request = max(o.Key, op.Key), max(o.Request, op.Request)
		o.UpTo, o.Replaces = max(o.UpTo, op.UpTo), o.Replaces || op.Replaces
		o.Expired = o.Expired && op.at < db.w.now-2*window
	}
	return list
}

// count returns the number of a table's records in a scope; without a region, of all.
func (db *database) count(table string, scope modules.Scope) (n int) {
	for _, r := range db.rows[table] {
		if scope.Region == "" || r.vals[modules.ColumnRegion].String() == scope.Region {
			n++
		}
	}
	return n
}

// identified remembers who the account says it is.
func (db *database) identified(lease store.Lease, v decide.Verdict) error {
	if lease.Fence != db.fence {
		return store.ErrLeaseLost
	}
	if v.Pin && db.identity == "" {
		db.identity = v.Said
	}
	if db.heldFor != v.Held {
		db.heldFor = v.Held
		db.wrote("who the account is")
	}
	return nil
}

// creations counts the creations of records that ended.
func (db *database) creations(table string, ids []int64) map[int64]int64 {
	made := map[int64]int64{}
	for _, op := range db.ops {
		if op.Record.Table == table && op.Kind == decide.OpCreate &&
			(op.Result == decide.ResultOK || op.Result == decide.ResultFailed && op.Request != "") &&
			slices.Contains(ids, op.Record.ID) {
			made[op.Record.ID]++
		}
	}
	return made
}
