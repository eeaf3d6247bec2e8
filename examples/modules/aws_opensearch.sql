-- A domain of one node in the default VPC, which its security group lets the VPC reach.
BEGIN;
INSERT INTO security_group (group_name, description, vpc_id) SELECT 'example-search', 'HTTPS from the VPC', id FROM vpc WHERE is_default AND region = default_aws_region();
INSERT INTO security_group_rule (security_group_id, is_egress, ip_protocol, from_port, to_port, cidr_ipv4)
SELECT g.id, false, 'tcp', 443, 443, v.cidr_block FROM security_group g JOIN vpc v ON v.id = g.vpc_id WHERE g.group_name = 'example-search';
INSERT INTO domain (domain_name, version, instance_type, instance_count, ebs_options, subnets)
SELECT 'example', 'OpenSearch_2.11', 't3.small.search', 1, '{"EBSEnabled": true, "VolumeType": "gp3", "VolumeSize": 10}', ARRAY[min(subnet_id)]
FROM subnet WHERE default_for_az AND region = default_aws_region();
INSERT INTO domain_security_groups (domain_id, security_group_id)
SELECT d.id, g.id FROM domain d, security_group g WHERE d.domain_name = 'example' AND g.group_name = 'example-search';
COMMIT;
SELECT iasql_wait_for_all(60);
UPDATE domain SET instance_count = 2 WHERE domain_name = 'example';
SELECT iasql_wait_for_all(60);
SELECT domain_name, version, instance_count, enforce_https FROM domain WHERE domain_name = 'example';
BEGIN;
DELETE FROM domain WHERE domain_name = 'example';
DELETE FROM security_group WHERE group_name = 'example-search';
COMMIT;
SELECT iasql_wait_for_all(60);
