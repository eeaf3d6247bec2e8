package awsvpc

import (
	"context"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"iasql/internal/aws"
	"iasql/internal/modules"
)

// natGateway is the table nat_gateway.
type natGateway struct {
	aws.EC2Objects[ec2types.NatGateway]
}

func newNATGateway(c *aws.Clients) *natGateway {
	return &natGateway{aws.EC2Objects[ec2types.NatGateway]{
		Clients:     c,
		Description: describeNATGateway(),
		IDFilter:    "nat-gateway-id",
		Describe: func(ctx context.Context, client *ec2.Client, filters []ec2types.Filter, page func([]ec2types.NatGateway) error) error {
			return aws.Pages(ctx, ec2.NewDescribeNatGatewaysPaginator(client, &ec2.DescribeNatGatewaysInput{
				Filter: filters, MaxResults: awssdk.Int32(aws.PageSize),
			}), func(out *ec2.DescribeNatGatewaysOutput) error { return page(out.NatGateways) })
		},
		Rows: func(_ context.Context, _ *ec2.Client, gateways []ec2types.NatGateway) ([]modules.Row, error) {
			rows := make([]modules.Row, 0, len(gateways))
			for _, g := range gateways {
				if g.State == ec2types.NatGatewayStateDeleted { // is listed for an hour more
					continue
				}
				row := modules.Row{
					"nat_gateway_id":    modules.TextPtr(g.NatGatewayId),
					"subnet_id":         modules.TextPtr(g.SubnetId),
					"elastic_ip_id":     modules.Null,
					"connectivity_type": modules.NonEmpty(g.ConnectivityType),
					"state":             modules.NonEmpty(g.State),
					"failure_message":   nonEmpty(g.FailureMessage),
					"public_ip":         modules.Null,
					"private_ip":        modules.Null,
					"tags":              aws.EC2Tags.Value(g.Tags),
				}
				for _, a := range g.NatGatewayAddresses {
					// There is one address unless others have been added, which
					// are said not to be primary.
					if a.IsPrimary == nil || *a.IsPrimary {
						row["elastic_ip_id"] = nonEmpty(a.AllocationId)
						row["public_ip"], row["private_ip"] = nonEmpty(a.PublicIp), nonEmpty(a.PrivateIp)
						break
					}
				}
				rows = append(rows, row)
			}
			return rows, nil
		},
		Tags: func(g ec2types.NatGateway) []ec2types.Tag { return g.Tags },
	}}
}

func describeNATGateway() *modules.Table {
	return &modules.Table{
		Name:     "nat_gateway",
		Doc:      "NAT gateways, through which what has no public address reaches the Internet or other networks.",
		Provider: aws.Provider,
		Reach:    modules.PerRegion,
		Creation: modules.ByToken,
		Columns: aws.Regional(
			modules.Column{Name: "nat_gateway_id", Type: modules.TypeText, Identity: true, Assigned: true,
				Doc: "The gateway's id, such as nat-0a1b2c3d; NULL until it is created."},
			modules.Column{Name: "subnet_id", Type: modules.TypeBigint, Required: true, CreateOnly: true,
				References: &modules.Reference{Table: "subnet", Key: "subnet_id"},
				Doc:        "The subnet it is in; of a public one, a subnet with a route to an internet gateway."},
			modules.Column{Name: "connectivity_type", Type: modules.TypeText, Required: true, Default: "'public'", CreateOnly: true,
				Enum: []string{"private", "public"},
				Doc:  "public (to the Internet) or private (to other networks)."},
			modules.Column{Name: "elastic_ip_id", Type: modules.TypeBigint, CreateOnly: true,
				References: &modules.Reference{Table: "elastic_ip", Key: "allocation_id"},
				Doc:        "The address of a public one."},
			modules.Column{Name: "state", Type: modules.TypeText, Assigned: true,
				Doc: "pending, available, deleting or failed."},
			modules.Column{Name: "failure_message", Type: modules.TypeText, Assigned: true,
				Doc: "Why it failed."},
			modules.Column{Name: "public_ip", Type: modules.TypeText, Assigned: true,
				Doc: "The address that traffic to the Internet comes from."},
			modules.Column{Name: "private_ip", Type: modules.TypeText, Assigned: true,
				Doc: "Its address in the subnet."},
			aws.TagsColumn(),
		),
		Checks: []string{"connectivity_type = 'public' OR elastic_ip_id IS NULL"},
		// An address can be of one gateway only.
		DestroyBeforeCreate: true,
	}
}

// Create creates a gateway.
func (r *natGateway) Create(ctx context.Context, scope modules.Scope, want modules.Row, token string) (modules.Row, error) {
	client, err := r.Clients.EC2(ctx, scope)
	if err != nil {
		return nil, err
	}
	out, err := client.CreateNatGateway(ctx, &ec2.CreateNatGatewayInput{
		SubnetId:          want["subnet_id"].Ptr(),
		AllocationId:      want["elastic_ip_id"].Ptr(),
		ConnectivityType:  ec2types.ConnectivityType(want["connectivity_type"].String()),
		ClientToken:       &token,
		TagSpecifications: aws.EC2TagSpecification(ec2types.ResourceTypeNatgateway, want, ""),
	})
	if err != nil {
		return nil, err
	}
	return modules.Row{"nat_gateway_id": modules.TextPtr(out.NatGateway.NatGatewayId)}, nil
}

// Delete begins to delete a gateway, which takes minutes; until it is done its
// address cannot be released.
func (r *natGateway) Delete(ctx context.Context, scope modules.Scope, have modules.Row) error {
	if have["state"].String() == string(ec2types.NatGatewayStateDeleting) {
		return nil
	}
	return r.Remove(ctx, scope, "", func(client *ec2.Client) error {
		_, err := client.DeleteNatGateway(ctx, &ec2.DeleteNatGatewayInput{NatGatewayId: have["nat_gateway_id"].Ptr()})
		return err
	})
}
