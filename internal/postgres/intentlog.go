package postgres

import (
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
// that is what keeps a mode or a batch that came up during the cycle from being
// overtaken.
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
		regions, tables, records = append(regions, e.Scope.Region), append(tables, e.Record.Table), append(records, e.Record.ID)
		kinds, services, actions = append(kinds, string(e.Kind)), append(services, e.Call.Service), append(actions, e.Call.Action)
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
			  AND (SELECT coalesce(iasql_internal.open_batch(), 0)) = $4
			  AND ($17 = '' OR $17 = iasql_internal.rules_version())
			  AND CASE WHEN NOT EXISTS (SELECT FROM public.iasql_mode WHERE mode = 'TRACK') THEN true
			           WHEN c.kind = 'update' THEN NOT EXISTS (
			               SELECT FROM jsonb_object_keys(c.columns) k (name) WHERE public.iasql_mode_of(c.table_name, nullif(c.record_id, 0), k.name) = 'TRACK')
			           ELSE public.iasql_mode_of(c.table_name, nullif(c.record_id, 0)) <> 'TRACK' END
		), written AS (
			INSERT INTO public.iasql_operations
				(id, cycle_id, account, region, table_name, record_id, kind, service, action, token, key, columns, up_to, replaces, transaction_id, elapsed)
			OVERRIDING SYSTEM VALUE
			SELECT id, $3, $1, region, table_name, nullif(record_id, 0), kind, service, action, nullif(token, ''), nullif(key, ''), columns, up_to, replaces, nullif($4::bigint, 0), $16
			FROM allowed
		)
		SELECT ord, id FROM allowed`,
		lease.Account, lease.Fence, lease.Cycle, lease.Batch,
		regions, tables, records, kinds, services, actions, tokens, keys, columns, upTo, replaces, d.clocks.now(lease.Account), lease.Rules)
	refused := store.ErrRefused
	if err == nil && slices.ContainsFunc(written, func(e *entry) bool { return e.id == 0 }) {
		if lost := d.fenced(ctx, lease, nil, func(pgx.Tx) error { return nil }); lost != nil {
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

// window is the consistency window in seconds.
const window = `(SELECT extract(epoch FROM value::interval) FROM public.iasql_settings WHERE name = 'consistency_window')::double precision`

// Recent implements [store.Store].
func (d *Database) Recent(ctx context.Context, account string) ([]*decide.Intent, error) {
	rows, err := d.Pool.Query(ctx, `
		SELECT id, table_name, coalesce(record_id, 0), kind, account, region, coalesce(key, ''), columns, up_to, result
		FROM public.iasql_operations
		WHERE account = $1 AND kind <> 'call' AND (result = 'ok' OR result IN ('unknown', 'abandoned') AND key IS NOT NULL)
		  AND (elapsed > $2 - `+window+` OR elapsed IS NULL AND ended > now() - make_interval(secs => `+window+`))
		ORDER BY id`, account, d.clocks.now(account))
	if err != nil {
		return nil, err
	}
	known, now := d.entries.of(account), map[int64]decoded{}
	defer d.entries.keep(account, now)
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (*decide.Intent, error) {
		var id int64
		var columns string
		i := &decide.Intent{}
		err := row.Scan(&id, &i.Record.Table, &i.Record.ID, &i.Kind, &i.Scope.Account, &i.Scope.Region, &i.Key, &columns, &i.UpTo, &i.Result)
		if err != nil {
			return nil, err
		}
		i.IDs = []int64{id}
		if e, ok := known[id]; ok && e.text == columns {
			i.Columns = e.columns
		} else if i.Columns, err = d.changes(i.Record.Table, []byte(columns)); err != nil {
			return nil, err
		}
		now[id] = decoded{columns, i.Columns}
		return i, nil
	})
}

// decodedEntries are the columns of the log's entries that were read last, by
// account: every cycle reads those of the consistency window again, and to decode
// them took most of the time.
type decodedEntries struct {
	lock     gosync.Mutex
	accounts map[string]map[int64]decoded
}

type decoded struct {
	text    string
	columns map[string]decide.ValueChange
}

func (d *decodedEntries) of(account string) map[int64]decoded {
	d.lock.Lock()
	defer d.lock.Unlock()
	return d.accounts[account]
}

func (d *decodedEntries) keep(account string, entries map[int64]decoded) {
	d.lock.Lock()
	defer d.lock.Unlock()
	if len(entries) == 0 {
		delete(d.accounts, account)
		return
	}
	if d.accounts == nil {
		d.accounts = map[string]map[int64]decoded{}
	}
	d.accounts[account] = entries
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

// known returns a value as the log keeps it. A reference to a record that
// has been replaced or is being deleted is no value of its column.
func known(c *modules.Column, v modules.Value) modules.Value {
	if v.IsNull() {
		return v
	}
	if _, err := c.Type.Canonical(v.String()); err != nil {
		return modules.Null
	}
	return v
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

// InDoubt implements [store.Store]. The calls of one operation have one token, or
// are about one object: deletions of what has no record, or of what a record has
// replaced, are as many operations as there are objects.
func (d *Database) InDoubt(ctx context.Context, account string) ([]decide.Intent, error) {
	rows, err := d.Pool.Query(ctx, `
		SELECT array_agg(id ORDER BY id), table_name, coalesce(record_id, 0), kind, account, region, coalesce(max(key), ''), coalesce(token, ''),
		       (array_agg(columns ORDER BY id))[1], max(up_to), bool_or(replaces),
		       coalesce(max(elapsed) < $2 - 2 * `+window+`, max(started) < now() - make_interval(secs => 2 * `+window+`))
		FROM public.iasql_operations
		WHERE account = $1 AND ended IS NULL AND kind <> 'call'
		GROUP BY table_name, record_id, kind, account, region, token, CASE WHEN kind <> 'create' THEN key END
		ORDER BY min(id)`, account, d.clocks.now(account))
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (decide.Intent, error) {
		var i decide.Intent
		var columns []byte
		err := row.Scan(&i.IDs, &i.Record.Table, &i.Record.ID, &i.Kind, &i.Scope.Account, &i.Scope.Region, &i.Key, &i.Token,
			&columns, &i.UpTo, &i.Replaces, &i.Expired)
		if err != nil {
			return i, err
		}
		i.Columns, err = d.changes(i.Record.Table, columns)
		return i, err
	})
}
