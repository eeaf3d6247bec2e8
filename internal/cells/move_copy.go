package cells

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
)

// managedTable is a managed table of a cell.
type managedTable struct {
	Name    string
	Owner   string   // the column that says whose account a record is; empty: it belongs to none
	Numbers []string // the columns that hold ids of records
	Lists   []string // those of them that hold many
}

func (t managedTable) qualified() string { return "public." + ident(t.Name) }

// where is the condition for the records of the account.
func (t managedTable) where() string {
	if t.Owner == "" {
		return "false"
	}
	return "t." + ident(t.Owner) + " = {account}"
}

// definesAccounts tells whether the table's records are accounts.
func (t managedTable) definesAccounts() bool { return t.Owner == "name" }

// numbering says what the account and its numbers become.
type numbering struct {
	account, as string
	by          int64
	xmin        string // transactions before this one have ended in the target
}

func (n numbering) bind(expression string) string {
	return strings.NewReplacer("{account}", literal(n.account), "{as}", literal(n.as), "{by}",
		strconv.FormatInt(n.by, 10)+"::bigint", "{xmin}", literal(n.xmin)).Replace(expression)
}

// managedTables returns the managed tables of the cell.
func (e *end) managedTables(ctx context.Context, tx pgx.Tx) ([]managedTable, error) {
	rows, _ := tx.Query(ctx, `
		SELECT m.name, coalesce((SELECT CASE WHEN bool_or(a.attname = 'account') THEN 'account' END FROM pg_attribute a
				WHERE a.attrelid = c.oid AND NOT a.attisdropped),
			(SELECT 'name' FROM pg_trigger g JOIN pg_proc p ON p.oid = g.tgfoid WHERE g.tgrelid = c.oid
				AND p.proname = 'account_changed' AND p.pronamespace = 'iasql_internal'::regnamespace LIMIT 1), ''),
			iasql_internal.numbered(m.name), ARRAY(SELECT l."column" FROM iasql_internal.lists_in(m.name) l)
		FROM iasql_internal.managed_table m JOIN pg_class c ON c.relname = m.name
			AND c.relnamespace = 'public'::regnamespace ORDER BY m.name`)
	return pgx.CollectRows(rows, pgx.RowToStructByPos[managedTable])
}

// gather notes, in temporary tables that go with the transaction, which records, batches and keys are the account's,
// and returns the managed tables. With alone, batches that concern other accounts, too, are left out.
func (e *end) gather(ctx context.Context, tx pgx.Tx, alone bool) ([]managedTable, error) {
	tables, err := e.managedTables(ctx, tx)
	if err != nil {
		return nil, err
	}
	names := numbering{account: e.account}
	if _, err := tx.Exec(ctx, names.bind(`
		CREATE TEMP TABLE moved_table ON COMMIT DROP AS
			SELECT m.name, m.identity, iasql_internal.numbered(m.name) AS numbers FROM iasql_internal.managed_table m;
		CREATE TEMP TABLE moved_record (table_name text, record_id bigint, PRIMARY KEY (table_name, record_id)) ON COMMIT DROP;
		CREATE TEMP TABLE moved_key (table_name text, key text) ON COMMIT DROP;
		INSERT INTO pg_temp.moved_record SELECT DISTINCT l.table_name, l.record_id FROM public.iasql_audit_log l
			WHERE l.account = {account} AND l.record_id IS NOT NULL;
		CREATE TEMP TABLE moved_batch ON COMMIT DROP AS
			SELECT b.id FROM iasql_internal.batch b WHERE b.closed_at IS NOT NULL AND b.id IN (
				SELECT l.transaction_id FROM public.iasql_audit_log l WHERE l.account = {account}
				UNION SELECT o.transaction_id FROM public.iasql_operations o WHERE o.account = {account});
		ANALYZE pg_temp.moved_batch`)); err != nil {
		return nil, err
	}
	if alone {
		if _, err := tx.Exec(ctx, names.bind(`DELETE FROM pg_temp.moved_batch b
			WHERE EXISTS (SELECT FROM public.iasql_audit_log l WHERE l.transaction_id = b.id AND l.account <> {account})
			OR EXISTS (SELECT FROM public.iasql_operations o WHERE o.transaction_id = b.id AND o.account <> {account})
			OR EXISTS (SELECT FROM iasql_internal.declaration d WHERE d.batch = b.id)`)); err != nil {
			return nil, err
		}
	}
	for _, t := range tables {
		if t.Owner == "" {
			continue
		}
		if _, err := tx.Exec(ctx, names.bind(fmt.Sprintf(`INSERT INTO pg_temp.moved_record SELECT %[1]s, t.id FROM %[2]s t
			WHERE %[3]s ON CONFLICT DO NOTHING`, literal(t.Name), t.qualified(), t.where()))); err != nil {
			return nil, err
		}
	}
	adopted, _ := tx.Query(ctx, `SELECT DISTINCT table_name FROM iasql_internal.adopted`)
	with, err := pgx.CollectRows(adopted, pgx.RowTo[string])
	if err != nil {
		return nil, err
	}
	for _, t := range tables {
		if t.Owner == "" || !slices.Contains(with, t.Name) {
			continue
		}
		if _, err := tx.Exec(ctx, names.bind(fmt.Sprintf(`INSERT INTO pg_temp.moved_key
			SELECT m.name, iasql_internal.key(to_jsonb(t), m.identity) FROM %s t, iasql_internal.managed_table m
			WHERE m.name = %s AND %s`, t.qualified(), literal(t.Name), t.where()))); err != nil {
			return nil, err
		}
	}
	_, err = tx.Exec(ctx, `ANALYZE pg_temp.moved_record, pg_temp.moved_key`)
	return tables, err
}

