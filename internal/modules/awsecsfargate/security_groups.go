package awsecsfargate

import (
	"context"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

// newSecurityGroups makes the table service_security_groups.
func newSecurityGroups(c *aws.Clients) *aws.Memberships {
	services := newService(c, nil) // which are only read
	return &aws.Memberships{
		Clients: c,
		Description: aws.DescribeGroups("service_security_groups",
			"The security groups of services' tasks, five at most. The tasks of a service that has none have the "+
				"VPC's default group. "+
				"Every change of them, as of the service's subnets, is a new deployment: a new service's first tasks "+
				"may be of the default group.",
			modules.Column{Name: "service_id", References: &modules.Reference{Table: "service", Key: "arn"},
				Doc: "The service, whose column subnets says in which VPC its tasks are."},
			modules.EventMappings("ecs.amazonaws.com",
				modules.Response("service.serviceArn", "CreateService", "UpdateService"))...),
		Owner:  "service_id",
		Member: aws.GroupColumn,
		Lists: declare.Lists(services, named, func(s *ecstypes.Service) aws.MemberList {
			return aws.MemberList{Owner: awssdk.ToString(s.ServiceArn), Members: groups(s)}
		}),
		Set: func(ctx context.Context, c *aws.Clients, scope modules.Scope, have aws.MemberList, want []string) error {
			client, err := declare.Client(ctx, c, scope, ecs.NewFromConfig)
			if err != nil {
				return err
			}
			return declare.Objects(ctx, services, aws.MembersRequest{Scope: scope, Owners: []string{have.Owner}}, named,
				func(services []*ecstypes.Service) error {
					for _, s := range services {
						if awssdk.ToString(s.ServiceArn) != have.Owner {
							continue
						}
						n := s.NetworkConfiguration
						if n == nil || n.AwsvpcConfiguration == nil {
							// Its subnets may be about to be set: this can heal.
							return &modules.Error{Class: modules.Dependency, Code: "NoVPC",
								Message: "the service " + have.Owner +
									" is in no VPC, where alone it can have security groups: set service.subnets"}
						}
						n.AwsvpcConfiguration.SecurityGroups = append([]string{}, want...)
						_, err := client.UpdateService(ctx,
							&ecs.UpdateServiceInput{Cluster: s.ClusterArn, Service: s.ServiceArn,
								NetworkConfiguration: n})
						if err != nil {
							return err
						}
					}
					return nil
				})
		},
	}
}

// groups returns the security groups of a service's tasks.
func groups(s *ecstypes.Service) []string {
	if n := s.NetworkConfiguration; n != nil && n.AwsvpcConfiguration != nil {
		return n.AwsvpcConfiguration.SecurityGroups
	}
	return nil
}

// groupsOf reads the security groups of the step's service.
func groupsOf(ctx context.Context, r *declare.Resource, s *declare.Step) (has []string, err error) {
	err = declare.Objects(ctx, r, aws.MembersRequest{Scope: s.Scope, Owners: []string{s.Have["name"].String()}},
		func(name string) modules.Row {
			return modules.Row{"cluster_id": s.Have["cluster_id"], "name": modules.Text(name)}
		}, func(services []*ecstypes.Service) error {
			for _, s := range services {
				has = groups(s)
			}
			return nil
		})
	return has, err
}

// named names a service that has an ARN. A service is read by its cluster, which
// its ARN says unless it is older than 2021 ("Amazon Resource Names and IDs",
// Amazon ECS Developer Guide).
func named(arn string) modules.Row {
	// arn:aws:ecs:region:account:service/cluster/name
	if parts := strings.Split(arn, "/"); len(parts) == 3 {
		return modules.Row{"cluster_id": modules.Text(parts[1]), "name": modules.Text(arn)}
	}
	return nil
}
