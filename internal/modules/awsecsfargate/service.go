package awsecsfargate

import (
	"context"
	"path"
	"slices"

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
	description *modules.Table
}

func newService(c *aws.Clients) *service { return &service{clients: c, description: describeService()} }

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
				Doc: "The ids of the subnets that tasks are put into, such as subnet-0a1b2c3d. Needed for Fargate."},
			modules.Column{Name: "security_group_ids", Type: modules.TypeTexts, Unordered: true, Chosen: true,
				Doc: "The ids of its tasks' security groups; the VPC's default group if left out. Ids, and not IaSQL's table service_security_groups, since ECS sets them all at once."},
			modules.Column{Name: "assign_public_ip", Type: modules.TypeText, Required: true, Default: "'DISABLED'", Enum: []string{"DISABLED", "ENABLED"},
				Doc: "Whether tasks get public addresses: DISABLED or ENABLED. Default DISABLED."},
			modules.Column{Name: "load_balancers", Type: modules.TypeJSON, Unordered: true, EmptyIsNull: true, Check: `jsonb_typeof(load_balancers) = 'array'`,
				Doc: `What its tasks are reached through, as in the API (IaSQL's target_group_id): [{"targetGroupArn": "arn:…", "containerName": "web", "containerPort": 80}].`},
			modules.Column{Name: "arn", Type: modules.TypeText, Assigned: true,
				Doc: "Its Amazon Resource Name (ARN)."},
			modules.Column{Name: "status", Type: modules.TypeText, Assigned: true,
				Doc: "ACTIVE, or DRAINING while its last tasks stop."},
			modules.Column{Name: "running_count", Type: modules.TypeInteger, Assigned: true,
				Doc: "How many of its tasks are running."},
			aws.TagsColumn(),
		),
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
	return aws.Pages(ctx, ecs.NewListClustersPaginator(client, &ecs.ListClustersInput{MaxResults: awssdk.Int32(mostClusters)}),
		func(out *ecs.ListClustersOutput) error {
			collect, rows := aws.Collector()
			err := aws.Each(ctx, aws.Breadth, out.ClusterArns, func(ctx context.Context, cluster string) error {
				return aws.IfExists(aws.Pages(ctx, ecs.NewListServicesPaginator(client, &ecs.ListServicesInput{
					Cluster: &cluster, MaxResults: awssdk.Int32(100),
				}), func(out *ecs.ListServicesOutput) error {
					rows, err := describeServices(ctx, client, cluster, out.ServiceArns)
					if err != nil {
						return err
					}
					return collect(rows)
				}))
			})
			if err != nil {
				return err
			}
			return page(rows())
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
		rows, err := describeServices(ctx, client, cluster, names)
		if aws.IfExists(err) != nil { // without the cluster there are no services
			return nil, err
		}
		all = append(all, rows...)
	}
	return all, nil
}

func describeServices(ctx context.Context, client *ecs.Client, cluster string, names []string) ([]modules.Row, error) {
	var rows []modules.Row
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
			if awssdk.ToString(s.Status) == inactive {
				continue
			}
			row, err := serviceRow(s)
			if err != nil {
				return nil, err
			}
			rows = append(rows, row)
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
		"security_group_ids": modules.Null,
		"assign_public_ip":   modules.Text("DISABLED"),
		"load_balancers":     modules.Null,
		"arn":                modules.TextPtr(s.ServiceArn),
		"status":             modules.TextPtr(s.Status),
		"running_count":      modules.Int(s.RunningCount),
		"tags":               ecsTags.Value(s.Tags),
	}
	if n := s.NetworkConfiguration; n != nil && n.AwsvpcConfiguration != nil {
		row["subnets"] = modules.Strings(n.AwsvpcConfiguration.Subnets)
		row["security_group_ids"] = modules.Strings(n.AwsvpcConfiguration.SecurityGroups)
		if public := n.AwsvpcConfiguration.AssignPublicIp; public != "" {
			row["assign_public_ip"] = modules.NonEmpty(public)
		}
	}
	var err error
	if len(s.LoadBalancers) > 0 {
		row["load_balancers"], err = spelled(s.LoadBalancers)
	}
	return row, err
}

// balancers reads load balancers as users write them; none is an empty list,
// which removes what there is.
func balancers(want modules.Row) ([]ecstypes.LoadBalancer, error) {
	list := []ecstypes.LoadBalancer{}
	if want["load_balancers"].IsNull() {
		return list, nil
	}
	err := parse("load_balancers", want["load_balancers"].String(), &list)
	return list, err
}

func network(want modules.Row) *ecstypes.NetworkConfiguration {
	if want["subnets"].IsNull() {
		return nil
	}
	return &ecstypes.NetworkConfiguration{AwsvpcConfiguration: &ecstypes.AwsVpcConfiguration{
		Subnets:        want["subnets"].Strings(),
		SecurityGroups: want["security_group_ids"].Strings(),
		AssignPublicIp: ecstypes.AssignPublicIp(want["assign_public_ip"].String()),
	}}
}

// Create creates a service.
func (r *service) Create(ctx context.Context, scope modules.Scope, want modules.Row, _ string) (modules.Row, error) {
	client, err := client(ctx, r.clients, scope)
	if err != nil {
		return nil, err
	}
	reached, err := balancers(want)
	if err != nil {
		return nil, err
	}
	_, err = client.CreateService(ctx, &ecs.CreateServiceInput{
		LoadBalancers: reached,
		Cluster:       want["cluster_id"].Ptr(), ServiceName: want["name"].Ptr(), TaskDefinition: want["task_definition_id"].Ptr(),
		DesiredCount: want["desired_count"].Int32Ptr(), LaunchType: ecstypes.LaunchType(want["launch_type"].String()),
		NetworkConfiguration: network(want), Tags: ecsTags.List(aws.TagsOf(want, "")),
	})
	if err != nil {
		return nil, err
	}
	return modules.Row{"cluster_id": want["cluster_id"], "name": want["name"]}, nil
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
	if changed("task_definition_id", "desired_count", "subnets", "security_group_ids", "assign_public_ip", "load_balancers") {
		in := &ecs.UpdateServiceInput{Cluster: have["cluster_id"].Ptr(), Service: have["name"].Ptr()}
		if changed("task_definition_id") {
			in.TaskDefinition = want["task_definition_id"].Ptr()
		}
		if changed("desired_count") {
			in.DesiredCount = want["desired_count"].Int32Ptr()
		}
		if changed("subnets", "security_group_ids", "assign_public_ip") {
			in.NetworkConfiguration = network(want)
		}
		if changed("load_balancers") {
			if in.LoadBalancers, err = balancers(want); err != nil {
				return err
			}
		}
		if _, err := client.UpdateService(ctx, in); err != nil {
			return err
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
