package awscodedeploy

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/codedeploy"
	cdtypes "github.com/aws/aws-sdk-go-v2/service/codedeploy/types"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

// newDeployment declares the table codedeploy_deployment.
func newDeployment(c *aws.Clients) *declare.Resource {
	return declare.New(c, declare.Table[cdtypes.DeploymentInfo]{
		Name: "codedeploy_deployment",
		Doc: "Deployments, which happen once and are never deleted. codedeploy_deploy starts one, where in IaSQL a " +
			"row did. " +
			"IaSQL's application_id and deployment_group_id are names here, since deployments stay when what they " +
			"name is deleted.",
		Service: service,
		Columns: []declare.Column{
			declare.ID("deployment_id", "DeploymentId", "The deployment's id, such as d-A1B2C3D4E."),
			declare.Text("application_name", "ApplicationName", "What is deployed.").Computed(),
			declare.Text("deployment_group_name", "DeploymentGroupName", "Where to.").Computed(),
			declare.Text("description", "Description", "What has been said about it.").Computed(),
			declare.Text("external_id", "ExternalId",
				"The id of what has started it, where that is another service.").Computed(),
			declare.Text("status", "Status",
				"Created, Queued, InProgress, Baking, Succeeded, Failed, Stopped or Ready.").Computed(),
			declare.JSON("location", "Revision",
				"Where the revision is that is deployed, in the words of the API.").Computed(),
			declare.Time("create_time", "CreateTime", "When it was asked for."),
			declare.Time("complete_time", "CompleteTime", "When it ended; NULL until then."),
		},

		EventMappings: modules.EventMappings("codedeploy.amazonaws.com",
			modules.Response("deploymentId", "CreateDeployment"),
			modules.Request("deploymentId", "StopDeployment", "ContinueDeployment",
				"SkipWaitTimeForInstanceTermination"),
		),
		List: declare.Pages(codedeploy.NewListDeploymentsPaginator, "Deployments").Names("deployment_id", ""),
		Get: declare.Batch(declare.Call((*codedeploy.Client).BatchGetDeployments), "DeploymentIds", "deployment_id",
			mostDeployments, "DeploymentsInfo"),
	})
}

// deploy is the function codedeploy_deploy.
func deploy(c *aws.Clients) *modules.Function {
	return &modules.Function{
		Name: "codedeploy_deploy",
		Doc: "Deploys a revision of an application to a deployment group. codedeploy_deployment shows it from the " +
			"next cycle on.",
		Sample: `SELECT deployment_id FROM codedeploy_deploy('app', 'production', '{"RevisionType": "S3", "S3Location": {"Bucket": "releases", "Key": "app.zip", "BundleType": "zip"}}')`,
		Given: `INSERT INTO iam_role (role_name, assume_role_policy_document) VALUES ('deployer',
    '{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": {"Service": "codedeploy.amazonaws.com"}, "Action": "sts:AssumeRole"}]}');
INSERT INTO codedeploy_application (name) VALUES ('app');
INSERT INTO codedeploy_deployment_group (application_id, name, role_name, ec2_tag_filters)
SELECT id, 'production', 'deployer', '[{"Key": "app", "Value": "web", "Type": "KEY_AND_VALUE"}]' FROM codedeploy_application WHERE name = 'app'`,
		Table: "codedeploy_application",
		Right: "UPDATE",
		Parameters: []modules.Parameter{
			{Name: "application_name", Type: modules.TypeText, Names: "name", Doc: "The application."},
			{Name: "deployment_group_name", Type: modules.TypeText, Doc: "The deployment group."},
			{Name: "location", Type: modules.TypeJSON, Doc: "Where the revision is, in the words of the API."},
			{Name: "description", Type: modules.TypeText, Default: "NULL", Doc: "What is said about it."},
		},
		Returns: []modules.Result{{Name: "deployment_id", Type: modules.TypeText, Doc: "The deployment's id."}},
		Call: func(ctx context.Context, i modules.Invocation) ([]modules.Row, error) {
			c, scope, args := c.Permitted(i.Permit), i.Scope, i.Arguments
			client, err := declare.Client(ctx, c, scope, codedeploy.NewFromConfig)
			if err != nil {
				return nil, err
			}
			var revision cdtypes.RevisionLocation
			if err := aws.ParseDocument("location", args["location"], &revision); err != nil {
				return nil, err
			}
			out, err := client.CreateDeployment(ctx, &codedeploy.CreateDeploymentInput{
				ApplicationName:     args["application_name"].Ptr(),
				DeploymentGroupName: args["deployment_group_name"].Ptr(),
				Revision:            &revision, Description: args["description"].Ptr(),
			})
			if err != nil {
				return nil, err
			}
			return []modules.Row{{"deployment_id": modules.TextPtr(out.DeploymentId)}}, nil
		},
	}
}
