DROP PROCEDURE IF EXISTS public.iasql_begin();
DROP PROCEDURE IF EXISTS public.iasql_begin(text);
CREATE OR REPLACE PROCEDURE public.iasql_begin(name text DEFAULT NULL, local boolean DEFAULT false)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    batch bigint := iasql_internal.begin_batch(name, NULL, coalesce(local, false));
BEGIN
    RAISE NOTICE '% is open: what this % changes waits until iasql_commit() or iasql_rollback()',
        iasql_internal.batch_text(batch), CASE WHEN local THEN 'transaction' ELSE 'session' END;
END
$$;
COMMENT ON PROCEDURE public.iasql_begin(text, boolean) IS
$$Opens a batch of this session: what the session changes from now on is staged in it, until it is committed or rolled back. What others change goes on being pushed. It waits for nobody. With local, as in SET LOCAL, only the transaction works in it: behind a pooler of transactions the session is the next client's.
Sample: CALL iasql_begin('a network for the shop')$$;
