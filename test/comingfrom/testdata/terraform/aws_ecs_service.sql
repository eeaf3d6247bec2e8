INSERT INTO cluster (cluster_name) VALUES ('loaders');
INSERT INTO task_definition (family, container_definitions, cpu, memory) VALUES ('load', '[{"name": "load", "image": "busybox", "portMappings": [{"containerPort": 8080}]}]', 256, 512);
INSERT INTO target_group (target_group_name, port, protocol, vpc) SELECT 'loaders', 8080, 'HTTP', id FROM vpc WHERE tags ->> 'Name' = 'quay';
INSERT INTO service (cluster_id, name, task_definition_id, desired_count, launch_type, role, placement_strategies, target_group_id, container_name,
    container_port, placement_constraints)
SELECT c.id, 'load', d.id, 3, 'EC2', 'ecs-of-the-quay', '[{"Type": "binpack", "Field": "cpu"}]', g.id, 'load', 8080,
    '[{"Type": "memberOf", "Expression": "attribute:ecs.availability-zone in [us-east-1a, us-east-1b]"}]'
FROM cluster c, task_definition d, target_group g WHERE c.cluster_name = 'loaders' AND d.family = 'load' AND g.target_group_name = 'loaders';
INSERT INTO service (cluster_id, name, task_definition_id, desired_count, launch_type, scheduling_strategy, deployment_configuration)
SELECT c.id, 'each', d.id, 1, 'EC2', 'DAEMON', '{"Alarms": {"Enable": true, "Rollback": true, "AlarmNames": ["busy"]}}'
FROM cluster c, task_definition d WHERE c.cluster_name = 'loaders' AND d.family = 'load';
INSERT INTO service (cluster_id, name, task_definition_id, desired_count, launch_type, deployment_controller)
SELECT c.id, 'others', d.id, 1, 'EC2', '{"Type": "EXTERNAL"}' FROM cluster c, task_definition d WHERE c.cluster_name = 'loaders' AND d.family = 'load';
INSERT INTO service (cluster_id, name, task_definition_id, desired_count, launch_type, deployment_configuration, force_new_deployment)
SELECT c.id, 'both', d.id, 1, 'EC2', '{"Strategy": "BLUE_GREEN"}', true FROM cluster c, task_definition d WHERE c.cluster_name = 'loaders' AND d.family = 'load';
