// Package faultproxy is a reverse proxy in front of an AWS endpoint that
// injects faults: refusals in each protocol's own form, lost answers, delays.
// What it does with a call is decided by a function that tests replace at will.
package faultproxy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Call is an API call on its way.
type Call struct {
	Service string // as it signs: "ec2", "sqs", "s3"
	Region  string
	// "CreateVpc"; where the API speaks REST (S3, Lambda, Route 53) the method and the path, "PUT /bucket?policy"
	Action  string
	Body    string
	Header  http.Header
	Address string // of the caller
}

// Answer is how a call was answered, whether the caller got to know it or not.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// Fault is what becomes of a call. The zero value lets it pass.
type Fault struct {
	// Status, Code and Message answer the call without passing it on.
	Status        int
	Code, Message string
	// Answer answers the call without passing it on.
	Answer *Answer
	// Before is called before the call is passed on, After when it has had its
	// effect and the answer is yet to be sent. Both may block.
	Before, After func()
	// Lose passes the call on and cuts the connection instead of answering:
	// the effect is there, the answer is lost.
	Lose bool
	// Cut cuts the connection without passing the call on.
	Cut bool
	// Truncate passes the call on and sends half of the answer.
	Truncate bool
	// Stale answers as the same call was answered before, if that is no longer
	// ago than this.
	Stale time.Duration
	// Instead is a body that is passed on instead of the call's own.
	Instead string
	// Rewrite changes the body of a good answer on its way.
	Rewrite func(body []byte) []byte
	// Replace changes a good answer as a whole.
	Replace func(Answer) Answer
	// Date is what the answer says that the time is, if it is set; a refusal says
	// so, too.
	Date time.Time
}

// Proxy is a running proxy.
type Proxy struct {
	URL string

	decide atomic.Pointer[func(Call) Fault]
	seen   atomic.Pointer[func(Call, Answer)]
	lock   sync.Mutex
	counts map[string]int
	last   map[string]answered
}

// answered is an answer that was given.
type answered struct {
	at     time.Time
	status int
	header http.Header
	body   []byte
}

// Start starts a proxy in front of endpoint, which ends with the test.
func Start(t testing.TB, endpoint string) *Proxy {
	t.Helper()
	p, stop, err := New(endpoint)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	return p
}

// New starts a proxy in front of endpoint, until stop is called.
func New(endpoint string) (_ *Proxy, stop func(), err error) {
	target, err := url.Parse(endpoint)
	if err != nil {
		return nil, nil, err
	}
	p := &Proxy{counts: map[string]int{}, last: map[string]answered{}}
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
		if !fault.Date.IsZero() {
			w.Header().Set("Date", fault.Date.UTC().Format(http.TimeFormat))
		}
		switch {
		case fault.Cut:
			cut(w)
			return
		case fault.Answer != nil:
			send(w, *fault.Answer)
			return
		case fault.Status != 0:
			recorded := httptest.NewRecorder()
			answer(recorded, r, fault)
			given := Answer{recorded.Code, recorded.Header(), recorded.Body.Bytes()}
			p.observed(call, given)
			send(w, given)
			return
		}
		if fault.Before != nil {
			fault.Before()
		}
		if fault.Instead != "" {
			r.Body, r.ContentLength = io.NopCloser(strings.NewReader(fault.Instead)), int64(len(fault.Instead))
			r.Header.Set("Content-Length", strconv.Itoa(len(fault.Instead)))
		}
		what := call.Service + call.Region + call.Action + call.Body
		given, again := p.previous(what, fault.Stale)
		if !again {
			recorded := httptest.NewRecorder()
			forward.ServeHTTP(recorded, r)
			given = answered{time.Now(), recorded.Code, recorded.Header(), recorded.Body.Bytes()}
			p.remember(what, given)
			p.observed(call, Answer{given.status, given.header, given.body})
		}
		if fault.After != nil {
			fault.After()
		}
		if fault.Lose {
			cut(w)
			return
		}
		if fault.Rewrite != nil && given.status < 300 {
			given.body = fault.Rewrite(given.body)
			given.header = given.header.Clone()
			given.header.Del("Content-Length")
		}
		if fault.Replace != nil && given.status < 300 {
			header := given.header.Clone()
			header.Del("Content-Length")
			a := fault.Replace(Answer{given.status, header, given.body})
			given.status, given.header, given.body = a.Status, a.Header, a.Body
		}
		for name, values := range given.header {
			if name != "Date" || fault.Date.IsZero() {
				w.Header()[name] = values
			}
		}
		if fault.Truncate {
			w.Header().Set("Content-Length", strconv.Itoa(len(given.body)))
			given.body = given.body[:len(given.body)/2]
		}
		w.WriteHeader(given.status)
		_, _ = w.Write(given.body)
	}))
	p.URL = server.URL
	return p, func() {
		server.CloseClientConnections()
		server.Close()
	}, nil
}

// Set replaces what becomes of calls from now on.
func (p *Proxy) Set(decide func(Call) Fault) { p.decide.Store(&decide) }

// Observe has every call told of with its answer, in the call's own time: what it does must
// not wait. Those that never reached AWS are left out.
func (p *Proxy) Observe(seen func(Call, Answer)) { p.seen.Store(&seen) }

