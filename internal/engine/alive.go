package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	gosync "sync"
	"sync/atomic"
	"time"

	"iasql/internal/modules"
	"iasql/internal/platform"
	"iasql/internal/postgres"
	"iasql/internal/store"
	"iasql/internal/sync"
)

// A cycle is alive while it gets on: a page has come, a call has been answered, a record was written (R31). One that
// stands is ended; one that does not even end loses its lease, since nobody shows for it that it gets on, and the
// engine says that it is not well.

// maxStill is how long a cycle may stand: longer than one attempt of a call with the patience for a throttled one.
const maxStill = 3 * time.Minute

// errStill ends a cycle that stands.
var errStill = errors.New("the cycle did not get on and was ended")

// moving is a cycle under way.
type moving struct {
	what  string
	moved atomic.Int64 // when it last got on, in nanoseconds since 1970
}

func (m *moving) step()                { m.moved.Store(time.Now().UnixNano()) }
func (m *moving) still() time.Duration { return time.Since(time.Unix(0, m.moved.Load())) }

// pulse knows the cycles that are under way.
type pulse struct {
	lock  gosync.Mutex
	under map[*moving]bool
	begun int           // how many there have been
	most  time.Duration // maxStill, but in tests
}

func (p *pulse) limit() time.Duration {
	if p.most > 0 {
		return p.most
	}
	return maxStill
}

func (p *pulse) begin(what string) *moving {
	m := &moving{what: what}
	m.step()
	p.lock.Lock()
	defer p.lock.Unlock()
	if p.under == nil {
		p.under = map[*moving]bool{}
	}
	p.under[m] = true
	p.begun++
	return m
}

func (p *pulse) end(m *moving) {
	p.lock.Lock()
	defer p.lock.Unlock()
	delete(p.under, m)
}

// count returns how many cycles have begun, and how many of them are under way.
func (p *pulse) count() (begun, under int) {
	p.lock.Lock()
	defer p.lock.Unlock()
	return p.begun, len(p.under)
}

// stuck says which cycles stand although they were told to end, "" if none does.
func (p *pulse) stuck() string {
	p.lock.Lock()
	defer p.lock.Unlock()
	var list []string
	for _, m := range slices.Collect(maps.Keys(p.under)) {
		if still := m.still(); still > p.limit()+p.limit()/12 { // that is for ending
			list = append(list, fmt.Sprintf("%s has stood for %s", m.what, still.Round(time.Second)))
		}
	}
	slices.Sort(list)
	return strings.Join(list, "; ")
}

// watched runs a cycle, shows that it gets on as long as it does, and ends it when it does not.
func (e *Engine) watched(ctx context.Context, lease *postgres.Lease, cycle *sync.Reconciler,
	kind store.Kind, progress *headway) (store.Report, error) {
	m := e.pulse.begin(fmt.Sprintf("the %s cycle of account %s", kind, lease.Account))
	defer e.pulse.end(m)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go lease.Beat(ctx, func() bool { return m.still() <= e.pulse.limit() })
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-time.After(max(e.pulse.limit()/20, time.Millisecond)):
			}
			if still := m.still(); still > e.pulse.limit() {
				e.log.Error("a cycle stands and is ended", "account", lease.Account, "cycle", lease.Cycle, "kind", kind,
					"for", still.Round(time.Second))
				cancel(errStill)
				return
			}
		}
	}()
	cycle.Progress = m.step
	answered := func(modules.Attempt) { m.step() }
	if progress != nil {
		cycle.Tell = progress.tell
		answered = func(modules.Attempt) { m.step(); progress.calls.Add(1) }
	}
	report, err := cycle.Cycle(modules.WithTrace(ctx, answered), lease.Lease, kind)
	if err != nil && errors.Is(context.Cause(ctx), errStill) {
		err = errStill
	}
	return report, err
}

// Healthy fails while the engine does not get on, although it runs: it is to be started anew then.
func (e *Engine) Healthy() error {
	if stuck := e.pulse.stuck(); stuck != "" {
		return errors.New(stuck)
	}
	return nil
}

// lookForNewerEvery is how often an engine looks whether a newer one has migrated its database.
const lookForNewerEvery = 10 * time.Second

// lookForNewer says once, in the log, that a newer engine has migrated the database: this one goes on with what it
// knows of it for as long as that release allows, and is to be replaced.
func (e *Engine) lookForNewer(ctx context.Context) {
	for said := ""; ; {
		select {
		case <-ctx.Done():
			return
		case <-time.After(lookForNewerEvery):
		}
		if version, err := platform.NewerVersion(ctx, e.pool); err == nil && version != "" && version != said {
			e.log.Warn("a newer engine has migrated the database: replace this one by it", "engine", e.id,
				"newer", version)
			said = version
		}
	}
}
