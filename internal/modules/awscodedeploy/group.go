package awscodedeploy

import (
	"github.com/aws/aws-sdk-go-v2/service/codedeploy"
	cdtypes "github.com/aws/aws-sdk-go-v2/service/codedeploy/types"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

// newGroup declares the table codedeploy_deployment_group. Groups are read one by
// one: BatchGetDeploymentGroups leaves out what it cannot read, be it missing or
// not, and UpdateDeploymentGroup leaves alone what its input leaves out.
func newGroup(c *aws.Clients) *declare.Resource {
	role := declare.Heals("assume the role") // one that has just been made: InvalidRoleException
	list := func(name, member, doc string) declare.Column {
		return declare.JSON(name, member, doc).Check("jsonb_typeof(" + name +
			") = 'array'").Unordered().EmptyIsNull().Unset(modules.Text("[]"))
	}
	return declare.New(c, declare.Table[cdtypes.DeploymentGroupInfo]{
		Name: "codedeploy_deployment_group",
		Doc: "Groups of machines that an application is deployed to. What AWS keeps of a group and no column shows " +
			"stays as it is when the group is changed. " +
			"Deleting one keeps what has been deployed.",
		Service: service,
		Columns: []declare.Column{
			declare.Ref("application_id", "ApplicationName", "codedeploy_application", "name",
				"The application.").Required().Identity().CreateOnly().Part(modules.PartAlong, ""),
			declare.Name("name", "DeploymentGroupName", "The group's name, up to 100 characters.").Length(1, 100),
			declare.Text("deployment_config_name", "DeploymentConfigName",
				"How many machines are deployed to at a time, such as CodeDeployDefault.OneAtATime, which AWS "+
					"chooses for servers if left out, or CodeDeployDefault.LambdaAllAtOnce.").
				OptionalComputed().Length(1, 100),
			declare.JSON("deployment_style", "DeploymentStyle",
				`How it is deployed: {"DeploymentType": "IN_PLACE", "DeploymentOption": "WITHOUT_TRAFFIC_CONTROL"}, which is what AWS chooses for servers if left out.`).
				Check("jsonb_typeof(deployment_style) = 'object'").EmptyIsNull().OptionalComputed(),
			list("ec2_tag_filters", "Ec2TagFilters",
				`The instances that it consists of, by tags: [{"Key": "app", "Value": "web", "Type": "KEY_AND_VALUE"}].`),
			declare.Texts("auto_scaling_groups", "AutoScalingGroups[].Name",
				"The names of the Auto Scaling groups that it consists of.").In(
				"AutoScalingGroups").Unordered().EmptyIsNull(),
			declare.Role("role_name", "ServiceRoleArn",
				"The role as which CodeDeploy works, which codedeploy.amazonaws.com may assume. Needed to create "+
					"a group.").OptionalComputed().WithARN(2),
			declare.Text("deployment_group_id", "DeploymentGroupId", "Its id; NULL until it is created.").Computed(),
			tags(func(have modules.Row) string {
				return "deploymentgroup:" + have["application_id"].String() + "/" + have["name"].String()
			}),
		},
		Published: declare.Published{Type: "AWS::CodeDeploy::DeploymentGroup", Since: 3,
			Columns: map[string]string{"Deployment": "codedeploy_deployment", "ServiceRoleArn": "role_name"},
		},
		DestroyBeforeCreate: true,

		EventMappings: modules.EventMappings("codedeploy.amazonaws.com",
			modules.Request("resourceArn", "TagResource",
				"UntagResource").In("name").Beginning("deploymentgroup:").After("/"),
		),
		List: declare.Pages(codedeploy.NewListDeploymentGroupsPaginator, "DeploymentGroups").Within(applications(),
			"", "ApplicationName").Names("name", ""),
		Get:    declare.One(declare.Call((*codedeploy.Client).GetDeploymentGroup), "DeploymentGroupInfo"),
		Create: declare.Call((*codedeploy.Client).CreateDeploymentGroup, role),
		Updates: []declare.Update{
			declare.Modify(declare.Call((*codedeploy.Client).UpdateDeploymentGroup, role,
				declare.From("CurrentDeploymentGroupName", "name"))),
		},
		Delete: declare.Call((*codedeploy.Client).DeleteDeploymentGroup),
	})
}
