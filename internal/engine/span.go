package engine

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"iasql/internal/store"
)

// span begins a span, which ends with end. Without a tracer it costs nothing.
func (e *Engine) span(ctx context.Context, name string, about ...attribute.KeyValue) (below context.Context,
	end func(error)) {
	if e.options.Tracer == nil {
		return ctx, func(error) {}
	}
	below, s := e.options.Tracer.Start(ctx, name, trace.WithAttributes(about...))
	return below, func(err error) {
		if err != nil {
			s.SetStatus(codes.Error, err.Error())
		}
		s.End()
	}
}

// cycleSpan begins the span of a cycle, which its steps are below (package sync).
func (e *Engine) cycleSpan(ctx context.Context, lease store.Lease, kind string) (below context.Context,
	end func(error)) {
	about := []attribute.KeyValue{attribute.String("iasql.engine", e.id),
		attribute.String("iasql.account", lease.Account), attribute.Int64("iasql.cycle", lease.Cycle)}
	if lease.Batch != 0 {
		about = append(about, attribute.Int64("iasql.batch", lease.Batch))
	}
	return e.span(ctx, "cycle "+kind, about...)
}
