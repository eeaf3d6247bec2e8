package console

import (
	"cmp"
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
	record     recordKey // if it is one
	title, sub string
	href       string
	class      string // here, bad, busy
	rank       int    // column of the drawing
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

// mostNodes is how many records a picture of a record's surroundings has.
const mostNodes = 120

// neighbours walks the references from a record, both ways, so many steps and at most so
// many records of a table from each, with a statement for each step.
func neighbours(ctx context.Context, tx pgx.Tx, references []reference, t string, id int64, steps,
	each int) (graph, error) {
	var gr graph
	start := recordKey{t, id}
	at, drawn := map[recordKey]int{}, map[edge]bool{}
	add := func(k recordKey, rank int) int {
		at[k] = len(gr.nodes)
		gr.nodes = append(gr.nodes, node{record: k, title: k.table, href: recordPath(k.table, k.id), rank: rank})
		return at[k]
	}
	gr.nodes[add(start, 0)].class = "here"
	quiet := noise(references)
	frontier := []recordKey{start}
	for step := 0; step < steps && len(frontier) > 0; step++ {
		related, more, err := loadRelated(ctx, tx, references, quiet, frontier, each)
		if err != nil {
			return gr, err
		}
		gr.more = gr.more || more
		frontier = nil
		for _, r := range related {
			here := at[r.from]
			there, known := at[r.to]
			if !known {
				if len(gr.nodes) >= mostNodes {
					gr.more = true
					continue
				}
				rank := gr.nodes[here].rank + 1
				if r.out {
					rank = gr.nodes[here].rank - 1
				}
				there = add(r.to, rank)
				frontier = append(frontier, r.to)
			}
			e := edge{there, here}
			if r.out {
				e = edge{here, there}
			}
			if here != there && !drawn[e] {
				drawn[e] = true
				gr.edges = append(gr.edges, e)
			}
		}
	}
	return gr, gr.describe(ctx, tx)
}

// relation is a record that another refers to (out), or is referred to by.
type relation struct {
	from, to recordKey
	out      bool
}

// loadRelated reads what records refer to and what refers to them, of each at most so many by
// a reference. more says that there are more.
func loadRelated(ctx context.Context, tx pgx.Tx, references []reference, quiet map[string]bool, of []recordKey,
	each int) (found []relation, more bool, err error) {
	ids := map[string][]int64{}
	for _, k := range of {
		ids[k.table] = append(ids[k.table], k.id)
	}
	var parts []string
	args := []any{pgx.QueryExecModeExec}
	look := func(i int, out bool, start, other string) {
		r := references[i]
		from := r.to
		if out {
			from = r.from
		}
		if len(ids[from]) == 0 {
			return
		}
		args = append(args, ids[from])
		parts = append(parts, fmt.Sprintf(`SELECT %d, %t, s.id, x.id FROM unnest($%d::bigint[]) s (id)
			CROSS JOIN LATERAL (SELECT %s.id FROM %s f JOIN %s t ON %s WHERE %s.id = s.id ORDER BY 1 LIMIT %d) x`,
			i, out, len(args)-1, other, table(r.from), table(r.to), r.same("f", "t"), start, each+1))
	}
	for i, r := range references {
		if quiet[r.from] || quiet[r.to] {
			continue
		}
		look(i, true, "f", "t")
		if r.fast {
			look(i, false, "t", "f")
		}
	}
	if len(parts) == 0 {
		return nil, false, nil
	}
	rows, err := tx.Query(ctx, strings.Join(parts, " UNION ALL "), args...)
	if err != nil {
		return nil, false, err
	}
	type way struct {
		reference int
		out       bool
		of        int64
	}
	counts := map[way]int{}
	var i int
	var out bool
	var from, to int64
	_, err = pgx.ForEachRow(rows, []any{&i, &out, &from, &to}, func() error {
		w := way{i, out, from}
		if counts[w]++; counts[w] > each {
			more = true
			return nil
		}
		r := relation{recordKey{references[i].to, from}, recordKey{references[i].from, to}, out}
		if out {
			r.from.table, r.to.table = r.to.table, r.from.table
		}
		found = append(found, r)
		return nil
	})
	return found, more, err
}

// describe gives the nodes their names and marks, those of all tables at once.
func (gr *graph) describe(ctx context.Context, tx pgx.Tx) error {
	states := map[recordKey]*recordState{}
	keys := make([]recordKey, len(gr.nodes))
	for i := range gr.nodes {
		keys[i] = gr.nodes[i].record
		states[keys[i]] = &recordState{}
	}
	if err := loadShownStates(ctx, tx, states); err != nil {
		return err
	}
	names, err := loadNames(ctx, tx, keys)
	if err != nil {
		return err
	}
	for i := range gr.nodes {
		n := &gr.nodes[i]
		if s := states[n.record]; s.review || strings.HasSuffix(s.state, "Failed") {
			n.class += " bad"
		} else if s.state != "Present" {
			n.class += " busy"
		}
		n.sub = cmp.Or(names[n.record].label, "id "+number(n.record.id))
	}
	return nil
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
