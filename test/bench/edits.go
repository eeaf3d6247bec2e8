package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"iasql/internal/engine"
	"iasql/internal/modules"
)

// editor is a user of an installation with an engine.
type editor struct {
	*bench
	user  *pgxpool.Pool
	first int64 // id of the first record
	edits int
	stop  func()
}

// edit starts an engine on the installation, and waits until it has looked at
// everything once. Further full cycles are those that the bench asks for.
func (b *bench) edit(ctx context.Context) (*editor, error) {
	e := &editor{bench: b}
	var err error
	if e.user, err = pgxpool.New(ctx, b.url); err != nil {
		return nil, err
	}
	if _, err := e.user.Exec(ctx, `UPDATE iasql_settings SET value = '1 day' WHERE name = 'sync_interval'`); err != nil {
		return nil, err
	}
	if _, err := e.user.Exec(ctx, `VACUUM ANALYZE`); err != nil {
		return nil, err
	}
	if err := e.user.QueryRow(ctx, `SELECT min(id) FROM thing`).Scan(&e.first); err != nil {
		return nil, err
	}
	login, err := engineLogin(ctx, b.url)
	if err != nil {
		return nil, err
	}
	work, cancel := context.WithCancel(ctx)
	running, err := engine.Start(work,
		engine.Options{DatabaseURL: login, Version: "bench", Log: slog.New(slog.DiscardHandler),
			Registry: func(*pgxpool.Pool) (*modules.Registry, error) { return b.registry() }})
	if err != nil {
		cancel()
		return nil, err
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		running.Wait(work)
	}()
	e.stop = func() {
		cancel()
		e.user.Close()
		<-done
	}
	_, err = e.user.Exec(ctx, `SELECT iasql_sync_now()`)
	return e, err
}

// once makes one edit, of a record at some distance from the last, and returns
// how long it was from the user's sending it to the cloud's being called.
func (e *editor) once(ctx context.Context) (time.Duration, error) {
	begun := time.Now()
	if err := e.update(ctx); err != nil {
		return 0, err
	}
	select {
	case at := <-e.cloud.calls:
		return at.Sub(begun), nil
	case <-time.After(time.Minute):
		return 0, errors.New("an edit made no call within a minute")
	}
}

// update changes the next record.
func (e *editor) update(ctx context.Context) error {
	e.edits++
	id := e.first + int64(e.edits*7919%e.n)
	_, err := e.user.Exec(ctx, `UPDATE thing SET label = $1 WHERE id = $2`, fmt.Sprint("edit ", e.edits), id)
	return err
}

// inRow makes edits one after the other without waiting for any, each in a transaction of its own, and then waits
// until the engine has seen to all of them.
func (e *editor) inRow(ctx context.Context, edits int) error {
	called := make(chan struct{})
	go func() {
		defer close(called)
		for range edits {
			select {
			case <-e.cloud.calls:
			case <-ctx.Done():
				return
			}
		}
	}()
	for range edits {
		if err := e.update(ctx); err != nil {
			return err
		}
	}
	<-called
	return e.settled(ctx)
}

// settled waits until the engine has seen to the edit.
func (e *editor) settled(ctx context.Context) error {
	for left := true; left; time.Sleep(5 * time.Millisecond) {
		if err := e.user.QueryRow(ctx, `SELECT EXISTS (SELECT FROM iasql_audit_log WHERE NOT settled)`).Scan(&left); err != nil {
			return err
		}
	}
	return nil
}

// indexed waits until the engine has indexed for the search what has come, which it does some at a time.
func (e *editor) indexed(ctx context.Context) error {
	for left := true; left; time.Sleep(100 * time.Millisecond) {
		if err := e.pool.QueryRow(ctx, `SELECT EXISTS (SELECT FROM iasql_internal.search_pending)`).Scan(&left); err != nil {
			return err
		}
	}
	return nil
}

// measureEdits times edits in all installations by turns, with engines that
// have nothing else to do; then in the one of 100,000 while the engine lists.
func measureEdits(ctx context.Context, benches []*bench) error {
	var editors []*editor
	for _, b := range benches {
		e, err := b.edit(ctx)
		if err != nil {
			return err
		}
		defer e.stop()
		editors = append(editors, e)
	}
	if err := profiled("edits", *edits, func() error { return byTurns(ctx, editors) }); err != nil {
		return err
	}
	for _, e := range editors {
		if e.n != 100_000 {
			continue
		}
		during, err := e.whileListing(ctx)
		if err != nil {
			return err
		}
		reportEdits("one edit to its call, during full cycles", e.n, during)
	}
	return nil
}

// byTurns times edits of the installations, one of each at a time.
func byTurns(ctx context.Context, editors []*editor) error {
	times := make([][]time.Duration, len(editors))
	for i := range *edits + 10 {
		for at, e := range editors {
			took, err := e.once(ctx)
			if err != nil {
				return fmt.Errorf("%d objects: %w", e.n, err)
			}
			if i >= 10 { // after a warm-up
				times[at] = append(times[at], took)
			}
			if err := e.settled(ctx); err != nil {
				return err
			}
		}
	}
	for at, e := range editors {
		reportEdits("one edit to its call", e.n, times[at])
	}
	return nil
}

// whileListing times edits while one full cycle follows the other.
func (e *editor) whileListing(ctx context.Context) (times []time.Duration, err error) {
	listing, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() {
		for listing.Err() == nil {
			if _, err := e.user.Exec(ctx, `SELECT iasql_sync_now()`); err != nil {
				ended <- err
				return
			}
		}
		ended <- nil
	}()
	for range *edits {
		took, err := e.once(ctx)
		if err != nil {
			cancel()
			return nil, errors.Join(err, <-ended)
		}
		times = append(times, took)
		time.Sleep(50 * time.Millisecond) // so that they come at all times of a cycle
	}
	cancel()
	return times, <-ended
}

func reportEdits(what string, n int, times []time.Duration) {
	slices.Sort(times)
	report(what+", p50", n, milliseconds(times[len(times)/2]), "ms", "")
	report(what+", p99", n, milliseconds(times[len(times)*99/100]), "ms", "")
}
