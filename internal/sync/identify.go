package sync

import (
	"context"
	"errors"
	"fmt"

	"iasql/internal/decide"
	"iasql/internal/modules"
	"iasql/internal/store"
)

// errHeld ends a cycle that must do nothing about its account.
var errHeld = errors.New("nothing is done about the account")

// pushesNothing says why the cycle only pulls, "" if it does not: the database may have gone back in time (R30), or
// the engine was told to.
func (c *cycle) pushesNothing() string {
	switch {
	case c.PullOnly:
		return "this engine was started with --read-only"
	case c.settings.Restored != "":
		return c.settings.Restored + "; look at what is pending, SELECT iasql_confirm('restored', dry_run => true), " +
			"and then SELECT iasql_confirm('restored')"
	}
	return ""
}

// identify is R27: it asks the account who it is before anything else is asked of it. If that is not who it was, the
// cycle ends with errHeld; it has neither pushed nor pulled anything.
func (c *cycle) identify(ctx context.Context) (err error) {
	c.report.count(func(r *store.Report) { r.Restored = c.settings.Restored })
	if why := c.pushesNothing(); why != "" && c.lease.Batch != 0 && !c.ReadOnly {
		c.report.count(func(r *store.Report) { r.Stopped, r.Held = why, true })
		return errHeld
	}
	world := c.Worlds[c.settings.Provider]
	if world == nil {
		return nil
	}
	ctx, end := c.span(ctx, "identify", &err)
	defer end()
	said, err := world.Identify(ctx, modules.Scope{Account: c.lease.Account}, c.kind == store.Full)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	v := decide.Judge(c.settings.Identity, said, err)
	if !c.ReadOnly && (v.Held != c.settings.Held || v.Pin || v.Said != "" && c.kind == store.Full) {
		if err := c.Store.Identified(ctx, c.lease, v); err != nil {
			return fmt.Errorf("remember who the account is: %w", err)
		}
	}
	if v.Held == "" {
		return nil
	}
	c.report.count(func(r *store.Report) { r.Stopped, r.Held = v.Held, true })
	return errHeld
}
