-- A person's word that a guard waits for (R27, R28, R30). Who may undo everything that a guard protects may give it: for
-- records that are gone that is whoever may delete them, as that is what it comes to; for the others an administrator.
CREATE OR REPLACE FUNCTION public.iasql_confirm(what text, of text DEFAULT NULL, dry_run boolean DEFAULT false) RETURNS SETOF text
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    line record;
    n    bigint := 0;
BEGIN
    PERFORM iasql_internal.refuse_standby('iasql_confirm');
    IF what = 'vanished' THEN
        IF of IS NOT NULL AND NOT EXISTS (SELECT FROM iasql_internal.record_state s WHERE s.account = of) THEN
            PERFORM iasql_internal.check_table(of);
        END IF;
        FOR line IN
            SELECT s.table_name, s.region, array_agg(s.record_id ORDER BY s.record_id) AS ids
            FROM iasql_internal.record_state s
            WHERE s.code = 'vanished' AND (of IS NULL OR of IN (s.table_name, s.account))
            GROUP BY s.table_name, s.region ORDER BY 1, 2
        LOOP
            n := n + 1;
            IF NOT dry_run THEN
                PERFORM iasql_internal.permit('delete', line.table_name, line.ids);
                PERFORM iasql_internal.confirm_vanished(line.table_name, line.ids);
            END IF;
            RETURN NEXT format('%s %s of %s%s %s gone from the cloud: %s %s from the tables',
                cardinality(line.ids), CASE cardinality(line.ids) WHEN 1 THEN 'record' ELSE 'records' END, line.table_name, ' in ' || nullif(line.region, ''),
                CASE cardinality(line.ids) WHEN 1 THEN 'is' ELSE 'are' END, CASE cardinality(line.ids) WHEN 1 THEN 'it' ELSE 'they' END,
                CASE WHEN dry_run THEN 'would go' ELSE 'go' END);
        END LOOP;
    ELSIF what = 'identity' THEN
        RETURN QUERY SELECT c.* FROM iasql_internal.confirm_identity(of, dry_run) c;
    ELSIF what = 'restored' THEN
        RETURN QUERY SELECT c.* FROM iasql_internal.confirm_restored(dry_run) c;
    ELSE
        RAISE EXCEPTION 'there is nothing called % to confirm', coalesce(quote_literal(what), 'NULL')
            USING ERRCODE = 'IA007', HINT = 'It is identity, restored or vanished: SELECT * FROM iasql_problems says which of them is asked.';
    END IF;
    IF NOT FOUND AND what <> 'vanished' OR what = 'vanished' AND n = 0 THEN
        RAISE NOTICE 'there is nothing to confirm';
    END IF;
END
$$;
COMMENT ON FUNCTION public.iasql_confirm(text, text, boolean) IS
$$A person's word that a guard waits for: vanished (records whose objects are gone, of one table or account or of all), identity (an account is another than it was), restored (the database has gone back in time). With dry_run it shows what it would let through, and lets nothing through.
Sample: SELECT iasql_confirm('vanished', dry_run => true)$$;

CREATE OR REPLACE FUNCTION iasql_internal.confirm_vanished("table" text, ids bigint[]) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    record bigint := iasql_internal.unpermitted('delete', "table", ids);
BEGIN
    IF record IS NOT NULL THEN
        RAISE EXCEPTION 'permission denied: that record % of % is gone takes the right to DELETE it', record, "table"
            USING ERRCODE = '42501', TABLE = "table", HINT = 'Let somebody confirm it who has that right: grants and row-level security of the table say who.';
    END IF;
    UPDATE public.iasql_conflicts c SET resolved = 'cloud'
    WHERE c.table_name = confirm_vanished."table" AND c.record_id = ANY (ids) AND c.resolved IS NULL AND c.audit_id = 0 AND c.column_name IS NULL AND NOT c.closed;
END
$$;
COMMENT ON FUNCTION iasql_internal.confirm_vanished(text, bigint[]) IS 'What iasql_confirm(vanished) does once its caller has been found to be allowed to.';

CREATE OR REPLACE FUNCTION iasql_internal.refuse_confirm(what text) RETURNS void
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF NOT pg_has_role(iasql_internal.writer(), 'iasql_engine', 'USAGE') THEN
        RAISE EXCEPTION 'permission denied: % is for an administrator to confirm', what
            USING ERRCODE = '42501', HINT = 'Everything may be changed because of it. Let a member of iasql_engine confirm it.';
    END IF;
