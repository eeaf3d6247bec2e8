// Package testaws gives every test an AWS account of its own, in an emulator.
//
// A test binary gets one emulator, started when the first test asks for it;
// [NewAccount] makes up an account in it, at no cost, with credentials that work
// for any SDK and for the aws command:
//
//	func TestMain(m *testing.M) { testaws.Main(m) }
//
//	func TestSomething(t *testing.T) {
//		t.Parallel()
//		account := testaws.NewAccount(t)
//		client := ec2.NewFromConfig(account.Config("us-east-1"))
//		…
//	}
//
// With a database as well: testdb.Main(m, migrate, testaws.Setup).
//
// The emulator is the moto server at IASQL_TEST_AWS_ENDPOINT, else a private
// moto_server, as strict as it can be set. When there is none, tests fail and say
// so; they are never skipped.
//
// Accounts are kept apart by a small proxy in front of moto. Moto itself picks
// the account by the header x-moto-account-id, or else by searching its accounts
// for the access key, which would want a role assumed per account and costs 35 MB
// and up to seconds each. So the access keys made up here contain their account's
// id, and the proxy turns it into the header. Requests with other access keys go
// to moto's default account 123456789012.
package testaws

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"regexp"
	"sync"
	"testing"
	"time"

	"iasql/internal/devenv"
)

const (
	endpointEnv = "IASQL_TEST_AWS_ENDPOINT"
	stopTimeout = 30 * time.Second
)

// Main runs a package's tests with an emulator; call it from TestMain. more are
// further resources.
func Main(m *testing.M, more ...func() (stop func())) {
	stops := []func(){Setup()}
	for _, setup := range more {
		stops = append(stops, setup())
	}
	code := m.Run()
	for i := len(stops) - 1; i >= 0; i-- {
		stops[i]()
	}
	os.Exit(code)
}

// Setup is for a TestMain that does more than [Main]; it returns what is to be
// called after the tests. It starts nothing yet.
func Setup() (stop func()) {
	e := &emulator{given: os.Getenv(endpointEnv)}
	current = e
	return e.stop
}

// Endpoint returns the URL that stands for every AWS service. It is common to the
// tests of a binary; which account a request is for depends on its credentials.
func Endpoint(t testing.TB) string {
	t.Helper()
	if current == nil {
		t.Fatal("testaws: not set up: call testaws.Main from TestMain, or testaws.Setup")
	}
	if err := current.start(); err != nil {
		t.Fatalf("testaws: no AWS emulator: %v", err)
	}
	return current.url
}

// NewAccount makes up an account that no other test uses. As in AWS, it has a
// default VPC in every region.
func NewAccount(t testing.TB) Account {
	t.Helper()
	endpoint := Endpoint(t)
	id := fmt.Sprintf("%012d", 100_000_000_000+rand.Int64N(900_000_000_000))
	return Account{
		ID:              id,
		AccessKeyID:     keyPrefix + id,
		SecretAccessKey: "secret-of-" + id,
		Endpoint:        endpoint,
	}
}

// current is what Setup registered: one emulator for the tests of one binary.
var current *emulator

type emulator struct {
	given string // endpoint of one that runs already

	once  sync.Once
	err   error  // why there is none
	url   string // of the proxy
	proxy *http.Server
	moto  *devenv.Moto
}

func (e *emulator) start() error {
	e.once.Do(func() { e.err = e.startOnce() })
	return e.err
}

func (e *emulator) startOnce() error {
	backend := e.given
	if backend == "" {
		moto, err := devenv.StartMoto(context.Background(), devenv.MotoOptions{})
		if err != nil {
			return fmt.Errorf("%w, or set %s", err, endpointEnv)
		}
		e.moto, backend = moto, moto.URL()
	}
	target, err := url.Parse(backend)
	if err != nil || target.Host == "" {
		return fmt.Errorf("%s=%s is not a URL http://host:port", endpointEnv, backend)
	}
	if e.given != "" {
		conn, err := net.DialTimeout("tcp", target.Host, 10*time.Second)
		if err != nil {
			return fmt.Errorf("%s=%s does not answer: %w", endpointEnv, backend, err)
		}
		conn.Close()
	}
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return err
	}
	e.url = "http://" + l.Addr().String()
	e.proxy = &http.Server{Handler: newProxy(target), ErrorLog: log.New(io.Discard, "", 0)}
	go func() { _ = e.proxy.Serve(l) }() // ends with Close
	return nil
}

// stop ends the emulator. It does nothing when no test had asked for it.
func (e *emulator) stop() {
	e.once.Do(func() { e.err = errors.New("the tests have ended") })
	var err error
	if e.proxy != nil {
		err = e.proxy.Close()
	}
	if e.moto != nil {
		ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
		defer cancel()
		err = errors.Join(err, e.moto.Stop(ctx))
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "testaws: %v\n", err)
	}
}

// keyPrefix and an account's id are an access key id of the usual 20 characters.
const keyPrefix = "AKIAMOTO"

var keyPattern = regexp.MustCompile(keyPrefix + `(\d{12})`)

// accountOf reads the account from the access key of a signed request: in the
// Authorization header, or in the query of a presigned URL.
func accountOf(r *http.Request) string {
	for _, text := range []string{r.Header.Get("Authorization"), r.URL.RawQuery} {
		if m := keyPattern.FindStringSubmatch(text); m != nil {
			return m[1]
		}
	}
	return ""
}

// newProxy passes requests on to moto and tells it the account they are for.
func newProxy(target *url.URL) http.Handler {
	return devenv.Forward(target, func(r *httputil.ProxyRequest) {
		if id := accountOf(r.In); id != "" {
			r.Out.Header.Set("x-moto-account-id", id)
		}
	})
}
