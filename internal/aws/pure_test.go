package aws

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"iasql/internal/modules"
)

func TestIsRead(t *testing.T) {
	for action, want := range map[string]bool{
		"DescribeVpcs": true, "ListQueues": true, "GetQueueUrl": true, "HeadBucket": true, "AssumeRole": true,
		"AssumeRoleWithWebIdentity": true,
		"BatchGetItem":              true, "FilterLogEvents": true, "FilterEverything": false, "LookupEvents": true,
		"SearchResources": true, "Scan": true, "Query": true,
		"CreateVpc": false, "DeleteBucket": false, "PutBucketPolicy": false, "TagQueue": false, "ReceiveMessage": false,
		"Getaway":        false,
		"GetSecretValue": false, "GetSessionToken": false, "GetId": false, "GetPasswordData": false, "Listen": false,
		"": false, "ExecuteStatement": false,
	} {
		if got := IsRead(action); got != want {
			t.Errorf("IsRead(%q) = %t", action, got)
		}
	}
}

func TestScrub(t *testing.T) {
	for in, want := range map[string]string{
		"plain":               "plain",
		"two\n  lines":        "two lines",
		"key " + secretKey:    "key " + mask,
		"SessionToken=abc, x": "SessionToken=" + mask + ", x",
		"Authorization: AWS4-HMAC-SHA256 Credential=A/b, SignedHeaders=h, Signature=00ff": "Authorization: " + mask,
		"X-Amz-Signature=00ff&a=b":                                        "X-Amz-Signature=" + mask + "&a=b",
		"not allowed. Encoded authorization failure message: abc-DEF_123": "not allowed.",
		"arn:aws:iam::123456789012:role/some/quite/long/path/to/a/role":   "arn:aws:iam::123456789012:role/some/quite/long/path/to/a/role",
		"sha da39a3ee5e6b4b0d3255bfef95601890afd80709":                    "sha da39a3ee5e6b4b0d3255bfef95601890afd80709",
	} {
		if got := Scrub(in); got != want {
			t.Errorf("Scrub(%q) = %q, want %q", in, got, want)
		}
	}
	if got := Scrub(strings.Repeat("é ", 1000)); len(got) > longestMessage+len("…") {
		t.Errorf("%d bytes are left", len(got))
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"": 0, "7": 7 * time.Second, "-1": 0, "soon": 0, "Fri, 02 Jan 2026 03:04:35 GMT": 30 * time.Second,
		"Fri, 02 Jan 2026 03:04:00 GMT": 0,
	} {
		if got := retryAfter(http.Header{"Retry-After": {value}}, now); got != want {
			t.Errorf("%q: got %s, want %s", value, got, want)
		}
	}
	if got := retryAfter(http.Header{"X-Amz-Retry-After": {"1500"}}, now); got != 1500*time.Millisecond {
		t.Errorf("got %s", got)
	}
}

func TestLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimits(slog.New(slog.DiscardHandler)).of(limitKey{action: "A"}, startRate, startBurst)
		calls := func(n int) time.Duration {
			start := time.Now()
			for range n {
				if err := l.wait(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			return time.Since(start)
		}
		if d := calls(startBurst); d != 0 {
			t.Errorf("the first %d calls took %s", startBurst, d)
		}
		if d := calls(100); d < 1900*time.Millisecond || d > 2100*time.Millisecond {
			t.Errorf("100 calls at full rate took %s, want about 2s", d)
		}
		// Answers to calls that went out before are one event.
		sent := time.Now()
		<-time.After(time.Millisecond) // the bubble's clock
		l.throttled(sent, 0)
		l.throttled(sent, 0)
		if l.rate > startRate/2+recovery || l.rate < startRate/2 {
			t.Errorf("rate %g, want %g", l.rate, startRate/2)
		}
		// Nothing is saved up for the new rate.
		if d := calls(25); d < 900*time.Millisecond {
			t.Errorf("25 calls took %s after the bucket was found empty", d)
		}
		<-time.After(time.Second)
		had := l.rate
		l.throttled(time.Now(), 0)
		if l.rate > had/2+2*recovery || l.rate < had/2 {
			t.Errorf("rate %g after %g", l.rate, had)
		}
		for range 50 {
			<-time.After(time.Second)
			l.throttled(time.Now(), 0)
		}
		if l.rate < leastRate || l.rate > 2*leastRate {
			t.Errorf("rate %g, want about %g", l.rate, leastRate)
		}
		<-time.After(time.Duration(startRate/recovery) * time.Second)
		calls(1)
		if l.rate != startRate {
			t.Errorf("rate %g after recovery", l.rate)
		}
		// Short pauses are waited for, long ones are the caller's to schedule.
		l.throttled(time.Now(), 5*time.Second)
		if d := calls(1); d < 5*time.Second {
			t.Errorf("waited %s, want 5s", d)
		}
		l.throttled(time.Now(), longestPause+time.Minute)
		var e *modules.Error
		if err := l.wait(t.Context()); !errors.As(err, &e) || e.Class != modules.Throttled ||
			e.RetryAfter <= longestPause {
			t.Errorf("got %v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		<-time.After(longestPause + time.Minute)
		l.throttled(time.Now(), time.Second)
		if err := l.wait(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
}

// Reads have a share of a documented rate, which the actions of Route 53 have together,
// and what changes something has all that is left.
func TestDocumentedRates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ls := newLimits(slog.New(slog.DiscardHandler))
		calls := func(n int, shares ReadShares, waited bool, service string, actions ...string) time.Duration {
			start := time.Now()
			for i := range n {
				op := &operation{service: service, action: actions[i%len(actions)], region: "us-east-1", waited: waited}
				op.mutates = !IsRead(op.action)
				for _, l := range ls.all("main", op, shares) {
					if err := l.wait(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
			}
			return time.Since(start)
		}
		for _, c := range []struct {
			calls       int
			share       float64
			waited      bool
			service     string
			actions     []string
			least, most time.Duration
		}{
			{27, 0.5, false, "Route 53", []string{"ListHostedZones", "GetHostedZone", "ListTagsForResources"},
				10 * time.Second, 11 * time.Second},
			{30, 0.5, false, "Route 53", []string{"ChangeResourceRecordSets", "ChangeTagsForResource"}, 4 * time.Second,
				6 * time.Second},
			{55, 1, false, "Route 53", []string{"GetHostedZone"}, 10 * time.Second, 11 * time.Second},
			{150, 0.5, false, "EC2", []string{"DescribeVpcs"}, 10 * time.Second, 11 * time.Second},
			{150, 0.5, false, "EC2", []string{"DescribeVpcs2", "DescribeSubnets", "DescribeRegions"}, 0, 0},
			{100, 0.5, false, "Lambda", []string{"Invoke"}, 0, 0},
			// Where somebody waits reads have more of it, and no more together than that.
			{94, 0.5, true, "ACM", []string{"DescribeCertificate"}, 9 * time.Second, 10 * time.Second},
			{19, 0.5, false, "ACM", []string{"DescribeCertificate"}, 2 * time.Second, 5 * time.Second},
		} {
			if took := calls(c.calls, ReadShares{c.share, max(c.share, 0.9)}, c.waited, c.service, c.actions...); took < c.least || took > c.most {
				t.Errorf("%d calls of %s take %s, not %s to %s", c.calls, c.actions, took, c.least, c.most)
			}
		}
	})
}

func TestLimitsAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ls := newLimits(slog.New(slog.DiscardHandler))
		ls.of(limitKey{action: "A"}, startRate, startBurst)
		<-time.After(3 * idleLimits)
		b := ls.of(limitKey{action: "B"}, startRate, startBurst)
		if len(ls.known) != 1 || ls.of(limitKey{action: "B"}, startRate, startBurst) != b {
			t.Errorf("%d limits are kept", len(ls.known))
		}
	})
}

func TestTagChanges(t *testing.T) {
	value := func(m map[string]string) modules.Value { return modules.StringMap(m) }
	for name, test := range map[string]struct {
		have, want map[string]string
		set        map[string]string
		remove     []string
	}{
		"nothing": {map[string]string{"a": "1"}, map[string]string{"a": "1"}, map[string]string{}, nil},
		"all": {map[string]string{"a": "1", "b": "2", "c": "3"}, map[string]string{"a": "1", "b": "x", "d": ""},
			map[string]string{"b": "x", "d": ""}, []string{"c"}},
		"none":  {map[string]string{"b": "1", "a": ""}, nil, map[string]string{}, []string{"a", "b"}},
		"first": {nil, map[string]string{"a": ""}, map[string]string{"a": ""}, nil},
		"hidden": {map[string]string{TokenTag: "t", "aws:x": "1"}, map[string]string{"AWS:y": "2"},
			map[string]string{}, nil},
	} {
		set, remove := TagChanges(value(test.have), value(test.want))
		if !maps.Equal(set, test.set) || !slices.Equal(remove, test.remove) {
			t.Errorf("%s: got %v, %v", name, set, remove)
		}
	}
}

