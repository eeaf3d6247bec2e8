package postgres

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"iasql/internal/auditlog"
	"iasql/internal/decide"
	"iasql/internal/modules"
	"iasql/internal/store"
)

// Database implements [store.Store].
type Database struct {
	Pool     *pgxpool.Pool
	Registry *modules.Registry
	Log      *slog.Logger // of who is in the way; nil for none

	intents intentLog
	clocks  clocks
	entries entryCache
	rules   cache[rules]
	tables  cache[installed]
	held    held
	seen    witness
	// lockWait is pullLockWait in tests that make many pulls wait.
	lockWait time.Duration

	obstacles obstacles
}

var _ store.Store = (*Database)(nil)

// Regions implements [store.Store].
func (d *Database) Regions(ctx context.Context, provider, account string) ([]string, error) {
	for _, m := range d.Registry.Modules() {
		for _, t := range m.Tables() {
			if !t.DefinesRegions || t.Provider != provider {
				continue
			}
			rows, err := d.Pool.Query(ctx, fmt.Sprintf(
				`SELECT region FROM %s WHERE account = $1 AND is_enabled ORDER BY region`, shapeOf(t).name), account)
			if err != nil {
				return nil, err
			}
			return pgx.CollectRows(rows, pgx.RowTo[string])
		}
	}
	return nil, nil
}

// Settings implements [store.Store].
func (d *Database) Settings(ctx context.Context, account string) (store.Settings, error) {
	s, locks, err := d.settings(ctx, account)
	if err != nil {
		return s, err
	}
	if fresh := d.obstacles.note(locks); fresh {
		select {
		case <-ctx.Done():
			return s, ctx.Err()
		case <-time.After(moment):
		}
		if s, locks, err = d.settings(ctx, account); err != nil {
			return s, err
		}
		d.obstacles.note(locks)
	}
	s.Locked, err = d.lockedOut(s.Tables, locks)
	return s, err
}

// settings reads the settings, the rules and the tables, and who has locked those.
func (d *Database) settings(ctx context.Context, account string) (s store.Settings, locks []tableLock, err error) {
	s.Watched = map[string]bool{}
	var tables string
	batch := &pgx.Batch{}
	// First the versions: what comes up in between is of later ones.
	batch.Queue(`SELECT iasql_internal.rules_version(), iasql_internal.tables_version()`).QueryRow(
		func(row pgx.Row) error { return row.Scan(&s.Version, &tables) })
	queueLocks(batch, &locks)
	batch.Queue(`
		SELECT (SELECT value FROM public.iasql_settings WHERE name = 'conflict_policy') = 'hold',
		       (SELECT value FROM public.iasql_settings WHERE name = 'max_deletes')::integer,
		       (SELECT value FROM public.iasql_settings WHERE name = 'max_delete_ratio')::double precision,
		       (SELECT value FROM public.iasql_settings WHERE name = 'delete_ratio_floor')::integer,
		       iasql_internal.consistency_window($1),
		       extract(epoch FROM (SELECT value FROM public.iasql_settings WHERE name = 'max_staleness')::interval)::double precision,
		       extract(epoch FROM (SELECT value FROM public.iasql_settings WHERE name = 'watched_staleness')::interval)::double precision,
		       coalesce((SELECT w.identity FROM iasql_internal.world w WHERE w.account = $1), ''),
		       coalesce((SELECT w.trouble FROM iasql_internal.world w WHERE w.account = $1), ''),
		       coalesce((SELECT a.provider FROM iasql_internal.account a WHERE a.name = $1), ''),
		       (SELECT i.id::text FROM iasql_internal.installation i),
		       EXISTS (SELECT FROM iasql_internal.event_source s WHERE s.account = $1) OR EXISTS (SELECT FROM iasql_internal.event_source_region r WHERE r.of_account = $1),
		       ARRAY(SELECT w.region FROM iasql_internal.watched($1) w)`, account).
		QueryRow(func(row pgx.Row) error {
			var window, staleness, watched float64
			var regions []string
			err := row.Scan(&s.HoldConflicts, &s.Deletes.Max, &s.Deletes.Ratio, &s.Deletes.Floor, &window,
				&staleness, &watched,
				&s.Identity, &s.Held, &s.Provider, &s.Installation, &s.Events, &regions)
			s.ConsistencyWindow, s.MaxStaleness, s.WatchedStaleness = duration(window), duration(staleness),
				duration(watched)
			for _, region := range regions {
				s.Watched[region] = true
			}
			return err
		})
	audit, operation := d.seen.newest()
	batch.Queue(`SELECT coalesce(iasql_internal.look_back($1, $2), '')`, audit, operation).
		QueryRow(func(row pgx.Row) error { return row.Scan(&s.Restored) })
	batch.Queue(`
		SELECT i.went_back_audit, i.went_back_operation, extract(epoch FROM greatest(clock_timestamp() - i.went_back_at, '0'))::double precision FROM iasql_internal.server_seen i
		WHERE i.went_back_audit IS NOT NULL AND EXISTS (SELECT FROM public.iasql_audit_log l WHERE NOT l.settled AND l.id <= i.went_back_audit)`).
		Query(func(rows pgx.Rows) error {
			var age float64
			_, err := pgx.ForEachRow(rows, []any{&s.WentBack.Audit, &s.WentBack.Operation, &age}, func() error {
				s.WentBackAge = duration(age)
				return nil
			})
			return err
		})
	if err := d.Pool.SendBatch(ctx, batch).Close(); err != nil {
		return s, nil, err
	}
	if s.Restored != "" {
		d.seen.forget()
	}
	now, err := d.rules.read(ctx, d, account, s.Version, queueRules)
	if err != nil {
		return s, nil, err
	}
	s.Version, s.Rules, s.Protection, s.Exclusions, s.AskDrift = now.version, now.content.modes, now.content.protection,
		now.content.exclusions, now.content.askDrift
	there, err := d.tables.read(ctx, d, account, tables, queueInstalled)
	s.Tables, s.Imported = there.content.tables, there.content.imported
	return s, locks, err
}

