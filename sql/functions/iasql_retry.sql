-- The permit shows that the caller may change the record (00_visible.sql).
CREATE OR REPLACE FUNCTION public.iasql_retry("table" text, id bigint) RETURNS boolean
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM iasql_internal.check_table("table");
    PERFORM iasql_internal.permit('change', "table", ARRAY[id]);
    RETURN iasql_internal.retry("table", id);
END
$$;
COMMENT ON FUNCTION public.iasql_retry(text, bigint) IS
$$Forgets that a record failed, or the removal of what it replaced, so that it is tried again at once; false if there was nothing to forget.
Sample: SELECT iasql_retry('vpc', 1)$$;

CREATE OR REPLACE FUNCTION iasql_internal.retry("table" text, id bigint) RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    owner text; -- its account
BEGIN
    IF NOT iasql_internal.permitted('change', "table", id) THEN
        PERFORM iasql_internal.refuse_hidden("table", id);
    END IF;
    UPDATE iasql_internal.record_state s SET next_attempt_at = now(), attempts = 0, unconfirmed = 0
    WHERE s.table_name = retry."table" AND s.record_id = retry.id
    RETURNING s.account INTO owner;
    -- What it has replaced has to go, also once the record itself is gone.
    WITH again AS (
        UPDATE iasql_internal.garbage g SET next_attempt_at = now(), attempts = 0
        WHERE g.table_name = retry."table" AND g.record_id = retry.id
        RETURNING g.account
    )
    SELECT coalesce(owner, max(again.account)) INTO owner FROM again;
    IF owner IS NULL THEN
        RETURN false;
    END IF;
    PERFORM iasql_internal.enqueue('push', owner);
    RETURN true;
END
$$;
COMMENT ON FUNCTION iasql_internal.retry(text, bigint) IS 'What iasql_retry does once its caller has been found to be allowed to.';
