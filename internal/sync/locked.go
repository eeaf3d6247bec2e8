package sync

import (
	"fmt"
	"slices"

	"iasql/internal/modules"
)

// Whoever may change a table may lock it, and stay away. A cycle does not wait:
// it leaves out such tables, and those whose records refer to them, because
// neither can be read without the other. What is in them is unknown (R5), so that
// nothing is concluded about it, and the next cycle looks again (R23).

// LockedError says that a table is left out because another is locked.
type LockedError struct {
	Table string // what is locked
	Err   error  // by whom
}

// Error implements error.
func (e *LockedError) Error() string { return e.Err.Error() }

// Unwrap returns who has the lock.
func (e *LockedError) Unwrap() error { return e.Err }

// leaveOut takes locked tables, and those that refer to them, out of the cycle,
// and reports them. A preview must list everything (R10), and fails instead.
func (c *cycle) leaveOut(locked map[string]error) error {
	if len(locked) == 0 {
		return nil
	}
	c.locked = map[string]error{}
	for again := true; again; { // until no table is left that refers to one left out
		before := len(c.tables)
		c.tables = slices.DeleteFunc(c.tables, func(t *modules.Table) bool {
			err := c.unavailable(t, locked)
			if err != nil {
				c.locked[t.Name] = err
			}
			return err != nil
		})
		again = len(c.tables) < before
	}
	c.above = c.parentsOf(c.locked)
	names := make([]string, 0, len(c.locked))
	for name := range c.locked {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if c.ReadOnly {
			return c.locked[name]
		}
		c.report.fail(RecordRef{Table: name}, modules.Scope{Account: c.lease.Account}, c.locked[name])
	}
	return nil
}

// unavailable returns why a table cannot be read, nil if it can.
func (c *cycle) unavailable(t *modules.Table, locked map[string]error) error {
	if err := locked[t.Name]; err != nil {
		return &LockedError{t.Name, err}
	}
	for i := range t.Columns {
		if ref := t.Columns[i].References; ref != nil && ref.Table != t.Name {
			if err := c.locked[ref.Table]; err != nil {
				return err
			}
		}
	}
	return nil
}

// leftFor notes that something is to be done with a table that is left out. A
// batch is committed as a whole or not at all.
func (c *cycle) leftFor(table string) error {
	err := c.locked[table]
	if err == nil {
		return nil
	}
	if c.lease.Batch != 0 {
		return fmt.Errorf("there are changes of %s to be committed: %w", table, err)
	}
	c.report.count(func(r *Report) { r.Locked = true })
	return nil
}

// parentsOf returns the tables that those refer to, be it through others.
func (c *cycle) parentsOf(tables map[string]error) map[string]bool {
	above := map[string]bool{}
	var climb func(name string)
	climb = func(name string) {
		t := c.Registry.Table(name)
		if t == nil {
			return
		}
		for i := range t.Columns {
			if ref := t.Columns[i].References; ref != nil && !above[ref.Table] {
				above[ref.Table] = true
				climb(ref.Table)
			}
		}
	}
	for name := range tables {
		climb(name)
	}
	return above
}

// withoutFollowers leaves out the steps that records of locked tables may have to
// follow: their parents are neither replaced nor do their records go.
func (c *cycle) withoutFollowers(steps []Step) []Step {
	if len(c.above) == 0 {
		return steps
	}
	return slices.DeleteFunc(steps, func(step Step) bool {
		action := step.Decision.Action
		left := (action == Replace || action == DeleteRecord) && c.above[step.Subject.Table.Name]
		if left {
			c.report.count(func(r *Report) { r.Locked = true })
		}
		return left
	})
}
