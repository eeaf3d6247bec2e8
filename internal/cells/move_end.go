package cells

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"iasql/internal/postgres"
)

// side says what a cell knows of a move (iasql_internal.moving.side); empty: nothing.
type side string

const (
	leaving  side = "leaving"
	left     side = "left"
	arriving side = "arriving"
)

// end is one of the two cells of a move.
type end struct {
	cell     Cell
	account  string // as the cell calls it
	conn     *pgx.Conn
	deadline time.Duration
}

// open connects to a cell as who moves. What it commits is on disk: the move relies on it in the other cell.
func open(ctx context.Context, cell Cell, account, login string, deadline time.Duration) (*end, error) {
	if cell.State == Lost {
		return nil, fmt.Errorf("cell %s is marked lost: once it is back, engine cells mark %[1]s active", cell.Name)
	}
	connection := cell.Connection
	if login != "" {
		connection = withUser(connection, login)
	}
	config, err := pgx.ParseConfig(connection)
	if err != nil {
		return nil, fmt.Errorf("cell %s: %w", cell.Name, err)
	}
	config.RuntimeParams["application_name"] = "iasql cells move"
	connecting, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	conn, err := pgx.ConnectConfig(connecting, config)
	if err != nil {
		return nil, fmt.Errorf("cell %s: %s", cell.Name, trouble(err, deadline))
	}
	e := &end{cell: cell, account: account, conn: conn, deadline: deadline}
	// The source's transaction is idle while the target works.
	_, err = conn.Exec(ctx, postgres.PinSearchPath+`SET synchronous_commit = on; SET row_security = off;
		SET statement_timeout = 0; SET idle_in_transaction_session_timeout = 0`)
	if err == nil {
		err = e.mayMove(ctx)
	}
	if err == nil {
		err = e.alone(ctx)
	}
	if err != nil {
		_ = conn.Close(context.WithoutCancel(ctx))
		return nil, e.explain(err)
	}
	return e, nil
}

// withUser has a URL name another login.
func withUser(connection, login string) string {
	sign := "?"
	if strings.Contains(connection, "?") {
		sign = "&"
	}
	return connection + sign + "user=" + url.QueryEscape(login)
}

// mayMove fails unless the login has the system's rights, sees whether an engine is there, and may write without
// triggers.
func (e *end) mayMove(ctx context.Context) error {
	var login string
	var may bool
	err := e.conn.QueryRow(ctx, `SELECT current_user, pg_has_role('iasql_engine', 'USAGE') AND pg_has_role('pg_read_all_stats',
		'USAGE') AND has_parameter_privilege('session_replication_role', 'SET')`).Scan(&login, &may)
	if err == nil && !may {
		err = fmt.Errorf("login %s may not move accounts: name one that may (--login), a superuser, or a member of "+
			"iasql_engine and pg_read_all_stats with GRANT SET ON PARAMETER session_replication_role", login)
	}
	return err
}

// alone waits for the session of a call of engine cells move that has been killed: what it committed last shows then.
func (e *end) alone(ctx context.Context) error {
	_, err := e.conn.Exec(ctx, fmt.Sprintf(`SET lock_timeout = %d;
		SELECT pg_advisory_lock(hashtext('iasql_internal.moving'), hashtext(%s)); RESET lock_timeout`,
		e.deadline.Milliseconds(), literal(e.account)))
	if code(err) == pgerrcode.LockNotAvailable {
		return fmt.Errorf("another session moves account %s, or holds its lock (SELECT * FROM pg_locks WHERE "+
			"locktype = 'advisory'): wait for its end", e.account)
	}
	return err
}

// within runs a transaction in the cell.
func (e *end) within(ctx context.Context, options pgx.TxOptions, do func(pgx.Tx) error) error {
	return pgx.BeginTxFunc(ctx, e.conn, options, do)
}

// side returns what the cell knows of the move.
func (e *end) side(ctx context.Context, move string) (s side, err error) {
	if move == "" {
		return "", nil
	}
	err = e.conn.QueryRow(ctx, `SELECT side FROM iasql_internal.moving WHERE account = $1 AND move = $2::uuid`, e.account,
		move).Scan(&s)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", nil
	}
	return s, e.explain(err)
}

// exists tells whether the cell has the account.
func (e *end) exists(ctx context.Context) (there bool, err error) {
	err = e.conn.QueryRow(ctx, `SELECT EXISTS (SELECT FROM iasql_internal.account WHERE name = $1)`, e.account).Scan(&there)
	return there, e.explain(err)
}

