// Package auditlog folds the audit log: it turns the rows that users' writes have
// left there into what is not yet settled of a record, a [Change], and converts
// the images of rows that the log holds. It is pure; package
// iasql/internal/postgres reads the rows, and marks them as settled.
package auditlog

import (
	"encoding/json"
	"fmt"

	"iasql/internal/modules"
)

// Change is what users did to a record that is not yet settled, folded from
// its audit rows in order.
type Change struct {
	AuditIDs []int64 // ascending
	Insert   bool    // the record was inserted
	Delete   bool    // the record was deleted, and is gone
	Again    bool    // the record was deleted, and inserted again under its id
	// Base holds the columns updated and, for each, the value both sides last
	// agreed on: the original of the oldest update.
	Base modules.Row
	Last modules.Row // for Delete: the row as it was
	At   int64       // when the newest row was written, in microseconds since 1970
	// Times are when each of AuditIDs was written.
	Times []int64
}

// Latest returns the newest audit row of the change, 0 for none.
func (c *Change) Latest() int64 {
	if c == nil || len(c.AuditIDs) == 0 {
		return 0
	}
	return c.AuditIDs[len(c.AuditIDs)-1]
}

// Began reports whether the change has rows up to this one.
func (c *Change) Began(audit int64) bool {
	return c != nil && len(c.AuditIDs) > 0 && c.AuditIDs[0] <= audit
}

// Newest returns the newest audit row of the change up to this one, and when it was written; 0 for none.
func (c *Change) Newest(audit int64) (id, at int64) {
	if c == nil {
		return 0, 0
	}
	for i := len(c.AuditIDs) - 1; i >= 0; i-- {
		if c.AuditIDs[i] <= audit {
			return c.AuditIDs[i], c.Times[i]
		}
	}
	return 0, 0
}

// Entry is a row of the audit log.
type Entry struct {
	ID       int64
	RecordID int64
	Type     string      // INSERT, UPDATE or DELETE
	Original modules.Row // the values before it, in database terms; nil for INSERT
	At       int64       // when it was written, in microseconds since 1970
}

// Fold adds the next entry of a record to its pending change; c is nil for the
// first. Entries come in the order of their ids, which is the order of the
// writes: a writer holds the row's lock until it commits.
func (c *Change) Fold(t *modules.Table, e Entry) *Change {
	if c == nil {
		c = &Change{Base: modules.Row{}}
	}
	c.AuditIDs, c.Times, c.At = append(c.AuditIDs, e.ID), append(c.Times, e.At), e.At
	switch e.Type {
	case "INSERT":
		if c.Delete && !c.Insert {
			// Deleted and inserted again under its old id: every column may
			// have changed.
			c.rebase(t, c.Last)
			c.Again = true
		} else {
			c.Insert = true
		}
		c.Delete, c.Last = false, nil
	case "UPDATE":
		c.rebase(t, e.Original)
	case "DELETE":
		c.Delete, c.Last = true, e.Original
	}
	return c
}

func (c *Change) rebase(t *modules.Table, original modules.Row) {
	for name, v := range original {
		col := t.Column(name)
		if col == nil || col.Local {
			continue
		}
		if _, known := c.Base[name]; !known {
			c.Base[name] = v
		}
	}
}

// Row converts the JSON image of a row, as to_jsonb prints it, to canonical
// values. Columns the description does not know are the user's own and are
// left out.
func Row(t *modules.Table, image json.RawMessage) (modules.Row, error) {
	if len(image) == 0 || string(image) == "null" {
		return nil, nil
	}
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(image, &raw); err != nil {
		return nil, fmt.Errorf("audit image of %s: %w", t.Name, err)
	}
	row := modules.Row{}
	for name, v := range raw {
		c := t.Column(name)
		if c == nil {
			continue
		}
		value, err := FromJSON(c, v)
		if err != nil {
			return nil, fmt.Errorf("audit image of %s: column %s: %w", t.Name, name, err)
		}
		row[name] = value
	}
	return row, nil
}

// FromJSON converts a column's value from its JSON image to canonical form.
func FromJSON(c *modules.Column, image json.RawMessage) (modules.Value, error) {
	text := string(image)
	if text == "null" {
		return modules.Null, nil
	}
	if c.Type != modules.TypeJSON && len(text) > 0 && text[0] == '"' {
		if err := json.Unmarshal(image, &text); err != nil {
			return modules.Null, err
		}
		if c.WriteOnly {
			return modules.Text(text), nil
		}
		if reference, dangles := c.ParseDangling(text); dangles {
			return reference, nil
		}
	}
	canonical, err := c.Type.Canonical(text)
	if err != nil {
		return modules.Null, err
	}
	return modules.Text(canonical), nil
}

// ToJSON converts a column's canonical value to JSON, for logs and previews.
func ToJSON(c *modules.Column, v modules.Value) json.RawMessage {
	if v.IsNull() {
		return json.RawMessage("null")
	}
	switch c.Type {
	case modules.TypeJSON, modules.TypeTexts, modules.TypeIDs, modules.TypeBool, modules.TypeInteger,
		modules.TypeBigint,
		modules.TypeDouble:
		if json.Valid([]byte(v.String())) {
			return json.RawMessage(v.String())
		}
	}
	text, err := json.Marshal(v.String())
	if err != nil { // a string always marshals
		panic(err)
	}
	return text
}
