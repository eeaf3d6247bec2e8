package cfn

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"iasql/internal/modules"
	"iasql/internal/test/stopwatch"
)

// schemaOf returns a schema with these properties, which is known by its property Id, and
// with what else it is given.
func schemaOf(properties string, more ...string) string {
	text := `{"typeName": "Evil::Corp::Thing", "primaryIdentifier": ["/properties/Id"], "readOnlyProperties": ["/properties/Id"],
		"handlers": {"create": {}, "read": {}, "update": {}, "delete": {}, "list": {}},
		"properties": {"Id": {"type": "string"}` + properties + `}`
	for _, m := range more {
		text += ", " + m
	}
	return text + "}"
}

// table makes the table of a schema, which has to be right.
func table(t testing.TB, text string) *Type {
	t.Helper()
	s, err := Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	l, err := Lay(s, Layout{}, 1, Around{Taken: func(string) bool { return false }})
	if err != nil {
		t.Fatal(err)
	}
	made, err := New(s, l, nil)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func TestHostileSchemasAreRefused(t *testing.T) {
	t.Parallel()
	var many, deep strings.Builder
	for i := range 10000 {
		fmt.Fprintf(&many, `, "P%d": {"type": "string"}`, i)
	}
	deep.WriteString(`, "Deep": `)
	deep.WriteString(strings.Repeat(`{"items": `, 10000) + `{}` + strings.Repeat(`}`, 10000))
	for name, c := range map[string]struct{ schema, says string }{
		"no JSON": {`{"typeName": `, "no JSON"},
		"a list":  {`[]`, "no JSON object"},
		"a name with quotes": {strings.Replace(schemaOf(""), "Evil::Corp::Thing",
			`Evil::Corp::x\"; DROP TABLE y; --`, 1), "no name of a resource type"},
		"megabytes": {schemaOf(`, "Big": {"type": "string", "description": "` +
			strings.Repeat("x", MaxSize) + `"}`), "bytes"},
		"ten thousand properties":  {schemaOf(many.String()), "properties"},
		"nested ten thousand deep": {schemaOf(deep.String()), "nested"},
		"no properties":            {`{"typeName": "Evil::Corp::Thing"}`, "no properties"},
		"no identifier": {`{"typeName": "Evil::Corp::Thing", "properties": {"Id": {}}}`,
			"no primary identifier"},
		"an identifier of nothing": {strings.Replace(schemaOf(""), `["/properties/Id"]`, `["/properties/Nothing"]`, 1),
			"names no property"},
		"an identifier in a list": {strings.Replace(schemaOf(""), `["/properties/Id"]`, `["/properties/Id/*/Name"]`,
			1), "names no property"},
		"an identifier given twice": {strings.Replace(schemaOf(""), `["/properties/Id"]`,
			`["/properties/Id", "/properties/Id"]`, 1), "twice"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Parse([]byte(c.schema))
			if err == nil || !strings.Contains(err.Error(), c.says) || len(err.Error()) > 500 {
				t.Errorf("%.600v", err)
			}
		})
	}
}

