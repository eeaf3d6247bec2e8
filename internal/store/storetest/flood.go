package storetest

import (
	"fmt"
	"testing"

	"iasql/internal/modules"
	"iasql/internal/simulate"
	"iasql/internal/store"
)

// RunFlood has more hints about one table than are looked into at once: those of others
// have their turn, and a listing ends all that had come before it.
func RunFlood(t *testing.T, open func(testing.TB) Store) {
	t.Helper()
	ctx, s := t.Context(), open(t)
	defer s.Close()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	account := modules.Scope{Account: simulate.Account}
	const flood = store.MaxHints + 200
	for i := range flood {
		must(s.Tell(ctx, store.Hint{Table: "job", Scope: account, Column: "job_id", Value: fmt.Sprint("job-", i)}, 0))
	}
	other := store.Hint{Table: "name", Scope: account, Column: "name", Value: "ann"}
	must(s.Tell(ctx, other, 0))
	count := func(table string) (n, due int, newest int64) {
		t.Helper()
		list, err := s.Hints(ctx, simulate.Account)
		must(err)
		for _, h := range list {
			if h.Table == table {
				n, due, newest = n+1, h.Due, h.Newest
			}
		}
		return n, due, newest
	}
	if n, due, _ := count("name"); n != 1 || due != 1 {
		t.Fatalf("of the other table %d of %d hints are looked into", n, due)
	}
	n, due, newest := count("job")
	if n != store.MaxHints-1 || due != flood {
		t.Fatalf("of the flooded table %d of %d hints are looked into", n, due)
	}
	must(s.Tell(ctx, store.Hint{Table: "job", Scope: account, Column: "job_id", Value: "late"}, 0))
	lease, err := s.Take(ctx)
	must(err)
	must(s.Looked(ctx, lease, nil, []store.ListedPlace{{Table: "job", Scope: account, UpTo: newest}}))
	if n, due, _ := count("job"); n != 1 || due != 1 {
		t.Errorf("after the listing %d of %d hints are left, and one has come since it began", n, due)
	}
	if n, _, _ := count("name"); n != 1 {
		t.Errorf("of the other table %d hints are left", n)
	}
}
