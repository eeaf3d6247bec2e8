package aws

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"iasql/internal/modules"
)

const secretKey = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY" // the example of AWS's documentation

var scope = modules.Scope{Account: "test", Region: "us-east-1"}

// server is an AWS that answers as a test says, and counts.
type server struct {
	*httptest.Server
	requests atomic.Int32
	answer   http.HandlerFunc
}

func serve(t *testing.T, answer http.HandlerFunc) *server {
	t.Helper()
	s := &server{answer: answer}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.requests.Add(1)
		s.answer(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func clientsOf(endpoint string, change ...func(*Options)) *Clients {
	o := Options{
		Endpoint:   endpoint,
		MaxBackoff: time.Millisecond,
		Patience:   time.Nanosecond,
		Accounts: func(context.Context, string) (Credentials, error) {
			return Credentials{AccessKeyID: "AKIAIOSFODNN7EXAMPLE", SecretAccessKey: secretKey}, nil
		},
	}
	for _, fn := range change {
		fn(&o)
	}
	return New(o)
}

// noVPCs is what DescribeVpcs answers where there are none.
const noVPCs = "<DescribeVpcsResponse><vpcSet/></DescribeVpcsResponse>"

// status answers with a body in the error shape of a protocol.
func status(code int, body string, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(code)
		fmt.Fprint(w, body)
	}
}

// The error shapes of the three protocols ("Error responses": EC2 query, S3
// REST XML, AWS JSON).
func ec2Error(code int, name, message string, header ...string) http.HandlerFunc {
	return status(code, "<Response><Errors><Error><Code>"+name+"</Code><Message>"+message+
		"</Message></Error></Errors><RequestID>r</RequestID></Response>", header...)
}

func s3Error(code int, name, message string, header ...string) http.HandlerFunc {
	return status(code, "<Error><Code>"+name+"</Code><Message>"+message+"</Message><RequestId>r</RequestId></Error>",
		header...)
}

func sqsError(code int, name, query string) http.HandlerFunc {
	return status(code, `{"__type":"com.amazonaws.sqs#`+name+`","message":"it is so"}`,
		"Content-Type", "application/x-amz-json-1.0", "x-amzn-query-error", query+";Sender")
}

// cut closes the connection without an answer.
func cut(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	conn, _, err := w.(http.Hijacker).Hijack()
	if err == nil {
		conn.Close()
	}
}

// cutBody closes the connection within the answer.
func cutBody(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	conn, buf, err := w.(http.Hijacker).Hijack()
	if err == nil {
		fmt.Fprint(buf, "HTTP/1.1 200 OK\r\nContent-Type: text/xml\r\nContent-Length: "+
			"5000\r\n\r\n<CreateVpcResponse><vpc><vpcId>vpc-1</vp")
		buf.Flush()
		conn.Close()
	}
}

type journal struct {
	mu    sync.Mutex
	begun []modules.Call
	ended []error
	fail  error
}

func (j *journal) Begin(_ context.Context, call modules.Call) (func(error), error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.fail != nil {
		return nil, j.fail
	}
	j.begun = append(j.begun, call)
	return func(err error) {
		j.mu.Lock()
		defer j.mu.Unlock()
		j.ended = append(j.ended, err)
	}, nil
}

// The calls of the tables below: a read and a mutation of each protocol.
var (
	ec2Read = func(ctx context.Context, c *Clients) error {
		client, err := c.EC2(ctx, scope)
		if err != nil {
			return err
		}
		_, err = client.DescribeVpcs(ctx, &ec2.DescribeVpcsInput{})
		return err
	}
	ec2Mutation = func(ctx context.Context, c *Clients) error {
		client, err := c.EC2(ctx, scope)
		if err != nil {
			return err
		}
		_, err = client.CreateVpc(ctx, &ec2.CreateVpcInput{CidrBlock: awssdk.String("10.0.0.0/16")})
		return err
	}
	s3Read = func(ctx context.Context, c *Clients) error {
		client, err := c.S3(ctx, scope)
		if err != nil {
			return err
		}
		_, err = client.GetBucketPolicy(ctx, &s3.GetBucketPolicyInput{Bucket: awssdk.String("bucket")})
		return err
	}
	s3Head = func(ctx context.Context, c *Clients) error {
		client, err := c.S3(ctx, scope)
		if err != nil {
			return err
		}
		_, err = client.HeadBucket(ctx, &s3.HeadBucketInput{Bucket: awssdk.String("bucket")})
		return err
	}
	s3Mutation = func(ctx context.Context, c *Clients) error {
		client, err := c.S3(ctx, scope)
		if err != nil {
			return err
		}
		_, err = client.DeleteBucket(ctx, &s3.DeleteBucketInput{Bucket: awssdk.String("bucket")})
		return err
	}
	sqsRead = func(ctx context.Context, c *Clients) error {
		client, err := c.SQS(ctx, scope)
		if err != nil {
			return err
		}
		_, err = client.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: awssdk.String("queue")})
		return err
	}
	sqsMutation = func(ctx context.Context, c *Clients) error {
		client, err := c.SQS(ctx, scope)
		if err != nil {
			return err
		}
		_, err = client.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: awssdk.String("queue")})
		return err
	}
)

