package contract

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"iasql/internal/test/harness"
)

// pieces are what texts are made of that would do harm where they are not
// quoted.
var pieces = []string{"'", "''", `"`, `\`, `\'`, "$$", "$a$", "%", "%s%I%L", ";", "--", "/*", "*/", "\n", "\r\n", "\t",
	"E'", `\x00`, `\u0041`, "{", "}", "[", ",", ":", "NULL", "null", "true",
	"é", "e\u0301", "日本", "😀", "\u202e", "\u200b", "\ufeff", "\uffff", " ", "", "0", "1e2", "-0.0", ":'var'", "`id`",
	"DROP TABLE queue;", strings.Repeat("x", 300)}

func text(random *rand.Rand) string {
	var b strings.Builder
	for range random.IntN(6) {
		b.WriteString(pieces[random.IntN(len(pieces))])
	}
	return b.String()
}

func document(random *rand.Rand, depth int) any {
	switch n := random.IntN(8); {
	case n < 3 && depth > 0:
		object := map[string]any{}
		for range random.IntN(4) {
			object[text(random)] = document(random, depth-1)
		}
		return object
	case n == 3 && depth > 0:
		return []any{document(random, depth-1), document(random, depth-1)}
	case n == 4:
		return json.Number([]string{"0", "-1.50", "1e3", "123456789012345678901234567890.5"}[random.IntN(4)])
	case n == 5:
		return random.IntN(2) == 0
	case n == 6:
		return nil
	}
	return text(random)
}

// The SQL of a batch of random values gives the same rows again: whatever stands
// in a text, a key or a document is quoted.
func TestRepeatRandomValues(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, east, "aws_sqs")
	const rows = `SELECT md5(string_agg(concat_ws('|', name, delay_seconds, tags, policy), E'\n' ORDER BY name)), count(*) FROM queue WHERE name LIKE 'r%'`
	for seed := range uint64(3) {
		random := rand.New(rand.NewPCG(seed, 7))
		statements := []string{`CALL iasql_begin('test')`}
		literal := func(v any) string {
			raw, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			return "'" + strings.ReplaceAll(string(raw), "'", "''") + "'"
		}
		for i := range 40 {
			tags, policy := map[string]string{}, map[string]any{"Statement": document(random, 3)}
			for range random.IntN(5) {
				tags[text(random)] = text(random)
			}
			statements = append(statements,
				fmt.Sprintf(`INSERT INTO queue (name, delay_seconds, tags, policy) VALUES ('r%d', %d, %s, %s)`, i,
					random.IntN(900), literal(tags), literal(policy)))
			if random.IntN(3) == 0 {
				statements = append(statements,
					fmt.Sprintf(`UPDATE queue SET tags = %s, policy = %s WHERE name = 'r%d'`,
						literal(map[string]string{text(random): text(random)}),
						literal(map[string]any{text(random): document(random, 2)}), i))
			}
		}
		w.PSQL(statements...)
		want := w.PSQL(rows)
		script := w.PSQL(`SELECT sql FROM iasql_get_sql_for_transaction()`)
		w.Joined(`CALL iasql_rollback()`)
		if got := w.PSQL(rows); got != "|0" {
			t.Fatalf("seed %d: after the rollback: %s", seed, got)
		}
		w.PSQL(`CALL iasql_begin('test')`, script)
		if got := w.PSQL(rows); got != want || !strings.HasSuffix(got, "|40") {
			t.Errorf("seed %d: %s, want %s; the script:\n%.3000s", seed, got, want, script)
		}
		w.Joined(`CALL iasql_rollback()`)
	}
}
