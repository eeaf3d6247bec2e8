-- Applied after every change of a function or view. What is not granted here or by a module is the engine's alone.
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA iasql_internal FROM PUBLIC;
GRANT USAGE ON SCHEMA public TO iasql_reader;
GRANT USAGE ON SCHEMA iasql_internal TO iasql_reader;
GRANT EXECUTE ON FUNCTION iasql_internal.writer(), iasql_internal.engine_connected(), iasql_internal.failure(text, bigint) TO iasql_reader;
GRANT SELECT ON public.iasql_tables, public.iasql_audit_log, public.iasql_mode, public.iasql_settings, public.iasql_cycles,
    public.iasql_operations, public.iasql_conflicts, public.iasql_status TO iasql_reader;
GRANT INSERT, UPDATE, DELETE ON public.iasql_mode TO iasql_user;
GRANT UPDATE (value) ON public.iasql_settings TO iasql_user;
GRANT UPDATE (resolved) ON public.iasql_conflicts TO iasql_user;
REVOKE EXECUTE ON FUNCTION public.iasql_install(text[]), public.iasql_uninstall(text[]), public.iasql_sync_now(), public.iasql_retry(text, bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION public.iasql_install(text[]), public.iasql_uninstall(text[]), public.iasql_sync_now(), public.iasql_retry(text, bigint) TO iasql_user;

REVOKE EXECUTE ON PROCEDURE public.iasql_begin(), public.iasql_commit(text, text, text), public.iasql_rollback(boolean), public.iasql_undo(bigint) FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION public.iasql_preview(), public.iasql_preview_hash() FROM PUBLIC;
GRANT EXECUTE ON PROCEDURE public.iasql_begin(), public.iasql_commit(text, text, text), public.iasql_rollback(boolean), public.iasql_undo(bigint) TO iasql_user;
GRANT EXECUTE ON FUNCTION public.iasql_preview(), public.iasql_preview_hash() TO iasql_user;
