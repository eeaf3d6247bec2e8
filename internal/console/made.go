package console

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"
)

// hideMade has a list leave out what the cloud has made by itself, such as what comes with
// something else, and returns how many that are, at most 1001. It does not where the
// visitor asks for them, filters by the column that says so, or has a big table, where
// counting them takes long.
func (c *Console) hideMade(ctx context.Context, tx pgx.Tx, t *tableInfo, columns []*columnInfo, q *listQuery) (n int64,
	err error) {
	column := find(columns, c.options.Made[t.name])
	filtered := column != nil &&
		slices.ContainsFunc(q.conditions, func(c condition) bool { return c.column == column.name })
	if column == nil || column.kind != "boolean" || filtered || t.big() {
		q.made = false
		return 0, nil
	}
	var args []any
	where := append(q.where(t, columns, func(value any) string {
		args = append(args, value)
		return "$" + strconv.Itoa(len(args))
	}), "t."+ident(column.name))
	sql := "SELECT count(*) FROM (SELECT FROM " + table(t.name) + " t WHERE " + strings.Join(where, " AND ") +
		" LIMIT " +
		strconv.Itoa(exactly+1) + ") r"
	err = tx.QueryRow(ctx, sql, append([]any{pgx.QueryExecModeExec}, args...)...).Scan(&n)
	if n > 0 && !q.made {
		q.hide = column.name
	}
	return n, err
}

// foldMade says how many records are hidden for that reason, and shows them.
func (v *visit) foldMade(t *tableInfo, q listQuery, n int64) g.Node {
	if n == 0 {
		return nil
	}
	text := grouped(n)
	if n > exactly {
		text = "over " + grouped(exactly)
	}
	if q.made {
		return h.P(h.Class("muted small"), g.Text("With "+text+" that the cloud made by itself: "),
			h.A(h.ID("made"), h.Href(q.address(t.name, func(q *listQuery) { q.made = false })), g.Text("hide")))
	}
	return h.P(h.Class("muted small"), g.Text(text+" that the cloud made by itself are hidden: "),
		h.A(h.ID("made"), h.Href(q.address(t.name, func(q *listQuery) { q.made = true })), g.Text("show")))
}
