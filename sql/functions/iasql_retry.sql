-- To have something tried again is to do it (R33): the permits show what the caller may do with the record (00_rights.sql).
CREATE OR REPLACE FUNCTION public.iasql_retry("table" text, id bigint) RETURNS boolean
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM iasql_internal.check_table("table");
    PERFORM iasql_internal.permit(d.what, "table", ARRAY[id]) FROM unnest(ARRAY['change', 'update', 'keep', 'delete', 'insert']) d (what);
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
    class oid := format('public.%I', "table")::regclass;
    who   text := iasql_internal.writer();
BEGIN
    IF NOT iasql_internal.permitted('change', "table", id) THEN
        PERFORM iasql_internal.refuse_hidden("table", id);
    END IF;
    -- What is pending of it.
    PERFORM FROM public.iasql_audit_log l
    WHERE NOT l.settled AND l.table_name = retry."table" AND l.record_id = retry.id AND l.change_type IN ('INSERT', 'UPDATE', 'DELETE')
      AND ((SELECT count(DISTINCT p.may) FROM iasql_internal.permit p
            WHERE p.xid = pg_current_xact_id_if_assigned() AND p.table_name = l.table_name AND p.record_id = l.record_id
              AND p.may IN (lower(l.change_type), CASE l.change_type WHEN 'UPDATE' THEN 'keep' END)) < CASE l.change_type WHEN 'UPDATE' THEN 2 ELSE 1 END
               -- (Of what was deleted meanwhile only the deletion is to be done.)
               AND NOT EXISTS (SELECT FROM public.iasql_audit_log d
                               WHERE NOT d.settled AND d.table_name = l.table_name AND d.record_id = l.record_id AND d.change_type = 'DELETE' AND d.id > l.id)
           OR l.change_type = 'UPDATE' AND EXISTS (
               SELECT FROM jsonb_object_keys(l.change -> 'change') k (name) JOIN pg_attribute a ON a.attrelid = class AND a.attname = k.name AND NOT a.attisdropped
               WHERE NOT has_column_privilege(who, class, a.attnum, 'UPDATE')));
    IF FOUND THEN
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
    IF iasql_internal.something_moves() THEN
        PERFORM iasql_internal.refuse_moving(owner);
    END IF;
    PERFORM iasql_internal.enqueue('push', owner);
    RETURN true;
END
$$;
COMMENT ON FUNCTION iasql_internal.retry(text, bigint) IS 'What iasql_retry does once its caller has been found to be allowed to.';
