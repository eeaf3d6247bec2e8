package conformance

var awsECSFargate = Module{
	Name: "aws_ecs_fargate",
	Setup: []string{
		`INSERT INTO cluster (cluster_name) VALUES ('home'), ('other-home')`,
		`INSERT INTO task_definition (family, cpu, memory, container_definitions) SELECT 'app-' || n, 256, 512, '` + containers("app") + `' FROM generate_series(1, 3) n`,
	},
	Vars: map[string]string{
		"subnet": `ec2 describe-subnets --query Subnets[0].SubnetId`, "other_subnet": `ec2 describe-subnets --query Subnets[1].SubnetId`,
		"group": `ec2 describe-security-groups --query SecurityGroups[0].GroupId`, "other_group": `ec2 create-security-group --group-name other --description other --query GroupId`,
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
					"container_insights", `'enabled'`, `ecs describe-clusters --clusters $id --include SETTINGS --query clusters[0].settings[0].value`, "",
					run(`ecs update-cluster --cluster $id --settings name=containerInsights,value=enhanced`), `'enhanced'`,
				},
				tags(`ecs list-tags-for-resource --resource-arn $cluster_arn --query tags`, `ecs tag-resource --resource-arn $cluster_arn --tags key=by,value=cli`),
			},
			Replace: Replace{Column: "cluster_name", SQL: `'cluster-other'`, ID: "cluster-other"},
		},
		{
			Name: "task_definition", Identity: "task_definition_arn",
			Insert: `(family, cpu, memory, container_definitions) VALUES ('task-$n', 256, 512, '` + containers("web") + `')`,
			See:    `ecs list-task-definitions --query taskDefinitionArns[?@==\'$id\']`,
			Create: run(`ecs register-task-definition --family task-$n --cpu 256 --memory 512 --network-mode awsvpc --requires-compatibilities FARGATE --container-definitions '` +
				containers("web") + `' --query taskDefinition.taskDefinitionArn`),
			Delete: run(`ecs deregister-task-definition --task-definition $id`),
			Change: []Change{
				tags(`ecs list-tags-for-resource --resource-arn $id --query tags`, `ecs tag-resource --resource-arn $id --tags key=by,value=cli`),
			},
			Replace: Replace{Column: "container_definitions", SQL: `'` + containers("api") + `'`},
		},
		{
			Name: "service", Identity: "name", ID: "service-$n",
			Insert: `(cluster_id, name, task_definition_id, desired_count, subnets, security_group_ids)
				SELECT c.id, '$id', t.id, 0, '{$subnet}', '{$group}' FROM cluster c, task_definition t WHERE c.cluster_name = 'home' AND t.family = 'app-1'`,
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
				serviceSetting("subnets", `'{$subnet,$other_subnet}'`, "networkConfiguration.awsvpcConfiguration.subnets", `["$subnet", "$other_subnet"]`, network, `'{$other_subnet}'`),
				serviceSetting("security_group_ids", `'{$group,$other_group}'`, "networkConfiguration.awsvpcConfiguration.securityGroups", `["$group", "$other_group"]`, network, `'{$other_group}'`),
				serviceSetting("assign_public_ip", `'ENABLED'`, "networkConfiguration.awsvpcConfiguration.assignPublicIp", "", network, `'DISABLED'`),
				serviceSetting("load_balancers", `'`+balanced("a")+`'`, "loadBalancers", balanced("a"), `--load-balancers '`+balanced("b")+`'`, `'`+balanced("b")+`'`),
				tags(`ecs list-tags-for-resource --resource-arn $arn --query tags`, `ecs tag-resource --resource-arn $arn --tags key=by,value=cli`),
			},
			Replace: Replace{Column: "name", SQL: `'service-other'`, ID: "service-other"},
		},
	},
}

const network = `--network-configuration awsvpcConfiguration={subnets=[$other_subnet],securityGroups=[$other_group],assignPublicIp=DISABLED}`

func serviceSetting(column, sql, member, want, option, then string) Change {
	return Change{
		column, sql, `ecs describe-services --cluster home --services $id --query services[0].` + member, want,
		run(`ecs update-service --cluster home --service $id ` + option), then,
	}
}

func containers(name string) string {
	return `[{"name": "` + name + `", "image": "nginx", "essential": true, "portMappings": [{"containerPort": 80}]}]`
}

func balanced(group string) string {
	return `[{"targetGroupArn": "arn:aws:elasticloadbalancing:us-east-1:$account:targetgroup/` + group + `/1", "containerName": "app", "containerPort": 80}]`
}
