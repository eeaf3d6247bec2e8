package awsvpc

import (
	"context"
	"slices"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"iasql/internal/aws"
	"iasql/internal/modules"
)

// route is the table route.
type route struct {
	clients     *aws.Clients
	description *modules.Table
}

func newRoute(c *aws.Clients) *route { return &route{clients: c, description: describeRoute()} }

// local is the gateway of the routes within the VPC.
const local = "local"

// target is a column that says where a route goes to, and its field in the API.
type target struct {
	column string
	get    func(ec2types.Route) *string
	create func(*ec2.CreateRouteInput) **string
	change func(*ec2.ReplaceRouteInput) **string
}

var targets = []target{
	{
		"internet_gateway_id", nil, // shares a field with gateway_id
		func(in *ec2.CreateRouteInput) **string { return &in.GatewayId },
		func(in *ec2.ReplaceRouteInput) **string { return &in.GatewayId },
	},
	{
		"nat_gateway_id", func(r ec2types.Route) *string { return r.NatGatewayId },
		func(in *ec2.CreateRouteInput) **string { return &in.NatGatewayId },
		func(in *ec2.ReplaceRouteInput) **string { return &in.NatGatewayId },
	},
	{
		"vpc_peering_connection_id", func(r ec2types.Route) *string { return r.VpcPeeringConnectionId },
		func(in *ec2.CreateRouteInput) **string { return &in.VpcPeeringConnectionId },
		func(in *ec2.ReplaceRouteInput) **string { return &in.VpcPeeringConnectionId },
	},
	{
		"gateway_id", nil,
		func(in *ec2.CreateRouteInput) **string { return &in.GatewayId },
		func(in *ec2.ReplaceRouteInput) **string { return &in.GatewayId },
	},
	{
		"egress_only_internet_gateway_id", func(r ec2types.Route) *string { return r.EgressOnlyInternetGatewayId },
		func(in *ec2.CreateRouteInput) **string { return &in.EgressOnlyInternetGatewayId },
		func(in *ec2.ReplaceRouteInput) **string { return &in.EgressOnlyInternetGatewayId },
	},
	{
		"instance_id", func(r ec2types.Route) *string { return r.InstanceId },
		func(in *ec2.CreateRouteInput) **string { return &in.InstanceId },
		func(in *ec2.ReplaceRouteInput) **string { return &in.InstanceId },
	},
	{
		"network_interface_id", func(r ec2types.Route) *string { return r.NetworkInterfaceId },
		func(in *ec2.CreateRouteInput) **string { return &in.NetworkInterfaceId },
		func(in *ec2.ReplaceRouteInput) **string { return &in.NetworkInterfaceId },
	},
	{
		"transit_gateway_id", func(r ec2types.Route) *string { return r.TransitGatewayId },
		func(in *ec2.CreateRouteInput) **string { return &in.TransitGatewayId },
		func(in *ec2.ReplaceRouteInput) **string { return &in.TransitGatewayId },
	},
	{
		"local_gateway_id", func(r ec2types.Route) *string { return r.LocalGatewayId },
		func(in *ec2.CreateRouteInput) **string { return &in.LocalGatewayId },
		func(in *ec2.ReplaceRouteInput) **string { return &in.LocalGatewayId },
	},
	{
		"carrier_gateway_id", func(r ec2types.Route) *string { return r.CarrierGatewayId },
		func(in *ec2.CreateRouteInput) **string { return &in.CarrierGatewayId },
		func(in *ec2.ReplaceRouteInput) **string { return &in.CarrierGatewayId },
	},
	{
		"core_network_arn", func(r ec2types.Route) *string { return r.CoreNetworkArn },
		func(in *ec2.CreateRouteInput) **string { return &in.CoreNetworkArn },
		func(in *ec2.ReplaceRouteInput) **string { return &in.CoreNetworkArn },
	},
}