// duration returns a number of seconds as a duration.
func duration(seconds float64) time.Duration { return time.Duration(seconds * float64(time.Second)) }

// Listings implements [store.Store].
func (d *Database) Listings(ctx context.Context, account string) ([]store.Listing, error) {
	rows, err := d.Pool.Query(ctx, `
		SELECT table_name, region, extract(epoch FROM clock_timestamp() - CASE WHEN expected IS NOT NULL THEN 'epoch' ELSE tried END)::double precision, listed IS NOT NULL, objects,
		       CASE WHEN changed IS NULL THEN -1 ELSE extract(epoch FROM greatest(clock_timestamp() - changed, '0')) END::double precision, rules, coalesce(denied, ''), partly, within,
		       coalesce(extract(epoch FROM expected)::text, '')
		FROM iasql_internal.listing WHERE account = $1`, account)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (store.Listing, error) {
		l := store.Listing{Scope: modules.Scope{Account: account}}
		var age, quiet float64
		err := row.Scan(&l.Table, &l.Scope.Region, &age, &l.Complete, &l.Objects, &quiet, &l.Rules, &l.Denied,
			&l.Partly, &l.Within, &l.Expected)
		l.Age, l.Quiet = duration(age), duration(quiet)
		return l, err
	})
}

// beginSnapshot begins a transaction whose statements all see the state of the database
// that the first of them sees.
const beginSnapshot = `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY`

// snapshot reads one state of the database. The statements need nothing of each other's
// results: all of them go to the server at once. (A connection whose transaction has
// failed is not used again.)
func (d *Database) snapshot(ctx context.Context, queue func(*pgx.Batch)) error {
	batch := &pgx.Batch{}
	batch.Queue(beginSnapshot)
	queue(batch)
	batch.Queue(`COMMIT`)
	return d.Pool.SendBatch(ctx, batch).Close()
}

// Keys implements [store.Store].
func (d *Database) Keys(ctx context.Context, t *modules.Table, scope modules.Scope,
	each func(id int64, key string) error) error {
	sh := shapeOf(t)
	query := fmt.Sprintf(`SELECT t.id, %s FROM %s t WHERE t.account = $1 AND %s IS NOT NULL`, sh.keyExpr, sh.name,
		sh.keyExpr)
	args := []any{scope.Account}
	if t.Reach == modules.PerRegion {
		query += ` AND t.region = $2`
		args = append(args, scope.Region)
	}
	rows, err := d.Pool.Query(ctx, query, args...)
	if err != nil {
		return err
	}
	var id int64
	var key string
	_, err = pgx.ForEachRow(rows, []any{&id, &key}, func() error { return each(id, key) })
	return err
}

