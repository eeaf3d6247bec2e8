package awsvpc

import (
	"context"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

// newSubnet declares the table subnet. map_public_ip_on_launch and the network
// ACL, which CreateSubnet does not take, are left to the update.
func newSubnet(c *aws.Clients) *declare.Resource {
	return declare.New(c, declare.Table[ec2types.Subnet]{
		Name:     "subnet",
		Doc:      "Subnets: ranges of a VPC's addresses, each in one availability zone.",
		Service:  declare.Service(ec2.NewFromConfig),
		Creation: modules.ByTag,
		Columns: []declare.Column{
			declare.ID("subnet_id", "SubnetId", "The subnet's id, such as subnet-0a1b2c3d; NULL until it is created."),
			declare.Ref("vpc_id", "VpcId", "vpc", "vpc_id", "The VPC it is part of.").Required().CreateOnly(),
			declare.CIDR("cidr_block", "CidrBlock",
				"Its IPv4 network, from /16 to /28, a part of the VPC's. NULL only for subnets with IPv6 alone, "+
					"which are not created here.").
				CreateOnly().Check("family(cidr_block) = 4 AND masklen(cidr_block) BETWEEN 16 AND 28"),
			declare.Text("availability_zone", "AvailabilityZone",
				"Its availability zone, such as us-east-1a; AWS picks one if left out.").CreateOnly().OptionalComputed(),
			declare.Bool("map_public_ip_on_launch", "MapPublicIpOnLaunch",
				"Whether instances started in it get a public IPv4 address.").Default("false").In(
				"MapPublicIpOnLaunch.Value"),
			declare.Ref("network_acl_id", "", "network_acl", "network_acl_id",
				"Its network access control list; the VPC's default one if left out.").OptionalComputed().Since(2),
			declare.Text("state", "State",
				"pending, available, unavailable, failed or failed-insufficient-capacity.").Computed(),
			declare.Integer("available_ip_address_count", "AvailableIpAddressCount",
				"How many of its IPv4 addresses are not in use.").Computed(),
			declare.Bool("default_for_az", "DefaultForAz",
				"Whether it is the availability zone's default subnet, which AWS makes by itself.").Computed().Usual(
				modules.Bool(false)),
			declare.Text("owner_id", "OwnerId",
				"The twelve digits of the account that owns it; another than account where it is shared.").Computed(),
			declare.Text("subnet_arn", "SubnetArn", "Its Amazon Resource Name (ARN).").Computed(),
			declare.EC2Tags(ec2types.ResourceTypeSubnet),
		},
		// Two subnets of a VPC cannot have the same network.
		DestroyBeforeCreate: true,

		EventMappings: modules.EventMappings("ec2.amazonaws.com",
			modules.Request("subnetId", "AssociateSubnetCidrBlock"),
			modules.Response("subnetId", "DisassociateSubnetCidrBlock"),
			modules.Response("subnet.subnetId", "CreateDefaultSubnet"),
			modules.Unnamed("CreateDefaultVpc", "ReplaceNetworkAclAssociation"),
		),
		List: declare.Pages(ec2.NewDescribeSubnetsPaginator, "Subnets",
			declare.With(&ec2.DescribeSubnetsInput{MaxResults: awssdk.Int32(aws.PageSize)})),
		Get: declare.EC2Filter("subnet-id"),
		// Which network ACL each subnet has the lists know: one call for a page of
		// subnets. Every subnet has one ("Network ACL basics", Amazon VPC User Guide):
		// where no list says so yet, or it is another account's, it is unknown.
		Rows: func(ctx context.Context, s *declare.Step, _ []*ec2types.Subnet, rows []modules.Row) error {
			lists, err := networkACLsOf(ctx, s, aws.Column(rows, "subnet_id"))
			for _, row := range rows {
				if list := awssdk.ToString(lists[row["subnet_id"].String()].NetworkAclId); list != "" {
					row["network_acl_id"] = modules.Text(list)
				}
			}
			return err
		},
		Create: declare.Call((*ec2.Client).CreateSubnet, declare.Answer("Subnet")),
		Updates: []declare.Update{
			declare.Modify(declare.Call((*ec2.Client).ModifySubnetAttribute), "map_public_ip_on_launch"),
			declare.By(setNetworkACL, "network_acl_id"),
		},
		Delete:  declare.Call((*ec2.Client).DeleteSubnet),
		Forming: declare.In("state", string(ec2types.SubnetStatePending)),
		// On an Outpost (page Subnet).
		Failed: declare.In("state", string(ec2types.SubnetStateFailed),
			string(ec2types.SubnetStateFailedInsufficientCapacity)).Because(""),
		// A user may delete it: https://docs.aws.amazon.com/vpc/latest/userguide/deleting-default-vpc.html.
		Spared: func(have modules.Row) string {
			if have["default_for_az"].Bool() {
				return "it is the availability zone's default subnet, which AWS made by itself"
			}
			return ""
		},
	})
}

// networkACLsOf returns, by subnet, its association with a network ACL.
func networkACLsOf(ctx context.Context, s *declare.Step, subnets []string) (map[string]ec2types.NetworkAclAssociation,
	error) {
	lists, err := declare.Find[ec2types.NetworkAcl](ctx, s.Source(), networkACLs(), "association.subnet-id", subnets...)
	found := map[string]ec2types.NetworkAclAssociation{}
	for _, l := range lists {
		for _, a := range l.Associations {
			found[awssdk.ToString(a.SubnetId)] = a
		}
	}
	return found, err
}

func setNetworkACL(ctx context.Context, s *declare.Step) error {
	id := s.Have["subnet_id"].String()
	lists, err := networkACLsOf(ctx, s, []string{id})
	if err != nil {
		return err
	}
	if lists[id].NetworkAclAssociationId == nil {
		return &modules.Error{Class: modules.Dependency, Code: "NoAssociation",
			Message: "AWS does not show yet which network ACL the subnet has"}
	}
	_, err = declare.ClientOf[*ec2.Client](s).ReplaceNetworkAclAssociation(ctx, &ec2.ReplaceNetworkAclAssociationInput{
		AssociationId: lists[id].NetworkAclAssociationId, NetworkAclId: s.Want["network_acl_id"].Ptr(),
	})
	return err
}
