DROP PROCEDURE IF EXISTS public.iasql_begin();
CREATE OR REPLACE PROCEDURE public.iasql_begin(name text DEFAULT NULL)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    batch bigint := iasql_internal.begin_batch(name);
BEGIN
    RAISE NOTICE '% is open: what this session changes waits until iasql_commit() or iasql_rollback()', iasql_internal.batch_text(batch);
END
$$;
COMMENT ON PROCEDURE public.iasql_begin(text) IS
$$Opens a batch of this session: what the session changes from now on is staged in it, until it is committed or rolled back. What others change goes on being pushed. It waits for nobody.
Sample: CALL iasql_begin('a network for the shop')$$;
