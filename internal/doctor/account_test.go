package doctor_test

import (
	"encoding/json"
	"fmt"
	"net"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecr"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"iasql/internal/aws"
	"iasql/internal/doctor"
	"iasql/internal/test/faultproxy"
	"iasql/internal/test/likeness"
)

// scp is how AWS says that a policy of the organization denies a call.
func scp(action string) string {
	return "User: arn:aws:iam::123456789012:user/planted-name is not authorized to perform: " + action +
		" with an explicit deny in a service control policy"
}

// trouble is something wrong with an account, and what the report says of it.
type trouble struct {
	name  string
	rules []likeness.Rule
	// plant changes the scene or what is examined.
	plant func(t *testing.T, s *scene, o *doctor.Options)
	finds []finding
}

// filtered tells a read of named objects from a listing.
func filtered(c likeness.Call) bool { return c.Params.Get("Filter.1.Name") != "" }

// vpc examines the module aws_vpc.
func vpc(_ *testing.T, _ *scene, o *doctor.Options) { o.Modules = []string{"aws_vpc"} }

func accountTroubles() []trouble {
	return []trouble{
		{
			name: "unknown access key",
			rules: []likeness.Rule{of("GetCallerIdentity",
				faultproxy.Fault{Status: 403, Code: "InvalidClientTokenId",
					Message: "The security token included in the request is invalid."})},
			finds: []finding{
				{"account.identity", doctor.Failure, []string{"InvalidClientTokenId", "no such access key"}},
				{"module.all", doctor.Skipped, []string{"no way into the account"}},
			},
		},
		{
			name: "wrong secret",
			rules: []likeness.Rule{of("GetCallerIdentity",
				faultproxy.Fault{Status: 403, Code: "SignatureDoesNotMatch",
					Message: "The request signature we calculated does not match"})},
			finds: []finding{{"account.identity", doctor.Failure,
				[]string{"SignatureDoesNotMatch", "secret access key"}}},
		},
		{
			name: "expired session",
			rules: []likeness.Rule{of("GetCallerIdentity",
				faultproxy.Fault{Status: 403, Code: "ExpiredToken",
					Message: "The security token included in the request is expired"})},
			finds: []finding{{"account.identity", doctor.Failure, []string{"ExpiredToken", "log in again"}}},
		},
		{
			name: "no credentials",
			plant: func(t *testing.T, s *scene, _ *doctor.Options) {
				s.credentials = aws.Credentials{Profile: "planted-profile"}
			},
			finds: []finding{{"account.credentials", doctor.Failure, []string{"there are none"}}},
		},
		{
			name:  "half a key",
			plant: func(t *testing.T, s *scene, _ *doctor.Options) { s.credentials.SecretAccessKey = "" },
			finds: []finding{{"account.credentials", doctor.Failure, []string{"secret_access_key is not: set both"}}},
		},
		{
			name: "endpoint out of reach",
			plant: func(t *testing.T, s *scene, o *doctor.Options) {
				l, err := net.Listen("tcp4", "127.0.0.1:0")
				if err != nil {
					t.Fatal(err)
				}
				s.endpoint = "http://" + l.Addr().String()
				_ = l.Close()
				*o = s.options(t)
			},
			finds: []finding{
				{"account.identity", doctor.Failure, []string{"endpoint cannot be reached", "AWS_ENDPOINT_URL"}},
				{"account.clock", doctor.Skipped, nil},
			},
		},
		{
			name:  "clock ten minutes off",
			rules: []likeness.Rule{of("GetCallerIdentity", faultproxy.Fault{Date: time.Now().Add(10 * time.Minute)})},
			finds: []finding{{"account.clock", doctor.Failure, []string{"behind AWS's", "5 minutes"}}},
		},
		{
			name: "clock two minutes off, and refused",
			rules: []likeness.Rule{of("GetCallerIdentity",
				faultproxy.Fault{Status: 403, Code: "SignatureDoesNotMatch", Message: "Signature not yet current",
					Date: time.Now().Add(-2 * time.Minute)})},
			finds: []finding{{"account.clock", doctor.Warning, []string{"ahead of AWS's", "NTP"}}},
		},
		{
			name:  "credentials of another partition",
			rules: []likeness.Rule{rewritten("GetCallerIdentity", "arn:aws:", "arn:aws-cn:")},
			finds: []finding{{"account.partition", doctor.Failure, []string{"aws-cn", "us-east-1"}}},
		},
		{
			name: "root user",
			rules: []likeness.Rule{of("GetCallerIdentity", faultproxy.Fault{Rewrite: func(body []byte) []byte {
				return regexp.MustCompile(`<Arn>[^<]*</Arn>`).ReplaceAll(body,
					[]byte("<Arn>arn:aws:iam::123456789012:root</Arn>"))
			}})},
			finds: []finding{{"account.identity", doctor.Warning, []string{"as root", "iam-policy"}}},
		},
	}
}

