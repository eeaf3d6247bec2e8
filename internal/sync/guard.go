package sync

import (
	"context"
	"errors"

	"iasql/internal/decide"
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
		n, countErr := c.Store.Count(ctx, table, c.lease.Account)
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
			settlements = append(settlements, store.Settlement{Subject: op.Subject, State: op.Stopped(why), Limits: &c.settings.Deletes})
		}
	}
	return true, c.Store.Settle(ctx, c.lease, settlements)
}
