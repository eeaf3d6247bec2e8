package conformance

import (
	"maps"
	"strings"
)

var awsAutoScaling = Module{
	Name: "aws_autoscaling",
	Setup: []string{
		`INSERT INTO launch_template (launch_template_name, image_id, instance_type) SELECT name, 'ami-12c6146b', 't3.micro' FROM unnest('{one,two,three}'::text[]) name`,
		`INSERT INTO target_group (target_group_name, protocol, port, vpc) SELECT name, 'HTTP', 80, id FROM vpc, unnest('{one,two}'::text[]) name WHERE is_default`,
	},
	Also: []string{"aws_elb"},
	Vars: map[string]string{
		"subnet":   `SELECT subnet_id FROM subnet WHERE default_for_az AND availability_zone = 'us-east-1a'`,
		"subnet_2": `SELECT subnet_id FROM subnet WHERE default_for_az AND availability_zone = 'us-east-1b'`,
		"subnet_3": `SELECT subnet_id FROM subnet WHERE default_for_az AND availability_zone = 'us-east-1c'`,
		"target_1": `SELECT target_group_arn FROM target_group WHERE target_group_name = 'one'`,
		"target_2": `SELECT target_group_arn FROM target_group WHERE target_group_name = 'two'`,
	},
	Tables: []Table{
		{
			Name: "launch_template", Identity: "launch_template_name", ID: "template-$n",
			Insert: `(launch_template_name, image_id, instance_type) VALUES ('$id', 'ami-12c6146b', 't3.micro')`,
			See:    `ec2 describe-launch-templates --filters Name=launch-template-name,Values=$id --query LaunchTemplates[]`,
			Create: run(`ec2 create-launch-template --launch-template-name $id --launch-template-data ImageId=ami-12c6146b,InstanceType=t3.micro`),
			Delete: run(`ec2 delete-launch-template --launch-template-name $id`),
			Change: []Change{
				{
					"version_description", `'by sql'`,
					`ec2 describe-launch-template-versions --launch-template-name $id --query LaunchTemplateVersions[?DefaultVersion].VersionDescription|[0]`, "",
					newVersion(), `'by cli'`,
				},
				templateSetting("image_id", `'ami-1e749f67'`, "ImageId", "", `'ami-12c6146b'`),
				templateSetting("instance_type", `'t3.small'`, "InstanceType", "", `'t3.large'`),
				templateSetting("key_pair_name", `'sql'`, "KeyName", "", `'cli'`),
				templateSetting("security_group_ids", `'{sg-1}'`, "SecurityGroupIds[0]", "sg-1", `'{sg-2}'`),
				templateSetting("user_data", `'by sql'`, "UserData", "Ynkgc3Fs", `'by cli'`),
				templateSetting("data", `'{"Monitoring": {"Enabled": true}}'`, "Monitoring.Enabled", "true",
					`'{"EbsOptimized": true}'`),
			},
			Replace: Replace{Column: "launch_template_name", SQL: `'template-other'`, ID: "template-other"},
			Skip: map[string]string{
				"tags by SQL":     "moto: DescribeLaunchTemplates tells the tags that a template was created with",
				"tags by the CLI": "moto: DescribeLaunchTemplates tells the tags that a template was created with",
			},
		},
		{
			Name: "auto_scaling_group", Identity: "auto_scaling_group_name", ID: "group-$n",
			Bound:  true, // its subnets
			Insert: `(auto_scaling_group_name, min_size, max_size, launch_template_id, subnets) SELECT '$id', 0, 1, id, '{$subnet}' FROM launch_template WHERE launch_template_name = 'one'`,
			See:    `autoscaling describe-auto-scaling-groups --auto-scaling-group-names $id --query AutoScalingGroups[]`,
			Create: run(`autoscaling create-auto-scaling-group --auto-scaling-group-name $id --min-size 0 --max-size 1 --launch-template LaunchTemplateName=one --vpc-zone-identifier $subnet`),
			Delete: run(`autoscaling delete-auto-scaling-group --auto-scaling-group-name $id`),
			Change: []Change{
				groupSetting("max_size", `4`, "MaxSize", `--max-size 5`, `5`),
				groupSetting("min_size", `1`, "MinSize", `--min-size 0`, `0`),
				// min_size at least, in AWS
				groupSetting("desired_capacity", `1`, "DesiredCapacity", `--desired-capacity 0`, `0`),
				groupSetting("launch_template_id",
					`(SELECT id FROM launch_template WHERE launch_template_name = 'two')`,
					"LaunchTemplate.LaunchTemplateName", `--launch-template LaunchTemplateName=three`,
					`(SELECT id FROM launch_template WHERE launch_template_name = 'three')`),
				groupSetting("launch_template_version", `'1'`, "LaunchTemplate.Version",
					`--launch-template LaunchTemplateName=three,Version=1`, `'1'`),
				groupSetting("subnets", `'{$subnet_2}'`, "VPCZoneIdentifier", `--vpc-zone-identifier $subnet_3`,
					`'{$subnet_3}'`),
				groupSetting("health_check_type", `'ELB'`, "HealthCheckType", `--health-check-type EC2`, `'EC2'`),
				groupSetting("health_check_grace_period", `60`, "HealthCheckGracePeriod",
					`--health-check-grace-period 70`, `70`),
				groupSetting("new_instances_protected_from_scale_in", `true`, "NewInstancesProtectedFromScaleIn",
					`--no-new-instances-protected-from-scale-in`, `false`),
				{
					"target_group_arns", `'{$target_1}'`,
					`autoscaling describe-auto-scaling-groups --auto-scaling-group-names $id --query AutoScalingGroups[0].TargetGroupARNs[0]`, "$target_1",
					run(`autoscaling attach-load-balancer-target-groups --auto-scaling-group-name $id --target-group-arns $target_2`), `'{$target_1,$target_2}'`,
				},
				groupSetting("warm_pool", `'{"MinSize": 1}'`, "WarmPoolConfiguration.MinSize", "", `'{"MinSize": 2, "PoolState": "Running"}'`).
					by(`autoscaling put-warm-pool --auto-scaling-group-name $id --min-size 2 --pool-state Running`, "1"),
				// of the tag that is set together with it
				groupSetting("tags_not_propagated", `'{by}'`, "Tags[0].PropagateAtLaunch", "", `NULL`).
					by(`autoscaling create-or-update-tags --tags ResourceId=$id,ResourceType=auto-scaling-group,Key=by,Value=cli,PropagateAtLaunch=true`, "false"),
				tags(`autoscaling describe-auto-scaling-groups --auto-scaling-group-names $id --query AutoScalingGroups[0].Tags[].{Key:Key,Value:Value}`,
					`autoscaling create-or-update-tags --tags ResourceId=$id,ResourceType=auto-scaling-group,Key=by,Value=cli,PropagateAtLaunch=true`),
			},
			Replace: Replace{Column: "auto_scaling_group_name", SQL: `'group-other'`, ID: "group-other"},
			Skip: both(unkept("moto: it does not keep them", "traffic_sources", "enabled_metrics"),
				unkept("moto: no PutNotificationConfiguration", "notification_configurations"),
				unkept("moto: hooks get a role and a target of its own", "lifecycle_hooks"), unkept("moto: UpdateAutoScalingGroup does not keep it", "default_cooldown",
					"default_instance_warmup", "max_instance_lifetime", "capacity_rebalance", "termination_policies",
					"instance_maintenance_policy", "placement_group", "service_linked_role_arn", "deletion_protection",
					"desired_capacity_type"),
				unkept("moto: a group with subnets refuses other zones", "availability_zones"),
				unkept("moto: UpdateAutoScalingGroup forgets the policy at the next change", "mixed_instances_policy"),
				unkept("moto: a group keeps its launch template beside a launch configuration",
					"launch_configuration_name")),
		},
	},
}

