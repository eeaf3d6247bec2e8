package awsvpc

import (
	"context"
	"testing"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
	"iasql/internal/test/awstest"
)

var east = awstest.Scope("us-east-1")

func text(s string) modules.Value { return modules.Text(s) }

// build creates an object that a test needs, and returns its row.
func build(t *testing.T, r modules.Resource, want modules.Row) modules.Row {
	t.Helper()
	ctx, permit := t.Context(), awstest.Permit()
	row, err := awstest.Create(ctx, r.(modules.Creator), permit, east, want, t.Name())
	if err != nil {
		t.Fatal(err)
	}
	rows, err := awstest.Get(ctx, r, east, []modules.Row{row})
	if err != nil || len(rows) != 1 {
		t.Fatalf("get %v: %v, %v", row, rows, err)
	}
	return rows[0]
}

func all(t *testing.T, r modules.Resource) []modules.Row {
	t.Helper()
	page, rows := aws.Collector()
	if err := awstest.List(t.Context(), r, east, page); err != nil {
		t.Fatal(err)
	}
	return rows()
}

// network makes a VPC and a subnet.
func network(t *testing.T, c *aws.Clients, cidr, part string) (v, s modules.Row) {
	t.Helper()
	v = build(t, newVPC(c), modules.Row{"cidr_block": text(cidr)})
	s = build(t, newSubnet(c), modules.Row{"vpc_id": v["vpc_id"], "cidr_block": text(part),
		"availability_zone": text("us-east-1a")})
	return v, s
}

// stays checks that deleting the object is refused, without a call.
func stays(t *testing.T, r interface {
	modules.Resource
	Protected(modules.Row) string
	modules.Deleter
}, have modules.Row) {
	t.Helper()
	journal := &awstest.Journal{}
	err := awstest.Delete(context.Background(), r, awstest.PermitBy(journal), east, have)
	if calls, _ := journal.Take(); modules.ClassOf(err) != modules.Invalid || err == nil || len(calls) > 0 ||
		r.Protected(have) == "" {
		t.Errorf("%s: delete of %v: %v, with the calls %v", r.Table().Name, have, err, calls)
	}
}

func TestInternetGatewayLifecycle(t *testing.T) {
	t.Parallel()
	c := awstest.Clients(t)
	a, _ := network(t, c, "10.1.0.0/16", "10.1.1.0/24")
	b, _ := network(t, c, "10.2.0.0/16", "10.2.1.0/24")
	awstest.Lifecycle(t, awstest.Case{
		Resource: newInternetGateway(c),
		Scope:    east,
		Want:     modules.Row{"vpc_id": a["vpc_id"], "tags": tags(map[string]string{"env": "test"})},
		Changes: map[string][]modules.Value{
			"vpc_id": {b["vpc_id"], modules.Null, a["vpc_id"]},
			"tags":   {tags(map[string]string{"a": "1"}), modules.Null},
		},
		Calls: map[string]int{"vpc_id": 2, "tags": 2},
	})
}

func TestRouteTableLifecycle(t *testing.T) {
	t.Parallel()
	c := awstest.Clients(t)
	v, _ := network(t, c, "10.1.0.0/16", "10.1.1.0/24")
	awstest.Lifecycle(t, awstest.Case{
		Resource:  newRouteTable(c),
		Scope:     east,
		Want:      modules.Row{"vpc_id": v["vpc_id"], "is_main": no, "tags": tags(map[string]string{"env": "test"})},
		Elsewhere: []string{"is_main"}, // a main route table cannot be deleted
		Changes:   map[string][]modules.Value{"tags": {tags(map[string]string{"a": "1"}), modules.Null}},
		Calls:     map[string]int{"tags": 2},
	})
}