func regionTroubles() []trouble {
	denied := func(c likeness.Call) (faultproxy.Fault, bool) {
		return faultproxy.Fault{Status: 403, Code: "UnauthorizedOperation", Message: scp("ec2:DescribeRegions")},
			c.Region == "eu-west-1"
	}
	both := []string{"us-east-1", "eu-west-1"}
	return []trouble{
		{
			name:  "denied region that was named",
			rules: []likeness.Rule{rule(denied)},
			plant: func(_ *testing.T, _ *scene, o *doctor.Options) { o.Regions = both },
			finds: []finding{
				{"regions.readable", doctor.Failure,
					[]string{"1 of 2", "eu-west-1: UnauthorizedOperation with an explicit deny in a service control policy", "is_enabled"}},
				{"module.aws_sqs", doctor.OK, nil},
			},
		},
		{
			name: "denied region among all",
			rules: []likeness.Rule{
				rewritten("DescribeRegions", "opt-in-not-required", "not-opted-in",
					"us-east-1</regionName><optInStatus>opt-in-not-required",
					"us-east-1</regionName><optInStatus>opted-in"),
			},
			plant: func(t *testing.T, s *scene, o *doctor.Options) {
				// The first rule that applies counts: the denial stands before the other.
				inner := s.endpoint
				s.endpoint = likeness.Start(t, inner, rule(func(c likeness.Call) (faultproxy.Fault, bool) {
					if c.Action == "DescribeRegions" && c.Params.Get("AllRegions") == "true" {
						return faultproxy.Fault{Rewrite: onlyRegions(both)}, true
					}
					return denied(c)
				})).URL
				*o = s.options(t)
				o.Regions = nil
			},
			finds: []finding{
				{"regions.enabled", doctor.OK, []string{"2 enabled"}},
				{"regions.readable", doctor.Warning, []string{"1 of 2", "eu-west-1", "service control policy"}},
			},
		},
		{
			name: "region that is not enabled",
			plant: func(_ *testing.T, _ *scene, o *doctor.Options) {
				o.Regions = []string{"us-east-1", "mars-north-1"}
			},
			finds: []finding{{"regions.enabled", doctor.Failure, []string{"mars-north-1", "--regions"}}},
		},
		{
			name: "regions that may not be listed",
			rules: []likeness.Rule{of("DescribeRegions", faultproxy.Fault{Status: 403, Code: "UnauthorizedOperation",
				Message: "You are not authorized to perform this operation. User: " +
					"arn:aws:iam::123456789012:user/planted-name is not authorized to perform: ec2:DescribeRegions " +
					"because no identity-based policy allows the ec2:DescribeRegions action"})},
			finds: []finding{
				{"regions.enabled", doctor.Failure,
					[]string{"ec2:DescribeRegions is denied", "because no identity-based policy allows",
						"aws_account"}},
				{"module.aws_account", doctor.Failure, []string{"ec2:DescribeRegions lacks"}},
				{"module.aws_sqs", doctor.OK, nil},
			},
		},
	}
}

