-- A small PostgreSQL with a parameter group and a security group of its own. The password is pushed, then blanked, and never logged.
BEGIN;
INSERT INTO parameter_group (name, family, description) VALUES ('example', 'postgres16', 'Parameters of the example');
INSERT INTO security_group (group_name, description) VALUES ('example-db', 'Who may connect to the example');
INSERT INTO rds (db_instance_identifier, engine, db_instance_class, allocated_storage, master_username, master_user_password, parameter_group_id)
SELECT 'example', 'postgres', 'db.t4g.micro', 20, 'example', 'Corr3ctHorseBattery', id FROM parameter_group WHERE name = 'example';
INSERT INTO rds_security_groups (rds_id, security_group_id)
SELECT d.id, g.id FROM rds d, security_group g WHERE d.db_instance_identifier = 'example' AND g.group_name = 'example-db';
COMMIT;
SELECT iasql_wait_for_all(120);
SELECT db_instance_identifier, engine, master_user_password, arn IS NOT NULL AS created FROM rds WHERE db_instance_identifier = 'example';
UPDATE rds SET backup_retention_period = 7 WHERE db_instance_identifier = 'example';
SELECT iasql_wait_for_all(120);
-- An Aurora cluster and its instance, in one transaction. (A Multi-AZ DB cluster gets its instances from AWS.)
BEGIN;
INSERT INTO db_cluster (db_cluster_identifier, engine, master_username, master_user_password)
VALUES ('example-aurora', 'aurora-postgresql', 'example', 'Corr3ctHorseBattery');
INSERT INTO rds (db_instance_identifier, db_cluster_id, engine, db_instance_class)
SELECT 'example-aurora-1', id, engine, 'db.r6g.large' FROM db_cluster WHERE db_cluster_identifier = 'example-aurora';
INSERT INTO db_cluster_security_groups (db_cluster_id, security_group_id)
SELECT c.id, g.id FROM db_cluster c, security_group g WHERE c.db_cluster_identifier = 'example-aurora' AND g.group_name = 'example-db';
COMMIT;
SELECT iasql_wait_for_all(120);
SELECT db_cluster_identifier, endpoint_addr IS NOT NULL AS created, port FROM db_cluster WHERE db_cluster_identifier = 'example-aurora';
BEGIN;
DELETE FROM rds WHERE db_instance_identifier LIKE 'example%';
DELETE FROM db_cluster WHERE db_cluster_identifier = 'example-aurora';
DELETE FROM parameter_group WHERE name = 'example';
DELETE FROM security_group WHERE group_name = 'example-db';
COMMIT;
SELECT iasql_wait_for_all(120);
