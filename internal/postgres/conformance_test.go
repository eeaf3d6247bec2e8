package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"iasql/internal/auditlog"
	"iasql/internal/decide"
	"iasql/internal/modes"
	"iasql/internal/modules"
	"iasql/internal/platform"
	"iasql/internal/postgres"
	"iasql/internal/simulate"
	"iasql/internal/store"
	"iasql/internal/store/storetest"
	"iasql/internal/test/testdb"
)

// PostgreSQL gives the answers of the simulated store, which the simulated world
// runs on. Flags -scripts and -seed play more, or others.
func TestConformance(t *testing.T) {
	t.Parallel()
	f := newConforming(t)
	storetest.RunUndo(t, f.open)
	storetest.RunFlood(t, f.open)
	storetest.Run(t, f.open)
}

// conforming is a database with the tables of the simulated cloud.
type conforming struct {
	registry *modules.Registry
	engine   *pgxpool.Pool
	user     *pgxpool.Pool
	admin    *pgx.Conn // to bring the database back to its beginning
	scripts  int
}

func newConforming(t *testing.T) *conforming {
	t.Helper()
	f, url := &conforming{}, testdb.Empty(t)
	var err error
	if f.registry, err = modules.NewRegistry(simulate.Module(), accounts()); err != nil {
		t.Fatal(err)
	}
	if err := platform.Migrate(t.Context(), url, f.registry, "test"); err != nil {
		t.Fatal(err)
	}
	if f.engine, err = postgres.ConnectEngine(t.Context(), url, "conformance", 4); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.engine.Close)
	if _, err := platform.Install(t.Context(), f.engine, f.registry, []string{"sim", "sim_accounts"}); err != nil {
		t.Fatal(err)
	}
	if f.user, err = pgxpool.New(t.Context(), url); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.user.Close)
	if f.admin, err = pgx.Connect(t.Context(), url); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.admin.Close(context.Background()) })
	// Without triggers, and with nobody else who locks a table now and then.
	if _, err := f.admin.Exec(t.Context(), `
		SET session_replication_role = replica;
		DO $$
		DECLARE name regclass;
		BEGIN
			FOR name IN SELECT oid FROM pg_class WHERE relkind = 'r' AND relnamespace IN ('public'::regnamespace, 'iasql_internal'::regnamespace) LOOP
				EXECUTE format('ALTER TABLE %s SET (autovacuum_enabled = false)', name);
			END LOOP;
		END
		$$`); err != nil {
		t.Fatal(err)
	}
	return f
}

// accounts is the module by which the account and its regions are there.
func accounts() *modules.Module {
	var insert []string
	insert = append(insert, fmt.Sprintf(`INSERT INTO public.sim_account (name) VALUES ('%s')`, simulate.Account))
	for _, r := range simulate.Regions() {
		insert = append(insert, fmt.Sprintf(
			`INSERT INTO public.sim_region (account, region, is_enabled) VALUES ('%s', '%s', true)`,
			simulate.Account, r))
	}
	insert = append(insert, fmt.Sprintf(
		`INSERT INTO public.sim_region (account, region, is_enabled) VALUES ('%s', 'off', false)`, simulate.Account))
	return &modules.Module{
		Name: "sim_accounts", Version: 1, Doc: "The account of the simulated cloud.",
		Settings: []*modules.Table{
			{Name: "sim_account", Doc: "Accounts.", Provider: "sim", DefinesAccounts: true, Columns: []modules.Column{
				{Name: "name", Type: modules.TypeText, Required: true, Identity: true, Doc: "Name."}}},
			{Name: "sim_region", Doc: "Regions.", Provider: "sim", DefinesRegions: true, Columns: []modules.Column{
				{Name: "account", Type: modules.TypeText, Required: true, Doc: "Account."},
				{Name: "region", Type: modules.TypeText, Required: true, Identity: true, Doc: "Region."},
				{Name: "is_enabled", Type: modules.TypeBool, Required: true, Doc: "Whether it is looked at."}}},
		},
		Migrations: map[int]string{1: strings.Join(insert, ";")},
	}
}

