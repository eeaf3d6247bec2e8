package conformance

var awsEFS = Module{
	Name: "aws_efs",
	Also: []string{"aws_security_group"},
	Setup: []string{
		`INSERT INTO vpc (cidr_block) VALUES ('10.100.0.0/16')`,
		// A subnet for each of the mount targets, of which a zone has one.
		`INSERT INTO subnet (vpc_id, cidr_block, availability_zone, tags)
			SELECT v.id, format('10.100.%s.0/24', i)::cidr, 'us-east-1' || substr('abcdef', i::int, 1), jsonb_build_object('for', name)
			FROM vpc v, unnest('{sql,cli,adopted,tracked,other,apart}'::text[]) WITH ORDINALITY n (name, i) WHERE v.cidr_block = '10.100.0.0/16'`,
		`INSERT INTO security_group (group_name, description, vpc_id) SELECT name, name, id FROM vpc, unnest('{one,two}'::text[]) name WHERE cidr_block = '10.100.0.0/16'`,
		`INSERT INTO efs_file_system (tags) VALUES ('{"Name": "home"}'), ('{"Name": "other"}')`,
	},
	Vars: map[string]string{
		"home":  `SELECT file_system_id FROM efs_file_system WHERE tags ->> 'Name' = 'home'`,
		"other": `SELECT file_system_id FROM efs_file_system WHERE tags ->> 'Name' = 'other'`,
		"one":   `SELECT group_id FROM security_group WHERE group_name = 'one'`,
		"two":   `SELECT group_id FROM security_group WHERE group_name = 'two'`,
	},
	Tables: []Table{
		{
			Name: "efs_file_system", Identity: "file_system_id",
			Insert: `(tags) VALUES ('{"Name": "$n"}')`,
			See:    `efs describe-file-systems --query FileSystems[?FileSystemId==\'$id\']`,
			Create: run(`efs create-file-system --creation-token $n --encrypted --query FileSystemId`),
			Delete: run(`efs delete-file-system --file-system-id $id`),
			Change: []Change{
				{
					"lifecycle_policies", `'[{"TransitionToIA": "AFTER_30_DAYS"}]'`,
					`efs describe-lifecycle-configuration --file-system-id $id --query LifecyclePolicies`, "",
					run(`efs put-lifecycle-configuration --file-system-id $id --lifecycle-policies TransitionToIA=AFTER_60_DAYS`), `'[{"TransitionToIA": "AFTER_60_DAYS"}]'`,
				},
				{
					"policy", `'` + allow("elasticfilesystem:ClientMount", "*") + `'`,
					`efs describe-file-system-policy --file-system-id $id --query Policy`, "",
					run(`efs put-file-system-policy --file-system-id $id --policy '` +
						allow("elasticfilesystem:ClientWrite", "*") + `'`),
					`'` + allow("elasticfilesystem:ClientWrite", "*") + `'`,
				},
				tags(`efs list-tags-for-resource --resource-id $id --query Tags`,
					`efs tag-resource --resource-id $id --tags Key=by,Value=cli`),
			},
			Replace: Replace{Column: "performance_mode", SQL: `'maxIO'`},
			Fixed: []Change{
				{Column: "kms_key_id", SQL: `'arn:aws:kms:us-east-1:$account:key/0b5f5b5e-0000-4000-8000-000000000001'`,
					See: `efs describe-file-systems --file-system-id $id --query FileSystems[0].KmsKeyId`},
			},
			Apart: []Apart{
				{With: `automatic_backups = NULL`,
					Set: []Change{{Column: "availability_zone_name", SQL: `'us-east-1a'`,
						See: `efs describe-file-systems --file-system-id $id --query FileSystems[0].AvailabilityZoneName`}}},
				{Set: []Change{{Column: "encrypted", SQL: `false`,
					See: `efs describe-file-systems --file-system-id $id --query FileSystems[0].Encrypted`}}},
			},
			Skip: map[string]string{ // TestChanges in internal/modules/awsefs has a fake of them
				"replication_overwrite_protection by SQL":     "moto: there is no UpdateFileSystemProtection",
				"replication_overwrite_protection by the CLI": "moto: there is no UpdateFileSystemProtection",
				"replication_configuration by SQL":            "moto: there is no CreateReplicationConfiguration",
				"replication_configuration by the CLI":        "moto: there is no CreateReplicationConfiguration",
				"throughput_mode by SQL":                      "moto: there is no UpdateFileSystem",
				"throughput_mode by the CLI":                  "moto: there is no UpdateFileSystem",
				"provisioned_throughput_in_mibps by SQL":      "moto: there is no UpdateFileSystem",
				"provisioned_throughput_in_mibps by the CLI":  "moto: there is no UpdateFileSystem",
				"automatic_backups by SQL":                    "moto: there is no PutBackupPolicy",
				"automatic_backups by the CLI":                "moto: there is no PutBackupPolicy",
			},
		},
		{
			Name: "efs_mount_target", ID: `SELECT subnet_id FROM subnet WHERE tags ->> 'for' = '$n'`,
			Find:   `subnet_id = (SELECT id FROM subnet WHERE subnet_id = '$id')`,
			Insert: `(file_system_id, subnet_id) SELECT f.id, s.id FROM efs_file_system f, subnet s WHERE f.file_system_id = '$home' AND s.subnet_id = '$id'`,
			See:    `efs describe-mount-targets --file-system-id $home --query MountTargets[?SubnetId==\'$id\']`,
			Create: run(`efs create-mount-target --file-system-id $home --subnet-id $id`),
			Delete: run(`efs delete-mount-target --mount-target-id $mount_target_id`),
			Change: []Change{{
				"security_groups", `'{$one}'`,
				`efs describe-mount-target-security-groups --mount-target-id $mount_target_id --query SecurityGroups`,
				`["$one"]`,
				run(`efs modify-mount-target-security-groups --mount-target-id $mount_target_id --security-groups $two`), `'{$two}'`,
			}},
			Replace: Replace{Column: "subnet_id", SQL: `(SELECT id FROM subnet WHERE tags ->> 'for' = 'other')`,
				With: `ip_address = NULL`, ID: `SELECT subnet_id FROM subnet WHERE tags ->> 'for' = 'other'`},
			Apart: []Apart{
				{Set: []Change{{Column: "ip_address", SQL: `'10.100.6.77'`,
					See: `efs describe-mount-targets --mount-target-id $mount_target_id --query MountTargets[0].IpAddress`}}},
				{Left: true, Set: []Change{{
					Column: "file_system_id", SQL: `(SELECT id FROM efs_file_system WHERE file_system_id = '$other')`,
					See: `efs describe-mount-targets --mount-target-id $mount_target_id --query MountTargets[0].FileSystemId`, Want: `$other`,
				}}},
			},
		},
	},
}
