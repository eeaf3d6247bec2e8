CREATE OR REPLACE FUNCTION public.iasql_retry("table" text, id bigint) RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    account text;
BEGIN
    UPDATE iasql_internal.record_state s SET next_attempt_at = now(), attempts = 0, unconfirmed = 0
    WHERE s.table_name = iasql_retry."table" AND s.record_id = iasql_retry.id
    RETURNING s.account INTO account;
    IF NOT FOUND THEN
        IF EXISTS (SELECT FROM public.iasql_tables t WHERE t."table" = iasql_retry."table") THEN
            RETURN false;
        END IF;
        RAISE EXCEPTION 'table % is not managed', "table"
            USING ERRCODE = 'IA006', HINT = 'SELECT "table" FROM iasql_tables lists the managed tables.';
    END IF;
    PERFORM iasql_internal.enqueue('push', account);
    RETURN true;
END
$$;
COMMENT ON FUNCTION public.iasql_retry(text, bigint) IS
$$Forgets that a record failed, so that it is tried again at once; false if there was nothing to forget.
Sample: SELECT iasql_retry('vpc', 1)$$;
