package modules

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
)

func greet() (*Function, *Table) {
	t := &Table{Name: "thing", Doc: "Things.", Reach: PerRegion, Columns: []Column{
		{Name: ColumnAccount, Type: TypeText, Default: "default_account()", Doc: "a"},
		{Name: ColumnRegion, Type: TypeText, Default: "default_region()", Doc: "r"},
		{Name: "name", Type: TypeText, Identity: true, Doc: "n"},
	}}
	return &Function{
		Name: "greet", Doc: "Greets.", Sample: "SELECT greet('it''s')", Table: "thing", Right: "UPDATE",
		Parameters: []Parameter{
			{Name: "who", Type: TypeText, Names: "name", Doc: "Who."},
			{Name: "how", Type: TypeJSON, Default: "'{}'", Doc: "How."},
			{Name: "bytes", Type: TypeBytes, Default: "NULL", Doc: "What."},
		},
		Returns: []Result{{Name: "said", Type: TypeText, Doc: "What was said."},
			{Name: "parts", Type: TypeTexts, Doc: "Its parts."}},
		Call: func(context.Context, Invocation) ([]Row, error) { return nil, nil },
	}, t
}

func TestFunctionIsDescribed(t *testing.T) {
	f, table := greet()
	if err := f.validate(table); err != nil {
		t.Fatal(err)
	}
	ddl := strings.Join(f.DDL(table), ";\n")
	for _, part := range []string{
		`CREATE OR REPLACE FUNCTION public."greet"("who" text, "how" jsonb DEFAULT '{}', "bytes" bytea DEFAULT NULL, "region" text DEFAULT default_region(), "account" text DEFAULT default_account())`,
		`RETURNS TABLE ("said" text, "parts" text[])`, `VOLATILE SET search_path = pg_catalog, pg_temp`,
		`iasql_internal.allow_call('greet', `,
		`iasql_internal.call('greet', jsonb_build_object('who', $1,`,
		`REVOKE EXECUTE ON FUNCTION public."greet"(text, jsonb, bytea, text, text) FROM PUBLIC`,
		`Sample: SELECT greet(''it''''s'')`,
	} {
		if !strings.Contains(ddl, part) {
			t.Errorf("the DDL has no %s:\n%s", part, ddl)
		}
	}
	for what, spoil := range map[string]func(f *Function){
		"no doc":                func(f *Function) { f.Doc = "" },
		"unknown right":         func(f *Function) { f.Right = "DELETE" },
		"two of a name":         func(f *Function) { f.Parameters[1].Name = "who" },
		"as a result":           func(f *Function) { f.Returns[0].Name = "who" },
		"no default after one":  func(f *Function) { f.Parameters[2].Default = "" },
		"names no column":       func(f *Function) { f.Parameters[0].Names = "nobody" },
		"a result without type": func(f *Function) { f.Returns[1].Type = "" },
		"no results":            func(f *Function) { f.Returns = nil },
	} {
		f, table := greet()
		spoil(f)
		if err := f.validate(table); err == nil {
			t.Errorf("%s: is valid", what)
		}
	}
	if err := f.validate(nil); err == nil {
		t.Error("without a table it is valid")
	}
}

func TestArguments(t *testing.T) {
	f, table := greet()
	for given, want := range map[string]string{
		`{"who": "me", "how": {"b": 1, "a": "x"}, "bytes": "\\x00ff", "region": "r", "account": "a"}`: "me\n{\"a\":\"x\",\"b\":1}\n\\x00ff\na/r",
		`{"who": "12", "how": "text", "region": "r", "account": "a"}`:                                 "12\n\"text\"\n\na/r",
		`{"who": null, "region": "r", "account": "a"}`:                                                "Argument: argument who must not be NULL",
		`{"who": "me", "region": null, "account": "a"}`:                                               "Argument: account and region must not be NULL, and there is no default one",
	} {
		var raw map[string]json.RawMessage
		if err := json.Unmarshal([]byte(given), &raw); err != nil {
			t.Fatal(err)
		}
		scope, args, err := f.Arguments(table, func(name string) json.RawMessage { return raw[name] })
		got := strings.Join([]string{args["who"].String(), args["how"].String(), args["bytes"].String(),
			scope.String()}, "\n")
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s gives %q, want %q", given, got, want)
		}
	}
}

func TestResults(t *testing.T) {
	f, _ := greet()
	rows, err := f.Rows([]Row{{"said": Text(`a"b`), "parts": Strings([]string{"a", "b"})},
		{"said": Null, "parts": Null}})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(rows)
	if err != nil || string(text) != `[{"parts":["a","b"],"said":"a\"b"},{"parts":null,"said":null}]` {
		t.Errorf("got %s, %v", text, err)
	}
	if _, err := f.Rows([]Row{{"said": Null}}); err == nil {
		t.Error("a result that is left out is no error")
	}
	if v := Bytes([]byte{0, 255}); v.String() != `\x00ff` || string(v.Bytes()) != "\x00\xff" {
		t.Errorf("bytes are %v", v)
	}
}
