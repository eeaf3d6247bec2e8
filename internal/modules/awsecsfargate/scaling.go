package awsecsfargate

import (
	"cmp"
	"context"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/applicationautoscaling"
	scaling "github.com/aws/aws-sdk-go-v2/service/applicationautoscaling/types"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

// Application Auto Scaling changes how many tasks services keep running. It scales resources of
// many kinds; its calls are asked about services of ECS here, and about nothing else.
const (
	ofServices   = scaling.ServiceNamespaceEcs
	desiredCount = scaling.ScalableDimensionECSServiceDesiredCount
)

// What the calls that describe take and give at once (pages DescribeScalableTargets and
// DescribeScalingPolicies of the Application Auto Scaling API Reference).
const (
	maxTargets  = 50
	maxPolicies = 10
)

// newScalingTarget declares the table service_scaling_target.
func newScalingTarget(c *aws.Clients) *declare.Resource {
	suspended := func(name, member, what string) declare.Column {
		return declare.Bool(name, "SuspendedState."+member, "Whether "+what+" is suspended. Default false.").
			Default("false").Absent(modules.Bool(false))
	}
	register := declare.Call((*applicationautoscaling.Client).RegisterScalableTarget,
		declare.With(&applicationautoscaling.RegisterScalableTargetInput{ServiceNamespace: ofServices,
			ScalableDimension: desiredCount}),
		declare.Failed(unregistered))
	return declare.New(c, declare.Table[scaling.ScalableTarget]{
		Name: "service_scaling_target",
		Doc: "Services that Application Auto Scaling may change the number of tasks of, and between which bounds. " +
			"Deleting one deletes its policies, and leaves the service as many tasks as it has.",
		Service: declare.Service(applicationautoscaling.NewFromConfig),
		Columns: []declare.Column{
			declare.Ref("service_id", "ResourceId", "service", "resource_id", "The service.").
				Part(modules.PartFirst, "").Required().Identity().CreateOnly(),
			declare.Integer("min_capacity", "MinCapacity", "How many tasks there are at least.").Required().
				Check("min_capacity >= 0"),
			declare.Integer("max_capacity", "MaxCapacity", "How many tasks there are at most.").Required().
				Check("max_capacity >= 0"),
			suspended("dynamic_scaling_in_suspended", "DynamicScalingInSuspended", "taking tasks away by a policy"),
			suspended("dynamic_scaling_out_suspended", "DynamicScalingOutSuspended", "adding tasks by a policy"),
			suspended("scheduled_scaling_suspended", "ScheduledScalingSuspended", "scaling by a schedule"),
			declare.Text("resource_id", "ResourceId",
				"How Application Auto Scaling calls the service: service/, its cluster's name, / and its own.").
				Computed(),
			declare.Text("role_arn", "RoleARN", "The ARN of the service-linked role by which it is scaled.").Computed(),
			declare.ARN("arn", "ScalableTargetARN"),
			declare.Time("creation_time", "CreationTime", "When it was registered."),
		},
		Checks:              []string{"min_capacity <= max_capacity"},
		Uniques:             [][]string{{modules.ColumnAccount, modules.ColumnRegion, "resource_id"}},
		DestroyBeforeCreate: true,

		List: scalableTargets(),
		Get: declare.Batch(declare.Call((*applicationautoscaling.Client).DescribeScalableTargets,
			declare.With(&applicationautoscaling.DescribeScalableTargetsInput{ServiceNamespace: ofServices,
				ScalableDimension: desiredCount})), "ResourceIds", "service_id", maxTargets, "ScalableTargets"),
		Create: register,
		CreateBy: func(ctx context.Context, s *declare.Step) (modules.Row, error) {
			made, err := s.Create(ctx)
			if err == nil {
				made["resource_id"] = s.Want["service_id"] // by which policies name it
			}
			return made, err
		},
		Updates: []declare.Update{declare.Replace(register)},
		Delete: declare.Call((*applicationautoscaling.Client).DeregisterScalableTarget,
			declare.With(&applicationautoscaling.DeregisterScalableTargetInput{ServiceNamespace: ofServices,
				ScalableDimension: desiredCount})),
	})
}

// newScalingPolicy declares the table service_scaling_policy.
func newScalingPolicy(c *aws.Clients) *declare.Resource {
	configuration := func(name, member, doc string) declare.Column {
		return declare.JSON(name, member, doc).Check("jsonb_typeof(" + name + ") = 'object'")
	}
	put := declare.Call((*applicationautoscaling.Client).PutScalingPolicy,
		declare.With(&applicationautoscaling.PutScalingPolicyInput{ServiceNamespace: ofServices,
			ScalableDimension: desiredCount}),
		declare.Failed(unregistered))
	return declare.New(c, declare.Table[scaling.ScalingPolicy]{
		Name: "service_scaling_policy",
		Doc: "Policies by which services get more tasks or fewer. The alarms of a policy that tracks a target " +
			"AWS makes, changes and deletes with it.",
		Service: declare.Service(applicationautoscaling.NewFromConfig),
		Columns: []declare.Column{
			declare.Ref("service_scaling_target_id", "ResourceId", "service_scaling_target", "resource_id",
				"What it scales, within the bounds of that.").Part(modules.PartAlong, "").
				Required().Identity().CreateOnly(),
			declare.Name("policy_name", "PolicyName", "Its name, up to 256 characters; unique for its service.").
				Length(1, 256),
			declare.Text("policy_type", "PolicyType",
				"How it scales, by which the configuration of that name is read. Default TargetTrackingScaling.").
				Default("'TargetTrackingScaling'").OneOf(declare.Values(scaling.PolicyType("").Values())...),
			configuration("target_tracking_scaling_policy_configuration", "TargetTrackingScalingPolicyConfiguration",
				`Which metric is kept at which value, in the API's words: {"TargetValue": 60, "PredefinedMetricSpecification": {"PredefinedMetricType": "ECSServiceAverageCPUUtilization"}}.`).
				Same(declare.Alike(scalesIn)),
			configuration("step_scaling_policy_configuration", "StepScalingPolicyConfiguration",
				`By how much it scales when an alarm has it as its action, in the API's words: {"AdjustmentType": "ChangeInCapacity", "StepAdjustments": [{"MetricIntervalLowerBound": 0, "ScalingAdjustment": 1}]}.`).
				Same(declare.Alike(averages)),
			configuration("predictive_scaling_policy_configuration", "PredictiveScalingPolicyConfiguration",
				`What is foreseen from the load of past days, in the API's words: {"MetricSpecifications": [{"TargetValue": 60, "PredefinedMetricPairSpecification": {"PredefinedMetricType": "ECSServiceCPUUtilization"}}], "Mode": "ForecastOnly"}.`).
				Same(declare.Alike(forecasts)),
			declare.JSON("alarms", "Alarms", "The alarms that it is an action of: their names and ARNs.").
				Computed().Unordered().EmptyIsNull(),
			declare.ARN("policy_arn", "PolicyARN"),
			declare.Time("creation_time", "CreationTime", "When it was created."),
		},
		Checks: []string{
			"policy_type <> 'TargetTrackingScaling' OR target_tracking_scaling_policy_configuration IS NOT NULL",
			"policy_type <> 'StepScaling' OR step_scaling_policy_configuration IS NOT NULL",
			"policy_type <> 'PredictiveScaling' OR predictive_scaling_policy_configuration IS NOT NULL",
			"num_nonnulls(target_tracking_scaling_policy_configuration, step_scaling_policy_configuration, " +
				"predictive_scaling_policy_configuration) <= 1",
		},
		DestroyBeforeCreate: true,

		List: declare.ListBy(listScalingPolicies),
		Get: declare.Batch(declare.Call((*applicationautoscaling.Client).DescribeScalingPolicies,
			declare.With(&applicationautoscaling.DescribeScalingPoliciesInput{ServiceNamespace: ofServices,
				ScalableDimension: desiredCount})), "PolicyNames", "policy_name", maxPolicies, "ScalingPolicies").
			Each("service_scaling_target_id"),
		Create:  put,
		Updates: []declare.Update{declare.Replace(put)},
		Delete: declare.Call((*applicationautoscaling.Client).DeleteScalingPolicy,
			declare.With(&applicationautoscaling.DeleteScalingPolicyInput{ServiceNamespace: ofServices,
				ScalableDimension: desiredCount})),
	})
}

// scalableTargets lists the targets of a region.
func scalableTargets() *declare.Listing {
	return declare.Pages(applicationautoscaling.NewDescribeScalableTargetsPaginator, "ScalableTargets",
		declare.With(&applicationautoscaling.DescribeScalableTargetsInput{ServiceNamespace: ofServices,
			ScalableDimension: desiredCount, MaxResults: awssdk.Int32(maxTargets)}))
}

// listScalingPolicies lists the policies of a region, and asks for them only where there is a target, which the
// cycle has listed anyway.
func listScalingPolicies(ctx context.Context, s *declare.Step, page func([]scaling.ScalingPolicy) error) error {
	if targets, err := declare.All[scaling.ScalableTarget](ctx, s, scalableTargets()); err != nil || len(targets) == 0 {
		return err
	}
	return declare.Walk(ctx, s, declare.Pages(applicationautoscaling.NewDescribeScalingPoliciesPaginator,
		"ScalingPolicies", declare.With(&applicationautoscaling.DescribeScalingPoliciesInput{
			ServiceNamespace: ofServices, ScalableDimension: desiredCount, MaxResults: awssdk.Int32(maxPolicies)})),
		page)
}

// resourceOf returns how Application Auto Scaling calls a service (page RegisterScalableTarget).
func resourceOf(cluster, service string) string { return "service/" + cluster + "/" + service }

// unregistered gives what is not there yet its class: the service of a target that is made in the same
// transaction, which is refused in words under ValidationException, and the target of a policy (page
// PutScalingPolicy).
func unregistered(_ context.Context, _ *declare.Step, err error) error {
	missing := aws.HasCode(err, "ObjectNotFoundException") ||
		aws.HasCode(err, "ValidationException") && strings.Contains(err.Error(), "ECS service doesn't exist")
	if !missing {
		return err
	}
	return &modules.Error{Class: modules.Dependency, Code: "ObjectNotFoundException", Message: err.Error(), Err: err}
}

// What AWS takes a member of a configuration for that is left out (pages
// TargetTrackingScalingPolicyConfiguration, StepScalingPolicyConfiguration and
// PredictiveScalingPolicyConfiguration of the Application Auto Scaling API Reference, and "Define cooldown
// periods" of its User Guide, which has 300 seconds for ECS).

const serviceCooldown = 300

func scalesIn(c *scaling.TargetTrackingScalingPolicyConfiguration) {
	declare.Or(&c.DisableScaleIn, false)
	declare.Or(&c.ScaleInCooldown, serviceCooldown)
	declare.Or(&c.ScaleOutCooldown, serviceCooldown)
}

func averages(c *scaling.StepScalingPolicyConfiguration) {
	c.MetricAggregationType = cmp.Or(c.MetricAggregationType, scaling.MetricAggregationTypeAverage)
	declare.Or(&c.Cooldown, serviceCooldown)
}

func forecasts(c *scaling.PredictiveScalingPolicyConfiguration) {
	c.Mode = cmp.Or(c.Mode, scaling.PredictiveScalingModeForecastOnly)
	c.MaxCapacityBreachBehavior = cmp.Or(c.MaxCapacityBreachBehavior,
		scaling.PredictiveScalingMaxCapacityBreachBehaviorHonorMaxCapacity)
}
