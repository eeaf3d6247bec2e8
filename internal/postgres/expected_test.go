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
	known := func() store.Listing {
		t.Helper()
		all, err := b.db.Listings(t.Context(), "main")
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range all {
			if l.Table == "box" {
				return l
			}
		}
		t.Fatal("box is not listed")
		return store.Listing{}
	}
	due := func() bool { t.Helper(); return known().Age > 24*time.Hour }
	listed := func(expected string) {
		t.Helper()
		lease, err := b.db.Acquire(t.Context(), "main", "test", postgres.CycleOptions{Kind: "full"})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { lease.Release(store.Report{}, nil) }()
		if err := b.db.Listed(t.Context(), lease.Lease, []store.Listing{{Table: "box",
			Scope: modules.Scope{Account: "main"}, Complete: true, Expected: expected}}, nil); err != nil {
			t.Fatal(err)
		}
	}
	if due() {
		t.Error("it is due at once")
	}
	const expect = `UPDATE iasql_internal.listing SET expected = clock_timestamp() WHERE table_name = 'box'`
	before := known().Expected
	b.exec(expect)
	listed(before)
	if !due() {
		t.Error("a listing that began before passes for having shown it")
	}
	before = known().Expected
	b.exec(expect)
	listed(before)
	if !due() {
		t.Error("a listing that was to show one thing passes for having shown another, which came up after it began")
	}
	listed(known().Expected)
	if due() {
		t.Error("it is listed again and again")
	}
}
