package aws

import (
	"slices"
	"strings"
)

// Rate is a rate of calls that AWS documents, for an account, and a region unless the
// service has none.
type Rate struct {
	Service   string   // the SDK's name of its package
	Actions   []string // nil: all actions of the service
	But       []string // these excepted
	Shared    bool     // the actions share the rate; else each has its own
	ReadsOnly bool     // what changes something has another rate, which is not documented as one
	PerSecond float64  // calls that can be kept up
	Burst     float64  // calls that can be made at once after a while; 0: those of a second
	Source    string
}

// rates are the rates that AWS documents for what the modules call; the first that fits
// counts. What is not here AWS does not document, or not as calls a second: it is found
// from the throttling answers. Of Cloud Control API it says so: "This service has no quotas"
// (AWS General Reference, Cloud Control API endpoints and quotas).
var rates = []Rate{
	{Service: "ec2", ReadsOnly: true, PerSecond: 20, Burst: 100,
		Source: "Amazon EC2 Developer Guide, Request throttling"},
	{Service: "ec2", PerSecond: 5, Burst: 50,
		Source: "Amazon EC2 Developer Guide, Request throttling: mutating actions"},
	{Service: "route53", Shared: true, PerSecond: 5, Source: "Amazon Route 53 Developer Guide, Quotas"},
	{Service: "lambda", Actions: []string{"GetFunction"}, PerSecond: 100, Source: "AWS Lambda Developer Guide, Quotas"},
	{Service: "lambda", But: []string{"Invoke", "GetPolicy"}, Shared: true, PerSecond: 15,
		Source: "AWS Lambda Developer Guide, Quotas"},
	{Service: "lambda", Actions: []string{"GetPolicy"}, PerSecond: 15, Source: "AWS Lambda Developer Guide, Quotas"},
	{Service: "apigatewayv2", Shared: true, PerSecond: 10, Source: "Amazon API Gateway Developer Guide, Quotas"},
	{Service: "dynamodb", Actions: []string{"ListTagsOfResource", "DescribeContinuousBackups"}, PerSecond: 10,
		Source: "Amazon DynamoDB API Reference, pages of the operations"},
	{Service: "dynamodb", Actions: []string{"TagResource", "UntagResource"}, PerSecond: 5,
		Source: "Amazon DynamoDB API Reference, pages of the operations"},
	{Service: "kms", Actions: []string{"CreateKey", "CreateAlias", "UntagResource", "UpdateKeyDescription"},
		PerSecond: 5, Source: "AWS KMS Developer Guide, Request quotas"},
	{Service: "kms", Actions: []string{"TagResource"}, PerSecond: 10,
		Source: "AWS KMS Developer Guide, Request quotas"},
	{Service: "kms", Actions: []string{"DeleteAlias", "ScheduleKeyDeletion", "PutKeyPolicy", "EnableKeyRotation"},
		PerSecond: 15, Source: "AWS KMS Developer Guide, Request quotas"},
	{Service: "kms", Actions: []string{"DescribeKey", "ListResourceTags"}, PerSecond: 2000,
		Source: "AWS KMS Developer Guide, Request quotas"},
	{Service: "kms", Actions: []string{"GetKeyPolicy", "GetKeyRotationStatus"}, PerSecond: 1000,
		Source: "AWS KMS Developer Guide, Request quotas"},
	{Service: "kms", Actions: []string{"ListAliases", "ListKeys"}, PerSecond: 500,
		Source: "AWS KMS Developer Guide, Request quotas"},
	{Service: "secretsmanager", Actions: []string{"ListSecrets"}, PerSecond: 100,
		Source: "AWS Secrets Manager User Guide, Quotas"},
	{Service: "secretsmanager", Actions: []string{"DescribeSecret"}, PerSecond: 10000,
		Source: "AWS Secrets Manager User Guide, Quotas"},
	{Service: "kinesis", Actions: []string{"ListStreams", "ListTagsForStream"}, PerSecond: 5,
		Source: "Amazon Kinesis Data Streams Developer Guide, Quotas"},
	{Service: "kinesis", Actions: []string{"DescribeStreamSummary"}, PerSecond: 20,
		Source: "Amazon Kinesis Data Streams Developer Guide, Quotas"},
	{Service: "cloudwatch", Actions: []string{"DescribeAlarms"}, PerSecond: 9,
		Source: "Amazon CloudWatch User Guide, Service quotas"},
	{Service: "cloudwatchlogs", Actions: []string{"DescribeLogGroups", "ListTagsForResource", "CreateLogGroup",
		"DeleteLogGroup", "PutRetentionPolicy", "AssociateKmsKey", "DisassociateKmsKey"}, PerSecond: 10,
		Source: "Amazon CloudWatch Logs User Guide, Quotas"},
	{Service: "sns", Actions: []string{"ListTopics", "ListSubscriptions", "ListSubscriptionsByTopic"}, PerSecond: 30,
		Source: "AWS General Reference, Amazon SNS endpoints and quotas"},
	{Service: "sns", Actions: []string{"ListTagsForResource", "TagResource", "UntagResource"}, PerSecond: 10,
		Source: "AWS General Reference, Amazon SNS endpoints and quotas"},
	{Service: "sns", Actions: []string{"Subscribe", "Unsubscribe"}, PerSecond: 100,
		Source: "AWS General Reference, Amazon SNS endpoints and quotas"},
	{Service: "acm", Actions: []string{"RequestCertificate", "AddTagsToCertificate", "RemoveTagsFromCertificate"},
		PerSecond: 5, Source: "AWS Certificate Manager User Guide, Quotas"},
	{Service: "acm", Actions: []string{"ListCertificates"}, PerSecond: 8,
		Source: "AWS Certificate Manager User Guide, Quotas"},
	{Service: "acm", Actions: []string{"DescribeCertificate", "ListTagsForCertificate", "DeleteCertificate"},
		PerSecond: 10, Source: "AWS Certificate Manager User Guide, Quotas"},
	{Service: "ssm", Actions: []string{"GetParameter", "GetParameters"}, Shared: true, PerSecond: 40,
		Source: "AWS General Reference, AWS Systems Manager endpoints and quotas"},
}

// DocumentedRate returns the rate that a call counts against; nil if AWS documents none.
// The service is the SDK's name of its package.
func DocumentedRate(service, action string) *Rate {
	for i := range rates {
		r := &rates[i]
		if r.Service == service && (r.Actions == nil || slices.Contains(r.Actions, action)) &&
			!slices.Contains(r.But, action) && (!r.ReadsOnly || IsRead(action)) {
			return r
		}
	}
	return nil
}

// Counts returns what calls of an action are counted with: the action itself, or those
// that it shares the rate with.
func (r *Rate) Counts(action string) string {
	switch {
	case !r.Shared:
		return action
	case r.Actions == nil:
		return "*"
	}
	return strings.Join(r.Actions, "+")
}

// burst is how many calls can be made at once.
func (r *Rate) burst() float64 {
	if r.Burst > 0 {
		return r.Burst
	}
	return r.PerSecond
}

// packageOf returns the SDK's name of the package of the service with that id.
func packageOf(service string) string {
	return strings.ToLower(strings.ReplaceAll(service, " ", ""))
}
