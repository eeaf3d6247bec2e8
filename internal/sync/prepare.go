package sync

import (
	"context"
	"fmt"

	"iasql/internal/decide"
	"iasql/internal/modules"
)

// prepare reads what holds for the whole cycle.
func (c *cycle) prepare(ctx context.Context) (err error) {
	ctx, end := c.span(ctx, "prepare", &err)
	defer end()
	if c.settings, err = c.Store.Settings(ctx, c.lease.Account); err != nil {
		return fmt.Errorf("read the installed tables, settings and modes: %w", err)
	}
	c.lease.Rules, c.lease.Events = c.settings.Version, c.settings.Events
	c.catalog = newCatalog(c.Registry.Ordered(c.settings.Provider, c.settings.Tables), c.settings.Locked, c.Registry)
	for _, name := range c.catalog.leftOut() {
		err := c.catalog.locked[name]
		if c.ReadOnly { // a preview must list everything (R10)
			return err
		}
		c.report.fail(decide.RecordRef{Table: name}, modules.Scope{Account: c.lease.Account}, err)
	}
	return c.readIntents(ctx)
}

// readIntents reads by which calls engines have changed objects lately (R13), and which
// calls may have happened (R6).
func (c *cycle) readIntents(ctx context.Context) error {
	recent, inDoubt, err := c.Store.Intents(ctx, c.lease.Account, c.settings.ConsistencyWindow)
	if err != nil {
		return fmt.Errorf("read the intent log: %w", err)
	}
	c.recent, c.inDoubt = decide.NewIntents(recent), inDoubt
	return nil
}
