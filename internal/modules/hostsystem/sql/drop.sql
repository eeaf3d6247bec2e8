-- Run after the tables have been dropped.
DELETE FROM iasql_internal.host_kind WHERE table_name IN ('host_sysctl', 'host_sudoer', 'host_cron', 'host_mount', 'host_repository');
