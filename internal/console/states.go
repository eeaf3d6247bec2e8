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
