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

// mostServices is how many services DescribeServices takes.
const mostServices = 10

// oneTargetGroup is what load_balancers does not hold: a single target group,
// for which there are columns.
const oneTargetGroup = `CASE WHEN jsonb_typeof(load_balancers) <> 'array' THEN false ELSE jsonb_array_length(load_balancers) <> 1 OR
	NOT load_balancers -> 0 ?& '{targetGroupArn,containerName,containerPort}' OR (load_balancers -> 0) - '{targetGroupArn,containerName,containerPort}'::text[] <> '{}' END`

// reached are the columns that say what a service is reached through.
var reached = []string{"target_group_id", "container_name", "container_port", "load_balancers"}

// newService declares the table service. Its security groups, which follow, are
// those of groups.
func newService(c *aws.Clients, groups *aws.Memberships) *declare.Resource {
	var r *declare.Resource
	r = declare.New(c, declare.Table[ecstypes.Service]{
		Name:    "service",
		Doc:     "Services: keep a number of tasks running. Deleting one stops its tasks.",
		Service: declare.Service(ecs.NewFromConfig),
		Columns: []declare.Column{
			declare.Ref("cluster_id", "ClusterArn", "cluster", "cluster_name",
				"The cluster it runs in.").In("Cluster").As(declare.LastPart("/")).Required().Identity().CreateOnly(),
			declare.Name("name", "ServiceName",
				"Its name, unique in the cluster: up to 255 letters, digits, hyphens and underscores.").
				In("ServiceName", "Service").Matches("^[A-Za-z0-9_-]{1,255}$"),
			declare.Ref("task_definition_id", "TaskDefinition", "task_definition", "task_definition_arn",
				"The revision of a task definition that its tasks are of; another one is rolled out.").Lasts(),
			declare.Integer("desired_count", "DesiredCount",
				"How many tasks are kept running.").Required().Check("desired_count >= 0"),
			declare.Text("launch_type", "LaunchType",
				"Where tasks run. Default FARGATE; NULL for services with a "+
					"capacity_provider_strategy.").
				CreateOnly().Initially("'FARGATE'").OneOf("FARGATE", "EC2", "EXTERNAL", "MANAGED_INSTANCES"),
			declare.Texts("subnets", "NetworkConfiguration.AwsvpcConfiguration.Subnets",
				"The ids of the subnets that tasks are put into, such as subnet-0a1b2c3d; their security groups are "+
					"in service_security_groups. Needed for Fargate.").
				Unordered().EmptyIsNull().
				Records("subnet", "subnet_id", 6),
			declare.Text("assign_public_ip", "NetworkConfiguration.AwsvpcConfiguration.AssignPublicIp",
				"Whether tasks get public addresses: DISABLED or ENABLED. Default DISABLED.").
				Default("'DISABLED'").OneOf("DISABLED", "ENABLED").Absent(modules.Text("DISABLED")),
			declare.Ref("target_group_id", "", "target_group", "target_group_arn",
				"The target group that its tasks are registered in, which a listener has to use before the service "+
					"can be created. NULL: there is none, or load_balancers says which.").Lasts(),
			declare.Text("container_name", "",
				"Which container of a task is registered in the target group, by its name in the task definition.").
				Length(1, 255),
			declare.Integer("container_port", "", "Which port of that container.").Between(0, 65535),
			declare.JSON("load_balancers", "",
				`What target_group_id cannot say, as in the API: several target groups, a Classic Load Balancer, or a deployment's other target group. `+
					`[{"targetGroupArn": "arn:…", "containerName": "web", "containerPort": 80}, …].`).Unordered().EmptyIsNull().Check(oneTargetGroup),
			declare.Text("role", "RoleArn",
				"The role by which ECS calls the load balancer, by its name or ARN, where that is not ECS's own; see "+
					"\"Role\" on the page CreateService.").
				In("Role").CreateOnly().OptionalComputed().Same(declare.SameKey).As(ownRole).Since(5),
			declare.ARN("arn", "ServiceArn"),
			declare.Text("resource_id", "",
				"How Application Auto Scaling calls it: service/, its cluster's name, / and its own.").Computed().Since(
				7),
			declare.Text("status", "Status", "ACTIVE, or DRAINING while its last tasks stop.").Computed(),
			declare.Integer("running_count", "RunningCount", "How many of its tasks are running.").Computed(),
			declare.Tags("Tags", (*ecs.Client).TagResource, (*ecs.Client).UntagResource),
		},
		Published: declare.Published{Type: "AWS::ECS::Service", Since: 5,
			Read: map[string]string{
				"PlacementStrategies":         "PlacementStrategy",
				"ServiceConnectConfiguration": "Deployments[0].ServiceConnectConfiguration",
				"VolumeConfigurations":        "Deployments[0].VolumeConfigurations",
				"VpcLatticeConfigurations":    "Deployments[0].VpcLatticeConfigurations",
			},
			Columns: map[string]string{"NetworkConfiguration": "subnets"},
			Along:   []string{"ForceNewDeployment", "Monitoring"},
			Sets: []string{"CapacityProviderStrategy", "PlacementConstraints", "ServiceRegistries",
				"VpcLatticeConfigurations"},
			Filled: map[string][]string{
				"DeploymentConfiguration": {"Alarms", "BakeTimeInMinutes", "DeploymentCircuitBreaker", "MaximumPercent",
					"MinimumHealthyPercent", "Strategy"},
				"VolumeConfigurations": {"Encrypted", "FilesystemType", "Iops", "Throughput", "VolumeType"},
			},
			Docs: map[string]string{
				"AvailabilityZoneRebalancing": "Whether tasks are moved so that each availability zone has as " +
					"many: ENABLED or DISABLED.",
				"CapacityProviderStrategy": `How tasks are spread over capacity providers, such as [{"CapacityProvider": "FARGATE_SPOT", "Weight": 1}]; launch_type is NULL then. AWS takes a change only with force_new_deployment.`,
				"DeploymentConfiguration":  `How another revision is rolled out, such as {"MaximumPercent": 200, "MinimumHealthyPercent": 100, "DeploymentCircuitBreaker": {"Enable": true, "Rollback": true}}. Members that are left out are as AWS has them.`,
				"DeploymentController":     `Who rolls it out: {"Type": "ECS"} (if left out), CODE_DEPLOY or EXTERNAL.`,
				"EnableECSManagedTags": "Whether tasks get tags with their cluster and service; they do not " +
					"if left out.",
				"EnableExecuteCommand": "Whether commands can be run in its containers; not if left out.",
				"ForceNewDeployment": "Whether each change of the service starts its tasks anew, also one " +
					"that would not.",
				"HealthCheckGracePeriodSeconds": "How many seconds after its start a task is not stopped for failing " +
					"health checks.",
				"Monitoring": "How it is monitored, as the API has it: sent with what changes of " +
					"the service, and told by no listing.",
				"PlatformVersion": "The version of Fargate; LATEST if left out.",
				"PropagateTags":   "What tasks get their tags from: TASK_DEFINITION, SERVICE or NONE.",
				"SchedulingStrategy": "REPLICA, if left out: desired_count tasks; or DAEMON: one on each " +
					"instance of the cluster.",
				"ServiceConnectConfiguration": `How its tasks are found by other services, and find them: {"Enabled": true, "Namespace": "arn:…", "Services": […]}.`,
			},
		},
		Checks: []string{
			"target_group_id IS NULL OR num_nonnulls(container_name, container_port) = 2",
			"load_balancers IS NULL OR num_nonnulls(target_group_id, container_name, container_port) = 0",
		},
		// by which its security groups and what scales it name it
		Uniques: [][]string{{modules.ColumnAccount, modules.ColumnRegion, "arn"},
			{modules.ColumnAccount, modules.ColumnRegion, "resource_id"}},
		DestroyBeforeCreate: true,

		Kind: "service/",
		EventMappings: modules.EventMappings("ecs.amazonaws.com",
			modules.Response("service.serviceArn", "CreateService", "UpdateService", "DeleteService").In("arn"),
			modules.Request("serviceName", "CreateService").In("name"),
			modules.Request("service", "UpdateService", "DeleteService", "UpdateServicePrimaryTaskSet").In("name"),
		),
		List: declare.Pages(ecs.NewListServicesPaginator, "ServiceArns", declare.PageSize(100)).
			Within(clusters(), "", "Cluster").Names("name", ""), // DescribeServices takes ARNs for names
		Get: declare.Batch(declare.Call((*ecs.Client).DescribeServices,
			declare.With(&ecs.DescribeServicesInput{Include: []ecstypes.ServiceField{ecstypes.ServiceFieldTags}}),
			declare.Checked(func(out *ecs.DescribeServicesOutput) error { return unlessMissing(out.Failures) })),
			"Services", "name", mostServices, "Services").Each("cluster_id"),
		Gone: func(s *ecstypes.Service) bool { return awssdk.ToString(s.Status) == inactive },
		Row:  derived,
		Create: declare.Call((*ecs.Client).CreateService, declare.Failed(refused), declare.Answer("Service"),
			declare.Edit(func(_ context.Context, s *declare.Step, in *ecs.CreateServiceInput) (err error) {
				in.NetworkConfiguration = network(s.Want, nil)
				if in.SchedulingStrategy == ecstypes.SchedulingStrategyDaemon {
					in.DesiredCount = nil // as many as the cluster has instances
				}
				in.LoadBalancers, err = balancers(s.Want)
				return err
			})),
		CreateBy: func(ctx context.Context, s *declare.Step) (modules.Row, error) {
			made, err := s.Create(ctx)
			if err == nil {
				made["resource_id"] = modules.Text(resourceOf(s.Want["cluster_id"].String(), s.Want["name"].String()))
			}
			return made, err
		},
		Updates: []declare.Update{declare.Modify(declare.Call((*ecs.Client).UpdateService, declare.Failed(refused),
			declare.Edit(func(ctx context.Context, s *declare.Step, in *ecs.UpdateServiceInput) error {
				in.NetworkConfiguration = nil
				if s.Changes("subnets", "assign_public_ip") {
					has, err := groupsOf(ctx, r, s)
					if err != nil {
						return err
					}
					in.NetworkConfiguration = network(s.Want, has)
				}
				if !s.Changes(reached...) {
					return nil
				}
				var err error
				in.LoadBalancers, err = balancers(s.Want)
				return err
			})), append([]string{"task_definition_id", "desired_count", "subnets", "assign_public_ip",
			"availability_zone_rebalancing", "capacity_provider_strategy", "deployment_configuration",
			"deployment_controller", "enable_ecs_managed_tags", "enable_execute_command",
			"health_check_grace_period_seconds", "placement_constraints", "placement_strategies",
			"platform_version", "propagate_tags", "service_connect_configuration", "service_registries",
			"volume_configurations", "vpc_lattice_configurations"}, reached...)...).Holding(
			func(s *declare.Step) func() {
				if !s.Changes("subnets", "assign_public_ip") {
					return func() {}
				}
				return groups.Lock(s.Scope, s.Have["arn"].String())
			})},
		// While its last tasks stop there can be no other of its name (page
		// DeleteService).
		Going: declare.In("status", "DRAINING"),
		// With its tasks. One that is being deleted is no longer active, which is no
		// error.
		Delete: declare.Call((*ecs.Client).DeleteService,
			declare.With(&ecs.DeleteServiceInput{Force: awssdk.Bool(true)}),
			declare.Failed(func(_ context.Context, _ *declare.Step, err error) error {
				if aws.HasCode(err, "ServiceNotActiveException") {
					return nil
				}
				return err
			})),
	})
	return r
}

