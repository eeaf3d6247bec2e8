package postgres

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	gosync "sync"
	"time"

	"github.com/jackc/pgx/v5"

	"iasql/internal/auditlog"
	"iasql/internal/decide"
	"iasql/internal/modules"
	"iasql/internal/store"
)

// intentLog gathers calls that are about to be made. What the operations of a
// cycle ask for while an earlier transaction of theirs is under way goes into
// the next one together, so that many operations at once cost few commits, and
// a single one waits for nobody.
type intentLog struct {
	lock gosync.Mutex
	// waiting has a key for each lease that is being written for.
	waiting map[store.Lease][]*entry
}

// entry is a call that waits to be written into the log.
type entry struct {
	decide.Intent
	ctx     context.Context
	columns string        // JSON
	done    chan struct{} // closed when id and err are known
	id      int64
	err     error
}

// intentTimeout bounds the writing of entries: whoever waits for one may have
// gone, and nobody else ends it.
const intentTimeout = time.Minute

// Begin implements [store.Store]. It returns when the entry is committed (R6).
// An error other than the two that say so leaves open whether it is.
func (d *Database) Begin(ctx context.Context, lease store.Lease, intent decide.Intent) (int64, error) {
	columns, err := d.changesJSON(intent.Record.Table, intent.Columns)
	if err != nil {
		return 0, err
	}
	e := &entry{Intent: intent, ctx: ctx, columns: string(columns), done: make(chan struct{})}
	d.intents.lock.Lock()
	if d.intents.waiting == nil {
		d.intents.waiting = map[store.Lease][]*entry{}
	}
	waiting, writing := d.intents.waiting[lease]
	d.intents.waiting[lease] = append(waiting, e)
	d.intents.lock.Unlock()
	if !writing {
		// Not by the caller: one whose context ends must not take others with it.
		go d.writeIntents(context.WithoutCancel(ctx), lease)
	}
	select {
	case <-e.done:
		return e.id, e.err
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// writeIntents writes entries of a lease until none is waiting.
func (d *Database) writeIntents(ctx context.Context, lease store.Lease) {
	for {
		runtime.Gosched() // to those that are about to ask, too
		d.intents.lock.Lock()
		entries := d.intents.waiting[lease]
		if len(entries) == 0 {
			delete(d.intents.waiting, lease)
			d.intents.lock.Unlock()
			return
		}
		d.intents.waiting[lease] = nil
		d.intents.lock.Unlock()
		d.writeEntries(ctx, lease, entries)
	}
}

// writeEntries writes those entries whose calls may be made at this very moment:
// that is what keeps a mode that came up during the cycle, or a record's being staged
// in a batch, from being overtaken.
func (d *Database) writeEntries(ctx context.Context, lease store.Lease, entries []*entry) {
	ctx, cancel := context.WithTimeout(ctx, intentTimeout)
	defer cancel()
	var (
		regions, tables, kinds, services, actions, tokens, keys, columns []string
		records, upTo                                                    []int64
		replaces                                                         []bool
		written                                                          []*entry
	)
	for _, e := range entries {
		if err := e.ctx.Err(); err != nil { // nobody waits for it
			e.err = err
			continue
		}
		written = append(written, e)
		regions, tables, records = append(regions, e.Scope.Region), append(tables, e.Record.Table),
			append(records, e.Record.ID)
		kinds, services, actions = append(kinds, string(e.Kind)), append(services, e.Call.Service),
			append(actions, e.Call.Action)
		tokens, keys, columns = append(tokens, e.Token), append(keys, e.Key), append(columns, e.columns)
		upTo, replaces = append(upTo, e.UpTo), append(replaces, e.Replaces)
	}
	err := d.queryEntries(ctx, written, `
		WITH fence AS (
			SELECT 1 FROM iasql_internal.lease WHERE account = $1 AND fence = $2 FOR SHARE
		), allowed AS MATERIALIZED (
			SELECT nextval('public.iasql_operations_id_seq') AS id, c.*
			FROM unnest($5::text[], $6::text[], $7::bigint[], $8::text[], $9::text[], $10::text[], $11::text[], $12::text[], $13::jsonb[], $14::bigint[], $15::boolean[])
				WITH ORDINALITY c (region, table_name, record_id, kind, service, action, token, key, columns, up_to, replaces, ord)
			WHERE EXISTS (SELECT FROM fence)
			  AND ($4 = 0 OR EXISTS (SELECT FROM iasql_internal.batch b WHERE b.id = $4 AND b.closed_at IS NULL))
			  AND CASE WHEN c.record_id <> 0 THEN NOT EXISTS (
			               SELECT FROM iasql_internal.staged s WHERE s.record_id = c.record_id AND s.table_name = c.table_name AND s.batch <> $4)
			           ELSE NOT EXISTS (
			               SELECT FROM iasql_internal.staged_key k
			               WHERE k.key = c.key AND k.table_name = c.table_name AND k.account = $1 AND k.region = c.region AND k.batch <> $4) END
			  AND ($17 = '' OR $17 = iasql_internal.rules_version())
			  AND CASE WHEN NOT EXISTS (SELECT FROM public.iasql_mode WHERE mode IN ('TRACK', 'PAUSE')) THEN true
			           WHEN c.kind = 'update' THEN NOT EXISTS (
			               SELECT FROM jsonb_object_keys(c.columns) k (name) WHERE public.iasql_mode_of(c.table_name, nullif(c.record_id, 0), k.name) IN ('TRACK', 'PAUSE'))
			           ELSE public.iasql_mode_of(c.table_name, nullif(c.record_id, 0)) NOT IN ('TRACK', 'PAUSE') END
		), written AS (
			INSERT INTO public.iasql_operations
				(id, cycle_id, account, region, table_name, record_id, kind, service, action, token, key, columns, up_to, replaces, transaction_id, elapsed)
			OVERRIDING SYSTEM VALUE
			SELECT id, $3, $1, region, table_name, nullif(record_id, 0), kind, service, action, nullif(token, ''), nullif(key, ''), columns, up_to, replaces, nullif($4::bigint, 0), $16
			FROM allowed
		)
		SELECT ord, id FROM allowed`,
		lease.Account, lease.Fence, lease.Cycle, lease.Batch,
		regions, tables, records, kinds, services, actions, tokens, keys, columns, upTo, replaces,
		d.clocks.now(lease.Account), lease.Rules)
	refused := store.ErrRefused
	if err == nil && slices.ContainsFunc(written, func(e *entry) bool { return e.id == 0 }) {
		if lost := d.fencedBatch(ctx, lease, nil, func(*pgx.Batch) error { return nil }); lost != nil {
			refused = lost
		}
	}
	for _, e := range entries {
		switch {
		case e.err != nil:
		case err != nil:
			e.id, e.err = 0, err
		case e.id == 0:
			e.err = refused
		default:
			d.seen.sawOperation(e.id)
		}
		close(e.done)
	}
}

// queryEntries runs a statement that returns the ordinal numbers and ids of the
// entries it has written.
func (d *Database) queryEntries(ctx context.Context, entries []*entry, statement string, args ...any) error {
	if len(entries) == 0 {
		return nil
	}
	rows, err := d.Pool.Query(ctx, statement, args...)
	if err != nil {
		return err
	}
	var ord, id int64
	_, err = pgx.ForEachRow(rows, []any{&ord, &id}, func() error {
		entries[ord-1].id = id
		return nil
	})
	return err
}

// window is the consistency window of an account ($1) in seconds. (As a subquery it is computed once.)
const window = `(SELECT iasql_internal.consistency_window($1))`

// Intents implements [store.Store]. What ended well does not change any more, so that it
// is read once, and a cycle costs the same however many calls there were before it.
func (d *Database) Intents(ctx context.Context, account string, window time.Duration) (recent []*decide.Intent,
	inDoubt []decide.Intent, err error) {
	known := d.entries.of(account)
	now := d.clocks.now(account)
	if window > known.window { // entries that are known no more may count again
		known.list, known.since = nil, noEntries
	}
	read, err := d.readLog(ctx, account, now, window, known.since)
	if err != nil {
		return nil, nil, err
	}
	list := mergeEntries(known.list, read.done)
	list = slices.DeleteFunc(list, func(e logged) bool { return e.elapsed <= now-window.Seconds() })
	d.entries.keep(account, recentEntries{since: known.taken, window: window, list: list})
	recent = make([]*decide.Intent, 0, len(list)+len(read.others))
	for _, e := range list {
		recent = append(recent, e.intent)
	}
	if len(read.others) > 0 {
		recent = append(recent, read.others...)
		slices.SortFunc(recent, func(a, b *decide.Intent) int { return cmp.Compare(a.IDs[0], b.IDs[0]) })
	}
	return recent, read.inDoubt, nil
}

// noEntries is before every entry.
const noEntries = -1

// logRead is what a reading of the log has found.
type logRead struct {
	done    []logged         // of the window: ended well
	others  []*decide.Intent // of the window: may change, or do not tell the account's time
	inDoubt []decide.Intent
}

// readLog reads what is in doubt, and the entries of the window: of those that ended
// well, only those that did so at a time of the account or later.
func (d *Database) readLog(ctx context.Context, account string, now float64, window time.Duration,
	since float64) (r logRead, err error) {
	batch := &pgx.Batch{}
	batch.Queue(recentStatement, account, now, since, window.Seconds()).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			i := &decide.Intent{IDs: []int64{0}}
			var columns []byte
			var elapsed *float64
			err := rows.Scan(&i.IDs[0], &i.Record.Table, &i.Record.ID, &i.Kind, &i.Scope.Account, &i.Scope.Region,
				&i.Key, &columns, &i.UpTo, &i.Result, &elapsed)
			if err == nil {
				i.Columns, err = d.changes(i.Record.Table, columns)
			}
			if err != nil {
				return err
			}
			if i.Result == decide.ResultOK && elapsed != nil {
				r.done = append(r.done, logged{i, *elapsed})
			} else {
				r.others = append(r.others, i)
			}
		}
		return rows.Err()
	})
	batch.Queue(inDoubtStatement, account, now, window.Seconds()).Query(func(rows pgx.Rows) (err error) {
		r.inDoubt, err = pgx.CollectRows(rows, d.scanInDoubt)
		return err
	})
	return r, d.Pool.SendBatch(ctx, batch).Close()
}

