package postgres

import (
	"fmt"

	"github.com/jackc/pgx/v5"

	"iasql/internal/auditlog"
	"iasql/internal/modules"
)

// The audit log's rows are marked as settled one by one, never by a window over
// time or ids: a transaction that commits late has smaller ids and earlier times
// than rows that have been dealt with already (R2).

// pendingQuery selects the unsettled user changes of records of a table, in
// order: $1 is the table, $2 the record ids. [scanPending] reads its rows.
const pendingQuery = `
	SELECT id, record_id, change_type, change -> 'original', (extract(epoch FROM ts) * 1000000)::bigint
	FROM public.iasql_audit_log
	WHERE NOT settled AND table_name = $1 AND record_id = ANY ($2) AND change_type IN ('INSERT', 'UPDATE', 'DELETE')
	ORDER BY id`

// scanPending folds the rows of [pendingQuery] by record.
func scanPending(t *modules.Table, rows pgx.Rows) (map[int64]*auditlog.Change, error) {
	changes := map[int64]*auditlog.Change{}
	defer rows.Close()
	for rows.Next() {
		var e auditlog.Entry
		var original []byte
		if err := rows.Scan(&e.ID, &e.RecordID, &e.Type, &original, &e.At); err != nil {
			return nil, err
		}
		var err error
		if e.Original, err = auditlog.Row(t, original); err != nil {
			return nil, err
		}
		changes[e.RecordID] = changes[e.RecordID].Fold(t, e)
	}
	return changes, rows.Err()
}

// settleQuery marks audit rows, $1, as dealt with, in the transaction that
// records what was done about them.
const settleQuery = `
	UPDATE public.iasql_audit_log SET settled = true, settled_at = clock_timestamp()
	WHERE id = ANY ($1) AND NOT settled`

// regionBefore is the SQL expression of the region in which a record of a table was
// before the change of the audit row l. The row's image tells, if the change was a
// deletion or a move. If not, the record is where it was: the next image tells, or
// the record.
func regionBefore(t *modules.Table, l string) string {
	return fmt.Sprintf(`coalesce(%[1]s.change #>> '{original,region}', (
		SELECT (array_agg(n.change #>> '{original,region}' ORDER BY n.id))[1] FROM public.iasql_audit_log n
		WHERE n.record_id = %[1]s.record_id AND n.table_name = %[1]s.table_name AND n.id > %[1]s.id AND n.change #>> '{original,region}' IS NOT NULL
	), (SELECT r.region FROM %[2]s r WHERE r.id = %[1]s.record_id))`, l, shapeOf(t).name)
}
