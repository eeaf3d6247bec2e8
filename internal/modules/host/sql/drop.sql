-- Run after the tables have been dropped. Without CASCADE: what users have built on these is theirs to drop.
DROP FUNCTION IF EXISTS iasql_internal.host_scope_looks();
DROP FUNCTION IF EXISTS iasql_internal.host_scope_keeps_records();
DROP FUNCTION IF EXISTS iasql_internal.host_in_scope();
DROP TABLE IF EXISTS iasql_internal.host_kind;
DROP FUNCTION IF EXISTS iasql_internal.host_scoped(text, text, text);
DROP FUNCTION IF EXISTS iasql_internal.host_secret(text, text);
DROP FUNCTION IF EXISTS iasql_internal.host_pattern(text);
DROP FUNCTION IF EXISTS iasql_internal.host_let_go();
DROP FUNCTION IF EXISTS iasql_internal.host_jumps_end();
DROP FUNCTION IF EXISTS iasql_internal.host_registry_auth();
