package postgres

import (
	"context"
	gosync "sync"

	"github.com/jackc/pgx/v5"

	"iasql/internal/decide"
	"iasql/internal/modes"
	"iasql/internal/modules"
)

// cache keeps what was read last, by account. While its version is the same, so is it:
// there may be many thousands of rules, and a thousand tables, and a cycle begins for
// every edit.
type cache[T any] struct {
	lock      gosync.Mutex
	byAccount map[string]versioned[T]
}

// versioned is a version and what is of it. Nobody changes that in place.
type versioned[T any] struct {
	version string
	content T
}

// read returns what has the version; if there is something newer by now, that and its
// version.
func (c *cache[T]) read(ctx context.Context, d *Database, account, version string, queue func(*pgx.Batch, string, *versioned[T])) (versioned[T], error) {
	c.lock.Lock()
	known, ok := c.byAccount[account]
	c.lock.Unlock()
	if ok && known.version == version {
		return known, nil
	}
	// Of one snapshot: what is kept under a version must be that version's.
	known = versioned[T]{}
	if err := d.snapshot(ctx, func(batch *pgx.Batch) { queue(batch, account, &known) }); err != nil {
		return known, err
	}
	c.lock.Lock()
	defer c.lock.Unlock()
	if c.byAccount == nil {
		c.byAccount = map[string]versioned[T]{}
	}
	c.byAccount[account] = known
	return known, nil
}

// rules are what people have said about what is theirs.
type rules struct {
	modes      modes.Rules
	protection decide.Protection
	letting    decide.Letting
	askDrift   bool
}

// queueRules queues the read of the rules.
func queueRules(batch *pgx.Batch, account string, into *versioned[rules]) {
	r := &into.content
	batch.Queue(`SELECT iasql_internal.rules_version()`).QueryRow(func(row pgx.Row) error { return row.Scan(&into.version) })
	batch.Queue(`SELECT id, coalesce(table_name, ''), coalesce(record_id, 0), coalesce(column_name, ''), mode FROM public.iasql_mode`).
		Query(func(rows pgx.Rows) error {
			list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (modes.Rule, error) {
				var m modes.Rule
				return m, row.Scan(&m.ID, &m.Table, &m.RecordID, &m.Column, &m.Mode)
			})
			r.modes = modes.New(list)
			return err
		})
	batch.Queue(`SELECT table_name, coalesce(record_id, 0), protected FROM public.iasql_protection`).Query(func(rows pgx.Rows) error {
		var ref decide.RecordRef
		var protected bool
		r.protection = decide.Protection{}
		_, err := pgx.ForEachRow(rows, []any{&ref.Table, &ref.ID, &protected}, func() error {
			r.protection[ref] = protected
			return nil
		})
		return err
	})
	batch.Queue(`SELECT id, coalesce(table_name, ''), match::text FROM public.iasql_ignore ORDER BY id`).Query(func(rows pgx.Rows) error {
		var id int64
		var table, match string
		_, err := pgx.ForEachRow(rows, []any{&id, &table, &match}, func() error {
			rule, err := decide.ParseIgnoreRule(id, table, []byte(match))
			r.letting.Rules = append(r.letting.Rules, rule)
			return err
		})
		return err
	})
	batch.Queue(`SELECT table_name, region, key FROM iasql_internal.forgotten WHERE account = $1`, account).
		Query(names(&r.letting.Forgotten, account))
	batch.Queue(`SELECT table_name, '', key FROM iasql_internal.adopted`).Query(names(&r.letting.Adopted, ""))
	batch.Queue(`SELECT value = 'ask' FROM public.iasql_settings WHERE name = 'drift'`).QueryRow(func(row pgx.Row) error { return row.Scan(&r.askDrift) })
}

// names reads names of objects, by table, region and key.
func names(into *map[decide.ObjectName]bool, account string) func(pgx.Rows) error {
	return func(rows pgx.Rows) error {
		*into = map[decide.ObjectName]bool{}
		var table, region, key string
		_, err := pgx.ForEachRow(rows, []any{&table, &region, &key}, func() error {
			(*into)[decide.ObjectName{Table: table, Scope: modules.Scope{Account: account, Region: region}, Key: key}] = true
			return nil
		})
		return err
	}
}
