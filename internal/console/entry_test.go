package console

import (
	"net/url"
	"strings"
	"testing"
)

func some(s string) *string { return &s }

// sent is the form that a browser sends of an entry that nobody has touched.
func sent(f *field, e entry) url.Values {
	form := url.Values{"m." + f.name: {e.as}, "w." + f.name: {e.was}}
	switch e.as {
	case asMap:
		for _, p := range append(e.pairs, [2]string{}) {
			form.Add("k."+f.name, p[0])
			form.Add("v."+f.name, p[1])
		}
	case asRefs:
		form["v."+f.name] = append(e.items, "")
	default:
		form.Set("v."+f.name, strings.ReplaceAll(e.text, "\n", "\r\n"))
	}
	if e.box {
		form.Set("b."+f.name, "1")
	}
	return form
}

// What nobody has touched is never written, whatever the value.
func TestUntouched(t *testing.T) {
	plain := func(kind, category string) *field {
		return &field{name: "c", kind: kind, category: category, nullable: true, readable: true, updatable: true}
	}
	list, refs := plain("text[]", "A"), plain("bigint[]", "A")
	refs.refers, refs.list = &target{table: "t", key: "id"}, true
	tags := plain("jsonb", "U")
	tags.name = "tags"
	choice := plain("text", "S")
	choice.allowed = []string{"a", "b"}
	for _, c := range []struct {
		field           *field
		value, elements *string
		as              string
	}{
		{plain("text", "S"), nil, nil, asText}, {plain("text", "S"), some(""), nil, asText},
		{plain("text", "S"), some(" a\r\nb\n\n"), nil, asText}, {plain("text", "S"), some("NULL"), nil, asText},
		{plain("integer", "N"), some("7"), nil, asNumber}, {plain("double precision", "N"), some("NaN"), nil, asText},
		{plain("double precision", "N"), some("1e+20"), nil, asNumber}, {plain("boolean", "B"), some("true"), nil, asBool},
		{plain("boolean", "B"), nil, nil, asBool}, {choice, some("newer than the list"), nil, asChoice},
		{plain("jsonb", "U"), some(`{"a": [1, 2.50, 12345678901234567890]}`), nil, asJSON},
		{plain("jsonb", "U"), some(`{"a": "b"}`), nil, asMap}, {plain("jsonb", "U"), some(`{}`), nil, asJSON},
		{tags, nil, nil, asMap}, {tags, some(`{}`), nil, asMap}, {tags, some(`{"a": "b", "c": ""}`), nil, asMap},
		{tags, some(`{"a": 1}`), nil, asJSON}, {tags, some(`{"": "x"}`), nil, asJSON}, {tags, some(`{"a": "b\nc"}`), nil, asJSON},
		{list, nil, nil, asLines}, {list, some("{}"), some("[]"), asLines}, {list, some("{a,b}"), some(`["a", "b"]`), asLines},
		{list, some("{a,NULL}"), some(`["a", null]`), asArray}, {list, some(`{" a"}`), some(`[" a"]`), asArray},
		{list, some("{{a},{b}}"), some(`[["a"], ["b"]]`), asArray},
		{refs, nil, nil, asRefs}, {refs, some("{2,1}"), some(`["2", "1"]`), asRefs}, {refs, some("{2,NULL}"), some(`["2", null]`), asArray},
	} {
		e := c.field.entryOf(c.value, c.elements)
		if e.as != c.as {
			t.Errorf("%s %q is shown as %s, not %s", c.field.kind, orNone(c.value), e.as, c.as)
		}
		back, ok, err := c.field.entryIn(sent(c.field, e))
		if err != nil || !ok || back.touched() || !back.seen(c.value) {
			t.Errorf("%s %q comes back changed: %+v %v", c.field.kind, orNone(c.value), back, err)
		}
		if back.seen(some("another")) {
			t.Errorf("%s %q: somebody else's change is not seen", c.field.kind, orNone(c.value))
		}
	}
}

func orNone(s *string) string {
	if s == nil {
		return "NULL"
	}
	return *s
}

