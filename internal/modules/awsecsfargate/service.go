package awsecsfargate

import (
	"context"
	"path"
	"slices"
	"strings"
	"sync"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"iasql/internal/aws"
	"iasql/internal/modules"
)

// mostServices is how many services DescribeServices takes.
const mostServices = 10

// service is the table service.
type service struct {
	clients     *aws.Clients
	groups      *aws.Memberships
	description *modules.Table
}

func newService(c *aws.Clients, groups *aws.Memberships) *service {
	return &service{clients: c, groups: groups, description: describeService()}
}

// oneTargetGroup is what load_balancers does not hold: a single target group,
// for which there are columns.
const oneTargetGroup = `CASE WHEN jsonb_typeof(load_balancers) <> 'array' THEN false ELSE jsonb_array_length(load_balancers) <> 1 OR
	NOT load_balancers -> 0 ?& '{targetGroupArn,containerName,containerPort}' OR (load_balancers -> 0) - '{targetGroupArn,containerName,containerPort}'::text[] <> '{}' END`

func describeService() *modules.Table {
	return &modules.Table{
		Name:     "service",
		Doc:      "Services: keep a number of tasks running. Deleting one stops its tasks.",
		Provider: aws.Provider,
		Reach:    modules.PerRegion,
		Creation: modules.ByName,
		Columns: aws.Regional(
			modules.Column{Name: "cluster_id", Type: modules.TypeBigint, Required: true, Identity: true, CreateOnly: true,
				References: &modules.Reference{Table: "cluster", Key: "cluster_name"},
				Doc:        "The cluster it runs in."},
			modules.Column{Name: "name", Type: modules.TypeText, Required: true, Identity: true, CreateOnly: true,
				Check: `name ~ '^[A-Za-z0-9_-]{1,255}$'`,
				Doc:   "Its name, unique in the cluster: up to 255 letters, digits, hyphens and underscores."},
			modules.Column{Name: "task_definition_id", Type: modules.TypeBigint,
				References: &modules.Reference{Table: "task_definition", Key: "task_definition_arn"},
				Doc:        "The revision of a task definition that its tasks are of; another one is rolled out."},
			modules.Column{Name: "desired_count", Type: modules.TypeInteger, Required: true, Check: "desired_count >= 0",
				Doc: "How many tasks are kept running."},
			modules.Column{Name: "launch_type", Type: modules.TypeText, CreateOnly: true, Default: "'FARGATE'", Enum: []string{"FARGATE", "EC2", "EXTERNAL"},
				Doc: "Where tasks run. Default FARGATE; NULL for services with a capacity provider strategy, which are not created here."},
			modules.Column{Name: "subnets", Type: modules.TypeTexts, Unordered: true, EmptyIsNull: true,
				Doc: "The ids of the subnets that tasks are put into, such as subnet-0a1b2c3d; their security groups are in service_security_groups. Needed for Fargate."},
			modules.Column{Name: "assign_public_ip", Type: modules.TypeText, Required: true, Default: "'DISABLED'", Enum: []string{"DISABLED", "ENABLED"},
				Doc: "Whether tasks get public addresses: DISABLED or ENABLED. Default DISABLED."},
			modules.Column{Name: "target_group_id", Type: modules.TypeBigint,
				References: &modules.Reference{Table: "target_group", Key: "target_group_arn"},
				Doc:        "The target group that its tasks are registered in, which a listener has to use before the service can be created. NULL: there is none, or load_balancers says which."},
			modules.Column{Name: "container_name", Type: modules.TypeText, Check: "length(container_name) BETWEEN 1 AND 255",
				Doc: "Which container of a task is registered in the target group, by its name in the task definition."},
			modules.Column{Name: "container_port", Type: modules.TypeInteger, Check: "container_port BETWEEN 0 AND 65535",
				Doc: "Which port of that container."},
			modules.Column{Name: "load_balancers", Type: modules.TypeJSON, Unordered: true, EmptyIsNull: true, Check: oneTargetGroup,
				Doc: `What target_group_id cannot say, as in the API: several target groups, a Classic Load Balancer, or a deployment's other target group. ` +
					`[{"targetGroupArn": "arn:…", "containerName": "web", "containerPort": 80}, …].`},
			modules.Column{Name: "arn", Type: modules.TypeText, Assigned: true,
				Doc: "Its Amazon Resource Name (ARN)."},
			modules.Column{Name: "status", Type: modules.TypeText, Assigned: true,
				Doc: "ACTIVE, or DRAINING while its last tasks stop."},
			modules.Column{Name: "running_count", Type: modules.TypeInteger, Assigned: true,
				Doc: "How many of its tasks are running."},
			aws.TagsColumn(),
		),
		Checks: []string{
			"target_group_id IS NULL OR num_nonnulls(container_name, container_port) = 2",
			"load_balancers IS NULL OR num_nonnulls(target_group_id, container_name, container_port) = 0",
		},
		Uniques:             [][]string{{modules.ColumnAccount, modules.ColumnRegion, "arn"}}, // by which its security groups name it
		DestroyBeforeCreate: true,
	}
}