func (p *Proxy) observed(c Call, a Answer) {
	if seen := p.seen.Load(); seen != nil {
		(*seen)(c, a)
	}
}

// previous returns an earlier answer to the same call, if it is young enough.
func (p *Proxy) previous(what string, age time.Duration) (answered, bool) {
	if age == 0 {
		return answered{}, false
	}
	p.lock.Lock()
	defer p.lock.Unlock()
	a, ok := p.last[what]
	return a, ok && time.Since(a.at) <= age
}

// remember keeps answers for as long as they may be asked for.
func (p *Proxy) remember(what string, a answered) {
	p.lock.Lock()
	defer p.lock.Unlock()
	if len(p.last) > 10_000 {
		clear(p.last)
	}
	p.last[what] = a
}

// Count returns how often an action has been called so far.
func (p *Proxy) Count(action string) int {
	p.lock.Lock()
	defer p.lock.Unlock()
	return p.counts[action]
}

// Counts returns how often each action has been called so far.
func (p *Proxy) Counts() map[string]int {
	p.lock.Lock()
	defer p.lock.Unlock()
	return maps.Clone(p.counts)
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
	address, _, _ := net.SplitHostPort(r.RemoteAddr)
	c := Call{Body: body, Header: r.Header, Address: address}
	if m := scope.FindStringSubmatch(r.Header.Get("Authorization")); m != nil {
		c.Region, c.Service = m[1], m[2]
	}
	switch {
	case r.Header.Get("X-Amz-Target") != "":
		_, c.Action, _ = strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	case c.Service == "s3":
		c.Action = r.Method + " " + r.URL.RequestURI()
	case r.Header.Get("Smithy-Protocol") != "": // /service/…/operation/DescribeAlarms
		c.Action = path.Base(r.URL.Path)
	default:
		if form, err := url.ParseQuery(body); err == nil {
			c.Action = form.Get("Action")
		}
		if c.Action == "" {
			c.Action = r.Method + " " + r.URL.RequestURI()
		}
	}
	return c
}

// send answers.
func send(w http.ResponseWriter, a Answer) {
	for name, values := range a.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(a.Status)
	_, _ = w.Write(a.Body)
}

func cut(w http.ResponseWriter) {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err == nil {
		_ = conn.Close()
	}
}

// restJSON finds the services whose API speaks REST with JSON (Smithy, "AWS restJson1
// protocol"), by the names that they sign with.
var restJSON = regexp.MustCompile("/(apigateway|appsync|eks|elasticfilesystem|es|lambda)/aws4_request")

// answer refuses in the form of the call's own protocol.
func answer(w http.ResponseWriter, r *http.Request, f Fault) {
	w.Header().Set("X-Amzn-Requestid", "faultproxy") // which all of AWS's answers have
	switch {
	// Smithy, "Smithy RPC v2 CBOR protocol", Operation error serialization
	case r.Header.Get("Smithy-Protocol") == "rpc-v2-cbor":
		w.Header().Set("Smithy-Protocol", "rpc-v2-cbor")
		w.Header().Set("Content-Type", "application/cbor")
		w.WriteHeader(f.Status)
		_, _ = w.Write(cborTexts("__type", f.Code, "message", f.Message))
	case r.Header.Get("X-Amz-Target") != "":
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		w.WriteHeader(f.Status)
		_ = json.NewEncoder(w).Encode(map[string]string{"__type": f.Code, "message": f.Message})
	case strings.Contains(r.Header.Get("Authorization"), "/s3/"):
		w.Header().Set("Content-Type", "application/xml")
		w.WriteHeader(f.Status)
		fmt.Fprintf(w, `<?xml version="1.0"?><Error><Code>%s</Code><Message>%s</Message></Error>`, f.Code, f.Message)
	case restJSON.MatchString(r.Header.Get("Authorization")):
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("X-Amzn-ErrorType", f.Code)
		w.WriteHeader(f.Status)
		_ = json.NewEncoder(w).Encode(map[string]string{"message": f.Message})
	case !strings.Contains(r.Header.Get("Authorization"), "/ec2/") &&
		strings.HasPrefix(r.Header.Get("Content-Type"), "application/x-www-form-urlencoded"),
		strings.Contains(r.Header.Get("Authorization"), "/route53/"),
		strings.Contains(r.Header.Get("Authorization"), "/cloudfront/"):
		// The Query protocol, of which EC2 has a form of its own (Smithy, "AWS Query protocol"),
		// and REST with XML ("AWS restXml protocol").
		w.Header().Set("Content-Type", "text/xml")
		w.WriteHeader(f.Status)
		fmt.Fprintf(w, `<?xml version="1.0"?><ErrorResponse><Error><Type>Sender</Type><Code>%s</Code><Message>%s</Message></Error></ErrorResponse>`, f.Code, f.Message)
	default:
		w.Header().Set("Content-Type", "text/xml")
		w.WriteHeader(f.Status)
		fmt.Fprintf(w, `<?xml version="1.0"?><Response><Errors><Error><Code>%s</Code><Message>%s</Message></Error></Errors></Response>`, f.Code, f.Message)
	}
}
