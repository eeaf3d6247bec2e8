package sync

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"iasql/internal/decide"
	"iasql/internal/modules"
	"iasql/internal/store"
)

// MaxPasses bounds the passes of one cycle; what is left then is for the next.
const MaxPasses = 24

// maxRestarts bounds how often one cycle begins anew because the rules change.
const maxRestarts = 3

// cycle is the state of one run.
type cycle struct {
	*Reconciler
	lease     store.Lease
	kind      store.Kind
	waited    bool // somebody waits for it
	settings  store.Settings
	catalog   catalog
	recent    decide.Intents            // by which engines have changed objects within the consistency window
	inDoubt   []decide.Intent           // calls whose end is not known
	doubts    doubts                    // creations that may have happened
	destroyed decide.Tally              // for R7
	gone      decide.Gone               // for R28: records deleted since their objects are gone
	refused   map[decide.RecordRef]bool // by the intent log: not to be tried again in this cycle
	waits     []decide.Waiting          // of this pass: replacements that a staged record would have to follow
	postponed []decide.Waiting          // by the last pass: of what neither a change nor a state reminds
	resync    resync
	regions   regions
	hinted    map[place][]*hint // what the listing of this cycle is to look into
	ignored   ignored
	memo      modules.Memo // of the listings of this cycle
	preempt   preemption
	report    report
}

func newCycle(e *Reconciler, lease store.Lease, kind store.Kind) *cycle {
	return &cycle{Reconciler: e, lease: lease, kind: kind, waited: !e.Patient, doubts: newDoubts(),
		destroyed: decide.Tally{}, gone: decide.Gone{}, refused: map[decide.RecordRef]bool{},
		hinted: map[place][]*hint{}, preempt: newPreemption()}
}

// Cycle makes the account's cloud and tables equal as far as it can, and
// reports what it did. It returns an error only when the cycle as a whole could
// not go on; what fails for one record stays with it (R8). A cycle may be
// abandoned at any instant.
func (e *Reconciler) Cycle(ctx context.Context, lease store.Lease, kind store.Kind) (store.Report, error) {
	c := newCycle(e, lease, kind)
	for restarts := 0; ; restarts++ {
		err := c.run(ctx)
		switch {
		case errors.Is(err, errHeld):
			return c.report.Report, nil
		case !errors.Is(err, store.ErrOutdated):
			return c.report.Report, err
		case restarts == maxRestarts:
			c.report.More = true
			return c.report.Report, nil
		}
		// Decided by rules that do not hold any more: the cycle begins anew (R19).
		again := newCycle(e, lease, kind)
		again.destroyed, again.gone = c.destroyed, c.gone // it is one cycle to those who limit it (R7, R28)
		again.report.add(&c.report.Report)
		c = again
	}
}

// run is the flow that doc.go shows.
func (c *cycle) run(ctx context.Context) error {
	if err := c.prepare(ctx); err != nil {
		return err
	}
	if err := c.identify(ctx); err != nil {
		return err
	}
	if recovered, err := c.recover(ctx); err != nil {
		return err
	} else if recovered {
		if err := c.readIntents(ctx); err != nil {
			return err
		}
	}
	steps, err := c.look(ctx)
	if err != nil {
		return err
	}
	if c.kind == store.Full {
		listed, err := c.list(ctx)
		if err != nil {
			return err
		}
		// What is listed as well is decided by the listing.
		steps = slices.DeleteFunc(steps, func(step decide.Step) bool {
			return c.lists(place{step.Subject.Table.Name, step.Subject.Scope})
		})
		steps = append(steps, listed...)
		if err := c.endHinted(ctx); err != nil {
			return err
		}
	}
	for begun := time.Now(); ; steps = nil {
		passes := c.report.pass()
		progressed, err := c.pass(ctx, passes, steps)
		if err != nil || !progressed {
			return err
		}
		if passes == MaxPasses || c.TimeSlice >= 0 && time.Since(begun) >= c.timeSlice() {
			c.report.count(func(r *store.Report) { r.More = true })
			return c.remember(ctx, c.postponed)
		}
	}
}

// pass deals once with what is due, and with the steps of a listing. It reports
// whether anything was written, so that another pass is worth while.
func (c *cycle) pass(ctx context.Context, n int, listed []decide.Step) (progressed bool, err error) {
	ctx, end := c.span(ctx, "pass", &err, attrPass.Int(n))
	defer end()
	due, err := c.snapshot(ctx, c.kind == store.Full && n == 1)
	if err != nil {
		return false, err
	}
	steps := newest(listed, due)
	if err := c.claim(ctx, due); err != nil {
		return false, err
	}
	if err := c.observe(ctx, due); err != nil {
		return false, err
	}
	for _, s := range due {
		steps = append(steps, c.decide(s))
	}
	if steps, err = c.follow(ctx, steps); err != nil {
		return false, err
	}
	if err := c.believe(ctx, steps); err != nil {
		return false, err
	}
	if c.ReadOnly {
		c.report.count(func(r *store.Report) { r.Steps = append(r.Steps, steps...) })
		return false, nil
	}
	if c.Strict && c.refuses(steps) {
		return false, nil
	}
	if c.kind == store.Push {
		c.preempt.mapping(steps)
	}
	pulled, err := c.pull(ctx, steps)
	if err != nil {
		return false, err
	}
	plan, err := c.plan(ctx, steps)
	if err != nil || len(plan.Ops) == 0 {
		return pulled, err
	}
	if stop, err := c.guard(ctx, plan); err != nil || stop {
		return false, err
	}
	called, err := c.apply(ctx, plan)
	return pulled || called, err
}

// follow adds to steps the records that have to follow a record that is replaced,
// because they name its object by a column that is fixed at creation (they are
// replaced too) or not (they are updated), until no more are found.
func (c *cycle) follow(ctx context.Context, steps []decide.Step) (_ []decide.Step, err error) {
	ctx, end := c.span(ctx, "follow", &err)
	defer end()
	c.waits = nil
	f := c.newFollowers(steps)
	for {
		replaced := f.replaced()
		if len(replaced) == 0 {
			f.keep()
			return f.steps, nil
		}
		fresh, dangling, err := f.load(ctx, replaced)
		if err != nil {
			return nil, err
		}
		if err := c.observe(ctx, fresh); err != nil {
			return nil, err
		}
		f.decide(fresh, replaced, dangling)
	}
}

// newest leaves out the steps of records that have been read again since.
func newest(steps []decide.Step, due []*decide.Subject) []decide.Step {
	if len(steps) == 0 {
		return steps
	}
	again := make(map[decide.RecordRef]bool, len(due))
	for _, s := range due {
		again[s.Ref()] = again[s.Ref()] || !s.Deposed
	}
	return slices.DeleteFunc(steps, func(step decide.Step) bool {
		return step.Subject.RecordID != 0 && again[step.Subject.Ref()]
	})
}

// pushMeanwhile does what a push cycle does, under the lease of this cycle and
// between two pages of its listing. It is called with the gate of the preemption
// locked.
func (c *cycle) pushMeanwhile(ctx context.Context) (err error) {
	ctx, end := c.span(ctx, "push meanwhile", &err)
	defer end()
	engine := *c.Reconciler
	engine.TimeSlice = max(engine.TimeSlice, 0)
	report, err := c.meanwhile(ctx, &engine, c.lease, store.Push)
	c.report.add(&report)
	if err != nil {
		return fmt.Errorf("push what was changed meanwhile: %w", err)
	}
	return nil
}
