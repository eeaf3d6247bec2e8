package console

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"iasql/internal/modules"
)

// node is a record, or a table, in a drawing.
type node struct {
	key, title, sub string
	href            string
	class           string // here, bad, busy
	rank            int    // column of the drawing
}

type edge struct{ from, to int }

// graph is what hangs on what. It is drawn on the server, as an SVG that needs no
// script: columns by rank, what is referred to on the left.
type graph struct {
	nodes []node
	edges []edge
	more  bool // there is more than is drawn
}

// noise returns the tables that hang on everything and tell nothing: of accounts and
// regions, which columns of these names refer to.
func noise(references []reference) map[string]bool {
	tables := map[string]bool{}
	for _, r := range references {
		if !slices.ContainsFunc(r.columns, func(c string) bool {
			return c != modules.ColumnAccount && c != modules.ColumnRegion
		}) {
			tables[r.to] = true
		}
	}
	return tables
}

type recordKey struct {
	table string
	id    int64
}

// neighbours walks the references from a record, both ways, so many steps and at
// most so many records of a table from each.
func neighbours(ctx context.Context, tx pgx.Tx, references []reference, t string, id int64, steps,
	each int) (graph, error) {
	var gr graph
	at, quiet := map[recordKey]int{}, noise(references)
	add := func(k recordKey, rank int) (int, bool) {
		if i, known := at[k]; known {
			return i, false
		}
		at[k] = len(gr.nodes)
		gr.nodes = append(gr.nodes, node{key: k.table + " " + number(k.id), title: k.table, sub: number(k.id),
			href: recordPath(k.table, k.id), rank: rank})
		return at[k], true
	}
	start := recordKey{t, id}
	first, _ := add(start, 0)
	gr.nodes[first].class = "here"
	frontier := []recordKey{start}
	const most = 120
	for step := 0; step < steps && len(frontier) > 0; step++ {
		var next []recordKey
		for _, from := range frontier {
			for _, ref := range references {
				if quiet[ref.from] || quiet[ref.to] {
					continue
				}
				for _, out := range []bool{true, false} {
					if out && ref.from != from.table || !out && (ref.to != from.table || !ref.fast) {
						continue
					}
					ids, more, err := related(ctx, tx, ref, from.id, out, each)
					if err != nil {
						return gr, err
					}
					gr.more = gr.more || more
					here := at[from]
					for _, other := range ids {
						k, rank := recordKey{ref.from, other}, gr.nodes[here].rank+1
						if out {
							k, rank = recordKey{ref.to, other}, gr.nodes[here].rank-1
						}
						if len(gr.nodes) >= most {
							gr.more = true
							continue
						}
						i, isNew := add(k, rank)
						e := edge{here, i}
						if !out {
							e = edge{i, here}
						}
						if e.from != e.to && !slices.Contains(gr.edges, e) {
							gr.edges = append(gr.edges, e)
						}
						if isNew {
							next = append(next, k)
						}
					}
				}
			}
		}
		frontier = next
	}
	return gr, gr.describe(ctx, tx)
}

// related returns the records that a record refers to by a reference, or that
// refer to it.
func related(ctx context.Context, tx pgx.Tx, ref reference, id int64, out bool, each int) (ids []int64, more bool,
	err error) {
	sql := fmt.Sprintf("SELECT t.id FROM %s f JOIN %s t ON %s WHERE f.id = $1 ORDER BY t.id LIMIT $2", table(ref.from),
		table(ref.to), ref.same("f", "t"))
	if !out {
		sql = fmt.Sprintf("SELECT f.id FROM %s t JOIN %s f ON %s WHERE t.id = $1 ORDER BY f.id LIMIT $2", table(ref.to),
			table(ref.from), ref.same("f", "t"))
	}
	rows, err := tx.Query(ctx, sql, pgx.QueryExecModeExec, id, each+1)
	if err != nil {
		return nil, false, err
	}
	ids, err = pgx.CollectRows(rows, pgx.RowTo[int64])
	if len(ids) > each {
		return ids[:each], true, err
	}
	return ids, false, err
}

// describe gives the nodes their names and marks, a query for each table.
func (gr *graph) describe(ctx context.Context, tx pgx.Tx) error {
	by := map[string][]int64{}
	for _, n := range gr.nodes {
		var id int64
		_, _ = fmt.Sscan(n.sub, &id)
		by[n.title] = append(by[n.title], id)
	}
	for name, ids := range by {
		states, err := loadRecordStates(ctx, tx, name, ids)
		if err != nil {
			return err
		}
		names, err := recordNames(ctx, tx, name, ids)
		if err != nil {
			return err
		}
		for i := range gr.nodes {
			n := &gr.nodes[i]
			if n.title != name {
				continue
			}
			var id int64
			_, _ = fmt.Sscan(n.sub, &id)
			if s := states[id]; s.review || strings.HasSuffix(s.state, "Failed") {
				n.class += " bad"
			} else if s.state != "Present" {
				n.class += " busy"
			}
			if names[id] != "" {
				n.sub = names[id]
			} else {
				n.sub = "id " + n.sub
			}
		}
	}
	return nil
}

