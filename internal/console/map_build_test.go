package console

import (
	"strings"
	"testing"
)

// TestFoldsContainers: where even folds are too many, what contains them is folded, and lines lead to that.
func TestFoldsContainers(t *testing.T) {
	t.Parallel()
	outer, inner, thing := &mapTable{name: "outer"}, &mapTable{name: "inner"}, &mapTable{name: "thing"}
	var records []*mapRecord
	add := func(of *mapTable, in *mapRecord) *mapRecord {
		r := &mapRecord{table: of, id: int64(len(records) + 1), account: "a", region: "r", container: in}
		records = append(records, r)
		return r
	}
	for range 20 {
		o := add(outer, nil)
		for range 40 {
			in := add(inner, o)
			add(thing, in)
		}
	}
	last := records[len(records)-1]
	last.targets = [][]*mapRecord{{records[2]}} // a thing of another outer one
	d := build(records, mapChoice{}, []string{"outer", "inner"})
	if !d.folded || len(d.wires) != 1 || d.wires[0].to.class != "fold" {
		t.Fatalf("folded: %t, lines: %+v", d.folded, d.wires)
	}
	leaves := 0
	var walk func(*cell)
	walk = func(c *cell) {
		if !c.box {
			leaves++
			if c.title != "40 inner" || !strings.Contains(c.href, "open=outer.") {
				t.Errorf("a leaf is %q, %s", c.title, c.href)
			}
		}
		for _, child := range c.children {
			walk(child)
		}
	}
	walk(d.root)
	if leaves != 20 {
		t.Errorf("%d leaves", leaves)
	}
}
