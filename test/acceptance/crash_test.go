package acceptance

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"iasql/internal/test/harness"
)

// The engine is killed between a creation's effect and its answer. The next
// one finds the VPC instead of making another.
func TestKilledBetweenEffectAndAnswer(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t)
	target, err := url.Parse(w.AWS.Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	var (
		armed    atomic.Bool
		effected = make(chan struct{})
		release  = make(chan struct{})
	)
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Host = r.In.Host
		},
		ModifyResponse: func(answer *http.Response) error {
			if answer.Request.Header.Get("X-Held") != "" {
				close(effected) // moto has made it; the answer never leaves
				<-release
			}
			return nil
		},
	}
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		if strings.Contains(string(body), "Action=CreateVpc&") && armed.CompareAndSwap(true, false) {
			r.Header.Set("X-Held", "1")
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		proxy.ServeHTTP(rw, r)
	}))
	defer server.Close()
	defer close(release)
	w.Endpoint = server.URL

	engine := w.Serve()
	w.Install([]string{"us-east-1"}, "aws_vpc")
	w.Admin(`UPDATE iasql_settings SET value = '5 seconds' WHERE name = 'consistency_window'`)
	armed.Store(true)
	w.PSQL(`INSERT INTO vpc (cidr_block) VALUES ('10.66.0.0/16')`)
	select {
	case <-effected:
	case <-time.After(10 * time.Second):
		t.Fatal("CreateVpc was not called")
	}
	engine.Kill()
	w.Serve()
	w.Settled()
	vpcs := w.CLI("ec2", "describe-vpcs", "--filters", "Name=cidr,Values=10.66.0.0/16")["Vpcs"].([]any)
	if len(vpcs) != 1 {
		t.Fatalf("%d VPCs: %v", len(vpcs), vpcs)
	}
	if got := w.PSQL(`SELECT vpc_id FROM vpc WHERE cidr_block = '10.66.0.0/16'`); got != vpcs[0].(map[string]any)["VpcId"] {
		t.Errorf("the record says %s, the cloud %v", got, vpcs[0])
	}
	if got := w.PSQL(`SELECT count(*) FROM iasql_operations WHERE action = 'CreateVpc'`); got != "1" {
		t.Errorf("CreateVpc was called %s times", got)
	}
}