// Table returns the description.
func (r *service) Table() *modules.Table { return r.description }

// List gives every service of the scope to page.
func (r *service) List(ctx context.Context, scope modules.Scope, page func([]modules.Row) error) error {
	client, err := client(ctx, r.clients, scope)
	if err != nil {
		return err
	}
	return allServices(ctx, client, func(services []ecstypes.Service) error {
		rows, err := serviceRows(services)
		if err != nil {
			return err
		}
		return page(rows)
	})
}

// allServices gives the services of all clusters to page, in one call at a time.
func allServices(ctx context.Context, client *ecs.Client, page func([]ecstypes.Service) error) error {
	return aws.Pages(ctx, ecs.NewListClustersPaginator(client, &ecs.ListClustersInput{MaxResults: awssdk.Int32(mostClusters)}),
		func(out *ecs.ListClustersOutput) error {
			var lock sync.Mutex
			return aws.Each(ctx, aws.Breadth, out.ClusterArns, func(ctx context.Context, cluster string) error {
				return aws.IfExists(aws.Pages(ctx, ecs.NewListServicesPaginator(client, &ecs.ListServicesInput{
					Cluster: &cluster, MaxResults: awssdk.Int32(100),
				}), func(out *ecs.ListServicesOutput) error {
					services, err := describeServices(ctx, client, cluster, out.ServiceArns)
					if err != nil {
						return err
					}
					lock.Lock()
					defer lock.Unlock()
					return page(services)
				}))
			})
		})
}

// Get reads the services with these names, those of a cluster together.
func (r *service) Get(ctx context.Context, scope modules.Scope, identities []modules.Row) ([]modules.Row, error) {
	client, err := client(ctx, r.clients, scope)
	if err != nil {
		return nil, err
	}
	byCluster := map[string][]string{}
	for _, identity := range identities {
		cluster := identity["cluster_id"].String()
		byCluster[cluster] = append(byCluster[cluster], identity["name"].String())
	}
	var all []modules.Row
	for cluster, names := range byCluster {
		services, err := describeServices(ctx, client, cluster, names)
		if aws.IfExists(err) != nil { // without the cluster there are no services
			return nil, err
		}
		rows, err := serviceRows(services)
		if err != nil {
			return nil, err
		}
		all = append(all, rows...)
	}
	return all, nil
}

// describeServices reads the services of a cluster that have these names or ARNs.
func describeServices(ctx context.Context, client *ecs.Client, cluster string, names []string) ([]ecstypes.Service, error) {
	var services []ecstypes.Service
	for some := range slices.Chunk(names, mostServices) {
		out, err := client.DescribeServices(ctx, &ecs.DescribeServicesInput{
			Cluster: &cluster, Services: some, Include: []ecstypes.ServiceField{ecstypes.ServiceFieldTags},
		})
		if err != nil {
			return nil, err
		}
		for _, failure := range out.Failures {
			if reason := awssdk.ToString(failure.Reason); reason != "MISSING" {
				return nil, &modules.Error{Class: modules.Transient, Code: reason, Message: awssdk.ToString(failure.Detail)}
			}
		}
		for _, s := range out.Services {
			if awssdk.ToString(s.Status) != inactive {
				services = append(services, s)
			}
		}
	}
	return services, nil
}

