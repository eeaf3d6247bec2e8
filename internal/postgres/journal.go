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
	"iasql/internal/modules"
	"iasql/internal/sync"
)

// journal gathers calls that are about to be made. What the operations of a
// cycle ask for while an earlier transaction of theirs is under way goes into
// the next one together, so that many operations at once cost few commits, and
// a single one waits for nobody.
type journal struct {
	lock gosync.Mutex
	// waiting has a key for each lease that is being written for.
	waiting map[sync.Lease][]*entry
}

// entry is a call that waits to be journaled.
type entry struct {
	sync.LoggedCall
	ctx     context.Context
	columns string        // JSON
	done    chan struct{} // closed when id and err are known
	id      int64
	err     error
}

// journalTimeout bounds the writing of entries: whoever waits for one may have
// gone, and nobody else ends it.
const journalTimeout = time.Minute

// Begin implements [sync.Database]. It returns when the entry is committed (R6).
// An error other than the two that say so leaves open whether it is.
func (d *Database) Begin(ctx context.Context, lease sync.Lease, call sync.LoggedCall) (int64, error) {
	columns, err := d.changesJSON(call.Record.Table, call.Columns)
	if err != nil {
		return 0, err
	}
	e := &entry{LoggedCall: call, ctx: ctx, columns: string(columns), done: make(chan struct{})}
	d.journal.lock.Lock()
	if d.journal.waiting == nil {
		d.journal.waiting = map[sync.Lease][]*entry{}
	}
	waiting, writing := d.journal.waiting[lease]
	d.journal.waiting[lease] = append(waiting, e)
	d.journal.lock.Unlock()
	if !writing {
		// Not by the caller: one whose context ends must not take others with it.
		go d.writeJournal(context.WithoutCancel(ctx), lease)
	}
	select {
	case <-e.done:
		return e.id, e.err
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// writeJournal writes entries of a lease until none is waiting.
func (d *Database) writeJournal(ctx context.Context, lease sync.Lease) {
	for {
		runtime.Gosched() // to those that are about to ask, too
		d.journal.lock.Lock()
		entries := d.journal.waiting[lease]
		if len(entries) == 0 {
			delete(d.journal.waiting, lease)
			d.journal.lock.Unlock()
			return
		}
		d.journal.waiting[lease] = nil
		d.journal.lock.Unlock()
		d.writeEntries(ctx, lease, entries)
	}
}

// writeEntries writes those entries whose calls may be made at this very moment:
// that is what keeps a mode or a batch that came up during the cycle from being
// overtaken.
func (d *Database) writeEntries(ctx context.Context, lease sync.Lease, entries []*entry) {
	ctx, cancel := context.WithTimeout(ctx, journalTimeout)
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
		regions, tables, records, kinds, services, actions, tokens, keys, columns, upTo, replaces, d.clocks.now(lease.Account))
	refused := sync.ErrRefused
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

// OwnWrites implements [sync.Database].
func (d *Database) OwnWrites(ctx context.Context, account string) ([]sync.LoggedWrite, error) {
	rows, err := d.Pool.Query(ctx, `
		SELECT id, table_name, coalesce(record_id, 0), kind, account, region, coalesce(key, ''), columns, up_to, result <> 'ok'
		FROM public.iasql_operations
		WHERE account = $1 AND kind <> 'call' AND (result = 'ok' OR result IN ('unknown', 'abandoned') AND key IS NOT NULL)
		  AND (elapsed > $2 - `+window+` OR elapsed IS NULL AND ended > now() - make_interval(secs => `+window+`))
		ORDER BY id`, account, d.clocks.now(account))
	if err != nil {
		return nil, err
	}
	known, now := d.entries.of(account), map[int64]decoded{}
	defer d.entries.keep(account, now)
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (sync.LoggedWrite, error) {
		var w sync.LoggedWrite
		var columns string
		err := row.Scan(&w.ID, &w.Record.Table, &w.Record.ID, &w.Kind, &w.Scope.Account, &w.Scope.Region, &w.Key, &columns, &w.UpTo, &w.Unsure)
		if err != nil {
			return w, err
		}
		if e, ok := known[w.ID]; ok && e.text == columns {
			w.Columns = e.columns
		} else if w.Columns, err = d.changes(w.Record.Table, []byte(columns)); err != nil {
			return w, err
		}
		now[w.ID] = decoded{columns, w.Columns}
		return w, nil
	})
}

// decodedEntries are the columns of the journal's entries that were read last, by
// account: every cycle reads those of the consistency window again, and to decode
// them took most of the time.
type decodedEntries struct {
	lock     gosync.Mutex
	accounts map[string]map[int64]decoded
}

type decoded struct {
	text    string
	columns map[string]sync.ValueChange
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

// change is the JSON form of a [sync.ValueChange].
type change struct {
	From  json.RawMessage `json:"from"`
	To    json.RawMessage `json:"to"`
	Named *string         `json:"named,omitempty"`
}

func (d *Database) changes(table string, image []byte) (map[string]sync.ValueChange, error) {
	t := d.Registry.Table(table)
	if t == nil {
		return nil, nil
	}
	var raw map[string]change
	if err := json.Unmarshal(image, &raw); err != nil {
		return nil, fmt.Errorf("journal of %s: %w", table, err)
	}
	out := make(map[string]sync.ValueChange, len(raw))
	for name, v := range raw {
		c := t.Column(name)
		if c == nil {
			continue
		}
		var vc sync.ValueChange
		var err error
		if vc.From, err = auditlog.FromJSON(c, v.From); err != nil {
			return nil, fmt.Errorf("journal of %s: column %s: %w", table, name, err)
		}
		if vc.To, err = auditlog.FromJSON(c, v.To); err != nil {
			return nil, fmt.Errorf("journal of %s: column %s: %w", table, name, err)
		}
		vc.Named = modules.TextPtr(v.Named)
		out[name] = vc
	}
	return out, nil
}

// known returns a value as the journal keeps it. A reference to a record that
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

func (d *Database) changesJSON(table string, changes map[string]sync.ValueChange) ([]byte, error) {
	t := d.Registry.Table(table)
	raw := make(map[string]change, len(changes))
	for name, v := range changes {
		c := t.Column(name)
		raw[name] = change{auditlog.ToJSON(c, known(c, v.From)), auditlog.ToJSON(c, known(c, v.To)), v.Named.Ptr()}
	}
	return json.Marshal(raw)
}

// Unfinished implements [sync.Database]. The calls of one operation have one token,
// or are about one object: deletions of what has no record, or of what a record
// has replaced, are as many operations as there are objects.
func (d *Database) Unfinished(ctx context.Context, account string) ([]sync.LoggedOp, error) {
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
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (sync.LoggedOp, error) {
		var op sync.LoggedOp
		var columns []byte
		err := row.Scan(&op.IDs, &op.Record.Table, &op.Record.ID, &op.Kind, &op.Scope.Account, &op.Scope.Region, &op.Key, &op.Token,
			&columns, &op.UpTo, &op.Replaces, &op.Settled)
		if err != nil {
			return op, err
		}
		op.Columns, err = d.changes(op.Record.Table, columns)
		return op, err
	})
}
