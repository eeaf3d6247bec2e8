package awstypes

import (
	"context"
	"fmt"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudcontrol"
	"github.com/aws/aws-sdk-go-v2/service/cloudcontrol/types"

	"iasql/internal/modules"
)

// What Cloud Control is asked to do it does in its own time; it is asked how far it is.
// A cycle waits for a moment, and leaves what takes longer to the next.
const (
	patience   = 15 * time.Second
	firstPause = 100 * time.Millisecond
	mostPause  = 3 * time.Second
)

const (
	codeNotFound    = "ResourceNotFoundException" // of calls
	handlerNotFound = types.HandlerErrorCodeNotFound
	codeInProgress  = "InProgress"
)

// wait returns the last event of a request, with an error if it did not succeed, or has
// not ended after a while.
func (r *resource) wait(ctx context.Context, client *cloudcontrol.Client,
	event *types.ProgressEvent) (*types.ProgressEvent, error) {
	began, pause := time.Now(), firstPause
	for {
		if event == nil {
			return nil, &modules.Error{Class: modules.MayHaveHappened, Code: "NoProgressEvent",
				Message: "the answer does not say how far the request is"}
		}
		switch event.OperationStatus {
		case types.OperationStatusSuccess:
			return event, nil
		case types.OperationStatusFailed:
			return event, failed(event)
		case types.OperationStatusCancelComplete:
			return event, &modules.Error{Class: modules.Invalid, Code: "Canceled",
				Message: "somebody has cancelled the request: " + awssdk.ToString(event.RequestToken)}
		}
		next := pause
		if event.RetryAfter != nil {
			next = min(max(next, time.Until(*event.RetryAfter)), mostPause)
		}
		if time.Since(began)+next > patience {
			return event, &modules.Error{Class: modules.MayHaveHappened, Code: codeInProgress, RetryAfter: mostPause,
				Message: fmt.Sprintf("AWS has not ended the request %s yet", awssdk.ToString(event.RequestToken))}
		}
		select {
		case <-ctx.Done():
			return event, ctx.Err()
		case <-time.After(next):
		}
		pause = min(2*pause, mostPause)
		out, err := client.GetResourceRequestStatus(ctx,
			&cloudcontrol.GetResourceRequestStatusInput{RequestToken: event.RequestToken})
		if err != nil {
			return event, &modules.Error{Class: modules.MayHaveHappened, Code: codeInProgress, Err: err,
				Message: fmt.Sprintf("how far the request %s is could not be read: %v",
					awssdk.ToString(event.RequestToken), err)}
		}
		event = out.ProgressEvent
	}
}

// classes are the classes of the errors that handlers end with ("Handler error codes",
// CloudFormation CLI User Guide).
var classes = map[types.HandlerErrorCode]modules.Class{
	types.HandlerErrorCodeNotUpdatable:                 modules.Invalid,
	types.HandlerErrorCodeInvalidRequest:               modules.Invalid,
	types.HandlerErrorCodeAccessDenied:                 modules.Denied,
	types.HandlerErrorCodeUnauthorizedTaggingOperation: modules.Denied,
	types.HandlerErrorCodeInvalidCredentials:           modules.Denied,
	types.HandlerErrorCodeAlreadyExists:                modules.Exists,
	types.HandlerErrorCodeNotFound:                     modules.NotFound,
	types.HandlerErrorCodeResourceConflict:             modules.Dependency,
	types.HandlerErrorCodeThrottling:                   modules.Throttled,
	types.HandlerErrorCodeServiceLimitExceeded:         modules.Quota,
	types.HandlerErrorCodeNotStabilized:                modules.Transient,
	types.HandlerErrorCodeGeneralServiceException:      modules.Transient,
	types.HandlerErrorCodeServiceInternalError:         modules.Transient,
	types.HandlerErrorCodeServiceTimeout:               modules.Transient,
	types.HandlerErrorCodeNetworkFailure:               modules.Transient,
	types.HandlerErrorCodeInternalFailure:              modules.Transient,
	// Not in the API's list, and told all the same where a hook has refused.
	"NonCompliant":             modules.Invalid,
	"InvalidTypeConfiguration": modules.Invalid,
	"HandlerInternalFailure":   modules.Transient,
	"UnsupportedTarget":        modules.Invalid,
}

// failed returns the error of a request that has failed.
func failed(event *types.ProgressEvent) error {
	class, known := classes[event.ErrorCode]
	if !known {
		class = modules.Invalid // of which nobody knows that it passes
	}
	code := string(event.ErrorCode)
	if code == "" {
		code = "Failed"
	}
	return &modules.Error{Class: class, Code: code, Message: awssdk.ToString(event.StatusMessage), Ended: true,
		Permission: class == modules.Denied && event.ErrorCode != types.HandlerErrorCodeInvalidCredentials}
}

// made returns what a creation has made that failed: an object may be there all the same
// (NotStabilized). Only an identifier that AWS has chosen tells that it is this one.
func (r *resource) made(ctx context.Context, client *cloudcontrol.Client, event *types.ProgressEvent,
	failure error) (modules.Row, error) {
	if event == nil || event.OperationStatus != types.OperationStatusFailed || event.Identifier == nil ||
		!r.t.Table.ComputedIdentity() ||
		event.ErrorCode == types.HandlerErrorCodeAlreadyExists {
		return nil, failure
	}
	row, err := r.readOne(ctx, client, *event.Identifier)
	switch {
	case err != nil:
		return nil, &modules.Error{Class: modules.MayHaveHappened, Code: string(event.ErrorCode), Err: failure,
			Message: fmt.Sprintf("%v; whether %s is there could not be read: %v", failure, *event.Identifier, err)}
	case row == nil:
		return nil, failure
	}
	return row, nil
}