// derived reads what a service is reached through, and how Application Auto Scaling calls it.
func derived(_ context.Context, _ *declare.Step, s *ecstypes.Service, row modules.Row) (err error) {
	_, cluster, _ := strings.Cut(awssdk.ToString(s.ClusterArn), "/")
	row["resource_id"] = modules.Text(resourceOf(cluster, awssdk.ToString(s.ServiceName)))
	for _, column := range reached {
		row[column] = modules.Null
	}
	switch {
	case len(s.LoadBalancers) == 1 && oneGroup(s.LoadBalancers[0]):
		b := s.LoadBalancers[0]
		row["target_group_id"] = modules.TextPtr(b.TargetGroupArn)
		row["container_name"], row["container_port"] = modules.TextPtr(b.ContainerName), modules.IntPtr(b.ContainerPort)
	case len(s.LoadBalancers) > 0:
		row["load_balancers"], err = spelled(s.LoadBalancers)
	}
	return err
}

// ownRole reads the service-linked role as none: nobody can ask for it.
var ownRole = declare.Unless(func(arn string) bool { return strings.Contains(arn, "/aws-service-role/") })

// oneGroup reports whether the columns of a target group say all there is to say
// of b; see [oneTargetGroup].
func oneGroup(b ecstypes.LoadBalancer) bool {
	return b.TargetGroupArn != nil && b.ContainerName != nil && b.ContainerPort != nil && b.LoadBalancerName == nil &&
		b.AdvancedConfiguration == nil
}

