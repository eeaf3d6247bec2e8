-- Made from the comments alone. A function of a module that it does not name as its own belongs to the most basic module that
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
               LIMIT 1)) END,
           f.name, f.signature,
           trim(regexp_replace(f.comment, '\s*Sample( usage)?:.*$', '')),
           (regexp_match(f.comment, 'Sample(?: usage)?:\s*(.*)$'))[1]
    FROM functions f
    ORDER BY NOT f.platform, 1, f.name, f.signature;
END;
COMMENT ON FUNCTION public.iasql_help() IS
$$Every function and procedure, with what it does and a sample of its use.
Sample: SELECT name, description FROM iasql_help() WHERE module = 'iasql_platform'$$;
