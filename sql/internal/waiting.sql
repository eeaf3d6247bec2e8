-- What waiting functions ask. The audit log tells the transaction of each change, and a snapshot which transactions had
-- committed when it was taken: neither times nor ids do (R2). What the caller may not see the caller does not wait for.
CREATE OR REPLACE FUNCTION iasql_internal.check_can_wait("table" text DEFAULT NULL, id bigint DEFAULT NULL) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    own record;
BEGIN
    SELECT l.table_name, l.record_id INTO own
    FROM public.iasql_audit_log l
    WHERE NOT l.settled AND l.xid = pg_current_xact_id_if_assigned() AND l.change_type IN ('INSERT', 'UPDATE', 'DELETE')
      AND (check_can_wait."table" IS NULL OR l.table_name = check_can_wait."table" AND l.record_id = check_can_wait.id)
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'this transaction cannot wait for its own change of record % of %: it is not committed', own.record_id, own.table_name
            USING ERRCODE = 'IA017', TABLE = own.table_name,
                  HINT = 'COMMIT first: only what is committed reaches the cloud. In autocommit every statement is.';
    END IF;
    IF current_setting('transaction_isolation') NOT IN ('read committed', 'read uncommitted') THEN
        RAISE EXCEPTION 'a % transaction cannot wait: it does not see what is committed while it does', current_setting('transaction_isolation')
            USING ERRCODE = 'IA018', HINT = 'Wait in a transaction of its own, or in READ COMMITTED.';
    END IF;
END
$$;
COMMENT ON FUNCTION iasql_internal.check_can_wait(text, bigint) IS 'Raises where waiting, for one record or for all, would be in vain.';

CREATE OR REPLACE FUNCTION iasql_internal.check_seconds(seconds double precision) RETURNS void
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF seconds IS NULL THEN
        RAISE EXCEPTION 'seconds cannot be NULL' USING ERRCODE = 'IA007', HINT = 'Say how long to wait at most, such as 300.';
    END IF;
END
$$;
COMMENT ON FUNCTION iasql_internal.check_seconds(double precision) IS 'Raises for a time to wait that would have no end.';

CREATE OR REPLACE FUNCTION iasql_internal.unsettled(before pg_snapshot) RETURNS bigint
LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    SELECT count(*) FROM (
        SELECT FROM public.iasql_audit_log l
        WHERE NOT l.settled AND l.change_type IN ('INSERT', 'UPDATE', 'DELETE') AND pg_visible_in_snapshot(l.xid, before)
          AND NOT iasql_internal.waits_in_batch(l.table_name, l.record_id)
        LIMIT 1000) l;
END;
COMMENT ON FUNCTION iasql_internal.unsettled(pg_snapshot) IS 'How many changes committed before the snapshot are not settled, those of others'' batches left out, and of batches that nobody has asked to commit; 1000 means that or more.';

CREATE OR REPLACE FUNCTION iasql_internal.unfinished(before pg_snapshot)
RETURNS TABLE (table_name text, record_id bigint, retried boolean, what text)
LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    SELECT DISTINCT ON (u.table_name, u.record_id) u.table_name, u.record_id, coalesce(s.attempts > 0, false),
           coalesce(nullif(concat_ws(': ', s.state, nullif(s.message, '')), ''), 'is about to be looked at')
    FROM (SELECT l.table_name, l.record_id FROM public.iasql_audit_log l
          WHERE NOT l.settled AND l.change_type IN ('INSERT', 'UPDATE', 'DELETE') AND pg_visible_in_snapshot(l.xid, before)
            AND NOT iasql_internal.waits_in_batch(l.table_name, l.record_id)
          LIMIT 1000) u
    LEFT JOIN iasql_internal.record_state s ON s.table_name = u.table_name AND s.record_id = u.record_id
    ORDER BY u.table_name, u.record_id;
END;
COMMENT ON FUNCTION iasql_internal.unfinished(pg_snapshot) IS 'The records whose changes committed before the snapshot are not settled, and what each waits for; of 1000 changes at most.';

-- A commit that took effect with its transaction had nobody to tell when it failed: its batch was undone, or is open again.
CREATE OR REPLACE FUNCTION iasql_internal.failed_commit() RETURNS text
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    newest record;
BEGIN
    SELECT l.transaction_id, l.change_type, l.message INTO newest
    FROM public.iasql_audit_log l JOIN iasql_internal.batch b ON b.id = l.transaction_id
    WHERE l.change_type IN ('ERROR', 'END_COMMIT') AND l.ts > clock_timestamp() - interval '10 minutes' AND b.opened_by = iasql_internal.writer()
    ORDER BY l.id DESC LIMIT 1;
    RETURN CASE WHEN newest.change_type = 'ERROR' THEN newest.message END;
END
$$;
COMMENT ON FUNCTION iasql_internal.failed_commit() IS 'What the caller''s newest commit failed by, if that was within ten minutes and nobody waited for it; NULL if it succeeded.';

-- The last change of a batch is settled a moment before the batch is closed.
CREATE OR REPLACE FUNCTION iasql_internal.deferred_commits() RETURNS bigint
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    SELECT count(*) FROM iasql_internal.batch b
    WHERE b.closed_at IS NULL AND b.opened_by = iasql_internal.writer() AND b.commit_asked IS NOT NULL;
END;
COMMENT ON FUNCTION iasql_internal.deferred_commits() IS 'How many commits of the caller that took effect with their transactions have not ended: no session waits for them.';

-- Records that need a person though no change of theirs is pending: what the cloud has does not fit, or is to be asked about.
CREATE OR REPLACE FUNCTION iasql_internal.in_review() RETURNS text
LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    SELECT format('%s: %s', CASE count(*) WHEN 1 THEN '1 record needs a person' ELSE count(*) || ' records need a person' END,
                  string_agg(format('record %s of %s: %s: %s', r.record_id, r.table_name, r.state, r.message), '; ' ORDER BY r.table_name, r.record_id) FILTER (WHERE r.n <= 10))
    FROM (SELECT s.*, row_number() OVER (ORDER BY s.table_name, s.record_id) AS n FROM iasql_internal.record_state s
          WHERE s.review AND NOT iasql_internal.waits_in_batch(s.table_name, s.record_id)) r
    HAVING count(*) > 0;
END;
COMMENT ON FUNCTION iasql_internal.in_review() IS 'Which records need a person, as one text; NULL if none does.';

CREATE OR REPLACE FUNCTION iasql_internal.failures(before pg_snapshot)
RETURNS TABLE (table_name text, record_id bigint, state text, message text)
LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    SELECT s.table_name, s.record_id, s.state, s.message
    FROM iasql_internal.record_state s
    WHERE s.review AND s.next_attempt_at = 'infinity'
      AND EXISTS (SELECT FROM public.iasql_audit_log l
                  WHERE l.table_name = s.table_name AND l.record_id = s.record_id AND NOT l.settled AND pg_visible_in_snapshot(l.xid, before))
      AND NOT EXISTS (SELECT FROM public.iasql_audit_log l
                      WHERE l.table_name = s.table_name AND l.record_id = s.record_id AND NOT l.settled AND l.id > s.failed_at)
    ORDER BY s.table_name, s.record_id;
END;
COMMENT ON FUNCTION iasql_internal.failures(pg_snapshot) IS 'The records that have failed for good of those with changes committed before the snapshot.';
