package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"iasql/internal/engine"
	"iasql/internal/modules"
	"iasql/internal/platform"
)

// The measurements with whole engines in this process.
const (
	manyAccounts    = 40
	itemsPerAccount = 250
	engineLatency   = 50 * time.Millisecond
	previewed       = 10_000
	waits           = 40
)

// installation is a database with engines on it.
type installation struct {
	url   string
	user  *pgxpool.Pool
	cloud *sharedCloud
	stops []func()

	accounts, concurrency int // the engines' bounds; 0 for the usual ones
}

// install prepares the database, with engines running.
func install(ctx context.Context, url string, cloud *sharedCloud, engines, accounts,
	concurrency int) (*installation, error) {
	in := &installation{url: url, cloud: cloud, accounts: accounts, concurrency: concurrency}
	registry, err := modules.NewRegistry(cloud.module())
	if err != nil {
		return nil, err
	}
	if err := platform.Migrate(ctx, url, registry, "bench"); err != nil {
		return nil, err
	}
	if in.user, err = pgxpool.New(ctx, url); err != nil {
		return nil, err
	}
	for range engines {
		if err := in.start(ctx); err != nil {
			return nil, err
		}
	}
	if _, err := in.user.Exec(ctx, `SELECT * FROM iasql_install('shared')`); err != nil {
		return nil, err
	}
	return in, nil
}

// start starts one more engine.
func (in *installation) start(ctx context.Context) error {
	login, err := engineLogin(ctx, in.url)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	e, err := engine.Start(ctx, engine.Options{DatabaseURL: login, Version: "bench", Log: slog.New(slog.DiscardHandler),
		Accounts: in.accounts, Concurrency: in.concurrency,
		Registry: func(*pgxpool.Pool) (*modules.Registry, error) { return modules.NewRegistry(in.cloud.module()) }})
	if err != nil {
		cancel()
		return err
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		e.Wait(ctx)
	}()
	in.stops = append(in.stops, func() {
		cancel()
		<-done
	})
	return nil
}

// remove ends the engines and takes the module away.
func (in *installation) remove(ctx context.Context) error {
	if _, err := in.user.Exec(ctx, `SELECT * FROM iasql_uninstall('shared')`); err != nil {
		return err
	}
	in.halt()
	return nil
}

// halt ends the engines.
func (in *installation) halt() {
	for _, stop := range in.stops {
		stop()
	}
	in.user.Close()
}

func measureEngines(ctx context.Context, url string) error {
	if err := measureWaiting(ctx, url); err != nil {
		return err
	}
	if err := measurePreview(ctx, url); err != nil {
		return err
	}
	// With the usual bounds one engine keeps two processors busy, PostgreSQL's
	// share included; with narrower ones it is the calls that take the time.
	for _, bounds := range []struct {
		what                  string
		accounts, concurrency int
	}{{"throughput of engines", 0, 0}, {"throughput of engines held to 2 accounts and 4 calls at once", 2, 4}} {
		var one float64
		for _, engines := range []int{1, 2, 4} {
			var t throughput
			if err := profiled(bounds.what, engines, func() (err error) {
				t, err = measureThroughput(ctx, url, engines, bounds.accounts, bounds.concurrency)
				return err
			}); err != nil {
				return err
			}
			if engines == 1 {
				one = t.rate
			}
			report(bounds.what, engines, t.rate, "creations/s",
				fmt.Sprintf("%d accounts, %s a call, %.2f times one engine; for each creation %.2f ms of processor "+
					"in the engines and %.2f ms in PostgreSQL",
					manyAccounts, engineLatency, t.rate/one, t.engines, t.server))
		}
	}
	return nil
}

// throughput is how fast things are created, and what one costs, in
// milliseconds of a processor.
type throughput struct{ rate, engines, server float64 }

