package all

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"iasql/internal/aws"
	"iasql/internal/hosts"
	"iasql/internal/modules"
	"iasql/internal/test/testdb"
)

func TestMain(m *testing.M) {
	testdb.Main(m, func(ctx context.Context, url string) error {
		registry, err := modules.NewRegistry(every()...)
		if err != nil {
			return err
		}
		return testdb.TablesAlone(ctx, url, registry)
	})
}

// every returns the modules of every world.
func every() []*modules.Module {
	return append(Modules(aws.New(aws.Options{})), Hosts(hosts.New(hosts.Options{}))...)
}

// odd are values of each type among which there is one that breaks any rule.
var odd = map[string][]string{
	"text": {"NULL", "''", "' '", "E'an odd\\nvalue, %$/*'", "repeat('x', 17000)", "'arn:aws:kms:eu-west-1:1:alias/x'",
		"'odd.fifo'", "'iasql:x'", "'aws/odd'", "'lambda'", "'HTTP'", "'ipv6'",
		"'0.0.0.0/0'", "'CUSTOMER_MANAGED_KMS'", "'PROVISIONED'", "'network'", "'OFF'", "'FIXED'", "'redis'",
		"'memcached'", "repeat('x', 300000)"},
	"integer": {"NULL", "-99", "2000000000", "0", "1", "7"}, "bigint": {"NULL", "-99", "9000000000000000000", "0", "1"},
	"double precision": {"NULL", "'NaN'", "-1e300", "1e300", "0"},
	"numeric":          {"NULL", "-99", "1e30", "0"}, "boolean": {"NULL", "true", "false"},
	"jsonb": {"NULL", `'"odd"'`, `'1'`, `'[]'`, `'{}'`, `'{"aws:odd": "1", "iasql:odd": "1"}'`, `'{"odd": 1}'`,
		`'[1]'`, `'null'`},
	"text[]":   {"NULL", "'{NULL}'", "'{{a,b},{c,d}}'", "'{}'", "array_fill('x'::text, '{300}')", "'{\"\"}'"},
	"bigint[]": {"NULL", "'{NULL}'", "'{{1,2},{3,4}}'", "'{}'", "'{1}'"},
	"cidr":     {"NULL", "'::/0'", "'1.2.3.4/32'", "'10.0.0.0/8'", "'0.0.0.0/0'"},
	"inet":     {"NULL", "'::1'", "'1.2.3.4'"}, "timestamptz": {"NULL", "'infinity'", "'-infinity'", "'1999-01-01'"},
	"date": {"NULL"}, "bytea": {"NULL", "'\\x00'", "decode(repeat('00', 300000), 'hex')"},
}

// What is pulled always fits, whatever it is (R34): of every rule for the values of every table, the engine
// can break it, a user cannot, and a user can change whatever else there is in the row.
func TestOddValuesFit(t *testing.T) {
	t.Parallel()
	registry, err := modules.NewRegistry(every()...)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), testdb.New(t))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	tried := 0
	for _, m := range registry.Modules() {
		for _, r := range m.Resources {
			tried += oddValuesOf(t, conn, r.Table())
		}
	}
	if tried < 650 {
		t.Errorf("only %d rules were tried", tried)
	}
}

type rule struct {
	Name, Condition, Hint string
	Columns               []string
	Null                  bool `db:"of_null"`
}

func oddValuesOf(t *testing.T, conn *pgx.Conn, table *modules.Table) (tried int) {
	ctx := t.Context()
	exec(t, conn, fmt.Sprintf(`ALTER TABLE %s ADD own_note text`, table.Name))
	exec(t, conn, fmt.Sprintf(`DO $$ DECLARE k record; BEGIN
		FOR k IN SELECT conname FROM pg_constraint WHERE contype = 'f' AND conrelid = '%[1]s'::regclass LOOP EXECUTE format('ALTER TABLE %[1]s DROP CONSTRAINT %%I', k.conname); END LOOP;
		FOR k IN SELECT tgname FROM pg_trigger WHERE tgrelid = '%[1]s'::regclass AND NOT tgisinternal AND tgname NOT LIKE 'iasql_allow%%' LOOP EXECUTE format('DROP TRIGGER %%I ON %[1]s', k.tgname); END LOOP;
	END $$`, table.Name))
	rows, err := conn.Query(ctx, `SELECT name, columns, condition, hint, of_null FROM iasql_internal.value_rule WHERE table_name = $1 ORDER BY name`, table.Name)
	if err != nil {
		t.Fatal(err)
	}
	rules, err := pgx.CollectRows(rows, pgx.RowToStructByName[rule])
	if err != nil {
		t.Fatal(err)
	}
	for i := range table.Columns {
		c := &table.Columns[i]
		bound := false
		for _, r := range rules {
			bound = bound || contains(r.Columns, c.Name)
		}
		if (c.Check != "" || len(c.Enum) > 0) && !bound && !c.Computed && !c.WriteOnly {
			t.Errorf("%s.%s: what users may write is checked by no rule", table.Name, c.Name)
		}
	}
	for _, r := range rules {
		tried++
		if err := breakRule(ctx, conn, table, r); err != nil {
			t.Errorf("%s: rule %s (%s): %v", table.Name, r.Name, r.Condition, err)
		}
	}
	return tried
}

