package conformance

const exportsElsewhere = "moto: ModifyDBInstance keeps every log that was ever named; TestInstanceParts of the module changes them"

var awsRDS = Module{
	Name: "aws_rds",
	Setup: []string{
		`INSERT INTO db_subnet_group (name, description, subnets) SELECT 'home', 'subnets', array_agg(subnet_id) FROM subnet WHERE default_for_az`,
		`INSERT INTO parameter_group (name, family, description) SELECT 'group-' || n, 'postgres16', 'parameters' FROM generate_series(1, 3) n`,
		`INSERT INTO parameter_group (name, family, description) VALUES ('group-mysql', 'mysql8.0', 'parameters')`,
		// A database and its security group, in one transaction.
		`WITH base AS (INSERT INTO security_group (group_name, description) VALUES ('base', 'of a test') RETURNING id),
				home AS (INSERT INTO rds (db_instance_identifier, engine, db_instance_class, allocated_storage, master_username, master_user_password)
					VALUES ('home', 'postgres', 'db.t4g.micro', 20, 'someone', 'Corr3ctHorse') RETURNING id)
			INSERT INTO rds_security_groups (rds_id, security_group_id) SELECT home.id, base.id FROM home, base`,
		`INSERT INTO db_cluster (db_cluster_identifier, engine, master_username, master_user_password) VALUES ('home', 'aurora-postgresql', 'someone', 'Corr3ctHorse')`,
		`INSERT INTO db_cluster (db_cluster_identifier, engine, master_username, master_user_password) VALUES ('other-home', 'aurora-postgresql', 'someone', 'Corr3ctHorse')`,
		`INSERT INTO rds (db_instance_identifier, engine, db_instance_class, allocated_storage, master_username, master_user_password)
			VALUES ('other-home', 'postgres', 'db.t4g.micro', 20, 'someone', 'Corr3ctHorse')`,
		`INSERT INTO db_cluster_security_groups (db_cluster_id, security_group_id)
			SELECT c.id, g.id FROM db_cluster c, security_group g WHERE c.db_cluster_identifier LIKE '%home' AND g.group_name = 'base'`,
		`INSERT INTO rds_security_groups (rds_id, security_group_id) SELECT d.id, g.id FROM rds d, security_group g WHERE d.db_instance_identifier = 'other-home' AND g.group_name = 'base'`,
		`INSERT INTO security_group (group_name, description) SELECT name, 'of a test' FROM unnest('{sql,cli,adopted,tracked,other,apart}'::text[]) name`,
	},
	Vars: map[string]string{
		"subnet":       `ec2 describe-subnets --query Subnets[0].SubnetId`,
		"other_subnet": `ec2 describe-subnets --query Subnets[1].SubnetId`,
		"third_subnet": `ec2 describe-subnets --query Subnets[2].SubnetId`,
	},
	Tables: []Table{
		{
			Name: "parameter_group", Identity: "name", ID: "parameters-$n",
			Insert: `(name, family, description) VALUES ('$id', 'postgres16', 'parameters')`,
			See:    `rds describe-db-parameter-groups --db-parameter-group-name $id --query DBParameterGroups`,
			Create: run(`rds create-db-parameter-group --db-parameter-group-name $id --db-parameter-group-family postgres16 --description parameters`),
			Delete: run(`rds delete-db-parameter-group --db-parameter-group-name $id`),
			Change: []Change{
				{
					"parameters", `'{"max_connections": "200"}'`,
					`rds describe-db-parameters --db-parameter-group-name $id --query Parameters[?ParameterName==\'max_connections\']|[0].ParameterValue`, "200",
					run(`rds modify-db-parameter-group --db-parameter-group-name $id --parameters ParameterName=max_connections,ParameterValue=300,ApplyMethod=immediate`),
					`'{"max_connections": "300"}'`,
				},
				tags(`rds list-tags-for-resource --resource-name $arn --query TagList`,
					`rds add-tags-to-resource --resource-name $arn --tags Key=by,Value=cli`),
			},
			Replace: Replace{Column: "name", SQL: `'parameters-other'`, ID: "parameters-other"},
			Fixed: []Change{
				{Column: "family", SQL: `'postgres15'`,
					See: `rds describe-db-parameter-groups --db-parameter-group-name $id --query DBParameterGroups[0].DBParameterGroupFamily`},
				{Column: "description", SQL: `'others'`,
					See: `rds describe-db-parameter-groups --db-parameter-group-name $id --query DBParameterGroups[0].Description`},
			},
		},
		{
			Name: "db_subnet_group", Identity: "name", ID: "subnets-$n",
			Insert: `(name, description, subnets) VALUES ('$id', 'subnets', '{$subnet,$other_subnet}')`,
			See:    `rds describe-db-subnet-groups --db-subnet-group-name $id`,
			Create: run(`rds create-db-subnet-group --db-subnet-group-name $id --db-subnet-group-description subnets --subnet-ids $subnet $other_subnet`),
			Delete: run(`rds delete-db-subnet-group --db-subnet-group-name $id`),
			Change: []Change{
				tags(`rds list-tags-for-resource --resource-name $arn --query TagList`,
					`rds add-tags-to-resource --resource-name $arn --tags Key=by,Value=cli`),
			},
			Replace: Replace{Column: "name", SQL: `'subnets-other'`, ID: "subnets-other"},
			Skip: map[string]string{
				move:                     "aws: its subnets are of one region",
				"description by SQL":     "moto: ModifyDBSubnetGroup deletes the group",
				"description by the CLI": "moto: ModifyDBSubnetGroup deletes the group",
				"subnets by SQL":         "moto: ModifyDBSubnetGroup deletes the group",
				"subnets by the CLI":     "moto: ModifyDBSubnetGroup deletes the group",
			},
		},
		{
			Name: "db_cluster", Identity: "db_cluster_identifier", ID: "cluster-$n",
			Insert: `(db_cluster_identifier, engine, engine_version, db_cluster_instance_class, allocated_storage, iops, master_username, master_user_password)
				VALUES ('$id', 'postgres', '16.3', 'db.m6gd.large', 100, 1000, 'someone', 'Corr3ctHorse')`,
			See: `rds describe-db-clusters --db-cluster-identifier $id`,
			Create: run(`rds create-db-cluster --db-cluster-identifier $id --engine postgres --engine-version 16.3 --db-cluster-instance-class db.m6gd.large --allocated-storage 100
				--iops 1000 --master-username someone --master-user-password Corr3ctHorse`),
			Delete: run(`rds delete-db-cluster --db-cluster-identifier $id --skip-final-snapshot`),
			Change: []Change{
				clusterSetting("engine_version", `'16.4'`, "EngineVersion", `'16.5'`),
				clusterSetting("db_cluster_instance_class", `'db.m6gd.xlarge'`, "DBClusterInstanceClass",
					`'db.m6gd.2xlarge'`),
				clusterSetting("allocated_storage", `200`, "AllocatedStorage", `300`),
				clusterSetting("iops", `2000`, "Iops", `3000`),
				clusterSetting("storage_type", `'io2'`, "StorageType", `'gp3'`),
				clusterSetting("port", `5433`, "Port", `5434`),
				clusterSetting("backup_retention_period", `7`, "BackupRetentionPeriod", `8`),
				clusterSetting("deletion_protection", `true`, "DeletionProtection", `false`),
				tags(`rds list-tags-for-resource --resource-name $arn --query TagList`,
					`rds add-tags-to-resource --resource-name $arn --tags Key=by,Value=cli`),
			},
			Replace: Replace{Column: "db_cluster_identifier", SQL: `'cluster-other'`,
				With: `master_user_password = 'Corr3ctHorse'`, ID: "cluster-other"},
			Fixed: []Change{
				clusterFixed("engine", `'mysql'`, "Engine", ""),
				clusterFixed("storage_encrypted", `true`, "StorageEncrypted", ""),
				clusterFixed("database_name", `'main'`, "DatabaseName", ""),
				clusterFixed("master_username", `'somebody'`, "MasterUsername", ""),
				clusterFixed("subnet_group_id", `(SELECT id FROM db_subnet_group WHERE name = 'home')`,
					"DBSubnetGroup", "home"),
				clusterFixed("publicly_accessible", `true`, "PubliclyAccessible", ""),
			},
			Skip: both(map[string]string{"master_user_password by SQL": "aws: no API tells a password"}, unkeptOfClusters()),
		},
		{
			Name: "db_cluster", Kind: "Aurora", Identity: "db_cluster_identifier", ID: "aurora-$n",
			Insert: `(db_cluster_identifier, engine, master_username, master_user_password, serverless_min_capacity, serverless_max_capacity)
				VALUES ('$id', 'aurora-postgresql', 'someone', 'Corr3ctHorse', 0.5, 2)`,
			See: `rds describe-db-clusters --db-cluster-identifier $id`,
			Create: run(`rds create-db-cluster --db-cluster-identifier $id --engine aurora-postgresql --master-username someone --master-user-password Corr3ctHorse
				--serverless-v2-scaling-configuration MinCapacity=0.5,MaxCapacity=2`),
			Delete: run(`rds delete-db-cluster --db-cluster-identifier $id --skip-final-snapshot`),
			Change: []Change{
				capacity("serverless_min_capacity", `1.5`, "MinCapacity", `2.5`),
				capacity("serverless_max_capacity", `16`, "MaxCapacity", `32`),
			},
			Skip: unkeptOfClusters(),
			Replace: Replace{Column: "db_cluster_identifier", SQL: `'aurora-other'`,
				With: `master_user_password = 'Corr3ctHorse'`, ID: "aurora-other"},
		},
		{
			Name: "db_cluster_security_groups", ID: `SELECT group_id FROM security_group WHERE group_name = '$n'`,
			Find:   `security_group_id = (SELECT id FROM security_group WHERE group_id = '$id')`,
			Insert: `(db_cluster_id, security_group_id) SELECT c.id, g.id FROM db_cluster c, security_group g WHERE c.db_cluster_identifier = 'home' AND g.group_id = '$id'`,
			See:    `rds describe-db-clusters --db-cluster-identifier home --query DBClusters[0].VpcSecurityGroups[?VpcSecurityGroupId==\'$id\']`,
			Create: []string{
				`groups := rds describe-db-clusters --db-cluster-identifier home --query join(\'' '\',DBClusters[0].VpcSecurityGroups[].VpcSecurityGroupId)`,
				`rds modify-db-cluster --apply-immediately --db-cluster-identifier home --vpc-security-group-ids $id $groups`,
			},
			Delete: []string{
				`groups := rds describe-db-clusters --db-cluster-identifier home --query join(\'' '\',DBClusters[0].VpcSecurityGroups[?VpcSecurityGroupId!=\'$id\'].VpcSecurityGroupId)`,
				`rds modify-db-cluster --apply-immediately --db-cluster-identifier home --vpc-security-group-ids $groups`,
			},
			Replace: Replace{
				Column: "security_group_id", SQL: `(SELECT id FROM security_group WHERE group_name = 'other')`,
				ID: `SELECT group_id FROM security_group WHERE group_name = 'other'`,
			},
			Apart: []Apart{{
				Left: true,
				Set: []Change{{
					Column: "db_cluster_id", SQL: `(SELECT id FROM db_cluster WHERE db_cluster_identifier = 'other-home')`,
					See: `rds describe-db-clusters --db-cluster-identifier other-home --query DBClusters[0].VpcSecurityGroups[?VpcSecurityGroupId==\'$id\']|[0].VpcSecurityGroupId`, Want: `$id`,
				}},
			}},
		},
		{
			Name: "rds", Identity: "db_instance_identifier", ID: "database-$n",
			Bound: true, // its parameter group
			Insert: `(db_instance_identifier, engine, engine_version, db_instance_class, allocated_storage, master_username, master_user_password)
				VALUES ('$id', 'postgres', '16.3', 'db.t4g.micro', 20, 'someone', 'Corr3ctHorse')`,
			See: `rds describe-db-instances --db-instance-identifier $id`,
			Create: run(`rds create-db-instance --db-instance-identifier $id --engine postgres --engine-version 16.3 --db-instance-class db.t4g.micro --allocated-storage 20
				--master-username someone --master-user-password Corr3ctHorse`),
			Delete: run(`rds delete-db-instance --db-instance-identifier $id --skip-final-snapshot`),
			Change: []Change{
				databaseSetting("engine_version", `'16.4'`, "EngineVersion", `--engine-version 16.5`, `'16.5'`),
				databaseSetting("db_instance_class", `'db.t4g.small'`, "DBInstanceClass",
					`--db-instance-class db.t4g.medium`, `'db.t4g.medium'`),
				databaseSetting("allocated_storage", `30`, "AllocatedStorage", `--allocated-storage 40`, `40`),
				databaseSetting("storage_type", `'gp3'`, "StorageType", `--storage-type gp2`, `'gp2'`),
				databaseSetting("multi_az", `true`, "MultiAZ", `--no-multi-az`, `false`),
				databaseSetting("publicly_accessible", `true`, "PubliclyAccessible",
					`--no-publicly-accessible`, `false`),
				{
					"parameter_group_id", `(SELECT id FROM parameter_group WHERE name = 'group-1')`,
					`rds describe-db-instances --db-instance-identifier $id --query DBInstances[0].DBParameterGroups[0].DBParameterGroupName`, "group-1",
					run(`rds modify-db-instance --apply-immediately --db-instance-identifier $id --db-parameter-group-name group-2`),
					`(SELECT id FROM parameter_group WHERE name = 'group-2')`,
				},
				databaseSetting("backup_retention_period", `7`, "BackupRetentionPeriod",
					`--backup-retention-period 8`, `8`),
				databaseSetting("auto_minor_version_upgrade", `false`, "AutoMinorVersionUpgrade",
					`--auto-minor-version-upgrade`, `true`),
				databaseSetting("deletion_protection", `true`, "DeletionProtection",
					`--no-deletion-protection`, `false`),
				tags(`rds list-tags-for-resource --resource-name $arn --query TagList`,
					`rds add-tags-to-resource --resource-name $arn --tags Key=by,Value=cli`),
			},
			Replace: Replace{Column: "db_instance_identifier", SQL: `'database-other'`,
				With: `master_user_password = 'Corr3ctHorse'`, ID: "database-other"},
			Fixed: []Change{
				{Column: "db_name", SQL: `'main'`,
					See: `rds describe-db-instances --db-instance-identifier $id --query DBInstances[0].DBName`},
				{Column: "master_username", SQL: `'somebody'`,
					See: `rds describe-db-instances --db-instance-identifier $id --query DBInstances[0].MasterUsername`},
				{Column: "storage_encrypted", SQL: `true`,
					See: `rds describe-db-instances --db-instance-identifier $id --query DBInstances[0].StorageEncrypted`},
				{Column: "availability_zone", SQL: `'us-east-1b'`,
					See: `rds describe-db-instances --db-instance-identifier $id --query DBInstances[0].AvailabilityZone`},
				{Column: "db_subnet_group_id", SQL: `(SELECT id FROM db_subnet_group WHERE name = 'home')`,
					See: `rds describe-db-instances --db-instance-identifier $id --query DBInstances[0].DBSubnetGroup.DBSubnetGroupName`, Want: `home`},
			},
			Apart: []Apart{{
				With: `engine_version = '8.0.35', parameter_group_id = (SELECT id FROM parameter_group WHERE name = 'group-mysql'), master_user_password = 'Corr3ctHorse'`,
				Set: []Change{
					{Column: "engine", SQL: `'mysql'`,
						See: `rds describe-db-instances --db-instance-identifier $id --query DBInstances[0].Engine`},
				},
			}},
			Skip: map[string]string{
				"master_user_password by SQL":              "aws: no API tells a password",
				"tde_credential_password by SQL":           "aws: no API tells a password",
				"manage_master_user_password by SQL":       "aws: not together with a password, which this record has",
				"manage_master_user_password by the CLI":   "aws: not together with a password, which this record has",
				"master_user_secret_kms_key_id by SQL":     "aws: not without a managed password",
				"master_user_secret_kms_key_id by the CLI": "aws: not without a managed password",
				"port by SQL":                               "moto: ModifyDBInstance does not change the port",
				"port by the CLI":                           "moto: ModifyDBInstance does not change the port",
				"enable_cloudwatch_logs_exports by SQL":     exportsElsewhere,
				"enable_cloudwatch_logs_exports by the CLI": exportsElsewhere,
				"option_group_name by SQL":                  "moto: ModifyDBInstance does not change the option group",
				"option_group_name by the CLI":              "moto: ModifyDBInstance does not change the option group",
				"associated_roles by SQL":                   "moto: there is no AddRoleToDBInstance",
				"associated_roles by the CLI":               "moto: there is no AddRoleToDBInstance",
			},
		},
		{
			Name: "rds", Kind: "in a cluster", Identity: "db_instance_identifier", ID: "member-$n",
			Bound:  true, // its cluster
			Insert: `(db_instance_identifier, db_cluster_id, engine, db_instance_class) SELECT '$id', id, engine, 'db.r6g.large' FROM db_cluster WHERE db_cluster_identifier = 'home'`,
			See:    `rds describe-db-instances --db-instance-identifier $id`,
			Create: run(`rds create-db-instance --db-instance-identifier $id --db-cluster-identifier home --engine aurora-postgresql --db-instance-class db.r6g.large`),
			Delete: run(`rds delete-db-instance --db-instance-identifier $id --skip-final-snapshot`),
			Change: []Change{
				databaseSetting("db_instance_class", `'db.r6g.xlarge'`, "DBInstanceClass",
					`--db-instance-class db.r6g.2xlarge`, `'db.r6g.2xlarge'`),
				databaseSetting("publicly_accessible", `true`, "PubliclyAccessible",
					`--no-publicly-accessible`, `false`),
			},
			Replace: Replace{Column: "db_instance_identifier", SQL: `'member-other'`, ID: "member-other"},
			Fixed: []Change{
				{
					Column: "db_cluster_id", SQL: `(SELECT id FROM db_cluster WHERE db_cluster_identifier = 'other-home')`,
					See: `rds describe-db-instances --db-instance-identifier $id --query DBInstances[0].DBClusterIdentifier`, Want: `other-home`,
				},
			},
		},
		{
			Name: "rds_security_groups", ID: `SELECT group_id FROM security_group WHERE group_name = '$n'`,
			Find:   `security_group_id = (SELECT id FROM security_group WHERE group_id = '$id')`,
			Insert: `(rds_id, security_group_id) SELECT d.id, g.id FROM rds d, security_group g WHERE d.db_instance_identifier = 'home' AND g.group_id = '$id'`,
			See:    `rds describe-db-instances --db-instance-identifier home --query DBInstances[0].VpcSecurityGroups[?VpcSecurityGroupId==\'$id\']`,
			Create: []string{
				`groups := rds describe-db-instances --db-instance-identifier home --query join(\'' '\',DBInstances[0].VpcSecurityGroups[].VpcSecurityGroupId)`,
				`rds modify-db-instance --apply-immediately --db-instance-identifier home --vpc-security-group-ids $id $groups`,
			},
			Delete: []string{
				`groups := rds describe-db-instances --db-instance-identifier home --query join(\'' '\',DBInstances[0].VpcSecurityGroups[?VpcSecurityGroupId!=\'$id\'].VpcSecurityGroupId)`,
				`rds modify-db-instance --apply-immediately --db-instance-identifier home --vpc-security-group-ids $groups`,
			},
			Replace: Replace{
				Column: "security_group_id", SQL: `(SELECT id FROM security_group WHERE group_name = 'other')`,
				ID: `SELECT group_id FROM security_group WHERE group_name = 'other'`,
			},
			Apart: []Apart{{
				Left: true,
				Set: []Change{{
					Column: "rds_id", SQL: `(SELECT id FROM rds WHERE db_instance_identifier = 'other-home')`,
					See: `rds describe-db-instances --db-instance-identifier other-home --query DBInstances[0].VpcSecurityGroups[?VpcSecurityGroupId==\'$id\']|[0].VpcSecurityGroupId`, Want: `$id`,
				}},
			}},
		},
	},
}

