// Package faultproxy is a reverse proxy in front of an AWS endpoint that
// injects faults: refusals in each protocol's own form, lost answers, delays.
// What it does with a call is decided by a function that tests replace at will.
package faultproxy

import (
	"bytes"
	"encoding/json"
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
)

// Call is an API call on its way.
type Call struct {
	Service string // as it signs: "ec2", "sqs", "s3"
	Region  string
	Action  string // "CreateVpc"; for S3 the method and the path, "PUT /bucket?policy"
	Body    string
}

// Fault is what becomes of a call. The zero value lets it pass.
type Fault struct {
	// Status, Code and Message answer the call without passing it on.
	Status        int
	Code, Message string
	// Before is called before the call is passed on, After when it has had its
	// effect and the answer is yet to be sent. Both may block.
	Before, After func()
	// Lose passes the call on and cuts the connection instead of answering:
	// the effect is there, the answer is lost.
	Lose bool
	// Cut cuts the connection without passing the call on.
	Cut bool
}

// Proxy is a running proxy.
type Proxy struct {
	URL string

	decide atomic.Pointer[func(Call) Fault]
	lock   sync.Mutex
	counts map[string]int
}

// Start starts a proxy in front of endpoint, which ends with the test.
func Start(t testing.TB, endpoint string) *Proxy {
	t.Helper()
	target, err := url.Parse(endpoint)
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{counts: map[string]int{}}
	p.Set(func(Call) Fault { return Fault{} })
	forward := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Host = r.In.Host
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			http.Error(w, err.Error(), http.StatusBadGateway)
		},
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		call := parse(r, string(body))
		p.count(call)
		fault := (*p.decide.Load())(call)
		switch {
		case fault.Cut:
			cut(w)
			return
		case fault.Status != 0:
			answer(w, r, fault)
			return
		}
		if fault.Before != nil {
			fault.Before()
		}
		recorded := httptest.NewRecorder()
		forward.ServeHTTP(recorded, r)
		if fault.After != nil {
			fault.After()
		}
		if fault.Lose {
			cut(w)
			return
		}
		for name, values := range recorded.Header() {
			w.Header()[name] = values
		}
		w.WriteHeader(recorded.Code)
		_, _ = w.Write(recorded.Body.Bytes())
	}))
	t.Cleanup(server.CloseClientConnections)
	t.Cleanup(server.Close)
	p.URL = server.URL
	return p
}

// Set replaces what becomes of calls from now on.
func (p *Proxy) Set(decide func(Call) Fault) { p.decide.Store(&decide) }

// Count returns how often an action has been called so far.
func (p *Proxy) Count(action string) int {
	p.lock.Lock()
	defer p.lock.Unlock()
	return p.counts[action]
}

func (p *Proxy) count(c Call) {
	p.lock.Lock()
	defer p.lock.Unlock()
	p.counts[c.Action]++
}

// The credential scope of Signature Version 4 names region and service (AWS
// General Reference, "Create a signed AWS API request").
var scope = regexp.MustCompile(`Credential=[^/]+/\d+/([^/]+)/([^/]+)/aws4_request`)

func parse(r *http.Request, body string) Call {
	c := Call{Body: body}
	if m := scope.FindStringSubmatch(r.Header.Get("Authorization")); m != nil {
		c.Region, c.Service = m[1], m[2]
	}
	switch {
	case r.Header.Get("X-Amz-Target") != "":
		_, c.Action, _ = strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	case c.Service == "s3":
		c.Action = r.Method + " " + r.URL.RequestURI()
	default:
		if form, err := url.ParseQuery(body); err == nil {
			c.Action = form.Get("Action")
		}
	}
	return c
}

func cut(w http.ResponseWriter) {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err == nil {
		_ = conn.Close()
	}
}

// answer refuses in the form of the call's own protocol.
func answer(w http.ResponseWriter, r *http.Request, f Fault) {
	switch {
	case r.Header.Get("X-Amz-Target") != "":
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		w.WriteHeader(f.Status)
		_ = json.NewEncoder(w).Encode(map[string]string{"__type": f.Code, "message": f.Message})
	case strings.Contains(r.Header.Get("Authorization"), "/s3/"):
		w.Header().Set("Content-Type", "application/xml")
		w.WriteHeader(f.Status)
		fmt.Fprintf(w, `<?xml version="1.0"?><Error><Code>%s</Code><Message>%s</Message></Error>`, f.Code, f.Message)
	default:
		w.Header().Set("Content-Type", "text/xml")
		w.WriteHeader(f.Status)
		fmt.Fprintf(w, `<?xml version="1.0"?><Response><Errors><Error><Code>%s</Code><Message>%s</Message></Error></Errors></Response>`, f.Code, f.Message)
	}
}
