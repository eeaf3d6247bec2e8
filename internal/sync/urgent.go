package sync

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"time"

	"iasql/internal/modules"
)

// A listing takes as long as the cloud takes, and a user's change does not wait
// for its end: while a full cycle lists, it does the work of a push cycle
// whenever [Engine.Wanted] asks for it, between two pages. What the listing
// shows then is dealt with as if another engine's push cycle had run meanwhile:
// what is on its way from the cloud may be a stale read (R13), what was decided
// before and is not done yet is left out if it concerns what was touched, and a
// record that changed is not pulled into (R3).

// undisturbed is how long a listing is left alone at first, and after each push
// within it: a short one ends before.
const undisturbed = 250 * time.Millisecond

// attend serves [Engine.Wanted] until stop is called, which returns what went
// wrong. The context it returns ends with the first failure.
func (c *cycle) attend(ctx context.Context) (attended context.Context, stop func() error) {
	if c.Wanted == nil || c.ReadOnly || c.Serial {
		return ctx, func() error { return nil }
	}
	attended, cancel := context.WithCancelCause(ctx)
	done, ended := make(chan struct{}), make(chan struct{})
	var failure error
	go func() {
		defer close(ended)
		alone := undisturbed
		for {
			select {
			case <-done:
				return
			case <-attended.Done():
				return
			case <-time.After(alone):
			}
			select {
			case <-done:
				return
			case <-attended.Done():
				return
			case <-c.Wanted:
			}
			begun := time.Now()
			if failure = c.serve(attended); failure != nil {
				cancel(failure)
				return
			}
			// However much there is to be pushed, the listing has half of the time.
			alone = max(time.Since(begun), undisturbed)
		}
	}()
	return attended, func() error {
		close(done)
		<-ended
		cancel(nil)
		return failure
	}
}

// between is passed before each part of a listing: where nothing runs
// concurrently, it is there that Wanted is served.
func (c *cycle) between(ctx context.Context) error {
	if c.Wanted == nil || c.ReadOnly || !c.Serial {
		return nil
	}
	select {
	case <-c.Wanted:
		return c.serve(ctx)
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
	c.gate.RLock()
	if c.broken != nil {
		c.gate.RUnlock()
		return nil, c.broken
	}
	return c.gate.RUnlock, nil
}

// serve does what a push cycle does, under the lease of this one.
func (c *cycle) serve(ctx context.Context) error {
	c.gate.Lock()
	defer c.gate.Unlock()
	// What was read before anything is written now.
	for l := range c.listings {
		if err := l.match(ctx); err != nil {
			c.broken = err
			return err
		}
	}
	engine := *c.Engine
	engine.Turn = max(engine.Turn, 0)
	push := newCycle(&engine, c.lease, Push)
	push.destroyed = c.destroyed // it is one cycle to those who limit it (R7)
	err := push.run(ctx)
	r := &push.report.Report
	c.report.count(func(to *Report) {
		to.Read += r.Read
		to.Calls += r.Calls
		to.Pushed += r.Pushed
		to.Pulled += r.Pulled
		to.Settled += r.Settled
		to.Failed += r.Failed
		to.Errors = append(to.Errors, r.Errors[:min(len(r.Errors), MaxErrors-len(to.Errors))]...)
		to.Locked = to.Locked || r.Locked
		if to.Stopped == "" {
			to.Stopped = r.Stopped
		}
	})
	if err != nil {
		c.broken = fmt.Errorf("push what was changed meanwhile: %w", err)
		return c.broken
	}
	c.served = true
	for ref := range push.touched {
		c.touched[ref] = true
	}
	c.undecided, c.asked, c.hold = push.undecided, push.asked, push.hold
	for ref := range push.refused {
		c.refused[ref] = true
	}
	// What was written earlier remains known, however long this took: what is on
	// its way from the cloud may have been read before.
	c.own.add(push.own)
	if !reflect.DeepEqual(c.settings.Rules, push.settings.Rules) || c.settings.HoldConflicts != push.settings.HoldConflicts {
		c.outdated = true
	}
	c.settings = push.settings
	return nil
}

// touch notes the records that a cycle has dealt with.
func (c *cycle) touch(steps []Step) {
	for _, step := range steps {
		if s := step.Subject; s.RecordID != 0 {
			c.touched[s.Ref()] = true
		}
	}
}

// standing leaves out what a listing decided before something else was pushed,
// and that may no longer be right: what concerns a record that was dealt with,
// and objects that are no longer without one. The next listing decides anew.
func (c *cycle) standing(ctx context.Context, steps []Step) ([]Step, error) {
	if !c.served {
		return steps, nil
	}
	if c.outdated { // by other rules
		return nil, nil
	}
	type group struct {
		table *modules.Table
		scope modules.Scope
	}
	without := map[group][]Step{}
	var order []group
	kept := make([]Step, 0, len(steps))
	for _, step := range steps {
		s := step.Subject
		switch g := (group{s.Table, s.Scope}); {
		case s.RecordID != 0 && !c.touched[s.Ref()]:
			kept = append(kept, step)
		case s.RecordID == 0 && !c.hold[objectRef{table: s.Table.Name, scope: s.Scope}]:
			if without[g] == nil {
				order = append(order, g)
			}
			without[g] = append(without[g], step)
		}
	}
	for _, g := range order {
		for chunk := range slices.Chunk(without[g], 1000) {
			objects := make([]modules.Row, len(chunk))
			for i, step := range chunk {
				objects[i] = step.Subject.Object
			}
			found, err := c.Database.Match(ctx, g.table, g.scope, objects)
			if err != nil {
				return nil, fmt.Errorf("match objects of %s in %s: %w", g.table.Name, g.scope, err)
			}
			for i, s := range found {
				if s.Record == nil && s.Change == nil && s.State == nil && !s.Garbage {
					kept = append(kept, chunk[i])
				}
			}
		}
	}
	return kept, nil
}
