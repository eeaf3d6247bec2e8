CREATE OR REPLACE FUNCTION public.iasql_drift()
RETURNS TABLE (action text, direction text, table_name text, id bigint, description text, changes jsonb, reason text)
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    made bigint := iasql_internal.preview();
BEGIN
    RETURN QUERY
    SELECT p.action, p.direction, p.table_name, p.id, p.description, p.changes, concat_ws('; ', p.reason, iasql_internal.author_text(p.who))
    FROM iasql_internal.previewed p WHERE p.request = made AND p.direction IN ('pull', 'ask', 'paused') ORDER BY p.ord;
END
$$;
COMMENT ON FUNCTION public.iasql_drift() IS
$$What the cloud has changed and the tables do not show: pull would be pulled by the next full cycle, ask waits for a decision (setting drift), paused is left alone (mode PAUSE). The reason names who it was, where an event has told. Changes nothing.
Sample: SELECT * FROM iasql_drift()$$;
