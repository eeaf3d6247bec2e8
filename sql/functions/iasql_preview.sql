-- The engine cannot see what the calling transaction has not committed, so that is handed to it.
CREATE OR REPLACE FUNCTION iasql_internal.own_edits() RETURNS jsonb
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET extra_float_digits = 1 SET "IntervalStyle" = 'postgres' SET bytea_output = 'hex' AS $$
DECLARE
    edits   jsonb;
    records jsonb := '[]';
    part    jsonb;
    name    text;
BEGIN
    SELECT jsonb_agg(jsonb_build_object('id', l.id, 'table', l.table_name, 'record', l.record_id, 'account', l.account, 'type', l.change_type, 'key', l.key,
                                        'original', l.change -> 'original', 'change', l.change -> 'change') ORDER BY l.id)
    INTO edits
    FROM public.iasql_audit_log l
    WHERE NOT l.settled AND l.xid = pg_current_xact_id_if_assigned() AND l.change_type IN ('INSERT', 'UPDATE', 'DELETE')
      AND l.transaction_id IS NOT DISTINCT FROM iasql_internal.session_batch();
    IF edits IS NULL THEN
        RETURN NULL;
    END IF;
    FOR name IN SELECT DISTINCT e ->> 'table' FROM jsonb_array_elements(edits) e LOOP
        EXECUTE format('SELECT jsonb_agg(jsonb_build_object(''table'', %L::text, ''row'', to_jsonb(t))) FROM public.%I t
                        WHERE t.id IN (SELECT (e ->> ''record'')::bigint FROM jsonb_array_elements($1) e WHERE e ->> ''table'' = %L)', name, name, name)
        INTO part USING edits;
        records := records || coalesce(part, '[]');
    END LOOP;
    RETURN jsonb_build_object('edits', edits, 'records', records);
END
$$;
COMMENT ON FUNCTION iasql_internal.own_edits() IS 'The calling transaction''s uncommitted edits in its session''s batch, or outside of any, and the rows they are about; NULL if there are none.';

CREATE OR REPLACE FUNCTION iasql_internal.preview() RETURNS bigint
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN iasql_internal.asked('preview', jsonb_build_object('own', iasql_internal.own_edits(), 'batch', iasql_internal.session_batch()));
END
$$;
COMMENT ON FUNCTION iasql_internal.preview() IS 'Has the engine make a preview; returns the request that has it.';

-- Of a preview its asker sees what the tables let him see.
CREATE OR REPLACE VIEW iasql_internal.previewed WITH (security_barrier) AS
SELECT q.id AS request, q.result ->> 'hash' AS hash, p.ord, r.action, r.direction, r.table_name, r.id,
       CASE WHEN r.table_name = ANY ((SELECT iasql_internal.limited())::text[]) THEN concat_ws(' ', r.action, r.table_name, r.id) ELSE r.description END AS description,
       CASE WHEN r.table_name = ANY ((SELECT iasql_internal.limited())::text[]) THEN (
           SELECT coalesce(jsonb_object_agg(c.key, c.value), '{}') FROM jsonb_each(r.changes) c
           WHERE iasql_internal.readable(r.table_name, jsonb_build_object(c.key, NULL))) ELSE r.changes END AS changes,
       r.reason,
       -- Who was it in the cloud: known to those who see what he has changed.
       CASE WHEN NOT r.table_name = ANY ((SELECT iasql_internal.limited())::text[]) OR iasql_internal.readable(r.table_name, r.changes) THEN r.who END AS who
FROM iasql_internal.request q
CROSS JOIN LATERAL jsonb_array_elements(q.result -> 'rows') WITH ORDINALITY p (item, ord)
CROSS JOIN LATERAL jsonb_to_record(p.item) AS r (action text, direction text, table_name text, id bigint, description text, changes jsonb, reason text, who jsonb)
WHERE q.kind = 'preview' AND q.asked_by = iasql_internal.writer()
  AND (NOT r.table_name = ANY ((SELECT iasql_internal.restricted())::text[])
       OR (r.table_name, r.id) IN (SELECT s.table_name, s.record_id FROM iasql_internal.seen() s)
       OR NOT r.table_name = ANY ((SELECT iasql_internal.limited())::text[])
          AND EXISTS (SELECT FROM public.iasql_audit_log l
                      WHERE l.table_name = r.table_name AND l.record_id = r.id AND NOT l.settled AND l.change_type = 'DELETE' AND l."user" = iasql_internal.writer()));
COMMENT ON VIEW iasql_internal.previewed IS 'The previews that the caller has asked for, as far as grants and row-level security let him see them.';

CREATE OR REPLACE FUNCTION public.iasql_preview()
RETURNS TABLE (action text, direction text, table_name text, id bigint, description text, changes jsonb, reason text)
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    made bigint := iasql_internal.preview_declared();
BEGIN
    RETURN QUERY
    SELECT p.action, p.direction, p.table_name, p.id, p.description, p.changes, concat_ws('; ', p.reason, iasql_internal.author_text(p.who))
    FROM iasql_internal.previewed p WHERE p.request = made ORDER BY p.ord;
END
$$;
COMMENT ON FUNCTION public.iasql_preview() IS
$$What a commit of this session's batch would do now: pushes to the cloud, pulls into its records, conflicts, and what is asked for in vain (direction refused): the cloud refuses it for certain, or it cannot be done from here; the reason names who has changed it in the cloud, where an event has told. Without a batch, what is about to be done with everything that nobody has staged. Changes nothing.
Sample: SELECT * FROM iasql_preview()$$;

CREATE OR REPLACE FUNCTION iasql_internal.hash_of(request bigint) RETURNS text
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN (SELECT q.result ->> 'hash' FROM iasql_internal.request q
            WHERE q.id = request AND q.kind = 'preview' AND q.asked_by = iasql_internal.writer());
END
$$;
COMMENT ON FUNCTION iasql_internal.hash_of(bigint) IS 'The hash of a preview that the caller has asked for.';

CREATE OR REPLACE FUNCTION public.iasql_preview_hash() RETURNS text
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN iasql_internal.hash_of(iasql_internal.preview_declared());
END
$$;
COMMENT ON FUNCTION public.iasql_preview_hash() IS
$$A hash of what a commit would do now; iasql_commit given it changes nothing if either side has moved since.
Sample: SELECT iasql_preview_hash()$$;
