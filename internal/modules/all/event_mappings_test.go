package all_test

import (
	"encoding/json"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/acm"
	"github.com/aws/aws-sdk-go-v2/service/apigatewayv2"
	"github.com/aws/aws-sdk-go-v2/service/applicationautoscaling"
	"github.com/aws/aws-sdk-go-v2/service/appsync"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/cloudfront"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/aws-sdk-go-v2/service/codebuild"
	"github.com/aws/aws-sdk-go-v2/service/codedeploy"
	"github.com/aws/aws-sdk-go-v2/service/codepipeline"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ecr"
	"github.com/aws/aws-sdk-go-v2/service/ecrpublic"
	"github.com/aws/aws-sdk-go-v2/service/ecs"
	"github.com/aws/aws-sdk-go-v2/service/efs"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/elasticache"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/memorydb"
	"github.com/aws/aws-sdk-go-v2/service/opensearch"
	"github.com/aws/aws-sdk-go-v2/service/organizations"
	"github.com/aws/aws-sdk-go-v2/service/rds"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/ssm"

	"iasql/internal/aws"
	"iasql/internal/modules"
	"iasql/internal/modules/all"
)

// clients are the SDK's clients of the services that tables name in their touches.
var clients = []reflect.Type{
	reflect.TypeFor[acm.Client](), reflect.TypeFor[apigatewayv2.Client](), reflect.TypeFor[appsync.Client](),
	reflect.TypeFor[autoscaling.Client](),
	reflect.TypeFor[cloudfront.Client](), reflect.TypeFor[cloudwatch.Client](),
	reflect.TypeFor[cloudwatchlogs.Client](), reflect.TypeFor[codebuild.Client](),
	reflect.TypeFor[codedeploy.Client](), reflect.TypeFor[codepipeline.Client](), reflect.TypeFor[dynamodb.Client](),
	reflect.TypeFor[ec2.Client](),
	reflect.TypeFor[applicationautoscaling.Client](), reflect.TypeFor[ecr.Client](), reflect.TypeFor[ecrpublic.Client](), reflect.TypeFor[ecs.Client](),
	reflect.TypeFor[efs.Client](), reflect.TypeFor[eks.Client](),
	reflect.TypeFor[elasticache.Client](), reflect.TypeFor[elasticloadbalancingv2.Client](),
	reflect.TypeFor[eventbridge.Client](), reflect.TypeFor[iam.Client](),
	reflect.TypeFor[kinesis.Client](), reflect.TypeFor[kms.Client](), reflect.TypeFor[lambda.Client](),
	reflect.TypeFor[memorydb.Client](), reflect.TypeFor[opensearch.Client](), reflect.TypeFor[organizations.Client](),
	reflect.TypeFor[rds.Client](), reflect.TypeFor[route53.Client](), reflect.TypeFor[s3.Client](),
	reflect.TypeFor[secretsmanager.Client](), reflect.TypeFor[sfn.Client](),
	reflect.TypeFor[sns.Client](), reflect.TypeFor[sqs.Client](), reflect.TypeFor[ssm.Client](),
}

// beyond are calls that these clients do not have, and why.
var beyond = map[string]string{
	"account.amazonaws.com:EnableRegion":  "Account Management, of which the engine has no client",
	"account.amazonaws.com:DisableRegion": "Account Management, of which the engine has no client",
	"es.amazonaws.com:CreateElasticsearchDomain": "the service's older API (OpenSearch Service Developer " +
		"Guide, \"Logging API calls\")",
	"es.amazonaws.com:UpdateElasticsearchDomainConfig": "the service's older API",
	"es.amazonaws.com:DeleteElasticsearchDomain":       "the service's older API",
	"es.amazonaws.com:UpgradeElasticsearchDomain":      "the service's older API",
	"kms.amazonaws.com:DeleteKey": "an event of the service's own (KMS Developer Guide, " +
		"\"Logging AWS KMS API calls\")",
	"kms.amazonaws.com:RotateKey": "an event of the service's own",
	"organizations.amazonaws.com:CreateAccountResult": "an event of the service's own (Organizations User Guide, " +
		"\"Logging AWS Organizations API calls\")",
	"organizations.amazonaws.com:CloseAccountResult": "an event of the service's own",
	"s3.amazonaws.com:PutBucketPublicAccessBlock":    "what CloudTrail calls PutPublicAccessBlock",
	"s3.amazonaws.com:DeleteBucketPublicAccessBlock": "what CloudTrail calls DeletePublicAccessBlock",
	"s3.amazonaws.com:PutBucketLifecycle":            "what CloudTrail calls PutBucketLifecycleConfiguration",
	"s3.amazonaws.com:PutBucketNotification":         "what CloudTrail calls PutBucketNotificationConfiguration",
	"s3.amazonaws.com:PutAccelerateConfiguration":    "what CloudTrail calls PutBucketAccelerateConfiguration",
}

