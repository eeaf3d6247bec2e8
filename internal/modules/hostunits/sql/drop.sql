-- Run after the tables have been dropped.
DROP TRIGGER IF EXISTS host_unit_looks ON public.iasql_audit_log;
DROP FUNCTION IF EXISTS iasql_internal.host_unit_looks();
DROP FUNCTION IF EXISTS iasql_internal.host_unit_trigger(text, bigint, jsonb);
DELETE FROM iasql_internal.host_kind WHERE table_name = 'host_unit';
