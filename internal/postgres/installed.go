package postgres

import (
	"github.com/jackc/pgx/v5"
)

// installed says which synchronized tables there are, and which of them have been
// imported completely once.
type installed struct {
	tables   []string // in order
	imported map[string]bool
}

// installedTables reads the names of the installed synchronized tables, in order.
const installedTables = `SELECT name FROM iasql_internal.managed_table WHERE NOT settings ORDER BY name COLLATE "C"`

// queueInstalled queues the read of which tables there are.
func queueInstalled(batch *pgx.Batch, account string, into *versioned[installed]) {
	batch.Queue(`SELECT iasql_internal.tables_version()`).QueryRow(func(row pgx.Row) error {
		return row.Scan(&into.version)
	})
	batch.Queue(installedTables).Query(func(rows pgx.Rows) (err error) {
		into.content.tables, err = pgx.CollectRows(rows, pgx.RowTo[string])
		return err
	})
	batch.Queue(`SELECT table_name FROM iasql_internal.imported WHERE account = $1`,
		account).Query(func(rows pgx.Rows) error {
		into.content.imported = map[string]bool{}
		var name string
		_, err := pgx.ForEachRow(rows, []any{&name}, func() error {
			into.content.imported[name] = true
			return nil
		})
		return err
	})
}
