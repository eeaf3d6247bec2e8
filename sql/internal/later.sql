-- What iasql_undo leaves alone: later writes, by whomever and wherever they were made. Undoing takes back the rest of the batch,
-- and warns of these. What another batch wrote and took back again is no later write: what the batch left is there.

-- By the log's order, as clocks are put back (R17). What a batch has staged nobody else writes before it is closed.
CREATE OR REPLACE FUNCTION iasql_internal.closing_entry(batch bigint) RETURNS bigint
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN (SELECT max(l.id) FROM public.iasql_audit_log l WHERE l.transaction_id = closing_entry.batch AND l.change_type = 'CLOSE_TRANSACTION');
END
$$;
COMMENT ON FUNCTION iasql_internal.closing_entry(bigint) IS 'id of the audit row that says that a batch was closed: what was written later has a larger one.';

-- A value is a later one if it is neither what the batch left nor what undoing brings back, and the audit log has a change of it
-- since the batch was closed. (What a batch's own commit pulls comes before that.) Of a record that the batch inserted, a value
-- that the batch left to the cloud is no later one if the cloud has given it.
CREATE OR REPLACE FUNCTION iasql_internal.later_values(batch bigint, "table" text, images jsonb)
RETURNS TABLE (record_id bigint, column_name text)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET row_security = off
SET extra_float_digits = 1 SET "IntervalStyle" = 'postgres' SET bytea_output = 'hex' AS $$
#variable_conflict use_column
DECLARE
    managed iasql_internal.managed_table;
    closed  bigint := iasql_internal.closing_entry(batch);
    ids     bigint[] := ARRAY(SELECT i.record_id FROM jsonb_to_recordset(images) i (record_id bigint));
    present jsonb;
BEGIN
    SELECT * INTO managed FROM iasql_internal.managed_table m WHERE m.name = later_values."table";
    EXECUTE format('SELECT coalesce(jsonb_object_agg(t.id, to_jsonb(t)), ''{}'') FROM public.%I t WHERE t.id = ANY ($1)', "table") INTO present USING ids;
    RETURN QUERY
    WITH left_ AS MATERIALIZED (
        SELECT DISTINCT ON (l.record_id, c.key) l.record_id, c.key, c.value
        FROM public.iasql_audit_log l CROSS JOIN LATERAL jsonb_each(l.change -> 'change') c
        WHERE l.transaction_id = later_values.batch AND l.table_name = later_values."table" AND l.origin = 'user' AND l.change_type IN ('INSERT', 'UPDATE')
        ORDER BY l.record_id, c.key, l.id DESC
    ), since AS MATERIALIZED (
        SELECT l.record_id, c.key, bool_or(l.origin = 'user') AS by_user
        FROM public.iasql_audit_log l CROSS JOIN LATERAL jsonb_object_keys(l.change -> 'change') c (key)
        WHERE l.record_id = ANY (ids) AND l.table_name = later_values."table" AND l.id > closed AND l.change_type = 'UPDATE'
        GROUP BY l.record_id, c.key
    )
    SELECT i.record_id, s.key
    FROM jsonb_to_recordset(images) i (record_id bigint, inserted boolean, image jsonb)
    JOIN since s ON s.record_id = i.record_id AND present ? i.record_id::text
    LEFT JOIN left_ w ON w.record_id = i.record_id AND w.key = s.key
    CROSS JOIN LATERAL (SELECT present -> i.record_id::text -> s.key AS value) p
    WHERE NOT s.key = ANY (managed.assigned) AND (i.inserted OR i.image ? s.key)
      AND CASE WHEN s.key = ANY (managed.write_only) THEN s.by_user
          ELSE p.value IS DISTINCT FROM w.value AND (i.inserted OR p.value IS DISTINCT FROM i.image -> s.key)
               AND (s.by_user OR NOT i.inserted OR w.value IS NOT NULL AND w.value <> 'null') END;
END
$$;
COMMENT ON FUNCTION iasql_internal.later_values(bigint, text, jsonb) IS 'What was written since a batch was closed of the values that undoing it would write, and of the records that it would delete.';

-- Who refers to what the batch inserted, by a write that came later, keeps that too; and so does what is kept itself.
CREATE OR REPLACE FUNCTION iasql_internal.later_references(batch bigint, "table" text, inserted bigint[], depth integer DEFAULT 0)
RETURNS TABLE (record_id bigint, by_table text, by_record bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET row_security = off AS $$
#variable_conflict use_column
DECLARE
    child  record;
    closed bigint := iasql_internal.closing_entry(batch);
    ours   bigint[]; -- that the batch has inserted, too
    kept   bigint[];
BEGIN
    FOR child IN
        SELECT m.name, format('public.%I p JOIN public.%I x ON (%s) = (%s) WHERE p.id = ANY ($1)', later_references."table", m.name, r.theirs, r.ours) AS referring
        FROM iasql_internal.managed_table m
        CROSS JOIN LATERAL iasql_internal.references_of(to_regclass(format('public.%I', m.name))) r
        WHERE r.parent = later_references."table" AND depth < 10 AND inserted <> '{}'
    LOOP
        EXECUTE format('SELECT array_agg(DISTINCT x.id) FROM %s AND x.id IN (
                            SELECT l.record_id FROM public.iasql_audit_log l
                            WHERE l.transaction_id = $2 AND l.table_name = $3 AND l.origin = ''user'' AND l.change_type = ''INSERT'')', child.referring)
        INTO ours USING inserted, batch, child.name;
        kept := '{}';
        IF ours IS NOT NULL THEN
            kept := ARRAY(SELECT r.record_id FROM iasql_internal.later_references(batch, child.name, ours, depth + 1) r
                          UNION
                          SELECT v.record_id FROM iasql_internal.later_values(batch, child.name, (
                              SELECT jsonb_agg(jsonb_build_object('record_id', o.id, 'inserted', true)) FROM unnest(ours) o (id))) v);
        END IF;
        RETURN QUERY EXECUTE format(
            'SELECT p.id, $4, min(x.id) FROM %s AND (x.id = ANY ($3) OR EXISTS (
                 SELECT FROM public.iasql_audit_log l WHERE l.record_id = x.id AND l.table_name = $4 AND l.id > $2 AND l.origin = ''user''
                   AND l.change_type IN (''INSERT'', ''UPDATE''))) GROUP BY p.id', child.referring)
        USING inserted, closed, kept, child.name;
    END LOOP;
END
$$;
COMMENT ON FUNCTION iasql_internal.later_references(bigint, text, bigint[], integer) IS 'Which records that a batch inserted are referred to by what users have written since.';

-- images is what revert_batch is about to write of a table. Returned is the same without what came later.
CREATE OR REPLACE FUNCTION iasql_internal.without_later(batch bigint, "table" text, images jsonb) RETURNS jsonb
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET row_security = off AS $$
DECLARE
    kept  jsonb;
    there bigint[];
    one   record;
    n     bigint := 0;
BEGIN
    EXECUTE format('SELECT array_agg(t.id) FROM public.%I t WHERE t.id IN (SELECT i.record_id FROM jsonb_to_recordset($1) i (record_id bigint))', "table") INTO there USING images;
    WITH image AS (
        SELECT i.*, i.record_id = ANY (coalesce(there, '{}')) AS there, (
                   SELECT l.change_type = 'DELETE' FROM public.iasql_audit_log l
                   WHERE l.transaction_id = without_later.batch AND l.table_name = without_later."table" AND l.record_id = i.record_id AND l.origin = 'user'
                   ORDER BY l.id DESC LIMIT 1) AS deleted
        FROM jsonb_to_recordset(images) i (record_id bigint, inserted boolean, adopted boolean)
    ), found_ AS (
        SELECT v.record_id, array_agg(v.column_name ORDER BY v.column_name) AS columns, i.inserted AS whole,
               CASE WHEN i.inserted THEN 'it stays, as it was changed since' ELSE 'what was written since stays' END AS why
        FROM iasql_internal.later_values(batch, "table", images) v JOIN image i USING (record_id) GROUP BY v.record_id, i.inserted
        UNION ALL
        SELECT r.record_id, NULL, true, format('it stays, as record %s of %s refers to it since', min(r.by_record), min(r.by_table))
        FROM iasql_internal.later_references(batch, "table", ARRAY(SELECT i.record_id FROM image i WHERE i.inserted)) r GROUP BY r.record_id
        UNION ALL
        SELECT i.record_id, NULL, true, CASE WHEN i.deleted THEN 'it is there again, and stays as it is' ELSE 'it was deleted since, and stays so' END
        FROM image i WHERE NOT i.inserted AND NOT i.adopted AND i.deleted = i.there
    )
    SELECT jsonb_agg(to_jsonb(f) ORDER BY f.record_id) INTO kept FROM found_ f;
    IF kept IS NULL THEN
        RETURN images;
    END IF;
    FOR one IN SELECT * FROM jsonb_to_recordset(kept) k (record_id bigint, columns text[], why text) LIMIT 50 LOOP
        n := n + 1;
        RAISE WARNING 'record % of %: %', one.record_id, "table", concat(one.why, ': ' || array_to_string(one.columns, ', '));
    END LOOP;
    IF jsonb_array_length(kept) > n THEN
        RAISE WARNING 'so it is with % more records of %', jsonb_array_length(kept) - n, "table";
    END IF;
    RETURN (SELECT coalesce(jsonb_agg(CASE k.columns WHEN '{}' THEN i.j ELSE jsonb_set(i.j, '{image}', (i.j -> 'image') - k.columns) END), '[]')
            FROM jsonb_array_elements(images) i (j)
            LEFT JOIN LATERAL (SELECT coalesce(array_agg(c) FILTER (WHERE c IS NOT NULL), '{}') AS columns, coalesce(bool_or(r.whole), false) AS whole
                               FROM jsonb_to_recordset(kept) r (record_id bigint, columns text[], whole boolean) LEFT JOIN LATERAL unnest(r.columns) c ON true
                               WHERE r.record_id = (i.j ->> 'record_id')::bigint) k ON true
            WHERE NOT k.whole);
END
$$;
COMMENT ON FUNCTION iasql_internal.without_later(bigint, text, jsonb) IS 'What undoing a batch writes of a table, without what was written since, of which it warns.';
