package sync

import (
	"context"

	"iasql/internal/decide"
)

// plan puts the operations that may be tried now in order, and remembers of others
// what they wait for.
func (c *cycle) plan(ctx context.Context, steps []decide.Step) (decide.Plan, error) {
	var pushes []decide.Step
	for _, step := range steps {
		if step.Decision.Action.Pushes() && c.pushable(step.Subject) {
			pushes = append(pushes, step)
		}
	}
	plan := decide.NewPlan(pushes)
	return plan, c.remember(ctx, plan.Waiting)
}

// pushable reports whether operations of the subject may be tried now.
func (c *cycle) pushable(s *decide.Subject) bool {
	return s.Due() && !c.doubts.about(s.Ref()) && !c.refused[s.Ref()]
}