END
$$;
COMMENT ON FUNCTION iasql_internal.refuse_confirm(text) IS 'Raises unless the caller is an administrator.';

CREATE OR REPLACE FUNCTION iasql_internal.confirm_identity(of text, dry_run boolean) RETURNS SETOF text
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    held record;
BEGIN
    PERFORM iasql_internal.refuse_confirm('who an account is');
    IF of IS NOT NULL AND NOT EXISTS (SELECT FROM iasql_internal.account a WHERE a.name = of) THEN
        RAISE EXCEPTION 'there is no account %', of USING ERRCODE = 'IA006', HINT = 'SELECT account FROM iasql_worlds lists the accounts.';
    END IF;
    FOR held IN SELECT w.* FROM iasql_internal.world w WHERE w.code = 'identity' AND (of IS NULL OR w.account = of) ORDER BY w.account FOR UPDATE LOOP
        IF NOT dry_run THEN
            UPDATE iasql_internal.world o SET identity = o.said, pinned_at = clock_timestamp(), pinned_by = iasql_internal.writer(), trouble = NULL, code = '', since = NULL
            WHERE o.account = held.account;
            -- Of another account nothing has been imported: ENFORCE deletes nothing there before that (R7).
            DELETE FROM iasql_internal.imported i WHERE i.account = held.account;
            DELETE FROM iasql_internal.listing l WHERE l.account = held.account;
            DELETE FROM iasql_internal.unread u WHERE u.account = held.account;
            PERFORM iasql_internal.enqueue('sync', held.account);
        END IF;
        RETURN NEXT format('account %s, which %s, %s %s: %s records are compared with what is there', held.account, coalesce('was ' || held.identity, 'nobody has confirmed yet'),
            CASE WHEN dry_run THEN 'would be' ELSE 'is' END, held.said, (SELECT count(*) FROM iasql_internal.filled_records() r WHERE r.account = held.account));
    END LOOP;
END
$$;
COMMENT ON FUNCTION iasql_internal.confirm_identity(text, boolean) IS 'What iasql_confirm(identity) does: accounts are pinned anew as who they say they are.';

CREATE OR REPLACE FUNCTION iasql_internal.confirm_restored(dry_run boolean) RETURNS SETOF text
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    i iasql_internal.server_seen;
BEGIN
    PERFORM iasql_internal.refuse_confirm('that what was pending is meant');
    SELECT * INTO i FROM iasql_internal.server_seen FOR UPDATE;
    IF i.restored_at IS NULL THEN
        RETURN;
    END IF;
    RETURN NEXT format('%s; found at %s', i.restored_why, date_trunc('second', i.restored_at));
    RETURN QUERY
        SELECT format('%s of %s %s by %s at %s', string_agg(DISTINCT l.change_type, ', '), l.table_name, l.record_id, string_agg(DISTINCT l."user", ', '), date_trunc('second', min(l.ts)))
               || CASE WHEN min(l.id) <= i.restored_audit THEN ', pending since before that' ELSE '' END
        FROM public.iasql_audit_log l
        WHERE NOT l.settled AND l.change_type IN ('INSERT', 'UPDATE', 'DELETE')
        GROUP BY l.table_name, l.record_id ORDER BY min(l.id);
    RETURN QUERY
        SELECT format('old object %s of %s %s is to be deleted', replace(g.key, E'\x1f', '|'), g.table_name, g.record_id)
        FROM iasql_internal.garbage g ORDER BY g.id;
    RETURN QUERY
        SELECT format('%s.%s for %s %s began at %s and its outcome is not known', o.service, o.action, o.table_name, o.record_id, date_trunc('second', o.started))
        FROM public.iasql_operations o WHERE o.ended IS NULL OR o.result = 'unknown' AND o.kind <> 'call' ORDER BY o.id;
    RETURN QUERY
        SELECT format('ENFORCE holds for %s: what differs there is pushed, and what has no record deleted', coalesce(concat_ws(' ', m.table_name, m.record_id, m.column_name), 'everything'))
        FROM public.iasql_mode m WHERE m.mode = 'ENFORCE' ORDER BY m.id;
    IF NOT dry_run THEN
        UPDATE iasql_internal.server_seen SET restored_at = NULL, restored_why = NULL, restored_audit = NULL;
        PERFORM iasql_internal.enqueue_sync();
    END IF;
END
$$;
COMMENT ON FUNCTION iasql_internal.confirm_restored(boolean) IS 'What iasql_confirm(restored) does: what is pending is carried out, and ENFORCE enforces again.';
