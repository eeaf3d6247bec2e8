-- The records of tables that have any, as far as the caller may see them, for iasql_internal.records where there are very many
-- tables: to plan a view of a thousand takes seconds. A table without a page has no rows.
CREATE OR REPLACE FUNCTION iasql_internal.filled_records() RETURNS TABLE (table_name text, record_id bigint, account text)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    parts text;
BEGIN
    SELECT string_agg(format('SELECT %L::text, t.id, %s FROM public.%I t', m.name,
                             CASE WHEN has_column_privilege(c.oid, 'account', 'SELECT') THEN 't.account' ELSE 'NULL::text' END, m.name), ' UNION ALL ')
    INTO parts
    FROM iasql_internal.managed_table m CROSS JOIN LATERAL (SELECT to_regclass(format('public.%I', m.name)) AS oid) c
    WHERE CASE WHEN m.settings OR c.oid IS NULL OR pg_relation_size(c.oid) = 0 THEN false ELSE has_column_privilege(c.oid, 'id', 'SELECT') END;
    IF parts IS NOT NULL THEN
        RETURN QUERY EXECUTE parts;
    END IF;
END
$$;
COMMENT ON FUNCTION iasql_internal.filled_records() IS 'The records of all tables that have any, as far as the caller sees them.';
