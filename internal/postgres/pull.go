package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"iasql/internal/decide"
	"iasql/internal/modules"
	"iasql/internal/store"
)

// pullLockWait is how long a pull waits for what somebody's open transaction
// holds.
const pullLockWait = 2 * time.Second

// pullChunk bounds the records one transaction writes.
const pullChunk = 1000

// Pull implements [store.Store]. Pulls of one table and action that follow
// each other are written by one statement; if that fails on a constraint of
// the user's, it is halved until the record at fault is found (R8).
func (d *Database) Pull(ctx context.Context, lease store.Lease, pulls []store.Pull) ([]store.PullResult, error) {
	results := make([]store.PullResult, len(pulls))
	for from := 0; from < len(pulls); {
		to := from + 1
		for to < len(pulls) && to-from < pullChunk && pulls[to].Subject.Table == pulls[from].Subject.Table &&
			pulls[to].Action == pulls[from].Action {
			to++
		}
		if err := d.pullGroup(ctx, lease, pulls[from:to], results[from:to]); err != nil {
			return nil, err
		}
		from = to
	}
	return results, nil
}

// pullGroup writes pulls of one table and action in one transaction.
func (d *Database) pullGroup(ctx context.Context, lease store.Lease, pulls []store.Pull,
	results []store.PullResult) error {
	t := pulls[0].Subject.Table
	// References among the rows of one statement are checked at its end, and nobody's
	// open transaction holds the cycle up for long.
	first := func(batch *pgx.Batch) {
		holdRules(batch, lease)
		batch.Queue(fmt.Sprintf(`SET LOCAL lock_timeout = %d`, cmp.Or(d.lockWait, pullLockWait).Milliseconds()))
		batch.Queue(`SET CONSTRAINTS ALL DEFERRED`)
		if lease.Events {
			batch.Queue(markAudit)
		}
	}
	err := d.fencedAfter(ctx, lease, []string{t.Name}, holdAccount(t, pulls[0].Action, lease.Account), first,
		func(tx pgx.Tx) error {
			if err := d.writePulls(ctx, tx, pulls, results); err != nil {
				return err
			}
			batch := &pgx.Batch{}
			batch.Queue(`SET CONSTRAINTS ALL IMMEDIATE`)
			queueAttribution(batch, lease, pulls)
			settlements := settlementsOf(pulls, results)
			if err := d.queueSettlements(batch, settlements); err != nil {
				return err
			}
			queueConflictActors(batch, lease, settlements)
			holdRules(batch, lease)
			return fenceError(tx.SendBatch(ctx, batch).Close())
		})
	switch {
	case err == nil:
		return nil
	case refusesCode(err):
		refused := d.refusal(t, err)
		for i := range pulls {
			results[i] = store.PullResult{Err: refused}
		}
		return nil
	case !blamesRow(err) && !lockTimedOut(err):
		return err
	case len(pulls) > 1 && lockTimedOut(err) && d.lockedNow(ctx, t): // each of them would wait as long
		clear(results)
	case len(pulls) > 1:
		half := len(pulls) / 2
		if err := d.pullGroup(ctx, lease, pulls[:half], results[:half]); err != nil {
			return err
		}
		return d.pullGroup(ctx, lease, pulls[half:], results[half:])
	case lockTimedOut(err):
		results[0] = store.PullResult{}
	default:
		results[0] = store.PullResult{Err: d.refusal(t, err)}
	}
	return nil
}

// holdAccount returns what locks the record of the account before the lease, as a
// user's deletion of it does: locked after the lease, by the foreign key of what is
// inserted, the two would wait for each other.
func holdAccount(t *modules.Table, action decide.Action, account string) func(*pgx.Batch) {
	return func(batch *pgx.Batch) {
		c := t.Column(modules.ColumnAccount)
		if action != decide.InsertRecord || c == nil || c.References == nil {
			return
		}
		batch.Queue(fmt.Sprintf(`SELECT FROM public.%s WHERE %s = $1 FOR KEY SHARE`,
			pgx.Identifier{c.References.Table}.Sanitize(), pgx.Identifier{c.References.Key}.Sanitize()), account)
	}
}

// writePulls writes the records of pulls of one table and action, and fills in
// what became of each.
func (d *Database) writePulls(ctx context.Context, tx pgx.Tx, pulls []store.Pull, results []store.PullResult) error {
	t, action := pulls[0].Subject.Table, pulls[0].Action
	triggers := func() ([]string, error) { return userTriggers(ctx, tx, t, action) }
	var became []written
	var err error
	switch action {
	case decide.InsertRecord:
		became, err = insertRecords(ctx, tx, pulls, triggers)
	case decide.UpdateRecord:
		became, err = updateRecords(ctx, tx, pulls, triggers)
	case decide.DeleteRecord:
		became, err = deleteRecords(ctx, tx, pulls)
	default:
		err = fmt.Errorf("%s is no pull", action)
	}
	if err != nil {
		return err
	}
	var missing error
	if slices.Contains(became, leftOut) {
		names, err := triggers()
		if err != nil {
			return err
		}
		missing = d.refusal(t, &triggerError{table: t.Name, triggers: names})
	}
	for i := range pulls {
		results[i] = store.PullResult{Applied: became[i] == applied}
		if became[i] == leftOut {
			results[i].Err = missing
		}
	}
	return nil
}

