-- With the caller's own rights. The settings last until the end of the transaction, and tell only the view of found records
-- what to look for (sql/internal/search.sql). Compiling would take longer than the search.
CREATE OR REPLACE FUNCTION public.iasql_search(query text, "limit" integer DEFAULT 20)
RETURNS TABLE (rank integer, kind text, table_name text, record_id bigint, label text, matched text, region text)
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp SET jit = off AS $$
#variable_conflict use_column
DECLARE
    asked text := lower(btrim(regexp_replace(left(iasql_search.query, 2000), '[[:space:]]+', ' ', 'g')));
    most  integer := least(iasql_search."limit", 1000);
    hits  jsonb;
    more  jsonb;
BEGIN
    IF most IS NULL OR most < 1 THEN
        RAISE EXCEPTION 'the limit of a search is %, which is no number of results', coalesce(iasql_search."limit"::text, 'NULL')
            USING ERRCODE = '22023', HINT = 'It is from 1 to 1000, for each kind of result.';
    END IF;
    IF coalesce(asked, '') = '' THEN
        RETURN;
    END IF;
    PERFORM set_config('iasql.search', asked, true), set_config('iasql.search_within', 'off', true), set_config('iasql.search_most', (most + 20)::text, true);
    SELECT coalesce(jsonb_agg(to_jsonb(f)), '[]') INTO hits FROM iasql_internal.search_found f;
    IF jsonb_array_length(hits) < most AND length(asked) > 2 THEN
        PERFORM set_config('iasql.search_within', 'on', true);
        SELECT coalesce(jsonb_agg(to_jsonb(f)), '[]') INTO more FROM iasql_internal.search_found f;
        hits := hits || more;
    END IF;
    PERFORM set_config('iasql.search', '', true);
    RETURN QUERY
    SELECT f.rank, f.kind, f.table_name, f.record_id, f.label, f.matched, f.region
    FROM (
        SELECT a.*, row_number() OVER (PARTITION BY a.kind ORDER BY a.rank, length(a.label), a.label, a.table_name, a.record_id) AS n
        FROM (
            SELECT DISTINCT ON (h.table_name, h.record_id) h.rank, 'record' AS kind, h.table_name, h.record_id, h.label, h.matched, h.region
            FROM jsonb_to_recordset(hits) h (rank integer, table_name text, record_id bigint, label text, matched text, region text)
            ORDER BY h.table_name, h.record_id, h.rank
            ) a
        UNION ALL
        SELECT o.rank, o.kind, o.table_name, o.record_id, iasql_internal.plain(o.label), iasql_internal.plain(o.matched), NULL,
               row_number() OVER (PARTITION BY o.kind ORDER BY o.rank, length(o.label), o.label, o.record_id DESC)
        FROM (
            SELECT n.kind, n.table_name, n.record_id, n.label, CASE WHEN asked = n.exact THEN 'id' ELSE n.matched END AS matched,
                   CASE WHEN asked IN (n.exact, n.kind || ' ' || n.exact) THEN 1
                        WHEN strpos(lower(n.value), asked) > 0 THEN iasql_internal.search_rank(n.value, asked) END AS rank
            FROM (SELECT 'table' AS kind, t."table" AS table_name, NULL::bigint AS record_id, t."table" AS label, 'name' AS matched, t."table" AS value, NULL AS exact
                  FROM public.iasql_tables t
                  UNION ALL
                  SELECT 'batch', NULL, b.id, coalesce(b.name, 'batch ' || b.id), 'name', b.name, b.id::text FROM public.iasql_batches b
                  UNION ALL
                  SELECT 'configuration', NULL, NULL, c.name, 'name', c.name, NULL FROM public.iasql_configurations c
                  UNION ALL
                  SELECT 'module', NULL, NULL, m.module_name, 'name', m.module_name, NULL FROM public.iasql_modules_list() m
                  UNION ALL
                  SELECT 'setting', NULL, NULL, s.name, 'name', s.name, NULL FROM public.iasql_settings s) n) o
        WHERE o.rank IS NOT NULL) f
    WHERE f.n <= most
    ORDER BY f.rank, f.kind = 'record' DESC, f.kind, f.n;
END
$$;
COMMENT ON FUNCTION public.iasql_search(text, integer) IS
$$Finds records by what people or the cloud call them, their addresses and their tags (key=value), and tables, batches, configurations, modules and settings by their names. Of each kind at most so many as limit, the best first: rank 1 is the same, 2 begins so, 3 a word begins so, 4 contains it. Only what you may see.
Sample: SELECT rank, kind, table_name, record_id, label, matched FROM iasql_search('default')$$;
