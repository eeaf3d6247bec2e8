package awsvpc

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

// internetGateway is a gateway and where it is attached to.
type internetGateway struct {
	ec2types.InternetGateway
	VpcId *string
}

// newInternetGateway declares the table internet_gateway. Its VPC, which
// CreateInternetGateway does not take, is left to the update.
func newInternetGateway(c *aws.Clients) *declare.Resource {
	return declare.New(c, declare.Table[internetGateway]{
		Name:     "internet_gateway",
		Doc:      "Internet gateways, which connect a VPC with the Internet.",
		Service:  declare.Service(ec2.NewFromConfig),
		Creation: modules.ByTag,
		Columns: []declare.Column{
			declare.ID("internet_gateway_id", "InternetGatewayId",
				"The gateway's id, such as igw-0a1b2c3d; NULL until it is created."),
			declare.Ref("vpc_id", "VpcId", "vpc", "vpc_id", "The VPC it is attached to. A VPC has one at most."),
			declare.Bool("is_default", "", "Whether it is attached to the region's default VPC.").Computed(),
			declare.Text("owner_id", "OwnerId", "The twelve digits of the account that owns it.").Computed(),
			declare.EC2Tags(ec2types.ResourceTypeInternetGateway),
		},
		Published: declare.Published{Type: "AWS::EC2::InternetGateway", Since: 6},
		EventMappings: modules.EventMappings("ec2.amazonaws.com",
			modules.Request("internetGatewayId", "AttachInternetGateway", "DetachInternetGateway"),
			modules.Unnamed("CreateDefaultVpc"),
		),
		List: declare.Pages(ec2.NewDescribeInternetGatewaysPaginator, "InternetGateways",
			declare.PageSize(aws.PageSize),
			declare.Convert(attached)),
		Get: declare.EC2Filter("internet-gateway-id"),
		Rows: func(ctx context.Context, s *declare.Step, gateways []*internetGateway, rows []modules.Row) error {
			standard, err := defaultVPC(ctx, s)
			for i, g := range gateways {
				rows[i]["is_default"] = modules.Bool(standard.is(g.VpcId))
			}
			return err
		},
		Create:  declare.Call((*ec2.Client).CreateInternetGateway, declare.Answer("InternetGateway")),
		Updates: []declare.Update{declare.By(attach, "vpc_id")},
		Delete:  declare.Call((*ec2.Client).DeleteInternetGateway),
		DeleteBy: func(ctx context.Context, s *declare.Step) error {
			if err := detach(ctx, s); err != nil {
				return err
			}
			return s.Delete(ctx)
		},
		// Without it what is started in the default VPC has no Internet.
		Made: "is_default",
		Protected: declare.IfTrue("is_default",
			"it is the default VPC's internet gateway, which AWS made by itself"),
	})
}

func attached(g ec2types.InternetGateway) internetGateway {
	gateway := internetGateway{InternetGateway: g}
	for _, a := range g.Attachments { // one at most
		if a.State != ec2types.AttachmentStatusDetached {
			gateway.VpcId = a.VpcId
		}
	}
	return gateway
}

func attach(ctx context.Context, s *declare.Step) error {
	if err := detach(ctx, s); err != nil || s.Want["vpc_id"].IsNull() {
		return err
	}
	_, err := declare.ClientOf[*ec2.Client](s).AttachInternetGateway(ctx, &ec2.AttachInternetGatewayInput{
		InternetGatewayId: s.Have["internet_gateway_id"].Ptr(), VpcId: s.Want["vpc_id"].Ptr(),
	})
	return err
}

func detach(ctx context.Context, s *declare.Step) error {
	if s.Have["vpc_id"].IsNull() {
		return nil
	}
	_, err := declare.ClientOf[*ec2.Client](s).DetachInternetGateway(ctx, &ec2.DetachInternetGatewayInput{
		InternetGatewayId: s.Have["internet_gateway_id"].Ptr(), VpcId: s.Have["vpc_id"].Ptr(),
	})
	return aws.IfExists(err)
}
