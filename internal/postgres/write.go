package postgres

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"iasql/internal/auditlog"
	"iasql/internal/decide"
	"iasql/internal/modules"
	"iasql/internal/store"
)

// leaseLost is the SQLSTATE of iasql_internal.hold_lease.
const leaseLost = "IA090"

// fenced runs f, and before it what first queues, in a transaction that fails once the
// lease is lost: it holds the lease's row, which a successor has to change first.
//
// Its commit does not wait for the disk (manual, section 30.4): should the server
// crash within the next moment, what f wrote is as if the engine had died before
// it, and the next cycle finds out anew, from the intent log or the cloud. Only what
// that relies on is waited for: the intent log's entries (R6) and the lease (R15).
//
// It fails with what [refusesCode] tells if to write the tables would run code
// of somebody who has not the engine's rights (R20).
func (d *Database) fenced(ctx context.Context, lease store.Lease, tables []string, first func(*pgx.Batch),
	f func(pgx.Tx) error) error {
	return d.fencedAfter(ctx, lease, tables, func(*pgx.Batch) {}, first, f)
}

// fencedAfter does the same after the statements of before.
func (d *Database) fencedAfter(ctx context.Context, lease store.Lease, tables []string, before, first func(*pgx.Batch),
	f func(pgx.Tx) error) error {
	return pgx.BeginFunc(ctx, d.Pool, func(tx pgx.Tx) error {
		batch := &pgx.Batch{}
		before(batch)
		batch.Queue(holdLease, lease.Account, lease.Fence, tables, lease.Batch)
		first(batch)
		if err := tx.SendBatch(ctx, batch).Close(); err != nil {
			return fenceError(err)
		}
		return f(tx)
	})
}

const holdLease = `SELECT iasql_internal.hold_lease($1, $2, $3, $4)`

// untrustedCode is the SQLSTATE of iasql_internal.refuse_untrusted.
const untrustedCode = "IA091"

// refusesCode reports whether a write was refused for what others have attached
// to the table.
func refusesCode(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == untrustedCode
}

// outdated is the SQLSTATE of iasql_internal.hold_rules.
const outdated = "IA092"

// holdRules has a transaction fail if what it carries out was decided by rules that
// do not hold any more (R19). It comes last, next to the commit: what comes up while
// the transaction writes counts too.
func holdRules(batch *pgx.Batch, lease store.Lease) {
	if lease.Rules != "" {
		batch.Queue(`SELECT iasql_internal.hold_rules($1)`, lease.Rules)
	}
}

func fenceError(err error) error {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return err
	}
	switch pg.Code {
	case leaseLost:
		return store.ErrLeaseLost
	case outdated:
		return store.ErrOutdated
	}
	return err
}

// fencedBatch does the same with statements that need nothing of each other's
// results: all of them go to the server at once, and are one transaction.
func (d *Database) fencedBatch(ctx context.Context, lease store.Lease, tables []string,
	queue func(*pgx.Batch) error) error {
	batch := &pgx.Batch{}
	batch.Queue(holdLease, lease.Account, lease.Fence, tables, lease.Batch)
	if err := queue(batch); err != nil {
		return err
	}
	return fenceError(d.Pool.SendBatch(ctx, batch).Close())
}

// Finish implements [store.Store]. A user's constraint or trigger may refuse what goes to
// the records, or somebody may have locked their table: then once more, without
// the rows at fault.
func (d *Database) Finish(ctx context.Context, lease store.Lease, outcomes []store.Outcome) error {
	records := assignedWrites(outcomes)
	err := d.fencedBatch(ctx, lease, tablesOf(records), func(batch *pgx.Batch) error {
		for _, w := range records {
			batch.Queue(w.statement, w.args(w.ids)...)
		}
		return d.queueOutcomes(batch, lease.Account, outcomes)
	})
	if len(records) == 0 || !blamesRow(err) && !lockTimedOut(err) {
		return err
	}
	if refusesCode(err) || lockTimedOut(err) { // the next pass's pull fails for the same reason, and says so
		records = slices.DeleteFunc(records, func(w recordWrite) bool { return d.refusesTable(ctx, w.table) })
	}
	shortly := func(batch *pgx.Batch) { batch.Queue(`SET LOCAL lock_timeout = '500ms'`) }
	return d.fenced(ctx, lease, tablesOf(records), shortly, func(tx pgx.Tx) error {
		for _, w := range records {
			if err := w.unlessRefused(ctx, tx, w.ids); err != nil {
				return fmt.Errorf("write what the cloud assigned to %s: %w", w.table.Name, err)
			}
		}
		batch := &pgx.Batch{}
		if err := d.queueOutcomes(batch, lease.Account, outcomes); err != nil {
			return err
		}
		return tx.SendBatch(ctx, batch).Close()
	})
}

