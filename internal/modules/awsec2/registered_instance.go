package awsec2

import (
	"context"
	_ "embed"
	"strings"

	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

var (
	//go:embed sql/after.sql
	after string
	//go:embed sql/drop.sql
	drop string
)

// groupsPage is the most target groups that a page may have (page
// DescribeTargetGroups), and what the table target_group asks for: it is one listing.
const groupsPage = 400

// newRegistered declares the table registered_instance. There is one call for
// each target group, since no call lists the targets of several. Registering an
// instance again changes nothing.
func newRegistered(c *aws.Clients) *declare.Resource {
	return declare.New(c, declare.Table[elbtypes.TargetHealthDescription]{
		Name: "registered_instance",
		Doc: "Instances that are targets of target groups. One that is being taken out, and is still finishing " +
			"requests, is no longer shown.",
		Service: declare.Service(elb.NewFromConfig),
		Columns: []declare.Column{
			declare.Ref("instance", "Target.Id", "instance", "instance_id", "The instance.").
				Required().Identity().CreateOnly().Part(modules.PartFirst, "").In("Targets[0].Id"),
			declare.Ref("target_group_id", "", "target_group", "target_group_arn",
				"The target group, whose target_type is instance.").
				Required().Identity().CreateOnly().Part(modules.PartAlong, "").OfParent().In("TargetGroupArn"),
			declare.Integer("port", "Target.Port",
				"The port on which the instance receives traffic; the target group's if left out. An instance can be "+
					"registered with several.").
				Required().Identity().CreateOnly().Between(1, 65535).In("Targets[0].Port"),
			declare.Text("health", "TargetHealth.State",
				"initial, healthy, unhealthy, unused or unavailable.").Computed(),
			declare.Text("health_description", "TargetHealth.Description", "Why it is not healthy.").Computed(),
		},
		List: declare.Once(declare.Call((*elb.Client).DescribeTargetHealth), "TargetHealthDescriptions").
			Within(declare.Pages(elb.NewDescribeTargetGroupsPaginator, "TargetGroups", declare.Expand(ofInstances),
				declare.PageSize(groupsPage)), "TargetGroupArn",
				"TargetGroupArn"),
		Get: declare.Search(),
		Gone: func(t *elbtypes.TargetHealthDescription) bool {
			return t.TargetHealth != nil && t.TargetHealth.State == elbtypes.TargetHealthStateEnumDraining
		},
		Create: declare.Call((*elb.Client).RegisterTargets,
			declare.Failed(func(_ context.Context, _ *declare.Step, err error) error {
				if aws.HasCode(err, "InvalidTarget") && strings.Contains(err.Error(), "running") {
					return &modules.Error{Class: modules.Dependency, Code: "InvalidTarget",
						Message: "waits until the instance is running", Err: err}
				}
				return err
			})),
		Delete: declare.Call((*elb.Client).DeregisterTargets,
			declare.Failed(func(_ context.Context, _ *declare.Step, err error) error {
				if aws.HasCode(err, "InvalidTarget") { // is not in it
					return nil
				}
				return err
			})),
	})
}

// ofInstances returns the target group if its targets are instances.
func ofInstances(g elbtypes.TargetGroup) []elbtypes.TargetGroup {
	if g.TargetType != elbtypes.TargetTypeEnumInstance {
		return nil
	}
	return []elbtypes.TargetGroup{g}
}
