package recorded

import (
	"context"
	"fmt"
	"hash/fnv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"iasql/internal/aws"
	"iasql/internal/modules"
	"iasql/internal/modules/all"
	"iasql/internal/platform"
	"iasql/internal/postgres"
	"iasql/internal/test/testdb"
)

func TestMain(m *testing.M) { testdb.Main(m, install) }

// install makes the tables of all modules, without their foreign keys.
func install(ctx context.Context, url string) error {
	registry, err := modules.NewRegistry(all.Modules(aws.New(aws.Options{}))...)
	if err != nil {
		return err
	}
	if err := platform.Migrate(ctx, url, registry, "test"); err != nil {
		return err
	}
	pool, err := postgres.ConnectEngine(ctx, url, "recorded", 2)
	if err != nil {
		return err
	}
	defer pool.Close()
	var names []string
	for _, m := range registry.Modules() {
		names = append(names, m.Name)
	}
	if _, err := platform.Install(ctx, pool, registry, names); err != nil {
		return err
	}
	_, err = pool.Exec(ctx, `
		DO $$
		DECLARE k record;
		BEGIN
			FOR k IN SELECT conrelid::regclass AS relation, conname FROM pg_constraint WHERE contype = 'f' AND connamespace = 'public'::regnamespace LOOP
				EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I', k.relation, k.conname);
			END LOOP;
		END
		$$`)
	return err
}

// insert inserts rows into a table, as the engine, and takes them back. It returns
// an error if a constraint refuses one, or if the database gives back another value
// than it was given: the engine would take that for a change.
func insert(ctx context.Context, pool *pgxpool.Pool, t *modules.Table, rows []modules.Row) error {
	tx, err := pool.Begin(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback(ctx) }()
	for _, row := range rows {
		columns, given, sql := statement(t, inScope(t, row))
		args, stored, into := make([]any, len(given)), make([]*string, len(given)), make([]any, len(given))
		for i := range given {
			args[i], into[i] = given[i].Ptr(), &stored[i]
		}
		if err := tx.QueryRow(ctx, sql, args...).Scan(into...); err != nil {
			return fmt.Errorf("%w: %v", err, row)
		}
		for i, c := range columns {
			if err := kept(c, given[i], stored[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// kept checks that a column holds what it was given.
func kept(c *modules.Column, given modules.Value, stored *string) error {
	is := modules.Null
	if stored != nil {
		canonical, err := c.Type.Canonical(*stored)
		if err != nil {
			return err
		}
		is = modules.Text(canonical)
	}
	if is != given {
		return fmt.Errorf("column %s was given %q and holds %q", c.Name, given, is)
	}
	return nil
}

// inScope fills in account and region, as the engine does.
func inScope(t *modules.Table, row modules.Row) modules.Row {
	row = row.Clone()
	for name, value := range map[string]string{modules.ColumnAccount: "default", modules.ColumnRegion: region} {
		if t.Column(name) != nil && row[name].IsNull() {
			row[name] = modules.Text(value)
		}
	}
	return row
}

// statement is the INSERT of a row, which returns what was stored. What a row refers
// to by its id has any id, the same wherever it is referred to.
func statement(t *modules.Table, row modules.Row) (columns []*modules.Column, given []modules.Value, sql string) {
	var names, values, stored []string
	for i := range t.Columns {
		c := &t.Columns[i]
		v, ok := row[c.Name]
		if !ok {
			continue
		}
		if c.References != nil && !c.References.ByKey && !v.IsNull() {
			id := fnv.New32()
			_, _ = id.Write([]byte(v.String())) // a hash never fails
			v = modules.Int(int64(id.Sum32()))
		}
		columns, given = append(columns, c), append(given, v)
		name := pgx.Identifier{c.Name}.Sanitize()
		value, text := fmt.Sprintf("$%d::text::%s", len(given), c.Type), name+"::text"
		if c.Type == modules.TypeTexts {
			value = fmt.Sprintf("CASE WHEN $%d::text IS NOT NULL THEN ARRAY(SELECT "+
				"jsonb_array_elements_text($%[1]d::text::jsonb)) END", len(given))
			text = "to_jsonb(" + name + ")::text"
		}
		names, values, stored = append(names, name), append(values, value), append(stored, text)
	}
	return columns, given, fmt.Sprintf("INSERT INTO public.%s (%s) VALUES (%s) RETURNING %s",
		pgx.Identifier{t.Name}.Sanitize(), strings.Join(names, ", "), strings.Join(values, ", "),
		strings.Join(stored, ", "))
}

// wellFormed says what is wrong with the form of a row: a column that is not
// described, or is missing and not known to be unknown, or a value that is not in
// its canonical form.
func wellFormed(t *modules.Table, row modules.Row) error {
	for name := range row {
		if t.Column(name) == nil {
			return fmt.Errorf("column %s is not described", name)
		}
	}
	for i := range t.Columns {
		c := &t.Columns[i]
		v, ok := row[c.Name]
		scope := c.Name == modules.ColumnAccount || c.Name == modules.ColumnRegion
		if !ok && !c.Local && !c.WriteOnly && !scope && !untold(t, c.Name, row) {
			return fmt.Errorf("column %s is unknown", c.Name)
		}
		if v.IsNull() || c.References != nil && !c.References.ByKey {
			continue
		}
		if canonical, err := c.Type.Canonical(v.String()); err != nil || canonical != v.String() {
			return fmt.Errorf("column %s: %q is not canonical: %q, %v", c.Name, v, canonical, err)
		}
	}
	return nil
}

// unknown are columns that a reader leaves out of a row: what AWS has not said.
var unknown = map[string]string{
	"bucket.created_at": "only listings tell",
}

// untold reports whether a column may be missing from a row. An object that is
// being made, or that is on its way out, is not told completely.
func untold(t *modules.Table, column string, row modules.Row) bool {
	if unknown[t.Name+"."+column] != "" {
		return true
	}
	for _, state := range []string{"status", "state", "key_state", "stream_status"} {
		switch strings.ToUpper(row[state].String()) {
		case "CREATING", "PENDING", "DELETING":
			return true
		}
	}
	return false
}
