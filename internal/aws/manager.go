package aws

import (
	"maps"
	"slices"
	"strings"

	"iasql/internal/modules"
)

// MarkTags is where a row that has been read may have tags that users do not see, an object of
// texts, for [ManagedBy]. It is no column, and taken out of the row before the engine sees it.
const MarkTags = "\x1fmarks"

// managers are tags by which AWS, and what runs on it, mark what they look after. Each is told by the
// documentation of the service: AWS CloudFormation User Guide, "Resource tag"; Amazon EC2 Auto Scaling User Guide, "Tag
// Auto Scaling groups and instances"; Amazon EKS User Guide, "Tag your resources"; AWS Elastic Beanstalk Developer
// Guide, "Tagging resources"; Amazon ECS Developer Guide, "Cluster auto scaling"; AWS Load Balancer Controller, "Tags".
var managers = []struct{ tag, who string }{
	{"aws:cloudformation:stack-name", "the CloudFormation stack"},
	{"aws:autoscaling:groupName", "the Auto Scaling group"},
	{"aws:eks:cluster-name", "the EKS cluster"},
	{"eks:nodegroup-name", "the EKS node group"},
	{"eks:cluster-name", "the EKS cluster"},
	{"elasticbeanstalk:environment-name", "the Elastic Beanstalk environment"},
	{"elasticbeanstalk:environment-id", "the Elastic Beanstalk environment"},
	{"elbv2.k8s.aws/cluster", "the load balancer controller of the Kubernetes cluster"},
	{"ebs.csi.aws.com/cluster", "the EBS driver of a Kubernetes cluster:"},
	{"AmazonECSManaged", "ECS"},
}

// launched are tags of AWS's that tell how something was made, and not who looks after it.
var launched = []string{"aws:ec2launchtemplate:", "aws:createdBy"}

// ManagedBy returns who looks after an object, by its tags; "" if nobody says so.
func ManagedBy(have modules.Row) string {
	tags := map[string]string{}
	maps.Copy(tags, have[modules.ColumnTags].StringMap())
	maps.Copy(tags, have[MarkTags].StringMap())
	for _, m := range managers {
		if value, ok := tags[m.tag]; ok {
			return strings.TrimSpace(m.who + " " + value)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		if cluster, ok := strings.CutPrefix(key, "kubernetes.io/cluster/"); ok && tags[key] == "owned" {
			return "the Kubernetes cluster " + cluster
		}
		if strings.HasPrefix(strings.ToLower(key), "aws:") && !slices.ContainsFunc(launched, func(prefix string) bool {
			return strings.HasPrefix(key, prefix)
		}) {
			return "AWS: its tag " + key + " is " + tags[key]
		}
	}
	return ""
}

// Mark gives a row those of its tags that users do not see and that are not the engine's own, for
// [ManagedBy].
func Mark(row modules.Row, tags map[string]string) {
	marks := map[string]string{}
	for key, value := range tags {
		if hiddenTag(key) && key != TokenTag && key != RestartTag {
			marks[key] = value
		}
	}
	if len(marks) > 0 {
		row[MarkTags] = modules.StringMap(marks)
	}
}
