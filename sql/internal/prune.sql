CREATE OR REPLACE FUNCTION iasql_internal.log_since() RETURNS timestamptz
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
RETURN (SELECT p.log_since FROM iasql_internal.pruning p);
COMMENT ON FUNCTION iasql_internal.log_since() IS 'Since when the audit log is whole: older rows may have been deleted.';

-- What was a part comes back as one from the audit log, by a rollback or an undo: until that has forgotten it, too.
CREATE OR REPLACE FUNCTION iasql_internal.prune_parts() RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET row_security = off AS $$
DECLARE
    name text;
BEGIN
    FOR name IN SELECT DISTINCT p.table_name FROM iasql_internal.part p LOOP
        EXECUTE format('DELETE FROM iasql_internal.part p
                        WHERE p.table_name = %1$L AND NOT EXISTS (SELECT FROM public.%1$I t WHERE t.id = p.record_id)
                          AND NOT EXISTS (SELECT FROM public.iasql_audit_log l WHERE l.record_id = p.record_id AND l.table_name = p.table_name)', name);
    END LOOP;
END
$$;
COMMENT ON FUNCTION iasql_internal.prune_parts() IS 'Forgets of which instances records were parts that are gone, and that no rollback can bring back.';

-- Old rows go in bounded numbers. What is not settled, not ended or not answered stays, whatever its age, and so does all
-- since the oldest open batch began, which undoing it may need.
CREATE OR REPLACE FUNCTION iasql_internal.prune(most bigint DEFAULT 20000) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    old   timestamptz := least(now() - iasql_internal.setting('audit_retention')::interval,
                               (SELECT min(b.opened_at) FROM iasql_internal.batch b WHERE b.closed_at IS NULL));
    n     bigint;
    total bigint := 0;
    full_ boolean := false;
BEGIN
    DELETE FROM public.iasql_audit_log l WHERE l.id IN (
        SELECT k.id FROM public.iasql_audit_log k
        WHERE k.ts < old AND k.settled AND NOT EXISTS (SELECT FROM public.iasql_conflicts c WHERE c.audit_id = k.id AND c.resolved IS NULL)
        LIMIT most);
    GET DIAGNOSTICS n = ROW_COUNT;
    total := total + n;
    full_ := full_ OR n = most;
    IF n > 0 THEN
        UPDATE iasql_internal.pruning p SET log_since = greatest(p.log_since, old);
    END IF;
    DELETE FROM public.iasql_conflicts c WHERE c.id IN (
        SELECT k.id FROM public.iasql_conflicts k
        WHERE k.at < old AND k.resolved IS NOT NULL
          AND NOT EXISTS (SELECT FROM public.iasql_audit_log l WHERE l.id = k.audit_id AND NOT l.settled)
        LIMIT most);
    GET DIAGNOSTICS n = ROW_COUNT;
    total := total + n;
    full_ := full_ OR n = most;
    DELETE FROM public.iasql_operations o WHERE o.id IN (
        SELECT k.id FROM public.iasql_operations k WHERE k.ended < old LIMIT most);
    GET DIAGNOSTICS n = ROW_COUNT;
    total := total + n;
    full_ := full_ OR n = most;
    DELETE FROM public.iasql_cycles c WHERE c.id IN (
        SELECT k.id FROM public.iasql_cycles k
        WHERE k.started < old AND k.ended < old
          AND EXISTS (SELECT FROM public.iasql_cycles later WHERE later.account = k.account AND later.kind = k.kind AND later.ended > k.ended)
        LIMIT most);
    GET DIAGNOSTICS n = ROW_COUNT;
    total := total + n;
    full_ := full_ OR n = most;
    DELETE FROM iasql_internal.request r WHERE r.id IN (
        SELECT k.id FROM iasql_internal.request k WHERE k.ended < old ORDER BY k.id LIMIT most);
    GET DIAGNOSTICS n = ROW_COUNT;
    total := total + n;
    full_ := full_ OR n = most;
    -- What was said of a batch goes when the rest of its life does.
    DELETE FROM public.iasql_batch_comments c WHERE c.id IN (
        SELECT k.id FROM public.iasql_batch_comments k JOIN iasql_internal.batch b ON b.id = k.batch WHERE b.closed_at < old LIMIT most);
    GET DIAGNOSTICS n = ROW_COUNT;
    total := total + n;
    full_ := full_ OR n = most;
    PERFORM iasql_internal.prune_parts();
    -- Permits that their transaction has not used; nobody else can use them.
    DELETE FROM iasql_internal.permit p WHERE p.xid <> pg_current_xact_id();
    -- Events are for looking and for naming who it was; both is done within hours, and the audit log keeps what they told. Who
    -- has changed what an open batch has staged its reviewer is to know later, too.
    DELETE FROM iasql_internal.cloud_event e WHERE (e.account, e.id) IN (
        SELECT k.account, k.id FROM iasql_internal.cloud_event k
        WHERE k.received < now() - interval '6 hours'
          AND NOT (k.received > now() - interval '7 days' AND EXISTS (
              SELECT FROM iasql_internal.hint h JOIN iasql_internal.staged_key s ON s.key = h.value AND s.table_name = h.table_name AND s.account = h.account
              WHERE h.account = k.account AND h.event = k.id))
        LIMIT most);
    GET DIAGNOSTICS n = ROW_COUNT;
    total := total + n;
    full_ := full_ OR n = most;
    DELETE FROM iasql_internal.own_request r WHERE r.id IN (
        SELECT k.id FROM iasql_internal.own_request k WHERE k.at < now() - interval '1 day' LIMIT most);
    GET DIAGNOSTICS n = ROW_COUNT;
    total := total + n;
    full_ := full_ OR n = most;
    PERFORM iasql_internal.fold_changes();
    UPDATE iasql_internal.pruning p SET last_run = CASE WHEN full_ THEN '-infinity' ELSE clock_timestamp() END;
    RETURN total;
END
$$;
COMMENT ON FUNCTION iasql_internal.prune(bigint) IS 'Deletes what is older than the setting audit_retention: settled audit rows, resolved conflicts, ended operations and cycles, answered requests, comments on closed batches; and events after a few hours; returns how many rows.';

CREATE OR REPLACE FUNCTION iasql_internal.prune_hourly() RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM FROM iasql_internal.pruning p WHERE p.last_run < now() - interval '1 hour' FOR UPDATE SKIP LOCKED;
    IF FOUND THEN
        PERFORM iasql_internal.prune();
    END IF;
END
$$;
COMMENT ON FUNCTION iasql_internal.prune_hourly() IS 'Prunes if the last time is an hour ago and nobody else does.';
