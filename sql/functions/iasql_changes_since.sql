CREATE OR REPLACE FUNCTION public.iasql_changes_since(since timestamptz)
RETURNS TABLE (ts timestamptz, table_name text, record_id bigint, name text, action text, columns text[], "from" jsonb, "to" jsonb,
               by_whom text, from_where text, how_known text)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    earliest timestamptz := coalesce(since, '-infinity');
BEGIN
    IF earliest < iasql_internal.log_since() THEN
        RAISE NOTICE 'the audit log reaches back to %: what was changed before is not known', iasql_internal.log_since()
            USING HINT = 'The setting audit_retention says how long it is kept.';
    END IF;
    RETURN QUERY
    WITH changed AS MATERIALIZED (
        SELECT (c.entry).*, c.replaced, c.how, (c.entry).origin = 'user' OR c.replaced OR c.how = 'iasql_forget' AS here
        FROM iasql_internal.changes(earliest) c
    ), named AS (
        SELECT r.table_name, n.record_id, n.name
        FROM (SELECT c.table_name, array_agg(DISTINCT c.record_id) AS ids FROM changed c GROUP BY c.table_name) r
        CROSS JOIN LATERAL iasql_internal.labels(r.table_name, r.ids) n
    )
    SELECT coalesce(c.event_time, c.ts), c.table_name, c.record_id, n.name, CASE WHEN c.replaced THEN 'replace' ELSE lower(c.change_type) END,
           ARRAY(SELECT k.name FROM jsonb_each(coalesce(c.change -> 'change', c.change -> 'original')) k (name, value)
                 WHERE c.change_type = 'UPDATE' OR k.value <> 'null' ORDER BY k.name),
           c.change -> 'original', c.change -> 'change', coalesce(c.actor, CASE WHEN c.here THEN c."user" END),
           CASE WHEN c.here THEN 'here' ELSE 'account ' || c.account END, c.how
    FROM changed c LEFT JOIN named n ON n.table_name = c.table_name AND n.record_id = c.record_id
    ORDER BY 1, c.id;
END
$$;
COMMENT ON FUNCTION public.iasql_changes_since(timestamptz) IS
$$What has changed since then in all tables, wherever somebody changed it: an edit, batch, declaration or undoing here, or drift, which an event or a reading of the cloud has told. from and to are NULL for what was inserted or deleted. by_whom is the role, or whom the cloud names, if an event has told. ts is when the call was made, where an event has told; what was found since then is shown, also if it was done before. What the engine notes by itself is left out: what the cloud assigns, the first reading of a table, batches that were rolled back.
Sample: SELECT * FROM iasql_changes_since(now() - interval '1 hour')$$;
