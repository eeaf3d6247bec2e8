package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	gosync "sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"iasql/internal/decide"
	"iasql/internal/modules"
	"iasql/internal/platform"
	"iasql/internal/postgres"
	"iasql/internal/store"
	"iasql/internal/sync"
	"iasql/internal/test/stopwatch"
	"iasql/internal/test/testdb"
)

func TestMain(m *testing.M) {
	testdb.Main(m, func(ctx context.Context, url string) error {
		registry, err := newScripted().registry()
		if err != nil {
			return err
		}
		if err := platform.Migrate(ctx, url, registry, "test"); err != nil {
			return err
		}
		pool, err := postgres.Connect(ctx, url, 2)
		if err != nil {
			return err
		}
		defer pool.Close()
		_, err = platform.Install(ctx, pool, registry, []string{"scripted"})
		return err
	})
}

// bench is a database with a scripted cloud.
type bench struct {
	*testing.T
	cloud    *scripted
	registry *modules.Registry
	url      string
	engine   *pgxpool.Pool // the engine's connections
	user     *pgxpool.Pool
	db       *postgres.Database
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{T: t, cloud: newScripted(), url: testdb.New(t)}
	var err error
	if b.registry, err = b.cloud.registry(); err != nil {
		t.Fatal(err)
	}
	if b.engine, err = postgres.Connect(t.Context(), b.url, 16); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.engine.Close)
	if b.user, err = pgxpool.New(t.Context(), b.url); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.user.Close)
	b.db = &postgres.Database{Pool: b.engine, Registry: b.registry}
	return b
}

func (b *bench) exec(sql string, args ...any) {
	b.Helper()
	if _, err := b.user.Exec(b.Context(), sql, args...); err != nil {
		b.Fatalf("%s: %v", sql, err)
	}
}

func (b *bench) query(sql string, args ...any) string {
	b.Helper()
	var s string
	if err := b.user.QueryRow(b.Context(), `SELECT coalesce((`+sql+`)::text, '')`, args...).Scan(&s); err != nil {
		b.Fatalf("%s: %v", sql, err)
	}
	return s
}

func (b *bench) cycle(ctx context.Context, name string, kind store.Kind) (store.Report, error) {
	lease, err := b.db.Acquire(ctx, "main", name, postgres.CycleOptions{Kind: string(kind)})
	if err != nil {
		return store.Report{}, err
	}
	e := &sync.Reconciler{Store: b.db, Registry: b.registry}
	report, err := e.Cycle(ctx, lease.Lease, kind)
	return report, errors.Join(err, lease.Release(report, err))
}

func (b *bench) mustCycle(kind store.Kind) store.Report {
	b.Helper()
	report, err := b.cycle(b.Context(), "bench", kind)
	if err != nil {
		b.Fatal(err)
	}
	return report
}

// Writes of a cycle whose account was taken over are refused (R15).
func TestFence(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.exec(`INSERT INTO box (label) VALUES ('a')`)
	old, err := b.db.Acquire(t.Context(), "main", "old", postgres.CycleOptions{Kind: "push"})
	if err != nil {
		t.Fatal(err)
	}
	// The old engine's connection breaks without its knowing.
	b.exec(`
		SELECT pg_terminate_backend(l.pid) FROM pg_locks l JOIN pg_database d ON d.oid = l.database
		WHERE d.datname = current_database() AND l.locktype = 'advisory' AND l.classid = 1229017938::oid`)
	fresh, err := b.db.Acquire(t.Context(), "main", "new", postgres.CycleOptions{Kind: "push"})
	if err != nil {
		t.Fatal(err)
	}
	zombie := &sync.Reconciler{Store: b.db, Registry: b.registry}
	if _, err := zombie.Cycle(t.Context(), old.Lease, store.Push); !errors.Is(err, store.ErrLeaseLost) &&
		len(b.cloud.boxes) > 0 {
		t.Errorf("the zombie's cycle: %v, %d objects", err, len(b.cloud.boxes))
	}
	if _, err := b.db.Begin(t.Context(), old.Lease,
		decide.Intent{Record: decide.RecordRef{Table: "box", ID: 1}, Kind: decide.OpCreate}); !errors.Is(err, store.ErrLeaseLost) {
		t.Errorf("Begin: %v", err)
	}
	if err := b.db.Settle(t.Context(), old.Lease, nil); !errors.Is(err, store.ErrLeaseLost) {
		t.Errorf("Settle: %v", err)
	}
	if err := fresh.Release(store.Report{}, nil); err != nil {
		t.Fatal(err)
	}
	_ = old.Release(store.Report{}, nil)
	b.mustCycle(store.Push)
	if len(b.cloud.boxes) != 1 {
		t.Errorf("%d objects", len(b.cloud.boxes))
	}
}

