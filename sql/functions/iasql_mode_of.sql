CREATE OR REPLACE FUNCTION public.iasql_mode_explain(table_name text, record_id bigint DEFAULT NULL, column_name text DEFAULT NULL)
RETURNS SETOF public.iasql_mode
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    SELECT m.id, m.table_name, m.record_id, m.column_name, m.mode, m.until, m.since
    FROM public.iasql_mode m
    WHERE (m.table_name IS NULL OR m.table_name = iasql_mode_explain.table_name)
      AND (m.record_id IS NULL OR m.record_id = iasql_mode_explain.record_id)
      AND (m.column_name IS NULL OR m.column_name = iasql_mode_explain.column_name)
    ORDER BY 4 * (m.record_id IS NOT NULL)::integer + 2 * (m.column_name IS NOT NULL)::integer + (m.table_name IS NOT NULL)::integer DESC,
             array_position(iasql_internal.modes(), m.mode) DESC
    LIMIT 1;
END;
COMMENT ON FUNCTION public.iasql_mode_explain(text, bigint, text) IS
$$The rule of iasql_mode that decides for a table, a record or a column; no row means that none does and NORMAL holds.
Sample: SELECT * FROM iasql_mode_explain('vpc', 1, 'tags')$$;

CREATE OR REPLACE FUNCTION public.iasql_mode_of(table_name text, record_id bigint DEFAULT NULL, column_name text DEFAULT NULL)
RETURNS text
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
RETURN coalesce((SELECT r.mode FROM public.iasql_mode_explain(table_name, record_id, column_name) r), 'NORMAL');
COMMENT ON FUNCTION public.iasql_mode_of(text, bigint, text) IS
$$The mode that holds for a table, a record or a column: NORMAL, ENFORCE, TRACK or PAUSE.
Sample: SELECT iasql_mode_of('vpc', 1)$$;
