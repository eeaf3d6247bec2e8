package likeness

import "testing"

// A service behind a load balancer comes up from one transaction, with its cluster, task
// definition, roles and log group, and goes by another.
func TestService(t *testing.T) {
	t.Parallel()
	landscape{
		regions: east,
		modules: []string{"aws_ecs_fargate", "aws_elb", "aws_iam", "aws_cloudwatch"},
		up: []string{
			`INSERT INTO internet_gateway (vpc_id) SELECT id FROM vpc WHERE is_default`,
			`INSERT INTO security_group (group_name, description, vpc_id) SELECT name, 'Web: ' || name, v.id FROM vpc v, unnest('{front,tasks}'::text[]) name WHERE v.is_default`,
			`INSERT INTO security_group_rule (security_group_id, is_egress, ip_protocol, from_port, to_port, source_security_group)
				SELECT t.id, false, 'tcp', 80, 80, f.id FROM security_group t, security_group f WHERE t.group_name = 'tasks' AND f.group_name = 'front'`,
			`INSERT INTO log_group (log_group_name, retention_in_days) VALUES ('/web/tasks', 7)`,
			`INSERT INTO iam_role (role_name, assume_role_policy_document, attached_policies_arns) VALUES ('web-execution',
				'{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": {"Service": "ecs-tasks.amazonaws.com"}, "Action": "sts:AssumeRole"}]}',
				'{arn:aws:iam::aws:policy/service-role/AmazonECSTaskExecutionRolePolicy}')`,
			`INSERT INTO target_group (target_group_name, target_type, protocol, port, vpc) SELECT 'web', 'ip', 'HTTP', 80, id FROM vpc WHERE is_default`,
			`INSERT INTO load_balancer (load_balancer_name, subnets) SELECT 'web', array_agg(subnet_id) FROM subnet WHERE default_for_az`,
			`INSERT INTO load_balancer_security_groups (load_balancer_id, security_group_id) SELECT b.id, g.id FROM load_balancer b, security_group g WHERE g.group_name = 'front'`,
			`INSERT INTO listener (load_balancer_id, port, protocol, target_group_id) SELECT b.id, 80, 'HTTP', g.id FROM load_balancer b, target_group g`,
			`INSERT INTO cluster (cluster_name) VALUES ('web')`,
			`INSERT INTO task_definition (family, cpu, memory, execution_role_name, container_definitions) SELECT 'web', 256, 512, role_name,
				'[{"name": "web", "image": "nginx:1", "essential": true, "portMappings": [{"containerPort": 80, "protocol": "tcp"}],
				"logConfiguration": {"logDriver": "awslogs", "options": {"awslogs-group": "/web/tasks", "awslogs-region": "us-east-1", "awslogs-stream-prefix": "web"}}}]' FROM iam_role WHERE role_name = 'web-execution'`,
			`INSERT INTO service (name, cluster_id, task_definition_id, desired_count, subnets, target_group_id, container_name, container_port)
				SELECT 'web', c.id, t.id, 2, (SELECT array_agg(subnet_id) FROM subnet WHERE default_for_az), g.id, 'web', 80 FROM cluster c, task_definition t, target_group g`,
			`INSERT INTO service_security_groups (service_id, security_group_id) SELECT s.id, g.id FROM service s, security_group g WHERE g.group_name = 'tasks'`,
		},
		there: `SELECT CASE WHEN (SELECT status FROM service) = 'ACTIVE' AND (SELECT state FROM load_balancer) = 'active' AND (SELECT count(*) FROM service_security_groups) = 1
			THEN 'yes' ELSE concat_ws(' ', (SELECT status FROM service), (SELECT state FROM load_balancer)) END`,
		down: []string{
			`DELETE FROM service`, `DELETE FROM task_definition`, `DELETE FROM cluster`, `DELETE FROM listener`,
			`DELETE FROM load_balancer`, `DELETE FROM target_group`,
			`DELETE FROM security_group_rule WHERE security_group_id IN (SELECT id FROM security_group WHERE is_default IS NOT TRUE)`, `DELETE FROM security_group WHERE is_default IS NOT TRUE`,
			`DELETE FROM iam_role WHERE role_name = 'web-execution'`,
			`DELETE FROM log_group WHERE log_group_name = '/web/tasks'`,
		},
		gone: `SELECT (SELECT count(*) FROM service) + (SELECT count(*) FROM task_definition) + (SELECT count(*) FROM cluster) + (SELECT count(*) FROM load_balancer) + (SELECT count(*) FROM target_group)
			+ (SELECT count(*) FROM security_group WHERE is_default IS NOT TRUE) + (SELECT count(*) FROM iam_role WHERE role_name = 'web-execution') + (SELECT count(*) FROM log_group WHERE log_group_name = '/web/tasks')`,
	}.try(t)
}
