// Package permissions says which permissions of AWS the modules need: least
// privilege, made from the calls in their source (operations.json, which scan
// writes), under the names that IAM has for them.
package permissions

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"iasql/internal/aws"
)

//go:generate go run ./scan operations.json

//go:embed operations.json
var operationsJSON []byte

// Document is a policy document (IAM User Guide, "IAM JSON policy elements
// reference").
type Document struct {
	Version   string
	Statement []Statement
}

// Statement is a statement of a policy document.
type Statement struct {
	Sid      string
	Effect   string
	Action   []string
	Resource any // "*" or a list of ARNs
	// Condition restricts it (IAM User Guide, "IAM JSON policy elements: Condition").
	Condition map[string]map[string]string `json:",omitempty"`
}

// Options say what a document is for.
type Options struct {
	// ReadOnly leaves out what changes anything: for TRACK alone.
	ReadOnly bool
	// Roles are the ARNs of roles that accounts' own role_arn names.
	Roles []string
	// Watch are the ARNs of the queues and of the trails' folders that have events of
	// changes: arn:aws:sqs:eu-west-1:123456789012:events, arn:aws:s3:::bucket/prefix.
	Watch []string
}

// Policy returns the document for the modules of these names. A module's reads
// and writes are statements of their own.
func Policy(modules []string, o Options) (Document, error) {
	var operations map[string][]string
	if err := json.Unmarshal(operationsJSON, &operations); err != nil {
		return Document{}, fmt.Errorf("operations.json: %w", err)
	}
	doc := Document{Version: "2012-10-17"}
	for _, module := range modules {
		list, known := operations[module]
		if !known {
			return Document{}, fmt.Errorf(
				"nothing is known of the calls of module %s: go generate ./internal/aws/permissions", module)
		}
		reads, writes := map[string]bool{}, map[string]bool{}
		for _, operation := range list {
			service, name, _ := strings.Cut(operation, ":")
			into := writes
			if aws.IsRead(name) {
				into = reads
			}
			for _, action := range actions(service, name) {
				into[action] = true
			}
		}
		for action := range reads {
			delete(writes, action)
		}
		sid := sidOf(module)
		doc.add(sid+"Read", reads)
		if !o.ReadOnly {
			doc.add(sid+"Write", writes)
		}
	}
	if len(o.Roles) > 0 {
		doc.Statement = append(doc.Statement,
			Statement{Sid: "AssumeRole", Effect: "Allow", Action: []string{"sts:AssumeRole"}, Resource: o.Roles})
	}
	return doc, doc.addWatch(o.Watch)
}

// What Cloud Control itself is asked for a resource type (Cloud Control API User Guide,
// "Managing permissions"), beside what the type's own handlers do with the caller's rights.
var (
	controlReads = []string{"cloudformation:DescribeType", "cloudformation:GetResource",
		"cloudformation:GetResourceRequestStatus", "cloudformation:ListResources", "cloudformation:ListTypes"}
	controlWrites = []string{"cloudformation:CreateResource", "cloudformation:DeleteResource",
		"cloudformation:UpdateResource"}
)

// action is what permissions look like: those of a schema are its publisher's.
var action = regexp.MustCompile(`^[a-z0-9-]{1,64}:[A-Za-z0-9*]{1,128}$`)

// AddType adds what a resource type needs whose handlers need these permissions.
func (d *Document) AddType(name string, handlers map[string][]string, o Options) {
	reads, writes := map[string]bool{}, map[string]bool{}
	for _, a := range controlReads {
		reads[a] = true
	}
	for _, a := range controlWrites {
		writes[a] = true
	}
	for operation, needs := range handlers {
		into := writes
		if operation == "read" || operation == "list" {
			into = reads
		}
		for _, a := range needs {
			if action.MatchString(a) {
				into[a] = true
			}
		}
	}
	for a := range reads {
		delete(writes, a)
	}
	sid := strings.ReplaceAll(name, "::", "")
	d.add(sid+"Read", reads)
	if !o.ReadOnly {
		d.add(sid+"Write", writes)
	}
}

