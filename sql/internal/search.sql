-- The index of the search. Triggers that keep it would make a bulk INSERT take more than the audit log leaves room for. So
-- the engine makes it of the audit log, a moment later (index_search), and a search looks besides at the records of the
-- newest changes that the index does not know. The index only says which records to look at (search_found): found() reads
-- them with the rights of who searches, and only what it reads there is a hit. So grants on tables and columns and policies
-- hold, and an entry that is out of date finds nothing.

-- The columns whose values records are found by. No secrets, no documents, and no types of somebody's own: a cast could run
-- his code (object ids below 16384 are PostgreSQL's: manual, section 74.2.2).
CREATE OR REPLACE FUNCTION iasql_internal.search_columns("table" text) RETURNS TABLE (name text, number smallint, own boolean)
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    SELECT a.attname::text, a.attnum, a.attname = ANY (m.names || m.identity)
    FROM iasql_internal.managed_table m
    JOIN pg_class c ON c.relname = m.name AND c.relnamespace = 'public'::regnamespace
    JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
    WHERE m.name = search_columns."table" AND a.attname = ANY (m.columns || m.names || m.identity) AND NOT a.attname = ANY (m.write_only)
      AND a.attname NOT IN ('account', 'region')
      AND (a.atttypid IN ('text'::regtype, 'varchar'::regtype, 'text[]'::regtype, 'inet'::regtype, 'cidr'::regtype)
           OR a.attname = 'tags' AND a.atttypid = 'jsonb'::regtype);
END;
COMMENT ON FUNCTION iasql_internal.search_columns(text) IS 'Columns of a managed table whose values its records are found by; own: what people or the cloud call the record.';

-- For many records at once, since to call a function takes longer than what there is to do for one. Of the columns that neither
-- people nor the cloud call a record by: addresses, ranges, resource names with colons, URLs and host names.
CREATE OR REPLACE FUNCTION iasql_internal.search_values(images jsonb[], own text[])
RETURNS TABLE (record_id bigint, name text, value text, called boolean, worded boolean)
LANGUAGE sql IMMUTABLE ROWS 5000 SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    WITH columns AS MATERIALIZED (
        SELECT (i.image ->> 'id')::bigint AS record_id, c.key AS name, c.value, jsonb_typeof(c.value) AS type
        FROM unnest(images) i (image) CROSS JOIN LATERAL jsonb_each(i.image) c WHERE c.key NOT IN ('id', 'region')
    )
    SELECT v.record_id, v.name, v.value, v.name = ANY (own), true
    FROM (SELECT c.record_id, c.name, c.value #>> '{}' AS value FROM columns c WHERE c.type = 'string'
          UNION ALL
          SELECT c.record_id, c.name, e.value FROM columns c CROSS JOIN LATERAL jsonb_array_elements_text(c.value) e WHERE c.type = 'array') v
    WHERE v.value <> '' AND (v.name = ANY (own) OR v.value ~
        '^([0-9]{1,3}(\.[0-9]{1,3}){3}(/[0-9]{1,2})?|[[:xdigit:]]*:[[:xdigit:]:.]+(/[0-9]{1,3})?|[^[:space:]:]+(:[^[:space:]:]*){5,}|[a-z0-9+]+://[^[:space:]]+|([A-Za-z0-9_*-]+\.)+[A-Za-z]{2,}\.?)$')
    UNION ALL
    SELECT t.record_id, t.name, t.value, t.called, t.called
    FROM (SELECT c.record_id, 'tags.' || t.key AS name, w.value, w.called
          FROM columns c CROSS JOIN LATERAL jsonb_each_text(c.value) t CROSS JOIN LATERAL (VALUES (t.value, true), (concat(t.key, '=', t.value), false)) w (value, called)
          WHERE c.name = 'tags' AND c.type = 'object') t WHERE t.value <> '';
END;
COMMENT ON FUNCTION iasql_internal.search_values(jsonb[], text[]) IS 'The values that records are found by, each with its column, or its tag. called: what people or the cloud call the record, or what a tag says. worded: the record is found by the words in it, too.';

CREATE OR REPLACE FUNCTION iasql_internal.search_terms(images jsonb[], own text[]) RETURNS TABLE (kind smallint, term text, record_id bigint)
LANGUAGE sql IMMUTABLE ROWS 10000 SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    WITH said AS MATERIALIZED (
        SELECT v.record_id, lower(left(v.value, 2000)) AS value, v.worded FROM iasql_internal.search_values(images, own) v
    )
    SELECT 0::smallint, left(s.value, 200), s.record_id FROM said s
    UNION
    -- The words of a path are those of its end.
    SELECT 1::smallint, left(w.term, 200), s.record_id
    FROM said s
    CROSS JOIN LATERAL (SELECT regexp_replace(s.value, '^.*[:/]', '') AS rest OFFSET 0) e
    CROSS JOIN LATERAL (
        SELECT e.rest AS term WHERE e.rest <> s.value
        UNION ALL
        SELECT substr(e.rest, regexp_instr(e.rest, '[^[:alnum:]][[:alnum:]]', 1, n) + 1)
        FROM generate_series(1, least(8, regexp_count(e.rest, '[^[:alnum:]][[:alnum:]]'))) n) w
    WHERE s.worded AND s.value ~ '[^[:alnum:]]' AND s.value !~ '^[0-9./:]+$' AND w.term <> '';
END;
COMMENT ON FUNCTION iasql_internal.search_terms(jsonb[], text[]) IS 'What the index of the search has of records.';

-- Called for what contains the query only.
CREATE OR REPLACE FUNCTION iasql_internal.search_rank(value text, query text) RETURNS integer
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp
RETURN CASE WHEN lower(value) = query THEN 1
            WHEN starts_with(lower(value), query) THEN 2
            WHEN lower(value) ~ ('[^[:alnum:]]' || regexp_replace(query, '[^[:alnum:][:space:]]', '\\\&', 'g')) THEN 3
            WHEN strpos(lower(value), query) > 0 THEN 4 END;
COMMENT ON FUNCTION iasql_internal.search_rank(text, text) IS 'How well a value answers a query in lower case: 1 it is the same, 2 it begins so, 3 a word in it does, 4 it contains it; NULL: not at all.';

-- With the caller's own rights.
CREATE OR REPLACE FUNCTION iasql_internal.found("table" text, ids bigint[], query text)
RETURNS TABLE (rank integer, table_name text, record_id bigint, label text, matched text, region text)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    class   oid := to_regclass(format('public.%I', "table"));
    managed iasql_internal.managed_table;
    own     text[];
    columns text;
BEGIN
    SELECT * INTO managed FROM iasql_internal.managed_table m WHERE m.name = "table";
    IF class IS NULL OR managed.name IS NULL OR NOT has_schema_privilege('public', 'USAGE')
       OR has_column_privilege(class, 'id', 'SELECT') IS NOT TRUE THEN
        RETURN;
    END IF;
    SELECT coalesce(array_agg(c.name) FILTER (WHERE c.own), '{}'), string_agg(format(', r.%I', c.name), '')
    INTO own, columns
    FROM iasql_internal.search_columns("table") c WHERE has_column_privilege(class, c.number, 'SELECT');
    IF EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = class AND a.attname = 'region' AND NOT a.attisdropped AND has_column_privilege(class, a.attnum, 'SELECT')) THEN
        columns := concat(columns, ', r.region');
    END IF;
    RETURN QUERY EXECUTE format(
        $query$WITH images AS MATERIALIZED (
                   SELECT t.id, to_jsonb(t) AS image FROM (SELECT r.id %s FROM public.%I r WHERE r.id = ANY ($1)) t
               ), hits AS (
                   SELECT v.record_id, iasql_internal.search_rank(v.value, $5) AS rank, v.called,
                          CASE WHEN v.worded THEN concat(v.name, ' = ', left(v.value, 200)) ELSE concat('tags.', left(v.value, 200)) END AS matched
                   FROM iasql_internal.search_values((SELECT array_agg(i.image) FROM images i), $4) v
                   WHERE strpos(lower(v.value), $5) > 0
                   UNION ALL
                   SELECT i.id, 1, true, 'id = ' || i.id FROM images i WHERE $5 IN (lower(%L) || ' ' || i.id, lower(%L) || '/' || i.id)
               ), best AS (
                   SELECT DISTINCT ON (h.record_id) h.* FROM hits h ORDER BY h.record_id, h.rank, h.called DESC, h.matched
               )
               SELECT b.rank, %L::text, i.id, iasql_internal.plain(left(iasql_internal.label(i.image, $2, $3), 300)), iasql_internal.plain(b.matched), i.image ->> 'region'
               FROM (SELECT * FROM best ORDER BY rank, record_id LIMIT $6) b JOIN images i ON i.id = b.record_id$query$,
        columns, "table", "table", "table", "table")
    USING ids, managed.names, managed.identity, own, query, coalesce(nullif(current_setting('iasql.search_most', true), '')::bigint, 20);
