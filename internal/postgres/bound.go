package postgres

import (
	"context"
	"fmt"
	"slices"

	"iasql/internal/decide"
	"iasql/internal/modules"
	"iasql/internal/store"
)

// Bound shows a database as far as a batch goes that is being committed: records
// with a change that was committed after the batch had begun to be are left
// alone, whoever made it. So no more is committed than was reviewed.
type Bound struct {
	*Database
	Batch int64
}

var _ store.Store = (*Bound)(nil)

// later selects records with changes that came after the batch's bound.
const later = `
	SELECT DISTINCT l.table_name, l.record_id
	FROM public.iasql_audit_log l JOIN iasql_internal.batch b ON b.id = $1
	WHERE NOT l.settled AND l.origin = 'user' AND l.change_type IN ('INSERT', 'UPDATE', 'DELETE')
	  AND l.transaction_id IS DISTINCT FROM b.id AND NOT pg_visible_in_snapshot(l.xid, b.bound)`

// Due implements [store.Store].
func (b *Bound) Due(ctx context.Context, account string) ([]decide.RecordRef, error) {
	refs, err := b.Database.Due(ctx, account)
	if err != nil {
		return nil, err
	}
	held, err := b.held(ctx, later+` AND l.account = $2`, account)
	return slices.DeleteFunc(refs, func(ref decide.RecordRef) bool { return held[ref] }), err
}

// Load implements [store.Store].
func (b *Bound) Load(ctx context.Context, t *modules.Table, ids []int64) ([]*decide.Subject, error) {
	subjects, err := b.Database.Load(ctx, t, ids)
	if err != nil {
		return nil, err
	}
	// Read afterwards: what came between the two is among what is left out.
	held, err := b.held(ctx, later+` AND l.table_name = $2`, t.Name)
	return slices.DeleteFunc(subjects, func(s *decide.Subject) bool { return held[s.Ref()] }), err
}

func (b *Bound) held(ctx context.Context, query, of string) (map[decide.RecordRef]bool, error) {
	rows, err := b.Pool.Query(ctx, query, b.Batch, of)
	if err != nil {
		return nil, fmt.Errorf("read changes made since batch %d began to be committed: %w", b.Batch, err)
	}
	defer rows.Close()
	held := map[decide.RecordRef]bool{}
	for rows.Next() {
		var ref decide.RecordRef
		if err := rows.Scan(&ref.Table, &ref.ID); err != nil {
			return nil, err
		}
		held[ref] = true
	}
	return held, rows.Err()
}
