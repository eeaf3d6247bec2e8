package console

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// recordState is what iasql_status says of a record. That view is about all
// records at once; of a million it takes seconds, so that this asks for those
// that a page shows, of the same tables and by the same rules.
type recordState struct {
	state, message   string
	review           bool
	attempts         int
	next, since      *time.Time
	pending, removed bool
	batch            int64 // the open batch that has it staged
}

func loadRecordStates(ctx context.Context, tx pgx.Tx, t string, ids []int64) (map[int64]recordState, error) {
	states := map[int64]recordState{}
	if len(ids) == 0 {
		return states, nil
	}
	rows, err := tx.Query(ctx, `
		WITH pending AS (
			SELECT l.record_id, bool_or(l.change_type = 'INSERT') AS inserted, bool_or(l.change_type = 'DELETE') AS deleted, min(l.ts) AS since
			FROM public.iasql_audit_log l
			WHERE NOT l.settled AND l.table_name = $1 AND l.record_id = ANY ($2) AND l.change_type IN ('INSERT', 'UPDATE', 'DELETE')
			GROUP BY l.record_id
		), predecessors AS (
			SELECT o.record_id, bool_or(o.review) AS review, max(o.state) FILTER (WHERE o.review OR o.state LIKE '%Failed') AS failed,
				string_agg(concat_ws(': ', 'its predecessor ' || o.key, nullif(o.message, '')), E'\n' ORDER BY o.id) AS message
			FROM iasql_internal.garbage o WHERE o.table_name = $1 AND o.record_id = ANY ($2) GROUP BY o.record_id
		)
		SELECT i.id, CASE WHEN s.state IS NOT NULL THEN s.state WHEN p.deleted THEN 'Removing' WHEN p.inserted THEN 'Creating' WHEN p.record_id IS NOT NULL THEN 'Updating'
				WHEN o.failed IS NOT NULL THEN o.failed ELSE 'Present' END,
			coalesce(s.review, false) OR coalesce(o.review, false),
			concat_ws(E'\n', nullif(s.message, ''), CASE WHEN o.failed IS NOT NULL THEN o.message END), coalesce(s.attempts, 0),
			CASE WHEN s.next_attempt_at < 'infinity' THEN s.next_attempt_at END, coalesce(s.since, p.since), p.record_id IS NOT NULL, coalesce(p.deleted, false)
		FROM unnest($2::bigint[]) i (id)
		LEFT JOIN iasql_internal.record_state s ON s.table_name = $1 AND s.record_id = i.id
		LEFT JOIN pending p ON p.record_id = i.id
		LEFT JOIN predecessors o ON o.record_id = i.id`, t, ids)
	if err != nil {
		return nil, err
	}
	var id int64
	var s recordState
	_, err = pgx.ForEachRow(rows, []any{&id, &s.state, &s.review, &s.message, &s.attempts, &s.next, &s.since,
		&s.pending, &s.removed}, func() error {
		states[id] = s
		return nil
	})
	if err != nil {
		return nil, err
	}
	return states, loadStaged(ctx, tx, t, states)
}

// loadStaged notes of records with pending changes which open batch has them.
func loadStaged(ctx context.Context, tx pgx.Tx, t string, states map[int64]recordState) error {
	var pending []int64
	for id, s := range states {
		if s.pending {
			pending = append(pending, id)
		}
	}
	if len(pending) == 0 {
		return nil
	}
	rows, err := tx.Query(ctx, `
		SELECT l.record_id, min(b.id) FROM public.iasql_batches b JOIN public.iasql_audit_log l ON l.transaction_id = b.id
		WHERE b.phase = 'open' AND NOT l.settled AND l.table_name = $1 AND l.record_id = ANY ($2) GROUP BY 1`,
		t, pending)
	if err != nil {
		return err
	}
	var id, batch int64
	_, err = pgx.ForEachRow(rows, []any{&id, &batch}, func() error {
		s := states[id]
		s.batch = batch
		if !s.review {
			s.state = "Staged"
		}
		states[id] = s
		return nil
	})
	return err
}

// loadShownStates gives records their states, those of all tables at once, by the rules of
// loadRecordStates: for pictures, which show of a state what it is and no more.
func loadShownStates(ctx context.Context, tx pgx.Tx, states map[recordKey]*recordState) error {
	if len(states) == 0 {
		return nil
	}
	names, ids := make([]string, 0, len(states)), make([]int64, 0, len(states))
	for k, s := range states {
		s.state = "Present"
		names, ids = append(names, k.table), append(ids, k.id)
	}
	rows, err := tx.Query(ctx, `
		WITH shown AS MATERIALIZED (SELECT * FROM unnest($1::text[], $2::bigint[]) i (name, id)),
		pending AS MATERIALIZED (
			SELECT l.table_name AS name, l.record_id AS id, bool_or(l.change_type = 'INSERT') AS inserted, bool_or(l.change_type = 'DELETE') AS deleted,
				max(l.transaction_id) AS batch
			FROM public.iasql_audit_log l
			WHERE NOT l.settled AND l.change_type IN ('INSERT', 'UPDATE', 'DELETE') GROUP BY 1, 2
		), gone AS MATERIALIZED (
			SELECT o.table_name AS name, o.record_id AS id, bool_or(o.review) AS review, max(o.state) FILTER (WHERE o.review OR o.state LIKE '%Failed') AS failed
			FROM iasql_internal.garbage o GROUP BY 1, 2
		), open AS MATERIALIZED (SELECT b.id FROM public.iasql_batches b WHERE b.phase = 'open')
		SELECT i.name, i.id, CASE WHEN b.id IS NOT NULL AND NOT coalesce(s.review, false) THEN 'Staged' WHEN s.state IS NOT NULL THEN s.state
				WHEN p.deleted THEN 'Removing' WHEN p.inserted THEN 'Creating' WHEN p.id IS NOT NULL THEN 'Updating' WHEN o.failed IS NOT NULL THEN o.failed ELSE 'Present' END,
			coalesce(s.review, false) OR coalesce(o.review, false), left(coalesce(s.message, ''), 200)
		FROM shown i
		LEFT JOIN iasql_internal.record_state s ON s.table_name = i.name AND s.record_id = i.id
		LEFT JOIN pending p ON p.name = i.name AND p.id = i.id
		LEFT JOIN open b ON b.id = p.batch
		LEFT JOIN gone o ON o.name = i.name AND o.id = i.id
		WHERE s.state IS NOT NULL OR s.review OR p.id IS NOT NULL OR o.failed IS NOT NULL`,
		pgx.QueryExecModeExec, names, ids) // a plan for any number of records takes ten times as long
	if err != nil {
		return err
	}
	var k recordKey
	var s recordState
	_, err = pgx.ForEachRow(rows, []any{&k.table, &k.id, &s.state, &s.review, &s.message}, func() error {
		*states[k] = s
		return nil
	})
	if err != nil {
		return err
	}
	// Both sides changed: it differs until somebody decides.
	rows, err = tx.Query(ctx, `SELECT DISTINCT c.table_name, c.record_id FROM public.iasql_conflicts c WHERE c.resolved IS NULL AND NOT c.closed LIMIT 5000`)
	if err != nil {
		return err
	}
	_, err = pgx.ForEachRow(rows, []any{&k.table, &k.id}, func() error {
		if known := states[k]; known != nil {
			known.state, known.review = "Conflict", true
		}
		return nil
	})
	return err
}