// open empties the database and returns it as a store.
func (f *conforming) open(t testing.TB) storetest.Store {
	t.Helper()
	var reset []string
	tables := []string{"public.iasql_audit_log", "public.iasql_mode", "public.iasql_protection",
		"public.iasql_operations", "public.iasql_conflicts", "public.iasql_cycles",
		"iasql_internal.hint", "iasql_internal.cloud_event", "iasql_internal.record_state", "iasql_internal.garbage",
		"iasql_internal.imported", "iasql_internal.listing", "iasql_internal.lease", "iasql_internal.batch",
		"iasql_internal.batch_session",
		"iasql_internal.staged", "iasql_internal.staged_key", "iasql_internal.needed",
		"iasql_internal.vault", "iasql_internal.vault_staged", "iasql_internal.cycle_details", "iasql_river.river_job"}
	for _, table := range simulate.Tables() {
		tables = append(tables, "public."+table.Name)
	}
	for _, table := range tables {
		reset = append(reset, "DELETE FROM "+table)
		if f.scripts%50 == 49 {
			reset[len(reset)-1] = "TRUNCATE " + table + " CASCADE"
		}
	}
	f.scripts++
	reset = append(reset, "ALTER TABLE public.net DROP CONSTRAINT IF EXISTS no_such_note")
	for name, value := range map[string]string{"conflict_policy": "push", "drift": "pull", "max_deletes": "100",
		"max_delete_ratio": "1", "delete_ratio_floor": "5",
		"consistency_window": fmt.Sprintf("%d seconds", int(simulate.Window.Seconds())), "max_staleness": "5 minutes"} {
		reset = append(reset, fmt.Sprintf("UPDATE public.iasql_settings SET value = '%s' WHERE name = '%s'",
			value, name))
	}
	if _, err := f.admin.Exec(t.Context(), strings.Join(reset, "; ")); err != nil {
		t.Fatal(err)
	}
	db := &postgres.Database{Pool: f.engine, Registry: f.registry}
	db.WaitForLocks(20 * time.Millisecond)
	return &real{Database: db, conforming: f, txs: map[int]pgx.Tx{}, conns: map[int]*pgxpool.Conn{}}
}

// real is the PostgreSQL store, with the people who use it.
type real struct {
	*postgres.Database
	*conforming
	txs   map[int]pgx.Tx
	conns map[int]*pgxpool.Conn // of sessions
	lease *postgres.Lease
}

func (r *real) Take(ctx context.Context) (store.Lease, error) {
	if err := r.release(); err != nil {
		return store.Lease{}, err
	}
	lease, err := r.Acquire(ctx, simulate.Account, "conformance", postgres.CycleOptions{Kind: "full"})
	if err != nil {
		return store.Lease{}, err
	}
	r.lease = lease
	return lease.Lease, nil
}

func (r *real) release() error {
	if r.lease == nil {
		return nil
	}
	defer func() { r.lease = nil }()
	return r.lease.Release(store.Report{}, nil)
}

func (r *real) Close() {
	for slot := range r.txs {
		_ = r.Rollback(context.Background(), slot)
	}
	for _, conn := range r.conns {
		_, _ = conn.Exec(context.Background(), `RESET ALL`)
		conn.Release()
	}
	_ = r.release()
}

// session returns the connection of a slot.
func (r *real) session(ctx context.Context, slot int) (*pgxpool.Conn, error) {
	if r.conns[slot] == nil {
		conn, err := r.user.Acquire(ctx)
		if err != nil {
			return nil, err
		}
		r.conns[slot] = conn
	}
	return r.conns[slot], nil
}

// errNothing undoes a statement that has changed nothing.
var errNothing = errors.New("nothing was changed")

