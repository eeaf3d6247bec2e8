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
			declare.CIDR("ipv6_cidr_block", "",
				"Its IPv6 network, a /64 or larger part of the VPC's.").In("Ipv6CidrBlock").OptionalComputed().
				Check("family(ipv6_cidr_block) = 6").Since(6),
			declare.Text("availability_zone", "AvailabilityZone",
				"Its availability zone, such as us-east-1a; AWS picks one if left out.").CreateOnly().
				OptionalComputed(),
			declare.Bool("map_public_ip_on_launch", "MapPublicIpOnLaunch",
				"Whether instances started in it get a public IPv4 address.").Default("false").In(
				"MapPublicIpOnLaunch.Value"),
			declare.Ref("network_acl_id", "", "network_acl", "network_acl_id",
				"Its network access control list; the VPC's default one if left out.").OptionalComputed().Since(2),
			declare.JSON("private_dns_name_options_on_launch", "PrivateDnsNameOptionsOnLaunch",
				`What the private names of instances in it are made of: {"HostnameType": "resource-name", "EnableResourceNameDnsARecord": true}. Members that are left out are as AWS has them.`).
				OptionalComputed().Same(sameNames).Check("jsonb_typeof(private_dns_name_options_on_launch) = 'object'").
				Since(6),
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
		Published: declare.Published{Type: "AWS::EC2::Subnet", Since: 6,
			Columns: map[string]string{"AvailabilityZoneId": "availability_zone"},
			Along:   []string{"Ipv4IpamPoolId", "Ipv6IpamPoolId", "Ipv6NetmaskLength"},
			Without: map[string]string{"Ipv4NetmaskLength": named},
			Filled: map[string][]string{"PrivateDnsNameOptionsOnLaunch": {"EnableResourceNameDnsAAAARecord",
				"EnableResourceNameDnsARecord", "HostnameType"}},
			Docs: map[string]string{
				"AssignIpv6AddressOnCreation": "Whether network interfaces made in it get an IPv6 address.",
				"EnableDns64": "Whether Amazon's DNS server answers with IPv6 addresses for what has " +
					"IPv4 ones alone.",
				"EnableLniAtDeviceIndex": "At which device number of instances local network interfaces are, on " +
					"an Outpost.",
				"Ipv4IpamPoolId": "The IPAM pool that its IPv4 network is of. It matters when the row " +
					"is inserted, and never again.",
				"Ipv6IpamPoolId": "The IPAM pool that its IPv6 network is of. It matters when the row " +
					"is inserted, and never again.",
				"Ipv6NetmaskLength": "How long the mask of the IPv6 network is that the pool chooses. It " +
					"matters when the row is inserted, and never again.",
				"Ipv6Native": "Whether it has IPv6 alone.",
				"OutpostArn": "The ARN of the Outpost that it is on.",
			},
		},
		// Two subnets of a VPC cannot have the same network.
		DestroyBeforeCreate: true,

		EventMappings: modules.EventMappings("ec2.amazonaws.com",
			modules.Request("subnetId", "AssociateSubnetCidrBlock"),
			modules.Response("subnetId", "DisassociateSubnetCidrBlock"),
			modules.Response("subnet.subnetId", "CreateDefaultSubnet"),
			modules.Unnamed("CreateDefaultVpc", "ReplaceNetworkAclAssociation"),
		),
		Row: func(_ context.Context, _ *declare.Step, n *ec2types.Subnet, row modules.Row) error {
			row["ipv6_cidr_block"] = modules.Null
			if a := ipv6(*n); a != nil {
				row["ipv6_cidr_block"] = modules.TextPtr(a.Ipv6CidrBlock)
			}
			return nil
		},
		List: declare.Pages(ec2.NewDescribeSubnetsPaginator, "Subnets", declare.PageSize(aws.PageSize)),
		Get:  declare.EC2Filter("subnet-id"),
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
			declare.By(setIPv6, "ipv6_cidr_block"),
			declare.ModifyEach(declare.Call((*ec2.Client).ModifySubnetAttribute), "map_public_ip_on_launch",
				"enable_dns64", "assign_ipv6_address_on_creation", "enable_lni_at_device_index"),
			declare.By(setNamesOnLaunch, "private_dns_name_options_on_launch"),
			declare.By(setNetworkACL, "network_acl_id"),
		},
		Delete:  declare.Call((*ec2.Client).DeleteSubnet),
		Forming: declare.In("state", string(ec2types.SubnetStatePending)),
		// On an Outpost (page Subnet).
		Failed: declare.In("state", string(ec2types.SubnetStateFailed),
			string(ec2types.SubnetStateFailedInsufficientCapacity)).Because(""),
		// A user may delete it: https://docs.aws.amazon.com/vpc/latest/userguide/deleting-default-vpc.html.
		Spared: declare.IfTrue("default_for_az",
			"it is the availability zone's default subnet, which AWS made by itself"),
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

