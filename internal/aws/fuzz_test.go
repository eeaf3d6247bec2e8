package aws

import (
	"bytes"
	"context"
	"io"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"iasql/internal/modules"
)

// canned answers every request with the same.
type canned struct {
	status int
	header http.Header
	body   []byte
}

func (c canned) Do(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: c.status, Header: c.header, Body: io.NopCloser(bytes.NewReader(c.body)),
		ContentLength: int64(len(c.body)), Request: r}, nil
}

// Whatever is answered, in whatever protocol: nothing panics, an error is one
// short line, nothing is taken for gone without a code that says so, and a
// mutation that may have happened is never taken for one that has not.
func FuzzClassify(f *testing.F) {
	f.Add(uint8(0), 400, []byte(`{"__type":"com.amazonaws.sqs#QueueDoesNotExist","message":"no\nsuch"}`), "3")
	f.Add(uint8(1), 503, []byte(`<Response><Errors><Error><Code>RequestLimitExceeded</Code><Message>x</Message></Error></Errors></Response>`), "-1")
	f.Add(uint8(2), 404, []byte(`<Error><Code>NoSuchBucket</Code></Error>`), "Fri, 31 Dec 9999 23:59:59 GMT")
	f.Add(uint8(3), 500, []byte("\xbf\x67message\x63abc\xff"), "99999999999999999999")
	f.Add(uint8(4), 404, []byte(`<html>not here</html>`), "9223372036854775807")
	f.Add(uint8(5), 200, []byte(`{"QueueUrls": 7}`), "")
	f.Add(uint8(0), 400, []byte(`{"__type":`+strings.Repeat(`{"a":`, 2000)), "")
	f.Fuzz(func(t *testing.T, which uint8, status int, body []byte, after string) {
		if status < 200 || status > 599 {
			return
		}
		answer := canned{status, http.Header{"Content-Type": {"text/plain"}, "Retry-After": {after},
			"X-Amz-Retry-After": {after}, "Smithy-Protocol": {"rpc-v2-cbor"}}, body}
		cfg := awssdk.Config{Region: "us-east-1", HTTPClient: answer, Credentials: awssdk.AnonymousCredentials{},
			Retryer: func() awssdk.Retryer {
				return awssdk.NopRetryer{}
			}, BaseEndpoint: awssdk.String("http://127.0.0.1:1")}
		ctx, name := context.Background(), awssdk.String("name")
		var err error
		switch which % 6 {
		case 0:
			_, err = sqs.NewFromConfig(cfg).ListQueues(ctx, &sqs.ListQueuesInput{})
		case 1:
			_, err = ec2.NewFromConfig(cfg).DescribeVpcs(ctx, &ec2.DescribeVpcsInput{})
		case 2:
			_, err = s3.NewFromConfig(cfg, func(o *s3.Options) {
				o.UsePathStyle = true
			}).GetBucketTagging(ctx, &s3.GetBucketTaggingInput{Bucket: name})
		case 3:
			_, err = cloudwatch.NewFromConfig(cfg).DescribeAlarms(ctx, &cloudwatch.DescribeAlarmsInput{})
		case 4:
			_, err = lambda.NewFromConfig(cfg).GetFunction(ctx, &lambda.GetFunctionInput{FunctionName: name})
		default:
			_, err = route53.NewFromConfig(cfg).ListHostedZones(ctx, &route53.ListHostedZonesInput{})
		}
		if err == nil {
			return
		}
		for _, mutates := range []bool{false, true} {
			e := Classify(err, mutates, true)
			if len(e.Message) > longestMessage+300 || strings.ContainsAny(e.Message, "\n\r") ||
				!utf8.ValidString(e.Message) {
				t.Errorf("message %q", e.Message)
			}
			if e.Class == modules.NotFound && e.Code == "" {
				t.Errorf("taken for gone: %d %q", status, body)
			}
			if mutates && e.Code == "" && (status < 300 || status >= 500) && e.Class != modules.MayHaveHappened &&
				e.Class != modules.Throttled {
				t.Errorf("%d without a code: %s", status, e.Class)
			}
			if e.RetryAfter < 0 || e.RetryAfter > longestWait {
				t.Errorf("wait %s", e.RetryAfter)
			}
			_ = e.Error()
		}
	})
}

