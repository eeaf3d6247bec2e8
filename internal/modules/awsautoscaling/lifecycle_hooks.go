package awsautoscaling

import (
	"context"
	"slices"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	astypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

// What AWS fills in where a hook leaves it out (page PutLifecycleHook).
const (
	usualHeartbeat = 3600
	usualResult    = "ABANDON"
)

// hooksColumn are the lifecycle hooks of a group. The creation of a group takes them, so that they hold for its first
// instances. AWS lists those of one group a call.
func hooksColumn() declare.Column {
	return declare.JSON("lifecycle_hooks", "LifecycleHooks",
		`What instances wait for when they start or end: [{"LifecycleHookName": "warm", "LifecycleTransition": "autoscaling:EC2_INSTANCE_LAUNCHING", "HeartbeatTimeout": 600, "DefaultResult": "CONTINUE"}]. `+
			"NULL: nothing.").
		In("LifecycleHookSpecificationList").
		Unordered().EmptyIsNull().Check("jsonb_typeof(lifecycle_hooks) = 'array'").As(hooks).Same(sameHooks).
		Born(modules.Null).Since(5).
		From(declare.Call((*autoscaling.Client).DescribeLifecycleHooks, declare.IfAllowed(), declare.Rarely()))
}

// hooks are in the words of CreateAutoScalingGroup: AWS tells of each also its group, and a limit that nobody sets.
var hooks = declare.Shaped("lifecycle_hooks", byHookName)

func byHookName(list []astypes.LifecycleHookSpecification) {
	slices.SortFunc(list, func(a, b astypes.LifecycleHookSpecification) int {
		return compare(a.LifecycleHookName, b.LifecycleHookName)
	})
}

// usualHook fills in what AWS does.
func usualHook(h *astypes.LifecycleHookSpecification) {
	if awssdk.ToString(h.DefaultResult) == "" {
		h.DefaultResult = awssdk.String(usualResult)
	}
	declare.Or(&h.HeartbeatTimeout, usualHeartbeat)
}

// sameHook compares two hooks with what AWS fills in.
func sameHook(a, b astypes.LifecycleHookSpecification) bool {
	usualHook(&a)
	usualHook(&b)
	return declare.SameDocument(a, b)
}

// sameHooks compares hooks in whatever order.
var sameHooks = declare.Alike(func(list *[]astypes.LifecycleHookSpecification) {
	for i := range *list {
		usualHook(&(*list)[i])
	}
	byHookName(*list)
})

// setHooks puts the hooks that are new or differ, and then deletes those that are not to be. PutLifecycleHook leaves
// alone what it is not sent of a hook that there is, and so it is sent everything; a hook that loses its role or its
// metadata, for which there is no value to send, is deleted first and made again.
func setHooks(ctx context.Context, s *declare.Step) error {
	had, want, err := declare.Both(s, "lifecycle_hooks", func(list *[]astypes.LifecycleHookSpecification) {
		byHookName(*list)
	})
	if err != nil {
		return err
	}
	client, group := declare.ClientOf[*autoscaling.Client](s), s.Have["auto_scaling_group_name"].Ptr()
	remove := func(hook astypes.LifecycleHookSpecification) error {
		_, err := client.DeleteLifecycleHook(ctx, &autoscaling.DeleteLifecycleHookInput{
			AutoScalingGroupName: group, LifecycleHookName: hook.LifecycleHookName})
		return aws.IfExists(err)
	}
	return declare.Parts(had, want, nameOfHook, sameHook,
		func(hook astypes.LifecycleHookSpecification, had *astypes.LifecycleHookSpecification) error {
			put := &autoscaling.PutLifecycleHookInput{AutoScalingGroupName: group,
				LifecycleHookName: hook.LifecycleHookName, LifecycleTransition: hook.LifecycleTransition,
				DefaultResult: hook.DefaultResult, HeartbeatTimeout: hook.HeartbeatTimeout,
				NotificationMetadata:  hook.NotificationMetadata,
				NotificationTargetARN: hook.NotificationTargetARN, RoleARN: hook.RoleARN}
			if had != nil {
				if loses(had.RoleARN, hook.RoleARN) || loses(had.NotificationMetadata, hook.NotificationMetadata) {
					if err := remove(hook); err != nil {
						return err
					}
				} else if loses(had.NotificationTargetARN, hook.NotificationTargetARN) {
					put.NotificationTargetARN = awssdk.String("")
				}
				declare.Or(&put.DefaultResult, usualResult)
				declare.Or(&put.HeartbeatTimeout, usualHeartbeat)
			}
			_, err := client.PutLifecycleHook(ctx, put)
			return err
		}, remove)
}

func nameOfHook(h astypes.LifecycleHookSpecification) string {
	return awssdk.ToString(h.LifecycleHookName)
}

func loses(had, want *string) bool { return awssdk.ToString(had) != "" && awssdk.ToString(want) == "" }
