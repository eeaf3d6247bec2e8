package modules

import "context"

// Enumerator names all objects there are by few calls, where reading each of them takes calls of its own. Before many
// objects are created by their names, that says which of the names are taken.
type Enumerator interface {
	// Enumerates reports whether the resource can.
	Enumerates() bool
	// Enumerate gives the identities of all objects of a scope to page. What it shows may be older than what a direct
	// read shows, so that it proves nothing about an object that somebody has seen (R5).
	Enumerate(ctx context.Context, scope Scope, page func([]Row) error) error
}
