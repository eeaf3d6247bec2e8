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

// newVPC declares the table vpc.
// named says why a pool cannot choose a network: by that a VPC or subnet is recognized before it has an id.
const named = declare.Deed +
	": a pool gives a network of that length, and cidr_block, by which a record is known before " +
	"AWS gives it an id, says which"

func newVPC(c *aws.Clients) *declare.Resource {
	// DescribeVpcAttribute reads, and ModifyVpcAttribute changes, "only one
	// attribute at a time", of one VPC, says the page of each.
	attribute := func(name string, member ec2types.VpcAttributeName, path, def, doc string) declare.Column {
		// Those of a new VPC: "DNS attributes in your VPC" and "Network Address Usage for your VPC", Amazon VPC User
		// Guide.
		return declare.Bool(name, path+".Value", doc).Default(def).Born(modules.Bool(def == "true")).
			From(declare.Call((*ec2.Client).DescribeVpcAttribute,
				declare.With(&ec2.DescribeVpcAttributeInput{Attribute: member}), declare.Proves()))
	}
	attributes := declare.Call((*ec2.Client).ModifyVpcAttribute)
	return declare.New(c, declare.Table[ec2types.Vpc]{
		Name:     "vpc",
		Doc:      "Virtual private clouds: isolated networks of an account in a region.",
		Service:  declare.Service(ec2.NewFromConfig),
		Creation: modules.ByTag,
		Columns: []declare.Column{
			declare.ID("vpc_id", "VpcId", "The VPC's id, such as vpc-0a1b2c3d; NULL until it is created."),
			declare.CIDR("cidr_block", "CidrBlock",
				"Its IPv4 network, from /16 to /28, such as 10.0.0.0/16.").Required().CreateOnly().
				Check("family(cidr_block) = 4 AND masklen(cidr_block) BETWEEN 16 AND 28"),
			declare.Text("state", "State", "pending, available or deleting.").Computed(),
			declare.Bool("is_default", "IsDefault",
				"Whether it is the region's default VPC, which AWS makes by itself.").Computed().Usual(
				modules.Bool(false)),
			attribute("enable_dns_hostnames", ec2types.VpcAttributeNameEnableDnsHostnames,
				"EnableDnsHostnames", "false",
				"Whether instances with public addresses get public DNS names; needs enable_dns_support."),
			attribute("enable_dns_support", ec2types.VpcAttributeNameEnableDnsSupport, "EnableDnsSupport", "true",
				"Whether Amazon's DNS server answers inside the VPC. Default true, as in AWS (IaSQL's was false)."),
			attribute("enable_network_address_usage_metrics", ec2types.VpcAttributeNameEnableNetworkAddressUsageMetrics,
				"EnableNetworkAddressUsageMetrics", "false",
				"Whether CloudWatch gets metrics of the network addresses in use."),
			declare.Ref("dhcp_options_id", "DhcpOptionsId", "dhcp_options", "dhcp_options_id",
				"The DHCP options its instances are told; AWS's own if left out.").
				OptionalComputed().Since(2).As(noDefault),
			declare.EC2Tags(ec2types.ResourceTypeVpc),
		},
		Published: declare.Published{Type: "AWS::EC2::VPC", Since: 6,
			Along:   []string{"Ipv4IpamPoolId", "VpcEncryptionControl"},
			Without: map[string]string{"Ipv4NetmaskLength": named},
			Docs: map[string]string{
				"InstanceTenancy": "Whether instances share their hosts: default, or dedicated, from which it " +
					"can go back and not the other way.",
				"VpcEncryptionControl": `Whether traffic within it has to be encrypted: {"Mode": "monitor"} or {"Mode": "enforce"}. It matters when the row is inserted, and never again.`,
				"Ipv4IpamPoolId": "The IPAM pool that its network is of. It matters when the row is inserted, " +
					"and never again.",
			},
		},
		EventMappings: modules.EventMappings("ec2.amazonaws.com",
			modules.Request("vpcId", "AssociateVpcCidrBlock", "ModifyVpcTenancy"),
			modules.Response("vpcId", "DisassociateVpcCidrBlock"),
			modules.Response("vpc.vpcId", "CreateDefaultVpc"),
		),
		List:   vpcList(),
		Get:    declare.EC2Filter("vpc-id"),
		Create: declare.Call((*ec2.Client).CreateVpc, declare.Answer("Vpc")),
		Updates: []declare.Update{
			// Host names can be enabled only while DNS support is, and DNS support
			// disabled only while they are not.
			declare.ModifyEach(attributes, "enable_dns_support", "enable_dns_hostnames").
				Reversed(func(want modules.Row) bool { return !want["enable_dns_support"].Bool() }),
			declare.Modify(attributes, "enable_network_address_usage_metrics"),
			declare.Modify(declare.Call((*ec2.Client).AssociateDhcpOptions), "dhcp_options_id"),
			declare.Modify(declare.Call((*ec2.Client).ModifyVpcTenancy), "instance_tenancy"),
		},
		Delete:  declare.Call((*ec2.Client).DeleteVpc),
		Going:   declare.In("state", string(ec2types.VpcStateDeleting)),
		Forming: declare.In("state", string(ec2types.VpcStatePending)),
		// Services rely on it that are told of no other.
		Protected: declare.IfTrue("is_default", "it is the region's default VPC, which AWS made by itself"),
	})
}

// vpcList lists the VPCs. EC2 takes no page size together with ids, but does with
// filters.
func vpcList() *declare.Listing {
	return declare.Pages(ec2.NewDescribeVpcsPaginator, "Vpcs", declare.PageSize(aws.PageSize)).
		FilterAt("vpc-id", "VpcId").FilterAt("is-default", "IsDefault")
}

// noDefault reads options that AWS calls default as none.
var noDefault = declare.UnlessIs("default")

// standard is a region's default VPC; the zero value where there is none.
type standard struct {
	vpc, dhcpOptions string
}

// is reports whether it is that VPC.
func (s standard) is(vpc *string) bool { return s.vpc != "" && s.vpc == awssdk.ToString(vpc) }

// defaultVPC returns the region's default VPC, to which its parts do not say
// that they belong.
func defaultVPC(ctx context.Context, s *declare.Step) (standard, error) {
	found, err := declare.Find[ec2types.Vpc](ctx, s.Source(), vpcList(), "is-default", "true")
	if err != nil || len(found) == 0 {
		return standard{}, err
	}
	return standard{awssdk.ToString(found[0].VpcId), awssdk.ToString(found[0].DhcpOptionsId)}, nil
}
