package aws

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudfront"
	cftypes "github.com/aws/aws-sdk-go-v2/service/cloudfront/types"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	lambdatypes "github.com/aws/aws-sdk-go-v2/service/lambda/types"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"iasql/internal/modules"
)

// exchange is an operation and an answer to it, as AWS documents it.
type exchange struct {
	name    string
	call    func(ctx context.Context, cfg awssdk.Config) error
	good    string
	header  []string
	mutates bool
}

// requestID is what every answer of AWS has.
var requestID = []string{"x-amzn-requestid", "2f3e6c5e-R"}

// exchanges are a read and a mutation of each protocol.
func exchanges() []exchange { return slices.Concat(inQuery(), inRESTXML(), inJSON()) }

func inQuery() []exchange {
	return []exchange{
		{"ec2 read", func(ctx context.Context, cfg awssdk.Config) error {
			_, err := ec2.NewFromConfig(cfg).DescribeVpcs(ctx, &ec2.DescribeVpcsInput{})
			return err
		}, `<?xml version="1.0" encoding="UTF-8"?>` + "\n" +
			`<DescribeVpcsResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"><requestId>r</requestId><vpcSet/></DescribeVpcsResponse>`, requestID, false},
		{"ec2 mutation", func(ctx context.Context, cfg awssdk.Config) error {
			_, err := ec2.NewFromConfig(cfg).CreateVpc(ctx,
				&ec2.CreateVpcInput{CidrBlock: awssdk.String("10.0.0.0/16")})
			return err
		}, `<CreateVpcResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"><requestId>r</requestId><vpc><vpcId>vpc-1</vpcId></vpc></CreateVpcResponse>`, requestID, true},
		{"query read", func(ctx context.Context, cfg awssdk.Config) error {
			_, err := iam.NewFromConfig(cfg).ListUsers(ctx, &iam.ListUsersInput{})
			return err
		}, `<ListUsersResponse xmlns="https://iam.amazonaws.com/doc/2010-05-08/"><ListUsersResult><IsTruncated>false</IsTruncated><Users/></ListUsersResult><ResponseMetadata><RequestId>r</RequestId></ResponseMetadata></ListUsersResponse>`, requestID, false},
		{"query mutation without a result", func(ctx context.Context, cfg awssdk.Config) error {
			_, err := iam.NewFromConfig(cfg).DeleteUser(ctx, &iam.DeleteUserInput{UserName: awssdk.String("u")})
			return err
		}, `<DeleteUserResponse><ResponseMetadata><RequestId>r</RequestId></ResponseMetadata></DeleteUserResponse>`,
			requestID, true},
	}
}

func inJSON() []exchange {
	inCBOR := append([]string{"Smithy-Protocol", "rpc-v2-cbor", "Content-Type", "application/cbor"}, requestID...)
	return []exchange{
		{"json read", func(ctx context.Context, cfg awssdk.Config) error {
			_, err := sqs.NewFromConfig(cfg).ListQueues(ctx, &sqs.ListQueuesInput{})
			return err
		}, `{}`, requestID, false},
		{"json mutation", func(ctx context.Context, cfg awssdk.Config) error {
			_, err := sqs.NewFromConfig(cfg).CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: awssdk.String("q")})
			return err
		}, `{"QueueUrl": "https://sqs/1/q"}`, requestID, true},
		{"rest json read", func(ctx context.Context, cfg awssdk.Config) error {
			_, err := lambda.NewFromConfig(cfg).ListFunctions(ctx, &lambda.ListFunctionsInput{})
			return err
		}, `{"Functions": []}`, requestID, false},
		{"rest json mutation", func(ctx context.Context, cfg awssdk.Config) error {
			_, err := lambda.NewFromConfig(cfg).CreateFunction(ctx,
				&lambda.CreateFunctionInput{FunctionName: awssdk.String("f"), Role: awssdk.String("r"),
					Code: &lambdatypes.FunctionCode{ZipFile: []byte("z")}})
			return err
		}, `{"FunctionName": "f"}`, requestID, true},
		{"cbor read", func(ctx context.Context, cfg awssdk.Config) error {
			_, err := cloudwatch.NewFromConfig(cfg).DescribeAlarms(ctx, &cloudwatch.DescribeAlarmsInput{})
			return err
		}, "\xa1\x6cMetricAlarms\x80", inCBOR, false},
	}
}

