-- A web service behind a load balancer, with all that it needs, in one transaction. No task runs yet.
BEGIN;
INSERT INTO security_group (group_name, description, vpc_id) SELECT 'example-web', 'Web tasks', id FROM vpc WHERE is_default AND region = default_aws_region();
INSERT INTO target_group (target_group_name, target_type, protocol, port, vpc) SELECT 'example-web', 'ip', 'HTTP', 80, id FROM vpc WHERE is_default AND region = default_aws_region();
INSERT INTO load_balancer (load_balancer_name, subnets) SELECT 'example-web', array_agg(subnet_id) FROM subnet WHERE default_for_az AND region = default_aws_region();
INSERT INTO listener (load_balancer_id, port, protocol, target_group_id)
SELECT b.id, 80, 'HTTP', g.id FROM load_balancer b, target_group g WHERE b.load_balancer_name = 'example-web' AND g.target_group_name = 'example-web';
INSERT INTO cluster (cluster_name) VALUES ('example');
INSERT INTO task_definition (family, cpu, memory, container_definitions) VALUES ('example-web', 256, 512,
    '[{"name": "web", "image": "nginx:1", "essential": true, "portMappings": [{"containerPort": 80, "protocol": "tcp"}]}]');
INSERT INTO service (name, cluster_id, task_definition_id, desired_count, subnets, target_group_id, container_name, container_port)
SELECT 'example-web', c.id, t.id, 0, (SELECT array_agg(subnet_id) FROM subnet WHERE default_for_az AND region = default_aws_region()), g.id, 'web', 80
FROM cluster c, task_definition t, target_group g WHERE c.cluster_name = 'example' AND t.family = 'example-web' AND g.target_group_name = 'example-web';
INSERT INTO service_security_groups (service_id, security_group_id)
SELECT s.id, g.id FROM service s, security_group g WHERE s.name = 'example-web' AND g.group_name = 'example-web';
COMMIT;
SELECT iasql_wait_for_all(120);
SELECT cluster_name, cluster_status FROM cluster WHERE cluster_name = 'example';
SELECT family, revision, status FROM task_definition WHERE family = 'example-web';
SELECT s.name, s.status, t.target_group_name, s.container_port, g.group_name
FROM service s JOIN target_group t ON t.id = s.target_group_id JOIN service_security_groups sg ON sg.service_id = s.id JOIN security_group g ON g.id = sg.security_group_id
WHERE s.name = 'example-web';
-- And away.
BEGIN;
DELETE FROM service WHERE name = 'example-web';
DELETE FROM task_definition WHERE family = 'example-web';
DELETE FROM cluster WHERE cluster_name = 'example';
DELETE FROM load_balancer WHERE load_balancer_name = 'example-web';
DELETE FROM target_group WHERE target_group_name = 'example-web';
DELETE FROM security_group WHERE group_name = 'example-web';
COMMIT;
SELECT iasql_wait_for_all(120);
