-- Which records do not have a tag?
-- Records of all tables with tags that do not have the key.
-- asks: key = team
SELECT c.table_name, x.record_id, x.name
FROM information_schema.columns c
JOIN iasql_tables t ON t."table" = c.table_name
CROSS JOIN LATERAL XMLTABLE('/table/row'
    PASSING query_to_xml(format('SELECT id, tags ->> ''Name'' AS name FROM public.%I WHERE NOT coalesce(tags, ''{}'') ? %L', c.table_name, :'key'), false, false, '')
    COLUMNS record_id bigint PATH 'id', name text PATH 'name') x
WHERE c.table_schema = 'public' AND c.column_name = 'tags' AND c.data_type = 'jsonb'
ORDER BY c.table_name, x.record_id;
