SELECT 'instance' AS key, d.account, d.region, d.name AS db_instance_identifier, d.engine, d.engine_version,
       d.instance_class AS db_instance_class, d.storage AS allocated_storage, d.db_name, d.username AS master_username,
       true AS manage_master_user_password, true AS storage_encrypted, d.multi_az, d.backup_days AS backup_retention_period,
       s.id AS db_subnet_group_id, NOT d.final_snapshot AS skip_final_snapshot, d.tags
FROM database d JOIN part s ON s.part = 'subnet_group'
