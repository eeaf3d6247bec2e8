package console

import (
	"context"
	"regexp"
	"time"

	"github.com/jackc/pgx/v5"
	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"
)

// What others have written since a list was made, of what a form of many records is about. The list
// says by which snapshot it was made (manual, section 9.28), and the audit log has what came later.

// clashing is such a change.
type clashing struct {
	id       int64
	who      string
	at       *time.Time
	kind     string
	was, now *string
}

// mostClashing is how many of them a page shows.
const mostClashing = 50

var snapshot = regexp.MustCompile(`^[0-9]{1,20}:[0-9]{1,20}:[0-9,]*$`)

// loadMade reads the snapshot by which the list that follows is made, or an older one.
func (p *places) loadMade(ctx context.Context, tx pgx.Tx) error {
	return tx.QueryRow(ctx, `SELECT pg_current_snapshot()::text`).Scan(&p.made)
}

func (p *places) madeInput() g.Node {
	return h.Input(h.Type("hidden"), h.Name("made"), h.Value(p.made))
}

// compare locks the records, and refuses to write over what others have made of them since the
// list was made: for a deletion of any column, for a tag of that key alone.
func (d *manyForm) compare(ctx context.Context, tx pgx.Tx) error {
	if d.t.canUpdate() {
		if _, err := tx.Exec(ctx, "SELECT FROM "+table(d.t.name)+" t WHERE t.id = ANY ($1) FOR NO KEY UPDATE OF t",
			pgx.QueryExecModeExec, d.ids); err != nil {
			return err
		}
	}
	column, key := "", ""
	switch {
	case d.column != nil && d.column.secret:
		return nil
	case d.column != nil:
		column = d.column.name
	case d.do != "delete":
		column, key = "tags", d.key
	}
	rows, err := tx.Query(ctx, `
		SELECT l.record_id, l."user", l.ts, lower(l.change_type), left(v.was, 200), left(v.now, 200)
		FROM public.iasql_audit_log l
		CROSS JOIN LATERAL (
			SELECT CASE WHEN $5 <> '' THEN l.change -> 'original' -> $4 ->> $5 ELSE l.change -> 'original' ->> $4 END AS was,
				CASE WHEN $5 <> '' THEN l.change -> 'change' -> $4 ->> $5 ELSE l.change -> 'change' ->> $4 END AS now) v
		WHERE l.table_name = $1 AND l.record_id = ANY ($2) AND NOT pg_visible_in_snapshot(l.xid, $3::text::pg_snapshot) AND l.xid <> pg_current_xact_id()
			-- not one of the server that the database was dumped from
			AND l.xid < pg_snapshot_xmax(pg_current_snapshot())
			AND l.change_type IN ('INSERT', 'UPDATE', 'DELETE') AND ($4 = '' AND l.origin = 'user' OR $4 <> '' AND v.was IS DISTINCT FROM v.now)
		ORDER BY l.id DESC LIMIT $6`, d.t.name, d.ids, d.places.made, column, key, mostClashing)
	if err != nil {
		return err
	}
	d.clash, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (clashing, error) {
		var c clashing
		return c, row.Scan(&c.id, &c.who, &c.at, &c.kind, &c.was, &c.now)
	})
	if err != nil || len(d.clash) == 0 {
		return err
	}
	if err := d.places.loadMade(ctx, tx); err != nil { // who has seen them may go on
		return err
	}
	return errClash
}

func drawClash(t *formTable, clash []clashing) g.Node {
	if len(clash) == 0 {
		return nil
	}
	return section("What others have changed since", rowsOf([]string{"Record", "Who", "When", "What", "Was", "Is"},
		g.Map(clash, func(c clashing) g.Node {
			return h.Tr(h.Td(recordLink(t.name, c.id)), h.Td(g.Text(c.who)), h.Td(ago(c.at)), h.Td(g.Text(c.kind)),
				h.Td(g.Text(deref(c.was))), h.Td(g.Text(deref(c.now))))
		})))
}
