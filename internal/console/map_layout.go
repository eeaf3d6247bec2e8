package console

import (
	"cmp"
	"math"
	"slices"
)

// The map is laid out in boxes within boxes. What a box holds stands in rows, with a gutter
// above and below each, and one channel beside them on the left. A line leaves what refers
// to the gutter below it, goes along gutters, channels and the free place below a box, and
// so never through a box that encloses neither of its ends.

// cell is a box, or a leaf: a record, or several that are folded.
type cell struct {
	key          string
	kind         string // of a leaf: what it is
	title, about string // what it is called, and all of it in words
	href         string
	class        string // bad, busy, staged, fold, here
	words        string // its state
	box          bool
	plain        bool // a box that groups, and is nothing by itself
	children     []*cell
	up           *cell
	rows         [][]*cell
	row          int // in which row of up
	x, y, w, h   int
	gutters      []track // above each row, and below the last
	channel      track
	out          map[*cell]int // where lines to others leave
}

// track is a gutter or a channel: lines to the same end share a place in it.
type track struct {
	at    int // where it begins
	lines map[*cell]int
}

const (
	leafWidth, leafHeight = 180, 42
	headHeight            = 28
	padding               = 12
	lineGap               = 5
	mostTracks            = 16 // more lines than that share places
)

func (t *track) add(to *cell) {
	if t.lines == nil {
		t.lines = map[*cell]int{}
	}
	if _, there := t.lines[to]; !there {
		t.lines[to] = len(t.lines) % mostTracks
	}
}

func (t *track) width() int { return padding + lineGap*min(len(t.lines), mostTracks) }

func (t *track) place(to *cell) int { return t.at + padding/2 + lineGap*t.lines[to] }

type wire struct{ from, to *cell }

type point struct{ x, y int }

// layOut gives every cell of a box its place, and returns the ways of the lines.
func layOut(root *cell, wires []wire) [][]point {
	root.pack()
	for _, w := range wires {
		w.reserve()
	}
	root.size()
	root.put(0, 0)
	ways := make([][]point, len(wires))
	for i, w := range wires {
		ways[i] = w.route()
	}
	return ways
}

// pack chooses the rows, boxes first, so that a box is about half as high as it is wide.
func (c *cell) pack() {
	if !c.box {
		c.w, c.h = leafWidth, leafHeight
		return
	}
	var boxes, leaves []*cell
	area, widest := 0, leafWidth
	for _, child := range c.children {
		child.up = c
		child.pack()
		if child.box {
			boxes = append(boxes, child)
			area += (child.w + 2*padding) * (child.h + 2*padding)
			widest = max(widest, child.w)
		} else {
			leaves = append(leaves, child)
		}
	}
	slices.SortStableFunc(boxes, func(a, b *cell) int { // rows of like heights; what only groups comes last
		return cmp.Or(cmp.Compare(order(a), order(b)), cmp.Compare(b.h, a.h))
	})
	across := max(widest, int(1.5*math.Sqrt(float64(area))))
	c.rows = nil
	for width, i := 0, 0; i < len(boxes); i++ {
		if width == 0 || width+padding+boxes[i].w > across {
			c.rows, width = append(c.rows, nil), 0
		}
		last := len(c.rows) - 1
		c.rows[last] = append(c.rows[last], boxes[i])
		width += padding + boxes[i].w
	}
	columns := int(math.Ceil(math.Sqrt(float64(len(leaves)) * .45)))
	if len(boxes) > 0 {
		columns = max(columns, (across+padding)/(leafWidth+padding))
	}
	for chunk := range slices.Chunk(leaves, max(columns, 1)) {
		c.rows = append(c.rows, chunk)
	}
	for i, row := range c.rows {
		for _, child := range row {
			child.row = i
		}
	}
	c.gutters = make([]track, len(c.rows)+1)
	c.size()
}

func order(c *cell) int {
	if c.plain {
		return 1
	}
	return 0
}

// size computes how large a box is, from what is in it.
func (c *cell) size() {
	if !c.box {
		return
	}
	width, height := 0, headHeight
	for i, row := range c.rows {
		height += c.gutters[i].width()
		w, h := 0, 0
		for _, child := range row {
			child.size()
			w, h = w+padding+child.w, max(h, child.h)
		}
		width, height = max(width, w), height+h
	}
	height += c.gutters[len(c.rows)].width()
	c.w = max(c.channel.width()+width, leafWidth+2*padding)
	c.h = height
}

