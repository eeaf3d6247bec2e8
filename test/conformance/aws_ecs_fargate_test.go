package conformance

import "strings"

var awsECSFargate = Module{
	Name: "aws_ecs_fargate",
	Setup: []string{
		`INSERT INTO cluster (cluster_name) VALUES ('home'), ('other-home')`,
		`INSERT INTO task_definition (family, cpu, memory, container_definitions) SELECT 'app-' || n, 256, 512, '` +
			containers("app") + `' FROM generate_series(1, 3) n`,
		`INSERT INTO security_group (group_name, description, vpc_id) SELECT name, 'of a test', id FROM vpc, unnest('{base,sql,cli,adopted,tracked,other,apart}'::text[]) name WHERE is_default`,
		`INSERT INTO target_group (target_group_name, target_type, protocol, port, vpc) SELECT name, 'ip', 'HTTP', 80, id FROM vpc, unnest('{one,two,three}'::text[]) name WHERE is_default`,
		// ECS takes target groups that have a load balancer.
		`INSERT INTO load_balancer (load_balancer_name, scheme, subnets) SELECT 'inside', 'internal', array_agg(subnet_id) FROM subnet WHERE default_for_az AND availability_zone IN ('us-east-1a', 'us-east-1b')`,
		`INSERT INTO load_balancer_security_groups (load_balancer_id, security_group_id) SELECT b.id, g.id FROM load_balancer b, security_group g WHERE b.load_balancer_name = 'inside' AND g.group_name = 'base'`,
		`INSERT INTO listener (load_balancer_id, protocol, port, target_group_id) SELECT b.id, 'HTTP', 8000 + t.id, t.id FROM load_balancer b, target_group t`,
		`INSERT INTO service (cluster_id, name, task_definition_id, desired_count, subnets) SELECT c.id, name, t.id, 0, array[s.subnet_id]
			FROM cluster c, task_definition t, subnet s, unnest('{home,other-home}'::text[]) name WHERE c.cluster_name = 'home' AND t.family = 'app-1' AND s.default_for_az AND s.availability_zone = 'us-east-1a'`,
		`INSERT INTO service (cluster_id, name, task_definition_id, desired_count, subnets) SELECT c.id, name, t.id, 0, array[s.subnet_id]
			FROM cluster c, task_definition t, subnet s, unnest('{sql,cli,adopted,tracked,other,apart,scaled}'::text[]) name WHERE c.cluster_name = 'home' AND t.family = 'app-1' AND s.default_for_az AND s.availability_zone = 'us-east-1a'`,
		`INSERT INTO service_scaling_target (service_id, min_capacity, max_capacity) SELECT id, 0, 0 FROM service WHERE name IN ('scaled', 'other')`,
		`INSERT INTO service_security_groups (service_id, security_group_id) SELECT s.id, g.id FROM service s, security_group g WHERE s.name LIKE '%home' AND g.group_name = 'base'`,
		`INSERT INTO iam_role (role_name, assume_role_policy_document) SELECT name, '` + trust("ecs-tasks") +
			`' FROM unnest('{task,execution}'::text[]) name`,
	},
	Vars: map[string]string{
		"subnet":       `SELECT subnet_id FROM subnet WHERE default_for_az AND availability_zone = 'us-east-1a'`,
		"other_subnet": `SELECT subnet_id FROM subnet WHERE default_for_az AND availability_zone = 'us-east-1b'`,
		"group":        `SELECT group_id FROM security_group WHERE group_name = 'base'`,
		"other_group":  `SELECT group_id FROM security_group WHERE group_name = 'other'`,
		"one":          `SELECT target_group_arn FROM target_group WHERE target_group_name = 'one'`,
		"two":          `SELECT target_group_arn FROM target_group WHERE target_group_name = 'two'`,
		"three":        `SELECT target_group_arn FROM target_group WHERE target_group_name = 'three'`,
	},
	Tables: []Table{
		{
			Name: "cluster", Identity: "cluster_name", ID: "cluster-$n",
			Insert: `(cluster_name) VALUES ('$id')`,
			See:    `ecs describe-clusters --clusters $id --query clusters[?status==\'ACTIVE\']`,
			Create: run(`ecs create-cluster --cluster-name $id`),
			Delete: run(`ecs delete-cluster --cluster $id`),
			Change: []Change{
				{
					"container_insights", `'enabled'`,
					`ecs describe-clusters --clusters $id --include SETTINGS --query clusters[0].settings[0].value`, "",
					run(`ecs update-cluster --cluster $id --settings name=containerInsights,value=enhanced`),
					`'enhanced'`,
				},
				tags(`ecs list-tags-for-resource --resource-arn $cluster_arn --query tags`,
					`ecs tag-resource --resource-arn $cluster_arn --tags key=by,value=cli`),
			},
			Replace: Replace{Column: "cluster_name", SQL: `'cluster-other'`, ID: "cluster-other"},
			Skip:    unkept("moto: UpdateCluster does not keep ServiceConnectDefaults", "service_connect_namespace"),
		},
		{
			Name: "task_definition", Identity: "task_definition_arn",
			Insert: `(family, cpu, memory, container_definitions) VALUES ('task-$n', 256, 512, '` +
				containers("web") + `')`,
			See: `ecs list-task-definitions --query taskDefinitionArns[?@==\'$id\']`,
			Create: run(`ecs register-task-definition --family task-$n --cpu 256 --memory 512 --network-mode awsvpc --requires-compatibilities FARGATE --container-definitions '` +
				containers("web") + `' --query taskDefinition.taskDefinitionArn`),
			Delete: run(`ecs deregister-task-definition --task-definition $id`),
			Change: []Change{
				tags(`ecs list-tags-for-resource --resource-arn $id --query tags`,
					`ecs tag-resource --resource-arn $id --tags key=by,value=cli`),
			},
			Skip:    map[string]string{"enable_fault_injection replaced": "moto: RegisterTaskDefinition does not keep it"},
			Replace: Replace{Column: "container_definitions", SQL: `'` + containers("api") + `'`},
			Fixed: []Change{
				{Column: "family", SQL: `'task-renamed'`,
					See: `ecs describe-task-definition --task-definition $id --query taskDefinition.family`},
				{Column: "cpu", SQL: `512`, See: `ecs describe-task-definition --task-definition $id --query taskDefinition.cpu`},
				{Column: "memory", SQL: `1024`,
					See: `ecs describe-task-definition --task-definition $id --query taskDefinition.memory`},
				{Column: "network_mode", SQL: `'host'`,
					See: `ecs describe-task-definition --task-definition $id --query taskDefinition.networkMode`},
				revised("cpu_architecture", `'ARM64'`, "runtimePlatform.cpuArchitecture", "ARM64"),
				revised("operating_system_family", `'LINUX'`, "runtimePlatform.operatingSystemFamily", "LINUX"),
				revised("ephemeral_storage", `40`, "ephemeralStorage.sizeInGiB", "40"),
				revised("volumes", `'[{"name": "data", "efsVolumeConfiguration": {"fileSystemId": "fs-1"}}]'`,
					"volumes[0].efsVolumeConfiguration.fileSystemId", "fs-1"),
				revised("pid_mode", `'task'`, "pidMode", "task"),
				revised("ipc_mode", `'none'`, "ipcMode", "none"),
				revised("placement_constraints",
					`'[{"type": "memberOf", "expression": "attribute:ecs.os-type == linux"}]'`,
					"placementConstraints[0].type", "memberOf"),
				revised("proxy_configuration",
					`'{"type": "APPMESH", "containerName": "web", "properties": [{"name": "AppPorts", "value": "80"}]}'`, "proxyConfiguration.containerName", "web"),
				{Column: "requires_compatibilities", SQL: `'{EC2}'`,
					See: `ecs describe-task-definition --task-definition $id --query taskDefinition.requiresCompatibilities`, Want: `["EC2"]`},
				{Column: "task_role_name", SQL: `'task'`,
					See:  `ecs describe-task-definition --task-definition $id --query taskDefinition.taskRoleArn`,
					Want: `arn:aws:iam::$account:role/task`},
				{Column: "execution_role_name", SQL: `'execution'`,
					See:  `ecs describe-task-definition --task-definition $id --query taskDefinition.executionRoleArn`,
					Want: `arn:aws:iam::$account:role/execution`},
			},
		},
		{
			Name: "service", Identity: "name", ID: "service-$n",
			Skip: map[string]string{"role replaced": "moto: CreateService does not keep it"},
			Insert: `(cluster_id, name, task_definition_id, desired_count, subnets)
				SELECT c.id, '$id', t.id, 0, '{$subnet}' FROM cluster c, task_definition t WHERE c.cluster_name = 'home' AND t.family = 'app-1'`,
			See: `ecs describe-services --cluster home --services $id --query services[?status==\'ACTIVE\']`,
			Create: run(`ecs create-service --cluster home --service-name $id --task-definition arn:aws:ecs:us-east-1:$account:task-definition/app-1:1 --desired-count 0 --launch-type FARGATE
				--network-configuration awsvpcConfiguration={subnets=[$subnet],securityGroups=[$group]}`),
			Delete: run(`ecs delete-service --cluster home --service $id --force`),
			Change: []Change{
				{
					"task_definition_id", `(SELECT id FROM task_definition WHERE family = 'app-2')`,
					`ecs describe-services --cluster home --services $id --query contains(services[0].taskDefinition,\'app-2\')`, "true",
					run(`ecs update-service --cluster home --service $id --task-definition arn:aws:ecs:us-east-1:$account:task-definition/app-3:1`), `(SELECT id FROM task_definition WHERE family = 'app-3')`,
				},
				serviceSetting("desired_count", `1`, "desiredCount", "1", `--desired-count 2`, `2`),
				serviceSetting("subnets", `'{$subnet,$other_subnet}'`,
					"networkConfiguration.awsvpcConfiguration.subnets", `["$subnet", "$other_subnet"]`, network,
					`'{$other_subnet}'`),
				serviceSetting("assign_public_ip", `'ENABLED'`,
					"networkConfiguration.awsvpcConfiguration.assignPublicIp", "", network, `'DISABLED'`),
				serviceSetting("target_group_id", `(SELECT id FROM target_group WHERE target_group_name = 'one')`,
					"loadBalancers[0].targetGroupArn", "$one", behind("three"),
					`(SELECT id FROM target_group WHERE target_group_name = 'three')`),
				serviceSetting("container_name", `'app'`, "loadBalancers[0].containerName", "",
					behind("three"), `'app'`),
				serviceSetting("container_port", `80`, "loadBalancers[0].containerPort", "", behind("three"), `81`),
				tags(`ecs list-tags-for-resource --resource-arn $arn --query tags`,
					`ecs tag-resource --resource-arn $arn --tags key=by,value=cli`),
			},
			Replace: Replace{
				Column: "name", SQL: `'service-other'`, ID: "service-other",
				Child:      `INSERT INTO service_security_groups (service_id, security_group_id) SELECT $row, id FROM security_group WHERE group_name = 'sql'`,
				Dependents: `SELECT string_agg(group_name, ' ' ORDER BY group_name) FROM service_security_groups m JOIN security_group g ON g.id = m.security_group_id WHERE service_id = $row`,
			},
			Apart: []Apart{{
				Left: true,
				Set: []Change{{
					Column: "cluster_id", SQL: `(SELECT id FROM cluster WHERE cluster_name = 'other-home')`,
					See: `ecs describe-services --cluster other-home --services $id --query services[?status==\'ACTIVE\']|[0].clusterArn`, Want: `arn:aws:ecs:us-east-1:$account:cluster/other-home`,
				}},
			}},
		},
		{
			Name: "service", Kind: "with several target groups", Identity: "name", ID: "several-$n",
			Insert: `(cluster_id, name, task_definition_id, desired_count, subnets)
				SELECT c.id, '$id', t.id, 0, '{$subnet}' FROM cluster c, task_definition t WHERE c.cluster_name = 'home' AND t.family = 'app-1'`,
			See: `ecs describe-services --cluster home --services $id --query services[?status==\'ACTIVE\']`,
			Create: run(`ecs create-service --cluster home --service-name $id --task-definition arn:aws:ecs:us-east-1:$account:task-definition/app-1:1 --desired-count 0 --launch-type FARGATE
				--network-configuration awsvpcConfiguration={subnets=[$subnet],securityGroups=[$group]}`),
			Delete: run(`ecs delete-service --cluster home --service $id --force`),
			Change: []Change{
				serviceSetting("load_balancers", `'`+balanced("one", "two")+`'`, "loadBalancers",
					balanced("one", "two"), `--load-balancers '`+balanced("two", "three")+`'`,
					`'`+balanced("two", "three")+`'`),
			},
			Replace: Replace{Column: "launch_type", SQL: `'EC2'`},
		},
		{
			Name: "service_security_groups", ID: `SELECT group_id FROM security_group WHERE group_name = '$n'`,
			Find:   `security_group_id = (SELECT id FROM security_group WHERE group_id = '$id') AND service_id = (SELECT id FROM service WHERE name = 'home')`,
			Insert: `(service_id, security_group_id) SELECT s.id, g.id FROM service s, security_group g WHERE s.name = 'home' AND g.group_id = '$id'`,
			See:    homeService + `networkConfiguration.awsvpcConfiguration.securityGroups[?@==\'$id\']`,
			Create: []string{
				`groups := ` + homeService + `join(\',\',networkConfiguration.awsvpcConfiguration.securityGroups)`,
				`ecs update-service --cluster home --service home --network-configuration awsvpcConfiguration={subnets=[$subnet],securityGroups=[$id,$groups],assignPublicIp=DISABLED}`,
			},
			Delete: []string{
				`groups := ` + homeService + `join(\',\',networkConfiguration.awsvpcConfiguration.securityGroups[?@!=\'$id\'])`,
				`ecs update-service --cluster home --service home --network-configuration awsvpcConfiguration={subnets=[$subnet],securityGroups=[$groups],assignPublicIp=DISABLED}`,
			},
			Replace: Replace{
				Column: "security_group_id", SQL: `(SELECT id FROM security_group WHERE group_name = 'other')`,
				ID: `SELECT group_id FROM security_group WHERE group_name = 'other'`,
			},
			Apart: []Apart{{
				Left: true,
				Set: []Change{{
					Column: "service_id", SQL: `(SELECT id FROM service WHERE name = 'other-home')`,
					See: `ecs describe-services --cluster home --services other-home --query services[0].networkConfiguration.awsvpcConfiguration.securityGroups[?@==\'$id\']|[0]`, Want: `$id`,
				}},
			}},
		},
		{
			Name: "service_scaling_target", ID: `SELECT resource_id FROM service WHERE name = '$n'`,
			Find:   `service_id = (SELECT id FROM service WHERE resource_id = '$id')`,
			Insert: `(service_id, min_capacity, max_capacity) SELECT id, 0, 0 FROM service WHERE resource_id = '$id'`,
			See:    scalable + `describe-scalable-targets --service-namespace ecs --resource-ids $id --query ScalableTargets[].ResourceId`,
			Create: run(register + `--min-capacity 0 --max-capacity 0`),
			Delete: run(scalable + `deregister-scalable-target --service-namespace ecs --scalable-dimension ecs:service:DesiredCount --resource-id $id`),
			Change: []Change{
				scaled("max_capacity", `3`, "MaxCapacity", `3`, `--max-capacity 5`, `5`),
				scaled("min_capacity", `1`, "MinCapacity", `1`, `--min-capacity 2`, `2`),
				scaled("dynamic_scaling_in_suspended", `true`, "SuspendedState.DynamicScalingInSuspended", ``,
					`--suspended-state DynamicScalingInSuspended=false,DynamicScalingOutSuspended=false,ScheduledScalingSuspended=false`, `false`),
				scaled("dynamic_scaling_out_suspended", `true`, "SuspendedState.DynamicScalingOutSuspended", ``,
					`--suspended-state DynamicScalingInSuspended=false,DynamicScalingOutSuspended=false,ScheduledScalingSuspended=false`, `false`),
				scaled("scheduled_scaling_suspended", `true`, "SuspendedState.ScheduledScalingSuspended", ``,
					`--suspended-state DynamicScalingInSuspended=false,DynamicScalingOutSuspended=false,ScheduledScalingSuspended=false`, `false`),
			},
			Replace: Replace{
				Column: "service_id", SQL: `(SELECT id FROM service WHERE name = 'apart')`,
				ID: `SELECT resource_id FROM service WHERE name = 'apart'`,
			},
		},
		{
			Name: "service_scaling_policy", Identity: "policy_name", ID: "policy-$n",
			Insert: `(service_scaling_target_id, policy_name, target_tracking_scaling_policy_configuration) SELECT id, '$id', '` +
				tracked("60") + `' FROM service_scaling_target WHERE resource_id = 'service/home/scaled'`,
			See:    policies + `.PolicyName`,
			Create: run(putPolicy + `--target-tracking-scaling-policy-configuration '` + tracked("60") + `'`),
			Delete: run(scalable + `delete-scaling-policy ` + ofScaled + `--policy-name $id`),
			Change: []Change{
				{"target_tracking_scaling_policy_configuration", `'` + tracked("50") + `'`,
					policies + `|[0].TargetTrackingScalingPolicyConfiguration.TargetValue`, `50`,
					run(putPolicy + `--target-tracking-scaling-policy-configuration '` + tracked("70") + `'`),
					`'` + tracked("70") + `'`},
			},
			Replace: Replace{Column: "policy_name", SQL: `'policy-other'`, ID: "policy-other"},
			Apart: []Apart{{
				Left: true,
				Set: []Change{{
					Column: "service_scaling_target_id",
					SQL:    `(SELECT id FROM service_scaling_target WHERE resource_id = 'service/home/other')`,
					See:    scalable + `describe-scaling-policies --service-namespace ecs --resource-id service/home/other --query ScalingPolicies[?PolicyName==\'$id\']|[0].ResourceId`,
					Want:   `service/home/other`,
				}},
			}},
			Skip: unkept("moto: PutScalingPolicy takes any configuration for that of the type that the policy had, and none for PredictiveScaling; TestScalingPolicyTypes has them",
				"policy_type", "step_scaling_policy_configuration", "predictive_scaling_policy_configuration"),
		},
	},
}