END
$$;
COMMENT ON FUNCTION iasql_internal.found(text, bigint[], text) IS 'Which of some records of a table a query in lower case finds, as far as the caller may see them.';

-- Settings of the transaction tell this view what to look for (iasql_search). What it takes of the index leaves it only
-- through found(). Of a table of which the caller does not see all it looks at more records, since most may be hidden. What
-- is contained in the midst of words is looked for in a part of the index, so that its time is bounded.
CREATE OR REPLACE VIEW iasql_internal.search_found WITH (security_barrier) AS
WITH asked AS MATERIALIZED (
    SELECT left(current_setting('iasql.search', true), 200) AS prefix, current_setting('iasql.search', true) AS query,
           current_setting('iasql.search_within', true) = 'on' AS within,
           coalesce(nullif(current_setting('iasql.search_most', true), '')::bigint, 20) AS most,
           iasql_internal.restricted() AS restricted
), looked AS (
    SELECT m.name AS table_name, e.record_id
    FROM asked a CROSS JOIN iasql_internal.managed_table m CROSS JOIN generate_series(0, 1) k (kind)
    CROSS JOIN LATERAL (
        SELECT e.record_id FROM iasql_internal.search_entry e
        WHERE e.table_name = m.name AND e.kind = k.kind::smallint AND e.term >= a.prefix AND e.term < a.prefix || chr(1114111)
        ORDER BY e.term, e.record_id LIMIT CASE WHEN m.name = ANY (a.restricted) THEN 5000 ELSE a.most END) e
    WHERE NOT a.within
    UNION ALL
    SELECT m.name, e.record_id
    FROM asked a CROSS JOIN iasql_internal.managed_table m
    CROSS JOIN LATERAL (
        SELECT x.record_id
        FROM (SELECT e.term, e.record_id FROM iasql_internal.search_entry e WHERE e.table_name = m.name AND e.kind = 0 ORDER BY e.term LIMIT 5000) x
        WHERE strpos(x.term, a.prefix) > 0
        LIMIT CASE WHEN m.name = ANY (a.restricted) THEN 5000 ELSE a.most END) e
    WHERE a.within
    UNION ALL
    SELECT l.table_name, l.record_id
    FROM (SELECT l.table_name, l.record_id, l.xid, s.seen FROM iasql_internal.search_state s
          CROSS JOIN LATERAL (SELECT l.table_name, l.record_id, l.xid FROM public.iasql_audit_log l
                              WHERE l.id > s.low ORDER BY l.id DESC LIMIT 1000) l) l
    WHERE NOT pg_visible_in_snapshot(l.xid, l.seen) AND l.table_name IS NOT NULL
    UNION ALL
    (SELECT p.table_name, p.record_id FROM iasql_internal.search_pending p ORDER BY p.n DESC LIMIT 500)
    UNION ALL
    SELECT m.name, substr(a.query, length(m.name) + 2)::bigint
    FROM asked a JOIN iasql_internal.managed_table m ON lower(m.name) = regexp_replace(a.query, '[ /][0-9]{1,18}$', '')
    WHERE a.query ~ '[ /][0-9]{1,18}$'
)
SELECT f.rank, f.table_name, f.record_id, f.label, f.matched, f.region
FROM (SELECT l.table_name, array_agg(DISTINCT l.record_id) AS ids FROM looked l GROUP BY l.table_name) g
CROSS JOIN asked a
CROSS JOIN LATERAL iasql_internal.found(g.table_name, g.ids, a.query) f;
COMMENT ON VIEW iasql_internal.search_found IS 'The records that the setting iasql.search finds, as far as grants and row-level security let the caller see them.';

