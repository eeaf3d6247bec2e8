INSERT INTO parameter_group (name, family, description) VALUES ('bilge', 'mysql8.0', 'Settings of the bilge');
INSERT INTO db_subnet_group (name, description, subnets_records) SELECT 'bilge', 'Both', array_agg(id) FROM subnet WHERE tags ->> 'Name' = 'quay';
INSERT INTO rds (db_instance_identifier, allocated_storage, max_allocated_storage, db_name, engine, engine_version, db_instance_class, master_username,
    master_user_password, parameter_group_id, skip_final_snapshot)
SELECT 'bilge', 25, 100, 'bilge', 'mysql', '8.0', 'db.t3.micro', 'keeper', 'Corr3ctHorseBattery', id, true FROM parameter_group WHERE name = 'bilge';
INSERT INTO rds (db_instance_identifier, allocated_storage, engine, engine_version, db_instance_class, auto_minor_version_upgrade,
    custom_iam_instance_profile, backup_retention_period, db_subnet_group_id, kms_key_id, license_model, multi_az, storage_encrypted, master_username,
    master_user_password)
SELECT 'bilge-ora', 60, 'custom-oracle-ee', '19.c.ee.002', 'db.r5.large', false, 'AWSRDSCustomInstanceProfile', 7, id,
    'arn:aws:kms:us-east-1:123456789012:key/0a1b2c3d-0000-4000-8000-0a1b2c3d4e5f', 'bring-your-own-license', false, true, 'keeper', 'Corr3ctHorseBattery'
FROM db_subnet_group WHERE name = 'bilge';
INSERT INTO rds (db_instance_identifier, engine, db_instance_class, source_db_instance_identifier, replica_mode, auto_minor_version_upgrade,
    custom_iam_instance_profile, backup_retention_period, kms_key_id, multi_az, skip_final_snapshot, storage_encrypted)
VALUES ('bilge-copy', 'custom-oracle-ee', 'db.r5.large', 'bilge-ora', 'mounted', false, 'AWSRDSCustomInstanceProfile', 7,
    'arn:aws:kms:us-east-1:123456789012:key/0a1b2c3d-0000-4000-8000-0a1b2c3d4e5f', false, true, true);
INSERT INTO rds (db_instance_identifier, allocated_storage, engine, db_instance_class, master_username, manage_master_user_password,
    master_user_secret_kms_key_id)
VALUES ('bilge-secret', 25, 'mysql', 'db.t3.micro', 'keeper', true, 'arn:aws:kms:us-east-1:123456789012:key/0a1b2c3d-0000-4000-8000-0a1b2c3d4e5f');
