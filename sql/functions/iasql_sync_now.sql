DROP FUNCTION IF EXISTS public.iasql_sync_now();
CREATE OR REPLACE FUNCTION public.iasql_sync_now(VARIADIC tables text[] DEFAULT '{}') RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY coalesce(tables, '{}') LOOP
        PERFORM iasql_internal.check_table(name);
    END LOOP;
    PERFORM iasql_internal.warn(iasql_internal.ask('sync', jsonb_build_object('tables', coalesce(tables, '{}'))) -> 'warnings');
    RETURN true;
END
$$;
COMMENT ON FUNCTION public.iasql_sync_now(text[]) IS
$$Runs a full cycle of every account now, of these tables or of all, and returns when it has ended. What it could not read is a warning, and in iasql_problems; that of no account it could read anything is an error.
Sample: SELECT iasql_sync_now('queue')$$;
