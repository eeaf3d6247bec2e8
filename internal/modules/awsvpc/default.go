package awsvpc

import (
	"context"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
)

// standard is a region's default VPC; the zero value where there is none.
type standard struct {
	vpc, dhcpOptions string
}

// is reports whether it is that VPC.
func (s standard) is(vpc *string) bool { return s.vpc != "" && s.vpc == awssdk.ToString(vpc) }

// defaultVPC returns the region's default VPC, to which its parts do not say
// that they belong.
func defaultVPC(ctx context.Context, s *declare.Step) (standard, error) {
	out, err := declare.ClientOf[*ec2.Client](s).DescribeVpcs(ctx, &ec2.DescribeVpcsInput{Filters: []ec2types.Filter{aws.EC2Filter("is-default", "true")}})
	if err != nil || len(out.Vpcs) == 0 {
		return standard{}, err
	}
	return standard{awssdk.ToString(out.Vpcs[0].VpcId), awssdk.ToString(out.Vpcs[0].DhcpOptionsId)}, nil
}
