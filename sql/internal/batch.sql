CREATE OR REPLACE FUNCTION iasql_internal.log_event(change_type text, batch bigint, message text DEFAULT NULL) RETURNS void
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    INSERT INTO public.iasql_audit_log ("user", change_type, change, message, transaction_id, settled, settled_at)
    VALUES (iasql_internal.writer(), log_event.change_type, '{}', log_event.message, log_event.batch, true, clock_timestamp());
END;
COMMENT ON FUNCTION iasql_internal.log_event(text, bigint, text) IS 'Puts the life of a batch into the audit log.';

-- A batch is opened by the transaction that calls for it, and is gone with it if that is rolled back.
DROP FUNCTION IF EXISTS iasql_internal.open_batch_for(text, xid8, bigint);
DROP FUNCTION IF EXISTS iasql_internal.begin_batch(bigint);
DROP FUNCTION IF EXISTS iasql_internal.begin_batch(text, bigint);
CREATE OR REPLACE FUNCTION iasql_internal.begin_batch(name text DEFAULT NULL, undoes bigint DEFAULT NULL, local boolean DEFAULT false) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '2s' AS $$
#variable_conflict use_column
DECLARE
    batch bigint := iasql_internal.session_batch();
    other record;
BEGIN
    PERFORM iasql_internal.refuse_standby('a batch');
    IF batch IS NOT NULL THEN
        RAISE EXCEPTION 'this session works in % already', iasql_internal.batch_text(batch)
            USING ERRCODE = 'IA020', HINT = 'CALL iasql_commit() or iasql_rollback() first. Another session can open another batch.';
    END IF;
    IF current_setting('transaction_isolation') NOT IN ('read committed', 'read uncommitted') THEN
        RAISE EXCEPTION 'a batch cannot be opened in a % transaction', current_setting('transaction_isolation')
            USING ERRCODE = 'IA021', HINT = 'Use READ COMMITTED, the default: it sees what others have staged.';
    END IF;
    IF name = '' OR name ~ '^[0-9]+$' THEN
        RAISE EXCEPTION 'a batch cannot be called %', quote_literal(name) USING ERRCODE = 'IA007', HINT = 'Its name is any text that is not a number, or NULL for none.';
    ELSIF name <> iasql_internal.plain(name) THEN
        RAISE EXCEPTION 'a batch cannot be called %: there are control characters in its name', quote_literal(iasql_internal.plain(name))
            USING ERRCODE = 'IA007', HINT = 'Its name is shown in terminals and logs. Leave out line feeds, escapes and marks of direction.';
    END IF;
    SELECT b.id, b.opened_by, date_trunc('second', b.opened_at) AS since INTO other FROM iasql_internal.batch b WHERE b.name = begin_batch.name AND b.closed_at IS NULL;
    IF NOT FOUND THEN
        INSERT INTO iasql_internal.batch (name, opened_by, opened_xid, undoes) VALUES (begin_batch.name, iasql_internal.writer(), pg_current_xact_id(), begin_batch.undoes)
        ON CONFLICT (name) WHERE closed_at IS NULL DO NOTHING RETURNING id INTO batch;
        SELECT b.id, b.opened_by, date_trunc('second', b.opened_at) AS since INTO other FROM iasql_internal.batch b WHERE batch IS NULL AND b.name = begin_batch.name AND b.closed_at IS NULL;
    END IF;
    IF batch IS NULL THEN
        RAISE EXCEPTION 'batch % (%) is open already: % opened it at %', other.id, name, iasql_internal.plain(other.opened_by), other.since
            USING ERRCODE = 'IA020', HINT = format('Take another name, or work in it: CALL iasql_join(%L).', name);
    END IF;
    PERFORM iasql_internal.work_in(batch, begin_batch.local);
    INSERT INTO iasql_internal.batch_member (batch, login, role) VALUES (batch, session_user, iasql_internal.writer());
    PERFORM iasql_internal.log_event('OPEN_TRANSACTION', batch, name);
    RETURN batch;
EXCEPTION WHEN lock_not_available THEN
    RAISE EXCEPTION 'somebody is just opening a batch called %', quote_literal(name)
        USING ERRCODE = 'IA020', HINT = 'Take another name, or join that batch once its transaction has ended.';
END
$$;
COMMENT ON FUNCTION iasql_internal.begin_batch(text, bigint, boolean) IS 'Opens a batch of the calling session.';

DROP FUNCTION IF EXISTS iasql_internal.work_in(bigint);
CREATE OR REPLACE FUNCTION iasql_internal.work_in(batch bigint, local boolean DEFAULT false) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    proof uuid;
BEGIN
    PERFORM iasql_internal.refuse_standby('a batch');
    INSERT INTO iasql_internal.batch_session AS s (role, batch) VALUES (quote_ident(session_user)::regrole, work_in.batch)
    ON CONFLICT (pid) DO UPDATE SET role = excluded.role, token = excluded.token, batch = excluded.batch, since = excluded.since
    RETURNING s.token INTO proof;
    PERFORM set_config('iasql.batch', proof::text, local);
END
$$;
COMMENT ON FUNCTION iasql_internal.work_in(bigint, boolean) IS 'Makes the calling session, or with local its transaction, one that works in a batch; until a rollback of its transaction, DISCARD ALL or RESET ALL.';

