package sync

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"iasql/internal/decide"
	"iasql/internal/store"
)

// plan puts the operations that may be tried now in order, and remembers of others
// what they wait for.
func (c *cycle) plan(ctx context.Context, steps []decide.Step) (_ decide.Plan, err error) {
	ctx, end := c.span(ctx, "plan", &err)
	defer end()
	var pushes []decide.Step
	for _, step := range steps {
		if step.Decision.Action.Pushes() && c.pushable(step.Subject) {
			pushes = append(pushes, step)
		}
	}
	if why := c.pushesNothing(); why != "" && len(pushes) > 0 {
		c.report.count(func(r *store.Report) {
			r.Stopped = cmp.Or(r.Stopped, fmt.Sprintf("%d operations wait: %s", len(pushes), why))
		})
		return decide.Plan{}, nil
	}
	waiting, err := c.incomplete(ctx, pushes)
	if err != nil {
		return decide.Plan{}, err
	}
	plan := decide.NewPlan(pushes, waiting...)
	return plan, c.remember(ctx, append(slices.Clone(c.waits), plan.Waiting...))
}

// incomplete returns the creations that refer to a record whose object has been
// created and is not complete, unless it is being completed by this plan.
func (c *cycle) incomplete(ctx context.Context, pushes []decide.Step) (waiting []decide.Waiting, err error) {
	planned := map[decide.RecordRef]bool{}
	for _, step := range pushes {
		planned[step.Subject.Ref()] = true
	}
	parents := map[string][]int64{}
	each := func(s *decide.Subject, do func(decide.RecordRef)) {
		for i := range s.Table.Columns {
			col := &s.Table.Columns[i]
			for _, id := range col.RecordsIn(s.Record.Row) {
				do(decide.RecordRef{Table: col.Target(), ID: id})
			}
		}
	}
	for _, step := range pushes {
		if step.Decision.Action == decide.Create {
			each(step.Subject, func(at decide.RecordRef) {
				if t := c.Registry.Table(at.Table); t != nil && t.Defers() && c.catalog.has(at.Table) && !planned[at] &&
					!slices.Contains(parents[at.Table], at.ID) {
					parents[at.Table] = append(parents[at.Table], at.ID)
				}
			})
		}
	}
	lacking := map[decide.RecordRef]bool{}
	for _, t := range tablesWith(&c.catalog, parents) {
		loaded, err := c.Store.Load(ctx, t, parents[t.Name])
		if err != nil {
			return nil, fmt.Errorf("load records of %s: %w", t.Name, err)
		}
		for _, s := range loaded {
			lacking[s.Ref()] = s.Incomplete()
		}
	}
	for _, step := range pushes {
		if step.Decision.Action != decide.Create {
			continue
		}
		wait := decide.Waiting{Subject: step.Subject}
		each(step.Subject, func(at decide.RecordRef) {
			if lacking[at] {
				wait.On, wait.Reason = at, fmt.Sprintf("waits for %s %d, which is not complete yet", at.Table, at.ID)
			}
		})
		if wait.Reason != "" {
			waiting = append(waiting, wait)
		}
	}
	return waiting, nil
}

// pushable reports whether operations of the subject may be tried now.
func (c *cycle) pushable(s *decide.Subject) bool {
	return s.Due() && !c.held(s) && !c.doubts.about(s.Ref()) && !c.refused[s.Ref()]
}
