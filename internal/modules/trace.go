package modules

import (
	"context"
	"time"
)

// Attempt is one attempt of a call to a world, as whoever traces it sees it afterwards. A world that has no name for
// something leaves it out.
type Attempt struct {
	Service string        // as the world's library calls it, such as "CloudWatch Logs"
	Action  string        // such as "DescribeLogGroups"
	Region  string        // of the endpoint
	Took    time.Duration // with the wait for the call's turn
	Err     *Error
	// Skew is how far the other side's clock is ahead of this one, by the Date of the answer, which counts whole
	// seconds (RFC 9110, section 6.6.1). Dated is false if the answer has no date.
	Skew  time.Duration
	Dated bool
}

type traceKey struct{}

// WithTrace has trace told of every attempt of a call to a world below ctx, once it has ended, however it did (R31): as
// net/http/httptrace does it, for whoever sees to it that a cycle gets on, or measures. Of an answer that comes in
// parts it is told part by part. It is called by many at once. Calls that were never sent, because there were no
// credentials or because the world had asked for a pause, are not told.
func WithTrace(ctx context.Context, trace func(Attempt)) context.Context {
	return context.WithValue(ctx, traceKey{}, trace)
}

// Traced tells whoever traces the calls below ctx of an attempt.
func Traced(ctx context.Context, a Attempt) {
	if trace, ok := ctx.Value(traceKey{}).(func(Attempt)); ok {
		trace(a)
	}
}
