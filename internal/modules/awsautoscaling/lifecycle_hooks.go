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
var hooks = declare.Codec{
	Decode: func(member any) (modules.Value, error) {
		var list []astypes.LifecycleHookSpecification
		for _, h := range member.([]astypes.LifecycleHook) {
			list = append(list, astypes.LifecycleHookSpecification{
				LifecycleHookName: h.LifecycleHookName, LifecycleTransition: h.LifecycleTransition,
				DefaultResult: h.DefaultResult, HeartbeatTimeout: h.HeartbeatTimeout,
				NotificationMetadata: h.NotificationMetadata, NotificationTargetARN: h.NotificationTargetARN,
				RoleARN: h.RoleARN,
			})
		}
		if len(list) == 0 {
			return modules.Null, nil
		}
		slices.SortFunc(list, byHookName)
		return aws.Document(list)
	},
	Encode: func(v modules.Value) (any, error) { return hooksOf(v) },
}

func byHookName(a, b astypes.LifecycleHookSpecification) int {
	return compare(a.LifecycleHookName, b.LifecycleHookName)
}

func hooksOf(v modules.Value) ([]astypes.LifecycleHookSpecification, error) {
	var list []astypes.LifecycleHookSpecification
	err := aws.ParseDocument("lifecycle_hooks", v, &list)
	slices.SortFunc(list, byHookName)
	return list, err
}

// sameHook compares two hooks with what AWS fills in.
func sameHook(a, b astypes.LifecycleHookSpecification) bool {
	text := awssdk.ToString
	number := func(n *int32) int32 {
		if n == nil {
			return usualHeartbeat
		}
		return *n
	}
	result := func(s *string) string {
		if text(s) == "" {
			return usualResult
		}
		return *s
	}
	return text(a.LifecycleHookName) == text(b.LifecycleHookName) &&
		text(a.LifecycleTransition) == text(b.LifecycleTransition) &&
		result(a.DefaultResult) == result(b.DefaultResult) &&
		number(a.HeartbeatTimeout) == number(b.HeartbeatTimeout) &&
		text(a.NotificationMetadata) == text(b.NotificationMetadata) &&
		text(a.NotificationTargetARN) == text(b.NotificationTargetARN) && text(a.RoleARN) == text(b.RoleARN)
}

// sameHooks compares hooks in whatever order.
func sameHooks(a, b string) bool {
	x, err := hooksOf(modules.Text(a))
	y, failed := hooksOf(modules.Text(b))
	if err != nil || failed != nil {
		return a == b
	}
	return slices.EqualFunc(x, y, sameHook)
}

// setHooks puts the hooks that are new or differ, and then deletes those that are not to be. PutLifecycleHook leaves
// alone what it is not sent of a hook that there is, and so it is sent everything; a hook that loses its role or its
// metadata, for which there is no value to send, is deleted first and made again.
func setHooks(ctx context.Context, s *declare.Step) error {
	had, err := hooksOf(s.Have["lifecycle_hooks"])
	if err != nil {
		return err
	}
	want, err := hooksOf(s.Want["lifecycle_hooks"])
	if err != nil {
		return err
	}
	client, name := declare.ClientOf[*autoscaling.Client](s), s.Have["auto_scaling_group_name"].Ptr()
	remove := func(hook *string) error {
		_, err := client.DeleteLifecycleHook(ctx, &autoscaling.DeleteLifecycleHookInput{
			AutoScalingGroupName: name, LifecycleHookName: hook})
		return aws.IfExists(err)
	}
	in := func(list []astypes.LifecycleHookSpecification, hook astypes.LifecycleHookSpecification) int {
		return slices.IndexFunc(list, func(h astypes.LifecycleHookSpecification) bool {
			return byHookName(h,
				hook) == 0
		})
	}
	for _, w := range want {
		put := &autoscaling.PutLifecycleHookInput{AutoScalingGroupName: name, LifecycleHookName: w.LifecycleHookName,
			LifecycleTransition: w.LifecycleTransition, DefaultResult: w.DefaultResult,
			HeartbeatTimeout: w.HeartbeatTimeout, NotificationMetadata: w.NotificationMetadata,
			NotificationTargetARN: w.NotificationTargetARN, RoleARN: w.RoleARN}
		if i := in(had, w); i >= 0 {
			h := had[i]
			if sameHook(h, w) {
				continue
			}
			if loses(h.RoleARN, w.RoleARN) || loses(h.NotificationMetadata, w.NotificationMetadata) {
				if err := remove(w.LifecycleHookName); err != nil {
					return err
				}
			} else if loses(h.NotificationTargetARN, w.NotificationTargetARN) {
				put.NotificationTargetARN = awssdk.String("")
			}
			if put.DefaultResult == nil {
				put.DefaultResult = awssdk.String(usualResult)
			}
			if put.HeartbeatTimeout == nil {
				put.HeartbeatTimeout = awssdk.Int32(usualHeartbeat)
			}
		}
		if _, err := client.PutLifecycleHook(ctx, put); err != nil {
			return err
		}
	}
	for _, h := range had {
		if in(want, h) >= 0 {
			continue
		}
		if err := remove(h.LifecycleHookName); err != nil {
			return err
		}
	}
	return nil
}

func loses(had, want *string) bool { return awssdk.ToString(had) != "" && awssdk.ToString(want) == "" }
