package aws

import (
	"strings"
	"testing"

	"iasql/internal/modules"
)

func TestManagedBy(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]string{
		"aws:cloudformation:stack-name": "the CloudFormation stack",
		"aws:autoscaling:groupName":     "the Auto Scaling group", "aws:servicecatalog:productArn": "AWS",
		"eks:nodegroup-name":                "the EKS node group",
		"elasticbeanstalk:environment-name": "the Elastic Beanstalk environment",
		"kubernetes.io/cluster/shop":        "the Kubernetes cluster shop",
		"AWS:odd":                           "AWS", "aws:ec2launchtemplate:id": "", "Name": "", TokenTag: "",
	} {
		tags := map[string]string{key: "owned"}
		row := modules.Row{modules.ColumnTags: TagValue(tags)}
		Mark(row, tags)
		if got := ManagedBy(row); !strings.HasPrefix(got, want) || (got == "") != (want == "") {
			t.Errorf("%s: %q", key, got)
		}
		if strings.Contains(row[modules.ColumnTags].String(), "aws:") {
			t.Errorf("%s: users see it: %s", key, row[modules.ColumnTags])
		}
	}
}
