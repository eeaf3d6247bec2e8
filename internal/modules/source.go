package modules

import (
	"context"
	"encoding/json"
)

// Source has modules that an engine was not built with: resource types that describe
// themselves. What it needs to make one again is kept in the database.
type Source interface {
	// Provider is the [Table.Provider] of what it has, and Examples shows some.
	Provider() string
	Examples() Examples
	// Names reports whether a text may name modules of the source, or be a pattern of
	// such names.
	Names(pattern string) bool
	// Searches reports whether a text can be searched for in such names: it may be a part
	// of one.
	Searches(pattern string) bool
	// Find returns what there is in an account that a pattern means, in order.
	Find(ctx context.Context, scope Scope, pattern string) ([]Offer, error)
	// Describe reads how a type describes itself now. It fills in Version and Schema.
	Describe(ctx context.Context, scope Scope, name string) (Description, error)
	// Lay fills in the Layout, keeping what an earlier one says. taken tells whether
	// something else has a table of that name, installed returns what is installed of a
	// module of the source, or under the name of a table; nil for nothing.
	Lay(d *Description, taken func(table string) bool, installed func(name string) Resource) error
	// Module makes the module.
	Module(d *Description) (*Module, error)
}

// TypeName is a name that people know a module of a [Source] by. It can be installed by that
// name as well as by its own, and its table has it, unless it was installed under another.
type TypeName struct {
	Name string // "iam_policy"
	Type string // the module: "AWS::IAM::ManagedPolicy"
	Doc  string // what its objects are, and what people call them
}

// Offer is a module that a [Source] could make.
type Offer struct {
	Name      string
	Doc       string
	Table     string // the table it would have
	Native    string // the table of another module that has its objects; "" for none
	Publisher string
	Global    bool // its objects belong to no region
}

// Description is what is kept of a module of a [Source].
type Description struct {
	Name     string
	Version  string // the publisher's
	Schema   string
	Layout   json.RawMessage // what its table and columns are called
	Revision int             // the module's version: how many schemas there have been
	Learnt   []string        // columns that turned out to be fixed at creation
}

// Relater is a [Resource] whose objects name others that the table does not refer to yet.
type Relater interface {
	Resource
	// Relates returns what would have to be installed: modules of the source, or tables.
	Relates() []string
}
