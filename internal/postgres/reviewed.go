package postgres

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"

	"iasql/internal/decide"
)

// Line is a line of a preview that shows what was changed in the cloud.
type Line struct {
	Number  int
	Subject *decide.Subject
	Pull    bool // a full cycle would pull it
}

// Reviewed returns who has changed in the cloud what the lines are about, by their numbers,
// as far as events have told: an object with the keys that iasql_history has, too.
func (d *Database) Reviewed(ctx context.Context, lines []Line) (map[int]json.RawMessage, error) {
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
			numbers, pulls, records = append(numbers, line.Number), append(pulls, line.Pull), append(records, s.RecordID)
			accounts, tables, regions = append(accounts, s.Scope.Account), append(tables, s.Table.Name), append(regions, s.Scope.Region)
			columns, named = append(columns, column), append(named, name)
		}
	}
	if len(numbers) == 0 {
		return nil, nil
	}
	rows, err := d.Pool.Query(ctx, `SELECT line, who FROM iasql_internal.reviewed($1, $2, $3, $4, $5, $6, $7, $8)`,
		numbers, pulls, accounts, tables, records, regions, columns, named)
	if err != nil {
		return nil, fmt.Errorf("look up who has changed what a preview shows: %w", err)
	}
	who := map[int]json.RawMessage{}
	var number int
	var author []byte
	_, err = pgx.ForEachRow(rows, []any{&number, &author}, func() error {
		who[number], author = author, nil
		return nil
	})
	return who, err
}