func TestTagTypes(t *testing.T) {
	tags := EC2Tags.List(map[string]string{"b": "2", "a": "1", TokenTag: "t", "aws:x": "y"})
	if len(tags) != 4 || *tags[0].Key != "a" {
		t.Errorf("got %v", tags)
	}
	if got := EC2Tags.Value(tags).String(); got != `{"a":"1","b":"2"}` {
		t.Errorf("got %s", got)
	}
	if !EC2Tags.Value([]ec2types.Tag{}).IsNull() {
		t.Error("no tags are not NULL")
	}
	row := modules.Row{"tags": modules.StringMap(map[string]string{"a": "1"})}
	if got := TagsOf(row, "t"); !maps.Equal(got, map[string]string{"a": "1", TokenTag: "t"}) {
		t.Errorf("got %v", got)
	}
	if got := TagsOf(modules.Row{}, ""); got == nil || len(got) != 0 {
		t.Errorf("got %v", got)
	}
}

func TestSamePolicy(t *testing.T) {
	doc := func(statement string) string { return `{"Version":"2012-10-17","Statement":[` + statement + `]}` }
	base := doc(`{"Effect":"Allow","Principal":{"AWS":"arn:aws:iam::123456789012:root"},"Action":"s3:GetObject","Resource":"a","Condition":{"Bool":{"aws:SecureTransport":"true"}}}`)
	for other, want := range map[string]bool{
		base: true,
		doc(`{"Effect":"Allow","Principal":{"AWS":["123456789012"]},"Action":["s3:getobject"],"Resource":["a"],"Condition":{"Bool":{"aws:SecureTransport":[true]}}}`):                           true,
		`{"Version":"2012-10-17","Statement":{"Effect":"Allow","Principal":{"AWS":"123456789012"},"Action":"s3:GetObject","Resource":"a","Condition":{"Bool":{"aws:SecureTransport":"true"}}}}`: true,
		doc(`{"Effect":"Deny","Principal":{"AWS":"123456789012"},"Action":"s3:GetObject","Resource":"a","Condition":{"Bool":{"aws:SecureTransport":"true"}}}`):                                  false,
		doc(`{"Effect":"Allow","Principal":{"AWS":"210987654321"},"Action":"s3:GetObject","Resource":"a","Condition":{"Bool":{"aws:SecureTransport":"true"}}}`):                                 false,
		doc(`{"Effect":"Allow","Principal":{"AWS":"123456789012"},"Action":"s3:GetObject","Resource":"A","Condition":{"Bool":{"aws:SecureTransport":"true"}}}`):                                 false,
		doc(`{"Effect":"Allow","Principal":{"AWS":"123456789012"},"Action":"s3:GetObject","Resource":"a"}`):                                                                                     false,
		`{}`: false, `[]`: false, `no json`: false,
	} {
		if SamePolicy(base, other) != want || SamePolicy(other, base) != want {
			t.Errorf("want %t: %s", want, other)
		}
	}
	if !SamePolicy(doc(`{"Principal":"*","Action":["a:B","a:A"]}`),
		doc(`{"Principal":{"AWS":["*"]},"Action":["a:A","a:B"]}`)) {
		t.Error("everyone, or an order, is told apart")
	}
}

func TestEachStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var n atomic.Int32
	err := Each(ctx, 1, make([]int, 100), func(context.Context, int) error {
		n.Add(1)
		cancel()
		return nil
	})
	if n.Load() == 100 || !errors.Is(err, context.Canceled) {
		t.Errorf("%d calls, %v", n.Load(), err)
	}
}

// What this package describes has to satisfy the contract by itself.
func TestScopeColumns(t *testing.T) {
	table := &modules.Table{Name: "t", Doc: "d", Reach: modules.PerRegion, Columns: Regional(
		modules.Column{Name: "n", Type: modules.TypeText, Identity: true, Doc: "d"}, TagsColumn(), PolicyColumn("d"))}
	if err := table.Validate(); err != nil {
		t.Error(err)
	}
	global := &modules.Table{Name: "t", Doc: "d",
		Columns: PerAccount(modules.Column{Name: "n", Type: modules.TypeText, Identity: true, Doc: "d"})}
	if err := global.Validate(); err != nil {
		t.Error(err)
	}
}

