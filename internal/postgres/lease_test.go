package postgres_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	gosync "sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"iasql/internal/postgres"
	"iasql/internal/store"
)

// engineOf connects another engine to the bench's database.
func (b *bench) engineOf(id string) *postgres.Database {
	b.Helper()
	pool, err := postgres.ConnectEngine(b.Context(), b.url, id, 8)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(pool.Close)
	return &postgres.Database{Pool: pool, Registry: b.registry}
}

// outsider is a connection of a login that has been granted nothing.
func (b *bench) outsider() *pgx.Conn {
	b.Helper()
	var name string
	if err := b.user.QueryRow(b.Context(), `SELECT 'outsider_' || current_database()`).Scan(&name); err != nil {
		b.Fatal(err)
	}
	if b.query(`SELECT count(*) FROM pg_roles WHERE rolname = $1`, name) == "0" {
		b.exec(`CREATE ROLE ` + name + ` LOGIN PASSWORD 'secret'`)
		b.Cleanup(func() { _, _ = b.user.Exec(context.Background(), `DROP ROLE `+name) })
	}
	config, err := pgx.ParseConfig(b.url)
	if err != nil {
		b.Fatal(err)
	}
	config.User, config.Password = name, "secret"
	conn, err := pgx.ConnectConfig(b.Context(), config)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

// However others play with the advisory lock, two engines never both hold the
// lease, each gets it again and again, and connections that break leave nothing
// behind (R15).
func TestLeaseIsExclusive(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	ctx, stop := context.WithTimeout(t.Context(), 6*time.Second)
	defer stop()
	var wg gosync.WaitGroup
	for i := range 3 {
		conn := b.outsider()
		wg.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(i)))
			for ctx.Err() == nil {
				how := []string{"pg_advisory_lock", "pg_advisory_lock_shared", "pg_try_advisory_lock"}[random.IntN(3)]
				_, _ = conn.Exec(ctx, fmt.Sprintf(
					`SELECT %s(1229017938, hashtext('main')); SELECT pg_sleep(%f); SELECT pg_advisory_unlock_all()`,
					how, random.Float64()/20))
			}
		})
	}
	var holders, broken atomic.Int32
	var granted [3]atomic.Int32
	for i := range granted {
		id := fmt.Sprintf("engine-%d", i)
		db := b.engineOf(id)
		for range 2 { // that an engine has the lease is no reason to let it have it twice
			wg.Go(func() {
				for ctx.Err() == nil {
					lease, err := db.Acquire(ctx, "main", id, postgres.CycleOptions{Kind: "push"})
					if err != nil {
						if ctx.Err() == nil {
							t.Error(err)
						}
						return
					}
					if n := holders.Add(1); n > 1 {
						t.Errorf("%d hold the lease", n)
					}
					granted[i].Add(1)
					time.Sleep(time.Duration(rand.IntN(10)) * time.Millisecond)
					holders.Add(-1)
					if rand.IntN(10) == 0 { // its connection breaks
						broken.Add(1)
						b.exec(`SELECT pg_terminate_backend(pid, 5000) FROM iasql_internal.lease WHERE account = 'main'`)
						_ = lease.Release(store.Report{}, nil)
					} else if err := lease.Release(store.Report{}, nil); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	wg.Wait()
	for i := range granted {
		n := granted[i].Load()
		t.Logf("engine %d got the lease %d times", i, n)
		if n < 5 {
			t.Errorf("engine %d got the lease %d times", i, n)
		}
	}
	t.Logf("%d connections broke", broken.Load())
}

// A row that names a backend which has become somebody else's holds nothing: not
// one of an outsider who calls himself an engine, nor one of the same engine that
// got the process id of a connection that broke.
func TestLeaseOfReusedProcess(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	db := b.engineOf("engine-a")
	acquire := func(what string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		lease, err := db.Acquire(ctx, "main", "engine-a", postgres.CycleOptions{Kind: "push"})
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if err := lease.Release(store.Report{}, nil); err != nil {
			t.Fatal(err)
		}
	}
	acquire("at first")
	conn, err := db.Pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	claim := `UPDATE iasql_internal.lease SET engine = $1, pid = $2, role = to_regrole(quote_ident(session_user))`
	b.exec(claim, "engine-a", conn.Conn().PgConn().PID())
	acquire("a pooled connection of its own")
	outsider := b.outsider()
	if _, err := outsider.Exec(t.Context(), `SET application_name = 'iasql engine engine-b'`); err != nil {
		t.Fatal(err)
	}
	b.exec(claim, "engine-b", outsider.PgConn().PID())
	acquire("an outsider under the name of an engine")

	other := b.engineOf("engine-b")
	lease, err := other.Acquire(t.Context(), "main", "engine-b", postgres.CycleOptions{Kind: "push"})
	if err != nil {
		t.Fatal(err)
	}
	b.exec(`SELECT pg_terminate_backend(pid, 5000) FROM iasql_internal.lease`)
	acquire("an engine that was killed")
	_ = lease.Release(store.Report{}, nil)
	acquire("after what it left came to its end")
}

// An engine of an earlier version holds nothing but the advisory lock; while it
// does, no cycle begins.
func TestLeaseOfEarlierVersion(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	old, err := b.engine.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer old.Release()
	if _, err := old.Exec(t.Context(), `SELECT pg_advisory_lock(1229017938, hashtext('main'))`); err != nil {
		t.Fatal(err)
	}
	db := b.engineOf("engine-new")
	got := make(chan error, 1)
	go func() {
		lease, err := db.Acquire(t.Context(), "main", "engine-new", postgres.CycleOptions{Kind: "push"})
		if err == nil {
			err = lease.Release(store.Report{}, nil)
		}
		got <- err
	}()
	select {
	case err := <-got:
		t.Fatalf("the lease was granted: %v", err)
	case <-time.After(3 * time.Second):
	}
	if _, err := old.Exec(t.Context(), `SELECT pg_advisory_unlock_all()`); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-got:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(20 * time.Second):
		t.Error("the lease was not granted")
	}
}