// A cycle ends when its turn is over, says that there is more, and is continued by
// the next: others had theirs in between. One that is waited for is not cut short.
func TestTurn(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.exec(`WITH b AS (INSERT INTO box (label) VALUES ('a') RETURNING id) INSERT INTO item (box_id, label) SELECT id, 'b' FROM b`)
	turns := 0
	for more := true; more; turns++ {
		lease, err := b.db.Acquire(t.Context(), "main", "test", postgres.CycleOptions{Kind: "push"})
		if err != nil {
			t.Fatal(err)
		}
		e := &sync.Reconciler{Store: b.db, Registry: b.registry, TimeSlice: 1}
		report, err := e.Cycle(t.Context(), lease.Lease, store.Push)
		if err := errors.Join(err, lease.Release(report, err)); err != nil {
			t.Fatal(err)
		}
		if more = report.More; report.Passes != 1 || turns > 10 {
			t.Fatalf("turn %d: %d passes, more: %v", turns, report.Passes, more)
		}
	}
	if left := b.query(`SELECT count(*) FROM iasql_audit_log WHERE NOT settled`); turns < 3 || left != "0" ||
		len(b.cloud.items) != 1 {
		t.Errorf("after %d turns %s changes are left, and there are %d items", turns, left, len(b.cloud.items))
	}
	b.exec(`UPDATE box SET size = 2`)
	lease, err := b.db.Acquire(t.Context(), "main", "test", postgres.CycleOptions{Kind: "full"})
	if err != nil {
		t.Fatal(err)
	}
	waited := &sync.Reconciler{Store: b.db, Registry: b.registry, TimeSlice: -1}
	report, err := waited.Cycle(t.Context(), lease.Lease, store.Full)
	if err := errors.Join(err, lease.Release(report, err)); err != nil || report.More || report.Passes < 2 {
		t.Errorf("a cycle that is waited for: %d passes, more: %v, %v", report.Passes, report.More, err)
	}
}

// A pull is applied only to the version it was decided on, and neither waits
// for nor overwrites a row that an open transaction holds (R3).
func TestPullRespectsUsers(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for i := range 3 {
		b.cloud.boxes[fmt.Sprintf("box-%d", i)] = modules.Row{"account": modules.Text("main"),
			"box_id": modules.Text(fmt.Sprintf("box-%d", i)), "label": modules.Text("old"), "size": modules.Int(1),
			"tags": modules.Null}
	}
	b.mustCycle(store.Full)
	ids := []int64{1, 2, 3}
	subjects, err := b.db.Load(t.Context(), boxTable, ids)
	if err != nil || len(subjects) != 3 {
		t.Fatal(subjects, err)
	}
	b.exec(`UPDATE box SET size = 7 WHERE id = 1`) // after it was read
	tx, err := b.user.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(t.Context())
	if _, err := tx.Exec(t.Context(), `UPDATE box SET size = 8 WHERE id = 2`); err != nil { // not committed yet
		t.Fatal(err)
	}
	lease, err := b.db.Acquire(t.Context(), "main", "test", postgres.CycleOptions{Kind: "full"})
	if err != nil {
		t.Fatal(err)
	}
	var pulls []store.Pull
	for _, s := range subjects {
		pulls = append(pulls, store.Pull{Subject: s, Action: decide.UpdateRecord,
			Row: modules.Row{"label": modules.Text("new")}})
	}
	begun := stopwatch.Start()
	results, err := b.db.Pull(t.Context(), lease.Lease, pulls)
	if err != nil {
		t.Fatal(err)
	}
	if took := begun.Took(); took > time.Second {
		t.Errorf("the pull waited for %s", took)
	}
	for i, want := range []bool{false, false, true} {
		if results[i].Applied != want {
			t.Errorf("pull %d: applied %v", i+1, results[i].Applied)
		}
	}
	if err := lease.Release(store.Report{}, nil); err != nil {
		t.Fatal(err)
	}
}

