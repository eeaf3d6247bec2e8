package sync

import (
	"context"
	"fmt"

	"iasql/internal/decide"
	"iasql/internal/store"
)

// settle marks changes as settled, and remembers or forgets states. It reports
// whether any change was settled.
func (c *cycle) settle(ctx context.Context, settlements []store.Settlement) (settled bool, err error) {
	if len(settlements) == 0 {
		return false, nil
	}
	if err := c.Store.Settle(ctx, c.lease, settlements); err != nil {
		return false, fmt.Errorf("settle: %w", err)
	}
	for _, settlement := range settlements {
		if settlement.Settle {
			settled = true
			c.report.count(func(r *store.Report) { r.Settled++ })
		}
	}
	return settled, nil
}

// remember remembers what waits for what.
func (c *cycle) remember(ctx context.Context, waiting []decide.Waiting) error {
	if len(waiting) == 0 {
		return nil
	}
	list := make([]store.Settlement, 0, len(waiting))
	for _, w := range waiting {
		s := w.Subject
		if s.RecordID == 0 || s.Follows != nil && s.Change == nil && s.State == nil && !w.Going {
			continue // it is as it should be until what it follows moves
		}
		list = append(list, store.Settlement{Subject: s, State: s.Blocked(w.Reason, c.jitter)})
	}
	if err := c.Store.Settle(ctx, c.lease, list); err != nil {
		return fmt.Errorf("remember what waits: %w", err)
	}
	return nil
}
