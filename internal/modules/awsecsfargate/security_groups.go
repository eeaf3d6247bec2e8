package awsecsfargate

import (
	"context"
	"slices"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"iasql/internal/aws"
	"iasql/internal/modules"
)

// newSecurityGroups makes the table service_security_groups.
func newSecurityGroups(c *aws.Clients) *aws.Memberships {
	return &aws.Memberships{
		Description: aws.DescribeGroups("service_security_groups",
			"The security groups of services' tasks, five at most. The tasks of a service that has none have the VPC's default group. "+
				"Every change of them, as of the service's subnets, is a new deployment: a new service's first tasks may be of the default group.",
			modules.Column{Name: "service_id", References: &modules.Reference{Table: "service", Key: "arn"}, Doc: "The service, whose column subnets says in which VPC its tasks are."}),
		Owner:  "service_id",
		Member: aws.GroupColumn,
		Lists: func(ctx context.Context, scope modules.Scope, owners []string, page func([]aws.MemberList) error) error {
			client, err := client(ctx, c, scope)
			if err != nil {
				return err
			}
			return named(ctx, client, owners, func(services []ecstypes.Service) error {
				lists := make([]aws.MemberList, len(services))
				for i, s := range services {
					lists[i].Owner = awssdk.ToString(s.ServiceArn)
					if n := s.NetworkConfiguration; n != nil && n.AwsvpcConfiguration != nil {
						lists[i].Members = n.AwsvpcConfiguration.SecurityGroups
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
			return named(ctx, client, []string{have.Owner}, func(services []ecstypes.Service) error {
				for _, s := range services {
					n := s.NetworkConfiguration
					if n == nil || n.AwsvpcConfiguration == nil {
						// Its subnets may be about to be set: this can heal.
						return &modules.Error{Class: modules.Dependency, Code: "NoVPC",
							Message: "the service " + have.Owner + " is in no VPC, where alone it can have security groups: set service.subnets"}
					}
					n.AwsvpcConfiguration.SecurityGroups = append([]string{}, want...)
					_, err := client.UpdateService(ctx, &ecs.UpdateServiceInput{Cluster: s.ClusterArn, Service: s.ServiceArn, NetworkConfiguration: n})
					if err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
}

// groupsOf returns the security groups of a service's tasks.
func groupsOf(ctx context.Context, client *ecs.Client, cluster, name string) ([]string, error) {
	services, err := describeServices(ctx, client, cluster, []string{name})
	if err != nil || len(services) == 0 || services[0].NetworkConfiguration == nil || services[0].NetworkConfiguration.AwsvpcConfiguration == nil {
		return nil, err
	}
	return services[0].NetworkConfiguration.AwsvpcConfiguration.SecurityGroups, nil
}

// named gives the services that have these ARNs to page, all of them if arns is
// nil. A service is read by its cluster, which its ARN says unless it is older
// than 2021 ("Amazon Resource Names and IDs", Amazon ECS Developer Guide).
func named(ctx context.Context, client *ecs.Client, arns []string, page func([]ecstypes.Service) error) error {
	byCluster := map[string][]string{}
	for _, arn := range arns {
		cluster := ""
		// arn:aws:ecs:region:account:service/cluster/name
		if parts := strings.Split(arn, "/"); len(parts) == 3 {
			cluster = parts[1]
		}
		byCluster[cluster] = append(byCluster[cluster], arn)
	}
	if old := byCluster[""]; arns == nil || len(old) > 0 {
		return allServices(ctx, client, func(services []ecstypes.Service) error {
			return page(slices.DeleteFunc(services, func(s ecstypes.Service) bool {
				return arns != nil && !slices.Contains(arns, awssdk.ToString(s.ServiceArn))
			}))
		})
	}
	for cluster, arns := range byCluster {
		services, err := describeServices(ctx, client, cluster, arns)
		switch {
		case aws.IfExists(err) != nil:
			return err
		case err != nil: // without the cluster there are no services
			continue
		}
		if err := page(services); err != nil {
			return err
		}
	}
	return nil
}
