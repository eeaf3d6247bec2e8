package declare_test

// Why a column, or a table ("" among its columns: that its object is made again from its row), cannot be taken through
// its life in an account of shapes.
const (
	ownWay = "a call of the table's own reads or changes it, whose shape is not what the object has"
	likely = "an account of shapes takes every value by itself, and AWS's own rules bind it to others"
)

// elsewhere are the columns that another test takes through their life, in the emulator or a likeness of the API, by
// table: which, why, and that test, which has to exist.
var elsewhere = map[string][]struct {
	columns []string
	why     string
	tests   []string
}{
	"auto_scaling_group": {{[]string{"enabled_metrics", "lifecycle_hooks", "notification_configurations",
		"tags", "tags_not_propagated", "traffic_sources", "warm_pool"}, ownWay,
		[]string{"awsautoscaling.TestGroupLifecycle"}}},
	"bucket": {{[]string{"analytics_configurations", "intelligent_tiering_configurations", "inventory_configurations",
		"metrics_configurations"}, ownWay, []string{"awss3.TestConfigurations"}},
		{[]string{"notification_configuration", "object_lock_enabled"}, likely, []string{"awss3.TestBucketLifecycle"}}},
	"cache_cluster": {{[]string{"log_delivery_configurations", "port"}, ownWay,
		[]string{"awselasticache.TestLogDelivery", "awselasticache.TestClusterUpdate"}}},
	"db_cluster": {{[]string{"associated_roles"}, ownWay, []string{"awsrds.TestInstanceParts"}},
		{[]string{"manage_master_user_password"}, likely, []string{"awsrds.TestClusterLifecycle"}}},
	"distribution": {{[]string{"minimum_protocol_version", "ssl_support_method"}, likely,
		[]string{"awscloudfront.TestDistributionLifecycle"}},
		{[]string{"origin_access_control_id"}, ownWay, []string{"awscloudfront.TestDistributionLifecycle"}}},
	"domain": {{[]string{"version"}, ownWay, []string{"awsopensearch.TestDomainLifecycle"}}},
	"dynamo_table": {{[]string{"attribute_definitions", "global_secondary_indexes", "local_secondary_indexes"}, ownWay,
		[]string{"awsdynamo.TestIndexesChange", "awsdynamo.TestTableWithIndexes"}},
		{[]string{"contributor_insights_mode", "kinesis_stream_specification"}, ownWay,
			[]string{"awsdynamo.TestSettingsOfATable"}},
		{[]string{"point_in_time_recovery_days", "stream_view_type", "throughput", "time_to_live_attribute"}, ownWay,
			[]string{"awsdynamo.TestTableLifecycle"}}},
	"efs_file_system": {{[]string{"replication_configuration"}, ownWay, []string{"awsefs.TestReplication"}}},
	"eks_node_group": {{[]string{"labels", "taints"}, ownWay, []string{"awseks.TestNodeGroupLifecycle"}},
		{[]string{"max_unavailable", "max_unavailable_percentage"}, likely, []string{"awseks.TestNodeGroupLifecycle"}}},
	"elastic_ip_association": {{[]string{"", "network_interface_id"}, ownWay,
		[]string{"awsec2.TestAddressAssociationLifecycle", "awsec2.TestAddressAssociationCalls"}}},
	"endpoint_interface": {{[]string{"security_group_ids"}, ownWay, []string{"awsvpc.TestInterfaceEndpointLifecycle"}}},
	"event_target":       {{[]string{"rule_id"}, ownWay, []string{"awseventbridge.TestRuleAndTargetLifecycle"}}},
	"general_purpose_volume": {{[]string{"iops", "size", "throughput", "volume_type"}, ownWay,
		[]string{"awsec2.TestVolumeLifecycle", "awsec2.TestVolumeChanges"}}},
	"hosted_zone": {{[]string{"query_log_group_arn", "vpcs"}, ownWay,
		[]string{"awsroute53.TestQueryLogging", "awsroute53.TestPrivateZone"}}},
	"iam_role": {{[]string{"attached_policies_arns", "inline_policies"}, ownWay, []string{"awsiam.TestRoleLifecycle"}}},
	"iam_user": {{[]string{"attached_policies_arns", "groups", "inline_policies"}, ownWay,
		[]string{"awsiam.TestUserLifecycle"}},
		{[]string{"", "password_reset_required"}, likely, []string{"awsiam.TestPassword"}}},
	"instance": {{[]string{"cpu_credits", "monitoring", "role_name", "state", "user_data"}, ownWay,
		[]string{"awsec2.TestInstanceLifecycle"}}},
	"kinesis_stream": {{[]string{"shard_level_metrics"}, ownWay, []string{"awskinesis.TestStreamLifecycle"}}},
	"kms_key": {{[]string{"enable_key_rotation", "enabled", "rotation_period_in_days"}, ownWay,
		[]string{"awskms.TestKeyLifecycle", "awskms.TestRotation"}}},
	"lambda_function": {{[]string{"zip_b64"}, likely, []string{"awslambda.TestCode"}},
		{[]string{"code_signing_config_arn", "runtime_management_config"}, likely,
			[]string{"awslambda.TestSettingsChange"}}},
	"launch_template": {{[]string{"data", "image_id", "instance_type", "key_pair_name", "security_group_ids",
		"user_data", "version_description"}, ownWay, []string{"awsautoscaling.TestLaunchTemplateLifecycle"}}},
	"listener": {{[]string{"action_type", "default_actions", "target_group_id"}, ownWay,
		[]string{"awselb.TestListenerLifecycle", "awselb.TestActions"}}},
	"metric_alarm": {{[]string{"evaluation_criteria", "evaluation_window"}, ownWay,
		[]string{"awscloudwatch.TestUnions", "awscloudwatch.TestWindow"}}},
	"nat_gateway": {{[]string{"secondary_allocation_ids", "secondary_private_ip_addresses", "vpc_id"}, ownWay,
		[]string{"awsvpc.TestNATGatewayLifecycle"}}},
	"network_acl":        {{[]string{"entries"}, ownWay, []string{"awsvpc.TestNetworkACLLifecycle"}}},
	"peering_connection": {{[]string{"", "accepted"}, ownWay, []string{"awsvpc.TestPeeringConnectionLifecycle"}}},
	"pipeline_declaration": {{[]string{"disable_inbound_stage_transitions"}, ownWay,
		[]string{"awscodepipeline.TestTransitions"}}},
	"rds": {{[]string{"associated_roles"}, ownWay, []string{"awsrds.TestInstanceParts"}},
		{[]string{"additional_storage_volumes"}, ownWay, []string{"awsrds.TestVolumeIsRemoved"}},
		{[]string{"manage_master_user_password"}, likely, []string{"awsrds.TestInstanceLifecycle"}}},
	"resource_record_set": {{[]string{"multivalue_answer"}, likely, []string{"awsroute53.TestRouting"}}},
	"route": {{[]string{"destination", "gateway_id", "internet_gateway_id"}, ownWay,
		[]string{"awsvpc.TestRouteLifecycle"}}},
	"route_table": {{[]string{"", "is_main"}, ownWay, []string{"awsvpc.TestMainRouteTable"}}},
	"secret":      {{[]string{"replica_regions"}, ownWay, []string{"awssecretsmanager.TestReplicas"}}},
	"security_group_rule": {{[]string{"is_egress", "prefix_list_id", "source_security_group"}, ownWay,
		[]string{"awssecuritygroup.TestRuleLifecycle", "awssecuritygroup.TestOtherSides"}}},
	"service": {{[]string{"container_name", "container_port", "load_balancers", "target_group_id"}, ownWay,
		[]string{"awsecsfargate.TestServiceLifecycle"}}},
	"source_credentials_list": {{[]string{"", "username"}, likely, []string{"awscodebuild.TestSourceCredentials"}}},
	"ssm_parameter": {{[]string{"policies", "value"}, ownWay,
		[]string{"awsssm.TestParameterLifecycle", "awsssm.TestPolicies"}}},
	"subnet": {{[]string{"ipv6_cidr_block", "network_acl_id", "private_dns_name_options_on_launch"}, ownWay,
		[]string{"awsvpc.TestSubnetLifecycle"}}},
	"topic": {{[]string{"delivery_status_logging"}, ownWay, []string{"awssns.TestTopicLifecycle"}}},
}

// handWritten are the tables without a declaration, and the tests that take their objects through their life in the
// emulator.
var handWritten = map[string]string{
	"domain_security_groups":            "awsopensearch.TestSecurityGroups",
	"endpoint_interface_subnets":        "awsvpc.TestEndpointSubnetsLifecycle",
	"instance_security_groups":          "awsec2.TestInstanceGroupsLifecycle",
	"db_cluster_security_groups":        "awsrds.TestSecurityGroups",
	"lambda_function_security_groups":   "awslambda.TestSecurityGroups",
	"load_balancer":                     "awselb.TestLoadBalancerLifecycle",
	"load_balancer_security_groups":     "awselb.TestLoadBalancerSecurityGroups",
	"memory_db_cluster_security_groups": "awsmemorydb.TestSecurityGroups",
	"rds_security_groups":               "awsrds.TestSecurityGroups",
	"service_security_groups":           "awsecsfargate.TestServiceLifecycle",
}