// count counts the account's rows by table.
func (e *end) count(ctx context.Context, tx pgx.Tx) ([]MovedTable, error) {
	tables, err := e.gather(ctx, tx, false)
	if err != nil {
		return nil, e.explain(err)
	}
	counted := []MovedTable{}
	add := func(name, qualified, where string) error {
		c := MovedTable{Table: name}
		err := tx.QueryRow(ctx, numbering{account: e.account}.bind(`SELECT count(*) FROM `+qualified+` t WHERE `+where)).Scan(&c.Rows)
		if err == nil && c.Rows > 0 {
			counted = append(counted, c)
		}
		return err
	}
	for _, t := range tables {
		if err := add(t.Name, t.qualified(), t.where()); err != nil {
			return nil, e.explain(err)
		}
	}
	others, err := e.platformTables(ctx, tx)
	if err != nil {
		return nil, e.explain(err)
	}
	for _, t := range others {
		if err := add(t.name, t.name, t.where); err != nil {
			return nil, e.explain(err)
		}
	}
	return counted, nil
}

// copier copies an account in one transaction of the target.
type copier struct {
	*mover
	from, to pgx.Tx
	names    numbering
	copied   []MovedTable
}

// copy copies the account, and holds it in the target, both or neither. The source's snapshot is one.
func (m *mover) copy(ctx context.Context) (copied []MovedTable, raised int64, err error) {
	err = m.source.within(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead}, func(from pgx.Tx) error {
		return m.target.within(ctx, pgx.TxOptions{}, func(to pgx.Tx) error {
			c := &copier{mover: m, from: from, to: to, names: numbering{account: m.Account, as: m.As}}
			if err := c.copyAll(ctx); err != nil {
				return err
			}
			copied, raised = c.copied, c.names.by
			return nil
		})
	})
	if err != nil {
		return nil, 0, fmt.Errorf("copy account %s to cell %s: %w", m.Account, m.To, err)
	}
	return copied, raised, nil
}

