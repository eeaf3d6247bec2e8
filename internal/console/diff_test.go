package console

import (
	"fmt"
	"slices"
	"testing"
)

func TestDifferences(t *testing.T) {
	for _, c := range []struct {
		from, to string
		want     []string
	}{
		{`{"a": 1, "b": 2}`, `{"a": 1, "b": 2}`, nil},
		{`{"Name": "a", "team": "x"}`, `{"Name": "a", "team": "y"}`, []string{"c.team x y"}},
		{`{"Name": "a"}`, `{}`, []string{"c.Name -a"}},
		{`{}`, `{"a b": "1"}`, []string{`c["a b"] +1`}},
		{`{"a": {"b": {"c": 12345678901234567890}}}`, `{"a": {"b": {"c": 12345678901234567891}}}`,
			[]string{"c.a.b.c 12345678901234567890 12345678901234567891"}},
		{`{"Statement": [{"Sid": "A", "Effect": "Allow"}, {"Sid": "B", "Effect": "Allow"}]}`,
			`{"Statement": [{"Sid": "B", "Effect": "Deny"}, {"Sid": "C"}, {"Sid": "A", "Effect": "Allow"}]}`,
			[]string{"c.Statement[B].Effect Allow Deny", `c.Statement[C] +{"Sid":"C"}`}},
		{`{"Statement": [{"Sid": "A"}, {"Sid": "B"}]}`, `{"Statement": [{"Sid": "B"}, {"Sid": "A"}]}`,
			[]string{`c.Statement [{"Sid":"A"},{"Sid":"B"}] [{"Sid":"B"},{"Sid":"A"}]`}},
		{`{"Statement": [{"Sid": "A"}, {"Sid": "A"}]}`, `{"Statement": [{"Sid": "A"}]}`, []string{`c.Statement -{"Sid":"A"}`}},
		{`["a", "b", "b"]`, `["b", "c"]`, []string{"c -a", "c -b", "c +c"}},
		{`[1, 2]`, `[2, 1]`, []string{"c [1,2] [2,1]"}},
		{`[{"a": 1}]`, `[{"a": 2}]`, []string{"c[0].a 1 2"}},
		{`"{\"a\": 1, \"b\": 2}"`, `"{\"a\": 1, \"b\": 3}"`, []string{"c.b 2 3"}},
		{`{"a": null}`, `{}`, []string{"c.a -NULL"}},
		{`null`, `{"a": 1}`, []string{`c NULL {"a":1}`}},
		{`"{ no"`, `"x"`, []string{"c { no x"}},
	} {
		var from, to any
		if err := decode([]byte(c.from), &from); err != nil {
			t.Fatal(err)
		}
		if err := decode([]byte(c.to), &to); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, d := range differences("c", from, to) {
			switch {
			case d.added:
				got = append(got, fmt.Sprintf("%s +%s", d.path, compact(d.to)))
			case d.removed:
				got = append(got, fmt.Sprintf("%s -%s", d.path, compact(d.from)))
			default:
				got = append(got, fmt.Sprintf("%s %s %s", d.path, compact(d.from), compact(d.to)))
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s to %s: %q, want %q", c.from, c.to, got, c.want)
		}
	}
}