// explain says which cell has failed.
func (e *end) explain(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("cell %s: %s", e.cell.Name, trouble(err, e.deadline))
}

// How long a move waits for a lock before it lets others pass, how long it rests then, and how often it looks whether a
// cycle has ended.
const (
	lockAttempt = "500ms"
	lockRest    = 200 * time.Millisecond
	pollCycle   = 100 * time.Millisecond
)

// hold has the cell's engines and users leave the account alone. It waits for the transactions that have written there.
func (e *end) hold(ctx context.Context, move, to string) error {
	waiting, cancel := context.WithTimeout(ctx, e.deadline)
	defer cancel()
	for {
		err := e.within(ctx, pgx.TxOptions{}, func(tx pgx.Tx) error {
			// Why both: sql/internal/moving.sql.
			if _, err := tx.Exec(ctx, `SET LOCAL lock_timeout = '`+lockAttempt+`';
				LOCK TABLE iasql_internal.moving IN ACCESS EXCLUSIVE MODE;
				UPDATE iasql_internal.installation SET version = version`); err != nil {
				return err
			}
			_, err := tx.Exec(ctx, `INSERT INTO iasql_internal.moving (account, move, cell, side)
				VALUES ($1, $2::uuid, $3, 'leaving') ON CONFLICT (account) DO NOTHING`, e.account, move, to)
			return err
		})
		if err == nil {
			break
		}
		if code(err) != pgerrcode.LockNotAvailable && code(err) != pgerrcode.DeadlockDetected {
			return e.explain(err)
		}
		if !rest(waiting, lockRest) {
			return fmt.Errorf("cell %s: transactions that have written have not ended within %s: %s", e.cell.Name,
				e.deadline, e.writers(ctx))
		}
	}
	s, err := e.side(ctx, move)
	if err == nil && s == "" {
		err = fmt.Errorf("cell %s: account %s is in another move already, which the registry does not know",
			e.cell.Name, e.account)
	}
	return err
}

// writers lists who holds the lock that a move waits for.
func (e *end) writers(ctx context.Context) string {
	var who string
	err := e.conn.QueryRow(ctx, `
		SELECT coalesce(string_agg(format('%s (process %s, since %s)', coalesce(a.usename, 'a prepared transaction'), k.pid,
			date_trunc('second', a.xact_start)), ', '), 'they have ended now: call it again')
		FROM pg_locks k LEFT JOIN pg_stat_get_activity(NULL) s ON s.pid = k.pid LEFT JOIN pg_stat_activity a ON a.pid = k.pid
		WHERE k.granted AND k.relation = 'iasql_internal.moving'::regclass AND k.pid IS DISTINCT FROM pg_backend_pid()
			AND k.database = (SELECT oid FROM pg_database WHERE datname = current_database())`).Scan(&who)
	if err != nil {
		return err.Error()
	}
	return who
}

// await waits for the cycle and the calls of the account that were under way when it was held. After it no engine that
// thinks that it has the lease can write: the fence has passed on (R15).
func (e *end) await(ctx context.Context) error {
	waiting, cancel := context.WithTimeout(ctx, e.deadline)
	defer cancel()
	for {
		var holder, call *string
		err := e.conn.QueryRow(ctx, `
			WITH freed AS (
				UPDATE iasql_internal.lease l SET fence = l.fence + 1, pid = NULL, role = NULL
				WHERE l.account = $1 AND NOT `+postgres.LeaseHeld+` RETURNING l.account)
			SELECT (SELECT l.engine FROM iasql_internal.lease l WHERE l.account = $1 AND NOT EXISTS (SELECT FROM freed)),
				(SELECT min(o.action) FROM public.iasql_operations o
				WHERE o.account = $1 AND o.kind = 'call' AND o.ended IS NULL)`, e.account).Scan(&holder, &call)
		switch {
		case err != nil:
			return e.explain(err)
		case holder == nil && call == nil:
			return nil
		}
		if rest(waiting, pollCycle) {
			continue
		}
		if holder != nil {
			return fmt.Errorf("cell %s: the cycle of account %s that engine %s runs has not ended within %s: wait for "+
				"it, or give it longer (--deadline)", e.cell.Name, e.account, *holder, e.deadline)
		}
		return fmt.Errorf("cell %s: a call of %s has not ended within %s: wait for it, or give it longer (--deadline)",
			e.cell.Name, *call, e.deadline)
	}
}

// rest waits, and reports false if ctx ends before.
func rest(ctx context.Context, how time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(how):
		return true
	}
}

