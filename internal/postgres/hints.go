package postgres

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"iasql/internal/decide"
	"iasql/internal/modules"
	"iasql/internal/store"
)

// Hints implements [store.Store]. An event of a call of the engine's own tells nothing new,
// and neither does one from before the last complete listing of its place, but for what
// that may have seen late. (CloudTrail's times are whole seconds, and by another clock.)
func (d *Database) Hints(ctx context.Context, account string) ([]store.Hint, error) {
	rows, err := d.Pool.Query(ctx, `
		WITH due AS (
			SELECT * FROM iasql_internal.hint h
			WHERE h.account = $1 AND (h.due <= clock_timestamp() OR h.due > clock_timestamp() + interval '1 hour') -- the clock was put back
			ORDER BY h.due, h.id LIMIT $3
		), counted AS (
			SELECT d.*, count(*) OVER place AS waiting, max(d.id) OVER place AS newest, (row_number() OVER (place ORDER BY d.due, d.id) - 1) / $4 AS turn
			FROM due d WINDOW place AS (PARTITION BY d.table_name, d.region)
		)
		SELECT h.id, h.table_name, h.account, h.region, coalesce(h.column_name, ''), coalesce(h.value, ''), h.existing, coalesce(h.portion, ''), h.tries, h.waiting, h.newest,
		       EXISTS (SELECT FROM iasql_internal.own_request r WHERE r.id = e.request_id)
		       OR coalesce(l.listed = l.tried AND e.at < l.listed - make_interval(secs => `+window+
		`) - interval '5 seconds', false)
		FROM counted h JOIN iasql_internal.cloud_event e ON e.account = h.account AND e.id = h.event
		LEFT JOIN iasql_internal.listing l ON l.account = h.account AND l.table_name = h.table_name AND l.region = h.region
		ORDER BY h.turn, h.due, h.id LIMIT $2`, account, store.MaxHints, store.MaxHintsDue, store.HintsInTurn)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (store.Hint, error) {
		var h store.Hint
		return h, row.Scan(&h.ID, &h.Table, &h.Scope.Account, &h.Scope.Region, &h.Column, &h.Value, &h.Existing,
			&h.Extent, &h.Tries, &h.Due, &h.Newest, &h.Known)
	})
}

// Looked implements [store.Store].
func (d *Database) Looked(ctx context.Context, lease store.Lease, looked []store.Look,
	listed []store.ListedPlace) error {
	var ids, hints, records []int64
	var again []*float64
	var done []bool
	for _, look := range looked {
		var after *float64
		if look.Again > 0 {
			seconds := look.Again.Seconds()
			after = &seconds
		}
		ids, again = append(ids, look.ID), append(again, after)
		for _, id := range look.Records {
			hints, records, done = append(hints, look.ID), append(records, id), append(done, after == nil)
		}
		if look.Column != "" && len(look.Records) == 0 {
			hints, records, done = append(hints, look.ID), append(records, 0), append(done, after == nil)
		}
	}
	return d.fencedBatch(ctx, lease, nil, func(batch *pgx.Batch) error {
		if len(hints) > 0 {
			batch.Queue(`SELECT iasql_internal.attribute_late($1, $2, $3, $4)`, lease.Account, hints, records, done)
		}
		batch.Queue(`
			UPDATE iasql_internal.hint h SET due = clock_timestamp() + make_interval(secs => v.again), tries = h.tries + 1
			FROM unnest($1::bigint[], $2::double precision[]) v (id, again) WHERE h.id = v.id`, ids, again)
		for _, l := range listed {
			batch.Queue(`
				UPDATE iasql_internal.hint h SET due = NULL
				WHERE h.account = $1 AND h.table_name = $2 AND h.region = $3 AND h.id <= $4 AND h.tries = 0 AND h.due <= clock_timestamp()`,
				lease.Account, l.Table, l.Scope.Region, l.UpTo)
		}
		return nil
	})
}

// Named implements [store.Store].
func (d *Database) Named(ctx context.Context, t *modules.Table, scope modules.Scope, column string,
	values []string) ([]store.Named, error) {
	from, name, wanted := d.naming(t, column)
	where, args := `t.account = $2`, []any{values, scope.Account}
	if t.Reach == modules.PerRegion {
		where, args = where+` AND t.region = $3`, append(args, scope.Region)
	}
	rows, err := d.Pool.Query(ctx, fmt.Sprintf(`SELECT %s, t.id FROM %s WHERE %s AND %s ORDER BY t.id`, name, from,
		wanted, where), args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[store.Named])
}

