-- A changed limit makes the records due that the guard has stopped (mode_changed). One that is stopped while the limits are
-- being changed would be missed: whoever changes them does not see its state yet, and the engine does not see the change.
-- Locks keep the two apart. They are on all settings, because a change of any of them takes the states, too: whoever waits for
-- the engine here must not have what the engine waits for.
CREATE OR REPLACE FUNCTION iasql_internal.hold_limits(most integer, ratio double precision, floor integer) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM FROM public.iasql_settings FOR SHARE NOWAIT;
    RETURN (SELECT value FROM public.iasql_settings WHERE name = 'max_deletes')::integer = most
       AND (SELECT value FROM public.iasql_settings WHERE name = 'max_delete_ratio')::double precision = ratio
       AND (SELECT value FROM public.iasql_settings WHERE name = 'delete_ratio_floor')::integer = floor;
EXCEPTION WHEN lock_not_available THEN
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION iasql_internal.hold_limits(integer, double precision, integer) IS 'Whether these are the limits of the delete guard (R7): if so, they stay it until the transaction ends. NULL while somebody is changing settings.';
