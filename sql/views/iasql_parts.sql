CREATE OR REPLACE VIEW iasql_internal.composed WITH (security_barrier) AS
SELECT p.composition, p.instance, p.part, p.key, p.table_name, p.record_id
FROM iasql_internal.part p
WHERE NOT p.table_name = ANY ((SELECT iasql_internal.restricted())::text[])
   OR (p.table_name, p.record_id) IN (SELECT s.table_name, s.record_id FROM iasql_internal.seen() s);
COMMENT ON VIEW iasql_internal.composed IS 'Which records were made as parts of instances, as far as grants and row-level security let the caller see them; also of records that are gone.';

-- What is compared are the columns that the caller may read.
CREATE OR REPLACE FUNCTION iasql_internal.parts(of_composition text, of_instance bigint)
RETURNS TABLE (composition text, instance bigint, part text, key text, table_name text, record_id bigint, edited text[])
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    name  text;
    instances jsonb;
    there jsonb;
    has   jsonb;
    of    iasql_internal.composition_part;
BEGIN
    FOR name IN
        SELECT c.name FROM iasql_internal.composition c JOIN pg_class t ON t.relname = c.name AND t.relnamespace = 'public'::regnamespace
        WHERE has_table_privilege(t.oid, 'SELECT') AND c.name = coalesce(of_composition, c.name) ORDER BY c.name
    LOOP
        EXECUTE format('SELECT jsonb_agg(to_jsonb(i)) FROM public.%I i WHERE $1 IS NULL OR i.id = $1', name) INTO instances USING of_instance;
        CONTINUE WHEN instances IS NULL;
        has := '[]';
        FOR of IN
            SELECT p.* FROM iasql_internal.composition_part p JOIN pg_class t ON t.relname = p.table_name AND t.relnamespace = 'public'::regnamespace
            JOIN pg_attribute a ON a.attrelid = t.oid AND a.attname = 'id'
            WHERE p.composition = name AND has_column_privilege(t.oid, a.attnum, 'SELECT') ORDER BY p.place
        LOOP
            EXECUTE format('SELECT coalesce(jsonb_agg(jsonb_build_object(''instance'', c.instance, ''part'', c.part, ''key'', c.key, ''id'', t.id, ''row'', %2$s)), ''[]'')
                            FROM iasql_internal.composed c
                            JOIN jsonb_to_recordset($1) i (id bigint) ON i.id = c.instance
                            JOIN public.%1$I t ON t.id = c.record_id
                            WHERE c.composition = $2 AND c.part = $3 AND c.table_name = %1$L', of.table_name,
                           coalesce((SELECT format('jsonb_build_object(%s)', string_agg(format('%1$L, t.%1$I', a.attname), ', '))
                                     FROM pg_attribute a
                                     WHERE a.attrelid = format('public.%I', of.table_name)::regclass AND a.attname = ANY (of.columns)
                                       AND has_column_privilege(a.attrelid, a.attnum, 'SELECT')), '''{}''::jsonb'))
            INTO there USING instances, name, of.part;
            has := has || (SELECT coalesce(jsonb_agg(t - 'row'), '[]') FROM jsonb_array_elements(there) t);
            RETURN QUERY
            SELECT name, t.instance, of.part, t.key, of.table_name, t.id, coalesce(e.columns, '{}')
            FROM jsonb_to_recordset(there) t (instance bigint, key text, id bigint, row jsonb)
            LEFT JOIN jsonb_to_recordset(iasql_internal.wanted(name, of.part, instances, has)) w (instance bigint, key text, row jsonb)
                ON w.instance = t.instance AND w.key = t.key
            CROSS JOIN LATERAL (SELECT array_agg(k.key ORDER BY k.key) AS columns FROM jsonb_each(w.row) k
                                WHERE k.value <> 'null' AND t.row ? k.key AND k.value <> t.row -> k.key) e;
        END LOOP;
        -- What the engine has made for parts.
        FOR of IN
            SELECT DISTINCT name, m.part, NULL::integer, m.table_name, NULL::text[]
            FROM iasql_internal.composed m JOIN jsonb_to_recordset(instances) i (id bigint) ON i.id = m.instance
            JOIN pg_class t ON t.relname = m.table_name AND t.relnamespace = 'public'::regnamespace
            JOIN pg_attribute a ON a.attrelid = t.oid AND a.attname = 'id'
            WHERE m.composition = name AND has_column_privilege(t.oid, a.attnum, 'SELECT')
              AND NOT EXISTS (SELECT FROM iasql_internal.composition_part p WHERE p.composition = name AND p.part = m.part)
        LOOP
            RETURN QUERY EXECUTE format('SELECT c.composition, c.instance, c.part, c.key, c.table_name, t.id, ''{}''::text[] FROM iasql_internal.composed c
                                         JOIN jsonb_to_recordset($1) i (id bigint) ON i.id = c.instance JOIN public.%1$I t ON t.id = c.record_id
                                         WHERE c.composition = $2 AND c.part = $3 AND c.table_name = %1$L', of.table_name) USING instances, name, of.part;
        END LOOP;
    END LOOP;
END
$$;
COMMENT ON FUNCTION iasql_internal.parts(text, bigint) IS 'Rows of the view iasql_parts: of one composition, or instance, if one is given.';

CREATE OR REPLACE VIEW public.iasql_parts WITH (security_barrier) AS
SELECT p.composition, p.instance, p.part, p.key, p.table_name, p.record_id, p.edited FROM iasql_internal.parts(NULL, NULL) p;
COMMENT ON VIEW public.iasql_parts IS 'The records that instances of compositions have, of those that you may see.';
COMMENT ON COLUMN public.iasql_parts.composition IS 'The composition, which is the table of its instances.';
COMMENT ON COLUMN public.iasql_parts.instance IS 'The instance: its column id.';
COMMENT ON COLUMN public.iasql_parts.part IS 'Which of the composition''s parts it is.';
COMMENT ON COLUMN public.iasql_parts.key IS 'What tells it apart from the instance''s other records of that part.';
COMMENT ON COLUMN public.iasql_parts.table_name IS 'The table of the record.';
COMMENT ON COLUMN public.iasql_parts.record_id IS 'The record: its column id.';
COMMENT ON COLUMN public.iasql_parts.edited IS 'The columns that are otherwise than the composition says, because somebody has changed them in the record or in the cloud. An instance''s change leaves them alone, unless it is about them.';