// onlyRegions leaves these regions in an answer of DescribeRegions, as enabled.
func onlyRegions(names []string) func([]byte) []byte {
	return func([]byte) []byte {
		var b strings.Builder
		b.WriteString(`<DescribeRegionsResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"><requestId>x</requestId><regionInfo>`)
		for _, name := range names {
			fmt.Fprintf(&b, `<item><regionName>%s</regionName><regionEndpoint>x</regionEndpoint><optInStatus>opt-in-not-required</optInStatus></item>`, name)
		}
		b.WriteString(`</regionInfo></DescribeRegionsResponse>`)
		return []byte(b.String())
	}
}

func permissionTroubles() []trouble {
	return []trouble{
		{
			name: "one denied call",
			rules: []likeness.Rule{of("DescribeSubnets",
				faultproxy.Fault{Status: 403, Code: "UnauthorizedOperation",
					Message: "You are not authorized to perform this operation."})},
			plant: vpc,
			finds: []finding{{"module.aws_vpc", doctor.Failure,
				[]string{"ec2:DescribeSubnets lacks", "subnet cannot be read in us-east-1: UnauthorizedOperation",
					"engine iam-policy --read-only aws_vpc"}}},
		},
		{
			name: "one denied call of a module that was not named",
			rules: []likeness.Rule{of("DescribeSubnets",
				faultproxy.Fault{Status: 403, Code: "UnauthorizedOperation",
					Message: "You are not authorized to perform this operation."})},
			plant: func(_ *testing.T, _ *scene, o *doctor.Options) { o.Modules = []string{"aws_security_group"} },
			finds: []finding{
				{"module.aws_vpc", doctor.Warning, []string{"ec2:DescribeSubnets lacks"}},
				{"module.aws_security_group", doctor.OK, nil},
			},
		},
		{
			name: "a service that the organization forbids",
			rules: []likeness.Rule{of("ListQueues",
				faultproxy.Fault{Status: 403, Code: "AccessDeniedException", Message: scp("sqs:listqueues")})},
			finds: []finding{{"module.aws_sqs", doctor.Failure,
				[]string{"sqs:listqueues lacks: 1 of 1 call of sqs:ListQueues in us-east-1, with an explicit deny in " +
					"a service control policy", "who administers the organization"}}},
		},
		{
			name: "one denied bucket",
			rules: []likeness.Rule{rule(func(c likeness.Call) (faultproxy.Fault, bool) {
				return faultproxy.Fault{Status: 403, Code: "AccessDenied", Message: "Access Denied"},
					strings.HasPrefix(c.Action, "GET /planted-locked") && strings.Contains(c.Action, "policy")
			})},
			plant: func(t *testing.T, s *scene, o *doctor.Options) {
				o.Modules = []string{"aws_s3"}
				client := s3.NewFromConfig(s.Config("us-east-1"), func(o *s3.Options) { o.UsePathStyle = true })
				for _, name := range []string{"planted-open-" + s.ID, "planted-locked-" + s.ID} {
					if _, err := client.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &name}); err != nil {
						t.Fatal(err)
					}
				}
			},
			finds: []finding{{"module.aws_s3", doctor.Warning,
				[]string{"2 objects", "bucket: 1 object may not be read, or not wholly",
					"s3:GetBucketPolicy lacks: 2 of 4 calls", "policies of the resource"}}},
		},
		{
			name: "one denied queue",
			rules: []likeness.Rule{rule(func(c likeness.Call) (faultproxy.Fault, bool) {
				return faultproxy.Fault{Status: 403, Code: "AccessDeniedException", Message: "no"},
					c.Action == "GetQueueAttributes" && strings.Contains(c.Body, "planted-locked")
			})},
			plant: func(t *testing.T, s *scene, _ *doctor.Options) {
				client := sqs.NewFromConfig(s.Config("us-east-1"))
				for _, name := range []string{"planted-open", "planted-locked"} {
					if _, err := client.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: &name}); err != nil {
						t.Fatal(err)
					}
				}
			},
			finds: []finding{
				{"module.aws_sqs", doctor.Warning,
					[]string{"1 object, ", "queue: 1 object may not be read, or not wholly",
						"sqs:GetQueueAttributes lacks: 1 of 3 calls"}},
				{"objects.all", doctor.OK, nil},
			},
		},
		{
			name: "throttling",
			rules: []likeness.Rule{func() rule {
				var calls atomic.Int32
				return func(c likeness.Call) (faultproxy.Fault, bool) {
					return faultproxy.Fault{Status: 503, Code: "RequestLimitExceeded",
						Message: "Request limit exceeded."}, c.Action == "DescribeVpcs" && calls.Add(1) <= 2
				}
			}()},
			plant: vpc,
			finds: []finding{
				{"cycle.throttling", doctor.Warning,
					[]string{"throttled 2 calls", "ec2:DescribeVpcs in us-east-1: 2 of"}},
				{"module.aws_vpc", doctor.OK, nil},
			},
		},
		{
			name:  "answers that are cut off",
			rules: []likeness.Rule{of("ListQueues", faultproxy.Fault{Cut: true})},
			finds: []finding{{"module.aws_sqs", doctor.Failure, []string{"queue cannot be read in us-east-1"}}},
		},
		{
			name:  "a service that never answers",
			rules: []likeness.Rule{of("ListQueues", faultproxy.Fault{Before: func() { time.Sleep(3 * time.Second) }})},
			plant: func(_ *testing.T, _ *scene, o *doctor.Options) { o.Deadline = 2 * time.Second },
			finds: []finding{{"module.aws_sqs", doctor.Warning, []string{"the time is up", "--deadline"}}},
		},
	}
}