func TestClassification(t *testing.T) {
	t.Parallel()
	const all = 3 // attempts
	for _, test := range []struct {
		name     string
		call     func(context.Context, *Clients) error
		answer   http.HandlerFunc
		class    modules.Class
		code     string
		requests int
	}{
		{"ec2 throttles a read", ec2Read, ec2Error(503, "RequestLimitExceeded", "slow"), modules.Throttled,
			"RequestLimitExceeded", all},
		{"ec2 throttles a mutation", ec2Mutation, ec2Error(503, "RequestLimitExceeded", "slow"), modules.Throttled,
			"RequestLimitExceeded", all},
		{"ec2 other throttling", ec2Mutation, ec2Error(400, "ThrottlingException", "slow"), modules.Throttled,
			"ThrottlingException", all},
		{"ec2 not found", ec2Read, ec2Error(400, "InvalidVpcID.NotFound", "no"), modules.NotFound,
			"InvalidVpcID.NotFound", 1},
		{"ec2 malformed", ec2Read, ec2Error(400, "InvalidVpcID.Malformed", "no"), modules.Invalid,
			"InvalidVpcID.Malformed", 1},
		{"ec2 duplicate", ec2Mutation, ec2Error(400, "InvalidGroup.Duplicate", "no"), modules.Exists,
			"InvalidGroup.Duplicate", 1},
		{"ec2 conflict", ec2Mutation, ec2Error(400, "InvalidSubnet.Conflict", "no"), modules.Exists,
			"InvalidSubnet.Conflict", 1},
		{"ec2 dependency", ec2Mutation, ec2Error(400, "DependencyViolation", "no"), modules.Dependency,
			"DependencyViolation", 1},
		{"ec2 quota", ec2Mutation, ec2Error(400, "VpcLimitExceeded", "no"), modules.Quota, "VpcLimitExceeded", 1},
		{"ec2 denied", ec2Mutation, ec2Error(403, "UnauthorizedOperation", "no"), modules.Denied,
			"UnauthorizedOperation", 1},
		{"ec2 wrong key", ec2Read, ec2Error(401, "AuthFailure", "no"), modules.Denied, "AuthFailure", 1},
		{"ec2 expired", ec2Read, ec2Error(400, "RequestExpired", "no"), modules.Denied, "RequestExpired", 1},
		{"ec2 invalid", ec2Mutation, ec2Error(400, "InvalidParameterValue", "no"), modules.Invalid,
			"InvalidParameterValue", 1},
		{"ec2 capacity", ec2Read, ec2Error(500, "InsufficientInstanceCapacity", "no"), modules.Transient,
			"InsufficientInstanceCapacity", all},
		{"ec2 fails a read", ec2Read, ec2Error(500, "InternalError", "no"), modules.Transient, "InternalError", all},
		{"ec2 fails a mutation", ec2Mutation, ec2Error(500, "InternalError", "no"), modules.MayHaveHappened,
			"InternalError", 1},
		{"ec2 unavailable, mutation", ec2Mutation, ec2Error(503, "Unavailable", "no"), modules.MayHaveHappened,
			"Unavailable", 1},
		{"a proxy fails a read", ec2Read, status(502, "<html>bad gateway</html>"), modules.Transient, "", all},
		{"a proxy fails a mutation", ec2Mutation, status(502, "<html>bad gateway</html>"),
			modules.MayHaveHappened, "", 1},
		{"a proxy knows nothing", ec2Read, status(404, "<html>not found</html>"), modules.Transient, "NotAnAnswer", 1},
		{"a proxy knows nothing, mutation", ec2Mutation, status(404, "<html>not found</html>"), modules.MayHaveHappened,
			"NotAnAnswer", 1},

		{"s3 slow down", s3Mutation, s3Error(503, "SlowDown", "Please reduce your request rate."), modules.Throttled,
			"SlowDown", all},
		{"s3 slow down by text", s3Mutation, s3Error(503, "ServiceUnavailable", "Please reduce your request rate."),
			modules.Throttled, "ServiceUnavailable", all},
		{"s3 no bucket", s3Read, s3Error(404, "NoSuchBucket", "no"), modules.NotFound, "NoSuchBucket", 1},
		{"s3 no policy", s3Read, s3Error(404, "NoSuchBucketPolicy", "no"), modules.NotFound, "NoSuchBucketPolicy", 1},
		{"s3 head not found", s3Head, status(404, "", "x-amz-request-id", "R"), modules.NotFound, "NotFound", 1},
		{"s3 head forbidden", s3Head, status(403, "", "x-amz-request-id", "R"), modules.Denied, "Forbidden", 1},
		{"s3 head elsewhere", s3Head, status(301, "", "x-amz-request-id", "R"), modules.Invalid, "MovedPermanently", 1},
		{"s3 not empty", s3Mutation, s3Error(409, "BucketNotEmpty", "no"), modules.Dependency, "BucketNotEmpty", 1},
		{"s3 aborted", s3Mutation, s3Error(409, "OperationAborted", "no"), modules.Dependency, "OperationAborted", 1},
		{"s3 own", s3Mutation, s3Error(409, "BucketAlreadyOwnedByYou", "no"), modules.Exists,
			"BucketAlreadyOwnedByYou", 1},
		{"s3 somebody's", s3Mutation, s3Error(409, "BucketAlreadyExists", "no"), modules.Invalid,
			"BucketAlreadyExists", 1},
		{"s3 too many", s3Mutation, s3Error(400, "TooManyBuckets", "no"), modules.Quota, "TooManyBuckets", 1},
		{"s3 denied", s3Read, s3Error(403, "AccessDenied", "no"), modules.Denied, "AccessDenied", 1},
		{"s3 archived", s3Read, s3Error(403, "InvalidObjectState", "no"), modules.Dependency, "InvalidObjectState", 1},
		{"s3 does not have it, read", s3Read, s3Error(501, "NotImplemented", "no"), modules.Invalid,
			"NotImplemented", 1},
		{"s3 does not have it, mutation", s3Mutation, s3Error(501, "NotImplemented", "no"), modules.Invalid,
			"NotImplemented", 1},
		{"s3 expired", s3Read, s3Error(400, "ExpiredToken", "no"), modules.Denied, "ExpiredToken", 1},
		{"s3 expired, mutation", s3Mutation, s3Error(400, "ExpiredToken", "no"), modules.Transient,
			"ExpiredToken", all},
		{"s3 signature", s3Read, s3Error(403, "SignatureDoesNotMatch", "no"), modules.Denied,
			"SignatureDoesNotMatch", 1},
		{"s3 malformed", s3Mutation, s3Error(400, "MalformedPolicy", "no"), modules.Invalid, "MalformedPolicy", 1},
		{"s3 fails a mutation", s3Mutation, s3Error(500, "InternalError", "no"), modules.MayHaveHappened,
			"InternalError", 1},
		{"s3 timeout, mutation", s3Mutation, s3Error(400, "RequestTimeout", "no"), modules.MayHaveHappened,
			"RequestTimeout", 1},
		{"s3 timeout, read", s3Read, s3Error(400, "RequestTimeout", "no"), modules.Transient, "RequestTimeout", all},

		{"sqs not found", sqsRead, sqsError(400, "QueueDoesNotExist", "AWS.SimpleQueueService.NonExistentQueue"),
			modules.NotFound, "AWS.SimpleQueueService.NonExistentQueue", 1},
		{"sqs exists", sqsMutation, sqsError(400, "QueueNameExists", "QueueAlreadyExists"), modules.Exists,
			"QueueAlreadyExists", 1},
		{"sqs deleted", sqsMutation, sqsError(400, "QueueDeletedRecently",
			"AWS.SimpleQueueService.QueueDeletedRecently"), modules.Dependency,
			"AWS.SimpleQueueService.QueueDeletedRecently", 1},
		{"sqs throttles", sqsMutation, sqsError(403, "RequestThrottled", "RequestThrottled"), modules.Throttled,
			"RequestThrottled", all},
		{"sqs over limit", sqsMutation, sqsError(403, "OverLimit", "OverLimit"), modules.Quota, "OverLimit", 1},
		{"sqs invalid", sqsMutation, sqsError(400, "InvalidAttributeValue", "InvalidAttributeValue"), modules.Invalid,
			"InvalidAttributeValue", 1},
		{"sqs wrong key", sqsRead, sqsError(403, "InvalidClientTokenId", "InvalidClientTokenId"), modules.Denied,
			"InvalidClientTokenId", 1},
		{"sqs too many requests", sqsRead, status(429, "{}", "Content-Type", "application/x-amz-json-1.0"),
			modules.Throttled, "", all},

		{"connection cut, read", ec2Read, cut, modules.Transient, "", all},
		{"connection cut, mutation", ec2Mutation, cut, modules.MayHaveHappened, "", 1},
		{"connection cut, s3 mutation", s3Mutation, cut, modules.MayHaveHappened, "", 1},
		{"connection cut, sqs mutation", sqsMutation, cut, modules.MayHaveHappened, "", 1},
		{"answer cut, read", ec2Read, cutBody, modules.Transient, "", all},
		{"answer cut, mutation", ec2Mutation, cutBody, modules.MayHaveHappened, "", 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, test.answer)
			j := &journal{}
			err := test.call(t.Context(), clientsOf(s.URL, func(o *Options) {
				o.MaxAttempts = all
			}).Permitted(&modules.Permit{Journal: j}))
			var e *modules.Error
			if !errors.As(err, &e) {
				t.Fatalf("got %v, want a *modules.Error", err)
			}
			if e.Class != test.class {
				t.Errorf("class %q, want %q: %v", e.Class, test.class, err)
			}
			if test.code != "" && e.Code != test.code {
				t.Errorf("code %q, want %q", e.Code, test.code)
			}
			if e.Message == "" || strings.Contains(e.Message, "\n") {
				t.Errorf("message %q", e.Message)
			}
			if e.Err == nil {
				t.Error("the cause is lost")
			}
			if got := int(s.requests.Load()); got != test.requests {
				t.Errorf("%d requests, want %d", got, test.requests)
			}
			// One line in the journal, whatever the number of attempts, and it
			// ends with the classified error.
			for _, ended := range j.ended {
				if modules.ClassOf(ended) != test.class {
					t.Errorf("journaled %v of class %q", ended, modules.ClassOf(ended))
				}
			}
			if len(j.begun) != len(j.ended) || len(j.begun) > 1 {
				t.Errorf("journaled %v, ended %v", j.begun, j.ended)
			}
		})
	}
}

