INSERT INTO launch_template (launch_template_name, image_id, instance_type) VALUES ('davit', 'ami-0a1b2c3d4e5f60718', 'c5.large');
INSERT INTO auto_scaling_group (auto_scaling_group_name, min_size, max_size, desired_capacity, health_check_type, health_check_grace_period,
    placement_group, launch_configuration_name, subnets_records, instance_maintenance_policy, lifecycle_hooks, tags, tags_not_propagated)
SELECT 'davit-old', 2, 5, 4, 'ELB', 240, 'spread', 'davit-old', array_agg(id),
    '{"MinHealthyPercentage": 80, "MaxHealthyPercentage": 110}',
    '[{"LifecycleHookName": "rig", "DefaultResult": "CONTINUE", "HeartbeatTimeout": 1800, "LifecycleTransition": "autoscaling:EC2_INSTANCE_LAUNCHING",
       "NotificationMetadata": "{\"crew\": \"north\"}", "NotificationTargetARN": "arn:aws:sqs:us-east-1:123456789012:rig",
       "RoleARN": "arn:aws:iam::123456789012:role/rig"}]', '{"crew": "north", "berth": "4"}', '{berth}'
FROM subnet WHERE tags ->> 'Name' = 'quay';
INSERT INTO auto_scaling_group (auto_scaling_group_name, min_size, max_size, desired_capacity, availability_zones, launch_template_id,
    launch_template_version, warm_pool)
SELECT 'davit-new', 1, 1, 1, '{us-east-1a}', id, '$Latest',
    '{"PoolState": "Hibernated", "MinSize": 1, "MaxGroupPreparedCapacity": 8, "InstanceReusePolicy": {"ReuseOnScaleIn": true}}'
FROM launch_template WHERE launch_template_name = 'davit';
INSERT INTO auto_scaling_group (auto_scaling_group_name, min_size, max_size, availability_zones, capacity_rebalance, mixed_instances_policy)
VALUES ('davit-mixed', 9, 14, '{us-east-1a}', true,
    '{"InstancesDistribution": {"OnDemandBaseCapacity": 1, "OnDemandPercentageAboveBaseCapacity": 30, "SpotAllocationStrategy": "capacity-optimized"},
      "LaunchTemplate": {"LaunchTemplateSpecification": {"LaunchTemplateId": "lt-0a1b2c3d4e5f60718", "Version": "$Default"},
        "Overrides": [{"InstanceType": "c4.large", "WeightedCapacity": "3"},
          {"InstanceType": "c3.large", "LaunchTemplateSpecification": {"LaunchTemplateId": "lt-0b1b2c3d4e5f60718", "Version": "$Default"}}]}}'),
  ('davit-needs', 1, 5, '{us-east-1a}', true,
    '{"LaunchTemplate": {"LaunchTemplateSpecification": {"LaunchTemplateId": "lt-0a1b2c3d4e5f60718", "Version": "$Default"},
        "Overrides": [{"InstanceRequirements": {"MemoryMiB": {"Min": 2000}, "VCpuCount": {"Min": 2}}}]}}');
INSERT INTO auto_scaling_group (auto_scaling_group_name, min_size, max_size, subnets_records, launch_configuration_name, traffic_sources)
SELECT 'davit-lattice', 1, 2, array_agg(id), 'davit-old',
    '[{"Identifier": "arn:aws:vpc-lattice:us-east-1:123456789012:targetgroup/tg-0a1b2c3d4e5f60718", "Type": "vpc-lattice"}]'
FROM subnet WHERE tags ->> 'Name' = 'quay';
