package postgres

import (
	"github.com/jackc/pgx/v5"

	"iasql/internal/decide"
	"iasql/internal/modules"
	"iasql/internal/store"
)

// queueProtection queues the read of what people have said must stay, and of what they
// have left to others.
func queueProtection(batch *pgx.Batch, account string, s *store.Settings) {
	batch.Queue(`SELECT table_name, coalesce(record_id, 0), protected FROM public.iasql_protection`).Query(func(rows pgx.Rows) error {
		var ref decide.RecordRef
		var protected bool
		s.Protection = decide.Protection{}
		_, err := pgx.ForEachRow(rows, []any{&ref.Table, &ref.ID, &protected}, func() error {
			s.Protection[ref] = protected
			return nil
		})
		return err
	})
	batch.Queue(`SELECT id, coalesce(table_name, ''), match::text FROM public.iasql_ignore ORDER BY id`).Query(func(rows pgx.Rows) error {
		var id int64
		var table, match string
		_, err := pgx.ForEachRow(rows, []any{&id, &table, &match}, func() error {
			rule, err := decide.ParseIgnoreRule(id, table, []byte(match))
			s.Letting.Rules = append(s.Letting.Rules, rule)
			return err
		})
		return err
	})
	batch.Queue(`SELECT table_name, region, key FROM iasql_internal.forgotten WHERE account = $1`, account).
		Query(names(&s.Letting.Forgotten, account))
	batch.Queue(`SELECT table_name, '', key FROM iasql_internal.adopted`).Query(names(&s.Letting.Adopted, ""))
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