// Within implements [store.Store].
func (d *Database) Within(ctx context.Context, t *modules.Table, account string) ([]string, error) {
	ref := t.ListedWithin().References
	parent := d.Registry.Table(ref.Table)
	rows, err := d.Pool.Query(ctx, fmt.Sprintf(`SELECT %s FROM %s t WHERE t.account = $1 AND t.%s`,
		textOf("t", parent.Column(ref.Key)), shapeOf(parent).name, quote(ref.ListedIf)), account)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

const (
	dueStatement = `
		SELECT d.table_name, d.record_id FROM (
			SELECT table_name, record_id FROM public.iasql_audit_log
			WHERE NOT settled AND account = $1 AND change_type IN ('INSERT', 'UPDATE', 'DELETE')
			UNION
			SELECT table_name, record_id FROM iasql_internal.record_state WHERE account = $1) d
		WHERE NOT EXISTS (SELECT FROM iasql_internal.staged s WHERE s.record_id = d.record_id AND s.table_name = d.table_name AND s.batch <> $2)
		ORDER BY 1, 2`
	dueInBatch = `
		SELECT s.table_name, s.record_id FROM iasql_internal.staged s
		WHERE s.batch = $2 AND s.account = $1
		  AND (EXISTS (SELECT FROM public.iasql_audit_log l
		               WHERE NOT l.settled AND l.record_id = s.record_id AND l.table_name = s.table_name AND l.change_type IN ('INSERT', 'UPDATE', 'DELETE'))
		       OR EXISTS (SELECT FROM iasql_internal.record_state r WHERE r.table_name = s.table_name AND r.record_id = s.record_id))
		ORDER BY 1, 2`
)

// Due implements [store.Store].
func (d *Database) Due(ctx context.Context, account string, of int64) (records []decide.RecordRef,
	deposed []*decide.Subject, err error) {
	statement := dueStatement
	if of != 0 {
		statement = dueInBatch
	}
	batch := &pgx.Batch{}
	batch.Queue(statement, account, of).Query(func(rows pgx.Rows) (err error) {
		records, err = pgx.CollectRows(rows, pgx.RowToStructByPos[decide.RecordRef])
		return err
	})
	batch.Queue(deposedStatement, account, of).Query(func(rows pgx.Rows) (err error) {
		deposed, err = d.scanDeposed(rows)
		return err
	})
	return records, deposed, d.Pool.SendBatch(ctx, batch).Close()
}

// Load implements [store.Store].
func (d *Database) Load(ctx context.Context, t *modules.Table, ids []int64) ([]*decide.Subject, error) {
	byID := make(map[int64]*decide.Subject, len(ids))
	for _, id := range ids {
		byID[id] = &decide.Subject{Table: t, RecordID: id}
	}
	err := d.snapshot(ctx, func(batch *pgx.Batch) {
		d.queueRows(batch, t, ids, byID)
		if secrets := t.Secrets(); len(secrets) > 0 {
			queueSecrets(batch, t, ids, secrets, byID)
		}
		batch.Queue(pendingQuery, t.Name, ids).Query(func(rows pgx.Rows) error {
			changes, err := scanPending(t, rows)
			for id, change := range changes {
				byID[id].Change = change
			}
			return err
		})
		queueStates(batch, t, ids, byID)
		batch.Queue(`SELECT record_id, batch FROM iasql_internal.staged WHERE record_id = ANY ($2) AND table_name = $1`,
			t.Name, ids).Query(func(rows pgx.Rows) error {
			var id, by int64
			_, err := pgx.ForEachRow(rows, []any{&id, &by}, func() error {
				byID[id].Batch = by
				return nil
			})
			return err
		})
		queueResolutions(batch, t, ids, byID)
	})
	if err != nil {
		return nil, err
	}
	subjects := make([]*decide.Subject, 0, len(ids))
	for _, id := range ids {
		s := byID[id]
		if s.Record == nil && s.Change == nil && s.State == nil {
			continue
		}
		if s.State != nil && s.Change.Latest() > s.State.FailedAt {
			s.State.Due = true // a user changed something since
			s.State.Unconfirmed = 0
		}
		subjects = append(subjects, s)
	}
	d.seen.sawChanges(subjects)
	return subjects, nil
}

// queueRows queues the read of records and of what names the records they
// reference in the cloud.
func (d *Database) queueRows(batch *pgx.Batch, t *modules.Table, ids []int64, byID map[int64]*decide.Subject) {
	sh := shapeOf(t)
	refs := referenceColumns(t)
	list := sh.columns
	for _, c := range refs {
		parent := d.Registry.Table(c.References.Table)
		name := namedBy(c.References, parent).current(c.References, parent)
		list += fmt.Sprintf(`, (SELECT %s FROM public.%s p LEFT JOIN iasql_internal.record_state s ON s.table_name = %s AND s.record_id = p.id WHERE p.id = t.%s)`,
			name, quote(c.References.Table), literal(c.References.Table), quote(c.Name))
	}
	lists := t.Lists()
	for _, c := range lists {
		list += ", " + d.namesOf(c)
	}
	batch.Queue(fmt.Sprintf(`SELECT t.id::text, t.xmin::text, %s FROM %s t WHERE t.id = ANY ($1)`, list, sh.name), ids).
		Query(func(rows pgx.Rows) error {
			defer rows.Close()
			for rows.Next() {
				raw := rows.RawValues()
				record, err := sh.scanRow(raw)
				if err != nil {
					return err
				}
				s := byID[record.ID]
				s.Record = record
				for i, c := range refs {
					if s.RefKeys == nil {
						s.RefKeys = modules.Row{}
					}
					if key := raw[2+len(t.Columns)+i]; key != nil {
						s.RefKeys[c.Name] = modules.Text(string(key))
					}
				}
				if err := readNames(&s.RefKeys, lists, raw[2+len(t.Columns)+len(refs):]); err != nil {
					return err
				}
			}
			return rows.Err()
		})
}

// queueStates queues the read of what is remembered of records.
func queueStates(batch *pgx.Batch, t *modules.Table, ids []int64, byID map[int64]*decide.Subject) {
	batch.Queue(`
		SELECT record_id, state, message, code, review, attempts, `+dueNow+
		`, failed_at, identity, replacing, unconfirmed, seen_going
		FROM iasql_internal.record_state WHERE table_name = $1 AND record_id = ANY ($2)`, t.Name, ids).
		Query(func(rows pgx.Rows) error {
			defer rows.Close()
			for rows.Next() {
				var id int64
				var identity []byte
				st := &decide.State{}
				if err := rows.Scan(&id, &st.Name, &st.Message, &st.Code, &st.Review, &st.Attempts, &st.Due,
					&st.FailedAt,
					&identity, &st.Replacing, &st.Unconfirmed, &st.SeenGoing); err != nil {
					return err
				}
				var err error
				if st.Identity, err = auditlog.Row(t, identity); err != nil {
					return err
				}
				byID[id].State = st
			}
			return rows.Err()
		})
}

// queueResolutions queues the read of people's words on conflicts. It comes after
// [queueStates].
func queueResolutions(batch *pgx.Batch, t *modules.Table, ids []int64, byID map[int64]*decide.Subject) {
	batch.Queue(`
		SELECT c.record_id, c.resolved FROM public.iasql_conflicts c
		WHERE c.table_name = $1 AND c.record_id = ANY ($2) AND c.resolved IN ('database', 'cloud')
		  AND CASE c.audit_id WHEN 0 THEN NOT c.closed ELSE EXISTS (SELECT FROM public.iasql_audit_log l WHERE l.id = c.audit_id AND NOT l.settled) END
		ORDER BY c.id`, t.Name, ids).
		Query(func(rows pgx.Rows) error {
			var id int64
			var resolved string
			_, err := pgx.ForEachRow(rows, []any{&id, &resolved}, func() error {
				if s := byID[id]; s.State != nil {
					s.State.Resolution = resolved
				}
				return nil
			})
			return err
		})
}

// queueSecrets queues the read of secrets that wait to be pushed: the newest of
// each column of a record that still asks for it.
func queueSecrets(batch *pgx.Batch, t *modules.Table, ids []int64, secrets []string, byID map[int64]*decide.Subject) {
	var asked []string
	for _, name := range secrets {
		asked = append(asked, fmt.Sprintf("v.column_name = %s AND t.%s IS NOT NULL", literal(name), quote(name)))
	}
	batch.Queue(fmt.Sprintf(`
		SELECT v.record_id, v.column_name, v.value FROM iasql_internal.vault v JOIN %s t ON t.id = v.record_id
		WHERE v.table_name = $1 AND v.record_id = ANY ($2) AND (%s) ORDER BY v.audit_id`, shapeOf(t).name,
		strings.Join(asked, " OR ")), t.Name, ids).
		Query(func(rows pgx.Rows) error {
			var id int64
			var name string
			var value *string
			_, err := pgx.ForEachRow(rows, []any{&id, &name, &value}, func() error {
				if s := byID[id]; s.Record != nil {
					s.Record.Row[name] = modules.TextPtr(value)
				}
				return nil
			})
			return err
		})
}

// deposedStatement reads the deposed objects of the records that a batch has staged ($2)
// or, for batch 0, of those that none has.
var deposedStatement = `
	SELECT g.table_name, g.record_id, g.identity, g.state, g.message, g.code, g.review, g.attempts, ` + dueNow +
	`, g.seen_going, coalesce(s.batch, 0)
	FROM iasql_internal.garbage g LEFT JOIN iasql_internal.staged s ON s.record_id = g.record_id AND s.table_name = g.table_name
	WHERE g.account = $1 AND coalesce(s.batch, 0) = $2 ORDER BY g.id`

// scanDeposed reads what deposedStatement returns.
func (d *Database) scanDeposed(rows pgx.Rows) (subjects []*decide.Subject, err error) {
	for rows.Next() {
		var table string
		var identity []byte
		s := &decide.Subject{Deposed: true, State: &decide.State{}}
		if err := rows.Scan(&table, &s.RecordID, &identity, &s.State.Name, &s.State.Message, &s.State.Code,
			&s.State.Review,
			&s.State.Attempts, &s.State.Due, &s.State.SeenGoing, &s.Batch); err != nil {
			return nil, err
		}
		if s.Table = d.Registry.Table(table); s.Table == nil {
			continue
		}
		if s.State.Identity, err = auditlog.Row(s.Table, identity); err != nil {
			return nil, err
		}
		subjects = append(subjects, s)
	}
	return subjects, rows.Err()
}

// Found implements [store.Store].
func (d *Database) Found(ctx context.Context, t *modules.Table, ids []int64, window time.Duration) ([]int64, error) {
	rows, err := d.Pool.Query(ctx, `
		SELECT DISTINCT record_id FROM public.iasql_audit_log
		WHERE record_id = ANY ($2) AND table_name = $1 AND change_type = 'INSERT' AND settled
		  AND settled_at BETWEEN clock_timestamp() - make_interval(secs => $3) AND clock_timestamp() -- unless the clock was put back
		ORDER BY 1`, t.Name, ids, window.Seconds())
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[int64])
}