// ofDefaultVPC is a rule that replaces texts in what DescribeVpcs says, of listings
// or of reads of named VPCs.
func ofDefaultVPC(reads bool, pattern, replacement string) rule {
	expression := regexp.MustCompile(pattern)
	return func(c likeness.Call) (faultproxy.Fault, bool) {
		return faultproxy.Fault{Rewrite: func(body []byte) []byte {
				return expression.ReplaceAll(body, []byte(replacement))
			}},
			c.Action == "DescribeVpcs" && filtered(c) == reads
	}
}

func objectTroubles() []trouble {
	return []trouble{
		{
			name:  "a value that the table does not know",
			rules: []likeness.Rule{rewritten("DescribeRepositories", `"MUTABLE"`, `"SLEEPING_7"`)},
			plant: func(t *testing.T, s *scene, o *doctor.Options) {
				o.Modules = []string{"aws_ecr"}
				if _, err := ecr.NewFromConfig(s.Config("us-east-1")).CreateRepository(t.Context(),
					&ecr.CreateRepositoryInput{RepositoryName: awssdk.String("planted-repository")}); err != nil {
					t.Fatal(err)
				}
			},
			finds: []finding{{"objects.repository", doctor.Warning,
				[]string{"image_tag_mutability: unknown value: SLEEPING_7, wanted MUTABLE", "1 object in us-east-1"}}},
		},
		{
			name: "a required member that is not there",
			rules: []likeness.Rule{rule(func(c likeness.Call) (faultproxy.Fault, bool) {
				return ofDefaultVPC(filtered(c), `<cidrBlock>[^<]*</cidrBlock>`, "")(c)
			})},
			plant: vpc,
			finds: []finding{{"objects.vpc", doctor.Warning,
				[]string{"cidr_block: NULL in a required column", "cidr NOT NULL"}}},
		},
		{
			name:  "a second read that differs",
			rules: []likeness.Rule{ofDefaultVPC(true, `<isDefault>true</isDefault>`, "<isDefault>false</isDefault>")},
			plant: vpc,
			finds: []finding{{"objects.vpc", doctor.Warning, []string{"is_default: second read differs"}}},
		},
		{
			name:  "a second read that finds nothing",
			rules: []likeness.Rule{ofDefaultVPC(true, `(?s)<vpcSet>.*</vpcSet>`, "<vpcSet/>")},
			plant: vpc,
			finds: []finding{{"objects.vpc", doctor.Warning, []string{"second read does not find it"}}},
		},
		{
			name:  "an object that is listed twice",
			rules: []likeness.Rule{ofDefaultVPC(false, `(?s)<vpcSet>(.*)</vpcSet>`, "<vpcSet>$1$1</vpcSet>")},
			plant: vpc,
			finds: []finding{{"objects.vpc", doctor.Warning, []string{"listed twice"}}},
		},
		{
			name: "an object without an identity",
			rules: []likeness.Rule{rewritten("DescribeAvailabilityZones", "<zoneName>", "<zone>", "</zoneName>",
				"</zone>")},
			plant: vpc,
			finds: []finding{{"objects.availability_zone", doctor.Warning,
				[]string{"object: no identity: NULL, wanted name"}}},
		},
		{
			name: "a value that is not of its column's type",
			rules: []likeness.Rule{ofDefaultVPC(false, `<cidrBlock>[^<]*</cidrBlock>`,
				"<cidrBlock>planted text</cidrBlock>")},
			plant: vpc,
			finds: []finding{{"module.aws_vpc", doctor.Failure,
				[]string{"vpc cannot be read in us-east-1", "is not an IP network"}}},
		},
	}
}