func clusterFixed(column, sql, member, want string) Change {
	return Change{Column: column, SQL: sql,
		See: `rds describe-db-clusters --db-cluster-identifier $id --query DBClusters[0].` + member, Want: want}
}

func databaseSetting(column, sql, member, option, then string) Change {
	return Change{
		column, sql, `rds describe-db-instances --db-instance-identifier $id --query DBInstances[0].` + member, "",
		run(`rds modify-db-instance --apply-immediately --db-instance-identifier $id ` + option), then,
	}
}

// clusterSetting is a setting of a cluster, all of which the CLI changes at once.
// (AWS would refuse another port.)
func capacity(column, sql, member, then string) Change {
	return Change{
		column, sql, `rds describe-db-clusters --db-cluster-identifier $id --query DBClusters[0].ServerlessV2ScalingConfiguration.` + member, "",
		run(`rds modify-db-cluster --apply-immediately --db-cluster-identifier $id --serverless-v2-scaling-configuration MinCapacity=2.5,MaxCapacity=32`), then,
	}
}

func clusterSetting(column, sql, member, then string) Change {
	return Change{
		column, sql, `rds describe-db-clusters --db-cluster-identifier $id --query DBClusters[0].` + member, "",
		run(`rds modify-db-cluster --apply-immediately --db-cluster-identifier $id --engine-version 16.5 --db-cluster-instance-class db.m6gd.2xlarge --allocated-storage 300
			--iops 3000 --storage-type gp3 --port 5434 --backup-retention-period 8 --no-deletion-protection`), then,
	}
}

func unkeptOfClusters() map[string]string {
	return unkept("moto: ModifyDBCluster does not keep it", "associated_roles", "enable_cloudwatch_logs_exports",
		"manage_master_user_password", "master_user_secret_kms_key_id", "performance_insights_enabled",
		"enable_local_write_forwarding")
}
