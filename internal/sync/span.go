package sync

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"iasql/internal/modules"
)

// Attributes of spans. Names are iasql's own, but for those that OpenTelemetry's
// semantic conventions have.
const (
	attrTable     = attribute.Key("iasql.table")
	attrRecord    = attribute.Key("iasql.record")
	attrOperation = attribute.Key("iasql.operation")
	attrPass      = attribute.Key("iasql.pass")
	attrRegion    = attribute.Key("cloud.region")
)

// span begins a span below that of ctx, which ends with end: with the error that err
// then holds, if any. Without a tracer neither costs anything.
func (e *Reconciler) span(ctx context.Context, name string, err *error,
	about ...attribute.KeyValue) (below context.Context, end func()) {
	e.progress()
	if e.Tracer == nil {
		return ctx, func() {}
	}
	below, s := e.Tracer.Start(ctx, name, trace.WithAttributes(about...))
	return below, func() {
		if *err != nil {
			s.SetStatus(codes.Error, (*err).Error())
		}
		s.End()
	}
}

// annotate adds to the span of ctx what is known of it by now.
func (e *Reconciler) annotate(ctx context.Context, about ...attribute.KeyValue) {
	if e.Tracer != nil {
		trace.SpanFromContext(ctx).SetAttributes(about...)
	}
}

// ofPlace says which table and region it is about.
func ofPlace(table string, scope modules.Scope) []attribute.KeyValue {
	about := []attribute.KeyValue{attrTable.String(table)}
	if scope.Region != "" {
		about = append(about, attrRegion.String(scope.Region))
	}
	return about
}

// progress says that the cycle gets on.
func (e *Reconciler) progress() {
	if e.Progress != nil {
		e.Progress()
	}
}
