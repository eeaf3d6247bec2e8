package awsvpc

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"iasql/internal/aws"
	"iasql/internal/modules"
)

// association is the table route_table_association.
type association struct {
	clients     *aws.Clients
	description *modules.Table
}

// An association's id changes with its route table, and a subnet has one
// association at most: it is the subnet that tells which one it is.
func newAssociation(c *aws.Clients) *association {
	return &association{c, &modules.Table{
		Name: "route_table_association",
		Doc: "Which subnets use which route table. A subnet that is not listed uses its VPC's main route table. " +
			"(IaSQL listed main associations too: they are route_table.is_main.)",
		Provider: aws.Provider,
		Reach:    modules.PerRegion,
		Creation: modules.ByName,
		Columns: aws.Regional(
			modules.Column{Name: "subnet_id", Type: modules.TypeBigint, Required: true, Identity: true, CreateOnly: true,
				References: &modules.Reference{Table: "subnet", Key: "subnet_id", Part: modules.PartFirst},
				Doc:        "The subnet, which goes on using the main route table when the association is deleted."},
			modules.Column{Name: "route_table_id", Type: modules.TypeBigint, Required: true,
				References: &modules.Reference{Table: "route_table", Key: "route_table_id"},
				Doc:        "The route table it uses, of the same VPC."},
			modules.Column{Name: "vpc_id", Type: modules.TypeBigint, Assigned: true,
				References: &modules.Reference{Table: "vpc", Key: "vpc_id"},
				Doc:        "The VPC of both."},
			modules.Column{Name: "route_table_association_id", Type: modules.TypeText, Assigned: true,
				Doc: "The association's id, such as rtbassoc-0a1b2c3d; another after every change of the route table."},
		),
	}}
}

// Table returns the description.
func (r *association) Table() *modules.Table { return r.description }

// List gives the associations of all subnets to page.
func (r *association) List(ctx context.Context, scope modules.Scope, page func([]modules.Row) error) error {
	client, err := r.clients.EC2(ctx, scope)
	if err != nil {
		return err
	}
	return routeTables(ctx, client, nil, func(tables []ec2types.RouteTable) error { return page(associationRows(tables)) })
}

// Get reads the associations of these subnets.
func (r *association) Get(ctx context.Context, scope modules.Scope, identities []modules.Row) ([]modules.Row, error) {
	client, err := r.clients.EC2(ctx, scope)
	if err != nil {
		return nil, err
	}
	var rows []modules.Row
	err = aws.EC2Chunks(aws.Column(identities, "subnet_id"), "association.subnet-id", func(filters []ec2types.Filter) error {
		return routeTables(ctx, client, filters, func(tables []ec2types.RouteTable) error {
			rows = append(rows, associationRows(tables)...)
			return nil
		})
	})
	// A route table comes with the associations of its other subnets.
	return aws.Wanted(r.description, rows, identities), err
}

func associationRows(tables []ec2types.RouteTable) []modules.Row {
	var rows []modules.Row
	for _, t := range tables {
		for _, a := range t.Associations {
			gone := a.AssociationState != nil && a.AssociationState.State == ec2types.RouteTableAssociationStateCodeDisassociated
			if a.SubnetId == nil || gone { // main, or of a gateway
				continue
			}
			rows = append(rows, modules.Row{
				"subnet_id":                  modules.TextPtr(a.SubnetId),
				"route_table_id":             modules.TextPtr(t.RouteTableId),
				"vpc_id":                     modules.TextPtr(t.VpcId),
				"route_table_association_id": modules.TextPtr(a.RouteTableAssociationId),
			})
		}
	}
	return rows
}

// Create associates a subnet with a route table.
func (r *association) Create(ctx context.Context, scope modules.Scope, want modules.Row, _ string) (modules.Row, error) {
	client, err := r.clients.EC2(ctx, scope)
	if err != nil {
		return nil, err
	}
	out, err := client.AssociateRouteTable(ctx, &ec2.AssociateRouteTableInput{
		SubnetId: want["subnet_id"].Ptr(), RouteTableId: want["route_table_id"].Ptr(),
	})
	if err != nil {
		return nil, err
	}
	return modules.Row{"subnet_id": want["subnet_id"], "route_table_association_id": modules.TextPtr(out.AssociationId)}, nil
}

// Update changes the route table, without a moment in which the subnet uses the
// main one.
func (r *association) Update(ctx context.Context, scope modules.Scope, have, want modules.Row, _ []string) error {
	client, err := r.clients.EC2(ctx, scope)
	if err != nil {
		return err
	}
	_, err = client.ReplaceRouteTableAssociation(ctx, &ec2.ReplaceRouteTableAssociationInput{
		AssociationId: have["route_table_association_id"].Ptr(), RouteTableId: want["route_table_id"].Ptr(),
	})
	return err
}

// Delete has the subnet use the main route table again.
func (r *association) Delete(ctx context.Context, scope modules.Scope, have modules.Row) error {
	client, err := r.clients.EC2(ctx, scope)
	if err != nil {
		return err
	}
	id := have["route_table_association_id"].Ptr()
	if id == nil { // only the identity is known
		rows, err := r.Get(ctx, scope, []modules.Row{have})
		if err != nil || len(rows) == 0 {
			return err
		}
		id = rows[0]["route_table_association_id"].Ptr()
	}
	_, err = client.DisassociateRouteTable(ctx, &ec2.DisassociateRouteTableInput{AssociationId: id})
	return aws.IfExists(err)
}