// recentStatement reads the entries of an account's ($1) consistency window ($4, in seconds), which
// ends now ($2), by three indexes: what ended well at a time ($3) or later; what is or was in
// doubt; and what engines of an earlier version have written.
//
// The upper bounds are of no effect on the answer. Without one PostgreSQL takes a bound
// that it does not know yet for a third of the table, and reads all of it rather than
// the index; between two bounds it expects half a percent (DEFAULT_INEQ_SEL and
// DEFAULT_RANGE_INEQ_SEL in its selfuncs.h).
const recentStatement = `
	SELECT id, table_name, coalesce(record_id, 0), kind, account, region, coalesce(key, ''), columns, up_to, result, elapsed
	FROM (
		SELECT * FROM public.iasql_operations
		WHERE account = $1 AND elapsed >= $3 AND elapsed > $2::double precision - $4::double precision
		  AND elapsed < 'Infinity' AND result = 'ok'
		UNION ALL
		SELECT * FROM public.iasql_operations
		WHERE account = $1 AND elapsed > $2 - $4 AND elapsed < 'Infinity'
		  AND result IN ('unknown', 'abandoned') AND key IS NOT NULL
		UNION ALL
		SELECT * FROM public.iasql_operations
		WHERE account = $1 AND elapsed IS NULL AND ended > now() - make_interval(secs => $4)
		  AND (result = 'ok' OR result IN ('unknown', 'abandoned') AND key IS NOT NULL)
	) o
	WHERE kind <> 'call' ORDER BY id`

