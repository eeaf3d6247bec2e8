package conformance

var awsRDS = Module{
	Name: "aws_rds",
	CLI:  []string{`ec2 create-security-group --group-name other --description other`},
	Setup: []string{
		`INSERT INTO parameter_group (name, family, description) SELECT 'group-' || n, 'postgres16', 'parameters' FROM generate_series(1, 3) n`,
	},
	Vars: map[string]string{
		"subnet": `ec2 describe-subnets --query Subnets[0].SubnetId`, "other_subnet": `ec2 describe-subnets --query Subnets[1].SubnetId`,
		"third_subnet": `ec2 describe-subnets --query Subnets[2].SubnetId`,
		"group":        `ec2 describe-security-groups --group-names default --query SecurityGroups[0].GroupId`,
		"other_group":  `ec2 describe-security-groups --group-names other --query SecurityGroups[0].GroupId`,
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
				tags(`rds list-tags-for-resource --resource-name $arn --query TagList`, `rds add-tags-to-resource --resource-name $arn --tags Key=by,Value=cli`),
			},
			Replace: Replace{Column: "name", SQL: `'parameters-other'`, ID: "parameters-other"},
			Fixed: []Change{
				{Column: "family", SQL: `'postgres15'`, See: `rds describe-db-parameter-groups --db-parameter-group-name $id --query DBParameterGroups[0].DBParameterGroupFamily`},
				{Column: "description", SQL: `'others'`, See: `rds describe-db-parameter-groups --db-parameter-group-name $id --query DBParameterGroups[0].Description`},
			},
		},
		{
			Name: "db_subnet_group", Identity: "name", ID: "subnets-$n",
			Insert: `(name, description, subnets) VALUES ('$id', 'subnets', '{$subnet,$other_subnet}')`,
			See:    `rds describe-db-subnet-groups --db-subnet-group-name $id`,
			Create: run(`rds create-db-subnet-group --db-subnet-group-name $id --db-subnet-group-description subnets --subnet-ids $subnet $other_subnet`),
			Delete: run(`rds delete-db-subnet-group --db-subnet-group-name $id`),
			Change: []Change{
				tags(`rds list-tags-for-resource --resource-name $arn --query TagList`, `rds add-tags-to-resource --resource-name $arn --tags Key=by,Value=cli`),
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
				databaseSetting("db_instance_class", `'db.t4g.small'`, "DBInstanceClass", `--db-instance-class db.t4g.medium`, `'db.t4g.medium'`),
				databaseSetting("allocated_storage", `30`, "AllocatedStorage", `--allocated-storage 40`, `40`),
				databaseSetting("storage_type", `'gp3'`, "StorageType", `--storage-type gp2`, `'gp2'`),
				databaseSetting("multi_az", `true`, "MultiAZ", `--no-multi-az`, `false`),
				{
					"vpc_security_group_ids", `'{$other_group}'`, `rds describe-db-instances --db-instance-identifier $id --query DBInstances[0].VpcSecurityGroups[].VpcSecurityGroupId`,
					`["$other_group"]`, run(`rds modify-db-instance --apply-immediately --db-instance-identifier $id --vpc-security-group-ids $group`), `'{$group}'`,
				},
				databaseSetting("publicly_accessible", `true`, "PubliclyAccessible", `--no-publicly-accessible`, `false`),
				{
					"parameter_group_id", `(SELECT id FROM parameter_group WHERE name = 'group-1')`,
					`rds describe-db-instances --db-instance-identifier $id --query DBInstances[0].DBParameterGroups[0].DBParameterGroupName`, "group-1",
					run(`rds modify-db-instance --apply-immediately --db-instance-identifier $id --db-parameter-group-name group-2`),
					`(SELECT id FROM parameter_group WHERE name = 'group-2')`,
				},
				databaseSetting("backup_retention_period", `7`, "BackupRetentionPeriod", `--backup-retention-period 8`, `8`),
				databaseSetting("auto_minor_version_upgrade", `false`, "AutoMinorVersionUpgrade", `--auto-minor-version-upgrade`, `true`),
				databaseSetting("deletion_protection", `true`, "DeletionProtection", `--no-deletion-protection`, `false`),
				tags(`rds list-tags-for-resource --resource-name $arn --query TagList`, `rds add-tags-to-resource --resource-name $arn --tags Key=by,Value=cli`),
			},
			Replace: Replace{Column: "db_instance_identifier", SQL: `'database-other'`, With: `master_user_password = 'Corr3ctHorse'`, ID: "database-other"},
			Fixed: []Change{
				{Column: "db_name", SQL: `'main'`, See: `rds describe-db-instances --db-instance-identifier $id --query DBInstances[0].DBName`},
				{Column: "master_username", SQL: `'somebody'`, See: `rds describe-db-instances --db-instance-identifier $id --query DBInstances[0].MasterUsername`},
				{Column: "storage_encrypted", SQL: `true`, See: `rds describe-db-instances --db-instance-identifier $id --query DBInstances[0].StorageEncrypted`},
				{Column: "availability_zone", SQL: `'us-east-1b'`, See: `rds describe-db-instances --db-instance-identifier $id --query DBInstances[0].AvailabilityZone`},
			},
			Skip: map[string]string{"master_user_password by SQL": "aws: no API tells a password"},
		},
	},
}

func databaseSetting(column, sql, member, option, then string) Change {
	return Change{
		column, sql, `rds describe-db-instances --db-instance-identifier $id --query DBInstances[0].` + member, "",
		run(`rds modify-db-instance --apply-immediately --db-instance-identifier $id ` + option), then,
	}
}