func inRESTXML() []exchange {
	s3Of := func(cfg awssdk.Config) *s3.Client {
		return s3.NewFromConfig(cfg, func(o *s3.Options) { o.UsePathStyle = true })
	}
	bucket := awssdk.String("bucket")
	return []exchange{
		{"s3 read", func(ctx context.Context, cfg awssdk.Config) error {
			_, err := s3Of(cfg).ListBuckets(ctx, &s3.ListBucketsInput{})
			return err
		}, `<ListAllMyBucketsResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Buckets/></ListAllMyBucketsResult>`, requestID, false},
		{"s3 location", func(ctx context.Context, cfg awssdk.Config) error {
			_, err := s3Of(cfg).GetBucketLocation(ctx, &s3.GetBucketLocationInput{Bucket: bucket})
			return err
		}, `<LocationConstraint xmlns="http://s3.amazonaws.com/doc/2006-03-01/"></LocationConstraint>`,
			requestID, false},
		{"s3 policy", func(ctx context.Context, cfg awssdk.Config) error {
			_, err := s3Of(cfg).GetBucketPolicy(ctx, &s3.GetBucketPolicyInput{Bucket: bucket})
			return err
		}, `{"Version": "2012-10-17", "Statement": []}`, requestID, false},
		{"route 53 read", func(ctx context.Context, cfg awssdk.Config) error {
			_, err := route53.NewFromConfig(cfg).ListHostedZones(ctx, &route53.ListHostedZonesInput{})
			return err
		}, `<ListHostedZonesResponse><HostedZones/><IsTruncated>false</IsTruncated><MaxItems>100</MaxItems></ListHostedZonesResponse>`, requestID, false},
		{"cloudfront read", func(ctx context.Context, cfg awssdk.Config) error {
			_, err := cloudfront.NewFromConfig(cfg).ListDistributions(ctx, &cloudfront.ListDistributionsInput{})
			return err
		}, `<DistributionList><Marker></Marker><MaxItems>100</MaxItems><IsTruncated>false</IsTruncated><Quantity>0</Quantity></DistributionList>`, requestID, false},
		{"cloudfront mutation", func(ctx context.Context, cfg awssdk.Config) error {
			_, err := cloudfront.NewFromConfig(cfg).CreateOriginAccessControl(ctx,
				&cloudfront.CreateOriginAccessControlInput{OriginAccessControlConfig: &cftypes.OriginAccessControlConfig{
					Name: awssdk.String("n"), OriginAccessControlOriginType: "s3", SigningBehavior: "always",
					SigningProtocol: "sigv4"}})
			return err
		}, `<OriginAccessControl><Id>E1</Id></OriginAccessControl>`, requestID, true},
	}
}