type doer func(*http.Request) (*http.Response, error)

func (d doer) Do(r *http.Request) (*http.Response, error) { return d(r) }

type closable struct {
	*strings.Reader
	closed bool
}

func (c *closable) Close() error { c.closed = true; return nil }

func (c *closable) Read(p []byte) (int, error) {
	if c.closed {
		return 0, http.ErrBodyReadAfterClose
	}
	return c.Reader.Read(p)
}

// What was sent can be read after the SDK has closed its request.
func TestDetached(t *testing.T) {
	var sent *http.Request
	client := detached{doer(func(r *http.Request) (*http.Response, error) { sent = r; return nil, nil })}
	body := &closable{Reader: strings.NewReader("Action=CreateVpc")}
	req, err := http.NewRequestWithContext(t.Context(), "POST", "http://aws/", body)
	if err != nil {
		t.Fatal(err)
	}
	req.ContentLength = int64(body.Len())
	if _, err := client.Do(req); err != nil {
		t.Fatal(err)
	}
	req.Body.Close()
	if got, err := io.ReadAll(sent.Body); string(got) != "Action=CreateVpc" || err != nil ||
		sent.ContentLength != int64(len(got)) {
		t.Errorf("got %q, %v", got, err)
	}
	// Uploads are not held in memory.
	large, _ := http.NewRequestWithContext(t.Context(), "PUT", "http://aws/", &closable{Reader: strings.NewReader("")})
	large.ContentLength = longestDetached + 1
	if _, err := client.Do(large); err != nil || sent != large {
		t.Errorf("sent a copy, %v", err)
	}
}