// newVersion makes a version that differs in everything: one says all.
func newVersion() []string {
	return []string{
		`version := ec2 create-launch-template-version --launch-template-name $id --version-description 'by cli' --query LaunchTemplateVersion.VersionNumber ` +
			`--launch-template-data ImageId=ami-12c6146b,InstanceType=t3.large,KeyName=cli,SecurityGroupIds=sg-2,UserData=YnkgY2xp,EbsOptimized=true`,
		`ec2 modify-launch-template --launch-template-name $id --default-version $version`,
	}
}

func templateSetting(column, sql, member, want, then string) Change {
	return Change{
		column, sql, `ec2 describe-launch-template-versions --launch-template-name $id --query LaunchTemplateVersions[?DefaultVersion].LaunchTemplateData.` + member + `|[0]`, want, newVersion(), then,
	}
}

func groupSetting(column, sql, member, option, then string) Change {
	c := Change{
		column, sql, `autoscaling describe-auto-scaling-groups --auto-scaling-group-names $id --query AutoScalingGroups[0].` + member, "",
		run(`autoscaling update-auto-scaling-group --auto-scaling-group-name $id ` + option), then,
	}
	switch {
	case strings.HasPrefix(sql, "'{"): // a list of one
		c.Want = strings.Trim(sql, "'{}")
	case strings.HasPrefix(sql, "(SELECT"):
		c.Want = sql[strings.Index(sql, "= '")+3 : len(sql)-2]
	}
	return c
}

// by has the CLI make the change by another command. See prints want after SQL has made its own.
func (c Change) by(command, want string) Change {
	c.CLI, c.Want = run(command), want
	return c
}

// unkept are the checks of changes of columns that are skipped for one reason.
func unkept(why string, columns ...string) map[string]string {
	skip := map[string]string{}
	for _, column := range columns {
		skip[column+" by SQL"], skip[column+" by the CLI"] = why, why
	}
	return skip
}

// both are all of several checks that are skipped.
func both(skips ...map[string]string) map[string]string {
	all := map[string]string{}
	for _, skip := range skips {
		maps.Copy(all, skip)
	}
	return all
}
