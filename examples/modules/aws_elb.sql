-- A web server's load balancer in the default VPC, with its security group, target group and listener, in one transaction.
BEGIN;
INSERT INTO security_group (group_name, description, vpc_id)
SELECT 'example-web', 'HTTP from everywhere', id FROM vpc WHERE is_default AND region = default_aws_region();
INSERT INTO target_group (target_group_name, protocol, port, vpc, health_check_path)
SELECT 'example-web', 'HTTP', 8080, id, '/health' FROM vpc WHERE is_default AND region = default_aws_region();
INSERT INTO load_balancer (load_balancer_name, subnets, attributes)
SELECT 'example-web', array_agg(s.subnet_id ORDER BY s.availability_zone), '{"idle_timeout.timeout_seconds": "120"}'
FROM subnet s JOIN vpc v ON v.id = s.vpc_id AND v.is_default AND v.region = default_aws_region();
INSERT INTO load_balancer_security_groups (load_balancer_id, security_group_id)
SELECT b.id, g.id FROM load_balancer b, security_group g WHERE b.load_balancer_name = 'example-web' AND g.group_name = 'example-web';
INSERT INTO listener (load_balancer_id, port, protocol, target_group_id)
SELECT b.id, 80, 'HTTP', g.id FROM load_balancer b, target_group g WHERE b.load_balancer_name = 'example-web' AND g.target_group_name = 'example-web';
COMMIT;
SELECT iasql_wait_for_all(60);
SELECT dns_name, state FROM load_balancer WHERE load_balancer_name = 'example-web';
SELECT l.port, l.protocol, l.action_type FROM listener l JOIN load_balancer b ON b.id = l.load_balancer_id WHERE b.load_balancer_name = 'example-web';
BEGIN;
DELETE FROM load_balancer WHERE load_balancer_name = 'example-web';
DELETE FROM target_group WHERE target_group_name = 'example-web';
DELETE FROM security_group WHERE group_name = 'example-web';
COMMIT;
SELECT iasql_wait_for_all(60);
