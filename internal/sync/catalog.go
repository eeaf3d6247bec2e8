package sync

import (
	"slices"

	"iasql/internal/decide"
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

// catalog has the tables of a cycle.
type catalog struct {
	tables []*modules.Table // parents first
	rank   map[string]int   // places in tables
	locked map[string]error // tables that are left out of the cycle, and why
	above  map[string]bool  // tables that those refer to, be it through others
}

// newCatalog returns the catalog of tables without the locked ones and those that refer to
// them.
func newCatalog(all *modules.Ordering, locked map[string]error, registry *modules.Registry) catalog {
	c := catalog{tables: all.Tables, rank: all.Rank}
	if len(locked) == 0 {
		return c
	}
	c.tables, c.locked = slices.Clone(all.Tables), map[string]error{}
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
	c.above = parentsOf(c.locked, registry)
	c.rank = make(map[string]int, len(c.tables))
	for i, t := range c.tables {
		c.rank[t.Name] = i
	}
	return c
}

// tablesWith returns the tables that have something in a map by table, parents first.
func tablesWith[T any](c *catalog, byTable map[string]T) []*modules.Table {
	ranks := make([]int, 0, len(byTable))
	for name := range byTable {
		if rank, ok := c.rank[name]; ok {
			ranks = append(ranks, rank)
		}
	}
	slices.Sort(ranks)
	tables := make([]*modules.Table, len(ranks))
	for i, rank := range ranks {
		tables[i] = c.tables[rank]
	}
	return tables
}

// unavailable returns why a table cannot be read, nil if it can.
func (c *catalog) unavailable(t *modules.Table, locked map[string]error) error {
	if err := locked[t.Name]; err != nil {
		return &LockedError{t.Name, err}
	}
	for _, parent := range t.Parents() {
		if err := c.locked[parent]; err != nil {
			return err
		}
	}
	return nil
}

// parentsOf returns the tables that those refer to, be it through others.
func parentsOf(tables map[string]error, registry *modules.Registry) map[string]bool {
	above := map[string]bool{}
	var climb func(name string)
	climb = func(name string) {
		t := registry.Table(name)
		if t == nil {
			return
		}
		for _, parent := range t.Parents() {
			if !above[parent] {
				above[parent] = true
				climb(parent)
			}
		}
	}
	for name := range tables {
		climb(name)
	}
	return above
}

// has reports whether the cycle looks at the table.
func (c *catalog) has(table string) bool {
	_, ok := c.rank[table]
	return ok
}

// leftOut returns the tables that are left out of the cycle, in order.
func (c *catalog) leftOut() []string {
	names := make([]string, 0, len(c.locked))
	for name := range c.locked {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// withoutFollowers leaves out the steps that records of locked tables may have to
// follow: their parents are neither replaced nor do their records go. It reports
// whether there were any.
func (c *catalog) withoutFollowers(steps []decide.Step) (kept []decide.Step, left bool) {
	if len(c.above) == 0 {
		return steps, false
	}
	kept = slices.DeleteFunc(steps, func(step decide.Step) bool {
		action := step.Decision.Action
		return (action == decide.Replace || action == decide.DeleteRecord) && c.above[step.Subject.Table.Name]
	})
	return kept, len(kept) < len(steps)
}
