package awselb

import (
	"context"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

// newSecurityGroups makes the table load_balancer_security_groups.
func newSecurityGroups(c *aws.Clients) *aws.Memberships {
	return &aws.Memberships{
		Clients: c,
		Description: aws.DescribeGroups("load_balancer_security_groups",
			"The security groups of load balancers. A load balancer that has no other has the default group of "+
				"its VPC.",
			modules.Column{Name: "load_balancer_id",
				References: &modules.Reference{Table: "load_balancer", Key: "load_balancer_arn"},
				Doc:        "The load balancer."},
			modules.EventMappings("elasticloadbalancing.amazonaws.com",
				modules.Request("loadBalancerArn", "SetSecurityGroups"))...),
		Owner:  "load_balancer_id",
		Member: aws.GroupColumn,
		Lists: declare.Lists(newLoadBalancer(c).Resource, declare.Identity("load_balancer_arn"),
			func(b *elbtypes.LoadBalancer) aws.MemberList {
				return aws.MemberList{Owner: awssdk.ToString(b.LoadBalancerArn), VPC: awssdk.ToString(b.VpcId),
					Members: b.SecurityGroups}
			}),
		Set: func(ctx context.Context, c *aws.Clients, scope modules.Scope, have aws.MemberList, want []string) error {
			client, err := declare.Client(ctx, c, scope, elb.NewFromConfig)
			if err != nil {
				return err
			}
			_, err = client.SetSecurityGroups(ctx,
				&elb.SetSecurityGroupsInput{LoadBalancerArn: &have.Owner, SecurityGroups: want})
			return err
		},
		Standard: func(ctx context.Context, scope modules.Scope, list aws.MemberList) (string, error) {
			return c.DefaultGroup(ctx, scope, list.VPC)
		},
	}
}