// elsewhere are calls that modules make and that touch no object of theirs, and why.
var elsewhere = map[string]string{
	"aws_ec2 iam:AddRoleToInstanceProfile":      "an instance profile is of the account, and no table's",
	"aws_ec2 iam:CreateInstanceProfile":         "an instance profile is of the account, and no table's",
	"aws_ec2 ssm:PutParameter":                  "a parameter is a record of aws_ssm, whose table it touches",
	"aws_ecs_fargate ecs:RunTask":               "a function that makes no record",
	"aws_iam iam:DeleteInstanceProfile":         "an instance profile is no table's",
	"aws_iam iam:RemoveRoleFromInstanceProfile": "an instance profile is no table's",
	"aws_iam ssm:PutParameter":                  "a parameter is a record of aws_ssm, whose table it touches",
	"aws_lambda lambda:Invoke":                  "a function that makes no record",
	"aws_s3 s3:PutObject": "a data event: rules and trails send none unless they are told to, " +
		"and there may be millions",
	"aws_sns sns:Publish":     "a function that makes no record",
	"aws_sqs sqs:SendMessage": "a function that makes no record",
}

// Every call that a table names exists, and a table that anybody can change names one.
func TestEventMappingsExist(t *testing.T) {
	known := map[string][]reflect.Type{} // CloudTrail has one name for Auto Scaling and Application Auto Scaling
	for _, client := range clients {
		source := aws.EventSource(client.PkgPath())
		pointer := reflect.PointerTo(client)
		for i := range pointer.NumMethod() {
			call := source + ":" + pointer.Method(i).Name
			known[call] = append(known[call], pointer.Method(i).Type)
		}
	}
	used := map[string]bool{}
	for _, m := range all.Modules(aws.New(aws.Options{})) {
		for _, r := range m.Resources {
			table := r.Table()
			if len(table.EventMappings) == 0 && !hasWhole(table) {
				t.Errorf("table %s: no call touches it", table.Name)
			}
			for _, mapping := range table.EventMappings {
				call := mapping.Source + ":" + mapping.Name
				operations := known[call]
				if _, excused := beyond[call]; excused && operations == nil {
					used[call] = true
				} else if operations == nil {
					t.Errorf("table %s: there is no call %s", table.Name, call)
				}
				if tags := ofTags.MatchString(mapping.Name); mapping.Extent != modules.Everything &&
					(tags != (mapping.Extent == modules.JustTags) || !tags && slices.ContainsFunc(operations, takesTags)) {
					t.Errorf("table %s: %s changes more than %q", table.Name, call, mapping.Extent)
				}
				paths := mapping.At
				if len(mapping.Identity) > 0 {
					paths = identityPaths(mapping)
				}
				for _, path := range paths {
					leads := func(operation reflect.Type) bool { return leads(operation, path) }
					if operations != nil && !slices.ContainsFunc(operations, leads) {
						t.Errorf("table %s: %s has no %s", table.Name, call, path)
					}
				}
				if aws.IsRead(mapping.Name) {
					t.Errorf("table %s: %s changes nothing", table.Name, call)
				}
			}
		}
	}
	for call := range beyond {
		if !used[call] {
			t.Errorf("%s needs no excuse", call)
		}
	}
}

