package sync

import (
	"context"
	"fmt"
	"slices"
	gosync "sync"
	"time"

	"iasql/internal/decide"
	"iasql/internal/modules"
)

// A listing takes as long as the cloud takes, and a user's change does not wait
// for its end: while a full cycle lists, it is preempted whenever [Reconciler.Preempt]
// asks for it, and does the work of a push cycle between two pages. What the listing
// shows then is dealt with as if another engine's push cycle had run meanwhile:
// what is on its way from the cloud may be a stale read (R13), what was decided
// before and is not done yet is left out if it concerns what was touched, and a
// record that changed is not pulled into (R3).

// undisturbed is how long a listing is left alone at first, and after each push
// within it: a short one ends before.
const undisturbed = 250 * time.Millisecond

// preemption keeps a listing and what is pushed between its pages apart.
type preemption struct {
	// gate is held for reading by the parts of a listing, and by what is pushed
	// between them for changing what the cycle knows.
	gate     gosync.RWMutex
	listings map[*listing]bool         // under way
	touched  map[decide.RecordRef]bool // by this cycle's steps; of a listing: by what was pushed meanwhile
	served   bool                      // something was
	outdated bool                      // and by other rules than the listing began with
	broken   error                     // what it made may be there without the database's knowing
}

func newPreemption() preemption {
	return preemption{listings: map[*listing]bool{}, touched: map[decide.RecordRef]bool{}}
}

func (p *preemption) begin(l *listing) {
	p.gate.Lock()
	defer p.gate.Unlock()
	p.listings[l] = true
}

func (p *preemption) end(l *listing) {
	p.gate.Lock()
	defer p.gate.Unlock()
	delete(p.listings, l)
}

// serve does something while no part of a listing runs.
func (p *preemption) serve(ctx context.Context, do func(context.Context) error) error {
	p.gate.Lock()
	defer p.gate.Unlock()
	err := do(ctx)
	if err != nil {
		p.broken = err
	}
	return err
}

// pushed notes what was touched by a push.
func (p *preemption) pushed(touched map[decide.RecordRef]bool, outdated bool) {
	p.served = true
	for ref := range touched {
		p.touched[ref] = true
	}
	p.outdated = p.outdated || outdated
}

// touch notes the records that a cycle has dealt with.
func (p *preemption) mapping(steps []decide.Step) {
	for _, step := range steps {
		if s := step.Subject; s.RecordID != 0 {
			p.touched[s.Ref()] = true
		}
	}
}

// attend serves [Reconciler.Preempt] and [Reconciler.Errands] until stop is called, which returns what went
// wrong. The context it returns ends with the first failure.
func (c *cycle) attend(ctx context.Context) (attended context.Context, stop func() error) {
	if c.Preempt == nil || c.ReadOnly || c.Serial {
		return ctx, func() error { return nil }
	}
	attended, cancel := context.WithCancelCause(ctx)
	done, ended := make(chan struct{}), make(chan struct{})
	var failure error
	go func() {
		defer close(ended)
		if failure = c.serveUntil(attended, done); failure != nil {
			cancel(failure)
		}
	}()
	return attended, func() error {
		close(done)
		<-ended
		cancel(nil)
		return failure
	}
}

// serveUntil does so until done is closed or the context ends.
func (c *cycle) serveUntil(ctx context.Context, done <-chan struct{}) error {
	alone := time.NewTimer(undisturbed)
	defer alone.Stop()
	var wanted <-chan struct{} // Preempt, once the listing has been left alone for long enough
	for {
		select {
		case <-done:
			return nil
		case <-ctx.Done():
			return nil
		case <-alone.C:
			wanted = c.Preempt
		case errand := <-c.Errands:
			if err := c.preempt.serve(ctx, func(ctx context.Context) error {
				return c.runErrand(ctx, errand)
			}); err != nil {
				return err
			}
		case <-wanted:
			begun := time.Now()
			if err := c.preempt.serve(ctx, c.pushMeanwhile); err != nil {
				return err
			}
			// However much there is to be pushed, the listing has half of the time.
			wanted = nil
			alone.Reset(max(time.Since(begun), undisturbed))
		}
	}
}

// between is passed before each part of a listing: where nothing runs
// concurrently, it is there that Preempt is served.
func (c *cycle) between(ctx context.Context) error {
	if c.Preempt == nil || c.ReadOnly || !c.Serial {
		return nil
	}
	select {
	case <-c.Preempt:
		return c.preempt.serve(ctx, c.pushMeanwhile)
	default:
		return nil
	}
}

// enter begins a part of a listing, which ends with leave: nothing is pushed
// meanwhile. It fails when a push has failed, since an object that it made may
// look like one that nobody has a record of.
func (c *cycle) enter(ctx context.Context) (leave func(), err error) {
	if err := c.between(ctx); err != nil {
		return nil, err
	}
	c.preempt.gate.RLock()
	if broken := c.preempt.broken; broken != nil {
		c.preempt.gate.RUnlock()
		return nil, broken
	}
	return c.preempt.gate.RUnlock, nil
}

// standing leaves out what a listing decided before something else was pushed,
// and that may no longer be right: what concerns a record that was dealt with,
// and objects that are no longer without one. The next listing decides anew.
func (c *cycle) standing(ctx context.Context, steps []decide.Step) ([]decide.Step, error) {
	if !c.preempt.served {
		return steps, nil
	}
	if c.preempt.outdated { // by other rules
		return nil, nil
	}
	without := map[place][]decide.Step{}
	var order []place
	kept := make([]decide.Step, 0, len(steps))
	for _, step := range steps {
		s := step.Subject
		switch at := (place{s.Table.Name, s.Scope}); {
		case s.RecordID != 0 && !c.preempt.touched[s.Ref()]:
			kept = append(kept, step)
		case s.RecordID == 0 && !c.doubts.holds(at.table, at.scope):
			if without[at] == nil {
				order = append(order, at)
			}
			without[at] = append(without[at], step)
		}
	}
	for _, at := range order {
		for chunk := range slices.Chunk(without[at], 1000) {
			objects := make([]modules.Row, len(chunk))
			for i, step := range chunk {
				objects[i] = step.Subject.Object
			}
			found, err := c.Store.Match(ctx, chunk[0].Subject.Table, at.scope, objects)
			if err != nil {
				return nil, fmt.Errorf("match objects of %s in %s: %w", at.table, at.scope, err)
			}
			for i, m := range found {
				if m.Free() {
					kept = append(kept, chunk[i])
				}
			}
		}
	}
	return kept, nil
}