// naming returns three parts of a query that finds the records of t by their names in a column: the FROM clause with
// the tables that the name is spread over, the expression of the name, and the condition for the names in $1.
func (d *Database) naming(t *modules.Table, column string) (from, name, wanted string) {
	columns, whole := []string{column}, column == modules.ColumnIdentity
	if whole {
		columns = t.Identity()
	}
	from = shapeOf(t).name + " t"
	var texts, parts []string
	for i, column := range columns {
		c := t.Column(column)
		text := textOf("t", c)
		if ref := c.References; ref != nil && !ref.ByKey {
			parent, as := d.Registry.Table(ref.Table), fmt.Sprint("p", i)
			from += fmt.Sprintf(` JOIN %s %s ON %[2]s.id = t.%s`, shapeOf(parent).name, as, quote(column))
			text = textOf(as, parent.Column(ref.Key))
		}
		texts, parts = append(texts, text), append(parts, fmt.Sprintf("v.value::jsonb ->> %d", i))
	}
	if !whole {
		return from, texts[0], texts[0] + " = ANY ($1)"
	}
	return "unnest($1::text[]) v (value), " + from, "v.value",
		fmt.Sprintf("(%s) = (%s)", strings.Join(texts, ", "), strings.Join(parts, ", "))
}

// namingColumns returns the columns by which events name objects of a table.
func namingColumns(t *modules.Table) []string {
	if len(t.EventMappings) == 0 {
		return nil
	}
	list := []string{t.Identity()[0]}
	add := func(column string) {
		if column != "" && !slices.Contains(list, column) {
			list = append(list, column)
		}
	}
	add(t.GlobalName)
	for i := range t.EventMappings {
		add(t.EventMappings[i].Column)
	}
	if t.NamedWhole() {
		add(modules.ColumnIdentity)
	}
	return list
}

// queueAttribution queues that the audit rows of pulls of one table, which were written in
// this transaction, say who has changed the objects, as far as events have told. It
// follows [markAudit].
func queueAttribution(batch *pgx.Batch, lease store.Lease, pulls []store.Pull) {
	t := pulls[0].Subject.Table
	columns := namingColumns(t)
	if !lease.Events || len(columns) == 0 {
		return
	}
	var refs, regions, names, values []string
	for i := range pulls {
		p := &pulls[i]
		s := p.Subject
		ref := fmt.Sprint("i", s.RecordID)
		if p.Action == decide.InsertRecord {
			key, _ := t.Key(p.Row)
			ref = "k" + key
		}
		for _, column := range columns {
			if v, named := cloudName(s, column); named {
				refs, regions, names, values = append(refs, ref), append(regions, s.Scope.Region),
					append(names, column), append(values, v)
			}
		}
	}
	if len(refs) > 0 {
		batch.Queue(`SELECT iasql_internal.attribute($1, $2, current_setting('iasql.audited')::bigint, $3, $4, $5, $6)`,
			lease.Account, t.Name, refs, regions, names, values)
	}
}

// queueConflictActors queues that the conflicts of settlements say who was on the other
// side, as far as events have told.
func queueConflictActors(batch *pgx.Batch, lease store.Lease, settlements []store.Settlement) {
	for i := range settlements {
		s := settlements[i].Subject
		if !lease.Events || len(settlements[i].Conflicts) == 0 {
			continue
		}
		var names, values []string
		for _, column := range namingColumns(s.Table) {
			if v, named := cloudName(s, column); named {
				names, values = append(names, column), append(values, v)
			}
		}
		if len(names) > 0 {
			batch.Queue(`SELECT iasql_internal.attribute_conflict($1, $2, $3, $4, $5)`, lease.Account, s.Table.Name,
				s.RecordID, names, values)
		}
	}
}

// markAudit notes which rows of the audit log are older than the transaction.
const markAudit = `SELECT set_config('iasql.audited', (SELECT last_value FROM public.iasql_audit_log_id_seq)::text, true)`

// cloudName returns the name that an object has by a column of [namingColumns].
func cloudName(s *decide.Subject, column string) (string, bool) {
	if column == modules.ColumnIdentity {
		return s.Table.IdentityText(func(c *modules.Column) modules.Value { return cloudValue(s, c) })
	}
	v := cloudValue(s, s.Table.Column(column))
	return v.String(), !v.IsNull()
}

// cloudValue returns what the cloud has in a column, or last had as far as the record says.
func cloudValue(s *decide.Subject, c *modules.Column) modules.Value {
	if v, read := s.Cloud[c.Name]; read {
		return v
	}
	switch {
	case s.Record == nil:
		return modules.Null
	case c.References != nil && !c.References.ByKey:
		return s.RefKeys[c.Name]
	}
	return s.Record.Row[c.Name]
}

// ownRequests keeps what the cloud calls requests of the engine's own.
const ownRequests = `INSERT INTO iasql_internal.own_request (id) SELECT DISTINCT unnest($1::text[]) ON CONFLICT DO NOTHING`
