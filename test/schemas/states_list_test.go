package schemas

// documented are the states of columns of which the SDK has no enumeration, from
// AWS's documentation.
var documented = map[string][]string{
	"aws_regions.opt_in_status": {"opt-in-not-required", "opted-in", "not-opted-in"}, // page Region
	"auto_scaling_group.status": {"Delete in progress"},                              // page AutoScalingGroup
	// Page CacheCluster, and of members of a group page ReplicationGroup.
	"cache_cluster.status": {
		"available", "creating", "deleted", "deleting", "incompatible-network", "modifying", "rebooting cluster nodes",
		"restore-failed", "snapshotting", "create-failed",
	},
	"cluster.cluster_status": {"ACTIVE", "PROVISIONING", "DEPROVISIONING", "FAILED", "INACTIVE"}, // page Cluster
	// Aurora User Guide, "Viewing DB cluster status".
	"db_cluster.status": {
		"available", "backing-up", "backtracking", "cloning-failed", "creating", "deleting", "failing-over",
		"inaccessible-encryption-credentials",
		"inaccessible-encryption-credentials-recoverable", "maintenance", "migrating", "migration-failed", "modifying",
		"promoting", "preparing-data-migration", "renaming",
		"resetting-master-credentials", "starting", "stopped", "stopping", "storage-optimization", "update-iam-db-auth",
		"upgrading",
	},
	// Page Distribution; InProgress is a change, too.
	"distribution.status": {"InProgress", "Deployed"},
	// Page VpcEndpoint, in lower case.
	"endpoint_gateway.state": {"pendingacceptance", "pending", "available", "deleting", "deleted", "rejected",
		"failed", "expired", "partial"},
	"endpoint_interface.state": {"pendingacceptance", "pending", "available", "deleting", "deleted", "rejected",
		"failed", "expired", "partial"},
	// Page Cluster has examples; these are what AWS's own tools wait for.
	"memory_db_cluster.status": {"available", "creating", "create-failed", "deleting", "snapshotting", "updating"},
	// Amazon RDS User Guide, "Viewing Amazon RDS DB instance status".
	"rds.db_instance_status": {
		"available", "backing-up", "configuring-enhanced-monitoring", "configuring-iam-database-auth",
		"configuring-log-exports", "converting-to-vpc", "creating",
		"delete-precheck", "deleting", "failed", "inaccessible-encryption-credentials",
		"inaccessible-encryption-credentials-recoverable", "incompatible-create",
		"incompatible-network", "incompatible-option-group", "incompatible-parameters", "incompatible-restore",
		"insufficient-capacity", "maintenance", "modifying",
		"moving-to-vpc", "rebooting", "resetting-master-credentials", "renaming", "restore-error", "starting",
		"stopped", "stopping", "storage-config-upgrade", "storage-full",
		"storage-initialization", "storage-optimization", "upgrading",
	},
	"service.status": {"ACTIVE", "DRAINING", "INACTIVE"}, // page Service
}

// leftOut is the reason of states whose objects are in no listing and not read.
const leftOut = "AWS shows it for some time: the module leaves it out, as nothing has its name or uses it"

// otherwise are the states that are not what they sound like, with the reasons.
var otherwise = map[string]string{
	"cache_cluster.status deleted":                  leftOut,
	"cluster.cluster_status INACTIVE":               leftOut,
	"log_group.data_protection_status DELETED":      "it is the state of its data protection policy",
	"efs_file_system.life_cycle_state deleted":      leftOut,
	"efs_mount_target.life_cycle_state deleted":     leftOut,
	"endpoint_gateway.state deleted":                leftOut,
	"endpoint_interface.state deleted":              leftOut,
	"general_purpose_volume.state deleted":          leftOut,
	"instance.status terminated":                    leftOut,
	"instance_block_device_mapping.status detached": leftOut,
	"nat_gateway.state deleted":                     leftOut,
	"peering_connection.state deleted":              leftOut,
	"registered_instance.health draining":           leftOut + ": RegisterTargets takes the instance again at once",
	"service.status INACTIVE":                       leftOut,
	"task_definition.status DELETE_IN_PROGRESS":     leftOut + ": no other revision gets its ARN",
	"task_definition.status INACTIVE":               leftOut + ": no other revision gets its ARN",
	"kms_key.key_state PendingDeletion": leftOut +
		": no other key gets its id, and nobody waits for 7 to 30 days",
	"kms_key.key_state PendingReplicaDeletion": leftOut +
		": no other key gets its id, and its replicas may stay for ever",

	"certificate.failure_reason CAA_ERROR":             "it is why, and status is the state",
	"certificate.failure_reason PCA_REQUEST_FAILED":    "it is why, and status is the state",
	"db_cluster.status failing-over":                   "another instance becomes the writer",
	"route_table_association.state disassociated":      leftOut,
	"certificate.status INACTIVE":                      "it is there",
	"eks_cluster.status PENDING":                       "a cluster that is not of EKS waits for somebody to connect it",
	"endpoint_gateway.state pendingacceptance":         "it waits for the owner of the service",
	"endpoint_interface.state pendingacceptance":       "it waits for the owner of the service",
	"kms_key.key_state PendingImport":                  "it waits for somebody to import its material",
	"peering_connection.state pending-acceptance":      "it waits for the account that is asked",
	"registered_instance.health unhealthy.draining":    "it is registered: what is not healthy finishes its requests",
	"eks_node_group.status DELETE_FAILED":              "it is there, and can be deleted again",
	"lambda_function.state Inactive":                   "it is there: nobody has called it for weeks",
	"lambda_function.last_update_status Failed":        "it is a change that has failed",
	"codebuild_build_list.build_status FAILED":         "it is how a build has ended, and not how it was made",
	"codedeploy_deployment.status Failed":              "it is how a deployment has ended, and not how it was made",
	"organization_account.state PENDING_ACTIVATION":    "it waits for a person, and is read only",
	"organization_account.state PENDING_CLOSURE":       "it is there, and nobody here closes it",
	"rds.db_instance_status incompatible-option-group": "another option group mends it",
	"rds.db_instance_status incompatible-parameters":   "other parameters mend it",
	"rds.db_instance_status insufficient-capacity":     "AWS had no room to make it",
}

