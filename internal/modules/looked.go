package modules

import "context"

type lookedKey struct{}

// WithLooked returns a context under which reading objects tells fn how far it is, by many at once and in halves of
// objects. A resource that reads all of them by a few calls need not tell.
func WithLooked(ctx context.Context, fn func(halves int)) context.Context {
	return context.WithValue(ctx, lookedKey{}, fn)
}

// Looked tells that one more object has been read, or is proven not to be there.
func Looked(ctx context.Context) { looked(ctx, 2) }

// LookedHalf tells that half of an object has been read: further calls are about the rest.
func LookedHalf(ctx context.Context) { looked(ctx, 1) }

func looked(ctx context.Context, halves int) {
	if fn, ok := ctx.Value(lookedKey{}).(func(int)); ok {
		fn(halves)
	}
}
