package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"

	"iasql/internal/store"
)

// cell is a server of its own, with an installation that has some of the accounts.
type cell struct {
	*bench
	admin    *pgxpool.Pool
	accounts []string
	stop     func()
}

// measureCells measures for each size what one cell with one account does, and then what cells do side by side that have
// all the accounts among them. Beside each figure is how much of the processors was taken: where that is all, more cells
// can do no more on this machine.
func measureCells(ctx context.Context, dir string, sizes []int) error {
	for _, n := range sizes {
		one, err := measureTogether(ctx, filepath.Join(dir, fmt.Sprint("one-", n)), n, 1, 1)
		if err != nil {
			return fmt.Errorf("one cell of %d: %w", n, err)
		}
		all, err := measureTogether(ctx, filepath.Join(dir, fmt.Sprint("all-", n)), n, *cells, *accounts)
		if err != nil {
			return fmt.Errorf("%d cells with accounts of %d: %w", *cells, n, err)
		}
		for i, f := range all {
			report(f.What, n, f.Value, f.Unit, fmt.Sprintf("%.2f × one cell; %s; one cell: %s",
				f.Value/one[i].Value, f.Detail, one[i].Detail))
		}
	}
	return nil
}

// measureTogether measures cells that work at the same time: their imports, quiet cycles and edits a second.
func measureTogether(ctx context.Context, dir string, n, number, accounts int) (all []figure, err error) {
	defer os.RemoveAll(dir)
	var together []*cell
	defer func() {
		for _, c := range together {
			c.stop()
		}
	}()
	for i := range number {
		c, err := newCell(ctx, filepath.Join(dir, fmt.Sprint(i)), n)
		if err != nil {
			return nil, err
		}
		together = append(together, c)
	}
	for i := 1; i < accounts; i++ {
		if err := together[i%number].add(ctx, fmt.Sprint("account ", i)); err != nil {
			return nil, err
		}
	}
	measure := func(what, unit string, count int, do func(context.Context, *cell) error) error {
		f, err := timed(ctx, together, do)
		f.What, f.Unit, f.Value = fmt.Sprint(what, ", ", number, " cells"), unit, float64(count)/f.Value
		all = append(all, f)
		// It may take long until the next is known.
		fmt.Fprintf(os.Stderr, "bench: %s of %d: %.0f %s, %s\n", f.What, n, f.Value, unit, f.Detail)
		return err
	}
	cycle := func(ctx context.Context, c *cell, pulled int) error {
		for _, account := range c.accounts {
			r, err := c.runIn(ctx, account, store.Full)
			if err != nil {
				return err
			}
			if r.Pulled != pulled || r.Pushed+r.Failed != 0 {
				return fmt.Errorf("%s: a cycle that should read %d ended with %+v", account, pulled, r)
			}
		}
		return nil
	}
	if err := measure("import", "records/s", n*accounts, func(ctx context.Context, c *cell) error {
		return cycle(ctx, c, n)
	}); err != nil {
		return nil, err
	}
	for _, c := range together {
		if _, err := c.admin.Exec(ctx, `ANALYZE`); err != nil {
			return nil, err
		}
	}
	if err := measure("quiet cycle", "records/s", n*accounts, func(ctx context.Context, c *cell) error {
		return cycle(ctx, c, 0)
	}); err != nil {
		return nil, err
	}
	if *edits == 0 {
		return all, nil
	}
	return all, measureCellEdits(ctx, together, measure)
}

// perEdit is how many edits a user makes in a row for each that one makes after the other.
const perEdit = 20

// measureCellEdits lets a user of each cell make edits, each after the one before has arrived, and then many in a row.
func measureCellEdits(ctx context.Context, together []*cell,
	measure func(string, string, int, func(context.Context, *cell) error) error) error {
	editors := map[*cell]*editor{}
	times := map[*cell][]time.Duration{}
	for _, c := range together {
		e, err := c.edit(ctx)
		if err != nil {
			return err
		}
		defer e.stop()
		if err := e.indexed(ctx); err != nil {
			return err
		}
		editors[c], times[c] = e, make([]time.Duration, *edits)
	}
	err := measure("edits to their calls", "edits/s", *edits*len(together), func(ctx context.Context, c *cell) error {
		for i := range *edits {
			var err error
			if times[c][i], err = editors[c].once(ctx); err != nil {
				return err
			}
			if err := editors[c].settled(ctx); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	row := perEdit * *edits
	if err := measure("edits in a row", "edits/s", row*len(together), func(ctx context.Context, c *cell) error {
		return editors[c].inRow(ctx, row)
	}); err != nil {
		return err
	}
	for i, c := range together {
		reportEdits(fmt.Sprintf("one edit to its call, cell %d of %d", i+1, len(together)), c.n, times[c])
	}
	return nil
}

// timed lets all cells do something at the same time. The figure's value is how many seconds that took, and its detail
// how many of the processors were busy.
func timed(ctx context.Context, together []*cell, do func(context.Context, *cell) error) (f figure, err error) {
	before, err := busy(ctx, together)
	if err != nil {
		return f, err
	}
	begun := time.Now()
	group, within := errgroup.WithContext(ctx)
	for _, c := range together {
		group.Go(func() error { return do(within, c) })
	}
	if err := group.Wait(); err != nil {
		return f, err
	}
	took := time.Since(begun)
	after, err := busy(ctx, together)
	f.Value = took.Seconds()
	f.Detail = fmt.Sprintf("%.2f of %d processors", (after-before).Seconds()/took.Seconds(), runtime.NumCPU())
	return f, err
}

// busy is what the engines and servers of all cells have taken of the processors.
func busy(ctx context.Context, together []*cell) (time.Duration, error) {
	sum, err := processorTime(os.Getpid())
	for _, c := range together {
		server, e := serverTime(ctx, c.admin)
		if e != nil {
			return 0, e
		}
		sum += server
	}
	return sum, err
}

func newCell(ctx context.Context, dir string, n int) (*cell, error) {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return nil, err
	}
	pg, err := cluster(ctx, dir, nil)
	if err != nil {
		return nil, err
	}
	c := &cell{accounts: []string{mainAccount}, stop: func() { _ = pg.Stop(ctx) }}
	if c.bench, err = newBench(ctx, pg.AdminURL(), n); err != nil {
		c.stop()
		return nil, err
	}
	if c.admin, err = pgxpool.New(ctx, c.url); err != nil {
		c.stop()
		return nil, err
	}
	c.stop = func() {
		c.pool.Close()
		c.admin.Close()
		_ = pg.Stop(ctx)
	}
	return c, nil
}

// add gives the cell one more account.
func (c *cell) add(ctx context.Context, account string) error {
	c.accounts = append(c.accounts, account)
	slices.Sort(c.accounts)
	_, err := c.admin.Exec(ctx, `INSERT INTO public.owner (name) VALUES ($1)`, account)
	return err
}
