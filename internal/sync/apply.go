package sync

import (
	"context"
	"fmt"
	"runtime"
	gosync "sync"
	"sync/atomic"
	"time"

	"iasql/internal/decide"
	"iasql/internal/store"
)

// apply runs a plan: every operation after those it depends on, independent
// ones side by side. Outcomes are written in batches, and an operation counts
// as done only when its outcome is in the database. One that fails leaves
// those that depend on it waiting (R8).
//
// It reports whether any call was made; without one, another pass would only
// meet the same refusals.
func (c *cycle) apply(ctx context.Context, plan decide.Plan) (anyCalled bool, err error) {
	ctx, end := c.span(ctx, "apply", &err)
	defer end()
	ops := make(map[*decide.Op]*running, len(plan.Ops))
	for _, op := range plan.Ops {
		ops[op] = &running{Op: op, accompanied: len(plan.Ops) > 1 && !c.Serial, done: make(chan struct{})}
	}
	if err := c.readCreations(ctx, ops); err != nil {
		return false, err
	}
	c.recent.Expect(plan)
	made := c.count(StepApply, len(plan.Ops))
	defer made.end()
	if c.Serial {
		for _, op := range plan.Ops {
			c.call(ctx, ops[op], ops)
			anyCalled = anyCalled || ops[op].ending == called
			if err := c.finish(ctx, []*running{ops[op]}); err != nil {
				return anyCalled, err
			}
			made.add(2)
		}
		return anyCalled, nil
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	f := c.start(ctx, plan, ops)
	var failure error
	for first := range f.ended {
		batch := f.gather(first)
		for _, r := range batch {
			anyCalled = anyCalled || r.ending == called
		}
		if failure != nil {
			continue
		}
		if failure = c.finish(ctx, batch); failure != nil {
			cancel(failure)
		}
		made.add(2 * len(batch))
	}
	if failure == nil {
		failure = context.Cause(ctx)
	}
	return anyCalled, failure
}

// sideBySide is the operations of how many tables go on at once.
const sideBySide = 4

// flight is a plan that is being carried out.
type flight struct {
	ended chan *running // the operations whose calls have ended; closed after the last
	begun atomic.Int64  // how many have begun and are not taken from ended yet
}

// start runs the operations of a plan.
func (c *cycle) start(ctx context.Context, plan decide.Plan, ops map[*decide.Op]*running) *flight {
	var (
		f     = &flight{ended: make(chan *running)}
		slots = make(chan struct{}, sideBySide*c.concurrency())
		wg    gosync.WaitGroup
	)
	// The operations of a table wait for the same rate of the cloud's API, and do not keep those of others waiting.
	ofTable := map[string]chan struct{}{}
	for _, op := range plan.Ops {
		if name := op.Subject.Table.Name; ofTable[name] == nil {
			ofTable[name] = make(chan struct{}, c.concurrency())
		}
	}
	for _, op := range plan.Ops {
		r := ops[op]
		wg.Go(func() {
			for _, before := range r.After {
				select {
				case <-ops[before].done:
				case <-ctx.Done():
					return
				}
			}
			called := inSlot(ctx, ofTable[op.Subject.Table.Name], func() bool {
				return inSlot(ctx, slots, func() bool {
					f.begun.Add(1)
					c.call(ctx, r, ops)
					return true
				})
			})
			if !called {
				return
			}
			select {
			case f.ended <- r:
			case <-ctx.Done():
			}
		})
	}
	go func() {
		wg.Wait()
		close(f.ended)
	}()
	return f
}

// inSlot calls f in one of the slots, and returns what it returns; false if the context ends before one is free.
func inSlot(ctx context.Context, slots chan struct{}, f func() bool) bool {
	select {
	case slots <- struct{}{}:
	case <-ctx.Done():
		return false
	}
	defer func() { <-slots }()
	return f()
}

// gatherFor is how long an operation that has ended waits for others that are under way, so that the outcomes of many
// are written in one transaction. The calls of a cloud take ten times as long.
const gatherFor = 3 * time.Millisecond

// gather returns the first and what else ends in a moment. Where nothing else is under way it waits for nothing.
func (f *flight) gather(first *running) []*running {
	batch := []*running{first}
	defer func() { f.begun.Add(-int64(len(batch))) }()
	runtime.Gosched() // to those that have just ended, too
	moment := time.NewTimer(gatherFor)
	defer moment.Stop()
	for len(batch) < 256 && f.begun.Load() > int64(len(batch)) {
		select {
		case next, open := <-f.ended:
			if !open {
				return batch
			}
			batch = append(batch, next)
		case <-moment.C:
			return batch
		}
	}
	return batch
}

// finish writes a batch of outcomes and lets the operations that wait for them
// go on.
func (c *cycle) finish(ctx context.Context, batch []*running) error {
	c.describe(ctx, batch)
	var outcomes []store.Outcome
	var waiting []decide.Waiting
	for _, r := range batch {
		switch r.ending {
		case called:
			outcomes = append(outcomes, r.outcome)
		case blocked:
			waiting = append(waiting, r.waiting)
		case postponed:
			if r.Subject.Record != nil && r.Subject.Change == nil && r.Subject.State == nil {
				c.postponed = append(c.postponed, r.waiting)
			}
		}
	}
	if len(outcomes) > 0 {
		if err := c.Store.Finish(ctx, c.lease, outcomes); err != nil {
			return fmt.Errorf("record outcomes: %w", err)
		}
	}
	if err := c.remember(ctx, waiting); err != nil {
		return err
	}
	for _, r := range batch {
		switch r.ending {
		case called:
			c.note(r)
		case refused:
			c.refused[r.Subject.Ref()] = true
		}
		close(r.done)
	}
	return nil
}

// note notes for the rest of this cycle how an operation ended.
func (c *cycle) note(r *running) {
	s, out := r.Subject, &r.outcome
	if out.Result == decide.ResultOK {
		c.report.count(func(r *store.Report) { r.Pushed++ })
	} else {
		err := out.Err
		if s.RecordID == 0 {
			err = &StrayError{Object: spelled(s), Err: err}
		}
		c.report.failIn(out.IDs, s.Ref(), s.Scope, err)
	}
	// What a creation in doubt made is for recovery to find out.
	if out.Result == decide.ResultOK || out.Result == decide.ResultUnknown && r.Kind != decide.OpCreate {
		intent := out.Intent
		if r.Kind == decide.OpCreate {
			intent.Scope = s.Table.Scope(out.Object)
			intent.Key, _ = s.Table.Key(out.Object)
		} else {
			intent.Key, _ = s.Table.Key(s.Object)
		}
		c.recent.Add(&intent)
		if out.Result == decide.ResultUnknown && intent.Replaces && r.Kind == decide.OpDelete {
			c.doubts.makingRoom(&intent)
		}
	}
	// What somebody has reviewed is not the cycle's own doing: it does not count for what others delete meanwhile.
	if out.Result != decide.ResultFailed && !c.lease.Reviewed {
		c.destroyed.Add(r.Op)
	}
	if r.Kind == decide.OpCreate && (out.Result == decide.ResultUnknown || r.unlogged) {
		// A later pass of this cycle must not create again (R6); the next
		// cycle looks for what this call did.
		c.doubts.undecided(s.Ref(), s.Table.Scope(s.Record.Row))
	}
}
