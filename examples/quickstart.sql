-- A first session: run it with psql, statement by statement or as a whole, as often as you like.

-- Install modules: their tables are made, and what the account has is imported.
SELECT * FROM iasql_install('aws_vpc', 'aws_s3', 'aws_sqs');

-- What is there already: a default VPC in every region.
SELECT region, vpc_id, cidr_block, is_default FROM vpc WHERE is_default ORDER BY region LIMIT 3;

-- A VPC and its subnet, in one transaction: they arrive in order.
BEGIN;
INSERT INTO vpc (cidr_block, tags) VALUES ('10.20.0.0/16', '{"Name": "quickstart"}');
INSERT INTO subnet (vpc_id, cidr_block) SELECT id, '10.20.1.0/24' FROM vpc WHERE cidr_block = '10.20.0.0/16';
COMMIT;

-- A moment later it is so in the cloud. (Nothing has to be called; waiting is for scripts.)
SELECT iasql_wait_for('subnet', (SELECT id FROM subnet WHERE cidr_block = '10.20.1.0/24'), 'subnet_id IS NOT NULL', 30);
SELECT v.vpc_id, s.subnet_id, s.availability_zone, v.tags
FROM vpc v JOIN subnet s ON s.vpc_id = v.id WHERE v.cidr_block = '10.20.0.0/16';

-- Every change is an UPDATE.
UPDATE vpc SET tags = tags || '{"team": "network"}', enable_dns_hostnames = true WHERE cidr_block = '10.20.0.0/16';
SELECT iasql_wait_for('vpc', (SELECT id FROM vpc WHERE cidr_block = '10.20.0.0/16'),
    $$EXISTS (SELECT FROM iasql_status s WHERE s.table_name = 'vpc' AND s.record_id = vpc.id AND s.state = 'Present')$$, 30);

-- Every call that was made to the cloud, journaled before it was made.
SELECT * FROM iasql_calls LIMIT 5;

-- And away with it, in order again.
BEGIN;
DELETE FROM subnet WHERE cidr_block = '10.20.1.0/24';
DELETE FROM vpc WHERE cidr_block = '10.20.0.0/16';
COMMIT;
SELECT iasql_sync_now();
SELECT count(*) AS records_that_are_not_as_wanted FROM iasql_status WHERE state <> 'Present';
