-- One statement over all tables that have tags, with the caller's own rights: grants on the two columns, and policies.
CREATE OR REPLACE FUNCTION iasql_internal.tags() RETURNS TABLE (table_name text, record_id bigint, key text, value text)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    query text;
BEGIN
    SELECT string_agg(format(
               $query$SELECT %1$L::text, t.id, e.key, e.value
                      FROM public.%1$I t CROSS JOIN LATERAL jsonb_each_text(t.tags) e
                      WHERE jsonb_typeof(t.tags) = 'object'$query$, m."table"), ' UNION ALL ' ORDER BY m."table") INTO query
    FROM public.iasql_tables m
    JOIN pg_class c ON c.relname = m."table" AND c.relnamespace = 'public'::regnamespace
    JOIN pg_attribute i ON i.attrelid = c.oid AND i.attname = 'id'
    JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'tags' AND a.atttypid = 'jsonb'::regtype AND NOT a.attisdropped
    WHERE has_column_privilege(i.attrelid, i.attnum, 'SELECT') AND has_column_privilege(a.attrelid, a.attnum, 'SELECT');
    IF query IS NOT NULL THEN
        RETURN QUERY EXECUTE query;
    END IF;
END
$$;
COMMENT ON FUNCTION iasql_internal.tags() IS 'Rows of the view iasql_tags.';

CREATE OR REPLACE VIEW public.iasql_tags WITH (security_barrier) AS
SELECT t.table_name, t.record_id, t.key, t.value FROM iasql_internal.tags() t;
COMMENT ON VIEW public.iasql_tags IS 'Every tag of every record that you may read, one a row. To change one, update the column tags of its record.';
COMMENT ON COLUMN public.iasql_tags.table_name IS 'The table of the record.';
COMMENT ON COLUMN public.iasql_tags.record_id IS 'The record: its column id.';
COMMENT ON COLUMN public.iasql_tags.key IS 'What the tag is called.';
COMMENT ON COLUMN public.iasql_tags.value IS 'What the tag says.';

CREATE OR REPLACE VIEW public.iasql_tag_costs WITH (security_barrier) AS
SELECT t.key, t.value, sum(c.monthly) AS monthly, iasql_internal.currency() AS currency, count(*) AS records, count(*) - count(c.monthly) AS unknown
FROM public.iasql_tags t JOIN public.iasql_costs c USING (table_name, record_id) GROUP BY t.key, t.value;
COMMENT ON VIEW public.iasql_tag_costs IS 'What the records with each tag cost in a month, of those that you may see.';
COMMENT ON COLUMN public.iasql_tag_costs.key IS 'What the tag is called.';
COMMENT ON COLUMN public.iasql_tag_costs.value IS 'What the tag says.';
COMMENT ON COLUMN public.iasql_tag_costs.monthly IS 'The sum of what is known; NULL if nothing is.';
COMMENT ON COLUMN public.iasql_tag_costs.currency IS 'ISO 4217 code.';
COMMENT ON COLUMN public.iasql_tag_costs.records IS 'How many records have it.';
COMMENT ON COLUMN public.iasql_tag_costs.unknown IS 'Of how many of them it is not known what they cost: iasql_costs says why.';