// Creations implements [store.Store].
func (d *Database) Creations(ctx context.Context, table string, ids []int64) (map[int64]int64, error) {
	rows, err := d.Pool.Query(ctx, `
		SELECT record_id, count(*) FROM public.iasql_operations
		WHERE table_name = $1 AND record_id = ANY ($2) AND kind = 'create'
		  AND (result = 'ok' OR result = 'failed' AND request IS NOT NULL) GROUP BY 1`, table, ids)
	if err != nil {
		return nil, err
	}
	made := map[int64]int64{}
	var id, n int64
	_, err = pgx.ForEachRow(rows, []any{&id, &n}, func() error {
		made[id] = n
		return nil
	})
	return made, err
}

// Dependents implements [store.Store].
func (d *Database) Dependents(ctx context.Context, table string, ids []int64) ([]decide.RecordRef, error) {
	rows, err := d.Pool.Query(ctx, installedTables)
	if err != nil {
		return nil, err
	}
	installed, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, err
	}
	var parts []string
	for _, name := range installed {
		t := d.Registry.Table(name)
		if t == nil {
			continue
		}
		for _, c := range referenceColumns(t) {
			if c.References.Table == table {
				parts = append(parts, fmt.Sprintf(`SELECT %s::text, id FROM %s WHERE %s = ANY ($1)`, literal(name),
					shapeOf(t).name, quote(c.Name)))
			}
		}
		for _, c := range t.Lists() {
			if c.Records.Table == table {
				parts = append(parts, fmt.Sprintf(`SELECT %s::text, id FROM %s WHERE %s && $1::bigint[]`, literal(name),
					shapeOf(t).name, quote(c.Name)))
			}
		}
	}
	if len(parts) == 0 {
		return nil, nil
	}
	rows, err = d.Pool.Query(ctx, strings.Join(parts, " UNION ")+" ORDER BY 1, 2", ids)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (decide.RecordRef, error) {
		var r decide.RecordRef
		return r, row.Scan(&r.Table, &r.ID)
	})
}

// Count implements [store.Store].
func (d *Database) Count(ctx context.Context, table string, scope modules.Scope) (n int, err error) {
	query, args := fmt.Sprintf(`SELECT count(*) FROM public.%s WHERE account = $1`, quote(table)), []any{scope.Account}
	if scope.Region != "" {
		query, args = query+` AND region = $2`, append(args, scope.Region)
	}
	err = d.Pool.QueryRow(ctx, query, args...).Scan(&n)
	return n, err
}