func (c *copier) copyAll(ctx context.Context) error {
	tables, err := c.source.gather(ctx, c.from, false)
	if err != nil {
		return err
	}
	var names []string
	for _, t := range tables {
		names = append(names, t.Name)
	}
	// What users have attached to these tables does not run with the rights of who moves (R20).
	if _, err := c.to.Exec(ctx, `SELECT iasql_internal.refuse_untrusted($1)`, names); err != nil {
		return err
	}
	if err := c.to.QueryRow(ctx, `SELECT pg_snapshot_xmin(pg_current_snapshot())::text`).Scan(&c.names.xmin); err != nil {
		return err
	}
	if err := c.number(ctx, tables); err != nil {
		return err
	}
	for _, t := range tables {
		if err := c.copyManaged(ctx, t); err != nil {
			return fmt.Errorf("table %s: %w", t.Name, err)
		}
	}
	others, err := c.source.platformTables(ctx, c.from)
	if err != nil {
		return err
	}
	for _, t := range others {
		if err := c.copyPlatform(ctx, t); err != nil {
			return fmt.Errorf("table %s: %w", t.name, err)
		}
	}
	// Since when the log is whole holds for all accounts.
	var since string
	if err := c.from.QueryRow(ctx, `SELECT log_since::text FROM iasql_internal.pruning`).Scan(&since); err != nil {
		return err
	}
	if _, err := c.to.Exec(ctx, `UPDATE iasql_internal.pruning SET log_since = greatest(log_since, $1::text::timestamptz)`,
		since); err != nil {
		return err
	}
	// Last: while a row is there, the triggers refuse what is said of the account.
	_, err = c.to.Exec(ctx, `INSERT INTO iasql_internal.moving (account, move, cell, side) VALUES ($1, $2::uuid, $3, 'arriving')`,
		c.As, c.id, c.From)
	return err
}

// copyManaged copies the records of a managed table, and has the search find them.
func (c *copier) copyManaged(ctx context.Context, t managedTable) error {
	if t.Owner == "" {
		return nil
	}
	columns := map[string]string{t.Owner: `{as}`}
	for _, name := range t.Numbers {
		quoted := "t." + ident(name)
		columns[name] = quoted + ` + {by}`
		if slices.Contains(t.Lists, name) {
			columns[name] = `CASE WHEN cardinality(` + quoted + `) > 0 THEN
				ARRAY(SELECT n.id + {by} FROM unnest(` + quoted + `) WITH ORDINALITY n (id, place) ORDER BY n.place) ELSE ` + quoted + ` END`
		}
	}
	if t.definesAccounts() {
		// The target keeps its default account.
		columns["is_default"] = `false`
	}
	if err := c.stream(ctx, t.Name, t.qualified(), t.where(), columns, t.qualified()); err != nil {
		return err
	}
	_, err := c.to.Exec(ctx, numbering{account: c.As}.bind(`INSERT INTO iasql_internal.search_pending (table_name, record_id)
		SELECT `+literal(t.Name)+`, t.id FROM `+t.qualified()+` t WHERE `+t.where()+` ON CONFLICT DO NOTHING`))
	return err
}

// copyPlatform copies the account's rows of a table of the platform.
func (c *copier) copyPlatform(ctx context.Context, t movedTable) error {
	columns := map[string]string{"account": `{as}`}
	for name, expression := range t.columns {
		columns[name] = expression
	}
	if !t.triggers && !t.shared {
		return c.stream(ctx, t.name, t.name, t.where, columns, t.name)
	}
	// By way of a table of this session: the rows are written in one statement, after all have been read.
	if _, err := c.to.Exec(ctx, `CREATE TEMP TABLE arriving ON COMMIT DROP AS SELECT * FROM `+t.name+` WHERE false`); err != nil {
		return err
	}
	if err := c.stream(ctx, t.name, t.name, t.where, columns, "pg_temp.arriving"); err != nil {
		return err
	}
	ending := ""
	if t.shared {
		ending = ` ON CONFLICT DO NOTHING`
	}
	_, err := c.to.Exec(ctx, `SET LOCAL session_replication_role = origin;
		INSERT INTO `+t.name+` OVERRIDING SYSTEM VALUE SELECT * FROM pg_temp.arriving`+ending+`; DROP TABLE pg_temp.arriving`)
	return err
}