// configOf returns the configuration that clients are made with.
func configOf(t *testing.T, url string) (cfg awssdk.Config) {
	t.Helper()
	c := clientsOf(url, func(o *Options) { o.MaxAttempts = 3 }).Permitted(&modules.Permit{Journal: &journal{}})
	type probe struct{}
	_, err := Client(t.Context(), c, scope, func(given awssdk.Config) *probe { cfg = given; return &probe{} })
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

const page = "<!DOCTYPE html>\n<html><head><title>Sign in</title></head><body><p>Please sign in<br>to go " +
	"on</body></html>"

// What is no answer of an operation is unknown to a read, and in doubt to a mutation, in
// every protocol (R29).
func TestAnswerHasToBeOne(t *testing.T) {
	t.Parallel()
	html := []string{"Content-Type", "text/html"}
	for _, x := range exchanges() {
		good := func(change func(string) string) http.HandlerFunc { return status(200, change(x.good), x.header...) }
		bad := map[string]http.HandlerFunc{
			"html":           status(200, page, html...),
			"html, as said":  status(200, page, x.header...),
			"well-formed":    status(200, "<html><body/></html>", x.header...),
			"other root":     status(200, "<ListThingsResponse><ListThingsResult/></ListThingsResponse>", x.header...),
			"empty":          status(200, "", html...),
			"blank":          status(200, " \n", html...),
			"text":           status(200, "OK", x.header...),
			"array":          status(200, "[]", x.header...),
			"string":         status(200, `"ok"`, x.header...),
			"null":           status(200, "null", x.header...),
			"other's object": status(200, `{"status": "up"}`, x.header...),
			"html 404":       status(404, page, html...),
			"html 403":       status(403, page, html...),
			"empty 404":      status(404, ""),
			"json 404": status(404, `{"message": "no Route matched with those values"}`, "Content-Type",
				"application/json"),
			"other's xml 404": status(404, `<Fault><Code>NoSuchThing</Code></Fault>`, "Content-Type", "text/xml"),
		}
		if x.name != "cbor read" { // its decoder is the SDK's
			bad["followed"] = good(func(s string) string { return s + page })
		}
		if x.name == "s3 policy" { // whose members are anybody's
			delete(bad, "other's object")
		}
		for name, answer := range bad {
			t.Run(x.name+"/"+name, func(t *testing.T) {
				t.Parallel()
				requests, err := outcome(t, x, answer)
				want := modules.Transient
				if x.mutates {
					want = modules.MayHaveHappened
				}
				var e *modules.Error
				if !errors.As(err, &e) || e.Class != want || requests != 1 && e.Code == codeNotAnswer {
					t.Fatalf("%d requests, %v of class %v, want %v", requests, err, modules.ClassOf(err), want)
				}
				if e.Code == codeNotAnswer && (!strings.Contains(e.Message, "127.0.0.1:") ||
					!strings.Contains(e.Message, "AWS_ENDPOINT_URL")) {
					t.Errorf("the message does not say whom was asked, and what to look at: %s", e.Message)
				}
			})
		}
		t.Run(x.name+"/good", func(t *testing.T) {
			t.Parallel()
			for _, change := range []func(string) string{func(s string) string {
				return s
			}, func(s string) string { return s + "\n" }} {
				if x.name == "cbor read" {
					change = func(s string) string { return s }
				}
				if requests, err := outcome(t, x, good(change)); err != nil || requests != 1 {
					t.Errorf("%d requests, %v", requests, err)
				}
			}
		})
	}
}

// outcome makes a call and returns what it came to, and how many requests it took.
func outcome(t *testing.T, x exchange, answer http.HandlerFunc) (requests int32, err error) {
	t.Helper()
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		answer(w, r)
	})
	err = x.call(t.Context(), configOf(t, s.URL))
	return s.requests.Load(), err
}

// An answer that ends before its end says nothing, wherever it ends: whether the connection
// was cut or somebody on the way has made a whole answer of what had come.
func TestAnswerHasToBeWhole(t *testing.T) {
	t.Parallel()
	for _, x := range exchanges() {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			for cut := 1; cut < len(x.good); cut += max(1, len(x.good)/12) {
				whole := status(200, x.good[:cut], x.header...)
				short := func(w http.ResponseWriter, r *http.Request) {
					w.Header().Set("Content-Length", fmt.Sprint(len(x.good)))
					whole(w, r)
				}
				for _, answer := range []http.HandlerFunc{whole, short} {
					_, err := outcome(t, x, answer)
					if want := map[bool]modules.Class{true: modules.MayHaveHappened,
						false: modules.Transient}[x.mutates]; err == nil || modules.ClassOf(err) != want {
						t.Errorf("cut to %q: %v of class %v, want %v", x.good[:cut], err, modules.ClassOf(err), want)
					}
				}
			}
		})
	}
}