func describeRoute() *modules.Table {
	to := func(name, doc string) modules.Column {
		// AWS says two of an instance: its id, and that of its interface. What
		// is NULL has not been asked for.
		return modules.Column{Name: name, Type: modules.TypeText, Chosen: true, Doc: doc}
	}
	ref := func(name, table, key, doc string) modules.Column {
		return modules.Column{Name: name, Type: modules.TypeBigint, Chosen: true,
			References: &modules.Reference{Table: table, Key: key}, Doc: doc}
	}
	return &modules.Table{
		Name:     "route",
		Doc:      "Routes of route tables: which traffic goes where. Each has one target, which is set in one of the columns for targets.",
		Provider: aws.Provider,
		Reach:    modules.PerRegion,
		Creation: modules.ByName,
		Columns: aws.Regional(
			modules.Column{Name: "route_table_id", Type: modules.TypeBigint, Required: true, Identity: true, CreateOnly: true,
				References: &modules.Reference{Table: "route_table", Key: "route_table_id", Part: modules.PartAlong},
				Doc:        "The route table it is of."},
			modules.Column{Name: "destination", Type: modules.TypeText, Required: true, Identity: true, CreateOnly: true,
				Check: "CASE WHEN destination LIKE 'pl-%' THEN true ELSE destination::cidr::text = destination END",
				Doc:   "Where the traffic is going: an IPv4 or IPv6 network, such as 0.0.0.0/0, or a prefix list's id, such as pl-0a1b2c3d."},
			ref("internet_gateway_id", "internet_gateway", "internet_gateway_id", "Target: an internet gateway. (In IaSQL it was in gateway_id.)"),
			ref("nat_gateway_id", "nat_gateway", "nat_gateway_id", "Target: a NAT gateway. (In IaSQL a text.)"),
			ref("vpc_peering_connection_id", "peering_connection", "peering_connection_id", "Target: a peering connection. (In IaSQL a text.)"),
			to("gateway_id", "Target: another gateway by its id: a virtual private gateway (vgw-…), a VPC endpoint (vpce-…), or local."),
			to("egress_only_internet_gateway_id", "Target: an egress-only internet gateway, for IPv6."),
			to("instance_id", "Target: an instance with one network interface."),
			to("network_interface_id", "Target: a network interface."),
			to("transit_gateway_id", "Target: a transit gateway."),
			to("local_gateway_id", "Target: a local gateway."),
			to("carrier_gateway_id", "Target: a carrier gateway."),
			to("core_network_arn", "Target: a core network."),
			modules.Column{Name: "instance_owner_id", Type: modules.TypeText, Assigned: true,
				Doc: "The account that owns the instance."},
			modules.Column{Name: "state", Type: modules.TypeText, Assigned: true,
				Doc: "active, or blackhole if the target is gone."},
			modules.Column{Name: "origin", Type: modules.TypeText, Assigned: true,
				Doc: "Who made it: CreateRouteTable (local routes), CreateRoute, or EnableVgwRoutePropagation."},
			modules.Column{Name: "is_default", Type: modules.TypeBool, Assigned: true,
				Doc: "Whether it is the default VPC's route to the Internet."},
		),
	}
}

// Table returns the description.
func (r *route) Table() *modules.Table { return r.description }

// List gives every route of the scope to page.
func (r *route) List(ctx context.Context, scope modules.Scope, page func([]modules.Row) error) error {
	client, err := r.clients.EC2(ctx, scope)
	if err != nil {
		return err
	}
	return routeTables(ctx, client, nil, func(tables []ec2types.RouteTable) error {
		rows, err := routeRows(ctx, client, tables)
		if err != nil {
			return err
		}
		return page(rows)
	})
}

// Get reads these routes, by way of their route tables.
func (r *route) Get(ctx context.Context, scope modules.Scope, identities []modules.Row) ([]modules.Row, error) {
	client, err := r.clients.EC2(ctx, scope)
	if err != nil {
		return nil, err
	}
	var rows []modules.Row
	err = aws.EC2Chunks(aws.Column(identities, "route_table_id"), "route-table-id", func(filters []ec2types.Filter) error {
		return routeTables(ctx, client, filters, func(tables []ec2types.RouteTable) error {
			some, err := routeRows(ctx, client, tables)
			rows = append(rows, some...)
			return err
		})
	})
	return aws.Wanted(r.description, rows, identities), err
}

func routeRows(ctx context.Context, client *ec2.Client, tables []ec2types.RouteTable) ([]modules.Row, error) {
	main := slices.ContainsFunc(tables, func(t ec2types.RouteTable) bool { return mainAssociation(t) != nil })
	standard, err := defaultVPC(ctx, client, main)
	if err != nil {
		return nil, err
	}
	var rows []modules.Row
	for _, t := range tables {
		for _, route := range t.Routes {
			row := modules.Row{
				"route_table_id":      modules.TextPtr(t.RouteTableId),
				"destination":         destination(route),
				"internet_gateway_id": modules.Null,
				"gateway_id":          modules.Null,
				"instance_owner_id":   modules.NonEmpty(awssdk.ToString(route.InstanceOwnerId)),
				"state":               modules.NonEmpty(route.State),
				"origin":              modules.NonEmpty(route.Origin),
			}
			if row["destination"].IsNull() {
				continue
			}
			for _, to := range targets {
				if to.get != nil {
					row[to.column] = modules.NonEmpty(awssdk.ToString(to.get(route)))
				}
			}
			gateway := awssdk.ToString(route.GatewayId)
			internet := strings.HasPrefix(gateway, "igw-")
			if internet {
				row["internet_gateway_id"] = modules.Text(gateway)
			} else {
				row["gateway_id"] = modules.NonEmpty(gateway)
			}
			row["is_default"] = modules.Bool(internet && mainAssociation(t) != nil && standard.is(t.VpcId) && row["destination"].String() == "0.0.0.0/0")
			rows = append(rows, row)
		}
	}
	return rows, nil
}