// What only the text of an answer tells from others, and what the names of codes
// make believe: each as AWS words it.
func TestClassesOfAnswers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		code, message string
		want          modules.Class
	}{
		{"InvalidParameterCombination",
			"You can't modify this instance because the previous storage change is being optimized.",
			modules.Dependency},
		{"InvalidParameterCombination", "Cannot find version 99 for postgres", modules.Invalid},
		{"InvalidStateTransition", "The pcx-1 is in provisioning state", modules.Dependency},
		{"InvalidParameterException", "Unable to assume the service linked role. Please verify that the ECS service " +
			"linked role exists.", modules.Dependency},
		{"InvalidParameterException", "Container.image should not be null or empty.", modules.Invalid},
		{"InvalidParameterValueException", "The role defined for the function cannot be assumed by Lambda.",
			modules.Dependency},
		{"InvalidParameterValueException",
			"The provided execution role does not have permissions to call CreateNetworkInterface on EC2",
			modules.Dependency},
		{"InvalidParameterValueException",
			"Your request has been throttled by EC2, please make sure you have enough API rate limit.",
			modules.Throttled},
		{"InvalidParameterValueException",
			"Error occurred while DescribeSubnets. EC2 Error Code: InvalidSubnetID.NotFound. EC2 Error Message: The " +
				"subnet ID 'subnet-1' does not exist", modules.NotFound},
		{"InvalidParameterValueException",
			"Lambda was unable to configure your environment variables because the environment variables you have " +
				"provided contains reserved keys", modules.Invalid},
		{"ClientException", "Too many concurrent attempts to create a new revision of the specified family.",
			modules.Throttled},
		{"InvalidSubnet", "VPC vpc-1 has no internet gateway", modules.NotFound},
		{"InvalidVPCNetworkStateFault",
			"Cannot create a publicly accessible DBInstance. The specified VPC has no internet gateway attached.",
			modules.NotFound},
		{"InvalidSubnet", "The specified subnet is out of available addresses", modules.Invalid},
		{"InsufficientDBInstanceCapacity", "no capacity", modules.Transient},
		{"InsufficientStorageClusterCapacity", "no capacity", modules.Transient},
		{"InsufficientDBClusterCapacityFault", "no capacity", modules.Transient},
		{"MalformedPolicyDocument", `Invalid principal in policy: "AWS":"arn:aws:iam::123456789012:role/new"`,
			modules.NotFound},
		{"MalformedPolicyDocument", "Syntax errors in policy.", modules.Invalid},
		{"MalformedPolicy", "Invalid principal in policy", modules.NotFound},
		{"InvalidParameter", "Invalid parameter: Policy Error: PrincipalNotFound", modules.NotFound},
		{"InvalidAttributeValue", "Invalid value for the parameter Policy.", modules.NotFound},
		{"MalformedPolicyDocumentException", "Policy contains a statement with one or more invalid principals.",
			modules.NotFound},
		{"ConcurrentTagAccess", "Can't perform multiple operations on a tag simultaneously.", modules.Dependency},
		{"ConcurrentMutationLimitExceeded", "too many", modules.Throttled},
		{"PendingVerification", "Your request for accessing resources in this region is being validated",
			modules.Dependency},
		{"InvalidSecurityGroup", "The security group does not exist", modules.NotFound},
		{"InvalidParameterValue", "route table rtb-1 and network gateway igw-1 belong to different networks",
			modules.NotFound},
		{"InvalidParameterValue", "resource igw-1 is not attached to vpc-1", modules.NotFound},
		{"StaleTag", "A concurrent operation has changed the tags", modules.Dependency},
		{"StaleTagException", "A tag has been added to a resource with the same ARN as a deleted resource",
			modules.Dependency},
		{"InvalidParameterException", "Invalid parameter at 'PolicyText' failed to satisfy constraint: 'Invalid " +
			"repository policy provided'", modules.NotFound},
		{"InvalidDBSubnetGroupFault", "The subnet group is in another VPC", modules.Invalid},
		{"InvalidDBInstanceState", "Instance is modifying", modules.Dependency},
		{"DefaultVpcDoesNotExist", "There is no default VPC", modules.Invalid},
		{"PreconditionFailed", "The request failed because it didn't meet the preconditions in one or more " +
			"request-header fields.", modules.Dependency},
		{"InvalidIfMatchVersion", "The If-Match version is missing or not valid for the resource.", modules.Dependency},
		{"CNAMEAlreadyExists", "One or more of the CNAMEs you provided are already associated with a different " +
			"resource.", modules.Dependency},
		{"NoSuchOrigin", "One or more of your origins or origin groups do not exist.", modules.Invalid},
		{"NoSuchDistribution", "The specified distribution does not exist.", modules.NotFound},
		{"OriginAccessControlInUse", "The specified origin access control is currently being used by a distribution.",
			modules.Dependency},
		{"OriginAccessControlAlreadyExists", "An origin access control with the same name already exists.",
			modules.Exists},
		{"TooManyDistributions", "too many", modules.Quota},
		{"PreconditionFailedException", "The Revision Id provided does not match the latest Revision Id.",
			modules.Dependency},
		{"KMSInvalidStateException", "arn:aws:kms:us-east-1:123456789012:key/1 is pending import.", modules.Dependency},
		{"DisabledException", "arn:aws:kms:us-east-1:123456789012:key/1 is disabled.", modules.Dependency},
		{"KMS.DisabledException", "arn:aws:kms:us-east-1:123456789012:key/1 is disabled.", modules.Dependency},
		{"KMS.NotFoundException", "Invalid keyId 'key'", modules.NotFound},
		{"KmsThrottled", "slow", modules.Throttled},
		{"KMSAccessDeniedException", "no", modules.Denied},
	} {
		if got := modules.ClassOf(ErrorOf(c.code, c.message)); got != c.want {
			t.Errorf("%s: %s: %s, want %s", c.code, c.message, got, c.want)
		}
	}
}

// Throttling has a line when it begins and one when it ends, however often it is found between.
func TestThrottlingIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		ls := newLimits(slog.New(slog.NewTextHandler(&log, nil)))
		l := ls.of(limitKey{account: "a", service: "Route 53", action: "ListHostedZones"}, 2.5, 5)
		for range 5 {
			<-time.After(10 * time.Millisecond)
			l.throttled(time.Now(), 0)
		}
		if err := l.wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := log.String(); strings.Count(got, "throttles") != 1 || !strings.Contains(got, "action=ListHostedZones") {
			t.Errorf("it begins: %s", got)
		}
		<-time.After(time.Minute)
		for range 3 {
			if err := l.wait(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if got := log.String(); strings.Count(got, "aws throttles") != 1 || strings.Count(got, "aws no longer throttles") != 1 {
			t.Errorf("it ends: %s", got)
		}
		// One that nobody asks for any more ends when it is forgotten.
		log.Reset()
		l.throttled(time.Now(), 0)
		<-time.After(time.Hour)
		ls.of(limitKey{action: "another"}, 1, 1)
		if got := log.String(); strings.Count(got, "aws throttles") != 1 || strings.Count(got, "aws no longer throttles") != 1 {
			t.Errorf("it is forgotten: %s", got)
		}
	})
}
