package console

import (
	"net/url"
	"strings"
	"testing"
)

func TestQuestionTakesValues(t *testing.T) {
	q, err := parseQuestion("q", "-- Which?\n-- Those.\n-- needs: m.thing\n-- asks: a = 1\n-- asks: b =\n"+
		"SELECT :'a', :'b' FROM thing t JOIN thing_of u ON true JOIN iasql_tables USING (id)")
	if err != nil {
		t.Fatal(err)
	}
	got := q.with(q.values(url.Values{"ask_a": {`:'b' it's \`}, "ask_c": {"x"}}), true)
	want := `SELECT E':''b'' it''s \\', '' FROM public.thing t JOIN thing_of u ON true JOIN public.iasql_tables USING (id)`
	if got != want {
		t.Errorf("it is %s, want %s", got, want)
	}
	if got := q.with(q.values(nil), false); !strings.HasPrefix(got, "SELECT '1', '' FROM thing t") {
		t.Errorf("as it is shown: %s", got)
	}
}

func TestQuestionIsRefused(t *testing.T) {
	for _, text := range []string{"SELECT 1", "-- Title\nSELECT 1", "-- T\n-- A\nSELECT 1; SELECT 2", "-- T\n-- A\n-- needs: x\nSELECT 1",
		"-- T\n-- A\n-- asks: x\nSELECT 1", "-- T\n-- A\n-- asks: x = 1\nSELECT 1"} {
		if _, err := parseQuestion("q", text); err == nil {
			t.Errorf("%q is a question", text)
		}
	}
	if questions, err := loadQuestions(ownQuestions); err != nil || len(questions) != 0 {
		t.Errorf("the folder above: %v %v", questions, err)
	}
}

func TestJSONValue(t *testing.T) {
	for _, c := range []struct {
		kind       uint32
		text, want string
	}{{16, "t", "true"}, {16, "f", "false"}, {20, "9007199254740993", "9007199254740993"}, {1700, "1.50", "1.50"}, {701, "NaN", `"NaN"`},
		{701, "1e+300", "1e+300"}, {3802, `{"a": 1}`, `{"a": 1}`}, {25, `a"b`, `"a\"b"`}, {25, "12", `"12"`}, {17, "\xff", `"` + "\ufffd" + `"`}} {
		if got := string(jsonValue(c.kind, []byte(c.text))); got != c.want {
			t.Errorf("%s of type %d is %s, want %s", c.text, c.kind, got, c.want)
		}
	}
	if got := string(jsonValue(25, nil)); got != "null" {
		t.Errorf("NULL is %s", got)
	}
}

func TestFailurePoints(t *testing.T) {
	var f sqlFailure
	f.point("SELECT 1,\n\t'ö', nope\nFROM t", 17)
	if f.line != 2 || f.column != 7 || f.source != " 'ö', nope" || f.caret != "      ^" {
		t.Errorf("%+v", f)
	}
	f = sqlFailure{}
	f.point("abc", 9)
	if f.line != 0 {
		t.Errorf("outside of the text: %+v", f)
	}
}
