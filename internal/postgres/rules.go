package postgres

import (
	"github.com/jackc/pgx/v5"

	"iasql/internal/decide"
	"iasql/internal/modes"
	"iasql/internal/modules"
)

// rules are what people have said about what is theirs.
type rules struct {
	modes      modes.Rules
	protection decide.Protection
	exclusions decide.Exclusions
	askDrift   bool
}

// queueRules queues the read of the rules.
func queueRules(batch *pgx.Batch, account string, into *versioned[rules]) {
	r := &into.content
	batch.Queue(`SELECT iasql_internal.rules_version()`).QueryRow(func(row pgx.Row) error {
		return row.Scan(&into.version)
	})
	batch.Queue(`SELECT id, coalesce(table_name, ''), coalesce(record_id, 0), coalesce(column_name, ''), mode FROM public.iasql_mode`).
		Query(func(rows pgx.Rows) error {
			list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (modes.Rule, error) {
				var m modes.Rule
				return m, row.Scan(&m.ID, &m.Table, &m.RecordID, &m.Column, &m.Mode)
			})
			r.modes = modes.New(list)
			return err
		})
	batch.Queue(`SELECT table_name, coalesce(record_id, 0), protected FROM public.iasql_protection`).Query(
		func(rows pgx.Rows) error {
			var ref decide.RecordRef
			var protected bool
			r.protection = decide.Protection{}
			_, err := pgx.ForEachRow(rows, []any{&ref.Table, &ref.ID, &protected}, func() error {
				r.protection[ref] = protected
				return nil
			})
			return err
		})
	batch.Queue(`SELECT id, coalesce(table_name, ''), match::text FROM public.iasql_ignore ORDER BY id`).Query(
		func(rows pgx.Rows) error {
			var id int64
			var table, match string
			_, err := pgx.ForEachRow(rows, []any{&id, &table, &match}, func() error {
				rule, err := decide.ParseIgnoreRule(id, table, []byte(match))
				r.exclusions.Rules = append(r.exclusions.Rules, rule)
				return err
			})
			return err
		})
	batch.Queue(`SELECT table_name, region, key FROM iasql_internal.forgotten WHERE account = $1`, account).
		Query(names(&r.exclusions.Forgotten, account))
	batch.Queue(`SELECT table_name, '', key FROM iasql_internal.adopted`).Query(names(&r.exclusions.Adopted, ""))
	batch.Queue(`SELECT value = 'ask' FROM public.iasql_settings WHERE name = 'drift'`).QueryRow(
		func(row pgx.Row) error { return row.Scan(&r.askDrift) })
}

// names reads names of objects, by table, region and key.
func names(into *map[decide.ObjectName]bool, account string) func(pgx.Rows) error {
	return func(rows pgx.Rows) error {
		*into = map[decide.ObjectName]bool{}
		var table, region, key string
		_, err := pgx.ForEachRow(rows, []any{&table, &region, &key}, func() error {
			(*into)[decide.ObjectName{Table: table, Scope: modules.Scope{Account: account, Region: region},
				Key: key}] = true
			return nil
		})
		return err
	}
}
