CREATE OR REPLACE FUNCTION public.iasql_retry("table" text, id bigint) RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    owner text; -- its account
BEGIN
    UPDATE iasql_internal.record_state s SET next_attempt_at = now(), attempts = 0, unconfirmed = 0
    WHERE s.table_name = iasql_retry."table" AND s.record_id = iasql_retry.id
    RETURNING s.account INTO owner;
    -- What it has replaced has to go, also once the record itself is gone.
    WITH again AS (
        UPDATE iasql_internal.garbage g SET next_attempt_at = now(), attempts = 0
        WHERE g.table_name = iasql_retry."table" AND g.record_id = iasql_retry.id
        RETURNING g.account
    )
    SELECT coalesce(owner, max(again.account)) INTO owner FROM again;
    IF owner IS NULL THEN
        IF EXISTS (SELECT FROM public.iasql_tables t WHERE t."table" = iasql_retry."table") THEN
            RETURN false;
        END IF;
        RAISE EXCEPTION 'table % is not managed', "table"
            USING ERRCODE = 'IA006', HINT = 'SELECT "table" FROM iasql_tables lists the managed tables.';
    END IF;
    PERFORM iasql_internal.enqueue('push', owner);
    RETURN true;
END
$$;
COMMENT ON FUNCTION public.iasql_retry(text, bigint) IS
$$Forgets that a record failed, or the removal of what it replaced, so that it is tried again at once; false if there was nothing to forget.
Sample: SELECT iasql_retry('vpc', 1)$$;
