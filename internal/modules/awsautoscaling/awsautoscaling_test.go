package awsautoscaling

import (
	"net/url"
	"strings"
	"testing"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"iasql/internal/aws"
	"iasql/internal/modules"
	"iasql/internal/test/awstest"
	"iasql/internal/test/testaws"
)

func TestMain(m *testing.M) { testaws.Main(m) }

var (
	text = modules.Text
	tags = modules.StringMap(map[string]string{"env": "test"})
)

func document(t *testing.T, text string) modules.Value {
	t.Helper()
	v, err := modules.JSONText(text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestLaunchTemplateLifecycle(t *testing.T) {
	t.Parallel()
	awstest.Lifecycle(t, awstest.Case{
		Resource: newLaunchTemplate(awstest.Clients(t)), Scope: awstest.Scope("us-east-1"),
		Want: modules.Row{
			"launch_template_name": text("life"), "image_id": text("ami-12c6146b"), "instance_type": text("t3.micro"),
			"user_data": text("#!/bin/sh\necho one\n"), "tags": tags,
			"data": document(t, `{"Monitoring":{"Enabled":true}}`),
		},
		Changes: map[string][]modules.Value{
			"version_description": {text("second"), modules.Null},
			"image_id":            {text("ami-1e749f67")},
			"instance_type":       {text("t3.small"), modules.Null},
			"key_pair_name":       {text("mine"), modules.Null},
			"security_group_ids":  {modules.Strings([]string{"sg-1", "sg-2"}), modules.Null},
			"user_data":           {text("#!/bin/sh\necho two\n"), modules.Null},
			"data":                {document(t, `{"MetadataOptions":{"HttpTokens":"required"}}`), modules.Null},
		},
		// moto tells the tags that a template was created with.
		Elsewhere: []string{"tags"},
		Calls: map[string]int{"version_description": 2, "image_id": 2, "instance_type": 2, "key_pair_name": 2,
			"security_group_ids": 2, "user_data": 2, "data": 2},
	})
}

// A version says what is not set by SQL, too: user data that is no text, and
// members of answers that requests do not have.
func TestLaunchTemplateOfOthers(t *testing.T) {
	t.Parallel()
	v := ec2types.LaunchTemplateVersion{LaunchTemplateData: &ec2types.ResponseLaunchTemplateData{
		UserData:        awssdk.String("//79"),
		MetadataOptions: &ec2types.LaunchTemplateInstanceMetadataOptions{HttpTokens: "required", State: "applied"},
	}}
	got, err := divided(ec2types.LaunchTemplate{}, v)
	if err != nil {
		t.Fatal(err)
	}
	data, err := aws.Document(got.Data)
	if want := `{"MetadataOptions":{"HttpTokens":"required"},"UserData":"//79"}`; err != nil || data.String() != want {
		t.Errorf("data %s (%v), want %s", data, err, want)
	}
	sent, err := request(modules.Row{"data": data, "instance_type": text("t3.micro")})
	if err != nil || awssdk.ToString(sent.UserData) != "//79" || sent.InstanceType != "t3.micro" {
		t.Errorf("sent %+v (%v)", sent, err)
	}
}

func TestGroupLifecycle(t *testing.T) {
	t.Parallel()
	policy := func(kind string) modules.Value {
		return document(t, `{"LaunchTemplate":{"LaunchTemplateSpecification":{"LaunchTemplateName":"web","Version":"$Default"},"Overrides":[{"InstanceType":"`+kind+`"}]}}`)
	}
	awstest.Lifecycle(t, awstest.Case{
		Resource: newGroup(newFake(t, map[string]*node{"another": parsed(url.Values{"AutoScalingGroupName": {"another"},
			"MinSize": {"0"}, "MaxSize": {"0"}})})),
		Scope: awstest.Scope("us-east-1"),
		Want: modules.Row{
			"auto_scaling_group_name": text("life"), "min_size": modules.Int(0), "max_size": modules.Int(3),
			"desired_capacity_type": text("units"),
			"launch_template_id":    text("web"), "launch_template_version": text("$Default"),
			"subnets":           modules.Strings([]string{"subnet-1", "subnet-2"}),
			"health_check_type": text("EC2"), "health_check_grace_period": modules.Int(0),
			"default_cooldown": modules.Int(300), "new_instances_protected_from_scale_in": modules.Bool(false),
			"capacity_rebalance": modules.Bool(false), "deletion_protection": text("none"), "tags": tags,
			"lifecycle_hooks": document(t, `[{"LifecycleHookName":"start","LifecycleTransition":"autoscaling:EC2_INSTANCE_LAUNCHING","NotificationMetadata":"first","NotificationTargetARN":"arn:t","RoleARN":"arn:r"}]`),
		},
		Changes: map[string][]modules.Value{
			"min_size":                  {modules.Int(1), modules.Int(0)},
			"max_size":                  {modules.Int(4)},
			"desired_capacity":          {modules.Int(2), modules.Int(0)},
			"launch_template_id":        {text("other")},
			"launch_template_version":   {text("3"), text("$Default")},
			"launch_configuration_name": nil,
			"subnets":                   {modules.Strings([]string{"subnet-3"})},
			"availability_zones":        {modules.Strings([]string{"us-east-1a"})},
			"health_check_type":         {text("EBS,ELB"), text("EC2")},
			"health_check_grace_period": {modules.Int(60), modules.Int(0)},
			"default_cooldown":          {modules.Int(60), modules.Int(300)},
			"default_instance_warmup":   {modules.Int(0), modules.Int(30), modules.Null},
			"max_instance_lifetime":     {modules.Int(86400), modules.Null},
			"termination_policies":      {modules.Strings([]string{"OldestInstance", "Default"})},
			"instance_maintenance_policy": {document(t, `{"MinHealthyPercentage":90,"MaxHealthyPercentage":120}`),
				modules.Null},
			"placement_group": {text("near"), modules.Null},
			"service_linked_role_arn": {text(
				"arn:aws:iam::123456789012:role/aws-service-role/autoscaling.amazonaws.com/AWSServiceRoleForAutoScaling_a")},
			"target_group_arns": {modules.Strings([]string{"arn:1", "arn:2"}),
				modules.Strings([]string{"arn:2"}), modules.Null},
			"notification_configurations": {
				document(t, `[{"TopicARN":"arn:b","NotificationTypes":["terminate","launch"]}]`),
				document(t, `[{"TopicARN":"arn:b","NotificationTypes":["launch","terminate"]},{"TopicARN":"arn:a","NotificationTypes":["launch"]}]`),
				document(t, `[{"TopicARN":"arn:a","NotificationTypes":["launch","error"]}]`), modules.Null},
			"lifecycle_hooks": {
				// another is added, and the first loses its target
				document(t, `[{"LifecycleHookName":"end","LifecycleTransition":"autoscaling:EC2_INSTANCE_TERMINATING","HeartbeatTimeout":60,"DefaultResult":"CONTINUE"},
					{"LifecycleHookName":"start","LifecycleTransition":"autoscaling:EC2_INSTANCE_LAUNCHING","NotificationMetadata":"first","RoleARN":"arn:r"}]`),
				// one goes back to what is usual, and the other is deleted
				document(t, `[{"LifecycleHookName":"end","LifecycleTransition":"autoscaling:EC2_INSTANCE_TERMINATING"}]`),
				modules.Null,
				document(t, `[{"LifecycleHookName":"start","LifecycleTransition":"autoscaling:EC2_INSTANCE_LAUNCHING","NotificationMetadata":"first","RoleARN":"arn:r"}]`),
				// what has no value that takes it away
				document(t, `[{"LifecycleHookName":"start","LifecycleTransition":"autoscaling:EC2_INSTANCE_LAUNCHING"}]`)},
			"warm_pool": {document(t, `{}`),
				document(t, `{"PoolState":"Hibernated","MinSize":1,"MaxGroupPreparedCapacity":4,"InstanceReusePolicy":{"ReuseOnScaleIn":true}}`),
				document(t, `{"MinSize":2}`), modules.Null},
		},
		// traffic_sources, enabled_metrics: the fake, as moto, does not have their calls. TestPropagation has
		// tags_not_propagated.
		Elsewhere: []string{"launch_configuration_name", "mixed_instances_policy", "traffic_sources", "enabled_metrics",
			"tags_not_propagated"},
		Calls: map[string]int{"target_group_arns": 2, "notification_configurations": 2, "tags": 2, "lifecycle_hooks": 2},
	})

	r, scope := newGroup(newFake(t, map[string]*node{})), awstest.Scope("us-east-1")
	ctx, permit := t.Context(), awstest.Permit()
	want := modules.Row{"auto_scaling_group_name": text("mixed"), "min_size": modules.Int(1),
		"max_size": modules.Int(1), "launch_template_id": text("web"), "launch_template_version": text("7")}
	if _, err := awstest.Create(ctx, r, permit, scope, want, ""); err != nil {
		t.Fatal(err)
	}
	read := func() modules.Row {
		rows, err := awstest.Get(ctx, r, scope, []modules.Row{want})
		if err != nil || len(rows) != 1 {
			t.Fatal(rows, err)
		}
		return rows[0]
	}
	// A policy takes the place of the launch template, and gives it back.
	mixed := want.Clone()
	mixed["launch_template_id"], mixed["launch_template_version"], mixed["mixed_instances_policy"] = modules.Null,
		text("$Default"), policy("t3.micro")
	for _, to := range []modules.Row{mixed, want} {
		if err := awstest.Update(ctx, r, permit, scope, read(), to,
			[]string{"launch_template_id", "launch_template_version", "mixed_instances_policy"}); err != nil {
			t.Fatal(err)
		}
		have := read()
		for _, column := range []string{"launch_template_id", "launch_template_version", "mixed_instances_policy"} {
			if !r.Table().Column(column).Same(have[column], to[column]) {
				t.Errorf("%s is %s, want %s", column, have[column], to[column])
			}
		}
	}
	// One with an instance is not deleted, and may be later.
	if err := awstest.Delete(ctx, r, permit, scope, read()); modules.ClassOf(err) != modules.Dependency {
		t.Errorf("delete a group with an instance: %v, want class %s", err, modules.Dependency)
	}
	made := read()
	made["eks_nodegroup"] = text("nodes")
	if err := awstest.Delete(ctx, r, permit, scope, made); modules.ClassOf(err) != modules.Invalid {
		t.Errorf("delete a group of EKS's: %v, want class %s", err, modules.Invalid)
	}
	if err := awstest.Update(ctx, r, permit, scope, modules.Row{"auto_scaling_group_name": text("none")}, want,
		[]string{"max_size"}); !aws.IsNotFound(err) {
		t.Errorf("update a group that there is not: %v", err)
	}
}

func TestSamePolicy(t *testing.T) {
	t.Parallel()
	users := `{"LaunchTemplate": {"LaunchTemplateSpecification": {"LaunchTemplateName": "web"}, "Overrides": [{"InstanceType": "t3.micro"}]}}`
	told := `{"InstancesDistribution":{"OnDemandAllocationStrategy":"prioritized","OnDemandBaseCapacity":0,"OnDemandPercentageAboveBaseCapacity":100,"SpotAllocationStrategy":"lowest-price","SpotInstancePools":2},
		"LaunchTemplate":{"LaunchTemplateSpecification":{"LaunchTemplateId":"lt-1","LaunchTemplateName":"web","Version":"$Default"},"Overrides":[{"InstanceType":"t3.micro"}]}}`
	if !samePolicy(users, told) {
		t.Error("what AWS adds to a policy makes it another")
	}
	if samePolicy(users, strings.Replace(told, `"OnDemandBaseCapacity":0`, `"OnDemandBaseCapacity":1`, 1)) {
		t.Error("two policies are the same")
	}
}
