// Package watch has hosts say what may have changed on them, and leaves it in the database, where cycles look into it.
//
//	watch.go     which hosts are watched, and which of them by this engine
//	gather.go    what a host has said and is not kept yet
//	database.go  what is kept, in one transaction each
//
// What a host says is never believed (R26), and what it costs is bounded: its lines are read at a limited rate (package
// hosts), what it names is compared with its scopes, and of what is too much only the tables are kept. Listings go on
// as if nobody watched.
//
// One engine watches a host at a time, and says so in the row of the watch. That is for economy: what two say is looked
// into twice.
package watch

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"iasql/internal/hosts"
	"iasql/internal/modules"
)

const (
	// lookAgain is how often it is looked which hosts are to be watched, and lookForFirst how often where there are
	// none.
	lookAgain    = 2 * time.Second
	lookForFirst = 10 * time.Second
	// holdFor is for how long an engine may watch a host without saying so again.
	holdFor = time.Minute
	// longest is the longest pause after failures, and lasting how long a watch lasts that has not failed.
	longest = time.Minute
	lasting = 2 * time.Minute
)

// Watch watches the hosts of the table host.
type Watch struct {
	Hosts  *hosts.Hosts
	Pool   *pgxpool.Pool
	Engine string // the id of this engine
	Log    *slog.Logger

	database database
	watching map[string]*watcher // by host
	none     bool                // there was nothing to watch, and it is known of nothing
	ended    sync.WaitGroup
}

// target is a host that is to be watched. Digest stands for what of it is: another begins the watch anew.
type target struct{ Name, Digest string }

// watcher watches one host.
type watcher struct {
	target
	watch *Watch
	log   *slog.Logger
	stop  context.CancelFunc

	lock  sync.Mutex
	alive bool // the host has said something since that was asked last
}

// heard reports whether the host has said something since that was asked last.
func (w *watcher) heard() bool {
	w.lock.Lock()
	defer w.lock.Unlock()
	was := w.alive
	w.alive = false
	return was
}

// Run watches until ctx ends.
func (w *Watch) Run(ctx context.Context) {
	w.database, w.watching = database{w.Pool, w.Engine}, map[string]*watcher{}
	defer w.ended.Wait()
	said := ""
	for {
		err := w.look(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil && err.Error() != said:
			said = err.Error()
			w.Log.Warn("could not look which hosts are to be watched", "error", err)
		case err == nil:
			said = ""
		}
		pause := lookAgain
		if w.none {
			pause = lookForFirst
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

// look begins to watch the hosts that nobody watches, and ends to watch those that are not to be watched any more, or
// whose scopes have changed.
func (w *Watch) look(ctx context.Context) error {
	targets, err := w.database.targets(ctx)
	if err != nil {
		return err
	}
	if len(targets) == 0 && w.none {
		return nil // as the last time
	}
	var heard []string
	for name, watching := range w.watching {
		if watching.heard() {
			heard = append(heard, name)
		}
	}
	held, err := w.database.hold(ctx, targets, heard)
	if err != nil {
		return err
	}
	w.none = len(targets) == 0
	wanted := map[string]target{}
	for _, t := range targets {
		if held[t.Name] {
			wanted[t.Name] = t
		}
	}
	for name, watching := range w.watching {
		if wanted[name] != watching.target {
			watching.stop()
			delete(w.watching, name)
		}
	}
	for name, t := range wanted {
		if w.watching[name] != nil {
			continue
		}
		ctx, stop := context.WithCancel(ctx)
		begun := &watcher{target: t, watch: w, log: w.Log.With("account", name), stop: stop}
		w.watching[name] = begun
		w.ended.Go(func() {
			defer stop()
			begun.run(ctx)
		})
	}
	return nil
}

// run watches the host until ctx ends.
func (w *watcher) run(ctx context.Context) {
	said := ""
	for failures := 0; ctx.Err() == nil; failures++ {
		begun := time.Now()
		err := w.once(ctx)
		if ctx.Err() != nil {
			return
		}
		if time.Since(begun) > lasting {
			failures, said = 0, ""
		}
		if text := message(err); text != said {
			said = text
			w.log.Debug("a host is not watched", "error", err)
			if err := w.watch.database.failed(ctx, w.Name, text); err != nil {
				w.log.Debug("could not note that a host is not watched", "error", err)
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(min(longest, time.Second<<min(failures, 6))):
		}
	}
}

// once watches the host until that breaks off.
func (w *watcher) once(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	g := newGathered()
	var keeping sync.WaitGroup
	defer keeping.Wait()
	defer cancel()
	keeping.Go(func() { w.keep(ctx, g) })
	return w.watch.Hosts.Watch(ctx, w.Name, func(n hosts.News) error {
		w.lock.Lock()
		w.alive = true
		w.lock.Unlock()
		g.add(n)
		return nil
	})
}

// keep keeps what is gathered until ctx ends.
func (w *watcher) keep(ctx context.Context, g *gathered) {
	said := ""
	for g.await(ctx) == nil {
		n := g.take()
		err := w.watch.database.keep(ctx, w.Name, n)
		if err == nil {
			said = ""
			continue
		}
		g.giveBack(n)
		if ctx.Err() == nil && err.Error() != said {
			said = err.Error()
			w.log.Warn("could not keep what a host says", "error", err)
		}
	}
}

// message returns what is said of an error in the watch's row.
func message(err error) string {
	var known *modules.Error
	if errors.As(err, &known) {
		return known.Message
	}
	if err == nil {
		return "it has ended"
	}
	return err.Error()
}
