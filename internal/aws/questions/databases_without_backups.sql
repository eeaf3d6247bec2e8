-- Which databases have no backups?
-- Instances of RDS that keep no backups (members of clusters and replicas have those of the cluster or of their source), and DynamoDB tables without point-in-time recovery.
-- needs: aws_rds.rds aws_dynamo.dynamo_table
SELECT 'rds' AS table_name, d.id AS record_id, d.account, d.region, d.db_instance_identifier AS name, d.engine AS what
FROM rds d
WHERE d.backup_retention_period = 0 AND d.db_cluster_id IS NULL AND d.read_replica_source IS NULL
UNION ALL
SELECT 'dynamo_table', t.id, t.account, t.region, t.table_name, 'DynamoDB'
FROM dynamo_table t
WHERE t.point_in_time_recovery_days IS NULL
ORDER BY 3, 4, 5;
