package awssecuritygroup

import (
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

// defaultName is the name of the group that AWS makes with every VPC; nobody
// else can use it (page CreateSecurityGroup).
const defaultName = "default"

// newGroup declares the table security_group. The limits are those of the page
// CreateSecurityGroup. Deleting a group deletes its rules.
func newGroup(c *aws.Clients) *declare.Resource {
	return declare.New(c, declare.Table[ec2types.SecurityGroup]{
		Name: "security_group",
		Doc: "Security groups: firewalls of a VPC's network interfaces. Their rules are in security_group_rule; " +
			"AWS gives a new group one that lets everything out.",
		Service:  declare.Service(ec2.NewFromConfig),
		Creation: modules.ByTag,
		Columns: []declare.Column{
			declare.ID("group_id", "GroupId", "The group's id, such as sg-0a1b2c3d; NULL until it is created."),
			declare.Text("group_name", "GroupName",
				`Its name, unique in the VPC, up to 255 characters and not beginning with "sg-". "default" is AWS's own.`).
				Required().CreateOnly().Check(`length(group_name) BETWEEN 1 AND 255 AND group_name !~ '^sg-'`),
			declare.Text("description", "Description",
				"What it is for, up to 255 characters. AWS has no way to change it.").Required().CreateOnly().Length(1,
				255).KeepEmpty(),
			declare.Ref("vpc_id", "VpcId", "vpc", "vpc_id", "The VPC it is of; the region's default VPC if left out.").
				CreateOnly().OptionalComputed().Part(modules.PartAlong, "is_default"),
			declare.Text("owner_id", "OwnerId",
				"The twelve digits of the account that owns it; another than account where the VPC is shared.").
				Computed(),
			declare.Bool("is_default", "GroupName",
				"Whether it is the VPC's default group, which AWS makes by itself and which goes with the VPC.").
				Computed().As(declare.Is(defaultName)).Usual(modules.Bool(false)),
			declare.EC2Tags(ec2types.ResourceTypeSecurityGroup),
		},
		Published: declare.Published{Type: "AWS::EC2::SecurityGroup", Since: 4,
			Columns: map[string]string{"GroupDescription": "description", "SecurityGroupEgress": "security_group_rule",
				"SecurityGroupIngress": "security_group_rule"},
		},
		// Two groups of a VPC cannot have the same name.
		DestroyBeforeCreate: true,

		List:   groups(),
		Get:    declare.EC2Filter("group-id"),
		Create: declare.Call((*ec2.Client).CreateSecurityGroup),
		Delete: declare.Call((*ec2.Client).DeleteSecurityGroup),
		// AWS itself refuses to delete it.
		Made: "is_default",
		Refuses: []declare.Refusal{{When: declare.IsTrue("is_default"),
			Why:    "it is the VPC's default security group, which AWS made by itself and which goes with the VPC",
			Source: "https://docs.aws.amazon.com/vpc/latest/userguide/default-security-group.html"}},
	})
}

func groups() *declare.Listing {
	return declare.Pages(ec2.NewDescribeSecurityGroupsPaginator, "SecurityGroups", declare.PageSize(aws.PageSize)).
		FilterAt("group-name", "GroupName")
}
