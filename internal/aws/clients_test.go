package aws

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"iasql/internal/modules"
)

// Changed credentials take effect, and unchanged ones cost nothing.
func TestCredentialsAreAskedForAgain(t *testing.T) {
	t.Parallel()
	var (
		mu    sync.Mutex
		creds = Credentials{AccessKeyID: "AKIAONE", SecretAccessKey: "one"}
		seen  []string
	)
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		key, _, _ := strings.Cut(strings.TrimPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 Credential="), "/")
		mu.Lock()
		seen = append(seen, key)
		mu.Unlock()
		status(200, noVPCs)(w, r)
	})
	c := clientsOf(s.URL, func(o *Options) {
		o.Recheck = time.Nanosecond
		o.Accounts = func(context.Context, string) (Credentials, error) {
			mu.Lock()
			defer mu.Unlock()
			return creds, nil
		}
	})
	first, err := c.EC2(t.Context(), scope)
	if err != nil {
		t.Fatal(err)
	}
	if again, _ := c.EC2(t.Context(), scope); again != first {
		t.Error("the client was made anew for the same credentials")
	}
	if err := ec2Read(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	creds = Credentials{AccessKeyID: "AKIATWO", SecretAccessKey: "two"}
	mu.Unlock()
	if err := ec2Read(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(seen, []string{"AKIAONE", "AKIATWO"}) {
		t.Errorf("signed by %v", seen)
	}
}

// Refused credentials are asked for again at once, others when it is time.
func TestRefusedCredentialsAreNotTrusted(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	s := serve(t, ec2Error(401, "AuthFailure", "no"))
	c := clientsOf(s.URL, func(o *Options) {
		o.Recheck = time.Hour
		o.Accounts = func(context.Context, string) (Credentials, error) {
			asked.Add(1)
			return Credentials{AccessKeyID: "AKIAONE", SecretAccessKey: "one"}, nil
		}
	})
	for range 2 {
		if err := ec2Read(t.Context(), c); modules.ClassOf(err) != modules.Denied {
			t.Fatal(err)
		}
	}
	s.answer = ec2Error(400, "InvalidParameterValue", "no")
	for range 3 {
		_ = ec2Read(t.Context(), c)
	}
	if asked.Load() != 3 {
		t.Errorf("asked %d times, want 3", asked.Load())
	}
}

func TestBadCredentials(t *testing.T) {
	t.Parallel()
	lost := errors.New("the database is away")
	for name, test := range map[string]struct {
		creds Credentials
		err   error
		class modules.Class
		says  string
	}{
		"no secret": {creds: Credentials{AccessKeyID: "AKIA"}, class: modules.Denied, says: "set both"},
		"no key":    {creds: Credentials{SecretAccessKey: "s"}, class: modules.Denied, says: "set both"},
		"both": {creds: Credentials{AccessKeyID: "a", SecretAccessKey: "s", Profile: "p"}, class: modules.Denied,
			says: "keep one"},
		"no profile": {creds: Credentials{Profile: "no-such-profile"}, class: modules.Denied, says: "no-such-profile"},
		"unknown":    {err: lost, class: modules.Transient, says: "the database is away"},
		"no account": {err: &modules.Error{Class: modules.Denied, Message: "no such account"}, class: modules.Denied,
			says: "account test: no such account"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := New(Options{Accounts: func(context.Context, string) (Credentials, error) {
				return test.creds, test.err
			}})
			_, err := c.EC2(t.Context(), scope)
			if err == nil || modules.ClassOf(err) != test.class || !strings.Contains(err.Error(), test.says) {
				t.Errorf("got %v of class %q", err, modules.ClassOf(err))
			}
		})
	}
}

