-- Which databases are not encrypted?
-- Instances and clusters of RDS whose storage is not encrypted. Encryption cannot be turned on: copy a snapshot with a key.
-- needs: aws_rds.rds aws_rds.db_cluster
SELECT 'rds' AS table_name, d.id AS record_id, d.account, d.region, d.db_instance_identifier AS name, d.engine
FROM rds d
WHERE d.storage_encrypted IS NOT TRUE
UNION ALL
SELECT 'db_cluster', c.id, c.account, c.region, c.db_cluster_identifier, c.engine
FROM db_cluster c
WHERE c.storage_encrypted IS NOT TRUE
ORDER BY 3, 4, 5;