// settlementsOf returns what is to be settled with the pulls that were applied.
func settlementsOf(pulls []store.Pull, results []store.PullResult) (settlements []store.Settlement) {
	for i, p := range pulls {
		s := p.Subject
		if results[i].Applied && (p.Settle && (s.Change != nil || s.State != nil) || len(p.Conflicts) > 0) {
			settlements = append(settlements,
				store.Settlement{Subject: s, Settle: p.Settle, Conflicts: p.Conflicts, Forget: p.Settle})
		}
	}
	return settlements
}

// refusal says, for people, why the database refused a row and what they can do
// about it. That a record of another managed table still refers to one that is
// to go is for that table's next pull to change, not for people.
func (d *Database) refusal(t *modules.Table, err error) error {
	var trigger *triggerError
	if errors.As(err, &trigger) {
		return fmt.Errorf("%w: %s", err, trigger.remedy())
	}
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return err
	}
	var remedy string
	switch {
	case pg.Code == untrustedCode:
		return fmt.Errorf("%w: %s", err, pg.Hint)
	case pg.Code == pgerrcode.ForeignKeyViolation && pg.TableName != t.Name &&
		d.ownReference(pg.TableName, pg.ConstraintName):
		return &modules.Error{Class: modules.Dependency, Message: "a record of " + pg.TableName + " still refers to it",
			Err: err}
	case pg.Code == pgerrcode.ForeignKeyViolation && pg.TableName != t.Name:
		remedy = fmt.Sprintf("delete or change the rows of %s that refer to the record, or drop their constraint %s",
			pg.TableName, pg.ConstraintName)
	case pg.Code == pgerrcode.NotNullViolation:
		remedy = fmt.Sprintf("let column %s be NULL, or give the object a value for it", pg.ColumnName)
	case pg.ConstraintName != "":
		remedy = fmt.Sprintf("change the object, or drop constraint %s of table %s", pg.ConstraintName, pg.TableName)
	case pg.Where != "":
		remedy = fmt.Sprintf("change the trigger of table %s that refuses it (%s), or the object", t.Name,
			firstLine(pg.Where))
	case pg.Code[:2] == "54":
		remedy = fmt.Sprintf("drop the index of table %s that the value does not fit into, or change the object",
			t.Name)
	default:
		remedy = "change the table's constraints, triggers or indexes, or the object"
	}
	if pg.Hint != "" {
		remedy = strings.TrimSuffix(pg.Hint, ".") + "; or " + remedy
	}
	return fmt.Errorf("%w: %s", err, remedy)
}

