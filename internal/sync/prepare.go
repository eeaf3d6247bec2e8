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
	installed, err := c.Store.Tables(ctx)
	if err != nil {
		return fmt.Errorf("read installed tables: %w", err)
	}
	var tables []*modules.Table
	locked := map[string]error{}
	for _, t := range installed {
		if res := c.Registry.Resource(t.Name); res != nil {
			tables = append(tables, res.Table())
		}
		if t.Locked != nil {
			locked[t.Name] = t.Locked
		}
	}
	c.catalog = newCatalog(modules.Order(tables), locked, c.Registry)
	for _, name := range c.catalog.leftOut() {
		err := c.catalog.locked[name]
		if c.ReadOnly { // a preview must list everything (R10)
			return err
		}
		c.report.fail(decide.RecordRef{Table: name}, modules.Scope{Account: c.lease.Account}, err)
	}
	if c.settings, err = c.Store.Settings(ctx, c.lease.Account); err != nil {
		return fmt.Errorf("read settings and modes: %w", err)
	}
	c.lease.Rules = c.settings.Version
	return c.readIntents(ctx)
}

// readIntents reads by which calls engines have changed objects lately (R13).
func (c *cycle) readIntents(ctx context.Context) error {
	recent, err := c.Store.Recent(ctx, c.lease.Account)
	if err != nil {
		return fmt.Errorf("read the intent log: %w", err)
	}
	c.recent = decide.NewIntents(recent)
	return nil
}
