package postgres_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"iasql/internal/modes"
)

// The engine and iasql_mode_of resolve the same rules alike (docs/design.md,
// §13).
func TestModesAgree(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.exec(`INSERT INTO box (label) VALUES ('a'), ('b')`)
	var (
		random  = rand.New(rand.NewPCG(1, 2))
		kinds   = []modes.Mode{modes.Normal, modes.Enforce, modes.Track}
		tables  = []string{"box", "item"}
		columns = []string{"", "label", "tags"}
	)
	if got := b.query(`SELECT string_agg(id::text, ',' ORDER BY id) FROM box`); got != "1,2" {
		t.Fatalf("the records are %s", got)
	}
	for round := range 60 {
		b.exec(`DELETE FROM iasql_mode`)
		var rules []modes.Rule
		for range random.IntN(8) {
			r := modes.Rule{ID: int64(len(rules) + 1), Mode: kinds[random.IntN(3)]}
			if random.IntN(5) > 0 {
				r.Table = tables[random.IntN(2)]
				r.Column = []string{"", "label"}[random.IntN(2)]
				if r.Table == "box" {
					r.RecordID = int64(random.IntN(3))
				}
			}
			var added bool
			if err := b.user.QueryRow(t.Context(), `
				WITH added AS (
					INSERT INTO iasql_mode (table_name, record_id, column_name, mode) VALUES (nullif($1, ''), nullif($2::bigint, 0), nullif($3, ''), $4)
					ON CONFLICT DO NOTHING RETURNING id
				) SELECT EXISTS (SELECT FROM added)`, r.Table, r.RecordID, r.Column, string(r.Mode)).Scan(&added); err != nil {
				t.Fatal(err)
			}
			if added {
				rules = append(rules, r)
			}
		}
		resolved := modes.New(rules)
		for _, table := range tables {
			for record := range int64(4) { // 0: the table as a whole; 3: one that no rule names
				for _, column := range columns {
					want := string(resolved.Of(table, record, column))
					got := b.query(`SELECT iasql_mode_of($1, nullif($2::bigint, 0), nullif($3, ''))`, table,
						record, column)
					if got != want {
						t.Errorf("round %d: %s %d %q: SQL says %s, Go %s, of %s", round, table, record, column, got,
							want, fmt.Sprint(rules))
					}
				}
			}
		}
	}
}
