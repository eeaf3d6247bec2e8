package conformance

import (
	"slices"
	"strings"
)

// Module describes a module's tables to the suite.
//
// Strings are templates. $n and $i tell the objects of a table apart: they are
// "sql" and 1 for the one that is made by SQL, "cli" and 2 for the one that is
// made by the aws command, "adopted" and 3 for the one that is there before its
// record, "tracked" and 4 for the one that comes and goes under TRACK, "apart"
// and 5 for those that are made to be replaced (see Apart).
// $id is what names the object in the cloud (see Table.Identity), $old what named
// it before it was replaced, $row the record's id, and $column what the
// record has in a column. Module.Vars and $account, the account's twelve
// digits, are there for all of them, and $stranger, those of another account.
//
// Commands are those of the aws command without "aws", split at spaces outside
// of 'single quotes'; \' is a quote. "name := command" keeps what it prints as
// $name for those that follow; "stranger command" is one of the other account.
type Module struct {
	Name string
	Also []string // modules that provide parents, beyond the module's dependencies
	// CLI and Setup are commands and statements that make what the tables need.
	CLI   []string
	Setup []string
	// Vars are templates' further variables: queries, beginning with SELECT, or
	// commands, that are asked after Setup.
	Vars   map[string]string
	Tables []Table // parents before children
}

// Table describes a table to the suite.
type Table struct {
	Name string
	// Kind tells apart descriptions of one table, whose objects cannot have all
	// columns at the same time.
	Kind string
	// Identity is the column that names the object in the cloud, and ID what it
	// is called ("queue-$n"), which may be a query; without one the cloud
	// decides, and Create prints it.
	Identity string
	ID       string
	// Find is the condition on which the object's record is found; "" means
	// that Identity is $id.
	Find string

	Insert string // columns and values: "(name) VALUES ('$id')"
	// Adopts is what is inserted for an object that is there already; "" means
	// Insert.
	Adopts string
	See    string   // prints something while the object exists
	Create []string // the last prints the identity, if the cloud assigns it
	Delete []string

	Change  []Change
	Replace Replace
	// Fixed are further columns that cannot be changed in place. One replacement
	// sets all of them, and See tells what the new object has.
	Fixed []Change
	// Apart are replacements by columns that do not go with Fixed, or after which
	// the commands would not find the object any more.
	Apart []Apart
	// Bound says that objects cannot leave their region because of what belongs
	// to them. That a table's rows need something of their region needs no saying.
	Bound bool
	// Listed is for tables in which nobody can make anything: it prints the
	// list of all identities.
	Listed string
	// Missing says which call the emulator lacks without which there is nothing of
	// the table: nothing is checked but that the full cycles say so, and that
	// nothing else fails with it.
	Missing string
	// Skip names checks that cannot be done, and why: "moto: …" says which call
	// it lacks or what it does not keep, "aws: …" that AWS has no way to do it.
	// Every column that is fixed at creation is replaced by some description of its
	// table, in Replace, Fixed or Apart, or skipped here as "column replaced".
	Skip map[string]string
}

func (t *Table) key() string { return strings.TrimSpace(t.Name + " " + t.Kind) }

// replaces reports whether the description replaces objects by the column.
func (t *Table) replaces(column string) bool {
	return t.Replace.Column == column || slices.ContainsFunc(t.fixed(), func(c Change) bool {
		return c.Column == column
	})
}

// fixed returns the columns of Fixed and Apart.
func (t *Table) fixed() []Change {
	all := slices.Clone(t.Fixed)
	for _, a := range t.Apart {
		all = append(all, a.Set...)
	}
	return all
}

// Change is a column that can be changed, and how it is on both sides.
type Change struct {
	Column string
	SQL    string   // what it is set to by SQL
	See    string   // prints it
	Want   string   // what See prints then; "" means what SQL says
	CLI    []string // changes it in the cloud
	Then   string   // what SQL then finds in it
}

// Replace is a column that cannot be changed in place.
type Replace struct {
	Column string
	SQL    string
	With   string // further columns that are to be set: "password = 'secret'"
	ID     string // $id of the new object, where it is chosen
	// Dependents is a query of what refers to the record, whose answer stays
	// the same. Child and Away are statements that make and delete something
	// that does.
	Child, Dependents, Away string
}

// Apart is a replacement of an object that is made for it by SQL, and deleted by
// SQL after it. It has its own identity wherever there is one: $id and $old.
type Apart struct {
	Insert string   // "" means Table.Insert
	With   string   // further columns that are to be set: "name = 'other'"
	Set    []Change // all of them at once
	// Left says that Table.See no longer shows the object: it looks for it where
	// it was.
	Left bool
}

// Checks that a description can skip. Those of a column are its name and
// " by SQL", " by the CLI" or " replaced".
const (
	createBySQL = "create by SQL"
	createByCLI = "create by the CLI"
	replace     = "replace"
	move        = "replace by region"
	deleteBySQL = "delete by SQL"
	deleteByCLI = "delete by the CLI"
	adopt       = "adopt"
	track       = "TRACK"
)

// run is a list of one command.
func run(command string) []string { return []string{command} }
