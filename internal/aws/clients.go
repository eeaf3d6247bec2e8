package aws

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go/logging"
	"github.com/aws/smithy-go/middleware"
	"go.opentelemetry.io/otel/trace"

	"iasql/internal/modules"
)

// Provider is what Table.Provider of AWS tables holds.
const Provider = "aws"

// fallbackRegion is where calls go that name no region, when neither the
// environment nor the profile names one.
const fallbackRegion = "us-east-1"

// Options configure [New]; the zero value of every field is a sensible one.
type Options struct {
	// Accounts finds an account's credentials; nil is the SDK's default chain
	// for every account.
	Accounts Accounts
	// Endpoint is where all calls go instead of AWS, for emulators. Without
	// it, AWS_ENDPOINT_URL is honoured.
	Endpoint string
	// Logger is told of throttling; nil is silent.
	Logger *slog.Logger
	// Observe is told of every attempt of a call, as [modules.WithTrace] has it; nil is
	// not. It is called by many at once.
	Observe func(modules.Attempt)
	// Tracer is told of every call, with its attempts; nil is not.
	Tracer trace.Tracer
	// Concurrency bounds the calls under way at the same time per account; 0
	// means 32.
	Concurrency int
	// MaxAttempts bounds the attempts of one operation; 0 means 4.
	MaxAttempts int
	// Patience is how long a read that AWS throttles is tried; 0 means 2 minutes.
	Patience time.Duration
	// ReadShares returns which shares of the documented rates reads may use; nil is a half,
	// and nine tenths where somebody waits. It is asked when credentials are checked.
	ReadShares func(context.Context) (ReadShares, error)
	// MaxBackoff bounds the wait between two attempts; 0 means 10 seconds.
	MaxBackoff time.Duration
	// Recheck is how long credentials are used before Accounts is asked
	// whether they have changed; 0 means 10 seconds.
	Recheck time.Duration
	// Timeout bounds one attempt, from connecting to the last byte of the
	// answer; 0 means 60 seconds.
	Timeout time.Duration
	// Middleware is added to that of every client; nil adds nothing. Tests answer
	// calls in it.
	Middleware func(*middleware.Stack) error
}

// Clients makes and keeps the service clients of all accounts. It is safe for
// concurrent use and needs no closing. Its clients only read, but for those of [Clients.Permitted].
type Clients struct {
	*shared
	waited bool
	permit *modules.Permit
}

// shared is what [Clients] have in common.
type shared struct {
	options Options
	http    *awshttp.BuildableClient
	limits  *limits

	mu       sync.Mutex
	accounts map[string]*account
}

// account is what is kept of one account: its configuration, and the clients
// of each region, for as long as the credentials stay what they are.
type account struct {
	name   string
	slots  chan struct{} // one is held by each attempt under way
	shares shares

	mu      sync.Mutex
	creds   Credentials
	checked time.Time // when creds were last asked for; zero: ask again
	base    awssdk.Config
	regions map[string]*regional
	source  awssdk.CredentialsProvider // of base's, before it is looked whose they are
	keys    keyring
}

// ReadShares are shares of the documented rates, between 0 and 1, that reads may use: those
// that nobody waits for, and all reads together.
type ReadShares struct{ Patient, Waited float64 }

// standardShares are the shares where nobody says others.
var standardShares = ReadShares{Patient: 0.5, Waited: 0.95}

// shares are the shares that hold.
type shares struct{ now atomic.Pointer[ReadShares] }

func (s *shares) of() ReadShares {
	if now := s.now.Load(); now != nil {
		return *now
	}
	return standardShares
}

// set sets the shares; what is none changes nothing.
func (s *shares) set(to ReadShares) {
	if to.Patient > 0 && to.Patient <= to.Waited && to.Waited <= 1 {
		s.now.Store(&to)
	}
}

// regional is an account's configuration in one region.
type regional struct {
	cfg     awssdk.Config
	clients map[clientKey]any
}

// clientKey tells the clients of a region apart.
type clientKey struct {
	of     reflect.Type
	waited bool
}

