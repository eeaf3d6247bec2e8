package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"iasql/internal/modules"
	"iasql/internal/platform"
	"iasql/internal/postgres"
	"iasql/internal/store"
	"iasql/internal/sync"
)

// bench is an installation with n objects in its cloud, in a database of its own.
type bench struct {
	n        int
	url      string
	pool     *pgxpool.Pool
	database *postgres.Database
	cycle    *sync.Reconciler
	cloud    *cloud
}

// measureScripted measures one installation after the other, and then edits in
// all of them by turns: a difference between sizes is then not one of the time of
// day.
func measureScripted(ctx context.Context, url string, sizes []int) error {
	var benches []*bench
	for _, n := range sizes {
		b, err := newBench(ctx, url, n)
		if err != nil {
			return fmt.Errorf("%d objects: %w", n, err)
		}
		defer b.pool.Close()
		benches = append(benches, b)
		if err := b.measure(ctx); err != nil {
			return fmt.Errorf("%d objects: %w", n, err)
		}
	}
	return measureEdits(ctx, benches)
}

func newBench(ctx context.Context, url string, n int) (*bench, error) {
	b := &bench{n: n, cloud: newCloud(n)}
	registry, err := b.registry()
	if err != nil {
		return nil, err
	}
	if b.url, err = newDatabase(ctx, url, fmt.Sprint("bench_", n)); err != nil {
		return nil, err
	}
	if err := platform.Migrate(ctx, b.url, registry, "bench"); err != nil {
		return nil, err
	}
	if b.pool, err = postgres.Connect(ctx, b.url, 16); err != nil {
		return nil, err
	}
	b.database = &postgres.Database{Pool: b.pool, Registry: registry}
	b.cycle = &sync.Reconciler{Store: b.database, Registry: registry}
	_, err = platform.Install(ctx, b.pool, registry, []string{"bench"})
	return b, err
}

func (b *bench) registry() (*modules.Registry, error) { return modules.NewRegistry(b.cloud.module()) }

// engineLogin prepares a database for engines, and returns the URL of their login.
func engineLogin(ctx context.Context, admin string) (string, error) {
	u, err := url.Parse(admin)
	if err != nil {
		return "", err
	}
	u.User = url.UserPassword("iasql_bench_engine", "secret")
	return u.String(), platform.Bootstrap(ctx, admin, u.String())
}

// newDatabase makes an empty database, and returns its URL.
func newDatabase(ctx context.Context, admin, name string) (string, error) {
	conn, err := pgx.Connect(ctx, admin)
	if err != nil {
		return "", err
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, `CREATE DATABASE `+pgx.Identifier{name}.Sanitize()); err != nil {
		return "", err
	}
	u, err := url.Parse(admin)
	if err != nil {
		return "", err
	}
	u.Path = "/" + name
	return u.String(), nil
}

func (b *bench) measure(ctx context.Context) error {
	n := b.n
	var took time.Duration
	var memory uint64
	var r store.Report
	full := func() (err error) {
		took, memory, r, err = b.run(ctx, store.Full)
		return err
	}
	if err := profiled("import", n, full); err != nil {
		return err
	}
	if r.Pulled != n {
		return fmt.Errorf("%d of %d imported: %v", r.Pulled, n, r.Errors)
	}
	report("import", n, took.Seconds(), "s", fmt.Sprintf("%d MB resident at most", memory>>20))
	report("import, resident memory", n, float64(memory>>20), "MB", "")
	if _, err := b.pool.Exec(ctx, `ANALYZE`); err != nil {
		return err
	}
	var quiet []time.Duration
	for i := range *repeat + 1 {
		if err := profiled("quiet cycle", n, full); err != nil {
			return err
		}
		if r.Pulled+r.Pushed+r.Settled+r.Failed != 0 {
			return fmt.Errorf("a quiet cycle wrote: %+v", r)
		}
		if i > 0 {
			quiet = append(quiet, took)
		}
	}
	slices.Sort(quiet)
	report("quiet cycle", n, quiet[len(quiet)/2].Seconds(), "s", fmt.Sprintf("%d MB resident at most", memory>>20))
	report("quiet cycle, resident memory", n, float64(memory>>20), "MB", "")
	return b.bulkInsert(ctx)
}

// run times a cycle, and returns the most memory the process had meanwhile.
func (b *bench) run(ctx context.Context, kind store.Kind) (time.Duration, uint64, store.Report, error) {
	resetResident()
	begun := time.Now()
	r, err := b.runIn(ctx, mainAccount, kind)
	took := time.Since(begun)
	return took, peakResident(), r, err
}

// runIn runs a cycle of an account.
func (b *bench) runIn(ctx context.Context, account string, kind store.Kind) (store.Report, error) {
	lease, err := b.database.Acquire(ctx, account, "bench", postgres.CycleOptions{Kind: string(kind)})
	if err != nil {
		return store.Report{}, err
	}
	r, err := b.cycle.Cycle(ctx, lease.Lease, kind)
	return r, errors.Join(err, lease.Release(r, err))
}

// bulkInsert compares an INSERT of n rows with and without the audit trigger.
func (b *bench) bulkInsert(ctx context.Context) error {
	n := b.n
	user, err := pgxpool.New(ctx, b.url)
	if err != nil {
		return err
	}
	defer user.Close()
	if _, err := user.Exec(ctx, `CREATE TABLE plain (LIKE thing INCLUDING ALL); ALTER TABLE plain ADD FOREIGN KEY (account) REFERENCES owner (name)`); err != nil {
		return err
	}
	defer user.Exec(ctx, `DROP TABLE plain`)
	var with, without []time.Duration
	for range 3 {
		for _, t := range []struct {
			table string
			times *[]time.Duration
		}{{"plain", &without}, {"thing", &with}} {
			tx, err := user.Begin(ctx)
			if err != nil {
				return err
			}
			begun := time.Now()
			_, err = tx.Exec(ctx, `INSERT INTO `+t.table+
				` (label, size, tags) SELECT 'bulk ' || i, i, jsonb_build_object('Name', 'bulk ' || i) FROM generate_series(1, $1) i`, n)
			*t.times = append(*t.times, time.Since(begun))
			if rollback := tx.Rollback(ctx); err != nil || rollback != nil {
				return errors.Join(err, rollback)
			}
		}
	}
	slices.Sort(with)
	slices.Sort(without)
	report("bulk insert with audit, relative", n, with[1].Seconds()/without[1].Seconds(), "×",
		fmt.Sprintf("%s with, %s without", with[1].Round(time.Millisecond), without[1].Round(time.Millisecond)))
	return nil
}