// A record that a user's constraint refuses fails alone, and says why (R8).
func TestOneBadRecordAmongMany(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.exec(`ALTER TABLE box ADD CONSTRAINT no_thirteen CHECK (size <> 13)`)
	for i := range 100 {
		id := fmt.Sprintf("box-%03d", i)
		b.cloud.boxes[id] = modules.Row{"account": modules.Text("main"), "box_id": modules.Text(id),
			"label": modules.Text("x"), "size": modules.Int(i), "tags": modules.Null}
	}
	report := b.mustCycle(store.Full)
	if got := b.query(`SELECT count(*) FROM box`); got != "99" {
		t.Errorf("%s records", got)
	}
	if len(report.Errors) != 1 || !strings.Contains(report.Errors[0].Err.Error(), "no_thirteen") {
		t.Errorf("errors: %v", report.Errors)
	}
	b.exec(`ALTER TABLE box DROP CONSTRAINT no_thirteen`)
	b.mustCycle(store.Full)
	if got := b.query(`SELECT count(*) FROM box`); got != "100" {
		t.Errorf("%s records", got)
	}
	// An update that does not fit keeps the record as it is.
	b.exec(`ALTER TABLE box ADD CONSTRAINT small CHECK (size < 1000)`)
	b.cloud.boxes["box-050"]["size"] = modules.Int(5000)
	b.cloud.boxes["box-051"]["size"] = modules.Int(500)
	b.mustCycle(store.Full)
	if got := b.query(`SELECT string_agg(size::text, ',' ORDER BY box_id) FROM box WHERE box_id IN ('box-050', 'box-051')`); got != "50,500" {
		t.Errorf("sizes: %s", got)
	}
	if got := b.query(`SELECT state || review || (message LIKE '%small%') FROM iasql_status WHERE state <> 'Present'`); got != "UpdatingFailedtruetrue" {
		t.Errorf("status: %s", got)
	}
}

// In a quiet world the second cycle writes nothing at all (R12).
func TestQuietCycleWritesNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for i := range 2500 {
		id := fmt.Sprintf("box-%04d", i)
		b.cloud.boxes[id] = modules.Row{"account": modules.Text("main"), "box_id": modules.Text(id),
			"label": modules.Text("x"), "size": modules.Int(i), "tags": modules.StringMap(map[string]string{"n": id})}
	}
	if imported := b.mustCycle(store.Full); imported.Read != 0 || imported.Listed != 2500 {
		t.Errorf("the import has listed %d objects and read %d of them once more", imported.Listed, imported.Read)
	}
	writes := func() string {
		return b.query(`SELECT string_agg(relname || n_tup_ins + n_tup_upd + n_tup_del, ',' ORDER BY relname) FROM pg_stat_xact_user_tables WHERE false`) +
			b.query(`SELECT count(*) || '/' || max(id) FROM iasql_audit_log`) + b.query(
			`SELECT count(*) FROM iasql_operations`) + b.query(`SELECT count(*) FROM iasql_internal.record_state`) +
			b.query(`SELECT max(xmin::text::bigint) FROM box`)
	}
	before := writes()
	report := b.mustCycle(store.Full)
	if after := writes(); after != before || report.Pulled+report.Pushed+report.Settled+report.Failed != 0 {
		t.Errorf("was %s, is %s, report %+v", before, after, report)
	}
}

