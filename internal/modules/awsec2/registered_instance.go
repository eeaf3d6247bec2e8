package awsec2

import (
	"context"
	_ "embed"
	"slices"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"iasql/internal/aws"
	"iasql/internal/modules"
)

var (
	//go:embed sql/after.sql
	after string
	//go:embed sql/drop.sql
	drop string
)

// registered is the table registered_instance.
type registered struct {
	clients     *aws.Clients
	description *modules.Table
}

func newRegistered(c *aws.Clients) *registered {
	return &registered{clients: c, description: describeRegistered()}
}

func describeRegistered() *modules.Table {
	return &modules.Table{
		Name:     "registered_instance",
		Doc:      "Instances that are targets of target groups. One that is being taken out, and is still finishing requests, is no longer shown.",
		Provider: aws.Provider,
		Reach:    modules.PerRegion,
		Creation: modules.ByName,
		Columns: aws.Regional(
			modules.Column{Name: "instance", Type: modules.TypeBigint, Required: true, Identity: true, CreateOnly: true,
				References: &modules.Reference{Table: "instance", Key: "instance_id", Part: modules.PartFirst},
				Doc:        "The instance."},
			modules.Column{Name: "target_group_id", Type: modules.TypeBigint, Required: true, Identity: true, CreateOnly: true,
				References: &modules.Reference{Table: "target_group", Key: "target_group_arn", Part: modules.PartAlong},
				Doc:        "The target group, whose target_type is instance."},
			modules.Column{Name: "port", Type: modules.TypeInteger, Required: true, Identity: true, CreateOnly: true,
				Check: "port BETWEEN 1 AND 65535",
				Doc:   "The port on which the instance receives traffic; the target group's if left out. An instance can be registered with several."},
			modules.Column{Name: "health", Type: modules.TypeText, Assigned: true,
				Doc: "initial, healthy, unhealthy, unused or unavailable."},
			modules.Column{Name: "health_description", Type: modules.TypeText, Assigned: true,
				Doc: "Why it is not healthy."},
		),
	}
}

func (r *registered) client(ctx context.Context, scope modules.Scope) (*elb.Client, error) {
	return aws.Client(ctx, r.clients, scope, func(cfg awssdk.Config) *elb.Client { return elb.NewFromConfig(cfg) })
}

// Table returns the description.
func (r *registered) Table() *modules.Table { return r.description }

// List gives the instances of every target group to page: one call for each
// group, since no call lists the targets of several.
func (r *registered) List(ctx context.Context, scope modules.Scope, page func([]modules.Row) error) error {
	client, err := r.client(ctx, scope)
	if err != nil {
		return err
	}
	return aws.Pages(ctx, elb.NewDescribeTargetGroupsPaginator(client, &elb.DescribeTargetGroupsInput{}), func(out *elb.DescribeTargetGroupsOutput) error {
		var arns []string
		for _, g := range out.TargetGroups {
			if g.TargetType == elbtypes.TargetTypeEnumInstance {
				arns = append(arns, awssdk.ToString(g.TargetGroupArn))
			}
		}
		rows, err := targetsOf(ctx, client, arns)
		if err != nil {
			return err
		}
		return page(rows)
	})
}

// Get reads these registrations, by way of their target groups.
func (r *registered) Get(ctx context.Context, scope modules.Scope, identities []modules.Row) ([]modules.Row, error) {
	client, err := r.client(ctx, scope)
	if err != nil {
		return nil, err
	}
	arns := slices.Compact(slices.Sorted(slices.Values(aws.Column(identities, "target_group_id"))))
	rows, err := targetsOf(ctx, client, arns)
	return aws.Wanted(r.description, rows, identities), err
}

func targetsOf(ctx context.Context, client *elb.Client, arns []string) ([]modules.Row, error) {
	collect, rows := aws.Collector()
	err := aws.Each(ctx, aws.Breadth, arns, func(ctx context.Context, arn string) error {
		out, err := client.DescribeTargetHealth(ctx, &elb.DescribeTargetHealthInput{TargetGroupArn: &arn})
		if err != nil {
			return aws.IfExists(err)
		}
		var some []modules.Row
		for _, t := range out.TargetHealthDescriptions {
			row := modules.Row{
				"instance":           modules.TextPtr(t.Target.Id),
				"target_group_id":    modules.Text(arn),
				"port":               modules.IntPtr(t.Target.Port),
				"health":             modules.Null,
				"health_description": modules.Null,
			}
			if h := t.TargetHealth; h != nil {
				if h.State == elbtypes.TargetHealthStateEnumDraining {
					continue
				}
				row["health"], row["health_description"] = modules.NonEmpty(h.State), modules.NonEmpty(awssdk.ToString(h.Description))
			}
			some = append(some, row)
		}
		return collect(some)
	})
	return rows(), err
}

func target(row modules.Row) []elbtypes.TargetDescription {
	return []elbtypes.TargetDescription{{Id: row["instance"].Ptr(), Port: row["port"].Int32Ptr()}}
}

// Create registers an instance, which has to be running for that. Registering
// it again changes nothing.
func (r *registered) Create(ctx context.Context, scope modules.Scope, want modules.Row, _ string) (modules.Row, error) {
	client, err := r.client(ctx, scope)
	if err != nil {
		return nil, err
	}
	_, err = client.RegisterTargets(ctx, &elb.RegisterTargetsInput{TargetGroupArn: want["target_group_id"].Ptr(), Targets: target(want)})
	if aws.HasCode(err, "InvalidTarget") && strings.Contains(err.Error(), "running") {
		err = &modules.Error{Class: modules.Dependency, Code: "InvalidTarget", Message: "waits until the instance is running", Err: err}
	}
	if err != nil {
		return nil, err
	}
	return modules.Row{"instance": want["instance"], "target_group_id": want["target_group_id"], "port": want["port"]}, nil
}

// Delete takes an instance out of a target group; one that is not in it is no
// error.
func (r *registered) Delete(ctx context.Context, scope modules.Scope, have modules.Row) error {
	client, err := r.client(ctx, scope)
	if err != nil {
		return err
	}
	_, err = client.DeregisterTargets(ctx, &elb.DeregisterTargetsInput{TargetGroupArn: have["target_group_id"].Ptr(), Targets: target(have)})
	if aws.HasCode(err, "InvalidTarget") {
		return nil
	}
	return aws.IfExists(err)
}
