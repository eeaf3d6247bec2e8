package modules

import "testing"

// TestDangling: a dangling reference is no value of any column, and nothing takes it for one.
func TestDangling(t *testing.T) {
	t.Parallel()
	byID := &Column{Name: "vpc_id", Type: TypeBigint, References: &Reference{Table: "vpc", Key: "vpc_id"}}
	byKey := &Column{Name: "bucket", Type: TypeText, References: &Reference{Table: "bucket", Key: "name", ByKey: true}}
	for _, c := range []struct {
		v                    Value
		text                 string
		record               int64
		outgoing, unrecorded bool
	}{
		{Outgoing(17), "replaced:17", 17, true, false},
		{Unrecorded("vpc-1"), "object:vpc-1", 0, false, true},
		{Unrecorded("17"), "object:17", 0, false, true},
	} {
		if c.v.String() != c.text || c.v.Int() != c.record || c.v.IsOutgoing() != c.outgoing ||
			c.v.IsUnrecorded() != c.unrecorded || c.v.IsNull() {
			t.Errorf("%s: record %d, outgoing %v, unrecorded %v, NULL %v", c.v, c.v.Int(), c.v.IsOutgoing(),
				c.v.IsUnrecorded(), c.v.IsNull())
		}
		if c.v.Ptr() != nil || byID.Holds(c.v) || byKey.Holds(c.v) {
			t.Errorf("%s is taken for a value of a column", c.v)
		}
		for _, other := range []Value{Null, Int(17), Text(c.text), Outgoing(18), Unrecorded("vpc-2")} {
			if c.v == other || byID.Same(c.v, other) || byID.Same(other, c.v) {
				t.Errorf("%s equals %s", c.v, other)
			}
		}
		if !byID.Same(c.v, c.v) {
			t.Errorf("%s does not equal itself", c.v)
		}
		if again, dangles := byID.ParseDangling(c.text); !dangles || again != c.v {
			t.Errorf("%s is read as %s, %v", c.text, again, dangles)
		}
		if v, dangles := byKey.ParseDangling(c.text); dangles {
			t.Errorf("a text that users may write is read as %s", v)
		}
	}
	for _, text := range []string{"", "17", "replaced:", "replaced:one", "vpc-1"} {
		if v, dangles := byID.ParseDangling(text); dangles {
			t.Errorf("%q is read as %s", text, v)
		}
	}
	if !byID.Holds(Null) || !byID.Holds(Int(17)) || byID.Holds(Text("replaced:17")) ||
		!byKey.Holds(Text("replaced:17")) {
		t.Error("what a column holds")
	}
}
