// Package awsvpc is the module aws_vpc: virtual private clouds and what they are
// made of: subnets, route tables, gateways, addresses, access control lists,
// endpoints, peering connections.
//
// It promises what the contract in package modules asks of its tables. Most
// objects are created with a tag that holds the creation's token, because their
// Create calls take no client token. What AWS makes with a VPC (its main route
// table, local routes, default network ACL) is listed, stays, and goes with the
// VPC; so are the parts of a region's default VPC.
package awsvpc

import (
	_ "embed"

	"iasql/internal/aws"
	"iasql/internal/modules"
)

var (
	//go:embed sql/after.sql
	after string
	//go:embed sql/drop.sql
	drop string
)

// Module returns the module aws_vpc, whose calls go through c.
func Module(c *aws.Clients) *modules.Module {
	return &modules.Module{
		Name:    "aws_vpc",
		Version: 7,
		Doc: "Virtual private clouds (VPC): subnets, routing, gateways, addresses, access control, " +
			"endpoints and peering.",
		Dependencies: []string{"aws_account"},
		Resources: []modules.Resource{
			newAvailabilityZone(c), newDHCPOptions(c), newVPC(c), newNetworkACL(c), newSubnet(c),
			newInternetGateway(c), newElasticIP(c), newNATGateway(c), newPeering(c),
			newRouteTable(c), newAssociation(c), newRoute(c),
			newGatewayEndpoint(c), newInterfaceEndpoint(c), newEndpointSubnets(c),
		},
		Migrations: map[int]string{
			2: after,
			3: "ALTER TABLE public.nat_gateway ALTER subnet_id DROP NOT NULL", // regional gateways have none
			// The accepter's routes lead to a connection whose record is the requester's.
			5: `ALTER TABLE public.route DROP CONSTRAINT route_vpc_peering_connection_id_fkey,
				ADD CONSTRAINT route_vpc_peering_connection_id_fkey FOREIGN KEY (vpc_peering_connection_id) REFERENCES public.peering_connection (id) DEFERRABLE`,
		},
		Drop: drop,
	}
}
