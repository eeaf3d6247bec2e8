CREATE OR REPLACE FUNCTION public.iasql_modules_list()
RETURNS TABLE (module_name text, module_version text, dependencies text[])
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    SELECT m.name, m.version::text, m.dependencies FROM iasql_internal.module m ORDER BY m.name;
END;
COMMENT ON FUNCTION public.iasql_modules_list() IS
$$Every module that can be installed.
Sample: SELECT * FROM iasql_modules_list()$$;

CREATE OR REPLACE FUNCTION public.iasql_modules_installed()
RETURNS TABLE (module_name text, module_version text, dependencies text[])
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    SELECT m.name, m.installed::text, m.dependencies FROM iasql_internal.module m WHERE m.installed IS NOT NULL ORDER BY m.name;
END;
COMMENT ON FUNCTION public.iasql_modules_installed() IS
$$Every module that is installed, with the version installed.
Sample: SELECT * FROM iasql_modules_installed()$$;
