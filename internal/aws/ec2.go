package aws

import (
	"context"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"iasql/internal/modules"
)

// PageSize is the most results a page of EC2's Describe operations may have.
const PageSize = 1000

// EC2Filter returns a filter on any of the values.
func EC2Filter(name string, values ...string) ec2types.Filter {
	return ec2types.Filter{Name: awssdk.String(name), Values: values}
}

// VPCOf returns the id of the VPC that a subnet is in.
func (c *Clients) VPCOf(ctx context.Context, scope modules.Scope, subnet string) (string, error) {
	client, err := c.EC2(ctx, scope)
	if err != nil {
		return "", err
	}
	out, err := client.DescribeSubnets(ctx, &ec2.DescribeSubnetsInput{SubnetIds: []string{subnet}})
	switch {
	case err != nil:
		return "", err
	case len(out.Subnets) == 0:
		return "", &modules.Error{Class: modules.NotFound, Code: "InvalidSubnetID.NotFound",
			Message: "the subnet " + subnet + " does not exist"}
	}
	return awssdk.ToString(out.Subnets[0].VpcId), nil
}

// DefaultGroup returns the id of a VPC's default security group.
func (c *Clients) DefaultGroup(ctx context.Context, scope modules.Scope, vpc string) (string, error) {
	client, err := c.EC2(ctx, scope)
	if err != nil {
		return "", err
	}
	out, err := client.DescribeSecurityGroups(ctx, &ec2.DescribeSecurityGroupsInput{
		Filters: []ec2types.Filter{EC2Filter("vpc-id", vpc), EC2Filter("group-name", "default")},
	})
	switch {
	case err != nil:
		return "", err
	case len(out.SecurityGroups) == 0:
		return "", &modules.Error{Class: modules.NotFound, Code: "DefaultGroup", Message: "the VPC " + vpc +
			" has no default security group"}
	}
	return awssdk.ToString(out.SecurityGroups[0].GroupId), nil
}

// EC2TagSpecification returns the tags a new object of the kind carries from its
// first instant: those of the row, and the token.
func EC2TagSpecification(kind ec2types.ResourceType, want modules.Row, token string) []ec2types.TagSpecification {
	tags := EC2Tags.List(TagsOf(want, token))
	if len(tags) == 0 {
		return nil
	}
	return []ec2types.TagSpecification{{ResourceType: kind, Tags: tags}}
}

// DefaultGroupLike returns the id of the default security group of the VPC that
// another group is of, for services that do not tell the VPC of what has it.
func (c *Clients) DefaultGroupLike(ctx context.Context, scope modules.Scope, group string) (string, error) {
	client, err := c.EC2(ctx, scope)
	if err != nil {
		return "", err
	}
	out, err := client.DescribeSecurityGroups(ctx, &ec2.DescribeSecurityGroupsInput{GroupIds: []string{group}})
	if err != nil {
		return "", err
	}
	if len(out.SecurityGroups) == 0 {
		return "", &modules.Error{Class: modules.NotFound, Code: "InvalidGroup.NotFound",
			Message: "there is no security group " + group}
	}
	return c.DefaultGroup(ctx, scope, awssdk.ToString(out.SecurityGroups[0].VpcId))
}
