package tracing

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// client sends spans by OTLP over HTTP, binary protobuf
// (https://opentelemetry.io/docs/specs/otlp/#otlphttp), configured by the variables of
// https://opentelemetry.io/docs/specs/otel/protocol/exporter/.
//
// OpenTelemetry's own client of that (otlptracehttp v1.47) links gRPC, for the sake of
// one message, and that a package which has the linker keep every method of every SDK:
// the engine would be twice as large (see TestLinkerLeavesOutWhatIsNotUsed).
type client struct {
	url     string
	headers http.Header
	gzip    bool
	timeout time.Duration
	http    *http.Client
}

// newClient reads the environment; what is for traces alone beats what is for every
// signal.
func newClient(getenv func(string) string) (*client, error) {
	of := func(name string) string {
		if value := getenv("OTEL_EXPORTER_OTLP_TRACES_" + name); value != "" {
			return value
		}
		return getenv("OTEL_EXPORTER_OTLP_" + name)
	}
	c := &client{headers: http.Header{}, timeout: 10 * time.Second}
	switch given, base := getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"), getenv("OTEL_EXPORTER_OTLP_ENDPOINT"); {
	case given != "":
		c.url = given
	case base != "":
		c.url = strings.TrimSuffix(base, "/") + "/v1/traces"
	default:
		c.url = "http://localhost:4318/v1/traces"
	}
	if u, err := url.Parse(c.url); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, errors.New("$OTEL_EXPORTER_OTLP_ENDPOINT: give a URL, such as http://127.0.0.1:4318")
	}
	for pair := range strings.SplitSeq(of("HEADERS"), ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		name, value, ok := strings.Cut(pair, "=")
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if !ok || err != nil {
			return nil, errors.New("$OTEL_EXPORTER_OTLP_HEADERS: give name=value, separated by commas, with what is " +
				"special as %XX")
		}
		c.headers.Set(strings.TrimSpace(name), value)
	}
	switch compression := of("COMPRESSION"); compression {
	case "", "none":
	case "gzip":
		c.gzip = true
	default:
		return nil, fmt.Errorf("$OTEL_EXPORTER_OTLP_COMPRESSION %s: gzip or none", compression)
	}
	if text := of("TIMEOUT"); text != "" {
		ms, err := strconv.Atoi(text)
		if err != nil || ms <= 0 {
			return nil, fmt.Errorf("$OTEL_EXPORTER_OTLP_TIMEOUT %s: give milliseconds", text)
		}
		c.timeout = time.Duration(ms) * time.Millisecond
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost, transport.IdleConnTimeout = 1, 30*time.Second
	var err error
	if transport.TLSClientConfig, err = trust(of("CERTIFICATE"), of("CLIENT_CERTIFICATE"),
		of("CLIENT_KEY")); err != nil {
		return nil, err
	}
	c.http = &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}
	return c, nil
}

// trust returns the TLS configuration of these files, each of which may be missing.
func trust(ca, certificate, key string) (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if ca != "" {
		pem, err := os.ReadFile(ca) // #nosec G304 -- the operator says which
		if err != nil {
			return nil, fmt.Errorf("$OTEL_EXPORTER_OTLP_CERTIFICATE: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("$OTEL_EXPORTER_OTLP_CERTIFICATE %s: no certificate in it", ca)
		}
	}
	if certificate != "" || key != "" {
		pair, err := tls.LoadX509KeyPair(certificate, key)
		if err != nil {
			return nil, fmt.Errorf("$OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE: %w", err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

// Start implements [otlptrace.Client].
func (c *client) Start(context.Context) error { return nil }

// Stop implements [otlptrace.Client].
func (c *client) Stop(context.Context) error {
	c.http.CloseIdleConnections()
	return nil
}

// UploadTraces implements [otlptrace.Client]. It tries again what the collector has no
// room for, as the specification says, until the timeout.
func (c *client) UploadTraces(ctx context.Context, spans []*otlp.ResourceSpans) error {
	// TracesData is what ExportTraceServiceRequest is on the wire, and stays so
	// (opentelemetry/proto/trace/v1/trace.proto).
	body, err := proto.Marshal(&otlp.TracesData{ResourceSpans: spans})
	if err != nil {
		return err
	}
	if c.gzip {
		var packed bytes.Buffer
		w := gzip.NewWriter(&packed)
		if _, err := w.Write(body); err != nil {
			return err
		}
		if err := w.Close(); err != nil {
			return err
		}
		body = packed.Bytes()
	}
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	for pause := 500 * time.Millisecond; ; pause *= 2 {
		after, err := c.post(ctx, body)
		if err == nil || after < 0 {
			return err
		}
		select {
		case <-time.After(max(pause, after)):
		case <-ctx.Done():
			return err
		}
	}
}

// post sends once. After a failure that may pass it returns how long to wait at least,
// after another one something negative.
func (c *client) post(ctx context.Context, body []byte) (after time.Duration, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return -1, err
	}
	request.Header = c.headers.Clone()
	request.Header.Set("Content-Type", "application/x-protobuf")
	if c.gzip {
		request.Header.Set("Content-Encoding", "gzip")
	}
	response, err := c.http.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	said, _ := io.ReadAll(io.LimitReader(response.Body, 4096))
	switch response.StatusCode {
	case http.StatusOK, http.StatusAccepted, http.StatusNoContent:
		return 0, nil // what it rejected of it, it tells its own log
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		seconds, _ := strconv.Atoi(response.Header.Get("Retry-After"))
		return time.Duration(max(seconds, 0)) * time.Second, fmt.Errorf("the collector answers %s", response.Status)
	}
	return -1, fmt.Errorf("the collector answers %s: %s", response.Status, printable(said))
}

// printable is what a collector says, which may be a protobuf.
func printable(said []byte) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0xFFFD {
			return -1
		}
		return r
	}, string(said[:min(len(said), 200)]))
}