func TestHostileSchemasDoNoHarm(t *testing.T) {
	t.Parallel()
	began := stopwatch.Start()
	made := table(t, schemaOf(`,
		"Foo": {"type": "string"}, "foo": {"type": "string"}, "FOO": {"type": "string"}, "f-o-o": {"type": "string"}, "F_oo": {"type": "string"},
		"account": {"type": "string"}, "Region": {"type": "string"}, "tags": {"type": "integer"}, "select": {"type": "string"}, "xmin": {"type": "string"},
		"\"; DROP TABLE x; --": {"type": "string", "description": "'); DROP TABLE x; --\u0000", "enum": ["'", "\\", "\""]},
		"été": {"type": "string"}, "日本": {"type": "string"}, "": {"type": "string"}, "9lives": {"type": "string"},
		"`+strings.Repeat("Long", 50)+`A": {"type": "string"}, "`+strings.Repeat("Long", 50)+`B": {"type": "string"},
		"Round": {"$ref": "#/definitions/Round"}, "Nowhere": {"$ref": "#/definitions/Nothing"}, "Self": {"$ref": "#/properties/Self"},
		"Tree": {"$ref": "#/definitions/Tree"}, "Odd": 7, "Number": {"type": "integer", "minimum": "1; DROP TABLE x", "maximum": 1e400},
		"Explodes": {"type": "string", "pattern": "^(([a-z]+)+)+$"}, "Huge": {"type": "string", "pattern": "((a{1,200}){1,200}){1,200}"},
		"Behind": {"type": "string", "pattern": "(?<=a)b\\1"}, "Many": {"type": "string", "enum": [`+
		strings.TrimSuffix(strings.Repeat(`"v",`, 5000), ",")+`]},
		"Wild": {"type": "object"}`,
		`"definitions": {"Round": {"$ref": "#/definitions/Trip"}, "Trip": {"$ref": "#/definitions/Round"},
			"Tree": {"type": "object", "properties": {"Left": {"$ref": "#/definitions/Tree"}, "Right": {"$ref": "#/definitions/Tree"}, "L": {"type": "array", "insertionOrder": false, "items": {"$ref": "#/definitions/Tree"}}}}}`,
		`"writeOnlyProperties": ["/properties/Wild/a\"') = 1; --/*/b", "/properties/Id", "/properties/None"]`,
		`"createOnlyProperties": ["/properties/Id", "/properties/Wild/'$$'"]`))
	if took := began.Took(); took > 5*time.Second {
		t.Errorf("took %s", took)
	}
	safe := regexp.MustCompile(`^[a-z][a-z0-9_]*$`)
	seen := map[string]bool{}
	for _, c := range made.Table.Columns {
		if !safe.MatchString(c.Name) || len(c.Name) > 63 || seen[c.Name] {
			t.Errorf("column %q", c.Name)
		}
		seen[c.Name] = true
		if len(c.Doc) > 2500 || strings.ContainsRune(c.Doc, 0) || !utf8.ValidString(c.Doc) {
			t.Errorf("column %s: its comment has %d bytes", c.Name, len(c.Doc))
		}
	}
	for _, name := range []string{"foo", "foo_2", "foo_3", "thing_account", "thing_region", "thing_select",
		"thing_xmin"} {
		if !seen[name] {
			t.Errorf("there is no column %s: %v", name, seen)
		}
	}
	for _, name := range []string{"huge", "behind"} {
		if c := made.Table.Column(name); c.Check != "" {
			t.Errorf("%s has the check %s", name, c.Check)
		}
	}
	for _, statement := range made.Table.DDL(func(string) *modules.Table {
		return &modules.Table{Name: "x", DefinesAccounts: true}
	}) {
		if strings.Contains(outside(statement), "DROP") {
			t.Errorf("a text of the schema is a statement: %.500s", statement)
		}
	}
}

// outside returns what of a statement is outside of its strings and quoted names.
func outside(statement string) string {
	var b strings.Builder
	for i, part := range strings.FieldsFunc(strings.ReplaceAll(statement, `"`, `'`), func(r rune) bool {
		return r == '\''
	}) {
		if i%2 == 0 {
			b.WriteString(part)
		}
	}
	return regexp.MustCompile(`DROP (FUNCTION|TRIGGER|CONSTRAINT) IF EXISTS`).ReplaceAllString(b.String(), "")
}

// TestDefaultsThatBreak: a default that its own definition forbids is nothing to ask for, and
// does not keep a row away that has it.
func TestDefaultsThatBreak(t *testing.T) {
	t.Parallel()
	s, err := Parse([]byte(schemaOf(
		`, "Low": {"type": "number", "minimum": 1, "default": 0}, "Arn": {"type": "string", "pattern": "^arn:.+$", "default": ""},
		"Good": {"type": "integer", "maximum": 9, "default": 9}`)))
	if err != nil {
		t.Fatal(err)
	}
	l, err := Lay(s, Layout{}, 1, Around{Taken: func(string) bool { return false }})
	if err != nil {
		t.Fatal(err)
	}
	made, err := New(s, l, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][2]string{
		"low": {"", `("low" >= 1) OR "low" = '0'`}, "arn": {"", `("arn" ~ '^arn\u003A(?:[^\n\r])+$') OR "arn" = ''`},
		"good": {"'9'", `"good" <= 9`},
	} {
		if c := made.Table.Column(name); c.Default != want[0] || c.Check != want[1] {
			t.Errorf("%s: default %s, check %s", name, c.Default, c.Check)
		}
	}
}