// recordNames returns what people call records: the tag Name, a column that names them, else the identity.
func recordNames(ctx context.Context, tx pgx.Tx, t string, ids []int64) (map[int64]string, error) {
	var tags bool
	var name, identity *string
	err := tx.QueryRow(ctx, `
		SELECT coalesce(bool_or(a.attname = 'tags' AND a.atttypid = 'jsonb'::regtype), false), min(a.attname) FILTER (WHERE a.attname = ANY (m.names) OR a.attname = ANY (m.natural_key) AND a.attname ~ '(^|_)name$'),
			min(a.attname) FILTER (WHERE a.attname = ANY (m.identity))
		FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid AND c.relnamespace = 'public'::regnamespace
		JOIN iasql_internal.managed_table m ON m.name = c.relname
		WHERE c.relname = $1 AND a.attnum > 0 AND has_column_privilege(a.attrelid, a.attnum, 'SELECT')`,
		t).Scan(&tags, &name, &identity)
	if err != nil {
		return nil, err
	}
	parts := []string{}
	if tags {
		parts = append(parts, "nullif(t.tags ->> 'Name', '')")
	}
	for _, column := range []*string{name, identity} {
		if column != nil {
			parts = append(parts, "t."+ident(*column)+"::text")
		}
	}
	names := map[int64]string{}
	if len(parts) == 0 {
		return names, nil
	}
	rows, err := tx.Query(ctx, "SELECT t.id, left(coalesce("+strings.Join(parts, ", ")+", ''), 60) FROM "+table(t)+
		" t WHERE t.id = ANY ($1)", pgx.QueryExecModeExec, ids)
	if err != nil {
		return nil, err
	}
	var id int64
	var called string
	_, err = pgx.ForEachRow(rows, []any{&id, &called}, func() error {
		names[id] = called
		return nil
	})
	return names, err
}

// Sizes of a drawing, in pixels.
const (
	boxWidth, boxHeight = 204, 44
	gapX, gapY          = 56, 12
)

// draw makes the SVG. Within a column the nodes stand near what they hang on: the
// mean of their neighbours' places decides (the barycenter method of Sugiyama).
func (gr *graph) draw() g.Node {
	low, high := 0, 0
	for _, n := range gr.nodes {
		low, high = min(low, n.rank), max(high, n.rank)
	}
	columns := make([][]int, high-low+1)
	for i, n := range gr.nodes {
		columns[n.rank-low] = append(columns[n.rank-low], i)
	}
	place := make([]float64, len(gr.nodes))
	tallest := 0
	for _, column := range columns {
		tallest = max(tallest, len(column))
		for i, n := range column {
			place[n] = float64(i)
		}
	}
	for range 4 {
		for _, column := range columns {
			gr.settle(column, place)
		}
	}
	const step = boxHeight + gapY
	width, height := len(columns)*(boxWidth+gapX)-gapX+4, tallest*step-gapY+4
	if slices.ContainsFunc(gr.edges, func(e edge) bool { return gr.nodes[e.from].rank <= gr.nodes[e.to].rank }) {
		width += gapX // their lines go round the right-hand side
	}
	x := func(i int) int { return (gr.nodes[i].rank-low)*(boxWidth+gapX) + 2 }
	y := func(i int) int {
		return int(place[i]*step) + (tallest-len(columns[gr.nodes[i].rank-low]))*step/2 + 2
	}
	var drawn []g.Node
	for _, e := range gr.edges { // from the one that refers, on the right, to the other
		x1, y1, x2, y2 := x(e.to)+boxWidth, y(e.to)+boxHeight/2, x(e.from), y(e.from)+boxHeight/2
		bend := gapX / 2
		if x2 <= x1 { // of one column, or backwards
			x2, bend = x2+boxWidth, gapX
		}
		drawn = append(drawn, g.El("path", g.Attr("class", "edge"),
			g.Attr("d", fmt.Sprintf("M%d %dC%d %d %d %d %d %d", x1, y1, x1+bend, y1, x2-bend*sign(x2-x1-1),
				y2, x2, y2))))
	}
	for i, n := range gr.nodes {
		drawn = append(drawn, g.El("a", g.Attr("href", n.href), g.Attr("class", strings.TrimSpace("node "+n.class)),
			g.El("title", g.Text(n.title+" "+n.sub)),
			g.El("rect", g.Attr("x", fmt.Sprint(x(i))), g.Attr("y", fmt.Sprint(y(i))),
				g.Attr("width", fmt.Sprint(boxWidth)), g.Attr("height", fmt.Sprint(boxHeight)), g.Attr("rx", "8")),
			g.El("text", g.Attr("class", "kind"), g.Attr("x", fmt.Sprint(x(i)+10)), g.Attr("y", fmt.Sprint(y(i)+17)),
				g.Text(shorten(n.title, 24))),
			g.El("text", g.Attr("x", fmt.Sprint(x(i)+10)), g.Attr("y", fmt.Sprint(y(i)+34)),
				g.Text(shorten(n.sub, 22)))))
	}
	return h.Div(h.Class("scroll graph"), g.Attr("tabindex", "0"),
		g.El("svg", g.Attr("width", fmt.Sprint(width)), g.Attr("height", fmt.Sprint(height)),
			g.Attr("viewBox", fmt.Sprintf("0 0 %d %d", width, height)),
			g.Attr("role", "group"), g.Attr("aria-label", "What hangs on what"), g.Group(drawn)),
		g.If(gr.more, h.P(h.Class("muted small"), g.Text("There is more than is drawn."))))
}

func sign(n int) int {
	if n < 0 {
		return -1
	}
	return 1
}

// settle orders a column by where the neighbours of its nodes are.
func (gr *graph) settle(column []int, place []float64) {
	mean := map[int]float64{}
	for _, n := range column {
		sum, count := 0.0, 0
		for _, e := range gr.edges {
			switch n {
			case e.from:
				sum, count = sum+place[e.to], count+1
			case e.to:
				sum, count = sum+place[e.from], count+1
			}
		}
		mean[n] = place[n]
		if count > 0 {
			mean[n] = sum / float64(count)
		}
	}
	slices.SortStableFunc(column, func(a, b int) int {
		switch {
		case mean[a] < mean[b]:
			return -1
		case mean[a] > mean[b]:
			return 1
		}
		return 0
	})
	for i, n := range column {
		place[n] = float64(i)
	}
}
