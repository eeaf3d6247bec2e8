package postgres

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"iasql/internal/decide"
	"iasql/internal/modules"
)

// written says what became of a row that a pull was to write.
type written int

const (
	raced   written = iota // the row is no longer the one that was decided on
	applied                // it is as the cloud has it
	leftOut                // a trigger returned NULL for it
)

// triggerError says that triggers of users left a row out or wrote other values
// than the cloud has.
type triggerError struct {
	table    string
	triggers []string
	columns  []string // that were changed; none if the row was left out
}

func (e *triggerError) Error() string {
	what := "the row is left out"
	if len(e.columns) > 0 {
		what = "another value is written into " + strings.Join(e.columns, ", ")
	}
	return fmt.Sprintf("%s by a trigger of table %s", what, e.table)
}

// remedy says what to do about it.
func (e *triggerError) remedy() string {
	names := "that trigger"
	if len(e.triggers) > 0 {
		names = "trigger " + strings.Join(e.triggers, " or ")
	}
	return fmt.Sprintf("change %s so that it leaves the engine's writes as they are, or change the object", names)
}

// userTriggers names the triggers of users that can change what a pull writes:
// BEFORE ROW ones that fire on its kind of write (PostgreSQL manual, "pg_trigger":
// tgtype's bits are those of src/include/catalog/pg_trigger.h).
func userTriggers(ctx context.Context, tx pgx.Tx, t *modules.Table, action decide.Action) ([]string, error) {
	const row, before, insert, remove, update = 1, 2, 4, 8, 16
	event := map[decide.Action]int{decide.InsertRecord: insert, decide.UpdateRecord: update,
		decide.DeleteRecord: remove}[action]
	rows, err := tx.Query(ctx, `
		SELECT t.tgname FROM pg_trigger t JOIN pg_proc p ON p.oid = t.tgfoid
		WHERE t.tgrelid = $1::text::regclass AND NOT t.tgisinternal AND t.tgenabled IN ('O', 'A')
		  AND t.tgtype & $2::integer = $2::integer AND p.pronamespace <> 'iasql_internal'::regnamespace
		ORDER BY t.tgname`, shapeOf(t).name, row|before|event)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

// unchanged fails with a [triggerError] if a trigger has made the records other
// than what was written to them.
func unchanged(ctx context.Context, tx pgx.Tx, t *modules.Table, want map[int64]modules.Row,
	triggers func() ([]string, error)) error {
	ids := make([]int64, 0, len(want))
	for id := range want {
		ids = append(ids, id)
	}
	sh := shapeOf(t)
	rows, err := tx.Query(ctx, fmt.Sprintf(`SELECT t.id::text, t.xmin::text, %s FROM %s t WHERE t.id = ANY ($1)`,
		sh.columns, sh.name), ids)
	if err != nil {
		return err
	}
	defer rows.Close()
	var changed []string
	for rows.Next() {
		record, err := sh.scanRow(rows.RawValues())
		if err != nil {
			return err
		}
		for i := range t.Columns {
			c := &t.Columns[i]
			if v, ok := want[record.ID][c.Name]; ok && !c.Same(v, record.Row[c.Name]) &&
				!slices.Contains(changed, c.Name) {
				changed = append(changed, c.Name)
			}
		}
	}
	if rows.Close(); rows.Err() != nil || len(changed) == 0 {
		return rows.Err()
	}
	names, err := triggers()
	if err != nil {
		return err
	}
	return &triggerError{table: t.Name, triggers: names, columns: changed}
}
