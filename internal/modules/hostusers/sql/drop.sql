-- Run after the tables have been dropped.
DELETE FROM iasql_internal.host_kind WHERE table_name IN ('host_user', 'host_group', 'host_authorized_key');
