package cells

import (
	"testing"

	"iasql/internal/test/harness"
)

// TestRaisedNumbers: numbers of records are raised wherever they stand, and nothing else is.
func TestRaisedNumbers(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t)
	for call, want := range map[string]string{
		`raised('7'::jsonb, 100)`:                                        `107`,
		`raised('"7"'::jsonb, 100)`:                                      `"107"`,
		`raised('null'::jsonb, 100)`:                                     `null`,
		`raised('[1, null, 2]'::jsonb, 100)`:                             `[101, null, 102]`,
		`raised('[]'::jsonb, 100)`:                                       `[]`,
		`raised('"replaced:7"'::jsonb, 100)`:                             `"replaced:107"`,
		`raised('"object:vpc-7"'::jsonb, 100)`:                           `"object:vpc-7"`,
		`renumbered('{"id": 1, "size": 1}', '{id,vpc_id}', 100, 'b')`:    `{"id": 101, "size": 1}`,
		`renumbered('{"account": "a", "id": 1}', '{id}', 100, 'b')`:      `{"id": 101, "account": "b"}`,
		`renumbered('{"account": null}', '{id}', 100, 'b')`:              `{"account": null}`,
		`renumbered(NULL, '{id}', 100, 'b')`:                             ``,
		`renumbered_change('{"change": {"id": 1}}', '{id}', 100, 'b')`:   `{"change": {"id": 101}}`,
		`renumbered_change('{"message": "id 1"}', '{id}', 100, 'b')`:     `{"message": "id 1"}`,
		`renumbered_key(E'1\x1f2', '{subnet,part}', '{id,subnet}', 100)`: "101\x1f2",
		`renumbered_key('1', '{name}', '{id}', 100)`:                     `1`,
		`renumbered_key(E'replaced:1\x1f2', '{a,b}', '{a}', 100)`:        "replaced:101\x1f2",
		`renumbered_key(NULL, '{a}', '{a}', 100)`:                        ``,
		`renumbered_call('{"vpc_id": {"to": 2, "from": null, "named": "5"}, "n": {"to": 1}}', '{id,vpc_id}', 100)`://
		`{"n": {"to": 1}, "vpc_id": {"to": 102, "from": null, "named": "5"}}`,
	} {
		if got := w.Admin(`SELECT iasql_internal.` + call); got != want {
			t.Errorf("%s: %s, want %s", call, got, want)
		}
	}
}
