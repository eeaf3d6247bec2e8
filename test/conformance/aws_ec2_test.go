package conformance

import "strings"

const (
	publicKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPcXVGCQmBKFHkGfbkPlmdPXo0rTAd6hhsbYuMLF+uI8"
	otherKey  = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIEFmVYf8S/zhVDyKwyUw6eDGE7rSo0szM8njck+aniFd"
	image     = "ami-1e749f67" // one of moto's, whose root device is where moto puts it

	otherImage = "ami-785db401" // another
)

var awsEC2 = Module{
	Name: "aws_ec2",
	Setup: []string{
		`INSERT INTO iam_role (role_name, assume_role_policy_document) VALUES ('first', '` + trust("ec2") + `')`,
		`INSERT INTO key_pair (name, public_key) VALUES ('key', '` + publicKey + `'), ('other-key', '` +
			publicKey + `')`,
		`INSERT INTO security_group (group_name, description) SELECT name, 'of a test' FROM unnest('{sql,cli,adopted,tracked,other,apart}'::text[]) name`,
		`INSERT INTO target_group (target_group_name, protocol, port, vpc) SELECT 'for-' || name, 'HTTP', 80, id FROM vpc, unnest('{sql,cli,adopted,tracked,other,apart}'::text[]) name WHERE is_default`,
		`INSERT INTO instance (ami, instance_type, key_pair_name, tags) VALUES ('` + image +
			`', 't3.micro', 'key', '{"Name": "home"}'), ('` + image + `', 't3.micro', 'key', '{"Name": "other-home"}')`,
		`SELECT iasql_wait_for_all(30)`,
		`INSERT INTO general_purpose_volume (availability_zone, tags) SELECT availability_zone, jsonb_build_object('for', name)
			FROM instance, unnest('{sql,cli,adopted,tracked,apart,other}'::text[]) name WHERE tags ->> 'Name' = 'home'`,
		`INSERT INTO elastic_ip (tags) SELECT jsonb_build_object('for', name) FROM unnest('{sql,cli,adopted,tracked,other,
			i-sql,i-cli,i-adopted,i-tracked,i-other}'::text[]) name`,
		// each has one address
		`INSERT INTO instance (ami, instance_type, tags) SELECT '` + image + `', 't3.micro', jsonb_build_object('Name', 'for-' || name)
			FROM unnest('{sql,cli,adopted,tracked,other}'::text[]) name`,
	},
	Vars: map[string]string{
		"home":       `SELECT instance_id FROM instance WHERE tags ->> 'Name' = 'home'`,
		"other_home": `SELECT instance_id FROM instance WHERE tags ->> 'Name' = 'other-home'`,
		"copied":     `SELECT volume_id FROM general_purpose_volume WHERE tags ->> 'for' = 'other'`,
		"snapshot":   `ec2 create-snapshot --volume-id $copied --query SnapshotId`,
		"a_subnet":   `SELECT subnet_id FROM subnet WHERE default_for_az AND availability_zone = 'us-east-1a'`,
		"interface":  `ec2 create-network-interface --subnet-id $a_subnet --query NetworkInterface.NetworkInterfaceId`,
		"another":    `ec2 create-network-interface --subnet-id $a_subnet --query NetworkInterface.NetworkInterfaceId`,
		"third":      `ec2 create-network-interface --subnet-id $a_subnet --query NetworkInterface.NetworkInterfaceId`,
	},
	Tables: []Table{
		{
			Name: "key_pair", Identity: "name", ID: "key-$n",
			Insert: `(name, public_key) VALUES ('$id', '` + publicKey + `')`,
			See:    `ec2 describe-key-pairs --filters Name=key-name,Values=$id --query KeyPairs`,
			Create: run(`ec2 import-key-pair --key-name $id --public-key-material '` + publicKey + `'`),
			Delete: run(`ec2 delete-key-pair --key-name $id`),
			Change: []Change{tags(`ec2 describe-key-pairs --key-names $id --query KeyPairs[0].Tags`,
				`ec2 create-tags --resources $key_pair_id --tags Key=by,Value=cli`)},
			Replace: Replace{Column: "name", SQL: `'key-renamed'`, ID: "key-renamed"},
			Fixed: []Change{
				{
					Column: "public_key", SQL: `'` + otherKey + `'`,
					See: `ec2 describe-key-pairs --key-names $id --include-public-key --query starts_with(KeyPairs[0].PublicKey,\'` + strings.ReplaceAll(otherKey, " ", `' '`) + `\')`, Want: "true",
				},
			},
		},
		{
			Name: "instance", Identity: "instance_id",
			Bound:  true, // its volumes
			Insert: `(ami, instance_type, key_pair_name) VALUES ('` + image + `', 't3.micro', 'key')`,
			See:    `ec2 describe-instances --instance-ids $id --query Reservations[].Instances[?State.Name!=\'terminated\'][]`,
			Create: run(`ec2 run-instances --image-id ` + image +
				` --instance-type t3.micro --key-name key --query Instances[0].InstanceId`),
			Delete: run(`ec2 terminate-instances --instance-ids $id`),
			Change: []Change{
				ec2Tags,
				{
					"instance_type", `'t3.small'`, instanceMember("InstanceType"), "",
					[]string{
						`ec2 stop-instances --instance-ids $id`,
						`ec2 modify-instance-attribute --instance-id $id --instance-type Value=t3.medium`,
						`ec2 start-instances --instance-ids $id`,
					},
					`'t3.medium'`,
				},
				{"state", `'stopped'`, instanceMember("State.Name"), "", run(`ec2 start-instances --instance-ids $id`),
					`'running'`},
				{
					"role_name", `'first'`, instanceMember(`ends_with(IamInstanceProfile.Arn,\'/first\')`), "true",
					[]string{
						`profile := ec2 describe-iam-instance-profile-associations --filters Name=instance-id,Values=$id --query IamInstanceProfileAssociations[0].AssociationId`,
						`ec2 disassociate-iam-instance-profile --association-id $profile`,
					},
					`NULL`,
				},
				{"source_dest_check", `false`, instanceMember("SourceDestCheck"), "",
					run(`ec2 modify-instance-attribute --instance-id $id --source-dest-check`), `true`},
				{"disable_api_termination", `true`, `ec2 describe-instance-attribute --instance-id $id --attribute disableApiTermination --query DisableApiTermination.Value`, "",
					run(`ec2 modify-instance-attribute --instance-id $id --no-disable-api-termination`), `false`},
				instanceMetadata("metadata_http_endpoint", `'disabled'`, "HttpEndpoint", `'enabled'`),
				instanceMetadata("metadata_http_tokens", `'required'`, "HttpTokens", `'optional'`),
				instanceMetadata("metadata_hop_limit", `2`, "HttpPutResponseHopLimit", `3`),
				instanceMetadata("metadata_tags", `'enabled'`, "InstanceMetadataTags", `'disabled'`),
			},
			Replace: Replace{Column: "key_pair_name", SQL: `'other-key'`},
			Fixed: []Change{
				{Column: "subnet_id", SQL: `(SELECT id FROM subnet WHERE default_for_az AND availability_zone = 'us-east-1c')`, See: `ec2 describe-instances --instance-ids $id --query Reservations[0].Instances[0].Placement.AvailabilityZone`, Want: `us-east-1c`},
				{Column: "ami", SQL: `'` + otherImage + `'`, See: instanceMember("ImageId")},
			},
			// Not from false to true: moto's images have root volumes of the type
			// standard, which have no record, and the record of the old volume is kept
			// by the mapping, which has nothing else to refer to.
			Apart: []Apart{{
				Insert: `(ami, instance_type, key_pair_name, hibernation_enabled) VALUES ('` + image +
					`', 't3.micro', 'key', true)`,
				Set: []Change{
					{Column: "hibernation_enabled", SQL: `false`,
						See: instanceMember(`HibernationOptions.Configured||\'no\'`), Want: "no"},
				},
			}},
			Skip: map[string]string{
				"instance_initiated_shutdown_behavior by SQL":     "moto: ModifyInstanceAttribute does not keep InstanceInitiatedShutdownBehavior",
				"instance_initiated_shutdown_behavior by the CLI": "moto: ModifyInstanceAttribute does not keep InstanceInitiatedShutdownBehavior",
				"cpu_credits by SQL":                              "moto: there is no ModifyInstanceCreditSpecification",
				"cpu_credits by the CLI":                          "moto: there is no ModifyInstanceCreditSpecification",
				"monitoring by SQL":                               "moto: there is no MonitorInstances",
				"monitoring by the CLI":                           "moto: there is no MonitorInstances",
				"user_data by SQL":                                "moto: ModifyInstanceAttribute wants UserData encoded twice",
				"user_data by the CLI":                            "moto: ModifyInstanceAttribute wants UserData encoded twice",
			},
		},
		{
			Name: "instance_security_groups", ID: `SELECT group_id FROM security_group WHERE group_name = '$n'`,
			Find:   `security_group_id = (SELECT id FROM security_group WHERE group_id = '$id')`,
			Insert: `(instance_id, security_group_id) SELECT i.id, g.id FROM instance i, security_group g WHERE i.tags ->> 'Name' = 'home' AND g.group_id = '$id'`,
			See:    `ec2 describe-instances --instance-ids $home --query Reservations[0].Instances[0].SecurityGroups[?GroupId==\'$id\']`,
			Create: []string{
				`groups := ec2 describe-instances --instance-ids $home --query join(\'' '\',Reservations[0].Instances[0].SecurityGroups[].GroupId)`,
				`ec2 modify-instance-attribute --instance-id $home --groups $id $groups`,
			},
			Delete: []string{
				`groups := ec2 describe-instances --instance-ids $home --query join(\'' '\',Reservations[0].Instances[0].SecurityGroups[?GroupId!=\'$id\'].GroupId)`,
				`ec2 modify-instance-attribute --instance-id $home --groups $groups`,
			},
			Replace: Replace{
				Column: "security_group_id", SQL: `(SELECT id FROM security_group WHERE group_name = 'other')`,
				ID: `SELECT group_id FROM security_group WHERE group_name = 'other'`,
			},
			Apart: []Apart{{
				Left: true,
				Set: []Change{{
					Column: "instance_id", SQL: `(SELECT id FROM instance WHERE tags ->> 'Name' = 'other-home')`,
					See: `ec2 describe-instances --instance-ids $other_home --query Reservations[0].Instances[0].SecurityGroups[?GroupId==\'$id\']|[0].GroupId`, Want: `$id`,
				}},
			}},
		},
		{
			Name: "general_purpose_volume", Identity: "volume_id",
			Insert: `(availability_zone) VALUES ('us-east-1a')`,
			See:    `ec2 describe-volumes --filters Name=volume-id,Values=$id --query Volumes`,
			Create: run(`ec2 create-volume --availability-zone us-east-1a --volume-type gp3 --size 8 --query VolumeId`),
			Delete: run(`ec2 delete-volume --volume-id $id`),
			Change: []Change{
				ec2Tags,
				volumeSetting("size", `10`, "Size", `--size 12 --iops 5000 --throughput 250`, `12`),
				volumeSetting("iops", `4000`, "Iops", `--size 12 --iops 5000 --throughput 250`, `5000`),
				volumeSetting("throughput", `200`, "Throughput", `--size 12 --iops 5000 --throughput 250`, `250`),
			},
			Replace: Replace{Column: "availability_zone", SQL: `'us-east-1b'`},
			Skip: both(unkept("moto: no ModifyVolumeAttribute", "auto_enable_io"),
				map[string]string{"source_volume_id replaced": "moto: no CopyVolumes"}),
		},
		{
			Name: "general_purpose_volume", Kind: "of another type", Identity: "volume_id",
			Insert: `(availability_zone) VALUES ('us-east-1a')`,
			See:    `ec2 describe-volumes --filters Name=volume-id,Values=$id --query Volumes`,
			Create: run(`ec2 create-volume --availability-zone us-east-1a --volume-type gp3 --size 8 --query VolumeId`),
			Delete: run(`ec2 delete-volume --volume-id $id`),
			Change: []Change{ec2Tags, volumeSetting("volume_type", `'gp2'`, "VolumeType",
				`--volume-type gp3`, `'gp3'`)},
			Fixed: []Change{
				{Column: "encrypted", SQL: `true`,
					See: `ec2 describe-volumes --volume-ids $id --query Volumes[0].Encrypted`},
				{
					Column: "kms_key_id", SQL: `'arn:aws:kms:us-east-1:$account:key/0b5f5b5e-0000-4000-8000-000000000001'`,
					See: `ec2 describe-volumes --volume-ids $id --query Volumes[0].KmsKeyId`,
				},
				{Column: "snapshot_id", SQL: `'$snapshot'`,
					See: `ec2 describe-volumes --volume-ids $id --query Volumes[0].SnapshotId`, Want: `$snapshot`},
			},
			Replace: Replace{Column: "availability_zone", SQL: `'us-east-1b'`},
		},
		{
			Name: "instance_block_device_mapping", Identity: "device_name", ID: "/dev/sdf$i",
			Insert: `(instance_id, device_name, volume_id) SELECT i.id, '$id', v.id FROM instance i, general_purpose_volume v
				WHERE i.tags ->> 'Name' = 'home' AND v.tags ->> 'for' = '$n'`,
			See: `ec2 describe-volumes --query Volumes[].Attachments[?Device==\'$id\'][]`,
			Create: []string{
				`volume := ec2 describe-volumes --filters Name=tag:for,Values=$n --query Volumes[0].VolumeId`,
				`ec2 attach-volume --volume-id $volume --instance-id $home --device $id`,
			},
			Delete: []string{
				`volume := ec2 describe-volumes --query Volumes[?Attachments[?Device==\'$id\']]|[0].VolumeId`,
				`ec2 detach-volume --volume-id $volume --instance-id $home --device $id`,
			},
			Change: []Change{{
				"delete_on_termination", `false`,
				`ec2 describe-instances --instance-ids $home --query Reservations[0].Instances[0].BlockDeviceMappings[?DeviceName==\'$id\']|[0].Ebs.DeleteOnTermination`, "",
				run(`ec2 modify-instance-attribute --instance-id $home --block-device-mappings '[{"DeviceName": "$id", "Ebs": {"DeleteOnTermination": true}}]'`), `true`,
			}},
			Replace: Replace{Column: "device_name", SQL: `'/dev/sdf9'`, ID: "/dev/sdf9"},
			Apart: []Apart{{
				Set: []Change{
					{
						Column: "instance_id", SQL: `(SELECT id FROM instance WHERE tags ->> 'Name' = 'other-home')`,
						See:  `ec2 describe-volumes --query Volumes[].Attachments[?Device==\'$id\'][]|[0].InstanceId`,
						Want: `$other_home`,
					},
					{
						Column: "volume_id", SQL: `(SELECT id FROM general_purpose_volume WHERE tags ->> 'for' = 'other')`,
						See:  `ec2 describe-volumes --query Volumes[].Attachments[?Device==\'$id\'][]|[0].VolumeId`,
						Want: `$copied`,
					},
				},
			}},
		},
		{
			Name: "registered_instance", ID: `SELECT target_group_arn FROM target_group WHERE target_group_name = 'for-$n'`,
			Find: `target_group_id = (SELECT id FROM target_group WHERE target_group_arn = '$id')`,
			Insert: `(instance, target_group_id, port) SELECT i.id, g.id, 80 FROM instance i, target_group g
				WHERE i.tags ->> 'Name' = 'home' AND g.target_group_arn = '$id'`,
			See:    `elbv2 describe-target-health --target-group-arn $id --query TargetHealthDescriptions[?Target.Id==\'$home\']`,
			Create: run(`elbv2 register-targets --target-group-arn $id --targets Id=$home,Port=80`),
			Delete: run(`elbv2 deregister-targets --target-group-arn $id --targets Id=$home,Port=80`),
			Replace: Replace{
				Column: "target_group_id", SQL: `(SELECT id FROM target_group WHERE target_group_name = 'for-other')`,
				ID: `SELECT target_group_arn FROM target_group WHERE target_group_name = 'for-other'`,
			},
			Fixed: []Change{
				{Column: "port", SQL: `81`, See: `elbv2 describe-target-health --target-group-arn $id --query TargetHealthDescriptions[?Target.Id==\'$home\']|[0].Target.Port`},
			},
			Apart: []Apart{{
				Left: true,
				Set: []Change{{
					Column: "instance", SQL: `(SELECT id FROM instance WHERE tags ->> 'Name' = 'other-home')`,
					See: `elbv2 describe-target-health --target-group-arn $id --query TargetHealthDescriptions[].Target.Id|[0]`, Want: `$other_home`,
				}},
			}},
		},
		{
			Name: "elastic_ip_association", ID: `SELECT allocation_id FROM elastic_ip WHERE tags ->> 'for' = '$n'`,
			Find: `elastic_ip_id = (SELECT id FROM elastic_ip WHERE allocation_id = '$id')`,
			Insert: `(elastic_ip_id, instance_id) SELECT e.id, i.id FROM elastic_ip e, instance i
				WHERE e.allocation_id = '$id' AND i.tags ->> 'Name' = 'for-$n'`,
			See: `ec2 describe-addresses --allocation-ids $id --query Addresses[?AssociationId]`,
			Create: []string{
				`instance_for := ec2 describe-instances --filters Name=tag:Name,Values=for-$n --query Reservations[0].Instances[0].InstanceId`,
				`ec2 associate-address --allocation-id $id --instance-id $instance_for`,
			},
			Delete: run(`ec2 disassociate-address --association-id $association_id`),
			Change: []Change{{
				"instance_id", `(SELECT id FROM instance WHERE tags ->> 'Name' = 'other-home')`,
				`ec2 describe-addresses --allocation-ids $id --query Addresses[0].InstanceId`, `$other_home`,
				run(`ec2 associate-address --allocation-id $id --instance-id $home --allow-reassociation`),
				`(SELECT id FROM instance WHERE tags ->> 'Name' = 'home')`,
			}},
			Replace: Replace{Column: "elastic_ip_id", SQL: `(SELECT id FROM elastic_ip WHERE tags ->> 'for' = 'other')`,
				ID: `SELECT allocation_id FROM elastic_ip WHERE tags ->> 'for' = 'other'`},
			Skip: both(unkept("moto: an address of an interface does not tell whose instance that is", "network_interface_id"),
				unkept("moto: it takes the first private address", "private_ip_address")),
		},
		{
			Name: "elastic_ip_association", Kind: "of an interface", ID: `SELECT allocation_id FROM elastic_ip WHERE tags ->> 'for' = 'i-$n'`,
			Find:   `elastic_ip_id = (SELECT id FROM elastic_ip WHERE allocation_id = '$id')`,
			Insert: `(elastic_ip_id, network_interface_id) SELECT id, '$interface' FROM elastic_ip WHERE allocation_id = '$id'`,
			See:    `ec2 describe-addresses --allocation-ids $id --query Addresses[?AssociationId]`,
			Create: run(`ec2 associate-address --allocation-id $id --network-interface-id $interface`),
			Delete: run(`ec2 disassociate-address --association-id $association_id`),
			Change: []Change{{
				"network_interface_id", `'$another'`,
				`ec2 describe-addresses --allocation-ids $id --query Addresses[0].NetworkInterfaceId`, `$another`,
				run(`ec2 associate-address --allocation-id $id --network-interface-id $third --allow-reassociation`), `'$third'`,
			}},
			Replace: Replace{Column: "elastic_ip_id", SQL: `(SELECT id FROM elastic_ip WHERE tags ->> 'for' = 'i-other')`,
				ID: `SELECT allocation_id FROM elastic_ip WHERE tags ->> 'for' = 'i-other'`},
			Skip: both(unkept("aws: an interface that no instance has tells of none", "instance_id"),
				unkept("moto: it takes the first private address", "private_ip_address")),
		},
	},
}

var awsEC2Metadata = Module{
	Name: "aws_ec2_metadata",
	CLI:  []string{`ec2 run-instances --image-id ` + image + ` --instance-type t3.micro`},
	Tables: []Table{{
		Name: "instance_metadata", Identity: "instance_id",
		Listed: `ec2 describe-instances --query Reservations[].Instances[].InstanceId`,
	}},
}

func instanceMember(member string) string {
	return `ec2 describe-instances --instance-ids $id --query Reservations[0].Instances[0].` + member
}

func instanceMetadata(column, sql, member, then string) Change {
	return Change{
		column, sql, instanceMember("MetadataOptions." + member), "",
		run(`ec2 modify-instance-metadata-options --instance-id $id --http-endpoint enabled --http-tokens optional --http-put-response-hop-limit 3 --instance-metadata-tags disabled`), then,
	}
}

func volumeSetting(column, sql, member, options, then string) Change {
	return Change{
		column, sql, `ec2 describe-volumes --volume-ids $id --query Volumes[0].` + member, "",
		run(`ec2 modify-volume --volume-id $id ` + options), then,
	}
}
