-- A cluster and the subnets of the default VPC that it is put into, in one transaction.
BEGIN;
INSERT INTO subnet_group (subnet_group_name, description, subnets) SELECT 'example', 'Where the example is', array_agg(subnet_id) FROM subnet WHERE default_for_az AND region = default_aws_region();
INSERT INTO memory_db_cluster (cluster_name, node_type, subnet_group_id) SELECT 'example', 'db.t4g.small', id FROM subnet_group WHERE subnet_group_name = 'example';
COMMIT;
SELECT iasql_wait_for_all(120);
UPDATE memory_db_cluster SET snapshot_retention_limit = 7 WHERE cluster_name = 'example';
SELECT iasql_wait_for_all(120);
SELECT cluster_name, node_type, address, port, snapshot_retention_limit FROM memory_db_cluster WHERE cluster_name = 'example';
-- A final snapshot is taken of it.
BEGIN;
DELETE FROM memory_db_cluster WHERE cluster_name = 'example';
DELETE FROM subnet_group WHERE subnet_group_name = 'example';
COMMIT;
SELECT iasql_wait_for_all(120);
