package recorded

import (
	"encoding/json"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/acm"
	"github.com/aws/aws-sdk-go-v2/service/apigatewayv2"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	cwschemas "github.com/aws/aws-sdk-go-v2/service/cloudwatch/schemas"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/opensearch"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go/transport/http/protocol/awsquery"

	"iasql/internal/aws"
)

// service is a service that modules call and of which something was recorded.
type service struct {
	name   string // of the SDK's package
	id     string // as the middleware knows it
	folder string // of the recordings
	wire   wire
	client reflect.Type
	build  func(awssdk.Config) any
}

func serviceOf[C, O any](name, id, folder string, w wire, client func(awssdk.Config, ...func(*O)) C,
	options ...func(*O)) service {
	return service{name, id, folder, w, reflect.TypeFor[C](), func(cfg awssdk.Config) any {
		return client(cfg, options...)
	}}
}

// services are the services that both sides have.
var services = []service{
	serviceOf("acm", acm.ServiceID, "acm", jsonWire, acm.NewFromConfig),
	serviceOf("apigatewayv2", apigatewayv2.ServiceID, "apigateway", restJSON, apigatewayv2.NewFromConfig),
	serviceOf("cloudwatch", cloudwatch.ServiceID, "cloudwatch", query, cloudwatch.NewFromConfig,
		func(o *cloudwatch.Options) { o.Protocol = awsquery.New(cwschemas.GraniteServiceVersion20100801) }),
	serviceOf("cloudwatchlogs", cloudwatchlogs.ServiceID, "logs", jsonWire, cloudwatchlogs.NewFromConfig),
	serviceOf("dynamodb", dynamodb.ServiceID, "dynamodb", jsonWire, dynamodb.NewFromConfig),
	serviceOf("ec2", ec2.ServiceID, "ec2", ec2Query, ec2.NewFromConfig),
	serviceOf("eventbridge", eventbridge.ServiceID, "events", jsonWire, eventbridge.NewFromConfig),
	serviceOf("iam", iam.ServiceID, "iam", query, iam.NewFromConfig),
	serviceOf("kinesis", kinesis.ServiceID, "kinesis", jsonWire, kinesis.NewFromConfig),
	serviceOf("kms", kms.ServiceID, "kms", jsonWire, kms.NewFromConfig),
	serviceOf("lambda", lambda.ServiceID, "lambda_", restJSON, lambda.NewFromConfig),
	serviceOf("opensearch", opensearch.ServiceID, "opensearch", restJSON, opensearch.NewFromConfig),
	serviceOf("route53", route53.ServiceID, "route53", restXML, route53.NewFromConfig),
	serviceOf("s3", s3.ServiceID, "s3", s3XML, s3.NewFromConfig, func(o *s3.Options) { o.UsePathStyle = true }),
	serviceOf("secretsmanager", secretsmanager.ServiceID, "secretsmanager", jsonWire, secretsmanager.NewFromConfig),
	serviceOf("sns", sns.ServiceID, "sns", query, sns.NewFromConfig),
	serviceOf("sqs", sqs.ServiceID, "sqs", queryJSON, sqs.NewFromConfig),
	serviceOf("ssm", ssm.ServiceID, "ssm", jsonWire, ssm.NewFromConfig),
	serviceOf("sts", sts.ServiceID, "sts", query, sts.NewFromConfig),
}

// byFolder returns the service that a folder is about, if modules call it.
func byFolder(folder string) (service, bool) {
	i := slices.IndexFunc(services, func(s service) bool { return s.folder == folder })
	if i < 0 {
		return service{}, false
	}
	return services[i], true
}

// operation is an operation of a service that modules call.
type operation struct {
	service service
	name    string
	in, out reflect.Type
}

func (o operation) String() string { return o.service.name + ":" + o.name }

// calls is the file that names the operations that the modules call.
const calls = "../../internal/aws/permissions/operations.json"

// operations returns the operations that modules call.
func operations(t *testing.T) []operation {
	t.Helper()
	raw, err := os.ReadFile(calls)
	if err != nil {
		t.Fatal(err)
	}
	var byModule map[string][]string
	if err := json.Unmarshal(raw, &byModule); err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, list := range byModule {
		for _, name := range list {
			names[name] = true
		}
	}
	var all []operation
	for _, name := range slices.Sorted(maps.Keys(names)) {
		of, op, _ := strings.Cut(name, ":")
		for _, s := range services {
			if s.name != of {
				continue
			}
			method, ok := s.client.MethodByName(op)
			if !ok {
				t.Fatalf("%s: the SDK has no such operation", name)
			}
			all = append(all, operation{s, op, method.Type.In(2).Elem(), method.Type.Out(0).Elem()})
		}
	}
	return all
}

// reads are the operations that only read.
func reads(all []operation) []operation {
	return slices.DeleteFunc(slices.Clone(all), func(o operation) bool { return !aws.IsRead(o.name) })
}

// silent are members that answers of many operations have, and that tell nothing.
var silent = []string{"IsTruncated", "Marker", "MaxItems", "MaxKeys", "NextMarker", "NextToken",
	"NextContinuationToken", "Owner", "ContinuationToken"}

// decode reads an answer's members into the output of an operation, a pointer; at
// is the path of the member that they are put into, "" for the output itself.
func (o operation) decode(members any, at string) (any, error) {
	out := reflect.New(o.out)
	into := out.Elem()
	for at != "" {
		var name string
		name, at, _ = strings.Cut(at, ".")
		into = into.FieldByName(name)
		switch into.Kind() {
		case reflect.Pointer:
			into.Set(reflect.New(into.Type().Elem()))
			into = into.Elem()
		case reflect.Slice: // of one
			into.Set(reflect.MakeSlice(into.Type(), 1, 1))
			into = into.Index(0)
		}
	}
	d := decoder{encoded: o.service.name == "iam"}
	if err := d.read(members, into); err != nil {
		return nil, err
	}
	return out.Interface(), nil
}

// telling reports whether an answer has a member that tells what it is.
func (a answer) telling() bool {
	for name := range a.members {
		if !slices.ContainsFunc(silent, func(s string) bool { return strings.EqualFold(s, name) }) {
			return true
		}
	}
	return false
}