// queueOutcomes queues what the intent log and the states are to say.
func (d *Database) queueOutcomes(batch *pgx.Batch, account string, outcomes []store.Outcome) error {
	var (
		calls   []int64
		results []string
		errs    []*string
		keys    []*string
		states  []store.Settlement
		own     []string // what the cloud calls requests of the engine's own
		deposed []deposition
	)
	for _, o := range outcomes {
		own = append(own, o.Requests...)
		if o.ByName { // of other calls the subject may not be known
			secrets := o.Subject.Table.ColumnFlags().WriteOnly
			batch.Queue(`UPDATE public.iasql_operations SET columns = columns - $2::text[] WHERE id = ANY ($1)`,
				o.IDs, secrets)
		}
		var text, key *string
		if o.Err != nil {
			message := clip(o.Err.Error())
			text = &message
		}
		if o.Object != nil {
			if k, ok := o.Subject.Table.Key(o.Object); ok {
				key = &k
			}
		}
		for _, id := range o.IDs {
			calls, results, errs, keys = append(calls, id), append(results, string(o.Result)), append(errs, text),
				append(keys, key)
		}
		if o.State != nil && o.Subject.RecordID != 0 {
			states = append(states, store.Settlement{Subject: o.Subject, State: o.State})
		}
		if o.Result == decide.ResultOK && o.Kind == decide.OpCreate && o.Replaces {
			one, err := depositionOf(o.Subject)
			if err != nil {
				return err
			}
			if one != nil {
				deposed = append(deposed, *one)
			}
		}
	}
	if len(own) > 0 {
		batch.Queue(ownRequests, own)
	}
	queueDepositions(batch, deposed)
	d.entries.outdated(account, calls)
	batch.Queue(`
		UPDATE public.iasql_operations o
		SET result = v.result, error = v.error, key = coalesce(v.key, o.key),
		    ended = CASE WHEN v.result = 'unknown' THEN NULL ELSE clock_timestamp() END,
		    elapsed = CASE WHEN v.result IN ('ok', 'unknown') THEN $5 ELSE o.elapsed END
		FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[]) v (id, result, error, key)
		WHERE o.id = v.id`, calls, results, errs, keys, d.clocks.now(account))
	return d.queueSettlements(batch, states)
}

func clip(s string) string {
	s = strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", "\uFFFD"), "\uFFFD")
	if len(s) > 4000 {
		s = strings.ToValidUTF8(s[:4000], "") + " … (cut)"
	}
	return s
}

// recordWrite is a statement that writes records of a table.
type recordWrite struct {
	table     *modules.Table
	ids       []int64
	statement string
	args      func(ids []int64) []any
}

func tablesOf(writes []recordWrite) (names []string) {
	for _, w := range writes {
		if !slices.Contains(names, w.table.Name) {
			names = append(names, w.table.Name)
		}
	}
	return names
}

// refusesTable reports whether a table cannot be written now, for what is
// attached to it or for somebody who has locked it.
func (d *Database) refusesTable(ctx context.Context, t *modules.Table) bool {
	return pgx.BeginFunc(ctx, d.Pool, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `SET LOCAL lock_timeout = '500ms'`)
		if err == nil {
			_, err = tx.Exec(ctx, `SELECT iasql_internal.refuse_untrusted($1)`, []string{t.Name})
		}
		return err
	}) != nil
}

// assignedWrites are the writes of what the cloud has assigned, or no longer
// has.
func assignedWrites(outcomes []store.Outcome) (writes []recordWrite) {
	var (
		tables  []*modules.Table
		created = map[*modules.Table][]store.Outcome{}
		cleared = map[*modules.Table][]int64{}
	)
	for _, o := range outcomes {
		if o.Result != decide.ResultOK {
			continue
		}
		t := o.Subject.Table
		if !slices.Contains(tables, t) {
			tables = append(tables, t)
		}
		switch {
		case o.Kind == decide.OpCreate:
			created[t] = append(created[t], o)
		case o.Kind == decide.OpDelete && o.Replaces:
			cleared[t] = append(cleared[t], o.Subject.RecordID)
		}
	}
	for _, t := range tables {
		if w := recordCreated(t, created[t]); w != nil {
			writes = append(writes, *w)
		}
		if w := clearAssigned(t, cleared[t]); w != nil {
			writes = append(writes, *w)
		}
	}
	return writes
}

