package operation

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"iasql/internal/test/harness"
)

// receiver takes spans as a collector does (OTLP specification 1.x, OTLP/HTTP: a POST
// of binary protobuf to /v1/traces, answered by a protobuf).
type receiver struct {
	*httptest.Server
	lock  sync.Mutex
	spans map[string]*otlp.Span // by id
	bad   []string
}

func newReceiver(t *testing.T) *receiver {
	r := &receiver{spans: map[string]*otlp.Span{}}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	return r
}

// ServeHTTP implements http.Handler.
func (r *receiver) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	r.lock.Lock()
	defer r.lock.Unlock()
	body, err := io.ReadAll(q.Body)
	request := &collector.ExportTraceServiceRequest{}
	if err == nil {
		err = proto.Unmarshal(body, request)
	}
	if q.Method != http.MethodPost || q.URL.Path != "/v1/traces" ||
		q.Header.Get("Content-Type") != "application/x-protobuf" || err != nil {
		r.bad = append(r.bad, q.Method+" "+q.URL.Path)
		http.Error(w, "no", http.StatusBadRequest)
		return
	}
	for _, of := range request.ResourceSpans {
		if text(of.Resource.Attributes, "service.name") != "iasql-engine" {
			r.bad = append(r.bad, "spans of "+text(of.Resource.Attributes, "service.name"))
		}
		for _, in := range of.ScopeSpans {
			for _, span := range in.Spans {
				r.spans[string(span.SpanId)] = span
			}
		}
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
	answer, _ := proto.Marshal(&collector.ExportTraceServiceResponse{})
	_, _ = w.Write(answer)
}

func value(attributes []*common.KeyValue, key string) *common.AnyValue {
	for _, a := range attributes {
		if a.Key == key {
			return a.Value
		}
	}
	return nil
}

func text(attributes []*common.KeyValue, key string) string {
	return value(attributes, key).GetStringValue()
}

// path returns the names of the spans from the root to a span, and the root; nil while
// one of them has not arrived.
func (r *receiver) path(span *otlp.Span) (names []string, root *otlp.Span) {
	for {
		names = append([]string{span.Name}, names...)
		if len(span.ParentSpanId) == 0 {
			return names, span
		}
		above := r.spans[string(span.ParentSpanId)]
		if above == nil || string(above.TraceId) != string(span.TraceId) {
			return nil, nil
		}
		span = above
	}
}

// find returns a span that ends such a path.
func (r *receiver) find(path string, ok func(span, root *otlp.Span) bool) bool {
	r.lock.Lock()
	defer r.lock.Unlock()
	for _, span := range r.spans {
		if names, root := r.path(span); strings.Join(names, " / ") == path && ok(span, root) {
			return true
		}
	}
	return false
}

// Every call of the cloud is below the operation or the step that makes it, and that
// below its cycle. Without an endpoint there is none of it, and with a collector that
// is away everything works.
func TestTraces(t *testing.T) {
	// (No t.Parallel: the engine gets its variables from this process.)
	to := newReceiver(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", to.URL)
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "200")
	w := harness.Start(t, []string{"us-east-1"}, "aws_vpc")
	w.PSQL(`INSERT INTO vpc (cidr_block) VALUES ('10.7.0.0/16')`)
	w.Settled()
	operation := w.PSQL(`SELECT id FROM iasql_operations WHERE table_name = 'vpc' AND kind = 'create'`)
	cycle := w.PSQL(`SELECT cycle_id FROM iasql_operations WHERE table_name = 'vpc' AND kind = 'create'`)
	account := w.PSQL(`SELECT name FROM aws_account`)
	number := func(v *common.AnyValue) string { return strings.TrimPrefix(v.String(), "int_value:") }
	for _, test := range []struct {
		path string
		ok   func(span, root *otlp.Span) bool
	}{
		{"cycle push / pass / apply / create vpc / EC2.CreateVpc", func(span, root *otlp.Span) bool {
			return span.Kind == otlp.Span_SPAN_KIND_CLIENT && text(span.Attributes, "rpc.system") == "aws-api" &&
				text(span.Attributes, "rpc.service") == "EC2" &&
				text(span.Attributes, "cloud.region") == "us-east-1" && text(span.Attributes, "aws.request_id") != "" &&
				value(span.Attributes, "iasql.mutates").GetBoolValue() &&
				text(root.Attributes, "iasql.account") == account &&
				number(value(root.Attributes, "iasql.cycle")) == cycle
		}},
		{"cycle push / pass / apply / create vpc", func(span, _ *otlp.Span) bool {
			ids := value(span.Attributes, "iasql.operation").GetArrayValue().GetValues()
			return len(ids) > 0 && number(ids[0]) == operation && text(span.Attributes, "iasql.table") == "vpc"
		}},
		{"cycle push / pass / observe / EC2.DescribeVpcs", func(span, _ *otlp.Span) bool {
			return !value(span.Attributes, "iasql.mutates").GetBoolValue()
		}},
		{"cycle push / pass / snapshot", func(_, _ *otlp.Span) bool { return true }},
		{"cycle push / prepare", func(_, _ *otlp.Span) bool { return true }},
		{"cycle full / list / list table / EC2.DescribeVpcs", func(_, _ *otlp.Span) bool { return true }},
	} {
		w.Eventually(20*time.Second, "a span "+test.path, func() bool { return to.find(test.path, test.ok) })
	}

	// What AWS refuses is an error of the call and of the operation, and of no cycle.
	w.PSQL(`INSERT INTO subnet (vpc_id, cidr_block, availability_zone) SELECT id, '192.168.0.0/24', 'us-east-1a' FROM vpc WHERE cidr_block = '10.7.0.0/16'`)
	w.Eventually(30*time.Second, "a call that failed", func() bool {
		return to.find("cycle push / pass / apply / create subnet / EC2.CreateSubnet",
			func(span, root *otlp.Span) bool {
				return span.Status.GetCode() == otlp.Status_STATUS_CODE_ERROR &&
					text(span.Attributes, "error.type") == "InvalidSubnet.Range" &&
					len(span.Events) == 1 && span.Events[0].Name == "attempt failed" &&
					root.Status.GetCode() != otlp.Status_STATUS_CODE_ERROR
			})
	})
	to.lock.Lock()
	bad := to.bad
	to.lock.Unlock()
	if len(bad) > 0 {
		t.Errorf("the collector got %v", bad)
	}

	// The collector goes away: the engine works on, and says so.
	to.Close()
	w.PSQL(`DELETE FROM subnet WHERE cidr_block = '192.168.0.0/24'`,
		`UPDATE vpc SET tags = '{"Name": "x"}' WHERE cidr_block = '10.7.0.0/16'`)
	w.Settled()
}
