package modules

import "context"

type createdKey struct{}

// WithCreated returns a context under which a read may ask what objects have just been created with.
func WithCreated(ctx context.Context, created func(identity Row) (sent Row, ok bool)) context.Context {
	return context.WithValue(ctx, createdKey{}, created)
}

// Created returns what the object was created with a moment ago, and what the cloud has answered, false for all other
// objects. What that settles takes no call to read. References are in database terms.
func Created(ctx context.Context, object Row) (sent Row, ok bool) {
	created, asked := ctx.Value(createdKey{}).(func(Row) (Row, bool))
	if !asked {
		return nil, false
	}
	return created(object)
}

// Enumerator names all objects there are by few calls, where reading each of them takes calls of its own. Before many
// objects are created by their names, that says which of the names are taken.
type Enumerator interface {
	// Enumerates reports whether the resource can.
	Enumerates() bool
	// Enumerate gives the identities of all objects of a scope to page. What it shows may be older than what a direct
	// read shows, so that it proves nothing about an object that somebody has seen (R5).
	Enumerate(ctx context.Context, scope Scope, page func([]Row) error) error
}
