package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5"

	"iasql/internal/modules"
	"iasql/internal/test/clock"
)

const (
	yearly    = 10_000 // records of the account
	turnover  = 20     // of which so many are made and deleted on each day
	perChange = 50     // edits in a transaction
	retained  = 90     // days that the audit log keeps, by default
	bound     = 1.3    // how much larger than in the week after that anything may become
)

// year is an account in which much is done, whose database lives faster.
type year struct {
	*installation
	clock *clock.Clock
	admin *pgx.Conn
	day   int
}

// measureYear lets days pass, each with edits and with records that come and go. The server's clock jumps from one to
// the next, so autovacuum, which looks for work once a minute, looks each second. What is measured is how large the
// database becomes, what pruning takes and leaves, and what an edit takes at the end. It fails where old rows are left, or
// where a table still grows when the log has reached the age at which it is deleted.
func measureYear(ctx context.Context, dir, _ string) error {
	dir = filepath.Join(dir, "year")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	clock, err := clock.New(dir)
	if err != nil {
		return err
	}
	pg, err := cluster(ctx, filepath.Join(dir, "data"), clock.Env, "autovacuum_naptime=1s")
	if err != nil {
		return err
	}
	defer func() { _ = pg.Stop(ctx) }()
	cloud := newSharedCloud(0)
	for i := range yearly {
		cloud.add(mainAccount, modules.Text(fmt.Sprint("item ", i)))
	}
	in, err := install(ctx, pg.AdminURL(), cloud, 1, 0, 0)
	if err != nil {
		return err
	}
	defer in.halt()
	y := &year{installation: in, clock: clock}
	if y.admin, err = pgx.Connect(ctx, pg.AdminURL()); err != nil {
		return err
	}
	defer y.admin.Close(ctx)
	if err := y.passes(ctx); err != nil {
		return fmt.Errorf("day %d: %w", y.day, err)
	}
	return nil
}

func (y *year) passes(ctx context.Context) error {
	first, err := y.edits(ctx)
	if err != nil {
		return err
	}
	reportEdits("one edit to its call, at the beginning of the year", 0, first)
	var settled map[string]int64
	for y.day = 1; y.day <= *days; y.day++ {
		if err := y.work(ctx); err != nil {
			return err
		}
		if err := y.next(ctx); err != nil {
			return err
		}
		if y.day%30 != 0 && y.day != *days {
			continue
		}
		sizes, err := y.look(ctx)
		if err != nil {
			return err
		}
		if y.day >= retained+30 && settled == nil {
			settled = sizes
		}
		for name, size := range sizes {
			if was := settled[name]; settled != nil && float64(size) > bound*float64(max(was, 1<<20)) {
				return fmt.Errorf("%s has %d bytes and goes on growing; it had %d", name, size, was)
			}
		}
	}
	last, err := y.edits(ctx)
	if err != nil {
		return err
	}
	reportEdits("one edit to its call, at the end of the year", *days, last)
	return nil
}

// work is what is done on a day.
func (y *year) work(ctx context.Context) error {
	for i := 0; i < *daily; i += perChange {
		if _, err := y.user.Exec(ctx, `UPDATE item SET label = concat('day ', $1::int, ', edit ', $2::int) WHERE id IN (
			SELECT id FROM item ORDER BY hashint8(id + $1 * 1000 + $2) LIMIT $3)`, y.day, i, perChange); err != nil {
			return err
		}
	}
	if _, err := y.user.Exec(ctx, `DELETE FROM item WHERE id IN (SELECT id FROM item ORDER BY id LIMIT $1)`,
		turnover); err != nil {
		return err
	}
	if _, err := y.user.Exec(ctx, `INSERT INTO item (label)
		SELECT concat('new on day ', $1::int, ': ', i) FROM generate_series(1, $2::int) i`, y.day, turnover); err != nil {
		return err
	}
	return y.quiet(ctx)
}

