package console

import (
	"context"
	"strings"

	"github.com/jackc/pgx/v5"
	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"
)

// partInfo is a record that an instance of a composition has.
type partInfo struct {
	part, key, table string
	id               int64
	edited           []string // columns that are otherwise than the composition says
}

// instanceInfo is an instance of a composition that a record is part of.
type instanceInfo struct {
	composition string
	id          int64
}

// mostParts is how many parts the page of an instance shows.
const mostParts = 200

// loadInstance reads of which instance the record is part, and the parts that it has if it is an
// instance itself.
func (d *recordData) loadInstance(ctx context.Context, tx pgx.Tx) error {
	rows, err := tx.Query(ctx, `SELECT c.composition, c.instance FROM iasql_internal.composed c
		WHERE c.table_name = $1 AND c.record_id = $2`, d.t.name, d.id)
	if err != nil {
		return err
	}
	d.partOf, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (i instanceInfo, err error) {
		return i, row.Scan(&i.composition, &i.id)
	})
	if err != nil {
		return err
	}
	rows, err = tx.Query(ctx, `SELECT p.part, p.key, p.table_name, p.record_id, p.edited FROM iasql_internal.parts($1, $2) p LIMIT $3`,
		d.t.name, d.id, mostParts)
	if err != nil {
		return err
	}
	d.parts, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (p partInfo, err error) {
		return p, row.Scan(&p.part, &p.key, &p.table, &p.id, &p.edited)
	})
	return err
}

// instanceCard shows an instance as one, with the records that it stands for.
func (d *recordData) instanceCard() g.Node {
	if len(d.parts) == 0 {
		return nil
	}
	return h.Section(h.Class("card"), h.H2(g.Text("Its parts")),
		h.P(h.Class("muted"), g.Text(
			"The records that this row stands for: they are made, changed and deleted with it.")),
		rowsOf([]string{"Part", "Key", "Record", "Edited"}, g.Map(d.parts, func(p partInfo) g.Node {
			return h.Tr(h.Td(g.Text(p.part)), h.Td(g.Text(p.key)), h.Td(recordLink(p.table, p.id)),
				h.Td(g.Text(strings.Join(p.edited, ", "))))
		})))
}
