package console

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// edit is one statement that a form comes to: an INSERT of one record, or an UPDATE
// or a DELETE of some. As with a button's statement, values travel as parameters, and
// what is shown has them as literals.
type edit struct {
	verb  string // INSERT, UPDATE or DELETE
	table *formTable
	sets  []assignment
	ids   []int64
}

// assignment is what a column becomes: a value, or what an expression makes of it.
type assignment struct {
	field *field
	value *string
	// expression is SQL of the product's own with %[1]s for the column and %[2]s for the value.
	expression string
}

// run returns the statement as it is sent.
func (c edit) run() (sql string, args []any) {
	sql = c.text(table(c.table.name), func(a assignment) string {
		args = append(args, a.value)
		kind := a.field.kind
		if strings.Contains(a.expression, "- %[2]s") {
			kind = "text"
		}
		return "$" + strconv.Itoa(len(args)) + "::text::" + kind
	}, func() string {
		args = append(args, c.ids)
		return "= ANY ($" + strconv.Itoa(len(args)) + "::bigint[])"
	})
	if c.verb == "INSERT" && c.table.field("id").readable {
		sql += " RETURNING id"
	}
	return sql, args
}

// String returns the statement as somebody would type it; secrets are not in it.
func (c edit) String() string {
	return c.text(c.table.quoted, func(a assignment) string {
		if a.field.secret && a.value != nil {
			return "'…'"
		}
		return literal(a.value)
	}, func() string {
		if len(c.ids) == 1 {
			return "= " + number(c.ids[0])
		}
		list := make([]string, len(c.ids))
		for i, id := range c.ids {
			list[i] = number(id)
		}
		return "IN (" + strings.Join(list, ", ") + ")"
	}) + ";"
}

func (c edit) text(table string, value func(assignment) string, which func() string) string {
	var names, values, sets []string
	for _, a := range c.sets {
		written := value(a)
		if a.expression != "" {
			written = fmt.Sprintf(a.expression, a.field.quoted, written)
		}
		names, values = append(names, a.field.quoted), append(values, written)
		sets = append(sets, a.field.quoted+" = "+written)
	}
	switch {
	case c.verb == "DELETE":
		return "DELETE FROM " + table + " WHERE id " + which()
	case c.verb == "UPDATE":
		return "UPDATE " + table + " SET " + strings.Join(sets, ", ") + " WHERE id " + which()
	case len(names) == 0:
		return "INSERT INTO " + table + " DEFAULT VALUES"
	}
	return "INSERT INTO " + table + " (" + strings.Join(names, ", ") + ") VALUES (" + strings.Join(values, ", ") + ")"
}

// errClash says that somebody else has changed what a form is about.
var errClash = errors.New("somebody else has changed it meanwhile")

// errGone says that a statement has not met all the records that it names.
type errGone struct{ named, met int64 }

func (e errGone) Error() string {
	if e.named == 1 {
		return "The record is not there any more, or you may not change it."
	}
	return fmt.Sprintf("Of %d records %d are there and yours to change. Nothing was written: load the list anew.",
		e.named, e.met)
}

// carried is what came of a change.
type carried struct {
	batch  int64 // in which it is staged; 0: it was written at once
	id     int64 // of an inserted record, where it can be read
	shown  []string
	insert bool
}

// where is what a form says of where a change goes.
type where struct {
	now   bool   // at once, in no batch
	batch string // the number of an open batch; "": a new one
}

// carryOut runs a change in one transaction with the rights of the session's role. check
// looks at the records first, and may refuse. A batch is joined for the transaction alone,
// so that the connection goes back to the pool as it was.
func (s *session) carryOut(ctx context.Context, c edit, to where, check func(pgx.Tx) error) (done carried, err error) {
	done.insert = c.verb == "INSERT"
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		if err := done.enter(ctx, tx, to); err != nil {
			return err
		}
		if check != nil {
			if err := check(tx); err != nil {
				return err
			}
		}
		sql, args := c.run()
		args = append([]any{pgx.QueryExecModeExec}, args...)
		if strings.HasSuffix(sql, " RETURNING id") {
			if err := tx.QueryRow(ctx, sql, args...).Scan(&done.id); err != nil {
				return err
			}
		} else {
			tag, err := tx.Exec(ctx, sql, args...)
			if err != nil {
				return err
			}
			if named := int64(len(c.ids)); !done.insert && tag.RowsAffected() != named {
				return errGone{named, tag.RowsAffected()}
			}
		}
		done.shown = append(done.shown, c.String())
		return nil
	})
	return done, err
}

