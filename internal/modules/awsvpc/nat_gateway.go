package awsvpc

import (
	"context"
	"slices"

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
	// the others, by what each kind of gateway is told of them
	SecondaryAllocations, SecondaryIps []string
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
					"one; NULL for regional gateways, which are in a VPC and no subnet.").CreateOnly().
				OptionalComputed(),
			declare.Text("connectivity_type", "ConnectivityType",
				"public (to the Internet) or private (to other networks).").
				Default("'public'").CreateOnly().OneOf("private", "public"),
			declare.Ref("elastic_ip_id", "Address.AllocationId", "elastic_ip", "allocation_id",
				"The address of a public one.").CreateOnly().In("AllocationId"),
			declare.Integer("max_drain_duration_seconds", "",
				"How many seconds a further address is still used by connections after it has been taken away, "+
					"from 1 to 4000; 350 if left out.").Local().Between(1, 4000).Since(6),
			declare.Texts("secondary_allocation_ids", "SecondaryAllocations",
				"The ids of the allocations of further public addresses that it has.").
				In("SecondaryAllocationIds").OptionalComputed().Unordered().EmptyIsNull().Since(6).
				Records("elastic_ip", "allocation_id", 7),
			declare.Texts("secondary_private_ip_addresses", "SecondaryIps",
				"The further addresses that a private one has in its subnet.").
				In("SecondaryPrivateIpAddresses").OptionalComputed().Unordered().EmptyIsNull().Since(6),
			declare.Text("state", "State", "pending, available, deleting or failed.").Computed(),
			declare.Text("failure_message", "FailureMessage", "Why it failed.").Computed(),
			declare.Text("public_ip", "Address.PublicIp",
				"The address that traffic to the Internet comes from.").Computed(),
			declare.Text("private_ip", "Address.PrivateIp", "Its address in the subnet.").Computed(),
			declare.EC2Tags(ec2types.ResourceTypeNatgateway),
		},
		Published: declare.Published{Type: "AWS::EC2::NatGateway", Since: 6,
			Along: []string{"AvailabilityZoneAddresses", "SecondaryPrivateIpAddressCount"},
			Without: map[string]string{"PrivateIpAddress": "AWS gives it one of its subnet, and a gateway in the " +
				"place of another may be in another subnet"},
			Docs: map[string]string{
				"AvailabilityMode": "Whether it is in one availability zone (zonal, if left out) or in " +
					"those of a VPC (regional).",
				"SecondaryPrivateIpAddressCount": "How many further private addresses a private gateway begins with. " +
					"It matters when the row is inserted, and never again.",
				"VpcId": "The VPC of a regional gateway, which has no subnet_id.",
			},
		},
		Checks: []string{"connectivity_type = 'public' OR elastic_ip_id IS NULL"},
		// An address can be of one gateway only.
		DestroyBeforeCreate: true,

		EventMappings: modules.EventMappings("ec2.amazonaws.com",
			modules.Request("natGatewayId", "AssignPrivateNatGatewayAddress", "UnassignPrivateNatGatewayAddress",
				"AssociateNatGatewayAddress", "DisassociateNatGatewayAddress"),
		),
		List: declare.Pages(ec2.NewDescribeNatGatewaysPaginator, "NatGateways", declare.PageSize(aws.PageSize),
			declare.Convert(primary)),
		Get: declare.EC2Filter("nat-gateway-id"),
		// is listed for an hour more
		Gone: func(g *natGateway) bool { return g.State == ec2types.NatGatewayStateDeleted },
		Create: declare.Call((*ec2.Client).CreateNatGateway, declare.Answer("NatGateway"),
			declare.Fill(func(_ *declare.Step, in *ec2.CreateNatGatewayInput) {
				if in.SubnetId != nil { // it is not regional, and the subnet says which VPC
					in.VpcId = nil
				}
			})),
		Updates: []declare.Update{declare.By(addAddresses, "secondary_allocation_ids",
			"secondary_private_ip_addresses")},
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
	gateway := natGateway{NatGateway: g}
	found := false
	for _, a := range g.NatGatewayAddresses {
		switch {
		case !found && (a.IsPrimary == nil || *a.IsPrimary):
			gateway.Address, found = a, true
		case g.AvailabilityMode == ec2types.AvailabilityModeRegional: // AWS adds those by itself
		case a.Status == ec2types.NatGatewayAddressStatusFailed ||
			a.Status == ec2types.NatGatewayAddressStatusDisassociating ||
			a.Status == ec2types.NatGatewayAddressStatusUnassigning:
		case a.AllocationId != nil:
			gateway.SecondaryAllocations = append(gateway.SecondaryAllocations, *a.AllocationId)
		case a.PrivateIp != nil:
			gateway.SecondaryIps = append(gateway.SecondaryIps, *a.PrivateIp)
		}
	}
	return gateway
}

// addAddresses gives a gateway further addresses, and takes those from it that it is not to have.
func addAddresses(ctx context.Context, s *declare.Step) error {
	client, id := declare.ClientOf[*ec2.Client](s), s.Have["nat_gateway_id"].Ptr()
	change := func(column string) (added, gone []string) {
		if !s.Changes(column) || s.Want[column].IsNull() {
			return nil, nil
		}
		return s.Added(column)
	}
	added, gone := change("secondary_allocation_ids")
	if len(added) > 0 {
		if _, err := client.AssociateNatGatewayAddress(ctx,
			&ec2.AssociateNatGatewayAddressInput{NatGatewayId: id, AllocationIds: added}); err != nil {
			return err
		}
	}
	if len(gone) > 0 {
		associations, err := associationsWith(ctx, client, *id, gone)
		if err != nil || len(associations) == 0 {
			return err
		}
		in := &ec2.DisassociateNatGatewayAddressInput{NatGatewayId: id, AssociationIds: associations,
			MaxDrainDurationSeconds: s.Want["max_drain_duration_seconds"].Int32Ptr()}
		if _, err := client.DisassociateNatGatewayAddress(ctx, in); err != nil {
			return err
		}
	}
	added, gone = change("secondary_private_ip_addresses")
	if len(added) > 0 {
		if _, err := client.AssignPrivateNatGatewayAddress(ctx,
			&ec2.AssignPrivateNatGatewayAddressInput{NatGatewayId: id, PrivateIpAddresses: added}); err != nil {
			return err
		}
	}
	if len(gone) > 0 {
		_, err := client.UnassignPrivateNatGatewayAddress(ctx, &ec2.UnassignPrivateNatGatewayAddressInput{
			NatGatewayId: id, PrivateIpAddresses: gone,
			MaxDrainDurationSeconds: s.Want["max_drain_duration_seconds"].Int32Ptr()})
		return err
	}
	return nil
}

// associationsWith returns the ids of a gateway's associations with allocations.
func associationsWith(ctx context.Context, client *ec2.Client, id string, allocations []string) ([]string, error) {
	out, err := client.DescribeNatGateways(ctx, &ec2.DescribeNatGatewaysInput{NatGatewayIds: []string{id}})
	if err != nil {
		return nil, err
	}
	var found []string
	for _, g := range out.NatGateways {
		for _, a := range g.NatGatewayAddresses {
			if a.AssociationId != nil && a.AllocationId != nil && slices.Contains(allocations, *a.AllocationId) {
				found = append(found, *a.AssociationId)
			}
		}
	}
	return found, nil
}
