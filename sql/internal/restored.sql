-- Whether the database has gone back in time: R30. Every cycle asks. The server is known by its system identifier, which a
-- dump does not take along, and its history by the timeline, of which each recovery to a point in time and each promotion of
-- a standby begins a new one (manual, sections 9.27.12 and 26.3.5). An engine that was there before says what it has seen
-- last, 0 for nothing: if that is there, nothing is lost, and the new timeline is that of a failover.
CREATE OR REPLACE FUNCTION iasql_internal.server(OUT system_identifier text, OUT timeline bigint)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    -- Services that run PostgreSQL for others may not let one ask.
    BEGIN
        system_identifier := (SELECT c.system_identifier::text FROM pg_control_system() c);
        timeline := ('x' || lpad(left(pg_walfile_name(pg_current_wal_lsn()), 8), 16, '0'))::bit(64)::bigint;
    EXCEPTION WHEN insufficient_privilege OR feature_not_supported OR object_not_in_prerequisite_state OR undefined_function THEN
        system_identifier := NULL;
        timeline := NULL;
    END;
END
$$;
COMMENT ON FUNCTION iasql_internal.server() IS 'Which server the database is on, and on which of its timelines; NULL where nobody may ask.';

-- A dump keeps the numbers of transactions, and another server counts its own anew. A number that it has not reached yet is
-- therefore one of the server before: as it stands, its change would not be seen by who waits for all that was committed, and
-- later some other transaction would take it for its own. 2 is the number of what was always there (manual, section 74.1).
-- pg_upgrade takes the count along, so that there is nothing to do.
CREATE OR REPLACE FUNCTION iasql_internal.forget_transactions() RETURNS void
LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    UPDATE public.iasql_audit_log l SET xid = '2' WHERE NOT l.settled AND l.xid >= pg_snapshot_xmax(pg_current_snapshot());
    UPDATE iasql_internal.batch b SET opened_xid = NULL WHERE b.closed_at IS NULL AND b.opened_xid >= pg_snapshot_xmax(pg_current_snapshot());
    UPDATE iasql_internal.declaration d SET ended_xid = NULL WHERE d.closed_at IS NULL AND d.ended_xid >= pg_snapshot_xmax(pg_current_snapshot());
    DELETE FROM iasql_internal.permit p WHERE p.xid >= pg_snapshot_xmax(pg_current_snapshot());
    DELETE FROM iasql_internal.reverting r WHERE r.xid >= pg_snapshot_xmax(pg_current_snapshot());
END;
COMMENT ON FUNCTION iasql_internal.forget_transactions() IS 'Takes the numbers of transactions of another server from what is open: here they would be others''.';

CREATE OR REPLACE FUNCTION iasql_internal.look_back(audit bigint, operation bigint) RETURNS text
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    known iasql_internal.server_seen;
    here record;
    lost boolean;
    why text;
BEGIN
    SELECT * INTO known FROM iasql_internal.server_seen;
    SELECT * INTO here FROM iasql_internal.server();
    lost := audit > known.left_audit AND NOT EXISTS (SELECT FROM public.iasql_audit_log l WHERE l.id = audit)
         OR operation > known.left_operation AND NOT EXISTS (SELECT FROM public.iasql_operations o WHERE o.id = operation);
    IF NOT lost AND (known.system_identifier, known.timeline) IS NOT DISTINCT FROM (here.system_identifier, here.timeline) THEN
        RETURN known.restored_why;
    END IF;
    IF known.system_identifier <> here.system_identifier THEN
        PERFORM iasql_internal.forget_transactions();
    END IF;
    IF lost THEN
        why := 'the database has gone back in time: what an engine has seen in it is not there';
    ELSIF known.system_identifier IS NULL OR here.system_identifier IS NULL OR audit + operation > 0 AND known.system_identifier = here.system_identifier THEN
        why := NULL; -- looked at for the first time; or a failover that has lost nothing
    ELSIF known.system_identifier <> here.system_identifier THEN
        why := format('the database is on another server than it was (system identifier %s, before %s): it was restored or copied', here.system_identifier, known.system_identifier);
    ELSE
        why := format('the database''s server has begun a new timeline (%s, before %s), and no engine was there before and after: it was recovered to a point in time, or a standby was promoted',
                      here.timeline, known.timeline);
    END IF;
    -- Sessions through a socket do not know the server's address: this engine's does (elsewhere.sql).
    UPDATE iasql_internal.loopback l SET host = host(inet_server_addr()), port = current_setting('port')
    WHERE inet_server_addr() IS NOT NULL AND (l.host, l.port) IS DISTINCT FROM (host(inet_server_addr()), current_setting('port'));
    UPDATE iasql_internal.server_seen i
    SET system_identifier = here.system_identifier, timeline = here.timeline,
        restored_at = CASE WHEN why IS NULL THEN i.restored_at ELSE coalesce(i.restored_at, clock_timestamp()) END,
        restored_why = CASE WHEN why IS NULL THEN i.restored_why ELSE why END,
        restored_audit = CASE WHEN why IS NULL THEN i.restored_audit ELSE coalesce(i.restored_audit, (SELECT max(l.id) FROM public.iasql_audit_log l), 0) END,
        went_back_audit = CASE WHEN why IS NULL THEN i.went_back_audit ELSE coalesce((SELECT max(l.id) FROM public.iasql_audit_log l), 0) END,
        went_back_at = CASE WHEN why IS NULL THEN i.went_back_at ELSE clock_timestamp() END,
        went_back_operation = CASE WHEN why IS NULL THEN i.went_back_operation ELSE coalesce((SELECT max(o.id) FROM public.iasql_operations o), 0) END
    RETURNING i.restored_why INTO why;
    RETURN why;
END
$$;
COMMENT ON FUNCTION iasql_internal.look_back(bigint, bigint) IS 'Why nothing is pushed until a person has said that what is pending is meant, since the database may have gone back in time; NULL if it has not. Of the audit row and the operation an engine knows that they were there.';
