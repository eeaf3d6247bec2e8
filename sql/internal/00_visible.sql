-- What the caller may see of the managed tables, by the grants and row-level security policies that administrators put on
-- them (manual, sections 5.7 and 5.8), for everything else that speaks of their rows. With the caller's own rights: in a
-- policy, and in a view, functions run as whoever asks, whoever owns the view (manual, CREATE VIEW).

CREATE OR REPLACE FUNCTION iasql_internal.restricted() RETURNS text[]
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    SELECT coalesce(array_agg(r.name), '{}')
    FROM (SELECT t."table" AS name
          FROM public.iasql_tables t
          LEFT JOIN pg_class c ON c.relname = t."table" AND c.relnamespace = 'public'::regnamespace
          WHERE c.oid IS NULL OR row_security_active(c.oid) OR NOT has_table_privilege(c.oid, 'SELECT')
          UNION ALL
          SELECT h.name FROM iasql_internal.hidden_table h
          WHERE NOT pg_has_role('iasql_engine', 'USAGE') AND NOT EXISTS (SELECT FROM public.iasql_tables t WHERE t."table" = h.name)) r;
END;
COMMENT ON FUNCTION iasql_internal.restricted() IS 'The tables of which the caller may not see all rows or all columns.';

CREATE OR REPLACE FUNCTION iasql_internal.limited() RETURNS text[]
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    SELECT coalesce(array_agg(r.name), '{}') FROM unnest(iasql_internal.restricted()) r (name)
    LEFT JOIN pg_class c ON c.relname = r.name AND c.relnamespace = 'public'::regnamespace
    WHERE c.oid IS NULL OR NOT has_table_privilege(c.oid, 'SELECT');
END;
COMMENT ON FUNCTION iasql_internal.limited() IS 'The tables of which the caller may not see all columns.';

CREATE OR REPLACE FUNCTION iasql_internal.seen() RETURNS TABLE (table_name text, record_id bigint)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    name text;
BEGIN
    FOR name IN
        SELECT c.relname FROM unnest(iasql_internal.restricted()) r (name)
        JOIN pg_class c ON c.relname = r.name AND c.relnamespace = 'public'::regnamespace
        WHERE EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'id' AND has_column_privilege(a.attrelid, a.attnum, 'SELECT'))
    LOOP
        RETURN QUERY EXECUTE format('SELECT %L::text, t.id FROM public.%I t', name, name);
    END LOOP;
END
$$;
COMMENT ON FUNCTION iasql_internal.seen() IS 'The records that the caller sees of the tables that are restricted().';

CREATE OR REPLACE FUNCTION iasql_internal.readable("table" text, image jsonb) RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    SELECT coalesce(bool_and(a.attnum IS NOT NULL AND has_column_privilege(a.attrelid, a.attnum, 'SELECT')), true)
    FROM jsonb_object_keys(CASE WHEN jsonb_typeof(image) = 'object' THEN image ELSE '{}' END) k (name)
    LEFT JOIN (pg_attribute a JOIN pg_class c ON c.oid = a.attrelid AND c.relnamespace = 'public'::regnamespace)
        ON c.relname = readable."table" AND a.attname = k.name AND NOT a.attisdropped;
END;
COMMENT ON FUNCTION iasql_internal.readable(text, jsonb) IS 'Whether the caller may read every column that is a key of the object.';

CREATE OR REPLACE FUNCTION iasql_internal.seen_accounts() RETURNS text[]
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    definer text;
    names   text[];
    part    text[];
BEGIN
    FOR definer IN -- the tables whose rows are accounts
        SELECT c.relname FROM pg_trigger g JOIN pg_class c ON c.oid = g.tgrelid AND c.relnamespace = 'public'::regnamespace
        WHERE g.tgname = 'iasql_account' AND NOT g.tgisinternal AND c.relname = ANY (iasql_internal.restricted())
    LOOP
        part := '{}';
        IF has_column_privilege(format('public.%I', definer), 'name', 'SELECT') THEN
            EXECUTE format('SELECT coalesce(array_agg(t.name), ''{}'') FROM public.%I t', definer) INTO part;
        END IF;
        names := coalesce(names, '{}') || part;
    END LOOP;
    RETURN names;
END
$$;
COMMENT ON FUNCTION iasql_internal.seen_accounts() IS 'The accounts whose rows the caller sees; NULL: all.';
