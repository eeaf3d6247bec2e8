CREATE OR REPLACE FUNCTION public.iasql_get_errors()
RETURNS TABLE (ts timestamptz, table_name text, record_id bigint, message text)
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    SELECT s.since, s.table_name, s.record_id, format('%s: %s', s.state, s.message)
    FROM iasql_internal.record_state s
    WHERE s.review OR s.state LIKE '%Failed' OR s.attempts > 1 AND s.code NOT IN ('', 'rule')
    UNION ALL
    SELECT g.since, g.table_name, g.record_id, format('%s: its predecessor %s: %s', g.state, replace(g.key, E'\x1f', '|'), g.message)
    FROM iasql_internal.garbage g
    WHERE g.review OR g.state LIKE '%Failed'
    UNION ALL
    SELECT e.ts, e.table_name, NULL, e.message FROM iasql_internal.listing_errors e
    UNION ALL
    SELECT l.ts, l.table_name, l.record_id, coalesce(l.message, l.change ->> 'message', l.change #>> '{}')
    FROM public.iasql_audit_log l
    WHERE l.change_type = 'ERROR'
    ORDER BY 1 DESC, 2, 3;
END;
COMMENT ON FUNCTION public.iasql_get_errors() IS
$$What went wrong, newest first: records that failed or whose calls fail again and again, tables whose last listing failed or met objects that do not fit, and batches that failed.
Sample: SELECT * FROM iasql_get_errors()$$;
CREATE INDEX IF NOT EXISTS iasql_audit_log_errors ON public.iasql_audit_log (ts) WHERE change_type = 'ERROR';
