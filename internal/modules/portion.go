package modules

import "context"

// Portion is what of objects a call has changed, or a read has to show.
type Portion string

// The portions.
const (
	Everything Portion = ""
	JustTags   Portion = "tags" // and what comes with them
	ButTags    Portion = "rest" // everything but them
)

type portionKey struct{}

// WithPortion returns a context under which reading objects that there are records of need
// not say more of them than that: what takes calls of its own can be left out of their
// rows, where it is unknown.
func WithPortion(ctx context.Context, p Portion) context.Context {
	return context.WithValue(ctx, portionKey{}, p)
}

// PortionOf returns what of objects is asked for.
func PortionOf(ctx context.Context) Portion {
	p, _ := ctx.Value(portionKey{}).(Portion)
	return p
}

// Has reports whether tags (or else the rest) are part of the portion.
func (p Portion) Has(tags bool) bool {
	return p == Everything || tags == (p == JustTags)
}
