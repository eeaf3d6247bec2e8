package sync

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime/debug"

	"iasql/internal/store"
)

// Errand is a cycle that somebody waits for, such as a preview or a commit. A full cycle of
// the account that is listing runs it between two pages, under its own lease.
type Errand struct {
	Kind     store.Kind
	Batch    int64 // see [store.Lease]
	Reviewed bool
	// Prepare is called once the lease is the errand's. It returns the engine of the cycle,
	// or nil if nothing is to be done under the lease.
	Prepare func(context.Context) (*Reconciler, error)

	// What came of it, when Ended is closed.
	Report store.Report
	Err    error
	ended  chan struct{}
	asked  context.Context // of who waits
}

// Begin has the errand be run for as long as ctx lives. It must be called before the errand
// is sent to [Reconciler.Errands].
func (e *Errand) Begin(ctx context.Context) { e.asked, e.ended = ctx, make(chan struct{}) }

// Ended is closed when the errand has been run.
func (e *Errand) Ended() <-chan struct{} { return e.ended }

// runErrand runs an errand. It is called with the gate of the preemption locked. What fails of one
// that changes something ends the full cycle, too: it may have made what the database does
// not know.
func (c *cycle) runErrand(ctx context.Context, e *Errand) (err error) {
	defer close(e.ended)
	defer func() {
		if p := recover(); p != nil {
			e.Err = fmt.Errorf("the engine has a defect: %v\n%s", p, debug.Stack())
			err = e.Err
		}
	}()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(e.asked, func() { cancel(context.Cause(e.asked)) })()
	engine, err := e.Prepare(ctx)
	if err != nil || engine == nil {
		e.Err = err
		return nil
	}
	engine.Progress = c.Progress
	lease := c.lease
	lease.Batch, lease.Reviewed = e.Batch, e.Reviewed
	if engine.ReadOnly {
		e.Report, e.Err = engine.Cycle(ctx, lease, e.Kind)
		return nil
	}
	e.Report, err = c.meanwhile(ctx, engine, lease, e.Kind)
	switch {
	case errors.Is(err, errHeld): // which ends both, and is no error of either (R27, R30)
	case errors.Is(err, store.ErrOutdated): // both begin anew
		e.Report.More = true
	default:
		e.Err = err
	}
	return err
}

// meanwhile runs another cycle under the lease of this one, between two pages of its listing,
// which it changes accordingly.
func (c *cycle) meanwhile(ctx context.Context, engine *Reconciler, lease store.Lease,
	kind store.Kind) (store.Report, error) {
	// What was read before anything is written now.
	for l := range c.preempt.listings {
		if err := l.match(ctx); err != nil {
			return store.Report{}, err
		}
	}
	other := newCycle(engine, lease, kind)
	defer c.memo.Empty()
	other.destroyed, other.gone = c.destroyed, c.gone // it is one cycle to those who limit it (R7, R28)
	other.waited = true
	err := other.run(ctx)
	report := other.report.Report
	if err != nil {
		return report, err
	}
	c.doubts = other.doubts
	for ref := range other.refused {
		c.refused[ref] = true
	}
	// What was written earlier remains known, however long this took: what is on
	// its way from the cloud may have been read before.
	c.recent.Merge(other.recent)
	outdated := other.lease.Rules != c.lease.Rules || !reflect.DeepEqual(c.settings.Rules, other.settings.Rules) ||
		c.settings.HoldConflicts != other.settings.HoldConflicts
	c.preempt.pushed(other.preempt.touched, outdated)
	c.settings, c.lease.Rules = other.settings, other.lease.Rules
	return report, nil
}
