package postgres

import (
	"fmt"

	"github.com/jackc/pgx/v5"

	"iasql/internal/modules"
)

// What a list of records ([modules.Column.Records]) and the names beside it say of each other.

// namesOf is the SQL expression of the names, as a JSON array, that the cloud has for the records in a
// list of a row t; the row's own name of what there is no record of.
func (d *Database) namesOf(c *modules.Column) string {
	parent := d.Registry.Table(c.Records.Table)
	return fmt.Sprintf(`(SELECT jsonb_agg(CASE WHEN p.id IS NULL THEN u.name ELSE %s END ORDER BY u.ord)::text
		FROM unnest(t.%s, t.%s) WITH ORDINALITY u (id, name, ord)
		LEFT JOIN %s p ON p.id = u.id LEFT JOIN iasql_internal.record_state s ON s.table_name = %s AND s.record_id = p.id)`,
		namedBy(c.Records, parent).current(c.Records, parent), quote(c.Name), quote(c.Records.NameColumn),
		shapeOf(parent).name, literal(parent.Name))
}

// queueRecords queues what fills in the lists of records of objects, from the names that they have.
func (d *Database) queueRecords(batch *pgx.Batch, c *modules.Column, scope modules.Scope, objects []modules.Row) {
	seen := map[string]bool{}
	names := []string{}
	for _, o := range objects {
		for _, name := range o[c.Records.NameColumn].Elements() {
			if !name.IsNull() && !seen[name.String()] {
				seen[name.String()] = true
				names = append(names, name.String())
			}
		}
	}
	fill := func(records map[string]namedRecord) {
		for _, o := range objects {
			listed, known := o[c.Records.NameColumn]
			switch {
			case !known:
			case listed.IsNull():
				o[c.Name] = modules.Null
			default:
				o[c.Name] = idsOf(listed.Elements(), records)
			}
		}
	}
	if len(names) == 0 {
		fill(nil)
		return
	}
	query, args := d.recordsNamed(c.Records, scope, names)
	batch.Queue(query, args...).Query(func(rows pgx.Rows) error {
		records, err := firstNamed(rows)
		if err == nil {
			fill(records)
		}
		return err
	})
}

// idsOf returns the list of the records that stay and have those names.
func idsOf(names []modules.Value, records map[string]namedRecord) modules.Value {
	ids := make([]int64, len(names))
	for i, name := range names {
		if r, known := records[name.String()]; known && !r.leaving() {
			ids[i] = r.id
		}
	}
	return modules.IDs(ids)
}

// readNames adds to keys, by list of records, the names that [Database.namesOf] has found.
func readNames(keys *modules.Row, lists []*modules.Column, raw [][]byte) error {
	for i, c := range lists {
		if raw[i] == nil {
			continue
		}
		names, err := modules.TypeTexts.Canonical(string(raw[i]))
		if err != nil {
			return fmt.Errorf("names of %s: %w", c.Name, err)
		}
		if *keys == nil {
			*keys = modules.Row{}
		}
		(*keys)[c.Name] = modules.Text(names)
	}
	return nil
}
