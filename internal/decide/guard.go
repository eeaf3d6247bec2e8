package decide

import (
	"fmt"
	"maps"
	"slices"
)

// Destroyed counts the objects of a table that a cycle destroys: for good, or to
// replace them. What they held is gone in both cases (R18).
type Destroyed struct {
	Deleted  int
	Replaced int
}

// Tally is what a cycle has destroyed, by table.
type Tally map[string]Destroyed

// Add counts the object that an operation destroys, if it does.
func (t Tally) Add(op *Op) {
	if !op.Destroys() {
		return
	}
	d := t[op.Subject.Table.Name]
	if op.Replaces {
		d.Replaced++
	} else {
		d.Deleted++
	}
	t[op.Subject.Table.Name] = d
}

// Destroys reports whether the operation is the one by which an object goes whose
// record is deleted, or replaced: the creation of its successor, unless it has to
// be deleted before that. A deposed object was counted when it was replaced.
func (op *Op) Destroys() bool {
	return op.Kind == OpDelete && !op.Subject.Deposed || op.Kind == OpCreate && op.Replaces
}

// Guard is R7: it returns why the plan destroys too much to go ahead without a
// person, "" if it does not. done is what the cycle has destroyed already, by
// table; count tells how many records a table has.
func (p Plan) Guard(limits DeleteLimits, done Tally, count func(table string) int) string {
	if !slices.ContainsFunc(p.Ops, (*Op).Destroys) {
		return ""
	}
	all, byTable := Destroyed{}, Tally{}
	maps.Copy(byTable, done)
	for _, op := range p.Ops {
		byTable.Add(op)
	}
	tables := make([]string, 0, len(byTable))
	for table, d := range byTable {
		tables = append(tables, table)
		all.Deleted, all.Replaced = all.Deleted+d.Deleted, all.Replaced+d.Replaced
	}
	if all.total() > limits.Max {
		return fmt.Sprintf("would delete %s, more than max_deletes (%d)", all.describe("objects"), limits.Max)
	}
	slices.Sort(tables)
	for _, table := range tables {
		d := byTable[table]
		// Deleted records are no longer in the table: it had so many more.
		if had := count(table) + d.Deleted; d.total() >= limits.Floor &&
			float64(d.total()) > limits.Ratio*float64(had) {
			return fmt.Sprintf("would delete %s, more than max_delete_ratio (%g)",
				d.describe(fmt.Sprintf("of %d objects of %s", had, table)), limits.Ratio)
		}
	}
	return ""
}

func (d Destroyed) total() int { return d.Deleted + d.Replaced }

func (d Destroyed) describe(of string) string {
	if d.Replaced == 0 {
		return fmt.Sprintf("%d %s", d.Deleted, of)
	}
	return fmt.Sprintf("%d %s (%d of them to replace them)", d.total(), of, d.Replaced)
}

// DeleteLimits are the settings of R7.
type DeleteLimits struct {
	Max   int     // max_deletes
	Ratio float64 // max_delete_ratio, of a table's objects
	Floor int     // the ratio is not looked at below this many deletions
}
