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