func TestGuard(t *testing.T) {
	t.Parallel()
	s := serve(t, status(200, "<CreateVpcResponse><vpc/></CreateVpcResponse>"))
	c := clientsOf(s.URL)
	for _, mutation := range []func(context.Context, *Clients) error{ec2Mutation, s3Mutation, sqsMutation} {
		if err := mutation(t.Context(), c); err == nil || modules.ClassOf(err) != modules.ReadOnly {
			t.Errorf("got %v, want class %s", err, modules.ReadOnly)
		}
	}
	client, err := c.STS(t.Context(), scope)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.GetSessionToken(t.Context(), &sts.GetSessionTokenInput{}); modules.ClassOf(err) != modules.ReadOnly {
		t.Errorf("GetSessionToken: got %v", err)
	}
	if n := s.requests.Load(); n != 0 {
		t.Fatalf("%d requests were sent", n)
	}
	// A call that could not be journaled is not made.
	broken := errors.New("the journal is full")
	err = ec2Mutation(t.Context(), c.Permitted(&modules.Permit{Journal: &journal{fail: broken}}))
	if !errors.Is(err, broken) || s.requests.Load() != 0 {
		t.Errorf("got %v after %d requests", err, s.requests.Load())
	}
	j := &journal{}
	if err := ec2Mutation(t.Context(), c.Permitted(&modules.Permit{Journal: j})); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(j.begun, []modules.Call{{Service: "EC2", Action: "CreateVpc"}}) || len(j.ended) != 1 ||
		j.ended[0] != nil {
		t.Errorf("journaled %v, %v", j.begun, j.ended)
	}
	// What is wrong with the input is said before anything is journaled.
	bad, _ := c.Permitted(&modules.Permit{Journal: j}).S3(t.Context(), scope)
	_, err = bad.DeleteBucket(t.Context(), &s3.DeleteBucketInput{})
	if modules.ClassOf(err) != modules.Invalid || len(j.begun) != 1 {
		t.Errorf("got %v, journaled %v", err, j.begun)
	}
}

