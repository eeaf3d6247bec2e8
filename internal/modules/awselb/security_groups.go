package awselb

import (
	"context"
	"slices"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"iasql/internal/aws"
	"iasql/internal/modules"
)

// newSecurityGroups makes the table load_balancer_security_groups.
func newSecurityGroups(c *aws.Clients) *aws.Memberships {
	return &aws.Memberships{
		Description: aws.DescribeGroups("load_balancer_security_groups",
			"The security groups of load balancers. A load balancer that has no other has the default group of its VPC.",
			modules.Column{Name: "load_balancer_id", References: &modules.Reference{Table: "load_balancer", Key: "load_balancer_arn"}, Doc: "The load balancer."}),
		Owner:  "load_balancer_id",
		Member: aws.GroupColumn,
		Lists: func(ctx context.Context, scope modules.Scope, owners []string, page func([]aws.MemberList) error) error {
			client, err := client(ctx, c, scope)
			if err != nil {
				return err
			}
			return describeAll(ctx, client, func(balancers []elbtypes.LoadBalancer) error {
				var lists []aws.MemberList
				for _, b := range balancers {
					if arn := awssdk.ToString(b.LoadBalancerArn); owners == nil || slices.Contains(owners, arn) {
						lists = append(lists, aws.MemberList{Owner: arn, VPC: awssdk.ToString(b.VpcId), Members: b.SecurityGroups})
					}
				}
				return page(lists)
			})
		},
		Set: func(ctx context.Context, scope modules.Scope, have aws.MemberList, want []string) error {
			client, err := client(ctx, c, scope)
			if err != nil {
				return err
			}
			_, err = client.SetSecurityGroups(ctx, &elb.SetSecurityGroupsInput{LoadBalancerArn: &have.Owner, SecurityGroups: want})
			return err
		},
		Standard: func(ctx context.Context, scope modules.Scope, list aws.MemberList) (string, error) {
			return c.DefaultGroup(ctx, scope, list.VPC)
		},
	}
}
