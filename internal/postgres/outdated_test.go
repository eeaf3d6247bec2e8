package postgres_test

import (
	"errors"
	"testing"

	"iasql/internal/decide"
	"iasql/internal/modules"
	"iasql/internal/postgres"
	"iasql/internal/store"
)

// TestDecidedByOldRules: nothing that was decided before the COMMIT of a rule, or of
// a batch, is written after it, and no call is made (R19).
func TestDecidedByOldRules(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.exec(`INSERT INTO box (label) VALUES ('a')`)
	lease, err := b.db.Acquire(t.Context(), "main", "test", postgres.CycleOptions{Kind: "full"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = lease.Release(store.Report{}, nil) }()
	subjects, err := b.db.Load(t.Context(), boxTable, []int64{1})
	if err != nil || len(subjects) != 1 {
		t.Fatal(subjects, err)
	}
	s := subjects[0]
	s.Scope = boxTable.Scope(s.Record.Row)
	ruled := func() store.Lease {
		t.Helper()
		settings, err := b.db.Settings(t.Context(), "main")
		if err != nil {
			t.Fatal(err)
		}
		l := lease.Lease
		l.Rules = settings.Version
		return l
	}
	refuses := func(what string, l store.Lease, want, call error) {
		t.Helper()
		_, err := b.db.Pull(t.Context(), l,
			[]store.Pull{{Subject: s, Action: decide.UpdateRecord, Row: modules.Row{"label": modules.Text("z")}}})
		if !errors.Is(err, want) {
			t.Errorf("%s: a pull: %v, want %v", what, err, want)
		}
		if err := b.db.Settle(t.Context(), l, []store.Settlement{{Subject: s, Settle: true}}); !errors.Is(err, want) {
			t.Errorf("%s: a settlement: %v, want %v", what, err, want)
		}
		if _, err := b.db.Begin(t.Context(), l, (&decide.Op{Kind: decide.OpCreate, Subject: s}).Intent()); !errors.Is(err, call) {
			t.Errorf("%s: a call: %v, want %v", what, err, call)
		}
		if got := b.query(`SELECT label || ' ' || (SELECT count(*) FROM iasql_audit_log WHERE table_name = 'box' AND settled) FROM box`); got != "a 0" {
			t.Errorf("%s: the record is %s", what, got)
		}
	}
	for _, change := range []string{
		`INSERT INTO iasql_mode (mode) VALUES ('ENFORCE')`,
		`UPDATE iasql_mode SET mode = 'NORMAL'`,
		`UPDATE iasql_mode SET table_name = 'box'`,
		`DELETE FROM iasql_mode`,
	} {
		before := ruled()
		b.exec(change)
		refuses(change, before, store.ErrOutdated, store.ErrRefused)
	}
	before := ruled()
	b.exec(`INSERT INTO iasql_mode (mode) VALUES ('TRACK')`)
	b.exec(`DELETE FROM iasql_mode`)
	if _, err := b.db.Pull(t.Context(), before,
		[]store.Pull{{Subject: s, Action: decide.UpdateRecord, Row: modules.Row{"label": modules.Text("b")}}}); err != nil {
		t.Errorf("under rules that hold again: %v", err)
	}
}
