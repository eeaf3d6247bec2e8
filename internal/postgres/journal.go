package postgres

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"

	"iasql/internal/auditlog"
	"iasql/internal/modules"
	"iasql/internal/sync"
)

// OwnWrites implements [sync.Database].
func (d *Database) OwnWrites(ctx context.Context, account string) ([]sync.LoggedWrite, error) {
	rows, err := d.Pool.Query(ctx, `
		SELECT id, table_name, coalesce(record_id, 0), kind, account, region, coalesce(key, ''), columns, up_to, result <> 'ok'
		FROM public.iasql_operations
		WHERE account = $1 AND kind <> 'call' AND (result = 'ok' OR result IN ('unknown', 'abandoned') AND key IS NOT NULL)
		  AND CASE result WHEN 'ok' THEN ended ELSE started END > now() - (SELECT value::interval FROM public.iasql_settings WHERE name = 'consistency_window')
		ORDER BY id`, account)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (sync.LoggedWrite, error) {
		var w sync.LoggedWrite
		var columns []byte
		err := row.Scan(&w.ID, &w.Record.Table, &w.Record.ID, &w.Kind, &w.Scope.Account, &w.Scope.Region, &w.Key, &columns, &w.UpTo, &w.Unsure)
		if err != nil {
			return w, err
		}
		w.Columns, err = d.changes(w.Record.Table, columns)
		return w, err
	})
}

// change is the JSON form of a [sync.ValueChange].
type change struct {
	From json.RawMessage `json:"from"`
	To   json.RawMessage `json:"to"`
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
		raw[name] = change{auditlog.ToJSON(c, known(c, v.From)), auditlog.ToJSON(c, known(c, v.To))}
	}
	return json.Marshal(raw)
}

// Unfinished implements [sync.Database].
func (d *Database) Unfinished(ctx context.Context, account string) ([]sync.LoggedOp, error) {
	rows, err := d.Pool.Query(ctx, `
		SELECT array_agg(id ORDER BY id), table_name, coalesce(record_id, 0), kind, account, region, coalesce(max(key), ''), coalesce(token, ''),
		       (array_agg(columns ORDER BY id))[1], max(up_to), bool_or(replaces),
		       max(started) < now() - 2 * (SELECT value::interval FROM public.iasql_settings WHERE name = 'consistency_window')
		FROM public.iasql_operations
		WHERE account = $1 AND ended IS NULL AND kind <> 'call'
		GROUP BY table_name, record_id, kind, account, region, token
		ORDER BY min(id)`, account)
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