// How long to wait is never negative and never long.
func FuzzRetryAfter(f *testing.F) {
	f.Add("120", "")
	f.Add("Fri, 31 Dec 9999 23:59:59 GMT", "9223372036854775807")
	f.Fuzz(func(t *testing.T, seconds, milliseconds string) {
		h := http.Header{}
		h.Set("Retry-After", seconds)
		h.Set("X-Amz-Retry-After", milliseconds)
		if d := retryAfter(h, time.Unix(1e9, 0)); d < 0 || d > longestWait {
			t.Errorf("%q %q: %s", seconds, milliseconds, d)
		}
	})
}

// What is scrubbed is one short line, and stays as it is when scrubbed again.
func FuzzScrub(f *testing.F) {
	f.Add("x-amz-security-token: abc\nAuthorization=AWS4-HMAC-SHA256 Credential=x")
	f.Add(strings.Repeat("é", 600))
	f.Add("Encoded authorization failure message: " + strings.Repeat("aB3", 50))
	f.Fuzz(func(t *testing.T, text string) {
		once := Scrub(text)
		if len(once) > longestMessage+len("…") || strings.ContainsAny(once, "\n\r\t") {
			t.Errorf("%q becomes %q", text, once)
		}
		if utf8.ValidString(text) && !utf8.ValidString(once) {
			t.Errorf("%q becomes %q", text, once)
		}
	})
}

// Two policies are the same or not, whichever comes first.
func FuzzPolicy(f *testing.F) {
	f.Add(`{"Statement":{"Effect":"Allow","Action":"sqs:*","Principal":"*"}}`,
		`{"Statement":[{"Effect":"Allow","Action":["SQS:*"],"Principal":{"AWS":["*"]}}]}`, `{"Statement":[]}`)
	f.Add(`{"Statement":[{"Condition":{"Bool":{"a":true}}}]}`, `{"Statement":[{"Condition":{"Bool":{"a":["true"]}}}]}`,
		`{"Statement":[{"Condition":7,"Resource":[null,1e9]}]}`)
	f.Fuzz(func(t *testing.T, a, b, c string) {
		if !SamePolicy(a, a) || SamePolicy(a, b) != SamePolicy(b, a) || SamePolicy(a, b) && SamePolicy(b, c) &&
			!SamePolicy(a, c) {
			t.Errorf("%q %q %q", a, b, c)
		}
		if normal, ok := normalPolicy(a); ok {
			if again, ok := normalPolicy(normal); !ok || again != normal {
				t.Errorf("%q becomes %q, which becomes %q", a, normal, again)
			}
		}
		if v := Policy(&a); !v.IsNull() {
			if again := Policy(v.Ptr()); again != v {
				t.Errorf("%q becomes %q, which becomes %q", a, v, again)
			}
		}
	})
}

// What TagChanges says makes of the tags there are those that are wanted, and
// leaves those alone that users do not see.
func FuzzTags(f *testing.F) {
	f.Add("a", "1", "b", "2", "aws:x", "3")
	f.Add(TokenTag, "1", "", "2", "AWS:", "3")
	f.Fuzz(func(t *testing.T, k1, v1, k2, v2, k3, v3 string) {
		for _, text := range []string{k1, v1, k2, v2, k3, v3} {
			if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
				return
			}
		}
		have, want := map[string]string{k1: v1, k2: v2}, map[string]string{k2: v3, k3: v1}
		set, remove := TagChanges(TagValue(have), TagValue(want))
		got := maps.Clone(have)
		for _, key := range remove {
			delete(got, key)
		}
		maps.Copy(got, set)
		if TagValue(got) != TagValue(want) || !maps.Equal(HiddenTags(got), HiddenTags(have)) {
			t.Errorf("%q to %q: set %q, remove %q", have, want, set, remove)
		}
	})
}
