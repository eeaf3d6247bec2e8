package doctor

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"

	"iasql/internal/modules"
)

// The tables' CHECK constraints are SQL: where there is a database, it tells which
// rows they refuse. What they look at travels to the user's own database as
// parameters, and is stored nowhere.

// constraint is a CHECK of a table.
type constraint struct {
	column     string // that it belongs to; "" for one of the table
	expression string
	columns    []*modules.Column // that it speaks of
	rows       map[string]int    // what was gathered for it: columns' values → objects
}

// constraintsOf returns the constraints of a table that rows in cloud terms can be
// held against: those that speak of nothing that the cloud does not say.
func constraintsOf(t *modules.Table) []*constraint {
	all := make([]*constraint, 0, len(t.Checks))
	for _, expression := range t.Checks {
		all = append(all, &constraint{expression: expression})
	}
	for i := range t.Columns {
		if c := &t.Columns[i]; c.Check != "" {
			all = append(all, &constraint{column: c.Name, expression: c.Check})
		}
	}
	return slices.DeleteFunc(all, func(k *constraint) bool {
		k.rows = map[string]int{}
		for i := range t.Columns {
			c := &t.Columns[i]
			if !regexp.MustCompile(`\b` + regexp.QuoteMeta(c.Name) + `\b`).MatchString(k.expression) {
				continue
			}
			if c.WriteOnly || c.Local {
				return true
			}
			k.columns = append(k.columns, c)
		}
		return len(k.columns) == 0
	})
}

// gathered are the values that constraints speak of.
type gathered struct {
	lock        sync.Mutex
	constraints map[*modules.Table][]*constraint
}

// mostRows bounds what is gathered for a constraint.
const mostRows = 10_000

// gather notes what the constraints of a table speak of in a row. A row that does
// not say all of it is left out.
func (db *database) gather(t *modules.Table, row modules.Row) {
	if db == nil {
		return
	}
	db.values.lock.Lock()
	defer db.values.lock.Unlock()
	if db.values.constraints == nil {
		db.values.constraints = map[*modules.Table][]*constraint{}
	}
	constraints, known := db.values.constraints[t]
	if !known {
		constraints = constraintsOf(t)
		db.values.constraints[t] = constraints
	}
	for _, k := range constraints {
		if text, ok := k.of(row); ok && (k.rows[text] > 0 || len(k.rows) < mostRows) {
			k.rows[text]++
		}
	}
}

// of returns what the constraint speaks of in a row, as a JSON object of texts.
func (k *constraint) of(row modules.Row) (string, bool) {
	values := map[string]*string{}
	for _, c := range k.columns {
		v, said := row[c.Name]
		if !said {
			return "", false
		}
		values[c.Name] = v.Ptr()
	}
	text, err := json.Marshal(values)
	return string(text), err == nil
}

// checkValues has the database evaluate the constraints.
func (db *database) checkValues(ctx context.Context, d *doctor) {
	if db == nil {
		return
	}
	for t, constraints := range db.values.constraints {
		for _, k := range constraints {
			for chunk := range slices.Chunk(slices.Sorted(maps.Keys(k.rows)), 1000) {
				refused, err := db.refused(ctx, k, chunk)
				if err != nil { // a text that is no value of its type, which is told of already
					continue
				}
				for _, text := range refused {
					for range k.rows[text] {
						d.misfits.add(t.Name, "", misfit{k.column, CheckFails, k.shape(text),
							"CHECK (" + k.expression + ")"})
					}
				}
			}
		}
	}
}

// shape tells the shapes of what the constraint speaks of.
func (k *constraint) shape(text string) string {
	var values map[string]*string
	if json.Unmarshal([]byte(text), &values) != nil {
		return "a value"
	}
	var shapes []string
	for _, c := range k.columns {
		shape := shapeOf(modules.TextPtr(values[c.Name]))
		if len(k.columns) > 1 {
			shape = c.Name + " " + shape
		}
		shapes = append(shapes, shape)
	}
	return strings.Join(shapes, ", ")
}

// refused returns those of the gathered rows that a constraint refuses. It refuses
// what it is false for; what it is NULL for it takes (manual, section 5.4.1).
func (db *database) refused(ctx context.Context, k *constraint, texts []string) ([]string, error) {
	var columns []string
	for _, c := range k.columns {
		name := pgx.Identifier{c.Name}.Sanitize()
		value := fmt.Sprintf("(v.text::jsonb ->> '%s')", c.Name)
		switch {
		case c.References != nil && !c.References.ByKey: // the record's id: another number for another object
			value = "hashtextextended(" + value + ", 0)"
		case c.Type == modules.TypeTexts: // in cloud terms a JSON array
			value = fmt.Sprintf("CASE WHEN %[1]s IS NOT NULL THEN ARRAY(SELECT "+
				"jsonb_array_elements_text(%[1]s::jsonb)) END", value)
		default:
			value += "::" + string(c.Type)
		}
		columns = append(columns, value+" AS "+name)
	}
	// Expressions and names are the descriptions' own.
	rows, err := db.conn.Query(ctx,
		fmt.Sprintf(`SELECT r.iasql_text FROM unnest($1::text[]) v (text), LATERAL (SELECT v.text AS iasql_text, %s OFFSET 0) r WHERE NOT (%s)`,
			strings.Join(columns, ", "), k.expression), texts)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}