func TestRole(t *testing.T) {
	t.Parallel()
	var assumed atomic.Int32
	refuse := atomic.Pointer[http.HandlerFunc]{}
	var calls []string
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		form, _ := url.ParseQuery(string(body))
		if form.Get("Action") != "AssumeRole" {
			calls = append(calls, r.Header.Get("X-Amz-Security-Token"))
			status(200, noVPCs)(w, r)
			return
		}
		assumed.Add(1)
		if h := refuse.Load(); h != nil {
			(*h)(w, r)
			return
		}
		if form.Get("ExternalId") != "external" || form.Get("RoleArn") != "arn:aws:iam::123456789012:role/r" {
			t.Errorf("assumed %v", form)
		}
		fmt.Fprintf(w, "<AssumeRoleResponse><AssumeRoleResult><Credentials><AccessKeyId>ASIA</AccessKeyId><SecretAccessKey>s</SecretAccessKey><SessionToken>session</SessionToken><Expiration>%s</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>",
			time.Now().Add(time.Hour).UTC().Format(time.RFC3339))
	})
	role := func() *Clients {
		return clientsOf(s.URL, func(o *Options) {
			o.Recheck = time.Nanosecond
			o.Concurrency = 1 // the login must not need a second slot
			o.Accounts = func(context.Context, string) (Credentials, error) {
				return Credentials{AccessKeyID: "AKIA", SecretAccessKey: "s",
					RoleARN: "arn:aws:iam::123456789012:role/r", ExternalID: "external"}, nil
			}
		})
	}
	c := role()
	// In two regions, twice, with one session.
	for range 2 {
		for _, region := range []string{"us-east-1", "eu-west-1"} {
			client, err := c.EC2(t.Context(), modules.Scope{Account: "test", Region: region})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := client.DescribeVpcs(t.Context(), &ec2.DescribeVpcsInput{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if assumed.Load() != 1 || !slices.Equal(calls, []string{"session", "session", "session", "session"}) {
		t.Errorf("assumed %d times, called with %v", assumed.Load(), calls)
	}

	// A refused login is told from a refused call, and from one that was sent.
	for _, test := range []struct {
		answer http.HandlerFunc
		class  modules.Class
	}{
		{status(403, "<ErrorResponse><Error><Code>AccessDenied</Code><Message>not you</Message></Error></ErrorResponse>"), modules.Denied},
		{status(500, "<ErrorResponse><Error><Code>InternalFailure</Code><Message>later</Message></Error></ErrorResponse>"), modules.Transient},
	} {
		refuse.Store(&test.answer)
		j := &journal{}
		err := ec2Mutation(t.Context(), role().Permitted(&modules.Permit{Journal: j}))
		if err == nil || modules.ClassOf(err) != test.class || len(j.ended) != 1 ||
			modules.ClassOf(j.ended[0]) != test.class {
			t.Errorf("got %v of class %q, journaled %v", err, modules.ClassOf(err), j.begun)
		}
		if !strings.Contains(err.Error(), "cannot log in") {
			t.Errorf("got %v", err)
		}
	}
}

func TestAccountIDIsAskedForOnce(t *testing.T) {
	t.Parallel()
	s := serve(t, status(200, "<GetCallerIdentityResponse><GetCallerIdentityResult><Account>123456789012</Account><Arn>arn:aws:iam::123456789012:root</Arn></GetCallerIdentityResult></GetCallerIdentityResponse>"))
	c := clientsOf(s.URL)
	for range 3 {
		id, err := c.AccountID(t.Context(), scope)
		if err != nil || id != "123456789012" {
			t.Fatal(id, err)
		}
	}
	if n := s.requests.Load(); n != 1 {
		t.Errorf("%d requests", n)
	}
}

// Not parallel: it sets the environment.
func TestDefaultRegionAndEndpoint(t *testing.T) {
	s := serve(t, status(200, noVPCs))
	t.Setenv("AWS_CONFIG_FILE", "/dev/null")
	t.Setenv("AWS_REGION", "")
	t.Setenv("AWS_DEFAULT_REGION", "")
	t.Setenv("AWS_ENDPOINT_URL", s.URL)
	everywhere := modules.Scope{Account: "test"}
	if region, err := clientsOf("").DefaultRegion(t.Context(), everywhere); err != nil || region != "us-east-1" {
		t.Errorf("got %s, %v", region, err)
	}
	t.Setenv("AWS_REGION", "eu-west-3")
	c := clientsOf("")
	if region, err := c.DefaultRegion(t.Context(), everywhere); err != nil || region != "eu-west-3" {
		t.Errorf("got %s, %v", region, err)
	}
	if err := ec2Read(t.Context(), c); err != nil || s.requests.Load() != 1 {
		t.Errorf("AWS_ENDPOINT_URL: got %v, %d requests", err, s.requests.Load())
	}
	var path string
	s.answer = func(w http.ResponseWriter, r *http.Request) {
		path = r.URL.Path
		w.Header().Set("x-amz-request-id", "R")
	}
	if err := s3Head(t.Context(), c); err != nil || path != "/bucket" {
		t.Errorf("bucket at %q, %v", path, err)
	}
}

func TestCredentialsAreMasked(t *testing.T) {
	c := Credentials{AccessKeyID: "AKIA", SecretAccessKey: "hidden-1", SessionToken: "hidden-2", ExternalID: "hidden-3",
		Profile: "p"}
	for _, text := range []string{fmt.Sprint(c), fmt.Sprintf("%+v", c), fmt.Sprintf("%#v", c), c.LogValue().String(),
		fmt.Sprintf("%v", &c)} {
		if strings.Contains(text, "hidden") || !strings.Contains(text, "AKIA") {
			t.Error(text)
		}
	}
}