// A throttled mutation is tried again, and succeeds under one journal entry.
func TestThrottledMutationSucceeds(t *testing.T) {
	t.Parallel()
	var n atomic.Int32
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if n.Add(1) == 1 {
			ec2Error(503, "RequestLimitExceeded", "slow")(w, r)
			return
		}
		status(200, "<CreateVpcResponse><vpc><vpcId>vpc-1</vpcId></vpc></CreateVpcResponse>")(w, r)
	})
	j := &journal{}
	if err := ec2Mutation(t.Context(), clientsOf(s.URL).Permitted(&modules.Permit{Journal: j})); err != nil {
		t.Fatal(err)
	}
	if len(j.begun) != 1 || n.Load() != 2 {
		t.Errorf("journaled %v, %d requests", j.begun, n.Load())
	}
}

// Where nobody listens nothing can have happened.
func TestRefusedConnection(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	c := clientsOf("http://" + l.Addr().String())
	err = ec2Mutation(t.Context(), c.Permitted(&modules.Permit{Journal: &journal{}}))
	if err == nil || modules.ClassOf(err) != modules.Transient {
		t.Errorf("got %v", err)
	}
}

// A caller who stops waiting for a mutation that was sent does not know.
func TestGivenUp(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		call  func(context.Context, *Clients) error
		class modules.Class
	}{
		"read": {ec2Read, modules.Transient}, "mutation": {ec2Mutation, modules.MayHaveHappened},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			s := serve(t, func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				cancel()
				<-r.Context().Done()
			})
			err := test.call(ctx, clientsOf(s.URL).Permitted(&modules.Permit{Journal: &journal{}}))
			if err == nil || modules.ClassOf(err) != test.class || !errors.Is(err, context.Canceled) {
				t.Errorf("got %v of class %q, want %q", err, modules.ClassOf(err), test.class)
			}
			if n := s.requests.Load(); n != 1 {
				t.Errorf("%d requests", n)
			}
		})
	}
}

