package modules

import "context"

type hasteKey struct{}

// WithHaste returns a context whose calls somebody waits for: they may use a larger share of
// the rates that the cloud allows than calls nobody waits for.
func WithHaste(ctx context.Context) context.Context { return context.WithValue(ctx, hasteKey{}, true) }

// Hasty reports whether somebody waits for the calls of a context.
func Hasty(ctx context.Context) bool { return ctx.Value(hasteKey{}) != nil }