// enter has a transaction work in the batch that a form names, or in a new one.
func (done *carried) enter(ctx context.Context, tx pgx.Tx, to where) error {
	switch {
	case to.now:
		return nil
	case to.batch == "":
		if _, err := tx.Exec(ctx, `CALL public.iasql_begin(NULL::text, true)`); err != nil {
			return err
		}
		done.shown = append(done.shown, "CALL iasql_begin();")
	default:
		if _, err := tx.Exec(ctx, `CALL public.iasql_join($1::text, true)`, to.batch); err != nil {
			return err
		}
		done.shown = append(done.shown, "CALL iasql_join("+literal(to.batch)+");")
	}
	return tx.QueryRow(ctx, `SELECT iasql_internal.session_batch()`).Scan(&done.batch)
}

// load reads the open batches that the visitor has opened himself, the newest first.
func (p *places) load(ctx context.Context, tx pgx.Tx) error {
	err := tx.QueryRow(ctx, `SELECT has_function_privilege('public.iasql_begin(text, boolean)', 'EXECUTE')`).Scan(&p.stages)
	if err != nil {
		return err
	}
	rows, err := tx.Query(ctx, `
		SELECT b.id, coalesce(b.name, ''), b.records, b.since FROM public.iasql_batches b
		WHERE b.owner = current_user AND b.phase = 'open' ORDER BY b.since DESC LIMIT 50`)
	if err != nil {
		return err
	}
	p.own, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (batchInfo, error) {
		var b batchInfo
		return b, row.Scan(&b.id, &b.name, &b.records, &b.since)
	})
	return err
}

var keyOf = regexp.MustCompile(`^Key \(([^()]+)\)=`)

// complaint is what the database says against a change: of which column, where it names
// one.
type complaint struct {
	column, text, hint string
	see                []string // the columns whose inputs say more
}

// complaintOf reads an error of a change.
func (t *formTable) complaintOf(err error) complaint {
	var pg *pgconn.PgError
	var gone errGone
	switch {
	case errors.As(err, &gone):
		return complaint{text: gone.Error()}
	case !errors.As(err, &pg):
		text, hint := explain(err)
		return complaint{text: text, hint: hint}
	}
	c := complaint{column: pg.ColumnName, text: pg.Message + " (" + pg.Code + ")", hint: pg.Hint}
	if pg.TableName != "" && pg.TableName != t.name { // it is about another table's column
		c.column = ""
	} else if m := keyOf.FindStringSubmatch(pg.Detail); c.column == "" && m != nil {
		// Of several columns the last one tells; the others are account and region.
		names := strings.Split(m[1], ", ")
		c.column = strings.Trim(names[len(names)-1], `"`)
	}
	if pg.Detail != "" && !strings.HasPrefix(pg.Detail, "Failing row") {
		c.hint = strings.TrimSpace(shorten(pg.Detail, 2000) + "\n" + c.hint)
	}
	if c.column != "" && t.field(c.column) == nil {
		c.column = ""
	}
	return c
}

// misfit finds the value that is none of its column's type, which PostgreSQL's error does
// not name: it asks for each by itself.
func (s *session) misfit(ctx context.Context, c edit, err error) string {
	if state := sqlState(err); len(state) != 5 || state[:2] != "22" {
		return ""
	}
	for _, a := range c.sets {
		if a.value == nil || a.field.secret {
			continue
		}
		refused := s.read(ctx, func(tx pgx.Tx) error {
			_, err := tx.Exec(ctx, "SELECT $1::text::"+a.field.kind, pgx.QueryExecModeExec, *a.value)
			return err
		})
		if refused != nil {
			return a.field.name
		}
	}
	return ""
}
