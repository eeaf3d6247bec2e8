package postgres_test

import (
	"testing"
	"time"

	"iasql/internal/modules"
	"iasql/internal/postgres"
	"iasql/internal/store"
)

// What a function has made is looked for by the next full cycle, also if a listing that
// began before ends afterwards.
func TestExpectedDuringListing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.mustCycle(store.Full)
	due := func() bool {
		t.Helper()
		all, err := b.db.Listings(t.Context(), "main")
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range all {
			if l.Table == "box" {
				return l.Age > 24*time.Hour
			}
		}
		t.Fatal("box is not listed")
		return false
	}
	listed := func(age time.Duration) {
		t.Helper()
		lease, err := b.db.Acquire(t.Context(), "main", "test", postgres.CycleOptions{Kind: "full"})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { lease.Release(store.Report{}, nil) }()
		if err := b.db.Listed(t.Context(), lease.Lease,
			[]store.Listing{{Table: "box", Scope: modules.Scope{Account: "main"}, Age: age, Complete: true}}, nil); err != nil {
			t.Fatal(err)
		}
	}
	if due() {
		t.Error("it is due at once")
	}
	b.exec(`UPDATE iasql_internal.listing SET expected = clock_timestamp() - interval '1 minute' WHERE table_name = 'box'`)
	listed(2 * time.Minute)
	if !due() {
		t.Error("a listing that began before passes for having shown it")
	}
	listed(0)
	if due() {
		t.Error("it is listed again and again")
	}
}
