CREATE OR REPLACE FUNCTION public.iasql_preview_text() RETURNS TABLE (preview text)
LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
    SELECT l.line
    FROM public.iasql_preview() WITH ORDINALITY p (action, direction, table_name, id, description, changes, reason, n)
    CROSS JOIN LATERAL (
        SELECT 0 AS part, '' AS name, concat(CASE p.action WHEN 'create' THEN '+ ' WHEN 'delete' THEN '- ' WHEN 'replace' THEN '! ' ELSE '~ ' END, p.description,
                                             CASE WHEN p.direction <> 'push' THEN format(' [%s]', p.direction) END, ': ' || nullif(p.reason, '')) AS line
        UNION ALL
        -- What a new object gets by itself, or does not get, says nothing.
        SELECT 1, c.key, format('    %s: %s%s', c.key, CASE WHEN p.action <> 'create' THEN coalesce(c.value ->> 'from', 'NULL') || ' -> ' END, coalesce(c.value ->> 'to', 'NULL'))
        FROM jsonb_each(p.changes) c
        WHERE p.action <> 'create' OR c.value ->> 'to' <> '(known after apply)'
    ) h
    CROSS JOIN LATERAL string_to_table(iasql_internal.folded(h.line, 100), E'\n') WITH ORDINALITY l (line, m)
    ORDER BY p.n, h.part, h.name, l.m
$$;
COMMENT ON FUNCTION public.iasql_preview_text() IS
$$The preview for people to read, as iasql_preview has it for programs: + is created, ~ changed, ! replaced, - deleted, each with its columns.
Sample: SELECT * FROM iasql_preview_text()$$;
