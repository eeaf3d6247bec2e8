package awsopensearch

import (
	"context"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/opensearch"
	ostypes "github.com/aws/aws-sdk-go-v2/service/opensearch/types"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

// newSecurityGroups makes the table domain_security_groups.
func newSecurityGroups(c *aws.Clients) *aws.Memberships {
	return &aws.Memberships{
		Clients: c,
		Description: aws.DescribeGroups("domain_security_groups",
			"The security groups of domains that are in a VPC. Such a domain has one at least: the VPC's default "+
				"group when there is no other, and until the first is given.",
			modules.Column{Name: "domain_id", References: &modules.Reference{Table: "domain", Key: "domain_name"},
				Doc: "The domain, whose column subnets says in which VPC it is."},
			modules.EventMappings("es.amazonaws.com",
				modules.Request("domainName", "UpdateDomainConfig", "UpdateElasticsearchDomainConfig"))...),
		Owner:  "domain_id",
		Member: aws.GroupColumn,
		Lists: declare.Lists(newDomain(c, nil), declare.Identity("domain_name"),
			func(d *ostypes.DomainStatus) aws.MemberList {
				list := aws.MemberList{Owner: awssdk.ToString(d.DomainName)}
				if vpc := d.VPCOptions; vpc != nil {
					list.VPC, list.Subnets, list.Members = awssdk.ToString(vpc.VPCId), vpc.SubnetIds,
						vpc.SecurityGroupIds
				}
				return list
			}),
		Set: func(ctx context.Context, c *aws.Clients, scope modules.Scope, have aws.MemberList, want []string) error {
			if len(have.Subnets) == 0 {
				return &modules.Error{Class: modules.Invalid, Code: "NoVPC",
					Message: "the domain " + have.Owner +
						" is in no VPC, where alone it can have security groups: domain.subnets says so when it is " +
						"created"}
			}
			client, err := declare.Client(ctx, c, scope, opensearch.NewFromConfig)
			if err != nil {
				return err
			}
			_, err = client.UpdateDomainConfig(ctx, &opensearch.UpdateDomainConfigInput{
				DomainName: &have.Owner, VPCOptions: &ostypes.VPCOptions{SubnetIds: have.Subnets,
					SecurityGroupIds: want},
			})
			return err
		},
		Standard: func(ctx context.Context, scope modules.Scope, list aws.MemberList) (string, error) {
			vpc := list.VPC
			if vpc == "" && len(list.Subnets) > 0 {
				var err error
				if vpc, err = c.VPCOf(ctx, scope, list.Subnets[0]); err != nil {
					return "", err
				}
			}
			return c.DefaultGroup(ctx, scope, vpc)
		},
	}
}
