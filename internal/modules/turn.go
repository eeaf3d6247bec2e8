package modules

import "context"

type turnKey struct{}

// WithTurn returns a context under which a listing may ask whether it is an object's turn to
// be read.
func WithTurn(ctx context.Context, turn func(Row) bool) context.Context {
	return context.WithValue(ctx, turnKey{}, turn)
}

// Turn reports whether a listing that shows no more of an object than its identity is to read
// it. Each object has its turn once in the time within which everything is to be looked at
// (the setting max_staleness); a listing shows one whose turn it is not by its identity alone.
// Where somebody waits for the listing, and outside of listings, it is everybody's turn.
func Turn(ctx context.Context, object Row) bool {
	turn, ok := ctx.Value(turnKey{}).(func(Row) bool)
	return !ok || turn(object)
}
