CREATE OR REPLACE FUNCTION public.iasql_history("table" text, id bigint)
RETURNS TABLE (ts timestamptz, kind text, "by" text, what text, details jsonb)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN QUERY
    SELECT h.ts, h.kind, h."by", h.what, h.details
    FROM (
        SELECT l.ts, 1 AS rank, l.id,
               CASE l.origin WHEN 'user' THEN 'edit' ELSE 'pull' END AS kind, coalesce(l.actor, l."user") AS "by",
               concat_ws(' ', l.change_type, CASE l.change_type WHEN 'UPDATE' THEN (SELECT string_agg(k, ', ' ORDER BY k) FROM jsonb_object_keys(l.change -> 'change') k) END) AS what,
               l.change || jsonb_strip_nulls(jsonb_build_object('message', l.message, 'transaction_id', l.transaction_id, 'actor', l.actor, 'session', l.actor_session,
                                  'source_address', l.source_address, 'user_agent', l.user_agent, 'event_id', l.event_id, 'event_time', l.event_time, 'also', l.also)) || jsonb_build_object('settled', l.settled) AS details
        FROM public.iasql_audit_log l
        WHERE l.table_name = iasql_history."table" AND l.record_id = iasql_history.id
        UNION ALL
        SELECT o.started, 2, o.id, 'operation', coalesce(c.engine, ''),
               concat_ws(' ', o.kind, format('%s.%s: %s', o.service, o.action, coalesce(o.result, 'under way'))),
               jsonb_strip_nulls(jsonb_build_object('operation', o.id, 'cycle', o.cycle_id, 'key', o.key, 'token', o.token, 'ended', o.ended, 'error', o.error,
                                                    'transaction_id', o.transaction_id)) || jsonb_build_object('columns', o.columns)
        FROM public.iasql_operations o LEFT JOIN public.iasql_cycles c ON c.id = o.cycle_id
        WHERE o.table_name = iasql_history."table" AND o.record_id = iasql_history.id
        UNION ALL
        SELECT k.at, 3, k.id, 'conflict', k.resolved_by,
               concat_ws(': ', coalesce(k.column_name, 'changed here and deleted in the cloud'), coalesce(k.resolved, 'open')),
               jsonb_build_object('conflict', k.id, 'database_value', k.database_value, 'cloud_value', k.cloud_value, 'base', k.base, 'resolved_at', k.resolved_at)
                   || jsonb_strip_nulls(jsonb_build_object('actor', k.actor, 'session', k.actor_session, 'source_address', k.source_address, 'user_agent', k.user_agent,
                                                           'event_id', k.event_id, 'event_time', k.event_time))
        FROM public.iasql_conflicts k
        WHERE k.table_name = iasql_history."table" AND k.record_id = iasql_history.id
    ) h
    ORDER BY h.ts, h.rank, h.id;
    IF NOT FOUND THEN -- a table that is uninstalled has its history all the same
        PERFORM iasql_internal.check_table("table");
    END IF;
END
$$;
COMMENT ON FUNCTION public.iasql_history(text, bigint) IS
$$The life of one record in order: edits by users, pulls from the cloud and conflicts (with who changed it there, where an event has told), operations on the cloud.
Sample: SELECT * FROM iasql_history('vpc', 1)$$;
