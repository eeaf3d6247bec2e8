package cloudcontrol

import (
	"fmt"
	"hash/fnv"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"golang.org/x/time/rate"
)

// Options of a fake; all may be left out.
type Options struct {
	// Schemas are the public types of Amazon, by name.
	Schemas map[string][]byte
	// Account tells the twelve digits of an access key's account.
	Account func(accessKey string) string
	// Regions are what EC2 tells; us-east-1 and eu-west-1 without.
	Regions []string

	// Pending is how long a request is PENDING, Takes how long it is IN_PROGRESS.
	Pending, Takes time.Duration
	// Early has an object seen while its creation is in progress, as that of most
	// services is.
	Early bool
	// Lag is how long listings show neither that an object is there nor that it is
	// gone ("eventual consistency").
	Lag time.Duration
	// Latency is what every call takes.
	Latency time.Duration
	// Rate is how many calls a second an account may make in a region, of each
	// action; 0 is no limit. Burst is how many at once.
	Rate  float64
	Burst int
	// PageSize is how many objects a page of a listing has, 100 without. MaxResults
	// of ListResources is reserved, and has no effect.
	PageSize int
	// Whole has listings tell all that a read tells, as some types' do, instead of
	// the identifier alone.
	Whole bool
}

// Server is a running fake.
type Server struct {
	URL string

	options Options

	mu       sync.Mutex
	registry map[string]*publication // by type name; see key
	types    []*publication          // sorted by name
	scopes   map[Scope]*scope
	faults   []*Fault
	calls    map[string]int
	limits   map[string]*rate.Limiter
	serial   uint64
}

// Scope is where objects are.
type Scope struct{ Account, Region string }

// Start starts a fake that ends with the test.
func Start(t testing.TB, options Options) *Server {
	t.Helper()
	s, err := New(options)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(s)
	s.URL = server.URL
	t.Cleanup(server.Close)
	return s
}

// New makes a fake as a handler, for tests that listen themselves.
func New(options Options) (*Server, error) {
	if options.PageSize == 0 {
		options.PageSize = 100
	}
	if options.Regions == nil {
		options.Regions = []string{"eu-west-1", "us-east-1"}
	}
	if options.Account == nil {
		options.Account = numbered
	}
	s := &Server{options: options, registry: map[string]*publication{}, scopes: map[Scope]*scope{},
		calls: map[string]int{}, limits: map[string]*rate.Limiter{}}
	for name, schema := range options.Schemas {
		if err := s.Publish(Publication{Schema: schema}); err != nil {
			return nil, fmt.Errorf("type %s: %w", name, err)
		}
	}
	return s, nil
}

// keyed are access keys that contain their account, as those of the tests'
// emulator do.
var keyed = regexp.MustCompile(`\d{12}$`)

// numbered makes an account of an access key.
func numbered(accessKey string) string {
	if found := keyed.FindString(accessKey); found != "" {
		return found
	}
	h := fnv.New64a()
	_, _ = io.WriteString(h, accessKey)
	return fmt.Sprintf("%012d", 100_000_000_000+h.Sum64()%900_000_000_000)
}

// Config configures clients of the AWS SDK for the fake's first account.
func (s *Server) Config(region string) aws.Config {
	return s.ConfigFor("AKIACLOUDCONTROL", region)
}

// ConfigFor configures clients that have an access key.
func (s *Server) ConfigFor(accessKey, region string) aws.Config {
	return aws.Config{
		Region:       region,
		BaseEndpoint: aws.String(s.URL),
		Credentials:  credentials.NewStaticCredentialsProvider(accessKey, "secret", ""),
	}
}

// Scope is where the clients of [Server.Config] are.
func (s *Server) Scope(region string) Scope { return s.ScopeFor("AKIACLOUDCONTROL", region) }

// ScopeFor is where clients with an access key are.
func (s *Server) ScopeFor(accessKey, region string) Scope {
	return Scope{s.options.Account(accessKey), region}
}

// SetOptions changes options while the fake runs; Schemas, Account and Regions
// stay.
func (s *Server) SetOptions(change func(o *Options)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.options)
	clear(s.limits)
}

// Calls returns how often an action was called, such as "GetResource"; with a type,
// how often for it.
func (s *Server) Calls(action, typeName string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[action+" "+typeName]
}

// AllCalls returns how often each action was called.
func (s *Server) AllCalls() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := map[string]int{}
	for name, n := range s.calls {
		if name[len(name)-1] == ' ' {
			all[name[:len(name)-1]] = n
		}
	}
	return all
}

// credential is where a signature names the access key, region and service (AWS
// General Reference, "Create a signed AWS API request").
var credential = regexp.MustCompile(`Credential=([^/,\s]+)/\d{8}/([^/]+)/([^/]+)/aws4_request`)

// call is a call that is being answered.
type call struct {
	*http.Request
	body   []byte
	scope  Scope
	action string
	typ    string // name of the type, "" where there is none
}

// ServeHTTP answers one call.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 8<<20))
	if err != nil {
		return
	}
	w.Header().Set("X-Amzn-Requestid", s.token())
	signed := credential.FindStringSubmatch(r.Header.Get("Authorization"))
	if signed == nil {
		protocol(r).fail(w, fault("MissingAuthenticationTokenException", "Missing Authentication Token"))
		return
	}
	c := &call{Request: r, body: body, scope: Scope{s.options.Account(signed[1]), signed[2]}}
	switch signed[3] {
	case "cloudcontrolapi":
		s.cloudControl(w, c)
	case "cloudformation":
		s.cloudFormation(w, c)
	case "sts":
		s.sts(w, c, signed[1])
	case "ec2":
		s.ec2(w, c)
	default:
		protocol(r).fail(w, fault("UnknownOperationException",
			"this endpoint is Cloud Control, CloudFormation's registry, STS's GetCallerIdentity and EC2's "+
				"DescribeRegions; it is not %s", signed[3]))
	}
}

// begin counts a call, lets it wait, and returns the fault it meets, and what
// refuses it.
func (s *Server) begin(c *call) (*Fault, error) {
	s.mu.Lock()
	s.calls[c.action+" "]++
	if c.typ != "" {
		s.calls[c.action+" "+c.typ]++
	}
	latency := s.options.Latency
	var refused error
	if s.options.Rate > 0 {
		key := fmt.Sprint(c.scope, c.action)
		limit := s.limits[key]
		if limit == nil {
			limit = rate.NewLimiter(rate.Limit(s.options.Rate), max(1, s.options.Burst))
			s.limits[key] = limit
		}
		if !limit.Allow() {
			refused = fault("ThrottlingException", "Rate exceeded")
		}
	}
	var met *Fault
	if refused == nil {
		met = s.meet(c.action, c.typ)
	}
	s.mu.Unlock()
	if met != nil {
		latency += met.Delay
	}
	if latency > 0 {
		time.Sleep(latency)
	}
	return met, refused
}

// drop cuts the connection without an answer.
func drop(w http.ResponseWriter) {
	connection, _, err := http.NewResponseController(w).Hijack()
	if err == nil {
		_ = connection.Close()
	}
}
