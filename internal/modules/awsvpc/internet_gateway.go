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

// internetGateway is the table internet_gateway.
type internetGateway struct {
	aws.EC2Objects[ec2types.InternetGateway]
}

func newInternetGateway(c *aws.Clients) *internetGateway {
	return &internetGateway{aws.EC2Objects[ec2types.InternetGateway]{
		Clients:     c,
		Description: describeInternetGateway(),
		IDFilter:    "internet-gateway-id",
		Describe: func(ctx context.Context, client *ec2.Client, filters []ec2types.Filter, page func([]ec2types.InternetGateway) error) error {
			return aws.Pages(ctx, ec2.NewDescribeInternetGatewaysPaginator(client, &ec2.DescribeInternetGatewaysInput{
				Filters: filters, MaxResults: awssdk.Int32(aws.PageSize),
			}), func(out *ec2.DescribeInternetGatewaysOutput) error { return page(out.InternetGateways) })
		},
		Rows: func(ctx context.Context, client *ec2.Client, gateways []ec2types.InternetGateway) ([]modules.Row, error) {
			standard, err := defaultVPC(ctx, client, len(gateways) > 0)
			if err != nil {
				return nil, err
			}
			rows := make([]modules.Row, len(gateways))
			for i, g := range gateways {
				rows[i] = modules.Row{
					"internet_gateway_id": modules.TextPtr(g.InternetGatewayId),
					"vpc_id":              modules.Null,
					"is_default":          modules.Bool(false),
					"owner_id":            modules.TextPtr(g.OwnerId),
					"tags":                aws.EC2Tags.Value(g.Tags),
				}
				for _, a := range g.Attachments { // one at most
					if a.State != ec2types.AttachmentStatusDetached {
						rows[i]["vpc_id"] = modules.TextPtr(a.VpcId)
						rows[i]["is_default"] = modules.Bool(standard.is(a.VpcId))
					}
				}
			}
			return rows, nil
		},
		Tags: func(g ec2types.InternetGateway) []ec2types.Tag { return g.Tags },
	}}
}

func describeInternetGateway() *modules.Table {
	return &modules.Table{
		Name:     "internet_gateway",
		Doc:      "Internet gateways, which connect a VPC with the Internet.",
		Provider: aws.Provider,
		Reach:    modules.PerRegion,
		Creation: modules.ByTag,
		Columns: aws.Regional(
			modules.Column{Name: "internet_gateway_id", Type: modules.TypeText, Identity: true, Assigned: true,
				Doc: "The gateway's id, such as igw-0a1b2c3d; NULL until it is created."},
			modules.Column{Name: "vpc_id", Type: modules.TypeBigint,
				References: &modules.Reference{Table: "vpc", Key: "vpc_id"},
				Doc:        "The VPC it is attached to. A VPC has one at most."},
			modules.Column{Name: "is_default", Type: modules.TypeBool, Assigned: true,
				Doc: "Whether it is attached to the region's default VPC."},
			modules.Column{Name: "owner_id", Type: modules.TypeText, Assigned: true,
				Doc: "The twelve digits of the account that owns it."},
			aws.TagsColumn(),
		),
	}
}

// Create creates a gateway. Its VPC, which CreateInternetGateway does not take,
// is left to Update.
func (r *internetGateway) Create(ctx context.Context, scope modules.Scope, want modules.Row, token string) (modules.Row, error) {
	client, err := r.Clients.EC2(ctx, scope)
	if err != nil {
		return nil, err
	}
	out, err := client.CreateInternetGateway(ctx, &ec2.CreateInternetGatewayInput{
		TagSpecifications: aws.EC2TagSpecification(ec2types.ResourceTypeInternetGateway, want, token),
	})
	if err != nil {
		return nil, err
	}
	return modules.Row{"internet_gateway_id": modules.TextPtr(out.InternetGateway.InternetGatewayId)}, nil
}

// Update detaches and attaches, and changes tags.
func (r *internetGateway) Update(ctx context.Context, scope modules.Scope, have, want modules.Row, columns []string) error {
	client, err := r.Clients.EC2(ctx, scope)
	if err != nil {
		return err
	}
	if slices.Contains(columns, "vpc_id") {
		if err := detach(ctx, client, have); err != nil {
			return err
		}
		if !want["vpc_id"].IsNull() {
			_, err := client.AttachInternetGateway(ctx, &ec2.AttachInternetGatewayInput{
				InternetGatewayId: have["internet_gateway_id"].Ptr(), VpcId: want["vpc_id"].Ptr(),
			})
			if err != nil {
				return err
			}
		}
	}
	return r.EC2Objects.Update(ctx, scope, have, want, columns)
}

func detach(ctx context.Context, client *ec2.Client, have modules.Row) error {
	if have["vpc_id"].IsNull() {
		return nil
	}
	_, err := client.DetachInternetGateway(ctx, &ec2.DetachInternetGatewayInput{
		InternetGatewayId: have["internet_gateway_id"].Ptr(), VpcId: have["vpc_id"].Ptr(),
	})
	return aws.IfExists(err)
}

// Delete detaches and deletes a gateway.
func (r *internetGateway) Delete(ctx context.Context, scope modules.Scope, have modules.Row) error {
	return r.Remove(ctx, scope, r.Protected(have), func(client *ec2.Client) error {
		if err := detach(ctx, client, have); err != nil {
			return err
		}
		_, err := client.DeleteInternetGateway(ctx, &ec2.DeleteInternetGatewayInput{InternetGatewayId: have["internet_gateway_id"].Ptr()})
		return err
	})
}

// Protected keeps the default VPC's gateway, without which what is started in
// it has no Internet.
func (r *internetGateway) Protected(have modules.Row) string {
	if have["is_default"].Bool() {
		return "it is the default VPC's internet gateway, which AWS made by itself"
	}
	return ""
}
