package cells

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"iasql/internal/cells"
	"iasql/internal/test/faultproxy"
	"iasql/internal/test/harness"
)

// TestWhatMoves: each table that names accounts or records moves with an account, or it is said why it does not.
func TestWhatMoves(t *testing.T) {
	t.Parallel()
	m := startMoving(t, "aws_organizations", "aws_sqs")
	moved, stay := cells.MovedTables()
	for name := range stay {
		if slices.Contains(moved, name) {
			t.Errorf("table %s moves and stays", name)
		}
	}
	const naming = `SELECT DISTINCT n.nspname || '.' || c.relname
		FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid AND NOT a.attisdropped
		WHERE c.relkind = 'r' AND n.nspname IN ('public', 'iasql_internal') AND n.nspname || '.' || c.relname <> ALL ('{%s}') AND `
	known := append(slices.Collect(maps.Keys(stay)), moved...)
	if got := harness.NewWorld(t).Admin(fmt.Sprintf(naming, strings.Join(known, ",")) +
		`a.attname IN ('account', 'record_id', 'instance', 'audit_id', 'cycle_id', 'batch', 'transaction_id')`); got != "" {
		t.Errorf("tables that name accounts or records: say in internal/cells/move_tables.go that they move, or why not:\n%s", got)
	}
	// What modules keep by account moves as it is, so that it has no numbers that are others in the target.
	if got := m.cells["eu"].Admin(fmt.Sprintf(naming, strings.Join(known, ",")) + `n.nspname = 'iasql_internal' AND a.attname = 'account'
		AND EXISTS (SELECT FROM pg_attribute b WHERE b.attrelid = c.oid AND b.attnum > 0 AND b.atttypid = 'bigint'::regtype)`); got != "" {
		t.Errorf("tables of modules that name accounts, and have numbers:\n%s", got)
	}
	// What stays where it is, since a move waits until it does not name the account.
	if got := m.cells["eu"].Admin(fmt.Sprintf(naming, strings.Join(known, ",")) + `n.nspname = 'public' AND a.attname = 'account'
		AND NOT EXISTS (SELECT FROM iasql_internal.managed_table m WHERE m.name = c.relname)
		AND NOT EXISTS (SELECT FROM pg_constraint k JOIN pg_class r ON r.oid = k.confrelid JOIN iasql_internal.managed_table m ON m.name = r.relname
			WHERE k.conrelid = c.oid AND k.contype = 'f')`); got != "" {
		t.Errorf("tables that name accounts, and that no move looks at:\n%s", got)
	}
}

// TestMoveObstacles: what stands in the way is said, each with what to do, and nothing has changed.
func TestMoveObstacles(t *testing.T) {
	t.Parallel()
	m := startMoving(t, "aws_sqs")
	eu, us := m.cells["eu"], m.cells["us"]
	eu.PSQL(`SELECT * FROM iasql_install('aws_vpc')`)
	eu.PSQL(`INSERT INTO queue (account, name) VALUES ('shop', 'q1')`)
	eu.Settled()
	eu.Admin(`ALTER TABLE queue ADD COLUMN team text`, `CREATE TABLE notes (queue bigint REFERENCES queue (id))`,
		`INSERT INTO notes SELECT id FROM queue WHERE account = 'shop'`,
		`UPDATE iasql_settings SET value = 'ask' WHERE name = 'drift'`,
		`SET session_replication_role = replica; UPDATE subnet SET vpc_id = (SELECT min(id) FROM vpc WHERE account = 'default')
			WHERE id = (SELECT min(id) FROM subnet WHERE account = 'shop')`)
	us.Admin(fmt.Sprintf(`INSERT INTO aws_account (name, access_key_id, secret_access_key) VALUES ('boutique', '%s', '%s')`,
		m.shop.AccessKeyID, m.shop.SecretAccessKey))
	us.Becomes(time.Minute, "1", `SELECT count(*) FROM iasql_worlds WHERE account = 'boutique' AND pinned_as IS NOT NULL`)
	eu.PSQL(`CALL iasql_begin('test')`)
	eu.Joined(`UPDATE queue SET delay_seconds = 3 WHERE name = 'q1'`)

	out, err := m.try("move", "shop", "--to", "us", "--preview")
	if err == nil {
		t.Error("the preview has found nothing in the way")
	}
	for _, want := range []string{
		"cell us has no module aws_vpc: SELECT * FROM iasql_install('aws_vpc') there",
		"table queue has no column team in cell us: ALTER TABLE queue ADD COLUMN team text there",
		"setting drift is ask in cell eu, and pull in cell us: make them the same",
		"(test) of ", "has staged records of it: commit it or roll it back",
		"1 rows of public.notes refer to public.queue",
		"refers to record", "take the reference away",
		"cell us has the same account", "as boutique",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the preview does not say %q", want)
		}
	}
	if t.Failed() {
		t.Log(out)
	}
	m.refused("account shop cannot move", "move", "shop", "--to", "us")
	m.refused("may not move accounts", "move", "shop", "--to", "us", "--login", m.login("clerk"))
	m.refused("no move of account shop is under way", "move", "shop", "--to", "us", "--undo")
	if got := m.has(); !slices.Equal(got, []string{"eu"}) {
		t.Errorf("%q serve the account", got)
	}
	if got := m.traces("us"); got != "" {
		t.Errorf("the target has something in: %s", got)
	}
}

