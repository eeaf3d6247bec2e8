package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"iasql/internal/decide"
)

// Line is a line of a preview that shows what was changed in the cloud.
type Line struct {
	Number  int
	Subject *decide.Subject
	Pull    bool // a full cycle would pull it
}

// How many lines at most are looked up for who has changed what they show, and how many at once.
const (
	mostReviewed     = 2000
	reviewedTogether = 200
)

// Reviewed returns who has changed in the cloud what the lines are about, by their numbers,
// as far as events have told: an object with the keys that iasql_history has, too. Of very
// many lines it tells of the first.
func (d *Database) Reviewed(ctx context.Context, lines []Line) (map[int]json.RawMessage, error) {
	who := map[int]json.RawMessage{}
	for some := range slices.Chunk(lines[:min(len(lines), mostReviewed)], reviewedTogether) {
		if err := d.reviewed(ctx, some, who); err != nil {
			return nil, err
		}
	}
	return who, nil
}

func (d *Database) reviewed(ctx context.Context, lines []Line, who map[int]json.RawMessage) error {
	var numbers []int
	var pulls []bool
	var records []int64
	var accounts, tables, regions, columns, named []string
	for _, line := range lines {
		s := line.Subject
		for _, column := range namingColumns(s.Table) {
			name, known := cloudName(s, column)
			if !known {
				continue
			}
			numbers, pulls, records = append(numbers, line.Number), append(pulls, line.Pull),
				append(records, s.RecordID)
			accounts, tables, regions = append(accounts, s.Scope.Account), append(tables, s.Table.Name),
				append(regions, s.Scope.Region)
			columns, named = append(columns, column), append(named, name)
		}
	}
	if len(numbers) == 0 {
		return nil
	}
	rows, err := d.Pool.Query(ctx, `SELECT line, who FROM iasql_internal.reviewed($1, $2, $3, $4, $5, $6, $7, $8)`,
		numbers, pulls, accounts, tables, records, regions, columns, named)
	if err != nil {
		return fmt.Errorf("look up who has changed what a preview shows: %w", err)
	}
	var number int
	var author []byte
	_, err = pgx.ForEachRow(rows, []any{&number, &author}, func() error {
		who[number], author = author, nil
		return nil
	})
	return err
}