func serviceRows(services []ecstypes.Service) ([]modules.Row, error) {
	rows := make([]modules.Row, len(services))
	for i, s := range services {
		var err error
		if rows[i], err = serviceRow(s); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

func serviceRow(s ecstypes.Service) (modules.Row, error) {
	row := modules.Row{
		"cluster_id":         modules.Text(path.Base(awssdk.ToString(s.ClusterArn))),
		"name":               modules.TextPtr(s.ServiceName),
		"task_definition_id": modules.NonEmpty(awssdk.ToString(s.TaskDefinition)),
		"desired_count":      modules.Int(s.DesiredCount),
		"launch_type":        modules.NonEmpty(s.LaunchType),
		"subnets":            modules.Null,
		"assign_public_ip":   modules.Text("DISABLED"),
		"target_group_id":    modules.Null,
		"container_name":     modules.Null,
		"container_port":     modules.Null,
		"load_balancers":     modules.Null,
		"arn":                modules.TextPtr(s.ServiceArn),
		"status":             modules.TextPtr(s.Status),
		"running_count":      modules.Int(s.RunningCount),
		"tags":               ecsTags.Value(s.Tags),
	}
	if n := s.NetworkConfiguration; n != nil && n.AwsvpcConfiguration != nil {
		row["subnets"] = modules.Strings(n.AwsvpcConfiguration.Subnets)
		if public := n.AwsvpcConfiguration.AssignPublicIp; public != "" {
			row["assign_public_ip"] = modules.NonEmpty(public)
		}
	}
	var err error
	switch {
	case len(s.LoadBalancers) == 1 && oneGroup(s.LoadBalancers[0]):
		b := s.LoadBalancers[0]
		row["target_group_id"] = modules.TextPtr(b.TargetGroupArn)
		row["container_name"], row["container_port"] = modules.TextPtr(b.ContainerName), modules.IntPtr(b.ContainerPort)
	case len(s.LoadBalancers) > 0:
		row["load_balancers"], err = spelled(s.LoadBalancers)
	}
	return row, err
}

// oneGroup reports whether the columns of a target group say all there is to say
// of b; see [oneTargetGroup].
func oneGroup(b ecstypes.LoadBalancer) bool {
	return b.TargetGroupArn != nil && b.ContainerName != nil && b.ContainerPort != nil && b.LoadBalancerName == nil && b.AdvancedConfiguration == nil
}

// balancers reads what a service is reached through; none is an empty list,
// which removes what there is.
func balancers(want modules.Row) ([]ecstypes.LoadBalancer, error) {
	list := []ecstypes.LoadBalancer{}
	switch group, name, port := want["target_group_id"], want["container_name"], want["container_port"]; {
	case !group.IsNull():
		return append(list, ecstypes.LoadBalancer{TargetGroupArn: group.Ptr(), ContainerName: name.Ptr(), ContainerPort: port.Int32Ptr()}), nil
	case !name.IsNull() || !port.IsNull():
		return nil, &modules.Error{Class: modules.Invalid, Code: "NoTargetGroup", Message: "container_name and container_port are of a target group: set target_group_id too, or neither"}
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
func refused(err error) error {
	if !aws.HasCode(err, "InvalidParameterException") {
		return err
	}
	classed := &modules.Error{Class: modules.Dependency, Code: "InvalidParameterException", Message: err.Error(), Err: err}
	switch text := err.Error(); {
	case strings.Contains(text, "was not idempotent"):
		classed.Class = modules.Exists
	case strings.Contains(text, "still Draining"), strings.Contains(text, "does not have an associated load balancer"):
	default:
		return err
	}
	return classed
}

// Create creates a service. Its security groups follow.
func (r *service) Create(ctx context.Context, scope modules.Scope, want modules.Row, _ string) (modules.Row, error) {
	client, err := client(ctx, r.clients, scope)
	if err != nil {
		return nil, err
	}
	reached, err := balancers(want)
	if err != nil {
		return nil, err
	}
	out, err := client.CreateService(ctx, &ecs.CreateServiceInput{
		LoadBalancers: reached,
		Cluster:       want["cluster_id"].Ptr(), ServiceName: want["name"].Ptr(), TaskDefinition: want["task_definition_id"].Ptr(),
		DesiredCount: want["desired_count"].Int32Ptr(), LaunchType: ecstypes.LaunchType(want["launch_type"].String()),
		NetworkConfiguration: network(want, nil), Tags: ecsTags.List(aws.TagsOf(want, "")),
	})
	if err != nil {
		return nil, refused(err)
	}
	return modules.Row{"cluster_id": want["cluster_id"], "name": want["name"], "arn": modules.TextPtr(out.Service.ServiceArn)}, nil
}

// Update changes everything but tags in one call.
func (r *service) Update(ctx context.Context, scope modules.Scope, have, want modules.Row, columns []string) error {
	client, err := client(ctx, r.clients, scope)
	if err != nil {
		return err
	}
	changed := func(names ...string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return slices.Contains(columns, name) })
	}
	reached := []string{"target_group_id", "container_name", "container_port", "load_balancers"}
	if changed("task_definition_id", "desired_count", "subnets", "assign_public_ip") || changed(reached...) {
		in := &ecs.UpdateServiceInput{Cluster: have["cluster_id"].Ptr(), Service: have["name"].Ptr()}
		if changed("task_definition_id") {
			in.TaskDefinition = want["task_definition_id"].Ptr()
		}
		if changed("desired_count") {
			in.DesiredCount = want["desired_count"].Int32Ptr()
		}
		if changed("subnets", "assign_public_ip") {
			defer r.groups.Lock(scope, have["arn"].String())()
			groups, err := groupsOf(ctx, client, *in.Cluster, *in.Service)
			if err != nil {
				return err
			}
			in.NetworkConfiguration = network(want, groups)
		}
		if changed(reached...) {
			if in.LoadBalancers, err = balancers(want); err != nil {
				return err
			}
		}
		if _, err := client.UpdateService(ctx, in); err != nil {
			return refused(err)
		}
	}
	if changed(modules.ColumnTags) {
		return updateTags(ctx, client, have["arn"].Ptr(), have, want)
	}
	return nil
}

// Delete deletes a service with its tasks; one that is being deleted is no
// longer active, which is no error.
func (r *service) Delete(ctx context.Context, scope modules.Scope, have modules.Row) error {
	client, err := client(ctx, r.clients, scope)
	if err != nil {
		return err
	}
	_, err = client.DeleteService(ctx, &ecs.DeleteServiceInput{
		Cluster: have["cluster_id"].Ptr(), Service: have["name"].Ptr(), Force: awssdk.Bool(true),
	})
	if aws.HasCode(err, "ServiceNotActiveException") {
		return nil
	}
	return aws.IfExists(err)
}