// What is typed becomes what is written.
func TestTyped(t *testing.T) {
	optional := &field{name: "c", kind: "text", category: "S", nullable: true}
	needed := &field{name: "c", kind: "text", category: "S", required: true}
	list := &field{name: "c", kind: "text[]", category: "A", nullable: true}
	for _, c := range []struct {
		field *field
		e     entry
		fresh bool
		want  string // "-" for nothing given, "!" for an error
	}{
		{optional, entry{as: asText, text: "a"}, false, "a"}, {optional, entry{as: asText}, false, "NULL"},
		{optional, entry{as: asText, box: true}, false, ""}, {optional, entry{as: asText}, true, "-"},
		{optional, entry{as: asText, box: true}, true, ""}, {optional, entry{as: asText, box: true, text: "a"}, false, "a"},
		{needed, entry{as: asText}, true, "!"}, {needed, entry{as: asNumber}, false, "!"},
		{optional, entry{as: asNumber}, false, "NULL"}, {optional, entry{as: asNumber, text: " 7 "}, false, "7"},
		{list, entry{as: asLines, text: "a\n\n \"b\" \n"}, false, `{"a","\"b\""}`}, {list, entry{as: asLines}, false, "NULL"},
		{list, entry{as: asLines, box: true}, false, "{}"}, {list, entry{as: asRefs, items: []string{"2", "1"}}, false, `{"2","1"}`},
		{optional, entry{as: asMap, pairs: [][2]string{{"a", "<b>"}}}, false, `{"a":"<b>"}`}, {optional, entry{as: asMap}, false, "{}"},
		{optional, entry{as: asMap}, true, "-"}, {optional, entry{as: asMap, pairs: [][2]string{{"a", "1"}, {"a", "2"}}}, false, "!"},
		{optional, entry{as: asJSON, text: "[1,"}, false, "!"}, {optional, entry{as: asSecret, box: true}, false, "NULL"},
		{optional, entry{as: asSecret, text: "s"}, false, "s"},
	} {
		value, given, err := c.field.value(c.e, c.fresh)
		got := orNone(value)
		switch {
		case err != nil:
			got = "!"
		case !given:
			got = "-"
		}
		if got != c.want {
			t.Errorf("%+v becomes %s, not %s (%v)", c.e, got, c.want, err)
		}
	}
	if err := jsonFault("{\n  \"é\": }"); err == nil || !strings.Contains(err.Error(), "line 2, column 8") {
		t.Errorf("where the JSON is wrong: %v", err)
	}
}

// Names and values of a statement cannot be anything else.
func TestEditText(t *testing.T) {
	table := &formTable{tableInfo: &tableInfo{name: `a"b`}, quoted: `"a""b"`}
	id := &field{name: "id", readable: true}
	odd := &field{name: `x" = 1; --`, quoted: `"x"" = 1; --"`, kind: "text"}
	secret := &field{name: "s", quoted: "s", kind: "text", secret: true}
	table.fields = []*field{id, odd, secret}
	e := edit{verb: "UPDATE", table: table, ids: []int64{1, 2},
		sets: []assignment{{field: odd, value: some(`'; DROP TABLE x; \`)}, {field: secret, value: some("hush")}}}
	if got, want := e.String(), `UPDATE "a""b" SET "x"" = 1; --" = E'''; DROP TABLE x; \\', s = '…' WHERE id IN (1, 2);`; got != want {
		t.Errorf("shown is %s\nnot      %s", got, want)
	}
	sql, args := e.run()
	if want := `UPDATE "public"."a""b" SET "x"" = 1; --" = $1::text::text, s = $2::text::text WHERE id = ANY ($3::bigint[])`; sql != want || len(args) != 3 {
		t.Errorf("sent is %s\nnot     %s\n%v", sql, want, args)
	}
	e = edit{verb: "INSERT", table: table}
	if sql, _ := e.run(); sql != `INSERT INTO "public"."a""b" DEFAULT VALUES RETURNING id` {
		t.Errorf("sent is %s", sql)
	}
}
