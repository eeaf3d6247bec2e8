package awssecuritygroup

import (
	"context"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"iasql/internal/aws"
	"iasql/internal/modules"
)

// defaultName is the name of the group that AWS makes with every VPC; nobody
// else can use it (page CreateSecurityGroup).
const defaultName = "default"

// group is the table security_group.
type group struct {
	aws.EC2Objects[ec2types.SecurityGroup]
}

func newGroup(c *aws.Clients) *group {
	return &group{aws.EC2Objects[ec2types.SecurityGroup]{
		Clients:     c,
		Description: describeGroup(),
		IDFilter:    "group-id",
		Describe:    describeGroups,
		Rows: func(_ context.Context, _ *ec2.Client, groups []ec2types.SecurityGroup) ([]modules.Row, error) {
			rows := make([]modules.Row, len(groups))
			for i, g := range groups {
				rows[i] = modules.Row{
					"group_id":    modules.TextPtr(g.GroupId),
					"group_name":  modules.TextPtr(g.GroupName),
					"description": modules.TextPtr(g.Description),
					"vpc_id":      modules.TextPtr(g.VpcId),
					"owner_id":    modules.TextPtr(g.OwnerId),
					"is_default":  modules.Bool(awssdk.ToString(g.GroupName) == defaultName),
					"tags":        aws.EC2Tags.Value(g.Tags),
				}
			}
			return rows, nil
		},
		Tags: func(g ec2types.SecurityGroup) []ec2types.Tag { return g.Tags },
	}}
}

func describeGroups(ctx context.Context, client *ec2.Client, filters []ec2types.Filter, page func([]ec2types.SecurityGroup) error) error {
	return aws.Pages(ctx, ec2.NewDescribeSecurityGroupsPaginator(client, &ec2.DescribeSecurityGroupsInput{
		Filters: filters, MaxResults: awssdk.Int32(aws.PageSize),
	}), func(out *ec2.DescribeSecurityGroupsOutput) error { return page(out.SecurityGroups) })
}

// The limits are those of the page CreateSecurityGroup.
func describeGroup() *modules.Table {
	return &modules.Table{
		Name:     "security_group",
		Doc:      "Security groups: firewalls of a VPC's network interfaces. Their rules are in security_group_rule; AWS gives a new group one that lets everything out.",
		Provider: aws.Provider,
		Reach:    modules.PerRegion,
		Creation: modules.ByTag,
		Columns: aws.Regional(
			modules.Column{Name: "group_id", Type: modules.TypeText, Identity: true, Assigned: true,
				Doc: "The group's id, such as sg-0a1b2c3d; NULL until it is created."},
			modules.Column{Name: "group_name", Type: modules.TypeText, Required: true, CreateOnly: true,
				Check: `length(group_name) BETWEEN 1 AND 255 AND group_name !~ '^sg-'`,
				Doc:   `Its name, unique in the VPC, up to 255 characters and not beginning with "sg-". "default" is AWS's own.`},
			modules.Column{Name: "description", Type: modules.TypeText, Required: true, CreateOnly: true,
				Check: "length(description) BETWEEN 1 AND 255",
				Doc:   "What it is for, up to 255 characters. AWS has no way to change it."},
			modules.Column{Name: "vpc_id", Type: modules.TypeBigint, CreateOnly: true, Chosen: true,
				References: &modules.Reference{Table: "vpc", Key: "vpc_id", Part: modules.PartAlong, PartIf: "is_default"},
				Doc:        "The VPC it is of; the region's default VPC if left out."},
			modules.Column{Name: "owner_id", Type: modules.TypeText, Assigned: true,
				Doc: "The twelve digits of the account that owns it; another than account where the VPC is shared."},
			modules.Column{Name: "is_default", Type: modules.TypeBool, Assigned: true,
				Doc: "Whether it is the VPC's default group, which AWS makes by itself and which goes with the VPC."},
			aws.TagsColumn(),
		),
		// Two groups of a VPC cannot have the same name.
		DestroyBeforeCreate: true,
	}
}

// Create creates a group.
func (r *group) Create(ctx context.Context, scope modules.Scope, want modules.Row, token string) (modules.Row, error) {
	client, err := r.Clients.EC2(ctx, scope)
	if err != nil {
		return nil, err
	}
	out, err := client.CreateSecurityGroup(ctx, &ec2.CreateSecurityGroupInput{
		GroupName:         want["group_name"].Ptr(),
		Description:       want["description"].Ptr(),
		VpcId:             want["vpc_id"].Ptr(),
		TagSpecifications: aws.EC2TagSpecification(ec2types.ResourceTypeSecurityGroup, want, token),
	})
	if err != nil {
		return nil, err
	}
	return modules.Row{"group_id": modules.TextPtr(out.GroupId)}, nil
}

// Delete deletes a group with its rules.
func (r *group) Delete(ctx context.Context, scope modules.Scope, have modules.Row) error {
	return r.Remove(ctx, scope, r.Protected(have), func(client *ec2.Client) error {
		_, err := client.DeleteSecurityGroup(ctx, &ec2.DeleteSecurityGroupInput{GroupId: have["group_id"].Ptr()})
		return err
	})
}

// Protected keeps default groups, which AWS itself refuses to delete.
func (r *group) Protected(have modules.Row) string {
	if have["is_default"].Bool() {
		return "it is the VPC's default security group, which AWS made by itself and which goes with the VPC"
	}
	return ""
}
