-- Run after the tables have been dropped.
DELETE FROM iasql_internal.host_kind WHERE table_name IN ('host_file', 'host_file_block');
