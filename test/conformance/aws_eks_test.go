package conformance

var awsEKS = Module{
	Name: "aws_eks",
	Setup: []string{
		`INSERT INTO iam_role (role_name, assume_role_policy_document) SELECT name, '` + trust("eks") +
			`' FROM unnest('{first,second}'::text[]) name`,
		`INSERT INTO launch_template (launch_template_name, data) VALUES ('other', '{"EbsOptimized": true}')`,
		`INSERT INTO eks_cluster (cluster_name, role_name, subnets) SELECT name, 'first', '{subnet-1,subnet-2}' FROM unnest('{home,other-home}'::text[]) name`,
	},
	Tables: []Table{
		{
			Name: "eks_cluster", Identity: "cluster_name", ID: "cluster-$n",
			Insert: `(cluster_name, role_name, subnets) VALUES ('$id', 'first', '{subnet-1,subnet-2}')`,
			See:    `eks describe-cluster --name $id`,
			Create: run(`eks create-cluster --name $id --role-arn arn:aws:iam::$account:role/first --resources-vpc-config subnetIds=subnet-1,subnet-2,endpointPublicAccess=true`),
			Delete: run(`eks delete-cluster --name $id`),
			Change: []Change{
				{
					"log_types", `'{api}'`, `eks describe-cluster --name $id --query cluster.logging.clusterLogging[?enabled].types[]|[0]`, "api",
					run(`eks update-cluster-config --name $id --logging clusterLogging=[{types=[audit],enabled=true}]`),
					`'{audit}'`,
				},
				tags(`eks describe-cluster --name $id --query cluster.tags`,
					`eks tag-resource --resource-arn $arn --tags by=cli`),
			},
			Replace: Replace{Column: "cluster_name", SQL: `'cluster-other'`, ID: "cluster-other"},
			Fixed: []Change{
				{Column: "role_name", SQL: `'second'`, See: `eks describe-cluster --name $id --query cluster.roleArn`,
					Want: `arn:aws:iam::$account:role/second`},
				{Column: "service_ipv4_cidr", SQL: `'10.100.0.0/16'`,
					See: `eks describe-cluster --name $id --query cluster.kubernetesNetworkConfig.serviceIpv4Cidr`},
				{Column: "kms_key_arn", SQL: `'arn:aws:kms:us-east-1:$account:key/1'`,
					See: `eks describe-cluster --name $id --query cluster.encryptionConfig[0].provider.keyArn`},
			},
			Skip: both(unkept("moto: no UpdateClusterVersion", "version"),
				unkept("moto: UpdateClusterConfig forgets the rest of resourcesVpcConfig", "subnets",
					"security_group_ids", "endpoint_public_access", "endpoint_private_access", "public_access_cidrs"),
				unkept("moto: UpdateClusterConfig does not keep it", "authentication_mode", "elastic_load_balancing", "support_type",
					"deletion_protection"),
				map[string]string{"ip_family replaced": "moto: CreateCluster does not keep ipFamily beside a network"}),
		},
		{
			Name: "eks_node_group", Identity: "node_group_name", ID: "nodes-$n",
			Insert: `(cluster_id, node_group_name, role_name, subnets, min_size, max_size) SELECT id, '$id', 'first', '{subnet-1}', 1, 2 FROM eks_cluster WHERE cluster_name = 'home'`,
			See:    `eks describe-nodegroup --cluster-name home --nodegroup-name $id`,
			Create: run(`eks create-nodegroup --cluster-name home --nodegroup-name $id --node-role arn:aws:iam::$account:role/first --subnets subnet-1 --scaling-config minSize=1,maxSize=2,desiredSize=1`),
			Delete: run(`eks delete-nodegroup --cluster-name home --nodegroup-name $id`),
			Change: []Change{
				nodeSetting("max_size", `5`, "scalingConfig.maxSize",
					`--scaling-config minSize=3,maxSize=6,desiredSize=4`, `6`),
				nodeSetting("min_size", `1`, "scalingConfig.minSize",
					`--scaling-config minSize=3,maxSize=6,desiredSize=4`, `3`),
				nodeSetting("desired_size", `2`, "scalingConfig.desiredSize",
					`--scaling-config minSize=3,maxSize=6,desiredSize=4`, `4`),
				nodeSetting("max_unavailable", `2`, "updateConfig.maxUnavailable",
					`--update-config maxUnavailable=3`, `3`),
				nodeSetting("labels", `'{"by": "sql"}'`, "labels", `--labels addOrUpdateLabels={by=cli}`,
					`'{"by": "cli"}'`),
				{
					"taints", `'[{"Key": "by", "Value": "sql", "Effect": "NO_SCHEDULE"}]'`,
					`eks describe-nodegroup --cluster-name home --nodegroup-name $id --query nodegroup.taints[0].value`,
					"sql",
					run(`eks update-nodegroup-config --cluster-name home --nodegroup-name $id --taints addOrUpdateTaints=[{key=by,value=cli,effect=NO_SCHEDULE}]`),
					`'[{"Key": "by", "Value": "cli", "Effect": "NO_SCHEDULE"}]'`,
				},
			},
			Replace: Replace{Column: "node_group_name", SQL: `'nodes-other'`, ID: "nodes-other"},
			Fixed: []Change{
				{Column: "role_name", SQL: `'second'`,
					See:  `eks describe-nodegroup --cluster-name home --nodegroup-name $id --query nodegroup.nodeRole`,
					Want: `arn:aws:iam::$account:role/second`},
				{Column: "subnets", SQL: `'{subnet-3}'`,
					See:  `eks describe-nodegroup --cluster-name home --nodegroup-name $id --query nodegroup.subnets[0]`,
					Want: `subnet-3`},
				{Column: "instance_types", SQL: `'{t3.large}'`,
					See: `eks describe-nodegroup --cluster-name home --nodegroup-name $id --query nodegroup.instanceTypes[0]`, Want: `t3.large`},
				{Column: "ami_type", SQL: `'AL2023_ARM_64_STANDARD'`,
					See: `eks describe-nodegroup --cluster-name home --nodegroup-name $id --query nodegroup.amiType`},
				{Column: "capacity_type", SQL: `'SPOT'`,
					See: `eks describe-nodegroup --cluster-name home --nodegroup-name $id --query nodegroup.capacityType`},
				{Column: "disk_size", SQL: `40`,
					See: `eks describe-nodegroup --cluster-name home --nodegroup-name $id --query nodegroup.diskSize`},
				{Column: "key_pair_name", SQL: `'sql'`,
					See: `eks describe-nodegroup --cluster-name home --nodegroup-name $id --query nodegroup.remoteAccess.ec2SshKey`},
			},
			Apart: []Apart{{
				Left: true,
				Set: []Change{{
					Column: "cluster_id", SQL: `(SELECT id FROM eks_cluster WHERE cluster_name = 'other-home')`,
					See: `eks describe-nodegroup --cluster-name other-home --nodegroup-name $id --query nodegroup.clusterName`, Want: `other-home`,
				}},
			}},
			Skip: both(unkept("moto: no UpdateNodegroupVersion", "version", "release_version",
				"launch_template_version"),
				unkept("moto: no UntagResource for node groups", "tags"),
				unkept("aws: a percentage does not go with a number", "max_unavailable_percentage"),
				map[string]string{"launch_template_id replaced": "moto: CreateNodegroup refuses a launch template " +
					"beside what it takes by itself"}),
		},
	},
}

func nodeSetting(column, sql, member, option, then string) Change {
	return Change{
		column, sql, `eks describe-nodegroup --cluster-name home --nodegroup-name $id --query nodegroup.` + member, "",
		run(`eks update-nodegroup-config --cluster-name home --nodegroup-name $id ` + option), then,
	}
}
