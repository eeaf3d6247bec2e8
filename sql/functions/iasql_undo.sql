CREATE OR REPLACE PROCEDURE public.iasql_undo(transaction_id bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    batch bigint;
    n     bigint;
BEGIN
    IF NOT EXISTS (SELECT FROM iasql_internal.batch b WHERE b.id = transaction_id AND b.closed_at IS NOT NULL) THEN
        RAISE EXCEPTION 'there is no closed batch %', coalesce(transaction_id::text, 'NULL')
            USING ERRCODE = 'IA022', HINT = 'SELECT id, name, outcome FROM iasql_batches lists the batches.';
    END IF;
    IF (SELECT b.outcome FROM iasql_internal.batch b WHERE b.id = transaction_id) <> 'committed' THEN
        RAISE EXCEPTION 'batch % was not committed: there is nothing to undo', transaction_id
            USING ERRCODE = 'IA022', HINT = 'Only committed batches can be undone.';
    END IF;
    PERFORM iasql_internal.check_batch(transaction_id);
    batch := iasql_internal.begin_batch(NULL, transaction_id);
    n := iasql_internal.revert_batch(transaction_id, false);
    RAISE NOTICE 'batch % is open and undoes batch %: % records changed. Look at SELECT * FROM iasql_preview(), then CALL iasql_commit()', batch, transaction_id, n;
END
$$;
COMMENT ON PROCEDURE public.iasql_undo(bigint) IS
$$Opens a batch of this session that reverses a committed one; look at the preview, then commit it or roll it back. What the batch had adopted stays in the cloud, and what the cloud has deleted since does not come back.
Sample: CALL iasql_undo(1)$$;