// balancers reads what a service is reached through; none is an empty list,
// which removes what there is.
func balancers(want modules.Row) ([]ecstypes.LoadBalancer, error) {
	list := []ecstypes.LoadBalancer{}
	switch group, name, port := want["target_group_id"], want["container_name"], want["container_port"]; {
	case !group.IsNull():
		return append(list, ecstypes.LoadBalancer{TargetGroupArn: group.Ptr(), ContainerName: name.Ptr(),
			ContainerPort: port.Int32Ptr()}), nil
	case !name.IsNull() || !port.IsNull():
		return nil, &modules.Error{Class: modules.Invalid, Code: "NoTargetGroup",
			Message: "container_name and container_port are of a target group: set target_group_id too, or neither"}
	case want["load_balancers"].IsNull():
		return list, nil
	}
	err := parse("load_balancers", want["load_balancers"].String(), &list)
	return list, err
}

// network returns where tasks are put. Without groups they have the VPC's default
// group (page AwsVpcConfiguration of the API Reference).
func network(want modules.Row, groups []string) *ecstypes.NetworkConfiguration {
	if want["subnets"].IsNull() {
		return nil
	}
	return &ecstypes.NetworkConfiguration{AwsvpcConfiguration: &ecstypes.AwsVpcConfiguration{
		Subnets:        want["subnets"].Strings(),
		SecurityGroups: append([]string{}, groups...),
		AssignPublicIp: ecstypes.AssignPublicIp(want["assign_public_ip"].String()),
	}}
}

// refused gives what ECS says in words under InvalidParameterException its class:
// a name that is taken, and what only has to be waited for: a service of that
// name that stops its last tasks, and the listener of a target group that is
// made in the same transaction.
func refused(_ context.Context, _ *declare.Step, err error) error {
	if !aws.HasCode(err, "InvalidParameterException") {
		return err
	}
	classed := &modules.Error{Class: modules.Dependency, Code: "InvalidParameterException",
		Message: err.Error(), Err: err}
	switch text := err.Error(); {
	case strings.Contains(text, "was not idempotent"):
		classed.Class = modules.Exists
	case strings.Contains(text, "still Draining"), strings.Contains(text, "does not have an associated load balancer"):
	default:
		return err
	}
	return classed
}
