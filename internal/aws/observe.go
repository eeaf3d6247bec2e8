package aws

import (
	"context"
	"time"

	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/smithy-go/middleware"

	"iasql/internal/modules"
)

// observed tells whoever traces the call, and the observer of the clients, of an attempt.
func (op *operation) observed(ctx context.Context, began time.Time, metadata middleware.Metadata, err *modules.Error) {
	if err != nil && isOwn(err.Code) {
		return
	}
	a := modules.Attempt{Service: op.service, Action: op.action, Region: op.region, Took: time.Since(began), Err: err}
	a.Skew, a.Dated = awsmiddleware.GetAttemptSkew(metadata)
	modules.Traced(ctx, a)
	if op.clients.options.Observe != nil {
		op.clients.options.Observe(a)
	}
}