// ownReference reports whether the constraint is a managed table's own.
func (d *Database) ownReference(table, constraint string) bool {
	t := d.Registry.Table(table)
	return t != nil && slices.ContainsFunc(referenceColumns(t), func(c *modules.Column) bool {
		return slices.Contains(t.ReferenceConstraints(c), constraint)
	})
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

// insertRecords inserts records for objects that have none. One whose identity
// a record has got meanwhile is skipped, as is one that a user has just
// deleted.
func insertRecords(ctx context.Context, tx pgx.Tx, pulls []store.Pull, triggers func() ([]string, error)) ([]written,
	error) {
	in := newInsertion(pulls)
	inserted, wanted, err := in.insert(ctx, tx)
	if err != nil {
		return nil, err
	}
	became := make([]written, len(pulls))
	stored := make(map[int64]modules.Row, len(inserted))
	for _, id := range inserted {
		if i, ok := wanted[id]; ok {
			became[i] = applied
			stored[id] = in.rows[i]
		}
	}
	list, err := triggers()
	if err != nil || len(list) == 0 {
		return became, err
	}
	t := in.shape.table
	if len(stored) < len(inserted) {
		return nil, &triggerError{table: t.Name, triggers: list, columns: []string{modules.ColumnID}}
	}
	if err := unchanged(ctx, tx, t, stored, func() ([]string, error) { return list, nil }); err != nil {
		return nil, err
	}
	// What is missing although nothing stands in its way was left out.
	found, err := tx.Query(ctx, fmt.Sprintf(`SELECT v.ord FROM %s WHERE %s AND NOT EXISTS (SELECT FROM %s t WHERE %s)`,
		in.from, in.free, in.shape.name, strings.Join(in.same, " AND ")), in.args...)
	if err != nil {
		return nil, err
	}
	absent, err := pgx.CollectRows(found, pgx.RowTo[int])
	for _, ord := range absent {
		became[ord-1] = leftOut
	}
	return became, err
}

// insertion has the parts of the statements that insert records of one table.
type insertion struct {
	shape           *shape
	rows            []modules.Row
	args            []any
	from            string   // the rows v, numbered by ord
	free            string   // tells the rows whose identity nobody's unsettled change has
	columns, values []string // what is inserted: the columns, and the expressions of v for them, named like them
	target          []string // the columns that are unique together
	same            []string // tells that record t has the identity of v
}

func newInsertion(pulls []store.Pull) insertion {
	t := pulls[0].Subject.Table
	in := insertion{shape: shapeOf(t), rows: make([]modules.Row, len(pulls))}
	keys := make([]string, len(pulls))
	ids := make([]int64, len(pulls)) // a record that TRACK brings back keeps its id
	own := map[int64]int64{}
	for i := range pulls {
		in.rows[i] = pulls[i].Row
		keys[i], _ = t.Key(in.rows[i])
		ids[i] = pulls[i].Subject.RecordID
		if c := pulls[i].Subject.Change; c != nil {
			for _, id := range c.AuditIDs {
				own[id] = id
			}
		}
	}
	in.args = []any{ids, keys, slices.AppendSeq(make([]int64, 0, len(own)), maps.Keys(own))} // none is not NULL
	in.columns, in.values = []string{"id"},
		[]string{fmt.Sprintf(`coalesce(nullif(v.id, 0), nextval((SELECT pg_get_serial_sequence(%s, 'id')::regclass))) AS id`, literal(in.shape.name))}
	var params, names []string
	exprs := map[string]string{}
	for i := range t.Columns {
		c := &t.Columns[i]
		// What is not known of an object is NULL, not what users get who say nothing.
		unknown := c.Default != "" && !c.Required && !c.Local && !c.WriteOnly
		if !unknown && !slices.ContainsFunc(in.rows, func(row modules.Row) bool { _, has := row[c.Name]; return has }) {
			continue
		}
		in.args = append(in.args, column(in.rows, c.Name))
		alias := "c" + strconv.Itoa(i)
		params, names = append(params, fmt.Sprintf("$%d::text[]", len(in.args))), append(names, alias)
		exprs[c.Name] = fromText("v."+alias, c)
		in.columns, in.values = append(in.columns, quote(c.Name)), append(in.values, exprs[c.Name]+" AS "+quote(c.Name))
	}
	scope := []string{modules.ColumnAccount}
	if t.Reach == modules.PerRegion {
		scope = append(scope, modules.ColumnRegion)
	}
	for _, name := range append(scope, t.Identity()...) {
		in.target = append(in.target, quote(name))
		in.same = append(in.same, fmt.Sprintf("t.%s = %s", quote(name), exprs[name]))
	}
	in.from = fmt.Sprintf("unnest($1::bigint[], $2::text[], %s) WITH ORDINALITY v (id, key, %s, ord)",
		strings.Join(params, ", "), strings.Join(names, ", "))
	here := "l.account = " + exprs[modules.ColumnAccount]
	if t.Reach == modules.PerRegion {
		here += " AND " + regionBefore(t, "l") + " = " + exprs[modules.ColumnRegion]
	}
	in.free = fmt.Sprintf(`NOT EXISTS (SELECT FROM public.iasql_audit_log l WHERE NOT l.settled AND l.table_name = %s AND l.key = v.key AND %s AND l.id <> ALL ($3))`, literal(t.Name), here)
	return in
}

// insert inserts the records. It returns the ids of those that were written, and by
// id where each that was to be is in the pulls. Which were written their ids tell:
// two may have one identity, in two regions or because a listing has an object
// twice.
func (in *insertion) insert(ctx context.Context, tx pgx.Tx) (inserted []int64, wanted map[int64]int, err error) {
	columns := strings.Join(in.columns, ", ")
	found, err := tx.Query(ctx, fmt.Sprintf(`
		WITH wanted AS MATERIALIZED (
			SELECT v.ord, %s FROM %s WHERE %s ORDER BY v.ord
		), done AS (
			INSERT INTO %s AS t (%s) SELECT %s FROM wanted ORDER BY ord
			ON CONFLICT (%s) DO NOTHING
			RETURNING t.id
		)
		SELECT ord, id FROM wanted UNION ALL SELECT NULL, id FROM done`,
		strings.Join(in.values, ", "), in.from, in.free, in.shape.name, columns, columns,
		strings.Join(in.target, ", ")), in.args...)
	if err != nil {
		return nil, nil, err
	}
	wanted = make(map[int64]int, len(in.rows))
	var ord *int
	var id int64
	_, err = pgx.ForEachRow(found, []any{&ord, &id}, func() error {
		if ord == nil {
			inserted = append(inserted, id)
		} else {
			wanted[id] = *ord - 1
		}
		return nil
	})
	return inserted, wanted, err
}

// updateRecords writes the pulled columns of records that are still the
// version they were decided on.
func updateRecords(ctx context.Context, tx pgx.Tx, pulls []store.Pull, triggers func() ([]string, error)) ([]written,
	error) {
	t := pulls[0].Subject.Table
	sh := shapeOf(t)
	ids, versions := identities(pulls)
	rows := make([]modules.Row, len(pulls))
	for i := range pulls {
		rows[i] = pulls[i].Row
	}
	args := []any{ids, versions}
	var sets, others, params, names []string
	for i := range t.Columns {
		c := &t.Columns[i]
		which := make([]bool, len(rows))
		for j, row := range rows {
			_, which[j] = row[c.Name]
		}
		if !slices.Contains(which, true) {
			continue
		}
		args = append(args, column(rows, c.Name), which)
		alias := strconv.Itoa(i)
		params = append(params, fmt.Sprintf("$%d::text[], $%d::boolean[]", len(args)-1, len(args)))
		names = append(names, "c"+alias, "s"+alias)
		value := fromText("v.c"+alias, c)
		sets = append(sets, fmt.Sprintf("%s = CASE WHEN v.s%s THEN %s ELSE t.%s END", quote(c.Name), alias, value,
			quote(c.Name)))
		others = append(others, fmt.Sprintf("v.s%s AND t.%s IS DISTINCT FROM %s", alias, quote(c.Name), value))
	}
	if len(sets) == 0 {
		return make([]written, len(pulls)), nil
	}
	became, other, err := writeFree(ctx, tx, ids, sh, fmt.Sprintf(`
		UPDATE %s t SET %s
		FROM unnest($1::bigint[], $2::text[], %s) v (id, version, %s)
		WHERE t.id = v.id AND t.id IN (SELECT id FROM free)
		RETURNING t.id, %s AS other`,
		sh.name, strings.Join(sets, ", "), strings.Join(params, ", "), strings.Join(names, ", "),
		strings.Join(others, " OR ")), args)
	if err != nil || len(other) == 0 {
		return became, err
	}
	want := make(map[int64]modules.Row, len(other))
	for i, id := range ids {
		if other[id] {
			want[id] = rows[i]
		}
	}
	return became, unchanged(ctx, tx, t, want, triggers)
}

// deleteRecords deletes records that are still the version they were decided
// on.
func deleteRecords(ctx context.Context, tx pgx.Tx, pulls []store.Pull) ([]written, error) {
	sh := shapeOf(pulls[0].Subject.Table)
	ids, versions := identities(pulls)
	became, _, err := writeFree(ctx, tx, ids, sh,
		fmt.Sprintf(`DELETE FROM %s t WHERE t.id IN (SELECT id FROM free) RETURNING t.id, false AS other`, sh.name),
		[]any{ids, versions})
	return became, err
}

func identities(pulls []store.Pull) (ids []int64, versions []string) {
	for i := range pulls {
		ids = append(ids, pulls[i].Subject.RecordID)
		versions = append(versions, pulls[i].Subject.Record.Version)
	}
	return ids, versions
}

// writeFree writes the records among ids ($1) that nobody holds and that still
// are of the versions $2: free, to the statement. It returns what became of
// each, and which have got other values than the statement gave them.
func writeFree(ctx context.Context, tx pgx.Tx, ids []int64, sh *shape, statement string, args []any) ([]written,
	map[int64]bool, error) {
	rows, err := tx.Query(ctx, fmt.Sprintf(`
		WITH free AS MATERIALIZED (
			SELECT t.id FROM %s t JOIN unnest($1::bigint[], $2::text[]) v (id, version) ON t.id = v.id AND t.xmin = v.version::xid
			FOR UPDATE OF t SKIP LOCKED
		), done AS (%s)
		SELECT free.id, done.id IS NOT NULL, coalesce(done.other, false) FROM free LEFT JOIN done USING (id)`, sh.name,
		statement), args...)
	if err != nil {
		return nil, nil, err
	}
	outcome := make(map[int64]written, len(ids))
	var other map[int64]bool
	var id int64
	var wrote, differs bool
	_, err = pgx.ForEachRow(rows, []any{&id, &wrote, &differs}, func() error {
		outcome[id] = leftOut
		if wrote {
			outcome[id] = applied
		}
		if differs {
			if other == nil {
				other = map[int64]bool{}
			}
			other[id] = true
		}
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	became := make([]written, len(ids))
	for i, id := range ids {
		became[i] = outcome[id]
	}
	return became, other, nil
}