// put gives a cell its place, and all that is in it.
func (c *cell) put(x, y int) {
	c.x, c.y = x, y
	if !c.box {
		return
	}
	c.channel.at = x
	y += headHeight
	for i, row := range c.rows {
		c.gutters[i].at = y
		y += c.gutters[i].width()
		at, h := x+c.channel.width(), 0
		for _, child := range row {
			child.put(at, y)
			at, h = at+child.w+padding, max(h, child.h)
		}
		y += h
	}
	c.gutters[len(c.rows)].at = y
}

// path are the cells from one up to the whole.
func (c *cell) path() (path []*cell) {
	for ; c != nil; c = c.up {
		path = append(path, c)
	}
	return path
}

// meet returns the innermost box that both ends lie in, and the cells in it that have them.
func (w wire) meet() (common, from, to *cell) {
	a, b := w.from.path(), w.to.path()
	for len(a) > 1 && len(b) > 1 && a[len(a)-2] == b[len(b)-2] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	if len(a) < 2 || len(b) < 2 {
		return nil, nil, nil // one lies in the other
	}
	return a[len(a)-1], a[len(a)-2], b[len(b)-2]
}

// entry is the gutter of the common box from which a line comes to its end, and whether
// that is from above, which only a leaf can be reached from.
func (w wire) entry(from, to *cell) (gutter int, above bool) {
	if to == w.to && !to.box && from.row < to.row {
		return to.row, true
	}
	return to.row + 1, false
}

// reserve takes the places that the line needs in gutters and channels.
func (w wire) reserve() {
	common, from, to := w.meet()
	if common == nil {
		return
	}
	if w.from.out == nil {
		w.from.out = map[*cell]int{}
	}
	if _, there := w.from.out[w.to]; !there {
		w.from.out[w.to] = len(w.from.out)
	}
	for _, end := range []struct{ low, high *cell }{{w.from, from}, {w.to, to}} {
		for c := end.low; c != end.high; c = c.up {
			c.up.gutters[c.row+1].add(w.to)
			c.up.channel.add(w.to)
		}
	}
	in, _ := w.entry(from, to)
	common.gutters[from.row+1].add(w.to)
	if in != from.row+1 {
		common.channel.add(w.to)
		common.gutters[in].add(w.to)
	}
}

// leaves is where a line begins.
func (w wire) leaves() point {
	n := w.from.out[w.to]
	if w.from.box {
		return point{w.from.x + w.from.w - 24 - lineGap*(n%20), w.from.y + w.from.h}
	}
	return point{w.from.x + 14 + lineGap*(n%26), w.from.y + w.from.h}
}

// arrives is where the lines to a cell end.
func (w wire) arrives(above bool) point {
	c := w.to
	switch {
	case c.box:
		return point{c.x + c.w - 12, c.y + c.h}
	case above:
		return point{c.x + c.w - 14, c.y}
	}
	return point{c.x + c.w - 14, c.y + c.h}
}

// climb is the way from an end up to the gutter below the cell that has it in the common box;
// the last point is where it comes to that gutter.
func (w wire) climb(c, top *cell, start point) []point {
	way := []point{start}
	x := start.x
	for ; c != top; c = c.up {
		y := c.up.gutters[c.row+1].place(w.to)
		way = append(way, point{x, y})
		x = c.up.channel.place(w.to)
		way = append(way, point{x, y})
	}
	return append(way, point{x, top.up.gutters[top.row+1].place(w.to)})
}

// route is the way of a line, from corner to corner; nil if one end lies in the other.
func (w wire) route() []point {
	common, from, to := w.meet()
	if common == nil {
		return nil
	}
	way := w.climb(w.from, from, w.leaves())
	in, above := w.entry(from, to)
	if in != from.row+1 {
		x := common.channel.place(w.to)
		way = append(way, point{x, way[len(way)-1].y}, point{x, common.gutters[in].place(w.to)})
	}
	back := []point{w.arrives(true), {w.arrives(true).x, common.gutters[in].place(w.to)}}
	if !above {
		back = w.climb(w.to, to, w.arrives(false))
	}
	slices.Reverse(back)
	way = append(way, back...)
	return straight(way)
}

// straight leaves out the points that are no corners.
func straight(way []point) []point {
	var out []point
	for _, p := range way {
		n := len(out)
		if n > 0 && out[n-1] == p {
			continue
		}
		if n > 1 && (out[n-2].x == out[n-1].x && out[n-1].x == p.x || out[n-2].y == out[n-1].y && out[n-1].y == p.y) {
			out[n-1] = p
			continue
		}
		out = append(out, p)
	}
	return out
}