// An attempt that takes too long is like an answer that was lost.
func TestTimeout(t *testing.T) {
	t.Parallel()
	done := make(chan struct{})
	s := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-done
	})
	defer close(done)
	c := clientsOf(s.URL, func(o *Options) { o.Timeout = time.Second; o.MaxAttempts = 2 })
	err := ec2Mutation(t.Context(), c.Permitted(&modules.Permit{Journal: &journal{}}))
	if err == nil || modules.ClassOf(err) != modules.MayHaveHappened || s.requests.Load() != 1 {
		t.Errorf("got %v of class %q after %d requests", err, modules.ClassOf(err), s.requests.Load())
	}
}

// A call that has waited for too long since it was journaled is not sent.
func TestLate(t *testing.T) {
	t.Parallel()
	throttle := ec2Error(503, "RequestLimitExceeded", "slow")
	for what, within := range map[string]time.Duration{"at once": 0, "when it is tried again": 2 * time.Second} {
		s := serve(t, throttle)
		c := clientsOf(s.URL, func(o *Options) { o.MaxAttempts = 3 })
		if within > 0 {
			answer := s.answer
			s.answer = func(w http.ResponseWriter, r *http.Request) {
				time.Sleep(within)
				answer(w, r)
			}
		}
		j := &journal{}
		err := ec2Mutation(t.Context(), c.Permitted(&modules.Permit{Journal: j, SendWithin: max(within, 1)}))
		var e *modules.Error
		if !errors.As(err, &e) || e.Class != modules.Throttled || e.Code != codeLate {
			t.Errorf("%s: got %#v", what, err)
		}
		if n := s.requests.Load(); (n > 0) != (within > 0) || n > 1 {
			t.Errorf("%s: %d requests", what, n)
		}
		if len(j.begun) != 1 || len(j.ended) != 1 || j.ended[0] == nil {
			t.Errorf("%s: journaled %v, ended %v", what, j.begun, j.ended)
		}
	}
	// Reads have no entry, and may take their time.
	s := serve(t, status(200, noVPCs))
	if err := ec2Read(t.Context(),
		clientsOf(s.URL, func(*Options) {}).Permitted(&modules.Permit{Journal: &journal{}, SendWithin: 1})); err != nil {
		t.Error(err)
	}
}

