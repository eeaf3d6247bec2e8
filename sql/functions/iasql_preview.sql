-- The engine cannot see what the calling transaction has not committed, so that is handed to it.
CREATE OR REPLACE FUNCTION iasql_internal.own_edits() RETURNS jsonb
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
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
    WHERE NOT l.settled AND l.xid = pg_current_xact_id_if_assigned() AND l.change_type IN ('INSERT', 'UPDATE', 'DELETE');
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
COMMENT ON FUNCTION iasql_internal.own_edits() IS 'The calling transaction''s uncommitted edits and the rows they are about; NULL if there are none.';

CREATE OR REPLACE FUNCTION public.iasql_preview()
RETURNS TABLE (action text, direction text, table_name text, id bigint, description text, changes jsonb, reason text)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN QUERY
    SELECT r.action, r.direction, r.table_name, r.id, r.description, r.changes, r.reason
    FROM jsonb_to_recordset(iasql_internal.ask('preview', jsonb_build_object('own', iasql_internal.own_edits())) -> 'rows')
        AS r (action text, direction text, table_name text, id bigint, description text, changes jsonb, reason text);
END
$$;
COMMENT ON FUNCTION public.iasql_preview() IS
$$What a commit would do now, with or without an open batch: pushes to the cloud, pulls into the tables, and conflicts. Changes nothing.
Sample: SELECT * FROM iasql_preview()$$;

CREATE OR REPLACE FUNCTION public.iasql_preview_hash() RETURNS text
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN iasql_internal.ask('preview', jsonb_build_object('own', iasql_internal.own_edits())) ->> 'hash';
END
$$;
COMMENT ON FUNCTION public.iasql_preview_hash() IS
$$A hash of what a commit would do now; iasql_commit given it changes nothing if either side has moved since.
Sample: SELECT iasql_preview_hash()$$;
