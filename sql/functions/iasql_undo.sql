-- The rows are written with the system's rights, and only what the caller might have written himself (R33): grants are compared
-- with what the audit log says was written, row-level security is asked of the caller before (what may go or change) and after
-- (what may be). undo_doubt keeps a transaction from committing that leaves the second half out.
CREATE OR REPLACE PROCEDURE public.iasql_undo(transaction_id bigint)
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    batch bigint;
    n     bigint;
BEGIN
    PERFORM iasql_internal.permit_batch(transaction_id, '{update,delete}');
    SELECT u.batch, u.n INTO batch, n FROM iasql_internal.undo(transaction_id) u;
    PERFORM iasql_internal.permit_batch(batch, '{keep,insert}');
    PERFORM iasql_internal.undone(batch);
    RAISE NOTICE 'batch % is open and undoes batch %: % records changed. Look at SELECT * FROM iasql_preview(), then CALL iasql_commit()', batch, transaction_id, n;
END
$$;
COMMENT ON PROCEDURE public.iasql_undo(bigint) IS
$$Opens a batch of this session that reverses a committed one; look at the preview, then commit it or roll it back. It takes the right to what it does: DELETE for what was inserted, INSERT for what was deleted, UPDATE of the columns that go back. What the batch had adopted stays in the cloud, and what the cloud has deleted since does not come back. What was written since stays, in whichever way: a WARNING names each record and its columns.
Sample: CALL iasql_undo(1)$$;

CREATE OR REPLACE FUNCTION iasql_internal.undo(transaction_id bigint, OUT batch bigint, OUT n bigint)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    "table" text;
    what    text;
BEGIN
    PERFORM iasql_internal.refuse_standby('iasql_undo');
    IF NOT EXISTS (SELECT FROM iasql_internal.batch b WHERE b.id = transaction_id AND b.closed_at IS NOT NULL) THEN
        RAISE EXCEPTION 'there is no closed batch %', coalesce(transaction_id::text, 'NULL')
            USING ERRCODE = 'IA022', HINT = 'SELECT id, name, outcome FROM iasql_batches lists the batches.';
    END IF;
    IF (SELECT b.outcome FROM iasql_internal.batch b WHERE b.id = transaction_id) <> 'committed' THEN
        RAISE EXCEPTION 'batch % was not committed: there is nothing to undo', transaction_id
            USING ERRCODE = 'IA022', HINT = 'Only committed batches can be undone.';
    END IF;
    batch := iasql_internal.begin_batch(NULL, transaction_id);
    n := iasql_internal.revert_batch(transaction_id, false, true);
    INSERT INTO iasql_internal.undo_doubt (batch, undoes) VALUES (undo.batch, transaction_id);
    PERFORM iasql_internal.refuse_undo(batch, transaction_id, false);
EXCEPTION WHEN foreign_key_violation THEN
    GET STACKED DIAGNOSTICS "table" = TABLE_NAME, what = PG_EXCEPTION_DETAIL;
    RAISE EXCEPTION 'batch % cannot be undone: % (%)', transaction_id, SQLERRM, what
        USING ERRCODE = '23503', TABLE = "table", HINT = 'Change those rows first. Nothing was changed.';
END
$$;
COMMENT ON FUNCTION iasql_internal.undo(bigint, OUT bigint, OUT bigint) IS 'The first half of iasql_undo: opens the batch, writes the rows, and raises unless the caller might have updated and deleted them.';

CREATE OR REPLACE FUNCTION iasql_internal.undone(batch bigint) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM iasql_internal.refuse_undo(d.batch, d.undoes, true) FROM iasql_internal.undo_doubt d WHERE d.batch = undone.batch;
    DELETE FROM iasql_internal.undo_doubt d WHERE d.batch = undone.batch;
END
$$;
COMMENT ON FUNCTION iasql_internal.undone(bigint) IS 'The second half of iasql_undo: raises unless the rows that it has written are such as the caller might have written.';

-- What goes along with something else (parts, ON DELETE CASCADE) takes the grant, too; row-level security is not asked of it, as
-- PostgreSQL does not for foreign keys that act.
CREATE OR REPLACE FUNCTION iasql_internal.refuse_undo(batch bigint, undoes bigint, written boolean) RETURNS void
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    who text := iasql_internal.writer();
    bad record;
