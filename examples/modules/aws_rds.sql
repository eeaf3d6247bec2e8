-- A small PostgreSQL with a parameter group of its own. The password is pushed, then blanked, and never logged.
BEGIN;
INSERT INTO parameter_group (name, family, description) VALUES ('example', 'postgres16', 'Parameters of the example');
INSERT INTO rds (db_instance_identifier, engine, db_instance_class, allocated_storage, master_username, master_user_password, parameter_group_id)
SELECT 'example', 'postgres', 'db.t4g.micro', 20, 'example', 'Corr3ctHorseBattery', id FROM parameter_group WHERE name = 'example';
COMMIT;
SELECT iasql_wait_for_all(120);
SELECT db_instance_identifier, engine, master_user_password, arn IS NOT NULL AS created FROM rds WHERE db_instance_identifier = 'example';
UPDATE rds SET backup_retention_period = 7 WHERE db_instance_identifier = 'example';
SELECT iasql_wait_for_all(120);
BEGIN;
DELETE FROM rds WHERE db_instance_identifier = 'example';
DELETE FROM parameter_group WHERE name = 'example';
COMMIT;
SELECT iasql_wait_for_all(120);