// TestRetryWhileMoving: a retry is refused while the account is held: where that arrives, nobody would know of it.
func TestRetryWhileMoving(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t)
	proxy := faultproxy.Start(t, w.AWS.Endpoint)
	w.Endpoint = proxy.URL
	proxy.Set(func(c faultproxy.Call) faultproxy.Fault {
		if c.Action == "CreateQueue" {
			return faultproxy.Fault{Status: http.StatusForbidden, Code: "AccessDenied", Message: "no"}
		}
		return faultproxy.Fault{}
	})
	w.Serve()
	w.Install([]string{"us-east-1"}, "aws_sqs")
	w.PSQL(`INSERT INTO queue (name) VALUES ('refused')`)
	w.Becomes(time.Minute, "t", `SELECT count(*) > 0 FROM iasql_status WHERE table_name = 'queue' AND attempts > 0`)
	w.Admin(`INSERT INTO iasql_internal.moving (account, move, cell, side)
		SELECT account, gen_random_uuid(), 'us', 'leaving' FROM queue`)
	const retry = `SELECT iasql_retry('queue', id) FROM queue`
	if got, err := w.TryPSQL(w.UserURL, retry); err == nil || !strings.Contains(err.Error(), "IA070") {
		t.Errorf("a retry while the account moves: %s, %v", got, err)
	}
	w.Admin(`DELETE FROM iasql_internal.moving`)
	proxy.Set(func(faultproxy.Call) faultproxy.Fault { return faultproxy.Fault{} })
	w.PSQL(retry)
	w.Settled()
}

// login makes a role that may read in both cells, and have its password known to the commands.
func (m *moving) login(name string) string {
	m.Helper()
	role := name + "_" + fmt.Sprint(time.Now().UnixNano())
	m.sql(m.registry, fmt.Sprintf(`CREATE ROLE %s LOGIN PASSWORD 'secret' IN ROLE iasql_reader`, role))
	m.Cleanup(func() { m.cells["eu"].TryPSQL(m.registry, `DROP ROLE `+role) })
	m.know(role)
	return role
}

// TestMoveWaits: a move waits for a transaction that has written the account, and takes itself back if that does not end.
func TestMoveWaits(t *testing.T) {
	t.Parallel()
	m := startMoving(t, "aws_sqs")
	eu := m.cells["eu"]
	for _, isolation := range []pgx.TxIsoLevel{pgx.ReadCommitted, pgx.RepeatableRead} {
		conn, err := pgx.Connect(t.Context(), eu.UserURL)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close(t.Context())
		tx, err := conn.BeginTx(t.Context(), pgx.TxOptions{IsoLevel: isolation})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.Exec(t.Context(), `INSERT INTO queue (account, name) VALUES ('shop', $1)`,
			strings.ReplaceAll(string(isolation), " ", "")); err != nil {
			t.Fatal(err)
		}
		m.refused("transactions that have written have not ended", "move", "shop", "--to", "us", "--deadline", "2s")
		if got := m.has(); !slices.Equal(got, []string{"eu"}) {
			t.Errorf("%q serve the account", got)
		}
		if err := tx.Commit(t.Context()); err != nil {
			t.Errorf("%s: %v", isolation, err)
		}
	}
	// A snapshot from before the move sees no row that holds the account, and is refused all the same.
	conn, err := pgx.Connect(t.Context(), eu.UserURL)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if _, err := conn.Exec(t.Context(), `BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM queue`); err != nil {
		t.Fatal(err)
	}
	m.engine("move", "shop", "--to", "us")
	if _, err := conn.Exec(t.Context(), `INSERT INTO queue (account, name) VALUES ('default', 'late')`); err == nil ||
		!strings.Contains(err.Error(), "40001") {
		t.Errorf("a write under an old snapshot: %v", err)
	}
	us := m.cells["us"]
	us.Settled()
	if got := m.queues(); !slices.Equal(got, []string{"readcommitted", "repeatableread"}) {
		t.Errorf("queues in the cloud: %q", got)
	}
	if got := us.PSQL(`SELECT count(*) FROM queue WHERE account = 'shop'`); got != "2" {
		t.Errorf("%s queues in the database", got)
	}
}