// statement runs a statement of a user that returns a number, in the slot's
// transaction. It is refused if it returns no row.
func (r *real) statement(ctx context.Context, slot int, sql string, args ...any) (n int64, ok bool, err error) {
	run := func(tx pgx.Tx) error {
		batch := &pgx.Batch{}
		batch.Queue(`SET LOCAL lock_timeout = '15ms'`)
		batch.Queue(sql, args...).QueryRow(func(row pgx.Row) error { return row.Scan(&n) })
		err := tx.SendBatch(ctx, batch).Close()
		if errors.Is(err, pgx.ErrNoRows) {
			return errNothing
		}
		return err
	}
	conn, err := r.session(ctx, slot)
	if err != nil {
		return 0, false, err
	}
	if slot == 0 {
		err = pgx.BeginFunc(ctx, conn, run)
	} else {
		if r.txs[slot] == nil {
			if r.txs[slot], err = conn.Begin(ctx); err != nil {
				return 0, false, err
			}
		}
		err = pgx.BeginFunc(ctx, r.txs[slot], run) // a savepoint
	}
	var pg *pgconn.PgError
	if errors.As(err, &pg) || errors.Is(err, errNothing) {
		return 0, false, nil
	}
	return n, err == nil, err
}

func (r *real) Insert(ctx context.Context, slot int, table string, id int64, row modules.Row) (int64, bool, error) {
	t := r.registry.Table(table)
	columns, values, args := []string{}, []string{}, []any{}
	if id != 0 {
		args = append(args, id)
		columns, values = append(columns, "id"), append(values, "$1")
	}
	for i := range t.Columns {
		c := &t.Columns[i]
		if v, ok := row[c.Name]; ok {
			args = append(args, v.Ptr())
			columns, values = append(columns, c.Name), append(values, fmt.Sprintf("$%d::text::%s", len(args), c.Type))
		}
	}
	return r.statement(ctx, slot, fmt.Sprintf(`INSERT INTO %s (%s) VALUES (%s) RETURNING id`, table,
		strings.Join(columns, ", "), strings.Join(values, ", ")), args...)
}

func (r *real) Update(ctx context.Context, slot int, table string, id int64, set modules.Row) (bool, error) {
	t := r.registry.Table(table)
	args := []any{id}
	var sets, differ []string
	for name, v := range set {
		c := t.Column(name)
		args = append(args, v.Ptr())
		value := fmt.Sprintf("$%d::text::%s", len(args), c.Type)
		sets, differ = append(sets, name+" = "+value), append(differ, name+" IS DISTINCT FROM "+value)
	}
	_, ok, err := r.statement(ctx, slot, fmt.Sprintf(`UPDATE %s SET %s WHERE id = $1 AND (%s) RETURNING id`, table,
		strings.Join(sets, ", "), strings.Join(differ, " OR ")), args...)
	return ok, err
}

func (r *real) Delete(ctx context.Context, slot int, table string, id int64) (bool, error) {
	_, ok, err := r.statement(ctx, slot, fmt.Sprintf(`DELETE FROM %s WHERE id = $1 RETURNING id`, table), id)
	return ok, err
}

func (r *real) Commit(ctx context.Context, slot int) (bool, error) {
	tx := r.txs[slot]
	delete(r.txs, slot)
	if tx == nil {
		return true, nil
	}
	err := tx.Commit(ctx)
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.Code == "23503" {
		return false, nil
	}
	return err == nil, err
}

// ended commits the transaction of what is no statement of a user's.
func (r *real) ended(ctx context.Context, slot int) error {
	_, err := r.Commit(ctx, slot)
	return err
}

func (r *real) Rollback(ctx context.Context, slot int) error {
	tx := r.txs[slot]
	delete(r.txs, slot)
	if tx == nil {
		return nil
	}
	return tx.Rollback(ctx)
}

func (r *real) Constrain(ctx context.Context) error {
	_, err := r.user.Exec(ctx, fmt.Sprintf(`ALTER TABLE net ADD CONSTRAINT no_such_note CHECK (note <> '%s')`,
		simulate.RefusedNote))
	return err
}

func (r *real) AddRule(ctx context.Context, rule modes.Rule) (bool, error) {
	_, ok, err := r.statement(ctx, 0,
		`INSERT INTO iasql_mode (table_name, record_id, column_name, mode) VALUES (nullif($1, ''), nullif($2, 0), nullif($3, ''), $4) RETURNING id`,
		rule.Table, rule.RecordID, rule.Column, string(rule.Mode))
	return ok, err
}

func (r *real) DropRule(ctx context.Context, rule modes.Rule) (bool, error) {
	_, ok, err := r.statement(ctx, 0, `
		DELETE FROM iasql_mode WHERE coalesce(table_name, '') = $1 AND coalesce(record_id, 0) = $2 AND coalesce(column_name, '') = $3 RETURNING id`,
		rule.Table, rule.RecordID, rule.Column)
	return ok, err
}

