CREATE OR REPLACE FUNCTION public.iasql_install(VARIADIC modules text[] DEFAULT '{}')
RETURNS TABLE (module_name text, created_table_name text, record_count bigint)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    answer jsonb;
    other  record;
BEGIN
    PERFORM iasql_internal.check_modules(modules);
    answer := iasql_internal.ask('install', jsonb_build_object('modules', iasql_internal.own_names(modules)));
    IF jsonb_typeof(answer) = 'object' THEN -- an older engine answers with the tables alone
        PERFORM iasql_internal.warn(answer -> 'warnings');
        answer := answer -> 'tables';
    END IF;
    RETURN QUERY
    SELECT r.module_name, r.created_table_name, r.record_count
    FROM jsonb_to_recordset(answer)
        AS r (module_name text, created_table_name text, record_count bigint);
    -- What was installed before it had this name keeps its table.
    FOR other IN
        SELECT n.name, n.type, m.tables[1] AS table_name FROM iasql_internal.type_name n JOIN iasql_internal.module m ON m.name = n.type
        WHERE n.name = ANY (modules) AND m.installed IS NOT NULL AND m.tables[1] <> n.name
    LOOP
        RAISE NOTICE '% is the table %, as it was installed', other.name, other.table_name
            USING HINT = format('To uninstall %1$s and to install it again makes the table %2$I, if nothing else is called that.', other.type, other.name);
    END LOOP;
END
$$;
COMMENT ON FUNCTION public.iasql_install(text[]) IS
$$Installs modules and those they depend on, and imports what the cloud has: the tables created and their record counts. Again: imports what could not be read the first time. A resource type that the cloud describes is a module, too, and a pattern of names is every type that it fits (iasql_types). Some types have a name that people know them by, too (iasql_type_names).
Sample: SELECT * FROM iasql_install('aws_vpc', 'aws_s3')$$;

CREATE OR REPLACE FUNCTION public.iasql_uninstall(VARIADIC modules text[] DEFAULT '{}')
RETURNS TABLE (module_name text, dropped_table_name text, record_count bigint)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    own    text[];
    hidden text;
BEGIN
    PERFORM iasql_internal.check_modules(modules);
    own := iasql_internal.own_names(modules);
    -- Policies and grants go with the tables, and would not come back with them.
    SELECT s.name INTO hidden FROM iasql_internal.module m CROSS JOIN LATERAL iasql_internal.secured(m.tables) s
    WHERE m.name = ANY (own) OR EXISTS (SELECT FROM unnest(own) p CROSS JOIN LATERAL iasql_internal.installed_types(p) t WHERE t = m.name) LIMIT 1;
    IF FOUND AND NOT pg_has_role(iasql_internal.writer(), 'iasql_engine', 'MEMBER') THEN
        RAISE EXCEPTION 'permission denied: grants or row-level security hide something in table %, which uninstalling would drop', hidden
            USING ERRCODE = '42501', TABLE = hidden, HINT = 'A member of iasql_engine can uninstall it.';
    END IF;
    RETURN QUERY
    SELECT r.module_name, r.dropped_table_name, r.record_count
    FROM jsonb_to_recordset(iasql_internal.ask('uninstall', jsonb_build_object('modules', own)))
        AS r (module_name text, dropped_table_name text, record_count bigint);
END
$$;
COMMENT ON FUNCTION public.iasql_uninstall(text[]) IS
$$Drops the tables of modules and leaves the cloud as it is; refused while another module depends on one or a batch has staged records of one.
Sample: SELECT * FROM iasql_uninstall('aws_sqs')$$;

CREATE OR REPLACE FUNCTION iasql_internal.own_names(modules text[]) RETURNS text[]
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    SELECT array_agg(coalesce(n.type, m.name) ORDER BY m.place)
    FROM unnest(modules) WITH ORDINALITY AS m (name, place) LEFT JOIN iasql_internal.type_name n ON n.name = m.name;
END;
COMMENT ON FUNCTION iasql_internal.own_names(text[]) IS 'Names of modules, where a resource type that is named by the name that people know it by has its own.';

CREATE OR REPLACE FUNCTION iasql_internal.installed_types(pattern text) RETURNS SETOF text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    SELECT m.name FROM iasql_internal.module m JOIN iasql_internal.resource_type t ON t.name = m.name
    WHERE m.installed IS NOT NULL
      AND m.name ILIKE translate(replace(replace(pattern || CASE WHEN pattern ~ '^[^:]+::[^:]+$' THEN '::*' ELSE '' END, '\', '\\'), '_', '\_'), '*?', '%_')
    ORDER BY m.name;
END;
COMMENT ON FUNCTION iasql_internal.installed_types(text) IS 'The installed resource types that a pattern means: * is any text and ? a letter, two parts are every type of a service, and upper and lower case are the same.';

CREATE OR REPLACE FUNCTION iasql_internal.check_modules(modules text[]) RETURNS void
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    wrong   text;
    nearest text;
    owner   text;
BEGIN
    IF coalesce(cardinality(modules), 0) = 0 THEN
        RAISE EXCEPTION 'no module is named' USING ERRCODE = 'IA009', HINT = 'SELECT * FROM iasql_modules_list() lists the modules there are.';
    END IF;
    SELECT coalesce(m, 'NULL') INTO wrong FROM unnest(modules) m
    WHERE m IS NULL OR NOT EXISTS (SELECT FROM iasql_internal.module k WHERE k.name = m) AND NOT EXISTS (SELECT FROM iasql_internal.type_name n WHERE n.name = m)
        AND m !~ '^[A-Za-z0-9*?]+(::[A-Za-z0-9*?]+)+$' LIMIT 1; -- a resource type, or a pattern of such, is the account's to know
    IF FOUND THEN
        IF wrong LIKE '%/%' THEN
            RAISE EXCEPTION '% is no module: the server reads no folders', quote_literal(wrong)
                USING ERRCODE = 'IA009', HINT = 'A composition is installed from its folder by a command: engine compose install FOLDER.';
        END IF;
        SELECT k.name INTO owner FROM iasql_internal.module k WHERE lower(wrong) = ANY (k.tables) ORDER BY k.name LIMIT 1;
        SELECT k.name INTO nearest FROM (SELECT m.name FROM iasql_internal.module m UNION SELECT n.name FROM iasql_internal.type_name n) k
        -- Swapped letters count as two edits; of equally near names the one with the same letters is meant.
        ORDER BY @extschema:fuzzystrmatch@.levenshtein(left(lower(wrong), 255), k.name),
                 (SELECT string_agg(c, '' ORDER BY c) FROM regexp_split_to_table(lower(wrong), '') c)
                 <> (SELECT string_agg(c, '' ORDER BY c) FROM regexp_split_to_table(k.name, '') c), k.name
        LIMIT 1;
        RAISE EXCEPTION 'unknown module %', quote_literal(wrong)
            USING ERRCODE = 'IA009',
                  HINT = concat(coalesce('It is a table of ' || quote_literal(owner) || '. ', 'Did you mean ' || quote_literal(nearest) || '? '),
                                'SELECT * FROM iasql_modules_list() lists the modules there are, iasql_type_names the names of resource types.');
    END IF;
END
$$;
COMMENT ON FUNCTION iasql_internal.check_modules(text[]) IS 'Raises for a module name that does not exist, suggesting the nearest, or the module that has a table of that name.';