-- What it takes it looks up by index, whatever the planner knows of tables that have just grown: otherwise each portion would
-- read the whole index.
CREATE OR REPLACE FUNCTION iasql_internal.index_search(most integer) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_custom_plan SET jit = off
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    state   iasql_internal.search_state;
    top     bigint;
    part    record;
    own     text[];
    columns text;
    done    bigint := 0;
BEGIN
    SELECT * INTO state FROM iasql_internal.search_state FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        RETURN false; -- another engine does it
    END IF;
    IF pg_snapshot_xmax(state.seen) > pg_snapshot_xmax(pg_current_snapshot()) THEN
        -- The database was restored into another server, whose transactions count anew: what has been seen is not known.
        FOR part IN SELECT m.name FROM iasql_internal.managed_table m WHERE to_regclass(format('public.%I', m.name)) IS NOT NULL LOOP
            EXECUTE format('INSERT INTO iasql_internal.search_pending (table_name, record_id) SELECT %L, t.id FROM public.%I t ON CONFLICT DO NOTHING', part.name, part.name);
        END LOOP;
        UPDATE iasql_internal.search_state s SET low = 0, seen = pg_current_snapshot(), next_by = pg_snapshot_xmax(pg_current_snapshot()),
            next = coalesce((SELECT max(l.id) FROM public.iasql_audit_log l), 0)
        RETURNING s.* INTO state;
    END IF;
    -- One statement, and so one snapshot: what is noted as seen is what was looked at.
    SELECT max(l.id) INTO top FROM public.iasql_audit_log l;
    IF top > state.low OR state.next > state.low THEN
        WITH changed AS (
            INSERT INTO iasql_internal.search_pending (table_name, record_id)
            SELECT l.table_name, l.record_id FROM public.iasql_audit_log l
            WHERE l.id > state.low AND NOT pg_visible_in_snapshot(l.xid, state.seen) AND l.change_type IN ('INSERT', 'UPDATE', 'DELETE')
            GROUP BY l.table_name, l.record_id ORDER BY min(l.id)
            ON CONFLICT DO NOTHING
        )
        UPDATE iasql_internal.search_state s SET seen = pg_current_snapshot(),
            low = CASE WHEN pg_snapshot_xmin(pg_current_snapshot()) >= s.next_by THEN s.next ELSE s.low END,
            next = CASE WHEN pg_snapshot_xmin(pg_current_snapshot()) >= s.next_by THEN coalesce(top, s.next) ELSE s.next END,
            next_by = CASE WHEN pg_snapshot_xmin(pg_current_snapshot()) >= s.next_by THEN pg_snapshot_xmax(pg_current_snapshot()) ELSE s.next_by END;
    END IF;
    FOR part IN
        WITH taken AS (
            DELETE FROM iasql_internal.search_pending p
            WHERE p.n IN (SELECT o.n FROM iasql_internal.search_pending o ORDER BY o.n LIMIT most)
            RETURNING p.table_name, p.record_id
        )
        SELECT t.table_name, array_agg(t.record_id) AS ids FROM taken t GROUP BY t.table_name
    LOOP
        done := done + cardinality(part.ids);
        DELETE FROM iasql_internal.search_entry e USING unnest(part.ids) i (id) WHERE e.record_id = i.id AND e.table_name = part.table_name;
        SELECT coalesce(array_agg(c.name) FILTER (WHERE c.own), '{}'), string_agg(format(', %L, r.%I', c.name, c.name), '')
        INTO own, columns FROM iasql_internal.search_columns(part.table_name) c;
        IF columns IS NOT NULL THEN
            EXECUTE format('INSERT INTO iasql_internal.search_entry (table_name, kind, term, record_id)
                            SELECT %L, s.kind, s.term, s.record_id
                            FROM iasql_internal.search_terms((SELECT array_agg(jsonb_build_object(''id'', r.id %s)) FROM public.%I r WHERE r.id = ANY ($1)), $2) s',
                           part.table_name, columns, part.table_name) USING part.ids, own;
        END IF;
    END LOOP;
    RETURN done >= most;
END
$$;
COMMENT ON FUNCTION iasql_internal.index_search(integer) IS 'Brings the index of the search up to date, for at most so many records; returns whether there are more. Engines call it.';

CREATE OR REPLACE FUNCTION iasql_internal.forget_searched() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    DELETE FROM iasql_internal.search_entry e WHERE e.table_name = OLD.name;
    DELETE FROM iasql_internal.search_pending p WHERE p.table_name = OLD.name;
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION iasql_internal.forget_searched() IS 'Row trigger: a table that is not managed any more leaves the index of the search.';
CREATE OR REPLACE TRIGGER iasql_forget_searched AFTER DELETE ON iasql_internal.managed_table
    FOR EACH ROW EXECUTE FUNCTION iasql_internal.forget_searched();
