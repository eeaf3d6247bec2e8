package postgres

import (
	"fmt"
	"strings"
	gosync "sync"

	"github.com/jackc/pgx/v5"

	"iasql/internal/decide"
	"iasql/internal/modules"
)

// shape holds the SQL fragments of a table, made once from its description.
type shape struct {
	table   *modules.Table
	name    string // quoted, with schema
	columns string // select list of the described columns, as text
	keyExpr string // identity as one text, see iasql_internal.key
}

var shapes gosync.Map // *modules.Table → *shape

func shapeOf(t *modules.Table) *shape {
	if s, ok := shapes.Load(t); ok {
		return s.(*shape)
	}
	s := &shape{table: t, name: pgx.Identifier{"public", t.Name}.Sanitize()}
	list := make([]string, len(t.Columns))
	for i := range t.Columns {
		list[i] = textOf("t", &t.Columns[i])
	}
	s.columns = strings.Join(list, ", ")
	var parts []string
	for _, name := range t.Identity() {
		parts = append(parts, textOf("t", t.Column(name)))
	}
	s.keyExpr = strings.Join(parts, ` || E'\x1f' || `)
	shapes.Store(t, s)
	return s
}

// textOf prints a column as the text package modules makes canonical.
func textOf(alias string, c *modules.Column) string {
	column := alias + "." + quote(c.Name)
	if c.Type == modules.TypeTexts || c.Type == modules.TypeIDs {
		return "to_jsonb(" + column + ")::text"
	}
	return column + "::text"
}

// fromText is the reverse of textOf: it turns a text expression into the
// column's type.
func fromText(expr string, c *modules.Column) string {
	switch c.Type {
	case modules.TypeTexts:
		return "CASE WHEN " + expr + " IS NOT NULL THEN ARRAY(SELECT jsonb_array_elements_text(" + expr +
			"::jsonb)) END"
	case modules.TypeIDs:
		return "CASE WHEN " + expr + " IS NOT NULL THEN ARRAY(SELECT jsonb_array_elements_text(" + expr +
			"::jsonb)::bigint) END"
	}
	return expr + "::" + string(c.Type)
}

func quote(name string) string { return pgx.Identifier{name}.Sanitize() }

// scanRow reads the select list "id, xmin, columns…" of a shape; skip columns
// come before it.
func (s *shape) scanRow(raw [][]byte) (*decide.Record, error) {
	record := &decide.Record{Version: string(raw[1]), Row: make(modules.Row, len(s.table.Columns))}
	record.ID = modules.Text(string(raw[0])).Int()
	for i := range s.table.Columns {
		c := &s.table.Columns[i]
		if c.WriteOnly { // the row shows asterisks at most: see Load
			record.Row[c.Name] = modules.Null
			continue
		}
		v, err := canonical(c, raw[2+i])
		if err != nil {
			return nil, fmt.Errorf("%s %d: column %s: %w", s.table.Name, record.ID, c.Name, err)
		}
		record.Row[c.Name] = v
	}
	return record, nil
}

// canonical converts what textOf printed.
func canonical(c *modules.Column, raw []byte) (modules.Value, error) {
	if raw == nil {
		return modules.Null, nil
	}
	text := string(raw)
	switch c.Type {
	case modules.TypeText, modules.TypeInteger, modules.TypeBigint, modules.TypeBool:
		return modules.Text(text), nil // printed in canonical form already
	}
	text, err := c.Type.Canonical(text)
	if err != nil {
		return modules.Null, err
	}
	return modules.Text(text), nil
}

// column returns the column's values of rows as a text[] parameter: NULL of a dangling
// reference, which belongs to no record.
func column(rows []modules.Row, name string) []*string {
	list := make([]*string, len(rows))
	for i, row := range rows {
		list[i] = row[name].Ptr()
	}
	return list
}