// A VPC always has one main route table, and it changes when another is made it.
func TestMainRouteTable(t *testing.T) {
	t.Parallel()
	c := awstest.Clients(t)
	tables := newRouteTable(c)
	v, _ := network(t, c, "10.1.0.0/16", "10.1.1.0/24")
	ctx, permit := t.Context(), awstest.Permit()
	main := func() (ids []string) {
		for _, row := range all(t, tables) {
			if row["vpc_id"] == v["vpc_id"] && row["is_main"].Bool() {
				stays(t, tables, row)
				ids = append(ids, row["route_table_id"].String())
			}
		}
		return ids
	}
	first := main()
	if len(first) != 1 {
		t.Fatalf("main route tables: %v", first)
	}
	second := build(t, tables, modules.Row{"vpc_id": v["vpc_id"]})
	if err := awstest.Update(ctx, tables, permit, east, second, modules.Row{"is_main": yes}, []string{"is_main"}); err != nil {
		t.Fatal(err)
	}
	if now := main(); len(now) != 1 || now[0] != second["route_table_id"].String() {
		t.Errorf("main route tables: %v, want %v", now, second)
	}
	err := awstest.Update(ctx, tables, permit, east, second, modules.Row{"is_main": no}, []string{"is_main"})
	if err == nil || modules.ClassOf(err) != modules.Dependency {
		t.Errorf("got %v, want an error of class %s", err, modules.Dependency)
	}
	old := modules.Row{"route_table_id": text(first[0]), "vpc_id": v["vpc_id"], "is_main": no}
	if err := awstest.Update(ctx, tables, permit, east, old, old, []string{"is_main"}); err != nil {
		t.Errorf("what is not the main one stays so: %v", err)
	}
	if err := awstest.Delete(ctx, tables, permit, east, old); err != nil {
		t.Errorf("delete of what was the main one: %v", err)
	}
}

func TestRouteTableAssociationLifecycle(t *testing.T) {
	t.Parallel()
	c := awstest.Clients(t)
	v, s := network(t, c, "10.1.0.0/16", "10.1.1.0/24")
	a := build(t, newRouteTable(c), modules.Row{"vpc_id": v["vpc_id"]})
	b := build(t, newRouteTable(c), modules.Row{"vpc_id": v["vpc_id"]})
	awstest.Lifecycle(t, awstest.Case{
		Resource: newAssociation(c),
		Scope:    east,
		Want:     modules.Row{"subnet_id": s["subnet_id"], "route_table_id": a["route_table_id"]},
		Changes:  map[string][]modules.Value{"route_table_id": {b["route_table_id"], a["route_table_id"]}},
	})
}

// moto's ReplaceRoute knows neither local, carrier nor core network targets, nor
// VPC endpoints, and its CreateRoute not core networks and local gateways.
func TestRouteLifecycle(t *testing.T) {
	t.Parallel()
	c := awstest.Clients(t)
	v, s := network(t, c, "10.1.0.0/16", "10.1.1.0/24")
	table := build(t, newRouteTable(c), modules.Row{"vpc_id": v["vpc_id"]})
	gateways := newInternetGateway(c)
	a, b := build(t, gateways, modules.Row{"vpc_id": v["vpc_id"]}), build(t, gateways, modules.Row{})
	address := build(t, newElasticIP(c), modules.Row{})
	nat := build(t, newNATGateway(c),
		modules.Row{"subnet_id": s["subnet_id"], "elastic_ip_id": address["allocation_id"],
			"connectivity_type": text("public")})
	// moto takes an IPv6 destination for IPv4 and wants it nowhere else.
	awstest.Lifecycle(t, awstest.Case{
		Resource: newRoute(c),
		Scope:    east,
		Want: modules.Row{"route_table_id": table["route_table_id"], "destination": text("0.0.0.0/0"),
			"internet_gateway_id": a["internet_gateway_id"]},
		Changes: map[string][]modules.Value{"internet_gateway_id": {b["internet_gateway_id"]}},
		Elsewhere: []string{"nat_gateway_id", "vpc_peering_connection_id", "gateway_id",
			"egress_only_internet_gateway_id", "instance_id",
			"network_interface_id", "transit_gateway_id", "local_gateway_id", "carrier_gateway_id", "core_network_arn"},
	})

	// From one kind of target to another, and back.
	routes := newRoute(c)
	ctx, permit := t.Context(), awstest.Permit()
	have := build(t, routes, modules.Row{"route_table_id": table["route_table_id"], "destination": text("192.0.2.0/24"),
		"internet_gateway_id": a["internet_gateway_id"]})
	for _, change := range []struct{ column, value modules.Value }{
		{text("nat_gateway_id"), nat["nat_gateway_id"]}, {text("internet_gateway_id"), b["internet_gateway_id"]},
	} {
		want := modules.Row{change.column.String(): change.value}
		if err := awstest.Update(ctx, routes, permit, east, have, want,
			[]string{"internet_gateway_id", "nat_gateway_id"}); err != nil {
			t.Fatal(err)
		}
		rows, err := awstest.Get(ctx, routes, east, []modules.Row{have})
		if err != nil || len(rows) != 1 || rows[0][change.column.String()] != change.value {
			t.Fatalf("got %v, %v, want %v", rows, err, change)
		}
		have = rows[0]
	}
	if err := awstest.Update(ctx, routes, permit, east, have, modules.Row{}, []string{"internet_gateway_id"}); modules.ClassOf(err) != modules.Invalid || err == nil {
		t.Errorf("a route without a target: %v", err)
	}
}

