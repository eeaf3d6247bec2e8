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

CREATE OR REPLACE FUNCTION iasql_internal.check_whose(whose text) RETURNS text
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF whose IS NULL OR whose NOT IN ('mine', 'all') THEN
        RAISE EXCEPTION 'whose cannot be %', coalesce(quote_literal(iasql_internal.plain(whose)), 'NULL')
            USING ERRCODE = 'IA007', HINT = 'It is ''mine'' for the changes that the current role has committed, or ''all'' for everybody''s.';
    END IF;
    RETURN CASE whose WHEN 'mine' THEN iasql_internal.writer() END;
END
$$;
COMMENT ON FUNCTION iasql_internal.check_whose(text) IS 'The role whose changes are waited for, NULL for everybody''s; raises for another word.';

DROP FUNCTION IF EXISTS iasql_internal.unsettled(pg_snapshot);
CREATE OR REPLACE FUNCTION iasql_internal.unsettled(before pg_snapshot, who text) RETURNS bigint
LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    SELECT count(*) FROM (
        SELECT FROM public.iasql_audit_log l
        WHERE NOT l.settled AND l.change_type IN ('INSERT', 'UPDATE', 'DELETE') AND pg_visible_in_snapshot(l.xid, before)
          AND (who IS NULL OR l."user" = who) AND NOT iasql_internal.waits_in_batch(l.table_name, l.record_id)
        LIMIT 1000) l;
END;
COMMENT ON FUNCTION iasql_internal.unsettled(pg_snapshot, text) IS 'How many changes that the role, or with NULL anybody, committed before the snapshot are not settled, those of others'' batches left out, and of batches that nobody has asked to commit; 1000 means that or more.';

DROP FUNCTION IF EXISTS iasql_internal.unfinished(pg_snapshot);
CREATE OR REPLACE FUNCTION iasql_internal.unfinished(before pg_snapshot, who text)
RETURNS TABLE (table_name text, record_id bigint, retried boolean, what text)
LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    SELECT DISTINCT ON (u.table_name, u.record_id) u.table_name, u.record_id, coalesce(s.attempts > 0, false),
           coalesce(w.why, (SELECT r.why FROM iasql_internal.restored r), nullif(concat_ws(': ', s.state, nullif(s.message, '')), ''), 'is about to be looked at')
    FROM (SELECT l.table_name, l.record_id, l.account FROM public.iasql_audit_log l
          WHERE NOT l.settled AND l.change_type IN ('INSERT', 'UPDATE', 'DELETE') AND pg_visible_in_snapshot(l.xid, before)
            AND (who IS NULL OR l."user" = who) AND NOT iasql_internal.waits_in_batch(l.table_name, l.record_id)
          LIMIT 1000) u
    LEFT JOIN iasql_internal.record_state s ON s.table_name = u.table_name AND s.record_id = u.record_id
    LEFT JOIN iasql_internal.unread_place w ON w.account = u.account AND w.table_name IS NULL
    ORDER BY u.table_name, u.record_id;
END;
COMMENT ON FUNCTION iasql_internal.unfinished(pg_snapshot, text) IS 'The records whose changes that the role, or with NULL anybody, committed before the snapshot are not settled, and what each waits for; of 1000 changes at most.';

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

-- The last change of a batch is settled a moment before the batch is closed, and the batch is closed a moment before it is on record why.
DROP FUNCTION IF EXISTS iasql_internal.deferred_commits();
CREATE OR REPLACE FUNCTION iasql_internal.deferred_commits(who text) RETURNS bigint
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    SELECT (SELECT count(*) FROM iasql_internal.batch b
            WHERE b.closed_at IS NULL AND (who IS NULL OR b.opened_by = who) AND b.commit_asked IS NOT NULL)
         + (SELECT count(*) FROM iasql_internal.request r
            WHERE r.ended IS NULL AND r.kind = 'commit' AND (who IS NULL OR r.asked_by = who) AND (r.args ->> 'deferred')::boolean);
END;
COMMENT ON FUNCTION iasql_internal.deferred_commits(text) IS 'How many commits of the role, or with NULL of anybody, that took effect with their transactions have not ended: no session waits for them.';

