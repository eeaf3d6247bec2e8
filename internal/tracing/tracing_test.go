package tracing

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"
)

func env(pairs ...string) func(string) string {
	return func(name string) string {
		for _, pair := range pairs {
			if key, value, _ := strings.Cut(pair, "="); key == name {
				return value
			}
		}
		return ""
	}
}

// Nothing is traced unless the environment asks for it.
func TestWanted(t *testing.T) {
	t.Parallel()
	const endpoint = "OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318"
	for _, test := range []struct {
		env  []string
		want bool
		says string
	}{
		{nil, false, ""},
		{[]string{"OTEL_SERVICE_NAME=x", "OTEL_EXPORTER_OTLP_PROTOCOL=grpc"}, false, ""},
		{[]string{endpoint}, true, ""},
		{[]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://127.0.0.1:4318/v1/traces"}, true, ""},
		{[]string{"OTEL_TRACES_EXPORTER=otlp"}, true, ""},
		{[]string{endpoint, "OTEL_TRACES_EXPORTER=none"}, false, ""},
		{[]string{endpoint, "OTEL_SDK_DISABLED=True"}, false, ""},
		{[]string{endpoint, "OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf"}, true, ""},
		{[]string{endpoint, "OTEL_EXPORTER_OTLP_PROTOCOL=grpc", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=http/protobuf"},
			true, ""},
		{[]string{endpoint, "OTEL_EXPORTER_OTLP_PROTOCOL=grpc"}, false, "port 4318"},
		{[]string{"OTEL_TRACES_EXPORTER=zipkin"}, false, "zipkin"},
	} {
		got, err := Wanted(env(test.env...))
		if got != test.want || (err != nil) != (test.says != "") || err != nil &&
			!strings.Contains(err.Error(), test.says) {
			t.Errorf("%v: %v, %v", test.env, got, err)
		}
	}
}

func TestNothingIsStarted(t *testing.T) {
	t.Parallel()
	none, err := Start(t.Context(), env(), "1", slog.Default())
	if err != nil || none != nil || none.Tracer() != nil || none.Stop(t.Context()) != nil {
		t.Errorf("%v, %v", none, err)
	}
}

// A collector gets the spans, who sent them, and how they hang together; the log names
// them.
func TestSpansArrive(t *testing.T) {
	first := true
	got := make(chan *collector.ExportTraceServiceRequest, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if busy := first; busy { // it has no room yet
			first = false
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		plain, err := gzip.NewReader(r.Body)
		if err != nil {
			http.Error(w, "no", http.StatusBadRequest)
			return
		}
		body, err := io.ReadAll(plain)
		request := &collector.ExportTraceServiceRequest{}
		if err != nil || proto.Unmarshal(body, request) != nil || r.URL.Path != "/v1/traces" ||
			r.Header.Get("Authorization") != "Bearer x" {
			http.Error(w, "no", http.StatusBadRequest)
			return
		}
		got <- request
	}))
	defer server.Close()
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test")
	var said bytes.Buffer
	log := slog.New(Log(slog.NewTextHandler(&said, nil)))
	tracing, err := Start(t.Context(),
		env("OTEL_EXPORTER_OTLP_ENDPOINT="+server.URL, "OTEL_EXPORTER_OTLP_HEADERS=Authorization=Bearer%20x",
			"OTEL_EXPORTER_OTLP_COMPRESSION=gzip"), "1.2.3", log)
	if err != nil {
		t.Fatal(err)
	}
	ctx, above := tracing.Tracer().Start(t.Context(), "above")
	below, span := tracing.Tracer().Start(ctx, "below")
	log.With("a", 1).InfoContext(below, "hello")
	log.InfoContext(context.Background(), "elsewhere")
	span.End()
	above.End()
	if err := tracing.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	request := (<-got).ResourceSpans[0]
	about := map[string]string{}
	for _, a := range request.Resource.Attributes {
		about[a.Key] = a.Value.GetStringValue()
	}
	if about["service.name"] != "iasql-engine" || about["service.version"] != "1.2.3" ||
		about["deployment.environment.name"] != "test" {
		t.Errorf("sent by %v", about)
	}
	spans := request.ScopeSpans[0].Spans
	if len(spans) != 2 || spans[0].Name != "below" || !bytes.Equal(spans[0].ParentSpanId, spans[1].SpanId) {
		t.Errorf("got %v", spans)
	}
	id := trace.SpanContextFromContext(below)
	lines := strings.Split(said.String(), "\n")
	if want := "msg=hello a=1 trace_id=" + id.TraceID().String() + " span_id=" + id.SpanID().String(); !strings.Contains(lines[0], want) || strings.Contains(lines[1], "trace_id") {
		t.Errorf("logged %s", said.String())
	}
}

// What the environment says wrongly is said at once.
func TestClientIsRefused(t *testing.T) {
	t.Parallel()
	for pair, says := range map[string]string{
		"OTEL_EXPORTER_OTLP_ENDPOINT=collector:4318":     "give a URL",
		"OTEL_EXPORTER_OTLP_HEADERS=x":                   "name=value",
		"OTEL_EXPORTER_OTLP_COMPRESSION=zstd":            "gzip or none",
		"OTEL_EXPORTER_OTLP_TRACES_TIMEOUT=10s":          "milliseconds",
		"OTEL_EXPORTER_OTLP_CERTIFICATE=/nowhere/ca.crt": "no such file",
		"OTEL_EXPORTER_OTLP_CLIENT_KEY=/nowhere/key":     "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE",
	} {
		if _, err := newClient(env(pair)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", pair, err)
		}
	}
}

// Where spans go: to the path of the signal below what is for all, and exactly to what
// is for traces.
func TestEndpoints(t *testing.T) {
	t.Parallel()
	for pair, want := range map[string]string{
		"":                                       "http://localhost:4318/v1/traces",
		"OTEL_EXPORTER_OTLP_ENDPOINT=https://c/": "https://c/v1/traces",
		"OTEL_EXPORTER_OTLP_ENDPOINT=http://c:1/otlp":          "http://c:1/otlp/v1/traces",
		"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://c:1/traces": "http://c:1/traces",
	} {
		if c, err := newClient(env(pair)); err != nil || c.url != want {
			t.Errorf("%s: %v, %v", pair, c, err)
		}
	}
}

// A collector that refuses is not asked again, and one that is away for the timeout.
func TestCollectorRefuses(t *testing.T) {
	t.Parallel()
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		http.Error(w, "who are you?", http.StatusUnauthorized)
	}))
	defer server.Close()
	c, err := newClient(env("OTEL_EXPORTER_OTLP_ENDPOINT=" + server.URL))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.UploadTraces(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "401") ||
		!strings.Contains(err.Error(), "who are you?") || asked != 1 {
		t.Errorf("%v, asked %d times", err, asked)
	}
	server.Close()
	c.timeout = 50 * time.Millisecond
	if err := c.UploadTraces(t.Context(), nil); err == nil {
		t.Error("nobody has answered")
	}
}