// TestTroubles plants one trouble after the other in an account, and looks whether
// the report finds it, and gives nothing away.
func TestTroubles(t *testing.T) {
	t.Parallel()
	for _, group := range [][]trouble{accountTroubles(), regionTroubles(), permissionTroubles(), objectTroubles()} {
		for _, c := range group {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				s := newScene(t, append(c.rules, &likeness.Network{}, &likeness.DBInstances{Endpoint: ""})...)
				o := s.options(t)
				if c.plant != nil {
					c.plant(t, s, &o)
				}
				report := run(t, o)
				for _, f := range c.finds {
					f.in(t, report)
				}
				givesNothingAway(t, report, s)
			})
		}
	}
}

// givesNothingAway: what is printed has neither names of the account's objects nor
// the account itself.
func givesNothingAway(t *testing.T, r *doctor.Report, s *scene) {
	t.Helper()
	printed, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	for _, out := range []string{string(printed), text(t, r)} {
		for _, secret := range []string{s.ID, s.AccessKeyID, "secret-of", "planted", "123456789012", "vpc-0",
			"arn:aws:"} {
			if strings.Contains(out, secret) {
				t.Errorf("the report has %q: %s", secret, out)
			}
		}
	}
}

// A healthy account: everything is read, nothing is found, nothing is changed.
func TestHealthyAccount(t *testing.T) {
	t.Parallel()
	account := newScene(t)
	writes := likeness.Start(t, account.endpoint, rule(func(c likeness.Call) (faultproxy.Fault, bool) {
		if c.Service == "sqs" && !aws.IsRead(c.Action) {
			t.Errorf("the doctor called %s", c.Action)
		}
		return faultproxy.Fault{}, false
	}))
	account.endpoint = writes.URL
	for i := range 3 {
		name := fmt.Sprintf("planted-%d", i)
		if _, err := sqs.NewFromConfig(account.Config("us-east-1")).CreateQueue(t.Context(),
			&sqs.CreateQueueInput{QueueName: &name}); err != nil {
			t.Fatal(err)
		}
	}
	o := account.options(t)
	o.Sample = 2
	report := run(t, o)
	if !report.GoOn || report.Warnings > 0 {
		t.Errorf("warnings of a healthy account:\n%s", text(t, report))
	}
	givesNothingAway(t, report, account)
	for _, m := range report.Modules {
		if m.Name != "aws_sqs" {
			continue
		}
		if q := m.Tables[0]; q.Name != "queue" || q.Objects != 3 || q.ReadTwice != 2 || q.Calls != 7 {
			t.Errorf("queues: %+v", q)
		}
	}
	if c := report.Cycle; c == nil || c.Calls < 8 || c.Interval != 60 || len(c.Rates) == 0 {
		t.Errorf("cycle: %+v", c)
	}
	if a := report.Account; a.Source != "StaticCredentials" || a.Partition != "aws" ||
		a.ID != "********"+account.ID[8:] {
		t.Errorf("account: %+v", a)
	}
	finding{"database.connection", doctor.Skipped, []string{"--database-url"}}.in(t, report)
}
