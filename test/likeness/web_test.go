package likeness

import "testing"

// A public web service comes up from one transaction: security groups that name each
// other, a subnet, instances with a role, a load balancer that sends requests to them, and
// a database in a subnet group. It goes by another.
func TestWebService(t *testing.T) {
	t.Parallel()
	landscape{
		regions: east,
		modules: []string{"aws_ec2", "aws_elb", "aws_rds", "aws_iam"},
		up: []string{
			`INSERT INTO internet_gateway (vpc_id) SELECT id FROM vpc WHERE is_default`,
			`INSERT INTO subnet (vpc_id, cidr_block, availability_zone) SELECT id, '172.31.128.0/24', 'us-east-1a' FROM vpc WHERE is_default`,
			`INSERT INTO security_group (group_name, description, vpc_id) SELECT name, 'Shop: ' || name, v.id FROM vpc v, unnest('{front,web,db}'::text[]) name WHERE v.is_default`,
			`INSERT INTO security_group_rule (security_group_id, is_egress, ip_protocol, from_port, to_port, cidr_ipv4)
				SELECT id, false, 'tcp', 80, 80, '0.0.0.0/0' FROM security_group WHERE group_name = 'front'`,
			`INSERT INTO security_group_rule (security_group_id, is_egress, ip_protocol, from_port, to_port, source_security_group)
				SELECT g.id, false, 'tcp', r.port, r.port, s.id FROM (VALUES ('web', 8080, 'front'), ('front', 8081, 'web'), ('db', 5432, 'web')) r (name, port, source)
				JOIN security_group g ON g.group_name = r.name JOIN security_group s ON s.group_name = r.source`,
			`INSERT INTO iam_role (role_name, assume_role_policy_document, attached_policies_arns) VALUES ('shop-web',
				'{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": {"Service": "ec2.amazonaws.com"}, "Action": "sts:AssumeRole"}]}', '{arn:aws:iam::aws:policy/AmazonS3ReadOnlyAccess}')`,
			`INSERT INTO instance (ami, instance_type, role_name, subnet_id, tags)
				SELECT 'resolve:ssm:/aws/service/ami-amazon-linux-latest/amzn2-ami-hvm-x86_64-gp2', 't3.micro', 'shop-web', s.id, jsonb_build_object('Name', 'shop-' || n)
				FROM subnet s, generate_series(1, 2) n WHERE s.cidr_block = '172.31.128.0/24'`,
			`INSERT INTO instance_security_groups (instance_id, security_group_id) SELECT i.id, g.id FROM instance i, security_group g WHERE g.group_name = 'web'`,
			`INSERT INTO target_group (target_group_name, protocol, port, vpc, health_check_path) SELECT 'shop', 'HTTP', 8080, id, '/health' FROM vpc WHERE is_default`,
			`INSERT INTO load_balancer (load_balancer_name, subnets) SELECT 'shop', array_agg(subnet_id) FROM subnet WHERE default_for_az`,
			`INSERT INTO load_balancer_security_groups (load_balancer_id, security_group_id) SELECT b.id, g.id FROM load_balancer b, security_group g WHERE g.group_name = 'front'`,
			`INSERT INTO listener (load_balancer_id, port, protocol, target_group_id) SELECT b.id, 80, 'HTTP', g.id FROM load_balancer b, target_group g`,
			`INSERT INTO registered_instance (instance, target_group_id, port) SELECT i.id, g.id, 8080 FROM instance i, target_group g`,
			`INSERT INTO db_subnet_group (name, description, subnets) SELECT 'shop', 'The shop''s', array_agg(subnet_id) FROM subnet WHERE default_for_az`,
			`INSERT INTO rds (db_instance_identifier, engine, db_instance_class, allocated_storage, master_username, master_user_password, db_subnet_group_id, backup_retention_period, skip_final_snapshot)
				SELECT 'shop', 'postgres', 'db.t3.micro', 20, 'admin1', 'secret-password', id, 7, true FROM db_subnet_group`,
			`INSERT INTO rds_security_groups (rds_id, security_group_id) SELECT d.id, g.id FROM rds d, security_group g WHERE g.group_name = 'db'`,
		},
		there: `SELECT CASE WHEN (SELECT count(*) FROM instance WHERE status = 'running') = 2 AND (SELECT state FROM load_balancer) = 'active'
				AND (SELECT count(*) FROM registered_instance) = 2 AND (SELECT db_instance_status FROM rds) IN ('available', 'modifying') AND (SELECT count(*) FROM rds_security_groups) = 1
			THEN 'yes' ELSE concat_ws(' ', (SELECT string_agg(status, ' ') FROM instance), (SELECT state FROM load_balancer), (SELECT count(*) FROM registered_instance), (SELECT db_instance_status FROM rds)) END`,
		down: []string{
			`DELETE FROM listener`, `DELETE FROM load_balancer`, `DELETE FROM registered_instance`,
			`DELETE FROM target_group`, `DELETE FROM instance`, `DELETE FROM rds`, `DELETE FROM db_subnet_group`,
			`DELETE FROM security_group_rule WHERE security_group_id IN (SELECT id FROM security_group WHERE is_default IS NOT TRUE)`, `DELETE FROM security_group WHERE is_default IS NOT TRUE`,
			`DELETE FROM iam_role WHERE role_name = 'shop-web'`, `DELETE FROM subnet WHERE NOT default_for_az`,
		},
		gone: `SELECT (SELECT count(*) FROM instance) + (SELECT count(*) FROM load_balancer) + (SELECT count(*) FROM target_group) + (SELECT count(*) FROM rds) + (SELECT count(*) FROM db_subnet_group)
			+ (SELECT count(*) FROM security_group WHERE is_default IS NOT TRUE) + (SELECT count(*) FROM subnet WHERE NOT default_for_az) + (SELECT count(*) FROM iam_role WHERE role_name = 'shop-web')`,
	}.try(t)
}