func (r *real) Protect(ctx context.Context, table string, id int64, protected bool) (bool, error) {
	name := "iasql_unprotect"
	if protected {
		name = "iasql_protect"
	}
	if id == 0 {
		_, ok, err := r.statement(ctx, 0, `SELECT 1 WHERE `+name+`($1)`, table)
		return ok, err
	}
	_, ok, err := r.statement(ctx, 0, `SELECT 1 WHERE `+name+`($1, $2)`, table, id)
	return ok, err
}

func (r *real) Set(ctx context.Context, name, value string) (bool, error) {
	_, ok, err := r.statement(ctx, 0, `UPDATE iasql_settings SET value = $2 WHERE name = $1 RETURNING 1`, name, value)
	return ok, err
}

func (r *real) OpenBatch(ctx context.Context, slot int) (int64, error) {
	id, _, err := r.statement(ctx, slot, `SELECT iasql_internal.begin_batch()`)
	return id, errors.Join(err, r.ended(ctx, slot))
}

func (r *real) CloseBatch(ctx context.Context, slot int) (bool, error) {
	_, ok, err := r.statement(ctx, slot,
		`SELECT b FROM (SELECT iasql_internal.session_batch() AS b OFFSET 0) s, LATERAL iasql_internal.close_batch(b, (SELECT phase FROM iasql_internal.batch WHERE id = b), 'committed') WHERE b IS NOT NULL`)
	return ok, errors.Join(err, r.ended(ctx, slot))
}

func (r *real) RollbackBatch(ctx context.Context, slot int) (bool, error) {
	_, ok, err := r.statement(ctx, slot, `
		SELECT b FROM (SELECT iasql_internal.session_batch() AS b OFFSET 0) s,
			LATERAL iasql_internal.revert_batch(b, true) n, LATERAL iasql_internal.close_batch(b + 0 * n, 'open', 'rolled back')
		WHERE b IS NOT NULL`)
	return ok, errors.Join(err, r.ended(ctx, slot))
}

func (r *real) BeginCommit(ctx context.Context, slot int) (bool, error) {
	_, ok, err := r.statement(ctx, slot, `
		UPDATE iasql_internal.batch SET phase = 'committing' WHERE id = iasql_internal.session_batch() AND phase = 'open' RETURNING id`)
	return ok, errors.Join(err, r.ended(ctx, slot))
}

func (r *real) RevertBatch(ctx context.Context, slot int) (bool, error) {
	batch, ok, err := r.statement(ctx, slot,
		`SELECT b.id FROM iasql_internal.batch b WHERE b.id = iasql_internal.session_batch() AND b.phase = 'committing'`)
	if err := errors.Join(err, r.ended(ctx, slot)); err != nil || !ok {
		return false, err
	}
	// As the engine does it.
	err = pgx.BeginFunc(ctx, r.engine, func(tx pgx.Tx) error {
		var referred *string
		var n int64
		if _, err := tx.Exec(ctx, `SELECT set_config('lock_timeout', '15ms', true), set_config('iasql.origin', 'batch', true), set_config('iasql.reverts', $1::bigint::text, true)`, batch); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `UPDATE iasql_internal.batch SET phase = 'reverting' WHERE id = $1`, batch); err != nil {
			return err
		}
		if err := tx.QueryRow(ctx, `SELECT iasql_internal.referred_from($1)`, batch).Scan(&referred); err != nil {
			return err
		}
		if referred != nil {
			return errNothing
		}
		if err := tx.QueryRow(ctx, `SELECT iasql_internal.revert_batch($1, false)`, batch).Scan(&n); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `
			UPDATE iasql_internal.record_state r SET next_attempt_at = now(), attempts = 0, unconfirmed = 0
			FROM iasql_internal.staged s WHERE s.batch = $1 AND r.table_name = s.table_name AND r.record_id = s.record_id`, batch)
		return err
	})
	var pg *pgconn.PgError
	if errors.As(err, &pg) && slices.Contains([]string{"55P03", "23503", "23505"}, pg.Code) ||
		errors.Is(err, errNothing) {
		return false, nil // somebody is in the way
	}
	return err == nil, err
}

