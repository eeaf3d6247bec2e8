package awsvpc

import (
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

// association is an association with what its route table says.
type association struct {
	ec2types.RouteTableAssociation
	VpcId *string
}

// newAssociation declares the table route_table_association. An association's id
// changes with its route table, and a subnet has one association at most: it is
// the subnet that tells which one it is. The route table changes without a moment
// in which the subnet uses the main one.
func newAssociation(c *aws.Clients) *declare.Resource {
	return declare.New(c, declare.Table[association]{
		Name: "route_table_association",
		Doc: "Which subnets use which route table. A subnet that is not listed uses its VPC's main route table. " +
			"(IaSQL listed main associations too: they are route_table.is_main.)",
		Service: declare.Service(ec2.NewFromConfig),
		Columns: []declare.Column{
			declare.Ref("subnet_id", "SubnetId", "subnet", "subnet_id",
				"The subnet, which goes on using the main route table when the association is deleted.").
				Required().Identity().CreateOnly().Part(modules.PartFirst, ""),
			declare.Ref("route_table_id", "RouteTableId", "route_table", "route_table_id",
				"The route table it uses, of the same VPC.").Required(),
			declare.Ref("vpc_id", "VpcId", "vpc", "vpc_id", "The VPC of both.").Computed(),
			declare.Text("route_table_association_id", "RouteTableAssociationId",
				"The association's id, such as rtbassoc-0a1b2c3d; another after every change of the route table.").
				Computed().Key().In("AssociationId"),
			declare.Text("state", "AssociationState.State",
				"associating, associated, disassociating or failed.").Computed().Since(4),
			declare.Text("state_message", "AssociationState.StatusMessage",
				"Why it is in that state, if AWS says so.").Computed().Since(4),
		},
		Published: declare.Published{Type: "AWS::EC2::SubnetRouteTableAssociation", Since: 6},
		List:      routeTables(declare.Expand(associationsOf)),
		Get:       declare.EC2Filter("association.subnet-id"),
		Create:    declare.Call((*ec2.Client).AssociateRouteTable),
		Updates:   []declare.Update{declare.Modify(declare.Call((*ec2.Client).ReplaceRouteTableAssociation))},
		Delete:    declare.Call((*ec2.Client).DisassociateRouteTable),
		Going:     declare.In("state", string(ec2types.RouteTableAssociationStateCodeDisassociating)),
		Forming:   declare.In("state", string(ec2types.RouteTableAssociationStateCodeAssociating)),
		Failed:    declare.In("state", string(ec2types.RouteTableAssociationStateCodeFailed)).Because("state_message"),
	})
}

// associationsOf returns the associations with subnets; others are main, or of a
// gateway.
func associationsOf(t ec2types.RouteTable) []association {
	var all []association
	for _, a := range t.Associations {
		gone := a.AssociationState != nil &&
			a.AssociationState.State == ec2types.RouteTableAssociationStateCodeDisassociated
		if a.SubnetId != nil && !gone {
			a.RouteTableId = t.RouteTableId
			all = append(all, association{a, t.VpcId})
		}
	}
	return all
}