// A read that is throttled is tried for a time, and what changes something for a number of
// attempts.
func TestPatience(t *testing.T) {
	t.Parallel()
	var left atomic.Int32
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if left.Add(-1) >= 0 {
			ec2Error(503, "RequestLimitExceeded", "slow")(w, r)
			return
		}
		status(200, noVPCs)(w, r)
	})
	c := clientsOf(s.URL, func(o *Options) { o.Patience, o.MaxAttempts = time.Minute, 3 })
	left.Store(8)
	if err := ec2Read(t.Context(), c); err != nil || s.requests.Load() != 9 {
		t.Errorf("%d attempts of a read: %v", s.requests.Load(), err)
	}
	left.Store(8)
	if err := ec2Mutation(t.Context(), c.Permitted(&modules.Permit{Journal: &journal{}})); modules.ClassOf(err) != modules.Throttled || s.requests.Load() != 12 {
		t.Errorf("%d attempts of a mutation: %v", s.requests.Load()-9, err)
	}
}

func TestRetryAfterStopsCalls(t *testing.T) {
	t.Parallel()
	s := serve(t, ec2Error(503, "RequestLimitExceeded", "slow", "Retry-After", "120"))
	var log bytes.Buffer
	c := clientsOf(s.URL, func(o *Options) { o.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	for range 3 {
		err := ec2Read(t.Context(), c)
		var e *modules.Error
		if !errors.As(err, &e) || e.Class != modules.Throttled || e.RetryAfter < 100*time.Second {
			t.Fatalf("got %#v", err)
		}
	}
	if n := s.requests.Load(); n != 1 {
		t.Errorf("%d requests in spite of Retry-After", n)
	}
	// Another action is not concerned.
	s.answer = status(200, "<CreateVpcResponse><vpc/></CreateVpcResponse>")
	if err := ec2Mutation(t.Context(), c.Permitted(&modules.Permit{Journal: &journal{}})); err != nil {
		t.Error(err)
	}
	if !strings.Contains(log.String(), "account=test region=us-east-1 service=EC2 action=DescribeVpcs") {
		t.Errorf("logged %s", log.String())
	}
}

func TestConcurrencyIsBounded(t *testing.T) {
	t.Parallel()
	const limit, calls = 3, 12
	var (
		now, most atomic.Int32
		full      = make(chan struct{}, calls)
		release   = make(chan struct{})
	)
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		n := now.Add(1)
		for {
			m := most.Load()
			if n <= m || most.CompareAndSwap(m, n) {
				break
			}
		}
		full <- struct{}{}
		<-release
		now.Add(-1)
		status(200, noVPCs)(w, r)
	})
	c := clientsOf(s.URL, func(o *Options) { o.Concurrency = limit })
	var group sync.WaitGroup
	for range calls {
		group.Go(func() {
			if err := ec2Read(t.Context(), c); err != nil {
				t.Error(err)
			}
		})
	}
	for range limit {
		<-full
	}
	close(release)
	group.Wait()
	if most.Load() != limit {
		t.Errorf("%d calls at the same time, want %d", most.Load(), limit)
	}
}

// The secrets of a request are in no error, even when AWS repeats them.
func TestErrorsHoldNoSecrets(t *testing.T) {
	t.Parallel()
	token := strings.Repeat("IQoJb3JpZ2luX2VjE", 20)
	c := func(url string) *Clients {
		return clientsOf(url, func(o *Options) {
			o.Accounts = func(context.Context, string) (Credentials, error) {
				return Credentials{AccessKeyID: "AKIAIOSFODNN7EXAMPLE", SecretAccessKey: secretKey,
					SessionToken: token}, nil
			}
		})
	}
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		s3Error(403, "SignatureDoesNotMatch", "The canonical string should have been 'GET\n/\nx-amz-security-token:"+
			r.Header.Get("X-Amz-Security-Token")+
			"\nAuthorization: "+r.Header.Get("Authorization")+"' with "+secretKey)(w, r)
	})
	err := s3Read(t.Context(), c(s.URL))
	text := err.Error()
	if strings.Contains(text, secretKey) || strings.Contains(text, token) || strings.Contains(text, "Signature=") ||
		strings.Contains(text, "\n") {
		t.Errorf("got %s", text)
	}
	if !strings.Contains(text, "correct secret_access_key in aws_account") {
		t.Errorf("does not say what to do: %s", text)
	}
}