func (d *Document) add(sid string, actions map[string]bool) {
	if len(actions) > 0 {
		d.Statement = append(d.Statement,
			Statement{Sid: sid, Effect: "Allow", Action: slices.Sorted(maps.Keys(actions)), Resource: "*"})
	}
}

// sidOf spells a module's name in the letters and digits that a Sid may have.
func sidOf(module string) string {
	var b strings.Builder
	for _, word := range strings.Split(module, "_") {
		b.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return b.String()
}

// prefixes are the services whose actions have another prefix than the SDK's
// package has a name.
var prefixes = map[string]string{
	"apigatewayv2":             "apigateway",
	"applicationautoscaling":   "application-autoscaling",
	"cloudcontrol":             "cloudformation",
	"cloudwatchlogs":           "logs",
	"ecrpublic":                "ecr-public",
	"efs":                      "elasticfilesystem",
	"elasticloadbalancingv2":   "elasticloadbalancing",
	"resourcegroupstaggingapi": "tag",
	"eventbridge":              "events",
	"sfn":                      "states",
	"opensearch":               "es",
}

// renamed are the operations that IAM knows by other actions, or by none of
// their own (Service Authorization Reference, "Actions, resources, and condition
// keys for Amazon S3" and "… for AWS Lambda"; Amazon S3 User Guide, "Required
// permissions for Amazon S3 API operations").
var renamed = map[string][]string{
	// Of API Gateway the actions are methods ("… for Amazon API Gateway Management V2").
	"apigatewayv2:CreateApi":               {"apigateway:POST"},
	"apigatewayv2:DeleteApi":               {"apigateway:DELETE"},
	"apigatewayv2:DeleteCorsConfiguration": {"apigateway:DELETE"},
	"apigatewayv2:GetApi":                  {"apigateway:GET"},
	"apigatewayv2:GetApis":                 {"apigateway:GET"},
	"apigatewayv2:TagResource":             {"apigateway:POST", "apigateway:PUT"},
	"apigatewayv2:UntagResource":           {"apigateway:DELETE"},
	"apigatewayv2:UpdateApi":               {"apigateway:PATCH"},
	// CloudFront Developer Guide, "CloudFront API permissions".
	"cloudfront:CreateDistributionWithTags":          {"cloudfront:CreateDistribution", "cloudfront:TagResource"},
	"lambda:Invoke":                                  {"lambda:InvokeFunction"},
	"s3:GetBucketAccelerateConfiguration":            {"s3:GetAccelerateConfiguration"},
	"s3:PutBucketAccelerateConfiguration":            {"s3:PutAccelerateConfiguration"},
	"s3:ListBucketAnalyticsConfigurations":           {"s3:GetAnalyticsConfiguration"},
	"s3:PutBucketAnalyticsConfiguration":             {"s3:PutAnalyticsConfiguration"},
	"s3:DeleteBucketAnalyticsConfiguration":          {"s3:PutAnalyticsConfiguration"},
	"s3:ListBucketInventoryConfigurations":           {"s3:GetInventoryConfiguration"},
	"s3:PutBucketInventoryConfiguration":             {"s3:PutInventoryConfiguration"},
	"s3:DeleteBucketInventoryConfiguration":          {"s3:PutInventoryConfiguration"},
	"s3:ListBucketMetricsConfigurations":             {"s3:GetMetricsConfiguration"},
	"s3:PutBucketMetricsConfiguration":               {"s3:PutMetricsConfiguration"},
	"s3:DeleteBucketMetricsConfiguration":            {"s3:PutMetricsConfiguration"},
	"s3:ListBucketIntelligentTieringConfigurations":  {"s3:GetIntelligentTieringConfiguration"},
	"s3:PutBucketIntelligentTieringConfiguration":    {"s3:PutIntelligentTieringConfiguration"},
	"s3:DeleteBucketIntelligentTieringConfiguration": {"s3:PutIntelligentTieringConfiguration"},
	"s3:GetBucketNotificationConfiguration":          {"s3:GetBucketNotification"},
	"s3:PutBucketNotificationConfiguration":          {"s3:PutBucketNotification"},
	"s3:GetObjectLockConfiguration":                  {"s3:GetBucketObjectLockConfiguration"},
	"s3:PutObjectLockConfiguration":                  {"s3:PutBucketObjectLockConfiguration"},
	"s3:GetBucketReplication":                        {"s3:GetReplicationConfiguration"},
	"s3:PutBucketReplication":                        {"s3:PutReplicationConfiguration"},
	"s3:DeleteBucketReplication":                     {"s3:PutReplicationConfiguration"},
	"s3:AbortMultipartUpload":                        {"s3:AbortMultipartUpload"},
	"s3:CompleteMultipartUpload":                     {"s3:PutObject"},
	"s3:CopyObject": {"s3:GetObject", "s3:GetObjectTagging", "s3:PutObject",
		"s3:PutObjectTagging"},
	"s3:CreateMultipartUpload":           {"s3:PutObject"},
	"s3:DeleteBucketCors":                {"s3:PutBucketCORS"},
	"s3:DeleteBucketEncryption":          {"s3:PutEncryptionConfiguration"},
	"s3:DeleteBucketLifecycle":           {"s3:PutLifecycleConfiguration"},
	"s3:DeleteBucketOwnershipControls":   {"s3:PutBucketOwnershipControls"},
	"s3:DeleteBucketTagging":             {"s3:PutBucketTagging"},
	"s3:DeleteObjects":                   {"s3:DeleteObject"},
	"s3:DeletePublicAccessBlock":         {"s3:PutBucketPublicAccessBlock"},
	"s3:GetBucketCors":                   {"s3:GetBucketCORS"},
	"s3:GetBucketEncryption":             {"s3:GetEncryptionConfiguration"},
	"s3:GetBucketLifecycleConfiguration": {"s3:GetLifecycleConfiguration"},
	"s3:GetPublicAccessBlock":            {"s3:GetBucketPublicAccessBlock"},
	"s3:HeadBucket":                      {"s3:ListBucket"},
	// Without s3:ListBucket, what is not there is answered with 403 instead of 404.
	"s3:GetObject":                       {"s3:GetObject", "s3:ListBucket"},
	"s3:HeadObject":                      {"s3:GetObject", "s3:ListBucket"},
	"s3:ListBuckets":                     {"s3:ListAllMyBuckets"},
	"s3:ListObjects":                     {"s3:ListBucket"},
	"s3:ListObjectsV2":                   {"s3:ListBucket"},
	"s3:ListObjectVersions":              {"s3:ListBucketVersions"},
	"s3:PutBucketCors":                   {"s3:PutBucketCORS"},
	"s3:PutBucketEncryption":             {"s3:PutEncryptionConfiguration"},
	"s3:PutBucketLifecycleConfiguration": {"s3:PutLifecycleConfiguration"},
	"s3:PutPublicAccessBlock":            {"s3:PutBucketPublicAccessBlock"},
	"s3:UploadPart":                      {"s3:PutObject"},
	"sns:PublishBatch":                   {"sns:Publish"},
	"sqs:DeleteMessageBatch":             {"sqs:DeleteMessage"},
	"sqs:SendMessageBatch":               {"sqs:SendMessage"},
}

// besides are the actions that an operation needs besides its own: to give a new
// object tags, to hand a role to a service, to have a service make its
// service-linked role (Service Authorization Reference, column "Dependent
// actions"; IAM User Guide, "Grant a user permissions to pass a role").
var besides = map[string][]string{
	"acm:ImportCertificate":  {"acm:AddTagsToCertificate"},
	"acm:RequestCertificate": {"acm:AddTagsToCertificate"},
	// Application Auto Scaling User Guide, "Permissions for working with resources of other services".
	"applicationautoscaling:PutScalingPolicy": {"cloudwatch:DescribeAlarms", "cloudwatch:PutMetricAlarm"},
	"applicationautoscaling:RegisterScalableTarget": {"ecs:DescribeServices", "ecs:UpdateService",
		"iam:CreateServiceLinkedRole"},
	"applicationautoscaling:DeleteScalingPolicy":      {"cloudwatch:DeleteAlarms"},
	"applicationautoscaling:DeregisterScalableTarget": {"cloudwatch:DeleteAlarms"},
	"appsync:CreateGraphqlApi": {"appsync:TagResource", "iam:CreateServiceLinkedRole",
		"iam:PassRole"},
	"appsync:UpdateGraphqlApi": {"iam:CreateServiceLinkedRole", "iam:PassRole"},
	"autoscaling:CreateAutoScalingGroup": {"autoscaling:CreateOrUpdateTags", "ec2:RunInstances",
		"iam:CreateServiceLinkedRole", "iam:PassRole"},
	"autoscaling:PutLifecycleHook":          {"iam:PassRole"},
	"autoscaling:UpdateAutoScalingGroup":    {"ec2:RunInstances", "iam:PassRole"},
	"cloudfront:CreateDistributionWithTags": {"s3:GetBucketAcl", "s3:PutBucketAcl"}, // of a bucket that it logs to
	"cloudfront:UpdateDistribution":         {"s3:GetBucketAcl", "s3:PutBucketAcl"},
	"cloudwatch:PutMetricAlarm":             {"cloudwatch:TagResource"},
	"cloudwatchlogs:CreateLogGroup":         {"logs:TagResource"},
	"codebuild:CreateProject":               {"iam:PassRole"},
	"codebuild:UpdateProject":               {"iam:PassRole"},
	"codedeploy:CreateApplication":          {"codedeploy:TagResource"},
	"codedeploy:CreateDeployment": {"codedeploy:GetApplicationRevision", "codedeploy:GetDeploymentConfig",
		"codedeploy:RegisterApplicationRevision"},
	"codedeploy:CreateDeploymentGroup": {"codedeploy:TagResource", "iam:PassRole"},
	"codedeploy:UpdateDeploymentGroup": {"iam:PassRole"},
	"codepipeline:CreatePipeline":      {"codepipeline:TagResource", "iam:PassRole"},
	"codepipeline:UpdatePipeline":      {"iam:PassRole"},
	"dynamodb:CreateTable":             {"dynamodb:TagResource", "kms:CreateGrant", "kms:DescribeKey"},
	"dynamodb:EnableKinesisStreamingDestination": {"iam:CreateServiceLinkedRole", "kinesis:DescribeStream",
		"kinesis:PutRecord", "kinesis:PutRecords"},
	// DynamoDB Developer Guide, "Requesting a table import in DynamoDB"
	"dynamodb:ImportTable": {"dynamodb:DescribeImport", "logs:CreateLogGroup", "logs:CreateLogStream",
		"logs:DescribeLogGroups", "logs:DescribeLogStreams", "logs:PutLogEvents", "logs:PutRetentionPolicy",
		"s3:GetObject", "s3:ListBucket"},
	"dynamodb:UpdateContributorInsights":       {"iam:CreateServiceLinkedRole"},
	"dynamodb:UpdateTable":                     {"kms:CreateGrant", "kms:DescribeKey"},
	"ec2:AllocateAddress":                      {"ec2:CreateTags"},
	"ec2:AssociateIamInstanceProfile":          {"iam:PassRole"},
	"ec2:AuthorizeSecurityGroupEgress":         {"ec2:CreateTags"},
	"ec2:AuthorizeSecurityGroupIngress":        {"ec2:CreateTags"},
	"ec2:CopyVolumes":                          {"ec2:CreateTags"},
	"ec2:CreateDhcpOptions":                    {"ec2:CreateTags"},
	"ec2:CreateLaunchTemplate":                 {"ec2:CreateTags"},
	"ec2:CreateInternetGateway":                {"ec2:CreateTags"},
	"ec2:CreateNatGateway":                     {"ec2:CreateTags"},
	"ec2:CreateNetworkAcl":                     {"ec2:CreateTags"},
	"ec2:CreateRouteTable":                     {"ec2:CreateTags"},
	"ec2:CreateSecurityGroup":                  {"ec2:CreateTags"},
	"ec2:CreateSubnet":                         {"ec2:CreateTags"},
	"ec2:CreateVolume":                         {"ec2:CreateTags"},
	"ec2:CreateVpc":                            {"ec2:CreateTags"},
	"ec2:CreateVpcEndpoint":                    {"ec2:CreateTags", "route53:AssociateVPCWithHostedZone"},
	"ec2:CreateVpcPeeringConnection":           {"ec2:CreateTags"},
	"ec2:ImportKeyPair":                        {"ec2:CreateTags"},
	"ec2:ReplaceIamInstanceProfileAssociation": {"iam:PassRole"},
	"ec2:RunInstances":                         {"ec2:CreateTags", "iam:PassRole"},
	"ecr:CreateRepository":                     {"ecr:TagResource"},
	"ecrpublic:CreateRepository":               {"ecr-public:TagResource"},
	"ecs:CreateCluster":                        {"ecs:TagResource", "iam:CreateServiceLinkedRole"},
	"ecs:CreateService":                        {"ecs:TagResource", "iam:CreateServiceLinkedRole", "iam:PassRole"},
	"ecs:RegisterTaskDefinition":               {"ecs:TagResource", "iam:PassRole"},
	"ecs:RunTask":                              {"ecs:TagResource", "iam:PassRole"},
	"ecs:UpdateService":                        {"iam:PassRole"},
	"efs:CreateFileSystem":                     {"elasticfilesystem:TagResource", "iam:CreateServiceLinkedRole"},
	"efs:CreateMountTarget": {"ec2:CreateNetworkInterface", "ec2:DescribeNetworkInterfaces",
		"ec2:DescribeSubnets"},
	"efs:CreateReplicationConfiguration": {"elasticfilesystem:CreateFileSystem",
		"elasticfilesystem:DescribeFileSystems", "elasticfilesystem:TagResource", "iam:CreateServiceLinkedRole",
		"iam:PassRole", "kms:CreateGrant", "kms:DescribeKey"},
	"efs:DeleteMountTarget":               {"ec2:DeleteNetworkInterface"},
	"efs:ModifyMountTargetSecurityGroups": {"ec2:ModifyNetworkInterfaceAttribute"},
	"elasticache:CreateCacheCluster":      {"elasticache:AddTagsToResource", "iam:CreateServiceLinkedRole"},
	"eks:CreateCluster": {"eks:TagResource", "iam:CreateServiceLinkedRole", "iam:PassRole",
		"kms:CreateGrant", "kms:DescribeKey"},
	"eks:CreateNodegroup": {"ec2:RunInstances", "eks:TagResource", "iam:CreateServiceLinkedRole",
		"iam:PassRole"},
	"eks:UpdateNodegroupVersion":                {"ec2:RunInstances"},
	"elasticloadbalancingv2:CreateListener":     {"elasticloadbalancing:AddTags"},
	"elasticloadbalancingv2:CreateLoadBalancer": {"elasticloadbalancing:AddTags", "iam:CreateServiceLinkedRole"},
	"elasticloadbalancingv2:CreateTargetGroup":  {"elasticloadbalancing:AddTags"},
	"eventbridge:CreateEventBus":                {"events:TagResource"},
	"eventbridge:PutRule":                       {"events:TagResource", "iam:PassRole"},
	"eventbridge:PutTargets":                    {"iam:PassRole"},
	"iam:AddRoleToInstanceProfile":              {"iam:PassRole"},
	"iam:CreateInstanceProfile":                 {"iam:TagInstanceProfile"},
	"iam:CreateRole":                            {"iam:TagRole"},
	"iam:CreateUser":                            {"iam:TagUser"},
	"kinesis:CreateStream":                      {"kinesis:AddTagsToStream"},
	"kms:CreateKey":                             {"iam:CreateServiceLinkedRole", "kms:TagResource"},
	"lambda:CreateFunction": {"ec2:DescribeSecurityGroups", "ec2:DescribeSubnets",
		"ec2:DescribeVpcs", "iam:PassRole", "lambda:TagResource", "s3:GetObject", "s3:GetObjectVersion"},
	// What lies in S3 is read by the right of who deploys it (Lambda Developer Guide, "Deploying Lambda functions as
	// .zip file archives").
	"lambda:UpdateFunctionCode": {"s3:GetObject", "s3:GetObjectVersion"},
	"lambda:UpdateFunctionConfiguration": {"ec2:DescribeSecurityGroups", "ec2:DescribeSubnets",
		"ec2:DescribeVpcs", "iam:PassRole"},
	"memorydb:CreateCluster":     {"iam:CreateServiceLinkedRole", "memorydb:TagResource"},
	"memorydb:CreateSubnetGroup": {"iam:CreateServiceLinkedRole", "memorydb:TagResource"},
	"opensearch:CreateDomain":    {"es:AddTags", "iam:CreateServiceLinkedRole"},
	"rds:CreateDBCluster":        {"iam:CreateServiceLinkedRole", "rds:AddTagsToResource"},
	"rds:CreateDBInstance":       {"iam:CreateServiceLinkedRole", "rds:AddTagsToResource"},
	"rds:CreateDBParameterGroup": {"rds:AddTagsToResource"},
	"rds:CreateDBSubnetGroup":    {"iam:CreateServiceLinkedRole", "rds:AddTagsToResource"},
	// the final snapshot
	"rds:DeleteDBCluster":         {"rds:AddTagsToResource", "rds:CreateDBClusterSnapshot"},
	"rds:DeleteDBInstance":        {"rds:AddTagsToResource", "rds:CreateDBSnapshot"},
	"route53:CreateHostedZone":    {"ec2:DescribeVpcs"},
	"s3:PutBucketReplication":     {"iam:PassRole"},
	"secretsmanager:CreateSecret": {"secretsmanager:TagResource"},
	"sfn:CreateStateMachine":      {"iam:PassRole", "states:TagResource"},
	"sfn:UpdateStateMachine":      {"iam:PassRole"},
	"sns:CreateTopic":             {"sns:TagResource"},
	"sqs:CreateQueue":             {"sqs:TagQueue"},
	"ssm:PutParameter":            {"kms:Encrypt", "kms:GenerateDataKey", "ssm:AddTagsToResource"},
}

// Actions returns the permissions that a caller of an operation needs, under the
// names that IAM has for them. The service is the SDK's id of it or the name of
// its package: "CloudWatch Logs" or "cloudwatchlogs".
func Actions(service, operation string) []string {
	return actions(PackageOf(service), operation)
}

// PackageOf returns the name of the SDK's package of the service with that id.
func PackageOf(service string) string {
	return strings.ToLower(strings.ReplaceAll(service, " ", ""))
}

// actions returns what a caller of an operation has to be allowed.
func actions(service, operation string) []string {
	key := service + ":" + operation
	own, ok := renamed[key]
	if !ok {
		prefix := prefixes[service]
		if prefix == "" {
			prefix = service
		}
		own = []string{prefix + ":" + operation}
	}
	return append(slices.Clone(own), besides[key]...)
}
