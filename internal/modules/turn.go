package modules

import "context"

type turnKey struct{}

// WithTurn returns a context under which a listing may ask whether it is an object's turn to
// be read.
func WithTurn(ctx context.Context, turn func(Row) bool) context.Context {
	return context.WithValue(ctx, turnKey{}, turn)
}

// Turn reports whether a listing is to read what takes calls of its own for this object. Each
// object has its turn once in the time within which everything is to be looked at (the
// settings max_staleness and watched_staleness); of one whose turn it is not, a listing shows
// what the listing call itself tells, and the rest is unknown.
// Where somebody waits for the listing, and outside of listings, it is everybody's turn.
func Turn(ctx context.Context, object Row) bool {
	turn, ok := ctx.Value(turnKey{}).(func(Row) bool)
	return !ok || turn(object)
}

type laterKey struct{}

// WithLater returns a context under which a listing may ask which parents it is to leave to a
// later one.
func WithLater(ctx context.Context, later func(parent string) bool) context.Context {
	return context.WithValue(ctx, laterKey{}, later)
}

// Later reports whether a listing that makes a call for each parent leaves what is within this
// one, by the parent's key, to a later listing: parents have their turn as objects have
// ([Turn]). What is within one that is left is unknown (R5).
func Later(ctx context.Context, parent string) bool {
	later, ok := ctx.Value(laterKey{}).(func(string) bool)
	return ok && later(parent)
}

// Turner tells resources that read objects in turn from others: their listings cost little
// besides, and are made more often for it.
type Turner interface {
	// InTurn reports whether the listing asks [Turn] before it makes calls for one object, or
	// [Later] before it makes them for one parent.
	InTurn() bool
}