// deposition is the predecessor of a replaced object.
type deposition struct {
	Table    string          `json:"table_name"`
	Account  string          `json:"account"`
	Region   string          `json:"region"`
	Key      string          `json:"key"`
	Identity json.RawMessage `json:"identity"`
	Record   int64           `json:"record_id"`
}

// depositionOf returns the deposition of a subject's object; nil if nothing tells it from others.
func depositionOf(s *decide.Subject) (*deposition, error) {
	key, ok := s.Table.Key(s.Object)
	if !ok {
		return nil, nil
	}
	identity, err := identityJSON(s.Table, s.Object)
	return &deposition{s.Table.Name, s.Scope.Account, s.Scope.Region, key, identity, s.RecordID}, err
}

// queueDepositions deposes the predecessors of replaced objects. What is deposed already is the
// new record's from now on, which had claimed it: what names the object follows that one.
func queueDepositions(batch *pgx.Batch, deposed []deposition) {
	if len(deposed) == 0 {
		return
	}
	batch.Queue(`
		INSERT INTO iasql_internal.garbage (table_name, account, region, key, identity, record_id)
		SELECT DISTINCT ON (table_name, account, region, key) table_name, account, region, key, identity, record_id
		FROM ROWS FROM (jsonb_to_recordset($1) AS (table_name text, account text, region text, key text, identity jsonb, record_id bigint))
			WITH ORDINALITY v (table_name, account, region, key, identity, record_id, n)
		ORDER BY table_name, account, region, key, n DESC
		ON CONFLICT (table_name, account, region, key) DO UPDATE SET record_id = excluded.record_id`, deposed)
}

// recordCreated writes what the cloud assigned to new objects to their
// records. A record that somebody's open transaction holds is left for the next
// pass: its state knows the identity.
func recordCreated(t *modules.Table, outcomes []store.Outcome) *recordWrite {
	var (
		rows []modules.Row
		ids  []int64
		keys []string
	)
	for _, o := range outcomes {
		key, _ := t.Key(o.Object)
		ids, rows, keys = append(ids, o.Subject.RecordID), append(rows, o.Object), append(keys, key)
	}
	var sets, params, names []string
	values := map[string]string{}
	args := []any{ids}
	for i := range t.Columns {
		c := &t.Columns[i]
		if !c.Computed {
			continue
		}
		known := false
		for _, row := range rows {
			_, has := row[c.Name]
			known = known || has
		}
		if !known {
			continue
		}
		args = append(args, column(rows, c.Name))
		alias := "c" + strconv.Itoa(i)
		// $2: the ids to write
		params, names = append(params, fmt.Sprintf("$%d::text[]", len(args)+1)), append(names, alias)
		value := fmt.Sprintf("coalesce(%s, t.%s)", fromText("v."+alias, c), quote(c.Name))
		sets, values[c.Name] = append(sets, quote(c.Name)+" = "+value), value
	}
	if len(ids) == 0 || len(sets) == 0 {
		return nil
	}
	sh := shapeOf(t)
	// A user may have adopted the object with another record already: its state
	// keeps the identity until the next pass finds that out. So it does while another
	// record that has or had the identity is staged, by a batch that this record is not of,
	// or whose rollback gives it back (R21).
	same := []string{"o.id <> t.id", "o.account = t.account"}
	if t.Reach == modules.PerRegion {
		same = append(same, "o.region = t.region")
	}
	for _, name := range t.Identity() {
		value := values[name]
		if value == "" {
			value = "t." + quote(name)
		}
		same = append(same, fmt.Sprintf("o.%s = %s", quote(name), value))
	}
	// An identity is a key that others may reference, so that writing it waits
	// for everyone who holds the row, even FOR KEY SHARE; hence FOR UPDATE.
	// OFFSET 0 keeps the identity's index in use: as a join, and while the table
	// has no statistics, every record of the account would be looked at.
	args = append(args, keys, t.Name)
	n := len(args) + 1
	region := ""
	if t.Reach == modules.PerRegion {
		region = " AND k.region = t.region"
	}
	statement := fmt.Sprintf(`
		WITH free AS MATERIALIZED (SELECT id FROM %[1]s WHERE id = ANY ($1) AND id = ANY ($2) FOR UPDATE SKIP LOCKED)
		UPDATE %[2]s t SET %[3]s
		FROM unnest($1::bigint[], %[4]s, $%[5]d::text[]) v (id, %[6]s, key)
		WHERE t.id = v.id AND t.id IN (SELECT id FROM free) AND NOT EXISTS (SELECT FROM %[1]s o WHERE %[7]s OFFSET 0)
		  AND NOT EXISTS (SELECT FROM iasql_internal.staged_key k
		                  JOIN iasql_internal.batch b ON b.id = k.batch
		                  WHERE k.key = v.key AND k.table_name = $%[8]d AND k.account = t.account%[9]s AND k.record_id <> t.id
		                    AND (b.phase = 'open' OR k.batch IS DISTINCT FROM (SELECT s.batch FROM iasql_internal.staged s WHERE s.table_name = $%[8]d AND s.record_id = t.id)))`,
		sh.name, sh.name, strings.Join(sets, ", "), strings.Join(params, ", "), n-1, strings.Join(names, ", "),
		strings.Join(same, " AND "), n, region)
	return &recordWrite{t, ids, statement, func(ids []int64) []any { return append([]any{args[0], ids}, args[1:]...) }}
}

