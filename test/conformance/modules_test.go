package conformance

import (
	"fmt"
	"strings"
)

// described are the modules that the suite runs for.
var described = []Module{
	awsAccount,
	awsACM,
	awsAppSync,
	awsAPIGateway,
	awsAutoScaling,
	awsCloudFront,
	awsCloudWatch,
	awsCodeBuild,
	awsCodeDeploy,
	awsCodePipeline,
	awsDynamo,
	awsEC2,
	awsEC2Metadata,
	awsECR,
	awsECSFargate,
	awsEFS,
	awsElastiCache,
	awsEKS,
	awsELB,
	awsEventBridge,
	awsIAM,
	awsKinesis,
	awsKMS,
	awsLambda,
	awsMemoryDB,
	awsOpenSearch,
	awsOrganizations,
	awsRDS,
	awsRoute53,
	awsS3,
	awsSecretsManager,
	awsSecurityGroup,
	awsSNS,
	awsSQS,
	awsSSM,
	awsStepFunctions,
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
