-- Run after the tables have been dropped.
DELETE FROM iasql_internal.host_kind WHERE table_name IN ('host_image', 'host_container_network', 'host_volume', 'host_container');
DROP FUNCTION IF EXISTS iasql_internal.host_container_volumes();
DROP FUNCTION IF EXISTS iasql_internal.host_container_secrets();