// unread are members that sound like a state, and that no column reads as such,
// with the reasons.
var unread = func() map[string]string {
	all := map[string]string{}
	for reason, members := range map[string][]string{
		"it is the state of a part or a setting, and not of the object": {
			"auto_scaling_group: WarmPoolConfiguration.Status",
			"cache_cluster: CacheParameterGroup.ParameterApplyStatus",
			"cache_cluster: NotificationConfiguration.TopicStatus", "cluster: AttachmentsStatus",
			"codebuild_project: Webhook.Status", "db_cluster: LimitlessDatabase.Status",
			"db_cluster: MasterUserSecret.SecretStatus", "domain: ChangeProgressDetails.ConfigChangeStatus",
			"domain: ServiceSoftwareOptions.UpdateStatus",
			"dynamo_table: WarmThroughput.Status", "instance: MetadataOptions.State",
			"instance_metadata: MetadataOptions.State",
			"instance_metadata: Monitoring.State", "listener: MutualAuthentication.TrustStoreAssociationStatus",
			"memory_db_cluster: ParameterGroupStatus",
			"nat_gateway: Address.Status", "nat_gateway: ProvisionedBandwidth.Status",
			"rds: DBSubnetGroup.SubnetGroupStatus", "rds: MasterUserSecret.SecretStatus", "rds: StorageOperationStatus",
			"rds: StorageVolumeStatus",
			"repository_image: ImageScanStatus.Status", "security_group_rule: ReferencedGroupInfo.PeeringStatus",
			"vpc: EncryptionControl.State",
			"certificate: RenewalSummary.RenewalStatus", "certificate: UpdateSummary.Status",
			"metric_alarm: EvaluationState",
			"codedeploy_deployment_group: LastAttemptedDeployment.Status",
			"codedeploy_deployment_group: LastSuccessfulDeployment.Status",
		},
		"it is read where there is no State, which took its place": {"organization_account: Status"},
		"it is why, and another member is the state": {
			"certificate: RenewalSummary.RenewalStatusReason", "certificate: RevocationReason",
			"codedeploy_deployment: ErrorInformation.Code",
			"lambda_function: Configuration.LastUpdateStatusReasonCode",
			"lambda_function: Configuration.StateReasonCode", "registered_instance: TargetHealth.Reason",
		},
		"it is no state at all": {
			"codedeploy_deployment: Creator", "graphql_api: LogConfig.FieldLogLevel",
			"launch_template: Data.InstanceInitiatedShutdownBehavior",
			"launch_template: Version.InstanceInitiatedShutdownBehavior",
		},
		"the column state has it in lower case, as AWS has it in both": {"endpoint_gateway: State",
			"endpoint_interface: State"},
		"the table is only read, and instance says it":            {"instance_metadata: State.Name"},
		"an attachment is a row of instance_block_device_mapping": {"general_purpose_volume: Attachment.State"},
		"it is Complete (page DBSubnetGroup has no others)":       {"db_subnet_group: SubnetGroupStatus"},
	} {
		for _, member := range members {
			all[member] = reason
		}
	}
	return all
}()

// holdData are the tables whose objects hold data. The messages of a queue are on
// their way, and an instance has its data on volumes.
var holdData = []string{
	"bucket", "bucket_object", "cache_cluster", "db_cluster", "domain", "dynamo_table", "efs_file_system",
	"general_purpose_volume", "hosted_zone", "kinesis_stream", "kms_key",
	"log_group", "memory_db_cluster", "public_repository", "public_repository_image", "rds", "repository",
	"repository_image", "secret", "ssm_parameter",
}