// unlessRefused writes records, except those whose rows a user's constraint or
// trigger refuses: they are left for the next pass, whose pull fails with the
// same reason and says so. So are those of a table that is locked.
func (w *recordWrite) unlessRefused(ctx context.Context, tx pgx.Tx, ids []int64) error {
	batch := &pgx.Batch{}
	batch.Queue(`SAVEPOINT records`)
	batch.Queue(w.statement, w.args(ids)...)
	batch.Queue(`SET CONSTRAINTS ALL IMMEDIATE`)
	batch.Queue(`RELEASE SAVEPOINT records`)
	failure := tx.SendBatch(ctx, batch).Close()
	if failure == nil || !blamesRow(failure) && !lockTimedOut(failure) {
		return failure
	}
	if _, err := tx.Exec(ctx, `ROLLBACK TO SAVEPOINT records; RELEASE SAVEPOINT records`); err != nil {
		return err
	}
	if len(ids) == 1 || lockTimedOut(failure) { // the table is locked: it takes no row of them
		return nil
	}
	half := len(ids) / 2
	if err := w.unlessRefused(ctx, tx, ids[:half]); err != nil {
		return err
	}
	return w.unlessRefused(ctx, tx, ids[half:])
}

// clearAssigned blanks what the cloud had assigned to objects that are gone to
// make room for their successors.
func clearAssigned(t *modules.Table, ids []int64) *recordWrite {
	var sets []string
	for i := range t.Columns {
		if c := &t.Columns[i]; c.Computed && !c.Required {
			sets = append(sets, quote(c.Name)+" = NULL")
		}
	}
	if len(ids) == 0 || len(sets) == 0 {
		return nil
	}
	sh := shapeOf(t)
	statement := fmt.Sprintf(`
		UPDATE %s SET %s WHERE id = ANY (ARRAY(SELECT id FROM %s WHERE id = ANY ($1) FOR UPDATE SKIP LOCKED))`,
		sh.name, strings.Join(sets, ", "), sh.name)
	return &recordWrite{t, ids, statement, func(ids []int64) []any { return []any{ids} }}
}

func identityJSON(t *modules.Table, row modules.Row) ([]byte, error) {
	if row == nil {
		return nil, nil
	}
	image := map[string]json.RawMessage{}
	for i := range t.Columns {
		c := &t.Columns[i]
		if c.Identity || c.Name == modules.ColumnAccount || c.Name == modules.ColumnRegion {
			image[c.Name] = auditlog.ToJSON(c, row[c.Name])
		}
	}
	return json.Marshal(image)
}

