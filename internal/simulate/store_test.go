package simulate

import (
	"testing"

	"iasql/internal/decide"
	"iasql/internal/modules"
	"iasql/internal/store"
)

// An identity that an open transaction has taken makes pulls wait until it ends,
// also if the transaction has given it up again.
func TestTakenIdentity(t *testing.T) {
	ctx, s := t.Context(), NewStore()
	table := registry.Table("name")
	row := modules.Row{modules.ColumnAccount: modules.Text(account)}
	for _, c := range []string{"name", "kind"} {
		row[c] = value(c, 0)
	}
	id, ok, err := s.Insert(ctx, 1, "name", 0, row)
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	if ok, err := s.Delete(ctx, 1, "name", id); err != nil || !ok {
		t.Fatal(ok, err)
	}
	pull := store.Pull{Subject: &decide.Subject{Table: table, Scope: table.Scope(row)},
		Action: decide.InsertRecord, Row: row}
	applied := func() bool {
		t.Helper()
		lease, err := s.Take(ctx)
		if err != nil {
			t.Fatal(err)
		}
		results, err := s.Pull(ctx, lease, []store.Pull{pull})
		if err != nil || results[0].Err != nil {
			t.Fatal(err, results[0].Err)
		}
		return results[0].Applied
	}
	if applied() {
		t.Error("a pull did not wait for the transaction that has taken its identity")
	}
	if err := s.Rollback(ctx, 1); err != nil {
		t.Fatal(err)
	}
	if !applied() {
		t.Error("a pull waits for a transaction that has ended")
	}
}
