-- Made from the comments alone, in lines that fit 100 characters of psql's expanded display (\x auto). A function of a module that it does not name as its own belongs to the most basic module that
-- all modules whose column defaults call it have in common.
CREATE OR REPLACE FUNCTION public.iasql_help()
RETURNS TABLE (module text, name text, signature text, description text, sample_usage text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    WITH RECURSIVE installed AS (
        SELECT m.name, m.dependencies FROM iasql_internal.module m WHERE m.installed IS NOT NULL
    ), needs (module, needed) AS (
        SELECT i.name, i.name FROM installed i
        UNION
        SELECT n.module, d FROM needs n JOIN installed i ON i.name = n.needed CROSS JOIN LATERAL unnest(i.dependencies) d
    ), functions AS (
        SELECT p.oid, p.proname::text AS name, obj_description(p.oid, 'pg_proc') AS comment,
               format('%s(%s)%s', p.proname, pg_get_function_arguments(p.oid), ' RETURNS ' || pg_get_function_result(p.oid)) AS signature,
               p.proname LIKE 'iasql\_%' AS platform
        FROM pg_proc p
        WHERE p.pronamespace = 'public'::regnamespace AND p.prokind IN ('f', 'p') AND p.prorettype <> 'trigger'::regtype
          AND p.proowner = (SELECT r.oid FROM pg_roles r WHERE r.rolname = 'iasql_engine')
    )
    SELECT h.module, h.name, iasql_internal.folded(h.signature, 84), iasql_internal.folded(h.description, 84), h.sample_usage FROM (
    SELECT CASE WHEN f.platform THEN 'iasql_platform' ELSE coalesce((
               SELECT m.name FROM iasql_internal.module m WHERE m.installed IS NOT NULL AND f.name = ANY (m.functions)), (
               SELECT i.name FROM installed i
               WHERE NOT EXISTS (
                   SELECT FROM pg_depend d
                   JOIN pg_attrdef a ON a.oid = d.objid
                   JOIN pg_class c ON c.oid = a.adrelid
                   JOIN public.iasql_tables t ON t."table" = c.relname AND c.relnamespace = 'public'::regnamespace
                   WHERE d.classid = 'pg_attrdef'::regclass AND d.refclassid = 'pg_proc'::regclass AND d.refobjid = f.oid
                     AND NOT EXISTS (SELECT FROM needs n WHERE n.module = t.module AND n.needed = i.name))
               ORDER BY cardinality(i.dependencies), i.name
               LIMIT 1)) END AS module,
           f.name, f.signature,
           trim(regexp_replace(f.comment, '\s*Sample( usage)?:.*$', '')) AS description,
           (regexp_match(f.comment, 'Sample(?: usage)?:\s*(.*)$'))[1] AS sample_usage
    FROM functions f
    UNION ALL
    SELECT t.module, c.relname::text,
           format('TABLE %I (%s)', c.relname, (SELECT string_agg(format('%I %s', a.attname, format_type(a.atttypid, a.atttypmod)), ', ' ORDER BY a.attnum)
                                               FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped)),
           obj_description(c.oid, 'pg_class'),
           coalesce((SELECT format('INSERT INTO %I (%s) VALUES (%s)', c.relname, string_agg(quote_ident(a.attname), ', ' ORDER BY a.attnum), string_agg('…', ', '))
                     FROM pg_attribute a
                     WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND NOT a.atthasdef AND a.attidentity = ''
                       AND (a.attnotnull OR a.attname = ANY ((SELECT m.required FROM iasql_internal.managed_table m WHERE m.name = c.relname)::text[]))),
                    format('INSERT INTO %I DEFAULT VALUES', c.relname))
    FROM public.iasql_tables t
    JOIN iasql_internal.resource_type r ON r.name = t.module
    JOIN pg_class c ON c.relname = t."table" AND c.relnamespace = 'public'::regnamespace
    ) h
    ORDER BY h.module IS DISTINCT FROM 'iasql_platform', h.module, h.name, h.signature;
END;
COMMENT ON FUNCTION public.iasql_help() IS
$$Every function and procedure, and every table of a resource type, with what it does and a sample of its use.
Sample: SELECT name, description FROM iasql_help() WHERE module = 'iasql_platform'$$;