// handOver is the moment at which the account becomes the target's.
func (e *end) handOver(ctx context.Context, move string) error {
	tag, err := e.conn.Exec(ctx, `UPDATE iasql_internal.moving SET side = 'left' WHERE account = $1 AND move = $2::uuid
		AND side = 'leaving'`, e.account, move)
	if err == nil && tag.RowsAffected() == 0 {
		err = errors.New("the account is not held for this move any more")
	}
	return e.explain(err)
}

// release has the cell's engines and users go on with the account, if the move holds it: a full cycle looks at all
// of it.
func (e *end) release(ctx context.Context, move string) error {
	return e.patiently(ctx, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `
			WITH free AS (DELETE FROM iasql_internal.moving WHERE account = $1 AND move = $2::uuid RETURNING account)
			SELECT iasql_internal.enqueue(k.kind, f.account) FROM free f, unnest('{push,sync}'::text[]) k (kind)`, e.account, move)
		return err
	})
}

// remove removes the account's rows, if the move has left them there. Nothing notes a deletion, so that nothing asks
// for one in the cloud.
func (e *end) remove(ctx context.Context, move string, of side) error {
	return e.patiently(ctx, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `DELETE FROM iasql_internal.moving WHERE account = $1 AND move = $2::uuid
			AND side = $3`, e.account, move, string(of))
		if err != nil || tag.RowsAffected() == 0 {
			return err
		}
		// That these rows are not there any more shows no engine that the database has gone back in time (R30).
		if _, err := tx.Exec(ctx, `UPDATE iasql_internal.server_seen s SET
			left_audit = greatest(s.left_audit, (SELECT max(l.id) FROM public.iasql_audit_log l)),
			left_operation = greatest(s.left_operation, (SELECT max(o.id) FROM public.iasql_operations o))`); err != nil {
			return err
		}
		tables, err := e.gather(ctx, tx, true)
		if err != nil {
			return err
		}
		return e.erase(ctx, tx, tables)
	})
}

// patiently runs a transaction, and again where others were in the way: an INSERT of a user's that is about to be
// refused may have locked what it refers to, in another order.
func (e *end) patiently(ctx context.Context, do func(pgx.Tx) error) error {
	waiting, cancel := context.WithTimeout(ctx, e.deadline)
	defer cancel()
	for {
		err := e.within(ctx, pgx.TxOptions{}, do)
		passing := slices.Contains([]string{pgerrcode.DeadlockDetected, pgerrcode.LockNotAvailable,
			pgerrcode.SerializationFailure}, code(err))
		if !passing || !rest(waiting, lockRest) {
			return e.explain(err)
		}
	}
}

// erase deletes all rows that gather has found.
func (e *end) erase(ctx context.Context, tx pgx.Tx, tables []managedTable) error {
	names := numbering{account: e.account, as: e.account}
	others, err := e.platformTables(ctx, tx)
	if err != nil {
		return err
	}
	var statements []string
	for _, t := range slices.Backward(others) {
		if !t.shared && t.name != "iasql_internal.account" {
			statements = append(statements, `SET LOCAL session_replication_role = `+role(t.triggers),
				`DELETE FROM `+t.name+` t WHERE `+names.bind(t.where))
		}
	}
	statements = append(statements, `SET LOCAL session_replication_role = replica`,
		`DELETE FROM iasql_internal.search_entry s USING pg_temp.moved_record r
			WHERE s.table_name = r.table_name AND s.record_id = r.record_id`,
		`DELETE FROM iasql_internal.search_pending s USING pg_temp.moved_record r
			WHERE s.table_name = r.table_name AND s.record_id = r.record_id`)
	for _, t := range tables {
		statements = append(statements, names.bind(`DELETE FROM `+t.qualified()+` t WHERE `+t.where()))
	}
	statements = append(statements, `SET LOCAL session_replication_role = origin`,
		names.bind(`DELETE FROM iasql_internal.account t WHERE t.name = {account}`))
	for _, s := range statements {
		if _, err := tx.Exec(ctx, s); err != nil {
			return fmt.Errorf("%s: %w", strings.Join(strings.Fields(s), " "), err)
		}
	}
	return nil
}

// role is the value of session_replication_role by which triggers fire, or do not (manual, section 20.11.1).
func role(triggers bool) string {
	if triggers {
		return "origin"
	}
	return "replica"
}

// code returns the SQLSTATE of an error, empty if it has none.
func code(err error) string {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return pg.Code
	}
	return ""
}
