package postgres_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"iasql/internal/test/stopwatch"
)

// What the audit trigger costs depends on the rows that a statement writes, and
// on nothing else: not on what the session did before, nor on what is pending.
func TestAuditCostsWhatIsWritten(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	conn, err := pgx.Connect(t.Context(), b.url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	run := func(sql string, args ...any) {
		t.Helper()
		if _, err := conn.Exec(t.Context(), sql, args...); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	const many = 20_000
	// In a transaction that is not committed, so that no engine has anything to do.
	run(`BEGIN`)
	run(`INSERT INTO box (label) SELECT 'box ' || i FROM generate_series(1, $1) i`, many)
	read := func() (rows int64) {
		t.Helper()
		if err := conn.QueryRow(t.Context(),
			`SELECT seq_tup_read + coalesce(idx_tup_fetch, 0) FROM pg_stat_xact_user_tables WHERE relname = 'iasql_audit_log'`).Scan(&rows); err != nil {
			t.Fatal(err)
		}
		return rows
	}
	before := read()
	for i := range 20 { // until the plans are kept
		run(`UPDATE box SET label = $1 WHERE id = (SELECT max(id) FROM box)`, fmt.Sprint("again ", i))
	}
	if rows := read() - before; rows > 20 {
		t.Errorf("20 updates of one row read %d rows of the audit log, in which %d are pending", rows, many)
	}
	begun := stopwatch.Start()
	run(`UPDATE box SET label = label || '.'`)
	// Quadratic it took 44 seconds, on two cores.
	if took := begun.Took(); took > 10*time.Second {
		t.Errorf("an update of %d rows took %s", many, took)
	}
	if got := b.query(`SELECT count(*) FROM box`); got != "0" {
		t.Errorf("%s rows are there for others", got)
	}
	run(`ROLLBACK`)
}
