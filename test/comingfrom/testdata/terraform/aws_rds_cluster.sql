INSERT INTO db_cluster (db_cluster_identifier, engine, engine_version, availability_zones, database_name, master_username, master_user_password,
    backup_retention_period, preferred_backup_window)
VALUES ('fleet', 'aurora-mysql', '8.0.mysql_aurora.3.08.0', '{us-east-1a,us-east-1b,us-east-1c}', 'fleet', 'keeper', 'Corr3ctHorseBattery', 5, '07:00-09:00');
INSERT INTO db_cluster (db_cluster_identifier, engine, db_cluster_instance_class, storage_type, allocated_storage, iops, master_username, master_user_password)
VALUES ('fleet-zones', 'mysql', 'db.r6gd.xlarge', 'io1', 120, 1200, 'keeper', 'Corr3ctHorseBattery');
INSERT INTO db_cluster (db_cluster_identifier, engine, engine_mode, serverless_min_capacity, serverless_max_capacity, storage_encrypted, master_username,
    manage_master_user_password, master_user_secret_kms_key_id)
VALUES ('fleet-tides', 'aurora-postgresql', 'provisioned', 0.5, 2, true, 'keeper', true,
    'arn:aws:kms:us-east-1:123456789012:key/0a1b2c3d-0000-4000-8000-0a1b2c3d4e5f');
INSERT INTO db_cluster (db_cluster_identifier, engine, snapshot_identifier) VALUES ('fleet-again', 'aurora-mysql', 'fleet-last');
