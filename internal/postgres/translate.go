package postgres

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"iasql/internal/modules"
)

// referenceColumns returns the columns that reference records by id.
func referenceColumns(t *modules.Table) []*modules.Column {
	var list []*modules.Column
	for i := range t.Columns {
		if ref := t.Columns[i].References; ref != nil && !ref.ByKey {
			list = append(list, &t.Columns[i])
		}
	}
	return list
}

// named are the SQL expressions that tell how the cloud names the objects of a
// referenced table: by its rows p, its states s, its garbage g and the audit log
// l. What is kept of an object besides its row is its identity; another column
// by which it is referenced is in its row alone (see [modules.NewRegistry]).
type named struct{ row, state, deposed, log string }

func namedBy(ref *modules.Reference, parent *modules.Table) named {
	n := named{row: textOf("p", parent.Column(ref.Key)), state: "s.key", deposed: "g.key", log: "l.key"}
	if identity := parent.Identity(); len(identity) != 1 || identity[0] != ref.Key {
		n.state, n.deposed, n.log = "NULL::text", "NULL::text", "l.change #>> '{original,"+ref.Key+"}'"
	}
	return n
}

// current is the SQL expression of the cloud's name for a record p of the
// referenced table, with its state s: by its row or, if that does not say it yet,
// by its state, unless another record stands for that object by its row.
func (n named) current(ref *modules.Reference, parent *modules.Table) string {
	if n.state == "NULL::text" {
		return n.row
	}
	scope := `q.account = p.account`
	if parent.Reach == modules.PerRegion {
		scope += ` AND q.region = p.region`
	}
	return fmt.Sprintf(`coalesce(%s, CASE WHEN NOT EXISTS (SELECT FROM %s q WHERE %s AND q.%s = %s) THEN %[5]s END)`,
		n.row, shapeOf(parent).name, scope, quote(ref.Key), n.state)
}

func literal(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// ToDatabase implements [store.Store].
func (d *Database) ToDatabase(ctx context.Context, t *modules.Table, scope modules.Scope, objects []modules.Row) error {
	refs := referenceColumns(t)
	batch := &pgx.Batch{}
	for i := range t.Columns {
		if c := &t.Columns[i]; c.Loose() {
			d.queueLoose(batch, c, scope, objects)
		}
	}
	for _, c := range t.Lists() {
		d.queueRecords(batch, c, scope, objects)
	}
	for _, c := range refs {
		keys := distinct(objects, c.Name)
		if len(keys) == 0 {
			continue
		}
		query, args := d.recordsNamed(c.References, scope, keys)
		batch.Queue(query, args...).Query(func(rows pgx.Rows) error {
			named, err := firstNamed(rows)
			if err != nil {
				return err
			}
			for _, o := range objects {
				v, ok := o[c.Name]
				if !ok || v.IsNull() {
					continue
				}
				switch r, known := named[v.String()]; {
				case !known:
					delete(o, c.Name)
				case r.leaving():
					o[c.Name] = modules.Outgoing(r.id)
				default:
					o[c.Name] = modules.Int(r.id)
				}
			}
			return nil
		})
	}
	if batch.Len() == 0 {
		return nil
	}
	return d.Pool.SendBatch(ctx, batch).Close()
}

// queueLoose queues what leaves out of the objects the keys of records that there are not (R34).
func (d *Database) queueLoose(batch *pgx.Batch, c *modules.Column, scope modules.Scope, objects []modules.Row) {
	keys := distinct(objects, c.Name)
	if len(keys) == 0 {
		return
	}
	parent := d.Registry.Table(c.References.Table)
	where, args := `p.account = $2`, []any{keys, scope.Account}
	if parent.Reach == modules.PerRegion {
		where, args = where+` AND p.region = $3`, append(args, scope.Region)
	}
	key := textOf("p", parent.Column(c.References.Key))
	batch.Queue(fmt.Sprintf(`SELECT %s FROM %s p WHERE p.%s = ANY ($1::text[]) AND %s`, key, shapeOf(parent).name,
		quote(c.References.Key), where), args...).Query(func(rows pgx.Rows) error {
		there, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			return err
		}
		for _, o := range objects {
			if v, ok := o[c.Name]; ok && !v.IsNull() && !slices.Contains(there, v.String()) {
				delete(o, c.Name)
			}
		}
		return nil
	})
}