func TestPatterns(t *testing.T) {
	t.Parallel()
	for pattern, want := range map[string]string{
		`^[a-zA-Z0-9_-]+$`:       `^(?:[\u002D0-9A-Z_a-z])+$`,
		`^arn:aws:.*$`:           `^arn\u003Aaws\u003A(?:[^\n\r])*$`,
		`a|b`:                    `[a-b]`,
		`^(foo|bar)$`:            `^(?:foo|bar)$`,
		`[\s\S]*`:                `(?:.)*`,
		`^.{1,255}$`:             `^(?:[^\n\r]){1,255}$`,
		`^.{1,256}$`:             "",
		`(?i)abc`:                "",
		`(?=a)b`:                 "",
		`\s+`:                    "",
		`\p{L}+`:                 "",
		`(a`:                     "",
		`a++`:                    "",
		`((a{1,99}){1,99}){9}`:   "",
		strings.Repeat("a", 700): "",
	} {
		if got, ok := Pattern(pattern); got != want || ok != (want != "") {
			t.Errorf("%s is %s, not %s", pattern, got, want)
		}
	}
}

// everything is a table, and has every property.
func everything(typeName, property string, regional bool) (Target, bool) {
	return Target{Table: TableName(typeName), Key: ColumnName(typeName, property)}, true
}

// FuzzSchema: whatever a publisher writes, there is an error or a table that is right, and
// objects of any shape are read and changed without harm.
func FuzzSchema(f *testing.F) {
	f.Add(schemaOf(`, "Name": {"type": "string", "pattern": "^a+$"}, "Tags": {"type": "object"}`),
		`{"Id": "a", "Name": 1, "Tags": {"a": "b"}}`)
	f.Add(schemaOf(`, "R": {"$ref": "#/definitions/R"}`,
		`"definitions": {"R": {"type": "array", "items": {"$ref": "#/definitions/R"}}}`), `{"R": [[[]]]}`)
	f.Add(schemaOf(`, "O": {"type": "object"}`, `"writeOnlyProperties": ["/properties/O/*/S"]`),
		`{"O": {"x": {"S": 1}}}`)
	f.Add(schemaOf(`, "Of": {"anyOf": [{"relationshipRef": {"typeName": "Acme::Thing::Other", "propertyPath": "/properties/Id"}}, {"type": "string"}], "type": "string"}`), `{"Of": "arn:aws:x"}`)
	n := 0
	eachPublishedIfThere(f, func(text []byte) {
		if n++; n%100 == 0 {
			f.Add(string(text), `{}`)
		}
	})
	f.Fuzz(func(t *testing.T, text, object string) {
		s, err := Parse([]byte(text))
		if err != nil {
			return
		}
		l, err := Lay(s, Layout{}, 1, Around{Taken: func(string) bool { return false }, Refer: everything})
		if err != nil {
			return
		}
		made, err := New(s, l, nil)
		if err != nil {
			t.Fatalf("a schema that was taken has no table: %v", err)
		}
		again, err := Lay(s, l, 2, Around{Taken: func(string) bool { return true }, Refer: everything})
		if err != nil {
			t.Fatalf("it cannot be laid again: %v", err)
		}
		if a, b := fmt.Sprint(l), fmt.Sprint(again); a != b {
			t.Fatalf("laid again it is another: %s, %s", a, b)
		}
		for _, c := range made.Table.Columns {
			if len(c.Name) > 63 || strings.ContainsAny(c.Name, "\x00\"'") || !utf8.ValidString(c.Name) {
				t.Fatalf("column %q", c.Name)
			}
		}
		row, err := made.Row("a|b", object)
		if err != nil {
			return
		}
		asked, err := made.Asked([]byte(object))
		if err != nil {
			return
		}
		var columns []string
		for i := range made.Table.Columns {
			c := &made.Table.Columns[i]
			if v := row[c.Name]; !v.IsNull() && !c.Same(v, v) {
				t.Fatalf("column %s: %s is not the same as itself", c.Name, v)
			}
			if !c.Computed && !c.Local && c.Name != modules.ColumnAccount && c.Name != modules.ColumnRegion {
				columns = append(columns, c.Name)
			}
		}
		if _, err := made.Properties(asked); err != nil {
			t.Fatalf("what was read cannot be asked for: %v", err)
		}
		if patch, err := made.Patch(row, asked, columns); err == nil && patch != "" && !json.Valid([]byte(patch)) {
			t.Fatalf("the patch is no JSON: %s", patch)
		}
	})
}
