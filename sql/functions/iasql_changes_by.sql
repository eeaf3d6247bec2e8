CREATE OR REPLACE FUNCTION public.iasql_changes_by(who text, since timestamptz DEFAULT '-infinity')
RETURNS TABLE (ts timestamptz, table_name text, record_id bigint, change_type text, change jsonb, actor text, actor_session text, source_address text, user_agent text, event_id text, also text[])
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    SELECT coalesce(l.event_time, l.ts), l.table_name, l.record_id, l.change_type, l.change, l.actor, l.actor_session, l.source_address, l.user_agent, l.event_id, l.also
    FROM public.iasql_audit_log l
    WHERE l.table_name IS NOT NULL AND l.ts >= iasql_changes_by.since
      AND (l.actor = who OR l.actor_session = who OR l.origin = 'user' AND l."user" = who)
    ORDER BY 1, l.id;
END;
COMMENT ON FUNCTION public.iasql_changes_by(text, timestamptz) IS
$$What somebody has changed: in the cloud, by ARN or session name, as events have told (aws_event_source); or in the tables, by role. Also names others who may have made the same change.
Sample: SELECT * FROM iasql_changes_by('ana@example.com', now() - interval '1 day')$$;
