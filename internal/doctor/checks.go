package doctor

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/jackc/pgx/v5"

	"iasql/internal/modules"
)

// The tables' CHECK constraints are SQL: where there is a database, it tells which
// values they refuse. The values travel to the user's own database as parameters,
// and are stored nowhere.

// gathered are values of columns that have a CHECK constraint.
type gathered struct {
	lock   sync.Mutex
	values map[*modules.Column]map[string]int // value → objects
	tables map[*modules.Column]*modules.Table
}

// mostValues bounds what is gathered of a column.
const mostValues = 10_000

// gather notes the values of a row.
func (db *database) gather(t *modules.Table, row modules.Row) {
	if db == nil {
		return
	}
	db.values.lock.Lock()
	defer db.values.lock.Unlock()
	if db.values.values == nil {
		db.values.values, db.values.tables = map[*modules.Column]map[string]int{}, map[*modules.Column]*modules.Table{}
	}
	for i := range t.Columns {
		c := &t.Columns[i]
		v, known := row[c.Name]
		// What a reference holds in the table is the other record's id.
		if c.Check == "" || !known || v.IsNull() || c.WriteOnly || c.Local || c.References != nil && !c.References.ByKey {
			continue
		}
		values := db.values.values[c]
		if values == nil {
			values = map[string]int{}
			db.values.values[c], db.values.tables[c] = values, t
		}
		if text := v.String(); values[text] > 0 || len(values) < mostValues {
			values[text]++
		}
	}
}

// checkValues has the database evaluate the CHECK constraints of columns.
func (db *database) checkValues(ctx context.Context, d *doctor) {
	if db == nil {
		return
	}
	for c, values := range db.values.values {
		t := db.values.tables[c]
		texts := make([]string, 0, len(values))
		for text := range values {
			texts = append(texts, text)
		}
		slices.Sort(texts)
		for chunk := range slices.Chunk(texts, 1000) {
			refused, err := db.refused(ctx, c, chunk)
			if err != nil { // a text that is no value of the type, which is told of already
				continue
			}
			for _, text := range refused {
				for range values[text] {
					d.misfits.add(t.Name, "", misfit{c.Name, CheckFails, shapeOf(modules.Text(text)), "CHECK (" + c.Check + ")"})
				}
			}
		}
	}
}

// refused returns those of the values that a column's CHECK refuses.
func (db *database) refused(ctx context.Context, c *modules.Column, texts []string) ([]string, error) {
	value := "v.text::" + string(c.Type)
	if c.Type == modules.TypeTexts { // in cloud terms, a JSON array
		value = "ARRAY(SELECT jsonb_array_elements_text(v.text::jsonb))"
	}
	// The expression is the description's own. It is NULL where it does not say.
	rows, err := db.conn.Query(ctx, fmt.Sprintf(`SELECT r.iasql_text FROM unnest($1::text[]) v (text), LATERAL (SELECT v.text AS iasql_text, %s AS %s OFFSET 0) r WHERE NOT (%s)`,
		value, pgx.Identifier{c.Name}.Sanitize(), c.Check), texts)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}
