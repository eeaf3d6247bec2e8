package aws

import (
	"cmp"
	"strings"
)

// What CloudTrail calls services ("eventSource") whose clients have other names in the SDK
// (CloudTrail User Guide, "CloudTrail record contents"; each service's "Logging API calls
// with AWS CloudTrail").
var eventSources = map[string]string{
	"apigatewayv2":             "apigateway",
	"applicationautoscaling":   "autoscaling",
	"cloudcontrol":             "cloudcontrolapi",
	"cloudwatch":               "monitoring",
	"cloudwatchlogs":           "logs",
	"ecrpublic":                "ecr-public",
	"efs":                      "elasticfilesystem",
	"elasticloadbalancingv2":   "elasticloadbalancing",
	"eventbridge":              "events",
	"opensearch":               "es",
	"resourcegroups":           "resource-groups",
	"resourcegroupstaggingapi": "tagging",
	"sfn":                      "states",
}

// EventSource returns what CloudTrail calls the service of a client of the SDK, by the name
// of its package: "cloudwatch" is monitoring.amazonaws.com.
func EventSource(pkg string) string {
	return sourceOf(eventSources, pkg[strings.LastIndexByte(pkg, '/')+1:])
}

// sourceOf returns the name of a service that is called so elsewhere.
func sourceOf(others map[string]string, name string) string {
	return cmp.Or(others[name], name) + ".amazonaws.com"
}

// actionSources are services whose permissions have another prefix than CloudTrail calls
// them by (Service Authorization Reference).
var actionSources = map[string]string{
	"application-autoscaling": "autoscaling",
	"cloudwatch":              "monitoring",
	"tag":                     "tagging",
}

// ActionSource returns what CloudTrail calls the service of a permission, by its prefix.
func ActionSource(prefix string) string { return sourceOf(actionSources, prefix) }

// eventNames are operations that CloudTrail has other names for (Amazon S3 User Guide,
// "Amazon S3 CloudTrail events").
var eventNames = map[string]string{
	"s3.amazonaws.com:PutPublicAccessBlock":               "PutBucketPublicAccessBlock",
	"s3.amazonaws.com:DeletePublicAccessBlock":            "DeleteBucketPublicAccessBlock",
	"s3.amazonaws.com:PutBucketLifecycleConfiguration":    "PutBucketLifecycle",
	"s3.amazonaws.com:PutBucketNotificationConfiguration": "PutBucketNotification",
}

// EventName returns what CloudTrail calls an operation.
func EventName(source, operation string) string {
	if name := eventNames[source+":"+operation]; name != "" {
		return name
	}
	return operation
}