// recordsNamed returns the query of the records that the cloud names by the keys: by
// their rows, their states, as deposed objects, or before users deleted them.
func (d *Database) recordsNamed(ref *modules.Reference, scope modules.Scope, keys []string) (query string, args []any) {
	parent := d.Registry.Table(ref.Table)
	name := namedBy(ref, parent)
	where, args := `p.account = $2`, []any{keys, scope.Account}
	if parent.Reach == modules.PerRegion && !ref.AnyScope {
		where, args = where+` AND p.region = $3`, append(args, scope.Region)
	}
	return fmt.Sprintf(`
		SELECT %[1]s, p.id, 0 FROM %[2]s p WHERE p.%[3]s = ANY ($1::text[]) AND %[4]s
		UNION ALL SELECT %[6]s, s.record_id, CASE WHEN EXISTS (SELECT FROM %[2]s p WHERE p.id = s.record_id) THEN 1 ELSE 3 END FROM iasql_internal.record_state s
		WHERE s.table_name = %[5]s AND %[6]s = ANY ($1) AND s.account = $2
		UNION ALL SELECT %[7]s, g.record_id, 2 FROM iasql_internal.garbage g WHERE g.table_name = %[5]s AND %[7]s = ANY ($1) AND g.account = $2
		UNION ALL SELECT %[8]s, l.record_id, 3 FROM public.iasql_audit_log l
		WHERE NOT l.settled AND l.table_name = %[5]s AND l.change_type = 'DELETE' AND %[8]s = ANY ($1) AND l.account = $2
		ORDER BY 3, 2`,
		name.row, shapeOf(parent).name, quote(ref.Key), where, literal(parent.Name), name.state, name.deposed,
		name.log), args
}

// namedRecord is a record that the cloud names.
type namedRecord struct {
	id   int64
	rank int // see [Database.recordsNamed]
}

// leaving reports whether the record is on its way out.
func (r namedRecord) leaving() bool { return r.rank >= 2 }

// firstNamed reads the rows of [Database.recordsNamed]: of several records of one
// name the first. An object that a record took over from one that a user deleted,
// and that it has replaced since, is the former's.
func firstNamed(rows pgx.Rows) (map[string]namedRecord, error) {
	named := map[string]namedRecord{}
	var key string
	var r namedRecord
	_, err := pgx.ForEachRow(rows, []any{&key, &r.id, &r.rank}, func() error {
		if _, known := named[key]; !known {
			named[key] = r
		}
		return nil
	})
	return named, err
}

func distinct(rows []modules.Row, name string) []string {
	seen := map[string]bool{}
	var list []string
	for _, row := range rows {
		if v := row[name]; !v.IsNull() && !seen[v.String()] {
			seen[v.String()] = true
			list = append(list, v.String())
		}
	}
	slices.Sort(list)
	return list
}

// ToCloud implements [store.Store]. What names a deleted record in the cloud
// is in the audit log: a child may have to be looked for after its parent's
// deletion has been settled.
func (d *Database) ToCloud(ctx context.Context, t *modules.Table, rows []modules.Row) error {
	batch := &pgx.Batch{}
	for _, c := range append(referenceColumns(t), t.Lists()...) {
		ref := cmp.Or(c.References, c.Records)
		keys := map[int64]*string{}
		for _, row := range rows {
			for _, id := range c.RecordsIn(row) {
				keys[id] = nil
			}
		}
		if len(keys) == 0 {
			continue
		}
		parent := d.Registry.Table(ref.Table)
		name := namedBy(ref, parent)
		batch.Queue(fmt.Sprintf(`
			SELECT p.id, %[1]s FROM %[2]s p
			LEFT JOIN iasql_internal.record_state s ON s.table_name = %[3]s AND s.record_id = p.id
			WHERE p.id = ANY ($1)
			UNION ALL SELECT l.record_id, (array_agg(%[4]s ORDER BY l.id DESC))[1] FROM public.iasql_audit_log l
			WHERE l.table_name = %[3]s AND l.change_type = 'DELETE' AND %[4]s IS NOT NULL AND l.record_id = ANY ($1)
			AND NOT EXISTS (SELECT FROM %[2]s p WHERE p.id = l.record_id)
			GROUP BY l.record_id`,
			name.current(ref, parent), shapeOf(parent).name, literal(parent.Name), name.log),
			slices.Sorted(maps.Keys(keys))).
			Query(func(found pgx.Rows) error {
				var id int64
				var key *string
				_, err := pgx.ForEachRow(found, []any{&id, &key}, func() error {
					keys[id] = key
					return nil
				})
				for _, row := range rows {
					switch v := row[c.Name]; {
					case v.IsNull():
					case c.Records != nil:
						names := make([]modules.Value, len(v.IDs()))
						for i, id := range v.IDs() {
							names[i] = modules.TextPtr(keys[id])
						}
						row[c.Name] = modules.Elements(names)
					default:
						row[c.Name] = modules.TextPtr(keys[v.Int()])
					}
				}
				return err
			})
	}
	if batch.Len() == 0 {
		return nil
	}
	return d.Pool.SendBatch(ctx, batch).Close()
}
