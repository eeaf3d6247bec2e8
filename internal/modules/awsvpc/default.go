package awsvpc

import (
	"context"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

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
	found, err := declare.Find[ec2types.Vpc](ctx, s.Source(), vpcList(), "is-default", "true")
	if err != nil || len(found) == 0 {
		return standard{}, err
	}
	return standard{awssdk.ToString(found[0].VpcId), awssdk.ToString(found[0].DhcpOptionsId)}, nil
}