// Of an object's attributes EC2 describes one, and neither the others nor their lists.
func TestAttributeAlone(t *testing.T) {
	t.Parallel()
	x := exchange{call: func(ctx context.Context, cfg awssdk.Config) error {
		_, err := ec2.NewFromConfig(cfg).DescribeVolumeAttribute(ctx, &ec2.DescribeVolumeAttributeInput{
			VolumeId: awssdk.String("vol-1"), Attribute: ec2types.VolumeAttributeNameAutoEnableIO})
		return err
	}}
	if _, err := outcome(t, x, status(200, `<DescribeVolumeAttributeResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"><requestId>r</requestId><volumeId>vol-1</volumeId><autoEnableIO><value>false</value></autoEnableIO></DescribeVolumeAttributeResponse>`, requestID...)); err != nil {
		t.Error(err)
	}
	if _, err := outcome(t, x, status(200, page, requestID...)); !HasCode(err, codeNotAnswer) {
		t.Errorf("a page is taken for an answer: %v", err)
	}
}

// The beginning of what came instead is shown, in one line, and no secret with it.
func TestWhatCameInsteadIsShown(t *testing.T) {
	t.Parallel()
	x := exchanges()[0]
	for answer, want := range map[string]string{
		"\x1b[31mSign in\x07\n\nhere":                       `[31mSign in  here`,
		"aws_secret_access_key=" + secretKey + " and so on": mask,
	} {
		_, err := outcome(t, x, status(200, answer, requestID...))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), secretKey) ||
			strings.ContainsAny(err.Error(), "\x1b\x07\n") {
			t.Errorf("%q is told as %v, want %q in it", answer, err, want)
		}
	}
}

// What has no body by its nature is told by the id that AWS gives each request; a stream
// is handed on unread.
func TestAnswersWithoutBody(t *testing.T) {
	t.Parallel()
	object := exchange{call: func(ctx context.Context, cfg awssdk.Config) error {
		out, err := s3.NewFromConfig(cfg, func(o *s3.Options) {
			o.UsePathStyle = true
		}).GetObject(ctx, &s3.GetObjectInput{Bucket: awssdk.String("b"), Key: awssdk.String("k")})
		if err != nil {
			return err
		}
		body, err := io.ReadAll(out.Body)
		if err == nil && string(body) != page {
			err = fmt.Errorf("read %q", body)
		}
		return err
	}}
	head := exchange{call: func(ctx context.Context, cfg awssdk.Config) error {
		_, err := s3.NewFromConfig(cfg, func(o *s3.Options) {
			o.UsePathStyle = true
		}).HeadBucket(ctx, &s3.HeadBucketInput{Bucket: awssdk.String("b")})
		return err
	}}
	put := exchange{mutates: true, call: func(ctx context.Context, cfg awssdk.Config) error {
		_, err := s3.NewFromConfig(cfg, func(o *s3.Options) {
			o.UsePathStyle = true
		}).CreateBucket(ctx, &s3.CreateBucketInput{Bucket: awssdk.String("b")})
		return err
	}}
	for name, test := range map[string]struct {
		x    exchange
		body string
	}{"object": {object, page}, "head": {head, ""}, "put": {put, ""}} {
		if _, err := outcome(t, test.x, status(200, test.body, requestID...)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		requests, err := outcome(t, test.x, status(200, test.body))
		if want := map[bool]modules.Class{true: modules.MayHaveHappened, false: modules.Transient}[test.x.mutates]; !HasCode(err, codeNotAnswer) || modules.ClassOf(err) != want || requests != 1 {
			t.Errorf("%s without a request's id: %d requests, %v of class %v, want %v", name, requests, err,
				modules.ClassOf(err), want)
		}
	}
	if _, err := outcome(t, head, status(404, "")); !HasCode(err, codeNotAnswer) || IsNotFound(err) {
		t.Errorf("a proxy's 404 to HEAD: %v", err)
	}
	if _, err := outcome(t, put, status(200, page, requestID...)); modules.ClassOf(err) != modules.MayHaveHappened ||
		!HasCode(err, codeNotAnswer) {
		t.Errorf("HTML to a creation that answers nothing: %v", err)
	}
}
