-- A database of its own reads what it has written at once, and a cloud does not: each world says how long it may take, and
-- the setting is the most for all of them.
CREATE OR REPLACE FUNCTION iasql_internal.consistency_window(account text) RETURNS double precision
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN extract(epoch FROM least(iasql_internal.setting('consistency_window')::interval,
        (SELECT p.consistency_window FROM iasql_internal.account a JOIN iasql_internal.provider p ON p.name = a.provider
         WHERE a.name = consistency_window.account)));
END
$$;
COMMENT ON FUNCTION iasql_internal.consistency_window(text) IS 'How long a read of an account may lag behind a write of the engine, in seconds.';
