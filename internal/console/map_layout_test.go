package console

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// TestLinesAvoidBoxes: no line goes through a box or a record that has neither of its ends,
// nor through the heading of one that has.
func TestLinesAvoidBoxes(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 1))
		var all []*cell
		var grow func(depth int) *cell
		grow = func(depth int) *cell {
			c := &cell{key: fmt.Sprint(len(all)), box: true}
			all = append(all, c)
			for range random.IntN(5) {
				if depth < 4 {
					c.children = append(c.children, grow(depth+1))
				}
			}
			for range 1 + random.IntN(7) {
				leaf := &cell{key: fmt.Sprint(len(all))}
				all = append(all, leaf)
				c.children = append(c.children, leaf)
			}
			return c
		}
		root := grow(0)
		var wires []wire
		for range 60 {
			w := wire{all[random.IntN(len(all))], all[random.IntN(len(all))]}
			if w.from != w.to {
				wires = append(wires, w)
			}
		}
		ways := layOut(root, wires)
		encloses := func(box, c *cell) bool {
			for ; c != nil; c = c.up {
				if c == box {
					return true
				}
			}
			return false
		}
		for _, c := range all {
			if c.up != nil && (c.x < c.up.x || c.y < c.up.y+headHeight || c.x+c.w > c.up.x+c.up.w || c.y+c.h > c.up.y+c.up.h) {
				t.Fatalf("seed %d: a cell lies outside of its box", seed)
			}
			for _, other := range all {
				if c != other && c.up == other.up && c.x < other.x+other.w && other.x < c.x+c.w && c.y < other.y+other.h &&
					other.y < c.y+c.h {
					t.Fatalf("seed %d: two cells lie over each other", seed)
				}
			}
		}
		for i, way := range ways {
			from, to := wires[i].from, wires[i].to
			if nested := encloses(from, to) || encloses(to, from); nested != (way == nil) {
				t.Fatalf("seed %d: nested %t and the line is %v", seed, nested, way)
			}
			for j := 1; j < len(way); j++ {
				a, b := way[j-1], way[j]
				if a.x != b.x && a.y != b.y {
					t.Fatalf("seed %d: %v to %v is neither across nor down", seed, a, b)
				}
				for _, c := range all {
					bottom := c.y + c.h
					if c.box && (encloses(c, from) || encloses(c, to)) && c != from && c != to {
						bottom = c.y + headHeight
					}
					if max(a.x, b.x) > c.x && min(a.x, b.x) < c.x+c.w && max(a.y, b.y) > c.y && min(a.y, b.y) < bottom {
						t.Fatalf("seed %d: the line from %s to %s, %v to %v, crosses %s at %d %d %d %d", seed, from.key, to.key, a, b,
							c.key,
							c.x, c.y, c.w, c.h)
					}
				}
			}
		}
	}
}
