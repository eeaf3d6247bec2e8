CREATE OR REPLACE PROCEDURE public.iasql_begin()
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    batch bigint := iasql_internal.begin_batch();
BEGIN
    RAISE NOTICE 'batch % is open: changes wait until iasql_commit() or iasql_rollback()', batch;
END
$$;
COMMENT ON PROCEDURE public.iasql_begin() IS
$$Opens a batch: waits for a running cycle to end, then nothing is pushed or pulled until the batch is committed or rolled back. Fails at once, saying who has it open, if a batch is open already.
Sample: CALL iasql_begin()$$;