// ipv6 returns the association of a subnet with its IPv6 network, nil if it has none.
func ipv6(n ec2types.Subnet) *ec2types.SubnetIpv6CidrBlockAssociation {
	for _, a := range n.Ipv6CidrBlockAssociationSet {
		if a.Ipv6CidrBlockState == nil || a.Ipv6CidrBlockState.State == ec2types.SubnetCidrBlockStateCodeAssociated ||
			a.Ipv6CidrBlockState.State == ec2types.SubnetCidrBlockStateCodeAssociating {
			return &a
		}
	}
	return nil
}

// setIPv6 gives a subnet an IPv6 network. One that it has goes first: a subnet has one at most.
func setIPv6(ctx context.Context, s *declare.Step) error {
	want := s.Want["ipv6_cidr_block"]
	if want.IsNull() {
		return nil
	}
	client, id := declare.ClientOf[*ec2.Client](s), s.Have["subnet_id"].String()
	is, err := client.DescribeSubnets(ctx, &ec2.DescribeSubnetsInput{SubnetIds: []string{id}})
	if err != nil {
		return err
	}
	for _, n := range is.Subnets {
		if a := ipv6(n); a != nil {
			if awssdk.ToString(a.Ipv6CidrBlock) == want.String() {
				return nil
			}
			if _, err := client.DisassociateSubnetCidrBlock(ctx,
				&ec2.DisassociateSubnetCidrBlockInput{AssociationId: a.AssociationId}); err != nil {
				return err
			}
		}
	}
	_, err = client.AssociateSubnetCidrBlock(ctx,
		&ec2.AssociateSubnetCidrBlockInput{SubnetId: &id, Ipv6CidrBlock: want.Ptr()})
	return err
}

// setNamesOnLaunch says what the names of instances are made of, one attribute a call.
func setNamesOnLaunch(ctx context.Context, s *declare.Step) error {
	var want, have ec2types.PrivateDnsNameOptionsOnLaunch
	const column = "private_dns_name_options_on_launch"
	if s.Want[column].IsNull() {
		return nil
	}
	if err := aws.ParseDocument(column, s.Want[column], &want); err != nil {
		return err
	}
	if had := s.Have[column]; !had.IsNull() {
		if err := aws.ParseDocument(column, had, &have); err != nil {
			return err
		}
	}
	var calls []ec2.ModifySubnetAttributeInput
	if want.HostnameType != "" && want.HostnameType != have.HostnameType {
		calls = append(calls, ec2.ModifySubnetAttributeInput{PrivateDnsHostnameTypeOnLaunch: want.HostnameType})
	}
	if on := want.EnableResourceNameDnsARecord; on != nil && *on != awssdk.ToBool(have.EnableResourceNameDnsARecord) {
		calls = append(calls, ec2.ModifySubnetAttributeInput{
			EnableResourceNameDnsARecordOnLaunch: &ec2types.AttributeBooleanValue{Value: on}})
	}
	if on := want.EnableResourceNameDnsAAAARecord; on != nil &&
		*on != awssdk.ToBool(have.EnableResourceNameDnsAAAARecord) {
		calls = append(calls, ec2.ModifySubnetAttributeInput{
			EnableResourceNameDnsAAAARecordOnLaunch: &ec2types.AttributeBooleanValue{Value: on}})
	}
	for i := range calls {
		calls[i].SubnetId = s.Have["subnet_id"].Ptr()
		if _, err := declare.ClientOf[*ec2.Client](s).ModifySubnetAttribute(ctx, &calls[i]); err != nil {
			return err
		}
	}
	return nil
}

// sameNames compares options of which AWS fills in what is left out.
var sameNames = declare.Filling(declare.Alike[ec2types.PrivateDnsNameOptionsOnLaunch](nil),
	"EnableResourceNameDnsAAAARecord", "EnableResourceNameDnsARecord", "HostnameType")
