DROP PROCEDURE IF EXISTS public.iasql_join(text);
CREATE OR REPLACE PROCEDURE public.iasql_join(name text, local boolean DEFAULT false)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    mine  bigint := iasql_internal.session_batch();
    batch bigint := (SELECT b.id FROM iasql_internal.batch b WHERE b.closed_at IS NULL AND (b.name = iasql_join.name OR b.id::text = iasql_join.name));
BEGIN
    IF batch IS NULL THEN
        RAISE EXCEPTION 'no batch called % is open', coalesce(quote_literal(iasql_internal.plain(name)), 'NULL')
            USING ERRCODE = 'IA022', HINT = 'SELECT id, name, owner FROM iasql_batches WHERE outcome IS NULL lists those that are; one without a name has its number.';
    END IF;
    IF mine <> batch THEN
        RAISE EXCEPTION 'this session works in % already', iasql_internal.batch_text(mine)
            USING ERRCODE = 'IA020', HINT = 'CALL iasql_commit() or iasql_rollback() first, or join from another session.';
    END IF;
    PERFORM iasql_internal.check_batch(batch, 'join');
    PERFORM iasql_internal.work_in(batch, coalesce(local, false));
    RAISE NOTICE 'this % works in %', CASE WHEN local THEN 'transaction' ELSE 'session' END, iasql_internal.batch_text(batch);
END
$$;
COMMENT ON PROCEDURE public.iasql_join(text, boolean) IS
$$Has this session work in an open batch too, by its name or number: for reviewers, for clients behind a pooler, and to take over from a session that has gone. Needs the right to change what is in it. With local, as in SET LOCAL, only the transaction works in it.
Sample: CALL iasql_join('a network for the shop')$$;