// logged is an entry that ended well, and when, by the account's own time.
type logged struct {
	intent  *decide.Intent
	elapsed float64
}

// mergeEntries returns the entries of both lists, each in the order of the log, which
// come from the newer one where they are in both.
func mergeEntries(known, newer []logged) []logged {
	all := make([]logged, 0, len(known)+len(newer))
	for _, e := range newer {
		at, there := slices.BinarySearchFunc(known, e, func(a, b logged) int {
			return cmp.Compare(a.intent.IDs[0], b.intent.IDs[0])
		})
		all, known = append(all, known[:at]...), known[at:]
		if there {
			known = known[1:]
		}
		all = append(all, e)
	}
	return append(all, known...)
}

// entryCache has the entries of the log that were read last and ended well, by account.
type entryCache struct {
	lock     gosync.Mutex
	accounts map[string]recentEntries
}

// recentEntries are those of one account.
type recentEntries struct {
	// taken is the account's time when this process last took the lease. Whatever was
	// written before is visible since, because it was written under an earlier lease
	// (R15); whatever is written later, by whomever, has a later time.
	taken float64
	// since is what taken was when the entries were read: those that ended later have
	// to be read again. noEntries: none are known.
	since  float64
	window time.Duration
	list   []logged // in the order of the log
}

func (c *entryCache) of(account string) recentEntries {
	c.lock.Lock()
	defer c.lock.Unlock()
	return c.known(account)
}

func (c *entryCache) known(account string) recentEntries {
	if known, ok := c.accounts[account]; ok {
		return known
	}
	if c.accounts == nil {
		c.accounts = map[string]recentEntries{}
	}
	return recentEntries{taken: noEntries, since: noEntries}
}

// takes notes that the account's lease was taken at a time of the account.
func (c *entryCache) takes(account string, elapsed float64) {
	c.lock.Lock()
	defer c.lock.Unlock()
	known := c.known(account)
	known.taken = elapsed
	c.accounts[account] = known
}

// outdated has everything read again if one of these entries, which are about to be
// written, is known.
func (c *entryCache) outdated(account string, ids []int64) {
	c.lock.Lock()
	defer c.lock.Unlock()
	known := c.known(account)
	if slices.ContainsFunc(ids, func(id int64) bool {
		_, there := slices.BinarySearchFunc(known.list, id, func(e logged, id int64) int {
			return cmp.Compare(e.intent.IDs[0], id)
		})
		return there
	}) {
		c.accounts[account] = recentEntries{taken: known.taken, since: noEntries}
	}
}