CREATE OR REPLACE FUNCTION iasql_internal.others_only("table" text, id bigint, who text) RETURNS boolean
LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    SELECT coalesce(bool_and(l."user" <> who), false)
    FROM public.iasql_audit_log l
    WHERE NOT l.settled AND l.table_name = others_only."table" AND l.record_id = others_only.id AND l.change_type IN ('INSERT', 'UPDATE', 'DELETE');
END;
COMMENT ON FUNCTION iasql_internal.others_only(text, bigint, text) IS 'Whether changes of a record are pending, and none of them is the role''s.';

-- Records that need a person though no change of theirs is pending: what the cloud has does not fit, or is to be asked about.
-- A change of somebody else's that has failed is told apart from those: it is not the caller's.
DROP FUNCTION IF EXISTS iasql_internal.in_review();
CREATE OR REPLACE FUNCTION iasql_internal.in_review(who text) RETURNS text
LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    SELECT concat_ws('; ', (SELECT r.what FROM (
        SELECT format('%s: %s', CASE count(*) WHEN 1 THEN '1 record needs a person' ELSE count(*) || ' records need a person' END,
                  string_agg(format('record %s of %s: %s: %s', r.record_id, r.table_name, r.state, r.message), '; ' ORDER BY r.table_name, r.record_id) FILTER (WHERE r.n <= 10))
    FROM (SELECT s.*, row_number() OVER (ORDER BY s.table_name, s.record_id) AS n FROM iasql_internal.record_state s
          WHERE s.review AND s.code <> 'vanished' AND NOT iasql_internal.waits_in_batch(s.table_name, s.record_id)
            AND (who IS NULL OR NOT iasql_internal.others_only(s.table_name, s.record_id, who))) r
        HAVING count(*) > 0) r (what)),
        (SELECT string_agg(format('%s: %s', l.record, l.message), '; ' ORDER BY l.record) FROM iasql_internal.unread_line l
         WHERE EXISTS (SELECT FROM iasql_internal.unread_records())),
        (SELECT string_agg(v.what, '; ') FROM (
            SELECT format('%s records of %s: %s', count(*), s.table_name, min(s.message)) AS what
            FROM iasql_internal.record_state s WHERE s.code = 'vanished' GROUP BY s.table_name ORDER BY s.table_name) v))
    ;
END;
COMMENT ON FUNCTION iasql_internal.in_review(text) IS 'Which records need a person or cannot be read, as one text; empty if none does. Of a role: without those that only others'' changes are pending of.';

DROP FUNCTION IF EXISTS iasql_internal.failures(pg_snapshot);
CREATE OR REPLACE FUNCTION iasql_internal.failures(before pg_snapshot, who text)
RETURNS TABLE (table_name text, record_id bigint, state text, message text, mine boolean)
LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    SELECT s.table_name, s.record_id, s.state, s.message, c.mine
    FROM iasql_internal.record_state s
    CROSS JOIN LATERAL (
        SELECT bool_or(who IS NULL OR l."user" = who) AS mine FROM public.iasql_audit_log l
        WHERE l.table_name = s.table_name AND l.record_id = s.record_id AND NOT l.settled AND pg_visible_in_snapshot(l.xid, before)) c
    WHERE s.review AND s.next_attempt_at = 'infinity' AND c.mine IS NOT NULL
      AND NOT EXISTS (SELECT FROM public.iasql_audit_log l
                      WHERE l.table_name = s.table_name AND l.record_id = s.record_id AND NOT l.settled AND l.id > s.failed_at)
    ORDER BY s.table_name, s.record_id;
END;
COMMENT ON FUNCTION iasql_internal.failures(pg_snapshot, text) IS 'The records that have failed for good of those with changes committed before the snapshot; mine if one of these is of the role, or the role is NULL.';

CREATE OR REPLACE FUNCTION iasql_internal.failures_text(before pg_snapshot, who text, own boolean, OUT failed bigint, OUT failures text)
LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    SELECT count(*), string_agg(format('record %s of %s: %s: %s', f.record_id, f.table_name, f.state, f.message), E'\n' ORDER BY f.table_name, f.record_id)
    FROM iasql_internal.failures(before, who) f WHERE f.mine = own;
END;
COMMENT ON FUNCTION iasql_internal.failures_text(pg_snapshot, text, boolean) IS 'The role''s failed records, or others'', as a number and one text.';