-- Whoever closes a batch says in which phase it is to be, and nobody else closes it: it has one outcome.
DROP FUNCTION IF EXISTS iasql_internal.close_batch(bigint, text);
CREATE OR REPLACE FUNCTION iasql_internal.close_batch(batch bigint, during text, outcome text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    owner record;
BEGIN
    UPDATE iasql_internal.batch b SET closed_at = clock_timestamp(), phase = 'closed', outcome = close_batch.outcome
    WHERE b.id = close_batch.batch AND b.phase = during;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'batch % was closed by somebody else: it is %', batch, coalesce((SELECT coalesce(b.outcome, 'being rolled back') FROM iasql_internal.batch b WHERE b.id = close_batch.batch), 'gone')
            USING ERRCODE = 'IA022', HINT = 'SELECT * FROM iasql_batches shows what has become of it.';
    END IF;
    PERFORM iasql_internal.close_declarations(batch, outcome);
    -- What was held back goes on.
    FOR owner IN SELECT DISTINCT s.account AS name FROM iasql_internal.staged s WHERE s.batch = close_batch.batch AND s.account IS NOT NULL ORDER BY 1 LOOP
        PERFORM iasql_internal.enqueue('push', owner.name), iasql_internal.enqueue('sync', owner.name);
    END LOOP;
    UPDATE iasql_internal.record_state r SET next_attempt_at = now()
    WHERE r.state = 'WaitingForDependencies' AND r.account IN (SELECT s.account FROM iasql_internal.staged s WHERE s.batch = close_batch.batch);
    DELETE FROM iasql_internal.staged s WHERE s.batch = close_batch.batch;
    DELETE FROM iasql_internal.staged_key k WHERE k.batch = close_batch.batch;
    DELETE FROM iasql_internal.needed n WHERE n.batch = close_batch.batch;
    -- Not that of a session that joins just now, and may wait for this in the same transaction: it counts while the batch is open.
    DELETE FROM iasql_internal.batch_session s
    WHERE s.pid IN (SELECT o.pid FROM iasql_internal.batch_session o WHERE o.batch = close_batch.batch FOR UPDATE SKIP LOCKED);
    PERFORM iasql_internal.log_event('CLOSE_TRANSACTION', batch, outcome);
END
$$;
COMMENT ON FUNCTION iasql_internal.close_batch(bigint, text, text) IS 'Closes a batch that is in that phase, and lets go of what it has staged.';

CREATE OR REPLACE FUNCTION iasql_internal.batch_progress(batch bigint, OUT total bigint, OUT done bigint, OUT retrying bigint)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    SELECT count(*), count(*) FILTER (WHERE r.settled), count(*) FILTER (WHERE NOT r.settled AND s.attempts > 0) INTO total, done, retrying
    FROM (SELECT l.table_name, l.record_id, bool_and(l.settled) AS settled FROM public.iasql_audit_log l
          WHERE l.transaction_id = batch AND l.origin = 'user' AND l.change_type IN ('INSERT', 'UPDATE', 'DELETE')
          GROUP BY l.table_name, l.record_id) r
    LEFT JOIN iasql_internal.record_state s ON s.table_name = r.table_name AND s.record_id = r.record_id;
END
$$;
COMMENT ON FUNCTION iasql_internal.batch_progress(bigint) IS 'How many records of a batch there are, how many are done, and how many are tried again.';

-- What the cloud has carried out is counted by the intent log: it is confirmed only once a read has shown it.
CREATE OR REPLACE FUNCTION iasql_internal.batch_headway(batch bigint, OUT carried_out bigint, OUT step text, OUT step_done bigint, OUT step_total bigint, OUT calls bigint)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    deed text := (SELECT CASE b.phase WHEN 'reverting' THEN 'revert' ELSE 'commit' END FROM iasql_internal.batch b WHERE b.id = batch_headway.batch);
BEGIN
    SELECT count(*) FILTER (WHERE r.settled OR EXISTS (
               SELECT FROM public.iasql_operations o JOIN public.iasql_cycles c ON c.id = o.cycle_id
               WHERE o.table_name = r.table_name AND o.record_id = r.record_id AND o.transaction_id = batch_headway.batch AND o.result = 'ok' AND c.kind = deed))
    INTO carried_out
    FROM (SELECT l.table_name, l.record_id, bool_and(l.settled) AS settled FROM public.iasql_audit_log l
          WHERE l.transaction_id = batch_headway.batch AND l.origin = 'user' AND l.change_type IN ('INSERT', 'UPDATE', 'DELETE')
          GROUP BY l.table_name, l.record_id) r;
    SELECT nullif(h.step, ''), CASE WHEN h.step <> '' THEN h.done END, CASE WHEN h.step <> '' THEN h.total END, h.calls INTO step, step_done, step_total, calls
    FROM iasql_internal.batch_headway h WHERE h.batch = batch_headway.batch AND h.at > clock_timestamp() - interval '10 seconds';
END
$$;
COMMENT ON FUNCTION iasql_internal.batch_headway(bigint) IS 'How many records of a batch the cloud has carried out, confirmed or not, and what the engine is doing for the batch just now.';

-- With the caller's rights, for it says what is in a record.
CREATE OR REPLACE FUNCTION iasql_internal.batch_message(batch bigint) RETURNS text
LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    SELECT iasql_internal.plain(format('record %s of %s: %s: %s', s.record_id, s.table_name, s.state, s.message))
    FROM iasql_internal.record_state s
    WHERE s.message <> '' AND EXISTS (SELECT FROM public.iasql_audit_log l
                                      WHERE l.transaction_id = batch_message.batch AND NOT l.settled AND l.table_name = s.table_name AND l.record_id = s.record_id)
    ORDER BY s.attempts = 0, s.since DESC, s.table_name, s.record_id LIMIT 1;
END;
COMMENT ON FUNCTION iasql_internal.batch_message(bigint) IS 'What the newest of the records that a batch still waits for says, as far as the caller may see it.';

CREATE OR REPLACE FUNCTION iasql_internal.progress_text(batch bigint) RETURNS text
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN (SELECT concat(p.done, ' of ', p.total, ' done', CASE WHEN h.carried_out > p.done THEN format(', %s carried out and not yet confirmed', h.carried_out - p.done) END,
                          CASE WHEN p.retrying > 0 THEN format(', %s retrying', p.retrying) END,
                          CASE WHEN h.step IS NOT NULL THEN format('; %s: %s of %s, %s calls answered', h.step, h.step_done, h.step_total, h.calls) END, ': ' || iasql_internal.batch_message(batch))
            FROM iasql_internal.batch_progress(batch) p CROSS JOIN LATERAL iasql_internal.batch_headway(batch) h);
END
$$;
COMMENT ON FUNCTION iasql_internal.progress_text(bigint) IS 'What a commit says while it waits.';

-- Which batch a call is about: the session''s; or, for who forces it, the only one that is open.
CREATE OR REPLACE FUNCTION iasql_internal.batch_meant(force boolean) RETURNS bigint
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    batch bigint := iasql_internal.session_batch();
    n     bigint;
BEGIN
    IF batch IS NULL AND force THEN
        SELECT count(*), min(b.id) INTO n, batch FROM iasql_internal.batch b WHERE b.closed_at IS NULL;
        IF n > 1 THEN
            RAISE EXCEPTION '% batches are open: %', n, (SELECT string_agg(iasql_internal.batch_text(b.id), ', ' ORDER BY b.id) FROM iasql_internal.batch b WHERE b.closed_at IS NULL)
                USING ERRCODE = 'IA020', HINT = 'Say which is meant: CALL iasql_join(''name or number''), then CALL iasql_rollback(true).';
        END IF;
    END IF;
    IF batch IS NULL THEN
        RAISE EXCEPTION 'no batch is open in this session' USING ERRCODE = 'IA022',
            HINT = 'CALL iasql_begin() opens one, and iasql_join(''name or number'') works in one that is open. Without a batch every change is pushed by itself. A committed batch is undone by CALL iasql_undo(transaction_id).';
    END IF;
    RETURN batch;
END
$$;
COMMENT ON FUNCTION iasql_internal.batch_meant(boolean) IS 'The batch that a call is about; raises if there is none.';

-- Whether the calling transaction has edits that nobody else can see yet.
CREATE OR REPLACE FUNCTION iasql_internal.has_own_edits() RETURNS boolean
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    SELECT EXISTS (SELECT FROM public.iasql_audit_log l
                   WHERE NOT l.settled AND l.xid = pg_current_xact_id_if_assigned())
        OR EXISTS (SELECT FROM iasql_internal.batch b
                   WHERE b.closed_at IS NULL AND b.opened_xid = pg_current_xact_id_if_assigned())
        OR EXISTS (SELECT FROM iasql_internal.declaration d
                   WHERE d.closed_at IS NULL AND d.ended_xid = pg_current_xact_id_if_assigned());
END;
COMMENT ON FUNCTION iasql_internal.has_own_edits() IS 'Whether the calling transaction has opened a batch, ended a declaration or edited managed tables, which nobody else can see.';

-- Who may work in a batch, commit it or roll it back: whoever may make its changes now (R33). What grants say of them is asked
-- here, of others' changes and, at a commit, of the caller's own. To roll back what others did is the reverse of each change;
-- what the caller did here himself and nobody has carried out he may always take back.
-- What row-level security says of the changes of others nobody can tell for somebody else, so that they are left to who made them,
-- or to an administrator. Of the caller's own it is asked again before a commit (permit_batch).
DROP FUNCTION IF EXISTS iasql_internal.check_batch(bigint);
CREATE OR REPLACE FUNCTION iasql_internal.check_batch(batch bigint, deed text) RETURNS void
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    who  text := iasql_internal.writer();
    begun boolean := EXISTS (SELECT FROM iasql_internal.batch b WHERE b.id = check_batch.batch AND b.phase <> 'open');
    edit record;
BEGIN
    WITH edits AS (
        SELECT k.table_name, k.record_id, k."user", k."user" = who AS own, k.change_type, c.oid AS class, k.change -> 'change' AS change,
               CASE WHEN deed <> 'rollback' THEN k.change_type WHEN k.change_type = 'INSERT' THEN 'DELETE' WHEN k.change_type = 'DELETE' THEN 'INSERT' ELSE 'UPDATE' END AS verb,
               NOT pg_has_role(who, c.relowner, 'USAGE') AND c.relrowsecurity AND NOT (SELECT r.rolbypassrls FROM pg_roles r WHERE r.rolname = who) AS subject
        FROM public.iasql_audit_log k
        JOIN pg_class c ON c.relname = k.table_name AND c.relnamespace = 'public'::regnamespace
        WHERE k.transaction_id = check_batch.batch AND k.origin = 'user' AND k.change_type IN ('INSERT', 'UPDATE', 'DELETE')
          AND (k."user" <> who OR deed = 'commit' OR deed = 'rollback' AND begun)
    ), columns AS (
        SELECT DISTINCT e.class, k.name FROM edits e CROSS JOIN LATERAL jsonb_object_keys(e.change) k (name) WHERE e.verb = 'UPDATE'
    ), denied AS (
        SELECT c.class, c.name FROM columns c JOIN pg_attribute a ON a.attrelid = c.class AND a.attname = c.name AND NOT a.attisdropped
        JOIN pg_class t ON t.oid = c.class JOIN iasql_internal.managed_table m ON m.name = t.relname
        WHERE NOT c.name = ANY (m.assigned) AND NOT has_column_privilege(who, c.class, a.attnum, 'UPDATE')
    )
    SELECT e.*, CASE WHEN e.subject AND NOT e.own THEN 'policy' ELSE 'grant' END AS why INTO edit
    FROM edits e
    WHERE e.subject AND NOT e.own
       OR CASE e.verb WHEN 'UPDATE' THEN EXISTS (SELECT FROM denied d WHERE d.class = e.class AND e.change ? d.name)
               WHEN 'INSERT' THEN NOT has_table_privilege(who, e.class, 'INSERT') AND NOT (e.own AND deed = 'commit' AND has_any_column_privilege(who, e.class, 'INSERT'))
               ELSE NOT has_table_privilege(who, e.class, 'DELETE') END
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'batch % holds changes of % by %, which you may not %', batch, edit.table_name, iasql_internal.plain(edit."user"), CASE deed WHEN 'rollback' THEN 'take back' ELSE 'make' END
            USING ERRCODE = '42501', TABLE = edit.table_name,
                  HINT = CASE WHEN edit.why = 'policy' THEN format('Row-level security of the table decides about its records: let %s do it, or a member of iasql_engine.', iasql_internal.plain(edit."user"))
                         ELSE format('%sask an administrator for the right to %s %s.', CASE WHEN edit.own THEN 'Somebody with the right can do it; or ' ELSE format('Let %s do it, or ', iasql_internal.plain(edit."user")) END, edit.verb, edit.table_name) END;
    ELSIF deed <> 'commit' THEN
        RETURN;
    END IF;
    -- The caller's own of tables with row-level security: the last change of each record.
    SELECT e.table_name, e.record_id INTO edit
    FROM (SELECT DISTINCT ON (k.table_name, k.record_id) k.table_name, k.record_id, k.change_type, bool_or(k.change_type = 'INSERT') OVER (PARTITION BY k.table_name, k.record_id) AS inserted
          FROM public.iasql_audit_log k
          JOIN pg_class c ON c.relname = k.table_name AND c.relnamespace = 'public'::regnamespace
          WHERE k.transaction_id = check_batch.batch AND k.origin = 'user' AND k.change_type IN ('INSERT', 'UPDATE', 'DELETE') AND k."user" = who
            AND iasql_internal.is_subject(who, c.oid)
          ORDER BY k.table_name, k.record_id, k.id DESC) e
    CROSS JOIN LATERAL unnest(CASE WHEN e.change_type = 'DELETE' THEN '{delete}' WHEN e.inserted THEN '{insert}' ELSE '{update,keep}' END::text[]) n (deed)
    WHERE NOT (e.change_type = 'DELETE' AND e.inserted)
      AND ((e.table_name, e.record_id, n.deed) IN ( -- hashed
               SELECT p.table_name, p.record_id, p.may FROM iasql_internal.permit p
               WHERE p.xid = pg_current_xact_id_if_assigned())) IS NOT TRUE
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'batch % holds a change of record % of %, which you may not make any more', batch, edit.record_id, edit.table_name
            USING ERRCODE = '42501', TABLE = edit.table_name, HINT = 'Row-level security of the table decides about its records. Roll the batch back, or let a member of iasql_engine commit it.';
    END IF;
END
$$;
COMMENT ON FUNCTION iasql_internal.check_batch(bigint, text) IS 'Raises unless the caller may make every change of a batch (join, commit), or take it back (rollback).';

-- The deferrable constraints of the managed tables, for SET CONSTRAINTS. Never ALL: that would fire, with the system's
-- rights, deferred triggers that the caller has put on tables of his own. A name means every constraint of that name in the
-- schema (manual, SET CONSTRAINTS), so that none may be anybody else's.
CREATE OR REPLACE FUNCTION iasql_internal.constraint_names() RETURNS text
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    ours   text;
    taken  record;
BEGIN
    SELECT k.conname AS name, o.conrelid::regclass AS class INTO taken
    FROM pg_constraint k
    JOIN pg_class c ON c.oid = k.conrelid JOIN public.iasql_tables t ON t."table" = c.relname AND c.relnamespace = 'public'::regnamespace
    JOIN pg_constraint o ON o.conname = k.conname AND o.connamespace = k.connamespace AND o.conrelid <> k.conrelid
    JOIN pg_class d ON d.oid = o.conrelid
    WHERE k.condeferrable AND NOT iasql_internal.trusted(d.relowner) LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'constraint % of table % has the name of one of a managed table', taken.name, taken.class
            USING ERRCODE = 'IA091', HINT = format('ALTER TABLE %s RENAME CONSTRAINT %I TO …', taken.class, taken.name);
    END IF;
    SELECT string_agg(DISTINCT format('public.%I', k.conname), ', ') INTO ours
    FROM pg_constraint k
    JOIN pg_class c ON c.oid = k.conrelid JOIN public.iasql_tables t ON t."table" = c.relname AND c.relnamespace = 'public'::regnamespace
    WHERE k.condeferrable;
    RETURN ours;
END
$$;
COMMENT ON FUNCTION iasql_internal.constraint_names() IS 'The deferrable constraints of the managed tables as a list for SET CONSTRAINTS.';

-- Puts the records a batch has written back to what they were before it, from the audit log alone. With forget nothing of
-- the batch is left to be done: for a batch that has not reached the cloud. Without, the restoring writes are changes like
-- any others, for the engine to carry out; what the cloud assigns is not restored then, for the old objects are gone. What
-- the cloud has deleted since does not come back: only what the batch deleted is inserted again. With keep, for a batch that
-- was closed, what was written since stays (later.sql).
DROP FUNCTION IF EXISTS iasql_internal.revert_batch(bigint, boolean);
CREATE OR REPLACE FUNCTION iasql_internal.revert_batch(batch bigint, forget boolean, keep boolean DEFAULT false) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET row_security = off
SET extra_float_digits = 1 SET "IntervalStyle" = 'postgres' SET bytea_output = 'hex' AS $$
DECLARE
    managed  iasql_internal.managed_table;
    names    text := iasql_internal.constraint_names();
    images   jsonb;
    columns  text[];
    changed  text;
    restored text;
    present  jsonb; -- the records as they are, by id
    taken    jsonb;
    always   text[]; -- columns that are GENERATED ALWAYS AS IDENTITY
    kept     text[]; -- of a record that takes an object back
    ids      bigint[];
    later    bigint[];
    one      bigint;
    upto     bigint := (SELECT max(l.id) FROM public.iasql_audit_log l WHERE l.transaction_id = batch);
    n        bigint;
    total    bigint := 0;
BEGIN
    PERFORM iasql_internal.refuse_untrusted((
        SELECT array_agg(DISTINCT l.table_name) FROM public.iasql_audit_log l JOIN iasql_internal.managed_table m ON m.name = l.table_name
        WHERE l.transaction_id = batch AND l.origin = 'user'));
    EXECUTE 'SET CONSTRAINTS ' || names || ' DEFERRED';
    -- Tables are written one after another: what refers to what has yet to move back is looked at in the end.
    PERFORM set_config('iasql.restoring', 'on', true);
    -- A secret that the batch set is not wanted any more; one that waited before it still is.
    DELETE FROM iasql_internal.vault v USING public.iasql_audit_log l WHERE l.id = v.audit_id AND l.transaction_id = batch;
    IF forget THEN
        INSERT INTO iasql_internal.reverting (batch) VALUES (revert_batch.batch) ON CONFLICT DO NOTHING;
    END IF;
    FOR managed IN
        SELECT m.* FROM iasql_internal.managed_table m
        WHERE m.name IN (SELECT DISTINCT l.table_name FROM public.iasql_audit_log l WHERE l.transaction_id = batch AND l.origin = 'user')
        ORDER BY m.name
    LOOP
        -- images: [{"record_id", "inserted", "adopted", "deleted", "elsewhere", "image": what the touched columns held before, "was": with what the cloud assigns}]
        SELECT jsonb_agg(jsonb_build_object('record_id', f.record_id, 'inserted', f.change_type = 'INSERT' AND a.image IS NULL, 'adopted', f.change_type = 'INSERT' AND a.image IS NOT NULL,
                                            'deleted', f.deleted AND f.change_type <> 'INSERT', 'was', o.was,
                                            'there', NOT forget AND f.deleted AND f.change_type <> 'INSERT' AND NOT EXISTS (
                                                SELECT FROM public.iasql_operations p
                                                WHERE p.table_name = managed.name AND p.record_id = f.record_id AND p.kind = 'delete' AND p.started >= f.ts AND p.result IS DISTINCT FROM 'failed'),
                                            'elsewhere', f.moved OR EXISTS (SELECT FROM public.iasql_operations p
                                                                            WHERE p.table_name = managed.name AND p.record_id = f.record_id AND p.kind = 'create' AND p.started >= f.ts
                                                                              AND (p.result IS NULL OR p.result IN ('ok', 'unknown'))),
                                            'image', CASE WHEN f.change_type = 'INSERT' THEN a.image ELSE coalesce(o.image, '{}') END))
        INTO images
        FROM (SELECT DISTINCT ON (l.record_id) l.record_id, l.change_type, l.ts, l.settled, bool_or(l.change_type = 'DELETE') OVER (PARTITION BY l.record_id) AS deleted,
                     bool_or(l.settled AND l.change_type = 'UPDATE' AND l.change -> 'original' ?| (managed.identity || '{region}')) OVER (PARTITION BY l.record_id) AS moved
              FROM public.iasql_audit_log l
              WHERE l.transaction_id = batch AND l.table_name = managed.name AND l.origin = 'user' AND l.id <= upto
                AND l.change_type IN ('INSERT', 'UPDATE', 'DELETE')
              ORDER BY l.record_id, l.id) f
        -- What an INSERT has adopted was there before, and stays: the record becomes an ordinary one, with what the object
        -- had when the batch first changed it.
        LEFT JOIN LATERAL (
            SELECT coalesce((SELECT jsonb_object_agg(c.key, c.value)
                             FROM (SELECT DISTINCT ON (e.key) e.key, e.value -> 'from' AS value
                                   FROM public.iasql_operations p CROSS JOIN LATERAL jsonb_each(p.columns) e
                                   WHERE p.table_name = managed.name AND p.record_id = f.record_id AND p.kind = 'update' AND p.result IS DISTINCT FROM 'failed' AND p.started >= f.ts
                                   ORDER BY e.key, p.id) c
                             WHERE NOT c.key = ANY (managed.assigned || managed.write_only)), '{}') AS image
            WHERE NOT forget AND f.change_type = 'INSERT' AND NOT managed.settings
              AND NOT EXISTS (SELECT FROM public.iasql_operations p
                              WHERE p.table_name = managed.name AND p.record_id = f.record_id AND p.kind = 'create' AND p.started >= f.ts
                                AND (p.result IS NULL OR p.result IN ('ok', 'unknown')))
              AND (f.settled OR EXISTS (SELECT FROM public.iasql_operations p
                                        WHERE p.table_name = managed.name AND p.record_id = f.record_id AND p.kind = 'update' AND p.started >= f.ts))) a ON true
        LEFT JOIN (
            SELECT e.record_id, jsonb_object_agg(e.key, CASE
                       WHEN NOT e.key = ANY (managed.write_only) OR e.value = 'null' THEN e.value
                       WHEN (SELECT v.value FROM iasql_internal.vault v
                             WHERE v.table_name = managed.name AND v.record_id = e.record_id AND v.column_name = e.key
                             ORDER BY v.audit_id DESC LIMIT 1) IS NOT NULL THEN '"********"' END)
                       FILTER (WHERE forget OR NOT e.key = ANY (managed.assigned)) AS image,
                   jsonb_object_agg(e.key, e.value) AS was
            FROM (SELECT DISTINCT ON (l.record_id, c.key) l.record_id, c.key, c.value
                  FROM public.iasql_audit_log l CROSS JOIN LATERAL jsonb_each(l.change -> 'original') c
                  WHERE l.transaction_id = batch AND l.table_name = managed.name AND l.origin = 'user' AND l.id <= upto AND l.change ? 'original'
                  ORDER BY l.record_id, c.key, l.id) e
            WHERE NOT (managed.settings AND e.key = ANY (managed.write_only))
            GROUP BY e.record_id) o USING (record_id);
        IF keep THEN
            images := iasql_internal.without_later(batch, managed.name, images);
        END IF;
        present := '{}';
        IF images @> '[{"adopted": true}]' OR images @> '[{"there": true}]' THEN
            EXECUTE format('SELECT coalesce(jsonb_object_agg(t.id, to_jsonb(t)), ''{}'') FROM public.%I t
                            WHERE t.id IN (SELECT r.record_id FROM jsonb_to_recordset($1) r (record_id bigint))',
                           managed.name) INTO present USING images;
        END IF;
        -- Unless it was there as the object of another record of the batch: that takes it back, and the one that has adopted
        -- it goes. If that has got another object since, both stay as they are called.
        taken := NULL;
        IF images @> '[{"adopted": true}]' THEN
            SELECT jsonb_agg(jsonb_build_object('record_id', r.record_id, 'by', a.record_id,
                                                'elsewhere', r.row IS NOT NULL AND r."elsewhere",
                                                'own', r.row, 'row', a.row))
            INTO taken
            FROM (SELECT i.record_id, present -> i.record_id::text AS row
                  FROM jsonb_to_recordset(images) i (record_id bigint, adopted boolean) WHERE i.adopted) a
            JOIN (SELECT q.record_id, q."elsewhere", x.row, coalesce(x.row, '{}') || coalesce(q.was, '{}') AS was
                  FROM jsonb_to_recordset(images) q (record_id bigint, inserted boolean, adopted boolean, deleted boolean,
                                                     "elsewhere" boolean, was jsonb)
                  CROSS JOIN LATERAL (SELECT present -> q.record_id::text AS row) x
                  WHERE NOT q.inserted AND NOT q.adopted AND (x.row IS NOT NULL OR q.deleted)) r
                ON iasql_internal.key(r.was, managed.identity) = iasql_internal.key(a.row, managed.identity)
               AND coalesce(r.was ->> 'account', r.was ->> 'name')
                   IS NOT DISTINCT FROM coalesce(a.row ->> 'account', a.row ->> 'name')
               AND (NOT managed.regional OR r.was ->> 'region' IS NOT DISTINCT FROM a.row ->> 'region')
            WHERE a.row IS NOT NULL;
        END IF;
        IF taken IS NOT NULL THEN
            SELECT array_agg(c) INTO kept FROM unnest(managed.columns) c WHERE NOT c = ANY (managed.identity || managed.assigned || managed.write_only || '{id,account,region}');
            SELECT jsonb_agg(CASE
                WHEN giver.record_id IS NOT NULL THEN i.j || '{"inserted": true}'
                WHEN back."elsewhere" THEN jsonb_set(i.j, '{image}', (i.j -> 'image') - (managed.identity || '{region}'))
                WHEN back.own IS NOT NULL THEN jsonb_set(i.j, '{image}', (SELECT coalesce(jsonb_object_agg(c, back.own -> c), '{}') FROM unnest(kept) c) || (i.j -> 'image'))
                WHEN back.record_id IS NOT NULL THEN jsonb_set(i.j, '{image}', (i.j -> 'image') - managed.write_only)
                ELSE i.j END)
            INTO images
            FROM jsonb_array_elements(images) i (j)
            LEFT JOIN jsonb_to_recordset(taken) giver (record_id bigint, "by" bigint, "elsewhere" boolean) ON giver."by" = (i.j ->> 'record_id')::bigint AND NOT giver."elsewhere"
            LEFT JOIN jsonb_to_recordset(taken) back (record_id bigint, "elsewhere" boolean, own jsonb) ON back.record_id = (i.j ->> 'record_id')::bigint;
        END IF;
        -- The object of what was deleted in the batch and never in the cloud is still there, unless it is another record's of
        -- the batch: what a creation in doubt had made, which the deleted record had named first. Then that one keeps it.
        IF images @> '[{"there": true}]' THEN
            SELECT jsonb_agg(CASE
                WHEN (i.j ->> 'there')::boolean AND NOT present ? (i.j ->> 'record_id')
                     AND NOT coalesce(taken, '[]') @> jsonb_build_array(jsonb_build_object('record_id', i.j -> 'record_id'))
                     AND NOT EXISTS (
                         SELECT FROM jsonb_to_recordset(images) q (record_id bigint, inserted boolean, image jsonb)
                         CROSS JOIN LATERAL (SELECT (present -> q.record_id::text) || coalesce(q.image, '{}') AS row) o
                         WHERE NOT q.inserted AND present ? q.record_id::text
                           AND iasql_internal.key(o.row, managed.identity) = iasql_internal.key(i.j -> 'was', managed.identity)
                           AND o.row ->> 'account' IS NOT DISTINCT FROM i.j -> 'was' ->> 'account'
                           AND (NOT managed.regional OR o.row ->> 'region' IS NOT DISTINCT FROM i.j -> 'was' ->> 'region'))
                THEN jsonb_set(i.j, '{image}', (i.j -> 'image') || (
                    SELECT coalesce(jsonb_object_agg(c, i.j -> 'was' -> c), '{}') FROM unnest(managed.assigned) c
                    WHERE i.j -> 'was' ? c))
                ELSE i.j END)
            INTO images
            FROM jsonb_array_elements(images) i (j);
        END IF;
        EXECUTE format(
            'DELETE FROM public.%I t USING jsonb_to_recordset($1) r (record_id bigint, inserted boolean)
             WHERE t.id = r.record_id AND r.inserted', managed.name) USING images;
        GET DIAGNOSTICS n = ROW_COUNT;
        total := total + n;
        SELECT array_agg(a.attname::text ORDER BY a.attnum) INTO columns
        FROM pg_attribute a
        WHERE a.attrelid = format('public.%I', managed.name)::regclass AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = '' AND a.attname <> 'id';
        -- What GENERATED ALWAYS AS IDENTITY has given a row nobody changes, and it comes back with the row.
        always := ARRAY(SELECT a.attname::text FROM pg_attribute a WHERE a.attrelid = format('public.%I', managed.name)::regclass AND a.attidentity = 'a');
        IF taken IS NOT NULL THEN
            -- As the object is now. What the batch did to the record is dealt with by that, and what is still to be undone of
            -- what it did to the object is an update.
            UPDATE public.iasql_audit_log l SET settled = true, settled_at = clock_timestamp()
            FROM jsonb_to_recordset(taken) r (record_id bigint, own jsonb)
            WHERE l.transaction_id = batch AND l.table_name = managed.name AND l.record_id = r.record_id AND NOT l.settled AND r.own IS NULL AND l.id <= upto;
            EXECUTE format(
                'INSERT INTO public.%1$I (id, %2$s) OVERRIDING SYSTEM VALUE SELECT r.record_id, %3$s
                 FROM jsonb_to_recordset($1) r (record_id bigint, own jsonb, row jsonb) JOIN jsonb_to_recordset($2) i (record_id bigint, image jsonb) USING (record_id)
                 CROSS JOIN LATERAL jsonb_populate_record(NULL::public.%1$I, i.image || (SELECT jsonb_object_agg(c, r.row -> c) FROM unnest($3) c)) p
                 WHERE r.own IS NULL', managed.name,
                (SELECT string_agg(quote_ident(c), ', ') FROM unnest(columns) c),
                (SELECT string_agg('p.' || quote_ident(c), ', ') FROM unnest(columns) c)) USING taken, images, (SELECT array_agg(c) FROM unnest(managed.columns) c WHERE NOT c = ANY (managed.write_only));
            INSERT INTO iasql_internal.reverting (batch) VALUES (coalesce(iasql_internal.session_batch(), revert_batch.batch)) ON CONFLICT DO NOTHING;
            SELECT array_agg(c) INTO kept FROM unnest(columns) c WHERE c = ANY (managed.columns) AND NOT c = ANY (managed.identity || managed.write_only || '{account,region}');
            EXECUTE format(
                'UPDATE public.%1$I t SET (%2$s) = (SELECT %3$s FROM jsonb_populate_record(t, r.row) p)
                 FROM jsonb_to_recordset($1) r (record_id bigint, "elsewhere" boolean, own jsonb, row jsonb)
                 WHERE t.id = r.record_id AND r.own IS NOT NULL AND NOT r."elsewhere"', managed.name,
                (SELECT string_agg(quote_ident(c), ', ') FROM unnest(kept) c), (SELECT string_agg('p.' || quote_ident(c), ', ') FROM unnest(kept) c)) USING taken;
            DELETE FROM iasql_internal.reverting r WHERE r.xid = pg_current_xact_id();
        END IF;
        SELECT string_agg(quote_ident(k.name), ', '), string_agg('p.' || quote_ident(k.name), ', ') INTO changed, restored
        FROM (SELECT DISTINCT jsonb_object_keys(r.image) AS name FROM jsonb_to_recordset(images) r (inserted boolean, image jsonb) WHERE NOT r.inserted) k
        WHERE k.name = ANY (columns) AND NOT k.name = ANY (always);
        IF changed IS NOT NULL THEN
            restored := format(
                'UPDATE public.%1$I t SET (%2$s) = (SELECT %3$s FROM jsonb_populate_record(t, r.image) p)
                 FROM jsonb_to_recordset($1) r (record_id bigint, inserted boolean, image jsonb)
                 WHERE t.id = r.record_id AND NOT r.inserted', managed.name, changed, restored);
            BEGIN
                EXECUTE restored USING images;
                GET DIAGNOSTICS n = ROW_COUNT;
                total := total + n;
            EXCEPTION WHEN unique_violation THEN
                -- Unique indexes look at each row as it comes, and the old name of one may be the new one of another: one by
                -- one, then, those first whose names are free.
                SELECT array_agg(r.record_id ORDER BY r.record_id) INTO ids FROM jsonb_to_recordset(images) r (record_id bigint, inserted boolean) WHERE NOT r.inserted;
                WHILE ids IS NOT NULL LOOP
                    later := NULL;
                    FOREACH one IN ARRAY ids LOOP
                        BEGIN
                            EXECUTE restored || ' AND t.id = $2' USING images, one;
                            GET DIAGNOSTICS n = ROW_COUNT;
                            total := total + n;
                        EXCEPTION WHEN unique_violation THEN
                            later := later || one;
                        END;
                    END LOOP;
                    IF cardinality(later) = cardinality(ids) THEN
                        RAISE EXCEPTION 'records % of % have each other''s identities, and neither can be given back first', later, managed.name
                            USING ERRCODE = '23505', SCHEMA = 'public', TABLE = managed.name, HINT = 'Give one of them a third name first.';
                    END IF;
                    ids := later;
                END LOOP;
            END;
        END IF;
        -- An INSERT that is pushed brings its secrets itself: those that waited before the batch (see vault.sql).
        EXECUTE format(
            'INSERT INTO public.%1$I (id, %2$s) OVERRIDING SYSTEM VALUE SELECT r.record_id, %3$s
             FROM jsonb_to_recordset($1) r (record_id bigint, inserted boolean, deleted boolean, image jsonb)
             LEFT JOIN LATERAL (SELECT jsonb_object_agg(w.column_name, w.value) AS secrets
                                FROM (SELECT DISTINCT ON (v.column_name) v.column_name, v.value FROM iasql_internal.vault v
                                      WHERE NOT $2 AND v.table_name = $3 AND v.record_id = r.record_id AND r.image ->> v.column_name IS NOT NULL
                                      ORDER BY v.column_name, v.audit_id DESC) w) w ON true
             CROSS JOIN LATERAL jsonb_populate_record(NULL::public.%1$I, r.image || coalesce(w.secrets, ''{}'')) p
             WHERE NOT r.inserted AND r.deleted AND NOT EXISTS (SELECT FROM public.%1$I t WHERE t.id = r.record_id)', managed.name,
            (SELECT string_agg(quote_ident(c), ', ') FROM unnest(columns) c),
            (SELECT string_agg('p.' || quote_ident(c), ', ') FROM unnest(columns) c)) USING images, forget, managed.name;
        GET DIAGNOSTICS n = ROW_COUNT;
        total := total + n;
    END LOOP;
    PERFORM set_config('iasql.restoring', 'off', true);
    EXECUTE 'SET CONSTRAINTS ' || names || ' IMMEDIATE';
    IF forget THEN
        DELETE FROM iasql_internal.reverting r WHERE r.xid = pg_current_xact_id();
        UPDATE public.iasql_audit_log l SET settled = true, settled_at = clock_timestamp()
        WHERE l.transaction_id = batch AND NOT l.settled;
        -- What the cycle had remembered of records that are gone again.
        DELETE FROM iasql_internal.record_state s
        WHERE (s.table_name, s.record_id) IN (SELECT l.table_name, l.record_id FROM public.iasql_audit_log l
                                              WHERE l.transaction_id = batch AND l.origin = 'user')
          AND s.identity IS NULL AND NOT s.replacing;
    END IF;
    RETURN total;
END
$$;
COMMENT ON FUNCTION iasql_internal.revert_batch(bigint, boolean, boolean) IS 'Puts records back to what they were before a batch, with keep but for what was written since; returns how many were written.';
