package conformance

var awsMemoryDB = Module{
	Name: "aws_memory_db",
	Setup: []string{
		`INSERT INTO subnet_group (subnet_group_name, subnets) SELECT 'home', array_agg(subnet_id) FROM subnet WHERE default_for_az`,
	},
	Vars: map[string]string{"subnet": `ec2 describe-subnets --query Subnets[0].SubnetId`,
		"other_subnet": `ec2 describe-subnets --query Subnets[1].SubnetId`},
	Tables: []Table{
		{
			Name: "subnet_group", Identity: "subnet_group_name", ID: "subnets-$n",
			Insert: `(subnet_group_name, subnets) VALUES ('$id', '{$subnet,$other_subnet}')`,
			See:    `memorydb describe-subnet-groups --subnet-group-name $id`,
			Create: run(`memorydb create-subnet-group --subnet-group-name $id --subnet-ids $subnet $other_subnet`),
			Delete: run(`memorydb delete-subnet-group --subnet-group-name $id`),
			Change: []Change{tags(`memorydb list-tags --resource-arn $arn --query TagList`,
				`memorydb tag-resource --resource-arn $arn --tags Key=by,Value=cli`)},
			Replace: Replace{Column: "subnet_group_name", SQL: `'subnets-other'`, ID: "subnets-other"},
			Skip: map[string]string{
				move:                     "aws: its subnets are of one region",
				"description by SQL":     "moto: no UpdateSubnetGroup",
				"description by the CLI": "moto: no UpdateSubnetGroup",
				"subnets by SQL":         "moto: no UpdateSubnetGroup",
				"subnets by the CLI":     "moto: no UpdateSubnetGroup",
			},
		},
		{
			Name: "memory_db_cluster", Identity: "cluster_name", ID: "cluster-$n",
			Bound: true, // its subnet group
			Insert: `(cluster_name, subnet_group_id, node_type, num_shards, num_replicas_per_shard, snapshot_retention_limit)
				SELECT '$id', id, 'db.t4g.small', 1, 1, 1 FROM subnet_group WHERE subnet_group_name = 'home'`,
			See: `memorydb describe-clusters --cluster-name $id`,
			Create: run(`memorydb create-cluster --cluster-name $id --node-type db.t4g.small --acl-name open-access --subnet-group-name home --num-shards 1 --num-replicas-per-shard 1
				--snapshot-retention-limit 1`),
			Delete: run(`memorydb delete-cluster --cluster-name $id`),
			Change: []Change{
				clusterOption("description", `'sql'`, "Description", `--description cli`, `'cli'`),
				clusterOption("node_type", `'db.r6g.large'`, "NodeType", `--node-type db.r6g.xlarge`,
					`'db.r6g.xlarge'`),
				clusterOption("num_shards", `2`, "NumberOfShards", `--shard-configuration ShardCount=3`, `3`),
				clusterOption("engine_version", `'7.1'`, "EngineVersion", `--engine-version 6.2`, `'6.2'`),
				clusterOption("acl_name", `'sql'`, "ACLName", `--acl-name cli`, `'cli'`),
				clusterOption("parameter_group_name", `'sql'`, "ParameterGroupName",
					`--parameter-group-name cli`, `'cli'`),
				clusterOption("maintenance_window", `'sun:23:00-mon:01:30'`, "MaintenanceWindow",
					`--maintenance-window mon:23:00-tue:01:30`, `'mon:23:00-tue:01:30'`),
				clusterOption("snapshot_retention_limit", `3`, "SnapshotRetentionLimit",
					`--snapshot-retention-limit 4`, `4`),
				clusterOption("snapshot_window", `'05:00-09:00'`, "SnapshotWindow", `--snapshot-window 06:00-10:00`,
					`'06:00-10:00'`),
				{
					"num_replicas_per_shard", `2`,
					`memorydb describe-clusters --show-shard-details --cluster-name $id --query Clusters[0].Shards[0].NumberOfNodes`, "3",
					run(`memorydb update-cluster --cluster-name $id --replica-configuration ReplicaCount=3`), `3`,
				},
				tags(`memorydb list-tags --resource-arn $arn --query TagList`,
					`memorydb tag-resource --resource-arn $arn --tags Key=by,Value=cli`),
			},
			Skip:    map[string]string{"data_tiering replaced": "moto: CreateCluster does not keep DataTiering"},
			Replace: Replace{Column: "cluster_name", SQL: `'cluster-other'`, ID: "cluster-other"},
			Fixed: []Change{
				{Column: "port", SQL: `6380`, See: `memorydb describe-clusters --cluster-name $id --query Clusters[0].ClusterEndpoint.Port`},
				{Column: "tls_enabled", SQL: `false`,
					See: `memorydb describe-clusters --cluster-name $id --query Clusters[0].TLSEnabled`},
				{Column: "auto_minor_version_upgrade", SQL: `false`,
					See: `memorydb describe-clusters --cluster-name $id --query Clusters[0].AutoMinorVersionUpgrade`},
				{
					Column: "kms_key_id", SQL: `'arn:aws:kms:us-east-1:$account:key/0b5f5b5e-0000-4000-8000-000000000001'`,
					See: `memorydb describe-clusters --cluster-name $id --query Clusters[0].KmsKeyId`,
				},
				{
					Column: "subnet_group_id", SQL: `(SELECT id FROM subnet_group WHERE subnet_group_name = 'subnets-other')`,
					See:  `memorydb describe-clusters --cluster-name $id --query Clusters[0].SubnetGroupName`,
					Want: `subnets-other`,
				},
			},
		},
		{
			Name: "memory_db_cluster_security_groups",
			See:  `memorydb describe-clusters --query Clusters[].SecurityGroups[]`,
			// TestSecurityGroups
			Skip: skipAll("moto: DescribeClusters shows the security groups that a cluster was created with, "+
				"whatever UpdateCluster sets",
				createBySQL, createByCLI, deleteBySQL, deleteByCLI, replace, move, adopt, track,
				"memory_db_cluster_id replaced", "security_group_id replaced"),
		},
	},
}

func clusterOption(column, sql, member, option, then string) Change {
	return Change{
		column, sql, `memorydb describe-clusters --cluster-name $id --query Clusters[0].` + member, "",
		run(`memorydb update-cluster --cluster-name $id ` + option), then,
	}
}