// The invariants of the simulated world on the real database: users with
// transactions that stay open and commit late, somebody editing the cloud, two
// engines, cut connections, lost answers, refusals. When the faults stop, every
// record is equal on both sides, every change is settled, nothing is doubled,
// and nothing was deleted that nobody deleted.
func TestInvariantsUnderFaults(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.exec(`UPDATE iasql_settings SET value = '0 seconds' WHERE name = 'consistency_window'`)
	b.exec(`UPDATE iasql_settings SET value = '1000000' WHERE name IN ('max_deletes', 'delete_ratio_floor')`)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	var (
		faults      = rand.New(rand.NewPCG(seed, 1)) // under the cloud's lock
		userDeleted gosync.Map                       // "table id" a user deleted
		ctx, stop   = context.WithCancel(t.Context())
		wg          gosync.WaitGroup
	)
	b.cloud.fault = func(action string) (before, after error) {
		switch n := faults.IntN(100); {
		case n < 3:
			return &modules.Error{Class: modules.Throttled, Code: "Throttling"}, nil
		case n < 6:
			return &modules.Error{Class: modules.Transient, Code: "InternalError"}, nil
		case n < 12:
			return nil, &modules.Error{Class: modules.MayHaveHappened, Code: "lost"}
		}
		return nil, nil
	}
	work := func(f func(rng *rand.Rand) error, n uint64) {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(seed, n))
			for ctx.Err() == nil {
				_ = f(rng) // refusals, cut connections and unique violations are part of it
			}
		})
	}
	for u := range 3 {
		work(func(rng *rand.Rand) error {
			return pgx.BeginFunc(ctx, b.user, func(tx pgx.Tx) error {
				deleted := []string{}
				for range 1 + rng.IntN(3) {
					var err error
					switch rng.IntN(6) {
					case 0, 1:
						_, err = tx.Exec(ctx, `INSERT INTO box (label, size) VALUES ($1, $2)`,
							fmt.Sprintf("u%d", rng.IntN(1000)), rng.IntN(100))
					case 2:
						_, err = tx.Exec(ctx, `INSERT INTO item (box_id, label) SELECT id, 'i' FROM box ORDER BY random() LIMIT 1`)
					case 3:
						_, err = tx.Exec(ctx, `UPDATE box SET size = $1 WHERE id = (SELECT id FROM box ORDER BY random() LIMIT 1)`, rng.IntN(100))
					case 4:
						_, err = tx.Exec(ctx, `UPDATE item SET label = $1 WHERE id = (SELECT id FROM item ORDER BY random() LIMIT 1)`, fmt.Sprint(rng.IntN(100)))
					default:
						var id int64
						err = tx.QueryRow(ctx, `DELETE FROM item WHERE id = (SELECT id FROM item ORDER BY random() LIMIT 1) RETURNING id`).Scan(&id)
						if errors.Is(err, pgx.ErrNoRows) {
							err = nil
						}
						deleted = append(deleted, fmt.Sprintf("item %d", id))
					}
					if err != nil {
						return err
					}
					if rng.IntN(4) == 0 { // stays open for a while
						if _, err := tx.Exec(ctx, `SELECT pg_sleep($1)`, rng.Float64()/5); err != nil {
							return err
						}
					}
				}
				if rng.IntN(5) == 0 {
					return errors.New("changed its mind")
				}
				for _, d := range deleted {
					userDeleted.Store(d, true)
				}
				return nil
			})
		}, 10+uint64(u))
	}
	for e := range 2 {
		work(func(rng *rand.Rand) error {
			kind := store.Push
			if rng.IntN(3) == 0 {
				kind = store.Full
			}
			_, err := b.cycle(ctx, fmt.Sprintf("engine-%d", e), kind)
			return err
		}, 20+uint64(e))
	}
	work(func(rng *rand.Rand) error { // somebody in the console
		b.cloud.lock.Lock()
		defer b.cloud.lock.Unlock()
		for id, o := range b.cloud.boxes {
			if rng.IntN(50) == 0 {
				o["label"] = modules.Text(fmt.Sprintf("console %d", rng.IntN(1000)))
			}
			if _, full := b.cloud.items[id]; !full && rng.IntN(5000) == 0 {
				break
			}
		}
		return nil
	}, 30)
	work(func(rng *rand.Rand) error { // the database's connections are cut
		_, err := b.user.Exec(ctx, `SELECT pg_sleep($1)`, 0.1+rng.Float64()/4)
		if err == nil {
			_, err = b.user.Exec(ctx, `
				SELECT pg_terminate_backend(pid) FROM pg_stat_activity
				WHERE datname = current_database() AND pid <> pg_backend_pid() ORDER BY random() LIMIT 1`)
		}
		return err
	}, 40)
	timer := time.AfterFunc(6*time.Second, stop)
	defer timer.Stop()
	wg.Wait()

	// Faults stop, and connections that were cut are made anew.
	b.user.Reset()
	b.engine.Reset()
	b.cloud.lock.Lock()
	b.cloud.fault = nil
	b.cloud.lock.Unlock()
	// Somebody in the console who changes a value each time it has been pushed
	// looks like a cloud that does not keep it: a person is asked, and says to
	// go on. The next cycle may be the one that asks, so each record that has been
	// counted begins anew. Nothing else may need a person.
	b.exec(`UPDATE iasql_internal.record_state SET next_attempt_at = now(), unconfirmed = 0 WHERE unconfirmed > 0 OR message LIKE '%does not keep it'`)
	for range 40 {
		b.exec(`UPDATE iasql_internal.record_state SET next_attempt_at = now() WHERE NOT review OR next_attempt_at < 'infinity'`)
		report := b.mustCycle(store.Full)
		if report.Pulled+report.Pushed+report.Settled+report.Failed == 0 &&
			b.query(`SELECT count(*) FROM iasql_audit_log WHERE NOT settled`) == "0" {
			break
		}
	}
	if got := b.query(`SELECT string_agg(table_name || record_id || ' ' || state || ' ' || message, E'\n') FROM iasql_status WHERE state <> 'Present'`); got != "" {
		t.Errorf("not at a fixpoint:\n%s", got)
	}
	if got := b.query(`SELECT count(*) FROM iasql_audit_log WHERE NOT settled`); got != "0" {
		t.Errorf("%s changes are not settled", got)
	}
	here, there := map[string]string{}, map[string]string{}
	rows, err := b.user.Query(t.Context(), `
		SELECT box_id, concat_ws('|', label, size, tags) FROM box
		UNION ALL SELECT i.item_id, concat_ws('|', b.box_id, i.label) FROM item i JOIN box b ON b.id = i.box_id`)
	if err != nil {
		t.Fatal(err)
	}
	var id, text string
	if _, err := pgx.ForEachRow(rows, []any{&id, &text}, func() error {
		here[id] = text
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	for id, o := range b.cloud.boxes {
		there[id] = o["label"].String() + "|" + o["size"].String()
	}
	for id, o := range b.cloud.items {
		there[id] = o["box_id"].String() + "|" + o["label"].String()
	}
	for id, text := range here {
		if there[id] != text {
			t.Errorf("%s is %q here and %q there", id, text, there[id])
		}
	}
	for id := range there {
		if _, ok := here[id]; !ok {
			t.Errorf("%s is in the cloud alone: an object was doubled or a record lost", id)
		}
	}
	for id := range b.cloud.deletes {
		record := b.query(`SELECT max(table_name || ' ' || record_id) FROM iasql_operations WHERE key = $1`, id)
		if _, ok := userDeleted.Load(record); !ok {
			t.Errorf("%s (%s) was deleted and nobody deleted it", id, record)
		}
	}
	t.Logf("%d creations, %d deletions, %s cycles, %s changes", b.cloud.creates, len(b.cloud.deletes),
		b.query(`SELECT count(*) FROM iasql_cycles`),
		b.query(`SELECT count(*) FROM iasql_audit_log WHERE origin = 'user'`))
}
