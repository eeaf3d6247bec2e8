-- Run after the tables have been dropped.
DELETE FROM iasql_internal.host_kind WHERE table_name IN ('host_file', 'host_file_block');
DROP TRIGGER IF EXISTS host_scope_becomes_secret ON public.host_scope;
DROP FUNCTION IF EXISTS iasql_internal.host_scope_becomes_secret();
DROP FUNCTION IF EXISTS iasql_internal.host_file_content();
DROP FUNCTION IF EXISTS iasql_internal.host_file_one_content();
DROP FUNCTION IF EXISTS iasql_internal.host_file_is_text(bytea);
DROP FUNCTION IF EXISTS iasql_internal.host_file_forgets();
DROP FUNCTION IF EXISTS iasql_internal.host_file_forget();
DELETE FROM iasql_internal.kept_secret WHERE table_name = 'host_file';
DELETE FROM iasql_internal.account_secret WHERE table_name = 'host_file';
