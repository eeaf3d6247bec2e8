// Package tracing sends traces of the engine to a collector, by OTLP over HTTP, and
// has the log name the trace that a message belongs to.
//
// It is off until an endpoint is given. What OpenTelemetry's specification of the SDK's
// environment variables says holds, but for that
// (https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/).
package tracing

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// scope is the name of the instrumentation, as spans bear it.
const scope = "iasql"

// Tracing is where spans go; nil is nowhere.
type Tracing struct{ provider *sdktrace.TracerProvider }

// Wanted reports whether the environment asks for traces, or what is wrong with it.
func Wanted(getenv func(string) string) (bool, error) {
	exporter := getenv("OTEL_TRACES_EXPORTER")
	endpoint := getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") + getenv("OTEL_EXPORTER_OTLP_ENDPOINT")
	switch {
	case strings.EqualFold(getenv("OTEL_SDK_DISABLED"), "true"), exporter == "none", exporter == "" && endpoint == "":
		return false, nil
	case exporter != "" && exporter != "otlp":
		return false, fmt.Errorf("$OTEL_TRACES_EXPORTER %s: traces are sent by otlp, or not at all: none", exporter)
	}
	for _, name := range []string{"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"} {
		if protocol := getenv(name); protocol != "" {
			if protocol != "http/protobuf" {
				return false, fmt.Errorf("$%s %s: traces are sent by http/protobuf, which collectors take on port 4318",
					name, protocol)
			}
			break
		}
	}
	return true, nil
}

// Start prepares for sending spans, if the environment asks for it (see [Wanted]): in
// batches, behind the back of what is traced. A collector that is away is no error, and
// loses spans.
func Start(ctx context.Context, getenv func(string) string, version string, log *slog.Logger) (*Tracing, error) {
	if wanted, err := Wanted(getenv); err != nil || !wanted {
		return nil, err
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Warn("traces could not be sent", "error", err) }))
	to, err := newClient(getenv)
	if err != nil {
		return nil, err
	}
	exporter, err := otlptrace.New(ctx, to)
	if err != nil {
		return nil, fmt.Errorf("traces: %w", err)
	}
	// OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES beat what is said here.
	about, err := resource.New(ctx, resource.WithTelemetrySDK(), resource.WithHost(),
		resource.WithAttributes(attribute.String("service.name", "iasql-engine"),
			attribute.String("service.version", version)), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("traces: %w", err)
	}
	// The sampler and the sizes of batches are those of OTEL_TRACES_SAMPLER and OTEL_BSP_….
	return &Tracing{sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(about))}, nil
}

// Tracer returns what spans are begun with, nil if nobody is told of them.
func (t *Tracing) Tracer() trace.Tracer {
	if t == nil {
		return nil
	}
	return t.provider.Tracer(scope)
}

// Stop sends what has not been sent.
func (t *Tracing) Stop(ctx context.Context) error {
	if t == nil {
		return nil
	}
	return t.provider.Shutdown(ctx)
}

// Log returns a handler that adds to each message the trace and the span that its
// context belongs to, as trace_id and span_id.
func Log(handler slog.Handler) slog.Handler { return logHandler{handler} }

type logHandler struct{ slog.Handler }

// Handle implements [slog.Handler].
func (h logHandler) Handle(ctx context.Context, r slog.Record) error {
	if of := trace.SpanContextFromContext(ctx); of.IsValid() {
		r.AddAttrs(slog.String("trace_id", of.TraceID().String()), slog.String("span_id", of.SpanID().String()))
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements [slog.Handler].
func (h logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return logHandler{h.Handler.WithAttrs(attrs)}
}

// WithGroup implements [slog.Handler].
func (h logHandler) WithGroup(name string) slog.Handler { return logHandler{h.Handler.WithGroup(name)} }
