package watch

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"iasql/internal/aws"
	"iasql/internal/modules"
)

// How often it is looked which sources there are, and for how long an engine may read one
// without saying so again.
const (
	lookAgain = 2 * time.Second
	holdFor   = time.Minute
)

// Watch reads the sources of events that aws_event_source names.
type Watch struct {
	Clients  *aws.Clients
	Registry *modules.Registry
	Pool     *pgxpool.Pool
	Engine   string // the id of this engine
	Log      *slog.Logger

	database database
	accounts accounts
	lock     sync.Mutex
	reading  map[string]*reader // by account and name
	none     bool               // there were no sources, and it is known of none
	ended    sync.WaitGroup
}

// source is a row of aws_event_source.
type source struct {
	Account, Name string
	Region        string // "" for all
	Queue         string
	Bucket        string
	Prefix        string
	AllAccounts   bool
}

func (s source) key() string { return s.Account + "\x1f" + s.Name }

// readOn reports whether a queue that is read for old can be read on for s. A call that waits
// for messages and is cut off may have taken one, which comes again half a minute later.
func (s source) readOn(old source) bool {
	return s.Queue != "" && s.key() == old.key() && s.Queue == old.Queue &&
		(&sqsQueue{source: s}).region() == (&sqsQueue{source: old}).region()
}

// reader is a source that is being read here.
type reader struct {
	source
	stop context.CancelFunc
}

// Run reads the sources until ctx ends.
func (w *Watch) Run(ctx context.Context) {
	w.database, w.reading = database{w.Pool, w.Engine}, map[string]*reader{}
	w.accounts = accounts{clients: w.Clients}
	defer w.ended.Wait()
	said := ""
	for {
		err := w.look(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil && err.Error() != said:
			said = err.Error()
			w.Log.Warn("could not look for sources of events", "error", err)
		case err == nil:
			said = ""
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(lookAgain):
		}
	}
}

// look begins to read the sources that nobody reads, and ends to read those that are no
// more, or are others now.
func (w *Watch) look(ctx context.Context) error {
	sources, err := w.database.sources(ctx)
	if err != nil {
		return err
	}
	if len(sources) == 0 && w.none {
		return nil // as the last time
	}
	held, err := w.database.hold(ctx, sources)
	if err != nil {
		return err
	}
	w.none = len(sources) == 0
	w.lock.Lock()
	defer w.lock.Unlock()
	wanted := map[string]source{}
	for _, s := range sources {
		if held[s.key()] {
			wanted[s.key()] = s
		}
	}
	for key, r := range w.reading {
		switch s := wanted[key]; {
		case s.readOn(r.source):
			r.source = s
		case s != r.source:
			r.stop()
			delete(w.reading, key)
		}
	}
	for key, s := range wanted {
		if w.reading[key] == nil {
			w.read(ctx, s)
		}
	}
	return nil
}

// read begins to read a source, until ctx ends or it is stopped.
func (w *Watch) read(ctx context.Context, s source) {
	log := w.Log.With("account", s.Account, "source", s.Name)
	ctx, stop := context.WithCancel(ctx)
	run := newTrail(w, s, log).run
	if s.Queue != "" {
		run = newPoller(w, s, log).run
	}
	w.reading[s.key()] = &reader{source: s, stop: stop}
	w.ended.Go(func() {
		defer stop()
		run(ctx)
	})
}

// longest is the longest pause after failures.
const longest = time.Minute

// pause waits after the n-th failure in a row.
func pause(ctx context.Context, n int) {
	d := min(longest, time.Second<<min(n, 6))
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// message returns what is said of an error in the source's row.
func message(err error) string {
	var known *modules.Error
	if errors.As(err, &known) {
		return known.Error()
	}
	return aws.Scrub(err.Error())
}
