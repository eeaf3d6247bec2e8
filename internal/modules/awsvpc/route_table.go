package awsvpc

import (
	"context"
	"slices"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"iasql/internal/aws"
	"iasql/internal/modules"
)

// routeTablePage is the most results DescribeRouteTables gives a page.
const routeTablePage = 100

// routeTable is the table route_table.
type routeTable struct {
	aws.EC2Objects[ec2types.RouteTable]
}

func newRouteTable(c *aws.Clients) *routeTable {
	return &routeTable{aws.EC2Objects[ec2types.RouteTable]{
		Clients:     c,
		Description: describeRouteTable(),
		IDFilter:    "route-table-id",
		Describe:    routeTables,
		Rows: func(_ context.Context, _ *ec2.Client, tables []ec2types.RouteTable) ([]modules.Row, error) {
			rows := make([]modules.Row, len(tables))
			for i, t := range tables {
				rows[i] = modules.Row{
					"route_table_id": modules.TextPtr(t.RouteTableId),
					"vpc_id":         modules.TextPtr(t.VpcId),
					"is_main":        modules.Bool(mainAssociation(t) != nil),
					"owner_id":       modules.TextPtr(t.OwnerId),
					"tags":           aws.EC2Tags.Value(t.Tags),
				}
			}
			return rows, nil
		},
		Tags: func(t ec2types.RouteTable) []ec2types.Tag { return t.Tags },
	}}
}

func routeTables(ctx context.Context, client *ec2.Client, filters []ec2types.Filter, page func([]ec2types.RouteTable) error) error {
	return aws.Pages(ctx, ec2.NewDescribeRouteTablesPaginator(client, &ec2.DescribeRouteTablesInput{
		Filters: filters, MaxResults: awssdk.Int32(routeTablePage),
	}), func(out *ec2.DescribeRouteTablesOutput) error { return page(out.RouteTables) })
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

func describeRouteTable() *modules.Table {
	return &modules.Table{
		Name:     "route_table",
		Doc:      "Route tables: where a VPC's traffic goes. Their routes are in route, their subnets in route_table_association.",
		Provider: aws.Provider,
		Reach:    modules.PerRegion,
		Creation: modules.ByTag,
		Columns: aws.Regional(
			modules.Column{Name: "route_table_id", Type: modules.TypeText, Identity: true, Assigned: true,
				Doc: "The route table's id, such as rtb-0a1b2c3d; NULL until it is created."},
			modules.Column{Name: "vpc_id", Type: modules.TypeBigint, Required: true, CreateOnly: true,
				References: &modules.Reference{Table: "vpc", Key: "vpc_id", Part: modules.PartAlong, PartIf: "is_main"},
				Doc:        "The VPC it is of."},
			modules.Column{Name: "is_main", Type: modules.TypeBool, Required: true, Default: "false",
				Doc: "Whether it is the VPC's main route table: of all subnets without an association. A VPC always has one, which goes with it; set another's to true to change it. (IaSQL had it in route_table_association.)"},
			modules.Column{Name: "owner_id", Type: modules.TypeText, Assigned: true,
				Doc: "The twelve digits of the account that owns it; another than account where the VPC is shared."},
			aws.TagsColumn(),
		),
	}
}

// Create creates a route table. Making it the main one is left to Update.
func (r *routeTable) Create(ctx context.Context, scope modules.Scope, want modules.Row, token string) (modules.Row, error) {
	client, err := r.Clients.EC2(ctx, scope)
	if err != nil {
		return nil, err
	}
	out, err := client.CreateRouteTable(ctx, &ec2.CreateRouteTableInput{
		VpcId:             want["vpc_id"].Ptr(),
		TagSpecifications: aws.EC2TagSpecification(ec2types.ResourceTypeRouteTable, want, token),
	})
	if err != nil {
		return nil, err
	}
	return modules.Row{"route_table_id": modules.TextPtr(out.RouteTable.RouteTableId)}, nil
}

// Update makes a route table the main one, and changes tags.
func (r *routeTable) Update(ctx context.Context, scope modules.Scope, have, want modules.Row, columns []string) error {
	client, err := r.Clients.EC2(ctx, scope)
	if err != nil {
		return err
	}
	if slices.Contains(columns, "is_main") {
		if err := r.setMain(ctx, client, have, want["is_main"].Bool()); err != nil {
			return err
		}
	}
	return r.EC2Objects.Update(ctx, scope, have, want, columns)
}

// setMain replaces the VPC's main association by one with the route table. There
// is always one, so that a table stops being the main one when another starts.
func (r *routeTable) setMain(ctx context.Context, client *ec2.Client, have modules.Row, main bool) error {
	var association *string
	is := false
	filters := []ec2types.Filter{aws.EC2Filter("vpc-id", have["vpc_id"].String()), aws.EC2Filter("association.main", "true")}
	err := r.Describe(ctx, client, filters, func(tables []ec2types.RouteTable) error {
		for _, t := range tables {
			association, is = mainAssociation(t), awssdk.ToString(t.RouteTableId) == have["route_table_id"].String()
		}
		return nil
	})
	switch {
	case err != nil || is == main:
		return err
	case !main:
		return &modules.Error{Class: modules.Dependency, Code: "Main",
			Message: "a VPC always has a main route table: it stops being this one when is_main of another is set to true"}
	}
	_, err = client.ReplaceRouteTableAssociation(ctx, &ec2.ReplaceRouteTableAssociationInput{
		AssociationId: association, RouteTableId: have["route_table_id"].Ptr(),
	})
	return err
}

// Delete deletes a route table with its routes.
func (r *routeTable) Delete(ctx context.Context, scope modules.Scope, have modules.Row) error {
	return r.Remove(ctx, scope, r.Protected(have), func(client *ec2.Client) error {
		_, err := client.DeleteRouteTable(ctx, &ec2.DeleteRouteTableInput{RouteTableId: have["route_table_id"].Ptr()})
		return err
	})
}

// Protected keeps main route tables, which AWS itself refuses to delete.
func (r *routeTable) Protected(have modules.Row) string {
	if have["is_main"].Bool() {
		return "it is the VPC's main route table, which goes with the VPC"
	}
	return ""
}
