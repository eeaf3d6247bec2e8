-- A VPC with two subnets, in one transaction.
BEGIN;
INSERT INTO vpc (cidr_block, enable_dns_hostnames, tags) VALUES ('10.30.0.0/16', true, '{"Name": "example"}');
INSERT INTO subnet (vpc_id, cidr_block, map_public_ip_on_launch)
SELECT id, block::cidr, block = '10.30.1.0/24' FROM vpc, unnest('{10.30.1.0/24,10.30.2.0/24}'::text[]) block WHERE cidr_block = '10.30.0.0/16';
COMMIT;
SELECT iasql_wait_for_all(60);
SELECT s.subnet_id IS NOT NULL AS created, s.cidr_block, s.map_public_ip_on_launch FROM subnet s JOIN vpc v ON v.id = s.vpc_id WHERE v.cidr_block = '10.30.0.0/16';

-- And away.
BEGIN;
DELETE FROM subnet WHERE vpc_id = (SELECT id FROM vpc WHERE cidr_block = '10.30.0.0/16');
DELETE FROM vpc WHERE cidr_block = '10.30.0.0/16';
COMMIT;
SELECT iasql_wait_for_all(60);
