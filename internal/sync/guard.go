package sync

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"iasql/internal/decide"
	"iasql/internal/modules"
	"iasql/internal/store"
)

// guard is R7 before the first operation of a plan.
func (c *cycle) guard(ctx context.Context, plan decide.Plan) (stop bool, err error) {
	ctx, end := c.span(ctx, "guard", &err)
	defer end()
	if c.lease.Reviewed {
		return false, nil
	}
	why := plan.Guard(c.settings.Deletes, c.destroyed, func(table string) int {
		n, countErr := c.Store.Count(ctx, table, modules.Scope{Account: c.lease.Account})
		err = errors.Join(err, countErr)
		return n
	})
	if err != nil || why == "" {
		return false, err
	}
	c.report.count(func(r *store.Report) { r.Stopped = why })
	settlements := make([]store.Settlement, 0, len(plan.Ops))
	for _, op := range plan.Ops {
		if op.Destroys() && op.Subject.RecordID != 0 {
			settlements = append(settlements,
				store.Settlement{Subject: op.Subject, State: op.Stopped(why), Limits: &c.settings.Deletes})
		}
	}
	return true, c.Store.Settle(ctx, c.lease, settlements)
}

// refuses reports what of the steps will certainly not be done.
func (c *cycle) refuses(steps []decide.Step) bool {
	var all []string
	for _, step := range steps {
		if s := step.Subject; step.Decision.Refused {
			all = append(all, fmt.Sprintf("%s %d (%s) %s", s.Table.Name, s.RecordID, spelled(s), step.Decision.Reason))
		}
	}
	slices.Sort(all)
	c.report.count(func(r *store.Report) { r.Refused = all })
	return len(all) > 0
}

// believe is R28 before any record is deleted because its object is gone: where too many are, all such steps become
// questions. A cycle that has deleted some counts them with what comes later.
func (c *cycle) believe(ctx context.Context, steps []decide.Step) (err error) {
	ctx, end := c.span(ctx, "believe", &err)
	defer end()
	gone := maps.Clone(c.gone)
	gone.Add(steps)
	if len(gone) == len(c.gone) && maps.Equal(gone, c.gone) {
		return nil
	}
	why := gone.Guard(c.settings.Deletes, c.gone, func(at decide.GonePlace) int {
		n, countErr := c.Store.Count(ctx, at.Table, at.Scope)
		err = errors.Join(err, countErr)
		return n
	})
	if err != nil || why == "" {
		if err == nil && !c.ReadOnly {
			maps.Copy(c.gone, gone)
		}
		return err
	}
	for i := range steps {
		if steps[i].Unasked() {
			steps[i].Decision = steps[i].Decision.AsksVanished(why + "; " + confirmVanished)
		}
	}
	c.report.count(func(r *store.Report) {
		if r.Stopped == "" {
			r.Stopped = why + ", and were not deleted here"
		}
	})
	return nil
}

// confirmVanished says what a person does who is asked.
const confirmVanished = "if that is so, SELECT iasql_confirm('vanished'); if not, look at the endpoint and its answers"
