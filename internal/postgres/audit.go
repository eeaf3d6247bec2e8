package postgres

import (
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
	SELECT id, record_id, change_type, change -> 'original'
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
		if err := rows.Scan(&e.ID, &e.RecordID, &e.Type, &original); err != nil {
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
