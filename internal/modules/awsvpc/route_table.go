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

// routeTablePage is the most results DescribeRouteTables gives a page.
const routeTablePage = 100

// routeTables lists the route tables, or what they have.
func routeTables(of ...declare.Option) *declare.Listing {
	return declare.Pages(ec2.NewDescribeRouteTablesPaginator, "RouteTables",
		append(of, declare.PageSize(routeTablePage))...)
}

// newRouteTable declares the table route_table. Making it the main one is left to
// the update.
func newRouteTable(c *aws.Clients) *declare.Resource {
	return declare.New(c, declare.Table[ec2types.RouteTable]{
		Name: "route_table",
		Doc: "Route tables: where a VPC's traffic goes. Their routes are in route, their subnets in " +
			"route_table_association.",
		Service:  declare.Service(ec2.NewFromConfig),
		Creation: modules.ByTag,
		Columns: []declare.Column{
			declare.ID("route_table_id", "RouteTableId",
				"The route table's id, such as rtb-0a1b2c3d; NULL until it is created."),
			declare.Ref("vpc_id", "VpcId", "vpc", "vpc_id",
				"The VPC it is of.").Required().CreateOnly().Part(modules.PartAlong, "is_main"),
			declare.Bool("is_main", "", "Whether it is the VPC's main route table: of all subnets without an "+
				"association. A VPC always has one, which goes with it; set another's to true to change it. (IaSQL "+
				"had it in route_table_association.)").
				Default("false"),
			declare.Text("owner_id", "OwnerId",
				"The twelve digits of the account that owns it; another than account where the VPC is shared.").
				Computed(),
			declare.EC2Tags(ec2types.ResourceTypeRouteTable),
		},
		Published: declare.Published{Type: "AWS::EC2::RouteTable", Since: 6},
		EventMappings: modules.EventMappings("ec2.amazonaws.com",
			modules.Request("routeTableId", "EnableVgwRoutePropagation", "DisableVgwRoutePropagation"),
			modules.Unnamed("AssociateRouteTable", "ReplaceRouteTableAssociation"),
		),
		List: routeTables(),
		Get:  declare.EC2Filter("route-table-id"),
		Row: func(_ context.Context, _ *declare.Step, t *ec2types.RouteTable, row modules.Row) error {
			row["is_main"] = modules.Bool(mainAssociation(*t) != nil)
			return nil
		},
		Create:  declare.Call((*ec2.Client).CreateRouteTable, declare.Answer("RouteTable")),
		Updates: []declare.Update{declare.By(setMain, "is_main")},
		Delete:  declare.Call((*ec2.Client).DeleteRouteTable), // with its routes
		// AWS itself refuses to delete it.
		Made: "is_main",
		Refuses: []declare.Refusal{{When: declare.IsTrue("is_main"),
			Why:    "it is the VPC's main route table, which goes with the VPC",
			Source: "https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DeleteRouteTable.html"}},
	})
}

// mainAssociation returns the id of the association that makes the table its
// VPC's main one, nil if it is not.
func mainAssociation(t ec2types.RouteTable) *string {
	for _, a := range t.Associations {
		if awssdk.ToBool(a.Main) {
			return a.RouteTableAssociationId
		}
	}
	return nil
}

// setMain replaces the VPC's main association by one with the route table. There
// is always one, so that a table stops being the main one when another starts.
func setMain(ctx context.Context, s *declare.Step) error {
	client := declare.ClientOf[*ec2.Client](s)
	tables, err := declare.Find[ec2types.RouteTable](ctx, declare.Source{Client: client}, routeTables(), "vpc-id",
		s.Have["vpc_id"].String())
	if err != nil {
		return err
	}
	var association *string
	is := false
	for _, t := range tables {
		if main := mainAssociation(t); main != nil {
			association, is = main, awssdk.ToString(t.RouteTableId) == s.Have["route_table_id"].String()
		}
	}
	switch main := s.Want["is_main"].Bool(); {
	case is == main:
		return nil
	case !main:
		return &modules.Error{Class: modules.Dependency, Code: "Main",
			Message: "a VPC always has a main route table: it stops being this one when is_main of another is set " +
				"to true"}
	}
	_, err = client.ReplaceRouteTableAssociation(ctx, &ec2.ReplaceRouteTableAssociationInput{
		AssociationId: association, RouteTableId: s.Have["route_table_id"].Ptr(),
	})
	return err
}
