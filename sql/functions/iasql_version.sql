CREATE OR REPLACE FUNCTION public.iasql_version() RETURNS TABLE (version text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    SELECT v.version FROM iasql_internal.installation v;
END;
COMMENT ON FUNCTION public.iasql_version() IS
$$The version of the engine that last migrated this database.
Sample: SELECT * FROM iasql_version()$$;
