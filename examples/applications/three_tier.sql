-- A web application in three tiers, network and all, in one transaction: a load balancer in two public subnets, tasks of
-- ECS behind it, and a PostgreSQL of RDS that only they reach, in two private subnets.
-- It takes aws_ecs_fargate, aws_rds and aws_cloudwatch.
BEGIN;
CALL iasql_declare('shop');
INSERT INTO vpc (cidr_block, enable_dns_hostnames, tags) VALUES ('10.60.0.0/16', true, '{"Name": "shop"}');
INSERT INTO subnet (vpc_id, cidr_block, availability_zone, tags)
SELECT v.id, s.network, default_aws_region() || s.zone, jsonb_build_object('Name', 'shop', 'tier', s.tier)
FROM vpc v, (VALUES ('10.60.0.0/24'::cidr, 'a', 'public'), ('10.60.1.0/24', 'b', 'public'), ('10.60.10.0/24', 'a', 'private'),
                    ('10.60.11.0/24', 'b', 'private')) s (network, zone, tier)
WHERE v.tags ->> 'Name' = 'shop';
INSERT INTO internet_gateway (vpc_id, tags) SELECT id, '{"Name": "shop"}' FROM vpc WHERE tags ->> 'Name' = 'shop';
INSERT INTO elastic_ip (tags) VALUES ('{"Name": "shop"}');
INSERT INTO nat_gateway (subnet_id, elastic_ip_id, tags)
SELECT min(s.id), e.id, '{"Name": "shop"}' FROM subnet s, elastic_ip e
WHERE s.tags @> '{"Name": "shop", "tier": "public"}' AND e.tags ->> 'Name' = 'shop' GROUP BY e.id;
INSERT INTO route_table (vpc_id, tags)
SELECT v.id, jsonb_build_object('Name', 'shop', 'tier', tier) FROM vpc v, unnest('{public,private}'::text[]) tier WHERE v.tags ->> 'Name' = 'shop';
INSERT INTO route (route_table_id, destination, internet_gateway_id, nat_gateway_id)
SELECT t.id, '0.0.0.0/0', CASE t.tags ->> 'tier' WHEN 'public' THEN i.id END, CASE t.tags ->> 'tier' WHEN 'private' THEN n.id END
FROM route_table t, internet_gateway i, nat_gateway n
WHERE t.tags ->> 'Name' = 'shop' AND i.tags ->> 'Name' = 'shop' AND n.tags ->> 'Name' = 'shop';
INSERT INTO route_table_association (subnet_id, route_table_id)
SELECT s.id, t.id FROM subnet s JOIN route_table t ON t.tags = s.tags WHERE s.tags ->> 'Name' = 'shop';

INSERT INTO security_group (group_name, description, vpc_id)
SELECT 'shop-' || tier, 'shop: ' || tier, v.id FROM vpc v, unnest('{front,tasks,data}'::text[]) tier WHERE v.tags ->> 'Name' = 'shop';
INSERT INTO security_group_rule (security_group_id, is_egress, ip_protocol, from_port, to_port, cidr_ipv4)
SELECT id, false, 'tcp', 80, 80, '0.0.0.0/0' FROM security_group WHERE group_name = 'shop-front';
INSERT INTO security_group_rule (security_group_id, is_egress, ip_protocol, from_port, to_port, source_security_group)
SELECT g.id, false, 'tcp', r.port, r.port, s.id
FROM (VALUES ('shop-front', 'shop-tasks', 8080), ('shop-tasks', 'shop-data', 5432)) r (source, target, port)
JOIN security_group s ON s.group_name = r.source JOIN security_group g ON g.group_name = r.target;

INSERT INTO db_subnet_group (name, description, subnets_records)
SELECT 'shop', 'Private subnets', array_agg(id) FROM subnet WHERE tags @> '{"Name": "shop", "tier": "private"}';
INSERT INTO rds (db_instance_identifier, engine, db_instance_class, allocated_storage, db_name, master_username, manage_master_user_password,
                 storage_encrypted, multi_az, backup_retention_period, db_subnet_group_id, skip_final_snapshot)
SELECT 'shop', 'postgres', 'db.t4g.small', 20, 'shop', 'shop', true, true, true, 7, id, true FROM db_subnet_group WHERE name = 'shop';
INSERT INTO rds_security_groups (rds_id, security_group_id)
SELECT d.id, g.id FROM rds d, security_group g WHERE d.db_instance_identifier = 'shop' AND g.group_name = 'shop-data';

INSERT INTO target_group (target_group_name, target_type, protocol, port, vpc, health_check_path)
SELECT 'shop', 'ip', 'HTTP', 8080, id, '/health' FROM vpc WHERE tags ->> 'Name' = 'shop';
INSERT INTO load_balancer (load_balancer_name, subnets_records)
SELECT 'shop', array_agg(id) FROM subnet WHERE tags @> '{"Name": "shop", "tier": "public"}';
INSERT INTO load_balancer_security_groups (load_balancer_id, security_group_id)
SELECT b.id, g.id FROM load_balancer b, security_group g WHERE b.load_balancer_name = 'shop' AND g.group_name = 'shop-front';
INSERT INTO listener (load_balancer_id, port, protocol, target_group_id)
SELECT b.id, 80, 'HTTP', t.id FROM load_balancer b, target_group t WHERE b.load_balancer_name = 'shop' AND t.target_group_name = 'shop';

INSERT INTO log_group (log_group_name, retention_in_days) VALUES ('/shop/tasks', 30);
INSERT INTO iam_role (role_name, assume_role_policy_document, attached_policies_arns) VALUES ('shop-execution',
    '{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": {"Service": "ecs-tasks.amazonaws.com"}, "Action": "sts:AssumeRole"}]}',
    '{arn:aws:iam::aws:policy/service-role/AmazonECSTaskExecutionRolePolicy}');
INSERT INTO cluster (cluster_name) VALUES ('shop');
INSERT INTO task_definition (family, cpu, memory, execution_role_name, container_definitions)
SELECT 'shop', 512, 1024, 'shop-execution', jsonb_build_array(jsonb_build_object('name', 'web', 'image', 'nginx:1', 'essential', true,
    'portMappings', '[{"containerPort": 8080, "protocol": "tcp"}]'::jsonb,
    'logConfiguration', jsonb_build_object('logDriver', 'awslogs', 'options', jsonb_build_object('awslogs-group', '/shop/tasks',
        'awslogs-region', default_aws_region(), 'awslogs-stream-prefix', 'web'))));
INSERT INTO service (name, cluster_id, task_definition_id, desired_count, subnets_records, target_group_id, container_name, container_port)
SELECT 'shop', c.id, d.id, 2, (SELECT array_agg(id) FROM subnet WHERE tags @> '{"Name": "shop", "tier": "private"}'), t.id, 'web', 8080
FROM cluster c, task_definition d, target_group t WHERE c.cluster_name = 'shop' AND d.family = 'shop' AND t.target_group_name = 'shop';
INSERT INTO service_security_groups (service_id, security_group_id)
SELECT s.id, g.id FROM service s, security_group g WHERE s.name = 'shop' AND g.group_name = 'shop-tasks';
CALL iasql_declared();
COMMIT;
SELECT iasql_wait_for_all(300);
SELECT b.dns_name IS NOT NULL AS reachable, s.status AS service, d.db_instance_status AS database
FROM load_balancer b, service s, rds d WHERE b.load_balancer_name = 'shop' AND s.name = 'shop' AND d.db_instance_identifier = 'shop';

-- And away, by one DELETE.
DELETE FROM iasql_configurations WHERE name = 'shop';
SELECT iasql_wait_for_all(300);
