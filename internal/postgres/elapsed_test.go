package postgres_test

import (
	"testing"
	"time"

	"iasql/internal/decide"
	"iasql/internal/modules"
	"iasql/internal/postgres"
	"iasql/internal/store"
)

// How long ago a call was made does not depend on the server's clock, on which
// engine made it, or on engines that were not there.
func TestElapsed(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	const window = 3 * time.Second
	b.exec(`INSERT INTO box (label) VALUES ('a')`)
	// call journals a call by one engine, and leaves it without an end if unknown.
	call := func(db *postgres.Database, result decide.Result, takes time.Duration) {
		t.Helper()
		lease, err := db.Acquire(t.Context(), "main", "one", postgres.CycleOptions{Kind: "push"})
		if err != nil {
			t.Fatal(err)
		}
		id, err := db.Begin(t.Context(), lease.Lease,
			decide.Intent{Record: decide.RecordRef{Table: "box", ID: 1}, Kind: decide.OpUpdate,
				Scope: modules.Scope{Account: "main"}, Key: "box-1"})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(takes)
		subjects, err := db.Load(t.Context(), boxTable, []int64{1})
		if err != nil {
			t.Fatal(err)
		}
		if err := db.Finish(t.Context(), lease.Lease,
			[]store.Outcome{{Intent: decide.Intent{IDs: []int64{id}, Kind: decide.OpUpdate, Result: result},
				Subject: subjects[0]}}); err != nil {
			t.Fatal(err)
		}
		if err := lease.Release(store.Report{}, nil); err != nil {
			t.Fatal(err)
		}
	}
	// look returns what an engine sees when it takes the lease.
	look := func(db *postgres.Database) (recent int, settled bool) {
		t.Helper()
		lease, err := db.Acquire(t.Context(), "main", "another", postgres.CycleOptions{Kind: "push"})
		if err != nil {
			t.Fatal(err)
		}
		own, open, err := db.Intents(t.Context(), "main", window)
		if err != nil {
			t.Fatal(err)
		}
		if err := lease.Release(store.Report{}, nil); err != nil {
			t.Fatal(err)
		}
		return len(own), len(open) == 1 && open[0].Expired
	}
	engine := func() *postgres.Database { return &postgres.Database{Pool: b.engine, Registry: b.registry} }
	one := engine()
	// An update of a known object: it may have been made just before its answer was lost.
	call(one, decide.ResultUnknown, 3200*time.Millisecond)
	call(one, decide.ResultOK, 0)
	for _, jump := range []string{"-2 days", "4 days", "-2 days"} {
		b.exec(`UPDATE iasql_operations SET started = started - $1::interval, ended = ended - $1::interval`, jump)
		if n, settled := look(one); n != 2 || settled {
			t.Errorf("the clock jumps by %s: %d recent writes, settled: %v", jump, n, settled)
		}
	}
	time.Sleep(3200 * time.Millisecond)
	if n, settled := look(one); n != 0 || settled {
		t.Errorf("after more than the window: %d recent writes, settled: %v", n, settled)
	}
	time.Sleep(3200 * time.Millisecond)
	if _, settled := look(one); !settled {
		t.Error("after more than twice the window it is not settled")
	}
	// Another engine goes by what the first has written down, and on from there.
	two := engine()
	if n, settled := look(two); n != 0 || !settled {
		t.Errorf("another engine: %d recent writes, settled: %v", n, settled)
	}
	call(one, decide.ResultOK, 0)
	three := engine() // time has stood still since that call
	time.Sleep(3200 * time.Millisecond)
	if n, _ := look(three); n != 1 {
		t.Errorf("an engine that has just come: %d recent writes", n)
	}
	time.Sleep(5 * time.Second)
	if n, _ := look(three); n != 0 {
		t.Errorf("after it has been there for more than the window: %d recent writes", n)
	}
	// What a long cycle knew is not lost with its engine: another goes on from the
	// last operation, and from when it began to wait.
	call(one, decide.ResultUnknown, 1500*time.Millisecond)
	was, four := one.Elapsed("main"), engine()
	if look(four); four.Elapsed("main") < was-0.5 {
		t.Errorf("after a long cycle time went back from %.1f s to %.1f s", was, four.Elapsed("main"))
	}
	b.exec(`DELETE FROM iasql_operations WHERE result = 'unknown'`)
	lease, err := four.Acquire(t.Context(), "main", "four", postgres.CycleOptions{Kind: "push"})
	if err != nil {
		t.Fatal(err)
	}
	five := engine()
	came := make(chan error, 1)
	go func() {
		waited, err := five.Acquire(t.Context(), "main", "five", postgres.CycleOptions{Kind: "push"})
		if err == nil {
			err = waited.Release(store.Report{}, nil)
		}
		came <- err
	}()
	time.Sleep(1500 * time.Millisecond)
	was = four.Elapsed("main")
	if err := lease.Release(store.Report{}, nil); err != nil {
		t.Fatal(err)
	}
	if err := <-came; err != nil || five.Elapsed("main") < was-0.5 {
		t.Errorf("an engine that waited says %.1f s, the one it waited for %.1f s: %v", five.Elapsed("main"), was, err)
	}
	// Rows of an engine of an earlier version go by the clock.
	b.exec(`UPDATE iasql_operations SET elapsed = NULL, ended = now() WHERE ended IS NOT NULL`)
	if n, _ := look(three); n != 2 {
		t.Errorf("rows without the account's time: %d recent writes", n)
	}
}
