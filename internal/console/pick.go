package console

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"
)

// mostOptions is how many records a reference offers in a list; of more it takes what is
// typed, and offers what that finds.
const mostOptions = 200

// option is a record that a reference may lead to.
type option struct {
	value, label string
	region       *string
	id           *int64
}

// text is what an option is called.
func (o option) text(key string) string {
	text := o.label
	if text == "" {
		text = o.value
	}
	if key == "id" {
		text += " · " + o.value
	}
	if o.region != nil && *o.region != text {
		text += " · " + *o.region
	}
	return shorten(text, 160)
}

// choices are the options of the tables that a form's references lead to; of those with
// too many there are some.
type choices struct {
	of   map[string][]option
	many map[string]bool
}

func (t *target) name() string { return t.table + "." + t.key }

// loadChoices reads what the references of a form may lead to, one query for each table.
func loadChoices(ctx context.Context, tx pgx.Tx, fields []*field) (c choices, err error) {
	c = choices{of: map[string][]option{}, many: map[string]bool{}}
	for _, f := range fields {
		if f.refers == nil {
			continue
		}
		name := f.refers.name()
		if _, known := c.of[name]; known {
			continue
		}
		if c.of[name], err = f.refers.options(ctx, tx, "true", mostOptions+1); err != nil {
			return c, err
		}
		if len(c.of[name]) > mostOptions {
			c.of[name], c.many[name] = c.of[name][:50], true
		}
		c.many[name] = c.many[name] || f.refers.blind
	}
	return c, nil
}

// options reads records with what people call them, as far as the visitor may see them.
// The condition is on t, and its values are $3 and after.
func (t *target) options(ctx context.Context, tx pgx.Tx, condition string, most int, args ...any) ([]option, error) {
	var columns []string
	var keyed bool
	rows, err := tx.Query(ctx, `
		SELECT a.attname FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid AND c.relnamespace = 'public'::regnamespace
		WHERE c.relname = $1 AND a.attnum > 0 AND NOT a.attisdropped AND a.attname = ANY ($2::text[] || $3::text[] || ARRAY['id', 'name', 'tags', 'region', $4])
		  AND has_column_privilege(a.attrelid, a.attnum, 'SELECT')`, t.table, t.names, t.identity, t.key)
	if err != nil {
		return nil, err
	}
	var region, id = "NULL", "NULL"
	var column string
	if _, err := pgx.ForEachRow(rows, []any{&column}, func() error {
		columns = append(columns, "s."+ident(column))
		switch column {
		case "region":
			region = "t.region"
		case "id":
			id = "t.id"
		}
		keyed = keyed || column == t.key
		return nil
	}); err != nil {
		return nil, err
	}
	if t.blind = !keyed; t.blind {
		return nil, nil
	}
	key := "t." + ident(t.key)
	rows, err = tx.Query(ctx, fmt.Sprintf(`
		SELECT o.* FROM (
			SELECT %[1]s::text, coalesce(left(iasql_internal.label(to_jsonb(t), $1::text[], $2::text[]), 200), '') AS label, %[2]s::text AS region, %[3]s::bigint
			FROM (SELECT %[4]s FROM %[5]s s) t WHERE %[1]s IS NOT NULL AND %[6]s LIMIT %[7]d) o
		ORDER BY o.label = '', o.label, 1`, key, region, id, strings.Join(columns, ", "), table(t.table), condition, most),
		append([]any{pgx.QueryExecModeExec, t.names, t.identity}, args...)...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (option, error) {
		var o option
		return o, row.Scan(&o.value, &o.label, &o.region, &o.id)
	})
}

// found are the options that a text finds: by the value itself, else by the search.
func (t *target) found(ctx context.Context, tx pgx.Tx, text string) ([]option, error) {
	if text = strings.TrimSpace(text); text == "" {
		return t.options(ctx, tx, "true", 50)
	}
	exact, err := t.called(ctx, tx, []string{text})
	if err != nil || len(exact) > 0 {
		return exact, err
	}
	if len(text) < 2 {
		return nil, nil
	}
	rows, err := tx.Query(ctx, `SELECT s.record_id FROM public.iasql_search($1, 200) s WHERE s.kind = 'record' AND s.table_name = $2 LIMIT 50`, text, t.table)
	if err != nil {
		return nil, err
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	return t.options(ctx, tx, "t.id = ANY ($3::bigint[])", 50, ids)
}

// called returns what the records are called that inputs name, by their values.
func (t *target) called(ctx context.Context, tx pgx.Tx, values []string) ([]option, error) {
	key := "t." + ident(t.key)
	switch t.kind { // so that an index of the key is used
	case "bigint":
		var ids []int64
		for _, value := range values {
			if id, err := strconv.ParseInt(value, 10, 64); err == nil {
				ids = append(ids, id)
			}
		}
		return t.options(ctx, tx, key+" = ANY ($3::bigint[])", len(values), ids)
	case "text":
		return t.options(ctx, tx, key+" = ANY ($3::text[])", len(values), values)
	}
	return t.options(ctx, tx, key+"::text = ANY ($3::text[])", len(values), values)
}

// settle makes the value of a reference of what somebody has typed: the value itself, or
// what people call the record, if that is one only.
func (t *target) settle(ctx context.Context, tx pgx.Tx, text string) (string, error) {
	if text = strings.TrimSpace(text); text == "" {
		return "", nil
	}
	found, err := t.found(ctx, tx, text)
	if err != nil || t.blind {
		return text, err
	}
	var called []option
	for _, o := range found {
		if o.value == text {
			return text, nil
		}
		if strings.EqualFold(o.label, text) {
			called = append(called, o)
		}
	}
	if len(called) == 0 && len(found) == 1 {
		called = found
	}
	switch {
	case len(called) == 1:
		return called[0].value, nil
	case len(found) == 0:
		return text, fault(fmt.Sprintf("No record of %s is called %q, or you may not see it.", t.table,
			shorten(text, 100)))
	}
	var list []string
	for _, o := range found[:min(len(found), 5)] {
		list = append(list, o.text(t.key))
	}
	return text, fault(fmt.Sprintf("%d records of %s are found by %q: %s. Type the %s of one.", len(found), t.table,
		shorten(text, 100), strings.Join(list, "; "), t.key))
}

// pick answers an input that searches for records to refer to.
func (c *Console) pick(v *visit) {
	var options []option
	key := "id"
	column := v.r.PathValue("column")
	err := v.session.read(v.ctx(), func(tx pgx.Tx) error {
		t, err := loadForm(v.ctx(), tx, v.r.PathValue("table"))
		if err != nil {
			return err
		}
		f := t.field(column)
		if f == nil || f.refers == nil {
			return errNotThere("Column " + shorten(column, 63) + " of " + t.name + " refers to no record.")
		}
		key = f.refers.key
		options, err = f.refers.found(v.ctx(), tx, shorten(v.r.FormValue("v."+column), mostQuery))
		return err
	})
	if err != nil {
		v.failed(err)
		return
	}
	writePage(v.w, http.StatusOK, g.Map(options, func(o option) g.Node {
		return h.Option(h.Value(o.value), g.Text(o.text(key)))
	}))
}