// New returns the clients of all accounts.
func New(o Options) *Clients {
	if o.Accounts == nil {
		o.Accounts = func(context.Context, string) (Credentials, error) { return Credentials{}, nil }
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	setDefault(&o.Concurrency, 32)
	setDefault(&o.MaxAttempts, 4)
	setDefault(&o.Patience, 2*time.Minute)
	setDefault(&o.MaxBackoff, 10*time.Second)
	setDefault(&o.Recheck, 10*time.Second)
	setDefault(&o.Timeout, time.Minute)
	return &Clients{shared: &shared{
		options: o,
		http: awshttp.NewBuildableClient().
			WithTimeout(o.Timeout).
			WithTransportOptions(func(t *http.Transport) {
				t.MaxIdleConns = 2 * o.Concurrency
				t.MaxIdleConnsPerHost = o.Concurrency
				t.MaxConnsPerHost = 4 * o.Concurrency
				// Shorter than the idle time after which AWS closes a
				// connection, which would lose the answer of the call that
				// had just taken it.
				t.IdleConnTimeout = 15 * time.Second
				t.TLSHandshakeTimeout = 10 * time.Second
			}),
		limits:   newLimits(o.Logger),
		accounts: map[string]*account{},
	}}
}

// Waited returns the clients for calls that somebody waits for, or that nobody does: those may
// use a larger share of the rates that AWS allows ([ReadShares]).
func (c *Clients) Waited(waited bool) *Clients { return &Clients{c.shared, waited, c.permit} }

// Permitted returns the clients whose calls may change something, as far as the permit
// permits it. They are made anew each time they are asked for: a permit is for one operation.
func (c *Clients) Permitted(p *modules.Permit) *Clients { return &Clients{c.shared, c.waited, p} }

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// EC2 returns the EC2 client of the scope.
func (c *Clients) EC2(ctx context.Context, scope modules.Scope) (*ec2.Client, error) {
	return Client(ctx, c, scope, func(cfg awssdk.Config) *ec2.Client { return ec2.NewFromConfig(cfg) })
}

// S3 returns the S3 client of the scope. With an endpoint of one's own, buckets
// are addressed by path, since their names do not resolve as hosts.
func (c *Clients) S3(ctx context.Context, scope modules.Scope) (*s3.Client, error) {
	return Client(ctx, c, scope, func(cfg awssdk.Config) *s3.Client {
		return s3.NewFromConfig(cfg, func(o *s3.Options) { o.UsePathStyle = o.BaseEndpoint != nil })
	})
}

// SQS returns the SQS client of the scope.
func (c *Clients) SQS(ctx context.Context, scope modules.Scope) (*sqs.Client, error) {
	return Client(ctx, c, scope, func(cfg awssdk.Config) *sqs.Client { return sqs.NewFromConfig(cfg) })
}

// Patient returns an HTTP client for calls that are answered when what they
// started has ended, which takes as long as it takes: up to most.
func (c *Clients) Patient(most time.Duration) awssdk.HTTPClient {
	return detached{c.http.WithTimeout(most)}
}

// STS returns the STS client of the scope.
func (c *Clients) STS(ctx context.Context, scope modules.Scope) (*sts.Client, error) {
	return Client(ctx, c, scope, func(cfg awssdk.Config) *sts.Client { return sts.NewFromConfig(cfg) })
}

// Client returns the client of type T of the scope, which build makes the first
// time it is asked for: the way to services that [Clients] has no method for.
// A scope without a region gets the account's default region.
func Client[T any](ctx context.Context, c *Clients, scope modules.Scope, build func(awssdk.Config) T) (T, error) {
	var none T
	a, err := c.account(ctx, scope)
	if err != nil {
		return none, err
	}
	defer a.mu.Unlock()
	r := a.region(scope.Region)
	key := clientKey{reflect.TypeFor[T](), c.waited}
	if client, ok := r.clients[key]; ok && c.permit == nil {
		return client.(T), nil
	}
	cfg := r.cfg.Copy()
	cfg.APIOptions = c.middleware(a, secretsOf(a.creds))
	client := build(cfg)
	if c.permit == nil {
		r.clients[key] = client
	}
	return client, nil
}

// DefaultRegion returns the region that calls without one go to: that of
// AWS_REGION or the account's profile, else us-east-1.
func (c *Clients) DefaultRegion(ctx context.Context, scope modules.Scope) (string, error) {
	a, err := c.account(ctx, scope)
	if err != nil {
		return "", err
	}
	defer a.mu.Unlock()
	return a.base.Region, nil
}

// AccountID returns the twelve digits of the account that the scope's
// credentials belong to.
func (c *Clients) AccountID(ctx context.Context, scope modules.Scope) (string, error) {
	a, err := c.account(ctx, scope)
	if err != nil {
		return "", err
	}
	cfg, source := a.region(scope.Region).cfg, a.source
	a.mu.Unlock()
	got, err := source.Retrieve(ctx)
	if err != nil {
		return "", Classify(err, false, false)
	}
	said, known := a.keys.of(got.AccessKeyID)
	if !known {
		if said, err = c.whose(ctx, a, cfg, got); err != nil {
			return "", err
		}
	}
	_, id, _ := strings.Cut(said, ":")
	return id, nil
}

// account returns the scope's account, locked, with credentials not older than
// Options.Recheck. The caller unlocks it.
func (c *Clients) account(ctx context.Context, scope modules.Scope) (*account, error) {
	c.mu.Lock()
	a := c.accounts[scope.Account]
	if a == nil {
		a = &account{name: scope.Account, slots: make(chan struct{}, c.options.Concurrency)}
		c.accounts[scope.Account] = a
	}
	c.mu.Unlock()

	a.mu.Lock()
	if !a.checked.IsZero() && time.Since(a.checked) < c.options.Recheck {
		return a, nil
	}
	if err := c.refresh(ctx, a); err != nil {
		a.mu.Unlock()
		var known *modules.Error
		if errors.As(err, &known) {
			return nil, &modules.Error{Class: known.Class, Code: known.Code, RetryAfter: known.RetryAfter, Err: err,
				Message: fmt.Sprintf("account %s: %s", a.name, known.Message)}
		}
		return nil, &modules.Error{Class: modules.Transient, Code: codeCredentials, Err: err,
			Message: fmt.Sprintf("credentials of account %s: %s", a.name, Scrub(err.Error()))}
	}
	return a, nil
}

// refresh asks for the credentials and, if they have changed, builds the
// configuration anew. What a role's session has cost to obtain is kept
// otherwise.
func (c *Clients) refresh(ctx context.Context, a *account) error {
	creds, err := c.options.Accounts(ctx, a.name)
	if err != nil {
		return err
	}
	if c.options.ReadShares != nil {
		if s, err := c.options.ReadShares(ctx); err == nil {
			a.shares.set(s)
		}
	}
	if a.regions != nil && creds == a.creds {
		a.checked = time.Now()
		return nil
	}
	if err := creds.check(); err != nil {
		return err
	}
	login := &stack{clients: c, account: a, secrets: secretsOf(creds), login: true}
	cfg, err := config.LoadDefaultConfig(ctx, append(creds.load(),
		config.WithHTTPClient(c.http),
		// The clients of the default chain are made while it is loaded.
		config.WithAPIOptions([]func(*middleware.Stack) error{login.attach}),
		config.WithRetryer(c.retryer),
		// The SDK's own log shows requests, and requests show signatures.
		config.WithLogger(logging.Nop{}),
		config.WithClientLogMode(0),
	)...)
	if err != nil {
		return Classify(&credentialsError{err}, false, false)
	}
	cfg.APIOptions = c.middleware(a, login.secrets)
	if cfg.Region == "" {
		cfg.Region = fallbackRegion
	}
	if c.options.Endpoint != "" {
		cfg.BaseEndpoint = &c.options.Endpoint
	}
	cfg.HTTPClient = detached{cfg.HTTPClient}
	source := creds.assume(cfg)
	cfg.Credentials = c.identified(a, cfg, source)
	a.creds, a.base, a.source, a.regions, a.checked = creds, cfg, source, map[string]*regional{}, time.Now()
	return nil
}

// middleware returns what is added to the SDK's own middleware of an account's
// clients.
func (c *Clients) middleware(a *account, secrets []string) []func(*middleware.Stack) error {
	all := []func(*middleware.Stack) error{(&stack{clients: c, account: a, secrets: secrets}).attach}
	if c.options.Middleware != nil {
		all = append(all, c.options.Middleware)
	}
	return all
}

// region returns the account's configuration in a region; the account is locked.
func (a *account) region(name string) *regional {
	if name == "" {
		name = a.base.Region
	}
	r := a.regions[name]
	if r == nil {
		cfg := a.base.Copy()
		cfg.Region = name
		r = &regional{cfg: cfg, clients: map[clientKey]any{}}
		a.regions[name] = r
	}
	return r
}

// distrust has the account's credentials asked for again at the next call:
// whoever corrects them need not wait.
func (a *account) distrust() {
	a.mu.Lock()
	a.checked = time.Time{}
	a.mu.Unlock()
}

// manyAttempts is more than anything is tried.
const manyAttempts = 1000

// retryer returns the SDK's standard retryer with its decision replaced: the
// class of an attempt's error already says whether trying again is safe. Its
// own quota is off, since the limits below it are per action.
func (c *Clients) retryer() awssdk.Retryer {
	return retry.NewStandard(func(o *retry.StandardOptions) {
		o.MaxAttempts = manyAttempts // mayTryAgain counts
		o.MaxBackoff = c.options.MaxBackoff
		o.RateLimiter = ratelimit.None
		o.Retryables = []retry.IsErrorRetryable{
			retry.IsErrorRetryableFunc(retryByClass),
			retry.RetryableError{}, // clock skew, which the SDK corrects
		}
	})
}
