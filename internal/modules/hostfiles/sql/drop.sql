-- Run after the tables have been dropped.
DROP FUNCTION IF EXISTS iasql_internal.host_file_in_scope();
