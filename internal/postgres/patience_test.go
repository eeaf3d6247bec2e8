package postgres_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"

	"iasql/internal/postgres"
	"iasql/internal/test/testdb"
)

func newPool(t *testing.T) *pgxpool.Pool {
	t.Helper()
	pool, err := postgres.Connect(t.Context(), testdb.New(t), 16)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

// Short statements that begin at the same moment share connections.
func TestPoolStaysSmall(t *testing.T) {
	t.Parallel()
	pool := newPool(t)
	var g errgroup.Group
	for range 12 {
		g.Go(func() error {
			_, err := pool.Exec(t.Context(), `SELECT pg_sleep(0.001)`)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	// One would do where nothing else runs; on a busy machine some wait in vain.
	if n := pool.Stat().TotalConns(); n > 6 {
		t.Errorf("12 short statements at once take %d connections", n)
	}
}

// Whoever holds a connection gets another, though nobody gives one back.
func TestPoolGrowsForHolders(t *testing.T) {
	t.Parallel()
	pool := newPool(t)
	begun := time.Now()
	for range 8 {
		conn, err := pool.Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Release()
	}
	if took := time.Since(begun); took > 20*time.Second {
		t.Errorf("8 connections held at once take %s", took)
	}
	if n := pool.Stat().TotalConns(); n != 8 {
		t.Errorf("8 are held of %d", n)
	}
}
