package conformance

import (
	"fmt"
	"strings"
)

// described are the modules that the suite runs for.
var described = []Module{
	awsAccount,
	awsACM,
	awsAPIGateway,
	awsAutoScaling,
	awsCloudWatch,
	awsDynamo,
	awsEC2,
	awsEC2Metadata,
	awsECR,
	awsECSFargate,
	awsEKS,
	awsELB,
	awsIAM,
	awsLambda,
	awsOpenSearch,
	awsRDS,
	awsRoute53,
	awsS3,
	awsSecretsManager,
	awsSecurityGroup,
	awsSNS,
	awsSQS,
	awsVPC,
}

// tags is the change of a column tags.
func tags(see string, cli ...string) Change {
	return Change{"tags", `'{"by": "sql"}'`, see, "", cli, `'{"by": "cli"}'`}
}

// allow is a policy document of one statement.
func allow(action, resource string) string {
	return fmt.Sprintf(`{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": {"AWS": "$account"}, "Action": "%s", "Resource": "%s"}]}`, action, resource)
}

// quoted is a text as it is within a JSON string.
func quoted(text string) string { return strings.ReplaceAll(text, `"`, `\"`) }
