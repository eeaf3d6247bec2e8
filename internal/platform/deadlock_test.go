package platform

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"iasql/internal/test/testdb"
)

// DDL that the server ends because of a deadlock with somebody's transaction is done all the same, once that is
// through.
func TestDeadlockOfDDL(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	pool, err := pgxpool.New(ctx, testdb.Empty(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	if _, err := pool.Exec(ctx, `CREATE TABLE first (); CREATE TABLE second ()`); err != nil {
		t.Fatal(err)
	}
	other, err := pool.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	// The other one is not the victim.
	if _, err := other.Exec(ctx, `SET LOCAL deadlock_timeout = '1min'; LOCK TABLE second`); err != nil {
		t.Fatal(err)
	}
	attempts, waited := 0, make(chan error, 1)
	err = inDDL(ctx, pool, func(tx pgx.Tx) error {
		if attempts++; attempts == 1 {
			if _, err := tx.Exec(ctx, `LOCK TABLE first`); err != nil {
				return err
			}
			go func() {
				_, err := other.Exec(ctx, `LOCK TABLE first`)
				if err == nil {
					err = other.Commit(ctx)
				}
				waited <- err
			}()
		}
		_, err := tx.Exec(ctx, `ALTER TABLE second ADD COLUMN made boolean`)
		return err
	})
	if err != nil || attempts != 2 {
		t.Errorf("%d attempts, %v", attempts, err)
	}
	if err := <-waited; err != nil {
		t.Error(err)
	}
}
