CREATE OR REPLACE PROCEDURE public.iasql_rollback(force boolean DEFAULT false)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '10s' AS $$
DECLARE
    batch iasql_internal.batch;
    n     bigint;
BEGIN
    SELECT * INTO batch FROM iasql_internal.batch b WHERE b.closed_at IS NULL;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'no batch is open' USING ERRCODE = 'IA022', HINT = 'Committed batches are undone by CALL iasql_undo(transaction_id).';
    END IF;
    IF batch.opened_by <> iasql_internal.writer() AND NOT force THEN
        RAISE EXCEPTION 'batch % is not yours: % opened it at %', batch.id, batch.opened_by, date_trunc('second', batch.opened_at)
            USING ERRCODE = 'IA024', HINT = 'CALL iasql_rollback(true) closes it all the same.';
    END IF;
    PERFORM iasql_internal.check_batch(batch.id);
    IF batch.phase = 'open' THEN
        UPDATE iasql_internal.batch b SET phase = 'closed' WHERE b.id = batch.id AND b.phase = 'open'; -- a commit has to wait, and fails
        IF NOT FOUND THEN
            RAISE EXCEPTION 'batch % is being committed by somebody else', batch.id USING ERRCODE = 'IA020', HINT = 'Try again when that has ended.';
        END IF;
        PERFORM iasql_internal.log_event('START_REVERT', batch.id);
        n := iasql_internal.revert_batch(batch.id, true);
        PERFORM iasql_internal.log_event('END_REVERT', batch.id);
        PERFORM iasql_internal.close_batch(batch.id, 'rolled back');
    ELSE
        -- A commit was cut off: part of the batch is in the cloud, and has to be undone there too.
        n := iasql_internal.ask('revert', jsonb_build_object('batch', batch.id)) ->> 'records';
    END IF;
    RAISE NOTICE 'batch % is rolled back: % records restored', batch.id, n;
EXCEPTION WHEN lock_not_available THEN
    RAISE EXCEPTION 'batch % is still being edited in a transaction that is open: %', batch.id, SQLERRM
        USING ERRCODE = 'IA020', HINT = 'Commit or roll back that transaction first. Nothing was changed.';
END
$$;
COMMENT ON PROCEDURE public.iasql_rollback(boolean) IS
$$Undoes the open batch's edits in the database and closes it; no call to the cloud is needed. force also closes a batch somebody else left open.
Sample: CALL iasql_rollback()$$;