// What AWS makes with VPC and route table stays. moto's default VPC has no
// internet gateway: AWS's has, and a route to it.
func TestDefaultRoutingStays(t *testing.T) {
	t.Parallel()
	c := awstest.Clients(t)
	v := modules.Null
	for _, row := range all(t, newVPC(c)) {
		if row["is_default"].Bool() {
			v = row["vpc_id"]
			stays(t, newVPC(c), row)
		}
	}
	var main modules.Row
	for _, row := range all(t, newRouteTable(c)) {
		if row["vpc_id"] == v && row["is_main"].Bool() {
			main = row
			stays(t, newRouteTable(c), row)
		}
	}
	gateways := newInternetGateway(c)
	gateway := build(t, gateways, modules.Row{})
	ctx, permit := t.Context(), awstest.Permit()
	if err := awstest.Update(ctx, gateways, permit, east, gateway, modules.Row{"vpc_id": v}, []string{"vpc_id"}); err != nil {
		t.Fatal(err)
	}
	for _, row := range all(t, gateways) {
		stays(t, gateways, row)
	}
	build(t, newRoute(c), modules.Row{"route_table_id": main["route_table_id"], "destination": text("0.0.0.0/0"),
		"internet_gateway_id": gateway["internet_gateway_id"]})
	rows := all(t, newRoute(c))
	if len(rows) != 2 {
		t.Errorf("routes: %v", rows)
	}
	for _, row := range rows {
		stays(t, newRoute(c), row)
	}
}

func TestElasticIPLifecycle(t *testing.T) {
	t.Parallel()
	awstest.Lifecycle(t, awstest.Case{
		Resource: newElasticIP(awstest.Clients(t)),
		Scope:    east,
		Want:     modules.Row{"tags": tags(map[string]string{"env": "test"})},
		Changes:  map[string][]modules.Value{"tags": {tags(map[string]string{"a": "1"}), modules.Null}},
		Calls:    map[string]int{"tags": 2},
	})
}

func TestNATGatewayLifecycle(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"public", "private"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			c := awstest.Clients(t)
			_, s := network(t, c, "10.1.0.0/16", "10.1.1.0/24")
			address := modules.Null
			if kind == "public" {
				address = build(t, newElasticIP(c), modules.Row{})["allocation_id"]
			}
			awstest.Lifecycle(t, awstest.Case{
				Resource: newNATGateway(c),
				Scope:    east,
				Want: modules.Row{
					"subnet_id": s["subnet_id"], "elastic_ip_id": address, "connectivity_type": text(kind),
					"tags": tags(map[string]string{"env": "test"}),
				},
				Changes: map[string][]modules.Value{"tags": {tags(map[string]string{"a": "1"}), modules.Null}},
				// moto has no AssociateNatGatewayAddress, nor AssignPrivateNatGatewayAddress.
				Elsewhere: []string{"secondary_allocation_ids", "secondary_private_ip_addresses"},
				Calls:     map[string]int{"tags": 2},
				Once:      kind == "public", // moto does not give the address free
			})
		})
	}
}

// A regional gateway is in a VPC and no subnet. It is imported all the same, and
// a change to NULL replaces none.
func TestRegionalNATGateway(t *testing.T) {
	t.Parallel()
	r := newNATGateway(aws.New(aws.Options{}))
	row, err := declare.RowOf(t.Context(), r,
		primary(ec2types.NatGateway{NatGatewayId: awssdk.String("nat-1"), VpcId: awssdk.String("vpc-1")}))
	if c := r.Table().Column("subnet_id"); err != nil || !row["subnet_id"].IsNull() || c.Required ||
		!c.OptionalComputed {
		t.Errorf("the row is %v, %v, and the column %+v", row, err, c)
	}
}

// A gateway that could not be made is shown, with the reason.
func TestFailedNATGateway(t *testing.T) {
	r := newNATGateway(aws.New(aws.Options{}))
	row, err := declare.RowOf(t.Context(), r, primary(ec2types.NatGateway{
		NatGatewayId: awssdk.String("nat-1"), State: ec2types.NatGatewayStateFailed,
		FailureMessage: awssdk.String("Network vpc-1 has no Internet gateway attached"),
	}))
	if err != nil || awstest.Failed(r, row) != "Network vpc-1 has no Internet gateway attached" ||
		awstest.Phase(r, row) == modules.Going || awstest.Phase(r, row) == modules.Forming {
		t.Errorf("got %v, %v", row, err)
	}
}
