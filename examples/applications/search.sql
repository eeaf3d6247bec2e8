-- OpenSearch in a network of its own, which only that network reaches, in one transaction. It takes aws_opensearch.
BEGIN;
CALL iasql_declare('search');
INSERT INTO vpc (cidr_block, enable_dns_hostnames, tags) VALUES ('10.62.0.0/16', true, '{"Name": "search"}');
INSERT INTO subnet (vpc_id, cidr_block, availability_zone, tags)
SELECT v.id, s.network, default_aws_region() || s.zone, '{"Name": "search"}'
FROM vpc v, (VALUES ('10.62.0.0/24'::cidr, 'a'), ('10.62.1.0/24', 'b')) s (network, zone) WHERE v.tags ->> 'Name' = 'search';
INSERT INTO security_group (group_name, description, vpc_id) SELECT 'search', 'HTTPS from the VPC', id FROM vpc WHERE tags ->> 'Name' = 'search';
INSERT INTO security_group_rule (security_group_id, is_egress, ip_protocol, from_port, to_port, cidr_ipv4)
SELECT g.id, false, 'tcp', 443, 443, v.cidr_block FROM security_group g JOIN vpc v ON v.id = g.vpc_id WHERE g.group_name = 'search';
INSERT INTO domain (domain_name, version, instance_type, instance_count, availability_zone_count, ebs_options, subnets_records)
SELECT 'search', 'OpenSearch_2.11', 'm6g.large.search', 2, 2, '{"EBSEnabled": true, "VolumeType": "gp3", "VolumeSize": 20}', array_agg(id)
FROM subnet WHERE tags ->> 'Name' = 'search';
INSERT INTO domain_security_groups (domain_id, security_group_id)
SELECT d.id, g.id FROM domain d, security_group g WHERE d.domain_name = 'search' AND g.group_name = 'search';
CALL iasql_declared();
COMMIT;
SELECT iasql_wait_for_all(300);
SELECT status, enforce_https, cardinality(subnets) AS subnets FROM domain WHERE domain_name = 'search';

-- And away, by one DELETE.
DELETE FROM iasql_configurations WHERE name = 'search';
SELECT iasql_wait_for_all(300);