BEGIN
    WITH edit AS (
        SELECT l.table_name, l.record_id, l.change_type, l.change -> 'change' AS change, c.oid AS class, iasql_internal.is_subject(who, c.oid) AS subject,
               EXISTS (SELECT FROM public.iasql_audit_log o
                       WHERE o.transaction_id = refuse_undo.undoes AND o.origin = 'user' AND o.table_name = l.table_name AND o.record_id = l.record_id) AS asked
        FROM public.iasql_audit_log l
        JOIN pg_class c ON c.relname = l.table_name AND c.relnamespace = 'public'::regnamespace
        WHERE l.transaction_id = refuse_undo.batch AND l.origin = 'user' AND l.change_type IN ('INSERT', 'UPDATE', 'DELETE')
    ), lacks AS (
        SELECT e.table_name, e.record_id, e.change_type, col.name AS column_name
        FROM edit e
        JOIN iasql_internal.managed_table m ON m.name = e.table_name
        JOIN pg_attribute a ON a.attrelid = e.class AND NOT a.attisdropped
        JOIN LATERAL jsonb_each_text(e.change) col (name, value) ON col.name = a.attname
        WHERE NOT written AND e.change_type <> 'DELETE' AND NOT a.attname = ANY (m.assigned || '{id}') AND (e.change_type = 'UPDATE' OR col.value IS NOT NULL)
          AND NOT has_column_privilege(who, e.class, a.attnum, e.change_type)
        UNION ALL
        SELECT e.table_name, e.record_id, e.change_type, NULL FROM edit e
        WHERE NOT written AND e.change_type = 'DELETE' AND NOT has_table_privilege(who, e.class, 'DELETE')
        UNION ALL
        SELECT e.table_name, e.record_id, e.change_type, NULL FROM edit e
        WHERE e.subject AND e.asked AND NOT (written AND e.change_type = 'DELETE' OR NOT written AND e.change_type = 'INSERT')
          -- (By IN it is hashed, although nothing is known of rows that have just been made.)
          AND ((e.table_name, e.record_id,
                CASE WHEN e.change_type <> 'UPDATE' THEN lower(e.change_type) WHEN written THEN 'keep' ELSE 'update' END)
               IN (SELECT p.table_name, p.record_id, p.may FROM iasql_internal.permit p
                   WHERE p.xid = pg_current_xact_id_if_assigned())) IS NOT TRUE
    )
    SELECT l.* INTO bad FROM lacks l ORDER BY l.table_name, l.record_id, l.column_name LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'batch % cannot be undone: it takes the right to %, and you may not do that with record % now', undoes,
                concat(bad.change_type, ' (' || bad.column_name || ')', CASE bad.change_type WHEN 'INSERT' THEN ' INTO ' WHEN 'DELETE' THEN ' FROM ' ELSE ' of ' END, bad.table_name), bad.record_id
            USING ERRCODE = '42501', TABLE = bad.table_name, COLUMN = coalesce(bad.column_name, ''),
                  HINT = 'Undoing an INSERT is a DELETE, and the other way round. Ask an administrator for the right, or let somebody undo it who has it: grants and row-level security of the table decide.';
    END IF;
END
$$;
COMMENT ON FUNCTION iasql_internal.refuse_undo(bigint, bigint, boolean) IS 'Raises unless the caller may make the statements that undo a batch: before, what may be updated and deleted; after, what may be written.';

CREATE OR REPLACE FUNCTION iasql_internal.check_undo_doubt() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF EXISTS (SELECT FROM iasql_internal.undo_doubt d WHERE d.batch = NEW.batch) THEN
        RAISE EXCEPTION 'permission denied: what batch % has written was not compared with what you may write', NEW.batch
            USING ERRCODE = '42501', HINT = 'CALL iasql_undo(…) does that.';
    END IF;
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION iasql_internal.check_undo_doubt() IS 'Deferred row trigger of undo_doubt: nothing that is in doubt is committed.';

DROP TRIGGER IF EXISTS check_undo_doubt ON iasql_internal.undo_doubt;
CREATE CONSTRAINT TRIGGER check_undo_doubt AFTER INSERT ON iasql_internal.undo_doubt
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION iasql_internal.check_undo_doubt();