// keep keeps the entries that were read, and what is known of the lease since.
func (c *entryCache) keep(account string, read recentEntries) {
	c.lock.Lock()
	defer c.lock.Unlock()
	read.taken = c.known(account).taken
	c.accounts[account] = read
}

// change is the JSON form of a [decide.ValueChange].
type change struct {
	From  json.RawMessage `json:"from"`
	To    json.RawMessage `json:"to"`
	Named *string         `json:"named,omitempty"`
}

func (d *Database) changes(table string, image []byte) (map[string]decide.ValueChange, error) {
	t := d.Registry.Table(table)
	if t == nil {
		return nil, nil
	}
	var raw map[string]change
	if err := json.Unmarshal(image, &raw); err != nil {
		return nil, fmt.Errorf("intent log of %s: %w", table, err)
	}
	out := make(map[string]decide.ValueChange, len(raw))
	for name, v := range raw {
		c := t.Column(name)
		if c == nil {
			continue
		}
		var vc decide.ValueChange
		var err error
		if vc.From, err = auditlog.FromJSON(c, v.From); err != nil {
			return nil, fmt.Errorf("intent log of %s: column %s: %w", table, name, err)
		}
		if vc.To, err = auditlog.FromJSON(c, v.To); err != nil {
			return nil, fmt.Errorf("intent log of %s: column %s: %w", table, name, err)
		}
		vc.Named = modules.TextPtr(v.Named)
		out[name] = vc
	}
	return out, nil
}

// known returns a value as the log keeps it: NULL in place of what is no value of its
// column, as a dangling reference. An engine of an earlier version could not read such.
func known(c *modules.Column, v modules.Value) modules.Value {
	if c.Holds(v) {
		return v
	}
	return modules.Null
}

func (d *Database) changesJSON(table string, changes map[string]decide.ValueChange) ([]byte, error) {
	t := d.Registry.Table(table)
	raw := make(map[string]change, len(changes))
	for name, v := range changes {
		c := t.Column(name)
		raw[name] = change{auditlog.ToJSON(c, known(c, v.From)), auditlog.ToJSON(c, known(c, v.To)), v.Named.Ptr()}
	}
	return json.Marshal(raw)
}

// inDoubtStatement reads the operations of an account ($1) whose end is not known now
// ($2), with the consistency window ($3, in seconds). The calls of one operation have one
// token, or are about one object: deletions of what has no record, or of what a record has
// replaced, are as many operations as there are objects.
const inDoubtStatement = `
	SELECT array_agg(id ORDER BY id), table_name, coalesce(record_id, 0), kind, account, region, coalesce(max(key), ''), coalesce(token, ''),
	       (array_agg(columns ORDER BY id))[1], max(up_to), bool_or(replaces),
	       coalesce(max(elapsed) < $2::double precision - 2 * $3::double precision,
	                max(started) < now() - make_interval(secs => 2 * $3)),
	       coalesce((array_agg(request ORDER BY id DESC) FILTER (WHERE request IS NOT NULL))[1], '')
	FROM public.iasql_operations
	WHERE account = $1 AND ended IS NULL AND kind <> 'call'
	GROUP BY table_name, record_id, kind, account, region, token, CASE WHEN kind <> 'create' THEN key END
	ORDER BY min(id)`

// scanInDoubt reads a row that inDoubtStatement returns.
func (d *Database) scanInDoubt(row pgx.CollectableRow) (i decide.Intent, err error) {
	var columns []byte
	if err := row.Scan(&i.IDs, &i.Record.Table, &i.Record.ID, &i.Kind, &i.Scope.Account, &i.Scope.Region,
		&i.Key, &i.Token,
		&columns, &i.UpTo, &i.Replaces, &i.Expired, &i.Request); err != nil {
		return i, err
	}
	i.Columns, err = d.changes(i.Record.Table, columns)
	return i, err
}

// Note implements [store.Noter].
func (d *Database) Note(ctx context.Context, lease store.Lease, id int64, request string) error {
	tag, err := d.Pool.Exec(ctx, `
		UPDATE public.iasql_operations SET request = $4
		WHERE id = $3 AND account = $1 AND EXISTS (SELECT FROM iasql_internal.lease WHERE account = $1 AND fence = $2)`,
		lease.Account, lease.Fence, id, request)
	if err == nil && tag.RowsAffected() == 0 {
		err = store.ErrLeaseLost
	}
	if err != nil {
		return fmt.Errorf("note request %s of operation %d: %w", request, id, err)
	}
	return nil
}