const homeService = `ecs describe-services --cluster home --services home --query services[0].`

const (
	scalable  = `application-autoscaling `
	register  = scalable + `register-scalable-target --service-namespace ecs --scalable-dimension ecs:service:DesiredCount --resource-id $id `
	ofScaled  = `--service-namespace ecs --scalable-dimension ecs:service:DesiredCount --resource-id service/home/scaled `
	putPolicy = scalable + `put-scaling-policy ` + ofScaled + `--policy-name $id --policy-type TargetTrackingScaling `
	policies  = scalable + `describe-scaling-policies --service-namespace ecs --resource-id service/home/scaled --query ScalingPolicies[?PolicyName==\'$id\']`
)

// scaled is a setting of a scalable target.
func scaled(column, sql, member, want, option, then string) Change {
	return Change{
		column, sql, scalable + `describe-scalable-targets --service-namespace ecs --resource-ids $id --query ScalableTargets[0].` + member, want,
		run(register + option), then,
	}
}

// tracked is the configuration of a policy that keeps processors this busy, in percent.
func tracked(percent string) string {
	return `{"TargetValue": ` + percent + `, "PredefinedMetricSpecification": {"PredefinedMetricType": "ECSServiceAverageCPUUtilization"}}`
}

const network = `--network-configuration awsvpcConfiguration={subnets=[$other_subnet],securityGroups=[$other_group],assignPublicIp=DISABLED}`

func serviceSetting(column, sql, member, want, option, then string) Change {
	return Change{
		column, sql, `ecs describe-services --cluster home --services $id --query services[0].` + member, want,
		run(`ecs update-service --cluster home --service $id ` + option), then,
	}
}

// revised is a column that another revision is registered for.
func revised(column, sql, member, want string) Change {
	return Change{Column: column, SQL: sql,
		See: `ecs describe-task-definition --task-definition $id --query taskDefinition.` + member, Want: want}
}

func containers(name string) string {
	return `[{"name": "` + name + `", "image": "nginx", "essential": true, "portMappings": [{"containerPort": 80}]}]`
}

// balanced are load balancers, behind the option that sets a single one.
func balanced(groups ...string) string {
	list := make([]string, len(groups))
	for i, group := range groups {
		list[i] = `{"targetGroupArn": "$` + group + `", "containerName": "app", "containerPort": 80}`
	}
	return "[" + strings.Join(list, ", ") + "]"
}

func behind(group string) string {
	return `--load-balancers targetGroupArn=$` + group + `,containerName=app,containerPort=81`
}