func destination(r ec2types.Route) modules.Value {
	for _, d := range []*string{r.DestinationCidrBlock, r.DestinationIpv6CidrBlock, r.DestinationPrefixListId} {
		if awssdk.ToString(d) != "" {
			return modules.TextPtr(d)
		}
	}
	return modules.Null
}

// into says in which field of a request the destination goes.
func into(destination modules.Value, v4, v6, list **string) {
	switch text := destination.String(); {
	case strings.HasPrefix(text, "pl-"):
		*list = &text
	case strings.Contains(text, ":"):
		*v6 = &text
	default:
		*v4 = &text
	}
}

// Create creates a route.
func (r *route) Create(ctx context.Context, scope modules.Scope, want modules.Row, _ string) (modules.Row, error) {
	client, err := r.clients.EC2(ctx, scope)
	if err != nil {
		return nil, err
	}
	in := &ec2.CreateRouteInput{RouteTableId: want["route_table_id"].Ptr()}
	into(want["destination"], &in.DestinationCidrBlock, &in.DestinationIpv6CidrBlock, &in.DestinationPrefixListId)
	for _, to := range targets {
		if v := want[to.column]; !v.IsNull() {
			*to.create(in) = v.Ptr()
		}
	}
	if strings.HasPrefix(awssdk.ToString(in.GatewayId), "vpce-") {
		in.GatewayId, in.VpcEndpointId = nil, in.GatewayId
	}
	if _, err := client.CreateRoute(ctx, in); err != nil {
		return nil, err
	}
	return modules.Row{"route_table_id": want["route_table_id"], "destination": want["destination"]}, nil
}

// Update changes the target. One that replaces another is the one that has been
// set; the columns that are left over are those of the old one.
func (r *route) Update(ctx context.Context, scope modules.Scope, have, want modules.Row, columns []string) error {
	client, err := r.clients.EC2(ctx, scope)
	if err != nil {
		return err
	}
	in := &ec2.ReplaceRouteInput{RouteTableId: have["route_table_id"].Ptr()}
	into(have["destination"], &in.DestinationCidrBlock, &in.DestinationIpv6CidrBlock, &in.DestinationPrefixListId)
	set := 0
	for _, to := range targets {
		if v := want[to.column]; !v.IsNull() && slices.Contains(columns, to.column) {
			*to.change(in) = v.Ptr()
			set++
		}
	}
	if set != 1 {
		return &modules.Error{Class: modules.Invalid, Code: "Target", Message: "a route has one target: set the new one, and the old one to NULL if you like"}
	}
	switch gateway := awssdk.ToString(in.GatewayId); {
	case gateway == local:
		in.GatewayId, in.LocalTarget = nil, awssdk.Bool(true)
	case strings.HasPrefix(gateway, "vpce-"):
		in.GatewayId, in.VpcEndpointId = nil, in.GatewayId
	}
	_, err = client.ReplaceRoute(ctx, in)
	return err
}

// Delete deletes a route.
func (r *route) Delete(ctx context.Context, scope modules.Scope, have modules.Row) error {
	if err := aws.Keep(r.Protected(have)); err != nil {
		return err
	}
	client, err := r.clients.EC2(ctx, scope)
	if err != nil {
		return err
	}
	in := &ec2.DeleteRouteInput{RouteTableId: have["route_table_id"].Ptr()}
	into(have["destination"], &in.DestinationCidrBlock, &in.DestinationIpv6CidrBlock, &in.DestinationPrefixListId)
	_, err = client.DeleteRoute(ctx, in)
	return aws.IfExists(err)
}

// Protected keeps the routes that nobody has made by themselves, and the
// default VPC's way to the Internet, without which an account is soon found to
// be broken.
func (r *route) Protected(have modules.Row) string {
	gateway := have["gateway_id"].String()
	switch {
	case gateway == local:
		return "it is the local route, which goes with the route table"
	case have["origin"].String() == string(ec2types.RouteOriginEnableVgwRoutePropagation):
		return "it was propagated by a virtual private gateway"
	case strings.HasPrefix(gateway, "vpce-") && strings.HasPrefix(have["destination"].String(), "pl-"):
		return "it is the route of a gateway endpoint, which goes with route_table_ids of endpoint_gateway"
	case have["is_default"].Bool():
		return "it is the default VPC's route to the Internet, which AWS made by itself"
	}
	return ""
}