// stream copies rows from the source to a table of the target. Triggers do not fire: what they would do has been done
// in the source. Foreign keys are not looked at: what is referred to comes along, or the account would not move.
func (c *copier) stream(ctx context.Context, name, table, where string, columns map[string]string, into string) error {
	rows, _ := c.from.Query(ctx, `SELECT a.attname::text FROM pg_attribute a WHERE a.attrelid = $1::regclass AND a.attnum > 0
		AND NOT a.attisdropped AND a.attgenerated = '' ORDER BY a.attnum`, table)
	have, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	var names, expressions []string
	for _, column := range have {
		quoted := ident(column)
		expression, changed := columns[column]
		if !changed {
			expression = "t." + quoted
		}
		names, expressions = append(names, quoted), append(expressions, expression)
	}
	if _, err := c.to.Exec(ctx, `SET LOCAL session_replication_role = replica`); err != nil {
		return err
	}
	from := c.names.bind(fmt.Sprintf(`COPY (SELECT %s FROM %s t WHERE %s) TO STDOUT`, strings.Join(expressions, ", "), table, where))
	to := fmt.Sprintf(`COPY %s (%s) FROM STDIN`, into, strings.Join(names, ", "))
	reader, writer := io.Pipe()
	sent := make(chan error, 1)
	go func() {
		_, err := c.from.Conn().PgConn().CopyTo(ctx, writer, from)
		writer.CloseWithError(err)
		sent <- err
	}()
	tag, err := c.to.Conn().PgConn().CopyFrom(ctx, reader, to)
	reader.CloseWithError(err)
	// An error of the target ends the reading, too, which then says only that.
	if failed := <-sent; failed != nil && err == nil {
		err = failed
	}
	if err == nil && tag.RowsAffected() > 0 {
		c.copied = append(c.copied, MovedTable{name, tag.RowsAffected()})
	}
	return err
}

// counter is a sequence of numbers that the account has some of.
type counter struct {
	table, column string
	low, high     int64 // the account's lowest number in the source, and the highest that was ever given there
}

// raisedBy is what numbers are raised by a multiple of, so that one still sees the old number in the new.
const raisedBy = 1_000_000

// number decides by how much numbers are raised, the least that takes them beyond all that the target has given, and
// has the target give higher ones from now on. (No transaction takes that back, which does no harm.)
func (c *copier) number(ctx context.Context, tables []managedTable) error {
	counters, err := c.counters(ctx, tables)
	if err != nil {
		return err
	}
	there := make([]int64, len(counters))
	for i, n := range counters {
		if err := c.to.QueryRow(ctx, fmt.Sprintf(`SELECT greatest((SELECT max(%s) FROM %s), pg_sequence_last_value(s::regclass), 0)
			FROM pg_get_serial_sequence(%s, %s) s`, n.column, n.table, literal(n.table), literal(n.column)),
		).Scan(&there[i]); err != nil {
			return fmt.Errorf("%s: %w", n.table, err)
		}
		c.names.by = max(c.names.by, there[i]+1-n.low)
	}
	c.names.by = (c.names.by + raisedBy - 1) / raisedBy * raisedBy
	for i, n := range counters {
		if last := n.high + c.names.by; last > there[i] {
			if _, err := c.to.Exec(ctx, fmt.Sprintf(`SELECT setval(pg_get_serial_sequence(%s, %s), %d)`, literal(n.table),
				literal(n.column), last)); err != nil {
				return fmt.Errorf("%s: %w", n.table, err)
			}
		}
	}
	return nil
}

// counters returns the sequences that the account has numbers of.
func (c *copier) counters(ctx context.Context, tables []managedTable) ([]counter, error) {
	var list []counter
	add := func(table, column, low string) error {
		var lowest *int64
		n := counter{table: table, column: column}
		err := c.from.QueryRow(ctx, c.names.bind(fmt.Sprintf(`SELECT (%s), greatest((SELECT max(%s) FROM %s),
			pg_sequence_last_value(s::regclass), 0) FROM pg_get_serial_sequence(%s, %s) s`, low, column, table, literal(table),
			literal(column)))).Scan(&lowest, &n.high)
		if err != nil {
			return fmt.Errorf("%s: %w", table, err)
		}
		if lowest != nil {
			n.low = *lowest
			list = append(list, n)
		}
		return nil
	}
	for _, t := range tables {
		if t.Owner == "" {
			continue
		}
		low := `SELECT min(r.record_id) FROM pg_temp.moved_record r WHERE r.table_name = ` + literal(t.Name)
		if err := add(t.qualified(), "id", low); err != nil {
			return nil, err
		}
	}
	for _, t := range movedTables {
		if t.number == "" {
			continue
		}
		if err := add(t.name, t.number, fmt.Sprintf(`SELECT min(t.%s) FROM %s t WHERE %s`, t.number, t.name,
			t.where)); err != nil {
			return nil, err
		}
	}
	return list, nil
}
