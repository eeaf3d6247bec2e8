package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"iasql/internal/modules"
	"iasql/internal/platform"
	"iasql/internal/postgres"
	"iasql/internal/sync"
)

// bench is an installation with n objects in its cloud.
type bench struct {
	pool     *pgxpool.Pool
	database *postgres.Database
	cycle    *sync.Engine
	cloud    *cloud
}

func measure(ctx context.Context, url string, n int) error {
	b := &bench{cloud: newCloud(n)}
	registry, err := modules.NewRegistry(b.cloud.module())
	if err != nil {
		return err
	}
	if err := platform.Migrate(ctx, url, registry, "bench"); err != nil {
		return err
	}
	if b.pool, err = postgres.Connect(ctx, url, 16); err != nil {
		return err
	}
	defer b.pool.Close()
	if _, err := platform.Install(ctx, b.pool, registry, []string{"bench"}); err != nil {
		return err
	}
	b.database = &postgres.Database{Pool: b.pool, Registry: registry}
	b.cycle = &sync.Engine{Database: b.database, Registry: registry, Log: slog.New(slog.DiscardHandler)}
	defer func() { _, _ = platform.Uninstall(ctx, b.pool, registry, []string{"bench"}) }()

	took, memory, r, err := b.run(ctx, sync.Full)
	if err != nil {
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
		took, memory, r, err = b.run(ctx, sync.Full)
		if err != nil {
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
	if err := b.edits(ctx, url, n); err != nil {
		return err
	}
	return b.bulkInsert(ctx, url, n)
}

// run times a cycle, and returns the most memory the process had meanwhile.
func (b *bench) run(ctx context.Context, kind sync.Kind) (time.Duration, uint64, sync.Report, error) {
	resetResident()
	begun := time.Now()
	lease, err := b.database.Acquire(ctx, "main", "bench", postgres.CycleOptions{Kind: string(kind)})
	if err != nil {
		return 0, 0, sync.Report{}, err
	}
	r, err := b.cycle.Cycle(ctx, lease.Lease, kind)
	err = errors.Join(err, lease.Release(r, err))
	took := time.Since(begun)
	return took, peakResident(), r, err
}

// edits times a push cycle after one edit: from commit to the cloud's call.
func (b *bench) edits(ctx context.Context, url string, n int) error {
	user, err := pgxpool.New(ctx, url)
	if err != nil {
		return err
	}
	defer user.Close()
	var times []time.Duration
	for i := range *edits {
		if _, err := user.Exec(ctx, `UPDATE thing SET label = $1 WHERE id = (SELECT min(id) + $2 FROM thing)`, fmt.Sprint("edit ", i), i%n); err != nil {
			return err
		}
		called := b.cloud.called
		begun := time.Now()
		if _, _, r, err := b.run(ctx, sync.Push); err != nil || r.Pushed != 1 {
			return fmt.Errorf("edit %d: %+v %w", i, r, err)
		}
		if b.cloud.called == called {
			return errors.New("the edit made no call")
		}
		times = append(times, b.cloud.last.Sub(begun))
	}
	slices.Sort(times)
	report("one edit to its call, p50", n, float64(times[len(times)/2].Microseconds())/1000, "ms", "")
	report("one edit to its call, p99", n, float64(times[len(times)*99/100].Microseconds())/1000, "ms", "")
	return nil
}

// bulkInsert compares an INSERT of n rows with and without the audit trigger.
func (b *bench) bulkInsert(ctx context.Context, url string, n int) error {
	user, err := pgxpool.New(ctx, url)
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
			_, err = tx.Exec(ctx, `INSERT INTO `+t.table+` (label, size, tags) SELECT 'bulk ' || i, i, jsonb_build_object('Name', 'bulk ' || i) FROM generate_series(1, $1) i`, n)
			*t.times = append(*t.times, time.Since(begun))
			if rollback := tx.Rollback(ctx); err != nil || rollback != nil {
				return errors.Join(err, rollback)
			}
		}
	}
	slices.Sort(with)
	slices.Sort(without)
	report("bulk insert with audit, relative", n, with[1].Seconds()/without[1].Seconds(), "×", fmt.Sprintf("%s with, %s without", with[1].Round(time.Millisecond), without[1].Round(time.Millisecond)))
	return nil
}
