package aws

import (
	"context"
	"time"

	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/smithy-go/middleware"
	"go.opentelemetry.io/otel/attribute"
	otelcodes "go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"iasql/internal/modules"
)

// span begins the span of a call, as OpenTelemetry's semantic conventions for the AWS
// SDK have it (https://opentelemetry.io/docs/specs/semconv/cloud-providers/aws-sdk/);
// end takes what the call came to. What is sent to AWS stays what it was: no header
// says which trace it belongs to. Parameters and answers are not told, which may be
// secrets.
func (op *operation) span(ctx context.Context) (below context.Context, end func(middleware.Metadata, *modules.Error)) {
	tracer := op.clients.options.Tracer
	if tracer == nil {
		return ctx, func(middleware.Metadata, *modules.Error) {}
	}
	below, span := tracer.Start(ctx, op.service+"."+op.action, trace.WithSpanKind(trace.SpanKindClient),
		trace.WithAttributes(
			attribute.String("rpc.system", "aws-api"),
			attribute.String("rpc.service", op.service),
			attribute.String("rpc.method", op.action),
			attribute.String("cloud.region", op.region),
			attribute.String("iasql.account", op.account.name),
			attribute.Bool("iasql.mutates", op.mutates),
		))
	return below, func(metadata middleware.Metadata, e *modules.Error) {
		if id, ok := awsmiddleware.GetRequestIDMetadata(metadata); ok {
			span.SetAttributes(attribute.String("aws.request_id", id))
		}
		if op.queued > 0 {
			span.SetAttributes(attribute.Float64("iasql.waited_seconds", op.queued.Seconds()))
		}
		if e != nil {
			span.SetAttributes(attribute.String("error.type", e.Code),
				attribute.String("iasql.class", e.Class.String()))
			span.SetStatus(otelcodes.Error, e.Message)
		}
		span.End()
	}
}

// tried tells the call's span of an attempt that failed.
func (op *operation) tried(ctx context.Context, began time.Time, e *modules.Error) {
	if op.clients.options.Tracer != nil {
		trace.SpanFromContext(ctx).AddEvent("attempt failed",
			trace.WithAttributes(attribute.Int("iasql.attempt", op.attempts+1),
				attribute.Float64("iasql.took_seconds", time.Since(began).Seconds()),
				attribute.String("error.type", e.Code), attribute.String("iasql.class", e.Class.String())))
	}
}
