package postgres_test

import (
	"testing"
	"time"

	"iasql/internal/decide"
	"iasql/internal/postgres"
	"iasql/internal/store"
	"iasql/internal/test/stopwatch"
)

// A limit that is changed while the guard stops a record makes it due, whichever of
// the two comes first.
func TestLimitChangedWhileStopped(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.exec(`INSERT INTO box (label) VALUES ('a')`)
	lease, err := b.db.Acquire(t.Context(), "main", "test", postgres.CycleOptions{Kind: "push"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = lease.Release(store.Report{}, nil) }()
	load := func() *decide.Subject {
		t.Helper()
		subjects, err := b.db.Load(t.Context(), boxTable, []int64{1})
		if err != nil || len(subjects) != 1 {
			t.Fatal(subjects, err)
		}
		return subjects[0]
	}
	limits := func() decide.DeleteLimits {
		t.Helper()
		settings, err := b.db.Settings(t.Context(), "main")
		if err != nil {
			t.Fatal(err)
		}
		return settings.Deletes
	}
	stop := func(by decide.DeleteLimits) {
		t.Helper()
		s := load()
		s.Scope = boxTable.Scope(s.Record.Row)
		state := (&decide.Op{Kind: decide.OpDelete, Subject: s}).Stopped("would delete 1 object")
		state.FailedAt = s.Change.Latest()
		if err := b.db.Settle(t.Context(), lease.Lease, []store.Settlement{{Subject: s, State: state, Limits: &by}}); err != nil {
			t.Fatal(err)
		}
	}
	due := func(want bool) {
		t.Helper()
		if s := load(); s.State == nil || s.State.Due != want || s.State.Code != "delete_guard" {
			t.Errorf("due should be %v: %+v", want, s.State)
		}
	}

	stop(limits())
	due(false)
	if got := b.query(`SELECT next_attempt_at FROM iasql_internal.record_state`); got != "infinity" {
		t.Errorf("the next attempt of a record that waits for a person is at %s", got)
	}

	// Each limit, changed after it was read.
	for name, value := range map[string]string{"max_deletes": "7", "max_delete_ratio": "0.123",
		"delete_ratio_floor": "3"} {
		read := limits()
		b.exec(`UPDATE iasql_settings SET value = $2 WHERE name = $1`, name, value)
		stop(read)
		due(true)
		stop(limits())
		due(false)
	}

	// Somebody has changed one and has not committed. The cycle does not wait.
	b.exec(`DELETE FROM iasql_internal.record_state`)
	tx, err := b.user.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(t.Context()) }()
	if _, err := tx.Exec(t.Context(), `UPDATE iasql_settings SET value = '8' WHERE name = 'max_deletes'`); err != nil {
		t.Fatal(err)
	}
	begun := stopwatch.Start()
	stop(limits())
	if took := begun.Took(); took > 5*time.Second {
		t.Errorf("the cycle has waited for %s", took)
	}
	if wait, waits, err := b.db.NextAttempt(t.Context(), "main"); err != nil || !waits || wait > time.Second {
		t.Errorf("the next attempt is in %s (%v, %v)", wait, waits, err)
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); {
		if wait, waits, err := b.db.NextAttempt(t.Context(), "main"); err != nil || waits && wait <= 0 {
			break
		}
	}
	due(true)
	stop(limits())
	due(false)

	// Somebody changes one while the engine has not committed.
	b.exec(`DELETE FROM iasql_internal.record_state`)
	l := limits()
	if tx, err = b.user.Begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(t.Context()) }()
	var held bool
	if err := tx.QueryRow(t.Context(), `SELECT iasql_internal.hold_limits($1, $2, $3)`, l.Max, l.Ratio,
		l.Floor).Scan(&held); err != nil || !held {
		t.Fatal(held, err)
	}
	changed := make(chan error, 1)
	go func() {
		_, err := b.user.Exec(t.Context(), `UPDATE iasql_settings SET value = '9' WHERE name = 'max_deletes'`)
		changed <- err
	}()
	for b.query(`SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`) == "0" {
		select {
		case err := <-changed:
			t.Fatalf("a limit was changed while the engine held it: %v", err)
		case <-time.After(10 * time.Millisecond):
		}
	}
	if _, err := tx.Exec(t.Context(), `
		INSERT INTO iasql_internal.record_state (table_name, record_id, account, state, code, review, next_attempt_at, failed_at)
		VALUES ('box', 1, 'main', 'Removing', 'delete_guard', true, 'infinity', (SELECT max(id) FROM iasql_audit_log))`); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-changed; err != nil {
		t.Fatal(err)
	}
	due(true)
}
