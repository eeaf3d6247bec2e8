CREATE OR REPLACE FUNCTION public.iasql_sync_now() RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM iasql_internal.ask('sync', '{}');
    RETURN true;
END
$$;
COMMENT ON FUNCTION public.iasql_sync_now() IS
$$Runs a full cycle of every account now, and returns when it has ended.
Sample: SELECT iasql_sync_now()$$;
