-- Which databases have a public address?
-- Instances of RDS whose name resolves to a public address. Their security groups say who gets an answer.
-- needs: aws_rds.rds
SELECT d.id, d.account, d.region, d.db_instance_identifier, d.engine, d.endpoint_addr, d.endpoint_port
FROM rds d
WHERE d.publicly_accessible
ORDER BY d.account, d.region, d.id;