func (r *real) Decide(ctx context.Context, n int, how string) (bool, error) {
	_, ok, err := r.statement(ctx, 0,
		`UPDATE iasql_conflicts SET resolved = $2 WHERE id = (SELECT id FROM iasql_conflicts ORDER BY id OFFSET $1 LIMIT 1) RETURNING id`, n, how)
	return ok, err
}

func (r *real) Retry(ctx context.Context, table string, id int64) (bool, error) {
	_, ok, err := r.statement(ctx, 0, `SELECT 1 WHERE iasql_retry($1, $2)`, table, id)
	return ok, err
}

// Pass makes everything that has happened happen earlier, and the accounts' own times later.
func (r *real) Pass(ctx context.Context, d time.Duration) error {
	seconds := strconv.Itoa(int(d.Seconds()))
	_, err := r.admin.Exec(ctx, strings.ReplaceAll(`
		UPDATE iasql_internal.record_state SET next_attempt_at = next_attempt_at - interval '? seconds';
		UPDATE iasql_internal.listing SET tried = tried - interval '? seconds', changed = changed - interval '? seconds', listed = listed - interval '? seconds';
		UPDATE iasql_internal.hint SET due = due - interval '? seconds';
		UPDATE iasql_internal.cloud_event SET at = at - interval '? seconds';
		UPDATE public.iasql_audit_log SET ts = ts - interval '? seconds', settled_at = settled_at - interval '? seconds';
		UPDATE iasql_internal.garbage SET next_attempt_at = next_attempt_at - interval '? seconds';
		UPDATE public.iasql_operations SET started = started - interval '? seconds', ended = ended - interval '? seconds';
		UPDATE iasql_internal.lease SET elapsed = elapsed + ?`, "?", seconds))
	r.Advance(d) // what an account's own time says has been written by, stays
	return err
}

func (r *real) Tell(ctx context.Context, h store.Hint, ago time.Duration) error {
	_, err := r.admin.Exec(ctx, `
		WITH e AS (
			INSERT INTO iasql_internal.cloud_event (account, id, region, service, call, at, actor)
			VALUES ($1, gen_random_uuid()::text, $3, 'sim.amazonaws.com', 'Change', clock_timestamp() - make_interval(secs => $6), 'ana') RETURNING id)
		INSERT INTO iasql_internal.hint (account, event, table_name, region, column_name, value)
		SELECT $1, id, $2, $3, nullif($4, ''), nullif($5, '') FROM e`, h.Scope.Account, h.Table, h.Scope.Region,
		h.Column, h.Value, ago.Seconds())
	return err
}

func (r *real) Rows(ctx context.Context, table string) ([]*decide.Record, error) {
	t := r.registry.Table(table)
	rows, err := r.user.Query(ctx, fmt.Sprintf(`SELECT id, to_jsonb(t) FROM %s t ORDER BY id`, table))
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (*decide.Record, error) {
		record, image := &decide.Record{}, []byte(nil)
		if err := row.Scan(&record.ID, &image); err != nil {
			return nil, err
		}
		record.Row, err = auditlog.Row(t, image)
		return record, err
	})
}

func (r *real) Conflicts(ctx context.Context) ([]simulate.ConflictRow, error) {
	rows, err := r.user.Query(ctx, `
		SELECT table_name, record_id, coalesce(column_name, ''), database_value, cloud_value, base, audit_id, coalesce(resolved, '') FROM iasql_conflicts ORDER BY id`)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (c simulate.ConflictRow, err error) {
		var have, cloud, base []byte
		if err := row.Scan(&c.Record.Table, &c.Record.ID, &c.Column, &have, &cloud, &base, &c.Audit, &c.Resolved); err != nil {
			return c, err
		}
		column := r.registry.Table(c.Record.Table).Column(c.Column)
		if column == nil {
			return c, nil
		}
		if c.Database, err = auditlog.FromJSON(column, have); err != nil {
			return c, err
		}
		if c.Cloud, err = auditlog.FromJSON(column, cloud); err != nil {
			return c, err
		}
		c.Base, err = auditlog.FromJSON(column, base)
		return c, err
	})
}
