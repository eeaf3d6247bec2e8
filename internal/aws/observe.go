package aws

import (
	"context"
	"time"

	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/smithy-go/middleware"

	"iasql/internal/modules"
)

// Attempt is one attempt of a call to AWS, as an observer sees it afterwards.
type Attempt struct {
	Service string        // the SDK's id of the service, such as "CloudWatch Logs"
	Action  string        // such as "DescribeLogGroups"
	Region  string        // of the endpoint
	Took    time.Duration // with the wait for the call's turn
	Err     *modules.Error
	// Skew is how far AWS's clock is ahead of this one, by the Date of the answer,
	// which counts whole seconds (RFC 9110, section 6.6.1). Dated is false if the
	// answer has no date.
	Skew  time.Duration
	Dated bool
}

type observerKey struct{}

// WithObserver has observe told of every attempt of a call below ctx, once it has
// ended. It is called by many at once. Calls that were never sent, because there
// were no credentials or because AWS had asked for a pause, are not told.
func WithObserver(ctx context.Context, observe func(Attempt)) context.Context {
	return context.WithValue(ctx, observerKey{}, observe)
}

// observed tells the observers, of ctx and of the clients, of an attempt.
func (op *operation) observed(ctx context.Context, began time.Time, metadata middleware.Metadata, err *modules.Error) {
	observe, ok := ctx.Value(observerKey{}).(func(Attempt))
	if !ok && op.clients.options.Observe == nil || err != nil && isOwn(err.Code) {
		return
	}
	a := Attempt{Service: op.service, Action: op.action, Region: op.region, Took: time.Since(began), Err: err}
	a.Skew, a.Dated = awsmiddleware.GetAttemptSkew(metadata)
	if ok {
		observe(a)
	}
	if op.clients.options.Observe != nil {
		op.clients.options.Observe(a)
	}
}
