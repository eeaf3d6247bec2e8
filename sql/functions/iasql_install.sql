CREATE OR REPLACE FUNCTION public.iasql_install(VARIADIC modules text[] DEFAULT '{}')
RETURNS TABLE (module_name text, created_table_name text, record_count bigint)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    answer jsonb;
BEGIN
    PERFORM iasql_internal.check_modules(modules);
    answer := iasql_internal.ask('install', jsonb_build_object('modules', modules));
    IF jsonb_typeof(answer) = 'object' THEN -- an older engine answers with the tables alone
        PERFORM iasql_internal.warn(answer -> 'warnings');
        answer := answer -> 'tables';
    END IF;
    RETURN QUERY
    SELECT r.module_name, r.created_table_name, r.record_count
    FROM jsonb_to_recordset(answer)
        AS r (module_name text, created_table_name text, record_count bigint);
END
$$;
COMMENT ON FUNCTION public.iasql_install(text[]) IS
$$Installs modules and those they depend on, and imports what the cloud has: the tables created and their record counts. Again: imports what could not be read the first time. A resource type that the cloud describes is a module, too, and a pattern of names is every type that it fits (iasql_types).
Sample: SELECT * FROM iasql_install('aws_vpc', 'aws_s3')$$;

CREATE OR REPLACE FUNCTION public.iasql_uninstall(VARIADIC modules text[] DEFAULT '{}')
RETURNS TABLE (module_name text, dropped_table_name text, record_count bigint)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    hidden text;
BEGIN
    PERFORM iasql_internal.check_modules(modules);
    -- Policies and grants go with the tables, and would not come back with them.
    SELECT s.name INTO hidden FROM iasql_internal.module m CROSS JOIN LATERAL iasql_internal.secured(m.tables) s WHERE m.name = ANY (modules) LIMIT 1;
    IF FOUND AND NOT pg_has_role(iasql_internal.writer(), 'iasql_engine', 'MEMBER') THEN
        RAISE EXCEPTION 'permission denied: grants or row-level security hide something in table %, which uninstalling would drop', hidden
            USING ERRCODE = '42501', TABLE = hidden, HINT = 'A member of iasql_engine can uninstall it.';
    END IF;
    RETURN QUERY
    SELECT r.module_name, r.dropped_table_name, r.record_count
    FROM jsonb_to_recordset(iasql_internal.ask('uninstall', jsonb_build_object('modules', modules)))
        AS r (module_name text, dropped_table_name text, record_count bigint);
END
$$;
COMMENT ON FUNCTION public.iasql_uninstall(text[]) IS
$$Drops the tables of modules and leaves the cloud as it is; refused while another module depends on one or a batch has staged records of one.
Sample: SELECT * FROM iasql_uninstall('aws_sqs')$$;

CREATE OR REPLACE FUNCTION iasql_internal.check_modules(modules text[]) RETURNS void
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    wrong   text;
    nearest text;
BEGIN
    IF coalesce(cardinality(modules), 0) = 0 THEN
        RAISE EXCEPTION 'no module is named' USING ERRCODE = 'IA009', HINT = 'SELECT * FROM iasql_modules_list() lists the modules there are.';
    END IF;
    SELECT coalesce(m, 'NULL') INTO wrong FROM unnest(modules) m
    WHERE m IS NULL OR NOT EXISTS (SELECT FROM iasql_internal.module k WHERE k.name = m)
        AND m !~ '^[A-Za-z0-9*?]+(::[A-Za-z0-9*?]+)+$' LIMIT 1; -- a resource type, or a pattern of such, is the account's to know
    IF FOUND THEN
        SELECT k.name INTO nearest FROM iasql_internal.module k
        -- Swapped letters count as two edits; of equally near names the one with the same letters is meant.
        ORDER BY @extschema:fuzzystrmatch@.levenshtein(left(lower(wrong), 255), k.name),
                 (SELECT string_agg(c, '' ORDER BY c) FROM regexp_split_to_table(lower(wrong), '') c)
                 <> (SELECT string_agg(c, '' ORDER BY c) FROM regexp_split_to_table(k.name, '') c), k.name
        LIMIT 1;
        RAISE EXCEPTION 'unknown module %', quote_literal(wrong)
            USING ERRCODE = 'IA009',
                  HINT = concat('Did you mean ' || quote_literal(nearest) || '? ', 'SELECT * FROM iasql_modules_list() lists the modules there are.');
    END IF;
END
$$;
COMMENT ON FUNCTION iasql_internal.check_modules(text[]) IS 'Raises for a module name that does not exist, suggesting the nearest.';
