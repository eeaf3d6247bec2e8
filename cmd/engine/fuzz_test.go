package main

import (
	"testing"

	"iasql/internal/modules"
)

// No module's own notion of equal values panics, or depends on which value comes
// first.
func FuzzEqual(f *testing.F) {
	registry, err := descriptions()
	if err != nil {
		f.Fatal(err)
	}
	var columns []*modules.Column
	for _, m := range registry.Modules() {
		for _, t := range m.Tables() {
			for i := range t.Columns {
				if t.Columns[i].Equal != nil {
					columns = append(columns, &t.Columns[i])
				}
			}
		}
	}
	for i := range columns {
		for _, pair := range [][2]string{{`[]`, `{}`}, {`null`, `[null]`}, {`{"a":[{"b":null}]}`, `{"a":{}}`},
			{"a\nb", "b\na"}, {"", "."}, {`"x"`, `7`}, {`[{"Type":"forward"}]`, `[{"type":1}]`}} {
			f.Add(uint16(i), pair[0], pair[1])
		}
	}
	f.Fuzz(func(t *testing.T, which uint16, a, b string) {
		c := columns[int(which)%len(columns)]
		x, errX := c.Type.Canonical(a)
		y, errY := c.Type.Canonical(b)
		if errX != nil || errY != nil {
			return
		}
		if !c.Same(modules.Text(x), modules.Text(x)) || c.Equal(x, y) != c.Equal(y, x) {
			t.Errorf("column %s: %q and %q", c.Name, x, y)
		}
		// What the cloud or a user has can also be something else altogether.
		c.Equal(a, b)
	})
}