// Listed implements [store.Store].
func (d *Database) Listed(ctx context.Context, lease store.Lease, ended, gone []store.Listing) error {
	var listings []store.Listing
	for i := range ended {
		if ended[i].Failed == "" {
			listings = append(listings, ended[i])
		}
	}
	n := len(listings)
	tables, regions, rules, within, expected, denied := make([]string, n), make([]string, n), make([]string, n),
		make([]string, n), make([]string, n), make([]*string, n)
	ages, objects, news, complete, partly := make([]float64, n), make([]int64, n), make([]bool, n), make([]bool, n),
		make([]bool, n)
	for i := range listings {
		l := &listings[i]
		tables[i], regions[i], rules[i], ages[i] = l.Table, l.Scope.Region, l.Rules, l.Age.Seconds()
		objects[i], news[i], complete[i], partly[i], within[i] = int64(l.Objects), l.News, l.Complete,
			l.Partly, l.Within
		expected[i] = l.Expected
		if l.Denied != "" {
			denied[i] = &l.Denied
		}
	}
	left, nowhere := make([]string, len(gone)), make([]string, len(gone))
	for i := range gone {
		left[i], nowhere[i] = gone[i].Table, gone[i].Scope.Region
	}
	return d.fencedBatch(ctx, lease, nil, func(batch *pgx.Batch) error {
		if len(gone) > 0 {
			batch.Queue(`
				DELETE FROM iasql_internal.listing l USING unnest($2::text[], $3::text[]) g (name, region)
				WHERE l.account = $1 AND l.table_name = g.name AND l.region = g.region`, lease.Account, left, nowhere)
		}
		batch.Queue(`
			INSERT INTO iasql_internal.listing AS known (account, table_name, region, tried, listed, changed, objects, rules, denied, partly, within, cycle, expected)
			SELECT $1, l.name, l.region, l.began, CASE WHEN l.complete THEN l.began END, CASE WHEN l.news THEN l.began END,
			       CASE WHEN l.denied IS NULL OR l.partly THEN l.objects ELSE 0 END, l.rules, l.denied, l.partly, l.within, $12, l.expected
			FROM (SELECT name, region, clock_timestamp() - make_interval(secs => age) AS began, objects, news, rules, denied, complete, partly, within, to_timestamp(nullif(expected, '')::double precision) AS expected
			      FROM unnest($2::text[], $3::text[], $4::double precision[], $5::bigint[], $6::boolean[], $7::text[], $8::text[], $9::boolean[], $10::boolean[], $11::text[], $13::text[])
			           AS u (name, region, age, objects, news, rules, denied, complete, partly, within, expected)) l
			ORDER BY l.name, l.region
			ON CONFLICT (account, table_name, region) DO UPDATE SET
				tried = excluded.tried, listed = coalesce(excluded.listed, known.listed), changed = coalesce(excluded.changed, known.changed),
				objects = CASE WHEN excluded.denied IS NULL OR excluded.partly THEN excluded.objects ELSE known.objects END,
				rules = excluded.rules, denied = excluded.denied, partly = excluded.partly, within = excluded.within, cycle = excluded.cycle,
				expected = nullif(known.expected, excluded.expected)`,
			lease.Account, tables, regions, ages, objects, news, rules, denied, complete, partly, within, lease.Cycle,
			expected)
		batch.Queue(`
			UPDATE public.iasql_tables t SET last_seen = s.seen
			FROM (SELECT table_name, CASE WHEN bool_and(listed IS NOT NULL) THEN min(listed) END AS seen FROM iasql_internal.listing GROUP BY table_name) s
			WHERE t."table" = s.table_name AND t."table" = ANY ($1) AND t.last_seen IS DISTINCT FROM s.seen`,
			append(tables, left...))
		queueUnread(batch, lease.Account, ended, gone)
		return nil
	})
}

// unread is a row of iasql_internal.unread.
type unread struct {
	Table  string `json:"table_name"`
	Region string `json:"region"`
	Error  string `json:"error"`
	Denied bool   `json:"denied"`
	Partly bool   `json:"partly"`
}

