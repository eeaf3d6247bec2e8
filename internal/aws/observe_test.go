package aws

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"iasql/internal/modules"
)

// An observer is told of every attempt, how it ended, and what time AWS says it is.
func TestObserver(t *testing.T) {
	t.Parallel()
	ahead := time.Now().Add(10 * time.Minute).UTC().Format(http.TimeFormat)
	s := serve(t, nil)
	s.answer = func(w http.ResponseWriter, r *http.Request) {
		if s.requests.Load() == 1 {
			ec2Error(503, "RequestLimitExceeded", "slow down", "Date", ahead)(w, r)
			return
		}
		status(200, noVPCs, "Date", ahead)(w, r)
	}
	client, err := clientsOf(s.URL).EC2(t.Context(), scope)
	if err != nil {
		t.Fatal(err)
	}
	var lock sync.Mutex
	var seen []modules.Attempt
	ctx := modules.WithTrace(t.Context(), func(a modules.Attempt) {
		lock.Lock()
		defer lock.Unlock()
		seen = append(seen, a)
	})
	if _, err := client.DescribeVpcs(ctx, &ec2.DescribeVpcsInput{}); err != nil {
		t.Fatal(err)
	}
	if _, err := client.CreateVpc(ctx, &ec2.CreateVpcInput{}); modules.ClassOf(err) != modules.ReadOnly {
		t.Errorf("a mutation: %v", err)
	}
	if len(seen) != 2 {
		t.Fatalf("%d attempts: %+v", len(seen), seen)
	}
	for i, a := range seen {
		if a.Service != "EC2" || a.Action != "DescribeVpcs" || a.Region != "us-east-1" || a.Took <= 0 ||
			(a.Err != nil) != (i == 0) {
			t.Errorf("attempt %d: %+v", i, a)
		}
		if !a.Dated || a.Skew < 9*time.Minute || a.Skew > 11*time.Minute {
			t.Errorf("attempt %d: the clock is %s off, %t", i, a.Skew, a.Dated)
		}
	}
	if seen[0].Err.Class != modules.Throttled {
		t.Errorf("the first attempt: %v", seen[0].Err)
	}
}

// How the engine logs in is told without a call to AWS, and without a secret.
func TestLogin(t *testing.T) {
	t.Parallel()
	s := serve(t, cut)
	login, err := clientsOf(s.URL).Login(t.Context(), scope)
	if err != nil || login.Source != "StaticCredentials" || !login.Expires.IsZero() || s.requests.Load() != 0 {
		t.Errorf("%+v, %v, %d calls", login, err, s.requests.Load())
	}
	_, err = clientsOf(s.URL, func(o *Options) {
		o.Accounts = func(context.Context, string) (Credentials, error) { return Credentials{AccessKeyID: "x"}, nil }
	}).Login(t.Context(), scope)
	var known *modules.Error
	if !errors.As(err, &known) || known.Class != modules.Denied || !strings.Contains(known.Message, "set both") {
		t.Errorf("half a key: %v", err)
	}
}
