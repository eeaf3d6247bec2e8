CREATE OR REPLACE PROCEDURE public.iasql_rollback(force boolean DEFAULT false)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '10s' AS $$
DECLARE
    batch    iasql_internal.batch;
    n        bigint;
    "table"  text;
    what     text;
BEGIN
    PERFORM iasql_internal.refuse_standby('iasql_rollback');
    SELECT * INTO batch FROM iasql_internal.batch b WHERE b.id = iasql_internal.batch_meant(coalesce(force, false));
    IF batch.opened_by <> iasql_internal.writer() AND force IS NOT TRUE THEN
        RAISE EXCEPTION 'batch % is not yours: % opened it at %', batch.id, iasql_internal.plain(batch.opened_by), date_trunc('second', batch.opened_at)
            USING ERRCODE = 'IA024', HINT = 'CALL iasql_rollback(true) closes it all the same.';
    END IF;
    PERFORM iasql_internal.check_batch(batch.id, 'rollback');
    -- A commit that comes now waits, and fails; one that was first has the engine undo it.
    UPDATE iasql_internal.batch b SET phase = 'reverting' WHERE b.id = batch.id AND b.phase = 'open';
    IF FOUND THEN
        PERFORM iasql_internal.log_event('START_REVERT', batch.id);
        n := iasql_internal.revert_batch(batch.id, true);
        PERFORM iasql_internal.log_event('END_REVERT', batch.id);
        PERFORM iasql_internal.close_batch(batch.id, 'reverting', 'rolled back');
    ELSE
        -- A part of the batch may be in the cloud, and has to be undone there too.
        n := iasql_internal.ask('revert', jsonb_build_object('batch', batch.id)) ->> 'records';
    END IF;
    PERFORM set_config('iasql.batch', '', false);
    RAISE NOTICE 'batch % is rolled back: % records restored', batch.id, n;
EXCEPTION
    WHEN lock_not_available THEN
        RAISE EXCEPTION 'batch % is still being edited in a transaction that is open: %', batch.id, SQLERRM
            USING ERRCODE = 'IA020', HINT = 'Commit or roll back that transaction first. Nothing was changed.';
    WHEN foreign_key_violation THEN
        GET STACKED DIAGNOSTICS "table" = TABLE_NAME, what = PG_EXCEPTION_DETAIL;
        RAISE EXCEPTION 'batch % cannot be rolled back: % (%)', batch.id, SQLERRM, what
            USING ERRCODE = '23503', TABLE = "table", HINT = 'Change those rows first. Nothing was changed.';
    WHEN unique_violation THEN
        GET STACKED DIAGNOSTICS "table" = TABLE_NAME, what = PG_EXCEPTION_HINT;
        RAISE EXCEPTION 'batch % cannot be rolled back: %', batch.id, SQLERRM
            USING ERRCODE = '23505', TABLE = "table", HINT = concat(what, ' Nothing was changed.');
END
$$;
COMMENT ON PROCEDURE public.iasql_rollback(boolean) IS
$$Undoes the edits of this session's batch in the database and closes it; no call to the cloud is needed, unless its commit had begun. force also closes a batch that somebody else opened: the one this session has joined, or the only one there is.
Sample: CALL iasql_rollback()$$;