// queueUnread queues that it is remembered which listings failed or were denied, and forgotten of the others and of
// places that are not looked at any more. Of a place whose listing fails again it stays known since when.
func queueUnread(batch *pgx.Batch, account string, ended, gone []store.Listing) {
	latest := map[[2]string]unread{}
	for _, l := range gone {
		latest[[2]string{l.Table, l.Scope.Region}] = unread{Table: l.Table, Region: l.Scope.Region}
	}
	for _, l := range ended {
		latest[[2]string{l.Table, l.Scope.Region}] = unread{Table: l.Table, Region: l.Scope.Region,
			Error: clip(cmp.Or(l.Failed, l.Denied)), Denied: l.Failed == "", Partly: l.Partly}
	}
	rows := slices.Collect(maps.Values(latest))
	batch.Queue(`
		DELETE FROM iasql_internal.unread u USING jsonb_to_recordset($2) v (table_name text, region text, error text)
		WHERE u.account = $1 AND u.table_name = v.table_name AND u.region = v.region AND v.error = ''`, account, rows)
	batch.Queue(`
		INSERT INTO iasql_internal.unread AS u (account, table_name, region, error, denied, partly)
		SELECT $1, v.table_name, v.region, v.error, v.denied, v.partly
		FROM jsonb_to_recordset($2) v (table_name text, region text, error text, denied boolean, partly boolean)
		JOIN public.iasql_tables t ON t."table" = v.table_name
		WHERE v.error <> '' ORDER BY v.table_name, v.region
		ON CONFLICT (account, table_name, region) DO UPDATE SET error = excluded.error, denied = excluded.denied, partly = excluded.partly
		WHERE (u.error, u.denied, u.partly) <> (excluded.error, excluded.denied, excluded.partly)`, account, rows)
}

// Identified implements [store.Store].
func (d *Database) Identified(ctx context.Context, lease store.Lease, v decide.Verdict) error {
	return d.fencedBatch(ctx, lease, nil, func(batch *pgx.Batch) error {
		batch.Queue(`
			INSERT INTO iasql_internal.world AS w (account, identity, pinned_at, pinned_by, said, answered, trouble, code, since)
			SELECT $1, CASE WHEN v.pin THEN v.said END, CASE WHEN v.pin THEN clock_timestamp() END, CASE WHEN v.pin THEN session_user END,
			       v.said, CASE WHEN v.said IS NOT NULL THEN clock_timestamp() END, v.held, v.code, CASE WHEN v.held IS NOT NULL THEN clock_timestamp() END
			FROM (SELECT nullif($2::text, '') AS said, $3::boolean AS pin, nullif($4::text, '') AS held,
			             CASE WHEN $5::boolean THEN 'identity' ELSE '' END AS code) v
			ON CONFLICT (account) DO UPDATE SET
				identity = coalesce(w.identity, excluded.identity), pinned_at = coalesce(w.pinned_at, excluded.pinned_at),
				pinned_by = coalesce(w.pinned_by, excluded.pinned_by), said = coalesce(excluded.said, w.said),
				answered = coalesce(excluded.answered, w.answered), trouble = excluded.trouble, code = excluded.code,
				since = CASE WHEN w.trouble IS NULL THEN excluded.since WHEN excluded.trouble IS NOT NULL THEN w.since END`,
			lease.Account, v.Said, v.Pin, clip(v.Held), v.Ask)
		return nil
	})
}

// Imported implements [store.Store].
func (d *Database) Imported(ctx context.Context, lease store.Lease, tables []string) error {
	return d.fencedBatch(ctx, lease, nil, func(batch *pgx.Batch) error {
		batch.Queue(`INSERT INTO iasql_internal.imported (account, table_name) SELECT $1, unnest($2::text[]) ON CONFLICT DO NOTHING`, lease.Account, tables)
		return nil
	})
}

// blamesRow reports whether an error of a write may be one row's alone: it
// broke a user's constraint, a user's trigger failed in whatever way, or a value
// does not fit, be it only into a user's index (SQLSTATE 54000). The classes that
// are nobody's row (manual, appendix A) concern the connection, the transaction
// or the server.
func blamesRow(err error) bool {
	var trigger *triggerError
	if errors.As(err, &trigger) {
		return true
	}
	var pg *pgconn.PgError
	if !errors.As(err, &pg) || len(pg.Code) != 5 {
		return false
	}
	switch pg.Code[:2] {
	case "08", "25", "40", "53", "57", "58":
		return false
	}
	return !lockTimedOut(err)
}

// lockTimedOut: somebody's open transaction holds what the write needs.
func lockTimedOut(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && (pg.Code == pgerrcode.LockNotAvailable || pg.Code == pgerrcode.DeadlockDetected)
}