// quiet waits until the engine has seen to everything.
func (y *year) quiet(ctx context.Context) error {
	return eventually(func() (done bool, err error) {
		err = y.user.QueryRow(ctx, `SELECT NOT EXISTS (SELECT FROM iasql_audit_log WHERE NOT settled)`).Scan(&done)
		return done, err
	})
}

// next lets the clock jump to the next day, and has the schedule's tick, which comes once a minute, come until what is old
// has been pruned.
func (y *year) next(ctx context.Context) error {
	var jumped time.Time
	if err := y.admin.QueryRow(ctx, `SELECT clock_timestamp()`).Scan(&jumped); err != nil {
		return err
	}
	jumped = jumped.Add(12 * time.Hour)
	if err := y.clock.Jump(fmt.Sprintf("+%dd", y.day)); err != nil {
		return err
	}
	return eventually(func() (done bool, err error) {
		if err := y.admin.QueryRow(ctx, `SELECT clock_timestamp() > $1`, jumped).Scan(&done); err != nil || !done {
			return false, err
		}
		if _, err := y.admin.Exec(ctx, `SELECT iasql_internal.tick()`); err != nil {
			return false, err
		}
		err = y.admin.QueryRow(ctx, `SELECT last_run > $1 FROM iasql_internal.pruning`, jumped).Scan(&done)
		return done, err
	})
}

// look reports how large things are, and returns the sizes of the tables with their indexes.
func (y *year) look(ctx context.Context) (map[string]int64, error) {
	var total, rows, old int64
	var oldest time.Time
	if err := y.admin.QueryRow(ctx, `SELECT pg_database_size(current_database()), count(*), min(ts),
		count(*) FILTER (WHERE ts < now() - $1 * interval '1 day') FROM iasql_audit_log`, retained+1).
		Scan(&total, &rows, &oldest, &old); err != nil {
		return nil, err
	}
	if old > 0 {
		return nil, fmt.Errorf("%d rows of the audit log are older than %d days: the oldest is of %s", old, retained, oldest)
	}
	tables, err := y.admin.Query(ctx, `
		SELECT c.relname, pg_total_relation_size(c.oid) FROM pg_class c
		WHERE c.relkind = 'r' AND c.relnamespace IN ('public'::regnamespace, 'iasql_internal'::regnamespace)`)
	if err != nil {
		return nil, err
	}
	sizes := map[string]int64{}
	var name string
	var size int64
	if _, err := pgx.ForEachRow(tables, []any{&name, &size}, func() error {
		sizes[name] = size
		return nil
	}); err != nil {
		return nil, err
	}
	report("the database after so many days", y.day, float64(total)/1e6, "MB", fmt.Sprintf(
		"audit log %d rows and %d MB, intent log %d MB, cycles %d MB, items %d MB, search %d MB", rows,
		sizes["iasql_audit_log"]/1e6, sizes["iasql_operations"]/1e6, sizes["iasql_cycles"]/1e6, sizes["item"]/1e6,
		sizes["search_entry"]/1e6))
	return sizes, nil
}

// edits times single edits.
func (y *year) edits(ctx context.Context) (times []time.Duration, err error) {
	y.cloud.listen()
	defer y.cloud.unlisten()
	for i := range *edits {
		begun := time.Now()
		if _, err := y.user.Exec(ctx, `UPDATE item SET label = concat('single ', $1::int) WHERE id = (
			SELECT id FROM item ORDER BY id OFFSET $1 * 7 LIMIT 1)`, i); err != nil {
			return nil, err
		}
		select {
		case at := <-y.cloud.updates:
			times = append(times, at.Sub(begun))
		case <-time.After(time.Minute):
			return nil, errors.New("an edit made no call within a minute")
		}
		if err := y.quiet(ctx); err != nil {
			return nil, err
		}
	}
	return times, nil
}

// eventually waits for something, for two minutes at most.
func eventually(is func() (bool, error)) error {
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if done, err := is(); done || err != nil {
			return err
		}
	}
	return errors.New("what was waited for has not come within two minutes")
}
