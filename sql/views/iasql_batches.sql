-- No more is said of a batch than who works in it and how many records it holds: what is in the records the tables show (R20).
CREATE OR REPLACE FUNCTION iasql_internal.batches()
RETURNS TABLE (id bigint, name text, owner text, session text, since timestamptz, records bigint, phase text, outcome text, abandoned boolean)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM pg_stat_clear_snapshot(); -- or a transaction sees for ever what it saw first
    RETURN QUERY
    SELECT b.id, b.name, b.opened_by,
           (SELECT string_agg(concat(s.pid, ' (' || nullif(a.application_name, '') || ')'), ', ' ORDER BY s.since)
            FROM iasql_internal.batch_session s CROSS JOIN LATERAL pg_stat_get_activity(s.pid) a
            WHERE s.batch = b.id AND a.usesysid = s.role),
           b.opened_at,
           CASE WHEN b.closed_at IS NULL THEN (SELECT count(*) FROM iasql_internal.staged s WHERE s.batch = b.id)
                ELSE (SELECT count(DISTINCT (l.table_name, l.record_id)) FROM public.iasql_audit_log l
                      WHERE l.transaction_id = b.id AND l.origin = 'user' AND l.change_type IN ('INSERT', 'UPDATE', 'DELETE')) END,
           b.phase, b.outcome,
           b.phase = 'open' AND b.opened_at < clock_timestamp() - iasql_internal.setting('batch_timeout')::interval
    FROM iasql_internal.batch b
    WHERE b.closed_at IS NULL OR b.closed_at > clock_timestamp() - interval '7 days';
END
$$;
COMMENT ON FUNCTION iasql_internal.batches() IS 'What iasql_batches shows.';
CREATE OR REPLACE VIEW public.iasql_batches WITH (security_barrier) AS
SELECT b.id, b.name, b.owner, b.session, b.since, b.records, b.phase, b.outcome, b.abandoned FROM iasql_internal.batches() b;
COMMENT ON VIEW public.iasql_batches IS 'The batches that are open, and those of the last seven days: whose they are, how many records they hold, and what became of them.';
COMMENT ON COLUMN public.iasql_batches.id IS 'The transaction_id of the batch''s changes in iasql_audit_log.';
COMMENT ON COLUMN public.iasql_batches.owner IS 'Role that opened the batch.';
COMMENT ON COLUMN public.iasql_batches.session IS 'Process and application_name of the sessions that work in it; NULL: none does any more, and CALL iasql_join() takes it over.';
COMMENT ON COLUMN public.iasql_batches.records IS 'How many records it has changed. Nobody else can change them while it is open.';
COMMENT ON COLUMN public.iasql_batches.phase IS 'open; committing and reverting: the engine changes the cloud; closed.';
COMMENT ON COLUMN public.iasql_batches.outcome IS 'committed, rolled back, or rolled back in part; NULL while it is open.';
COMMENT ON COLUMN public.iasql_batches.abandoned IS 'It has been open for longer than the setting batch_timeout.';

CREATE OR REPLACE VIEW public.iasql_approvals WITH (security_barrier) AS
SELECT b.id AS batch, a.preview_hash, a.approved_by, a.approved_at, a.stands FROM iasql_internal.batches() b CROSS JOIN LATERAL iasql_internal.approvers(b.id) a;
COMMENT ON VIEW public.iasql_approvals IS 'Who has approved of which plan of the batches that iasql_batches shows.';
COMMENT ON COLUMN public.iasql_approvals.batch IS 'The batch: the column id of iasql_batches.';
COMMENT ON COLUMN public.iasql_approvals.preview_hash IS 'The plan, by the hash of its preview. An approval of another plan than the present one does not count.';
COMMENT ON COLUMN public.iasql_approvals.approved_by IS 'The login that approved.';
COMMENT ON COLUMN public.iasql_approvals.approved_at IS 'When.';
COMMENT ON COLUMN public.iasql_approvals.stands IS 'Whether the approver might still approve of that plan. If not, such as after he has changed something in the batch, a commit does not count him.';