// set are what the records of EC2 and S3 have instead of the SDK's members (CloudTrail User
// Guide, "Example: Amazon EC2 events"; Amazon S3 User Guide, "Amazon S3 CloudTrail events").
var set = map[string]string{
	"requestParameters.bucketName":                                     "requestParameters.bucket",
	"requestParameters.instancesSet.instanceId":                        "requestParameters.instanceIds",
	"requestParameters.resourcesSet.resourceId":                        "requestParameters.resources",
	"requestParameters.securityGroupRule.securityGroupRuleId":          "requestParameters.securityGroupRules.securityGroupRuleId",
	"responseElements.instancesSet.instanceId":                         "responseElements.instances.instanceId",
	"responseElements.revokedSecurityGroupRuleSet.securityGroupRuleId": "responseElements.revokedSecurityGroupRules.securityGroupRuleId",
	"responseElements.securityGroupRuleSet.securityGroupRuleId":        "responseElements.securityGroupRules.securityGroupRuleId",
}

// leads reports whether a path leads to a text, or texts, in the input or the answer of an
// operation.
func leads(operation reflect.Type, path string) bool {
	root, rest, _ := strings.Cut(path, ".")
	in := operation.In(2) // after the client and the context
	if root == "responseElements" {
		in = operation.Out(0)
	}
	_, other, _ := strings.Cut(set[path], ".")
	return leadsIn(in, rest) || other != "" && leadsIn(in, other) || path == "requestParameters.vpcEndpointId" &&
		leadsIn(in, "vpcEndpointIds")
}

// identityPaths are where a touch finds the columns of an identity.
func identityPaths(mapping modules.EventMapping) (paths []string) {
	for _, part := range mapping.Identity {
		root, _, _ := strings.Cut(part.At, ".")
		if slices.Contains(modules.Roots, root) {
			paths = append(paths, part.At)
			continue
		}
		for _, at := range mapping.At {
			paths = append(paths, at+"."+part.At)
		}
	}
	return paths
}

// ofTags are the operations that change tags.
var ofTags = regexp.MustCompile(`^(Un)?[Tt]ag|Tags|Tagging`)

// takesTags reports whether an operation's input has a member that speaks of tags.
func takesTags(operation reflect.Type) bool {
	_, found := operation.In(2).Elem().FieldByNameFunc(func(field string) bool {
		return strings.Contains(field, "Tag")
	})
	return found
}

func leadsIn(in reflect.Type, path string) bool {
	for in.Kind() == reflect.Pointer || in.Kind() == reflect.Slice {
		in = in.Elem()
	}
	if path == "" {
		return in.Kind() == reflect.String
	}
	name, rest, _ := strings.Cut(path, ".")
	if in.Kind() != reflect.Struct {
		return false
	}
	field, ok := in.FieldByNameFunc(func(field string) bool { return strings.EqualFold(field, name) })
	return ok && leadsIn(field.Type, rest)
}

// hasWhole reports whether the table's objects are parts of others, whose touches count.
func hasWhole(table *modules.Table) bool {
	return slices.ContainsFunc(table.Columns, func(c modules.Column) bool {
		return c.References != nil && c.References.Part != modules.NotPart
	})
}

// Every call that a module makes and that may change something touches one of its tables.
func TestCallsTouch(t *testing.T) {
	raw, err := os.ReadFile("../../aws/permissions/operations.json")
	if err != nil {
		t.Fatal(err)
	}
	var operations map[string][]string
	if err := json.Unmarshal(raw, &operations); err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	for _, m := range all.Modules(aws.New(aws.Options{})) {
		touched := map[string]bool{}
		for _, table := range m.Tables() {
			for _, mapping := range table.EventMappings {
				touched[mapping.Source+":"+mapping.Name] = true
			}
		}
		for _, operation := range operations[m.Name] {
			service, name, _ := strings.Cut(operation, ":")
			source := aws.EventSource(service)
			if aws.IsRead(name) || touched[source+":"+aws.EventName(source, name)] {
				continue
			}
			excuse := m.Name + " " + operation
			if _, excused := elsewhere[excuse]; !excused {
				t.Errorf("module %s makes the call %s, which touches none of its tables", m.Name, operation)
			}
			used[excuse] = true
		}
	}
	for excuse := range elsewhere {
		if !used[excuse] {
			t.Errorf("%s needs no excuse", excuse)
		}
	}
}
