package awsautoscaling

import (
	"context"
	"reflect"
	"slices"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	astypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

// mostGroups is the most groups that DescribeAutoScalingGroups gives a page and
// takes names of.
const mostGroups = 100

// newGroup declares the table auto_scaling_group. The limits are those of the
// page CreateAutoScalingGroup of the Amazon EC2 Auto Scaling API Reference.
func newGroup(c *aws.Clients) *declare.Resource {
	return declare.New(c, declare.Table[astypes.AutoScalingGroup]{
		Name: "auto_scaling_group",
		Doc: "Auto Scaling groups, which keep a number of instances running. Changes of what instances are made from " +
			"are for those that are made later. " +
			"A group with instances is not deleted: set min_size, max_size and desired_capacity to 0 and " +
			"warm_pool to NULL first; the deletion waits until they are gone.",
		Service: declare.Service(autoscaling.NewFromConfig),
		Columns: []declare.Column{
			declare.Name("auto_scaling_group_name", "AutoScalingGroupName",
				"The group's name, up to 255 characters without spaces and colons.").Matches("^[!-9;-~]{1,255}$"),
			declare.Integer("min_size", "MinSize", "The least number of instances.").Required().Check("min_size >= 0"),
			declare.Integer("max_size", "MaxSize", "The most instances.").Required().Check("max_size >= 0"),
			declare.Integer("desired_capacity", "DesiredCapacity",
				"How many instances there are to be. min_size if left out; scaling policies and schedules change it.").
				OptionalComputed().Check("desired_capacity >= 0"),
			declare.Text("desired_capacity_type", "DesiredCapacityType",
				"What sizes count: units (instances), vcpu or memory-mib.").
				Default("'units'").OneOf("memory-mib", "units", "vcpu").Usual(modules.Text("units")),
			declare.Ref("launch_template_id", "LaunchTemplate.LaunchTemplateName", "launch_template",
				"launch_template_name", "The launch template that instances are made from. NULL where "+
					"mixed_instances_policy or launch_configuration_name says it.").OptionalComputed().Lasts(),
			declare.Text("launch_template_version", "LaunchTemplate.Version",
				"The version of the launch template: its number, $Default or $Latest.").
				Default("'$Default'").Matches(`^([0-9]+|\$Default|\$Latest)$`).Usual(modules.Text("$Default")),
			declare.JSON("mixed_instances_policy", "MixedInstancesPolicy",
				`Several instance types and ways to pay, in the words of the API: {"LaunchTemplate": {"LaunchTemplateSpecification": {"LaunchTemplateName": "web", "Version": "$Default"}, "Overrides": [{"InstanceType": "t3.micro"}]}}.`).
				OptionalComputed().Same(samePolicy),
			declare.Text("launch_configuration_name", "LaunchConfigurationName",
				"The launch configuration that instances are made from, which AWS advises against.").OptionalComputed(),
			declare.Texts("subnets", "VPCZoneIdentifier",
				"The ids of the subnets that instances are in, of one VPC. NULL: default subnets of "+
					"availability_zones.").OptionalComputed().Unordered().EmptyIsNull().As(joined).
				Records("subnet", "subnet_id", 4),
			declare.Texts("availability_zones", "AvailabilityZones",
				"The availability zones that instances are in; those of subnets if left out.").OptionalComputed().
				Unordered().EmptyIsNull(),
			declare.Text("health_check_type", "HealthCheckType",
				"By what instances are judged besides their own state, with commas between: EC2 (nothing else), EBS, "+
					"ELB, VPC_LATTICE.").Default("'EC2'"),
			declare.Integer("health_check_grace_period", "HealthCheckGracePeriod",
				"How many seconds a new instance is not judged.").Default("0").Check(
				"health_check_grace_period >= 0").Usual(modules.Int(0)),
			declare.Integer("default_cooldown", "DefaultCooldown",
				"How many seconds pass between two activities of simple scaling policies.").Default("300").Check(
				"default_cooldown >= 0").Usual(modules.Int(300)),
			declare.Integer("default_instance_warmup", "DefaultInstanceWarmup",
				"After how many seconds a new instance counts in metrics.").Check("default_instance_warmup >= 0").Unset(
				modules.Int(-1)),
			declare.Integer("max_instance_lifetime", "MaxInstanceLifetime",
				"After how many seconds, a day at least, instances are replaced. NULL: never.").
				Check("max_instance_lifetime >= 86400").Unset(modules.Int(0)),
			declare.Bool("new_instances_protected_from_scale_in", "NewInstancesProtectedFromScaleIn",
				"Whether new instances are kept when the group shrinks.").Default("false"),
			declare.Bool("capacity_rebalance", "CapacityRebalance",
				"Whether Spot Instances are replaced before they are interrupted.").Default("false"),
			declare.Texts("termination_policies", "TerminationPolicies",
				"Which instances go first, in this order, such as OldestInstance. Default if left out.").
				OptionalComputed().EmptyIsNull(),
			declare.JSON("instance_maintenance_policy", "InstanceMaintenancePolicy",
				`How much of the capacity is in service while instances are replaced, in percent: {"MinHealthyPercentage": 90, "MaxHealthyPercentage": 120}.`).
				Same(declare.Alike[astypes.InstanceMaintenancePolicy](nil)).Unset(
				modules.Text(`{"MinHealthyPercentage": -1, "MaxHealthyPercentage": -1}`)),
			declare.Text("placement_group", "PlacementGroup",
				"The placement group that instances are in.").Unset(modules.Text("")),
			declare.Text("service_linked_role_arn", "ServiceLinkedRoleARN",
				"The ARN of the service-linked role by which the group acts; the account's usual one if left out.").
				OptionalComputed(),
			declare.Text("deletion_protection", "DeletionProtection",
				"Whether the group can be deleted: none (it can), prevent-force-deletion (not with its instances), "+
					"prevent-all-deletion.").
				Default("'none'").OneOf(declare.Values(astypes.DeletionProtection("").Values())...).Usual(
				modules.Text("none")),
			declare.Texts("target_group_arns", "TargetGroupARNs",
				"The ARNs of the target groups of load balancers that instances are registered with.").Unordered().
				EmptyIsNull().
				Records("target_group", "target_group_arn", 4),
			declare.JSON("traffic_sources", "TrafficSources",
				`The target groups of VPC Lattice that instances are registered with: [{"Identifier": "arn:…", "Type": "vpc-lattice"}]. `+
					"Those of load balancers are in target_group_arns and load_balancer_names.").
				Unordered().EmptyIsNull().Check("jsonb_typeof(traffic_sources) = 'array'").As(trafficSources).Since(3),
			declare.Texts("enabled_metrics", "EnabledMetrics[].Metric",
				"Which metrics of the group CloudWatch gets every minute, such as GroupDesiredCapacity. NULL: none.").
				Unordered().EmptyIsNull().Since(3),
			notificationsColumn(),
			hooksColumn(),
			warmPoolColumn(),
			unpropagatedColumn(),
			declare.ARN("arn", "AutoScalingGroupARN"),
			declare.Text("status", "Status", "NULL, or Delete in progress.").Computed(),
			declare.Text("eks_nodegroup", "Tags[eks:nodegroup-name]",
				"The node group of EKS that the group was made for by EKS itself.").Computed(),
			declare.TagsBy("Tags", declare.Call((*autoscaling.Client).CreateOrUpdateTags,
				declare.Fill(func(s *declare.Step, in *autoscaling.CreateOrUpdateTagsInput) {
					ofGroup(in.Tags, s.Have["auto_scaling_group_name"], notGiven(s))
				})), declare.Call((*autoscaling.Client).DeleteTags,
				declare.Fill(func(s *declare.Step, in *autoscaling.DeleteTagsInput) {
					ofGroup(in.Tags, s.Have["auto_scaling_group_name"], nil)
				}))).Doc("Tags: an object of texts. New instances get them, too, except those that " +
				"tags_not_propagated names."),
		},
		Published: declare.Published{Type: "AWS::AutoScaling::AutoScalingGroup", Since: 3,
			Columns: map[string]string{"AvailabilityZoneIds": "availability_zones", "Cooldown": "default_cooldown",
				"MetricsCollection": "enabled_metrics", "NotificationConfiguration": "notification_configurations",
				"LifecycleHookSpecificationList": "lifecycle_hooks"},
			Along: []string{"InstanceId", "SkipZonalShiftValidation"},
			Filled: map[string][]string{
				"AvailabilityZoneDistribution":     {"CapacityDistributionStrategy"},
				"AvailabilityZoneImpairmentPolicy": {"ImpairedZoneHealthCheckBehavior", "ZonalShiftEnabled"},
				"CapacityReservationSpecification": {"CapacityReservationPreference"},
			},
			Docs: map[string]string{
				"AvailabilityZoneDistribution":     `How instances are spread over availability zones: {"CapacityDistributionStrategy": "balanced-best-effort"} (if left out), or balanced-only.`,
				"AvailabilityZoneImpairmentPolicy": `What is done when an availability zone is impaired: {"ZonalShiftEnabled": true, "ImpairedZoneHealthCheckBehavior": "IgnoreUnhealthy"}.`,
				"CapacityReservationSpecification": `Whether capacity reservations are used: {"CapacityReservationPreference": "capacity-reservations-only"}.`,
				"Context":                          "Reserved by AWS.",
				"InstanceId": "An instance that the group is made like: a launch configuration " +
					"is made of it. It matters when the row is inserted, and never again.",
				"LoadBalancerNames": "The names of the Classic Load Balancers that instances are " +
					"registered with.",
				"SkipZonalShiftValidation": "Whether a change is made although the load balancers do not fit " +
					"availability_zone_impairment_policy.",
			},
		},
		Checks: []string{"min_size <= max_size", "desired_capacity BETWEEN min_size AND max_size",
			"num_nonnulls(launch_template_id, mixed_instances_policy, launch_configuration_name) <= 1"},
		DestroyBeforeCreate: true, // one name is one group

		EventMappings: modules.EventMappings("autoscaling.amazonaws.com",
			modules.Request("autoScalingGroupName", "SetDesiredCapacity", "AttachInstances", "DetachInstances",
				"EnterStandby", "ExitStandby", "SetInstanceProtection", "SuspendProcesses", "ResumeProcesses",
				"EnableMetricsCollection", "DisableMetricsCollection", "AttachLoadBalancers", "DetachLoadBalancers",
				"AttachTrafficSources", "DetachTrafficSources", "PutWarmPool", "DeleteWarmPool", "StartInstanceRefresh",
				"CancelInstanceRefresh", "RollbackInstanceRefresh", "PutNotificationConfiguration",
				"DeleteNotificationConfiguration", "PutLifecycleHook", "DeleteLifecycleHook"),
			modules.Request("tags.resourceId", "CreateOrUpdateTags", "DeleteTags"),
			modules.Response("activity.autoScalingGroupName", "TerminateInstanceInAutoScalingGroup"),
		),
		List: declare.Pages(autoscaling.NewDescribeAutoScalingGroupsPaginator, "AutoScalingGroups",
			declare.With(&autoscaling.DescribeAutoScalingGroupsInput{
				MaxRecords: awssdk.Int32(mostGroups), IncludeInstances: awssdk.Bool(false),
			})),
		Get: declare.Named("AutoScalingGroupNames", mostGroups),
		Row: readUnpropagated,
		Create: declare.Call((*autoscaling.Client).CreateAutoScalingGroup,
			declare.Edit(func(_ context.Context, s *declare.Step, in *autoscaling.CreateAutoScalingGroupInput) error {
				ofGroup(in.Tags, s.Want["auto_scaling_group_name"], s.Want[unpropagated].Strings())
				return unpropagatedAreTags(s.Want)
			})),
		Updates: []declare.Update{
			declare.Members("target_group_arns", declare.Call((*autoscaling.Client).AttachLoadBalancerTargetGroups),
				declare.Call((*autoscaling.Client).DetachLoadBalancerTargetGroups), "TargetGroupARNs[0]", ""),
			declare.Members("load_balancer_names", declare.Call((*autoscaling.Client).AttachLoadBalancers),
				declare.Call((*autoscaling.Client).DetachLoadBalancers), "LoadBalancerNames[0]", ""),
			declare.By(setSources, "traffic_sources"),
			declare.By(setMetrics, "enabled_metrics"),
			declare.By(setNotifications, "notification_configurations"),
			declare.By(setHooks, "lifecycle_hooks"),
			declare.Modify(declare.Call((*autoscaling.Client).UpdateAutoScalingGroup,
				declare.Fill(func(s *declare.Step, in *autoscaling.UpdateAutoScalingGroupInput) {
					if in.LaunchTemplate != nil { // name and version go together
						in.LaunchTemplate = nil
						if name := s.Want["launch_template_id"]; !name.IsNull() {
							in.LaunchTemplate = &astypes.LaunchTemplateSpecification{LaunchTemplateName: name.Ptr(),
								Version: s.Want["launch_template_version"].Ptr()}
						}
					}
				}))),
			declare.By(setWarmPool, "warm_pool"), // whose size is of max_size and desired_capacity
			declare.By(setPropagation, unpropagated),
		},
		Delete:    declare.Call((*autoscaling.Client).DeleteAutoScalingGroup),
		Going:     declare.In("status", "Delete in progress"),
		Protected: ofNodeGroup,
	})
}

// joined are lists that the API has as texts with commas between.
var joined = declare.Codec{
	Decode: func(member any) (modules.Value, error) {
		text := reflect.ValueOf(member).String()
		if text == "" {
			return modules.Null, nil
		}
		return modules.Strings(strings.Split(text, ",")), nil
	},
	Encode: func(v modules.Value) (any, error) { return strings.Join(v.Strings(), ","), nil },
}

// samePolicy compares policies without what AWS adds to them: the id of a launch
// template of which users say the name, and a distribution where they say none
// (page InstancesDistribution).
var samePolicy = declare.Alike(func(p *astypes.MixedInstancesPolicy) {
	spec := func(s *astypes.LaunchTemplateSpecification) {
		if s == nil {
			return
		}
		if s.LaunchTemplateName != nil {
			s.LaunchTemplateId = nil
		}
		declare.Or(&s.Version, "$Default")
	}
	byRequirements := false
	if p.LaunchTemplate != nil {
		spec(p.LaunchTemplate.LaunchTemplateSpecification)
		for i := range p.LaunchTemplate.Overrides {
			spec(p.LaunchTemplate.Overrides[i].LaunchTemplateSpecification)
			byRequirements = byRequirements || p.LaunchTemplate.Overrides[i].InstanceRequirements != nil
		}
	}
	declare.Or(&p.InstancesDistribution, astypes.InstancesDistribution{})
	d := p.InstancesDistribution
	if byRequirements {
		declare.Or(&d.OnDemandAllocationStrategy, "lowest-price")
	}
	declare.Or(&d.OnDemandAllocationStrategy, "prioritized")
	declare.Or(&d.OnDemandBaseCapacity, 0)
	declare.Or(&d.OnDemandPercentageAboveBaseCapacity, 100)
	declare.Or(&d.SpotAllocationStrategy, "lowest-price")
	if d.SpotInstancePools == nil && *d.SpotAllocationStrategy == "lowest-price" {
		d.SpotInstancePools = awssdk.Int32(2)
	}
})

// lattice is the type of the traffic sources that no other column has.
const lattice = "vpc-lattice"

// trafficSources are the sources of VPC Lattice: AWS lists target groups and Classic Load Balancers among them, too.
var trafficSources = declare.Reads(func(member any) (modules.Value, error) {
	var of []astypes.TrafficSourceIdentifier
	for _, source := range member.([]astypes.TrafficSourceIdentifier) {
		if awssdk.ToString(source.Type) == lattice {
			of = append(of, source)
		}
	}
	if len(of) == 0 {
		return modules.Null, nil
	}
	return aws.Document(of)
})

// setSources attaches and detaches traffic sources. It attaches first, so that there is no gap.
func setSources(ctx context.Context, s *declare.Step) error {
	have, want, err := declare.Both[[]astypes.TrafficSourceIdentifier](s, "traffic_sources", nil)
	if err != nil {
		return err
	}
	without := func(list, others []astypes.TrafficSourceIdentifier) []astypes.TrafficSourceIdentifier {
		return slices.DeleteFunc(slices.Clone(list), func(source astypes.TrafficSourceIdentifier) bool {
			return slices.ContainsFunc(others, func(other astypes.TrafficSourceIdentifier) bool {
				return awssdk.ToString(other.Identifier) == awssdk.ToString(source.Identifier)
			})
		})
	}
	client, name := declare.ClientOf[*autoscaling.Client](s), s.Have["auto_scaling_group_name"].Ptr()
	if added := without(want, have); len(added) > 0 {
		if _, err := client.AttachTrafficSources(ctx, &autoscaling.AttachTrafficSourcesInput{
			AutoScalingGroupName: name, TrafficSources: added}); err != nil {
			return err
		}
	}
	if gone := without(have, want); len(gone) > 0 {
		_, err = client.DetachTrafficSources(ctx, &autoscaling.DetachTrafficSourcesInput{
			AutoScalingGroupName: name, TrafficSources: gone})
	}
	return aws.IfExists(err)
}

// setMetrics turns metrics on and off. AWS has one granularity.
func setMetrics(ctx context.Context, s *declare.Step) error {
	added, gone := s.Added("enabled_metrics")
	client, name := declare.ClientOf[*autoscaling.Client](s), s.Have["auto_scaling_group_name"].Ptr()
	if len(added) > 0 {
		if _, err := client.EnableMetricsCollection(ctx, &autoscaling.EnableMetricsCollectionInput{
			AutoScalingGroupName: name, Metrics: added, Granularity: awssdk.String("1Minute")}); err != nil {
			return err
		}
	}
	if len(gone) > 0 {
		if _, err := client.DisableMetricsCollection(ctx, &autoscaling.DisableMetricsCollectionInput{
			AutoScalingGroupName: name, Metrics: gone}); err != nil {
			return err
		}
	}
	return nil
}
