package awslambda

import (
	"testing"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	lambdatypes "github.com/aws/aws-sdk-go-v2/service/lambda/types"
)

// A function that IPv6 is allowed to leaves its VPC without that, which Lambda refuses otherwise (Lambda Developer
// Guide, "Giving Lambda functions access to resources in an Amazon VPC", IPv6 support).
func TestDualStackLeavesItsVPC(t *testing.T) {
	t.Parallel()
	config, err := vpcConfig(t.Context(), nil, nil,
		&lambdatypes.VpcConfigResponse{SubnetIds: []string{"subnet-1"}, Ipv6AllowedForDualStack: awssdk.Bool(true)})
	if err != nil || config.Ipv6AllowedForDualStack == nil || *config.Ipv6AllowedForDualStack ||
		len(config.SubnetIds) != 0 {
		t.Errorf("sent %+v, %v", config, err)
	}
	if config, err = vpcConfig(t.Context(), nil, nil, &lambdatypes.VpcConfigResponse{SubnetIds: []string{"subnet-1"}}); err != nil || config.Ipv6AllowedForDualStack != nil {
		t.Errorf("of another function: %+v, %v", config, err)
	}
}