// breakRule breaks the rule as the engine, and as a user.
func breakRule(ctx context.Context, conn *pgx.Conn, table *modules.Table, r rule) error {
	var from, columns []string
	for _, name := range r.Columns {
		c := table.Column(name)
		values := odd[string(c.Type)]
		if c.Identity {
			values = values[1:] // NULL is no identity
		}
		for _, e := range c.Enum {
			values = append(values[:len(values):len(values)], "'"+e+"'")
		}
		if len(r.Columns) > 2 && len(c.Enum) == 0 && c.Type == modules.TypeText { // all together would take for ever
			values = values[:4]
		}
		if len(r.Columns) > 6 {
			values = append([]string{"NULL"}, values[len(values)-1])
		}
		if values == nil {
			return fmt.Errorf("no values of type %s", c.Type)
		}
		from = append(from, fmt.Sprintf(`(SELECT v::%s AS "%s" FROM unnest(ARRAY[%s]%s) v) AS "of_%s"`, c.Type, name,
			each(values, c.Type), "", name))
		columns = append(columns, `"`+name+`"`)
	}
	list := strings.Join(columns, ", ")
	broken := fmt.Sprintf(`SELECT %s FROM %s WHERE (%s) IS FALSE LIMIT 1`, list, strings.Join(from, ", "), r.Condition)
	names, values := []string{}, []string{}
	for i := range table.Columns {
		c := &table.Columns[i]
		if (c.Identity || c.Name == modules.ColumnAccount || c.Name == modules.ColumnRegion || c.Required &&
			c.References != nil) && !contains(r.Columns, c.Name) {
			names, values = append(names, `"`+c.Name+`"`), append(values, identity[c.Type])
		}
	}
	insert := fmt.Sprintf(`INSERT INTO %s (%s) SELECT %s FROM (%s) b`, table.Name,
		strings.Join(append(names, list), ", "), strings.Join(append(values, list), ", "), broken)
	tx, err := conn.Begin(ctx)
	if err != nil {
		return err
	}
	defer tx.Rollback(context.WithoutCancel(ctx))
	as := func(origin, statement string) (int64, error) {
		if _, err := tx.Exec(ctx, `SELECT set_config('iasql.origin', $1, true)`, origin); err != nil {
			return 0, err
		}
		if _, err := tx.Exec(ctx, `SAVEPOINT s`); err != nil {
			return 0, err
		}
		tag, err := tx.Exec(ctx, statement)
		if err != nil {
			_, failure := tx.Exec(ctx, `ROLLBACK TO s`)
			return 0, errors.Join(err, failure)
		}
		return tag.RowsAffected(), nil
	}
	if err := refused(as("", insert)); err != nil {
		return fmt.Errorf("a user's INSERT: %w", err)
	}
	if n, err := as("engine", insert); err != nil || n != 1 {
		return fmt.Errorf("the engine's INSERT of %d: %w", n, err)
	}
	if n, err := as("", fmt.Sprintf(`UPDATE %s SET own_note = 'mine'`, table.Name)); err != nil || n != 1 {
		return fmt.Errorf("a user's edit of another column of %d: %w", n, err)
	}
	if n, err := as("", fmt.Sprintf(`UPDATE %s SET (%s) = ROW(%s)`, table.Name, list, list)); err != nil || n != 1 {
		return fmt.Errorf("a user's statement that leaves it as it is, of %d: %w", n, err)
	}
	if _, err := as("engine", fmt.Sprintf(`DELETE FROM %s`, table.Name)); err != nil {
		return err
	}
	return nil
}

var identity = map[modules.Type]string{"text": "'known'", "bigint": "1", "integer": "1", "boolean": "true",
	"cidr": "'10.0.0.0/16'"}

func each(values []string, kind modules.Type) string {
	if kind != modules.TypeTexts && kind != modules.TypeIDs {
		return strings.Join(casts(values, string(kind)), ", ")
	}
	return strings.Join(casts(casts(values, string(kind)), "text"), ", ") // an array of arrays is one of two dimensions
}

func casts(values []string, to string) []string {
	list := make([]string, len(values))
	for i, v := range values {
		list[i] = v + "::" + to
	}
	return list
}

func contains(list []string, name string) bool {
	for _, s := range list {
		if s == name {
			return true
		}
	}
	return false
}

// refused fails unless a user was refused in words.
func refused(_ int64, err error) error {
	var pg *pgconn.PgError
	switch {
	case err == nil:
		return errors.New("was accepted")
	case !errors.As(err, &pg):
		return err
	case pg.Code != "23514" && pg.Code != "23502", pg.Hint == "", pg.TableName == "":
		return fmt.Errorf("was refused by %w (HINT: %s)", err, pg.Hint)
	}
	return nil
}

func exec(t *testing.T, conn *pgx.Conn, statement string) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}
