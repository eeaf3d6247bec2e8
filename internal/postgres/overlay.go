package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"iasql/internal/auditlog"
	"iasql/internal/decide"
	"iasql/internal/modules"
	"iasql/internal/store"
)

// OwnEdits are the edits of a transaction that has not committed, as its own
// session sees them: what iasql_internal.own_edits returns.
type OwnEdits struct {
	Edits []struct {
		ID       int64           `json:"id"`
		Table    string          `json:"table"`
		Record   int64           `json:"record"`
		Account  string          `json:"account"`
		Type     string          `json:"type"`
		Key      *string         `json:"key"`
		Original json.RawMessage `json:"original"`
		Change   json.RawMessage `json:"change"`
	} `json:"edits"`
	Records []struct {
		Table string          `json:"table"`
		Row   json.RawMessage `json:"row"`
	} `json:"records"`
}

// Overlay shows a database as it will be once a transaction commits: for
// previews asked for inside it. It only reads.
type Overlay struct {
	*Database
	Own   *OwnEdits // nil: nothing on top
	Batch int64     // that the edits are staged in, 0 for none
}

var _ store.Store = (*Overlay)(nil)

// Due implements [store.Store].
func (o *Overlay) Due(ctx context.Context, account string, of int64) ([]decide.RecordRef, []*decide.Subject, error) {
	refs, deposed, err := o.Database.Due(ctx, account, of)
	if err != nil || o.Own == nil {
		return refs, deposed, err
	}
	for _, edit := range o.Own.Edits {
		ref := decide.RecordRef{Table: edit.Table, ID: edit.Record}
		if edit.Account == account && !slices.Contains(refs, ref) {
			refs = append(refs, ref)
		}
	}
	return refs, deposed, nil
}

// Load implements [store.Store].
func (o *Overlay) Load(ctx context.Context, t *modules.Table, ids []int64) ([]*decide.Subject, error) {
	subjects, err := o.Database.Load(ctx, t, ids)
	if err != nil || o.Own == nil {
		return subjects, err
	}
	byID := map[int64]*decide.Subject{}
	for _, s := range subjects {
		byID[s.RecordID] = s
	}
	touched := map[int64]bool{}
	for _, edit := range o.Own.Edits {
		if edit.Table != t.Name || !slices.Contains(ids, edit.Record) {
			continue
		}
		entry := auditlog.Entry{ID: edit.ID, RecordID: edit.Record, Type: edit.Type}
		if entry.Original, err = auditlog.Row(t, edit.Original); err != nil {
			return nil, err
		}
		s := byID[edit.Record]
		if s == nil {
			s = &decide.Subject{Table: t, RecordID: edit.Record}
			byID[edit.Record] = s
			subjects = append(subjects, s)
		}
		s.Change, s.Batch = s.Change.Fold(t, entry), o.Batch
		if s.State != nil {
			s.State.Due = true
		}
		touched[edit.Record] = true
	}
	for id := range touched {
		byID[id].Record = nil
	}
	for _, record := range o.Own.Records {
		if record.Table != t.Name {
			continue
		}
		row, err := auditlog.Row(t, record.Row)
		if err != nil {
			return nil, err
		}
		var id struct {
			ID int64 `json:"id"`
		}
		if err := json.Unmarshal(record.Row, &id); err != nil {
			return nil, fmt.Errorf("own edit of %s: %w", t.Name, err)
		}
		if s := byID[id.ID]; touched[id.ID] {
			s.Record = &decide.Record{ID: id.ID, Row: row}
			if s.RefKeys, err = o.refKeys(ctx, t, row); err != nil {
				return nil, err
			}
		}
	}
	return subjects, nil
}

func (o *Overlay) refKeys(ctx context.Context, t *modules.Table, row modules.Row) (modules.Row, error) {
	keys := modules.Row{}
	for _, c := range append(referenceColumns(t), t.Lists()...) {
		keys[c.Name] = row[c.Name]
	}
	return keys, o.ToCloud(ctx, t, []modules.Row{keys})
}

// Match implements [store.Store].
func (o *Overlay) Match(ctx context.Context, t *modules.Table, scope modules.Scope,
	objects []modules.Row) ([]store.Match, error) {
	matches, err := o.Database.Match(ctx, t, scope, objects)
	if err != nil || o.Own == nil {
		return matches, err
	}
	keys, records, err := o.ownKeys(t, scope)
	if err != nil {
		return nil, err
	}
	for i := range matches {
		m := &matches[i]
		if key, _ := t.Key(objects[i]); keys[key] || m.Record != nil && records[m.Record.ID] {
			m.Pending = true
		}
	}
	return matches, nil
}

// ownKeys returns the keys that the own edits took from records of a table and
// scope, and the records of the table that they changed.
func (o *Overlay) ownKeys(t *modules.Table, scope modules.Scope) (keys map[string]bool, records map[int64]bool,
	err error) {
	keys, records = map[string]bool{}, map[int64]bool{}
	regions := map[int64]string{} // of the records after the edit that is looked at
	var at struct {
		ID     int64   `json:"id"`
		Region *string `json:"region"`
	}
	for _, record := range o.Own.Records {
		if record.Table == t.Name {
			at.ID, at.Region = 0, nil
			if err := json.Unmarshal(record.Row, &at); err != nil {
				return nil, nil, fmt.Errorf("own edit of %s: %w", t.Name, err)
			}
			if at.Region != nil {
				regions[at.ID] = *at.Region
			}
		}
	}
	for _, edit := range slices.Backward(o.Own.Edits) {
		if edit.Table != t.Name {
			continue
		}
		records[edit.Record] = true
		at.Region = nil
		if len(edit.Original) > 0 {
			if err := json.Unmarshal(edit.Original, &at); err != nil {
				return nil, nil, fmt.Errorf("own edit of %s: %w", t.Name, err)
			}
		}
		if at.Region != nil {
			regions[edit.Record] = *at.Region
		}
		if edit.Key != nil && edit.Account == scope.Account &&
			(t.Reach != modules.PerRegion || regions[edit.Record] == scope.Region) {
			keys[*edit.Key] = true
		}
	}
	return keys, records, nil
}
