package modules

import "context"

type tagsKey struct{}

// WithTags returns a context under which reading objects that there are records of need not
// say more of them than their tags, and what comes with those.
func WithTags(ctx context.Context) context.Context { return context.WithValue(ctx, tagsKey{}, true) }

// JustTags reports whether nothing but the tags of objects is asked for: what takes calls of
// its own can be left out of their rows, where it is unknown.
func JustTags(ctx context.Context) bool { return ctx.Value(tagsKey{}) != nil }