// measureThroughput lets every account create things at the same time.
func measureThroughput(ctx context.Context, url string, engines, accounts, concurrency int) (t throughput, err error) {
	in, err := install(ctx, url, newSharedCloud(engineLatency), engines, accounts, concurrency)
	if err != nil {
		return t, err
	}
	if _, err := in.user.Exec(ctx, `INSERT INTO owner (name) SELECT 'account ' || i FROM generate_series(1, $1) i`,
		manyAccounts); err != nil {
		return t, err
	}
	if _, err := in.user.Exec(ctx, `SELECT iasql_sync_now()`); err != nil {
		return t, err
	}
	ownBefore, err := processorTime(os.Getpid())
	if err != nil {
		return t, err
	}
	serverBefore, err := serverTime(ctx, in.user)
	if err != nil {
		return t, err
	}
	const all = manyAccounts * itemsPerAccount
	begun := time.Now()
	if _, err := in.user.Exec(ctx,
		`INSERT INTO item (account, label) SELECT 'account ' || a, 'item ' || i FROM generate_series(1, $1) a, generate_series(1, $2) i`,
		manyAccounts, itemsPerAccount); err != nil {
		return t, err
	}
	for in.cloud.made() < all { // to ask the database would take its processor
		time.Sleep(10 * time.Millisecond)
	}
	for left := true; left; time.Sleep(10 * time.Millisecond) {
		if err := in.user.QueryRow(ctx,
			`SELECT EXISTS (SELECT FROM iasql_audit_log WHERE NOT settled AND table_name = 'item')`).Scan(&left); err != nil {
			return t, err
		}
	}
	took := time.Since(begun)
	own, err := processorTime(os.Getpid())
	if err != nil {
		return t, err
	}
	server, err := serverTime(ctx, in.user)
	if err != nil {
		return t, err
	}
	if made := in.cloud.made(); made != all {
		return t, fmt.Errorf("%d objects were made, not %d", made, all)
	}
	t = throughput{rate: all / took.Seconds(), engines: milliseconds(own-ownBefore) / all,
		server: milliseconds(server-serverBefore) / all}
	return t, in.remove(ctx)
}

// measureWaiting times how long after the engine has written what
// iasql_wait_for waits for that returns.
func measureWaiting(ctx context.Context, url string) error {
	in, err := install(ctx, url, newSharedCloud(0), 1, 0, 0)
	if err != nil {
		return err
	}
	var noticed []time.Duration
	for i := range waits {
		var id int64
		if err := in.user.QueryRow(ctx, `INSERT INTO item (label) VALUES ($1) RETURNING id`,
			fmt.Sprint("wait ", i)).Scan(&id); err != nil {
			return err
		}
		if _, err := in.user.Exec(ctx, `SELECT iasql_wait_for('item', $1, 'item_id IS NOT NULL')`, id); err != nil {
			return err
		}
		returned := time.Now()
		var written time.Time
		if err := in.user.QueryRow(ctx,
			`SELECT min(ts) FROM iasql_audit_log WHERE table_name = 'item' AND record_id = $1 AND origin = 'engine'`,
			id).Scan(&written); err != nil {
			return err
		}
		noticed = append(noticed, returned.Sub(written))
	}
	slices.Sort(noticed)
	report("iasql_wait_for after the write, p50", 0, milliseconds(noticed[len(noticed)/2]), "ms", "")
	report("iasql_wait_for after the write, most", 0, milliseconds(noticed[len(noticed)-1]), "ms",
		fmt.Sprintf("of %d", waits))
	return in.remove(ctx)
}

// measurePreview times the preview of a batch with many changes.
func measurePreview(ctx context.Context, url string) error {
	cloud := newSharedCloud(0)
	for i := range previewed {
		cloud.add("main", modules.Text(fmt.Sprint("item ", i)))
	}
	in, err := install(ctx, url, cloud, 1, 0, 0)
	if err != nil {
		return err
	}
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	for _, sql := range []string{`CALL iasql_begin()`, `UPDATE item SET label = label || ' changed'`} {
		if _, err := conn.Exec(ctx, sql); err != nil {
			return err
		}
	}
	var times []time.Duration
	var lines int
	for range 3 {
		begun := time.Now()
		if err := conn.QueryRow(ctx, `SELECT count(*) FROM iasql_preview()`).Scan(&lines); err != nil {
			return err
		}
		times = append(times, time.Since(begun))
	}
	slices.Sort(times)
	report("preview", previewed, times[1].Seconds(), "s", fmt.Sprintf("%d lines", lines))
	if lines != previewed {
		return fmt.Errorf("the preview has %d lines, not %d", lines, previewed)
	}
	if _, err := conn.Exec(ctx, `CALL iasql_rollback()`); err != nil {
		return err
	}
	return in.remove(ctx)
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
