package acceptance

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"iasql/internal/test/faultproxy"
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

// fromPort finds the rules that a call to AuthorizeSecurityGroupIngress asks for.
var fromPort = regexp.MustCompile(`IpPermissions\.\d+\.FromPort=(\d+)`)

// The engine is killed when EC2 has made the rules of a group by one call, and before it
// answers. The next one finds the rule of each record, and makes none again.
func TestKilledBetweenRulesAndAnswer(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t)
	proxy := faultproxy.Start(t, w.AWS.Endpoint)
	w.Endpoint = proxy.URL
	engine := w.Serve()
	w.Install([]string{"us-east-1"}, "aws_security_group")
	w.Admin(`UPDATE iasql_settings SET value = '5 seconds' WHERE name = 'consistency_window'`)
	w.PSQL(`INSERT INTO security_group (group_name, description) VALUES ('crash', 'killed')`)
	w.Settled()
	effected, release := make(chan struct{}), make(chan struct{})
	defer close(release)
	var once atomic.Bool
	var asked sync.Map // by port: of the rules that are asked for, how many go with the first call is a matter of time
	proxy.Set(func(c faultproxy.Call) faultproxy.Fault {
		if c.Action != "AuthorizeSecurityGroupIngress" {
			return faultproxy.Fault{}
		}
		for _, m := range fromPort.FindAllStringSubmatch(c.Body, -1) {
			if _, again := asked.LoadOrStore(m[1], true); again {
				t.Errorf("the rule of port %s is asked for again", m[1])
			}
		}
		if !once.CompareAndSwap(false, true) {
			return faultproxy.Fault{}
		}
		return faultproxy.Fault{After: func() { close(effected); <-release }}
	})
	w.PSQL(`INSERT INTO security_group_rule (security_group_id, is_egress, ip_protocol, from_port, to_port, cidr_ipv4)
		SELECT id, false, 'tcp', i, i, '10.0.0.0/8' FROM security_group, generate_series(1, 10) i WHERE group_name = 'crash'`)
	select {
	case <-effected:
	case <-time.After(20 * time.Second):
		t.Fatal("AuthorizeSecurityGroupIngress was not called")
	}
	engine.Kill()
	w.Serve()
	w.Settled()
	there := map[float64]any{}
	for _, r := range w.CLI("ec2", "describe-security-group-rules")["SecurityGroupRules"].([]any) {
		rule := r.(map[string]any)
		port := rule["FromPort"].(float64)
		if port < 1 || port > 10 {
			continue
		}
		if there[port] != nil {
			t.Errorf("port %v has two rules", port)
		}
		there[port] = rule["SecurityGroupRuleId"]
		if got := w.PSQL(fmt.Sprintf(`SELECT security_group_rule_id FROM security_group_rule WHERE from_port = %v AND to_port = %v`, port, port)); got != there[port] {
			t.Errorf("port %v: the record says %s, the cloud %v", port, got, there[port])
		}
	}
	if len(there) != 10 || w.PSQL(`SELECT count(*) FROM security_group_rule WHERE from_port > 0`) != "10" {
		t.Errorf("there are rules for %d ports: %v", len(there), there)
	}
	n := 0
	asked.Range(func(any, any) bool { n++; return true })
	if n != 10 {
		t.Errorf("%d rules were asked for", n)
	}
}
