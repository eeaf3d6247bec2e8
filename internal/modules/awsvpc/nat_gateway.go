package awsvpc

import (
	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

// natGateway is a gateway and its first address.
type natGateway struct {
	ec2types.NatGateway
	Address ec2types.NatGatewayAddress
}

// newNATGateway declares the table nat_gateway. Deleting a gateway takes minutes;
// until it is done its address cannot be released.
func newNATGateway(c *aws.Clients) *declare.Resource {
	return declare.New(c, declare.Table[natGateway]{
		Name:     "nat_gateway",
		Doc:      "NAT gateways, through which what has no public address reaches the Internet or other networks.",
		Service:  declare.Service(ec2.NewFromConfig),
		Creation: modules.ByToken,
		Columns: []declare.Column{
			declare.ID("nat_gateway_id", "NatGatewayId",
				"The gateway's id, such as nat-0a1b2c3d; NULL until it is created."),
			declare.Ref("subnet_id", "SubnetId", "subnet", "subnet_id",
				"The subnet it is in; of a public one, a subnet with a route to an internet gateway. Needed to make "+
					"one; NULL for regional gateways, which are in a VPC and no subnet.").CreateOnly().OptionalComputed(),
			declare.Text("connectivity_type", "ConnectivityType",
				"public (to the Internet) or private (to other networks).").
				Default("'public'").CreateOnly().OneOf("private", "public"),
			declare.Ref("elastic_ip_id", "Address.AllocationId", "elastic_ip", "allocation_id",
				"The address of a public one.").CreateOnly().In("AllocationId"),
			declare.Text("state", "State", "pending, available, deleting or failed.").Computed(),
			declare.Text("failure_message", "FailureMessage", "Why it failed.").Computed(),
			declare.Text("public_ip", "Address.PublicIp",
				"The address that traffic to the Internet comes from.").Computed(),
			declare.Text("private_ip", "Address.PrivateIp", "Its address in the subnet.").Computed(),
			declare.EC2Tags(ec2types.ResourceTypeNatgateway),
		},
		Checks: []string{"connectivity_type = 'public' OR elastic_ip_id IS NULL"},
		// An address can be of one gateway only.
		DestroyBeforeCreate: true,

		EventMappings: modules.EventMappings("ec2.amazonaws.com",
			modules.Request("natGatewayId", "AssignPrivateNatGatewayAddress", "UnassignPrivateNatGatewayAddress",
				"AssociateNatGatewayAddress", "DisassociateNatGatewayAddress"),
		),
		List: declare.Pages(ec2.NewDescribeNatGatewaysPaginator, "NatGateways",
			declare.With(&ec2.DescribeNatGatewaysInput{MaxResults: awssdk.Int32(aws.PageSize)}),
			declare.Convert(primary)),
		Get: declare.EC2Filter("nat-gateway-id"),
		// is listed for an hour more
		Gone:   func(g *natGateway) bool { return g.State == ec2types.NatGatewayStateDeleted },
		Create: declare.Call((*ec2.Client).CreateNatGateway, declare.Answer("NatGateway")),
		Delete: declare.Call((*ec2.Client).DeleteNatGateway),

		Going:   declare.In("state", string(ec2types.NatGatewayStateDeleting)),
		Forming: declare.In("state", string(ec2types.NatGatewayStatePending)),
		// It is shown for about an hour, and then gone (VPC User Guide, "Troubleshoot
		// NAT gateways").
		Failed: declare.In("state", string(ec2types.NatGatewayStateFailed)).Because("failure_message"),
	})
}

// primary finds a gateway's address: there is one unless others have been added,
// which are said not to be primary.
func primary(g ec2types.NatGateway) natGateway {
	for _, a := range g.NatGatewayAddresses {
		if a.IsPrimary == nil || *a.IsPrimary {
			return natGateway{g, a}
		}
	}
	return natGateway{NatGateway: g}
}
