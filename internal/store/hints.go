package store

import (
	"context"
	"time"

	"iasql/internal/modules"
)

// Hints are what events of the cloud have said: where to look. They are never facts about
// objects (R26).
type Hints interface {
	// Hints returns the hints of the account that are due, at most [MaxHints]: of each
	// table and scope the oldest first, and however many one has, it leaves the others
	// their turn.
	Hints(ctx context.Context, account string) ([]Hint, error)
	// Looked ends hints that were looked into, or has them wait to be looked into again.
	// What was pulled before the events of the ended ones came, and is about what they
	// name, is then known to be the doing of whom they tell. It ends those as well that
	// were due, were not looked into before, and are of what was listed since.
	Looked(ctx context.Context, lease Lease, looked []Look, listed []ListedPlace) error
	// Named returns the scope's records that have one of the values in a column, both in
	// cloud terms. A column that several records may have the same value in has several.
	Named(ctx context.Context, table *modules.Table, scope modules.Scope, column string,
		values []string) ([]Named, error)
}

// MaxHints is how many hints are looked into at once, MaxHintsDue of how many that are due
// they are the oldest, and HintsInTurn how many of a table and scope come before others have
// their turn.
const (
	MaxHints    = 1000
	MaxHintsDue = 20_000
	HintsInTurn = 100
)

// ListedPlace is a table and a scope that was listed after the hint UpTo had come.
type ListedPlace struct {
	Table string
	Scope modules.Scope
	UpTo  int64
}

// Hint says where something may have changed: the objects of a table that have a value in
// a column, in cloud terms, or with Column "" any object of the table in the scope.
type Hint struct {
	ID            int64
	Table         string
	Scope         modules.Scope
	Column, Value string
	// Existing: where no record has the value it is one of another table.
	Existing bool
	// Extent is what was changed at most.
	Extent modules.Extent
	// Tries is how often it was looked into before.
	Tries int
	// Due is how many hints of its table and scope are due, and Newest the newest of them.
	Due    int
	Newest int64
	// Known: there is nothing to look for. The change was the engine's own, or everything
	// of the scope was listed since.
	Known bool
}

// Look is what came of looking into a hint.
type Look struct {
	Hint
	// Records are those that have what it names; none if it names nothing.
	Records []int64
	// Again is after how long it is to be looked into again, 0 for not at all.
	Again time.Duration
}

// Named is a record that has a value in a column.
type Named struct {
	Value  string
	Record int64
}
