package awsvpc

import (
	"context"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

// local is the gateway of the routes within the VPC.
const local = "local"

// route is a route with what its route table says, and with its gateway in
// InternetGatewayId if that is an internet gateway.
type route struct {
	ec2types.Route
	RouteTableId, Destination, InternetGatewayId *string
	mainOf                                       *string // the VPC whose main route table it is of
}

// targets are the columns that say where a route goes to.
var targets = []string{
	"internet_gateway_id", "nat_gateway_id", "vpc_peering_connection_id", "gateway_id",
	"egress_only_internet_gateway_id", "instance_id",
	"network_interface_id", "transit_gateway_id", "local_gateway_id", "carrier_gateway_id", "core_network_arn",
	"odb_network_arn",
}

// newRoute declares the table route.
func newRoute(c *aws.Clients) *declare.Resource {
	to := func(name, member, doc string) declare.Column {
		// AWS says two of an instance: its id, and that of its interface. What
		// is NULL has not been asked for.
		return declare.Text(name, member, doc).OptionalComputed()
	}
	return declare.New(c, declare.Table[route]{
		Name: "route",
		Doc: "Routes of route tables: which traffic goes where. Each has one target, which is set in one of the " +
			"columns for targets.",
		Service: declare.Service(ec2.NewFromConfig),
		Columns: []declare.Column{
			declare.Ref("route_table_id", "RouteTableId", "route_table", "route_table_id", "The route table it is of.").
				Required().Identity().CreateOnly().Part(modules.PartAlong, ""),
			declare.Name("destination", "Destination",
				"Where the traffic is going: an IPv4 or IPv6 network, such as 0.0.0.0/0, or a prefix list's id, such "+
					"as pl-0a1b2c3d.").
				Check("CASE WHEN destination LIKE 'pl-%' THEN true WHEN destination ~ '^[0-9a-f:.]+/[0-9]{1,3}$' " +
					"THEN destination::cidr::text = destination ELSE false END"),
			declare.Ref("internet_gateway_id", "InternetGatewayId", "internet_gateway", "internet_gateway_id",
				"Target: an internet gateway. (In IaSQL it was in gateway_id.)").
				OptionalComputed().In("GatewayId"),
			declare.Ref("nat_gateway_id", "NatGatewayId", "nat_gateway", "nat_gateway_id",
				"Target: a NAT gateway. (In IaSQL a text.)").OptionalComputed(),
			declare.Ref("vpc_peering_connection_id", "VpcPeeringConnectionId", "peering_connection",
				"peering_connection_id", "Target: a peering connection, which may be of another region: that of the "+
					"VPC that asked for it. (In IaSQL a text.)").OptionalComputed().AnyScope(),
			to("gateway_id", "GatewayId", "Target: another gateway by its id: a virtual private gateway (vgw-…), a "+
				"VPC endpoint (vpce-…), or local."),
			to("egress_only_internet_gateway_id", "EgressOnlyInternetGatewayId",
				"Target: an egress-only internet gateway, for IPv6."),
			to("instance_id", "InstanceId", "Target: an instance with one network interface."),
			to("network_interface_id", "NetworkInterfaceId", "Target: a network interface."),
			to("transit_gateway_id", "TransitGatewayId", "Target: a transit gateway."),
			to("local_gateway_id", "LocalGatewayId", "Target: a local gateway."),
			to("carrier_gateway_id", "CarrierGatewayId", "Target: a carrier gateway."),
			to("core_network_arn", "CoreNetworkArn", "Target: a core network."),
			declare.Text("instance_owner_id", "InstanceOwnerId", "The account that owns the instance.").Computed(),
			declare.Text("state", "State", "active, or blackhole if the target is gone.").Computed(),
			declare.Text("origin", "Origin",
				"Who made it: CreateRouteTable (local routes), CreateRoute, or EnableVgwRoutePropagation.").Computed(),
			declare.Bool("is_default", "", "Whether it is the default VPC's route to the Internet.").Computed(),
		},
		Published: declare.Published{Type: "AWS::EC2::Route", Since: 6,
			Columns: map[string]string{"DestinationCidrBlock": "destination", "DestinationIpv6CidrBlock": "destination",
				"DestinationPrefixListId": "destination", "VpcEndpointId": "gateway_id"},
			Docs: map[string]string{"OdbNetworkArn": "Target: a network of Oracle Database@AWS."},
		},
		EventMappings: modules.EventMappings("ec2.amazonaws.com",
			modules.Request("routeTableId", "EnableVgwRoutePropagation", "DisableVgwRoutePropagation"),
			modules.Unnamed("CreateVpcEndpoint", "ModifyVpcEndpoint", "DeleteVpcEndpoints"),
		),
		List: routeTables(declare.Expand(routesOf)),
		Get:  declare.EC2Filter("route-table-id").Of("route_table_id"),
		Rows: ofDefaultVPC,
		Create: declare.Call((*ec2.Client).CreateRoute,
			declare.Fill(func(s *declare.Step, in *ec2.CreateRouteInput) {
				into(s.Want, &in.DestinationCidrBlock, &in.DestinationIpv6CidrBlock, &in.DestinationPrefixListId)
				if strings.HasPrefix(awssdk.ToString(in.GatewayId), "vpce-") {
					in.GatewayId, in.VpcEndpointId = nil, in.GatewayId
				}
			})),
		Updates: []declare.Update{
			declare.By(oneTarget, targets...),
			declare.Modify(declare.Call((*ec2.Client).ReplaceRoute,
				declare.Fill(func(s *declare.Step, in *ec2.ReplaceRouteInput) {
					into(s.Have, &in.DestinationCidrBlock, &in.DestinationIpv6CidrBlock, &in.DestinationPrefixListId)
					switch gateway := awssdk.ToString(in.GatewayId); {
					case gateway == local:
						in.GatewayId, in.LocalTarget = nil, awssdk.Bool(true)
					case strings.HasPrefix(gateway, "vpce-"):
						in.GatewayId, in.VpcEndpointId = nil, in.GatewayId
					}
				})), targets...),
		},
		Delete: declare.Call((*ec2.Client).DeleteRoute,
			declare.Fill(func(s *declare.Step, in *ec2.DeleteRouteInput) {
				into(s.Have, &in.DestinationCidrBlock, &in.DestinationIpv6CidrBlock, &in.DestinationPrefixListId)
			})),
		Refuses: []declare.Refusal{{When: func(have modules.Row) bool { return have["gateway_id"].String() == local },
			Why:    "it is the local route, which goes with the route table",
			Source: "https://docs.aws.amazon.com/vpc/latest/userguide/RouteTables.html"}},
		Protected: keepRoute,
	})
}

func routesOf(t ec2types.RouteTable) []route {
	var routes []route
	for _, r := range t.Routes {
		one := route{Route: r, RouteTableId: t.RouteTableId}
		for _, d := range []*string{r.DestinationCidrBlock, r.DestinationIpv6CidrBlock, r.DestinationPrefixListId} {
			if one.Destination == nil && awssdk.ToString(d) != "" {
				one.Destination = d
			}
		}
		if strings.HasPrefix(awssdk.ToString(r.GatewayId), "igw-") {
			one.InternetGatewayId, one.GatewayId = r.GatewayId, nil
		}
		if mainAssociation(t) != nil {
			one.mainOf = t.VpcId
		}
		if one.Destination != nil {
			routes = append(routes, one)
		}
	}
	return routes
}

// ofDefaultVPC fills is_default.
func ofDefaultVPC(ctx context.Context, s *declare.Step, routes []*route, rows []modules.Row) error {
	var known *standard
	for i, r := range routes {
		row := rows[i]
		row["is_default"] = modules.Bool(false)
		if r.mainOf == nil || r.InternetGatewayId == nil || *r.Destination != "0.0.0.0/0" {
			continue
		}
		if known == nil {
			found, err := defaultVPC(ctx, s)
			if err != nil {
				return err
			}
			known = &found
		}
		row["is_default"] = modules.Bool(known.is(r.mainOf))
	}
	return nil
}

// into says in which member of a request the destination goes.
func into(row modules.Row, v4, v6, list **string) {
	switch text := row["destination"].String(); {
	case strings.HasPrefix(text, "pl-"):
		*list = &text
	case strings.Contains(text, ":"):
		*v6 = &text
	default:
		*v4 = &text
	}
}

// oneTarget refuses a change to anything but one target. One that replaces
// another is the one that has been set; the columns that are left over are those
// of the old one.
func oneTarget(_ context.Context, s *declare.Step) error {
	set := 0
	for _, column := range s.Columns {
		if !s.Want[column].IsNull() {
			set++
		}
	}
	if set != 1 {
		return &modules.Error{Class: modules.Invalid, Code: "Target",
			Message: "a route has one target: set the new one, and the old one to NULL if you like"}
	}
	return nil
}

// keepRoute keeps the routes that nobody has made by themselves, and the default
// VPC's way to the Internet, without which an account is soon found to be broken.
func keepRoute(have modules.Row) string {
	gateway := have["gateway_id"].String()
	switch {
	case have["origin"].String() == string(ec2types.RouteOriginEnableVgwRoutePropagation):
		return "it was propagated by a virtual private gateway"
	case strings.HasPrefix(gateway, "vpce-") && strings.HasPrefix(have["destination"].String(), "pl-"):
		return "it is the route of a gateway endpoint, which goes with route_table_ids of endpoint_gateway"
	case have["is_default"].Bool():
		return "it is the default VPC's route to the Internet, which AWS made by itself"
	}
	return ""
}
